//! Changes of files as a unified diff, for people in colours and for `git apply` without.

use crate::report::{BLUE, BOLD, GREEN, RED, printable};
use anstyle::Style;
use ordain_harness::apply::Change;
use similar::{ChangeTag, TextDiff};
use std::borrow::Cow;
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

impl Reader {
    fn styled(self, style: Style) -> Style {
        if self == Self::Person { style } else { Style::new() }
    }

    fn shown(self, path: &str) -> Cow<'_, str> {
        if self == Self::Person { printable(path) } else { path.into() }
    }
}

pub(crate) fn write(out: &mut impl Write, changes: &[Change], reader: Reader) -> io::Result<()> {
    changes.iter().try_for_each(|change| write_file(out, change, reader))
}

fn write_file(out: &mut impl Write, change: &Change, reader: Reader) -> io::Result<()> {
    if change.before == change.after {
        return Ok(());
    }
    let path = reader.shown(&change.path);
    let bold = reader.styled(BOLD);
    writeln!(out, "{bold}diff --git a/{path} b/{path}{bold:#}")?;
    match (&change.before, &change.after) {
        (None, Some(_)) => writeln!(out, "{bold}new file mode 100644{bold:#}")?,
        (Some(_), None) => writeln!(out, "{bold}deleted file mode 100644{bold:#}")?,
        _ => {}
    }
    let text = |side: &Option<Vec<u8>>| String::from_utf8(side.clone().unwrap_or_default());
    let (Ok(old), Ok(new)) = (text(&change.before), text(&change.after)) else {
        return writeln!(out, "Binary files a/{path} and b/{path} differ");
    };
    if old == new {
        return Ok(());
    }
    // A name with a blank ends where the tab is.
    let tab = if path.contains(' ') { "\t" } else { "" };
    let name = |side: &Option<Vec<u8>>, prefix| match side {
        Some(_) => format!("{prefix}/{path}{tab}"),
        None => "/dev/null".to_owned(),
    };
    writeln!(out, "{bold}--- {}{bold:#}", name(&change.before, "a"))?;
    writeln!(out, "{bold}+++ {}{bold:#}", name(&change.after, "b"))?;
    // Only a line feed ends a line, as for every program that reads diffs.
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let diff = TextDiff::configure().timeout(SEARCH_MAX).diff_slices(&old, &new);
    let blue = reader.styled(BLUE);
    for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        writeln!(out, "{blue}{}{blue:#}", hunk.header().to_string().trim_end())?;
        for line in hunk.iter_changes() {
            write_line(out, line.tag(), line.value(), reader)?;
        }
    }
    Ok(())
}

fn write_line(out: &mut impl Write, tag: ChangeTag, line: &str, reader: Reader) -> io::Result<()> {
    let (text, ended) = line.strip_suffix('\n').map_or((line, false), |text| (text, true));
    let text = match reader {
        Reader::Person => text.split('\t').map(printable).collect::<Vec<_>>().join("\t").into(),
        Reader::Program => Cow::Borrowed(text),
    };
    let (style, sign) = match tag {
        ChangeTag::Equal => (Style::new(), ' '),
        ChangeTag::Delete => (reader.styled(RED), '-'),
        ChangeTag::Insert => (reader.styled(GREEN), '+'),
    };
    writeln!(out, "{style}{sign}{text}{style:#}")?;
    if ended { Ok(()) } else { writeln!(out, "\\ No newline at end of file") }
}
