//! The normal form of an intent: what is hashed, and what the kernel works on.

use crate::path::nfc;
use ordain_canon::{Value, push_pointer_token, sort_utf16};
use std::borrow::Cow;

/// An intent has no normal form.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NormalizeError {
    /// Only objects are intents.
    #[error("an intent is an object, found {0}")]
    NotObject(&'static str),
    /// A member is missing or has the wrong type.
    #[error("`{field}` must be {expected}")]
    Type {
        /// Which.
        field: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// The goal is blank.
    #[error("the goal is blank")]
    BlankGoal,
    /// Members that an intent does not have.
    #[error("`{0}` is not a field of an intent")]
    Unknown(String),
    /// Two keys of the context are the same after NFC.
    #[error("the keys at `{0}` are the same after Unicode normalization")]
    KeysCollide(String),
}

/// The normalized intent: `goal`, `constraints` and `context`, all there.
///
/// Goal and constraints lose a byte order mark, line ends become LF, and blanks at the ends go. In
/// constraints, runs of spaces and tabs become one space, and three line feeds or more become two. Blank
/// constraints are dropped; the rest is sorted, each kept once. All strings are NFC, those inside `context`
/// too, but for the content of files.
pub fn normalize<'a>(intent: &'a Value<'a>) -> Result<Value<'a>, NormalizeError> {
    let members = intent.as_object().ok_or(NormalizeError::NotObject(intent.kind()))?;
    if let Some((key, _)) =
        members.iter().find(|(key, _)| !matches!(&**key, "goal" | "constraints" | "context"))
    {
        return Err(NormalizeError::Unknown(crate::path::shorten(key)));
    }
    let goal = intent.get("goal").and_then(Value::as_str);
    let goal = goal.ok_or(NormalizeError::Type { field: "goal", expected: "a string" })?;
    let goal = normal_text(goal).trim_matches(is_blank).to_owned();
    if goal.is_empty() {
        return Err(NormalizeError::BlankGoal);
    }
    let constraints = match intent.get("constraints") {
        None => Vec::new(),
        Some(list) => normal_constraints(list)
            .ok_or(NormalizeError::Type { field: "constraints", expected: "an array of strings" })?,
    };
    let context = match intent.get("context") {
        None => Value::Object(Vec::new()),
        Some(context @ Value::Object(_)) => {
            normal_value(context, Where::Context, &mut String::from("/context"))?
        }
        Some(_) => return Err(NormalizeError::Type { field: "context", expected: "an object" }),
    };
    Ok(Value::Object(vec![
        (
            "constraints".into(),
            Value::Array(constraints.into_iter().map(|text| Value::String(text.into())).collect()),
        ),
        ("context".into(), context),
        ("goal".into(), Value::String(goal.into())),
    ]))
}

/// The characters that JavaScript's `trim` removes, since the contracts were written with it.
pub(crate) fn is_blank(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

fn normal_text(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    nfc(&text).into_owned()
}

fn normal_constraints(list: &Value<'_>) -> Option<Vec<String>> {
    let texts: Option<Vec<&str>> = list.as_array()?.iter().map(Value::as_str).collect();
    let mut constraints: Vec<String> = texts?.into_iter().map(normal_constraint).collect();
    constraints.retain(|constraint| !constraint.is_empty());
    sort_utf16(&mut constraints);
    constraints.dedup();
    Some(constraints)
}

pub(super) fn normal_constraint(text: &str) -> String {
    let text = normal_text(text);
    let mut out = String::with_capacity(text.len());
    let mut line_feeds = 0;
    for character in text.trim_matches(is_blank).chars() {
        match character {
            ' ' | '\t' if out.ends_with(' ') => {}
            ' ' | '\t' => {
                out.push(' ');
                line_feeds = 0;
            }
            '\n' => {
                line_feeds += 1;
                if line_feeds <= 2 {
                    out.push('\n');
                }
            }
            other => {
                out.push(other);
                line_feeds = 0;
            }
        }
    }
    out
}

/// Which strings are left as they are.
#[derive(Clone, Copy, PartialEq)]
enum Where {
    Context,
    Files,
    File,
    Elsewhere,
}

fn normal_value<'a>(
    value: &'a Value<'a>,
    place: Where,
    pointer: &mut String,
) -> Result<Value<'a>, NormalizeError> {
    Ok(match value {
        Value::String(text) => Value::String(nfc(text)),
        Value::Array(elements) => {
            let inner = if place == Where::Files { Where::File } else { Where::Elsewhere };
            let mut normal = Vec::with_capacity(elements.len());
            for (index, element) in elements.iter().enumerate() {
                let length = pointer.len();
                push_pointer_token(pointer, &index.to_string());
                normal.push(normal_value(element, inner, pointer)?);
                pointer.truncate(length);
            }
            Value::Array(normal)
        }
        Value::Object(members) => {
            let mut normal: Vec<(Cow<'a, str>, Value<'a>)> = Vec::with_capacity(members.len());
            for (key, member) in members {
                let length = pointer.len();
                push_pointer_token(pointer, key);
                let member = match (place, &**key) {
                    (Where::File, "content") => member.clone(),
                    (Where::Context, "files") => normal_value(member, Where::Files, pointer)?,
                    _ => normal_value(member, Where::Elsewhere, pointer)?,
                };
                pointer.truncate(length);
                normal.push((nfc(key), member));
            }
            let mut keys: Vec<&str> = normal.iter().map(|(key, _)| key.as_ref()).collect();
            keys.sort_unstable();
            if let Some([key, ..]) = keys.windows(2).find(|pair| pair.first() == pair.last()) {
                push_pointer_token(pointer, key);
                return Err(NormalizeError::KeysCollide(pointer.clone()));
            }
            Value::Object(normal)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_canon::Canonicalizer;

    fn normal(text: &str) -> Result<String, NormalizeError> {
        let value = Value::read(text.as_bytes()).unwrap();
        let normal = normalize(&value)?;
        Ok(String::from_utf8(Canonicalizer::new().value(&normal).unwrap().to_vec()).unwrap())
    }

    #[test]
    fn what_normalizing_does() {
        for (intent, expected) in [
            (r#"{"goal":" x "}"#, r#"{"constraints":[],"context":{},"goal":"x"}"#),
            (r#"{"goal":"\ufeffa\r\nb\rc"}"#, r#"{"constraints":[],"context":{},"goal":"a\nb\nc"}"#),
            (r#"{"goal":"e\u0301  e"}"#, r#"{"constraints":[],"context":{},"goal":"é  e"}"#),
            (
                r#"{"goal":"x","constraints":["b  \t c","  ","a","a ","l\n\n\n\nm"]}"#,
                r#"{"constraints":["a","b c","l\n\nm"],"context":{},"goal":"x"}"#,
            ),
            (
                r#"{"goal":"x","context":{"files":[{"path":"e\u0301","content":"e\u0301\r\n"}],"n":["e\u0301\r\n"]}}"#,
                "{\"constraints\":[],\"context\":{\"files\":[{\"content\":\"e\u{301}\\r\\n\",\"path\":\"é\"}],\"n\":[\"é\\r\\n\"]},\"goal\":\"x\"}",
            ),
        ] {
            assert_eq!(normal(intent).as_deref(), Ok(expected), "{intent}");
        }
    }

    #[test]
    fn what_has_no_normal_form() {
        for intent in [
            "[]",
            "{}",
            r#"{"goal":1}"#,
            r#"{"goal":" \n"}"#,
            r#"{"goal":"x","constraints":null}"#,
            r#"{"goal":"x","constraints":[1]}"#,
            r#"{"goal":"x","context":[]}"#,
            r#"{"goal":"x","extra":1}"#,
            r#"{"goal":"x","context":{"a":{"e\u0301":1,"\u00e9":2}}}"#,
        ] {
            assert!(normal(intent).is_err(), "{intent}");
        }
    }
}
