//! The progress of a run, line by line on standard error, while somebody waits.

use crate::report::{BLUE, BOLD, GREEN, RED, YELLOW, printable};
use crate::wording::{count, cut};
use ordain_run::{Event, Purpose};
use ordain_spec::evidence::ActionStatus;
use std::io::{IsTerminal, Write};

/// With what stands around it, a line of a narrow terminal.
const COMMAND_CHARS_SHOWN: usize = 56;

/// Tells people; on a terminal the line of a command that ended replaces the one of its beginning.
pub(crate) struct Live {
    on: bool,
    terminal: bool,
}

impl Live {
    pub(crate) fn new(on: bool) -> Self {
        Self { on, terminal: std::io::stderr().is_terminal() }
    }

    /// A failure to show progress does not stop the run.
    pub(crate) fn tell(&mut self, event: Event<'_>) {
        if !self.on {
            return;
        }
        let mut stderr = anstream::stderr().lock();
        let _ = match event {
            Event::Bundled(bundle) => {
                let outputs = count(bundle.outputs.len() as u64, "output");
                writeln!(stderr, "{BOLD}bundle{BOLD:#}  {}: {outputs}", bundle.id)
            }
            Event::Planned(plan, _) => {
                writeln!(stderr, "{BOLD}plan{BOLD:#}    {}: {}", plan.id, printable(&plan.summary))
            }
            Event::PutBack(paths) => {
                let files = count(paths.len() as u64, "protected file");
                writeln!(stderr, "{YELLOW}put back{YELLOW:#}  {files}, and trying again")
            }
            Event::Began { number, total, command, purpose } => {
                let command = cut(&printable(command), COMMAND_CHARS_SHOWN);
                let what = match purpose {
                    Purpose::Action(_) => "run   ",
                    Purpose::Test(_) => "test  ",
                };
                let end = if self.terminal { "" } else { "\n" };
                write!(stderr, "{BLUE}{what}{BLUE:#}  {number}/{total}  {command}{end}")
            }
            Event::Ended { number, total, command, status, end, duration_ms } => {
                let command = cut(&printable(command), COMMAND_CHARS_SHOWN);
                let (style, word) = match status {
                    ActionStatus::Success => (GREEN, "ok    "),
                    ActionStatus::Failure => (RED, "failed"),
                    ActionStatus::Timeout => (RED, "late  "),
                    ActionStatus::Skipped => (YELLOW, "skip  "),
                };
                let before = if self.terminal { "\r\x1b[K" } else { "" };
                let how = match status {
                    ActionStatus::Success | ActionStatus::Skipped => String::new(),
                    ActionStatus::Failure | ActionStatus::Timeout => {
                        format!(", {}", printable(&end.to_string()))
                    }
                };
                let time = seconds(duration_ms);
                writeln!(stderr, "{before}{style}{word}{style:#}  {number}/{total}  {command}  ({time}{how})")
            }
        };
        let _ = stderr.flush();
    }
}

/// `0.8 s`.
fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}
