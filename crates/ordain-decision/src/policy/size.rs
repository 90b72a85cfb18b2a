//! Texts that would cost more to read than they can be worth are refused before Cedar sees them.

use super::problem::{Problem, line_at};
use crate::limits::{POLICY_BYTES_MAX, POLICY_DEPTH_MAX, POLICY_OPERATORS_MAX};

/// Checks how long a text is, how deep its brackets go, and how many operators stand in one statement.
pub(crate) fn check(file: &str, text: &str) -> Result<(), Problem> {
    let at =
        |offset: usize, message: String| Err(Problem::error(file, message).at(Some(line_at(text, offset))));
    if text.len() > POLICY_BYTES_MAX {
        return Err(Problem::error(file, format!("has more than {POLICY_BYTES_MAX} bytes")));
    }
    let (mut depth, mut operators) = (0_usize, 0_usize);
    let mut characters = text.char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        match character {
            '"' => skip_text(&mut characters),
            '/' if characters.peek().is_some_and(|(_, next)| *next == '/') => {
                while characters.next_if(|(_, next)| *next != '\n').is_some() {}
            }
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            ';' => (depth, operators) = (0, 0),
            '&' | '|' | '!' | '+' | '-' | '*' | '=' | '.' => operators += 1,
            _ => {}
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

    #[test]
    fn what_is_too_large_is_refused_with_its_place() {
        assert!(check("p", "@id(\"((((\") permit(principal, action, resource); // ((((").is_ok());
        for text in
            ["(".repeat(65), "!(".repeat(65), "[".repeat(2_000), "a && ".repeat(4_000), "Set<".repeat(99)]
        {
            assert!(check("p", &text).is_err(), "{text:.20}");
        }
        let deep = format!("permit(principal, action, resource);\n{}", "(".repeat(65));
        assert_eq!(check("p", &deep).unwrap_err().line, Some(2));
        assert!(check("p", &"x".repeat(POLICY_BYTES_MAX + 1)).is_err());
        assert!(
            check("p", &"permit(principal, action, resource) when { a.b == 1 && true };".repeat(5_000))
                .is_ok()
        );
    }
}
