//! `POST /v1/act`: decided and used in one request.

use crate::support::{Server, proposal};
use ordain_api::Role;
use serde_json::json;

#[test]
fn a_call_is_decided_and_used_in_one_request() {
    let server = Server::new();
    let both = server.token("hook", &[Role::Actor, Role::Worker], &["agent"], None);
    let one = server.token("half", &[Role::Actor], &["agent"], None);
    server
        .ask_with(Some(&one), "POST", "/v1/act", Some(&proposal("p1", "read")))
        .refused(403, "lacks the roles `actor` and `worker`");
    let act = |id: &str, action: &str, query: &str| {
        server.ask_with(Some(&both), "POST", &format!("/v1/act{query}"), Some(&proposal(id, action)))
    };
    let allowed = act("p1", "read", "").json();
    assert_eq!((&allowed["outcome"], &allowed["joined"]), (&json!("ALLOW"), &json!(false)));
    let path = format!("/v1/permits/{}/outcome", allowed["used"]["permit_id"].as_str().unwrap());
    let report = json!({"use": allowed["used"]["use"], "outcome": "succeeded"});
    assert_eq!(server.ask_with(Some(&both), "POST", &path, Some(&report)).status, 200);
    assert_eq!(act("p2", "delete", "").json()["outcome"], "DENY");
    // Held, approved by both leads, and repeated: the identical call uses the permit, once.
    let held = act("p3", "write", "").json();
    assert_eq!(held["outcome"], "HOLD");
    let status = server.get("ann", "/v1/actions/p3").json();
    server.approve("ann", &status);
    server.approve("bob", &status);
    let ran = act("p4", "write", "?waited_for=p3").json();
    assert_eq!(
        (&ran["outcome"], &ran["joined"], &ran["deed"]),
        (&json!("ALLOW"), &json!(true), &held["deed"])
    );
    act("p5", "write", "?waited_for=p3").refused(409, "another call already used the approval of `p3`");
}
