//! BS12: the leaves of a bundle say everything that its root says.
//!
//! A text is cut into pieces that are never longer than a sentence, so that whoever splits a goal between
//! sentences keeps every piece whole. Where sentences end exactly is a matter of the kernel.

use crate::facts::Facts;
use crate::node::Node;
use crate::path::shorten;
use crate::rule::Findings;
use ordain_canon::Value;
use std::collections::BTreeSet;

/// BS12. Without the intent the root is compared with the leaves; with it, also the intent with the root.
pub(super) fn decomposition_is_total(facts: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    let root = bundle.get("root_node");
    let Some(value) = root.value().filter(|it| it.as_object().is_some()) else { return };
    if let Some(intent) = facts.intent {
        check_root(intent, root, found);
    }
    let mut leaves = Vec::new();
    collect(value, &mut leaves);
    // A root that is its own leaf loses nothing.
    if leaves.iter().any(|leaf| std::ptr::eq(*leaf, value)) {
        return;
    }
    let said: BTreeSet<String> = leaves.iter().flat_map(|leaf| texts(leaf)).flat_map(pieces).collect();
    let goal = root.get("goal");
    for piece in goal.str().map(pieces).unwrap_or_default() {
        if !said.contains(&piece) {
            found.at(goal, format!("`{}` is in no leaf", shorten(&piece)));
        }
    }
    let kept: BTreeSet<&str> = leaves.iter().flat_map(|leaf| constraints(leaf)).collect();
    for constraint in root.get("constraints").elements() {
        if constraint.str().is_some_and(|text| !kept.contains(text)) {
            found.at(constraint, "is in no leaf");
        }
    }
}

/// An answer takes the place of words of the intent, so that only an intent without answers can be compared.
fn check_root(intent: &Value<'_>, root: Node<'_, '_>, found: &mut Findings) {
    let answers = intent.get("context").and_then(|context| context.get("answers"));
    if answers.and_then(Value::as_object).is_some_and(|answers| !answers.is_empty()) {
        return;
    }
    let goal = root.get("goal");
    if let (Some(wanted), Some(said)) = (intent.get("goal").and_then(Value::as_str), goal.str()) {
        let said: BTreeSet<String> = pieces(said).into_iter().collect();
        for piece in pieces(wanted).into_iter().filter(|piece| !said.contains(piece)) {
            found.at(goal, format!("lacks `{}` of the intent", shorten(&piece)));
        }
    }
    let list = root.get("constraints");
    let kept: BTreeSet<&str> = list.array().unwrap_or_default().iter().filter_map(Value::as_str).collect();
    let wanted = intent.get("constraints").and_then(Value::as_array).unwrap_or_default();
    for constraint in wanted.iter().filter_map(Value::as_str).filter(|text| !kept.contains(text)) {
        found.at(list, format!("lacks `{}` of the intent", shorten(constraint)));
    }
}

fn collect<'v>(node: &'v Value<'v>, leaves: &mut Vec<&'v Value<'v>>) {
    let children = node.get("children").and_then(Value::as_array).unwrap_or_default();
    if children.is_empty() {
        leaves.push(node);
    }
    children.iter().for_each(|child| collect(child, leaves));
}

fn constraints<'v>(node: &'v Value<'v>) -> impl Iterator<Item = &'v str> {
    let list = node.get("constraints").and_then(Value::as_array).unwrap_or_default();
    list.iter().filter_map(Value::as_str)
}

/// The goal and the constraints of a node.
fn texts<'v>(node: &'v Value<'v>) -> impl Iterator<Item = &'v str> {
    node.get("goal").and_then(Value::as_str).into_iter().chain(constraints(node))
}

/// In lower case, with one blank for several.
fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}

/// The pieces of a text: lines, cut behind every mark that may end a sentence or a label, without the mark of
/// an item, and without anything but letters and digits at their ends.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        let ends = line.char_indices().filter(|(at, mark)| {
            let next = line.get(at + mark.len_utf8()..).and_then(|rest| rest.chars().next());
            matches!(mark, '.' | '!' | '?' | ';' | ':') && next.is_none_or(char::is_whitespace)
        });
        for (at, mark) in ends.chain([(line.len(), '\0')]) {
            let end = (at + mark.len_utf8()).min(line.len());
            let piece = line.get(start..end).unwrap_or_default();
            let piece = normal(without_mark(piece).trim_matches(|it: char| !it.is_alphanumeric()));
            // A number or a letter alone is the mark of an item.
            if piece.len() > 1 && !(piece.len() <= 3 && piece.bytes().all(|it| it.is_ascii_digit())) {
                pieces.push(piece);
            }
            start = end;
        }
    }
    pieces
}

/// A piece without `1.`, `a)`, `(2)` or `[x]` before it.
fn without_mark(piece: &str) -> &str {
    let rest = piece.trim_start_matches(|it: char| !it.is_alphanumeric());
    let (word, after) = rest.split_at(rest.find(|it: char| !it.is_alphanumeric()).unwrap_or(rest.len()));
    let number = word.len() == 1 || (word.len() <= 3 && word.bytes().all(|it| it.is_ascii_digit()));
    if let Some(task) = after.strip_prefix("] ").filter(|_| word.eq_ignore_ascii_case("x")) {
        return task;
    }
    match after.strip_prefix(['.', ')']) {
        Some(item) if number && item.starts_with([' ', '\t']) => item,
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_never_longer_than_a_sentence() {
        for (text, expected) in [
            ("", vec![]),
            ("- Add a log.  Rotate it!", vec!["add a log", "rotate it"]),
            ("1. Increase\tthe limit\n2. Drop v1.2", vec!["increase the limit", "drop v1.2"]),
            ("Not in scope: pages; mails", vec!["not in scope", "pages", "mails"]),
            ("## *Über* alles", vec!["über* alles"]),
            ("(2) Call a) b", vec!["call a) b"]),
            ("42. is the answer", vec!["is the answer"]),
        ] {
            assert_eq!(pieces(text), expected, "{text:?}");
        }
    }
}
