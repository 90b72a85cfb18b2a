//! The server is killed in the middle of a load: what it acknowledged is on the ledger, nothing happened twice, and the
//! next server goes on.

use crate::harness::http::{Answer, Client};
use crate::harness::{Dice, Kind, Project, proposal, soaking, use_of};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CLIENTS: u64 = 8;

fn kills() -> u64 {
    if soaking() { 50 } else { 5 }
}

/// A step that the server has answered for: what it is called on the ledger, of which action, and which use.
type Step = (&'static str, String, u64);

/// The state that all clients share.
struct Load {
    address: Mutex<String>,
    over: AtomicBool,
    agent: String,
    alice: String,
}

/// The answers to one client.
#[derive(Default)]
struct Told {
    acknowledged: Vec<Step>,
    /// The permits of which a use was got, with what they are for.
    spent: Vec<(Json, Json)>,
}

#[test]
fn on_a_file() {
    killed(Kind::File);
}

#[test]
fn on_postgresql() {
    killed(Kind::Postgres);
}

fn killed(kind: Kind) {
    let room = Project::with_gate(kind);
    let load = Load {
        address: Mutex::new(String::new()),
        over: AtomicBool::new(false),
        agent: room.token("agent-1", &["actor", "worker"]),
        alice: room.token("alice", &["approver"]),
    };
    let mut server = room.serve();
    load.address.lock().unwrap().clone_from(&server.address);
    let mut dice = Dice(kind as u64 + 1);
    let (told, server) = std::thread::scope(|scope| {
        let load = &load;
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || client(load, number))).collect();
        for kill in 0..kills() {
            std::thread::sleep(Duration::from_millis(150 + dice.below(500)));
            server.kill();
            // Beside no server, and later beside a running one: both see a whole ledger.
            room.run(&["ledger", "fsck", "--json"]).ended(0);
            server = room.serve();
            load.address.lock().unwrap().clone_from(&server.address);
            if kill % 5 == 1 {
                room.run(&["ledger", "fsck", "--json"]).ended(0);
            }
        }
        std::thread::sleep(Duration::from_millis(300));
        load.over.store(true, Ordering::Relaxed);
        let told: Vec<Told> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        (told, server)
    });
    let mut client = server.client(&load.agent);
    for (permit, proposal) in told.iter().flat_map(|it| &it.spent) {
        let again = spend(&mut client, permit, proposal).unwrap();
        // After many kills the first permits have expired by now, which is as good.
        let expired = again.status == 403 && again.text.contains("expired");
        assert!(again.status == 409 || expired, "{}", again.text);
    }
    server.stop();
    room.sound();
    let found = on_ledger(&room.entries());
    let acknowledged: Vec<&Step> = told.iter().flat_map(|it| &it.acknowledged).collect();
    for step in &acknowledged {
        assert!(found.contains(*step), "{step:?} was acknowledged and is lost");
    }
    for kind in ["submitted", "approved", "permit_spent", "permit_settled"] {
        let number = acknowledged.iter().filter(|(it, ..)| *it == kind).count() as u64;
        assert!(number > kills(), "{kind}: only {number} were acknowledged");
    }
}

/// Proposes, has it approved, spends, reports, and begins anew, whatever happens to the server.
fn client(load: &Load, number: u64) -> Told {
    let mut told = Told::default();
    for round in 0.. {
        if load.over.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("p-{number}-{round}");
        let domain = if round % 2 == 0 { "crm" } else { "sales" };
        one_action(load, &proposal(&id, domain, number * 1_000_000 + round), &id, &mut told);
    }
    told
}

fn one_action(load: &Load, proposal: &Json, id: &str, told: &mut Told) {
    let (agent, alice) = (&load.agent, &load.alice);
    // The same proposal again is the same proposal, so that it can be sent until there is an answer.
    let mut status = until_answered(load, agent, |client| client.post("/v1/actions", proposal));
    assert!(matches!(status.status, 200 | 201), "{}", status.text);
    told.acknowledged.push(("submitted", id.to_owned(), 0));
    told.acknowledged.push(("decided", id.to_owned(), 0));
    if status.json()["state"] == "held" {
        let say = json!({"verdict": "approve", "view_digest": status.json()["view_digest"]});
        let path = format!("/v1/actions/{id}/approvals");
        let said = until_answered(load, alice, |client| client.post(&path, &say));
        assert_eq!(said.status, 200, "{}", said.text);
        told.acknowledged.push(("approved", id.to_owned(), 0));
        status = until_answered(load, agent, |client| client.get(&format!("/v1/actions/{id}")));
        assert_eq!(status.status, 200, "{}", status.text);
    }
    let permit = status.json()["permit"].clone();
    assert!(permit.is_object(), "{}", status.text);
    told.acknowledged.push(("permit_minted", id.to_owned(), 0));
    // A use is not asked for twice: if the answer was lost, nobody may act, and it is not known whether it was spent.
    let Ok(spent) = spend(&mut connected(load, agent), &permit, proposal) else { return };
    if spent.status != 200 {
        assert!(matches!(spent.status, 503 | 429), "{}", spent.text);
        return;
    }
    told.acknowledged.push(("permit_spent", id.to_owned(), 1));
    told.spent.push((permit.clone(), proposal.clone()));
    let path = format!("/v1/permits/{}/outcome", permit["permit_id"].as_str().unwrap());
    let report = json!({"use": 1, "outcome": "succeeded", "affected_records": 1, "duration_ms": 5});
    let settled = until_answered(load, agent, |client| client.post(&path, &report));
    assert_eq!(settled.status, 200, "{}", settled.text);
    told.acknowledged.push(("permit_settled", id.to_owned(), 1));
}

fn spend(client: &mut Client, permit: &Json, proposal: &Json) -> std::io::Result<Answer> {
    let path = format!("/v1/permits/{}/use", permit["permit_id"].as_str().unwrap());
    client.post(&path, &use_of(proposal, permit["token"].as_str().unwrap()))
}

fn connected(load: &Load, token: &str) -> Client {
    Client::new(&load.address.lock().unwrap(), token)
}

fn until_answered(load: &Load, token: &str, ask: impl Fn(&mut Client) -> std::io::Result<Answer>) -> Answer {
    let start = std::time::Instant::now();
    loop {
        match ask(&mut connected(load, token)) {
            Ok(answer) if !matches!(answer.status, 429 | 503) => return answer,
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
        assert!(start.elapsed() < Duration::from_secs(120), "the server is gone");
    }
}

/// All steps of all actions on the ledger. No use is there twice, and none beyond what a permit allows.
fn on_ledger(entries: &[Json]) -> BTreeSet<Step> {
    let mut uses: BTreeMap<&str, u64> = BTreeMap::new();
    let mut steps = BTreeSet::new();
    for entry in entries {
        let event = &entry["entry"]["event"];
        let known = ["submitted", "decided", "approved", "permit_minted", "permit_spent", "permit_settled"];
        let Some(kind) = known.into_iter().find(|kind| event["kind"] == **kind) else { continue };
        let id = event["action_id"].as_str().unwrap();
        let number = event["use"].as_u64().unwrap_or_default();
        if kind == "permit_spent" {
            *uses.entry(id).or_default() += 1;
            assert_eq!((uses[id], number), (1, 1), "`{id}` was spent twice");
        }
        let new = steps.insert((kind, id.to_owned(), number));
        assert!(new || kind == "decided", "{kind} of `{id}` is there twice");
    }
    steps
}
