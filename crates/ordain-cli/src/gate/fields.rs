//! A JSON value as lines that people read: one member a line, with the path to it.

use serde_json::Value as Json;

/// The members of a value, each as `path: value`. A text with lines of its own has them below.
pub(crate) fn fields(value: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    add(&mut lines, "", value);
    lines
}

fn add(lines: &mut Vec<String>, path: &str, value: &Json) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add(lines, &path, member);
            }
        }
        Json::Array(elements) if elements.iter().any(|element| element.is_object() || element.is_array()) => {
            for (at, element) in elements.iter().enumerate() {
                let path = format!("{path}[{at}]");
                match short(element) {
                    Some(text) => lines.push(format!("{path}: {text}")),
                    None => add(lines, &path, element),
                }
            }
        }
        Json::String(text) if text.contains('\n') => {
            lines.push(format!("{path}:"));
            lines.extend(text.strip_suffix('\n').unwrap_or(text).split('\n').map(|line| format!("  {line}")));
        }
        // An empty object at the top has nothing to say.
        Json::Object(_) if path.is_empty() => {}
        other if path.is_empty() => lines.push(scalar(other)),
        other => lines.push(format!("{path}: {}", scalar(other))),
    }
}

/// An object whose members are few and plain, in one line: `op delete, path src/a.rs`.
fn short(value: &Json) -> Option<String> {
    const MEMBERS_MAX: usize = 3;
    const BYTES_MAX: usize = 200;
    let members = value.as_object().filter(|members| (1..=MEMBERS_MAX).contains(&members.len()))?;
    let plain = |member: &Json| match member {
        Json::String(text) => text.len() <= BYTES_MAX && !text.contains(['\n', ',']),
        Json::Number(_) | Json::Bool(_) => true,
        _ => false,
    };
    let parts =
        members.iter().map(|(name, member)| plain(member).then(|| format!("{name} {}", scalar(member))));
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.join(", "))
}

fn scalar(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(elements) if elements.is_empty() => "none".to_owned(),
        Json::Array(elements) => elements.iter().map(scalar).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_are_lines() {
        let value = json!({"updates": {"email": "a@b"}, "tags": ["x", "y"], "empty": {}, "none": [],
            "text": "one\ntwo\n", "list": [{"op": "delete", "path": "a"}], "more": [{"op": "modify, delete"}], "n": 5, "yes": true, "nothing": null});
        let expected = [
            "updates.email: a@b",
            "tags: x, y",
            "empty: {}",
            "none: none",
            "text:",
            "  one",
            "  two",
            "list[0]: op delete, path a",
            "more[0].op: modify, delete",
            "n: 5",
            "yes: true",
            "nothing: null",
        ];
        let mut found = fields(&value);
        let mut expected = expected.map(str::to_owned).to_vec();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(fields(&json!({})), Vec::<String>::new());
        assert_eq!(fields(&json!("x")), ["x"]);
    }
}
