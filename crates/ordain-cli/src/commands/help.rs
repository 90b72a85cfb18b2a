//! `ordain help`.

use crate::cli;
use crate::display;
use crate::exit::{self, Failure, Outcome};
use clap::Args;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Help {
    /// The command; without it the list of all
    #[arg(value_name = "COMMAND")]
    pub(crate) path: Vec<String>,
}

pub(crate) fn run(args: &Help) -> Result<Outcome, Failure> {
    let mut command = cli::command();
    command.build();
    let mut found = &mut command;
    for name in &args.path {
        let Some(below) = found.find_subcommand_mut(name) else {
            let failure = Failure::Usage(format!("no command `{}`", args.path.join(" ")));
            return Err(failure.with_hint("run `ordain help` for the list"));
        };
        found = below;
    }
    let text = found.render_long_help().ansi().to_string();
    if !display::paged(&text) {
        anstream::stdout().lock().write_all(text.as_bytes())?;
    }
    Ok(Outcome::Ok)
}
