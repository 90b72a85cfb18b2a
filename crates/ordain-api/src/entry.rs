//! Entries of the ledger: one for each event, with hashes where content could be secret or large.

use crate::permit::UseOutcome;
use crate::project::ProjectName;
use crate::role::Role;
use ordain_spec::decision::Outcome;
use ordain_spec::statement::{How, Passkey, Signed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version that is written.
pub const ENTRY_SCHEMA_VERSION: &str = "0.7.0";

/// One entry of the ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The principal that caused it.
    pub by: String,
    /// How many entries have changed the gate's own state so far, this one included: on those entries, and on
    /// the last of every step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<u64>,
    /// The version of this form.
    pub entry_schema_version: String,
    /// The event.
    pub event: Event,
    /// How they were authenticated.
    pub how: How,
    /// The statements that were signed for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signed: Vec<Signed>,
}

/// A gate in whose place another one came. Nothing of it carries over.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplacedGate {
    /// Its id.
    pub gate_id: String,
    /// The name of its ledger.
    pub origin: String,
    /// The last signed head of its ledger, a signed note.
    pub checkpoint: String,
}

/// One use of a standing grant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantUse {
    /// The grant.
    pub grant_id: String,
    /// Which use of it, counted from 1.
    #[serde(rename = "use")]
    pub number: u64,
}

/// One event. A `*_document` is the hash of a document in the store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "docs/contracts/ledger.md has a table of them")]
pub enum Event {
    /// The ledger begins.
    Opened {
        origin: String,
        /// The gate that this one takes the place of, because the keys of its owners are lost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<ReplacedGate>,
    },
    /// A proposal arrived.
    Submitted {
        action_id: String,
        actor: String,
        proposal_document: String,
        /// The KernelRequest that the proposal was made from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_document: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supersedes: Option<String>,
        /// The principal that counts as the submitter for approvals, if another one caused the entry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        submitted_by: Option<String>,
        /// The deed of a call of `act`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deed: Option<String>,
        /// The action whose change of files an owner takes back with their own authority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undoes: Option<String>,
        /// The project of the gate that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<ProjectName>,
    },
    /// The kernel answered.
    Decided {
        action_id: String,
        outcome: Outcome,
        decision_document: String,
        inputs_document: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at_ms: Option<u64>,
        /// The standing grant that it is an ALLOW by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<GrantUse>,
    },
    /// Somebody said yes.
    Approved {
        action_id: String,
        approval_document: String,
        /// The note about the same effect, as the approver was shown it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier_document: Option<String>,
    },
    /// Somebody said no.
    Rejected {
        action_id: String,
        approval_document: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier_document: Option<String>,
        /// By which it is found when the same is proposed again: one for each effect.
        effect_keys: Vec<String>,
    },
    /// The approvers of an action signed that calls with the same deed are approved too.
    Granted {
        action_id: String,
        grant_id: String,
        deed: String,
        max_uses: u64,
        until_ms: u64,
        grant_document: String,
    },
    /// And no longer.
    GrantRevoked { grant_id: String },
    /// A held proposal was replaced by another.
    Superseded { action_id: String, by_action_id: String },
    /// Nobody answered in time.
    Expired { action_id: String },
    /// An ALLOW became a permit.
    PermitMinted { action_id: String, permit_id: String, permit_document: String, key_id: String },
    /// A worker is about to act.
    PermitSpent {
        action_id: String,
        permit_id: String,
        #[serde(rename = "use")]
        number: u64,
        decision_document: String,
        inputs_document: String,
        deadline_ms: u64,
        /// By which an unknown outcome is found, one for each effect; with a leading `~` if that blocks nobody.
        effect_keys: Vec<String>,
        /// The call that joined the action, if it is not the one that was approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_document: Option<String>,
    },
    /// How it went.
    PermitSettled {
        action_id: String,
        permit_id: String,
        #[serde(rename = "use")]
        number: u64,
        outcome: UseOutcome,
        report_document: String,
    },
    /// Files of a workspace were changed.
    Applied { action_id: String, permit_id: String, patch_hash: String, record: String },
    /// A change of files was taken back.
    Undone { action_id: String, permit_id: String, patch_hash: String, record: String },
    /// A sensor observed something.
    EvidenceReceived { evidence_id: String, sensor_id: String, packet_document: String },
    /// A model drafted a note, and somebody was given the proposal.
    Drafted { proposal_id: String, note_document: String, model: String, attempts: u32 },
    /// Other policies are in force.
    PolicyChanged { policy_hash: String, files_document: String },
    /// Another key signs from now on.
    KeyRotated {
        key_id: String,
        public_key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retires: Option<String>,
    },
    /// A key of an approver signs from now on. `keys_document` holds all of them.
    ApproverKeyEnrolled {
        key_id: String,
        principal: String,
        public_key: String,
        owner: bool,
        /// The binding of a passkey.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passkey: Option<Box<Passkey>>,
        keys_document: String,
    },
    /// And no longer.
    ApproverKeyRevoked { key_id: String, keys_document: String },
    /// A folder belongs to a project of the gate from now on.
    ProjectRegistered {
        project_id: String,
        path: String,
        /// The path of the project, if the folder only holds worktrees of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktrees_of: Option<String>,
    },
    /// A folder does not belong to the gate any more.
    ProjectForgotten { project_id: String, path: String },
    /// An MCP server lists other tools than before. With `pins_document` this is its first list, which counts as
    /// approved.
    ServerListed {
        server: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project_id: Option<String>,
        listing_document: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pins_document: Option<String>,
    },
    /// Tools of an MCP server are approved. `pins_document` holds all of them.
    ServerPinned {
        server: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project_id: Option<String>,
        pins_document: String,
    },
    /// A tool of an MCP server is hidden and refused.
    ToolBlocked {
        server: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project_id: Option<String>,
        tool: String,
        pins_document: String,
    },
    /// Nothing is allowed any more.
    Halted { reason: String },
    /// The halt is lifted.
    Resumed { reason: String },
    /// The gate only records its decisions about the calls of a hook, or of all hooks, for a time.
    ObservationStarted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hook: Option<String>,
        until_ms: u64,
        reason: String,
    },
    /// And no longer.
    ObservationEnded {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hook: Option<String>,
    },
    /// The decision before it was only recorded, and the hook allowed the call.
    Observed { action_id: String, decision_document: String, hook: String },
    /// Somebody can ask from now on.
    TokenCreated {
        token_id: String,
        principal: String,
        names: Vec<String>,
        roles: Vec<Role>,
        secret_hash: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at_ms: Option<u64>,
    },
    /// And no longer.
    TokenRevoked { token_id: String },
}

impl Entry {
    /// An event of now.
    pub fn of(at_ms: u64, by: &str, how: How, event: Event) -> Self {
        let entry_schema_version = ENTRY_SCHEMA_VERSION.to_owned();
        let (by, changes, signed) = (by.to_owned(), None, Vec::new());
        Self { entry_schema_version, at_ms, by, changes, how, event, signed }
    }
}

impl Event {
    /// As documents write it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Opened { .. } => "opened",
            Self::Submitted { .. } => "submitted",
            Self::Decided { .. } => "decided",
            Self::Approved { .. } => "approved",
            Self::Rejected { .. } => "rejected",
            Self::Granted { .. } => "granted",
            Self::GrantRevoked { .. } => "grant_revoked",
            Self::Superseded { .. } => "superseded",
            Self::Expired { .. } => "expired",
            Self::PermitMinted { .. } => "permit_minted",
            Self::PermitSpent { .. } => "permit_spent",
            Self::PermitSettled { .. } => "permit_settled",
            Self::Applied { .. } => "applied",
            Self::Undone { .. } => "undone",
            Self::EvidenceReceived { .. } => "evidence_received",
            Self::Drafted { .. } => "drafted",
            Self::PolicyChanged { .. } => "policy_changed",
            Self::KeyRotated { .. } => "key_rotated",
            Self::ApproverKeyEnrolled { .. } => "approver_key_enrolled",
            Self::ApproverKeyRevoked { .. } => "approver_key_revoked",
            Self::ProjectRegistered { .. } => "project_registered",
            Self::ProjectForgotten { .. } => "project_forgotten",
            Self::ServerListed { .. } => "server_listed",
            Self::ServerPinned { .. } => "server_pinned",
            Self::ToolBlocked { .. } => "tool_blocked",
            Self::Halted { .. } => "halted",
            Self::Resumed { .. } => "resumed",
            Self::ObservationStarted { .. } => "observation_started",
            Self::ObservationEnded { .. } => "observation_ended",
            Self::Observed { .. } => "observed",
            Self::TokenCreated { .. } => "token_created",
            Self::TokenRevoked { .. } => "token_revoked",
        }
    }

    /// Whether it changes the gate's own state: its policies, keys, tokens, grants and approved tools,
    /// and whether it is halted.
    pub fn changes_gate(&self) -> bool {
        match self {
            Self::Opened { .. }
            | Self::PolicyChanged { .. }
            | Self::KeyRotated { .. }
            | Self::ApproverKeyEnrolled { .. }
            | Self::ApproverKeyRevoked { .. }
            | Self::Halted { .. }
            | Self::Resumed { .. }
            | Self::ObservationStarted { .. }
            | Self::ObservationEnded { .. }
            | Self::TokenCreated { .. }
            | Self::TokenRevoked { .. }
            | Self::ServerListed { .. }
            | Self::ServerPinned { .. }
            | Self::ToolBlocked { .. }
            | Self::Granted { .. }
            | Self::GrantRevoked { .. } => true,
            Self::Submitted { .. }
            | Self::Decided { .. }
            | Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::Superseded { .. }
            | Self::Expired { .. }
            | Self::PermitMinted { .. }
            | Self::PermitSpent { .. }
            | Self::PermitSettled { .. }
            | Self::Applied { .. }
            | Self::Undone { .. }
            | Self::EvidenceReceived { .. }
            // Projects are listed in the registry of the state directory.
            | Self::ProjectRegistered { .. }
            | Self::ProjectForgotten { .. }
            | Self::Observed { .. }
            | Self::Drafted { .. } => false,
        }
    }

    /// The action that it is about.
    pub fn action_id(&self) -> Option<&str> {
        match self {
            Self::Submitted { action_id, .. }
            | Self::Decided { action_id, .. }
            | Self::Approved { action_id, .. }
            | Self::Rejected { action_id, .. }
            | Self::Granted { action_id, .. }
            | Self::Superseded { action_id, .. }
            | Self::Expired { action_id }
            | Self::Observed { action_id, .. }
            | Self::PermitMinted { action_id, .. }
            | Self::PermitSpent { action_id, .. }
            | Self::PermitSettled { action_id, .. }
            | Self::Applied { action_id, .. }
            | Self::Undone { action_id, .. } => Some(action_id),
            Self::Opened { .. }
            | Self::GrantRevoked { .. }
            | Self::EvidenceReceived { .. }
            | Self::Drafted { .. }
            | Self::PolicyChanged { .. }
            | Self::KeyRotated { .. }
            | Self::ApproverKeyEnrolled { .. }
            | Self::ApproverKeyRevoked { .. }
            | Self::ProjectRegistered { .. }
            | Self::ProjectForgotten { .. }
            | Self::Halted { .. }
            | Self::Resumed { .. }
            | Self::ObservationStarted { .. }
            | Self::ObservationEnded { .. }
            | Self::TokenCreated { .. }
            | Self::TokenRevoked { .. }
            | Self::ServerListed { .. }
            | Self::ServerPinned { .. }
            | Self::ToolBlocked { .. } => None,
        }
    }

    /// The hashes of the documents that belong to it.
    pub fn documents(&self) -> Vec<&str> {
        match self {
            Self::Submitted { proposal_document, request_document, .. } => {
                [proposal_document].into_iter().chain(request_document).map(String::as_str).collect()
            }
            Self::Decided { decision_document, inputs_document, .. } => {
                vec![decision_document, inputs_document]
            }
            Self::PermitSpent { decision_document, inputs_document, call_document, .. } => {
                let always = [decision_document, inputs_document];
                always.into_iter().chain(call_document).map(String::as_str).collect()
            }
            Self::Approved { approval_document, earlier_document, .. }
            | Self::Rejected { approval_document, earlier_document, .. } => {
                [approval_document].into_iter().chain(earlier_document).map(String::as_str).collect()
            }
            Self::Granted { grant_document, .. } => vec![grant_document],
            Self::PermitMinted { permit_document, .. } => vec![permit_document],
            Self::Observed { decision_document, .. } => vec![decision_document],
            Self::PermitSettled { report_document, .. } => vec![report_document],
            Self::EvidenceReceived { packet_document, .. } => vec![packet_document],
            Self::Drafted { note_document, .. } => vec![note_document],
            Self::PolicyChanged { files_document, .. } => vec![files_document],
            Self::ApproverKeyEnrolled { keys_document, .. }
            | Self::ApproverKeyRevoked { keys_document, .. } => vec![keys_document],
            Self::ServerListed { listing_document, pins_document, .. } => {
                [listing_document].into_iter().chain(pins_document).map(String::as_str).collect()
            }
            Self::ServerPinned { pins_document, .. } | Self::ToolBlocked { pins_document, .. } => {
                vec![pins_document]
            }
            Self::Opened { .. }
            | Self::GrantRevoked { .. }
            | Self::Superseded { .. }
            | Self::Expired { .. }
            | Self::Applied { .. }
            | Self::Undone { .. }
            | Self::KeyRotated { .. }
            | Self::ProjectRegistered { .. }
            | Self::ProjectForgotten { .. }
            | Self::Halted { .. }
            | Self::Resumed { .. }
            | Self::ObservationStarted { .. }
            | Self::ObservationEnded { .. }
            | Self::TokenCreated { .. }
            | Self::TokenRevoked { .. } => Vec::new(),
        }
    }
}

/// One entry, as it stands on the ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LedgerEntry {
    /// Its place, counted from 0.
    pub index: u64,
    /// The hash of its leaf, base64.
    pub leaf_hash: String,
    /// The verdict.
    pub entry: Entry,
}
