//! The rules for one passage of text.

use super::Kind;

/// No sentence has more words than this.
pub(super) const WORDS_MAX: usize = 45;
/// No line of prose is longer than this.
pub(super) const COLUMNS_MAX: usize = 120;

/// Words that no sentence starts with, unless it is a question.
const OPENINGS: &[&str] = &["What", "Who", "Whoever", "Whose", "Whom", "Of", "That which"];

/// Turns of phrase that read as translated.
pub(super) const PHRASES: &[&str] = &[
    "stands in",
    "stand in",
    "stood in",
    "stands there",
    "it is told",
    "is told of",
    "that is none",
    concat!("are on their", " way"),
    concat!("is on its", " way"),
    "put right",
    "puts right",
];
/// Idioms that contain one of the phrases.
const IDIOMS: &[&str] =
    &["stands in for", "stand in for", "stood in for", "stands in place of", "stand in place of"];

/// Verbs that advice starts with.
const ADVICE: &[&str] = &[
    "add", "ask", "check", "choose", "give", "install", "make", "move", "name", "open", "pass", "put",
    "remove", "rename", "run", "say", "see", "set", "start", "try", "use", "wait", "write",
];

/// Words that may follow `is no` in plain English.
const COMPARATIVES: &[&str] = &[
    "longer",
    "more",
    "less",
    "larger",
    "smaller",
    "later",
    "earlier",
    "shorter",
    "better",
    "worse",
    "different",
];

pub(super) fn problems(text: &str, kind: Kind) -> Vec<String> {
    let mut problems = Vec::new();
    let mut plain = without_code(text);
    if kind != Kind::Sentences {
        plain = plain.replace('\n', "\n\n");
    }
    for (index, sentence) in sentences(&plain).into_iter().enumerate() {
        let mut found = |what: String| problems.push(format!("{what}: {}", shown(&sentence)));
        let whole = kind == Kind::Sentences || index > 0;
        if !is_title(text, kind)
            && !sentence.trim_end_matches(['*', '_', '"', ')']).ends_with('?')
            && let Some(opening) = opening(&sentence, whole)
        {
            found(format!("opens with `{opening}`"));
        }
        if let Some(phrase) = phrase(&sentence) {
            found(format!("says `{phrase}`"));
        }
        let words = sentence.split_whitespace().count();
        if words > WORDS_MAX {
            found(format!("has {words} words, more than {WORDS_MAX}"));
        }
        if kind == Kind::Message
            && let Some(verb) = advice(&sentence)
        {
            found(format!("glues on a hint (`; {verb}`)"));
        }
    }
    problems
}

/// A literal with a capital and no mark at its end is the title of a section of output.
fn is_title(text: &str, kind: Kind) -> bool {
    kind != Kind::Sentences
        && text.starts_with(char::is_uppercase)
        && !text.contains(". ")
        && !text.ends_with(['.', ':', '!'])
}

/// Quoted code counts as one word, whatever it says.
fn without_code(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('`');
    plain.push_str(parts.next().unwrap_or_default());
    while let Some(code) = parts.next() {
        match parts.next() {
            Some(after) => {
                plain.push('`');
                plain.extend(code.chars().filter(|character| character.is_alphanumeric()).take(12));
                plain.push('`');
                plain.push_str(after);
            }
            None => plain.push_str(code),
        }
    }
    plain
}

/// A sentence ends at a full stop, a question mark or an exclamation mark before a space, or at an empty line.
fn sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    for block in text.split("\n\n") {
        let mut sentence = String::new();
        let words: Vec<&str> = block.split_whitespace().collect();
        for (index, word) in words.iter().enumerate() {
            if !sentence.is_empty() {
                sentence.push(' ');
            }
            sentence.push_str(word);
            let closed = word.trim_end_matches(['"', ')', '*', '_', '”', '\'']);
            let ends =
                closed.ends_with(['.', '?', '!']) && !matches!(closed, "e.g." | "i.e." | "vs." | "etc.");
            let next_starts = words.get(index + 1).is_none_or(|next| !next.starts_with(char::is_lowercase));
            if ends && next_starts {
                sentences.push(std::mem::take(&mut sentence));
            }
        }
        if !sentence.is_empty() {
            sentences.push(sentence);
        }
    }
    sentences
}

/// The banned opening. The first words of a message may be in lower case.
fn opening(sentence: &str, whole: bool) -> Option<&'static str> {
    let start = sentence.trim_start_matches(['"', '(', '*', '_', '“', '\'']);
    OPENINGS.iter().copied().find(|opening| {
        let Some(head) = start.get(..opening.len()) else { return false };
        let same = if whole { head == *opening } else { head.eq_ignore_ascii_case(opening) };
        let after = start.get(opening.len()..).and_then(|rest| rest.chars().next());
        same && after.is_some_and(|next| next.is_whitespace() || matches!(next, '.' | ','))
    })
}

fn phrase(sentence: &str) -> Option<String> {
    let lower = sentence.to_lowercase();
    let mut rest = lower.clone();
    for idiom in IDIOMS {
        rest = rest.replace(idiom, "");
    }
    if let Some(phrase) = PHRASES.iter().find(|phrase| has_words(&rest, phrase)) {
        return Some((*phrase).to_owned());
    }
    let words: Vec<&str> = lower.split_whitespace().collect();
    words.windows(3).enumerate().find_map(|(index, window)| {
        let [verb, no, noun] = window else { return None };
        let before =
            index.checked_sub(1).and_then(|previous| words.get(previous)).copied().unwrap_or_default();
        let is_no = matches!(*verb, "is" | "are" | "was" | "were") && *no == "no";
        let fine =
            matches!(before, "there" | "where") || COMPARATIVES.iter().any(|word| noun.starts_with(word));
        (is_no && !fine).then(|| format!("{verb} no {}", noun.trim_end_matches(['.', ',', ';', ':'])))
    })
}

fn has_words(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(start, _)| {
        let before = text.get(..start).and_then(|head| head.chars().next_back());
        let after = text.get(start + phrase.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// The verb of an advice that follows a semicolon.
fn advice(sentence: &str) -> Option<&str> {
    sentence.split("; ").skip(1).find_map(|part| {
        let (word, _) = part.split_once(' ')?;
        ADVICE.contains(&word.trim_end_matches([',', ':'])).then_some(word)
    })
}

fn shown(sentence: &str) -> String {
    const CHARS_MAX: usize = 400;
    let start: String = sentence.chars().take(CHARS_MAX).collect();
    if start.len() < sentence.len() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, kind: Kind) -> Vec<String> {
        problems(text, kind).into_iter().filter_map(|it| Some(it.split_once(": ")?.0.to_owned())).collect()
    }

    #[test]
    fn openings_are_found_at_the_start_of_any_sentence() {
        let pages = |text: &str| found(text, Kind::Sentences);
        assert_eq!(pages("It is so. What it says is law."), ["opens with `What`"]);
        assert_eq!(pages("Whoever asks gets it."), ["opens with `Whoever`"]);
        assert_eq!(pages("That which is gone."), ["opens with `That which`"]);
        assert_eq!(
            pages("What is held? Actions are. Of course not, version 1.5. Of late."),
            ["opens with `Of`"; 2]
        );
        assert_eq!(pages("Whatever it says. Often. In 2.0 what was is gone. That is it."), [""; 0]);
        assert_eq!(pages("what was started in lower case"), [""; 0]);
        assert_eq!(found("What would have to change", Kind::Message), [""; 0]);
        assert_eq!(found("What has to change.", Kind::Message), ["opens with `What`"]);
        assert_eq!(found("what was started in lower case", Kind::Message), ["opens with `What`"]);
    }

    #[test]
    fn phrases_are_found_outside_of_quoted_code() {
        let pages = |text: &str| found(text, Kind::Sentences);
        assert_eq!(pages("It is no path."), ["says `is no path`"]);
        assert_eq!(pages("There is no path, it is no longer one, and `is no path` is code."), [""; 0]);
        assert_eq!(pages("The rule stands in the page."), ["says `stands in`"]);
        assert_eq!(pages("A file stands in for it, and it stands inside."), [""; 0]);
    }

    #[test]
    fn sentences_have_a_length() {
        assert_eq!(found(&format!("{}end.", "word ".repeat(44)), Kind::Sentences), [""; 0]);
        assert_eq!(
            found(&format!("{}end.", "word ".repeat(45)), Kind::Sentences),
            ["has 46 words, more than 45"]
        );
        assert_eq!(found(&format!("`{}` end.", "word ".repeat(99)), Kind::Sentences), [""; 0]);
    }

    #[test]
    fn advice_in_a_message_is_a_hint() {
        assert_eq!(found("the file is gone; run it again", Kind::Message), ["glues on a hint (`; run`)"]);
        assert_eq!(found("run it again; use another", Kind::Hint), [""; 0]);
        assert_eq!(found("the file is gone; nothing was written", Kind::Message), [""; 0]);
    }
}
