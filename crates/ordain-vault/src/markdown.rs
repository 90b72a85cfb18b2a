//! The structure of a note's text: headings and links, as CommonMark reads them.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;

/// A heading outside lists, quotes and code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its text, without marks.
    pub text: String,
}

/// The structure of a text.
#[derive(Default)]
pub(crate) struct Outline {
    pub(crate) headings: Vec<Heading>,
    /// Where its links lead, each once: `[[name]]` of `[[name#part|shown]]`, and destinations of other links.
    pub(crate) links: Vec<String>,
}

/// Extensions of CommonMark that people use in vaults.
pub(crate) fn extensions() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS
}

impl Outline {
    pub(crate) fn of(text: &str) -> Self {
        let mut outline = Self::default();
        let mut depth = 0_usize;
        let mut heading: Option<Heading> = None;
        for event in Parser::new_ext(text, extensions()) {
            match event {
                Event::Start(Tag::BlockQuote(_) | Tag::Item | Tag::FootnoteDefinition(_)) => depth += 1,
                Event::End(TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::FootnoteDefinition) => {
                    depth = depth.saturating_sub(1);
                }
                Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                    heading = Some(Heading { level: level as u8, text: String::new() });
                }
                Event::End(TagEnd::Heading(_)) => outline.headings.extend(heading.take().map(collapsed)),
                Event::Start(Tag::Link { link_type, dest_url, .. }) => outline.link(link_type, &dest_url),
                Event::Start(Tag::Image {
                    link_type: link_type @ LinkType::WikiLink { .. },
                    dest_url,
                    ..
                }) => {
                    outline.link(link_type, &dest_url);
                }
                Event::Text(text) | Event::Code(text) => push(&mut heading, &text),
                Event::SoftBreak | Event::HardBreak => push(&mut heading, &CowStr::Borrowed(" ")),
                _ => {}
            }
        }
        let mut seen = BTreeSet::new();
        outline.links.retain(|link| seen.insert(link.clone()));
        outline
    }

    fn link(&mut self, link_type: LinkType, destination: &str) {
        let link = match link_type {
            LinkType::Email => return,
            LinkType::WikiLink { .. } => match destination.split(['#', '^']).next().map(str::trim) {
                None | Some("") => return,
                Some(name) => format!("[[{name}]]"),
            },
            _ => destination.to_owned(),
        };
        self.links.push(link);
    }
}

fn push(heading: &mut Option<Heading>, text: &CowStr<'_>) {
    if let Some(heading) = heading {
        heading.text.push_str(text);
    }
}

fn collapsed(mut heading: Heading) -> Heading {
    heading.text = one_line(&heading.text);
    heading
}

/// Blanks of any kind and number are one.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
