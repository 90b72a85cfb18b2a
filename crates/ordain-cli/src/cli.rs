//! The command line: what all commands share, and the list of them.

use crate::commands::Command;
use crate::{exit, help};
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, CommandFactory, Parser, ValueEnum};

/// Where help lists the options that every command has.
const GLOBAL: &str = "Output options";

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// The gate between what an AI agent proposes and what really happens.
///
/// Every artefact is a document with one canonical form, one hash, and one answer to "is it valid, and if not,
/// exactly what is wrong". Most commands work on this machine alone; those of the gate also with a server (`--server`).
#[derive(Parser)]
#[command(name = "ordain", version, styles = STYLES, after_help = exit::help_of_all(), max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command line with its help.
pub(crate) fn command() -> clap::Command {
    help::command(Cli::command())
}

#[derive(Args, Clone, Copy)]
pub(crate) struct Global {
    /// Print canonical JSON, one line for each result
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_possible_values = true, help = "When to use colours: auto, always, never")]
    pub(crate) color: Color,
    /// Print times as dates, not relative to now
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) absolute: bool,
    /// Print long pages without a pager
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) no_pager: bool,
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}
