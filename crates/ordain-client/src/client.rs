//! The client: one method for each operation of the table.

use crate::address::AddressError;
use crate::transport::{Reply, Request, Transport, TransportError};
use ordain_api::limits::{FSCK_SECONDS_MAX, POLL_SECONDS_MAX, STREAM_SECONDS_MAX};
use ordain_api::{
    ActAnswer, ActQuery, ActTerms, ActionPage, ActionQuery, ActionStatus, ActionsQuery, ApproverKeyList,
    Audit, BlockedTool, ConsistencyProof, ConsistencyQuery, CreatedToken, DocumentOnRecord, Dossier,
    DraftRequest, EndSessionQuery, EndedObservation, EndedSessions, EntriesQuery, EntryPage, EventsQuery,
    EvidenceReceipt, FailedDraft, GateEvent, GateStatus, GrantList, GrantStatus, Health, Jwks,
    KernelUseRequest, KeyStatus, ListingAnswer, ListingReport, NewApproverKey, NewObservation, NewPins,
    NewProject, NewSession, NewToken, NoteValidation, OperationId, OutcomeReport, OwnerAct, PermitStatus,
    PolicyOnRecord, PolicyPush, PolicyPushed, PolicyQuery, Problem, ProblemCode, ProjectList, ProjectStatus,
    ProofQuery, Ready, ReasonRequest, RegisteredProject, ServerList, ServerStatus, Session, SubmitQuery,
    TokenList, TokenStatus, UseReceipt, UseRequest, VerdictRequest, VerifyQuery, VerifyResult, ViewQuery,
};
use ordain_spec::statement::{ApproverKey, Signed};
use ordain_spec::{Kind, note};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;

/// A client of the gate.
pub struct Client {
    transport: Arc<dyn Transport>,
    /// The statements that every request carries.
    signed: Vec<Signed>,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The gate refused or failed.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The gate cannot be reached.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The gate's address cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The answer is not what the table says.
    #[error("cannot read the answer of `{operation}`: {reason}")]
    BadAnswer {
        /// The operation.
        operation: &'static str,
        /// Why not.
        reason: String,
    },
    /// The request cannot be written.
    #[error("cannot write the request of `{operation}`: {reason}")]
    BadRequest {
        /// The operation.
        operation: &'static str,
        /// Why not.
        reason: String,
    },
}

/// The answer to a submission.
#[derive(Clone, PartialEq, Debug)]
pub struct SubmitAnswer {
    /// Whether the proposal was new; otherwise this is the recorded answer.
    pub new: bool,
    /// The status of the action.
    pub status: ActionStatus,
}

/// An event of a stream.
#[derive(Clone, PartialEq, Debug)]
pub enum ActionEvent {
    /// The action changed.
    Changed(Box<ActionStatus>),
    /// The stream ended early.
    Failed(Box<Problem>),
}

impl ClientError {
    /// The code of the gate's problem, if it is one.
    pub fn code(&self) -> Option<ProblemCode> {
        match self {
            Self::Problem(problem) => Some(problem.code),
            _ => None,
        }
    }

    /// The advice for this error.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => problem.hint.as_deref(),
            Self::Transport(TransportError::Unreachable { hint, .. }) => hint.as_deref(),
            Self::Address(error) => error.hint(),
            Self::Transport(TransportError::Unsendable { .. })
            | Self::BadAnswer { .. }
            | Self::BadRequest { .. } => None,
        }
    }
}

/// The parts of a request that an operation leaves open.
#[derive(Default)]
struct Call<'a> {
    id: Option<&'a str>,
    query: String,
    body: Option<Vec<u8>>,
    wait: Duration,
}

/// Actions and evidence.
impl Client {
    /// A client over this transport.
    pub fn new(transport: impl Transport + 'static) -> Self {
        Self { transport: Arc::new(transport), signed: Vec::new() }
    }

    /// Submits an action proposal or a KernelRequest, as JSON. It may replace a held proposal.
    pub fn submit(&self, document: &[u8], supersedes: Option<&str>) -> Result<SubmitAnswer, ClientError> {
        let id = OperationId::SubmitAction;
        let query = encode(id, &SubmitQuery { supersedes: supersedes.map(str::to_owned) })?;
        let reply = self.call(id, Call { query, body: Some(document.to_vec()), ..Call::default() })?;
        Ok(SubmitAnswer { new: reply.status == CREATED, status: read(id, &reply)? })
    }

    /// Decides a call and, if it is allowed, uses its permit in the same step.
    pub fn act(&self, document: &[u8], query: &ActQuery) -> Result<ActAnswer, ClientError> {
        let id = OperationId::Act;
        let query = encode(id, query)?;
        let reply = self.call(id, Call { query, body: Some(document.to_vec()), ..Call::default() })?;
        read(id, &reply)
    }

    /// A page of actions. It waits at most [`POLL_SECONDS_MAX`] seconds; ask again to wait longer.
    pub fn actions(&self, query: &ActionsQuery) -> Result<ActionPage, ClientError> {
        let operation = OperationId::ListActions;
        let wait = Duration::from_secs(query.wait.unwrap_or_default());
        let reply =
            self.call(operation, Call { query: encode(operation, query)?, wait, ..Call::default() })?;
        read(operation, &reply)
    }

    /// The status of an action, or nothing if there is none with this id.
    pub fn action(&self, id: &str) -> Result<Option<ActionStatus>, ClientError> {
        known(self.ask(OperationId::GetAction, Some(id), String::new()))
    }

    /// The status of an action, when it is no longer held or the time is over. At most
    /// [`POLL_SECONDS_MAX`] seconds; ask again to wait longer.
    pub fn wait_for_action(&self, id: &str, seconds: u64) -> Result<Option<ActionStatus>, ClientError> {
        let operation = OperationId::GetAction;
        let seconds = seconds.min(POLL_SECONDS_MAX);
        let query = encode(operation, &ActionQuery { wait: Some(seconds) })?;
        let wait = Duration::from_secs(seconds);
        let reply = self.call(operation, Call { id: Some(id), query, wait, ..Call::default() });
        known(reply.and_then(|reply| read(operation, &reply)))
    }

    /// Every change of an action until nothing more can happen, or until the server ends the stream.
    pub fn action_events(&self, id: &str) -> Result<Vec<ActionEvent>, ClientError> {
        let operation = OperationId::StreamActionEvents;
        let wait = Duration::from_secs(STREAM_SECONDS_MAX);
        let reply = self.call(operation, Call { id: Some(id), wait, ..Call::default() })?;
        events(operation, &String::from_utf8_lossy(&reply.body))
    }

    /// The bytes of the view that an approver is shown, or nothing if there is no such action. Their SHA-256 is
    /// the view digest.
    pub fn view(&self, id: &str, digest: Option<&str>) -> Result<Option<Vec<u8>>, ClientError> {
        let operation = OperationId::GetView;
        let query = encode(operation, &ViewQuery { digest: digest.map(str::to_owned) })?;
        let reply = self.call(operation, Call { id: Some(id), query, ..Call::default() });
        known(reply.map(|reply| reply.body))
    }

    /// All that happened after an entry of the ledger and happens in the next seconds, as far as the caller may
    /// see it.
    pub fn events(&self, after: Option<u64>, seconds: u64) -> Result<Vec<GateEvent>, ClientError> {
        let operation = OperationId::StreamEvents;
        let query = encode(operation, &EventsQuery { after, wait: Some(seconds) })?;
        let reply =
            self.call(operation, Call { query, wait: Duration::from_secs(seconds), ..Call::default() })?;
        gate_events(operation, &String::from_utf8_lossy(&reply.body))
    }

    /// Approves or rejects a held action.
    pub fn record_verdict(&self, id: &str, verdict: &VerdictRequest) -> Result<ActionStatus, ClientError> {
        self.send(OperationId::RecordVerdict, Some(id), verdict)
    }

    /// Puts an evidence packet on record, as JSON.
    pub fn add_evidence(&self, packet: &[u8]) -> Result<EvidenceReceipt, ClientError> {
        let id = OperationId::AddEvidence;
        let reply = self.call(id, Call { body: Some(packet.to_vec()), ..Call::default() })?;
        let receipt: EvidenceReceipt = read(id, &reply)?;
        Ok(EvidenceReceipt { new: reply.status == CREATED, ..receipt })
    }
}

/// Permits.
impl Client {
    /// A permit and its uses, or nothing if there is none with this id.
    pub fn permit(&self, id: &str) -> Result<Option<PermitStatus>, ClientError> {
        known(self.ask(OperationId::GetPermit, Some(id), String::new()))
    }

    /// Spends one use of a permit for the action of a proposal.
    pub fn use_permit(&self, id: &str, request: &UseRequest) -> Result<UseReceipt, ClientError> {
        self.send(OperationId::UsePermit, Some(id), request)
    }

    /// Spends one use of a permit for a KernelRequest.
    pub fn use_permit_for_request(
        &self,
        id: &str,
        request: &KernelUseRequest,
    ) -> Result<UseReceipt, ClientError> {
        self.send(OperationId::UsePermit, Some(id), request)
    }

    /// Reports how a use went, or settles a use whose outcome is unknown.
    pub fn report_outcome(&self, id: &str, report: &OutcomeReport) -> Result<PermitStatus, ClientError> {
        self.send(OperationId::ReportOutcome, Some(id), report)
    }
}

/// The ledger.
impl Client {
    /// The signed head of the ledger, a C2SP checkpoint.
    pub fn checkpoint(&self) -> Result<String, ClientError> {
        self.text(OperationId::GetCheckpoint, String::new())
    }

    /// A proof that an entry is on the ledger, a C2SP proof file.
    pub fn proof(&self, index: u64) -> Result<String, ClientError> {
        self.text(OperationId::GetProof, encode(OperationId::GetProof, &ProofQuery { index })?)
    }

    /// A proof that the ledger only grew between two sizes.
    pub fn consistency(&self, old: u64, new: u64) -> Result<ConsistencyProof, ClientError> {
        let id = OperationId::GetConsistency;
        self.ask(id, None, encode(id, &ConsistencyQuery { old, new })?)
    }

    /// A page of entries.
    pub fn entries(&self, query: &EntriesQuery) -> Result<EntryPage, ClientError> {
        self.entries_as(query)
    }

    /// Lets the gate check its ledger and the records beside it, for at most [`FSCK_SECONDS_MAX`] seconds.
    pub fn fsck(&self) -> Result<Audit, ClientError> {
        let operation = OperationId::CheckRecords;
        let wait = Duration::from_secs(FSCK_SECONDS_MAX);
        read(operation, &self.call(operation, Call { wait, ..Call::default() })?)
    }

    /// Everything about an action with proofs, or nothing if there is none with this id.
    pub fn dossier(&self, action_id: &str) -> Result<Option<Dossier>, ClientError> {
        known(self.ask(OperationId::GetDossier, Some(action_id), String::new()))
    }

    /// A document that an entry of the ledger names, or nothing if there is none that the caller may see.
    pub fn document(&self, hash: &str) -> Result<Option<DocumentOnRecord>, ClientError> {
        known(self.ask(OperationId::GetDocument, Some(hash), String::new()))
    }

    /// A page of entries, read as `T`. An auditor reads the entries as they were sent, because it believes
    /// nothing of them.
    pub fn entries_as<T: DeserializeOwned>(&self, query: &EntriesQuery) -> Result<T, ClientError> {
        self.ask(OperationId::ListEntries, None, encode(OperationId::ListEntries, query)?)
    }
}

/// Operating the gate.
impl Client {
    /// The status of the gate.
    pub fn gate(&self) -> Result<GateStatus, ClientError> {
        self.ask(OperationId::GetGate, None, String::new())
    }

    /// Halts the gate.
    pub fn halt(&self, reason: &str) -> Result<GateStatus, ClientError> {
        self.send(OperationId::Halt, None, &ReasonRequest { reason: reason.to_owned() })
    }

    /// Lifts a halt.
    pub fn resume(&self, reason: &str) -> Result<GateStatus, ClientError> {
        self.send(OperationId::Resume, None, &ReasonRequest { reason: reason.to_owned() })
    }

    /// Has calls of hooks observed for a time.
    pub fn start_observation(&self, new: &NewObservation) -> Result<GateStatus, ClientError> {
        self.send(OperationId::StartObservation, None, new)
    }

    /// Ends an observation before its time.
    pub fn end_observation(&self, ended: &EndedObservation) -> Result<GateStatus, ClientError> {
        self.send(OperationId::EndObservation, None, ended)
    }

    /// Puts a policy folder in force.
    pub fn push_policy(&self, push: &PolicyPush) -> Result<PolicyPushed, ClientError> {
        self.send(OperationId::PushPolicy, None, push)
    }

    /// The policies in force, or earlier ones by their hash; nothing where there are none.
    pub fn policy(&self, hash: Option<&str>) -> Result<Option<PolicyOnRecord>, ClientError> {
        let operation = OperationId::GetPolicy;
        let query = encode(operation, &PolicyQuery { hash: hash.map(str::to_owned) })?;
        known(self.ask(operation, None, query))
    }

    /// The MCP servers of the project, without their definitions.
    pub fn servers(&self) -> Result<ServerList, ClientError> {
        self.ask(OperationId::ListServers, None, String::new())
    }

    /// An MCP server, or nothing if no gateway has met one with this name.
    pub fn server(&self, name: &str) -> Result<Option<ServerStatus>, ClientError> {
        known(self.ask(OperationId::GetServer, Some(name), String::new()))
    }

    /// Reports the tools that an MCP server has listed.
    pub fn report_listing(&self, name: &str, report: &ListingReport) -> Result<ListingAnswer, ClientError> {
        self.send(OperationId::ReportListing, Some(name), report)
    }

    /// Approves tools of an MCP server.
    pub fn pin_server(&self, name: &str, pins: &NewPins) -> Result<ServerStatus, ClientError> {
        self.send(OperationId::PinServer, Some(name), pins)
    }

    /// Blocks a tool of an MCP server.
    pub fn block_tool(&self, name: &str, tool: &str) -> Result<ServerStatus, ClientError> {
        self.send(OperationId::BlockTool, Some(name), &BlockedTool { tool: tool.to_owned() })
    }

    /// Signs with a new key from now on.
    pub fn rotate_key(&self) -> Result<KeyStatus, ClientError> {
        self.ask(OperationId::RotateKey, None, String::new())
    }

    /// The terms on which an owner act is signed.
    pub fn act_terms(&self, act: OwnerAct) -> Result<ActTerms, ClientError> {
        self.ask(OperationId::GetActTerms, Some(act.name()), String::new())
    }

    /// Enrols a key of an approver.
    pub fn enrol_approver_key(&self, key: &NewApproverKey) -> Result<ApproverKey, ClientError> {
        self.send(OperationId::EnrolApproverKey, None, key)
    }

    /// The keys of approvers.
    pub fn approver_keys(&self) -> Result<ApproverKeyList, ClientError> {
        self.ask(OperationId::ListApproverKeys, None, String::new())
    }

    /// Revokes a key of an approver, or gives nothing if there is none with this id.
    pub fn revoke_approver_key(&self, key_id: &str) -> Result<Option<ApproverKey>, ClientError> {
        known(self.ask(OperationId::RevokeApproverKey, Some(key_id), String::new()))
    }

    /// The same gate, for one owner act whose statements these are.
    ///
    /// ```no_run
    /// # fn resume(client: &ordain_client::Client, signed: ordain_spec::statement::Signed) -> Result<(), ordain_client::ClientError> {
    /// client.with_statements(&[signed]).resume("the backup is restored")?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_statements(&self, signed: &[Signed]) -> Self {
        Self { transport: Arc::clone(&self.transport), signed: signed.to_vec() }
    }

    /// Creates a token. If the gate makes its secret, that is in the answer and nowhere else.
    pub fn create_token(&self, token: &NewToken) -> Result<CreatedToken, ClientError> {
        self.send(OperationId::CreateToken, None, token)
    }

    /// Signs in to the console. Only pages of the console have a use for it.
    pub fn create_session(&self, session: &NewSession) -> Result<Session, ClientError> {
        self.send(OperationId::CreateSession, None, session)
    }

    /// Ends the session that asks, or all of them.
    pub fn end_session(&self, everywhere: bool) -> Result<EndedSessions, ClientError> {
        let operation = OperationId::EndSession;
        self.ask(operation, None, encode(operation, &EndSessionQuery { everywhere })?)
    }

    /// Registers the folder that the socket's preface names as a project of the gate.
    pub fn register_project(&self, project: &NewProject) -> Result<ProjectStatus, ClientError> {
        self.send(OperationId::RegisterProject, None, project)
    }

    /// The projects of the gate.
    pub fn projects(&self) -> Result<ProjectList, ClientError> {
        self.ask(OperationId::ListProjects, None, String::new())
    }

    /// Forgets a project, or gives nothing if there is none with this id.
    pub fn forget_project(&self, project_id: &str) -> Result<Option<RegisteredProject>, ClientError> {
        known(self.ask(OperationId::ForgetProject, Some(project_id), String::new()))
    }

    /// The standing grants, the newest first.
    pub fn grants(&self) -> Result<GrantList, ClientError> {
        self.ask(OperationId::ListGrants, None, String::new())
    }

    /// Takes a grant back, or gives nothing if there is none with this id.
    pub fn revoke_grant(&self, id: &str) -> Result<Option<GrantStatus>, ClientError> {
        known(self.ask(OperationId::RevokeGrant, Some(id), String::new()))
    }

    /// All tokens, without their secrets.
    pub fn tokens(&self) -> Result<TokenList, ClientError> {
        self.ask(OperationId::ListTokens, None, String::new())
    }

    /// Revokes a token, or gives nothing if there is none with this id.
    pub fn revoke_token(&self, id: &str) -> Result<Option<TokenStatus>, ClientError> {
        known(self.ask(OperationId::RevokeToken, Some(id), String::new()))
    }
}

/// Documents and notes.
impl Client {
    /// Transforms an intent, as JSON, into a bundle, a bundle with questions, or a refusal.
    pub fn transform(&self, intent: &[u8]) -> Result<Json, ClientError> {
        let id = OperationId::TransformIntent;
        read(id, &self.call(id, Call { body: Some(intent.to_vec()), ..Call::default() })?)
    }

    /// Verifies a document, as JSON.
    pub fn verify(&self, document: &[u8], kind: Option<Kind>) -> Result<VerifyResult, ClientError> {
        let id = OperationId::VerifyDocument;
        let query = encode(id, &VerifyQuery { kind: kind.map(|kind| kind.name().to_owned()) })?;
        read(id, &self.call(id, Call { query, body: Some(document.to_vec()), ..Call::default() })?)
    }

    /// Lets a model draft a note.
    pub fn draft_note(&self, request: &DraftRequest) -> Result<note::Proposal, ClientError> {
        self.send(OperationId::DraftNote, None, request)
    }

    /// The model's answer to a failed request, or nothing if there is none. It can be read once.
    pub fn draft_failure(&self, correlation_id: &str) -> Result<Option<FailedDraft>, ClientError> {
        known(self.ask(OperationId::GetFailedDraft, Some(correlation_id), String::new()))
    }

    /// Validates a note proposal, as JSON, against the server's vault.
    pub fn validate_note(&self, proposal: &[u8]) -> Result<NoteValidation, ClientError> {
        let id = OperationId::ValidateNote;
        read(id, &self.call(id, Call { body: Some(proposal.to_vec()), ..Call::default() })?)
    }
}

/// The server itself.
impl Client {
    /// Whether the server is running.
    pub fn health(&self) -> Result<Health, ClientError> {
        self.ask(OperationId::GetHealth, None, String::new())
    }

    /// Whether the server can work.
    pub fn ready(&self) -> Result<Ready, ClientError> {
        self.ask(OperationId::GetReady, None, String::new())
    }

    /// Metrics in Prometheus' text format.
    pub fn metrics(&self) -> Result<String, ClientError> {
        self.text(OperationId::GetMetrics, String::new())
    }

    /// The public keys of permits.
    pub fn keys(&self) -> Result<Jwks, ClientError> {
        self.ask(OperationId::GetKeys, None, String::new())
    }

    /// The OpenAPI document.
    pub fn description(&self) -> Result<Json, ClientError> {
        self.ask(OperationId::GetDescription, None, String::new())
    }
}

/// The status of an answer to something new.
const CREATED: u16 = 201;

impl Client {
    /// Sends a request; an answer that is a problem becomes an error.
    fn call(&self, id: OperationId, call: Call<'_>) -> Result<Reply, ClientError> {
        let operation = id.operation();
        let names: Vec<(&str, &str)> = operation.path_names().zip(call.id).collect();
        let mut path = operation.path(&names);
        if !call.query.is_empty() {
            path = format!("{path}?{}", call.query);
        }
        let (method, signed) = (operation.method, self.signed.clone());
        let request = Request { method, path, body: call.body, signed, wait: call.wait };
        let reply = self.transport.send(&request)?;
        if operation.answers.iter().any(|answer| answer.status == reply.status && reply.status < 400) {
            return Ok(reply);
        }
        match serde_json::from_slice::<Problem>(&reply.body) {
            Ok(problem) => Err(ClientError::Problem(Box::new(problem))),
            Err(_) => Err(bad_answer(id, format!("its status is {}", reply.status))),
        }
    }

    /// A call without a body.
    fn ask<T: DeserializeOwned>(
        &self,
        operation: OperationId,
        id: Option<&str>,
        query: String,
    ) -> Result<T, ClientError> {
        read(operation, &self.call(operation, Call { id, query, ..Call::default() })?)
    }

    /// A call with a typed body.
    fn send<T: DeserializeOwned>(
        &self,
        operation: OperationId,
        id: Option<&str>,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| bad_request(operation, &error))?;
        read(operation, &self.call(operation, Call { id, body: Some(body), ..Call::default() })?)
    }

    /// A call that is answered with plain text.
    fn text(&self, operation: OperationId, query: String) -> Result<String, ClientError> {
        let reply = self.call(operation, Call { query, ..Call::default() })?;
        String::from_utf8(reply.body).map_err(|error| bad_answer(operation, error.to_string()))
    }
}

fn encode(operation: OperationId, query: &impl Serialize) -> Result<String, ClientError> {
    serde_urlencoded::to_string(query).map_err(|error| bad_request(operation, &error))
}

fn read<T: DeserializeOwned>(operation: OperationId, reply: &Reply) -> Result<T, ClientError> {
    serde_json::from_slice(&reply.body).map_err(|error| bad_answer(operation, error.to_string()))
}

/// Nothing, where the gate knows nothing with this id.
fn known<T>(answer: Result<T, ClientError>) -> Result<Option<T>, ClientError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == Some(ProblemCode::Unknown) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads server-sent events.
fn events(operation: OperationId, text: &str) -> Result<Vec<ActionEvent>, ClientError> {
    let mut events = Vec::new();
    for block in text.split("\n\n") {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim_start);
        let Some(data) = field("data:") else { continue };
        let unreadable = |error: serde_json::Error| bad_answer(operation, error.to_string());
        events.push(if field("event:") == Some("error") {
            ActionEvent::Failed(serde_json::from_str(data).map_err(unreadable)?)
        } else {
            ActionEvent::Changed(serde_json::from_str(data).map_err(unreadable)?)
        });
    }
    Ok(events)
}

/// Reads the stream of all that happens. Events without data only move the id on.
fn gate_events(operation: OperationId, text: &str) -> Result<Vec<GateEvent>, ClientError> {
    let mut events = Vec::new();
    for block in text.split("\n\n") {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim_start);
        let Some(data) = field("data:") else { continue };
        let unreadable = |error: serde_json::Error| bad_answer(operation, error.to_string());
        if field("event:") == Some("error") {
            return Err(ClientError::Problem(Box::new(serde_json::from_str(data).map_err(unreadable)?)));
        }
        events.push(serde_json::from_str(data).map_err(unreadable)?);
    }
    Ok(events)
}

fn bad_answer(operation: OperationId, reason: String) -> ClientError {
    ClientError::BadAnswer { operation: operation.name(), reason }
}

fn bad_request(operation: OperationId, error: &dyn std::error::Error) -> ClientError {
    ClientError::BadRequest { operation: operation.name(), reason: error.to_string() }
}
