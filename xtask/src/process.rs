//! Runs other programs from the root of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().unwrap_or(folder).to_owned()
}

/// A program that will run in the root.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Cargo, in the root. Builds that are thrown away keep nothing for the next time.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = command("cargo", arguments);
    if std::env::var_os("CI").is_some() {
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    cargo
}

/// Runs it to its end; its output streams through.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{} does not start: {error}", line(command)))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{} failed: {status}", line(command))),
    }
}

/// Runs it to its end and gives what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{} does not start: {error}", line(command)))?;
    if !output.status.success() {
        return Err(format!("{} failed: {}", line(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{} printed no text", line(command)))
}

/// Whether it starts and succeeds; nothing is shown.
pub(crate) fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// As a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}
