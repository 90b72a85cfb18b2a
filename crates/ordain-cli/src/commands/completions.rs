//! `ordain completions`.

use crate::cli::Cli;
use crate::exit::{self, Failure, Outcome};
use clap::{Args, CommandFactory};
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Completions) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ordain", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Outcome::Ok)
}
