//! Texts that would cost more to read than they can be worth are refused before Cedar sees them.

use super::PolicyFiles;
use super::people;
use super::problem::{Problem, line_at};
use crate::limits::{
    FOLDER_BYTES_MAX, GROUP_CHAIN_MAX, POLICIES_MAX, POLICY_BYTES_MAX, POLICY_CHOICES_MAX, POLICY_DEPTH_MAX,
    POLICY_OPERATORS_MAX,
};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Checks a folder as a whole: its bytes, its statements, and how many groups lie in each other.
pub(super) fn check_folder(files: &PolicyFiles) -> Vec<Problem> {
    let mut problems = Vec::new();
    if files.values().map(String::len).sum::<usize>() > FOLDER_BYTES_MAX {
        problems.push(Problem::error("", format!("the folder has more than {FOLDER_BYTES_MAX} bytes")));
    }
    let cedar = files.iter().filter(|(name, _)| name.ends_with(".cedar"));
    if cedar.map(|(_, text)| text.matches(';').count()).sum::<usize>() > POLICIES_MAX {
        problems.push(Problem::error("", format!("the folder has more than {POLICIES_MAX} statements")));
    }
    if files.get(people::FILE).is_some_and(|text| longest_chain(text) > GROUP_CHAIN_MAX) {
        let message = format!("more than {GROUP_CHAIN_MAX} groups or domains lie in each other");
        problems.push(Problem::error(people::FILE, message));
    }
    problems
}

/// How many entities lie in each other at most. A text that is not a list of entities has none; reading it
/// says what is wrong.
fn longest_chain(text: &str) -> usize {
    let name = |uid: &Json| uid.get("__entity").unwrap_or(uid).to_string();
    let Ok(Json::Array(entities)) = serde_json::from_str(text) else { return 0 };
    let mut below: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for entity in &entities {
        let Some(uid) = entity.get("uid").map(name) else { continue };
        let parents = entity.get("parents").and_then(Json::as_array);
        let parents: Vec<String> = parents.into_iter().flatten().map(name).collect();
        open.insert(uid.clone(), parents.len());
        parents.into_iter().for_each(|parent| below.entry(parent).or_default().push(uid.clone()));
    }
    // From the outermost inwards, layer by layer. A circle is in no layer, and Cedar refuses it.
    let mut layer: Vec<String> = below.keys().filter(|uid| !open.contains_key(*uid)).cloned().collect();
    layer.extend(open.iter().filter(|(_, parents)| **parents == 0).map(|(uid, _)| uid.clone()));
    let mut length = 0;
    while !layer.is_empty() {
        length += 1;
        let mut next = Vec::new();
        for child in layer.iter().filter_map(|uid| below.get(uid)).flatten() {
            let Some(left) = open.get_mut(child) else { continue };
            *left = left.saturating_sub(1);
            if *left == 0 {
                next.push(child.clone());
            }
        }
        layer = next;
    }
    length
}

/// Checks how long a text is, how deep its brackets go, and how many operators one statement has.
pub(crate) fn check(file: &str, text: &str) -> Result<(), Problem> {
    let at =
        |offset: usize, message: String| Err(Problem::error(file, message).at(Some(line_at(text, offset))));
    if text.len() > POLICY_BYTES_MAX {
        return Err(Problem::error(file, format!("has more than {POLICY_BYTES_MAX} bytes")));
    }
    let (mut depth, mut operators, mut choices) = (0_usize, 0_usize, 0_usize);
    let mut word = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        match character {
            '"' => skip_text(&mut characters),
            '/' if characters.peek().is_some_and(|(_, next)| *next == '/') => {
                while characters.next_if(|(_, next)| *next != '\n').is_some() {}
            }
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            ';' => (depth, operators, choices) = (0, 0, 0),
            '&' | '|' | '!' | '+' | '-' | '*' | '=' | '.' => operators += 1,
            _ => {}
        }
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
        } else {
            choices += usize::from(word == "if");
            word.clear();
        }
        if choices > POLICY_CHOICES_MAX {
            return at(
                offset,
                format!("has `if` more than {POLICY_CHOICES_MAX} times in one statement; split it"),
            );
        }
        if depth > POLICY_DEPTH_MAX {
            return at(offset, format!("nests brackets more than {POLICY_DEPTH_MAX} deep"));
        }
        if operators > POLICY_OPERATORS_MAX {
            return at(
                offset,
                format!("has more than {POLICY_OPERATORS_MAX} operators in one statement; split it"),
            );
        }
    }
    Ok(())
}

fn skip_text(characters: &mut std::iter::Peekable<std::str::CharIndices<'_>>) {
    while let Some((_, character)) = characters.next() {
        match character {
            '"' => return,
            '\\' => drop(characters.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A8: a folder that nests deep, or is too large, is refused and overflows no stack.
    #[test]
    fn a8_folders_that_nest_deep_are_refused() {
        let files = |name: &str, text: String| PolicyFiles::from([(name.to_owned(), text)]);
        let refused = |files: &PolicyFiles, part: &str| {
            let problems = super::super::PolicySet::load(files).err().unwrap_or_default();
            assert!(problems.iter().any(|problem| problem.message.contains(part)), "{part}: {problems:?}");
        };
        let choices = format!(
            "@id(\"a\") permit(principal, action, resource) when {{ {} true {} }};",
            "if true then ".repeat(4_000),
            "else false ".repeat(4_000)
        );
        refused(&files("a.cedar", choices), "`if` more than");
        let group = |number: usize| {
            format!(
                r#"{{"uid":{{"type":"Group","id":"g{number}"}},"attrs":{{}},"parents":[{{"type":"Group","id":"g{}"}}]}}"#,
                number + 1
            )
        };
        let chain = |length: usize| format!("[{}]", (0..length).map(group).collect::<Vec<_>>().join(","));
        refused(&files("entities.json", chain(20_000)), "lie in each other");
        assert_eq!((longest_chain(&chain(63)), longest_chain(&chain(64)), longest_chain("{}")), (64, 65, 0));
        let policy = |number: usize| format!("@id(\"p{number}\") permit(principal, action, resource);\n");
        refused(&files("a.cedar", (0..20_000).map(policy).collect()), "statements");
        refused(&files("a.cedar", "x".repeat(FOLDER_BYTES_MAX + 1)), "the folder has more than");
    }

    #[test]
    fn what_is_too_large_is_refused_with_its_place() {
        assert!(check("p", "@id(\"((((\") permit(principal, action, resource); // ((((").is_ok());
        for text in
            ["(".repeat(65), "!(".repeat(65), "[".repeat(2_000), "a && ".repeat(4_000), "Set<".repeat(99)]
        {
            assert!(check("p", &text).is_err(), "{text:.20}");
        }
        assert!(check("p", &"if a then b else ".repeat(64)).is_ok());
        assert!(check("p", &"if a then b else ".repeat(65)).is_err());
        let deep = format!("permit(principal, action, resource);\n{}", "(".repeat(65));
        assert_eq!(check("p", &deep).unwrap_err().line, Some(2));
        assert!(check("p", &"x".repeat(POLICY_BYTES_MAX + 1)).is_err());
        assert!(
            check("p", &"permit(principal, action, resource) when { a.b == 1 && true };".repeat(5_000))
                .is_ok()
        );
    }
}
