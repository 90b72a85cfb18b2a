//! Changes of files as a unified diff, for people in colours and for `git apply` without.

use crate::report::{BLUE, BOLD, GREEN, RED, printable};
use crate::wording::count;
use anstyle::Style;
use ordain_harness::apply::Change;
use similar::{ChangeTag, TextDiff};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Instant;

/// Lines before times lines after for which the shortest diff of one file is looked for. For more a longer one will do,
/// which says that all lines between the first and the last that differ are others. Not by time: the same change has the
/// same diff everywhere.
const SEARCH_MAX: usize = 16_000_000;
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

/// Diffs of all changes, as programs read them, in at most so many bytes of a JSON string. Where they do not fit, all files get
/// the same room, so that none hides another, and what is left out is counted. Names are given by `name`.
pub(crate) fn excerpt(changes: &[Change], name: impl Fn(&str) -> String, bytes_max: usize) -> String {
    /// What the last line takes, and the quotes.
    const REST_BYTES: usize = 96;
    let diff = |change: &Change| {
        let (name, mut diff) = (name(&change.path), Vec::new());
        // Into memory: it cannot fail.
        let _ = write_file(&mut diff, &name, change, Reader::Program);
        let diff = String::from_utf8_lossy(&diff).into_owned();
        (name, json_bytes(&diff), diff)
    };
    let diffs: Vec<_> = changes.iter().map(diff).collect();
    let room = bytes_max.saturating_sub(REST_BYTES);
    let share = share_of(diffs.iter().map(|(_, bytes, _)| *bytes), room);
    let part = |(name, bytes, diff): &(String, usize, String)| match *bytes <= share {
        true => Some(diff.clone()),
        false => beginning(name, diff, share),
    };
    let mut parts: Vec<Option<String>> = diffs.iter().map(part).collect();
    if parts.iter().any(Option::is_none) {
        parts = smallest(&diffs, room);
    }
    let hidden = parts.iter().filter(|part| part.is_none()).count();
    let mut shown: String = parts.into_iter().flatten().collect();
    if hidden > 0 {
        shown += &format!("… and {} of which nothing is shown\n", count(hidden as u64, "more file"));
    }
    shown
}

/// With no room for a line of each, as many whole ones as there is room for.
fn smallest(diffs: &[(String, usize, String)], mut room: usize) -> Vec<Option<String>> {
    let mut order: Vec<usize> = (0..diffs.len()).collect();
    order.sort_by_key(|position| diffs.get(*position).map(|(_, bytes, _)| *bytes));
    let mut parts = vec![None; diffs.len()];
    for position in order {
        if let (Some((_, bytes, diff)), Some(part)) = (diffs.get(position), parts.get_mut(position))
            && let Some(left) = room.checked_sub(*bytes)
        {
            room = left;
            *part = Some(diff.clone());
        }
    }
    parts
}

/// Without the quotes.
fn json_bytes(text: &str) -> usize {
    serde_json::to_string(text).map_or(usize::MAX, |json| json.len() - 2)
}

/// How much each may have at most, if those that want less leave the rest to the others.
fn share_of(wanted: impl Iterator<Item = usize>, mut room: usize) -> usize {
    let mut wanted: Vec<usize> = wanted.collect();
    wanted.sort_unstable();
    for (number, bytes) in wanted.iter().enumerate() {
        let share = room / (wanted.len() - number);
        if *bytes > share {
            return share;
        }
        room -= bytes;
    }
    usize::MAX
}

/// As many lines as there is room for and how many more there are, unless there is none for a single one.
fn beginning(name: &str, diff: &str, bytes_max: usize) -> Option<String> {
    let lines = diff.lines().count();
    let rest = |shown: usize| {
        format!("… and {} of {name} that are not shown\n", count((lines - shown) as u64, "more line"))
    };
    let (mut part, mut shown, mut bytes) = (String::new(), 0, json_bytes(&rest(0)));
    for line in diff.split_inclusive('\n') {
        bytes += json_bytes(line);
        if bytes > bytes_max {
            break;
        }
        part += line;
        shown += 1;
    }
    (shown > 0).then(|| part + &rest(shown))
}

pub(crate) fn write(out: &mut impl Write, changes: &[Change], reader: Reader) -> io::Result<()> {
    changes.iter().try_for_each(|change| write_file(out, &change.path, change, reader))
}

fn write_file(out: &mut impl Write, name: &str, change: &Change, reader: Reader) -> io::Result<()> {
    if change.before == change.after {
        return Ok(());
    }
    let path = reader.shown(name);
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
    let mut search = TextDiff::configure();
    if between(&old, &new) > SEARCH_MAX {
        search.deadline(Instant::now());
    }
    let diff = search.diff_slices(&old, &new);
    let blue = reader.styled(BLUE);
    for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        writeln!(out, "{blue}{}{blue:#}", hunk.header().to_string().trim_end())?;
        for line in hunk.iter_changes() {
            write_line(out, line.tag(), line.value(), reader)?;
        }
    }
    Ok(())
}

/// How much there is to compare, without the lines at both ends that are the same.
fn between(old: &[&str], new: &[&str]) -> usize {
    let first = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(first..).unwrap_or_default(), new.get(first..).unwrap_or_default());
    let last = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (old.len() - last).saturating_mul(new.len() - last)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, lines: usize) -> Change {
        let after = (0..lines).map(|line| format!("line {line}\n")).collect::<String>();
        Change { path: path.to_owned(), before: None, after: Some(after.into_bytes()) }
    }

    #[test]
    fn no_file_hides_another() {
        const ROOM: usize = 4_096;
        let names = ["a", "b", "c"];
        let excerpt_of = |lines: [usize; 3]| {
            let changes: Vec<Change> =
                names.iter().zip(lines).map(|(name, lines)| change(name, lines)).collect();
            let shown = excerpt(&changes, str::to_owned, ROOM);
            assert!(serde_json::to_string(&shown).unwrap().len() <= ROOM);
            let lines_of = |name: &str| {
                let start = shown.find(&format!("+++ b/{name}\n")).unwrap();
                shown[start..].lines().skip(2).take_while(|line| line.starts_with('+')).count()
            };
            (names.map(lines_of), shown)
        };
        let (lines, whole) = excerpt_of([30, 40, 50]);
        assert_eq!(lines, [30, 40, 50]);
        assert!(!whole.contains('…'));
        // What the small ones leave is for the large one.
        let (lines, shown) = excerpt_of([9_000, 2, 40]);
        assert_eq!(lines[1..], [2, 40]);
        assert!(lines[0] > 200, "{lines:?}");
        assert!(
            shown.contains(&format!("\n… and {} more lines of a that are not shown\n", 9_000 - lines[0]))
        );
        let (lines, _) = excerpt_of([9_000, 9_000, 9_000]);
        assert!(lines[0].abs_diff(lines[2]) <= 1 && lines[0] > 80, "{lines:?}");
        // With no room for a line of each, some are whole and the others counted.
        let many: Vec<Change> = (0..500).map(|number| change(&number.to_string(), 1)).collect();
        let shown = excerpt(&many, str::to_owned, ROOM);
        let files = shown.matches("diff --git").count();
        assert!((20..60).contains(&files), "{files}");
        assert!(shown.ends_with(&format!("… and {} more files of which nothing is shown\n", 500 - files)));
        assert!(serde_json::to_string(&shown).unwrap().len() <= ROOM);
    }
}
