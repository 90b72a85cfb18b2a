//! The genre of a request, read off its form. A clear user story uses more soft words than a clear bug
//! report, so each genre has a base score of its own, and one threshold means the same for all of them.

use crate::class::Class;
use crate::text::{Kind, Text};
use std::ops::Range;

/// The form of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Genre {
    /// The head of a function with what it is to do.
    Stub,
    /// A report with sections, a trace, or much text and code.
    Issue,
    /// `As a …, I want …, so that …`.
    Story,
    /// `The system shall …`.
    Requirement,
    /// Anything else.
    Request,
}

/// A genre and its base score.
pub struct GenreLevel {
    pub genre: Genre,
    /// Its name, stable.
    pub id: &'static str,
    /// The signs of it.
    pub title: &'static str,
    /// The entropy score of such a text in which no rule finds anything.
    pub base_score: i32,
}

/// The genres, in the order in which they are looked for.
pub static GENRES: &[GenreLevel] = &[
    GenreLevel {
        genre: Genre::Stub,
        id: "stub",
        title: "starts with code and has the head of a function",
        base_score: 39,
    },
    GenreLevel { genre: Genre::Story, id: "story", title: "`As a …, I want …`", base_score: 36 },
    GenreLevel {
        genre: Genre::Issue,
        id: "issue",
        title: "a trace, sections of an issue, or over 60 words with code",
        base_score: 39,
    },
    GenreLevel {
        genre: Genre::Requirement,
        id: "requirement",
        title: "up to three sentences that say what shall be so, and ask for nothing",
        base_score: 36,
    },
    GenreLevel { genre: Genre::Request, id: "request", title: "anything else", base_score: 36 },
];

impl Genre {
    pub fn level(self) -> &'static GenreLevel {
        let known = GENRES.iter().find(|it| it.genre == self);
        known.unwrap_or(&GenreLevel { genre: Self::Request, id: "request", title: "", base_score: 36 })
    }

    /// The genre of a text.
    pub fn of(text: &Text<'_>) -> Self {
        if is_stub(text.source) {
            Self::Stub
        } else if wish(text.source).is_some() {
            Self::Story
        } else if is_issue(text) {
            Self::Issue
        } else if is_requirement(text) {
            Self::Requirement
        } else {
            Self::Request
        }
    }
}

/// The start of code.
#[rustfmt::skip]
static CODE_STARTS: &[&str] = &[
    "def ", "async def ", "class ", "from ", "import ", "@", "\"\"\"", "///", "//", "/*", "# ", "#!", "fn ", "pub ", "func ", "function ", "export ", "public ", "private ",
    "static ", "const ", "package ", "use ", "template<", "template <", "struct ", "interface ",
];

/// Words before the name of a function.
static HEADS: &[&str] = &["def ", "fn ", "func ", "function ", "static ", "public ", "class "];

fn is_stub(source: &str) -> bool {
    let start = source.trim_start();
    if !CODE_STARTS.iter().any(|it| start.starts_with(it)) {
        return false;
    }
    HEADS.iter().any(|head| {
        source.match_indices(head).take(8).any(|(at, _)| {
            let opens_word =
                at == 0 || source.get(..at).is_some_and(|it| it.ends_with(|it: char| it.is_whitespace()));
            let rest = source.get(at + head.len()..).unwrap_or_default();
            let line = rest.split(['\n', '{', ';']).next().unwrap_or_default();
            let named =
                line.trim_start().starts_with(|it: char| it.is_alphabetic() || it == '_' || it == '<');
            opens_word && named && (line.contains('(') || (*head == "class " && line.contains(':')))
        })
    })
}

/// How far into a text the wish of a user story starts at most.
const WISH_BYTES_MAX: usize = 240;

/// Where the wish of a user story starts, behind `I want`.
fn wish(source: &str) -> Option<usize> {
    let mut end = source.len().min(WISH_BYTES_MAX);
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    let head = source.get(..end)?.to_ascii_lowercase().replace('\n', " ");
    let role = head.find("as a ").or_else(|| head.find("as an ")).or_else(|| head.find("as the "))?;
    // A title may stand before it.
    let before = source.get(..role)?.trim_end_matches([' ', '*', '"']);
    if before.len() > 80 || !(before.is_empty() || before.ends_with([':', '\n', '#', '-', '–', '.'])) {
        return None;
    }
    [
        "i want ",
        "i'd like ",
        "i would like ",
        "i need ",
        "i can ",
        "i wish ",
        "i should be able ",
        "we want ",
        "i want\t",
        "we need ",
    ]
    .iter()
    .filter_map(|it| head.get(role..)?.find(it).map(|at| role + at + it.len()))
    .min()
    .filter(|end| head.get(role..*end).is_some_and(|it| !it.contains(". ")))
}

/// The parts of a user story that are not its wish: who has it, and what for.
pub fn around_wish(text: &Text<'_>) -> Vec<Range<usize>> {
    let Some(start) = wish(text.source) else { return Vec::new() };
    let role = 0..start;
    let reason = text.tokens.windows(2).find(|pair| {
        matches!(pair, [so, that] if so.start >= start && so.is("so") && (that.is("that") || that.is("i") || that.is("we")))
            || matches!(pair, [inside, order] if inside.start >= start && inside.is("in") && order.is("order"))
    });
    let Some([first, ..]) = reason else { return Vec::from([role]) };
    let mut rest = text.tokens.iter().filter(|it| it.start > first.start);
    let stop = rest.clone().find(|it| it.text == ".").or(rest.next_back());
    let end = stop.map_or(text.source.len(), |it| it.end());
    let line =
        text.source.get(first.start..).and_then(|it| it.find("\n\n")).map_or(end, |at| first.start + at);
    vec![role, first.start..end.min(line)]
}

/// The parts of a bug report.
static REPORTS: &[&str] = &[
    "steps to reproduce",
    "traceback (most recent",
    "expected behavior",
    "expected behaviour",
    "actual behavior",
    "actual behaviour",
    "expected result",
];
/// From how many words on a text with code is a report.
const ISSUE_WORDS_MIN: usize = 60;

fn is_issue(text: &Text<'_>) -> bool {
    let words = text.tokens.iter().filter(|it| it.is_word()).count();
    let code = || text.tokens.iter().any(|it| matches!(it.kind, Kind::Code | Kind::Path | Kind::Identifier));
    if words > ISSUE_WORDS_MIN && code() {
        return true;
    }
    let lower = text.source.to_ascii_lowercase();
    REPORTS.iter().any(|it| lower.contains(it))
}

/// Longer texts are not single requirements.
const REQUIREMENT_SENTENCES_MAX: usize = 3;

fn is_requirement(text: &Text<'_>) -> bool {
    let first = text.tokens.iter().find(|it| it.is_word());
    let asks = first.is_some_and(|it| {
        it.has(Class::REQUEST_VERB)
            || matches!(&*it.lower, "i" | "we" | "can" | "could" | "how" | "what" | "please")
    });
    let modal =
        || text.tokens.iter().skip(1).any(|it| matches!(&*it.lower, "shall" | "must" | "should" | "will"));
    // Neither a question nor a word about who asks: it says what is to be so.
    let told = || {
        !text.tokens.iter().any(|it| {
            it.text == "?" || matches!(&*it.lower, "i" | "i'm" | "me" | "my" | "we" | "you" | "your" | "our")
        }) && text.tokens.iter().any(|it| {
            matches!(
                &*it.lower,
                "is" | "are" | "can" | "cannot" | "has" | "have" | "be" | "may" | "provides" | "allows"
            )
        })
    };
    !asks && (modal() || told()) && text.sentences.len() <= REQUIREMENT_SENTENCES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_tells_the_genre() {
        for (text, expected) in [
            ("def f(x: int) -> int:\n    \"\"\"Double x.\"\"\"", Genre::Stub),
            ("/// Doubles x.\npub fn f(x: i32) -> i32 {", Genre::Stub),
            ("from typing import List def f(x: List[int]) -> int: \"\"\" Sum. \"\"\"", Genre::Stub),
            ("As a player, I want a reward so that I come back.", Genre::Story),
            ("As an editor\nI want to duplicate a line", Genre::Story),
            ("Login: As a user I can sign in with a passkey", Genre::Story),
            ("Use it as a cache. I want more.", Genre::Request),
            ("It fails.\n\nSteps to reproduce\n1. Start it", Genre::Issue),
            ("The driver shall be told of a fault.", Genre::Requirement),
            ("Add a log to `a.rs`. It must rotate.", Genre::Request),
            ("Public transport in Berlin", Genre::Request),
        ] {
            assert_eq!(Genre::of(&Text::new(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_story_is_its_wish() {
        let text =
            Text::new("As a user of our shop, I want to pay by card, so that it is easy. Only Visa counts.");
        let around = around_wish(&text);
        let left: String = text
            .source
            .char_indices()
            .filter(|(at, _)| !around.iter().any(|it| it.contains(at)))
            .map(|(_, it)| it)
            .collect();
        assert_eq!(left, "to pay by card,  Only Visa counts.");
    }
}
