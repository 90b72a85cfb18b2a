//! A request for a draft, in its normal form.

use crate::limits::{FAULTS_MAX, REF_CHARS_MAX, REFS_MAX, TEXT_CHARS_MAX, TEXT_CHARS_MIN};
use ordain_canon::{Canonicalizer, ContentHash, SHA256_PREFIX, Value, WriteError};
use ordain_spec::nfc;
use ordain_spec::note::Origin;
use ordain_vault::{Code, Finding};
use serde::Serialize;
use std::borrow::Cow;

/// A request in its normal form: the same wish always has the same one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Request {
    /// Where the text comes from.
    pub source: Source,
    /// The subject of the note, on one line.
    pub text: String,
    /// Notes of the vault, and pages, that it refers to; each once.
    pub context_refs: Vec<String>,
    /// The note to make better.
    pub enhance: Option<String>,
    /// Whether the text was longer than it may be.
    #[serde(skip)]
    pub cut: bool,
}

/// Where a text comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person.
    Prompt,
    /// The refinement of what a person wrote.
    RefinedText,
}

/// The names of a text, and where it comes from under each.
const TEXTS: [(&str, Source); 3] =
    [("prompt", Source::Prompt), ("refined_text", Source::RefinedText), ("refinedText", Source::RefinedText)];

impl Request {
    /// Reads what came over HTTP, or says everything that is wrong with it.
    pub fn read(body: &[u8]) -> Result<Self, Vec<Finding>> {
        let document = Value::read(body).map_err(|error| vec![fault(&error.pointer, error.to_string())])?;
        let Some(members) = document.as_object() else {
            return Err(vec![fault("", format!("expected an object, found {}", document.kind()))]);
        };
        let mut faults = Vec::new();
        let mut texts: Vec<(&str, Source, &str)> = Vec::new();
        let (mut refs, mut enhance) = (Vec::new(), None);
        for (name, value) in members {
            if faults.len() >= FAULTS_MAX {
                return Err(faults);
            }
            let name = name.as_ref();
            let text = |faults: &mut Vec<Finding>| {
                if value.as_str().is_none() {
                    faults.push(fault(
                        &format!("/{name}"),
                        format!("expected a string, found {}", value.kind()),
                    ));
                }
                value.as_str()
            };
            if let Some((known, source)) = TEXTS.into_iter().find(|(known, _)| *known == name) {
                texts.extend(text(&mut faults).map(|text| (known, source, text)));
            } else if name == "contextRefs" {
                match value.as_array() {
                    Some(elements) => refs = elements.iter().collect(),
                    None => faults
                        .push(fault("/contextRefs", format!("expected an array, found {}", value.kind()))),
                }
            } else if name == "enhance" {
                enhance = text(&mut faults).map(str::to_owned);
            } else {
                let known = "`prompt`, `refined_text`, `contextRefs` and `enhance` are known";
                faults.push(fault(&pointer(name), format!("unknown field; {known}")));
            }
        }
        let mut context_refs: Vec<(usize, &str)> = Vec::new();
        for (position, element) in refs.into_iter().enumerate() {
            // One more than the limit tells that there are too many; duplicates count once.
            if context_refs.len() > REFS_MAX || faults.len() >= FAULTS_MAX {
                break;
            }
            match element.as_str() {
                Some(text) if context_refs.iter().any(|(_, known)| known.trim() == text.trim()) => {}
                Some(text) => context_refs.push((position, text)),
                None => faults.push(fault(
                    &format!("/contextRefs/{position}"),
                    format!("expected a string, found {}", element.kind()),
                )),
            }
        }
        match texts.as_slice() {
            [(name, source, text)] => Self::normal(name, *source, text, &context_refs, enhance, faults),
            [] if faults.is_empty() => {
                Err(vec![fault("", "there is neither `prompt` nor `refined_text`, and one is required")])
            }
            [] => Err(faults),
            [(first, ..), (second, ..), ..] => {
                faults.push(fault("", format!("`{first}` and `{second}` exclude each other")));
                Err(faults)
            }
        }
    }

    /// Makes a request of a text, references and the note to make better.
    pub fn new(
        source: Source,
        text: &str,
        context_refs: &[String],
        enhance: Option<String>,
    ) -> Result<Self, Vec<Finding>> {
        let name = TEXTS.iter().find(|(_, it)| *it == source).map_or("", |(name, _)| name);
        let refs: Vec<(usize, &str)> = context_refs.iter().map(String::as_str).enumerate().collect();
        Self::normal(name, source, text, &refs, enhance, Vec::new())
    }

    fn normal(
        name: &str,
        source: Source,
        text: &str,
        refs: &[(usize, &str)],
        enhance: Option<String>,
        mut faults: Vec<Finding>,
    ) -> Result<Self, Vec<Finding>> {
        // Two ways to write a letter are one wish.
        let text = nfc(text);
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let length = text.chars().count();
        if length < TEXT_CHARS_MIN {
            let problem = format!("has {length} characters, and at least {TEXT_CHARS_MIN} are required");
            faults.push(fault(&format!("/{name}"), problem));
        }
        let cut = cut(&mut text, TEXT_CHARS_MAX);
        let mut distinct: Vec<(usize, Cow<'_, str>)> = Vec::new();
        for (position, given) in refs {
            let given = nfc(given.trim());
            if distinct.len() <= REFS_MAX && !distinct.iter().any(|(_, known)| *known == given) {
                distinct.push((*position, given));
            }
        }
        let mut context_refs: Vec<String> = Vec::new();
        for (position, given) in distinct.iter().take(REFS_MAX) {
            let given = given.as_ref();
            let path = format!("/contextRefs/{position}");
            if given.is_empty() {
                faults.push(fault(&path, "must not be empty"));
            } else if given.chars().count() > REF_CHARS_MAX {
                faults.push(fault(&path, format!("is longer than {REF_CHARS_MAX} characters")));
            } else {
                context_refs.push(given.to_owned());
            }
        }
        if distinct.len() > REFS_MAX {
            let problem = format!("has more than {REFS_MAX} references");
            faults.push(fault("/contextRefs", problem));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self { source, text, context_refs, enhance, cut })
    }

    /// The origin that a proposal of this request names.
    pub fn origin(&self) -> Origin {
        match (&self.enhance, self.source) {
            (Some(_), _) => Origin::Enhancement,
            (None, Source::Prompt) => Origin::Prompt,
            (None, Source::RefinedText) => Origin::Refinement,
        }
    }

    /// The id of what a model makes of it: the same for the same wish and model, today and tomorrow.
    pub(crate) fn id(&self, model: &str) -> Result<String, WriteError> {
        #[derive(Serialize)]
        struct Wish<'a> {
            input: &'a Request,
            model: &'a str,
        }
        const DIGITS: usize = 16;
        let mut canon = Canonicalizer::new();
        let hash = ContentHash::of(canon.value(&Wish { input: self, model })?).to_string();
        let digits = hash.strip_prefix(SHA256_PREFIX).unwrap_or(&hash);
        Ok(format!("prop-{}", digits.get(..DIGITS).unwrap_or(digits)))
    }
}

/// Cuts a text that has more characters than it may, and says whether it had.
pub(crate) fn cut(text: &mut String, chars_max: usize) -> bool {
    let Some((end, _)) = text.char_indices().nth(chars_max.saturating_sub(1)) else { return false };
    let fits = text.char_indices().nth(chars_max).is_none();
    if !fits {
        text.truncate(end);
        text.push('…');
    }
    !fits
}

fn pointer(name: &str) -> String {
    let mut pointer = String::new();
    ordain_canon::push_pointer_token(&mut pointer, name);
    pointer
}

pub(crate) fn fault(path: &str, message: impl Into<String>) -> Finding {
    Finding {
        code: Code::SchemaInvalid,
        path: path.to_owned(),
        message: message.into(),
        alternatives: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(body: &str) -> Vec<String> {
        let faults = Request::read(body.as_bytes()).err().unwrap_or_default();
        faults.into_iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect()
    }

    #[test]
    fn a_request_has_one_normal_form() -> Result<(), Vec<Finding>> {
        let request = Request::read(
            br#"{"prompt": "  a note\n about\ttides ", "contextRefs": ["a.md", " a.md ", "https://b"]}"#,
        )?;
        assert_eq!(request.text, "a note about tides");
        assert_eq!(request.context_refs, ["a.md", "https://b"]);
        assert_eq!(request.origin(), Origin::Prompt);
        let refs = vec!["a.md".to_owned(), "https://b".to_owned()];
        let same = Request::new(Source::Prompt, "a note about tides", &refs, None)?;
        assert_eq!(request, same);
        assert_eq!(request.id("m").ok(), same.id("m").ok());
        assert_ne!(request.id("m").ok(), same.id("n").ok());
        let alias = Request::read(br#"{"refinedText": "a note about tides"}"#)?;
        assert_eq!(alias, Request::read(br#"{"refined_text": "a note about tides"}"#)?);
        assert_eq!(alias.origin(), Origin::Refinement);
        let better = Request::read(br#"{"prompt": "add a table", "enhance": "a.md"}"#)?;
        assert_eq!(better.origin(), Origin::Enhancement);
        Ok(())
    }

    #[test]
    fn two_ways_to_write_a_letter_are_one_wish() -> Result<(), Vec<Finding>> {
        for (one, other) in [
            ("a note about caf\u{e9}s", "a note about cafe\u{301}s"),
            ("\u{c5}ngstr\u{f6}m and light", "A\u{30a}ngstro\u{308}m and light"),
            ("the unit \u{212b} in use", "the unit \u{c5} in use"),
            ("\u{1100}\u{1161} in Korean", "\u{ac00} in Korean"),
            ("to\u{302}t ou tard", "t\u{f4}t ou tard"),
            ("the temperature in \u{212a}", "the temperature in K"),
            ("a\u{328}\u{301} in Lithuanian", "a\u{301}\u{328} in Lithuanian"),
            ("\u{30ab}\u{3099} in Japanese", "\u{30ac} in Japanese"),
            ("\u{2126} is a unit", "\u{3a9} is a unit"),
            ("o\u{31b}\u{301} in Vietnamese", "\u{1edb} in Vietnamese"),
        ] {
            let (one, other) = (
                Request::new(Source::Prompt, one, &[], None)?,
                Request::new(Source::Prompt, other, &[], None)?,
            );
            assert_eq!(one.id("m").ok(), other.id("m").ok(), "{}", one.text);
        }
        let refs = ["caf\u{e9}.md".to_owned(), "cafe\u{301}.md".to_owned()];
        assert_eq!(Request::new(Source::Prompt, "a note about tides", &refs, None)?.context_refs.len(), 1);
        Ok(())
    }

    #[test]
    fn references_count_once() {
        let body = |refs: &str| format!(r#"{{"prompt": "a note about tides", "contextRefs": [{refs}]}}"#);
        let repeated = vec!["\"a.md\""; 40].join(",");
        assert_eq!(faults(&body(&repeated)), Vec::<String>::new());
        let eight: Vec<String> = (0..8).map(|number| format!("\"{number}\"")).collect();
        assert_eq!(faults(&body(&format!("{},{}", eight.join(","), eight.join(",")))), Vec::<String>::new());
        let nine = format!("{},{},\"9\"", eight.join(","), eight.join(","));
        assert_eq!(faults(&body(&nine)), ["/contextRefs: has more than 8 references"]);
        let count = |refs: &[&str]| {
            let refs: Vec<String> = refs.iter().map(|it| (*it).to_owned()).collect();
            Request::new(Source::Prompt, "a note about tides", &refs, None).map(|it| it.context_refs.len())
        };
        for (refs, expected) in [
            (&["a.md", "a.md"][..], 1),
            (&["a.md", " a.md "], 1),
            (&["a.md", "A.md"], 2),
            (&["a.md", "b.md", "a.md", "b.md"], 2),
            (&["a.md", "./a.md"], 2),
            (&["a/b.md", "b.md"], 2),
            (&["\u{e9}.md", "e\u{301}.md", "e.md"], 2),
            (&["a b.md", "a b.md"], 1),
            (&["1", "2", "3", "4", "5", "6", "7", "8", "8", "7"], 8),
            (&["a.md"; 9], 1),
        ] {
            assert_eq!(count(refs).ok(), Some(expected), "{refs:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_at_a_character() -> Result<(), Vec<Finding>> {
        let fits = "ä".repeat(TEXT_CHARS_MAX);
        let request = Request::new(Source::Prompt, &fits, &[], None)?;
        assert!(!request.cut && request.text == fits);
        let request = Request::new(Source::Prompt, &format!("{fits}ä"), &[], None)?;
        assert!(request.cut);
        assert_eq!(request.text.chars().count(), TEXT_CHARS_MAX);
        assert!(request.text.ends_with("ä…"));
        Ok(())
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        assert_eq!(faults("{}"), [": there is neither `prompt` nor `refined_text`, and one is required"]);
        assert_eq!(
            faults(r#"{"prompt": "a note about tides", "refined_text": "a note about tides"}"#),
            [": `prompt` and `refined_text` exclude each other"]
        );
        assert_eq!(
            faults(r#"{"prompt": " short ", "contextRefs": [1, ""], "a/b": 1}"#),
            [
                "/a~1b: unknown field; `prompt`, `refined_text`, `contextRefs` and `enhance` are known",
                "/contextRefs/0: expected a string, found a number",
                "/prompt: has 5 characters, and at least 8 are required",
                "/contextRefs/1: must not be empty",
            ]
        );
        let refs: Vec<String> = (0..9).map(|number| format!("\"{number}\"")).collect();
        assert_eq!(
            faults(&format!(r#"{{"prompt": "a note about tides", "contextRefs": [{}]}}"#, refs.join(","))),
            ["/contextRefs: has more than 8 references"]
        );
        assert_eq!(faults("[]"), [": expected an object, found an array"]);
        assert_eq!(faults("{").len(), 1);
        assert_eq!(faults(r#"{"prompt": 1}"#), ["/prompt: expected a string, found a number"]);
    }
}
