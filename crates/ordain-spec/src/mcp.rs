//! MCP servers: what they offer, and which part of it an owner has approved.

use crate::is_invisible;
use ordain_canon::{Canonicalizer, ContentHash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Characters of the name of a server or a tool.
pub const NAME_CHARACTERS_MAX: usize = 128;
/// Tools of one server.
pub const TOOLS_MAX: usize = 1_024;
/// The requests that a gateway judges besides calls of tools. No tool has such a name.
pub const READ_RESOURCE: &str = "resources/read";
/// The same for prompts, with the prompt's name behind it.
pub const GET_PROMPT: &str = "prompts/get/";

/// The treatment of tools that nobody has approved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PinMode {
    /// New and changed tools are hidden and refused until an owner approves them.
    #[default]
    Review,
    /// The first whole list counts as approved; after it as `review`.
    FirstUse,
    /// Definitions do not matter. Blocked tools stay blocked.
    Off,
}

impl PinMode {
    /// As files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::FirstUse => "first-use",
            Self::Off => "off",
        }
    }
}

/// The words of a server about itself and its tools: the text that a model reads.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// The hash of the command that starts it and of the programs that the command names.
    pub upstream: String,
    /// Its instructions, if it gave some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The definitions of its tools by name, whole.
    pub tools: BTreeMap<String, Json>,
}

impl Listing {
    /// The hash of the instructions.
    pub fn instructions_hash(&self) -> Option<String> {
        self.instructions.as_ref().and_then(|text| hash_of(&Json::String(text.clone())))
    }
}

/// The hash of a definition; nothing for one that has no canonical form.
pub fn hash_of(definition: &Json) -> Option<String> {
    Canonicalizer::new().value(definition).ok().map(|bytes| ContentHash::of(bytes).to_string())
}

/// A definition that an owner approved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinnedTool {
    /// The hash of the definition's canonical JSON.
    pub definition: String,
    /// The hash of the listing that has it.
    pub listing: String,
}

/// The approved part of a server: one document, replaced as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// The server's name.
    pub server: String,
    /// The project of the gate that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The approved command, by its hash; none before anything was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The hash of the approved instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The approved tools.
    pub tools: BTreeMap<String, PinnedTool>,
    /// Tools that stay hidden and refused whatever is approved later, until one is approved by its name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blocked: BTreeSet<String>,
}

/// The state of one tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    /// As an owner approved it, or definitions do not matter.
    Approved,
    /// Nobody has approved it.
    New,
    /// Another definition was approved.
    Changed,
    /// Blocked.
    Blocked,
    /// Approved, and the server lists it no longer.
    Gone,
}

impl ToolState {
    /// As documents write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Blocked => "blocked",
            Self::Gone => "gone",
        }
    }
}

impl Pins {
    /// The pins of a server without anything approved.
    pub fn none(server: &str, project_id: Option<&str>) -> Self {
        Self {
            server: server.to_owned(),
            project_id: project_id.map(str::to_owned),
            upstream: None,
            instructions: None,
            tools: BTreeMap::new(),
            blocked: BTreeSet::new(),
        }
    }

    /// These pins with all tools of a listing approved, but for the blocked ones and those in `without`.
    #[must_use]
    pub fn approving(&self, listing: &Listing, listing_hash: &str, without: &BTreeSet<String>) -> Self {
        let tools = listing.tools.iter().filter(|(name, _)| !self.blocked.contains(*name));
        let tools = tools.filter(|(name, _)| !without.contains(*name));
        let pinned = |(name, definition): (&String, &Json)| {
            let definition = hash_of(definition)?;
            Some((name.clone(), PinnedTool { definition, listing: listing_hash.to_owned() }))
        };
        Self {
            upstream: Some(listing.upstream.clone()),
            instructions: listing.instructions_hash(),
            tools: tools.filter_map(pinned).collect(),
            ..self.clone()
        }
    }

    /// The state of a tool with this definition.
    pub fn state_of(&self, tool: &str, definition: Option<&str>) -> ToolState {
        if self.blocked.contains(tool) {
            return ToolState::Blocked;
        }
        match self.tools.get(tool) {
            None => ToolState::New,
            Some(pinned) if Some(pinned.definition.as_str()) == definition => ToolState::Approved,
            Some(_) => ToolState::Changed,
        }
    }

    /// The fault of the server itself, as the end of a sentence.
    pub fn server_problem(&self, upstream: &str, instructions: Option<&str>) -> Option<&'static str> {
        match &self.upstream {
            None => return Some("is not approved"),
            Some(approved) if approved != upstream => {
                return Some("is started by another command or program than the approved one");
            }
            Some(_) => {}
        }
        // A session that was shown no instructions was not misled by any.
        let changed = instructions.is_some() && instructions != self.instructions.as_deref();
        changed.then_some("has other instructions than the approved ones")
    }
}

/// Whether a name can be a part of `mcp.<server>.<tool>`: no other server and tool have the same text.
pub fn is_server_name(name: &str) -> bool {
    let fits = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    (1..=NAME_CHARACTERS_MAX).contains(&name.len()) && name.chars().all(fits)
}

/// Why a tool cannot have this name, as the end of a sentence.
pub fn tool_name_fault(name: &str) -> Option<String> {
    let odd =
        |character: char| character.is_control() || character.is_whitespace() || is_invisible(character);
    if name.is_empty() {
        Some("is empty".to_owned())
    } else if name.chars().count() > NAME_CHARACTERS_MAX {
        Some(format!("has more than {NAME_CHARACTERS_MAX} characters"))
    } else if name.contains(odd) {
        Some("has a blank, a control character or an invisible one".to_owned())
    } else if name == READ_RESOURCE || name.starts_with(GET_PROMPT) {
        Some("is that of another request".to_owned())
    } else {
        None
    }
}
