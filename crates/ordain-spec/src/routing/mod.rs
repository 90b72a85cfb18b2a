//! Vault routing: which notes go where, and what they must have.

mod rules;

use crate::schema::NonEmpty;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use rules::RULES;

/// The routing file of a vault.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// The version of this format; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1), extend("x-rule" = "RT1"))]
    pub version: Option<u8>,
    /// Where notes go.
    pub routes: Vec<Route>,
    /// The fields that the front matter of every note must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "RT7"))]
    pub frontmatter: Option<FrontmatterRules>,
    /// Templates by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<BTreeMap<String, Template>>,
}

/// One route.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Unique in the file.
    #[schemars(extend("x-rule" = "RT2"))]
    pub id: NonEmpty,
    /// A glob for the paths of its notes.
    #[schemars(extend("x-rule" = "RT3"))]
    pub pattern: NonEmpty,
    /// Its purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The template for new notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "RT5"))]
    pub template: Option<String>,
    /// Headings that every note must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "RT6"))]
    pub required_sections: Option<Vec<NonEmpty>>,
}

/// The fields that front matter must have.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrontmatterRules {
    /// Fields that every note must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<FrontmatterField>>,
    /// The statuses that notes may have; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statuses: Option<Vec<crate::note::NoteStatus>>,
}

/// A field of front matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum FrontmatterField {
    Title,
    Status,
    Tags,
    Aliases,
}

/// The start of a new note.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Headings that its notes must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "RT6"))]
    pub required_sections: Option<Vec<NonEmpty>>,
    /// Text to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}
