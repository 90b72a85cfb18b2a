//! `ordain-client` with a real gate: over HTTP, and in the same process.

use crate::support::{Server, proposal};
use ordain_api::{
    ActionState, ActionStatus, ActionsQuery, EntriesQuery, OutcomeReport, ProblemCode, UseOutcome,
    UseRequest, VerdictRequest,
};
use ordain_client::{ActionEvent, Client, HttpTransport};
use ordain_gate::Caller;
use ordain_server::{App, InProcess};
use ordain_spec::approval::Verdict;
use std::sync::Arc;

fn http(server: &Server, who: &str) -> Client {
    let url = format!("http://{}", server.address);
    Client::new(HttpTransport::new(&url, server.token_of(who)).unwrap())
}

fn in_process(server: &Server, who: &str) -> Client {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let app = App::new(server.gate.clone());
    Client::new(InProcess {
        runtime: Arc::new(runtime),
        app,
        caller: Caller::local(who).with_agents(["agent"]),
    })
}

#[test]
fn from_a_proposal_to_its_outcome() {
    for connect in [http, in_process] {
        let server = Server::new();
        let write = proposal("p1", "write");
        let submit = || connect(&server, "andy").submit(write.to_string().as_bytes(), None).unwrap();
        let submitted = submit();
        assert!(submitted.new && submitted.status.state == ActionState::Held);
        assert!(!submit().new);
        for approver in ["ann", "bob"] {
            let client = connect(&server, approver);
            let status = client.action("p1").unwrap().unwrap();
            let verdict = VerdictRequest {
                verdict: Verdict::Approve,
                reason: String::new(),
                view_digest: status.view_digest,
                signed: None,
                scope: None,
            };
            client.record_verdict("p1", &verdict).unwrap();
        }
        let worker = connect(&server, "will");
        let status = worker.wait_for_action("p1", 5).unwrap().unwrap();
        assert_eq!(status.state, ActionState::Allowed);
        use_once(&worker, status, &write);
        let states = |event: &ActionEvent| match event {
            ActionEvent::Changed(status) => status.state,
            ActionEvent::Failed(problem) => panic!("{problem:?}"),
        };
        let events = worker.action_events("p1").unwrap();
        assert_eq!(events.iter().map(states).collect::<Vec<_>>(), [ActionState::Succeeded]);
        assert_eq!(worker.action("p2").unwrap(), None);
        assert_eq!(worker.actions(&ActionsQuery::default()).unwrap().actions.len(), 1);
        let auditor = connect(&server, "audrey");
        let page = auditor
            .entries(&EntriesQuery { from: Some(0), limit: Some(2), ..EntriesQuery::default() })
            .unwrap();
        assert_eq!((page.entries.len(), page.size), (2, server.size()));
        assert_eq!(auditor.consistency(1, page.size).unwrap().new, page.size);
        assert!(auditor.checkpoint().unwrap().contains('\n') && auditor.proof(0).unwrap().contains('\n'));
        assert_eq!(auditor.health().unwrap().status, "ok");
        assert_eq!(auditor.keys().unwrap().keys.len(), 1);
        assert_eq!(auditor.ready().unwrap().ledger_size, page.size);
    }
}

fn use_once(worker: &Client, status: ActionStatus, proposal: &serde_json::Value) {
    let permit = status.permit.unwrap();
    let request = UseRequest {
        permit: permit.token.unwrap(),
        action_type: serde_json::from_value(proposal["action_type"].clone()).unwrap(),
        target: serde_json::from_value(proposal["target"].clone()).unwrap(),
        parameters: proposal["parameters"].as_object().unwrap().clone(),
    };
    let receipt = worker.use_permit(&permit.permit_id, &request).unwrap();
    let report = OutcomeReport {
        number: receipt.number,
        outcome: UseOutcome::Succeeded,
        affected_records: Some(1),
        duration_ms: None,
        reason: String::new(),
        change: None,
    };
    assert_eq!(worker.report_outcome(&permit.permit_id, &report).unwrap().used, 1);
    let again = worker.use_permit(&permit.permit_id, &request).unwrap_err();
    assert_eq!(again.code(), Some(ProblemCode::Conflict));
}

#[test]
fn a_role_is_missing_over_http_and_the_problem_says_so() {
    let server = Server::new();
    let error = http(&server, "andy").halt("smoke").unwrap_err();
    assert_eq!(error.code(), Some(ProblemCode::Forbidden));
    let url = format!("http://{}", server.address);
    let stranger = Client::new(HttpTransport::new(&url, "ordain_0123456789abcdef_none").unwrap());
    assert_eq!(stranger.gate().unwrap_err().code(), Some(ProblemCode::Unauthenticated));
}
