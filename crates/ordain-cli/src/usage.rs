//! Command lines that are wrong: the nearest command first, and examples where something is missing.

use crate::cli::Cli;
use crate::exit::Failure;
use crate::help::After;
use crate::report::{self, BOLD};
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::io::Write;

/// Examples that are shown below an error.
const EXAMPLES_MAX: usize = 3;

/// Prints why a command line is not taken.
pub(crate) fn print(mut error: clap::Error) {
    put_best_first(&mut error);
    if is_logged() && error.use_stderr() {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let problem = first.trim_start_matches("error: ").to_owned();
        return report::log_error(&Failure::Usage(problem).with_hint("run `ordain serve --help`"));
    }
    // Help and version are not errors, and nobody is left to hear that they cannot be printed.
    let _ = error.print();
    let is_short = matches!(
        error.kind(),
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand | ErrorKind::TooFewValues
    );
    if is_short {
        let mut stderr = anstream::stderr().lock();
        let examples = examples(&error);
        if !examples.is_empty() {
            let _ = writeln!(stderr, "\n{BOLD}Examples:{BOLD:#}");
        }
        for line in examples {
            let _ = writeln!(stderr, "  {line}");
        }
    }
}

/// Whether the command line asks for a server whose log is JSON lines: a reason why it does not start is one of them.
fn is_logged() -> bool {
    let words: Vec<_> = std::env::args_os().skip(1).take_while(|word| word != "--").collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    words.iter().find(|word| !word.to_string_lossy().starts_with('-')).is_some_and(|word| word == "serve")
        && has("--json")
}

/// The most similar of several names stands last otherwise, and nobody reads on.
fn put_best_first(error: &mut clap::Error) {
    let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) else { return };
    let names = names.iter().rev().cloned().collect();
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
}

/// Examples of the command that an error is about.
fn examples(error: &clap::Error) -> Vec<String> {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return Vec::new() };
    let usage = usage.to_string();
    let mut command = Cli::command();
    let mut path = Vec::new();
    for word in usage.split_whitespace().skip_while(|word| *word != "ordain").skip(1) {
        let Some(found) = command.find_subcommand(word).cloned() else { break };
        command = found;
        path.push(word.to_owned());
    }
    if path.is_empty() {
        return Vec::new();
    }
    let mut examples = After::of(&command, &path.join(" ")).examples;
    examples.truncate(EXAMPLES_MAX);
    examples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    fn error(line: &[&str]) -> clap::Error {
        let words = std::iter::once("ordain").chain(line.iter().copied());
        command().try_get_matches_from(words).unwrap_err()
    }

    #[test]
    fn the_nearest_command_is_first() {
        let mut wrong = error(&["aprove"]);
        put_best_first(&mut wrong);
        let said = wrong.to_string();
        let place = |name: &str| said.find(&format!("'{name}'")).unwrap_or_else(|| panic!("{said}"));
        assert!(place("approve") < place("approver"), "{said}");
    }

    #[test]
    fn what_is_missing_is_shown_by_example() {
        let shown = examples(&error(&["mcp", "entry"]));
        assert!(shown.iter().any(|line| line.starts_with("ordain mcp entry github")), "{shown:?}");
        let shown = examples(&error(&["token", "create"]));
        assert!(shown.iter().any(|line| line.contains("--role approver")), "{shown:?}");
        assert_eq!(examples(&error(&["aprove"])), Vec::<String>::new());
    }
}
