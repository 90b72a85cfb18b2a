//! The `ordain` command.

mod agents;
mod arguments;
mod cli;
mod commands;
mod exit;

mod changes;
mod clock;
mod console_page;
mod display;
mod document;
mod facts;
mod gate;
mod gateway;
mod help;
mod hints;
mod input;
mod kept_file;
mod lines;
mod output;
mod own_key;
mod page;
mod patch_source;
mod policy_folder;
mod progress;
mod project;
mod prompt;
mod report;
mod service;
mod signing;
mod unified;
mod usage;
mod view;
mod wording;

#[cfg(test)]
mod hint_tests;
#[cfg(test)]
mod seam_tests;

use clap::FromArgMatches;
use cli::Cli;
use commands::Command;
use exit::Outcome;
use std::process::ExitCode;

/// A server allocates on every core at once, where the C library's allocator takes a tenth of the time of a
/// decision, and musl's far more.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ordain_harness::sandbox::enter_if_asked();
    if let Some(code) = ordain_hooks::run_if_asked() {
        return code;
    }
    let parsed = cli::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let outcome = if error.use_stderr() { Outcome::Usage } else { Outcome::Ok };
            usage::print(error);
            return outcome.into();
        }
    };
    display::set(&cli.global);
    if let Some(workspace) = cli.command.workspace() {
        commands::recover::recover(workspace);
        gate::files::report_interrupted(workspace, &arguments::Connect::of_environment());
    }
    let done = cli.command.run(cli.global.json);
    match done {
        Ok(outcome) => outcome.into(),
        Err(failure) if failure.was_reported() => failure.outcome().into(),
        // A server's log is JSON lines, and so is the reason why it does not start.
        Err(failure) if cli.global.json && matches!(cli.command, Command::Serve(_)) => {
            report::log_error(&failure);
            failure.outcome().into()
        }
        Err(failure) => {
            report::error(&failure);
            failure.outcome().into()
        }
    }
}
