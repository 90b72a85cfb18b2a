//! The hunks of a diff: lines that go, come and stay at one place of a file, which must be exactly as the diff says.

use super::changes::FileChange;
use super::diff::{Diff, DiffError, FileDiff, Happens, Lines, wrong};

/// Lines at one place of a file.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Hunk<'d> {
    /// The number of its `@@` line in the diff.
    number: usize,
    old: Span,
    new: Span,
    lines: Vec<Line<'d>>,
}

/// Lines of a file, as `@@` names them: the first one counted from 1, or the one before if there are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Span {
    start: usize,
    length: usize,
}

impl Span {
    /// How many lines come before.
    fn before(self) -> Option<usize> {
        if self.length == 0 { Some(self.start) } else { self.start.checked_sub(1) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Line<'d> {
    sign: Sign,
    text: &'d [u8],
    /// In the diff.
    number: usize,
    /// Whether a line feed ends it.
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    Stays,
    Goes,
    Comes,
}

/// Reads one hunk: exactly as many lines as its header says.
pub(super) fn read_hunk<'d>(lines: &mut Lines<'d>) -> Result<Hunk<'d>, DiffError> {
    let number = lines.number;
    let (line, _) = lines.peek().unwrap_or_default();
    let Some((old, new)) = spans(line) else {
        return wrong(number, "not a hunk such as `@@ -1,3 +1,4 @@`");
    };
    lines.skip();
    let mut hunk = Hunk { number, old, new, lines: Vec::new() };
    let (mut of_old, mut of_new) = (0, 0);
    while of_old < old.length || of_new < new.length {
        let Some((line, ended)) = lines.peek() else {
            return wrong(lines.number, format!("the diff ends within the hunk of line {number}"));
        };
        let (sign, text) = match line.split_first() {
            Some((b' ', text)) => (Sign::Stays, text),
            Some((b'-', text)) => (Sign::Goes, text),
            Some((b'+', text)) => (Sign::Comes, text),
            // Some programs take the blank of an empty line away.
            None => (Sign::Stays, line),
            Some((b'\\', _)) => {
                unended(&mut hunk, lines)?;
                continue;
            }
            _ => return wrong(lines.number, format!("not a line of the hunk of line {number}")),
        };
        if !ended {
            return wrong(lines.number, "the diff ends within a line");
        }
        of_old += usize::from(sign != Sign::Comes);
        of_new += usize::from(sign != Sign::Goes);
        if of_old > old.length || of_new > new.length {
            return wrong(lines.number, format!("more lines than the hunk of line {number} says"));
        }
        hunk.lines.push(Line { sign, text, number: lines.number, ended: true });
        lines.skip();
    }
    if lines.peek().is_some_and(|(line, _)| line.starts_with(b"\\")) {
        unended(&mut hunk, lines)?;
    }
    if hunk.lines.iter().all(|line| line.sign == Sign::Stays) {
        return wrong(number, "the hunk changes nothing");
    }
    Ok(hunk)
}

/// `\ No newline at end of file`, in whatever language: the line before has no line feed.
fn unended(hunk: &mut Hunk<'_>, lines: &mut Lines<'_>) -> Result<(), DiffError> {
    let is_remark = lines.peek().is_some_and(|(line, _)| line.starts_with(b"\\ "));
    match hunk.lines.last_mut() {
        Some(last) if is_remark && last.ended => last.ended = false,
        _ => return wrong(lines.number, "a remark about the end of the file where none can be"),
    }
    lines.skip();
    Ok(())
}

/// The two spans of `@@ -1,3 +1,4 @@ anything`.
fn spans(line: &[u8]) -> Option<(Span, Span)> {
    let end = line.windows(3).position(|window| window == b" @@")?;
    let text = std::str::from_utf8(line.get(..end)?).ok()?.strip_prefix("@@ -")?;
    let (old, new) = text.split_once(" +")?;
    Some((span(old)?, span(new)?))
}

fn span(text: &str) -> Option<Span> {
    /// No file has more lines.
    const LINES_MAX: usize = 1 << 40;
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        digits.parse().ok().filter(|number: &usize| plain && *number <= LINES_MAX)
    };
    match text.split_once(',') {
        Some((start, length)) => Some(Span { start: number(start)?, length: number(length)? }),
        None => Some(Span { start: number(text)?, length: 1 }),
    }
}

impl FileDiff<'_> {
    /// The content afterwards. Lines that stay or go must be exactly where and as the diff says.
    pub(super) fn applied(&self, old: &[u8]) -> Result<Vec<u8>, DiffError> {
        let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
        let mut out = Output { bytes: Vec::with_capacity(old.len()), lines: 0 };
        let mut next = 0;
        for hunk in &self.hunks {
            let at = hunk.number;
            let place = hunk.old.before().filter(|place| (next..=lines.len()).contains(place));
            let Some(place) = place else {
                return wrong(at, format!("the hunk is about lines that `{}` does not have there", self.old));
            };
            for line in lines.get(next..place).unwrap_or_default() {
                out.push(line, at)?;
            }
            next = place;
            if hunk.new.before() != Some(out.lines) {
                return wrong(at, "the lines before and after the hunk are not counted right");
            }
            for line in &hunk.lines {
                if line.sign != Sign::Comes {
                    let found = lines.get(next).copied();
                    if !found.is_some_and(|found| is_line(found, line)) {
                        let there = next + 1;
                        let problem = format!("line {there} of `{}` is not as the diff says", self.old);
                        return wrong(line.number, problem);
                    }
                    next += 1;
                }
                if line.sign != Sign::Goes {
                    out.push(line.text, line.number)?;
                    if line.ended {
                        out.bytes.push(b'\n');
                    }
                }
            }
        }
        for line in lines.get(next..).unwrap_or_default() {
            out.push(line, self.line)?;
        }
        Ok(out.bytes)
    }
}

/// Whether a line of a file, with its line feed, is that of a hunk.
fn is_line(found: &[u8], line: &Line<'_>) -> bool {
    match (found.strip_suffix(b"\n"), line.ended) {
        (Some(found), true) => found == line.text,
        (None, false) => found == line.text,
        _ => false,
    }
}

struct Output {
    bytes: Vec<u8>,
    lines: usize,
}

impl Output {
    /// Only the last line of a file can be without a line feed.
    fn push(&mut self, line: &[u8], number: usize) -> Result<(), DiffError> {
        if self.bytes.last().is_some_and(|last| *last != b'\n') {
            return wrong(number, "a line follows the one that ends the file without a line feed");
        }
        self.bytes.extend_from_slice(line);
        self.lines += 1;
        Ok(())
    }
}

impl Diff<'_> {
    /// The changes that the diff makes to files. `read` gives the content of a file, nothing if there is
    /// none, or why it must not be read or changed.
    pub fn changes(
        &self,
        mut read: impl FnMut(&str) -> Result<Option<Vec<u8>>, String>,
    ) -> Result<Vec<FileChange>, DiffError> {
        let mut changes = Vec::new();
        for file in &self.files {
            let mut at =
                |path: &str| read(path).or_else(|problem| wrong(file.line, format!("`{path}` {problem}")));
            let new = at(&file.new)?;
            let old = if file.old == file.new { new.clone() } else { at(&file.old)? };
            let gone = || DiffError { line: file.line, problem: format!("`{}` is not there", file.old) };
            let taken = match file.happens {
                Happens::Modified | Happens::Deleted => false,
                Happens::Created | Happens::Renamed | Happens::Copied => new.is_some(),
            };
            if taken {
                return wrong(file.line, format!("`{}` is to be made and is there already", file.new));
            }
            match file.happens {
                Happens::Created => {
                    changes.push(FileChange::new(&file.new, false, Some(file.applied(b"")?)));
                }
                Happens::Deleted => {
                    if !file.applied(&old.ok_or_else(gone)?)?.is_empty() {
                        let problem = format!("`{}` has more in it than what the diff takes away", file.old);
                        return wrong(file.line, problem);
                    }
                    changes.push(FileChange::new(&file.old, true, None));
                }
                Happens::Modified => {
                    let old = old.ok_or_else(gone)?;
                    if !file.hunks.is_empty() {
                        changes.push(FileChange::new(&file.new, true, Some(file.applied(&old)?)));
                    }
                }
                Happens::Renamed => {
                    let content = file.applied(&old.ok_or_else(gone)?)?;
                    changes.push(FileChange::new(&file.old, true, None));
                    changes.push(FileChange::new(&file.new, false, Some(content)));
                }
                Happens::Copied => {
                    let content = file.applied(&old.ok_or_else(gone)?)?;
                    changes.push(FileChange::new(&file.new, false, Some(content)));
                }
            }
        }
        Ok(changes)
    }
}
