//! Places for stores: in memory, in a file of a folder of their own, in a database of their own.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "each test uses its part"
)]

pub mod child;

use ordain_ledger::{Edge, Hash};
use ordain_store::{Change, Committed, EntryRow, Guard, Location, NewRecord, Store, StoreError, Writes};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Memory,
    File,
    Postgres,
}

/// Where one test has its store. Removed at the end.
pub struct Place {
    pub kind: Kind,
    pub location: Location,
    folder: Option<Folder>,
    database: Option<String>,
}

impl Place {
    pub fn new(kind: Kind) -> Self {
        let mut place = Self { kind, location: Location::Memory, folder: None, database: None };
        match kind {
            Kind::Memory => {}
            Kind::File => {
                let folder = Folder::new();
                place.location = Location::File(folder.path.join("ordain.db"));
                place.folder = Some(folder);
            }
            Kind::Postgres => {
                let name = unique("ordain_test");
                administer(&format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"));
                place.location = Location::parse(&database_url(&name));
                place.database = Some(name);
            }
        }
        place
    }

    pub async fn open(&self) -> Store {
        Store::open(&self.location).await.unwrap()
    }

    pub fn file(&self) -> PathBuf {
        match &self.location {
            Location::File(path) => path.clone(),
            other => panic!("{other} is no file"),
        }
    }

    /// Runs SQL behind the store's back.
    pub fn meddle(&self, sql: &str) {
        match &self.location {
            Location::File(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
            Location::Postgres(url) => execute(url, sql),
            Location::Memory => panic!("nobody else sees a store in memory"),
        }
    }

    /// The name of a table behind the store's back.
    pub fn table(&self, name: &str) -> String {
        if self.kind == Kind::Postgres { format!("ordain.{name}") } else { name.to_owned() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(name) = &self.database {
            administer(&format!("DROP DATABASE {name} WITH (FORCE)"));
        }
    }
}

pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(unique("ordain-store"));
        std::fs::create_dir(&path).unwrap();
        Self { path }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.path).ok();
    }
}

fn unique(prefix: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}_{}_{}_{number}", std::process::id(), now.subsec_nanos())
}

fn server_url() -> String {
    std::env::var("ORDAIN_TEST_POSTGRES").expect(
        "ORDAIN_TEST_POSTGRES names no server; run `cargo xtask test`, which starts one, or name one where databases \
         may be created",
    )
}

fn database_url(name: &str) -> String {
    let url = server_url();
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{name}")
}

fn administer(sql: &str) {
    execute(&server_url(), sql);
}

/// On a thread of its own, so that it also works where a runtime runs.
pub fn execute(url: &str, sql: &str) {
    let (url, sql) = (url.to_owned(), sql.to_owned());
    let work = async move {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    };
    std::thread::spawn(move || runtime().block_on(work)).join().unwrap();
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

pub fn append(entries: Vec<Vec<u8>>) -> Change {
    Change::new(Vec::new(), |_| Writes { entries, ..Writes::default() })
}

/// Sets a record, and appends an entry that says so.
pub fn set(kind: &str, id: &str, version: u64, state: &str, body: &str) -> Change {
    let record = NewRecord::new(kind, id, state, body);
    let entry = format!("{kind} {id} {version} {state}").into_bytes();
    Change::new(vec![Guard::new(kind, id, version)], move |_| Writes {
        records: vec![record],
        entries: vec![entry],
        ..Writes::default()
    })
}

/// Raises a counter in a record by compare-and-set until it has reached a maximum; how often this caller did.
pub async fn use_up(store: &Store, id: &str, max: u64, who: &str) -> u64 {
    let mut mine = 0;
    loop {
        let (version, uses) = match store.record("permit", id).await.unwrap() {
            Some(record) => (record.version, record.body.parse::<u64>().unwrap()),
            None => (0, 0),
        };
        if uses >= max {
            return mine;
        }
        let record = NewRecord::new("permit", id, "used", (uses + 1).to_string());
        let entry = format!("{id} {who} {}", uses + 1).into_bytes();
        let change = Change::new(vec![Guard::new("permit", id, version)], move |_| Writes {
            records: vec![record],
            entries: vec![entry],
            ..Writes::default()
        });
        match store.commit(change).await {
            Ok(Committed { .. }) => mine += 1,
            Err(StoreError::Conflict { .. } | StoreError::Busy) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

pub async fn all_entries(store: &Store) -> Vec<EntryRow> {
    let mut entries: Vec<EntryRow> = Vec::new();
    loop {
        let page = store.entries(entries.len() as u64, 10_000).await.unwrap();
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
    }
}

/// Everything that is stored agrees: indices without gaps, hashes, head, all tiles.
pub async fn check_tree(store: &Store) -> Vec<EntryRow> {
    let head = store.head().await.unwrap();
    let entries = all_entries(store).await;
    let mut edge = Edge::new();
    let mut expected = ordain_ledger::Tiles::new();
    for (index, entry) in entries.iter().enumerate() {
        assert_eq!(entry.index, index as u64);
        assert_eq!(entry.leaf_hash, Hash::of_leaf(&entry.bytes), "entry {index}");
        edge.append(entry.leaf_hash, |tile, row| {
            expected.insert(tile, row.to_vec());
        });
    }
    assert_eq!((head.size, head.root), (edge.size(), edge.root()));
    expected.extend(edge.partial_tiles().map(|(tile, row)| (tile, row.to_vec())));
    let ids: Vec<_> = expected.keys().copied().collect();
    for ids in ids.chunks(ordain_store::limits::TILES_MAX) {
        for (id, row) in store.tiles(&ids.iter().copied().collect(), head.size).await.unwrap() {
            assert_eq!(row, expected[&id], "{id:?}");
        }
    }
    entries
}
