//! Lists: whole, in pages that are never too long.

use crate::support::{Server, packet, proposal, text};
use ordain_gate::{EVIDENCE_BYTES_MAX, PAGE_BYTES_MAX};
use serde_json::{Value as Json, json};

/// Follows a list to its end: in the order of changes (`after`), or the newest first (`before`). Gives the
/// ids of each page, and the longest answer.
fn followed(server: &Server, who: &str, limit: usize, place: &str) -> (Vec<Vec<String>>, usize) {
    let (mut pages, mut longest) = (Vec::new(), 0);
    let mut at = if place == "after" { "&after=0".to_owned() } else { String::new() };
    loop {
        let reply = server.get(who, &format!("/v1/actions?limit={limit}{at}"));
        longest = longest.max(reply.text().len());
        let page = reply.expect(200);
        let ids = page["actions"].as_array().unwrap().iter().map(|it| text(&it["action_id"]).to_owned());
        pages.push(ids.collect());
        match page["next"].as_u64() {
            Some(next) => at = format!("&{place}={next}"),
            None => return (pages, longest),
        }
        assert!(pages.len() < 100, "it does not end");
    }
}

#[test]
fn a_page_ends_where_it_is_long_enough() {
    let server = Server::new();
    const LONG: usize = 900_000;
    for number in 0..12 {
        let mut long = proposal(&format!("p{number:02}"), "read");
        long["parameters"]["text"] = "x".repeat(LONG).into();
        server.submit(&long);
    }
    let mut expected: Vec<String> = (0..12).map(|number| format!("p{number:02}")).collect();
    for place in ["after", "before"] {
        let (pages, longest) = followed(&server, "audrey", 500, place);
        assert!(longest < PAGE_BYTES_MAX + LONG + 10_000, "{longest} bytes");
        assert!(pages.len() > 2, "{pages:?}");
        assert_eq!(pages.concat(), expected);
        expected.reverse();
    }
}

/// Two actions that one step has changed stand at one place, and the end of a page is not between them.
#[test]
fn nothing_is_passed_over_or_given_twice() {
    let server = Server::new();
    for number in 0..6 {
        server.submit(&proposal(&format!("p{number}"), "write"));
    }
    for number in [1, 4] {
        let path = format!("/v1/actions?supersedes=p{number}");
        server.post("andy", &path, &proposal(&format!("q{number}"), "write")).expect(201);
    }
    for limit in 1..=9 {
        for who in ["audrey", "andy"] {
            let (pages, _) = followed(&server, who, limit, "after");
            let mut ids = pages.concat();
            assert_eq!(ids, ["p0", "p2", "p3", "p5", "p1", "q1", "p4", "q4"], "{limit}: {pages:?}");
            ids.dedup();
            assert_eq!(ids.len(), 8);
            let (pages, _) = followed(&server, who, limit, "before");
            assert_eq!(
                pages.concat(),
                ["q4", "q1", "p5", "p4", "p3", "p2", "p1", "p0"],
                "{limit}: {pages:?}"
            );
            // Those that one step superseded stand at one place of the list of their state.
            let held = server.get(who, &format!("/v1/actions?state=superseded&limit={limit}")).expect(200);
            assert_eq!(held["actions"][0]["action_id"], "p4");
        }
    }
}

fn with_evidence(id: &str, names: &[String]) -> Json {
    let mut proposal = proposal(id, "write");
    let binding = |name: &String| {
        json!({"evidence_id": name, "binding_type": "attestation", "required": false,
        "freshness_ms": 60_000})
    };
    proposal["evidence_bindings"] = names.iter().map(binding).collect();
    proposal
}

#[test]
fn evidence_is_not_in_lists_and_has_a_limit_altogether() {
    let server = Server::new();
    const LONG: usize = 900_000;
    let names: Vec<String> = (0..=EVIDENCE_BYTES_MAX / LONG).map(|number| format!("e{number}")).collect();
    for name in &names {
        let packet = packet(name, &json!({"text": "x".repeat(LONG)}));
        server.post("sam", "/v1/evidence", &packet).expect(201);
    }
    let too_much = server.post("andy", "/v1/actions", &with_evidence("p0", &names));
    too_much.refused(400, "more than 4194304 bytes altogether");
    let (_, some) = names.split_last().unwrap();
    server.submit(&with_evidence("p1", some));
    let listed = server.get("audrey", "/v1/actions");
    assert!(listed.text().len() < 20_000, "{} bytes", listed.text().len());
    let listed = listed.expect(200);
    let evidence = listed["actions"][0]["view"]["evidence"].as_array().unwrap().clone();
    assert_eq!(evidence.len(), some.len());
    assert!(evidence.iter().all(|it| text(&it["packet_hash"]).starts_with("sha256:")), "{evidence:?}");
    let shown = server.get("ann", "/v1/actions/p1").expect(200);
    assert_eq!(shown["view"]["evidence"][0]["payload"]["text"].as_str().unwrap().len(), LONG);
    server.approve("ann", &shown).expect(200);
}
