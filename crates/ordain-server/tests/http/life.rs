//! The life of an action over HTTP, and everything beside it.

use crate::support::{NOW, Server, exchange, packet, policies, proposal, text};
use ordain_ledger::{Checkpoint, SignedNote};
use serde_json::json;

#[test]
fn an_allowed_action_is_spent_and_its_outcome_is_on_record() {
    let server = Server::new();
    let read = proposal("p1", "read");
    let first = server.post("andy", "/v1/actions", &read);
    let status = first.expect(201);
    assert_eq!((text(&status["state"]), text(&status["actor"])), ("allowed", "agent"));
    // The same again is the same answer, and not a second decision.
    let size = server.size();
    assert_eq!(server.post("andy", "/v1/actions", &read).expect(200), status);
    assert_eq!(server.size(), size);
    let mut other = read.clone();
    other["target"]["resource_id"] = json!("8");
    server.post("andy", "/v1/actions", &other).refused(409, "submitted before with other content");

    let permit_id = text(&status["permit"]["permit_id"]);
    let shown = server.get("will", &format!("/v1/permits/{permit_id}")).expect(200);
    assert_eq!(shown, status["permit"]);
    // An auditor sees the permit, and cannot use it.
    let shown = server.get("audrey", &format!("/v1/permits/{permit_id}")).expect(200);
    assert!(shown["token"].is_null());

    let spent = server.spend(&status, &read).expect(200);
    assert_eq!((&spent["use"], &spent["uses_left"]), (&json!(1), &json!(1)));
    assert_eq!(text(&server.get("andy", "/v1/actions/p1").expect(200)["state"]), "running");
    let report = json!({"use": 1, "outcome": "succeeded", "affected_records": 1, "duration_ms": 12});
    let path = format!("/v1/permits/{permit_id}/outcome");
    let settled = server.post("will", &path, &report).expect(200);
    assert_eq!(settled["uses"][0]["settled"]["outcome"], json!("succeeded"));
    // The same report again changes nothing; another one is refused.
    let size = server.size();
    assert_eq!(server.post("will", &path, &report).expect(200), settled);
    assert_eq!(server.size(), size);
    let otherwise = json!({"use": 1, "outcome": "failed"});
    server.post("will", &path, &otherwise).refused(409, "settled already");
    server.post("will", &path, &json!({"use": 9, "outcome": "failed"})).refused(404, "has no use 9");
    assert_eq!(text(&server.get("andy", "/v1/actions/p1").expect(200)["state"]), "succeeded");
}

#[test]
fn a_held_action_is_approved_rejected_or_superseded() {
    let server = Server::new();
    let write = proposal("p1", "write");
    let status = server.submit(&write);
    assert_eq!(text(&status["state"]), "held");
    assert!(status["permit"].is_null());
    let first = server.approve("ann", &status).expect(200);
    assert_eq!((text(&first["state"]), first["approvals"].as_array().unwrap().len()), ("held", 1));
    let allowed = server.approve("bob", &status).expect(200);
    assert_eq!(text(&allowed["state"]), "allowed");
    // An approver does not get the permit to use it.
    assert!(allowed["permit"]["token"].is_null());
    let allowed = server.get("will", "/v1/actions/p1").expect(200);
    server.spend(&allowed, &write).expect(200);

    let status = server.submit(&proposal("p2", "write"));
    let denied = server.say("bob", &status, "reject").expect(200);
    assert_eq!((text(&denied["state"]), text(&denied["approvals"][0]["reason"])), ("denied", "because"));
    let silent = json!({"verdict": "reject", "view_digest": status["view_digest"]});
    server.post("ann", "/v1/actions/p2/approvals", &silent).refused(400, "must say why");

    server.submit(&proposal("p3", "write"));
    let edited = server.post("andy", "/v1/actions?supersedes=p3", &proposal("p4", "write")).expect(201);
    assert_eq!((text(&edited["state"]), text(&edited["supersedes"])), ("held", "p3"));
    let old = server.get("andy", "/v1/actions/p3").expect(200);
    assert_eq!((text(&old["state"]), text(&old["superseded_by"])), ("superseded", "p4"));
    server.approve("ann", &old).refused(409, "superseded");
    server.post("andy", "/v1/actions?supersedes=p3", &proposal("p4", "write")).expect(200);
    server
        .post("andy", "/v1/actions?supersedes=p2", &proposal("p4", "write"))
        .refused(409, "supersedes `p3`");
    server.post("andy", "/v1/actions", &proposal("p3", "write")).expect(200);
    server
        .post("andy", "/v1/actions?supersedes=p2", &proposal("p3", "write"))
        .refused(409, "supersedes nothing");
    let missing = server.post("andy", "/v1/actions?supersedes=p9", &proposal("p5", "write"));
    missing.refused(404, "no action `p9`");

    let held = server.get("ann", "/v1/actions?state=held").expect(200);
    let ids: Vec<&str> =
        held["actions"].as_array().unwrap().iter().map(|it| text(&it["action_id"])).collect();
    assert_eq!(ids, ["p4"]);
    let page = server.get("ann", "/v1/actions?limit=2").expect(200);
    assert_eq!(page["actions"].as_array().unwrap().len(), 2);
    let rest = server.get("ann", &format!("/v1/actions?after={}", page["next"])).expect(200);
    assert_eq!(rest["actions"].as_array().unwrap().len(), 2);
    // Nobody answers: after a day it is over.
    server.pass(24 * 3_600_000);
    assert_eq!(text(&server.get("andy", "/v1/actions/p4").expect(200)["state"]), "expired");
}

#[test]
fn a_request_is_accepted_wherever_a_proposal_is() {
    let server = Server::new();
    let mapping = "[\"crm.note\"]\naction_type = \"transact\"\nresource_type = \"crm_record\"\nresource_id = \"contact-{contact}\"\ndomain = \"crm\"\n";
    server.folder.lock().unwrap().insert("tools.toml".to_owned(), mapping.to_owned());
    server.push().expect(200);
    let request = json!({"request_id": "r1", "ts_ms": NOW, "actor": "agent", "intent": "note it",
        "tool_call": {"name": "crm.note", "params": {"contact": 7}}});
    let status = server.submit(&request);
    assert_eq!((text(&status["action_id"]), text(&status["state"])), ("r1", "held"));
    server.approve("ann", &status).expect(200);
    let allowed = server.get("will", "/v1/actions/r1").expect(200);
    let path = format!("/v1/permits/{}/use", text(&allowed["permit"]["permit_id"]));
    let permit = &allowed["permit"]["token"];
    // Either the request or what it stands for, and not half of each.
    let both = json!({"permit": permit, "request": request, "action_type": "transact"});
    server.post("will", &path, &both).refused(400, "action_type");
    server.post("will", &path, &json!({"permit": permit, "request": {"request_id": "r1"}})).refused(400, "");
    let mut other = request.clone();
    other["tool_call"]["params"]["contact"] = json!(8);
    server.post("will", &path, &json!({"permit": permit, "request": other})).refused(403, "another `target`");
    server.post("will", &path, &json!({"permit": permit, "request": request})).expect(200);
}

#[test]
fn what_no_policy_permits_is_denied_with_a_reason() {
    let server = Server::new();
    let status = server.submit(&proposal("p1", "delete"));
    assert_eq!((text(&status["state"]), text(&status["decision"]["outcome"])), ("denied", "DENY"));
    assert!(!status["decision"]["reasons"].as_array().unwrap().is_empty());
    server.approve("ann", &status).refused(409, "is denied");
}

#[test]
fn halted_is_halted_until_somebody_resumes() {
    let server = Server::new();
    let read = proposal("p1", "read");
    let status = server.submit(&read);
    let halted = server.post("olga", "/v1/halt", &json!({"reason": "stop"})).expect(200);
    assert_eq!(halted["halted"]["by"], json!("olga"));
    server.spend(&status, &read).refused(403, "would not be allowed now");
    assert_eq!(text(&server.submit(&proposal("p2", "read"))["state"]), "denied");
    assert_eq!(server.ask_with(None, "GET", "/ready", None).expect(200)["halted"], json!(true));
    let size = server.size();
    server.post("olga", "/v1/halt", &json!({"reason": "again"})).expect(200);
    assert_eq!(server.size(), size);
    let open = server.post("olga", "/v1/resume", &json!({"reason": "go"})).expect(200);
    assert!(open["halted"].is_null());
    server.spend(&status, &read).expect(200);
    server.post("olga", "/v1/halt", &json!({"reason": " "})).refused(400, "must say why");
}

#[test]
fn policies_are_pushed_and_what_is_invalid_changes_nothing() {
    let server = Server::new();
    let before = server.get("olga", "/v1/gate").expect(200)["policy_hash"].clone();
    let push = || server.push();
    assert_eq!(push().expect(200), json!({"changed": false, "policy_hash": before}));
    server.folder.lock().unwrap().insert("all.cedar".to_owned(), "permit(".to_owned());
    let refused = push();
    refused.refused(400, "not valid");
    assert!(!refused.json()["errors"].as_array().unwrap().is_empty());
    assert_eq!(server.get("olga", "/v1/gate").expect(200)["policy_hash"], before);
    let only = "@id(\"d\") permit(principal, action == Action::\"delete\", resource);";
    server.folder.lock().unwrap().insert("all.cedar".to_owned(), only.to_owned());
    let changed = push().expect(200);
    assert_eq!(changed["changed"], json!(true));
    assert_ne!(changed["policy_hash"], before);
    assert_eq!(text(&server.submit(&proposal("p1", "delete"))["state"]), "allowed");
    // Earlier policies can still be looked at, and a push can say which ones it replaces.
    let earlier = server.get("audrey", &format!("/v1/policy?hash={}", text(&before))).expect(200);
    assert_eq!((&earlier["active"], &earlier["files"]), (&json!(false), &json!(policies())));
    let active = server.get("audrey", "/v1/policy").expect(200);
    assert_eq!((&active["active"], &active["policy_hash"]), (&json!(true), &changed["policy_hash"]));
    server.get("audrey", "/v1/policy?hash=sha256:0").refused(404, "were ever in force");
    let stale = json!({"files": policies(), "from": before});
    server.post("olga", "/v1/policy", &stale).refused(409, "other policies are in force now");
    *server.folder.lock().unwrap() = policies();
    assert_eq!(push().expect(200)["policy_hash"], before);
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let server = Server::new();
    let new = json!({"principal": "carl", "roles": ["auditor"], "expires_at_ms": NOW + 1_000});
    let made = server.post("olga", "/v1/tokens", &new).expect(201);
    let (id, token) = (text(&made["status"]["token_id"]), text(&made["token"]));
    let asks = || server.ask_with(Some(token), "GET", "/v1/ledger/entries", None).status;
    assert_eq!(asks(), 200);
    let list = server.get("audrey", "/v1/tokens").expect(200);
    assert!(list["tokens"].as_array().unwrap().contains(&made["status"]));
    assert!(!list.to_string().contains(token.rsplit('_').next().unwrap()));
    let revoked = server.ask("olga", "DELETE", &format!("/v1/tokens/{id}"), None).expect(200);
    assert_eq!(revoked["revoked_at_ms"], json!(NOW));
    assert_eq!(asks(), 401);
    server.ask("olga", "DELETE", &format!("/v1/tokens/{id}"), None).expect(200);
    server.ask("olga", "DELETE", "/v1/tokens/0123456789abcdef", None).refused(404, "no token");
    for (wrong, why) in [
        (json!({"principal": "", "roles": ["actor"]}), "empty"),
        (json!({"principal": "x", "roles": []}), "no role"),
        (json!({"principal": "x", "roles": ["actor", "actor"]}), "twice"),
        (json!({"principal": "x", "roles": ["actor"], "names": ["y", "y"]}), "twice"),
        (json!({"principal": "x", "roles": ["boss"]}), "expected one of `actor`"),
        (json!({"principal": "x", "roles": ["actor"], "expires_at_ms": 1}), "past"),
        (json!({"principal": "x", "roles": ["actor"], "color": 1}), "color"),
    ] {
        server.post("olga", "/v1/tokens", &wrong).refused(400, why);
    }
}

#[test]
fn a_rotated_key_signs_and_the_old_one_still_verifies() {
    let server = Server::new();
    let read = proposal("p1", "read");
    let status = server.submit(&read);
    let keys = || server.ask_with(None, "GET", "/.well-known/jwks.json", None).expect(200);
    let before = keys();
    let key = server.ask("olga", "POST", "/v1/keys/rotate", None).expect(200);
    let after = keys();
    assert_eq!((before["keys"].as_array().unwrap().len(), after["keys"].as_array().unwrap().len()), (1, 2));
    assert!(after["keys"].as_array().unwrap().iter().any(|it| it["kid"] == key["key_id"]));
    server.spend(&status, &read).expect(200);
    // Many at once: in the end one key signs, and all others are retired.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| server.ask("olga", "POST", "/v1/keys/rotate", None).expect(200));
        }
    });
    let keys = server.wait(server.gate.keys()).unwrap();
    let valid: Vec<_> = keys.iter().filter(|key| key.retired_at_ms.is_none()).collect();
    assert_eq!((keys.len(), valid.len()), (10, 1));
    assert_eq!(valid[0].key_id, server.gate.keyring().public().id());
}

#[test]
fn evidence_is_taken_once_and_shown_to_approvers() {
    let server = Server::new();
    let packet = packet("e1", &json!({"record_exists": true, "ssn": "078-05-1120"}));
    let received = server.post("sam", "/v1/evidence", &packet).expect(201);
    assert_eq!(server.post("sam", "/v1/evidence", &packet).expect(200), received);
    let other = crate::support::packet("e1", &json!({"record_exists": false}));
    server.post("sam", "/v1/evidence", &other).refused(409, "has the id `e1`");
    let mut changed = packet.clone();
    changed["payload"]["record_exists"] = json!(false);
    server.post("sam", "/v1/evidence", &changed).refused(400, "V-EVID");
    let mut foreign = crate::support::packet("e2", &json!({}));
    foreign["sensor_id"] = json!("sensor-2");
    server.post("sam", "/v1/evidence", &foreign).refused(403, "may not speak for the sensor");
    let mut write = proposal("p1", "write");
    write["evidence_bindings"] =
        json!([{"evidence_id": "e1", "evidence_hash": received["packet_hash"], "required": true}]);
    server.submit(&write);
    let shown = server.get("ann", "/v1/actions/p1");
    assert!(shown.text().contains("record_exists"), "{}", shown.text());
    assert!(!shown.text().contains("078-05-1120"), "{}", shown.text());
}

#[test]
fn the_ledger_can_be_read_and_proven() {
    let server = Server::new();
    server.submit(&proposal("p1", "read"));
    let page = server.get("audrey", "/v1/ledger/entries?from=1&limit=3").expect(200);
    let indexes: Vec<_> = page["entries"].as_array().unwrap().iter().map(|it| it["index"].as_u64()).collect();
    assert_eq!(indexes, [Some(1), Some(2), Some(3)]);
    let size = page["size"].as_u64().unwrap();
    assert_eq!(size, server.size());

    let verifiers = server.wait(server.gate.note_verifiers()).unwrap();
    let checkpoint = server.get("will", "/v1/ledger/checkpoint");
    let note = SignedNote::parse(&checkpoint.text()).unwrap();
    note.verify(&verifiers).unwrap();
    assert_eq!(Checkpoint::parse(&note.text).unwrap().size, size);
    let origin = server.get("will", "/v1/gate").expect(200)["origin"].clone();
    let proof = server.get("audrey", "/v1/ledger/proof?index=2");
    let proof = ordain_ledger::ProofFile::parse(&proof.text()).unwrap();
    proof.verify_entry(&verifiers, text(&origin)).unwrap();
    server.get("audrey", &format!("/v1/ledger/proof?index={size}")).refused(404, "no entry");
    let consistency = server.get("audrey", &format!("/v1/ledger/consistency?old=2&new={size}")).expect(200);
    assert!(!consistency["hashes"].as_array().unwrap().is_empty());
    let beyond = format!("/v1/ledger/consistency?old=2&new={}", size + 1);
    server.get("audrey", &beyond).refused(404, "no proof");
}

#[test]
fn an_auditor_lets_the_server_check_its_records() {
    let server = Server::new();
    server.submit(&proposal("p1", "read"));
    let audit = server.get("audrey", "/v1/ledger/fsck").expect(200);
    assert_eq!((audit["size"].as_u64(), &audit["damage"]), (Some(server.size()), &json!([])), "{audit}");
    assert!(audit["documents"].as_u64() > Some(2), "{audit}");
    let local = server.wait(server.gate.fsck(None)).unwrap();
    assert_eq!(audit, serde_json::to_value(&local).unwrap());
    server.get("andy", "/v1/ledger/fsck").refused(403, "auditor");
}

#[test]
fn documents_are_transformed_and_verified() {
    let server = Server::new();
    let verified = server.post("andy", "/v1/verify", &proposal("p1", "read")).expect(200);
    assert_eq!((text(&verified["kind"]), &verified["report"]["ok"]), ("action", &json!(true)));
    let verified = server.post("andy", "/v1/verify?kind=packet", &proposal("p1", "read")).expect(200);
    assert_eq!(verified["report"]["ok"], json!(false));
    server.post("andy", "/v1/verify?kind=poem", &json!({})).refused(400, "not a kind of document");
    // The hint names the query parameter, and works.
    for document in [json!({}), json!({"poem": "tides"}), json!({"a": 1, "b": [2]}), json!({"": null})] {
        server.post("andy", "/v1/verify", &document).refused(400, "`?kind=` names the kind");
        let verified = server.post("andy", "/v1/verify?kind=intent", &document).expect(200);
        assert_eq!((text(&verified["kind"]), &verified["report"]["ok"]), ("intent", &json!(false)));
    }
    let intent = json!({"goal": "Rename the field `a` to `b` in `src/x.rs`"});
    server.post("andy", "/v1/transform", &intent).expect(200);
}

#[test]
fn the_server_tells_how_it_is() {
    let server = Server::new();
    server.submit(&proposal("p1", "read"));
    assert_eq!(server.ask_with(None, "GET", "/health", None).expect(200)["status"], json!("ok"));
    let ready = server.ask_with(None, "GET", "/ready", None).expect(200);
    assert_eq!((&ready["status"], &ready["clock_behind_ms"]), (&json!("ready"), &json!(0)));
    assert_eq!(ready["ledger_size"].as_u64().unwrap(), server.size());
    let metrics = server.ask_with(None, "GET", "/metrics", None);
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"));
    for line in [
        "ordain_requests_total{method=\"POST\",route=\"/v1/actions\",status=\"201\"} 1",
        "ordain_decisions_total{outcome=\"allow\"} 1",
        "ordain_halted 0",
    ] {
        assert!(metrics.text().to_lowercase().contains(&line.to_lowercase()), "{line}\n{}", metrics.text());
    }
    let reply = server.get("andy", "/v1/actions/p1");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
}

/// A page of a browser that has a name lead to this machine is answered by nobody, with or without a token.
#[test]
fn a2_only_names_of_this_machine_are_answered() {
    let server = Server::new();
    let ask = |host: &str| {
        let request = format!(
            "GET /v1/gate HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
            server.token_of("olga")
        );
        exchange(server.address, request.as_bytes())
    };
    ask("localhost").expect(200);
    ask(&server.address.to_string()).expect(200);
    ask("evil.example").refused(403, "does not answer for the host `evil.example`");
    let open = b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    exchange(server.address, open).refused(403, "evil.example");
}
