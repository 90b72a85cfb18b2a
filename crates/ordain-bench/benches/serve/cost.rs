//! The processor time and the memory that one decision takes, by threads: on a shared machine these are
//! steadier than any rate.

use crate::{CLIENTS, Request, Server, Target, ask, numbers, open, proposal};
use mimalloc::MiMalloc;
use ordain_api::{NewToken, Role};
use ordain_canon::Canonicalizer;
use ordain_gate::{Act, Caller, Gate, Keyring};
use ordain_store::Location;
use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

const REQUESTS_DEFAULT: u64 = 20_000;
const WARM_UP: u64 = 1_000;

/// The program's allocator, which counts while this part runs.
pub(crate) struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static ALLOCATED_BYTES: AtomicU64 = AtomicU64::new(0);

fn count(layout: Layout) {
    if COUNTS.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        ALLOCATED_BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to mimalloc as it came.
#[allow(unsafe_code, reason = "an allocator is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout);
        // SAFETY: as above.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout);
        // SAFETY: as above.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout);
        // SAFETY: as above.
        unsafe { MiMalloc.realloc(pointer, layout, size) }
    }
}

/// Requests come from `ORDAIN_BENCH_REQUESTS`, so that a profiler can do with few.
pub(crate) fn cost(folder: &Path) {
    let requests = std::env::var("ORDAIN_BENCH_REQUESTS").ok().and_then(|text| text.parse().ok());
    let requests = requests.unwrap_or(REQUESTS_DEFAULT);
    let named = |name: &'static str, threads: usize| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.enable_all().worker_threads(threads).thread_name(name).build().unwrap()
    };
    let (servers, clients) = (named("server", 2), named("client", 1));
    let location = Location::File(folder.join("ordain.db"));
    let keyring = Keyring::ephemeral().unwrap();
    let server = servers.block_on(Server::start(&location, &keyring, None));
    println!(
        "for each of {requests} requests by so many clients, µs of processor time of a thread and the kernel for it"
    );
    println!(
        "{:<22} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "server", "writer", "client", "all", "kernel", "switches", "allocs", "bytes"
    );
    let token = server.token.clone();
    let rows = [
        ("/health", Request::Get("/health"), CLIENTS),
        ("submit", Request::Submit(token.clone()), CLIENTS),
        ("act", Request::Act(token.clone()), CLIENTS),
        ("submit, one client", Request::Submit(token), 1),
    ];
    let number = numbers();
    for (name, request, count) in rows {
        let target = Target { address: server.address, request };
        clients.block_on(send(&target, &number, count, WARM_UP.min(requests)));
        let before = times();
        COUNTS.store(true, Ordering::Relaxed);
        clients.block_on(send(&target, &number, count, requests));
        COUNTS.store(false, Ordering::Relaxed);
        let spent: BTreeMap<String, Spent> =
            times().into_iter().map(|(name, now)| (name.clone(), now.since(before.get(&name)))).collect();
        let each = |number: u64| number as f64 / requests as f64;
        let of = |thread: &str| spent.get(thread).map_or(0.0, |spent| each(spent.on_processor_ns) / 1e3);
        let all: u64 = spent.values().map(|spent| spent.on_processor_ns).sum();
        let kernel: u64 = spent.values().map(|spent| spent.kernel_ms).sum();
        let switches: u64 = spent.values().map(|spent| spent.switches).sum();
        println!(
            "{name:<22} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.1} {:>8.0}",
            of("server"),
            of("ordain-writer"),
            of("client"),
            each(all) / 1e3,
            each(kernel) * 1e3,
            each(switches),
            each(ALLOCATIONS.swap(0, Ordering::Relaxed)),
            each(ALLOCATED_BYTES.swap(0, Ordering::Relaxed)),
        );
    }
    clients.shutdown_background();
    servers.shutdown_background();
}

/// Submits and acts on this thread alone. For each of them,
/// `valgrind --tool=callgrind --toggle-collect='*drive_submit*' PROGRAM drive` counts the instructions of a decision
/// from the token to the bytes of the answer.
pub(crate) fn drive(folder: &Path) {
    let requests = std::env::var("ORDAIN_BENCH_REQUESTS").ok().and_then(|text| text.parse().ok());
    let requests: usize = requests.unwrap_or(200);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build().unwrap();
    let (gate, token) = runtime.block_on(async {
        let gate = open(&Location::File(folder.join("ordain.db")), &Keyring::ephemeral().unwrap()).await;
        let new = NewToken {
            principal: "agent".to_owned(),
            names: Default::default(),
            roles: [Role::Actor, Role::Worker].into(),
            expires_at_ms: None,
            secret: None,
        };
        let (_, token) = gate.create_token(&Caller::local("bench"), &new).await.unwrap();
        (gate, token.unwrap())
    });
    let mut texts = (1_u64 << 40..).map(proposal);
    // The first calls read the policies and the key, which are known from then on.
    for text in texts.by_ref().take(10) {
        runtime.block_on(submit(&gate, &token, &text));
        runtime.block_on(act(&gate, &token, &text.replace("bench-", "warm-")));
    }
    for text in texts.by_ref().take(requests) {
        drive_submit(&runtime, &gate, &token, &text);
    }
    for text in texts.take(requests) {
        drive_act(&runtime, &gate, &token, &text);
    }
    runtime.block_on(gate.store().clone().close()).unwrap();
    println!("{requests} submissions and as many calls of `act`");
}

#[inline(never)]
fn drive_submit(runtime: &Runtime, gate: &Gate, token: &str, text: &str) {
    runtime.block_on(submit(gate, token, text));
}

#[inline(never)]
fn drive_act(runtime: &Runtime, gate: &Gate, token: &str, text: &str) {
    runtime.block_on(act(gate, token, text));
}

async fn submit(gate: &Gate, token: &str, text: &str) {
    let caller = gate.authenticate_to_write(token).await.unwrap();
    let submitted = gate.submit(&caller, text.as_bytes(), None).await.unwrap();
    std::hint::black_box(Canonicalizer::new().value(&submitted.status).unwrap().to_vec());
}

async fn act(gate: &Gate, token: &str, text: &str) {
    let caller = gate.authenticate_to_write(token).await.unwrap();
    let act = Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook: None };
    let acted = gate.act(&caller, &act).await.unwrap();
    std::hint::black_box(Canonicalizer::new().value(&acted).unwrap().to_vec());
}

/// Has so many clients send so many requests together.
async fn send(target: &Target, number: &Arc<AtomicU64>, clients: usize, requests: u64) {
    let left = Arc::new(AtomicU64::new(requests));
    let mut tasks = Vec::new();
    for _ in 0..clients {
        let (target, number, left) = (target.clone(), number.clone(), left.clone());
        tasks.push(tokio::spawn(async move {
            let mut stream = TcpStream::connect(target.address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let take = |left: u64| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                ask(&mut stream, &target.request, &number).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// The threads of one name together.
#[derive(Default)]
struct Spent {
    on_processor_ns: u64,
    kernel_ms: u64,
    switches: u64,
}

impl Spent {
    fn since(self, before: Option<&Self>) -> Self {
        let Some(before) = before else { return self };
        Self {
            on_processor_ns: self.on_processor_ns - before.on_processor_ns,
            kernel_ms: self.kernel_ms - before.kernel_ms,
            switches: self.switches - before.switches,
        }
    }
}

fn times() -> BTreeMap<String, Spent> {
    let mut all: BTreeMap<String, Spent> = BTreeMap::new();
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let file = |name: &str| std::fs::read_to_string(thread.as_ref().unwrap().path().join(name)).unwrap();
        let spent = all.entry(file("comm").trim().to_owned()).or_default();
        let schedstat = file("schedstat");
        spent.on_processor_ns += schedstat.split(' ').next().unwrap().parse::<u64>().unwrap();
        let stat = file("stat");
        let after_name = stat.rsplit(") ").next().unwrap();
        // A tick is 10 ms.
        spent.kernel_ms += after_name.split(' ').nth(12).unwrap().parse::<u64>().unwrap() * 10;
        let status = file("status");
        let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
        spent.switches +=
            switches.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum::<u64>();
    }
    all
}
