//! The `ordain` command.

mod arguments;
mod cli;
mod commands;
mod exit;

mod changes;
mod clock;
mod document;
mod facts;
mod gate;
mod gateway;
mod input;
mod lines;
mod output;
mod page;
mod patch_source;
mod policy_folder;
mod progress;
mod project;
mod report;
mod service;
mod signing;
mod unified;
mod view;
mod wording;

#[cfg(test)]
mod seam_tests;

use clap::Parser;
use cli::{Cli, Color};
use exit::Outcome;
use std::process::ExitCode;

/// A server allocates on every core at once, where the C library's allocator takes a tenth of the time of a decision, and musl's
/// far more.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ordain_harness::sandbox::enter_if_asked();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors, and nobody is left to hear that they cannot be printed.
            let _ = error.print();
            return if error.use_stderr() { Outcome::Usage.into() } else { Outcome::Ok.into() };
        }
    };
    match cli.global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    if let Some(workspace) = cli.command.workspace() {
        commands::recover::recover(workspace);
        gate::files::report_interrupted(workspace, &arguments::Connect::of_environment());
    }
    let done = cli.command.run(cli.global.json);
    match done {
        Ok(outcome) => outcome.into(),
        Err(failure) if failure.was_reported() => failure.outcome().into(),
        Err(failure) => {
            report::error(&failure);
            failure.outcome().into()
        }
    }
}
