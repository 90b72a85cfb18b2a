//! The one table of operations, in the order of [`OperationId`].

use crate::action::{
    ActAnswer, ActionPage, ActionState, ActionStatus, SourcedCall, VerdictRequest, call_schema,
};
use crate::approver::{ActTerms, ApproverKeyList, NewApproverKey};
use crate::document::VerifyResult;
use crate::dossier::Dossier;
use crate::events::{EventsQuery, GateEvent, ViewQuery};
use crate::evidence::EvidenceReceipt;
use crate::gate::{
    EndedObservation, GateStatus, KeyStatus, NewObservation, PolicyOnRecord, PolicyPush, PolicyPushed,
    ReasonRequest,
};
use crate::grant::{GrantList, GrantStatus};
use crate::ledger::{Audit, ConsistencyProof, DocumentOnRecord, EntryPage};
use crate::limits::{ACT_BODY_BYTES_MAX, BODY_BYTES_MAX, POLICY_BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX};
use crate::note::{DraftRequest, FailedDraft, NoteValidation};
use crate::operation::{
    Access, Answer, Body, Content, LongPoll, Method, Operation, OperationId, Presence, SchemaOf, json,
    problem, query, schema, text,
};
use crate::permit::{KernelUseRequest, OutcomeReport, PermitStatus, UseReceipt, UseRequest};
use crate::problem::Problem;
use crate::project::{NewProject, ProjectList, ProjectStatus, RegisteredProject};
use crate::query::{
    ActQuery, ActionQuery, ActionsQuery, ConsistencyQuery, EntriesQuery, PolicyQuery, ProofQuery,
    SubmitQuery, VerifyQuery,
};
use crate::role::Role;
use crate::server::{Health, Jwks, Ready};
use crate::server_pins::{BlockedTool, ListingAnswer, ListingReport, NewPins, ServerList, ServerStatus};
use crate::session::{EndSessionQuery, EndedSessions, NewSession, Session};
use crate::token::{CreatedToken, NewToken, TokenList, TokenStatus};
use ordain_spec::action::{KernelRequest, Proposal};
use ordain_spec::note;
use ordain_spec::packet::EvidencePacket;
use ordain_spec::statement::ApproverKey;
use schemars::{Schema, SchemaGenerator, json_schema};

/// Roles that see actions and permits. An actor sees its own, the others see all.
const SEES: &[Role] = &[Role::Actor, Role::Approver, Role::Operator, Role::Worker, Role::Auditor];
/// Roles that see every action with its evidence.
const SEES_ALL: &[Role] = &[Role::Approver, Role::Operator, Role::Auditor];
/// Roles that read the ledger.
const READS_LEDGER: &[Role] = &[Role::Auditor, Role::Operator];

const CONFLICT: Answer = problem(409, "The request conflicts with the current state");
const UNKNOWN: Answer = problem(404, "Nothing has this id");

/// A body with a document.
const fn document(schema: SchemaOf) -> Option<Body> {
    Some(Body { schema, bytes_max: BODY_BYTES_MAX })
}

/// A body without one.
const fn small(schema: SchemaOf) -> Option<Body> {
    Some(Body { schema, bytes_max: SMALL_BODY_BYTES_MAX })
}

/// An operation that takes nothing and answers at once; rows say what they add.
const PLAIN: Operation = Operation {
    id: OperationId::GetGate,
    method: Method::Get,
    path: "",
    summary: "",
    access: Access::AnyToken,
    query: None,
    body: None,
    answers: &[],
    long_poll: LongPoll::Never,
    presence: Presence::OwnerAct,
    workspace: false,
    takes_turns: false,
    guards_token: false,
};

/// All operations.
pub static OPERATIONS: &[Operation] = &[
    Operation {
        id: OperationId::SubmitAction,
        method: Method::Post,
        path: "/v1/actions",
        summary: "Submit an action proposal or a KernelRequest; the gate decides at once",
        access: Access::Roles(&[Role::Actor]),
        query: Some(query::<SubmitQuery>),
        body: document(call_schema),
        answers: &[
            json(201, "Decided and on the ledger", schema::<ActionStatus>),
            json(200, "Submitted before; the recorded answer", schema::<ActionStatus>),
            UNKNOWN,
            CONFLICT,
        ],
        guards_token: true,
        presence: Presence::NotNeeded,
        workspace: true,
        ..PLAIN
    },
    Operation {
        id: OperationId::Act,
        method: Method::Post,
        path: "/v1/act",
        summary: "Decide a call and, if it is allowed, use its permit in the same step; for callers that execute at once",
        access: Access::AllRoles(&[Role::Actor, Role::Worker]),
        query: Some(query::<ActQuery>),
        body: Some(Body { schema: act_schema, bytes_max: ACT_BODY_BYTES_MAX }),
        answers: &[json(200, "Decided and on the ledger", schema::<ActAnswer>), UNKNOWN, CONFLICT],
        workspace: true,
        guards_token: true,
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::ListActions,
        path: "/v1/actions",
        summary: "List actions, the newest first, or in the order of their changes with `after`; with `wait`, the answer comes when there is one",
        query: Some(query::<ActionsQuery>),
        answers: &[json(200, "A page of actions", schema::<ActionPage>)],
        long_poll: LongPoll::OnRequest,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetAction,
        path: "/v1/actions/{id}",
        summary: "Get the status of an action; with `wait`, the answer comes when it is no longer held",
        access: Access::Roles(SEES),
        query: Some(query::<ActionQuery>),
        answers: &[json(200, "The status", schema::<ActionStatus>), UNKNOWN],
        long_poll: LongPoll::OnRequest,
        ..PLAIN
    },
    Operation {
        id: OperationId::StreamActionEvents,
        path: "/v1/actions/{id}/events",
        summary: "Stream the status of an action, one event for each change, until nothing more can happen",
        access: Access::Roles(SEES),
        answers: &[
            Answer {
                status: 200,
                summary: "Server-sent events; the data of each is the status as JSON",
                content: Content::Events(event_schema),
            },
            UNKNOWN,
        ],
        long_poll: LongPoll::Always,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetView,
        path: "/v1/actions/{id}/view",
        summary: "Get the view that an approver is shown, as the canonical bytes whose SHA-256 is the view digest; the header `ordain-view-digest` names it",
        access: Access::Roles(SEES_ALL),
        query: Some(query::<ViewQuery>),
        answers: &[json(200, "The bytes of the view", object_schema), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::GetDossier,
        path: "/v1/actions/{id}/dossier",
        summary: "Get everything about an action with proofs, to be checked offline",
        access: Access::Roles(READS_LEDGER),
        answers: &[json(200, "The dossier", schema::<Dossier>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::RecordVerdict,
        method: Method::Post,
        path: "/v1/actions/{id}/approvals",
        summary: "Approve or reject a held action",
        access: Access::Roles(&[Role::Approver]),
        body: small(schema::<VerdictRequest>),
        answers: &[json(200, "Decided again", schema::<ActionStatus>), UNKNOWN, CONFLICT],
        presence: Presence::AsPoliciesSay,
        ..PLAIN
    },
    Operation {
        id: OperationId::AddEvidence,
        method: Method::Post,
        path: "/v1/evidence",
        summary: "Put an evidence packet on record",
        access: Access::Roles(&[Role::Sensor]),
        body: document(schema::<EvidencePacket>),
        answers: &[
            json(201, "On record", schema::<EvidenceReceipt>),
            json(200, "On record before", schema::<EvidenceReceipt>),
            CONFLICT,
        ],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetPermit,
        path: "/v1/permits/{id}",
        summary: "Get a permit and its uses",
        access: Access::Roles(SEES),
        answers: &[json(200, "The permit", schema::<PermitStatus>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::UsePermit,
        method: Method::Post,
        path: "/v1/permits/{id}/use",
        summary: "Spend one use of a permit; the gate checks everything again",
        access: Access::Roles(&[Role::Worker]),
        body: document(use_schema),
        answers: &[json(200, "One use is spent: act now", schema::<UseReceipt>), UNKNOWN, CONFLICT],
        workspace: true,
        guards_token: true,
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::ReportOutcome,
        method: Method::Post,
        path: "/v1/permits/{id}/outcome",
        summary: "Report how a use went, or settle a use whose outcome is unknown",
        access: Access::Roles(&[Role::Worker, Role::Operator]),
        body: small(schema::<OutcomeReport>),
        answers: &[json(200, "Recorded", schema::<PermitStatus>), UNKNOWN, CONFLICT],
        guards_token: true,
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetCheckpoint,
        path: "/v1/ledger/checkpoint",
        summary: "Get the signed head of the ledger (C2SP tlog-checkpoint)",
        answers: &[text("A signed note")],
        ..PLAIN
    },
    Operation {
        id: OperationId::GetProof,
        path: "/v1/ledger/proof",
        summary: "Get a proof that an entry is on the ledger (C2SP tlog-proof), with the entry",
        access: Access::Roles(READS_LEDGER),
        query: Some(query::<ProofQuery>),
        answers: &[text("A proof file"), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::GetConsistency,
        path: "/v1/ledger/consistency",
        summary: "Get a proof that the ledger only grew between two sizes (RFC 6962)",
        access: Access::Roles(READS_LEDGER),
        query: Some(query::<ConsistencyQuery>),
        answers: &[json(200, "The proof", schema::<ConsistencyProof>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::ListEntries,
        path: "/v1/ledger/entries",
        summary: "List entries of the ledger",
        access: Access::Roles(READS_LEDGER),
        query: Some(query::<EntriesQuery>),
        answers: &[json(200, "Entries", schema::<EntryPage>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::CheckRecords,
        path: "/v1/ledger/fsck",
        summary: "Check the ledger and the records beside it; one check runs at a time and takes at most ten minutes",
        access: Access::Roles(READS_LEDGER),
        answers: &[json(200, "The result, also where something is damaged", schema::<Audit>)],
        long_poll: LongPoll::Always,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetDocument,
        path: "/v1/documents/{id}",
        summary: "Get a document that the ledger names, by its hash; documents of an action are for those who see the action",
        access: Access::Roles(SEES),
        answers: &[json(200, "The document", schema::<DocumentOnRecord>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::StreamEvents,
        path: "/v1/events",
        summary: "Stream all that happens, as far as the caller may see it; each event has the index of its ledger entry as id",
        query: Some(query::<EventsQuery>),
        answers: &[
            Answer {
                status: 200,
                summary: "Server-sent events; an event without data only moves the id on",
                content: Content::Events(gate_event_schema),
            },
            CONFLICT,
        ],
        long_poll: LongPoll::Always,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetGate,
        path: "/v1/gate",
        summary: "Get the status of the gate: halted or not, and the policies in force",
        answers: &[json(200, "The gate", schema::<GateStatus>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::Halt,
        method: Method::Post,
        path: "/v1/halt",
        summary: "Halt the gate: it allows nothing and no permit can be spent",
        access: Access::Roles(&[Role::Operator]),
        body: small(schema::<ReasonRequest>),
        answers: &[json(200, "Halted", schema::<GateStatus>)],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::Resume,
        method: Method::Post,
        path: "/v1/resume",
        summary: "Lift a halt",
        access: Access::Roles(&[Role::Operator]),
        body: small(schema::<ReasonRequest>),
        answers: &[json(200, "Open", schema::<GateStatus>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::StartObservation,
        method: Method::Post,
        path: "/v1/observations",
        summary: "Have the calls of a hook, or of all hooks, observed for a time: decisions are recorded, and the hooks allow",
        access: Access::Roles(&[Role::Operator]),
        body: small(schema::<NewObservation>),
        answers: &[json(200, "Observing", schema::<GateStatus>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::EndObservation,
        method: Method::Post,
        path: "/v1/observations/end",
        summary: "End an observation before its time",
        access: Access::Roles(&[Role::Operator]),
        body: small(schema::<EndedObservation>),
        answers: &[json(200, "Ended", schema::<GateStatus>)],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::PushPolicy,
        method: Method::Post,
        path: "/v1/policy",
        summary: "Put a policy folder in force; an invalid folder changes nothing",
        access: Access::Roles(&[Role::Operator]),
        body: Some(Body { schema: schema::<PolicyPush>, bytes_max: POLICY_BODY_BYTES_MAX }),
        answers: &[json(200, "In force", schema::<PolicyPushed>), CONFLICT],
        ..PLAIN
    },
    Operation {
        id: OperationId::GetPolicy,
        path: "/v1/policy",
        summary: "Show the policies in force, or earlier ones by their hash",
        access: Access::Roles(&[Role::Auditor, Role::Operator, Role::Approver]),
        query: Some(query::<PolicyQuery>),
        answers: &[json(200, "The policies", schema::<PolicyOnRecord>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::GetActTerms,
        path: "/v1/acts/{id}/terms",
        summary: "Get the terms on which an owner act is signed: its nonce and the state that it changes",
        access: Access::Roles(&[Role::Operator, Role::Approver]),
        answers: &[json(200, "The terms", schema::<ActTerms>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::EnrolApproverKey,
        method: Method::Post,
        path: "/v1/approver-keys",
        summary: "Enrol a key of an approver; the first key of an owner closes an open gate",
        access: Access::Roles(&[Role::Operator, Role::Approver]),
        body: small(schema::<NewApproverKey>),
        answers: &[json(201, "Enrolled", schema::<ApproverKey>), CONFLICT],
        ..PLAIN
    },
    Operation {
        id: OperationId::ListApproverKeys,
        path: "/v1/approver-keys",
        summary: "List the keys of approvers",
        answers: &[json(200, "Keys", schema::<ApproverKeyList>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::RevokeApproverKey,
        method: Method::Delete,
        path: "/v1/approver-keys/{id}",
        summary: "Revoke a key of an approver, at once and everywhere",
        access: Access::Roles(&[Role::Operator, Role::Approver]),
        answers: &[json(200, "Revoked", schema::<ApproverKey>), UNKNOWN, CONFLICT],
        ..PLAIN
    },
    Operation {
        id: OperationId::RotateKey,
        method: Method::Post,
        path: "/v1/keys/rotate",
        summary: "Sign with a new key from now on",
        access: Access::Roles(&[Role::Operator]),
        answers: &[json(200, "The new key", schema::<KeyStatus>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::CreateToken,
        method: Method::Post,
        path: "/v1/tokens",
        summary: "Create a token",
        access: Access::Roles(&[Role::Operator]),
        body: small(schema::<NewToken>),
        answers: &[json(201, "The token, which is shown only now", schema::<CreatedToken>), CONFLICT],
        ..PLAIN
    },
    Operation {
        id: OperationId::ListTokens,
        path: "/v1/tokens",
        summary: "List tokens, without their secrets",
        access: Access::Roles(&[Role::Operator, Role::Auditor]),
        answers: &[json(200, "Tokens", schema::<TokenList>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::RevokeToken,
        method: Method::Delete,
        path: "/v1/tokens/{id}",
        summary: "Revoke a token, at once and everywhere",
        access: Access::Roles(&[Role::Operator]),
        answers: &[json(200, "Revoked", schema::<TokenStatus>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::ListGrants,
        path: "/v1/grants",
        summary: "List standing grants, the newest first",
        access: Access::Roles(SEES_ALL),
        answers: &[json(200, "Grants", schema::<GrantList>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::RevokeGrant,
        method: Method::Delete,
        path: "/v1/grants/{id}",
        summary: "Take a standing grant back, at once and everywhere",
        access: Access::Roles(&[Role::Approver, Role::Operator]),
        answers: &[json(200, "Revoked", schema::<GrantStatus>), UNKNOWN],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::CreateSession,
        method: Method::Post,
        path: "/v1/sessions",
        summary: "Sign in to the console with the code that `ordain serve --open` wrote; for the console's own pages",
        access: Access::Anybody,
        body: small(schema::<NewSession>),
        answers: &[
            json(201, "The session, which is shown only now", schema::<Session>),
            problem(400, "The request is not valid; `errors` says why"),
            problem(401, "The code is unknown, was used before, or is too old"),
            problem(403, "The request is not of a page of the console"),
        ],
        presence: Presence::NotNeeded,
        takes_turns: true,
        ..PLAIN
    },
    Operation {
        id: OperationId::EndSession,
        method: Method::Post,
        path: "/v1/sessions/end",
        summary: "End the session that asks, or all of them",
        query: Some(query::<EndSessionQuery>),
        answers: &[json(200, "Signed out", schema::<EndedSessions>)],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::RegisterProject,
        method: Method::Post,
        path: "/v1/projects",
        summary: "Register the folder whose descriptor came before the request as a project; over a unix socket only",
        access: Access::Roles(&[Role::Operator]),
        body: small(schema::<NewProject>),
        answers: &[json(201, "Registered", schema::<ProjectStatus>), CONFLICT],
        ..PLAIN
    },
    Operation {
        id: OperationId::ListProjects,
        path: "/v1/projects",
        summary: "List the projects of the gate",
        access: Access::Roles(&[Role::Operator, Role::Auditor, Role::Approver]),
        answers: &[json(200, "Projects", schema::<ProjectList>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::ForgetProject,
        method: Method::Delete,
        path: "/v1/projects/{id}",
        summary: "Forget a project; its folder has no gate from then on, and its record stays",
        access: Access::Roles(&[Role::Operator]),
        answers: &[json(200, "Forgotten", schema::<RegisteredProject>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::ListServers,
        path: "/v1/servers",
        summary: "List the MCP servers that gateways have met",
        access: Access::Roles(SEES),
        answers: &[json(200, "Servers", schema::<ServerList>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::GetServer,
        path: "/v1/servers/{id}",
        summary: "Get what an MCP server lists, and what of it is approved",
        access: Access::Roles(SEES),
        answers: &[json(200, "The server", schema::<ServerStatus>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::ReportListing,
        method: Method::Post,
        path: "/v1/servers/{id}/listing",
        summary: "Report the tools that an MCP server has listed; the answer says which of them the agent may be shown",
        access: Access::Roles(&[Role::Actor]),
        body: Some(Body { schema: schema::<ListingReport>, bytes_max: ACT_BODY_BYTES_MAX }),
        answers: &[json(200, "The hidden tools", schema::<ListingAnswer>), UNKNOWN, CONFLICT],
        presence: Presence::NotNeeded,
        guards_token: true,
        ..PLAIN
    },
    Operation {
        id: OperationId::PinServer,
        method: Method::Post,
        path: "/v1/servers/{id}/pins",
        summary: "Approve tools of an MCP server",
        access: Access::Roles(&[Role::Operator]),
        body: document(schema::<NewPins>),
        answers: &[json(200, "The server", schema::<ServerStatus>), UNKNOWN, CONFLICT],
        ..PLAIN
    },
    Operation {
        id: OperationId::BlockTool,
        method: Method::Post,
        path: "/v1/servers/{id}/blocks",
        summary: "Block a tool of an MCP server: it is hidden and refused until it is approved by its name",
        access: Access::Roles(&[Role::Operator, Role::Approver]),
        body: small(schema::<BlockedTool>),
        answers: &[json(200, "The server", schema::<ServerStatus>), UNKNOWN, CONFLICT],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::TransformIntent,
        method: Method::Post,
        path: "/v1/transform",
        summary: "Transform an intent into a bundle",
        body: document(any_schema),
        answers: &[json(200, "A bundle, a bundle with questions, or a refusal", object_schema)],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::VerifyDocument,
        method: Method::Post,
        path: "/v1/verify",
        summary: "Verify a document of any kind",
        query: Some(query::<VerifyQuery>),
        body: document(any_schema),
        answers: &[json(200, "The report", schema::<VerifyResult>)],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::DraftNote,
        method: Method::Post,
        path: "/proposal",
        summary: "Let a model draft a note; the answer is a verified note proposal",
        access: Access::Roles(&[Role::Actor]),
        body: document(schema::<DraftRequest>),
        answers: &[
            json(200, "The proposal; it is on the ledger", schema::<note::Proposal>),
            problem(422, "The model's answer is invalid, or none is recorded for this prompt"),
            problem(502, "The model's answer cannot be used, or its provider refuses"),
            problem(504, "The model did not answer in time"),
        ],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetFailedDraft,
        path: "/proposal/failures/{id}",
        summary: "Get the model's answer to a failed request of your own, redacted; it can be read once",
        access: Access::Roles(&[Role::Actor]),
        answers: &[json(200, "The answer, which is now deleted", schema::<FailedDraft>), UNKNOWN],
        ..PLAIN
    },
    Operation {
        id: OperationId::ValidateNote,
        method: Method::Post,
        path: "/validate",
        summary: "Validate a note proposal against the contract, the vault's routing and its notes",
        body: document(any_schema),
        answers: &[json(200, "The findings", schema::<NoteValidation>)],
        presence: Presence::NotNeeded,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetHealth,
        path: "/health",
        summary: "Check that the server is running",
        access: Access::Anybody,
        answers: &[json(200, "It is running", schema::<Health>)],
        ..PLAIN
    },
    Operation {
        id: OperationId::GetReady,
        path: "/ready",
        summary: "Check that the server can work: the store answers, the policies in force can be read, and the ledger's head fits its entries",
        access: Access::Anybody,
        answers: &[json(200, "It can work", schema::<Ready>)],
        takes_turns: true,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetMetrics,
        path: "/metrics",
        summary: "Get metrics in Prometheus' text format",
        access: Access::Anybody,
        answers: &[text("Metrics")],
        takes_turns: true,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetKeys,
        path: "/.well-known/jwks.json",
        summary: "Get the public keys of permits",
        access: Access::Anybody,
        answers: &[json(200, "A JWK set", schema::<Jwks>)],
        takes_turns: true,
        ..PLAIN
    },
    Operation {
        id: OperationId::GetDescription,
        path: "/openapi.json",
        summary: "Get this description",
        access: Access::Anybody,
        answers: &[json(200, "OpenAPI 3.1", object_schema)],
        ..PLAIN
    },
];

fn act_schema(generator: &mut SchemaGenerator) -> Schema {
    let (proposal, request) = (schema::<Proposal>(generator), schema::<KernelRequest>(generator));
    json_schema!({"anyOf": [proposal, request, schema::<SourcedCall>(generator)]})
}

fn use_schema(generator: &mut SchemaGenerator) -> Schema {
    let (action, request) = (schema::<UseRequest>(generator), schema::<KernelUseRequest>(generator));
    json_schema!({"anyOf": [action, request]})
}

/// An event of a stream.
fn event_schema(generator: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = ActionState::ALL.iter().map(|state| state.name()).chain(["error"]).collect();
    let status = json_schema!({"anyOf": [schema::<ActionStatus>(generator), schema::<Problem>(generator)]});
    json_schema!({
        "type": "object",
        "description": "One event; the last may be an error, whose data is a problem.",
        "properties": {
            "event": {"type": "string", "enum": names},
            "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": status},
        },
        "required": ["event", "data"],
    })
}

/// An event of the stream of all that happens.
fn gate_event_schema(generator: &mut SchemaGenerator) -> Schema {
    let data = json_schema!({"anyOf": [schema::<GateEvent>(generator), schema::<Problem>(generator)]});
    json_schema!({
        "type": "object",
        "description": "One event; the last may be an error, whose data is a problem.",
        "properties": {
            "event": {"type": "string", "description": "The kind of entry, or `error`."},
            "id": {"type": "string", "pattern": "^[0-9]+$"},
            "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": data},
        },
    })
}

fn object_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

/// Any document: the answer says what is wrong with it.
fn any_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}
