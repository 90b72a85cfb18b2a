//! Front matter as most notes have it, read in one go: fields with plain or quoted text, and lists of it.
//! Everything else is left to the reader of YAML, which says the same of these and takes longer.

use crate::yaml::core_schema;
use ordain_canon::{Member, Value};
use ordain_spec::is_invisible;
use std::borrow::Cow;

/// The fields, or nothing where this is not simple enough to be sure.
pub(crate) fn simple(text: &str) -> Option<Vec<Member<'_>>> {
    let mut fields: Vec<Member<'_>> = Vec::new();
    let mut lines = text.strip_suffix('\n').filter(|text| !text.is_empty())?.split('\n').peekable();
    while let Some(line) = lines.next() {
        let (key, rest) = line.split_once(':')?;
        if !is_key(key) || fields.iter().any(|(known, _)| known == key) {
            return None;
        }
        let value = match rest.strip_prefix(' ') {
            Some(value) => match value.strip_prefix('[') {
                Some(list) => flow(list.strip_suffix(']')?)?,
                None => Value::String(Cow::Borrowed(scalar(value)?)),
            },
            None if rest.is_empty() => {
                let mut items = Vec::new();
                let dash = lines.peek().and_then(|line| line.find("- ")).filter(|at| *at <= 4);
                let indent = dash.and_then(|at| lines.peek()?.get(..at + 2)).filter(|it| it.trim() == "-");
                while let Some(item) = indent.and_then(|indent| lines.peek()?.strip_prefix(indent)) {
                    items.push(Value::String(Cow::Borrowed(scalar(item)?)));
                    lines.next();
                }
                if items.is_empty() { Value::Null } else { Value::Array(items) }
            }
            None => return None,
        };
        fields.push((Cow::Borrowed(key), value));
    }
    Some(fields)
}

fn is_key(key: &str) -> bool {
    key.starts_with(|it: char| it.is_ascii_alphabetic())
        && key.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-'))
        && core_schema(key).is_none()
}

fn flow(list: &str) -> Option<Value<'_>> {
    if list.is_empty() {
        return Some(Value::Array(Vec::new()));
    }
    let item = |item| plain(item).map(|text| Value::String(Cow::Borrowed(text)));
    list.split(", ").map(item).collect::<Option<_>>().map(Value::Array)
}

fn scalar(text: &str) -> Option<&str> {
    match text.strip_prefix('"') {
        None => plain(text),
        Some(quoted) => quoted.strip_suffix('"').filter(|inner| {
            inner.chars().all(|it| !it.is_control() && !is_invisible(it) && !matches!(it, '"' | '\\'))
        }),
    }
}

/// Text that nobody takes for something else: words, and dates.
fn plain(text: &str) -> Option<&str> {
    let in_words = |it: char| it.is_ascii_alphanumeric() || matches!(it, ' ' | '_' | '.' | '/' | '-');
    let is_words = text.starts_with(|it: char| it.is_ascii_alphabetic())
        && text.chars().all(in_words)
        && text.split('-').skip(1).all(|rest| rest.starts_with(|it: char| it.is_ascii_alphanumeric()));
    let is_date = || {
        let digits = |from: usize, to: usize| {
            text.get(from..to).is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()))
        };
        text.len() == 10
            && digits(0, 4)
            && digits(5, 7)
            && digits(8, 10)
            && text.bytes().filter(|it| *it == b'-').count() == 2
    };
    ((is_words && !text.ends_with(' ') && core_schema(text).is_none()) || is_date()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;
    use proptest::prelude::*;

    /// As the reader of YAML has it.
    fn slowly(text: &str) -> Option<serde_json::Value> {
        let converted = yaml::to_json(format!("---\n{text}").as_bytes()).ok()?;
        Value::read(&converted.json).ok()?;
        serde_json::from_slice(&converted.json).ok()
    }

    fn quickly(text: &str) -> Option<serde_json::Value> {
        let fields = simple(text)?;
        Some(serde_json::to_value(Value::Object(fields)).unwrap())
    }

    #[test]
    fn most_notes_are_simple() {
        let text = "title: \"A: b\"\nstatus: in-progress\ntags:\n  - api\n  - \"x #y\"\naliases: [one, two words]\n\
                    created: 2026-01-05\nempty:\nlist: []\nbelow:\n- x\n";
        assert_eq!(quickly(text), slowly(text));
        assert_eq!(simple(text).map(|fields| fields.len()), Some(8));
        for other in [
            "",
            "\n",
            "a: b",
            "a:b\n",
            "a: 1\n",
            "a: true\n",
            "a: x: y\n",
            "a: x #y\n",
            "a: b\n c\n",
            "a: 'x'\n",
            "a: [x\n",
            "a: \"x\\n\"\n",
            "a: b\na: c\n",
            "null: x\n",
            "a: |\n  x\n",
            "a: &x b\n",
            "a: b \n",
            "a:\n  - x\n   - y\n",
            "a: b\r\n",
            "# x\n",
            "a: [x, , y]\n",
            "a: [x,y]\n",
            "a: - b\n",
            "...\n",
            "a:\n  b: c\n",
            "a: [b -]\n",
            "a: 2026-01-0a\n",
        ] {
            assert_eq!(quickly(other), None, "{other:?}");
        }
    }

    proptest! {
        /// The quick reader agrees with the slow one.
        #[test]
        fn both_readers_agree(pieces in proptest::collection::vec(piece(), 1..6)) {
            let text = pieces.concat();
            if let Some(quick) = quickly(&text) {
                prop_assert_eq!(Some(quick), slowly(&text), "{:?}", text);
            }
        }
    }

    /// Mostly what is simple, so that whole texts are.
    fn piece() -> impl Strategy<Value = String> {
        let text = prop_oneof![
            6 => "[a-zA-Z][a-zA-Z0-9 _./-]{0,6}",
            3 => "\"[a-z:#,é ]{0,6}\"",
            1 => "\"[^\"\\\\]{0,3}\"",
            1 => "[0-9-]{8,10}",
            1 => "\\d{4}-\\d\\d-\\d\\d",
            1 => "[nN](ull|ULL|o)",
            1 => "[-:#'\"a |>&*!?{}]{0,4}",
        ];
        let list = proptest::collection::vec(text.clone(), 0..3);
        let key = "[a-h]{1,3}";
        prop_oneof![
            4 => (key, text.clone()).prop_map(|(key, text)| format!("{key}: {text}\n")),
            2 => (key, list.clone()).prop_map(|(key, list)| format!("{key}: [{}]\n", list.join(", "))),
            2 => (key, list, "( {0,3})- ").prop_map(|(key, list, dash)| {
                let items: String = list.iter().map(|item| format!("{dash}{item}\n")).collect();
                format!("{key}:\n{items}")
            }),
            1 => (" {0,2}", text).prop_map(|(start, text)| format!("{start}{text}\n")),
        ]
    }
}
