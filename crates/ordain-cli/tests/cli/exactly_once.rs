//! The last use of a permit, wanted by many at once, is got by one: over HTTP on two servers, and by
//! processes of their own.

use crate::harness::{Kind, Project, Server, count, proposal, soaking, use_of};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Barrier;

const CLIENTS: usize = 64;
const PROCESSES: usize = 8;

/// A permit with one use, or with eight.
fn domain(seed: u64) -> (&'static str, usize) {
    if seed.is_multiple_of(2) { ("crm", 1) } else { ("archive", 8) }
}

#[test]
fn many_clients_of_two_servers_on_one_postgresql() {
    many_clients(Kind::Postgres, if soaking() { 200 } else { 6 });
}

#[test]
fn many_clients_of_two_servers_on_one_file() {
    many_clients(Kind::File, if soaking() { 200 } else { 4 });
}

fn many_clients(kind: Kind, seeds: u64) {
    let room = Project::with_gate(kind);
    let token = room.token("agent-1", &["actor", "worker"]);
    let servers = [room.serve(), room.serve()];
    let mut spent = 0;
    for seed in 0..seeds {
        let (domain, uses) = domain(seed);
        let proposal = proposal(&format!("p-{seed}"), domain, seed);
        let status = servers[0].client(&token).post("/v1/actions", &proposal).unwrap().is(201);
        let answers = race(&servers, &token, &status["permit"], &proposal);
        let numbers: Vec<u64> = answers
            .iter()
            .filter(|(status, _)| *status == 200)
            .map(|(_, answer)| answer["use"].as_u64().unwrap())
            .collect();
        let others: BTreeMap<u16, usize> = answers.iter().fold(BTreeMap::new(), |mut all, (status, _)| {
            *all.entry(*status).or_default() += 1;
            all
        });
        let expected = BTreeMap::from([(200, uses), (409, CLIENTS - uses)]);
        assert_eq!(others, expected, "seed {seed} on {kind:?}");
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=uses as u64).collect::<Vec<_>>(), "seed {seed}: each use is another one");
        spent += uses;
    }
    for server in servers {
        server.stop();
    }
    room.sound();
    check_entries(&room.entries(), spent);
}

/// All at once; the answers of all.
fn race(servers: &[Server; 2], token: &str, permit: &Json, proposal: &Json) -> Vec<(u16, Json)> {
    let start = Barrier::new(CLIENTS);
    let path = format!("/v1/permits/{}/use", permit["permit_id"].as_str().unwrap());
    let body = use_of(proposal, permit["token"].as_str().unwrap());
    std::thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|number| {
            let mut client = servers[number % 2].client(token);
            let (start, path, body) = (&start, &path, &body);
            scope.spawn(move || {
                client.connect().unwrap();
                start.wait();
                let answer = client.post(path, body).unwrap();
                (answer.status, answer.json())
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

/// Each use of each permit is on the ledger once.
fn check_entries(entries: &[Json], spent: usize) {
    assert_eq!(count(entries, "permit_spent"), spent);
    let mut seen = BTreeMap::new();
    for entry in entries.iter().filter(|it| it["entry"]["event"]["kind"] == "permit_spent") {
        let event = &entry["entry"]["event"];
        let key = (event["permit_id"].as_str().unwrap(), event["use"].as_u64().unwrap());
        assert!(seen.insert(key, ()).is_none(), "{key:?} is there twice");
    }
}

#[test]
fn many_processes_on_one_file() {
    let room = Project::with_gate(Kind::File);
    let mut spent = 0;
    for seed in 0..if soaking() { 100 } else { 4 } {
        let (domain, uses) = domain(seed);
        let (id, file) = (format!("p-{seed}"), format!("p-{seed}.json"));
        room.write(&file, &proposal(&id, domain, seed).to_string());
        let status = room.run(&["submit", &file, "--json"]).ended(0).json();
        let permit = status["permit"]["permit_id"].as_str().unwrap();
        let processes = (0..PROCESSES + uses - 1).map(|_| {
            let mut command = room.command(&["permit", "use", permit, "--for", &file, "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        let processes: Vec<_> = processes.collect();
        let (mut won, mut lost) = (0, 0);
        for process in processes {
            let output = process.wait_with_output().unwrap();
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            match output.status.code() {
                Some(0) => won += 1,
                Some(1) => {
                    assert!(said.contains("is used up"), "seed {seed}: {said}");
                    lost += 1;
                }
                code => panic!("seed {seed}: {code:?}: {said}"),
            }
        }
        assert_eq!((won, lost), (uses, PROCESSES - 1), "seed {seed}");
        spent += uses;
    }
    room.sound();
    check_entries(&room.entries(), spent);
}

/// Nobody comes first on a fresh project: one key, one ledger, and every proposal is on it.
#[test]
fn many_processes_begin_together() {
    for seed in 0..if soaking() { 50 } else { 3 } {
        let room = Project::with_gate(Kind::File);
        let processes = (0..PROCESSES as u64).map(|number| {
            let file = format!("p-{number}.json");
            room.write(&file, &proposal(&format!("p-{number}"), "crm", number).to_string());
            let mut command = room.command(&["submit", &file, "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        let processes: Vec<_> = processes.collect();
        for process in processes {
            let output = process.wait_with_output().unwrap();
            assert!(output.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&output.stderr));
        }
        room.sound();
        let entries = room.entries();
        let counts = ["opened", "key_rotated", "policy_changed", "submitted", "permit_minted"];
        assert_eq!(counts.map(|kind| count(&entries, kind)), [1, 1, 1, PROCESSES, PROCESSES]);
    }
}
