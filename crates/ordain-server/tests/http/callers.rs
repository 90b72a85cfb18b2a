//! Callers: tokens that hold and tokens that do not, and what each role may do.

use crate::support::{NOW, Server, exchange, packet, proposal};
use ordain_api::{Role, openapi};
use serde_json::json;

fn with_headers(server: &Server, headers: &str) -> crate::support::Reply {
    let request = format!("GET /v1/gate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    exchange(server.address, request.as_bytes())
}

#[test]
fn a_token_holds_until_it_is_revoked_or_expires() {
    let server = Server::new();
    let token = server.token("carl", &[Role::Auditor], &[], Some(NOW + 1_000));
    let ask = || server.ask_with(Some(&token), "GET", "/v1/gate", None);
    ask().expect(200);
    server.pass(999);
    ask().expect(200);
    server.pass(1);
    ask().refused(401, "no longer valid");
    // A clock that is set back does not bring it back.
    server.set_clock(NOW);
    ask().refused(401, "no longer valid");
    let token = server.token("dora", &[Role::Auditor], &[], None);
    let id = token.split('_').nth(1).unwrap();
    server.ask("olga", "DELETE", &format!("/v1/tokens/{id}"), None).expect(200);
    server.ask_with(Some(&token), "GET", "/v1/gate", None).refused(401, "no longer valid");
}

#[test]
fn only_one_header_with_one_whole_token_is_enough() {
    let server = Server::new();
    let token = server.token_of("andy").to_owned();
    for good in [format!("Bearer {token}"), format!("bearer {token}"), format!("BEARER   {token} ")] {
        with_headers(&server, &format!("Authorization: {good}\r\n")).expect(200);
    }
    let (id, secret) = token.strip_prefix("ordain_").unwrap().split_once('_').unwrap();
    let other = server.token_of("olga").rsplit_once('_').unwrap().1.to_owned();
    let swapped = if secret.starts_with('A') { "B" } else { "A" };
    let bad = [
        String::new(),
        token.clone(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {token}"),
        format!("Token {token}"),
        format!("Bearer{token}"),
        format!("Bearer\t{token}"),
        format!("Bearer {token},Bearer {token}"),
        format!("Bearer {token} {token}"),
        format!("Bearer \"{token}\""),
        format!("Bearer ordain_{id}_{other}"),
        format!("Bearer ordain_{id}_{swapped}{}", &secret[1..]),
        format!("Bearer ordain_{id}_{}", &secret[1..]),
        format!("Bearer ordain_{id}_{secret}A"),
        format!("Bearer ordain_{id}_{secret}="),
        format!("Bearer ordain_{id}_"),
        format!("Bearer ordain_{}_{secret}", id.to_uppercase()),
        format!("Bearer ordain_{id}%00_{secret}"),
        format!("Bearer ORDAIN_{id}_{secret}"),
        format!("Bearer ordain-{id}-{secret}"),
        format!("Bearer ordain_{}_{secret}", "0".repeat(16)),
        format!("Bearer ordain_' OR 1=1 --_{secret}"),
        format!("Bearer оrdain_{id}_{secret}"),
        format!("Bearer {}", "A".repeat(8_000)),
    ];
    for value in bad {
        let reply = with_headers(&server, &format!("Authorization: {value}\r\n"));
        reply.refused(401, "token");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{value}");
    }
    let twice = format!("Authorization: Bearer {token}\r\n");
    with_headers(&server, &format!("{twice}{twice}")).refused(401, "token");
    with_headers(&server, "").refused(401, "token");
    with_headers(&server, &format!("Proxy-Authorization: Bearer {token}\r\n")).refused(401, "token");
    with_headers(&server, &format!("Cookie: token={token}\r\n")).refused(401, "token");
    // Every refusal of a token that looks like one says the same: what exists is not told.
    let wrong = |value: &str| {
        with_headers(&server, &format!("Authorization: Bearer {value}\r\n")).json()["detail"].clone()
    };
    let unknown = wrong(&format!("ordain_{}_{secret}", "0".repeat(16)));
    assert_eq!(wrong(&format!("ordain_{id}_{other}")), unknown);
}

/// The roles of each operation, written down a second time.
const MAY: &[(&str, &str, &str)] = &[
    ("POST", "/v1/actions", "actor"),
    // Takes a token with two roles, which none of these has.
    ("POST", "/v1/act", "nobody alone"),
    ("GET", "/v1/actions", "any"),
    ("GET", "/v1/actions/{id}", "actor approver operator worker auditor"),
    ("GET", "/v1/actions/{id}/events", "actor approver operator worker auditor"),
    ("GET", "/v1/actions/{id}/dossier", "auditor operator"),
    ("GET", "/v1/actions/{id}/view", "approver operator auditor"),
    ("GET", "/v1/events", "any"),
    ("GET", "/v1/documents/{id}", "actor approver operator worker auditor"),
    ("POST", "/v1/actions/{id}/approvals", "approver"),
    ("POST", "/v1/evidence", "sensor"),
    ("GET", "/v1/permits/{id}", "actor approver operator worker auditor"),
    ("POST", "/v1/permits/{id}/use", "worker"),
    ("POST", "/v1/permits/{id}/outcome", "worker operator"),
    ("GET", "/v1/ledger/checkpoint", "any"),
    ("GET", "/v1/ledger/proof", "auditor operator"),
    ("GET", "/v1/ledger/consistency", "auditor operator"),
    ("GET", "/v1/ledger/entries", "auditor operator"),
    ("GET", "/v1/ledger/fsck", "auditor operator"),
    ("GET", "/v1/gate", "any"),
    ("POST", "/v1/halt", "operator"),
    ("POST", "/v1/resume", "operator"),
    ("POST", "/v1/observations", "operator"),
    ("POST", "/v1/observations/end", "operator"),
    ("POST", "/v1/policy", "operator"),
    ("GET", "/v1/policy", "operator auditor approver"),
    ("GET", "/v1/acts/{id}/terms", "operator approver"),
    ("POST", "/v1/approver-keys", "operator approver"),
    ("GET", "/v1/approver-keys", "any"),
    ("DELETE", "/v1/approver-keys/{id}", "operator approver"),
    ("POST", "/v1/keys/rotate", "operator"),
    ("POST", "/v1/tokens", "operator"),
    ("GET", "/v1/tokens", "operator auditor"),
    ("DELETE", "/v1/tokens/{id}", "operator"),
    ("GET", "/v1/grants", "approver operator auditor"),
    ("DELETE", "/v1/grants/{id}", "approver operator"),
    ("POST", "/v1/projects", "operator"),
    ("GET", "/v1/projects", "operator auditor approver"),
    ("DELETE", "/v1/projects/{id}", "operator"),
    ("GET", "/v1/servers", "actor approver operator worker auditor"),
    ("GET", "/v1/servers/{id}", "actor approver operator worker auditor"),
    // Takes a token for the name in the listing, too, which is read later.
    ("POST", "/v1/servers/{id}/listing", "actor"),
    ("POST", "/v1/servers/{id}/pins", "operator"),
    ("POST", "/v1/servers/{id}/blocks", "operator approver"),
    // A token ends no session. `http/console.rs` has who begins one: whoever has a code.
    ("POST", "/v1/sessions/end", "nobody alone"),
    ("POST", "/v1/transform", "any"),
    ("POST", "/v1/verify", "any"),
    ("POST", "/proposal", "actor"),
    ("GET", "/proposal/failures/{id}", "actor"),
    ("POST", "/validate", "any"),
    ("GET", "/health", "everybody"),
    ("GET", "/ready", "everybody"),
    ("GET", "/metrics", "everybody"),
    ("GET", "/.well-known/jwks.json", "everybody"),
    ("GET", "/openapi.json", "everybody"),
];

#[test]
fn every_route_asks_for_its_roles() {
    let server = Server::new();
    let people = [
        ("actor", "andy"),
        ("approver", "ann"),
        ("operator", "olga"),
        ("sensor", "sam"),
        ("worker", "will"),
        ("auditor", "audrey"),
    ];
    let status = server.submit(&proposal("p1", "read"));
    let permit = status["permit"]["permit_id"].as_str().unwrap();
    for (method, path, may) in MAY {
        let id = if path.starts_with("/v1/permits") { permit } else { "p1" };
        let path = path.replace("{id}", id);
        // A body that is good for nothing, so that nothing happens: who may not is told that before.
        let body = (*method == "POST").then(|| json!({}));
        let ask = |token: Option<&str>| match path.ends_with("/events") {
            true => crate::support::Events::open(server.address, &path, token.unwrap_or("none")).status,
            false => server.ask_with(token, method, &path, body.as_ref()).status,
        };
        match *may {
            "everybody" => assert_eq!(ask(None), 200, "{method} {path}"),
            _ => assert_eq!(ask(None), 401, "{method} {path}"),
        }
        for (role, who) in people {
            let allowed = matches!(*may, "any" | "everybody") || may.split(' ').any(|it| it == role);
            let status = ask(Some(server.token_of(who)));
            assert_eq!(status != 403, allowed, "{role}: {method} {path} gave {status}");
            assert!(![0, 401, 405, 500].contains(&status), "{role}: {method} {path} gave {status}");
        }
    }
    let description = openapi();
    let mut described = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        described.extend(
            operations.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())),
        );
    }
    let mut known: Vec<_> =
        MAY.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
    known.push(("POST".to_owned(), "/v1/sessions".to_owned()));
    described.sort();
    known.sort();
    assert_eq!(described, known);
}

#[test]
fn an_actor_sees_its_own_actions_and_no_others() {
    let server = Server::new();
    server.submit(&proposal("p1", "write"));
    let stranger = server.token("stan", &[Role::Actor], &[], None);
    let ask = |method: &str, path: &str, body: Option<&serde_json::Value>| {
        server.ask_with(Some(&stranger), method, path, body)
    };
    // Present and missing things look the same.
    ask("GET", "/v1/actions/p1", None).refused(404, "no action `p1`");
    ask("GET", "/v1/actions/p0", None).refused(404, "no action `p0`");
    ask("GET", "/v1/actions/p1?wait=1", None).refused(404, "no action `p1`");
    ask("GET", "/v1/actions/p1/events", None).refused(404, "no action `p1`");
    let read = server.submit(&proposal("p3", "read"));
    let permit = read["permit"]["permit_id"].as_str().unwrap();
    ask("GET", &format!("/v1/permits/{permit}"), None).refused(404, &format!("no permit `{permit}`"));
    assert_eq!(ask("GET", "/v1/actions", None).expect(200)["actions"], json!([]));
    // A page has an end, which is nobody's id.
    let page = ask("GET", "/v1/actions?limit=1&after=0", None).expect(200);
    assert!(page["actions"] == json!([]) && page["next"].is_u64(), "{page}");
    ask("POST", "/v1/actions", Some(&proposal("p2", "write"))).refused(403, "may not propose as `agent`");
    let mut own = proposal("p2", "write");
    own["actor"] = json!("stan");
    ask("POST", "/v1/actions?supersedes=p1", Some(&own)).refused(404, "no action `p1`");
    ask("POST", "/v1/actions?supersedes=p0", Some(&own)).refused(404, "no action `p0`");
    // That an id is taken cannot be hidden; what it stands for can.
    own["proposal_id"] = json!("p1");
    let taken = ask("POST", "/v1/actions", Some(&own));
    taken.refused(409, "`p1` cannot be used as an id");
    assert!(!taken.text().contains("sha256:"), "{}", taken.text());
    let mut other = proposal("p1", "write");
    other["ts_ms"] = json!(NOW + 1);
    server.post("andy", "/v1/actions", &other).refused(409, "sha256:");
    // And nobody learns by submitting it what somebody else's proposal became.
    ask("POST", "/v1/actions", Some(&proposal("p1", "write"))).refused(403, "may not propose");
}

/// A proposer can name any packet. Its content is for those who decide and check.
#[test]
fn an_actor_sees_which_evidence_was_used_and_not_what_it_says() {
    let server = Server::new();
    let received = server.post("sam", "/v1/evidence", &packet("e1", &json!({"salary": 4_815_162_342_u64})));
    let hash = received.expect(201)["packet_hash"].clone();
    for (id, action) in [("p1", "write"), ("p2", "delete")] {
        let mut curious = proposal(id, action);
        curious["evidence_bindings"] = json!([{"evidence_id": "e1", "binding_type": "attestation", "required": true, "freshness_ms": 60_000}]);
        let status = server.submit(&curious);
        let seen = |who: &str| server.get(who, &format!("/v1/actions/{id}")).expect(200);
        assert!(!status.to_string().contains("4815162342"), "{status}");
        // The answer to a submission has a view only if somebody decides about it.
        assert_eq!(status["view"] == json!({}), id == "p2", "{status}");
        let held = (id == "p1").then_some(status);
        for status in held.into_iter().chain([seen("andy")]) {
            assert!(!status.to_string().contains("4815162342"), "{status}");
            assert_eq!(status["view"]["evidence"], json!([{"evidence_id": "e1", "packet_hash": hash}]));
            assert_eq!(status["view_digest"], json!(""), "it is not what an approver is shown");
        }
        for who in ["ann", "olga", "will", "audrey"] {
            let status = seen(who);
            assert_eq!(status["view"]["evidence"][0]["payload"]["salary"], json!(4_815_162_342_u64));
            assert!(status["view_digest"].as_str().unwrap().starts_with("sha256:"));
        }
    }
    server.approve("ann", &server.get("ann", "/v1/actions/p1").expect(200)).expect(200);
}
