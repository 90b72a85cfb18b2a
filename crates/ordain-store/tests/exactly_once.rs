//! The last use of a permit, wanted by many at once, is got by one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use ordain_store::Location;
use std::collections::BTreeMap;
use std::io::Write as _;
use support::{Kind, Place, check_tree, child, runtime, use_up};

const TASKS: usize = 64;
const PROCESSES: usize = 8;

fn seeds() -> u64 {
    if std::env::var_os("ORDAIN_SOAK").is_some() { 500 } else { 25 }
}

/// Every second permit has one use, the others have a few.
fn uses(seed: u64) -> u64 {
    if seed.is_multiple_of(2) { 1 } else { 1 + seed % 7 }
}

#[test]
fn many_tasks_on_two_nodes_of_one_postgresql() {
    let place = Place::new(Kind::Postgres);
    runtime().block_on(async {
        let nodes = [place.open().await, place.open().await];
        for seed in 0..seeds() {
            let tasks = (0..TASKS).map(|task| {
                let store = nodes[task % 2].clone();
                tokio::spawn(async move {
                    use_up(&store, &format!("p-{seed}"), uses(seed), &task.to_string()).await
                })
            });
            let mut total = 0;
            for task in tasks.collect::<Vec<_>>() {
                total += task.await.unwrap();
            }
            assert_eq!(total, uses(seed), "seed {seed}");
        }
        check_uses(&check_tree(&nodes[0]).await);
    });
}

#[test]
fn many_processes_on_one_file() {
    let place = Place::new(Kind::File);
    let location = place.file().to_str().unwrap().to_owned();
    let children: Vec<_> = (0..PROCESSES)
        .map(|number| child::command(&[], &[&location, &number.to_string()]).spawn().unwrap())
        .collect();
    let mut children = children;
    // All at once: each waits for this line.
    for child in &mut children {
        child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        for line in child::lines(&output.stdout) {
            let (seed, mine) = line.split_once(' ').unwrap();
            *totals.entry(seed.to_owned()).or_default() += mine.parse::<u64>().unwrap();
        }
    }
    assert_eq!(totals.len() as u64, seeds());
    for (seed, total) in totals {
        assert_eq!(total, uses(seed.parse().unwrap()), "seed {seed}");
    }
    runtime().block_on(async { check_uses(&check_tree(&place.open().await).await) });
}

/// Each use of each permit is on the ledger once, in order.
fn check_uses(entries: &[ordain_store::EntryRow]) {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for entry in entries {
        let text = String::from_utf8(entry.bytes.clone()).unwrap();
        let words: Vec<&str> = text.split(' ').collect();
        let count = seen.entry(words[0].to_owned()).or_default();
        *count += 1;
        assert_eq!(words[2], count.to_string(), "{text}");
    }
    for (permit, count) in &seen {
        assert_eq!(*count, uses(permit.trim_start_matches("p-").parse().unwrap()), "{permit}");
    }
    assert_eq!(seen.len() as u64, seeds());
}

#[test]
#[ignore = "started by another test"]
fn child() {
    let arguments = child::arguments();
    runtime().block_on(async {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        let store = ordain_store::Store::open(&Location::parse(&arguments[0])).await.unwrap();
        for seed in 0..seeds() {
            let mine = use_up(&store, &format!("p-{seed}"), uses(seed), &arguments[1]).await;
            child::say(&format!("{seed} {mine}"));
        }
    });
}
