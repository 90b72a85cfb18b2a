//! A proposal as the note that it would be, byte for byte.

use crate::finding::{Code, Finding, sort};
use crate::guard::guard;
use crate::html;
use crate::limits::NOTE_BYTES_MAX;
use crate::note::{Note, blank_lines};
use crate::scalar::scalar;
use ordain_spec::NonEmpty;
use ordain_spec::note::{NoteStatus, Proposal};

/// A note as it would be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rendered {
    /// The whole file.
    pub text: String,
    /// Whether tags in the text are written as `&lt;…`.
    pub html_escaped: bool,
}

/// The note that a proposal would be, or what must not reach a disk. If it replaces a note, the fields that
/// proposals do not have stay as they are.
pub fn render(proposal: &Proposal, replaces: Option<&Note>) -> Result<Rendered, Vec<Finding>> {
    let mut found = guard(proposal);
    let content = proposal.body.content_md.as_str();
    let content = content.get(blank_lines(content)..).unwrap_or_default();
    let body = html::escape(content);
    if body.is_none() {
        let problem = "has HTML inside HTML that cannot be written as text outside a block of code";
        found.push(Finding::new(Code::SchemaInvalid, "/body/content_md", problem));
    }
    let matter = match replaces {
        None => Ok(fresh(proposal)),
        Some(note) => merged(proposal, note),
    };
    let (Some(body), Ok(matter), true) = (body, &matter, found.is_empty()) else {
        let problem = matter.err().map(|problem| Finding::new(Code::SchemaInvalid, "/target/path", problem));
        found.extend(problem);
        sort(&mut found);
        return Err(found);
    };
    let end = if body.ends_with('\n') { "" } else { "\n" };
    let text = format!("---\n{matter}---\n\n{body}{end}");
    if text.len() > NOTE_BYTES_MAX {
        let problem = format!("makes a note that is larger than {NOTE_BYTES_MAX} bytes");
        return Err(vec![Finding::new(Code::SchemaInvalid, "/body/content_md", problem)]);
    }
    if !reads_back(&text, proposal, replaces) {
        let problem =
            "is a note whose front matter cannot be written anew, because it is not one field a line"
                .to_owned();
        return Err(vec![Finding::new(Code::SchemaInvalid, "/target/path", problem)]);
    }
    Ok(Rendered { html_escaped: body != content, text })
}

/// Whether a reader finds in the note what the proposal says, and what must be kept. Nothing that a reader
/// takes for something else is written, whatever was in the note before.
fn reads_back(text: &str, proposal: &Proposal, replaces: Option<&Note>) -> bool {
    let Ok(note) = Note::read(&proposal.target.path, text.as_bytes().to_vec()) else { return false };
    let frontmatter = &proposal.frontmatter;
    let wanted = |list: &Option<Vec<NonEmpty>>| -> Option<Vec<String>> {
        list.as_ref().map(|list| list.iter().map(|it| it.as_str().to_owned()).collect())
    };
    let old = |list: fn(&Note) -> &Vec<String>| replaces.map(|note| list(note).clone()).unwrap_or_default();
    let kept_aliases = replaces.filter(|note| note.matter.is_some()).map(|note| note.aliases.clone());
    let title = replaces.and_then(|note| note.stated_title.as_ref()).unwrap_or(&frontmatter.title);
    note.problem.is_none()
        && note.stated_title.as_ref() == Some(title)
        && note.status.as_deref() == Some(status_name(frontmatter.status))
        && note.tags == wanted(&frontmatter.tags).unwrap_or_else(|| old(|note| &note.tags))
        && note.aliases == kept_aliases.or_else(|| wanted(&frontmatter.aliases)).unwrap_or_default()
}

fn fresh(proposal: &Proposal) -> String {
    let frontmatter = &proposal.frontmatter;
    let mut written = field("title", &frontmatter.title);
    written.push_str(&field("status", status_name(frontmatter.status)));
    written.extend(frontmatter.tags.as_ref().map(|tags| list("tags", tags)));
    written.extend(frontmatter.aliases.as_ref().map(|aliases| list("aliases", aliases)));
    written
}

/// The front matter of a note with the proposal's status and tags in their places.
fn merged(proposal: &Proposal, note: &Note) -> Result<String, String> {
    if let Some(problem) = &note.problem {
        return Err(format!("is a note whose front matter cannot be read: {problem}"));
    }
    let Some(matter) = note.matter.clone() else { return Ok(fresh(proposal)) };
    let frontmatter = &proposal.frontmatter;
    let same =
        |tags: &Vec<NonEmpty>| tags.iter().map(NonEmpty::as_str).eq(note.tags.iter().map(String::as_str));
    let status = status_name(frontmatter.status);
    let mut new = [
        ("title", note.stated_title.is_none().then(|| field("title", &frontmatter.title))),
        ("status", (note.status.as_deref() != Some(status)).then(|| field("status", status))),
        ("tags", frontmatter.tags.as_ref().filter(|tags| !same(tags)).map(|tags| list("tags", tags))),
    ];
    let fields = note.fields()?;
    let first = fields.first().map_or(matter.end, |(_, range)| range.start);
    let mut written = note.text.get(matter.start..first).unwrap_or_default().to_owned();
    for (key, range) in &fields {
        let lines = note.text.get(range.clone()).unwrap_or_default();
        if !starts_a_line(&note.text, range.start) || !names(lines, key) {
            let problem = format!("is a note whose front matter does not have `{key}` on a line of its own");
            return Err(problem);
        }
        match new.iter_mut().find(|(name, _)| name == key).and_then(|(_, new)| new.take()) {
            Some(new) => {
                written.push_str(&new);
                written.push_str(remarks_after(lines));
            }
            None => written.push_str(lines),
        }
    }
    new.into_iter().filter_map(|(_, new)| new).for_each(|new| written.push_str(&new));
    let written = written.replace("\r\n", "\n");
    // To YAML it ends a line, to other readers it does not.
    if written.contains('\r') {
        return Err(
            "is a note whose front matter has a carriage return without a line feed; take it out first"
                .to_owned(),
        );
    }
    Ok(written)
}

fn starts_a_line(text: &str, at: usize) -> bool {
    text.get(..at).is_some_and(|before| before.ends_with('\n'))
}

fn names(lines: &str, key: &str) -> bool {
    let name = lines.strip_prefix(['"', '\'']).unwrap_or(lines);
    name.starts_with(key)
}

/// Remarks and blank lines at the end of a field belong to what follows.
fn remarks_after(lines: &str) -> &str {
    let is_remark = |line: &str| line.trim().is_empty() || line.starts_with('#');
    let remarks: usize =
        lines.split_inclusive('\n').rev().take_while(|line| is_remark(line)).map(str::len).sum();
    lines.get(lines.len() - remarks..).unwrap_or_default()
}

fn field(name: &str, value: &str) -> String {
    format!("{name}: {}\n", scalar(value))
}

fn list(name: &str, items: &[NonEmpty]) -> String {
    if items.is_empty() {
        return format!("{name}: []\n");
    }
    let items: String = items.iter().map(|item| format!("  - {}\n", scalar(item.as_str()))).collect();
    format!("{name}:\n{items}")
}

/// As the contract writes it.
pub(crate) fn status_name(status: NoteStatus) -> &'static str {
    match status {
        NoteStatus::Draft => "draft",
        NoteStatus::InProgress => "in-progress",
        NoteStatus::Review => "review",
        NoteStatus::Published => "published",
        NoteStatus::Archived => "archived",
    }
}
