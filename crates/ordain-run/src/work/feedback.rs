//! The faults of a round, in a form that an agent can use.

use super::Round;
use crate::outcome::Tried;
use ordain_harness::sandbox::{Captured, StepReport};
use ordain_spec::evidence::ActionStatus;
use std::fmt::Write;

const REASONS_MAX: usize = 30;
const STEPS_MAX: usize = 5;
const LINES_MAX: usize = 60;
const LINE_CHARS_MAX: usize = 400;

pub(super) fn of(round: &Round, number: usize) -> String {
    let mut text = format!("# Round {number} was not accepted\n\nThese checks failed:\n\n");
    for reason in round.document.reasons.iter().take(REASONS_MAX) {
        let _ = writeln!(text, "- {}", one_line(reason));
    }
    let more = round.document.reasons.len().saturating_sub(REASONS_MAX);
    if more > 0 {
        let _ = writeln!(text, "- and {more} more");
    }
    if let Some(tried) = &round.tried {
        steps(&mut text, "Commands that failed", tried);
    }
    if let Some(restored) = &round.restored {
        steps(&mut text, "Commands that failed with protected files put back", restored);
    }
    if !round.document.protected.is_empty() {
        text.push_str(
            "\n## Protected files that you changed\n\nThey are put back before the second trial:\n\n",
        );
        for path in round.document.protected.iter().take(REASONS_MAX) {
            let _ = writeln!(text, "- {path}");
        }
    }
    text.push_str("\nYour changes are still in the copy. Correct them there, and end again.\n");
    text
}

fn steps(text: &mut String, title: &str, tried: &Tried) {
    let steps = tried.report.iter().flat_map(|report| &report.steps);
    let failed: Vec<&StepReport> = steps
        .filter(|step| matches!(step.status(), ActionStatus::Failure | ActionStatus::Timeout))
        .take(STEPS_MAX)
        .collect();
    if failed.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## {title}");
    for step in failed {
        let _ = writeln!(text, "\n`{}`: {}", ordain_spec::shown_command(&step.argv), step.end);
        for violation in &step.violations {
            let _ = writeln!(text, "- {}", one_line(violation));
        }
        for (name, stream) in [("standard output", &step.stdout), ("standard error", &step.stderr)] {
            tail(text, name, stream);
        }
    }
}

/// The end of what a command wrote says why it failed. The fence is longer than any in it.
fn tail(text: &mut String, name: &str, stream: &Captured) {
    let said = String::from_utf8_lossy(&stream.kept);
    let lines: Vec<&str> = said.lines().collect();
    let shown = lines.get(lines.len().saturating_sub(LINES_MAX)..).unwrap_or_default();
    if shown.is_empty() {
        return;
    }
    let longest = said.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(text, "\nThe end of its {name}:\n\n{fence}");
    for line in shown {
        let _ = writeln!(text, "{}", line.chars().take(LINE_CHARS_MAX).collect::<String>());
    }
    let _ = writeln!(text, "{fence}");
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
