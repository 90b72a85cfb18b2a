//! The common behaviour of every store: in memory, in a file, on PostgreSQL.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use ordain_canon::ContentHash;
use ordain_ledger::{Hash, TileId, Tiles, tiles_of, verify_consistency, verify_inclusion};
use ordain_store::{
    Change, Committed, End, Guard, Location, NewRecord, Query, Record, Store, StoreError, Writes, limits,
};
use std::collections::BTreeSet;
use std::sync::mpsc;
use support::{Kind, Place, append, check_tree, runtime, set};
use tokio::task::JoinHandle;

macro_rules! on_every_store {
    ($($name:ident,)*) => {
        on_stores! { memory Memory: $($name,)* }
        on_stores! { file File: $($name,)* }
        on_stores! { postgres Postgres: $($name,)* }
    };
}

macro_rules! on_stores {
    ($module:ident $kind:ident: $($name:ident,)*) => {
        mod $module {
            use super::*;
            $(
                #[test]
                fn $name() {
                    let place = Place::new(Kind::$kind);
                    runtime().block_on(super::$name(&place));
                }
            )*
        }
    };
}

on_every_store! {
    a_new_store_is_empty,
    what_was_written_is_read,
    a_conflict_writes_nothing,
    a_guard_may_only_look,
    changes_of_one_batch_see_each_other,
    lists_have_an_order_and_pages,
    tiles_and_proofs,
    sql_in_every_string,
    what_is_too_long_is_refused,
    what_no_store_takes_is_refused,
    documents_are_kept_once,
    entries_come_in_bounded_pages,
    a_full_queue_is_busy,
    a_closed_store_has_written_everything,
    beyond_the_end,
    marked_entries_are_found_with_a_record,
}

mod shared {
    use super::*;

    on_stores! { file File: reopened, two_handles, a_change_sees_the_last_entry, many_open_at_once, a_newer_and_an_older_store_are_refused,
    a_failed_batch_is_not_the_end, damage_is_named, a_ledger_that_goes_back, nobody_blocks_the_writer, nobody_waits_for_the_writer, }
    on_stores! { postgres Postgres: reopened, two_handles, a_change_sees_the_last_entry, many_open_at_once, a_newer_and_an_older_store_are_refused,
    a_failed_batch_is_not_the_end, damage_is_named, a_ledger_that_goes_back, nobody_blocks_the_writer, nobody_waits_for_the_writer,
    two_who_believe_to_have_the_turn, a_node_that_falls_silent_in_its_turn, }
}

async fn a_new_store_is_empty(place: &Place) {
    let store = place.open().await;
    let head = store.head().await.unwrap();
    assert_eq!((head.size, head.root), (0, Hash::EMPTY));
    assert_eq!(store.entries(0, 10).await.unwrap(), []);
    assert_eq!(store.record("permit", "p").await.unwrap(), None);
    assert_eq!(store.document(&ContentHash::of(b"x")).await.unwrap(), None);
    assert_eq!(
        store.records(&Query { kind: "permit".into(), limit: 10, ..Query::default() }).await.unwrap(),
        []
    );
    assert_eq!(store.tiles(&BTreeSet::new(), 0).await.unwrap(), Tiles::new());
    check_tree(&store).await;
}

async fn what_was_written_is_read(place: &Place) {
    let store = place.open().await;
    let change = Change::new(vec![Guard::absent("action", "a-1"), Guard::absent("permit", "p-1")], |first| {
        assert_eq!(first, 0);
        Writes {
            documents: vec![b"proposal".to_vec(), b"".to_vec()],
            records: vec![
                NewRecord::new("action", "a-1", "held", "{\"n\":1}"),
                NewRecord::new("permit", "p-1", "open", "{}"),
            ],
            entries: vec![b"one".to_vec(), b"".to_vec(), vec![0, 255]],
            marks: Vec::new(),
        }
    });
    let attached = vec![b"{\"decided\":1}".to_vec(), vec![0xff, 0xfe], Vec::new()];
    let change = change.attach(&attached).unwrap();
    assert_eq!(store.commit(change).await.unwrap(), Committed { first_index: 0, size: 3 });
    let next = set("action", "a-1", 1, "decided", "{\"n\":2}");
    assert_eq!(store.commit(next).await.unwrap(), Committed { first_index: 3, size: 4 });
    let expected = Record {
        kind: "action".into(),
        id: "a-1".into(),
        version: 2,
        state: "decided".into(),
        body: "{\"n\":2}".into(),
        changed_at: 4,
    };
    assert_eq!(store.record("action", "a-1").await.unwrap(), Some(expected));
    let permit = store.record("permit", "p-1").await.unwrap().unwrap();
    assert_eq!((permit.version, permit.changed_at), (1, 3));
    assert_eq!(store.document(&ContentHash::of(b"proposal")).await.unwrap().unwrap(), b"proposal");
    assert_eq!(store.document(&ContentHash::of(b"")).await.unwrap().unwrap(), b"");
    let entries = check_tree(&store).await;
    assert_eq!(entries[2].bytes, [0, 255]);
    // Documents are attached to the first entry of a change, and found by any of them.
    assert_eq!((entries[0].attached.as_slice(), entries[1].attached.len()), (attached.as_slice(), 0));
    for index in [0, 2] {
        assert_eq!(store.attached(index).await.unwrap(), attached);
    }
    assert_eq!(entries.len(), 4);
    // Without entries the ledger stays, and what changed is still durable.
    let quiet = Change::new(vec![Guard::new("action", "a-1", 2)], |_| Writes {
        records: vec![NewRecord::new("action", "a-1", "done", "{}")],
        ..Writes::default()
    });
    assert_eq!(store.commit(quiet).await.unwrap(), Committed { first_index: 4, size: 4 });
    let nothing = Change::new(Vec::new(), |_| Writes::default());
    assert_eq!(store.commit(nothing).await.unwrap(), Committed { first_index: 4, size: 4 });
    assert_eq!(store.record("action", "a-1").await.unwrap().unwrap().version, 3);
    let counters = store.counters();
    assert_eq!((counters.batches, counters.changes, counters.entries), (3, 3, 4));
}

async fn marked_entries_are_found_with_a_record(place: &Place) {
    let store = place.open().await;
    let empty = store.marked_view("control", "gate", 0).await.unwrap();
    assert_eq!((empty.record, empty.last, empty.marked), (None, None, Vec::new()));
    for number in 1..=limits::MARKED_MAX as u64 + 2 {
        let guard = Guard::new("control", "gate", number - 1);
        let change = Change::new(vec![guard], move |_| Writes {
            records: vec![NewRecord::new("control", "gate", "open", format!("{{\"n\":{number}}}"))],
            entries: vec![b"before".to_vec(), number.to_string().into_bytes(), b"after".to_vec()],
            marks: vec![(1, number)],
            ..Writes::default()
        });
        store.commit(change).await.unwrap();
    }
    let size = store.head().await.unwrap().size;
    let all = store.entries(0, usize::try_from(size).unwrap()).await.unwrap();
    let view = store.marked_view("control", "gate", 0).await.unwrap();
    assert_eq!(view.record, store.record("control", "gate").await.unwrap());
    assert_eq!(view.last.as_ref(), all.last());
    assert_eq!(view.marked.len(), limits::MARKED_MAX);
    let marked: Vec<_> = all.iter().filter(|row| row.mark.is_some()).cloned().collect();
    assert_eq!(view.marked, marked[..limits::MARKED_MAX]);
    let after = store.marked_view("control", "other", limits::MARKED_MAX as u64).await.unwrap();
    assert_eq!((after.record, after.marked.as_slice()), (None, &marked[limits::MARKED_MAX..]));
    // A mark belongs to one entry of the change, and to no other.
    let beyond = Change::new(Vec::new(), |_| Writes {
        entries: vec![b"x".to_vec()],
        marks: vec![(1, 5_000)],
        ..Writes::default()
    });
    assert!(matches!(store.commit(beyond).await, Err(StoreError::Refused(_))));
    let twice = Change::new(Vec::new(), |_| Writes {
        entries: vec![b"x".to_vec()],
        marks: vec![(0, 7)],
        ..Writes::default()
    });
    store.commit(twice).await.unwrap_err();
    assert_eq!(store.head().await.unwrap().size, size);
}

/// Also where another process wrote it.
async fn a_change_sees_the_last_entry(place: &Place) {
    let stores = [place.open().await, place.open().await];
    for number in 0..6_u8 {
        let expected = number.checked_sub(1).map(|last| vec![last]);
        let build = Box::new(move |end: End<'_>| {
            assert_eq!((end.index, end.last), (u64::from(number), expected.as_deref()));
            Writes { entries: vec![vec![number]], ..Writes::default() }
        });
        let store = &stores[usize::from(number / 2 % 2)];
        store.commit(Change { attached: None, guards: Vec::new(), build }).await.unwrap();
    }
}

async fn a_conflict_writes_nothing(place: &Place) {
    let store = place.open().await;
    store.commit(set("permit", "p", 0, "open", "{}")).await.unwrap();
    for (version, found) in [(0, 1), (2, 1), (u64::MAX, 1)] {
        let change =
            Change::new(vec![Guard::absent("permit", "other"), Guard::new("permit", "p", version)], |_| {
                panic!("guards do not hold")
            });
        let error = store.commit(change).await.unwrap_err();
        assert_eq!(error, StoreError::Conflict { kind: "permit".into(), id: "p".into(), version: found });
    }
    let missing = Change::new(vec![Guard::new("permit", "none", 1)], |_| panic!("guards do not hold"));
    let error = store.commit(missing).await.unwrap_err();
    assert_eq!(error, StoreError::Conflict { kind: "permit".into(), id: "none".into(), version: 0 });
    assert_eq!(store.head().await.unwrap().size, 1);
    assert_eq!(store.record("permit", "other").await.unwrap(), None);
    assert_eq!(store.counters().refused, 4);
    // The same id in another kind is another record.
    store.commit(set("action", "p", 0, "open", "{}")).await.unwrap();
}

async fn a_guard_may_only_look(place: &Place) {
    let store = place.open().await;
    store.commit(set("halt", "all", 0, "running", "{}")).await.unwrap();
    let spend = |halt: u64| {
        let guards = vec![Guard::new("halt", "all", halt), Guard::absent("permit", "p")];
        Change::new(guards, |_| Writes {
            records: vec![NewRecord::new("permit", "p", "spent", "{}")],
            ..Writes::default()
        })
    };
    store.commit(set("halt", "all", 1, "halted", "{}")).await.unwrap();
    assert!(matches!(store.commit(spend(1)).await, Err(StoreError::Conflict { version: 2, .. })));
    store.commit(spend(2)).await.unwrap();
    assert_eq!(store.record("halt", "all").await.unwrap().unwrap().version, 2);
}

async fn changes_of_one_batch_see_each_other(place: &Place) {
    let store = place.open().await;
    let hold = block_the_writer(&store).await;
    // All of these wait for the same transaction.
    let chain = (0..20).map(|version| store.commit(set("counter", "c", version, "s", &version.to_string())));
    let rivals = (0..20).map(|_| store.commit(set("rival", "r", 0, "s", "{}")));
    let twice = (0..10).map(|_| store.commit(set("counter", "c", 5, "s", "wrong")));
    let (chain, rivals, twice) = (join_all(chain), join_all(rivals), join_all(twice));
    hold.send(()).unwrap();
    let (chain, rivals, twice) = (chain.await, rivals.await, twice.await);
    let indices: Vec<u64> = chain.into_iter().map(|result| result.unwrap().first_index).collect();
    assert_eq!(indices, (1..21).collect::<Vec<u64>>());
    assert_eq!(rivals.iter().filter(|result| result.is_ok()).count(), 1);
    let expected = StoreError::Conflict { kind: "counter".into(), id: "c".into(), version: 20 };
    assert!(twice.into_iter().all(|result| result == Err(expected.clone())));
    let record = store.record("counter", "c").await.unwrap().unwrap();
    assert_eq!((record.version, record.body.as_str(), record.changed_at), (20, "19", 21));
    assert_eq!(store.counters().batches, 2, "the blocked one and all the others");
    assert_eq!(check_tree(&store).await.len(), 22);
}

async fn lists_have_an_order_and_pages(place: &Place) {
    let store = place.open().await;
    // Capital letters before small ones, and bytes decide: not the language of a database.
    let ids = ["b", "a", "B", "ä", "z", "_", "aa", "A", "-", "Z"];
    let guards = ids.iter().map(|id| Guard::absent("note", *id)).collect();
    let together = Change::new(guards, move |_| Writes {
        records: ids.iter().map(|id| NewRecord::new("note", *id, "new", "{}")).collect(),
        entries: vec![b"together".to_vec()],
        ..Writes::default()
    });
    store.commit(together).await.unwrap();
    store.commit(set("note", "z", 1, "old", "{}")).await.unwrap();
    store.commit(set("note", "a", 1, "old", "{}")).await.unwrap();
    store.commit(set("other", "x", 0, "new", "{}")).await.unwrap();
    let listed = async |state: Option<&str>, page: usize, newest_first: bool| {
        let mut found: Vec<String> = Vec::new();
        let mut after = None;
        loop {
            let state = state.map(str::to_owned);
            let query = Query { kind: "note".into(), state, after, limit: page, newest_first };
            let records = store.records(&query).await.unwrap();
            assert!(records.len() <= page);
            let Some(last) = records.last() else { return found };
            after = Some((last.changed_at, last.id.clone()));
            found.extend(records.into_iter().map(|record| record.id));
        }
    };
    let list = async |state: Option<&str>, page: usize| {
        let found = listed(state, page, false).await;
        let mut newest = listed(state, page, true).await;
        newest.reverse();
        assert_eq!(newest, found);
        found
    };
    for page in [1, 2, 3, 100] {
        assert_eq!(list(None, page).await, ["-", "A", "B", "Z", "_", "aa", "b", "ä", "z", "a"]);
        assert_eq!(list(Some("old"), page).await, ["z", "a"]);
        assert_eq!(list(Some("new"), page).await, ["-", "A", "B", "Z", "_", "aa", "b", "ä"]);
        assert_eq!(list(Some("gone"), page).await, [""; 0]);
    }
    let none = store.records(&Query { kind: "note".into(), limit: 0, ..Query::default() }).await.unwrap();
    assert_eq!(none, []);
}

/// The tree of the naive definition.
fn naive_root(row: &[Hash]) -> Hash {
    match row {
        [] => Hash::EMPTY,
        [one] => *one,
        _ => {
            let (left, right) = row.split_at(row.len().next_power_of_two() / 2);
            Hash::of_node(naive_root(left), naive_root(right))
        }
    }
}

async fn tiles_and_proofs(place: &Place) {
    let store = place.open().await;
    let entry = |index: u64| format!("entry {index}").into_bytes();
    let mut size = 0;
    // Around the ends of tiles of level 0 and 1, in changes of all sizes.
    for count in [1, 254, 1, 1, 255, 256, 5_000, 60_000 - 232, 1, 200, 56, 1_000] {
        let change = append((size..size + count).map(entry).collect());
        size += count;
        assert_eq!(store.commit(change).await.unwrap().size, size);
    }
    let mut levels: Vec<Vec<Hash>> = vec![(0..size).map(|index| Hash::of_leaf(&entry(index))).collect()];
    while levels.last().unwrap().len() >= 256 {
        let above = levels.last().unwrap().chunks_exact(256).map(naive_root).collect();
        levels.push(above);
    }
    assert_eq!(levels.len(), 3);
    for size in [1, 255, 256, 257, 65_535, 65_536, 65_537, size] {
        let ids: Vec<(TileId, usize)> = tiles_of(size).collect();
        for page in ids.chunks(200) {
            let tiles = store.tiles(&page.iter().map(|(id, _)| *id).collect(), size).await.unwrap();
            assert_eq!(tiles.len(), page.len());
            for (id, width) in page {
                let start = usize::try_from(id.index * 256).unwrap();
                assert_eq!(
                    tiles[id],
                    levels[usize::from(id.level)][start..start + width],
                    "{id:?} of {size}"
                );
            }
        }
    }
    let root = |size: u64| naive_root(&levels[0][..usize::try_from(size).unwrap()]);
    for size in [1, 2, 256, 300, 65_536, 65_537, size] {
        for index in [0, 1, 255, 256, 65_535, size / 2, size - 1] {
            if index < size {
                let proof = store.inclusion(index, size).await.unwrap();
                verify_inclusion(Hash::of_leaf(&entry(index)), index, size, &proof, root(size)).unwrap();
            }
        }
    }
    for (old, new) in [(1, 2), (255, 256), (256, 65_537), (300, 66_000), (65_536, 66_769), (66_769, size)] {
        let proof = store.consistency(old, new).await.unwrap();
        verify_consistency(old, new, root(old), root(new), &proof).unwrap();
    }
    assert_eq!(store.head().await.unwrap().root, root(size));
    check_tree(&store).await;
}

async fn sql_in_every_string(place: &Place) {
    let store = place.open().await;
    static STRINGS: &[&str] = &[
        "'; DROP TABLE records; --",
        "\"; DROP TABLE entries; --",
        "' OR '1'='1",
        "$1",
        "?1",
        "%' OR kind LIKE '%",
        "\\'; DELETE FROM head; --",
        "{a,b}",
        "NULL",
        "\"quoted\",{\\\"}",
        "line\nline\ttab",
        "𝒻ünf",
        "",
    ];
    for (number, text) in STRINGS.iter().enumerate() {
        let change = Change::new(vec![Guard::absent(*text, *text)], move |_| Writes {
            documents: vec![text.as_bytes().to_vec()],
            records: vec![NewRecord::new(*text, *text, *text, *text)],
            entries: vec![text.as_bytes().to_vec()],
            marks: Vec::new(),
        });
        store.commit(change.attach(&[text.as_bytes().to_vec()]).unwrap()).await.unwrap();
        let record = store.record(text, text).await.unwrap().unwrap();
        assert_eq!([&record.kind, &record.id, &record.state, &record.body], [text; 4]);
        let query = Query {
            kind: (*text).into(),
            state: Some((*text).into()),
            after: Some((number as u64, (*text).into())),
            limit: 5,
            newest_first: false,
        };
        assert_eq!(store.records(&query).await.unwrap(), [record]);
        assert_eq!(
            store.document(&ContentHash::of(text.as_bytes())).await.unwrap().unwrap(),
            text.as_bytes()
        );
        let other = Change::new(vec![Guard::new(*text, *text, 7)], |_| Writes::default());
        let expected = StoreError::Conflict { kind: (*text).to_owned(), id: (*text).to_owned(), version: 1 };
        assert_eq!(store.commit(other).await, Err(expected));
    }
    assert_eq!(check_tree(&store).await.len(), STRINGS.len());
}

async fn what_is_too_long_is_refused(place: &Place) {
    let store = place.open().await;
    let text = |length: usize| "x".repeat(length);
    let record = |kind: usize, id: usize, state: usize, body: usize| {
        let record = NewRecord::new(text(kind), text(id), text(state), text(body));
        Change::new(vec![Guard::absent(text(kind), text(id))], |_| Writes {
            records: vec![record],
            ..Writes::default()
        })
    };
    let (kind, id, body) = (limits::KIND_BYTES_MAX, limits::ID_BYTES_MAX, limits::BODY_BYTES_MAX);
    store.commit(record(kind, id, kind, body)).await.unwrap();
    store.commit(append(vec![vec![7; 65_535]])).await.unwrap();
    let document = |length: usize| {
        Change::new(Vec::new(), move |_| Writes { documents: vec![vec![0; length]], ..Writes::default() })
    };
    let refused = [
        record(kind + 1, 1, 1, 1),
        record(1, id + 1, 1, 1),
        record(1, 1, kind + 1, 1),
        record(1, 1, 1, body + 1),
        append(vec![vec![7; 65_536]]),
        append(vec![vec![7; 65_535]; 1_100]),
        document(limits::DOCUMENT_BYTES_MAX + 1),
        Change::new(vec![Guard::absent("a", "b"); limits::GUARDS_MAX + 1], |_| Writes::default()),
    ];
    for change in refused {
        let error = store.commit(change).await.unwrap_err();
        assert!(matches!(error, StoreError::TooLong { .. }), "{error}");
    }
    let too_long =
        |result: Result<(), StoreError>| assert!(matches!(result, Err(StoreError::TooLong { .. })));
    too_long(store.record("x", &text(id + 1)).await.map(|_| ()));
    let query = Query { kind: "x".into(), limit: limits::LIST_MAX + 1, ..Query::default() };
    too_long(store.records(&query).await.map(|_| ()));
    let hashes = vec![ContentHash::of(b""); limits::DOCUMENTS_MAX + 1];
    too_long(store.documents(&hashes).await.map(|_| ()));
    assert_eq!(store.head().await.unwrap().size, 1);
}

async fn what_no_store_takes_is_refused(place: &Place) {
    let store = place.open().await;
    let writes = |guards: &[&str], records: &[&str], body: &'static str| {
        let records: Vec<NewRecord> = records.iter().map(|id| NewRecord::new("k", *id, "s", body)).collect();
        let guards = guards.iter().map(|id| Guard::absent("k", *id)).collect();
        Change::new(guards, move |_| Writes { records, ..Writes::default() })
    };
    let hold = block_the_writer(&store).await;
    let results = join_all([
        store.commit(writes(&[], &["a"], "{}")),
        store.commit(writes(&["a"], &["a", "a"], "{}")),
        store.commit(writes(&["a"], &["b"], "{}")),
        store.commit(writes(&["a\0"], &["a\0"], "{}")),
        store.commit(writes(&["a"], &["a"], "{\0}")),
        store.commit(writes(&["good"], &["good"], "{}")),
    ]);
    hold.send(()).unwrap();
    let results = results.await;
    for result in &results[..5] {
        assert!(matches!(result, Err(StoreError::Refused(_))), "{result:?}");
    }
    assert!(results[5].is_ok(), "others of the batch go on");
    assert!(matches!(store.record("a\0", "").await, Err(StoreError::Refused(_))));
    assert_eq!(store.record("k", "a").await.unwrap(), None);
}

async fn documents_are_kept_once(place: &Place) {
    let store = place.open().await;
    let write =
        |documents: Vec<Vec<u8>>| Change::new(Vec::new(), |_| Writes { documents, ..Writes::default() });
    store.commit(write(vec![b"a".to_vec(), b"b".to_vec(), b"a".to_vec()])).await.unwrap();
    store.commit(write(vec![b"b".to_vec(), b"c".to_vec()])).await.unwrap();
    let hashes = [b"c", b"x", b"a", b"c"].map(|bytes| ContentHash::of(bytes));
    let found = store.documents(&hashes).await.unwrap();
    assert_eq!(found, [Some(b"c".to_vec()), None, Some(b"a".to_vec()), Some(b"c".to_vec())]);
    assert_eq!(store.documents(&[]).await.unwrap(), [] as [Option<Vec<u8>>; 0]);
}

async fn entries_come_in_bounded_pages(place: &Place) {
    let store = place.open().await;
    let entries: Vec<Vec<u8>> = (0..150_u8).map(|byte| vec![byte; 60_000]).collect();
    store.commit(append(entries.clone())).await.unwrap();
    let first = store.entries(0, 1_000).await.unwrap();
    assert_eq!(first.len(), limits::ENTRIES_BYTES_MAX / 60_000);
    assert_eq!(store.entries(3, 2).await.unwrap().iter().map(|row| row.index).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(store.entries(149, usize::MAX).await.unwrap().len(), 1);
    for from in [150, 1_000, u64::MAX] {
        assert_eq!(store.entries(from, 10).await.unwrap(), []);
    }
    assert_eq!(store.entries(0, 0).await.unwrap(), []);
    let all: Vec<Vec<u8>> = check_tree(&store).await.into_iter().map(|row| row.bytes).collect();
    assert_eq!(all, entries);
}

async fn a_full_queue_is_busy(place: &Place) {
    let store = place.open().await;
    let hold = block_the_writer(&store).await;
    let all = (0..limits::QUEUE_MAX + 10).map(|number| {
        let store = store.clone();
        tokio::spawn(async move { store.commit(append(vec![number.to_string().into_bytes()])).await })
    });
    let all: Vec<_> = all.collect();
    // The writer may have taken one out of the queue already, and waits for its turn with it.
    while all.iter().filter(|task| task.is_finished()).count() < 9 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    hold.send(()).unwrap();
    let (mut done, mut busy) = (0, 0);
    for task in all {
        match task.await.unwrap() {
            Ok(_) => done += 1,
            Err(StoreError::Busy) => busy += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!((9..=10).contains(&busy) && done + busy == limits::QUEUE_MAX + 10, "{done} done, {busy} busy");
    assert_eq!(check_tree(&store).await.len(), done + 1);
    let batches = store.counters().batches;
    assert!(batches <= 2 + (limits::QUEUE_MAX / limits::BATCH_CHANGES_MAX) as u64, "{batches}");
}

async fn a_closed_store_has_written_everything(place: &Place) {
    let store = place.open().await;
    let hold = block_the_writer(&store).await;
    let other = store.clone();
    let accepted = join_all((0..300).map(|number| other.commit(append(vec![vec![1; number]]))));
    let last = store.clone();
    let closing = tokio::spawn(store.close());
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    hold.send(()).unwrap();
    assert!(accepted.await.iter().all(Result::is_ok));
    closing.await.unwrap().unwrap();
    assert_eq!(last.commit(append(vec![vec![]])).await, Err(StoreError::Closed));
    assert_eq!(last.head().await, Err(StoreError::Closed));
    assert_eq!(last.close().await, Err(StoreError::Closed));
    if place.kind != Kind::Memory {
        assert_eq!(check_tree(&place.open().await).await.len(), 301);
    }
}

async fn beyond_the_end(place: &Place) {
    let store = place.open().await;
    store.commit(append(vec![b"x".to_vec(); 10])).await.unwrap();
    let beyond = |result: Result<Vec<Hash>, StoreError>| {
        assert!(matches!(result, Err(StoreError::Beyond { .. })), "{result:?}");
    };
    beyond(store.inclusion(10, 10).await);
    beyond(store.inclusion(0, 11).await);
    beyond(store.inclusion(u64::MAX, u64::MAX).await);
    beyond(store.inclusion(0, u64::MAX).await);
    beyond(store.consistency(10, 11).await);
    beyond(store.consistency(5, 4).await);
    let tile = BTreeSet::from([TileId { level: 1, index: 0 }]);
    assert!(matches!(store.tiles(&tile, 10).await, Err(StoreError::Beyond { .. })));
    assert_eq!(store.consistency(10, 10).await.unwrap(), []);
}

async fn reopened(place: &Place) {
    for round in 0..6_u64 {
        let store = place.open().await;
        assert_eq!(store.head().await.unwrap().size, round * 300);
        store.commit(append(vec![b"x".to_vec(); 299])).await.unwrap();
        store.commit(set("k", "i", round, "s", "{}")).await.unwrap();
        // With and without saying good-bye.
        if round % 2 == 0 {
            store.close().await.unwrap();
        }
    }
    check_tree(&place.open().await).await;
}

async fn two_handles(place: &Place) {
    let handles = [place.open().await, place.open().await];
    // In turn, so that each finds what the other appended: a little, whole tiles, more than it follows.
    for (round, count) in [1, 5, 300, 1, 2_000, 3, 700, 1].into_iter().enumerate() {
        let before = handles[0].head().await.unwrap().size;
        let committed = handles[round % 2].commit(append(vec![b"x".to_vec(); count])).await.unwrap();
        assert_eq!(committed, Committed { first_index: before, size: before + count as u64 });
    }
    let all = (0..400_u64).map(|number| {
        let store = handles[usize::try_from(number % 2).unwrap()].clone();
        tokio::spawn(async move {
            let entries = vec![format!("{number}").into_bytes(); usize::try_from(number % 5).unwrap()];
            let committed = store.commit(append(entries)).await.unwrap();
            (committed.first_index, committed.size, number)
        })
    });
    let all: Vec<_> = all.collect();
    let mut ranges = Vec::new();
    for task in all {
        ranges.push(task.await.unwrap());
    }
    let entries = check_tree(&handles[0]).await;
    check_tree(&handles[1]).await;
    assert_eq!(entries.len(), 3_011 + 800);
    for (first, end, number) in ranges {
        for index in first..end {
            let bytes = &entries[usize::try_from(index).unwrap()].bytes;
            assert_eq!(*bytes, number.to_string().into_bytes());
        }
    }
}

async fn many_open_at_once(place: &Place) {
    let all: Vec<_> = (0..8)
        .map(|_| {
            let location = place.location.clone();
            tokio::spawn(async move {
                let store = Store::open(&location).await.unwrap();
                store.commit(append(vec![b"hello".to_vec()])).await.unwrap();
            })
        })
        .collect();
    for task in all {
        task.await.unwrap();
    }
    assert_eq!(check_tree(&place.open().await).await.len(), 8);
}

async fn a_newer_and_an_older_store_are_refused(place: &Place) {
    let store = place.open().await;
    store.commit(set("k", "i", 0, "s", "{}")).await.unwrap();
    store.close().await.unwrap();
    let meta = place.table("meta");
    place.meddle(&format!("UPDATE {meta} SET version = 99"));
    let error = Store::open(&place.location).await.err().unwrap();
    let StoreError::Newer { found: 99, known, .. } = error else { panic!("{error}") };
    // The tables of ordain 0.1 are not read any more.
    place.meddle(&format!("UPDATE {meta} SET version = 1"));
    for opened in [Store::open(&place.location).await, Store::open_to_read(&place.location).await] {
        let error = opened.err().unwrap();
        assert!(matches!(error, StoreError::Older(_)) && error.to_string().contains("ordain 0.1"), "{error}");
    }
    place.meddle(&format!("UPDATE {meta} SET version = {known}"));
    assert_eq!(place.open().await.head().await.unwrap().size, 1);
}

async fn a_failed_batch_is_not_the_end(place: &Place) {
    let store = place.open().await;
    store.commit(append(vec![b"x".to_vec(); 300])).await.unwrap();
    let entries = place.table("entries");
    let hash = if place.kind == Kind::File { "x''" } else { "''" };
    place.meddle(&format!("INSERT INTO {entries} (position, bytes, leaf_hash) VALUES (301, {hash}, {hash})"));
    let hold = block_the_writer(&store).await;
    let failing = join_all((0..3).map(|_| store.commit(append(vec![b"y".to_vec()]))));
    let conflict = join_all([store.commit(set("k", "i", 5, "s", "{}"))]);
    hold.send(()).unwrap();
    for result in failing.await.into_iter().chain(conflict.await) {
        // The conflict too: it might have been with a change that was not written.
        assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
    }
    assert_eq!(store.head().await.unwrap().size, 301);
    place.meddle(&format!("DELETE FROM {entries} WHERE position = 301"));
    assert_eq!(store.commit(set("k", "i", 0, "s", "{}")).await.unwrap().first_index, 301);
    let counters = store.counters();
    assert_eq!((counters.batches, counters.failed), (3, 4));
    check_tree(&store).await;
}

async fn damage_is_named(place: &Place) {
    let store = place.open().await;
    let change = Change::new(Vec::new(), |_| Writes {
        documents: vec![b"precious".to_vec()],
        entries: vec![b"x".to_vec(); 1_000],
        ..Writes::default()
    });
    store.commit(change).await.unwrap();
    let (documents, entries, tiles, head) =
        (place.table("documents"), place.table("entries"), place.table("tiles"), place.table("head"));
    let corrupt = |result: Result<(), StoreError>, words: &str| match result {
        Err(StoreError::Corrupt(message)) => assert!(message.contains(words), "{message}"),
        other => panic!("{words}: {other:?}"),
    };
    let byte = if place.kind == Kind::File { "x'00'" } else { "'\\x00'" };
    place.meddle(&format!("UPDATE {documents} SET bytes = {byte}"));
    corrupt(store.document(&ContentHash::of(b"precious")).await.map(|_| ()), "was altered");
    place.meddle(&format!("UPDATE {tiles} SET hashes = {byte} WHERE level = 0 AND position = 1"));
    corrupt(store.inclusion(300, 1_000).await.map(|_| ()), "stored tile");
    place.meddle(&format!("DELETE FROM {tiles} WHERE level = 1"));
    corrupt(store.inclusion(999, 1_000).await.map(|_| ()), "level 1");
    place.meddle(&format!("DELETE FROM {entries} WHERE position = 990"));
    corrupt(store.inclusion(999, 1_000).await.map(|_| ()), "entry 990 is missing");
    // A writer that is new does not build on it.
    let new = place.open().await;
    corrupt(new.commit(append(vec![vec![]])).await.map(|_| ()), "entry 990 is missing");
    place.meddle(&format!("DELETE FROM {entries} WHERE position = 999"));
    corrupt(new.commit(append(vec![vec![]])).await.map(|_| ()), "is missing");
    place.meddle(&format!("DELETE FROM {head}"));
    corrupt(store.head().await.map(|_| ()), "lost the ledger's head");
    corrupt(store.commit(append(vec![vec![]])).await.map(|_| ()), "lost the ledger's head");
}

/// A backup is put back below a running process, or a standby takes over that lacks the last moments. Writes
/// that the process has acknowledged would be forgotten, so it writes nothing, however much others have
/// appended since.
async fn a_ledger_that_goes_back(place: &Place) {
    const TABLES: [&str; 5] = ["entries", "tiles", "head", "documents", "records"];
    let keep = |name: &str| {
        for table in TABLES {
            let (kept, table) = (place.table(&format!("{name}_{table}")), place.table(table));
            place.meddle(&format!("CREATE TABLE {kept} AS SELECT * FROM {table}"));
        }
    };
    let put_back = |name: &str| {
        for table in TABLES {
            let (kept, table) = (place.table(&format!("{name}_{table}")), place.table(table));
            place.meddle(&format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM {kept}"));
        }
    };
    let store = place.open().await;
    store.commit(append(vec![b"x".to_vec(); 300])).await.unwrap();
    keep("older");
    store.commit(set("permit", "p", 0, "spent", "{}")).await.unwrap();
    let refused = async || {
        for _ in 0..3 {
            let error = store.commit(append(vec![b"y".to_vec()])).await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
        }
        store.commit(append(vec![b"y".to_vec()])).await.unwrap_err().to_string()
    };
    keep("newer");
    put_back("older");
    let error = refused().await;
    assert!(error.contains("has 300 entries and is not the one with 301 entries"), "{error}");
    // As many as before, and then far more; whoever comes new cannot know.
    let other = place.open().await;
    for (entries, size) in [(1, 301), (2_000, 2_301)] {
        assert_eq!(other.commit(append(vec![b"z".to_vec(); entries])).await.unwrap().size, size);
        let error = refused().await;
        assert!(error.contains(&format!("has {size} entries and is not the one with 301")), "{error}");
    }
    drop(other);
    put_back("newer");
    assert_eq!(store.commit(set("permit", "p", 1, "spent", "{}")).await.unwrap().first_index, 301);
    check_tree(&store).await;
}

/// Somebody looks at the store for a long time.
async fn nobody_blocks_the_writer(place: &Place) {
    let store = place.open().await;
    store.commit(append(vec![b"x".to_vec()])).await.unwrap();
    let (looking, looks) = mpsc::channel();
    let (done, wait) = mpsc::channel::<()>();
    let location = place.location.clone();
    let reader = std::thread::spawn(move || match location {
        Location::File(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.execute_batch("BEGIN").unwrap();
            let read =
                || connection.query_row("SELECT size FROM head", [], |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!(read(), 1);
            looking.send(()).unwrap();
            wait.recv().unwrap();
            assert_eq!(read(), 1);
        }
        Location::Postgres(url) => runtime().block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
            let read = async || {
                client.query_one("SELECT size FROM ordain.head", &[]).await.unwrap().get::<_, i64>(0)
            };
            assert_eq!(read().await, 1);
            looking.send(()).unwrap();
            wait.recv().unwrap();
            assert_eq!(read().await, 1);
        }),
        Location::Memory => panic!("nobody else sees a store in memory"),
    });
    looks.recv().unwrap();
    for _ in 0..20 {
        store.commit(append(vec![b"y".to_vec()])).await.unwrap();
    }
    done.send(()).unwrap();
    reader.join().unwrap();
    assert_eq!(store.head().await.unwrap().size, 21);
}

/// The writer is in the middle of a transaction.
async fn nobody_waits_for_the_writer(place: &Place) {
    let store = place.open().await;
    store.commit(set("k", "i", 0, "s", "{}")).await.unwrap();
    let hold = block_the_writer(&store).await;
    for _ in 0..20 {
        assert_eq!(store.head().await.unwrap().size, 1);
        assert_eq!(store.record("k", "i").await.unwrap().unwrap().version, 1);
        assert_eq!(store.inclusion(0, 1).await.unwrap(), []);
    }
    hold.send(()).unwrap();
}

/// Something between us and the server mixes up sessions, so that a lock says nothing.
async fn two_who_believe_to_have_the_turn(place: &Place) {
    let store = place.open().await;
    store.commit(set("k", "i", 0, "s", "{}")).await.unwrap();
    // Somebody who writes no entry moves it as well.
    for what in ["size = size", "size = size + 1"] {
        let (hold, held) = hold_the_turn(&store).await;
        place.meddle(&format!("UPDATE ordain.head SET {what}"));
        hold.send(()).unwrap();
        let error = held.await.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{what}: {error}");
        assert!(error.to_string().contains("somebody else wrote while it was our turn"), "{what}: {error}");
    }
    place.meddle("UPDATE ordain.head SET size = size - 1");
    assert_eq!(store.commit(set("k", "i", 1, "s", "{}")).await.unwrap().first_index, 1);
    assert_eq!(check_tree(&store).await.len(), 2);
}

async fn a_node_that_falls_silent_in_its_turn(place: &Place) {
    let [silent, other] = [place.open().await, place.open().await];
    let (hold, held) = hold_the_turn(&silent).await;
    assert_eq!(other.commit(append(vec![b"y".to_vec()])).await.unwrap().first_index, 0);
    hold.send(()).unwrap();
    let error = held.await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert_eq!(silent.commit(append(vec![b"z".to_vec()])).await.unwrap().first_index, 1);
    assert_eq!(check_tree(&other).await.len(), 2);
}

/// Three stores are asked the same, some of it in vain, and agree in every answer.
#[test]
fn three_stores_agree() {
    let places = [Kind::Memory, Kind::File, Kind::Postgres].map(Place::new);
    runtime().block_on(async {
        let mut stores = Vec::new();
        for place in &places {
            stores.push(place.open().await);
        }
        let mut seed = 42_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for step in 0..400 {
            let guards: Vec<Guard> = (0..random(4))
                .map(|_| Guard::new(format!("k{}", random(2)), format!("i{}", random(3)), random(3)))
                .collect();
            let written = random(5) as usize;
            let (entries, state) = (random(3), format!("s{}", random(2)));
            let mut answers = Vec::new();
            let state_of_step = format!("{step} {state}").into_bytes();
            for store in &stores {
                let (writes, state) = (guards.clone(), state.clone());
                let change = Change::new(guards.clone(), move |first| Writes {
                    documents: vec![first.to_string().into_bytes()],
                    records: writes
                        .into_iter()
                        .take(written)
                        .map(|guard| NewRecord::new(guard.kind, guard.id, &state, first.to_string()))
                        .collect(),
                    entries: (0..entries).map(|number| format!("{step} {number}").into_bytes()).collect(),
                    marks: Vec::new(),
                });
                let attached = if entries > 0 {
                    change.attach(std::slice::from_ref(&state_of_step)).unwrap()
                } else {
                    change
                };
                answers.push(store.commit(attached).await);
            }
            assert!(answers.iter().all(|answer| *answer == answers[0]), "step {step}: {answers:?}");
        }
        let mut states = Vec::new();
        for store in &stores {
            let mut records = Vec::new();
            for kind in ["k0", "k1"] {
                let query = Query { kind: kind.into(), limit: 100, ..Query::default() };
                records.extend(store.records(&query).await.unwrap());
            }
            states.push((store.head().await.unwrap(), check_tree(store).await, records));
        }
        assert!(states[0].1.len() > 50 && !states[0].2.is_empty());
        assert!(states[1..].iter().all(|state| *state == states[0]));
    });
}

/// The writer begins a transaction and stays in it until told to go on.
async fn block_the_writer(store: &Store) -> mpsc::Sender<()> {
    hold_the_turn(store).await.0
}

/// The same, with what becomes of it.
async fn hold_the_turn(store: &Store) -> (mpsc::Sender<()>, JoinHandle<Result<Committed, StoreError>>) {
    let (go_on, wait) = mpsc::channel();
    let (inside, entered) = tokio::sync::oneshot::channel();
    let change = Change::new(Vec::new(), move |_| {
        inside.send(()).unwrap();
        wait.recv().unwrap();
        Writes { entries: vec![b"blocked".to_vec()], ..Writes::default() }
    });
    let store = store.clone();
    let held = tokio::spawn(async move { store.commit(change).await });
    entered.await.unwrap();
    (go_on, held)
}

/// Starts all of them, in order, before it returns.
fn join_all<T: Send + 'static>(
    futures: impl IntoIterator<Item = impl Future<Output = T>>,
) -> impl Future<Output = Vec<T>> {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut results: Vec<Option<T>> = Vec::new();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for future in &mut futures {
        results.push(match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(result) => Some(result),
            std::task::Poll::Pending => None,
        });
    }
    async move {
        let mut all = Vec::new();
        for (future, result) in futures.into_iter().zip(results) {
            all.push(match result {
                Some(result) => result,
                None => future.await,
            });
        }
        all
    }
}
