//! The topic of words: the stems of those that carry weight, to compare two statements by.

use crate::class::Class;
use crate::quantity::limit_name;
use crate::text::{Kind, Token, stem};

/// A set of stems, sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Stems(Vec<String>);

impl Stems {
    pub fn contains(&self, stem: &str) -> bool {
        self.0.iter().any(|it| it == stem)
    }

    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn insert(&mut self, stem: String) {
        if let Err(at) = self.0.binary_search(&stem) {
            self.0.insert(at, stem);
        }
    }

    pub fn retain(&mut self, keep: impl FnMut(&String) -> bool) {
        self.0.retain(keep);
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.iter().all(|it| other.contains(it))
    }
}

impl FromIterator<String> for Stems {
    fn from_iter<I: IntoIterator<Item = String>>(stems: I) -> Self {
        let mut stems: Vec<String> = stems.into_iter().collect();
        stems.sort_unstable();
        stems.dedup();
        Self(stems)
    }
}

/// The stems of words that carry weight, and literals as they are.
pub fn stems<'s, 't: 's>(tokens: impl Iterator<Item = &'s Token<'t>>) -> Stems {
    tokens.filter_map(weighty).collect()
}

/// The topic of a token, if it carries weight.
pub(crate) fn weighty(token: &Token<'_>) -> Option<String> {
    match token.kind {
        Kind::Word if !token.has(Class::WEIGHTLESS.or(Class::MODAL)) => {
            // `HTTPS` is not a plural.
            let acronym =
                token.text.len() > 1 && token.text.chars().all(|it| it.is_uppercase() || it.is_ascii_digit());
            Some(if acronym { token.lower.to_string() } else { stem(&token.lower).into_owned() })
        }
        // Numbers that are not quantities are names.
        Kind::Number => Some(token.text.to_owned()),
        Kind::Quote | Kind::Code | Kind::Path | Kind::Identifier => {
            let name = match token.kind {
                Kind::Identifier | Kind::Code => limit_name(token.text).map(|(_, name)| name),
                _ => None,
            };
            let bare = || token.text.trim_matches(['`', '"', '\'', '“', '”', '‘', '’']);
            Some(name.unwrap_or_else(bare).to_lowercase())
        }
        Kind::Word | Kind::Mark => None,
    }
}
