//! Technologies that a text names.

use crate::class::entry_of;
use crate::lexicon::{ALIASES, Category, EXTENSIONS, Technology};
use crate::text::{Kind, Token};
use std::borrow::Cow;

/// One technology in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The one name of the thing, whatever the text calls it.
    pub name: Cow<'static, str>,
    pub category: Category,
    /// Which token of the text.
    pub token: usize,
}

/// All technologies that the tokens of a text name, in order.
pub(crate) fn technologies(tokens: &[Token<'_>]) -> Vec<Named> {
    let mut found = Vec::new();
    for (position, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Word | Kind::Identifier => found.extend(of_word(tokens, position, token)),
            Kind::Code | Kind::Quote | Kind::Path => {
                let inner = token.text.trim_matches(['`', '"', '\'', '“', '”']).to_lowercase();
                if let Some(it) = entry_of(&inner).technology {
                    found.push(named(it, position));
                }
                let extension =
                    token.path().and_then(|it| it.rsplit_once('.')).map(|(_, extension)| extension);
                let known = extension.and_then(|it| EXTENSIONS.iter().find(|(name, _)| *name == it));
                if let Some((name, category)) = known {
                    let name = format!(".{name}").into();
                    found.push(Named { name, category: *category, token: position });
                }
            }
            _ => {}
        }
    }
    found
}

fn named(technology: &Technology, token: usize) -> Named {
    let name = ALIASES
        .iter()
        .find(|(alias, _)| *alias == technology.name)
        .map_or(technology.name, |(_, name)| *name);
    Named { name: Cow::Borrowed(name), category: technology.category, token }
}

/// `eu-west-1`, `europe-west4`: a region of a cloud.
fn is_region(word: &str) -> bool {
    if !word.ends_with(|it: char| it.is_ascii_digit()) || !word.contains('-') {
        return false;
    }
    let mut parts = word.split('-');
    let area = parts.next().is_some_and(|it| {
        matches!(
            it,
            "eu" | "us"
                | "ap"
                | "sa"
                | "ca"
                | "af"
                | "me"
                | "cn"
                | "il"
                | "mx"
                | "europe"
                | "asia"
                | "australia"
                | "northamerica"
                | "southamerica"
        )
    });
    area && ["north", "south", "east", "west", "central"].iter().any(|it| word.contains(it))
}

fn of_word(tokens: &[Token<'_>], position: usize, token: &Token<'_>) -> Option<Named> {
    let next = tokens.get(position + 1).filter(|it| it.start == token.end());
    // `C++`, `C#`: the marks are tokens of their own.
    let marked = next.is_some_and(|it| matches!(it.text, "+" | "#"));
    if token.is_word() && !marked && token.entry.technology.is_none() && !token.lower.contains(['\'', '-']) {
        return None;
    }
    let lower: Cow<'_, str> = match next.map(|it| it.text) {
        Some("+") => format!("{}++", token.lower).into(),
        Some("#") => format!("{}#", token.lower).into(),
        _ if token.is_word() => token.lower.trim_end_matches("'s").into(),
        _ => token.lower.trim_end_matches("'s").to_lowercase().into(),
    };
    if is_region(&lower) {
        let name = lower.into_owned().into();
        return Some(Named { name, category: Category::Region, token: position });
    }
    let technology = entry_of(&lower).technology?;
    let before = position.checked_sub(1).and_then(|at| tokens.get(at));
    let after_preposition = before.is_some_and(|it| matches!(&*it.lower, "in" | "using" | "with"));
    let capital_inside =
        token.is_capitalized() && before.is_some_and(|it| it.kind != Kind::Mark || it.text == ",");
    let numbered =
        tokens.get(position + 1).is_some_and(|it| it.kind == Kind::Number) && token.is_capitalized();
    let meant =
        !technology.everyday || numbered || capital_inside || (after_preposition && token.is_capitalized());
    meant.then(|| named(technology, position))
}
