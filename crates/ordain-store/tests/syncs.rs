//! A sync for each batch, and many changes in a batch: counted from outside, by the system calls of a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use ordain_store::{Location, Store};
use support::{Folder, append, child, runtime};

/// Syncs of a process that opens a store, has so many writers commit so often each, and closes it; and its batches.
fn syncs(writers: u64, times: u64) -> (u64, u64) {
    let folder = Folder::new();
    let trace = folder.path.join("trace");
    let under = ["strace", "-f", "-e", "trace=fsync,fdatasync", "-o", trace.to_str().unwrap()];
    let file = folder.path.join("ordain.db");
    let arguments = [file.to_str().unwrap(), &writers.to_string(), &times.to_string()];
    let output = child::command(&under, &arguments).output().expect("strace (Debian's package `strace`)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let said = child::lines(&output.stdout);
    let trace = std::fs::read_to_string(&trace).unwrap();
    // A call that another thread interrupts in the trace is there twice; its end does not count.
    let calls = trace.lines().filter(|line| line.contains("sync(")).count();
    (calls as u64, said[0].parse().unwrap())
}

#[test]
fn one_sync_for_each_batch() {
    let (empty, _) = syncs(0, 0);
    let (alone, batches) = syncs(1, 100);
    assert_eq!(batches, 100);
    assert_eq!(alone - empty, 100, "{empty} without changes");
    let (together, batches) = syncs(64, 20);
    assert_eq!(together - empty, batches);
    assert!(batches * 4 < 64 * 20, "{batches} batches for {} changes", 64 * 20);
}

#[test]
#[ignore = "started by another test"]
fn child() {
    let arguments = child::arguments();
    let (writers, times): (u64, u64) = (arguments[1].parse().unwrap(), arguments[2].parse().unwrap());
    runtime().block_on(async {
        let store = Store::open(&Location::parse(&arguments[0])).await.unwrap();
        let tasks = (0..writers).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..times {
                    store.commit(append(vec![b"an entry".to_vec()])).await.unwrap();
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        child::say(&store.counters().batches.to_string());
        store.close().await.unwrap();
    });
}
