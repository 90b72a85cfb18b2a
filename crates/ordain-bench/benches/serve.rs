//! Decisions over HTTP by 64 clients: on disk beside the same server with its store in memory, in turn in one run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

use ordain_api::{NewToken, Role};
use ordain_decision::PolicyFiles;
use ordain_gate::{Caller, Clock, Gate, Keyring, Settings};
use ordain_server::{App, Background, ListenAddress, listen};
use ordain_store::{Location, Store};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Rounds of all contestants in turn; the median of their ratios counts.
const ROUNDS: usize = 7;
const CLIENTS: usize = 64;
const REQUESTS_OF_ONE: usize = 40;

struct Contestant {
    name: &'static str,
    address: SocketAddr,
    token: String,
    gate: Gate,
    per_second: Vec<f64>,
    latencies: Vec<Duration>,
    batches: u64,
    decisions: u64,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ordain-serve-bench");
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).unwrap();
    runtime.block_on(async {
        let mut all = vec![
            Contestant::new("in memory", &Location::Memory).await,
            Contestant::new("SQLite", &Location::File(folder.join("ordain.db"))).await,
        ];
        if let Ok(url) = std::env::var("ORDAIN_TEST_POSTGRES") {
            all.push(Contestant::new("PostgreSQL", &Location::Postgres(url)).await);
        }
        let number = Arc::new(AtomicU64::new(u64::from(std::process::id()) << 32));
        for contestant in &mut all {
            contestant.round(&number).await;
            contestant.forget();
        }
        for _ in 0..ROUNDS {
            for contestant in &mut all {
                contestant.round(&number).await;
            }
        }
        print(&all);
    });
    std::fs::remove_dir_all(&folder).unwrap();
}

fn print(all: &[Contestant]) {
    println!("decisions over HTTP by {CLIENTS} clients, from the request to the answer with its permit");
    println!(
        "{:<12} {:>6} {:>9} {:>8} {:>9} {:>9}",
        "store", "ratio", "per s", "a batch", "p50 µs", "p99 µs"
    );
    for contestant in all {
        let ratios = contestant.per_second.iter().zip(&all[0].per_second).map(|(own, memory)| own / memory);
        let mut latencies = contestant.latencies.clone();
        latencies.sort_unstable();
        println!(
            "{:<12} {:>6.2} {:>9.0} {:>8.1} {:>9} {:>9}",
            contestant.name,
            median(ratios.collect()),
            median(contestant.per_second.clone()),
            contestant.decisions as f64 / contestant.batches.max(1) as f64,
            latencies[latencies.len() / 2].as_micros(),
            latencies[latencies.len() * 99 / 100].as_micros(),
        );
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

impl Contestant {
    async fn new(name: &'static str, location: &Location) -> Self {
        let store = Store::open(location).await.unwrap();
        let gate = Gate::open(store, Keyring::ephemeral().unwrap(), Clock::system(), Settings::default())
            .await
            .unwrap();
        let operator = Caller::local("bench");
        let policy = "@id(\"read\") permit(principal, action == Action::\"read\", resource);";
        let files = PolicyFiles::from([("read.cedar".to_owned(), policy.to_owned())]);
        gate.set_policy(&operator, &files).await.unwrap();
        let new = NewToken {
            principal: "agent".to_owned(),
            roles: [Role::Actor].into(),
            names: Default::default(),
            expires_at_ms: None,
        };
        let (_, token) = gate.create_token(&operator, &new).await.unwrap();
        let listening =
            listen(App::new(gate.clone(), None), &["127.0.0.1:0".parse().unwrap()]).await.unwrap();
        let addresses = listening.addresses().unwrap();
        let Some(ListenAddress::Tcp(address)) = addresses.first().cloned() else { panic!("{addresses:?}") };
        tokio::spawn(listening.run(Background { checkpoint_file: None }, std::future::pending()));
        Self { name, address, token, gate, per_second: vec![], latencies: vec![], batches: 0, decisions: 0 }
    }

    fn forget(&mut self) {
        self.per_second.clear();
        self.latencies.clear();
        (self.batches, self.decisions) = (0, 0);
    }

    async fn round(&mut self, number: &Arc<AtomicU64>) {
        let before = self.gate.store().counters();
        let started = Instant::now();
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let (address, token, number) = (self.address, self.token.clone(), number.clone());
            clients.push(tokio::spawn(async move { client(address, &token, &number).await }));
        }
        for client in clients {
            self.latencies.extend(client.await.unwrap());
        }
        let decisions = CLIENTS * REQUESTS_OF_ONE;
        self.per_second.push(decisions as f64 / started.elapsed().as_secs_f64());
        let after = self.gate.store().counters();
        self.batches += after.batches - before.batches;
        self.decisions += decisions as u64;
    }
}

async fn client(address: SocketAddr, token: &str, number: &AtomicU64) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut latencies = Vec::with_capacity(REQUESTS_OF_ONE);
    for _ in 0..REQUESTS_OF_ONE {
        let id = number.fetch_add(1, Ordering::Relaxed);
        let body = format!(
            "{{\"proposal_id\":\"bench-{id}\",\"ts_ms\":1767614400000,\"actor\":\"agent\",\"action_type\":\"read\",\
             \"target\":{{\"resource_type\":\"crm_record\",\"resource_id\":\"contact-{id}\",\"domain\":\"crm\",\
             \"constraints\":{{}}}},\"parameters\":{{\"fields\":[\"email\",\"name\"]}}}}"
        );
        let request = format!(
            "POST /v1/actions HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let started = Instant::now();
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        latencies.push(started.elapsed());
    }
    latencies
}

/// One answer with its whole body.
async fn answer(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 16_384];
    loop {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the server closed the connection");
        text.extend_from_slice(&buffer[..read]);
        let head = String::from_utf8_lossy(&text).into_owned();
        let Some(end) = head.find("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.unwrap().parse().unwrap();
        if text.len() >= end + 4 + length {
            return head;
        }
    }
}
