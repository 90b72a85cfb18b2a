//! Changes of a JSON text that leave every other byte as it is.

use super::EditError;
use ordain_canon::Value;
use serde_json::Value as Json;
use std::ops::Range;

/// A value in a text.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    children: Children,
}

#[derive(Clone, Debug)]
enum Children {
    None,
    Elements(Vec<Node>),
    Members(Vec<Member>),
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    key: String,
    start: usize,
    value: Node,
}

/// A part of a list or an object.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    Element(usize),
    Member(&'a str),
}

impl Node {
    pub(super) fn member(&self, key: &str) -> Option<&Node> {
        self.members().iter().find(|member| member.key == key).map(|member| &member.value)
    }

    pub(super) fn members(&self) -> &[Member] {
        match &self.children {
            Children::Members(members) => members,
            _ => &[],
        }
    }

    pub(super) fn as_object(&self, name: &str) -> Result<&[Member], EditError> {
        match &self.children {
            Children::Members(members) => Ok(members),
            _ => Err(EditError::Shape(name.to_owned())),
        }
    }

    pub(super) fn as_array(&self, name: &str) -> Result<&[Node], EditError> {
        match &self.children {
            Children::Elements(elements) => Ok(elements),
            _ => Err(EditError::Shape(name.to_owned())),
        }
    }
}

/// Reads a text strictly, with the place of everything in it.
pub(super) fn parse(text: &str) -> Result<Node, EditError> {
    Value::read(text.as_bytes()).map_err(|error| EditError::Malformed(error.to_string()))?;
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    scanner.value().ok_or_else(|| EditError::Malformed("the text ends early".to_owned()))
}

/// Walks through a text that is known to be JSON.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn value(&mut self) -> Option<Node> {
        let first = self.peek()?;
        let start = self.at;
        let children = match first {
            b'{' => Children::Members(self.members()?),
            b'[' => Children::Elements(self.elements()?),
            b'"' => {
                self.string()?;
                Children::None
            }
            _ => {
                let ends = |byte: &u8| b",]}".contains(byte) || byte.is_ascii_whitespace();
                while self.bytes.get(self.at).is_some_and(|byte| !ends(byte)) {
                    self.at += 1;
                }
                Children::None
            }
        };
        Some(Node { span: start..self.at, children })
    }

    fn members(&mut self) -> Option<Vec<Member>> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            match self.peek()? {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let start = self.at;
                    let key = self.string()?;
                    self.peek()?;
                    self.at += 1;
                    members.push(Member { key, start, value: self.value()? });
                }
            }
        }
        self.at += 1;
        Some(members)
    }

    fn elements(&mut self) -> Option<Vec<Node>> {
        let mut elements = Vec::new();
        self.at += 1;
        loop {
            match self.peek()? {
                b']' => break,
                b',' => self.at += 1,
                _ => elements.push(self.value()?),
            }
        }
        self.at += 1;
        Some(elements)
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_slice(self.bytes.get(start..self.at)?).ok()
    }
}

/// Whitespace before a place.
fn space_before(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let trimmed = before.trim_end_matches([' ', '\t', '\n', '\r']);
    before.get(trimmed.len()..).unwrap_or_default()
}

/// A value as text. On lines of its own it is laid out with this indentation.
fn laid_out(value: &Json, space: &str) -> String {
    match space.rfind('\n') {
        None => value.to_string(),
        Some(newline) => {
            let indent = space.get(newline + 1..).unwrap_or_default();
            format!("{value:#}").replace('\n', &format!("\n{indent}"))
        }
    }
}

fn spliced(text: &str, span: Range<usize>, new: &str) -> String {
    let (before, after) =
        (text.get(..span.start).unwrap_or_default(), text.get(span.end..).unwrap_or_default());
    format!("{before}{new}{after}")
}

/// Puts a member at the end of an object.
pub(super) fn insert_member(text: &str, object: &Node, key: &str, value: &Json) -> String {
    let key = Json::String(key.to_owned());
    match object.members().last() {
        Some(last) => {
            let space = space_before(text, last.start).to_owned();
            let end = last.value.span.end;
            let new = format!(",{space}{key}: {}", laid_out(value, &space));
            spliced(text, end..end, &new)
        }
        None => {
            let outer = indent_of_line(text, object.span.start);
            let space = format!("\n{outer}  ");
            let new = format!("{{{space}{key}: {}\n{outer}}}", laid_out(value, &space));
            spliced(text, object.span.clone(), &new)
        }
    }
}

/// Puts an element at the end of a list.
pub(super) fn insert_element(text: &str, list: &Node, value: &Json) -> String {
    let elements = list.as_array("").unwrap_or_default();
    match elements.last() {
        Some(last) => {
            let space = space_before(text, last.span.start).to_owned();
            let end = last.span.end;
            spliced(text, end..end, &format!(",{space}{}", laid_out(value, &space)))
        }
        None => {
            let outer = indent_of_line(text, list.span.start);
            let space = format!("\n{outer}  ");
            let new = format!("[{space}{}\n{outer}]", laid_out(value, &space));
            spliced(text, list.span.clone(), &new)
        }
    }
}

fn indent_of_line(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|character| matches!(character, ' ' | '\t')).collect()
}

/// Takes a part out of the list or object at a path, with its comma.
pub(super) fn remove_at(text: &str, root: &Node, path: &[&str], at: At<'_>) -> String {
    let parent = path.iter().try_fold(root, |node, key| node.member(key));
    let Some(parent) = parent else { return text.to_owned() };
    let spans: Vec<Range<usize>> = match &parent.children {
        Children::Members(members) => members.iter().map(|it| it.start..it.value.span.end).collect(),
        Children::Elements(elements) => elements.iter().map(|it| it.span.clone()).collect(),
        Children::None => Vec::new(),
    };
    let position = match at {
        At::Element(position) => Some(position),
        At::Member(key) => parent.members().iter().position(|member| member.key == key),
    };
    let Some((position, span)) = position.and_then(|at| Some((at, spans.get(at)?.clone()))) else {
        return text.to_owned();
    };
    let before = position.checked_sub(1).and_then(|at| spans.get(at));
    let cut = match (before, spans.get(position + 1)) {
        (Some(before), _) => before.end..span.end,
        (None, Some(after)) => span.start..after.start,
        // Nothing else is left: the brackets stay.
        (None, None) => parent.span.start + 1..parent.span.end - 1,
    };
    spliced(text, cut, "")
}
