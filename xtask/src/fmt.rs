//! `cargo xtask fmt`: formats the code.

use crate::process::{cargo, run as run_command};
use crate::{Result, no_arguments};

/// The fuzz targets are a workspace of their own, so cargo must be told about them.
const FUZZ: &[&str] = &["fmt", "--manifest-path", "fuzz/Cargo.toml"];
const ALL: &[&str] = &["fmt", "--all"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    run_command(&mut cargo(ALL))?;
    Ok(run_command(&mut cargo(FUZZ))?)
}

/// Shows what `run` would change.
pub(crate) fn check() -> std::result::Result<(), String> {
    let all = run_command(cargo(ALL).arg("--check"));
    let fuzz = run_command(cargo(FUZZ).arg("--check"));
    all.and(fuzz).map_err(|error| format!("{error}\nhint: run `cargo xtask fmt`"))
}
