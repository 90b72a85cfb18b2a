//! Durable appends beside those of as many writers to a raw file, interleaved in one run, and inclusion
//! proofs of ledgers of several sizes. A number as argument adds a ledger with so many leaves; `appends`
//! leaves the proofs out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

use ordain_ledger::{Hash, tiles_for_inclusion, verify_inclusion};
use ordain_store::{Change, Location, Store, Writes};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Rounds of all contestants in turn; the median of their ratios counts.
const ROUNDS: usize = 7;
/// Rounds before that, in which logs get the size that they keep.
const WARM_UP: usize = 2;
/// Bytes of an entry, as long as those of decisions are.
const ENTRY_BYTES: usize = 512;
const COMMITS: usize = 300;
const WRITERS: usize = 64;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ordain-store-bench");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).unwrap();
    runtime.block_on(async {
        appends(&folder).await;
        if std::env::args().all(|argument| argument != "appends") {
            proofs(&folder).await;
        }
    });
    fs::remove_dir_all(&folder).unwrap();
}

/// One contestant: its figures over all rounds.
#[derive(Default)]
struct Figures {
    ratios: Vec<f64>,
    per_second: Vec<f64>,
    latencies: Vec<Duration>,
    changes: u64,
    syncs: u64,
}

async fn appends(folder: &Path) {
    let mut raw = OpenOptions::new().append(true).create(true).open(folder.join("raw")).unwrap();
    let file = Store::open(&Location::File(folder.join("ordain.db"))).await.unwrap();
    let file = std::slice::from_ref(&file);
    let database = Database::new().await;
    let nodes = [database.open().await, database.open().await];
    let plain = connect(&database.url()).await;
    plain
        .batch_execute("CREATE TABLE plain (position bigserial PRIMARY KEY, bytes bytea NOT NULL)")
        .await
        .unwrap();
    let mut all: [Figures; 7] = Default::default();
    for round in 0..WARM_UP + ROUNDS {
        if round == WARM_UP {
            all = Default::default();
        }
        let one = all[0].raw(&mut raw);
        all[1].round(file, 1, one).await;
        all[2].round(&nodes[..1], 1, one).await;
        let many = all[3].shared_raw(&raw).await;
        all[4].round(file, WRITERS, many).await;
        all[5].round(&nodes, WRITERS, many).await;
        all[6].plain(&plain, many).await;
    }
    for node in nodes {
        node.close().await.unwrap();
    }
    database.remove().await;
    println!("durable appends of {ENTRY_BYTES} bytes; the ratio is to as many writers on a raw file");
    println!("{:<36} {:>6} {:>9} {:>7} {:>9} {:>9}", "", "ratio", "per s", "a sync", "p50 µs", "p99 µs");
    let names = [
        "raw, 1 writer",
        "SQLite, 1 writer",
        "PostgreSQL, 1 node, 1 writer",
        "raw, 64 writers",
        "SQLite, 64 writers",
        "PostgreSQL, 2 nodes, 64 writers",
        "PostgreSQL, plain INSERT of 32 rows",
    ];
    for (name, figures) in names.into_iter().zip(&mut all) {
        figures.print(name);
    }
}

impl Figures {
    async fn round(&mut self, stores: &[Store], writers: usize, raw: f64) {
        let syncs = || stores.iter().map(|store| store.counters().batches).sum::<u64>();
        let before = syncs();
        let start = Instant::now();
        let tasks =
            (0..writers).map(|writer| tokio::spawn(append(stores[writer % stores.len()].clone(), writers)));
        for task in tasks.collect::<Vec<_>>() {
            self.latencies.extend(task.await.unwrap());
        }
        self.measured(start.elapsed(), writers * times(writers), syncs() - before, Some(raw));
    }

    /// One writer that appends to a file and syncs it, itself.
    fn raw(&mut self, file: &mut File) -> f64 {
        let start = Instant::now();
        for _ in 0..times(1) {
            let start = Instant::now();
            file.write_all(&[b'.'; ENTRY_BYTES]).unwrap();
            file.sync_data().unwrap();
            self.latencies.push(start.elapsed());
        }
        self.measured(start.elapsed(), times(1), times(1) as u64, None)
    }

    /// Many writers that share a file: a thread appends what waits, syncs, and tells them.
    async fn shared_raw(&mut self, file: &File) -> f64 {
        type Job = (Vec<u8>, oneshot::Sender<()>);
        let mut file = file.try_clone().unwrap();
        let (sender, mut receiver) = mpsc::channel::<Job>(WRITERS);
        let thread = std::thread::spawn(move || {
            let mut syncs = 0;
            while let Some((mut bytes, answer)) = receiver.blocking_recv() {
                let mut answers = vec![answer];
                while let Ok((more, answer)) = receiver.try_recv() {
                    bytes.extend(more);
                    answers.push(answer);
                }
                file.write_all(&bytes).unwrap();
                file.sync_data().unwrap();
                syncs += 1;
                answers.into_iter().for_each(|answer| answer.send(()).unwrap());
            }
            syncs
        });
        let start = Instant::now();
        let write = |sender: mpsc::Sender<Job>| async move {
            let mut latencies = Vec::new();
            for _ in 0..times(WRITERS) {
                let start = Instant::now();
                let (answer, answered) = oneshot::channel();
                sender.send((vec![b'.'; ENTRY_BYTES], answer)).await.unwrap();
                answered.await.unwrap();
                latencies.push(start.elapsed());
            }
            latencies
        };
        let tasks: Vec<_> = (0..WRITERS).map(|_| tokio::spawn(write(sender.clone()))).collect();
        for task in tasks {
            self.latencies.extend(task.await.unwrap());
        }
        let time = start.elapsed();
        drop(sender);
        self.measured(time, WRITERS * times(WRITERS), thread.join().unwrap(), None)
    }

    /// The server's own speed: no ledger, one connection, one statement for each transaction.
    async fn plain(&mut self, client: &tokio_postgres::Client, raw: f64) {
        let insert = "INSERT INTO plain (bytes) SELECT * FROM unnest($1::bytea[])";
        let insert = client.prepare(insert).await.unwrap();
        let rows = vec![vec![b'.'; ENTRY_BYTES]; WRITERS / 2];
        let start = Instant::now();
        for _ in 0..COMMITS {
            let start = Instant::now();
            client.execute(&insert, &[&rows]).await.unwrap();
            self.latencies.push(start.elapsed());
        }
        self.measured(start.elapsed(), COMMITS * rows.len(), COMMITS as u64, Some(raw));
    }

    /// Gives the changes in a second.
    fn measured(&mut self, time: Duration, changes: usize, syncs: u64, raw: Option<f64>) -> f64 {
        let per_second = changes as f64 / time.as_secs_f64();
        self.changes += changes as u64;
        self.syncs += syncs;
        self.per_second.push(per_second);
        self.ratios.push(per_second / raw.unwrap_or(per_second));
        per_second
    }

    fn print(&mut self, name: &str) {
        self.latencies.sort();
        let at = |share: f64| self.latencies[(self.latencies.len() as f64 * share) as usize].as_micros();
        println!(
            "{name:<36} {:>6.2} {:>9.0} {:>7.1} {:>9} {:>9}",
            median(&mut self.ratios.clone()),
            median(&mut self.per_second.clone()),
            self.changes as f64 / self.syncs as f64,
            at(0.5),
            at(0.99)
        );
    }
}

/// Changes of each of so many writers in a round.
fn times(writers: usize) -> usize {
    if writers == 1 { COMMITS } else { COMMITS * 40 / writers }
}

async fn append(store: Store, writers: usize) -> Vec<Duration> {
    let mut latencies = Vec::new();
    for _ in 0..times(writers) {
        let start = Instant::now();
        let change = Change::new(Vec::new(), |index| {
            let mut entry = vec![b'.'; ENTRY_BYTES];
            entry[..8].copy_from_slice(&index.to_be_bytes());
            Writes { entries: vec![entry], ..Writes::default() }
        });
        store.commit(change).await.unwrap();
        latencies.push(start.elapsed());
    }
    latencies
}

async fn proofs(folder: &Path) {
    let asked = std::env::args().filter_map(|argument| argument.parse::<u64>().ok());
    println!("\ninclusion proofs from a file");
    println!("{:>12} {:>9} {:>9} {:>9} {:>9}", "leaves", "p50 µs", "p99 µs", "tiles", "hashes");
    for leaves in [100_000, 1_000_000].into_iter().chain(asked) {
        let path: PathBuf = folder.join(format!("{leaves}.db"));
        let store = Store::open(&Location::File(path)).await.unwrap();
        let entry = |index: u64| index.to_string().into_bytes();
        let mut size = 0;
        while size < leaves {
            let end = leaves.min(size + 10_000);
            let entries = (size..end).map(entry).collect();
            let change = Change::new(Vec::new(), |_| Writes { entries, ..Writes::default() });
            size = store.commit(change).await.unwrap().size;
        }
        let root = store.head().await.unwrap().root;
        let (mut latencies, mut tiles, mut hashes) = (Vec::new(), 0, 0);
        const PROOFS: u64 = 2_000;
        for number in 0..PROOFS {
            let index = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % leaves;
            let start = Instant::now();
            let proof = store.inclusion(index, leaves).await.unwrap();
            latencies.push(start.elapsed());
            verify_inclusion(Hash::of_leaf(&entry(index)), index, leaves, &proof, root).unwrap();
            tiles += tiles_for_inclusion(index, leaves).len();
            hashes += proof.len();
        }
        latencies.sort();
        println!(
            "{leaves:>12} {:>9} {:>9} {:>9.1} {:>9.1}",
            latencies[latencies.len() / 2].as_micros(),
            latencies[latencies.len() * 99 / 100].as_micros(),
            tiles as f64 / PROOFS as f64,
            hashes as f64 / PROOFS as f64
        );
    }
}

/// A database of its own on the server for tests.
struct Database {
    server: String,
    name: String,
}

impl Database {
    async fn new() -> Self {
        let server =
            std::env::var("ORDAIN_TEST_POSTGRES").expect("`cargo xtask bench` starts a server and names it");
        let database = Self { server, name: format!("ordain_bench_{}", std::process::id()) };
        database
            .administer(&format!("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", database.name))
            .await;
        database
    }

    async fn open(&self) -> Store {
        Store::open(&Location::parse(&self.url())).await.unwrap()
    }

    fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    async fn remove(&self) {
        self.administer(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }

    async fn administer(&self, sql: &str) {
        connect(&self.server).await.batch_execute(sql).await.unwrap();
    }
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
