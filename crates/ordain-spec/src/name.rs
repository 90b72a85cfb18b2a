//! A name on record: of an actor, a person, a sensor, a worker, a proposal or a piece of evidence.

use std::fmt;

/// Characters that a name may have.
pub const CHARACTERS_MAX: usize = 256;

/// The regular expression of a name, for published schemas: not only white space, and no control characters.
/// It does not say the length.
pub const PATTERN: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

/// Why a text cannot be a name. It is displayed as the end of a sentence: "the name `x` has more than 256 characters".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameViolation {
    /// Nothing, or white space only.
    Empty,
    /// Has more than [`CHARACTERS_MAX`] characters.
    TooLong,
    /// Has a control character.
    Control {
        /// The first one.
        character: char,
        /// Where it is, from 1.
        position: usize,
    },
}

impl fmt::Display for NameViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("must not be empty"),
            Self::TooLong => write!(f, "has more than {CHARACTERS_MAX} characters"),
            Self::Control { character, position } => {
                write!(f, "has a control character, U+{:04X}, at position {position}", u32::from(*character))
            }
        }
    }
}

/// Why a text cannot be a name; `None` for a name.
///
/// ```
/// use ordain_spec::name::violation;
/// assert_eq!(violation("Ágnes 東京"), None);
/// let problem = violation("agent\n1").map(|it| it.to_string());
/// assert_eq!(problem.as_deref(), Some("has a control character, U+000A, at position 6"));
/// ```
pub fn violation(text: &str) -> Option<NameViolation> {
    let mut characters = 0;
    let mut blank = true;
    for character in text.chars() {
        characters += 1;
        if character.is_control() {
            return Some(NameViolation::Control { character, position: characters });
        }
        if characters > CHARACTERS_MAX {
            return Some(NameViolation::TooLong);
        }
        // `\s` of a pattern in a schema, which is one of ECMAScript, has the byte order mark as well.
        blank &= character.is_whitespace() || character == '\u{feff}';
    }
    blank.then_some(NameViolation::Empty)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::{CHARACTERS_MAX, NameViolation, PATTERN, violation};
    use serde_json::json;

    #[test]
    fn violations_are_told_apart() {
        let long = "é".repeat(CHARACTERS_MAX);
        for (text, expected) in [
            ("agent-7", None),
            (" agent ", None),
            (long.as_str(), None),
            ("", Some(NameViolation::Empty)),
            (" \u{3000}\u{feff}", Some(NameViolation::Empty)),
            ("\n", Some(NameViolation::Control { character: '\n', position: 1 })),
            ("a\u{7f}b\u{0}", Some(NameViolation::Control { character: '\u{7f}', position: 2 })),
            (&format!("{long}x"), Some(NameViolation::TooLong)),
        ] {
            assert_eq!(violation(text), expected, "{text:?}");
        }
    }

    /// Every character alone, at the ends and in the middle.
    #[test]
    fn the_pattern_and_the_predicate_agree() {
        let pattern = jsonschema::validator_for(&json!({"pattern": PATTERN})).unwrap();
        for character in ('\0'..='\u{ffff}').chain(['\u{1f600}', '\u{e0001}', '\u{10ffff}']) {
            for text in [
                format!("{character}"),
                format!("{character}a"),
                format!("a{character}"),
                format!("a{character}b"),
                format!(" {character}\u{2003}"),
            ] {
                assert_eq!(pattern.is_valid(&json!(text)), violation(&text).is_none(), "{text:?}");
            }
        }
        assert!(!pattern.is_valid(&json!("")));
    }
}
