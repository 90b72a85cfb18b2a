//! Growth with the number of decisions: the server's memory stays, checking the ledger is linear.

use crate::harness::{Kind, Project, Server, memory_kib, proposal, soaking};
use std::sync::atomic::{AtomicU64, Ordering};

const CLIENTS: usize = 16;
/// How often the memory is looked at.
const LOOKS: u64 = 10;
/// Memory that fills once: a cache of 2 MiB for each of SQLite's five connections, and what the allocator
/// keeps for its threads.
const CACHES_KIB: u64 = 40 * 1024;

/// Has the server decide so many more proposals.
fn decide(server: &Server, token: &str, next: &AtomicU64, up_to: u64) {
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let mut client = server.client(token);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= up_to {
                        return;
                    }
                    let domain = ["crm", "archive", "sales"][usize::try_from(number % 3).unwrap()];
                    let proposal = proposal(&format!("p-{number}"), domain, number);
                    client.post("/v1/actions", &proposal).unwrap().is(201);
                }
            });
        }
    });
    next.store(up_to, Ordering::Relaxed);
}

/// Ten thousand decisions show four kilobytes kept of each, a million forty bytes.
#[test]
fn memory_stays() {
    let decisions: u64 = if soaking() { 1_000_000 } else { 10_000 };
    let room = Project::with_gate(Kind::File);
    let token = room.token("agent-1", &["actor"]);
    let server = room.serve();
    let next = AtomicU64::new(0);
    let mut memory = Vec::new();
    for look in 1..=LOOKS {
        decide(&server, &token, &next, decisions * look / LOOKS);
        memory.push(memory_kib(server.pid()));
        println!("{} decisions: {} KiB", decisions * look / LOOKS, memory[memory.len() - 1]);
    }
    server.stop();
    let (first, last) = (memory[0], memory[memory.len() - 1]);
    assert!(last < first + CACHES_KIB, "{memory:?} KiB");
}

/// Instructions of `ledger verify` and `fsck` for 1, 2 and 4 times as many decisions.
#[test]
fn checking_is_linear() {
    let room = Project::with_gate(Kind::File);
    let token = room.token("agent-1", &["actor"]);
    let next = AtomicU64::new(0);
    let mut rooms = Vec::new();
    for times in [1, 2, 4] {
        let server = room.serve();
        decide(&server, &token, &next, 150 * times);
        server.stop();
        rooms.push((usize::try_from(times).unwrap(), room.copy()));
    }
    for command in ["verify", "fsck"] {
        crate::harness::counting::check(command, |times| {
            let (_, room) = rooms.iter().find(|(it, _)| *it == times).unwrap();
            crate::harness::counting::collected(room.program("valgrind"), &["ledger", command])
        });
    }
}
