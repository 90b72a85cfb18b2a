//! A note's proposal, and after a zero the note that it would replace: what is written can be read, says what
//! the proposal says, has no HTML in it, and is not changed by being written again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ordain_canon::Value;
use ordain_spec::note::Proposal;
use ordain_vault::{Note, render};
use pulldown_cmark::{Event, Parser};

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let (document, old) = (parts.next().unwrap_or_default(), parts.next());
    let Ok(document) = Value::read(document) else { return };
    // Not verified: what is written must be right by itself.
    let Ok(proposal) = document.to_typed::<Proposal>() else { return };
    let old = old.and_then(|old| Note::read(&proposal.target.path, old.to_vec()).ok());
    let Ok(rendered) = render(&proposal, old.as_ref()) else { return };
    let note = Note::read(&proposal.target.path, rendered.text.clone().into_bytes()).expect("text");
    assert_eq!(note.problem, None);
    assert!(old.is_some() || note.stated_title.as_ref() == Some(&proposal.frontmatter.title));
    let tags = proposal.frontmatter.tags.iter().flatten().map(|tag| tag.as_str());
    assert!(proposal.frontmatter.tags.is_none() || note.tags.iter().map(String::as_str).eq(tags));
    let is_html = |event: Event<'_>| matches!(event, Event::Html(_) | Event::InlineHtml(_));
    assert!(!Parser::new(note.body()).any(is_html), "{}", note.body());
    let again = render(&proposal, Some(&note)).expect("a written note can be replaced");
    assert_eq!(again.text, rendered.text);
});
