//! Changes of files as a unified diff, for people in colours and for `git apply` without.

use crate::report::{BLUE, BOLD, GREEN, RED, printable};
use anstyle::Style;
use ordain_agent::{DiffPart, write_diff};
use ordain_harness::apply::Change;
use std::borrow::Cow;
use std::io::{self, Write};

/// For whom a diff is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A terminal: whatever could move the cursor is escaped.
    Person,
    /// The lines as they are.
    Program,
}

pub(crate) fn write(out: &mut impl Write, changes: &[Change], reader: Reader) -> io::Result<()> {
    for change in changes {
        match reader {
            Reader::Program => write_diff(&change.path, change, &mut |_, line| writeln!(out, "{line}"))?,
            Reader::Person => write_diff(&printable(&change.path), change, &mut |part, line| {
                let style = style(part);
                writeln!(out, "{style}{}{style:#}", shown(part, line))
            })?,
        }
    }
    Ok(())
}

fn style(part: DiffPart) -> Style {
    match part {
        DiffPart::File => BOLD,
        DiffPart::Hunk => BLUE,
        DiffPart::Removed => RED,
        DiffPart::Added => GREEN,
        DiffPart::Context | DiffPart::Remark => Style::new(),
    }
}

/// A line of a file, made harmless. Tabs stay; the other lines are ours.
fn shown(part: DiffPart, line: &str) -> Cow<'_, str> {
    match part {
        DiffPart::Context | DiffPart::Removed | DiffPart::Added => {
            line.split('\t').map(printable).collect::<Vec<_>>().join("\t").into()
        }
        DiffPart::File | DiffPart::Hunk | DiffPart::Remark => line.into(),
    }
}
