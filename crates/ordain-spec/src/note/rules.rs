//! NP1–NP13.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::limits::NOTE_ID_CHARS_MIN;
use crate::node::Node;
use crate::path::{path_problem, shorten};
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use ordain_canon::{Canonicalizer, NoteHash, is_lower_hex};

const NP: Kind = Kind::Note;
const SPEC: &str = "PROPOSAL_SERVICE, ProposalV1";

/// The rules of a note proposal.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known", section: SPEC, category: Category::Schema, check: by_shape },
    Rule { id: NP.rule(1), title: "the version is 1", section: SPEC, category: Category::Schema, check: by_shape },
    Rule { id: NP.rule(2), title: "the id is a slug of 8 characters or more", section: SPEC, category: Category::Field, check: id_is_a_slug },
    Rule { id: NP.rule(3), title: "the origin is known", section: SPEC, category: Category::Field, check: by_shape },
    Rule { id: NP.rule(4), title: "the route is named", section: SPEC, category: Category::Field, check: by_shape },
    Rule { id: NP.rule(5), title: "the path is safe and ends in .md", section: SPEC, category: Category::Content, check: path_is_markdown },
    Rule { id: NP.rule(6), title: "the title has 3 characters or more", section: SPEC, category: Category::Field, check: title_says_something },
    Rule { id: NP.rule(7), title: "the status is known", section: SPEC, category: Category::Field, check: by_shape },
    Rule { id: NP.rule(8), title: "there are at most 24 tags", section: SPEC, category: Category::Limit, check: by_shape },
    Rule { id: NP.rule(9), title: "there are at most 8 aliases", section: SPEC, category: Category::Limit, check: by_shape },
    Rule { id: NP.rule(10), title: "the body says something", section: SPEC, category: Category::Content, check: by_shape },
    Rule { id: NP.rule(11), title: "related links are strings", section: SPEC, category: Category::Field, check: by_shape },
    Rule { id: NP.rule(12), title: "there is a rationale", section: SPEC, category: Category::Field, check: by_shape },
    Rule { id: NP.rule(13), title: "the hash matches everything else", section: SPEC, category: Category::Integrity, check: hash_matches },
];

/// NP2.
fn id_is_a_slug(_: &Facts<'_>, note: Node<'_, '_>, found: &mut Findings) {
    let id = note.get("id");
    let slug = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if let Some(text) = id.str().filter(|text| text.len() < NOTE_ID_CHARS_MIN || !text.bytes().all(slug)) {
        let message = format!(
            "expected at least {NOTE_ID_CHARS_MIN} of `a-z`, `0-9` and `-`, found `{}`",
            shorten(text)
        );
        found.at(id, message);
    }
}

/// NP5.
fn path_is_markdown(_: &Facts<'_>, note: Node<'_, '_>, found: &mut Findings) {
    let target = note.get("target");
    let path = target.get("path");
    let Some(text) = path.str() else { return };
    if let Some(message) = path_problem(text) {
        found.at(path, message);
    } else if !text.ends_with(".md") {
        found.at(path, format!("path `{}` does not end in `.md`", shorten(text)));
    }
}

/// NP6. Three blanks are not a title.
fn title_says_something(_: &Facts<'_>, note: Node<'_, '_>, found: &mut Findings) {
    let frontmatter = note.get("frontmatter");
    let title = frontmatter.get("title");
    if title.str().is_some_and(|text| text.chars().count() >= 3 && text.trim().is_empty()) {
        found.at(title, "must not be blank");
    }
}

/// NP13.
fn hash_matches(_: &Facts<'_>, note: Node<'_, '_>, found: &mut Findings) {
    let hash = note.get("hash");
    let (Some(named), Some(value)) = (hash.str().filter(|text| is_lower_hex(text, 64)), note.value()) else {
        return;
    };
    if let Ok(real) = NoteHash::of(&mut Canonicalizer::new(), value)
        && !real.is(named)
    {
        found.at(hash, format!("does not match the note, whose hash is `{real}`"));
    }
}
