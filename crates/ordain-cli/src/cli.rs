//! The command line: what all commands share, and the list of them.

use crate::commands::Command;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, ValueEnum};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

pub(crate) const EXIT_CODES: &str = "\
Exit codes: verify and note validate 0 valid, 1 could not be read, 2 does not parse, 3 violations (several files: the highest); \
transform 0 a bundle, 10 questions, 11 refused; run 0 accepted, 1 not accepted, 2 an error; \
decide, submit, status, approve, reject and whatever applies or undoes files 0 ALLOW, 20 HOLD, 21 DENY; submit and status also 22 failed, 23 unknown; \
ledger verify, ledger fsck and replay 0 all is well, 1 it is not, 2 it could not be checked; every other command 0 or 1; usage errors 64.";

/// The gate between what an AI agent proposes and what really happens.
///
/// Every artefact is a document with one canonical form, one hash, and one answer to "is it valid, and if not,
/// exactly what is wrong". Most commands work on this machine alone; those of the gate also with a server (`--server`).
#[derive(Parser)]
#[command(name = "ordain", version, styles = STYLES, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args, Clone, Copy)]
pub(crate) struct Global {
    /// Print canonical JSON, one line for each result
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_possible_values = true, help = "When to use colours: auto, always, never")]
    pub(crate) color: Color,
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}
