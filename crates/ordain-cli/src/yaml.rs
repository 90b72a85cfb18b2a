//! YAML in, JSON out: the part of YAML that means one thing to every reader.
//!
//! Aliases, tags, several documents and keys that are not text are refused; plain scalars are what the core schema
//! of YAML 1.2 says. The result is read strictly like any other JSON, so that duplicate keys and large integers are
//! found there.

use ordain_canon::DEPTH_MAX;
use saphyr_parser::{Event, Parser, ScalarStyle};

/// The document as JSON text, or what is wrong and where.
pub(crate) fn to_json(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 from byte {} on", error.valid_up_to()))?;
    let mut writer = Writer { json: Vec::new(), open: Vec::new(), documents: 0 };
    for event in Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        let (event, span) = event.map_err(|error| format!("not YAML: {error}"))?;
        let place = span.start;
        writer
            .event(event)
            .map_err(|problem| format!("{problem} at line {}, column {}", place.line(), place.col() + 1))?;
    }
    if writer.documents == 0 {
        return Err("the file holds no document".to_owned());
    }
    Ok(writer.json)
}

struct Writer {
    json: Vec<u8>,
    open: Vec<Open>,
    documents: usize,
}

enum Open {
    List { any: bool },
    Map { any: bool, key_is_next: bool },
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
            Event::Alias(_) => return Err("an alias; write the value out"),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return Err("a tag; leave it out");
            }
            Event::Scalar(text, style, _, None) => self.scalar(&text, style)?,
            Event::SequenceStart(_, None) => self.begin(b'[', Open::List { any: false })?,
            Event::MappingStart(_, None) => self.begin(b'{', Open::Map { any: false, key_is_next: true })?,
            Event::SequenceEnd => self.end(b']'),
            Event::MappingEnd => self.end(b'}'),
        }
        Ok(())
    }

    /// Writes what stands before the next value or key; says whether it is a key.
    fn separate(&mut self) -> bool {
        match self.open.last_mut() {
            None => false,
            Some(Open::List { any }) => {
                if std::mem::replace(any, true) {
                    self.json.push(b',');
                }
                false
            }
            Some(Open::Map { any, key_is_next }) => {
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

    fn begin(&mut self, bracket: u8, open: Open) -> Result<(), &'static str> {
        if self.separate() {
            return Err("a key that is not text");
        }
        if self.open.len() > DEPTH_MAX {
            return Err("values are nested too deep");
        }
        self.json.push(bracket);
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, bracket: u8) {
        self.open.pop();
        self.json.push(bracket);
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle) -> Result<(), &'static str> {
        let is_key = self.separate();
        let plain = matches!(style, ScalarStyle::Plain).then(|| core_schema(text)).flatten();
        match plain {
            Some(Err(problem)) => return Err(problem),
            Some(Ok(_)) if is_key => return Err("a key that is not text; put it in quotes"),
            Some(Ok(json)) => self.json.extend_from_slice(json.as_bytes()),
            None => serde_json::to_writer(&mut self.json, text).map_err(|_| "text that cannot be written")?,
        }
        Ok(())
    }
}

/// What a plain scalar means if it is not text.
fn core_schema(text: &str) -> Option<Result<String, &'static str>> {
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
        return Some(Err("a number that is not decimal; put it in quotes if it is text"));
    }
    if !numeric || text.parse::<f64>().is_err() {
        return None;
    }
    if digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        return Some(Err("a number with a leading zero; put it in quotes if it is text"));
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
        to_json(yaml.as_bytes()).map(|json| String::from_utf8(json).unwrap())
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
}
