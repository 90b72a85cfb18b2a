//! What README.md shows is what happens: its commands are run and their output compared.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::path::Path;
use std::process::Command;

/// The commands of the console blocks with the output that follows each; a trailing backslash continues a command.
fn commands(readme: &str) -> Vec<(String, String)> {
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

#[test]
fn every_output_is_real() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let folder = std::env::temp_dir().join(format!("ordain-readme-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(root.join("conformance"), folder.join("conformance")).unwrap();
    let (_, yaml) = readme.split_once("```yaml\n").unwrap();
    std::fs::write(folder.join("routing.yaml"), yaml.split_once("```").unwrap().0).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_ordain")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());

    let mut compared = 0;
    for (command, expected) in commands(&readme) {
        let command = command.replace("cargo run --release --", "ordain");
        if expected.is_empty() || command.starts_with("cargo") {
            continue;
        }
        let shell = format!("{{ {command}\n}} 2>&1");
        let output =
            Command::new("sh").args(["-c", &shell]).env("PATH", &path).current_dir(&folder).output().unwrap();
        let real = String::from_utf8(output.stdout).unwrap();
        assert_eq!(real.trim_end(), expected.trim_end(), "$ {command}");
        compared += 1;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(compared >= 15, "only {compared} commands were found");
}
