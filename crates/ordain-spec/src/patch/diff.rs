//! Git's unified diffs, read strictly: a line that could mean two things is refused, and every refusal names its line.

use super::hunk::{Hunk, read_hunk};
use crate::limits::{DIFF_FILES_MAX, DIFF_LINE_BYTES_SHOWN};
use crate::path::path_problem;
use std::collections::BTreeMap;

/// A diff that cannot be read, or does not fit the files that it is about.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} of the diff: {problem}")]
pub struct DiffError {
    /// Counted from 1.
    pub line: usize,
    /// The error in that line.
    pub problem: String,
}

pub(super) fn wrong<T>(line: usize, problem: impl Into<String>) -> Result<T, DiffError> {
    Err(DiffError { line, problem: problem.into() })
}

/// A diff of any number of files.
#[derive(Clone, PartialEq, Debug)]
pub struct Diff<'d> {
    /// In the order of the diff. No two of them write to one path.
    pub files: Vec<FileDiff<'d>>,
}

/// The change of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happens {
    /// It is new.
    Created,
    /// Its content changes, or only its mode.
    Modified,
    /// It goes.
    Deleted,
    /// It has another name afterwards, and perhaps another content.
    Renamed,
    /// It stays, and another file starts with its content.
    Copied,
}

/// The part of a diff that is about one file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileDiff<'d> {
    /// Where the part begins.
    pub line: usize,
    /// The change of the file.
    pub happens: Happens,
    /// The path before; the same as `new` unless it is renamed or copied.
    pub old: String,
    /// The path afterwards.
    pub new: String,
    /// The mode changes as well, which a patch set does not carry.
    pub mode: Option<(String, String)>,
    pub(super) hunks: Vec<Hunk<'d>>,
}

/// Lines with their numbers, one ahead.
pub(super) struct Lines<'d> {
    text: &'d [u8],
    /// The number of the next line, counted from 1.
    pub(super) number: usize,
}

impl<'d> Lines<'d> {
    /// The next line without its line feed, and whether it has one.
    pub(super) fn peek(&self) -> Option<(&'d [u8], bool)> {
        if self.text.is_empty() {
            return None;
        }
        match self.text.iter().position(|byte| *byte == b'\n') {
            Some(end) => Some((self.text.get(..end).unwrap_or_default(), true)),
            None => Some((self.text, false)),
        }
    }

    pub(super) fn skip(&mut self) {
        if let Some((line, ended)) = self.peek() {
            let length = line.len() + usize::from(ended);
            self.text = self.text.get(length..).unwrap_or_default();
            self.number += 1;
        }
    }
}

const FILE: &[u8] = b"diff --git ";

/// Reads a diff. Text around the parts of files, such as the message of a commit, is passed over.
pub fn parse(text: &[u8]) -> Result<Diff<'_>, DiffError> {
    let mut lines = Lines { text, number: 1 };
    let mut files: Vec<FileDiff<'_>> = Vec::new();
    while let Some((line, _)) = lines.peek() {
        if line.starts_with(FILE) {
            if files.len() >= DIFF_FILES_MAX {
                return wrong(lines.number, format!("more than {DIFF_FILES_MAX} files"));
            }
            files.push(file(&mut lines)?);
            continue;
        }
        if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
            return wrong(lines.number, "a combined diff of a merge has no single base");
        }
        if [b"--- ".as_slice(), b"+++ ", b"@@ "].iter().any(|start| line.starts_with(start)) {
            return wrong(
                lines.number,
                "no line `diff --git` comes before it, so `git diff` did not make it",
            );
        }
        lines.skip();
    }
    if files.is_empty() {
        return wrong(1, "it has no line `diff --git`, so `git diff` did not make it");
    }
    check_once(&files)?;
    Ok(Diff { files })
}

/// Two parts about one file would have to be applied one after the other.
fn check_once(files: &[FileDiff<'_>]) -> Result<(), DiffError> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let copied = file.happens == Happens::Copied;
        let paths = [Some(&file.new), (file.old != file.new && !copied).then_some(&file.old)];
        for path in paths.into_iter().flatten() {
            if let Some(line) = seen.insert(path, file.line) {
                return wrong(
                    file.line,
                    format!("`{path}` is changed a second time; line {line} changes it"),
                );
            }
        }
    }
    Ok(())
}

/// The header: the lines between `diff --git` and the first hunk.
#[derive(Default)]
struct Header {
    old_mode: Option<String>,
    new_mode: Option<String>,
    created: bool,
    deleted: bool,
    renamed: Names,
    copied: Names,
    /// `---` and `+++`; `/dev/null` is nothing.
    marked: Option<(Option<String>, Option<String>)>,
}

#[derive(Default)]
struct Names {
    from: Option<String>,
    to: Option<String>,
}

fn file<'d>(lines: &mut Lines<'d>) -> Result<FileDiff<'d>, DiffError> {
    let start = lines.number;
    let (line, _) = lines.peek().unwrap_or_default();
    if line.ends_with(b"\r") {
        return wrong(
            start,
            "the lines of the diff itself end in CR LF, so it was converted after `git diff` made it",
        );
    }
    let both = header_names(line.get(FILE.len()..).unwrap_or_default(), start)?;
    lines.skip();
    let mut header = Header::default();
    while let Some((line, _)) = lines.peek() {
        if line.starts_with(b"--- ") {
            marks(lines, &mut header)?;
            break;
        }
        if !extended(line, lines.number, &mut header)? {
            break;
        }
        lines.skip();
    }
    let mut file = named(start, both, header)?;
    while let Some((line, _)) = lines.peek() {
        if !line.starts_with(b"@@") {
            break;
        }
        file.hunks.push(read_hunk(lines)?);
    }
    match lines.peek() {
        // The signature of a mail ends it.
        Some((b"-- ", _)) => {}
        Some((line, _)) if matches!(line.first(), Some(b'+' | b'-' | b' ')) => {
            return wrong(
                lines.number,
                "more lines than the hunk before says, or a hunk without its `@@` line",
            );
        }
        _ => {}
    }
    Ok(file)
}

/// One line of the extended header; false if it belongs to something else.
fn extended(line: &[u8], number: usize, header: &mut Header) -> Result<bool, DiffError> {
    let Ok(text) = std::str::from_utf8(line) else { return Ok(false) };
    let path = |rest: &str| whole_path(rest, number);
    if let Some(mode) = text.strip_prefix("old mode ") {
        once(&mut header.old_mode, file_mode(mode, number)?, number)?;
    } else if let Some(mode) = text.strip_prefix("new mode ") {
        once(&mut header.new_mode, file_mode(mode, number)?, number)?;
    } else if let Some(mode) = text.strip_prefix("new file mode ") {
        once(&mut header.new_mode, file_mode(mode, number)?, number)?;
        header.created = true;
    } else if let Some(mode) = text.strip_prefix("deleted file mode ") {
        file_mode(mode, number)?;
        header.deleted = true;
    } else if let Some(rest) = text.strip_prefix("rename from ") {
        once(&mut header.renamed.from, path(rest)?, number)?;
    } else if let Some(rest) = text.strip_prefix("rename to ") {
        once(&mut header.renamed.to, path(rest)?, number)?;
    } else if let Some(rest) = text.strip_prefix("copy from ") {
        once(&mut header.copied.from, path(rest)?, number)?;
    } else if let Some(rest) = text.strip_prefix("copy to ") {
        once(&mut header.copied.to, path(rest)?, number)?;
    } else if let Some(rest) = text.strip_prefix("index ") {
        if let Some((_, mode)) = rest.split_once(' ') {
            file_mode(mode, number)?;
        }
    } else if text.starts_with("GIT binary patch") || text.starts_with("Binary files ") {
        return wrong(number, "the file is binary; a patch set carries only text");
    } else if !text.starts_with("similarity index ") && !text.starts_with("dissimilarity index ") {
        return Ok(false);
    }
    Ok(true)
}

/// Nobody can tell which one of two lines counts that say the same thing differently.
fn once(said: &mut Option<String>, value: String, number: usize) -> Result<(), DiffError> {
    match said.replace(value) {
        None => Ok(()),
        Some(_) => wrong(number, "its header says this a second time"),
    }
}

/// Refuses everything but files: a link could lead anywhere, and a submodule is another repository.
fn file_mode(mode: &str, number: usize) -> Result<String, DiffError> {
    match mode {
        "100644" | "100755" | "100664" | "100600" => Ok(mode.to_owned()),
        "120000" => wrong(number, "the file is a symbolic link, and a patch set carries none"),
        "160000" => wrong(number, "it is a submodule, and a patch set carries only files"),
        _ => wrong(number, "an unknown file mode"),
    }
}

/// The lines `---` and `+++`.
fn marks(lines: &mut Lines<'_>, header: &mut Header) -> Result<(), DiffError> {
    let side = |line: &[u8], number: usize| -> Result<Option<String>, DiffError> {
        let rest = line.get(4..).unwrap_or_default();
        // A name with a blank ends where the tab is.
        let rest = rest.split(|byte| *byte == b'\t').next().unwrap_or_default();
        if rest == b"/dev/null" { Ok(None) } else { prefixed_path(rest, number).map(Some) }
    };
    let (first, _) = lines.peek().unwrap_or_default();
    let old = side(first, lines.number)?;
    lines.skip();
    match lines.peek() {
        Some((line, _)) if line.starts_with(b"+++ ") => {
            check_prefixes(first.get(4..), line.get(4..), lines.number)?;
            header.marked = Some((old, side(line, lines.number)?));
            lines.skip();
        }
        _ => return wrong(lines.number, "a line `+++` must follow the line `---`"),
    }
    if !lines.peek().is_some_and(|(line, _)| line.starts_with(b"@@")) {
        return wrong(lines.number, "a hunk must follow the line `+++`");
    }
    Ok(())
}

fn named<'d>(line: usize, both: Option<(String, String)>, header: Header) -> Result<FileDiff<'d>, DiffError> {
    let Header { old_mode, new_mode, created, deleted, renamed, copied, marked } = header;
    let (happens, pair) = match (created, deleted, renamed, copied) {
        (true, false, Names { from: None, to: None }, Names { from: None, to: None }) => {
            (Happens::Created, None)
        }
        (false, true, Names { from: None, to: None }, Names { from: None, to: None }) => {
            (Happens::Deleted, None)
        }
        (false, false, Names { from: None, to: None }, Names { from: None, to: None }) => {
            (Happens::Modified, None)
        }
        (false, false, Names { from: Some(from), to: Some(to) }, Names { from: None, to: None }) => {
            (Happens::Renamed, Some((from, to)))
        }
        (false, false, Names { from: None, to: None }, Names { from: Some(from), to: Some(to) }) => {
            (Happens::Copied, Some((from, to)))
        }
        _ => return wrong(line, "its header says two things at once about what happens to the file"),
    };
    // The marks say which side is there; they must say the same as the header.
    let sides = marked.as_ref().map(|(old, new)| (old.is_some(), new.is_some()));
    let fits = match happens {
        Happens::Created => matches!(sides, None | Some((false, true))),
        Happens::Deleted => matches!(sides, None | Some((true, false))),
        Happens::Modified | Happens::Renamed | Happens::Copied => matches!(sides, None | Some((true, true))),
    };
    if !fits {
        return wrong(line, "the lines `---` and `+++` do not fit its header");
    }
    let by_marks = match marked {
        Some((Some(old), Some(new))) => Some((old, new)),
        Some((Some(one), None) | (None, Some(one))) => Some((one.clone(), one)),
        _ => None,
    };
    let mut said = [pair, by_marks, both].into_iter().flatten();
    let Some((old, new)) = said.next() else {
        return wrong(line, "it does not say which file it is about");
    };
    if said.any(|(other_old, other_new)| (&other_old, &other_new) != (&old, &new)) {
        return wrong(line, "it names different files in its lines");
    }
    if old != new && !matches!(happens, Happens::Renamed | Happens::Copied) {
        return wrong(line, format!("it changes `{old}` to `{new}` without saying that it is renamed"));
    }
    let mode = match (happens, old_mode, new_mode) {
        (_, Some(before), Some(after)) => Some((before, after)),
        (Happens::Created, _, Some(mode)) if mode == "100755" => Some(("100644".to_owned(), mode)),
        _ => None,
    };
    Ok(FileDiff { line, happens, old, new, mode, hunks: Vec::new() })
}

/// A diff without prefixes has the names of folders in their place, and what lies in a folder `a` would be read as
/// another file. Git writes two different prefixes.
fn check_prefixes(old: Option<&[u8]>, new: Option<&[u8]>, number: usize) -> Result<(), DiffError> {
    let prefix = |name: Option<&[u8]>| match name? {
        [b'"', letter, b'/', ..] | [letter, b'/', ..] => Some(*letter),
        _ => None,
    };
    match (prefix(old), prefix(new)) {
        (Some(old), Some(new)) if old == new => wrong(
            number,
            "both names begin with the same prefix, so the diff may have been made without prefixes",
        ),
        _ => Ok(()),
    }
}

/// The two names of `diff --git`. Without quotes they can only be told apart if they are the same: then none is a
/// problem, because other lines have to say it.
fn header_names(rest: &[u8], number: usize) -> Result<Option<(String, String)>, DiffError> {
    if rest.contains(&b'"') {
        let (old, after) = header_name(rest, number)?;
        let Some(after) = after.strip_prefix(b" ") else {
            return wrong(number, "a second name is missing");
        };
        let (new, after) = header_name(after, number)?;
        if !after.is_empty() {
            return wrong(number, "there is more than two names");
        }
        check_prefixes(Some(&old), Some(&new), number)?;
        return Ok(Some((unprefixed(&old, number)?, unprefixed(&new, number)?)));
    }
    let middle = rest.len() / 2;
    if rest.len() % 2 == 1 && rest.get(middle) == Some(&b' ') {
        let old = prefixed_path(rest.get(..middle).unwrap_or_default(), number);
        let new = prefixed_path(rest.get(middle + 1..).unwrap_or_default(), number);
        if let (Ok(old), Ok(new)) = (&old, &new)
            && old == new
        {
            check_prefixes(rest.get(..middle), rest.get(middle + 1..), number)?;
            return Ok(Some((old.clone(), new.clone())));
        }
        let same = rest.get(2..middle) == rest.get(middle + 3..);
        if let (true, Err(error)) = (same, old) {
            return Err(error);
        }
    }
    Ok(None)
}

/// A quoted name, or one that ends at the next blank, with what follows it.
fn header_name(text: &[u8], number: usize) -> Result<(Vec<u8>, &[u8]), DiffError> {
    if text.first() == Some(&b'"') {
        return unquoted(text, number);
    }
    // The other one is quoted, so this one ends before its quote or at the end.
    let end = text.iter().position(|byte| *byte == b'"').map_or(text.len(), |quote| quote.saturating_sub(1));
    let (name, rest) = text.split_at(end);
    Ok((name.to_vec(), rest))
}

/// A path with its `a/` or `b/`, perhaps quoted.
fn prefixed_path(text: &[u8], number: usize) -> Result<String, DiffError> {
    unprefixed(&plain(text, number)?, number)
}

fn unprefixed(path: &[u8], number: usize) -> Result<String, DiffError> {
    match path {
        [b'a' | b'b' | b'c' | b'i' | b'o' | b'w', b'/', path @ ..] => checked(path, number),
        _ => wrong(number, format!("`{}` has no prefix `a/` or `b/`", shown(path))),
    }
}

/// A path without a prefix, as `rename from` has it.
fn whole_path(text: &str, number: usize) -> Result<String, DiffError> {
    checked(&plain(text.as_bytes(), number)?, number)
}

fn checked(path: &[u8], number: usize) -> Result<String, DiffError> {
    let Ok(text) = std::str::from_utf8(path) else {
        return wrong(number, format!("the name `{}` is not UTF-8", shown(path)));
    };
    match path_problem(text) {
        Some(problem) => wrong(number, problem),
        None => Ok(text.to_owned()),
    }
}

fn plain(text: &[u8], number: usize) -> Result<Vec<u8>, DiffError> {
    if text.first() != Some(&b'"') {
        return Ok(text.to_vec());
    }
    match unquoted(text, number)? {
        (name, []) => Ok(name),
        _ => wrong(number, "something follows the quoted name"),
    }
}

/// A name in quotes, as C writes it, with what follows it.
fn unquoted(text: &[u8], number: usize) -> Result<(Vec<u8>, &[u8]), DiffError> {
    let mut name = Vec::new();
    let mut rest = text.get(1..).unwrap_or_default();
    loop {
        match rest {
            [b'"', after @ ..] => return Ok((name, after)),
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                name.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            [b'\\', escape, after @ ..] => {
                name.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' => b'"',
                    b'\\' => b'\\',
                    _ => return wrong(number, "an unknown escape in a quoted name"),
                });
                rest = after;
            }
            [byte, after @ ..] => {
                name.push(*byte);
                rest = after;
            }
            [] => return wrong(number, "a quoted name does not end"),
        }
    }
}

/// A part of a line, short and harmless.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text.get(..DIFF_LINE_BYTES_SHOWN).unwrap_or(text)).into_owned();
    text.escape_debug().to_string()
}
