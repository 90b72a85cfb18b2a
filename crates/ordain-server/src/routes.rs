//! The one table of what there is. The router and the OpenAPI document come from it.

use crate::api::{actions, control, documents, evidence, ledger, notes, permits, server, tokens, wait};
use crate::app::App;
use crate::problem::Problem;
use axum::Router;
use axum::http::Method;
use axum::routing::{MethodRouter, delete, get, post};
use ordain_api::limits::{NAME_CHARACTERS_MAX, NAME_PATTERN, WHOLE_MAX};
use ordain_api::{
    ActionState, ActionStatus, EvidenceReceipt, GateStatus, KeyStatus, NewToken, OutcomeReport, PermitStatus,
    Role, TokenStatus, UseReceipt, VerdictRequest,
};
use ordain_spec::Kind;
use ordain_spec::action::{KernelRequest, Proposal};
use ordain_spec::note;
use ordain_spec::packet::EvidencePacket;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value as Json;

/// One thing that can be asked.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) who: Who,
    pub(crate) query: &'static [Parameter],
    pub(crate) body: Option<Form>,
    pub(crate) answers: &'static [Answer],
    handler: fn() -> MethodRouter<App>,
}

/// Who may ask.
pub(crate) enum Who {
    /// Anybody, without a token.
    Anybody,
    /// Anybody with a token.
    AnyToken,
    /// A token with one of these roles.
    Roles(&'static [Role]),
}

pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) required: bool,
    pub(crate) form: Form,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Json(Form),
    Text(&'static str),
    /// Server-sent events, each of this form.
    Events(Form),
    Problem,
}

pub(crate) type Form = fn(&mut SchemaGenerator) -> Schema;

fn form<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn action_form(generator: &mut SchemaGenerator) -> Schema {
    let (proposal, request) = (form::<Proposal>(generator), form::<KernelRequest>(generator));
    let names = named(&["proposal_id", "request_id", "actor"]);
    json_schema!({"anyOf": [proposal, request], "properties": names})
}

fn use_form(generator: &mut SchemaGenerator) -> Schema {
    let (action, request) = (form::<permits::UseRequest>(generator), form::<permits::RequestUse>(generator));
    json_schema!({"anyOf": [action, request]})
}

fn packet_form(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"allOf": [form::<EvidencePacket>(generator)], "properties": named(&["evidence_id", "sensor_id"])})
}

/// What the gate asks of these fields, beyond what the contracts say: they are names on record.
fn named(fields: &[&str]) -> serde_json::Map<String, Json> {
    let name = serde_json::json!({"maxLength": NAME_CHARACTERS_MAX, "pattern": NAME_PATTERN});
    fields.iter().map(|field| ((*field).to_owned(), name.clone())).collect()
}

/// An event of a stream.
fn event_form(generator: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = ActionState::ALL.iter().map(|state| state.name()).chain(["error"]).collect();
    let status = json_schema!({"anyOf": [form::<ActionStatus>(generator), form::<Problem>(generator)]});
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

fn open_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

/// Any document: what is wrong with it is said in the answer.
fn any_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}

fn kind_form(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    json_schema!({"type": "string", "enum": names})
}

fn name_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "minLength": 1})
}

fn page_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 1, "maximum": 500})
}

fn index_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 0, "maximum": WHOLE_MAX})
}

fn seconds_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 0, "maximum": 60})
}

const fn json(status: u16, about: &'static str, form: Form) -> Answer {
    Answer { status, about, content: Content::Json(form) }
}

const fn problem(status: u16, about: &'static str) -> Answer {
    Answer { status, about, content: Content::Problem }
}

const CONFLICT: Answer = problem(409, "Things are not so that it could be done");
const UNKNOWN: Answer = problem(404, "There is no such thing");

/// Who sees actions and permits: an actor its own, and the others all of them.
const SEES: &[Role] = &[Role::Actor, Role::Approver, Role::Operator, Role::Worker, Role::Auditor];

pub(crate) static ROUTES: &[Route] = &[
    Route {
        method: "post",
        path: "/v1/actions",
        summary: "Submit an action proposal or a KernelRequest; it is decided at once",
        who: Who::Roles(&[Role::Actor]),
        query: &[Parameter {
            name: "supersedes",
            about: "The held proposal that this one takes the place of",
            required: false,
            form: name_form,
        }],
        body: Some(action_form),
        answers: &[
            json(201, "Decided and on the ledger", form::<ActionStatus>),
            json(200, "It was submitted before; the recorded answer", form::<ActionStatus>),
            UNKNOWN,
            CONFLICT,
        ],
        handler: || post(actions::submit).get(actions::list),
    },
    Route {
        method: "get",
        path: "/v1/actions",
        summary: "Actions, in the order in which they last changed",
        who: Who::AnyToken,
        query: &[
            Parameter {
                name: "state",
                about: "Only those in this state",
                required: false,
                form: form::<ActionState>,
            },
            Parameter {
                name: "after",
                about: "The `next` of the page before",
                required: false,
                form: index_form,
            },
            Parameter { name: "limit", about: "How many at most", required: false, form: page_form },
        ],
        body: None,
        answers: &[json(200, "A page of actions", form::<actions::ActionPage>)],
        handler: MethodRouter::new,
    },
    Route {
        method: "get",
        path: "/v1/actions/{id}",
        summary: "Where an action stands; with `wait` the answer comes when it is no longer held",
        who: Who::Roles(SEES),
        query: &[Parameter {
            name: "wait",
            about: "Seconds to wait at most",
            required: false,
            form: seconds_form,
        }],
        body: None,
        answers: &[json(200, "Where it stands", form::<ActionStatus>), UNKNOWN],
        handler: || get(actions::status),
    },
    Route {
        method: "get",
        path: "/v1/actions/{id}/events",
        summary: "A stream of where an action stands, one event for each change, until nothing more can happen",
        who: Who::Roles(SEES),
        query: &[],
        body: None,
        answers: &[
            Answer {
                status: 200,
                about: "Server-sent events; each has the status as JSON",
                content: Content::Events(event_form),
            },
            UNKNOWN,
        ],
        handler: || get(wait::events),
    },
    Route {
        method: "post",
        path: "/v1/actions/{id}/approvals",
        summary: "Approve or reject a held action",
        who: Who::Roles(&[Role::Approver]),
        query: &[],
        body: Some(form::<VerdictRequest>),
        answers: &[json(200, "Decided again", form::<ActionStatus>), UNKNOWN, CONFLICT],
        handler: || post(actions::say),
    },
    Route {
        method: "post",
        path: "/v1/evidence",
        summary: "Put an evidence packet on record",
        who: Who::Roles(&[Role::Sensor]),
        query: &[],
        body: Some(packet_form),
        answers: &[
            json(201, "On record", form::<EvidenceReceipt>),
            json(200, "It was on record before", form::<EvidenceReceipt>),
            CONFLICT,
        ],
        handler: || post(evidence::add),
    },
    Route {
        method: "get",
        path: "/v1/permits/{id}",
        summary: "A permit and its uses",
        who: Who::Roles(SEES),
        query: &[],
        body: None,
        answers: &[json(200, "The permit", form::<PermitStatus>), UNKNOWN],
        handler: || get(permits::show),
    },
    Route {
        method: "post",
        path: "/v1/permits/{id}/use",
        summary: "Spend one use of a permit; everything is checked again",
        who: Who::Roles(&[Role::Worker]),
        query: &[],
        body: Some(use_form),
        answers: &[json(200, "One use is spent: act now", form::<UseReceipt>), UNKNOWN, CONFLICT],
        handler: || post(permits::spend),
    },
    Route {
        method: "post",
        path: "/v1/permits/{id}/outcome",
        summary: "OutcomeReport how a use went, or settle what is unknown",
        who: Who::Roles(&[Role::Worker, Role::Operator]),
        query: &[],
        body: Some(form::<OutcomeReport>),
        answers: &[json(200, "Recorded", form::<PermitStatus>), UNKNOWN, CONFLICT],
        handler: || post(permits::outcome),
    },
    Route {
        method: "get",
        path: "/v1/ledger/checkpoint",
        summary: "The signed head of the ledger (C2SP tlog-checkpoint)",
        who: Who::AnyToken,
        query: &[],
        body: None,
        answers: &[Answer { status: 200, about: "A signed note", content: Content::Text("text/plain") }],
        handler: || get(ledger::checkpoint),
    },
    Route {
        method: "get",
        path: "/v1/ledger/proof",
        summary: "A proof that an entry is on the ledger (C2SP tlog-proof), with the entry",
        who: Who::Roles(&[Role::Auditor, Role::Operator]),
        query: &[Parameter { name: "index", about: "The entry", required: true, form: index_form }],
        body: None,
        answers: &[
            Answer { status: 200, about: "A proof file", content: Content::Text("text/plain") },
            UNKNOWN,
        ],
        handler: || get(ledger::proof),
    },
    Route {
        method: "get",
        path: "/v1/ledger/consistency",
        summary: "A proof that the ledger only grew between two sizes (RFC 6962)",
        who: Who::Roles(&[Role::Auditor, Role::Operator]),
        query: &[
            Parameter { name: "old", about: "The smaller size", required: true, form: index_form },
            Parameter { name: "new", about: "The larger size", required: true, form: index_form },
        ],
        body: None,
        answers: &[json(200, "The proof", form::<ledger::Consistency>), UNKNOWN],
        handler: || get(ledger::consistency),
    },
    Route {
        method: "get",
        path: "/v1/ledger/entries",
        summary: "Entries of the ledger",
        who: Who::Roles(&[Role::Auditor, Role::Operator]),
        query: &[
            Parameter { name: "from", about: "The first entry", required: false, form: index_form },
            Parameter { name: "limit", about: "How many at most", required: false, form: page_form },
        ],
        body: None,
        answers: &[json(200, "Entries", form::<ledger::EntryPage>)],
        handler: || get(ledger::entries),
    },
    Route {
        method: "get",
        path: "/v1/gate",
        summary: "The gate itself: halted or not, the policies in force",
        who: Who::AnyToken,
        query: &[],
        body: None,
        answers: &[json(200, "The gate", form::<GateStatus>)],
        handler: || get(control::status),
    },
    Route {
        method: "post",
        path: "/v1/halt",
        summary: "Halt: from now on nothing is allowed and no permit can be spent",
        who: Who::Roles(&[Role::Operator]),
        query: &[],
        body: Some(form::<control::Why>),
        answers: &[json(200, "Halted", form::<GateStatus>)],
        handler: || post(control::halt),
    },
    Route {
        method: "post",
        path: "/v1/resume",
        summary: "Lift a halt",
        who: Who::Roles(&[Role::Operator]),
        query: &[],
        body: Some(form::<control::Why>),
        answers: &[json(200, "Open", form::<GateStatus>)],
        handler: || post(control::resume),
    },
    Route {
        method: "post",
        path: "/v1/policy/reload",
        summary: "Read the policy folder again and put it in force; what is invalid changes nothing",
        who: Who::Roles(&[Role::Operator]),
        query: &[],
        body: None,
        answers: &[json(200, "In force", form::<control::Reloaded>), CONFLICT],
        handler: || post(control::reload),
    },
    Route {
        method: "post",
        path: "/v1/keys/rotate",
        summary: "Sign with a new key from now on",
        who: Who::Roles(&[Role::Operator]),
        query: &[],
        body: None,
        answers: &[json(200, "The new key", form::<KeyStatus>)],
        handler: || post(control::rotate_key),
    },
    Route {
        method: "post",
        path: "/v1/tokens",
        summary: "Make a token; its secret is shown once",
        who: Who::Roles(&[Role::Operator]),
        query: &[],
        body: Some(form::<NewToken>),
        answers: &[json(201, "The token", form::<tokens::MadeToken>), CONFLICT],
        handler: || post(tokens::create).get(tokens::list),
    },
    Route {
        method: "get",
        path: "/v1/tokens",
        summary: "All tokens, without their secrets",
        who: Who::Roles(&[Role::Operator, Role::Auditor]),
        query: &[],
        body: None,
        answers: &[json(200, "Tokens", form::<tokens::TokenList>)],
        handler: MethodRouter::new,
    },
    Route {
        method: "delete",
        path: "/v1/tokens/{id}",
        summary: "Revoke a token, at once and everywhere",
        who: Who::Roles(&[Role::Operator]),
        query: &[],
        body: None,
        answers: &[json(200, "Revoked", form::<TokenStatus>), UNKNOWN],
        handler: || delete(tokens::revoke),
    },
    Route {
        method: "post",
        path: "/v1/transform",
        summary: "Transform an intent into a bundle",
        who: Who::AnyToken,
        query: &[],
        body: Some(any_form),
        answers: &[json(200, "A bundle, a bundle with questions, or a refusal", open_form)],
        handler: || post(documents::transform),
    },
    Route {
        method: "post",
        path: "/v1/verify",
        summary: "Verify a document of any kind",
        who: Who::AnyToken,
        query: &[Parameter {
            name: "kind",
            about: "What to take it for, if it does not say so itself",
            required: false,
            form: kind_form,
        }],
        body: Some(any_form),
        answers: &[json(200, "What was found", form::<documents::VerifiedForm>)],
        handler: || post(documents::verify),
    },
    Route {
        method: "post",
        path: "/proposal",
        summary: "Have a model draft a note; the answer is a verified note proposal",
        who: Who::Roles(&[Role::Actor]),
        query: &[],
        body: Some(notes::draft_form),
        answers: &[
            json(200, "The proposal; it is on the ledger", form::<note::Proposal>),
            problem(422, "The model's answer did not fit, or none is recorded for this prompt"),
            problem(502, "The model's answer cannot be used, or its provider refuses"),
            problem(504, "The model did not answer in time"),
        ],
        handler: || post(notes::draft),
    },
    Route {
        method: "get",
        path: "/proposal/failures/{id}",
        summary: "What the model answered to a request of one's own that failed, redacted; it can be read once",
        who: Who::Roles(&[Role::Actor]),
        query: &[],
        body: None,
        answers: &[json(200, "The answer, which is gone now", form::<notes::FailedDraft>), UNKNOWN],
        handler: || get(notes::failure),
    },
    Route {
        method: "post",
        path: "/validate",
        summary: "Hold a note proposal against the contract, the vault's routing and its notes",
        who: Who::AnyToken,
        query: &[],
        body: Some(any_form),
        answers: &[json(200, "What was found", form::<notes::Validated>)],
        handler: || post(notes::validate),
    },
    Route {
        method: "get",
        path: "/health",
        summary: "Whether the server lives",
        who: Who::Anybody,
        query: &[],
        body: None,
        answers: &[json(200, "It lives", form::<server::Health>)],
        handler: || get(server::health),
    },
    Route {
        method: "get",
        path: "/ready",
        summary: "Whether the server can work: the store answers, the policies in force can be read, and the ledger's head fits its entries",
        who: Who::Anybody,
        query: &[],
        body: None,
        answers: &[json(200, "It can", form::<server::Ready>)],
        handler: || get(server::ready),
    },
    Route {
        method: "get",
        path: "/metrics",
        summary: "Metrics in Prometheus' text format",
        who: Who::Anybody,
        query: &[],
        body: None,
        answers: &[Answer { status: 200, about: "Metrics", content: Content::Text("text/plain") }],
        handler: || get(server::metrics),
    },
    Route {
        method: "get",
        path: "/.well-known/jwks.json",
        summary: "The public keys of permits",
        who: Who::Anybody,
        query: &[],
        body: None,
        answers: &[json(200, "A JWK set", form::<server::Jwks>)],
        handler: || get(server::jwks),
    },
    Route {
        method: "get",
        path: "/openapi.json",
        summary: "This description",
        who: Who::Anybody,
        query: &[],
        body: None,
        answers: &[json(200, "OpenAPI 3.1", open_form)],
        handler: || get(server::description),
    },
];

/// Whether a route is answered without a token.
pub(crate) fn is_open(path: &str) -> bool {
    ROUTES.iter().any(|route| route.path == path && matches!(route.who, Who::Anybody))
}

/// Whether a request to a route may take as long as it asks for.
pub(crate) fn waits(path: &str, query: Option<&str>) -> bool {
    match path {
        "/v1/actions/{id}" => query.is_some_and(|query| query.contains("wait")),
        "/v1/actions/{id}/events" => true,
        _ => false,
    }
}

/// Who may ask for something that there is.
pub(crate) fn who(method: &Method, path: &str) -> Option<&'static Who> {
    // Whoever may read something may ask for its head.
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let route = |it: &&Route| it.path == path && it.method.eq_ignore_ascii_case(method.as_str());
    ROUTES.iter().find(route).map(|route| &route.who)
}

pub(crate) fn router() -> Router<App> {
    ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, (route.handler)()))
}

/// The problems that any route may answer with.
pub(crate) fn problems(route: &Route) -> Vec<(u16, &'static str)> {
    let mut problems = vec![
        (500, "What is on record is damaged, or the server made a mistake"),
        (
            503,
            "Busy, or the store cannot be reached: nothing was done, try again. With the code `uncertain` it may have been \
             done: look first",
        ),
    ];
    if !matches!(route.who, Who::Anybody) {
        problems.push((400, "What was sent cannot be used; `errors` says why"));
        problems.push((401, "No token, or one that does not hold"));
        problems.push((403, "This caller may not, or the kernel refuses; `reasons` says why"));
        problems.push((429, "Too many requests of one principal at once"));
    }
    if route.body.is_some() {
        problems.push((408, "The body did not arrive in time"));
        problems.push((413, "The body is too long"));
        problems.push((415, "The body is not JSON"));
    }
    problems
}

/// The form of every problem.
pub(crate) fn problem_form(generator: &mut SchemaGenerator) -> Schema {
    form::<Problem>(generator)
}
