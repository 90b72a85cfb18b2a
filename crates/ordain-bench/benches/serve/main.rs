//! The service under load, each figure beside a peer of the same run. Decisions by 64 clients are beside the
//! same server's `/health`, a bare axum handler and the floor; one client is beside a raw `fdatasync`. The
//! rest is the cost of a decision, bytes stored, and a store that grows.
//!
//! `cargo bench -p ordain-bench --bench serve [-- PART…]`; the parts are `load`, `single`, `cost`, `storage`
//! and `growth`. `drive` is for a profiler that counts instructions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

mod cost;
mod floor;

use ordain_api::{NewToken, OutcomeReport, Role, UseOutcome};
use ordain_decision::PolicyFiles;
use ordain_gate::{Act, Caller, Clock, Gate, Keyring, Settings};
use ordain_server::{App, Background, ListenAddress, listen};
use ordain_store::{Location, Store};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// As in the program, but that it can count.
#[global_allocator]
static ALLOCATOR: cost::Counting = cost::Counting;

/// Rounds of all contestants in turn; the median of each counts.
const ROUNDS: usize = 7;
const CLIENTS: usize = 64;
const ROUND: Duration = Duration::from_millis(1_500);
const SINGLE_REQUESTS: usize = 400;
const STORED: u64 = 100_000;

type Part = (&'static str, fn(&Path));

const PARTS: [Part; 6] = [
    ("load", load),
    ("single", single),
    ("cost", cost::cost),
    ("storage", storage),
    ("growth", growth),
    ("drive", cost::drive),
];

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for (name, run) in PARTS {
        let is_wanted = wanted.iter().any(|wanted| wanted == name);
        // Without a profiler it shows nothing.
        if !is_wanted && (!wanted.is_empty() || name == "drive") {
            continue;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ordain-serve-{name}"));
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).unwrap();
        run(&folder);
        if std::env::var_os("ORDAIN_BENCH_KEEP").is_none() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

/// Numbers that no run before has used: the stores of PostgreSQL outlive a run.
fn numbers() -> Arc<AtomicU64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Arc::new(AtomicU64::new(now.as_secs() << 24))
}

// ---------------------------------------------------------------------------------------------------------------- load

fn load(folder: &Path) {
    runtime().block_on(async {
        let number = numbers();
        let bare = bare_axum().await;
        let sqlite = Server::start(&Location::File(folder.join("ordain.db")), &Keyring::ephemeral().unwrap(), None).await;
        let address = floor::start(&folder.join("floor.db")).await;
        let floor = Target { address, request: sqlite.decisions().request };
        let mut all = vec![
            Contestant::new("bare axum handler", vec![Target::get(bare, "/health")]),
            Contestant::new("/health", vec![Target::get(sqlite.address, "/health")]),
            Contestant::new("decisions, SQLite", vec![sqlite.decisions()]),
            Contestant::new("floor: signed and stored, SQLite", vec![floor]),
        ];
        let mut nodes = Vec::new();
        if let Ok(url) = std::env::var("ORDAIN_TEST_POSTGRES") {
            let location = Location::Postgres(url);
            // Nodes on one store share its key.
            let keyring = Keyring::ephemeral().unwrap();
            nodes.extend([
                Server::start(&location, &keyring, None).await,
                Server::start(&location, &keyring, None).await,
            ]);
            all.push(Contestant::new("decisions, PostgreSQL, two nodes", nodes.iter().map(Server::decisions).collect()));
        }
        for contestant in &mut all {
            contestant.round(&number).await;
            contestant.per_second.clear();
            contestant.latencies.clear();
        }
        for _ in 0..ROUNDS {
            for contestant in &mut all {
                contestant.round(&number).await;
            }
        }
        println!("{CLIENTS} keep-alive clients with one token, ALLOW with a signed permit");
        println!("{:<34} {:>9} {:>10} {:>9} {:>9} {:>9}", "", "per s", "of /health", "p50 µs", "p99 µs", "p99/p50");
        let health = median(all[1].per_second.clone());
        for contestant in &all {
            let mut latencies = contestant.latencies.clone();
            latencies.sort_unstable();
            let p50 = latencies[latencies.len() / 2].as_micros();
            let p99 = latencies[latencies.len() * 99 / 100].as_micros();
            let per_second = median(contestant.per_second.clone());
            println!(
                "{:<34} {per_second:>9.0} {:>10.3} {p50:>9} {p99:>9} {:>9.1}",
                contestant.name,
                per_second / health,
                p99 as f64 / p50 as f64
            );
        }
        println!("limits: decisions on SQLite 0.15 of /health, two nodes 0.08; /health 0.8 of bare axum; p99 4 × p50");
        let bare = median(all[0].per_second.clone());
        println!("/health of the bare handler: {:.2}", health / bare);
        sqlite.print_batches("SQLite");
        nodes.iter().for_each(|node| node.print_batches("a node on PostgreSQL"));
    });
}

async fn bare_axum() -> SocketAddr {
    let router = axum::Router::new().route("/health", axum::routing::get(async || "{\"status\":\"ok\"}"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

struct Server {
    address: SocketAddr,
    token: String,
    gate: Gate,
}

impl Server {
    async fn start(location: &Location, keyring: &Keyring, socket: Option<PathBuf>) -> Self {
        let gate = open(location, keyring).await;
        let new = NewToken {
            principal: "agent".to_owned(),
            roles: [Role::Actor, Role::Worker].into(),
            names: Default::default(),
            expires_at_ms: None,
            secret: None,
        };
        let (_, token) = gate.create_token(&Caller::local("bench"), &new).await.unwrap();
        let token = token.unwrap();
        let mut addresses: Vec<ListenAddress> = vec!["127.0.0.1:0".parse().unwrap()];
        addresses
            .extend(socket.map(|path| format!("unix:{}", path.display()).parse::<ListenAddress>().unwrap()));
        let listening = listen(App::new(gate.clone()), &addresses).await.unwrap();
        let address = listening.addresses().unwrap().into_iter().find_map(|address| match address {
            ListenAddress::Tcp(address) => Some(address),
            ListenAddress::Tls(_) | ListenAddress::Socket(..) => None,
        });
        tokio::spawn(listening.run(Background::default(), std::future::pending()));
        Self { address: address.unwrap(), token, gate }
    }

    /// Decisions that share one transaction, on average.
    fn print_batches(&self, name: &str) {
        let counters = self.gate.store().counters();
        println!("{name}: {:.1} decisions a transaction", counters.changes as f64 / counters.batches as f64);
    }

    fn decisions(&self) -> Target {
        Target { address: self.address, request: Request::Submit(self.token.clone()) }
    }
}

async fn open(location: &Location, keyring: &Keyring) -> Gate {
    let store = Store::open(location).await.unwrap();
    let gate = Gate::open(store, keyring.clone(), Clock::system(), Settings::default()).await.unwrap();
    let policy = "@id(\"read\") permit(principal, action == Action::\"read\", resource);";
    let files = PolicyFiles::from([("read.cedar".to_owned(), policy.to_owned())]);
    gate.set_policy(&Caller::local("bench"), &files).await.unwrap();
    gate
}

#[derive(Clone)]
struct Target {
    address: SocketAddr,
    request: Request,
}

#[derive(Clone)]
enum Request {
    Get(&'static str),
    Submit(String),
    Act(String),
}

impl Target {
    fn get(address: SocketAddr, path: &'static str) -> Self {
        Self { address, request: Request::Get(path) }
    }
}

impl Request {
    fn text(&self, number: &AtomicU64) -> String {
        let (path, token) = match self {
            Self::Get(path) => return format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
            Self::Submit(token) => ("/v1/actions", token),
            Self::Act(token) => ("/v1/act", token),
        };
        let body = proposal(number.fetch_add(1, Ordering::Relaxed));
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

/// About 250 bytes.
fn proposal(id: u64) -> String {
    format!(
        "{{\"proposal_id\":\"bench-{id}\",\"ts_ms\":1767614400000,\"actor\":\"agent\",\"action_type\":\"read\",\
         \"target\":{{\"resource_type\":\"crm_record\",\"resource_id\":\"contact-{id}\",\"domain\":\"crm\",\
         \"constraints\":{{}}}},\"parameters\":{{\"fields\":[\"email\",\"name\"]}}}}"
    )
}

struct Contestant {
    name: &'static str,
    targets: Vec<Target>,
    per_second: Vec<f64>,
    latencies: Vec<Duration>,
}

impl Contestant {
    fn new(name: &'static str, targets: Vec<Target>) -> Self {
        Self { name, targets, per_second: vec![], latencies: vec![] }
    }

    async fn round(&mut self, number: &Arc<AtomicU64>) {
        let started = Instant::now();
        let mut clients = Vec::new();
        for client_number in 0..CLIENTS {
            let target = self.targets[client_number % self.targets.len()].clone();
            let number = number.clone();
            clients.push(tokio::spawn(async move { client(&target, &number, started).await }));
        }
        let mut answers = 0;
        for client in clients {
            let latencies = client.await.unwrap();
            answers += latencies.len();
            self.latencies.extend(latencies);
        }
        self.per_second.push(answers as f64 / started.elapsed().as_secs_f64());
    }
}

async fn client(target: &Target, number: &AtomicU64, started: Instant) -> Vec<Duration> {
    let mut stream = TcpStream::connect(target.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut latencies = Vec::new();
    while started.elapsed() < ROUND {
        latencies.push(ask(&mut stream, &target.request, number).await);
    }
    latencies
}

async fn ask<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    request: &Request,
    number: &AtomicU64,
) -> Duration {
    let text = request.text(number);
    let started = Instant::now();
    stream.write_all(text.as_bytes()).await.unwrap();
    let answer = answer(stream).await;
    assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    started.elapsed()
}

/// One answer with its whole body.
async fn answer<S: AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut text = Vec::with_capacity(4_096);
    loop {
        let read = stream.read_buf(&mut text).await.unwrap();
        assert!(read > 0, "the server closed the connection");
        let Some(end) = text.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&text[..end]).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.unwrap().parse().unwrap();
        if text.len() >= end + 4 + length {
            return String::from_utf8(text).unwrap();
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

// -------------------------------------------------------------------------------------------------------------- single

fn single(folder: &Path) {
    runtime().block_on(async {
        let socket = folder.join("gate.sock");
        let server = Server::start(
            &Location::File(folder.join("ordain.db")),
            &Keyring::ephemeral().unwrap(),
            Some(socket.clone()),
        )
        .await;
        let number = numbers();
        let mut tcp = TcpStream::connect(server.address).await.unwrap();
        tcp.set_nodelay(true).unwrap();
        let mut unix = UnixStream::connect(&socket).await.unwrap();
        let submit = Request::Submit(server.token.clone());
        let act = Request::Act(server.token.clone());
        let mut raw = std::fs::File::create(folder.join("raw")).unwrap();
        let mut times: [Vec<Duration>; 3] = Default::default();
        for _ in 0..SINGLE_REQUESTS {
            times[0].push(sync(&mut raw));
            times[1].push(ask(&mut tcp, &submit, &number).await);
            times[2].push(ask(&mut unix, &act, &number).await);
        }
        let p50 = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2].as_micros()
        });
        println!("one client, p50 in µs, taking turns");
        println!("raw fdatasync of 4 KiB           {:>6}", p50[0]);
        println!("submit to permit over TCP        {:>6}  raw + {}", p50[1], p50[1] as i128 - p50[0] as i128);
        println!("act over a unix socket           {:>6}  raw + {}", p50[2], p50[2] as i128 - p50[0] as i128);
        println!("limit: raw + 300");
    });
}

/// Appends a page and waits until it is on the disk.
fn sync(file: &mut std::fs::File) -> Duration {
    let started = Instant::now();
    file.write_all(&[7; 4_096]).unwrap();
    file.sync_data().unwrap();
    started.elapsed()
}

// ------------------------------------------------------------------------------------------------------------- storage

fn storage(folder: &Path) {
    runtime().block_on(async {
        let empty = stored_bytes(folder, "empty.db", 0, false).await;
        let allowed = stored_bytes(folder, "allowed.db", STORED, false).await;
        let settled = stored_bytes(folder, "settled.db", STORED, true).await;
        let each = |bytes: u64| (bytes - empty) as f64 / STORED as f64;
        println!(
            "bytes in the database file for each of {STORED} actions with a proposal of {} bytes",
            proposal(1 << 40).len()
        );
        println!("ALLOW with its permit            {:>6.0}  (limit 2500)", each(allowed));
        println!("the same, used and settled       {:>6.0}  (limit 4000)", each(settled));
    });
}

/// The size of a database file, with its log written into it.
async fn stored_bytes(folder: &Path, name: &str, count: u64, used: bool) -> u64 {
    let path = folder.join(name);
    let gate = open(&Location::File(path.clone()), &Keyring::ephemeral().unwrap()).await;
    fill(&gate, &Arc::new(AtomicU64::new(1 << 40)), count, used).await;
    gate.store().clone().close().await.unwrap();
    drop(gate);
    let size = std::fs::metadata(&path).unwrap().len();
    if std::env::var_os("ORDAIN_BENCH_KEEP").is_none() {
        std::fs::remove_file(&path).unwrap();
    }
    size
}

/// Lets 64 callers in this process act until there are so many more actions; how long that took.
async fn fill(gate: &Gate, number: &Arc<AtomicU64>, count: u64, used: bool) -> Duration {
    let started = Instant::now();
    let end = number.load(Ordering::Relaxed) + count;
    let mut callers = Vec::new();
    for _ in 0..CLIENTS {
        let (gate, number) = (gate.clone(), number.clone());
        callers.push(tokio::spawn(async move {
            let agent = Caller::local("agent");
            loop {
                let id = number.fetch_add(1, Ordering::Relaxed);
                if id >= end {
                    return;
                }
                let text = proposal(id);
                if !used {
                    gate.submit(&agent, text.as_bytes(), None).await.unwrap();
                    continue;
                }
                let act = Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook: None };
                let receipt = gate.act(&agent, &act).await.unwrap().used.unwrap();
                let report = OutcomeReport {
                    number: receipt.number,
                    outcome: UseOutcome::Succeeded,
                    affected_records: Some(1),
                    duration_ms: Some(12),
                    reason: String::new(),
                    change: None,
                };
                gate.settle(&agent, &receipt.permit_id, &report).await.unwrap();
            }
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    number.store(end, Ordering::Relaxed);
    started.elapsed()
}

// -------------------------------------------------------------------------------------------------------------- growth

fn growth(folder: &Path) {
    const WINDOW: u64 = 20_000;
    runtime().block_on(async {
        let gate = open(&Location::File(folder.join("ordain.db")), &Keyring::ephemeral().unwrap()).await;
        let number = Arc::new(AtomicU64::new(1 << 40));
        println!("{:>12} {:>12} {:>10}", "stored", "per second", "MiB used");
        let mut rates = Vec::new();
        let mut stored = 0;
        for target in [10_000, 100_000, 300_000, 1_000_000] {
            fill(&gate, &number, target - stored, false).await;
            let took = fill(&gate, &number, WINDOW, false).await;
            stored = target + WINDOW;
            let rate = WINDOW as f64 / took.as_secs_f64();
            rates.push(rate);
            println!("{target:>12} {rate:>12.0} {:>10}", resident_mib());
        }
        println!("last of first: {:.2}  (limit 0.8)", rates[rates.len() - 1] / rates[0]);
        gate.store().clone().close().await.unwrap();
    });
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or_default() / 1_024
}
