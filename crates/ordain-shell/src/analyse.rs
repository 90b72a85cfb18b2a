//! From a command line to its effects.

use crate::effect::{Effect, EffectKind};
use crate::expand::{Arg, Values, expand};
use crate::limits::{
    COMMAND_BYTES_MAX, DEPTH_MAX, EFFECTS_MAX, FOLDERS_MAX, SHOWN_ARGS_MAX, SHOWN_CHARS_MAX,
};
use crate::options::parse;
use crate::paths::{Folder, Spot, folder, spot, start};
use crate::programs::{Program, program};
use crate::reader::{Budget, Refusal, Shared, TOO_DEEP, TOO_LONG, read};
use crate::syntax::{Assignment, Direction, Group, Join, List, Node, Redirect, Simple, Word};
use std::collections::BTreeSet;

/// Where a command would run.
#[derive(Clone, Copy, Debug)]
pub struct Place<'p> {
    /// The workspace, from the root of the file system. Without it, paths from the root are outside.
    pub workspace: Option<&'p str>,
    /// The folder that the command starts in: from the root, or below the workspace.
    pub cwd: &'p str,
    /// The home folder, from the root. Without it `~` is outside.
    pub home: Option<&'p str>,
}

/// The effects of a command.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// Every effect, each once. There is at least one.
    pub effects: Vec<Effect>,
    /// Why the command as a whole cannot be analysed.
    pub refused: Option<&'static str>,
    /// How many characters were read. The work is in proportion to it.
    pub steps: usize,
}

/// Says what a command would do, without running anything.
///
/// ```
/// use ordain_shell::{EffectKind, Place, analyse};
/// let place = Place { workspace: Some("/home/me/shop"), cwd: ".", home: Some("/home/me") };
/// let analysis = analyse("cd src && rm -f old.rs", &place);
/// let deletes = &analysis.effects[1];
/// assert_eq!((deletes.effect, deletes.resource_id.as_str()), (EffectKind::Delete, "src/old.rs"));
/// ```
pub fn analyse(command: &str, place: &Place<'_>) -> Analysis {
    let mut budget = Budget::default();
    match effects_of(command, place, &mut budget) {
        Ok(effects) => Analysis { effects, refused: None, steps: budget.steps },
        Err(reason) => {
            let effect = Effect {
                effect: EffectKind::Opaque,
                program: String::new(),
                args: vec![shorten(command)],
                resource_type: "opaque".to_owned(),
                resource_id: "*".to_owned(),
                domain: "workspace".to_owned(),
                known: false,
            };
            Analysis { effects: vec![effect], refused: Some(reason), steps: budget.steps }
        }
    }
}

fn effects_of(command: &str, place: &Place<'_>, budget: &mut Budget) -> Result<Vec<Effect>, Refusal> {
    if command.len() > COMMAND_BYTES_MAX {
        return Err(TOO_LONG);
    }
    if command.chars().any(is_unseen) {
        return Err("the command has characters that cannot be seen");
    }
    let mut analyser = Analyser {
        place,
        budget,
        effects: Vec::new(),
        seen: BTreeSet::new(),
        folders: vec![start(place)],
        values: Values::new(),
        functions: BTreeSet::new(),
        names: BTreeSet::new(),
        home_assigned: false,
        documents: Vec::new(),
        program: String::new(),
        args: Vec::new(),
        remote: None,
        depth: 0,
    };
    analyser.text(command)?;
    if analyser.effects.is_empty() {
        analyser.emit(EffectKind::Harmless, "program", "", "workspace");
    }
    Ok(analyser.effects)
}

/// Characters that people do not see, or see elsewhere.
fn is_unseen(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => true,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => true,
        '\u{e0000}'..='\u{e0fff}' | '\u{fff9}'..='\u{fffb}' => true,
        other => other.is_control(),
    }
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

/// Where a command reads from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Input {
    /// Nothing that matters, or a person.
    None,
    /// The output of another command.
    Pipe,
    /// A text that is known.
    Text(String),
    /// A file.
    File(Arg),
}

/// Variables that change what other programs do.
static HIJACKS: &[&str] = &[
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "HOME",
    "PWD",
    "OLDPWD",
    "FPATH",
    "ZDOTDIR",
    "LD_*",
    "DYLD_*",
    "BASH_*",
    "*PAGER",
    "*EDITOR",
    "VISUAL",
    "BROWSER",
    "GIT_*",
    "*_COMMAND",
    "*_ASKPASS",
    "SSH_*",
    "*_PROXY",
    "*_proxy",
    "LESSOPEN",
    "LESSCLOSE",
    "LESS",
    "MANOPT",
    "MANPATH",
    "RIPGREP_CONFIG_PATH",
    "GREP_*",
    "TAR_*",
    "PERL*",
    "PYTHON*",
    "RUBY*",
    "npm_config_*",
    "NPM_CONFIG_*",
    "YARN_*",
    "PIP_*",
    "CARGO_*",
    "RUSTC*",
    "RUSTFLAGS",
    "RUSTDOC*",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "CC",
    "CXX",
    "LD",
    "AR",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "GOFLAGS",
    "GOPROXY",
    "XDG_*",
    "TMPDIR",
    "EMACSLOADPATH",
    "VIMINIT",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "TERMINFO",
    "TERMCAP",
    "HOSTALIASES",
    "RES_OPTIONS",
    "OPENSSL_CONF",
    "SSL_CERT_*",
    "CURL_HOME",
    "WGETRC",
    "DOCKER_HOST",
    "KUBECONFIG",
    "AWS_*",
    "ORDAIN_*",
    "CLAUDE_*",
    "CODEX_*",
    "PS1",
    "PS2",
    "TIMEFORMAT",
    "histchars",
    "FCEDIT",
    "INPUTRC",
    "POSIXLY_CORRECT",
];

/// Variables that make programs load more code, from wherever it is.
static LOADERS: &[&str] = &["NODE_OPTIONS", "NODE_PATH", "PYTHONPATH"];

/// Variables of these programs that are about how they build and report.
static HARMLESS_NAMES: &[&str] = &[
    "CARGO_TERM_*",
    "CARGO_INCREMENTAL",
    "CARGO_TARGET_DIR",
    "CARGO_PROFILE_*",
    "CARGO_BUILD_JOBS",
    "CARGO_NET_OFFLINE",
    "CARGO_RESOLVER_*",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "GIT_PAGER=cat",
    "PAGER=cat",
];

pub(crate) struct Analyser<'a> {
    pub(crate) place: &'a Place<'a>,
    budget: &'a mut Budget,
    effects: Vec<Effect>,
    seen: BTreeSet<Effect>,
    /// Where the command may be. A `cd` that fails leaves it where it was.
    pub(crate) folders: Vec<Folder>,
    values: Values,
    functions: BTreeSet<String>,
    /// Variables that programs such as `read` assign.
    pub(crate) names: BTreeSet<String>,
    home_assigned: bool,
    documents: Vec<Word>,
    pub(crate) program: String,
    args: Vec<String>,
    /// The host that runs the commands, within an `ssh`.
    pub(crate) remote: Option<String>,
    depth: usize,
}

impl Analyser<'_> {
    /// A text that a shell runs, in this shell's folder.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Refusal> {
        if self.depth >= DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        let mut shared = Shared::default();
        let list = read(text, self.depth, self.budget, &mut shared)?;
        // Arithmetic would evaluate the value that a later part of the text puts into a variable.
        let is_number = |name: &String| shared.assigned.get(name) == Some(&true);
        if !shared.evaluated.iter().all(is_number) {
            return Err("arithmetic evaluates a variable that may hold a command");
        }
        self.home_assigned |= shared.assigned.contains_key("HOME");
        let documents = std::mem::replace(&mut self.documents, shared.documents);
        let (program, args) = (self.program.clone(), self.args.clone());
        let names = std::mem::take(&mut self.names);
        self.depth += 1;
        let result = self.list(&list);
        self.depth -= 1;
        let assigned = std::mem::replace(&mut self.names, names);
        (self.program, self.args, self.documents) = (program, args, documents);
        result?;
        if shared.evaluated.iter().any(|name| assigned.contains(name)) {
            return Err("arithmetic evaluates a variable that may hold a command");
        }
        Ok(())
    }

    /// As [`Self::text`], in a shell of its own.
    pub(crate) fn inner_text(&mut self, text: &str) -> Result<(), Refusal> {
        let (folders, functions) = (self.folders.clone(), self.functions.clone());
        let values = std::mem::take(&mut self.values);
        let result = self.text(text);
        (self.folders, self.functions, self.values) = (folders, functions, values);
        result
    }

    fn subshell(&mut self, list: &List) -> Result<(), Refusal> {
        let (folders, functions) = (self.folders.clone(), self.functions.clone());
        let (program, args) = (self.program.clone(), self.args.clone());
        let result = self.list(list);
        (self.folders, self.functions) = (folders, functions);
        (self.program, self.args) = (program, args);
        result
    }

    fn list(&mut self, list: &List) -> Result<(), Refusal> {
        let mut before = self.folders.clone();
        for item in list {
            match item.join {
                Join::And => {}
                Join::Next | Join::Background | Join::Or => {
                    self.widen(&before);
                    before = self.folders.clone();
                }
            }
            self.node(&item.node, &Input::None)?;
        }
        self.widen(&before);
        Ok(())
    }

    /// It may as well still be there.
    fn widen(&mut self, others: &[Folder]) {
        for folder in others {
            if !self.folders.contains(folder) {
                self.folders.push(folder.clone());
            }
        }
        if self.folders.len() > FOLDERS_MAX {
            self.folders = vec![Folder::Unknown];
        }
    }

    fn node(&mut self, node: &Node, input: &Input) -> Result<(), Refusal> {
        match node {
            Node::Simple(simple) => self.simple(simple, input),
            Node::Pipeline(nodes) => {
                let folders = self.folders.clone();
                for (at, node) in nodes.iter().enumerate() {
                    let input = if at == 0 { input.clone() } else { Input::Pipe };
                    self.node(node, &input)?;
                    self.folders.clone_from(&folders);
                }
                Ok(())
            }
            Node::Group(group) => self.group(group, input),
            Node::Function { name, body } => {
                self.functions.insert(name.clone());
                // It runs wherever it is called.
                let folders = std::mem::replace(&mut self.folders, vec![Folder::Unknown]);
                let values = std::mem::take(&mut self.values);
                let result = self.node(body, &Input::Pipe);
                (self.folders, self.values) = (folders, values);
                result
            }
            Node::Test { words, redirects } => {
                for word in words {
                    self.runs_of(word)?;
                }
                self.redirects(redirects)?;
                (self.program, self.args) = ("[[".to_owned(), Vec::new());
                self.emit(EffectKind::Harmless, "program", "[[", "workspace");
                Ok(())
            }
        }
    }

    fn group(&mut self, group: &Group, input: &Input) -> Result<(), Refusal> {
        let mut known = Vec::new();
        for word in &group.words {
            self.runs_of(word)?;
            known.extend(expand(word, &self.values, self.home_assigned)?);
        }
        let input = match self.redirects(&group.redirects)? {
            Input::None => input.clone(),
            redirected => redirected,
        };
        let outer = self.values.clone();
        if let Some(name) = &group.variable {
            self.values.insert(name.clone(), known);
        }
        let folders = self.folders.clone();
        for part in &group.parts {
            // A loop's second round begins where its first one ended.
            if group.conditional && group.parts.iter().any(changes_folder) {
                self.folders = vec![Folder::Unknown];
            }
            self.list_with(part, &input)?;
        }
        if group.subshell {
            self.folders = folders;
        } else if group.conditional {
            self.widen(&folders);
        }
        self.values = outer;
        Ok(())
    }

    /// Commands that share an input: each may read it.
    fn list_with(&mut self, list: &List, input: &Input) -> Result<(), Refusal> {
        if *input == Input::None {
            return self.list(list);
        }
        let before = self.folders.clone();
        for item in list {
            self.node(&item.node, &Input::Pipe)?;
            if item.join != Join::And {
                self.widen(&before);
            }
        }
        Ok(())
    }

    /// The commands that expanding a word runs.
    fn runs_of(&mut self, word: &Word) -> Result<(), Refusal> {
        word.runs.iter().try_for_each(|list| self.subshell(list))
    }

    fn redirects(&mut self, redirects: &[Redirect]) -> Result<Input, Refusal> {
        let mut input = Input::None;
        for redirect in redirects {
            self.runs_of(&redirect.word)?;
            if redirect.direction == Direction::Text {
                let word = match redirect.document {
                    Some(place) => self.documents.get(place).cloned().unwrap_or_default(),
                    None => redirect.word.clone(),
                };
                if redirect.document.is_some() {
                    self.runs_of(&word)?;
                }
                if redirect.input {
                    input = word.literal().map_or(Input::Pipe, Input::Text);
                }
                continue;
            }
            if redirect.direction == Direction::Descriptor {
                if redirect.input {
                    input = Input::Pipe;
                }
                continue;
            }
            for arg in expand(&redirect.word, &self.values, self.home_assigned)? {
                let network =
                    arg.prefix.strip_prefix("/dev/tcp/").or_else(|| arg.prefix.strip_prefix("/dev/udp/"));
                if let Some(host) = network {
                    let host = host.split('/').next().unwrap_or_default().to_owned();
                    self.network(EffectKind::NetworkWrite, &host);
                    continue;
                }
                match redirect.direction {
                    Direction::Read => self.file(EffectKind::Read, &arg),
                    Direction::Write => self.file(EffectKind::Write, &arg),
                    _ => {
                        self.file(EffectKind::Read, &arg);
                        self.file(EffectKind::Write, &arg);
                    }
                }
                if redirect.input {
                    input = Input::File(arg);
                }
            }
        }
        Ok(input)
    }

    fn simple(&mut self, simple: &Simple, input: &Input) -> Result<(), Refusal> {
        for word in simple.assignments.iter().flat_map(|assignment| &assignment.value).chain(&simple.words) {
            self.runs_of(word)?;
        }
        let mut args = Vec::new();
        for word in &simple.words {
            args.extend(expand(word, &self.values, self.home_assigned)?);
            self.budget.words += 1;
        }
        (self.program, self.args) = (String::new(), Vec::new());
        if let Some((program, rest)) = args.split_first() {
            self.now_runs(&program.text, rest);
        }
        let input = match self.redirects(&simple.redirects)? {
            Input::None => input.clone(),
            redirected => redirected,
        };
        let reads = args.first().is_some_and(|program| program.exact && program.text == "read");
        for assignment in simple.assignments.iter().filter(|it| !(reads && it.name == "IFS")) {
            self.assign(assignment);
        }
        if args.is_empty() {
            if simple.words.is_empty() {
                self.emit(EffectKind::Harmless, "program", "", "workspace");
            } else {
                self.opaque("");
            }
            return Ok(());
        }
        self.call(&args, &input)
    }

    fn now_runs(&mut self, program: &str, args: &[Arg]) {
        self.program = shorten(program);
        self.args = args.iter().take(SHOWN_ARGS_MAX).map(|arg| shorten(&arg.text)).collect();
        if args.len() > SHOWN_ARGS_MAX {
            self.args.push("…".to_owned());
        }
    }

    fn assign(&mut self, assignment: &Assignment) {
        let value = assignment.value.first().and_then(Word::literal).unwrap_or_default();
        self.assign_name(&assignment.name, &value);
    }

    /// A variable that programs look at.
    pub(crate) fn assign_name(&mut self, name: &str, value: &str) {
        let fits = |row: &&&str| match (row.strip_prefix('*'), row.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (None, Some(front)) => name.starts_with(front),
            (None, None) => match row.split_once('=') {
                Some((row, wanted)) => name == row && value == wanted,
                None => name == **row,
            },
        };
        if LOADERS.contains(&name) && !value.contains("data:") {
            return self.emit(EffectKind::RunsCode, "code", &format!("{name}="), "workspace");
        }
        if LOADERS.contains(&name)
            || HIJACKS.iter().any(|row| fits(&row)) && !HARMLESS_NAMES.iter().any(|row| fits(&row))
        {
            self.opaque(&format!("{name}="));
        }
    }

    /// One program with its arguments.
    pub(crate) fn call(&mut self, args: &[Arg], input: &Input) -> Result<(), Refusal> {
        if self.depth >= DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        if self.effects.len() > EFFECTS_MAX {
            return Err("the command has too many effects");
        }
        let Some((program, rest)) = args.split_first() else {
            self.opaque("");
            return Ok(());
        };
        let outer = (self.program.clone(), self.args.clone());
        self.now_runs(&program.text, rest);
        self.depth += 1;
        let result = self.dispatch(program, rest, input);
        self.depth -= 1;
        (self.program, self.args) = outer;
        result
    }

    fn dispatch(&mut self, named: &Arg, args: &[Arg], input: &Input) -> Result<(), Refusal> {
        if !named.exact {
            self.opaque(&named.text);
            return Ok(());
        }
        let name = match named.text.rsplit_once('/') {
            None => named.text.as_str(),
            Some(("/bin" | "/usr/bin" | "/usr/local/bin" | "/sbin" | "/usr/sbin", name)) => name,
            Some((folder, _)) => {
                let tool = folder.ends_with("node_modules/.bin");
                let code = self.file_code(named);
                if tool && code {
                    return Ok(());
                }
                if !code {
                    self.opaque(&named.text);
                }
                return Ok(());
            }
        };
        if self.functions.contains(name) {
            // Its effects are counted where it is defined. It may leave the shell anywhere.
            self.folders = vec![Folder::Unknown];
            self.emit(EffectKind::Harmless, "program", name, "workspace");
            return Ok(());
        }
        let Some(mut row) = program(name) else {
            self.opaque(name);
            return Ok(());
        };
        let mut name = name.to_owned();
        let before = self.effects.len();
        let mut args = args.to_vec();
        if row.always.starts_with("sub") {
            let parsed = parse(row.options, &args, Some(1));
            if let Some(unlisted) = &parsed.unlisted {
                let unlisted = unlisted.clone();
                self.opaque(&unlisted);
                return Ok(());
            }
            let special = row.always.split(' ').find_map(|always| always.strip_prefix("see:"));
            let folders = self.folders.clone();
            if let Some(special) = special {
                self.special(special, &name, &parsed, &args, input)?;
            }
            let Some((sub, rest)) = parsed.operands.split_first() else {
                self.emit(EffectKind::Harmless, "program", &name, "workspace");
                self.folders = folders;
                return Ok(());
            };
            let full = format!("{name} {}", sub.text);
            let Some(found) = program(&full).filter(|_| sub.exact) else {
                self.opaque(&full);
                self.folders = folders;
                return Ok(());
            };
            row = found;
            args = rest.to_vec();
            name = full;
            let result = self.apply(row, &name, &args, input, before);
            self.folders = folders;
            return result;
        }
        self.apply(row, &name, &args, input, before)
    }

    fn apply(
        &mut self,
        row: &Program,
        name: &str,
        args: &[Arg],
        input: &Input,
        before: usize,
    ) -> Result<(), Refusal> {
        let pattern: Vec<&str> = row.operands.split(' ').filter(|it| !it.is_empty()).collect();
        let stop = pattern.iter().position(|it| *it == "$");
        // A command that follows has its own options.
        let parsed = parse(row.options, args, stop.map(|_| 1));
        if let Some(unlisted) = &parsed.unlisted {
            let unlisted = unlisted.clone();
            self.opaque(&unlisted);
            return Ok(());
        }
        for always in row.always.split(' ').filter(|it| !it.is_empty()) {
            let (what, which) = always.split_once(':').unwrap_or((always, ""));
            let any = if which.is_empty() { "*" } else { which };
            match what {
                "code" => {
                    self.emit(EffectKind::RunsCode, "code", name, "workspace");
                    self.verb(&parsed.operands);
                }
                "git" => self.emit(EffectKind::GitWrite, "git_ref", "*", "workspace"),
                "get" => self.network(EffectKind::NetworkRead, any),
                "send" => self.network(EffectKind::NetworkWrite, any),
                "process" => self.emit(EffectKind::Process, "process", "*", "host"),
                "privilege" => self.emit(EffectKind::Privilege, "privilege", name, "host"),
                "opaque" => self.opaque(name),
                "publish" => self.emit(EffectKind::Publish, "package", "*", any),
                "install" if !parsed.operands.iter().any(|_| row.operands.contains('p')) => {
                    self.emit(EffectKind::Install, "package", "*", any);
                }
                _ => {}
            }
        }
        let registry = row.always.split(' ').find_map(|always| always.strip_prefix("install:"));
        for (kind, arg) in &parsed.values {
            self.operand(*kind, arg, registry)?;
        }
        let (plain, inner) = match stop {
            Some(at) => parsed.operands.split_at(at.min(parsed.operands.len())),
            None => (parsed.operands.as_slice(), &[][..]),
        };
        let kinds: Vec<&str> = pattern.iter().copied().filter(|it| *it != "$").collect();
        self.operands(&kinds, plain, registry)?;
        let mut handled = false;
        for always in row.always.split(' ') {
            if let Some(special) = always.strip_prefix("see:") {
                handled |= self.special(special, name, &parsed, args, input)?;
            }
        }
        if stop.is_some() && !handled {
            if inner.is_empty() {
                self.emit(EffectKind::Harmless, "program", name, "workspace");
            } else {
                self.call(inner, input)?;
            }
        }
        if self.effects.len() == before {
            self.emit(EffectKind::Harmless, "program", name, "workspace");
        }
        Ok(())
    }

    /// Many tools name what they do by their first operand, as in `lerna publish`.
    pub(crate) fn verb(&mut self, operands: &[Arg]) {
        match operands.first().map(|arg| arg.text.as_str()) {
            Some("publish" | "deploy" | "release") => self.emit(EffectKind::Publish, "package", "*", "*"),
            Some("install" | "add") => self.emit(EffectKind::Install, "package", "*", "*"),
            _ => {}
        }
    }

    /// Operands by their kinds; at most one kind is repeated.
    fn operands(&mut self, kinds: &[&str], args: &[Arg], registry: Option<&str>) -> Result<(), Refusal> {
        let many = kinds.iter().position(|kind| kind.ends_with(['*', '.']));
        let after = many.map_or(0, |at| kinds.len() - at - 1);
        if args.is_empty() && kinds.last().is_some_and(|kind| kind.ends_with('.')) {
            return self.operand('r', &Arg::exact("."), registry);
        }
        // An argument that can become several moves all that follow.
        let shifts = args.iter().any(|arg| arg.many || arg.pattern) && kinds.len() > 1;
        for (at, arg) in args.iter().enumerate() {
            let from_end = args.len() - at;
            let kind = match many {
                Some(place) if at >= place && from_end > after => kinds.get(place),
                Some(place) if at > place => kinds.get(kinds.len() - from_end.min(kinds.len())),
                _ => kinds.get(at.min(kinds.len().saturating_sub(1))),
            };
            let kind = kind.and_then(|kind| kind.chars().next()).unwrap_or('_');
            self.operand(kind, arg, registry)?;
            if shifts && arg.many {
                let others: BTreeSet<char> = kinds.iter().filter_map(|kind| kind.chars().next()).collect();
                for other in others.into_iter().filter(|other| *other != kind && *other != '_') {
                    self.operand(other, arg, registry)?;
                }
            }
        }
        // The first one with nothing behind it: `grep x` looks at this folder only with `-r`.
        let wants_more = kinds.len() == 2 && kinds.last().is_some_and(|kind| kind.ends_with('.'));
        if wants_more && args.len() == 1 {
            self.operand('r', &Arg::exact("."), registry)?;
        }
        Ok(())
    }

    pub(crate) fn operand(&mut self, kind: char, arg: &Arg, registry: Option<&str>) -> Result<(), Refusal> {
        match kind {
            'r' => self.file(EffectKind::Read, arg),
            'w' => self.file(EffectKind::Write, arg),
            'd' | 'm' => self.file(EffectKind::Delete, arg),
            'b' => {
                self.file(EffectKind::Read, arg);
                self.file(EffectKind::Write, arg);
            }
            'c' => {
                self.file_code(arg);
            }
            'h' => self.url(EffectKind::NetworkRead, arg),
            'H' => self.url(EffectKind::NetworkWrite, arg),
            'p' => {
                let id = if arg.exact { arg.text.clone() } else { "*".to_owned() };
                self.emit(EffectKind::Install, "package", &id, registry.unwrap_or("*"));
            }
            'x' => {
                if arg.exact {
                    self.inner_text(&arg.text)?;
                } else {
                    self.opaque(&arg.text);
                }
            }
            'X' => self.opaque(&arg.text),
            'f' if !arg.prefix.starts_with('+') => self.opaque(&arg.text),
            _ => {}
        }
        Ok(())
    }

    /// Code in a file. Whether it is known where.
    pub(crate) fn file_code(&mut self, arg: &Arg) -> bool {
        let spots = self.spots(arg);
        // Code that comes through a pipe.
        if spots.iter().any(Option::is_none) {
            self.opaque(&arg.text);
        }
        let mut known = true;
        for spot in spots.into_iter().flatten() {
            known &= spot.domain == "workspace";
            self.emit(EffectKind::RunsCode, "code", &spot.id, spot.domain);
        }
        known && arg.exact
    }

    fn spots(&self, arg: &Arg) -> Vec<Option<Spot>> {
        self.folders.iter().map(|from| spot(arg, from, self.place)).collect()
    }

    /// An effect on a file.
    pub(crate) fn file(&mut self, kind: EffectKind, arg: &Arg) {
        let spots = self.spots(arg);
        for spot in spots.into_iter().flatten() {
            self.file_at(kind, &spot);
        }
    }

    pub(crate) fn file_at(&mut self, kind: EffectKind, spot: &Spot) {
        let changes = kind != EffectKind::Read;
        // The folder itself is a guard only if it goes away.
        let guard = changes && spot.guard && !(kind == EffectKind::Write && spot.id == ".");
        let resource_type = match (spot.credential, guard) {
            (true, _) => "credential",
            (false, true) => "guard",
            (false, false) => "file",
        };
        self.emit(kind, resource_type, &spot.id, spot.domain);
    }

    /// Writes files that only their archive or patch names, below a folder.
    pub(crate) fn tree(&mut self, arg: &Arg) {
        let spots = self.spots(arg);
        for spot in spots.into_iter().flatten() {
            let guard = spot.guard || spot.id == "." || spot.id == "*";
            let resource_type = if guard { "guard" } else { "file" };
            self.emit(EffectKind::Write, resource_type, &spot.id, spot.domain);
        }
    }

    pub(crate) fn change_folder(&mut self, arg: &Arg) {
        let mut folders: Vec<Folder> = Vec::new();
        for from in &self.folders {
            let found = folder(arg, from, self.place);
            if !folders.contains(&found) {
                folders.push(found);
            }
        }
        self.folders = folders;
    }

    pub(crate) fn url(&mut self, kind: EffectKind, arg: &Arg) {
        let rest = arg.prefix.split_once("://").map_or(arg.prefix.as_str(), |(_, rest)| rest);
        if arg.prefix.starts_with("file:") {
            let path = rest.trim_start_matches("localhost");
            let arg = if arg.exact { Arg::exact(path) } else { Arg::unknown() };
            return self.file(EffectKind::Read, &arg);
        }
        let end = rest.find(['/', '?', '#']);
        let authority = match end {
            Some(end) => rest.get(..end).unwrap_or_default(),
            None if arg.exact => rest,
            None => "*",
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let host = match host.strip_prefix('[') {
            Some(host) => host.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let odd = host.is_empty()
            || host.contains(|it: char| {
                !(it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_' | ':' | '*'))
            });
        let host = if odd { "*" } else { host };
        // The parts of an address leave this machine with it.
        let kind = if arg.exact { kind } else { EffectKind::NetworkWrite };
        let host = host.to_owned();
        self.network(kind, &host);
    }

    pub(crate) fn network(&mut self, kind: EffectKind, host: &str) {
        let host = host.to_ascii_lowercase();
        let host = host.trim_end_matches('.');
        let loopback = host == "localhost"
            || host.ends_with(".localhost")
            || host == "::1"
            || host == "0.0.0.0"
            || is_loopback(host);
        let host = match host {
            _ if loopback => "loopback",
            // A host of another machine can have the name of a domain of ours.
            "loopback" | "workspace" | "host" => "*",
            host => host,
        };
        self.emit(kind, "network", host, host);
    }

    /// The call can do anything.
    pub(crate) fn opaque(&mut self, id: &str) {
        let id = shorten(if id.is_empty() { "*" } else { id });
        self.emit(EffectKind::Opaque, "opaque", &id, "workspace");
    }

    pub(crate) fn emit(&mut self, kind: EffectKind, resource_type: &str, id: &str, domain: &str) {
        let effect = Effect {
            effect: kind,
            program: self.program.clone(),
            args: self.args.clone(),
            resource_type: resource_type.to_owned(),
            resource_id: shorten(id),
            domain: self.remote.clone().unwrap_or_else(|| domain.to_owned()),
            known: kind != EffectKind::Opaque,
        };
        if self.seen.insert(effect.clone()) {
            self.effects.push(effect);
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let parts: Vec<&str> = host.split('.').collect();
    parts.len() == 4 && parts.first() == Some(&"127") && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

fn changes_folder(list: &List) -> bool {
    list.iter().any(|item| node_changes_folder(&item.node))
}

fn node_changes_folder(node: &Node) -> bool {
    match node {
        Node::Simple(simple) => simple.words.first().is_some_and(|word| {
            word.literal().is_none_or(|word| {
                matches!(
                    word.as_str(),
                    "cd" | "pushd" | "popd" | "eval" | "builtin" | "command" | "source" | "."
                )
            })
        }),
        Node::Group(group) => !group.subshell && group.parts.iter().any(changes_folder),
        Node::Pipeline(_) | Node::Function { .. } | Node::Test { .. } => false,
    }
}
