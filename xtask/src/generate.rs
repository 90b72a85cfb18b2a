//! `cargo xtask gen`: files that are made from the types and the rule tables.

use crate::process::{cargo, root, run as run_command};
use crate::{Error, Result, clarity_page, rule_pages};
use ordain_spec::Kind;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders in which every file is generated.
const FOLDERS: &[&str] = &["docs/rules", "schemas"];
/// A generated file among others.
const CLARITY_PAGE: &str = "docs/clarity.md";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => Ok(write()?),
        [only] if only == "--check" => Ok(check()?),
        [other, ..] if other != "--check" => Err(Error::Usage(format!("unknown argument `{other}`"))),
        _ => Err(Error::Usage("`gen` takes one argument at most".to_owned())),
    }
}

fn write() -> std::result::Result<(), String> {
    // The pages quote the reports, so these come first.
    bless_reports()?;
    bless_exit_codes()?;
    let wanted = files()?;
    let present = present(&wanted)?;
    for (path, text) in &wanted {
        if present.get(path) == Some(text) {
            continue;
        }
        let file = root().join(path);
        let folder = file.parent().unwrap_or(&file);
        fs::create_dir_all(folder).map_err(|error| format!("{path}: {error}"))?;
        fs::write(&file, text).map_err(|error| format!("{path}: {error}"))?;
        println!("wrote {path}");
    }
    for path in present.keys().filter(|path| !wanted.contains_key(*path)) {
        fs::remove_file(root().join(path)).map_err(|error| format!("{path}: {error}"))?;
        println!("removed {path}");
    }
    Ok(())
}

fn bless_reports() -> std::result::Result<(), String> {
    let mut bless = cargo(&["test", "-q", "--workspace", "--test", "conformance", "accept_is"]);
    run_command(bless.env("ORDAIN_BLESS", "1"))
}

/// The command line is not a library that this could read the table from.
fn bless_exit_codes() -> std::result::Result<(), String> {
    let test = "exit::tests::the_documents_have_these_exit_codes";
    let mut bless = cargo(&["test", "-q", "--workspace", "--bin", "ordain", test]);
    run_command(bless.env("ORDAIN_BLESS", "1"))
}

/// Names what `write` would change. The reports and the tables of exit codes are compared
/// by tests of their own.
pub(crate) fn check() -> std::result::Result<(), String> {
    let wanted = files()?;
    let differences = differences(&wanted, &present(&wanted)?);
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!(
        "generated files are not up to date\nhint: run `cargo xtask gen`\n{}",
        differences.join("\n")
    ))
}

fn differences(wanted: &BTreeMap<String, String>, present: &BTreeMap<String, String>) -> Vec<String> {
    let unlike = wanted.iter().filter_map(|(path, text)| match present.get(path) {
        None => Some(format!("{path} is missing")),
        Some(found) if found != text => Some(format!("{path} differs")),
        Some(_) => None,
    });
    let left_over = present.keys().filter(|path| !wanted.contains_key(*path));
    unlike.chain(left_over.map(|path| format!("{path} is left over: nothing generates it"))).collect()
}

/// Everything that is generated, by its path from the root.
fn files() -> std::result::Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    for kind in Kind::ALL {
        files.insert(format!("schemas/{kind}.json"), schema(kind)?);
        files.insert(format!("docs/rules/{kind}.md"), rule_pages::page(kind)?);
    }
    files.extend(rule_pages::contracts()?);
    files.insert("docs/rules/README.md".to_owned(), rule_pages::index());
    files.insert(CLARITY_PAGE.to_owned(), clarity_page::page());
    files.insert("schemas/openapi.json".to_owned(), pretty("openapi.json", &ordain_api::openapi())?);
    Ok(files)
}

fn schema(kind: Kind) -> std::result::Result<String, String> {
    pretty(&format!("the schema of {kind}"), &kind.schema())
}

fn pretty(name: &str, document: &impl serde::Serialize) -> std::result::Result<String, String> {
    let text = serde_json::to_string_pretty(document);
    text.map(|text| text + "\n").map_err(|error| format!("{name}: {error}"))
}

/// The files that are there now: those that are generated, and those of the folders in which all are.
fn present(wanted: &BTreeMap<String, String>) -> std::result::Result<BTreeMap<String, String>, String> {
    let mut paths: Vec<PathBuf> =
        wanted.keys().map(|path| root().join(path)).filter(|path| path.exists()).collect();
    for folder in FOLDERS {
        paths.extend(files_below(&root().join(folder)).map_err(|error| format!("{folder}: {error}"))?);
    }
    let mut files = BTreeMap::new();
    for path in paths {
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.strip_prefix(root()).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
    }
    Ok(files)
}

/// All files in a folder and the folders in it, sorted; none if it is not there.
pub(crate) fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !folder.exists() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_what_differs_is_missing_or_is_left_over() {
        let files = |list: &[(&str, &str)]| {
            list.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect()
        };
        let wanted: BTreeMap<_, _> = files(&[("a", "1"), ("b", "2"), ("c", "3")]);
        assert_eq!(differences(&wanted, &wanted), Vec::<String>::new());
        assert_eq!(
            differences(&wanted, &files(&[("a", "1"), ("b", "other"), ("d", "4")])),
            ["b differs", "c is missing", "d is left over: nothing generates it"]
        );
    }
}
