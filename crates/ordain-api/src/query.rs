//! Queries. The parameters of the OpenAPI document come from these types.

use crate::action::ActionState;
use crate::limits::{PAGE_MAX, POLL_SECONDS_MAX, WHOLE_MAX};
use ordain_spec::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The query of `submit_action`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitQuery {
    /// The held proposal that this one replaces.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
}

/// The query of `act`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActQuery {
    /// The held proposal that this one replaces. Such a call never joins another.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The action whose approval the caller waited for. If another call used that approval, the answer is a conflict instead of
    /// a new action.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_for: Option<String>,
}

/// The query of `list_actions`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionsQuery {
    /// Only actions in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ActionState>,
    /// The `next` of the page before.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The largest number of actions on the page.
    #[schemars(range(min = 1, max = PAGE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// The query of `get_action`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionQuery {
    /// How many seconds to wait until the action is no longer held.
    #[schemars(range(max = POLL_SECONDS_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u64>,
}

/// The query of `get_proof`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofQuery {
    /// The entry.
    #[schemars(range(max = WHOLE_MAX))]
    pub index: u64,
}

/// The query of `get_consistency`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsistencyQuery {
    /// The smaller size.
    #[schemars(range(max = WHOLE_MAX))]
    pub old: u64,
    /// The larger size.
    #[schemars(range(max = WHOLE_MAX))]
    pub new: u64,
}

/// The query of `list_entries`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntriesQuery {
    /// The first entry.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The largest number of entries on the page.
    #[schemars(range(min = 1, max = PAGE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// The query of `get_policy`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyQuery {
    /// The hash of the policies; without it those in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// The query of `verify_document`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyQuery {
    /// The kind of the document, if the document does not show it.
    #[schemars(schema_with = "kind_schema")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

fn kind_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    json_schema!({"type": "string", "enum": names})
}
