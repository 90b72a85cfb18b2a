//! Note proposals (ProposalV1): a Markdown note drafted by a model.

mod rules;

use crate::limits::{NOTE_ALIASES_MAX, NOTE_TAGS_MAX, NOTE_TITLE_CHARS_MIN};
use crate::schema::{Hex64, NonEmpty};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use rules::RULES;

/// A note, where it goes, and why.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ProposalV1")]
pub struct Proposal {
    /// The version of this format.
    #[schemars(range(min = 1, max = 1), extend("x-rule" = "NP1"))]
    pub version: u8,
    /// Lower-case letters, digits and `-`, at least 8.
    #[schemars(extend("x-rule" = "NP2"))]
    pub id: String,
    /// The source of the note.
    #[schemars(extend("x-rule" = "NP3"))]
    pub origin: Origin,
    /// Where it goes.
    #[schemars(extend("x-rule" = "NP4"))]
    pub target: NoteTarget,
    /// The front matter.
    #[schemars(extend("x-rule" = "NP6"))]
    pub frontmatter: Frontmatter,
    /// The text.
    #[schemars(extend("x-rule" = "NP10"))]
    pub body: Body,
    /// Why it should be.
    #[schemars(extend("x-rule" = "NP12"))]
    pub governance: Governance,
    /// The hash of everything else.
    #[schemars(extend("x-rule" = "NP13"))]
    pub hash: Hex64,
}

/// The source of a note.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A prompt.
    Prompt,
    /// An existing note that is to be better.
    Enhancement,
    /// A refined prompt.
    Refinement,
    /// A check of the vault.
    HealthCheck,
}

/// Where a note goes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteTarget {
    /// The route in the vault's routing.
    pub route_id: NonEmpty,
    /// The file, ending in `.md`.
    #[schemars(extend("x-rule" = "NP5"))]
    pub path: String,
}

/// The front matter of a note.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frontmatter {
    /// At least three characters.
    #[schemars(length(min = NOTE_TITLE_CHARS_MIN))]
    pub title: String,
    /// Where the note stands.
    #[schemars(extend("x-rule" = "NP7"))]
    pub status: NoteStatus,
    /// At most 24.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NOTE_TAGS_MAX), extend("x-rule" = "NP8"))]
    pub tags: Option<Vec<NonEmpty>>,
    /// At most 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NOTE_ALIASES_MAX), extend("x-rule" = "NP9"))]
    pub aliases: Option<Vec<NonEmpty>>,
}

/// Where a note stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum NoteStatus {
    Draft,
    InProgress,
    Review,
    Published,
    Archived,
}

/// A note's text.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Markdown.
    pub content_md: NonEmpty,
}

/// Why a note should be.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Governance {
    /// Notes and pages that belong to it.
    #[schemars(extend("x-rule" = "NP11"))]
    pub related_links: Vec<String>,
    /// The reason.
    pub rationale: NonEmpty,
}
