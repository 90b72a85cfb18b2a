//! Takes out of a text what looks like a key.

use crate::limits::MESSAGE_CHARS_MAX;
use crate::secret::HIDDEN;

/// How keys begin that somebody issues.
const PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "gsk_",
    "xai-",
    "nvapi-",
    "pplx-",
    "hf_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
];
/// How much has to follow; `sk-learn` is not a key.
const AFTER_PREFIX_MIN: usize = 8;
/// Digits and letters without a break that are a key or a hash, if no words can be seen in them.
const RUN_MIN: usize = 32;
/// A word of letters alone, as in `bearer authentication`, is not a key if it is shorter.
const LETTERS_MIN: usize = 16;

/// A text without what looks like a key: `sk-…` and other known beginnings, what follows `Bearer` or `api_key`, and
/// long runs of hexadecimal or base64 digits. Keys that are known are taken out before, by those who know them.
pub fn redact(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = Before::default();
    let mut rest = text;
    while !rest.is_empty() {
        // In JSON that is quoted, `\n` ends a word, and its `n` does not begin the next.
        let escape = if shown.ends_with('\\') { escape_length(rest) } else { 0 };
        let (escape, unescaped) = rest.split_at(escape);
        shown += escape;
        let (word, after) =
            unescaped.split_at(unescaped.find(|next| !is_part(next)).unwrap_or(unescaped.len()));
        if !word.is_empty() {
            shown += &if before.announces(word) { HIDDEN.to_owned() } else { without_keys(word) };
            before = Before { word: word.to_ascii_lowercase(), gap_is_close: true };
        }
        let (gap, next) = after.split_at(after.find(is_part).unwrap_or(after.len()));
        before.gap_is_close = gap.chars().all(|gap| matches!(gap, ' ' | ':' | '=' | '"' | '\'' | '\\'));
        shown += gap;
        rest = next;
    }
    shown
}

/// How much of what follows a backslash belongs to it.
fn escape_length(rest: &str) -> usize {
    match rest.as_bytes() {
        [b'b' | b'f' | b'n' | b'r' | b't', ..] => 1,
        [b'u', digits @ ..] if digits.iter().take_while(|digit| digit.is_ascii_hexdigit()).count() >= 4 => 5,
        _ => 0,
    }
}

/// For a message: redacted, on one line, and short.
pub(crate) fn quoted(text: &str) -> String {
    // First redact, then shorten: half a key does not look like one.
    let redacted = redact(text);
    let words = redacted.split(|next: char| next.is_whitespace() || next.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_CHARS_MAX) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

/// The characters of keys. `*` is among them because some providers quote a key with its middle hidden.
fn is_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '+' | '/' | '.' | '*' | '~')
}

/// The word before another, and whether they belong together.
#[derive(Default)]
struct Before {
    word: String,
    gap_is_close: bool,
}

impl Before {
    /// Whether the next word is a key because of this one.
    fn announces(&self, next: &str) -> bool {
        const NAMES: &[&str] = &["api_key", "api-key", "apikey"];
        let is_letters = next.bytes().all(|byte| byte.is_ascii_alphabetic());
        let has_a_key = self.word == "bearer" && (!is_letters || next.len() >= LETTERS_MIN)
            || NAMES.iter().any(|name| self.word.ends_with(name)) && next.len() >= AFTER_PREFIX_MIN;
        self.gap_is_close && has_a_key
    }
}

fn without_keys(word: &str) -> String {
    if let Some(start) = key_start(word) {
        return format!("{}{HIDDEN}", word.get(..start).unwrap_or_default());
    }
    let mut shown = String::with_capacity(word.len());
    for run in word.split_inclusive(['.', '*', '~']) {
        let digits = run.trim_end_matches(['.', '*', '~']);
        if looks_random(digits) {
            shown += HIDDEN;
            shown += run.get(digits.len()..).unwrap_or_default();
        } else {
            shown += run;
        }
    }
    shown
}

/// Where a key with a known beginning starts.
fn key_start(word: &str) -> Option<usize> {
    let mut previous = ' ';
    for (start, character) in word.char_indices() {
        let rest = word.get(start..).unwrap_or_default();
        let begins =
            |prefix: &&str| rest.strip_prefix(*prefix).is_some_and(|secret| secret.len() >= AFTER_PREFIX_MIN);
        if !previous.is_ascii_alphanumeric() && PREFIXES.iter().any(begins) {
            return Some(start);
        }
        previous = character;
    }
    None
}

/// Whether a run has a part that is longer than words are, or changes between small letters, capitals and digits more
/// often than they do. Separators are part of base64 and of paths; changes across them do not count.
fn looks_random(run: &str) -> bool {
    if run.len() < RUN_MIN {
        return false;
    }
    if run.split(|next: char| !next.is_ascii_alphanumeric()).any(|part| part.len() >= RUN_MIN) {
        return true;
    }
    let changes = run.as_bytes().windows(2).map(|pair| match pair {
        [before, after] if !before.is_ascii_alphanumeric() || !after.is_ascii_alphanumeric() => 0,
        [before, after] if before.is_ascii_digit() != after.is_ascii_digit() => 2,
        [before, after] if before.is_ascii_lowercase() != after.is_ascii_lowercase() => 1,
        _ => 0,
    });
    changes.sum::<usize>() * 4 > run.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_key_is_taken_out() {
        let hex = "0123456789abcdef".repeat(2);
        let base64 = "dGhpcyBpcyBub3QgYSBrZXkgYnV0IGxvb2tz/aGVyZQ==";
        for (text, expected) in [
            ("Incorrect API key provided: sk-proj-abcdefgh.", "Incorrect API key provided: ***"),
            ("provided: sk-abc*******wxyz. Find", "provided: *** Find"),
            ("key=sk-ant-api03-xyz_123!", "key=***!"),
            ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***"),
            ("{\"authorization\":\"Bearer hunter2\"}", "{\"authorization\":\"Bearer ***\"}"),
            ("x-api-key: planted-key", "x-api-key: ***"),
            ("{\"api_key\": \"planted-key\"}", "{\"api_key\": \"***\"}"),
            ("OPENAI_API_KEY=plantedkey", "OPENAI_API_KEY=***"),
            (&format!("sha256:{hex}"), "sha256:***"),
            (&format!("is {base64}!"), "is ***==!"),
            ("{\"text\":\"one\\nsk-abcdefgh\\u000ask-abcdefgh\"}", "{\"text\":\"one\\n***\\u000a***\"}"),
            ("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.sig", "***"),
        ] {
            assert_eq!(redact(text), expected, "{text}");
        }
    }

    #[test]
    fn other_words_stay() {
        for text in [
            "",
            "ünï — nothing here",
            "sk-learn and ask-me-anything-about-it",
            "Bearer tokens, bearer authentication",
            "an API key is missing; api_key: none",
            "notes/api/design/rest-vs-rpc-intro-and-trade-offs-2024.md",
            "https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Methods",
            "model `gpt-4o-mini-2024-07-18` does not exist",
            "--------------------------------------------",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn random_digits_of_every_alphabet_are_taken_out() {
        const ALPHABETS: [&[u8]; 3] = [
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
            b"abcdefghijklmnopqrstuvwxyz234567",
            b"0123456789ABCDEF",
        ];
        // A linear congruence is random enough to have no words in it, and the same every time.
        let mut state = 7_u64;
        let mut next = |length: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            usize::try_from(state >> 33).unwrap() % length
        };
        for alphabet in ALPHABETS {
            for _ in 0..1000 {
                let key: String = (0..48).map(|_| char::from(alphabet[next(alphabet.len())])).collect();
                let shown = redact(&format!("key {key} ends"));
                assert!(!shown.contains(&key[8..40]), "{shown}");
            }
        }
    }

    #[test]
    fn a_message_is_one_short_line() {
        assert_eq!(quoted("  two\r\n\tlines\u{1b}[31m "), "two lines [31m");
        let long = quoted(&"ä ".repeat(300));
        assert_eq!(long.chars().count(), MESSAGE_CHARS_MAX + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn a_key_that_the_end_cuts_is_redacted_as_a_whole() {
        let text = format!("{} sk-abcdefghijklmnop", "x ".repeat(98));
        assert!(!quoted(&text).contains("sk-"));
    }
}
