//! The project's own commands: `cargo xtask COMMAND`.

mod process;
mod tools;

#[cfg(test)]
mod attacks;
mod bench;
mod bench_model;
mod clarity;
mod clarity_page;
mod fmt;
mod fuzz;
mod generate;
mod layers;
mod lint;
mod postgres;
mod prose;
mod rule_pages;
mod soak;
mod test;

use std::process::ExitCode;

/// Why a command did not do its work.
#[derive(Debug)]
enum Error {
    /// It was called in a way that it does not know.
    Usage(String),
    /// It ran, and something is wrong.
    Failed(String),
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

type Result<T> = std::result::Result<T, Error>;

struct Command {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

static COMMANDS: &[Command] = &[
    Command {
        name: "test",
        arguments: "[-- NEXTEST…]",
        about: "everything that CI runs; installs missing tools",
        run: test::run,
    },
    Command { name: "fmt", arguments: "", about: "formats the code", run: fmt::run },
    Command { name: "lint", arguments: "", about: "runs the lints", run: lint::run },
    Command {
        name: "bench",
        arguments: "[--model]",
        about: "measures, each figure beside a peer in the same run; or how a real model does",
        run: bench::run,
    },
    Command {
        name: "clarity",
        arguments: "[--show SET] [FILE…]",
        about: "measures the clarity rules on labelled requests",
        run: clarity::run,
    },
    Command {
        name: "gen",
        arguments: "[--check]",
        about: "writes generated files, or only compares them",
        run: generate::run,
    },
    Command {
        name: "layers",
        arguments: "",
        about: "checks which crate depends on which, and that the pure ones are",
        run: layers::run,
    },
    Command {
        name: "prose",
        arguments: "",
        about: "checks the voice of pages, comments and messages",
        run: prose::run,
    },
    Command {
        name: "fuzz",
        arguments: "[--seconds N] [TARGET…]",
        about: "fuzzes each target for a minute, or for N seconds",
        run: fuzz::run,
    },
    Command {
        name: "soak",
        arguments: "[--list] [NAME…]",
        about: "runs the long tests and fuzzes for long, or only the named parts",
        run: soak::run,
    },
];

/// `EX_USAGE` of sysexits.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Failed(message)) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
        Err(Error::Usage(message)) => {
            eprintln!("error: {message}\nrun `cargo xtask --help` for the commands");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        print_help();
        return Ok(());
    };
    let own = rest.split(|argument| argument == "--").next().unwrap_or_default();
    if is_help(name) || own.iter().any(|argument| is_help(argument)) {
        print_help();
        return Ok(());
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(rest),
        None => Err(Error::Usage(format!("there is no command `{name}`"))),
    }
}

fn is_help(argument: &str) -> bool {
    matches!(argument, "--help" | "-h")
}

fn print_help() {
    let call = |command: &Command| format!("{} {}", command.name, command.arguments);
    let width = COMMANDS.iter().map(|command| call(command).chars().count()).max().unwrap_or_default();
    for command in COMMANDS {
        println!("cargo xtask {:width$}  {}", call(command), command.about);
    }
}

/// For commands without arguments.
fn no_arguments(arguments: &[String]) -> Result<()> {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(Error::Usage(format!("unknown argument `{argument}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_error(arguments: &[&str]) -> bool {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.to_string()).collect();
        matches!(dispatch(&arguments), Err(Error::Usage(_)))
    }

    #[test]
    fn what_is_not_known_is_refused_before_anything_runs() {
        assert!(usage_error(&["tset"]));
        assert!(usage_error(&["test", "--fast"]));
        assert!(usage_error(&["fmt", "--check"]));
        assert!(usage_error(&["lint", "canon"]));
        assert!(usage_error(&["bench", "canonical"]));
        assert!(usage_error(&["bench", "--models"]));
        assert!(usage_error(&["bench", "canonical", "--model"]));
        assert!(usage_error(&["gen", "--chek"]));
        assert!(usage_error(&["layers", "--fix"]));
        assert!(usage_error(&["prose", "docs"]));
        assert!(usage_error(&["fuzz", "--seconds"]));
        assert!(usage_error(&["fuzz", "--seconds", "many"]));
        assert!(usage_error(&["fuzz", "--second", "1"]));
        assert!(usage_error(&["fuzz", "no_such_target"]));
        assert!(usage_error(&["soak", "--seconds"]));
        assert!(usage_error(&["soak", "stores", "store"]));
    }
}
