//! YAML in, JSON out: the part of YAML that means one thing to every reader.
//!
//! Aliases, tags, several documents and keys that are not text are refused; plain scalars are what the core schema
//! of YAML 1.2 says. The result is read strictly like any other JSON, so that duplicate keys and large integers are
//! found there.

use ordain_canon::{DEPTH_MAX, push_pointer_token};
use saphyr_parser::{Event, Parser, ScalarStyle};
use std::collections::BTreeMap;
use std::ops::Range;

/// A YAML document as JSON text, and the places of its values in the file.
pub struct Converted {
    /// The JSON text.
    pub json: Vec<u8>,
    /// By JSON Pointer: the line, from 1, and the column, from 0, of a member's key or of an element.
    places: BTreeMap<String, (usize, usize)>,
}

impl Converted {
    /// Where the value of a pointer, or its nearest ancestor, stands: from there to the end of the line.
    pub fn span_of(&self, yaml: &[u8], pointer: &str) -> Range<usize> {
        let mut pointer = pointer;
        let (line, column) = loop {
            match (self.places.get(pointer), pointer.rsplit_once('/')) {
                (Some(place), _) => break *place,
                (None, Some((parent, _))) => pointer = parent,
                (None, None) => break (1, 0),
            }
        };
        let mut start = 0;
        for _ in 1..line {
            let rest = yaml.get(start..).unwrap_or_default();
            let end = rest.iter().position(is_break).unwrap_or(rest.len());
            let width = if rest.get(end..).is_some_and(|rest| rest.starts_with(b"\r\n")) { 2 } else { 1 };
            start += rest.len().min(end + width);
        }
        let rest = yaml.get(start..).unwrap_or_default();
        let text = rest.split(is_break).next().unwrap_or_default();
        let before: usize = String::from_utf8_lossy(text).chars().take(column).map(char::len_utf8).sum();
        start + before.min(text.len())..start + text.len()
    }
}

/// Whether a line ends here, to YAML.
fn is_break(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The document as JSON text, or what is wrong and where.
pub fn to_json(bytes: &[u8]) -> Result<Converted, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 from byte {} on", error.valid_up_to()))?;
    let mut writer = Writer::default();
    for event in Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        let (event, span) = event.map_err(|error| format!("not YAML: {error}"))?;
        writer.place = (span.start.line(), span.start.col());
        writer.event(event).map_err(|problem| {
            format!("{problem} at line {}, column {}", writer.place.0, writer.place.1 + 1)
        })?;
    }
    if writer.documents == 0 {
        return Err("the file holds no document".to_owned());
    }
    Ok(Converted { json: writer.json, places: writer.places })
}

#[derive(Default)]
struct Writer {
    json: Vec<u8>,
    open: Vec<Open>,
    documents: usize,
    /// Where the current event stands.
    place: (usize, usize),
    /// The pointer of the value that is being written.
    pointer: String,
    places: BTreeMap<String, (usize, usize)>,
}

enum Open {
    List { count: usize, pointer_len: usize },
    Map { any: bool, key_is_next: bool, pointer_len: usize },
}

impl Writer {
    fn event(&mut self, event: Event<'_>) -> Result<(), &'static str> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("a second document");
                }
            }
            Event::Alias(_) => return Err("an alias, which has to be written out"),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return Err("a tag; leave it out");
            }
            Event::Scalar(text, style, _, None) => self.scalar(&text, style)?,
            Event::SequenceStart(_, None) => {
                self.begin(b'[', |pointer_len| Open::List { count: 0, pointer_len })?;
            }
            Event::MappingStart(_, None) => {
                self.begin(b'{', |pointer_len| Open::Map { any: false, key_is_next: true, pointer_len })?;
            }
            Event::SequenceEnd => self.end(b']'),
            Event::MappingEnd => self.end(b'}'),
        }
        Ok(())
    }

    /// Writes what stands before the next value or key; says whether it is a key.
    fn separate(&mut self) -> bool {
        match self.open.last_mut() {
            None => false,
            Some(Open::List { count, pointer_len }) => {
                if *count > 0 {
                    self.json.push(b',');
                }
                self.pointer.truncate(*pointer_len);
                push_pointer_token(&mut self.pointer, &count.to_string());
                self.places.insert(self.pointer.clone(), self.place);
                *count += 1;
                false
            }
            Some(Open::Map { any, key_is_next, .. }) => {
                let is_key = *key_is_next;
                *key_is_next = !is_key;
                if !is_key {
                    self.json.push(b':');
                } else if std::mem::replace(any, true) {
                    self.json.push(b',');
                }
                is_key
            }
        }
    }

    fn begin(&mut self, bracket: u8, open: impl Fn(usize) -> Open) -> Result<(), &'static str> {
        if self.separate() {
            return Err("a key that is not text");
        }
        if self.open.len() > DEPTH_MAX {
            return Err("values are nested too deep");
        }
        self.json.push(bracket);
        self.open.push(open(self.pointer.len()));
        Ok(())
    }

    fn end(&mut self, bracket: u8) {
        if let Some(Open::List { pointer_len, .. } | Open::Map { pointer_len, .. }) = self.open.pop() {
            self.pointer.truncate(pointer_len);
        }
        self.json.push(bracket);
    }

    /// The key of the next member is `key`, here.
    fn name(&mut self, key: &str) {
        if let Some(Open::Map { pointer_len, .. }) = self.open.last() {
            self.pointer.truncate(*pointer_len);
            push_pointer_token(&mut self.pointer, key);
            self.places.insert(self.pointer.clone(), self.place);
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle) -> Result<(), &'static str> {
        let is_key = self.separate();
        if is_key {
            self.name(text);
        }
        let plain = matches!(style, ScalarStyle::Plain).then(|| core_schema(text)).flatten();
        match plain {
            Some(Err(problem)) => return Err(problem),
            Some(Ok(_)) if is_key => return Err("a key that is not text and not in quotes"),
            Some(Ok(json)) => self.json.extend_from_slice(json.as_bytes()),
            None => serde_json::to_writer(&mut self.json, text).map_err(|_| "text that cannot be written")?,
        }
        Ok(())
    }
}

/// The value of a plain scalar if it is not text.
pub(crate) fn core_schema(text: &str) -> Option<Result<String, &'static str>> {
    Some(Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => "null".to_owned(),
        "true" | "True" | "TRUE" => "true".to_owned(),
        "false" | "False" | "FALSE" => "false".to_owned(),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "-.inf" => {
            return Some(Err("a number that JSON does not have"));
        }
        _ => return number(text),
    }))
}

fn number(text: &str) -> Option<Result<String, &'static str>> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let starts =
        digits.starts_with(|c: char| c.is_ascii_digit()) || (digits.starts_with('.') && digits.len() > 1);
    let numeric =
        digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !starts {
        return None;
    }
    if digits.starts_with("0x") || digits.starts_with("0o") {
        return Some(Err("a number that is not decimal (text needs quotes)"));
    }
    if !numeric || text.parse::<f64>().is_err() {
        return None;
    }
    if digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        return Some(Err("a number with a leading zero (text needs quotes)"));
    }
    // Into the grammar of JSON: no plus sign, no bare point.
    let sign = if text.starts_with('-') { "-" } else { "" };
    let mut plain = if digits.starts_with('.') { format!("0{digits}") } else { digits.to_owned() };
    if plain.ends_with('.') {
        plain.push('0');
    }
    Some(Ok(format!("{sign}{}", plain.replace(".e", ".0e").replace(".E", ".0E"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(yaml: &str) -> Result<String, String> {
        to_json(yaml.as_bytes()).map(|converted| String::from_utf8(converted.json).unwrap())
    }

    #[test]
    fn the_unambiguous_part_of_yaml() {
        for (yaml, expected) in [
            ("a: 1\nb: [x, 'y', \"z\\n\"]\n", r#"{"a":1,"b":["x","y","z\n"]}"#),
            (
                "- ~\n- true\n- 1.5\n- +2\n- .5\n- 5.\n- '5'\n- 1.0.0\n- no\n",
                r#"[null,true,1.5,2,0.5,5.0,"5","1.0.0","no"]"#,
            ),
            ("text: |\n  a\n  b\n", r#"{"text":"a\nb\n"}"#),
            ("{}", "{}"),
        ] {
            assert_eq!(json(yaml).as_deref(), Ok(expected), "{yaml}");
        }
    }

    #[test]
    fn the_rest_is_refused() {
        for yaml in [
            "",
            "a: &x 1\nb: *x",
            "a: !t 1",
            "--- 1\n--- 2",
            "1: a",
            "? [a]\n: b",
            "a: .inf",
            "a: 0x1F",
            "a: 007",
            "a: 012.5",
            "a: [",
            "\"\\ud800\"",
        ] {
            assert!(json(yaml).is_err(), "{yaml}: {:?}", json(yaml));
        }
    }

    #[test]
    fn places_are_those_of_the_file() {
        let yaml =
            "goal: x\ncontext:\n  files:\n    - path: é.md\n      content: |\n        a\n    - {path: b}\n";
        let converted = to_json(yaml.as_bytes()).unwrap();
        let shown = |pointer: &str| &yaml[converted.span_of(yaml.as_bytes(), pointer)];
        assert_eq!(shown("/goal"), "goal: x");
        assert_eq!(shown("/context/files"), "files:");
        assert_eq!(shown("/context/files/0/path"), "path: é.md");
        assert_eq!(shown("/context/files/1/path"), "path: b}");
        assert_eq!(shown("/context/files/1/missing"), "{path: b}");
        assert_eq!(shown("/missing"), "goal: x");
    }

    /// A carriage return alone ends a line too.
    #[test]
    fn every_end_of_a_line_counts() {
        for end in ["\n", "\r\n", "\r"] {
            let yaml = format!("a: >-{end}  one{end}  two{end}b: 1{end}{end}c: [x,{end}  y]{end}");
            let converted = to_json(yaml.as_bytes()).unwrap();
            let shown = |pointer: &str| &yaml[converted.span_of(yaml.as_bytes(), pointer)];
            assert_eq!([shown("/b"), shown("/c"), shown("/c/1")], ["b: 1", "c: [x,", "y]"], "{end:?}");
        }
    }
}
