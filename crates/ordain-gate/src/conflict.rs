//! The ways in which a request can conflict with the current state.

use super::limits::USES_OPEN_MAX;
use ordain_api::ActionState;
use ordain_canon::time::moment;

/// How a request conflicts with the current state.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Conflict {
    /// Somebody else has the id. The message does not say what they did with it.
    #[error("`{id}` cannot be used as an id")]
    Taken { id: String },
    /// The same id with other content.
    #[error("`{action_id}` was submitted before with other content{}", in_brackets(.content))]
    OtherContent { action_id: String, content: Option<String> },
    /// It was submitted for another project of the gate.
    #[error("`{action_id}` was submitted for another project of this gate")]
    OtherProject { action_id: String },
    /// The same proposal, superseding another action.
    #[error("`{action_id}` was submitted before and supersedes {before}")]
    OtherSuperseded { action_id: String, before: String },
    /// The action is in a state in which this is impossible.
    #[error("`{action_id}` is {}; only {} actions can be {wanted}", .state.name(), names(.allowed))]
    State { action_id: String, state: ActionState, allowed: &'static [ActionState], wanted: &'static str },
    /// The approver has decided already.
    #[error("`{approver}` has already decided on `{action_id}` and cannot change it")]
    Decided { action_id: String, approver: String },
    /// The approver saw something else.
    #[error("the view has changed: {shown} was shown, {now} is current")]
    View { action_id: String, shown: String, now: String },
    /// No use of the permit is left.
    #[error("permit `{permit_id}` is used up ({used} of {max}{})", last_use(.last))]
    UsedUp { permit_id: String, used: u64, max: u64, last: Option<(String, u64)> },
    /// Another call used the permit that this one waited for.
    #[error("another call already used the approval of `{action_id}` (permit `{permit_id}`{}); nothing was done for this call",
        last_use(.last))]
    UsedByOther { action_id: String, permit_id: String, last: Option<(String, u64)> },
    /// Somebody follows another ledger, or this one was put back to an earlier state.
    #[error("there is no entry {index}: the ledger has {size} entries")]
    AfterEnd { index: u64, size: u64 },
    /// Too many uses are open.
    #[error("{USES_OPEN_MAX} uses of `{permit_id}` are open")]
    TooManyOpen { permit_id: String },
    /// The outcome of an equal action is unknown.
    #[error("the outcome of use {number} of `{permit_id}`, which has the same effect, is unknown")]
    Unsettled { permit_id: String, number: u64 },
    /// The use is settled.
    #[error("use {number} of `{permit_id}` is settled already")]
    Settled { permit_id: String, number: u64 },
    /// A report about a change of files, for a permit of something else.
    #[error("`{permit_id}` does not allow a change of files")]
    NoFileChange { permit_id: String },
    /// A report about another patch set.
    #[error("`{permit_id}` was given for another patch set")]
    OtherPatchSet { permit_id: String },
    /// Another packet has the id.
    #[error("another evidence packet has the id `{evidence_id}`")]
    OtherPacket { evidence_id: String },
    /// The signing key is retired, and there is no other.
    #[error("the key {key_id} is retired, and this node has no other")]
    KeyRetired { key_id: String },
    /// Somebody else rotated the key.
    #[error("the key {key_id} was rotated by another process at the same time")]
    KeyRotated { key_id: String },
    /// No more tokens can be made.
    #[error("there are {max} tokens, which is the limit")]
    TooManyTokens { max: usize },
    /// The statement has counted.
    #[error("the signed statement has counted already, with entry {index}")]
    StatementCounted { index: u64 },
    /// Another statement of the same session has this number.
    #[error("another statement with the same session and number has counted, with entry {index}")]
    SessionCounted { index: u64 },
    /// Somebody has a token with this id.
    #[error("the token `{token_id}` exists, or did")]
    TokenExists { token_id: String },
    /// The key is enrolled already.
    #[error("the key `{key_id}` is enrolled, or was")]
    KeyEnrolled { key_id: String },
    /// No more keys can be enrolled.
    #[error("{max} keys of approvers were enrolled, which is the limit")]
    TooManyKeys { max: usize },
    /// Without it nobody would own the gate.
    #[error("the key `{key_id}` is the only owner's key in force")]
    LastOwnerKey { key_id: String },
    /// Others were put in force meanwhile.
    #[error("other policies are in force now: {active}")]
    OtherPolicy { active: String },
    /// The server lists other tools than those that were shown.
    #[error("the MCP server `{server}` lists other tools now")]
    OtherListing { server: String },
    /// No more servers are known.
    #[error("there are {max} MCP servers, which is the limit")]
    TooManyServers { max: usize },
    /// The policies were judged with another schema.
    #[error("the policies were judged by another version of ordain, with another schema")]
    OtherSchema,
}

impl Conflict {
    /// The advice for this conflict.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::OtherListing { server } => {
                return Some(format!("run `ordain mcp diff {server}` to look at them, then approve again"));
            }
            Self::Taken { .. } => "use a new id, best a random one",
            Self::OtherContent { .. } | Self::OtherSuperseded { .. } | Self::OtherPacket { .. } => {
                "use a new id"
            }
            Self::OtherProject { .. } => "submit it for this project, with a new id",
            Self::View { .. } => "look at the action again, then decide",
            Self::TooManyOpen { .. } => "report the outcomes of the open uses first",
            Self::Unsettled { .. } => "find out whether it happened, and say so: `ordain approve` asks",
            Self::UsedByOther { .. } => "repeat the call if it should happen once more",
            Self::StatementCounted { .. } | Self::SessionCounted { .. } => "sign again",
            Self::TokenExists { .. } => "make another id",
            Self::LastOwnerKey { .. } => {
                "enrol another owner's key first, or run `ordain init --replace` to make a new gate"
            }
            Self::KeyRetired { .. } => {
                "run `ordain gate import DIR` with an export from the machine that rotated the key"
            }
            Self::OtherPolicy { .. } => "run `ordain policy diff` to look at them, then push again",
            Self::AfterEnd { .. } => "read everything anew, and follow the ledger from its end",
            Self::TooManyTokens { .. } => "revoke tokens that nobody needs",
            Self::State { .. }
            | Self::Decided { .. }
            | Self::UsedUp { .. }
            | Self::Settled { .. }
            | Self::NoFileChange { .. }
            | Self::OtherPatchSet { .. }
            | Self::KeyRotated { .. }
            | Self::KeyEnrolled { .. }
            | Self::TooManyKeys { .. }
            | Self::TooManyServers { .. }
            | Self::OtherSchema => return None,
        };
        Some(hint.to_owned())
    }
}

fn names(states: &[ActionState]) -> String {
    let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

fn in_brackets(text: &Option<String>) -> String {
    text.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}

fn last_use(last: &Option<(String, u64)>) -> String {
    last.as_ref()
        .map(|(worker, at_ms)| format!(", last by `{worker}` at {}", moment(*at_ms)))
        .unwrap_or_default()
}
