//! `ordain policy`: check, test, explain and lay out policies.

mod cases;
mod check;
mod explain;
mod fmt;
mod folder;
mod junit;
mod test;

use crate::args::{Policy, PolicyCommand};
use crate::exit::{Failure, Outcome};

pub(crate) use folder::{load, load_files, read_files};

pub(crate) fn run(args: &Policy, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        PolicyCommand::Check(args) => check::run(args, json),
        PolicyCommand::Test(args) => test::run(args, json),
        PolicyCommand::Explain(args) => explain::run(args, json),
        PolicyCommand::Fmt(args) => fmt::run(args, json),
    }
}
