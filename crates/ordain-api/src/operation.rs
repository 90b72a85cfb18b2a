//! One operation: its path, the roles that may call it, its request and its answers.

use crate::operations::OPERATIONS;
use crate::role::Role;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// One operation of the gate. The router, the OpenAPI document and the client are built from these.
pub struct Operation {
    /// Its id, which is also the `operationId` of the OpenAPI document.
    pub id: OperationId,
    /// The HTTP method.
    pub method: Method,
    /// The path, with `{id}` for a name.
    pub path: &'static str,
    /// One sentence on its effect.
    pub summary: &'static str,
    /// The roles that may call it.
    pub access: Access,
    /// The type of its query.
    pub query: Option<SchemaOf>,
    /// The body of its request.
    pub body: Option<Body>,
    /// Its answers, but for the problems that any operation may answer with.
    pub answers: &'static [Answer],
    /// Whether it may take long.
    pub long_poll: LongPoll,
    /// Whether a person must be present, on a gate that has an owner.
    pub presence: Presence,
    /// Whether it is about a workspace: a user at the other end of a unix socket names a registered folder.
    pub workspace: bool,
    /// Whether callers without a token take turns, because it asks the store.
    pub takes_turns: bool,
    /// Whether it always writes, and the write itself checks that the token is still valid.
    pub guards_token: bool,
}

/// The HTTP method of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes something, or computes.
    Post,
    /// Takes something away.
    Delete,
}

/// The callers of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Anybody, without a token.
    Anybody,
    /// Anybody with a token.
    AnyToken,
    /// A token with one of these roles.
    Roles(&'static [Role]),
    /// A token with all of these roles.
    AllRoles(&'static [Role]),
}

/// Whether a person must be present: whether their key signs a statement for this request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// It changes the gate: an owner signs. Operations that only read are not concerned.
    OwnerAct,
    /// The policies say; see `@assurance`.
    AsPoliciesSay,
    /// Nobody need be: it changes no rule, or it only makes the gate stricter.
    NotNeeded,
}

/// Whether an operation may take long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LongPoll {
    /// It answers at once.
    Never,
    /// It waits if the query says `wait`; see [`crate::ActionQuery`].
    OnRequest,
    /// It is a stream, or a check of everything, with a limit of its own.
    Always,
}

/// The schema of a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// A JSON body.
pub struct Body {
    /// Its form.
    pub schema: SchemaOf,
    /// How long it may be.
    pub bytes_max: usize,
}

/// An answer.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// When it is given.
    pub summary: &'static str,
    /// Its type.
    pub content: Content,
}

/// The body of an answer.
pub enum Content {
    /// JSON of this form.
    Json(SchemaOf),
    /// Plain text.
    Text,
    /// Server-sent events of this form.
    Events(SchemaOf),
    /// A problem.
    Problem,
}

/// Names the variants once, for the enum, for the list and for `name`.
macro_rules! operation_ids {
    ($($variant:ident = $name:literal,)*) => {
        /// The id of an operation.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[expect(missing_docs, reason = "the summary of each operation is in the table")]
        pub enum OperationId {
            $($variant,)*
        }

        impl OperationId {
            /// All of them, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The `operationId` of the OpenAPI document.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

operation_ids! {
    SubmitAction = "submit_action",
    Act = "act",
    ListActions = "list_actions",
    GetAction = "get_action",
    StreamActionEvents = "stream_action_events",
    GetView = "get_view",
    GetDossier = "get_dossier",
    RecordVerdict = "record_verdict",
    AddEvidence = "add_evidence",
    GetPermit = "get_permit",
    UsePermit = "use_permit",
    ReportOutcome = "report_outcome",
    GetCheckpoint = "get_checkpoint",
    GetProof = "get_proof",
    GetConsistency = "get_consistency",
    ListEntries = "list_entries",
    CheckRecords = "check_records",
    GetDocument = "get_document",
    StreamEvents = "stream_events",
    GetGate = "get_gate",
    Halt = "halt",
    Resume = "resume",
    StartObservation = "start_observation",
    EndObservation = "end_observation",
    PushPolicy = "push_policy",
    GetPolicy = "get_policy",
    GetActTerms = "get_act_terms",
    EnrolApproverKey = "enrol_approver_key",
    ListApproverKeys = "list_approver_keys",
    RevokeApproverKey = "revoke_approver_key",
    RotateKey = "rotate_key",
    CreateToken = "create_token",
    ListTokens = "list_tokens",
    RevokeToken = "revoke_token",
    ListGrants = "list_grants",
    RevokeGrant = "revoke_grant",
    CreateSession = "create_session",
    EndSession = "end_session",
    RegisterProject = "register_project",
    ListProjects = "list_projects",
    ForgetProject = "forget_project",
    ListServers = "list_servers",
    GetServer = "get_server",
    ReportListing = "report_listing",
    PinServer = "pin_server",
    BlockTool = "block_tool",
    TransformIntent = "transform_intent",
    VerifyDocument = "verify_document",
    DraftNote = "draft_note",
    GetFailedDraft = "get_failed_draft",
    ValidateNote = "validate_note",
    GetHealth = "get_health",
    GetReady = "get_ready",
    GetMetrics = "get_metrics",
    GetKeys = "get_keys",
    GetDescription = "get_description",
}

impl OperationId {
    /// The operation's row of the table.
    pub fn operation(self) -> &'static Operation {
        #[expect(clippy::indexing_slicing, reason = "a test compares the order of the table and of the ids")]
        &OPERATIONS[self as usize]
    }
}

/// Characters of a name that a path takes unescaped (RFC 3986, unreserved).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl Operation {
    /// The path with these names in the place of the templates.
    pub fn path(&self, names: &[(&str, &str)]) -> String {
        names.iter().fold(self.path.to_owned(), |path, (name, value)| {
            path.replace(&format!("{{{name}}}"), &utf8_percent_encode(value, RESERVED).to_string())
        })
    }

    /// Whether an owner signs it, on a gate that has one.
    pub fn is_owner_act(&self) -> bool {
        self.method != Method::Get && self.presence == Presence::OwnerAct
    }

    /// The names of the templates in the path.
    pub fn path_names(&self) -> impl Iterator<Item = &'static str> {
        let name = |segment: &'static str| segment.strip_prefix('{')?.strip_suffix('}');
        self.path.split('/').filter_map(name)
    }
}

impl Method {
    /// As HTTP writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// The schema of a type, by reference where it is a component.
pub(crate) fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The schema of a query, whose fields become parameters.
pub(crate) fn query<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

pub(crate) const fn json(status: u16, summary: &'static str, schema: SchemaOf) -> Answer {
    Answer { status, summary, content: Content::Json(schema) }
}

pub(crate) const fn text(summary: &'static str) -> Answer {
    Answer { status: 200, summary, content: Content::Text }
}

pub(crate) const fn problem(status: u16, summary: &'static str) -> Answer {
    Answer { status, summary, content: Content::Problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_id_has_its_row() {
        let rows: Vec<OperationId> = OPERATIONS.iter().map(|operation| operation.id).collect();
        assert_eq!(rows, OperationId::ALL);
        let places: BTreeSet<_> = OPERATIONS.iter().map(|row| (row.path, row.method.name())).collect();
        assert_eq!(places.len(), OPERATIONS.len());
        let names: BTreeSet<&str> = OperationId::ALL.iter().map(|id| id.name()).collect();
        assert_eq!(names.len(), OPERATIONS.len());
    }

    #[test]
    fn only_open_operations_take_turns_and_answers_name_a_status_once() {
        for operation in OPERATIONS {
            let id = operation.id.name();
            assert!(!operation.takes_turns || operation.access == Access::Anybody, "{id}");
            let statuses: BTreeSet<u16> = operation.answers.iter().map(|answer| answer.status).collect();
            assert_eq!(statuses.len(), operation.answers.len(), "{id}");
        }
    }

    /// An operation that writes is an owner act unless it is listed here, with its reason.
    #[test]
    fn only_these_writes_need_no_presence() {
        let without: Vec<(&str, Presence)> = OPERATIONS
            .iter()
            .filter(|operation| operation.method != Method::Get && !operation.is_owner_act())
            .map(|operation| (operation.id.name(), operation.presence))
            .collect();
        let expected = [
            // Propose, act, use, report, evidence: the policies decide about each.
            ("submit_action", Presence::NotNeeded),
            ("act", Presence::NotNeeded),
            // Rejecting needs no presence; approving needs as much as the policies ask for.
            ("record_verdict", Presence::AsPoliciesSay),
            ("add_evidence", Presence::NotNeeded),
            ("use_permit", Presence::NotNeeded),
            ("report_outcome", Presence::NotNeeded),
            // A halt only makes the gate stricter.
            ("halt", Presence::NotNeeded),
            // So does the end of an observation.
            ("end_observation", Presence::NotNeeded),
            // A grant that is gone leaves its calls held.
            ("revoke_grant", Presence::NotNeeded),
            // A session may look. Its decisions are signed.
            ("create_session", Presence::NotNeeded),
            ("end_session", Presence::NotNeeded),
            // A gateway tells what it saw. Nothing of it counts before an owner approves, unless policies say so.
            ("report_listing", Presence::NotNeeded),
            // A block only makes the gate stricter.
            ("block_tool", Presence::NotNeeded),
            // These compute, and change nothing.
            ("transform_intent", Presence::NotNeeded),
            ("verify_document", Presence::NotNeeded),
            ("draft_note", Presence::NotNeeded),
            ("validate_note", Presence::NotNeeded),
        ];
        assert_eq!(without, expected);
        for operation in OPERATIONS.iter().filter(|operation| operation.is_owner_act()) {
            assert!(matches!(operation.access, Access::Roles(_)), "{}", operation.id.name());
        }
    }

    #[test]
    fn names_are_escaped_in_paths() {
        let operation = OperationId::RecordVerdict.operation();
        assert_eq!(operation.path(&[("id", "p-1_a.b~")]), "/v1/actions/p-1_a.b~/approvals");
        assert_eq!(
            operation.path(&[("id", "a/b?c=ü {id}")]),
            "/v1/actions/a%2Fb%3Fc%3D%C3%BC%20%7Bid%7D/approvals"
        );
        assert_eq!(operation.path_names().collect::<Vec<_>>(), ["id"]);
    }
}
