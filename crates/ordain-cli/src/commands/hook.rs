//! `ordain hook`: help for people. Events are answered before the command line is read; see
//! `ordain_hooks::run_if_asked`.

use crate::exit::{self, Failure, Outcome};
use clap::Args;

#[derive(Args)]
#[command(after_help = exit::help_with("\
A host writes one event to standard input, and reads one answer. The command line names one gate, its key and the agent's name; no \
variable and no file of a workspace changes them. Whatever goes wrong is a no.", &[
    Outcome::Ok.means("the tool may run"),
    Outcome::NoResult.means("it may not: denied, held, or no answer"),
]))]
pub(crate) struct Hook {
    /// The agent: claude, codex, copilot, gemini, qwen, opencode
    #[arg(value_name = "AGENT")]
    pub(crate) agent: String,
    /// The pins that `ordain setup` writes
    #[arg(value_name = "PINS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) pins: Vec<String>,
}

pub(crate) fn run(_: &Hook) -> Result<Outcome, Failure> {
    let failure = Failure::Usage("`hook` must be the first word of the command line".to_owned());
    Err(failure.with_hint(
        "run `ordain setup claude`, or with another agent's name, to have the command line of a hook written",
    ))
}
