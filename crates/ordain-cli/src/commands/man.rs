//! `ordain man`.

use crate::cli::Cli;
use crate::exit::{self, Failure, Outcome};
use clap::{Args, CommandFactory};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Man {
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Man) -> Result<Outcome, Failure> {
    match &args.dir {
        None => clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout().lock())?,
        Some(folder) => {
            let failure = |error| Failure::File { path: folder.display().to_string(), error };
            std::fs::create_dir_all(folder).map_err(failure)?;
            clap_mangen::generate_to(Cli::command(), folder).map_err(failure)?;
        }
    }
    Ok(Outcome::Ok)
}
