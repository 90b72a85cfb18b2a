//! Which route a path belongs to.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ordain_spec::routing::{Route, Routing};
use std::cmp::Reverse;

/// The routes of a vault, ready to be asked.
pub(crate) struct Routes {
    pub(crate) routing: Routing,
    globs: GlobSet,
}

/// Where a path belongs.
#[derive(Debug, PartialEq)]
pub(crate) enum Routed<'r> {
    Nowhere,
    To(&'r Route),
    /// Two routes have equal right.
    Conflict(&'r Route, &'r Route),
}

impl Routes {
    pub(crate) fn new(routing: Routing) -> Result<Self, globset::Error> {
        let mut globs = GlobSetBuilder::new();
        for route in &routing.routes {
            globs.add(GlobBuilder::new(route.pattern.as_str()).literal_separator(true).build()?);
        }
        Ok(Self { globs: globs.build()?, routing })
    }

    pub(crate) fn of(&self, path: &str) -> Routed<'_> {
        let matching = self.globs.matches(path);
        let mut routes: Vec<&Route> =
            matching.iter().filter_map(|number| self.routing.routes.get(*number)).collect();
        routes.sort_by_key(|route| Reverse(Specificity::of(route.pattern.as_str())));
        match routes.as_slice() {
            [] => Routed::Nowhere,
            [first, second, ..]
                if Specificity::of(first.pattern.as_str()) == Specificity::of(second.pattern.as_str()) =>
            {
                Routed::Conflict(first, second)
            }
            [first, ..] => Routed::To(first),
        }
    }

    pub(crate) fn named(&self, id: &str) -> Option<&Route> {
        self.routing.routes.iter().find(|route| route.id.as_str() == id)
    }
}

/// How closely a pattern says which paths it means; the fields in the order in which they count.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy, Debug)]
struct Specificity {
    /// Literal characters before the first wildcard.
    literal_start: usize,
    /// Literal characters in all.
    literals: usize,
    double_stars: Reverse<usize>,
    /// `*`, `**`, `?`, `[…]` and `{…}`, each one.
    wildcards: Reverse<usize>,
}

impl Specificity {
    fn of(pattern: &str) -> Self {
        let (mut start, mut literals, mut double_stars, mut wildcards) = (None, 0, 0, 0);
        let mut depth = 0_usize;
        let mut characters = pattern.chars().peekable();
        while let Some(character) = characters.next() {
            let is_literal = match character {
                '{' => {
                    depth += 1;
                    false
                }
                '}' if depth > 0 => {
                    depth -= 1;
                    continue;
                }
                '[' => {
                    pass_class(&mut characters);
                    false
                }
                '*' => {
                    if characters.next_if_eq(&'*').is_some() {
                        double_stars += 1;
                    }
                    false
                }
                '?' => false,
                '\\' => characters.next().is_some(),
                _ => true,
            };
            // Braces hold one of several, so none of it is certain.
            match (is_literal, depth) {
                (true, 0) => literals += 1,
                (true, _) => {}
                (false, _) => {
                    start.get_or_insert(literals);
                    wildcards += usize::from(depth == 0 || (depth == 1 && character == '{'));
                }
            }
        }
        Self {
            literal_start: start.unwrap_or(literals),
            literals,
            double_stars: Reverse(double_stars),
            wildcards: Reverse(wildcards),
        }
    }
}

/// Passes over `…]`; a `]` that comes first belongs to the class.
fn pass_class(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    characters.next_if(|it| matches!(it, '!' | '^'));
    characters.next_if_eq(&']');
    characters.by_ref().find(|it| *it == ']');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(patterns: &[&str]) -> Routes {
        let list = patterns.iter().map(|it| serde_json::json!({"id": it, "pattern": it})).collect::<Vec<_>>();
        Routes::new(serde_json::from_value(serde_json::json!({"routes": list})).unwrap()).unwrap()
    }

    fn to(patterns: &[&str], path: &str) -> String {
        match routes(patterns).of(path) {
            Routed::Nowhere => String::new(),
            Routed::To(route) => route.id.as_str().to_owned(),
            Routed::Conflict(one, other) => format!("{} or {}", one.id.as_str(), other.id.as_str()),
        }
    }

    #[test]
    fn the_specific_pattern_wins() {
        for (patterns, path, expected) in [
            (&["a/*.md", "a/b.md"][..], "a/b.md", "a/b.md"),
            (&["a/*.md", "a/b.md"], "a/c.md", "a/*.md"),
            (&["**/*.md", "a/**/*.md", "a/b/*.md"], "a/b/c.md", "a/b/*.md"),
            (&["**/*.md", "a/**/*.md", "a/b/*.md"], "a/c.md", "a/**/*.md"),
            (&["a/*", "a/*.md"], "a/x.md", "a/*.md"),
            (&["a/**", "a/*"], "a/x.md", "a/*"),
            (&["a/x*", "a/x?y.md"], "a/xzy.md", "a/x?y.md"),
            (&["a/{b,c}.md", "a/b.md"], "a/b.md", "a/b.md"),
            (&["a/[bc].md", "a/b.md"], "a/b.md", "a/b.md"),
            (&["a/*x.md", "a/x*.md"], "a/xx.md", "a/x*.md"),
            (&["*/b.md", "?/b.md"], "a/b.md", "*/b.md or ?/b.md"),
            (&["a/*.md"], "a/b/c.md", ""),
            (&["a/\\*.md", "a/*.md"], "a/*.md", "a/\\*.md"),
        ] {
            assert_eq!(to(patterns, path), expected, "{patterns:?} {path}");
            let turned: Vec<&str> = patterns.iter().rev().copied().collect();
            let both = |text: String| {
                text.split(" or ").map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(both(to(&turned, path)), both(expected.to_owned()), "{turned:?} {path}");
        }
    }
}
