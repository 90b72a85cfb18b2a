//! `ordain completions` and `ordain man`.

use crate::args::{Cli, Completions, Man};
use crate::exit::{Failure, Outcome};
use clap::CommandFactory;
use std::io::Write;

pub(crate) fn completions(args: &Completions) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ordain", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(Outcome::Ok)
}

pub(crate) fn man(args: &Man) -> Result<Outcome, Failure> {
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
