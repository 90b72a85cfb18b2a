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
    /// The action whose approval the caller waited for. If another call used that approval, the answer is a
    /// conflict instead of a new action.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_for: Option<String>,
    /// Whether the folder of the preface may belong to no project of the gate. Such a call is about the machine, not
    /// about a workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_folder: bool,
    /// The installed hook that asks: its id, or the name of its agent. An owner can have its calls observed.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
}

/// The query of `list_actions`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionsQuery {
    /// Only actions in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ActionState>,
    /// Only actions whose ids begin with this text, in the order of their ids, and no page after the first.
    #[schemars(length(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_prefix: Option<String>,
    /// To follow changes: the order of the last changes, from this place on. It starts at 0, and then is the
    /// `next` of the page before.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Without `after`: the `next` of the page before. The newest come first.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// How many seconds to wait for an action, if the page would be empty; the order is that of the last changes.
    /// With the `seen` of the last answer as `after`, the page has the actions that changed since.
    #[schemars(range(max = POLL_SECONDS_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u64>,
    /// The largest number of actions on the page.
    #[schemars(range(min = 1, max = PAGE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Submitted at this time or later, in milliseconds since 1970.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Submitted before this time, in milliseconds since 1970.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// Proposed by this actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// With this action type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_type: Option<String>,
    /// On the target with this resource id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Decided under the policies with this hash, or whose hash begins so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Approved or rejected by this approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
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
    /// The first entry, in their order. The members below, up to `action_id`, make the newest come first instead.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Only entries before this place: the `next` of the page before.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The largest number of entries on the page.
    #[schemars(range(min = 1, max = PAGE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// With the documents that the entries name, as far as the caller may have them as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<bool>,
    /// Written at this time or later, in milliseconds since 1970.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Written before this time, in milliseconds since 1970.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// The entries of this action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
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
