//! Changes of files as a unified diff, for people in colours and for `git apply` without.

use crate::report::{BLUE, BOLD, GREEN, RED, printable};
use ordain_harness::apply::Change;
use similar::{ChangeTag, TextDiff};
use std::io::{self, Write};
use std::time::Duration;

/// How long the shortest diff of one file is looked for. After that a longer one will do.
const SEARCH_MAX: Duration = Duration::from_secs(2);
const CONTEXT_LINES: usize = 3;

/// For whom a diff is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A terminal: whatever could move the cursor is escaped.
    Person,
    /// The lines as they are.
    Program,
}

pub(crate) fn write(out: &mut impl Write, changes: &[Change], reader: Reader) -> io::Result<()> {
    changes.iter().try_for_each(|change| write_file(out, change, reader))
}

fn write_file(out: &mut impl Write, change: &Change, reader: Reader) -> io::Result<()> {
    let path = printable(&change.path);
    writeln!(out, "{BOLD}diff --git a/{path} b/{path}{BOLD:#}")?;
    match (&change.before, &change.after) {
        (None, Some(_)) => writeln!(out, "{BOLD}new file mode 100644{BOLD:#}")?,
        (Some(_), None) => writeln!(out, "{BOLD}deleted file mode 100644{BOLD:#}")?,
        _ => {}
    }
    let bytes = |side: &Option<Vec<u8>>| side.clone().unwrap_or_default();
    let (old, new) = match (String::from_utf8(bytes(&change.before)), String::from_utf8(bytes(&change.after)))
    {
        (Ok(old), Ok(new)) => (old, new),
        _ => return writeln!(out, "Binary files a/{path} and b/{path} differ"),
    };
    if old == new {
        return Ok(());
    }
    let name = |side: &Option<Vec<u8>>, prefix| match side {
        Some(_) => format!("{prefix}/{path}"),
        None => "/dev/null".to_owned(),
    };
    writeln!(out, "{BOLD}--- {}{BOLD:#}", name(&change.before, "a"))?;
    writeln!(out, "{BOLD}+++ {}{BOLD:#}", name(&change.after, "b"))?;
    // Only a line feed ends a line, as for every program that reads diffs.
    let lines = |text: &'_ str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(&old), lines(&new));
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let diff = TextDiff::configure().timeout(SEARCH_MAX).diff_slices(&old, &new);
    for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        writeln!(out, "{BLUE}{}{BLUE:#}", hunk.header().to_string().trim_end())?;
        for line in hunk.iter_changes() {
            write_line(out, line.tag(), line.value(), reader)?;
        }
    }
    Ok(())
}

fn write_line(out: &mut impl Write, tag: ChangeTag, line: &str, reader: Reader) -> io::Result<()> {
    let (text, ended) = line.strip_suffix('\n').map_or((line, false), |text| (text, true));
    let text = match reader {
        Reader::Person => text.split('\t').map(printable).collect::<Vec<_>>().join("\t"),
        Reader::Program => text.to_owned(),
    };
    match tag {
        ChangeTag::Equal => writeln!(out, " {text}")?,
        ChangeTag::Delete => writeln!(out, "{RED}-{text}{RED:#}")?,
        ChangeTag::Insert => writeln!(out, "{GREEN}+{text}{GREEN:#}")?,
    }
    if ended { Ok(()) } else { writeln!(out, "\\ No newline at end of file") }
}
