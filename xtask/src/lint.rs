//! `cargo xtask lint`: runs the lints; a warning is an error.

use crate::process::{cargo, run as run_command};
use crate::{Result, no_arguments};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    Ok(check()?)
}

pub(crate) fn check() -> std::result::Result<(), String> {
    run_command(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}
