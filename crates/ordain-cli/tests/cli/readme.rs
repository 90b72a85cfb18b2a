//! What README.md shows is what happens: its commands are run and their output compared.

use crate::harness::{folder, repository};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The commands of the console blocks with the output that follows each; a trailing backslash continues a command.
pub(crate) fn commands(readme: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let (mut in_block, mut continues) = (false, false);
    for line in readme.lines() {
        match line {
            "```console" => in_block = true,
            _ if line.starts_with("```") => in_block = false,
            _ if !in_block => {}
            _ if continues => {
                let (command, _) = commands.last_mut().unwrap();
                continues = line.ends_with('\\');
                command.push('\n');
                command.push_str(line);
            }
            _ => match line.strip_prefix("$ ") {
                Some(command) => {
                    continues = command.ends_with('\\');
                    commands.push((command.to_owned(), String::new()));
                }
                None => {
                    let (_, output) = commands.last_mut().expect("a block starts with a command");
                    output.push_str(line);
                    output.push('\n');
                }
            },
        }
    }
    commands
}

/// The `yaml` and `json` blocks that are files: those after a paragraph that ends in `` `NAME` `` or names one last.
pub(crate) fn files(readme: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for fence in ["\n```yaml\n", "\n```json\n"] {
        for (start, _) in readme.match_indices(fence) {
            let before = readme[..start].trim_end().rsplit("\n\n").next().unwrap();
            let named = before.split('`').skip(1).step_by(2);
            let name = named.filter(|it| it.ends_with(fence[4..].trim_end())).last();
            let content = readme[start + fence.len()..].split_once("```").unwrap().0;
            files.push((name.expect("a file has a name").to_owned(), content.to_owned()));
        }
    }
    files
}

/// A folder of its own, in which commands may write; examples and vectors are linked into it.
fn scratch(readme: &str) -> TempDir {
    let root = repository();
    let folder = folder();
    for name in ["conformance", "examples"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
    }
    for (name, content) in files(readme) {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// With `ORDAIN_BLESS=1` outputs that differ are written into the README; look at the difference.
#[test]
fn every_output_is_real() {
    let bless = std::env::var_os("ORDAIN_BLESS").is_some();
    let file = repository().join("README.md");
    let mut readme = std::fs::read_to_string(&file).unwrap();
    let (folder, state) = (scratch(&readme), folder());
    let binary = Path::new(env!("CARGO_BIN_EXE_ordain")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());

    let mut compared = 0;
    for (shown, expected) in commands(&readme) {
        let command = shown.replace("cargo run --release --", "ordain");
        if expected.is_empty() || command.starts_with("cargo") {
            continue;
        }
        let shell = format!("{{ {command}\n}} 2>&1");
        let output = Command::new("sh")
            .args(["-c", &shell])
            .env("PATH", &path)
            .env("XDG_STATE_HOME", state.path())
            .current_dir(&folder)
            .output()
            .unwrap();
        let real = String::from_utf8(output.stdout).unwrap();
        if bless {
            let (old, new) = (format!("$ {shown}\n{expected}"), format!("$ {shown}\n{}\n", real.trim_end()));
            // A line without content between two commands of a block is for the eye.
            let blank = if expected.ends_with("\n\n") { "\n" } else { "" };
            readme = readme.replace(&old, &format!("{new}{blank}"));
        } else {
            assert_eq!(real.trim_end(), expected.trim_end(), "$ {command}");
        }
        compared += 1;
    }
    assert!(compared >= 35, "only {compared} commands were found");
    if bless {
        std::fs::write(&file, readme).unwrap();
    }
}
