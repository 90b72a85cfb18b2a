//! A tool call becomes an action. The mapping is total: every member of the tool's input is in the parameters, apart
//! from remarks for people that the table of tools names.

use super::event::Call;
use super::limits::{COMMAND_BYTES_MAX, HEAD_BYTES, LONG_TEXTS_BYTES_MAX, TEXT_BYTES_MAX};
use super::patch::{Operation, operations};
use super::tools::{CREATE_SUFFIX, Kind, Tool, tool_of};
use super::words::head;
use ordain_canon::ContentHash;
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};

/// A place on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Without links; the part that is not there yet is as it was written.
    pub real: PathBuf,
    /// Relative to the workspace and empty for its root; `None` outside it.
    pub inside: Option<String>,
    /// Whether something is there.
    pub exists: bool,
}

/// Content that a call names by reference, as it is now.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Resolved {
    /// The members of `parameters.resolved`.
    pub known: Map<String, Json>,
    /// References whose content could not be found out, each with its reason.
    pub unresolved: Vec<String>,
}

/// The questions of the mapping about the machine.
pub trait World {
    /// Where a path of a call leads.
    fn place(&self, cwd: &Path, path: &str) -> Result<Place, String>;
    /// The hash of the file there: `sha256:…`, `absent`, or why it cannot be told.
    fn content(&self, place: &Place) -> Result<String, String>;
    /// The things that a command refers to.
    fn command(&self, cwd: &Place, command: &str) -> Resolved;
}

/// The action that a call asks for, as a tool call of a KernelRequest.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// The row of `tools.toml`.
    pub tool: String,
    /// The parameters.
    pub parameters: Map<String, Json>,
    /// A remark for people, which the action leaves out.
    pub remark: String,
    /// Texts that are too long for parameters, by their hashes.
    pub long_texts: Map<String, Json>,
}

/// The action that a call asks for, or why there is none.
pub fn action_of(call: &Call, world: &dyn World) -> Result<Action, String> {
    let mut input = call.input.clone();
    let cwd = world.place(&call.cwd, ".")?;
    let known = if call.server.is_some() { None } else { tool_of(call.agent, &call.tool) };
    let Some(tool) = known else {
        let mut parameters = Map::new();
        set_folder(&mut parameters, &cwd)?;
        put_input(&mut parameters, input);
        return finish(tool_name(call), parameters, String::new());
    };
    let remark = remark(tool, &mut input);
    let mut parameters = Map::new();
    let mut name = tool_name(call);
    match tool.kind {
        Kind::Shell => {
            let command = taken(tool, &mut input)?.ok_or("the call names no command")?;
            if command.len() > COMMAND_BYTES_MAX {
                return Err(format!("the command is longer than {COMMAND_BYTES_MAX} bytes"));
            }
            let cwd = match one_of(tool.folder, &mut input)? {
                Some(folder) => world.place(&call.cwd, &folder)?,
                None => cwd,
            };
            set_folder(&mut parameters, &cwd)?;
            set_resolved(&mut parameters, world.command(&cwd, &command));
            parameters.insert("command".to_owned(), json!(command));
        }
        Kind::Read | Kind::Write | Kind::Edit => {
            let path = taken(tool, &mut input)?.ok_or("the call names no file")?;
            let place = world.place(&call.cwd, &path)?;
            set_path(&mut parameters, &place)?;
            if tool.kind != Kind::Read {
                let mut resolved = Resolved::default();
                add_content(&mut resolved, world, &place)?;
                set_resolved(&mut parameters, resolved);
            }
            if tool.kind == Kind::Write && !place.exists {
                name.push_str(CREATE_SUFFIX);
            }
        }
        Kind::Search => {
            let place = match taken(tool, &mut input)? {
                Some(path) => world.place(&call.cwd, &path)?,
                None => cwd,
            };
            set_folder(&mut parameters, &place)?;
            // Everything below a folder, in the form of a path.
            let below = match &place.inside {
                Some(inside) if inside.is_empty() => "*".to_owned(),
                Some(inside) => format!("{inside}/*"),
                None => format!("{}/*", text(&place.real)?.trim_end_matches('/')),
            };
            parameters.insert("path".to_owned(), json!(below));
            parameters.remove("cwd");
        }
        Kind::Patch => {
            let patch = taken(tool, &mut input)?.ok_or("the call has no patch")?;
            set_folder(&mut parameters, &cwd)?;
            set_patch(&mut parameters, call, world, &patch)?;
        }
        Kind::Fetch => {
            let url = taken(tool, &mut input)?.ok_or("the call names no URL")?;
            parameters.insert("url".to_owned(), json!(url));
        }
        Kind::Meta => {}
    }
    put_input(&mut parameters, input);
    finish(name, parameters, remark)
}

/// The name by which policies know a tool. A tool of an MCP server never has the name of a built-in one.
fn tool_name(call: &Call) -> String {
    let tool = &call.tool;
    let of_server = |server: &str, tool: &str| format!("mcp:{server}/{tool}");
    match (&call.server, tool.strip_prefix("mcp__")) {
        (Some(server), Some(rest)) => {
            let tool = rest.strip_prefix(server.as_str()).and_then(|rest| rest.strip_prefix("__"));
            of_server(server, tool.unwrap_or(rest))
        }
        (Some(server), None) => {
            let prefixes = [format!("mcp_{server}_"), format!("{server}-"), format!("{server}_")];
            let short = prefixes.iter().find_map(|prefix| tool.strip_prefix(prefix.as_str()));
            of_server(server, short.unwrap_or(tool))
        }
        (None, Some(rest)) => match rest.split_once("__") {
            Some((server, tool)) => of_server(server, tool),
            None => format!("{}.{tool}", call.agent),
        },
        (None, None) => format!("{}.{tool}", call.agent),
    }
}

/// Takes the one member out that has the command, the path, the patch or the URL.
fn taken(tool: &Tool, input: &mut Map<String, Json>) -> Result<Option<String>, String> {
    one_of(tool.main, input)
}

/// Two of them would leave it to the host which one counts.
fn one_of(names: &[&str], input: &mut Map<String, Json>) -> Result<Option<String>, String> {
    let there: Vec<&str> = names.iter().copied().filter(|name| input.contains_key(*name)).collect();
    match there.as_slice() {
        [] => Ok(None),
        [name] => match input.remove(*name) {
            Some(Json::String(text)) if !text.is_empty() && !text.contains('\0') => Ok(Some(text)),
            Some(Json::Null) => Ok(None),
            _ => Err(format!("`{name}` of the tool's input is not a plain text")),
        },
        [first, second, ..] => Err(format!("the tool's input has both `{first}` and `{second}`")),
    }
}

fn remark(tool: &Tool, input: &mut Map<String, Json>) -> String {
    let taken = tool.remarks.iter().filter_map(|name| input.remove(*name));
    let texts: Vec<String> = taken.filter_map(|value| value.as_str().map(str::to_owned)).collect();
    head(&texts.join(" "), HEAD_BYTES)
}

fn put_input(parameters: &mut Map<String, Json>, input: Map<String, Json>) {
    if !input.is_empty() {
        parameters.insert("input".to_owned(), Json::Object(input));
    }
}

const HOST: &str = "host";
const WORKSPACE: &str = "workspace";

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| "a path of the call is not UTF-8".to_owned())
}

fn domain(place: &Place) -> &'static str {
    if place.inside.is_some() { WORKSPACE } else { HOST }
}

/// The domain, and the folder as `cwd`.
fn set_folder(parameters: &mut Map<String, Json>, place: &Place) -> Result<(), String> {
    let folder = match place.inside.as_deref() {
        Some("") => ".",
        Some(inside) => inside,
        None => text(&place.real)?,
    };
    parameters.insert("cwd".to_owned(), json!(folder));
    parameters.insert("domain".to_owned(), json!(domain(place)));
    Ok(())
}

/// The domain and the path of a file.
fn set_path(parameters: &mut Map<String, Json>, place: &Place) -> Result<(), String> {
    let path = match place.inside.as_deref() {
        Some("") => return Err("the path is that of the workspace itself".to_owned()),
        Some(inside) => inside,
        None => text(&place.real)?,
    };
    parameters.insert("path".to_owned(), json!(path));
    parameters.insert("domain".to_owned(), json!(domain(place)));
    Ok(())
}

fn set_resolved(parameters: &mut Map<String, Json>, resolved: Resolved) {
    let Resolved { mut known, unresolved } = resolved;
    if !unresolved.is_empty() {
        known.insert("unresolved".to_owned(), json!(unresolved));
    }
    if !known.is_empty() {
        parameters.insert("resolved".to_owned(), Json::Object(known));
    }
}

/// The content of a file before it is changed.
fn add_content(resolved: &mut Resolved, world: &dyn World, place: &Place) -> Result<(), String> {
    let path = match &place.inside {
        Some(inside) => inside.as_str(),
        None => text(&place.real)?,
    };
    match world.content(place) {
        Ok(hash) => {
            let files = resolved.known.entry("before").or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(files) = files {
                files.insert(path.to_owned(), json!(hash));
            }
        }
        Err(problem) => resolved.unresolved.push(format!("{path}: {problem}")),
    }
    Ok(())
}

fn set_patch(
    parameters: &mut Map<String, Json>,
    call: &Call,
    world: &dyn World,
    patch: &str,
) -> Result<(), String> {
    let mut resolved = Resolved::default();
    let mut listed = Vec::new();
    for (operation, path) in operations(patch)? {
        let place = world.place(&call.cwd, &path)?;
        add_content(&mut resolved, world, &place)?;
        // A host may write over a file that a patch says it adds.
        let operation = match operation {
            Operation::Create if place.exists => Operation::Modify,
            operation => operation,
        };
        let path = match place.inside {
            Some(inside) if inside.is_empty() => {
                return Err("the patch names the workspace itself".to_owned());
            }
            Some(inside) => inside,
            None => {
                parameters.insert("domain".to_owned(), json!(HOST));
                text(&place.real)?.to_owned()
            }
        };
        listed.push(json!({"op": operation.name(), "path": path}));
    }
    parameters.insert("operations".to_owned(), Json::Array(listed));
    parameters.insert("patch".to_owned(), json!(ContentHash::of(patch.as_bytes()).to_string()));
    parameters.insert("diff".to_owned(), json!(patch));
    set_resolved(parameters, resolved);
    Ok(())
}

/// Long texts go beside the action; parameters have their hash, size and beginning.
fn finish(tool: String, mut parameters: Map<String, Json>, remark: String) -> Result<Action, String> {
    let mut long_texts = Map::new();
    for (name, value) in &mut parameters {
        // The gate reads the whole command.
        if name != "command" {
            shorten(value, &mut long_texts);
        }
    }
    let bytes: usize = long_texts.values().filter_map(Json::as_str).map(str::len).sum();
    if bytes > LONG_TEXTS_BYTES_MAX {
        return Err(format!("the tool's input has more than {LONG_TEXTS_BYTES_MAX} bytes of text"));
    }
    Ok(Action { tool, parameters, remark, long_texts })
}

fn shorten(value: &mut Json, long_texts: &mut Map<String, Json>) {
    match value {
        Json::String(text) if text.len() > TEXT_BYTES_MAX => {
            let hash = ContentHash::of(text.as_bytes()).to_string();
            let short = json!({"sha256": hash, "bytes": text.len(), "head": head(text, HEAD_BYTES)});
            long_texts.insert(hash, json!(std::mem::take(text)));
            *value = short;
        }
        Json::Array(elements) => elements.iter_mut().for_each(|element| shorten(element, long_texts)),
        Json::Object(members) => members.values_mut().for_each(|member| shorten(member, long_texts)),
        _ => {}
    }
}
