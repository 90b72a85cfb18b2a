//! The MCP gateway over HTTP, beside direct requests and a relay that only copies, in one run. The server behind all of
//! them answers at once with the same bytes.
//!
//! `cargo bench -p ordain-bench --bench gateway`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ordain_api::{NewToken, Role};
use ordain_client::Client;
use ordain_decision::{PolicyFiles, PublicKey};
use ordain_gate::{Caller, Clock, Gate, Keyring, Settings as GateSettings};
use ordain_mcp::{Bearer, Doorkeeper, Endpoint, Gatekeeper, Settings, Upstream, UpstreamUrl, serve};
use ordain_server::{App, InProcess};
use ordain_store::{Location, Store};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Rounds of all contestants in turn; the median of each counts.
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(800);
const MANY: usize = 32;

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A principal for every token, and a gate in this process.
struct Door {
    runtime: Arc<Runtime>,
    app: App,
    token: String,
    key: PublicKey,
    notes: PathBuf,
}

impl Doorkeeper for Door {
    fn bearer(&self, token: &str) -> Result<Bearer, String> {
        Ok(if token == self.token { Bearer::Agent("agent".to_owned()) } else { Bearer::Nobody })
    }

    fn gatekeeper(&self, token: &str, principal: &str) -> Result<Gatekeeper, String> {
        let caller =
            self.runtime.block_on(self.app.gate().authenticate(token)).map_err(|error| error.to_string())?;
        let gate = InProcess { runtime: Arc::clone(&self.runtime), app: self.app.clone(), caller };
        Gatekeeper::new(Client::new(gate), self.key.clone(), principal.to_owned(), &self.notes)
    }
}

/// A gateway in front of the server, with its store at a place.
fn gateway(folder: &Path, location: &Location, upstream: SocketAddr) -> (SocketAddr, String) {
    let runtime = Arc::new(tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
    let (gate, token) = runtime.block_on(async {
        let store = Store::open(location).await.unwrap();
        let keyring = Keyring::ephemeral().unwrap();
        let gate = Gate::open(store, keyring, Clock::system(), GateSettings::default()).await.unwrap();
        let tools = "[\"*\"]\naction_type = \"read\"\nresource_type = \"tool\"\nresource_id = \"any\"\ndomain = \"crm\"\n";
        let policy = "@id(\"read\") permit(principal, action == Action::\"read\", resource);";
        let files = [("read.cedar", policy), ("tools.toml", tools), ("mcp.toml", "pin = \"off\"\n")];
        let files: PolicyFiles = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        gate.set_policy(&Caller::local("bench"), &files).await.unwrap();
        let new = NewToken {
            principal: "agent".to_owned(),
            roles: [Role::Actor, Role::Worker].into(),
            names: Default::default(),
            expires_at_ms: None,
            secret: None,
        };
        let (_, token) = gate.create_token(&Caller::local("bench"), &new).await.unwrap();
        (gate, token.unwrap())
    });
    let app = App::new(gate);
    let local = InProcess { runtime: Arc::clone(&runtime), app: app.clone(), caller: Caller::local("bench") };
    let key = PublicKey::parse(&Client::new(local).keys().unwrap().keys[0].x).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let settings = Settings {
        server: "constant".to_owned(),
        upstream: Upstream::Url(UpstreamUrl { url: format!("http://{upstream}/mcp"), token: None }),
        wait: Duration::ZERO,
        timeout: Duration::from_secs(30),
        bytes_max: ordain_mcp::MESSAGE_BYTES_MAX,
        gated: BTreeSet::new(),
        console: None,
    };
    let notes = folder.join(format!("notes-{}", address.port()));
    let door = Door { runtime, app, token: token.clone(), key, notes };
    std::thread::spawn(move || {
        let (_stop, stopped) = channel();
        serve(Endpoint { listener, public_url: None }, settings, door, stopped).unwrap();
    });
    (address, token)
}

/// Answers every request at once with the same bytes.
fn constant() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}"#;
    let service = move |_request: Request<Incoming>| async move {
        let answer = Response::builder().header("content-type", "application/json");
        answer.body(Full::new(Bytes::from_static(body.as_bytes())))
    };
    std::thread::spawn(move || run_server(listener, service));
    address
}

/// Copies requests and answers, and reads none of them.
fn bare_relay(upstream: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pool: Pool<_, Incoming> = Pool::builder(TokioExecutor::new()).build_http();
    let service = move |request: Request<Incoming>| {
        let pool = pool.clone();
        async move {
            let (mut parts, body) = request.into_parts();
            parts.uri = format!("http://{upstream}/mcp").parse().unwrap();
            parts.headers.remove("host");
            pool.request(Request::from_parts(parts, body)).await
        }
    };
    std::thread::spawn(move || run_server(listener, service));
    address
}

fn run_server<S, F, B, E>(listener: TcpListener, service: S)
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async move {
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let service = service_fn(service.clone());
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
            );
        }
    });
}

struct Contestant {
    name: &'static str,
    address: SocketAddr,
    token: String,
    method: &'static str,
    /// By the number of clients: requests per second of each round, and times in µs.
    results: [(Vec<f64>, Vec<u64>); 2],
}

impl Contestant {
    fn new(name: &'static str, address: SocketAddr, token: &str, method: &'static str) -> Self {
        Self { name, address, token: token.to_owned(), method, results: Default::default() }
    }

    fn round(&mut self, at: usize) {
        let clients = [1, MANY][at];
        let start = Instant::now();
        let client = || {
            let mut stream = BufReader::new(TcpStream::connect(self.address).unwrap());
            stream.get_ref().set_nodelay(true).unwrap();
            let mut times = Vec::new();
            while start.elapsed() < ROUND {
                let asked = Instant::now();
                self.ask(&mut stream);
                times.push(u64::try_from(asked.elapsed().as_micros()).unwrap());
            }
            times
        };
        let times: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        self.results[at].0.push(times.len() as f64 / start.elapsed().as_secs_f64());
        self.results[at].1.extend(times);
    }

    fn ask(&self, stream: &mut BufReader<TcpStream>) {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let params = match self.method {
            "tools/call" => format!("{{\"name\":\"echo\",\"arguments\":{{\"message\":\"{number}\"}}}}"),
            _ => format!("{{\"n\":{number}}}"),
        };
        let body =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\",\"params\":{params}}}", self.method);
        let request = format!(
            "POST /mcp/constant HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut line, mut length, mut is_chunked) = (String::new(), 0, false);
        loop {
            line.clear();
            stream.read_line(&mut line).unwrap();
            let lower = line.to_lowercase();
            length =
                lower.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap());
            is_chunked |= lower.starts_with("transfer-encoding: chunked");
            if line == "\r\n" {
                break;
            }
        }
        assert!(!is_chunked);
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains("\"text\":\"hi\""), "{}: {answer}", self.name);
    }

    fn per_second(&self, at: usize) -> f64 {
        let mut rounds = self.results[at].0.clone();
        rounds.sort_by(f64::total_cmp);
        rounds[rounds.len() / 2]
    }

    fn percentile(&self, at: usize, percent: usize) -> u64 {
        let mut times = self.results[at].1.clone();
        times.sort_unstable();
        times[times.len() * percent / 100]
    }
}

/// A gateway of others that decides and records, started in front of the server. `cargo xtask bench` installs it.
struct CtrlRun(std::process::Child);

impl CtrlRun {
    fn start(folder: &Path, upstream: SocketAddr) -> Option<(Self, SocketAddr)> {
        let program = std::env::var_os("ORDAIN_CTRLRUN")?;
        let folder = folder.join("ctrlrun");
        std::fs::create_dir(&folder).unwrap();
        let policy = "schema: ctrlrun.policy/v2\nactions:\n  mcp.constant.echo:\n    decision: allow\n";
        std::fs::write(folder.join("ctrlrun.yaml"), policy).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = std::process::Command::new(program);
        command.args(["gateway", "--alias", "constant", "--principal", "bench", "--path", "/mcp/constant"]);
        command.args(["--upstream", &format!("http://{upstream}/mcp"), "--listen", &address.to_string()]);
        command.current_dir(folder).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let child = Self(command.spawn().unwrap());
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(start.elapsed() < Duration::from_secs(20), "CTRLRun does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some((child, address))
    }
}

impl Drop for CtrlRun {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The p50 of a sync of a short append, in µs.
fn sync_us(folder: &Path) -> u64 {
    let mut file = std::fs::File::create(folder.join("raw")).unwrap();
    let mut times: Vec<u64> = (0..200)
        .map(|_| {
            file.write_all(&[7; 4_096]).unwrap();
            let start = Instant::now();
            file.sync_data().unwrap();
            u64::try_from(start.elapsed().as_micros()).unwrap()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ordain-gateway");
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir_all(&folder).unwrap();
    let upstream = constant();
    let relay = bare_relay(upstream);
    let (memory, memory_token) = gateway(&folder, &Location::Memory, upstream);
    let (file, file_token) = gateway(&folder, &Location::File(folder.join("ordain.db")), upstream);
    let peer = CtrlRun::start(&folder, upstream);
    let mut all = vec![
        Contestant::new("direct", upstream, "", "tools/call"),
        Contestant::new("bare relay", relay, "", "tools/call"),
        Contestant::new("gateway, relayed", file, &file_token, "ping"),
        Contestant::new("gateway, decided, in memory", memory, &memory_token, "tools/call"),
        Contestant::new("gateway, decided, on disk", file, &file_token, "tools/call"),
    ];
    all.extend(
        peer.as_ref().map(|(_, address)| Contestant::new("CTRLRun 0.12.2", *address, "", "tools/call")),
    );
    for round in 0..=ROUNDS {
        for contestant in &mut all {
            for at in 0..2 {
                contestant.round(at);
                if round == 0 {
                    contestant.results[at] = Default::default();
                }
            }
        }
    }
    println!(
        "{:<30} {:>9} {:>8} {:>8} {:>10} {:>8} {:>8}",
        "", "1: per s", "p50 µs", "p99 µs", "32: per s", "p50 µs", "p99 µs"
    );
    for one in &all {
        println!(
            "{:<30} {:>9.0} {:>8} {:>8} {:>10.0} {:>8} {:>8}",
            one.name,
            one.per_second(0),
            one.percentile(0, 50),
            one.percentile(0, 99),
            one.per_second(1),
            one.percentile(1, 50),
            one.percentile(1, 99)
        );
    }
    let sync = sync_us(&folder);
    let [_, relay, relayed, memory, file, ..] = all.as_slice() else { return };
    println!("one fdatasync: {sync} µs");
    println!(
        "relayed: {:.2} × the bare relay (limit 2)",
        relayed.percentile(0, 50) as f64 / relay.percentile(0, 50) as f64
    );
    println!(
        "decided on disk at 1 client: the bare relay + one fdatasync + {} µs (limit 300)",
        i64::try_from(file.percentile(0, 50)).unwrap()
            - i64::try_from(relay.percentile(0, 50) + sync).unwrap()
    );
    println!(
        "decided on disk at {MANY} clients: {:.2} of the same in memory (limit 0.6)",
        file.per_second(1) / memory.per_second(1)
    );
    if let Some(peer) = all.get(5) {
        println!(
            "decided on disk at {MANY} clients: {:.0} × CTRLRun (limit 50)",
            file.per_second(1) / peer.per_second(1)
        );
    }
    drop(peer);
    std::fs::remove_dir_all(&folder).unwrap();
}
