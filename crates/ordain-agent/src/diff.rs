//! Changes of files as unified diffs, and the excerpt that goes with a proposal.

use ordain_harness::apply::Change;
use similar::{ChangeTag, TextDiff};
use std::io;
use std::time::Instant;

/// Lines before times lines after for which the shortest diff of one file is searched. Larger files get a
/// longer diff, which says that all lines between the first and the last difference changed. The limit is not
/// a time, so that the same change has the same diff everywhere.
const SEARCH_MAX: usize = 16_000_000;
const CONTEXT_LINES: usize = 3;

/// The role of a line in a diff.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiffPart {
    /// It names a file.
    File,
    /// It names a place in a file.
    Hunk,
    /// A line that stays.
    Context,
    /// A line that goes.
    Removed,
    /// A line that comes.
    Added,
    /// Something about the file or the line before.
    Remark,
}

/// Writes the diff of a change line by line, without the line feeds. `name` stands for the path.
pub fn write_diff(
    name: &str,
    change: &Change,
    write: &mut dyn FnMut(DiffPart, &str) -> io::Result<()>,
) -> io::Result<()> {
    if change.before == change.after {
        return Ok(());
    }
    write(DiffPart::File, &format!("diff --git a/{name} b/{name}"))?;
    match (&change.before, &change.after) {
        (None, Some(_)) => write(DiffPart::File, "new file mode 100644")?,
        (Some(_), None) => write(DiffPart::File, "deleted file mode 100644")?,
        _ => {}
    }
    let text = |side: &Option<Vec<u8>>| String::from_utf8(side.clone().unwrap_or_default());
    let (Ok(old), Ok(new)) = (text(&change.before), text(&change.after)) else {
        return write(DiffPart::Remark, &format!("Binary files a/{name} and b/{name} differ"));
    };
    if old == new {
        return Ok(());
    }
    // A name with a blank ends where the tab is.
    let tab = if name.contains(' ') { "\t" } else { "" };
    let side_name = |side: &Option<Vec<u8>>, prefix| match side {
        Some(_) => format!("{prefix}/{name}{tab}"),
        None => "/dev/null".to_owned(),
    };
    write(DiffPart::File, &format!("--- {}", side_name(&change.before, "a")))?;
    write(DiffPart::File, &format!("+++ {}", side_name(&change.after, "b")))?;
    // Only a line feed ends a line, as for every program that reads diffs.
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut search = TextDiff::configure();
    if between(&old, &new) > SEARCH_MAX {
        search.deadline(Instant::now());
    }
    let diff = search.diff_slices(&old, &new);
    for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        write(DiffPart::Hunk, hunk.header().to_string().trim_end())?;
        for line in hunk.iter_changes() {
            write_line(line.tag(), line.value(), write)?;
        }
    }
    Ok(())
}

fn write_line(
    tag: ChangeTag,
    line: &str,
    write: &mut dyn FnMut(DiffPart, &str) -> io::Result<()>,
) -> io::Result<()> {
    let (part, sign) = match tag {
        ChangeTag::Equal => (DiffPart::Context, ' '),
        ChangeTag::Delete => (DiffPart::Removed, '-'),
        ChangeTag::Insert => (DiffPart::Added, '+'),
    };
    match line.strip_suffix('\n') {
        Some(text) => write(part, &format!("{sign}{text}")),
        None => {
            write(part, &format!("{sign}{line}"))?;
            write(DiffPart::Remark, "\\ No newline at end of file")
        }
    }
}

/// How much there is to compare, without the lines at both ends that are the same.
fn between(old: &[&str], new: &[&str]) -> usize {
    let first = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let old = old.get(first..).unwrap_or_default();
    let new = new.get(first..).unwrap_or_default();
    let last = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (old.len() - last).saturating_mul(new.len() - last)
}

/// Diffs of all changes, as programs read them, in at most so many bytes of a JSON string. Where they do not
/// fit, all files get the same room, so that none hides another, and what is left out is counted. Names are
/// given by `name`.
pub fn diff_excerpt(changes: &[Change], name: impl Fn(&str) -> String, bytes_max: usize) -> String {
    /// Room for the last line and the quotes.
    const REST_BYTES: usize = 112;
    let mut files: Vec<File> = changes.iter().map(|change| File::of(name(&change.path), change)).collect();
    let room = bytes_max.saturating_sub(REST_BYTES);
    // Without those that take the most, where there is no room for a line of each.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|position| files.get(*position).map(|file| file.bytes_min));
    let share = loop {
        let shown = || order.iter().filter_map(|position| files.get(*position));
        let share = share_of(shown().map(|file| file.bytes), room);
        if shown().next_back().is_none_or(|largest| largest.bytes_min <= share) {
            break share;
        }
        order.pop();
    };
    let hidden = files.len() - order.len();
    order.sort_unstable();
    let mut parts = String::new();
    for position in order {
        if let Some(file) = files.get_mut(position) {
            parts += &std::mem::take(file).part(share);
        }
    }
    if hidden > 0 {
        let more = count(hidden, "more file");
        parts += &format!("… and {more} of which nothing is shown; `operations` names all\n");
    }
    parts
}

/// The diff of a file.
#[derive(Default)]
struct File {
    name: String,
    diff: String,
    /// The widths of a JSON string: all of it, and the least that can be shown.
    bytes: usize,
    bytes_min: usize,
}

impl File {
    fn of(name: String, change: &Change) -> Self {
        let diff = if is_text(&change.before) { plain(&name, change) } else { replaced(&name, change) };
        let bytes = json_bytes(&diff);
        let first = diff.split_inclusive('\n').next().unwrap_or_default();
        let bytes_min = bytes.min(json_bytes(first) + json_bytes(&rest(&name, &diff)));
        Self { name, diff, bytes, bytes_min }
    }

    /// All of it, or as many lines as there is room for and how much more there is.
    fn part(self, bytes_max: usize) -> String {
        if self.bytes <= bytes_max {
            return self.diff;
        }
        // With each line that is shown the number of the others has no more digits.
        let mut end = 0;
        let mut bytes = json_bytes(&rest(&self.name, &self.diff));
        for line in self.diff.split_inclusive('\n') {
            bytes += json_bytes(line);
            if bytes > bytes_max {
                break;
            }
            end += line.len();
        }
        let (shown, hidden) = self.diff.split_at(end);
        format!("{shown}{}", rest(&self.name, hidden))
    }
}

fn rest(name: &str, hidden: &str) -> String {
    let lines = count(hidden.lines().count(), "more line");
    format!("… and {lines} of {name} that are not shown, {} bytes\n", hidden.len())
}

fn is_text(side: &Option<Vec<u8>>) -> bool {
    side.as_ref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok())
}

/// The diff of a file that was not text: only its new content can be shown.
fn replaced(name: &str, change: &Change) -> String {
    match &change.after {
        Some(after) if is_text(&change.after) && !after.is_empty() => {
            let new = Change { before: None, ..change.clone() };
            format!("{name} was not text; it is replaced by:\n{}", plain(name, &new))
        }
        _ => plain(name, change),
    }
}

/// The diff as programs read it.
fn plain(name: &str, change: &Change) -> String {
    let mut text = String::new();
    // Into memory, where writing cannot fail.
    let _ = write_diff(name, change, &mut |_, line| {
        text.push_str(line);
        text.push('\n');
        Ok(())
    });
    text
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
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
            let shown = diff_excerpt(&changes, str::to_owned, ROOM);
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
        // The large value gets the room that the small ones leave.
        let (lines, shown) = excerpt_of([9_000, 2, 40]);
        assert_eq!(lines[1..], [2, 40]);
        assert!(lines[0] > 200, "{lines:?}");
        assert!(
            shown.contains(&format!("\n… and {} more lines of a that are not shown, ", 9_000 - lines[0]))
        );
        let (lines, _) = excerpt_of([9_000, 9_000, 9_000]);
        assert!(lines[0].abs_diff(lines[2]) <= 1 && lines[0] > 80, "{lines:?}");
        // With no room for a line of each, some are whole and the others counted.
        let many: Vec<Change> = (0..500).map(|number| change(&number.to_string(), 1)).collect();
        let shown = diff_excerpt(&many, str::to_owned, ROOM);
        let files = shown.matches("diff --git").count();
        assert!((20..60).contains(&files), "{files}");
        let rest =
            format!("… and {} more files of which nothing is shown; `operations` names all\n", 500 - files);
        assert!(shown.ends_with(&rest), "{shown}");
        assert!(serde_json::to_string(&shown).unwrap().len() <= ROOM);
        // One that cannot be shown keeps none of the others from it.
        let (long, mut some) = ("n".repeat(ROOM), vec![change("large", 9_000), change("small", 3)]);
        some.push(change(&long, 1));
        let shown = diff_excerpt(&some, str::to_owned, ROOM);
        assert!(serde_json::to_string(&shown).unwrap().len() <= ROOM);
        assert!(shown.contains("+++ b/small\n@@ -0,0 +1,3 @@\n+line 0\n+line 1\n+line 2\n"), "{shown}");
        assert!(shown.matches("\n+line").count() > 200, "{shown}");
        assert!(shown.ends_with("… and 1 more file of which nothing is shown; `operations` names all\n"));
    }

    #[test]
    fn what_is_shown_of_lines_without_an_end_and_of_what_was_no_text() {
        let long = Change { path: "long".to_owned(), before: None, after: Some(vec![b'x'; 500_000]) };
        let shown = diff_excerpt(&[long], str::to_owned, 4_096);
        assert!(shown.ends_with("… and 2 more lines of long that are not shown, 500030 bytes\n"), "{shown}");
        let before = Some(b"caf\xe9\n".to_vec());
        let after = Some("café\n".as_bytes().to_vec());
        let latin = Change { path: "latin".to_owned(), before, after };
        let shown = diff_excerpt(std::slice::from_ref(&latin), str::to_owned, 4_096);
        assert!(shown.starts_with("latin was not text; it is replaced by:\n"), "{shown}");
        assert!(shown.ends_with("\n+café\n"), "{shown}");
        let binary = Change { after: Some(vec![0xff]), ..latin };
        assert!(diff_excerpt(&[binary], str::to_owned, 4_096).ends_with("differ\n"));
    }
}
