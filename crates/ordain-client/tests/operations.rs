//! Every operation of the table has a method, and the method sends what the table says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use ordain_api::{
    ActionsQuery, DraftRequest, EndedObservation, EntriesQuery, KernelUseRequest, Method, NewApproverKey,
    NewObservation, NewProject, NewSession, NewToken, OPERATIONS, OperationId, OutcomeReport, OwnerAct,
    PolicyPush, Problem, ProblemCode, Role, UseOutcome, UseRequest, VerdictRequest,
};
use ordain_client::{ActionEvent, Client, ClientError, Reply, Request, Transport, TransportError};
use ordain_spec::Kind;
use ordain_spec::action::{ActionType, KernelRequest, Target};
use ordain_spec::approval::Verdict;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Notes every request and answers all of them alike.
struct Recorder {
    requests: Mutex<Vec<Request>>,
    reply: Reply,
}

impl Transport for Recorder {
    fn send(&self, request: &Request) -> Result<Reply, TransportError> {
        self.requests.lock().unwrap().push(request.clone());
        Ok(self.reply.clone())
    }
}

fn recorder(status: u16, body: &Json) -> (Client, Arc<Recorder>) {
    let reply =
        Reply { status, content_type: "application/json".to_owned(), body: body.to_string().into_bytes() };
    let recorder = Arc::new(Recorder { requests: Mutex::default(), reply });
    (Client::new(Arc::clone(&recorder)), recorder)
}

/// The operation that a request is for.
fn operation(request: &Request) -> OperationId {
    let path = request.path.split('?').next().unwrap();
    let fits = |template: &str| {
        let names = template.split('/').zip(path.split('/')).all(|(a, b)| a == b || a.starts_with('{'));
        names && template.split('/').count() == path.split('/').count()
    };
    let mut found =
        OPERATIONS.iter().filter(|operation| operation.method == request.method && fits(operation.path));
    let operation = found.next().unwrap_or_else(|| panic!("{request:?}"));
    assert!(found.next().is_none(), "{request:?}");
    operation.id
}

fn kernel_request() -> KernelRequest {
    serde_json::from_value(json!({
        "request_id": "r1", "ts_ms": 1, "actor": "agent", "intent": "look",
        "tool_call": {"name": "crm.read", "params": {}},
    }))
    .unwrap()
}

fn call_all(client: &Client) {
    let approver_key = NewApproverKey {
        principal: "ann".to_owned(),
        public_key: "AA".to_owned(),
        owner: false,
        passkey: None,
    };
    let action = UseRequest {
        permit: "eyJ".to_owned(),
        action_type: ActionType::Read,
        target: serde_json::from_value::<Target>(
            json!({"resource_type": "a", "resource_id": "b", "domain": "c", "constraints": {}}),
        )
        .unwrap(),
        parameters: Map::new(),
    };
    let verdict = VerdictRequest {
        verdict: Verdict::Approve,
        reason: String::new(),
        view_digest: "sha256:0".to_owned(),
        signed: None,
        scope: None,
    };
    let report = OutcomeReport {
        number: 1,
        outcome: UseOutcome::Succeeded,
        affected_records: None,
        duration_ms: None,
        reason: String::new(),
        change: None,
    };
    let token = NewToken {
        principal: "ann".to_owned(),
        roles: BTreeSet::from([Role::Approver]),
        names: BTreeSet::new(),
        expires_at_ms: None,
        secret: None,
    };
    let request = KernelUseRequest { permit: "eyJ".to_owned(), request: kernel_request() };
    // The recorder's answer fits none of them; only the requests are looked at.
    let listing = ordain_api::ListingReport {
        actor: "a".to_owned(),
        listing: ordain_spec::mcp::Listing::default(),
        whole: true,
    };
    let pins = ordain_api::NewPins {
        listing_document: "sha256:0".to_owned(),
        pins: ordain_spec::mcp::Pins::none("s", None),
    };
    let _ = client.submit(b"{}", Some("p 0"));
    let _ = client.act(b"{}", &ordain_api::ActQuery::default());
    let _ = client.actions(&ActionsQuery::default());
    let _ = client.action("p/1");
    let _ = client.wait_for_action("p1", 5);
    let _ = client.action_events("p1");
    let _ = client.view("p1", Some("sha256:0"));
    let _ = client.events(Some(3), 0);
    let _ = client.record_verdict("p1", &verdict);
    let _ = client.add_evidence(b"{}");
    let _ = client.permit("x");
    let _ = client.use_permit("x", &action);
    let _ = client.use_permit_for_request("x", &request);
    let _ = client.report_outcome("x", &report);
    let _ = client.checkpoint();
    let _ = client.proof(3);
    let _ = client.consistency(1, 2);
    let _ = client.entries(&EntriesQuery { from: Some(7), ..EntriesQuery::default() });
    let _ = client.fsck();
    let _ = client.document("sha256:00");
    let _ = client.dossier("p1");
    let _ = client.gate();
    let _ = client.halt("fire");
    let _ = client.resume("out");
    let new = NewObservation { hook: None, reason: "a release".to_owned(), until_ms: 1 };
    let _ = client.start_observation(&new);
    let _ = client.end_observation(&EndedObservation { hook: None });
    let _ = client.push_policy(&PolicyPush { files: BTreeMap::new(), from: None });
    let _ = client.policy(Some("sha256:0"));
    let _ = client.act_terms(OwnerAct::Resume);
    let _ = client.enrol_approver_key(&approver_key);
    let _ = client.approver_keys();
    let _ = client.revoke_approver_key("k");
    let _ = client.rotate_key();
    let _ = client.create_token(&token);
    let _ = client.tokens();
    let _ = client.revoke_token("t");
    let _ = client.grants();
    let _ = client.revoke_grant("g");
    let _ = client.create_session(&NewSession { code: "c".to_owned() });
    let _ = client.end_session(true);
    let _ = client.register_project(&NewProject { path: "/shop".to_owned(), worktrees_of: None });
    let _ = client.projects();
    let _ = client.forget_project("s");
    let _ = client.servers();
    let _ = client.server("s");
    let _ = client.report_listing("s", &listing);
    let _ = client.pin_server("s", &pins);
    let _ = client.block_tool("s", "t");
    let _ = client.transform(b"{}");
    let _ = client.verify(b"{}", Some(Kind::Note));
    let _ = client.draft_note(&DraftRequest { prompt: Some("a note".to_owned()), ..DraftRequest::default() });
    let _ = client.draft_failure("c");
    let _ = client.validate_note(b"{}");
    let _ = client.health();
    let _ = client.ready();
    let _ = client.metrics();
    let _ = client.keys();
    let _ = client.description();
}

#[test]
fn every_operation_has_a_method() {
    let (client, recorder) = recorder(200, &json!(null));
    call_all(&client);
    let requests = recorder.requests.lock().unwrap();
    let called: BTreeSet<OperationId> = requests.iter().map(operation).collect();
    assert_eq!(called, OperationId::ALL.iter().copied().collect());
    for request in requests.iter() {
        let row = operation(request).operation();
        assert_eq!(request.body.is_some(), row.body.is_some(), "{}", row.id.name());
    }
}

#[test]
fn names_and_queries_are_escaped() {
    let (client, recorder) = recorder(200, &json!(null));
    call_all(&client);
    let requests = recorder.requests.lock().unwrap();
    let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    for path in [
        "/v1/actions?supersedes=p+0",
        "/v1/actions",
        "/v1/actions/p%2F1",
        "/v1/actions/p1?wait=5",
        "/v1/ledger/proof?index=3",
        "/v1/ledger/consistency?old=1&new=2",
        "/v1/ledger/entries?from=7",
        "/v1/verify?kind=note",
    ] {
        assert!(paths.contains(&path), "{path} is not in {paths:?}");
    }
    let waits: Vec<(&str, u64)> = requests
        .iter()
        .filter(|request| request.wait > Duration::ZERO)
        .map(|request| (request.path.as_str(), request.wait.as_secs()))
        .collect();
    let expected = [("/v1/actions/p1?wait=5", 5), ("/v1/actions/p1/events", 3_600), ("/v1/ledger/fsck", 600)];
    assert_eq!(waits, expected);
    assert!(requests.iter().any(|request| request.method == Method::Delete));
}

#[test]
fn an_unknown_id_is_nothing_and_an_unknown_path_is_an_error() {
    let (client, _) = recorder(404, &json!(Problem::new(ProblemCode::Unknown, "there is no action `p1`")));
    assert_eq!(client.action("p1").unwrap(), None);
    assert_eq!(client.wait_for_action("p1", 1).unwrap(), None);
    assert_eq!(client.permit("x").unwrap(), None);
    assert_eq!(client.gate().unwrap_err().code(), Some(ProblemCode::Unknown));
    let problem = Problem::new(ProblemCode::NoRoute, "the server has no such path").with_hint("look there");
    let (client, _) = recorder(404, &json!(problem));
    let error = client.action("p1").unwrap_err();
    assert_eq!((error.code(), error.hint()), (Some(ProblemCode::NoRoute), Some("look there")));
}

#[test]
fn an_answer_that_is_not_in_the_table_is_an_error() {
    let (client, _) = recorder(200, &json!({"origin": 1}));
    assert!(matches!(client.gate(), Err(ClientError::BadAnswer { operation: "get_gate", .. })));
    let (client, _) = recorder(204, &json!({}));
    assert!(matches!(client.gate(), Err(ClientError::BadAnswer { .. })));
    let (client, _) = recorder(502, &json!("a proxy"));
    let error = client.gate().unwrap_err();
    assert_eq!(error.to_string(), "cannot read the answer of `get_gate`: its status is 502");
}

#[test]
fn events_are_read_and_comments_are_not() {
    let problem = Problem::new(ProblemCode::Store, "gone");
    let text = format!(":\n\nevent: error\ndata: {}\n\n:\n\n", serde_json::to_string(&problem).unwrap());
    let reply = Reply { status: 200, content_type: "text/event-stream".to_owned(), body: text.into_bytes() };
    let client = Client::new(Recorder { requests: Mutex::default(), reply });
    assert_eq!(client.action_events("p1").unwrap(), [ActionEvent::Failed(Box::new(problem))]);
}
