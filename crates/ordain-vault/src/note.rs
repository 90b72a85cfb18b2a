//! A note as it is in the vault.

use crate::limits::FRONTMATTER_BYTES_MAX;
use crate::markdown::{Heading, Outline};
use crate::matter::simple;
use crate::yaml;
use ordain_canon::{Canonicalizer, ContentHash, Member, Value, push_pointer_token};
use std::ops::Range;

/// A note. One whose front matter is broken is still a note; `problem` says what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Note {
    /// Relative to the vault.
    pub path: String,
    /// The whole file.
    pub text: String,
    /// The `title` of the front matter.
    pub stated_title: Option<String>,
    /// The `status` of the front matter.
    pub status: Option<String>,
    /// The `tags` of the front matter.
    pub tags: Vec<String>,
    /// The `aliases` of the front matter.
    pub aliases: Vec<String>,
    /// Its headings.
    pub headings: Vec<Heading>,
    /// Where its links lead, each once: `[[name]]` of a note, a path or an address.
    pub links: Vec<String>,
    /// The problem with its front matter.
    pub problem: Option<String>,
    /// The front matter without the lines that enclose it.
    pub(crate) matter: Option<Range<usize>>,
    body: usize,
}

impl Note {
    /// Reads a note; only bytes that are not text are refused.
    pub fn read(path: &str, bytes: Vec<u8>) -> Result<Self, String> {
        let text = String::from_utf8(bytes)
            .map_err(|error| format!("it is not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))?;
        let mut note = Self { path: path.to_owned(), text, ..Self::default() };
        if let Some((matter, body)) = split(&note.text) {
            note.body = body;
            match Known::read(&note.text, &matter) {
                Ok(Known { title, status, tags, aliases }) => {
                    (note.stated_title, note.status, note.tags, note.aliases) =
                        (title, status, tags, aliases);
                }
                Err(problem) => note.problem = Some(problem),
            }
            note.matter = Some(matter);
        }
        let outline = Outline::of(note.body());
        (note.headings, note.links) = (outline.headings, outline.links);
        Ok(note)
    }

    /// The text below the front matter.
    pub fn body(&self) -> &str {
        self.text.get(self.body..).unwrap_or_default()
    }

    /// Its title: what the front matter says, or its first heading of level 1, or the name of its file.
    pub fn title(&self) -> &str {
        let heading = || self.headings.iter().find(|heading| heading.level == 1);
        let stated = self.stated_title.as_deref().filter(|title| !title.trim().is_empty());
        stated.or_else(|| heading().map(|it| it.text.as_str())).unwrap_or_else(|| stem(&self.path))
    }

    /// The hash of the whole file.
    pub fn hash(&self) -> ContentHash {
        ContentHash::of(self.text.as_bytes())
    }

    /// The fields of the front matter with their lines, in their order.
    pub(crate) fn fields(&self) -> Result<Vec<(String, Range<usize>)>, String> {
        let Some(matter) = &self.matter else { return Ok(Vec::new()) };
        let yaml = with_opening(&self.text, matter);
        let converted = yaml::to_json(yaml)?;
        let value = Value::read(&converted.json).map_err(|error| error.to_string())?;
        let start = |key: &str| {
            let mut pointer = String::new();
            push_pointer_token(&mut pointer, key);
            converted.span_of(yaml, &pointer).start
        };
        let keys = value.as_object().unwrap_or_default().iter().map(|(key, _)| key.to_string());
        let mut starts: Vec<(usize, String)> = keys.map(|key| (start(&key), key)).collect();
        starts.sort();
        let ends: Vec<usize> = starts.iter().skip(1).map(|(start, _)| *start).chain([matter.end]).collect();
        Ok(starts.into_iter().zip(ends).map(|((start, key), end)| (key, start..end)).collect())
    }
}

/// The front matter fields that proposals know.
#[derive(Default)]
struct Known {
    title: Option<String>,
    status: Option<String>,
    tags: Vec<String>,
    aliases: Vec<String>,
}

impl Known {
    fn read(text: &str, matter: &Range<usize>) -> Result<Self, String> {
        if matter.len() > FRONTMATTER_BYTES_MAX {
            return Err(format!("the front matter is larger than {FRONTMATTER_BYTES_MAX} bytes"));
        }
        if let Some(members) = text.get(matter.clone()).and_then(simple) {
            return Ok(Self::of(&members));
        }
        let converted = yaml::to_json(with_opening(text, matter))?;
        let value = Value::read(&converted.json)
            .map_err(|error| format!("{} in the front matter, at `{}`", error.kind, error.pointer))?;
        match &value {
            Value::Null => Ok(Self::default()),
            Value::Object(members) => Ok(Self::of(members)),
            other => Err(format!("the front matter is {}, not fields with their values", other.kind())),
        }
    }

    fn of(members: &[Member<'_>]) -> Self {
        let mut known = Self::default();
        for (key, value) in members {
            match key.as_ref() {
                "title" => known.title = text_of(value),
                "status" => known.status = text_of(value),
                "tags" => known.tags = list_of(value, true),
                "aliases" => known.aliases = list_of(value, false),
                _ => {}
            }
        }
        known
    }
}

/// Front matter with the line that opens it, so that lines are counted as in the file.
fn with_opening<'t>(text: &'t str, matter: &Range<usize>) -> &'t [u8] {
    text.get(..matter.end).unwrap_or_default().as_bytes()
}

/// The name of a note's file, without folders and `.md`.
pub(crate) fn stem(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.strip_suffix(".md").unwrap_or(name)
}

/// Where the front matter is, if there is one, and where the text begins.
fn split(text: &str) -> Option<(Range<usize>, usize)> {
    let unmarked = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = unmarked.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let start = text.len() - unmarked.len() + first.len();
    let mut at = start;
    for line in lines {
        let end = at + line.len();
        if matches!(line.trim_end(), "---" | "...") {
            let blank = text.get(end..).map_or(0, blank_lines);
            return Some((start..at, end + blank));
        }
        at = end;
    }
    None
}

/// The bytes of the blank lines that a text starts with.
pub(crate) fn blank_lines(text: &str) -> usize {
    text.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum()
}

fn text_of(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.to_string()),
        other => String::from_utf8(Canonicalizer::new().value(other).ok()?.to_vec()).ok(),
    }
}

/// A list, or what people write instead: one name, or tags with commas or blanks between them.
fn list_of(value: &Value<'_>, is_split: bool) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(text_of).collect(),
        Value::String(text) if is_split => {
            let parts = text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        }
        other => text_of(other).into_iter().collect(),
    }
}
