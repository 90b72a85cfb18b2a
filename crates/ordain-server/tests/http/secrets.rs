//! Secrets are planted everywhere, and then looked for in everything that the server says about itself.

use crate::support::{Folder, NOW, Server, packet, proposal, raw, text, usage};
use ordain_gate::Keyring;
use ordain_store::Location;
use serde_json::{Value as Json, json};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Everything that was logged, as JSON lines.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

const PASSWORD: &str = "pl4nted-passw0rd";
const SSN: &str = "pl4nted-078-05-1120";
const PIN: u64 = 4_815_162_342;

/// The secrets that only their holder may see, and their kinds.
struct Planted(Vec<(&'static str, String)>);

impl Planted {
    fn is_not_in(&self, place: &str, found: &str) {
        for (what, secret) in &self.0 {
            assert!(!found.contains(secret.as_str()), "the {what} is in {place}: {found}");
        }
    }
}

fn secret_proposal(id: &str, action: &str) -> Json {
    let mut proposal = proposal(id, action);
    proposal["parameters"] = json!({"password": PASSWORD, "people": [{"ssn": SSN, "name": "x"}],
        "nested": {"password": {"old": PASSWORD, "new": [PASSWORD]}}});
    proposal
}

#[test]
fn no_secret_is_in_a_log_a_metric_or_an_error() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_global_default(subscriber);
    assert!(guard.is_ok(), "each test has a process of its own, or runs alone");
    let folder = Folder::new();
    let keyring = Keyring::open(&folder.0).unwrap();
    let server = Server::with(&Location::Memory, keyring);
    let seed = std::fs::read_to_string(folder.0.join("signing.key")).unwrap().trim().to_owned();

    let write = secret_proposal("p1", "write");
    let held = server.submit(&write);
    server.approve("ann", &held).expect(200);
    server.approve("bob", &held).expect(200);
    let status = server.get("will", "/v1/actions/p1").expect(200);
    let permit = text(&status["permit"]["token"]).to_owned();
    let mut planted = Planted(vec![
        ("password", PASSWORD.to_owned()),
        ("redacted number", SSN.to_owned()),
        ("pin", PIN.to_string()),
        ("signing key", seed),
        ("permit", permit.clone()),
        ("permit's signature", permit.rsplit('.').next().unwrap().to_owned()),
    ]);
    for who in ["andy", "ann", "olga", "sam", "will", "audrey", "everybody"] {
        planted.0.push(("token's secret", server.token_of(who).splitn(3, '_').nth(2).unwrap().to_owned()));
    }

    // Approvers and auditors see hashes in the place of values.
    let evidence = packet("e1", &json!({"ssn": SSN, "record": {"password": PASSWORD}, "seen": true}));
    planted.is_not_in("an answer about evidence", &server.post("sam", "/v1/evidence", &evidence).text());
    for path in
        ["/v1/actions/p1", "/v1/actions", "/v1/ledger/entries", "/v1/ledger/proof?index=14", "/v1/tokens"]
    {
        let shown = server.get("audrey", path);
        assert_eq!(shown.status, 200, "{}", shown.text());
        planted.is_not_in(path, &shown.text());
    }

    for (what, reply) in wrong_requests(&server, &status, &write) {
        assert!(reply.status >= 400, "{what}: {}", reply.text());
        planted.is_not_in(&format!("the answer to {what}"), &reply.text());
        planted.is_not_in(&format!("a header of the answer to {what}"), &format!("{:?}", reply.headers));
    }
    // Denied with every reason there is.
    for (number, change) in denied_changes().into_iter().enumerate() {
        let mut wrong = secret_proposal(&format!("d{number}"), "write");
        for (key, value) in change.as_object().unwrap() {
            wrong[key] = value.clone();
        }
        let reply = server.post("andy", "/v1/actions", &wrong);
        planted.is_not_in(&format!("the answer to {change}"), &reply.text());
        planted.is_not_in(
            &format!("what others see of {change}"),
            &server.get("audrey", &format!("/v1/actions/d{number}")).text(),
        );
    }
    for (change, rule, said) in quoting_changes() {
        let mut wrong = secret_proposal(&format!("q-{rule}"), "write");
        for (key, value) in change.as_object().unwrap() {
            wrong[key] = value.clone();
        }
        let reply = server.post("andy", "/v1/actions", &wrong);
        planted.is_not_in(&format!("the answer to {change}"), &reply.text());
        let status = reply.expect(201);
        let reasons = status["decision"]["reasons"].as_array().unwrap();
        let found = |it: &Json| it["rule_id"] == rule && text(&it["message"]).contains(said);
        assert!(reasons.iter().any(found), "{rule} is not among {reasons:?}");
    }
    server.ask("olga", "POST", "/v1/keys/rotate", None).expect(200);
    server.push().expect(200);
    planted.0.push((
        "new signing key",
        std::fs::read_to_string(folder.0.join("signing.key")).unwrap().trim().to_owned(),
    ));
    planted.is_not_in("the metrics", &server.ask_with(None, "GET", "/metrics", None).text());
    planted.is_not_in("the keys", &server.ask_with(None, "GET", "/.well-known/jwks.json", None).text());
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    // It is a log of these requests: each with its id, its route and who asked.
    for word in [
        "\"correlation_id\"",
        "\"route\":\"/v1/actions/{id}/approvals\"",
        "\"principal\":\"andy\"",
        "\"status\":401",
    ] {
        assert!(logged.contains(word), "{word}");
    }
    logged.lines().for_each(|line| drop(serde_json::from_str::<Json>(line).unwrap()));
    planted.is_not_in("the log", &logged);
}

/// Secrets where they do not belong, or beside something that is wrong.
fn wrong_requests(
    server: &Server,
    status: &Json,
    write: &Json,
) -> Vec<(&'static str, crate::support::Reply)> {
    let path = format!("/v1/permits/{}/use", text(&status["permit"]["permit_id"]));
    let with = |change: fn(&mut Json)| {
        let mut wrong = usage(status, write);
        change(&mut wrong);
        server.post("will", &path, &wrong)
    };
    let token = server.token_of("olga");
    let mut other = write.clone();
    other["target"]["resource_id"] = json!("8");
    let mut unread = write.clone();
    unread["parameters"] = json!(PASSWORD);
    let mut foreign = write.clone();
    foreign["actor"] = json!("ann");
    foreign["proposal_id"] = json!("p9");
    let cut = write.to_string();
    let twice = cut.replacen("\"password\"", &format!("\"password\":\"{PASSWORD}\",\"password\""), 1);
    let sent = |body: &str| {
        crate::support::exchange(
            server.address,
            &raw("POST", "/v1/actions", Some(server.token_of("andy")), Some(body)),
        )
    };
    let authorised = |value: &str| {
        let request = format!(
            "GET /v1/gate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: {value}\r\n\r\n"
        );
        crate::support::exchange(server.address, request.as_bytes())
    };
    vec![
        ("other parameters", with(|it| it["parameters"]["password"] = json!("other"))),
        ("another target", with(|it| it["target"]["resource_id"] = json!("other"))),
        ("a target of the wrong kind", with(|it| it["target"] = json!(PASSWORD))),
        ("parameters of the wrong kind", with(|it| it["parameters"] = json!(PASSWORD))),
        ("an unknown action", with(|it| it["action_type"] = it["permit"].clone())),
        ("an unknown field's value", with(|it| it["color"] = it["permit"].clone())),
        ("a permit in a list", with(|it| it["permit"] = json!([it["permit"]]))),
        ("a changed permit", with(|it| it["permit"] = json!(format!("{}x", it["permit"].as_str().unwrap())))),
        ("the same id with other content", server.post("andy", "/v1/actions", &other)),
        (
            "parameters that are none",
            sent(
                &cut.replace("\"proposal_id\":\"p1\"", &format!("\"proposal_id\":{{\"a\":\"{PASSWORD}\"}}")),
            ),
        ),
        ("a foreign actor", server.post("andy", "/v1/actions", &foreign)),
        ("half a body", sent(&cut[..cut.len() - 1])),
        ("a key twice", sent(&twice)),
        ("a wrong text", sent(&cut.replace(SSN, &format!("{SSN}\\q")))),
        ("a packet with a wrong hash", {
            let mut packet = packet("e9", &json!({"ssn": SSN}));
            packet["payload"]["ssn"] = json!(format!("{SSN}x"));
            server.post("sam", "/v1/evidence", &packet)
        }),
        (
            "a packet that is none",
            server.post("sam", "/v1/evidence", &json!({"payload": {"ssn": SSN}, "sensor_id": "sensor-1"})),
        ),
        ("a token with another scheme", authorised(&format!("Basic {token}"))),
        ("two tokens", authorised(&format!("Bearer {token}, {token}"))),
        ("a token that is too long", authorised(&format!("Bearer {token}x"))),
        ("a token in the query", server.get("andy", &format!("/v1/actions/p1?token={token}"))),
        ("a token as a name", server.get("andy", &format!("/v1/actions/{token}"))),
        ("a token as a permit", server.get("andy", &format!("/v1/permits/{token}"))),
        ("a token as a token id", server.ask("olga", "DELETE", &format!("/v1/tokens/{token}"), None)),
        ("a token as a path", server.get("andy", &format!("/{token}"))),
        ("a token as a number", server.get("audrey", &format!("/v1/ledger/proof?index={token}"))),
        ("a token as a state", server.get("audrey", &format!("/v1/actions?state={token}"))),
        (
            "a token as a verdict",
            server.post("ann", "/v1/actions/p1/approvals", &json!({"verdict": token, "view_digest": token})),
        ),
        (
            "a token as a role",
            server.post("olga", "/v1/tokens", &json!({"principal": "x", "roles": [token]})),
        ),
        ("a token as a field", server.post("olga", "/v1/halt", &json!({"reason": "x", token: 1}))),
    ]
}

/// Members that make a proposal go wrong in as many ways.
fn denied_changes() -> Vec<Json> {
    vec![
        json!({"action_type": "delete"}),
        json!({"action_type": "nonsense"}),
        json!({"parameters": [{"password": [PASSWORD]}]}),
        json!({"parameters": {"password": {"a": {"b": PASSWORD}}}, "target": {}}),
        json!({"password": PASSWORD}),
        json!({"ts_ms": 0}),
        json!({"preconditions": [{"condition_type": "state_equals", "evidence_ref": "e1", "expected_value": {"ssn": SSN},
            "field": "/ssn", "tolerance": 0, "password": PASSWORD}]}),
        json!({"evidence_bindings": [{"evidence_id": "e1", "evidence_hash": "sha256:0", "ssn": SSN}]}),
        json!({"risk_envelope": {"password": PASSWORD}}),
        json!({"rollback_semantics": {"password": PASSWORD, "ssn": SSN}}),
        json!({"time_window": {"valid_from_ms": NOW, "valid_until_ms": NOW - 1, "password": PASSWORD}}),
        json!({"approval_class": {"password": PASSWORD}}),
    ]
}

/// Members whose values the kernel would quote in its reason, if they were not secrets; the rule, and words
/// of the reason.
fn quoting_changes() -> Vec<(Json, &'static str, &'static str)> {
    let precondition = json!({"evidence_bindings": [{"evidence_id": "e1", "binding_type": "attestation", "required": true,
            "freshness_ms": 60_000}],
        "preconditions": [{"field": "/ssn", "operator": "eq", "value": format!("{SSN}-other"), "evidence_ref": "e1"}]});
    let overflow = json!({"action_type": "custom", "parameters": {"password": PIN}});
    vec![(precondition, "G5", "`/ssn`"), (overflow, "G11", "too large")]
}
