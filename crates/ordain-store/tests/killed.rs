//! A process is killed in the middle of its work: what it acknowledged is there, and nothing happened twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use ordain_store::{Change, Guard, Location, NewRecord, Store, StoreError, Writes};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::time::Duration;
use support::{Kind, Place, check_tree, child, runtime};

const TASKS: u64 = 16;

fn kills() -> u64 {
    if std::env::var_os("ORDAIN_SOAK").is_some() { 50 } else { 5 }
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
    let place = Place::new(kind);
    let location = match &place.location {
        Location::File(path) => path.to_str().unwrap().to_owned(),
        Location::Postgres(url) => url.clone(),
        Location::Memory => panic!("what is in memory is gone"),
    };
    let mut acknowledged: BTreeMap<usize, String> = BTreeMap::new();
    for kill in 0..kills() {
        let mut child = child::command(&[], &[&location]).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut output = Vec::new();
        // In the middle of its work: after its first words, and then at another time in each round.
        for _ in 0..10 {
            out.read_until(b'\n', &mut output).unwrap();
        }
        std::thread::sleep(Duration::from_micros(kill * 7_919 % 97_000));
        child.kill().unwrap();
        out.read_to_end(&mut output).unwrap();
        assert!(!child.wait().unwrap().success());
        let before = acknowledged.len();
        for line in child::lines(&output) {
            let (index, entry) = line.split_once(' ').unwrap();
            let twice = acknowledged.insert(index.parse().unwrap(), entry.to_owned());
            assert_eq!(twice, None, "two changes were told the index {index}");
        }
        assert!(acknowledged.len() > before, "it had begun to work");
        runtime().block_on(check(&place, &acknowledged));
    }
}

async fn check(place: &Place, acknowledged: &BTreeMap<usize, String>) {
    let store = place.open().await;
    // A server may still be at work on what the dead asked for. This waits for the head, which that work holds.
    store.commit(Change::new(Vec::new(), |_| Writes::default())).await.unwrap();
    let entries = check_tree(&store).await;
    for (index, entry) in acknowledged {
        assert_eq!(String::from_utf8_lossy(&entries[*index].bytes), *entry, "entry {index}");
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for entry in &entries {
        let text = String::from_utf8(entry.bytes.clone()).unwrap();
        let (counter, number) = text.split_once(' ').unwrap();
        let count = counts.entry(counter.to_owned()).or_default();
        *count += 1;
        assert_eq!(number, count.to_string(), "{counter} ran twice or was lost");
    }
    for (counter, count) in counts {
        let record = store.record("counter", &counter).await.unwrap().unwrap();
        assert_eq!((record.body, record.version), (count.to_string(), count));
    }
    store.close().await.unwrap();
}

#[test]
#[ignore = "started by another test"]
fn child() {
    let arguments = child::arguments();
    runtime().block_on(async {
        let store = Store::open(&Location::parse(&arguments[0])).await.unwrap();
        let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(count(store.clone(), task))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

/// Counts for ever, and says each number when the store has said that it has it.
async fn count(store: Store, task: u64) {
    // Two tasks share a counter, so that some changes find that they are late.
    let counter = format!("c-{}", task / 2);
    loop {
        let version = store.record("counter", &counter).await.unwrap().map_or(0, |record| record.version);
        let entry = format!("{counter} {}", version + 1);
        let (record, bytes) =
            (NewRecord::new("counter", &counter, "s", (version + 1).to_string()), entry.clone().into_bytes());
        let change = Change::new(vec![Guard::new("counter", &counter, version)], move |_| Writes {
            documents: vec![bytes.repeat(20)],
            records: vec![record],
            entries: vec![bytes],
            marks: Vec::new(),
        });
        let change = change.attach(&[entry.repeat(20).into_bytes()]).unwrap();
        match store.commit(change).await {
            Ok(committed) => child::say(&format!("{} {entry}", committed.first_index)),
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
