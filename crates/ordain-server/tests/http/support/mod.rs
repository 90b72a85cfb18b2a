//! A server on a port of its own, the people who use it, and what they send.

mod client;

pub use client::{Events, Reply, begin, exchange, raw, read_reply};

use ordain_api::{NewToken, Role};
use ordain_canon::{Canonicalizer, PayloadHash, Value};
use ordain_decision::PolicyFiles;
use ordain_gate::{Caller, Clock, Gate, Keyring, Settings};
use ordain_note::{Drafter, EXAMPLES};
use ordain_server::{App, Background, ListenAddress, Tls, listen};
use ordain_store::{Location, Store};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub const NOW: u64 = 1_800_000_000_000;

/// A clock that is set to this panics.
pub const BROKEN: u64 = u64::MAX;

/// A server that runs until it is dropped or stopped.
pub struct Server {
    pub address: SocketAddr,
    pub tls_address: Option<SocketAddr>,
    _vault: Folder,
    pub gate: Gate,
    pub app: App,
    /// The policy folder of the operator.
    pub folder: Arc<Mutex<PolicyFiles>>,
    tokens: BTreeMap<&'static str, String>,
    hands: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    runtime: Option<Runtime>,
}

impl Server {
    /// The host of the console.
    pub const CONSOLE: &str = "0123456789abcdef.localhost";

    pub fn new() -> Self {
        Self::on(&Location::Memory)
    }

    pub fn on(location: &Location) -> Self {
        Self::with(location, keyring())
    }

    pub fn with(location: &Location, keyring: Keyring) -> Self {
        Self::made(location, keyring, None)
    }

    /// One with an address with TLS too, whose public name is `gate.example`.
    pub fn over_tls(tls: Tls) -> Self {
        Self::made(&Location::Memory, keyring(), Some(tls))
    }

    fn made(location: &Location, keyring: Keyring, tls: Option<Tls>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let hands = Arc::new(AtomicU64::new(NOW));
        let shown = hands.clone();
        let clock = Clock::of(move || {
            let now_ms = shown.load(Ordering::Relaxed);
            assert_ne!(now_ms, BROKEN, "the clock is broken");
            now_ms
        });
        let folder = Arc::new(Mutex::new(policies()));
        let vault = Folder::new();
        let (gate, app, listening) = runtime.block_on(async {
            let store = Store::open(location).await.unwrap();
            let gate = Gate::open(store, keyring, clock, Settings::default()).await.unwrap();
            gate.set_policy(&operator(), &policies()).await.unwrap();
            let provider =
                ordain_model::Settings::default().provider(|_| None, Path::new("."), EXAMPLES).unwrap();
            let drafter = Drafter::new(provider, &vault.0, false);
            let app = App::new(gate.clone()).with_notes(drafter).with_console("0123456789abcdef", "maria");
            let free: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
            let mut addresses = vec![ListenAddress::Tcp(free)];
            let app = match tls {
                Some(tls) => {
                    addresses.push(ListenAddress::Tls(free));
                    app.with_tls(tls).with_public_url("https://gate.example").unwrap()
                }
                None => app,
            };
            let listening = listen(app.clone(), &addresses).await.unwrap();
            (gate, app, listening)
        });
        let addresses = listening.addresses().unwrap();
        let (address, tls_address) = match addresses[..] {
            [ListenAddress::Tcp(address)] => (address, None),
            [ListenAddress::Tcp(address), ListenAddress::Tls(tls)] => (address, Some(tls)),
            _ => panic!("{addresses:?}"),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let running = runtime.spawn(listening.run(Background::default(), async move {
            let _ = stopped.await;
        }));
        let mut server = Self {
            address,
            tls_address,
            _vault: vault,
            gate,
            app,
            folder,
            tokens: BTreeMap::new(),
            hands,
            stop: Some(stop),
            running: Some(running),
            runtime: Some(runtime),
        };
        server.people();
        server
    }

    /// One for each role, two approvers, and one with all roles.
    fn people(&mut self) {
        let people: [(&'static str, &[Role], &[&str]); 8] = [
            ("andy", &[Role::Actor], &["agent"]),
            ("ann", &[Role::Approver], &[]),
            ("bob", &[Role::Approver], &[]),
            ("olga", &[Role::Operator], &[]),
            ("sam", &[Role::Sensor], &["sensor-1"]),
            ("will", &[Role::Worker], &[]),
            ("audrey", &[Role::Auditor], &[]),
            ("everybody", &Role::ALL, &["agent-of-everybody", "0", "00"]),
        ];
        for (principal, roles, names) in people {
            let token = self.token(principal, roles, names, None);
            self.tokens.insert(principal, token);
        }
    }

    pub fn token(
        &self,
        principal: &str,
        roles: &[Role],
        names: &[&str],
        expires_at_ms: Option<u64>,
    ) -> String {
        let new = NewToken {
            principal: principal.to_owned(),
            roles: roles.iter().copied().collect(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            expires_at_ms,
            secret: None,
        };
        self.wait(self.gate.create_token(&operator(), &new)).unwrap().1.unwrap()
    }

    pub fn token_of(&self, principal: &str) -> &str {
        &self.tokens[principal]
    }

    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().unwrap().block_on(work)
    }

    /// Time passes.
    pub fn pass(&self, ms: u64) {
        self.hands.fetch_add(ms, Ordering::Relaxed);
    }

    /// Somebody sets the clock.
    pub fn set_clock(&self, ms: u64) {
        self.hands.store(ms, Ordering::Relaxed);
    }

    /// Asks it to stop; it ends when its requests have.
    pub fn ask_to_stop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
    }

    pub fn stop(&mut self) {
        self.ask_to_stop();
        if let Some(running) = self.running.take() {
            self.wait(running).unwrap();
        }
    }

    /// A request by one of the people.
    pub fn ask(&self, who: &str, method: &str, path: &str, body: Option<&Json>) -> Reply {
        self.ask_with(Some(self.token_of(who)), method, path, body)
    }

    pub fn ask_with(&self, token: Option<&str>, method: &str, path: &str, body: Option<&Json>) -> Reply {
        exchange(self.address, &raw(method, path, token, body.map(Json::to_string).as_deref()))
    }

    pub fn get(&self, who: &str, path: &str) -> Reply {
        self.ask(who, "GET", path, None)
    }

    pub fn post(&self, who: &str, path: &str, body: &Json) -> Reply {
        self.ask(who, "POST", path, Some(body))
    }

    /// The operator puts the policy folder in force.
    pub fn push(&self) -> Reply {
        let files = self.folder.lock().unwrap().clone();
        self.post("olga", "/v1/policy", &json!({ "files": files }))
    }

    /// A proposal of the agent, which must be taken.
    pub fn submit(&self, proposal: &Json) -> Json {
        self.post("andy", "/v1/actions", proposal).expect(201)
    }

    pub fn approve(&self, who: &str, status: &Json) -> Reply {
        self.say(who, status, "approve")
    }

    pub fn say(&self, who: &str, status: &Json, verdict: &str) -> Reply {
        let say = json!({"verdict": verdict, "reason": "because", "view_digest": status["view_digest"]});
        self.post(who, &format!("/v1/actions/{}/approvals", text(&status["action_id"])), &say)
    }

    /// Spends the permit of an action, to do what a proposal says.
    pub fn spend(&self, status: &Json, proposal: &Json) -> Reply {
        let path = format!("/v1/permits/{}/use", text(&status["permit"]["permit_id"]));
        self.post("will", &path, &usage(status, proposal))
    }

    pub fn size(&self) -> u64 {
        self.wait(self.gate.size()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ask_to_stop();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The key of all servers of a test: a store is refused without the key that it was opened with.
fn keyring() -> Keyring {
    static KEYRING: OnceLock<Keyring> = OnceLock::new();
    KEYRING.get_or_init(|| Keyring::ephemeral().unwrap()).clone()
}

pub fn operator() -> Caller {
    Caller::local("operator")
}

/// The body that a worker sends to spend a permit.
pub fn usage(status: &Json, proposal: &Json) -> Json {
    json!({"permit": status["permit"]["token"], "action_type": proposal["action_type"],
        "target": proposal["target"], "parameters": proposal["parameters"]})
}

pub fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_else(|| panic!("no text: {json}"))
}

/// Reading the same record twice while nobody knows how the first time went is refused here.
const EFFECTS: &str =
    "[read.crm_record]\non_unknown = \"block\"\neffect_parameters = [\"updates\", \"password\"]";

/// Reading is allowed twice, creating once, writing with two approvals, transacting with one, and deleting never.
pub fn policies() -> PolicyFiles {
    let cedar = r#"
@id("read") @max_executions("2")
permit(principal, action == Action::"read", resource);
@id("create") @max_executions("1")
permit(principal, action == Action::"create", resource);
@id("write") @approval("dual") @approvers("leads")
permit(principal, action == Action::"write", resource);
@id("custom")
permit(principal, action == Action::"custom", resource);
@id("small-numbers")
forbid(principal, action == Action::"custom", resource)
when { context.parameters has password && context.parameters.password * 4611686018427387904 > 0 };
@id("transact") @approval("single") @approvers("leads")
permit(principal, action == Action::"transact", resource);
"#;
    let lead = |name: &str, person: &str| {
        json!({"uid": {"type": "Actor", "id": name}, "attrs": {"person": person},
            "parents": [{"type": "Group", "id": "leads"}]})
    };
    let group = json!({"uid": {"type": "Group", "id": "leads"}, "attrs": {}, "parents": []});
    let entities = json!([
        group,
        lead("ann", "ann"),
        lead("bob", "bob"),
        lead("andy", "andy"),
        lead("andrew", "andy"),
        lead("agent", "agent"),
        lead("everybody", "everybody")
    ]);
    PolicyFiles::from([
        ("all.cedar".to_owned(), cedar.to_owned()),
        ("entities.json".to_owned(), entities.to_string()),
        ("sensors.toml".to_owned(), "[sensors.sensor-1]".to_owned()),
        ("schema.cedarschema".to_owned(), "type CustomParameters = { password?: Long };".to_owned()),
        ("redact.toml".to_owned(), "fields = [\"password\", \"ssn\"]".to_owned()),
        ("effects.toml".to_owned(), EFFECTS.to_owned()),
    ])
}

pub fn proposal(id: &str, action: &str) -> Json {
    json!({"proposal_id": id, "ts_ms": NOW, "actor": "agent", "action_type": action,
        "target": {"resource_type": "crm_record", "resource_id": "7", "domain": "crm", "constraints": {}},
        "parameters": {"updates": {"email": "x@example.org"}, "password": "hunter2"}})
}

/// An evidence packet with this payload.
pub fn packet(id: &str, payload: &Json) -> Json {
    let payload_text = payload.to_string();
    let hash =
        PayloadHash::of(&mut Canonicalizer::new(), &Value::read(payload_text.as_bytes()).unwrap()).unwrap();
    json!({"evidence_id": id, "packet_type": "api_response", "sensor_id": "sensor-1",
        "sensor_type": "api_client", "observed_at_ms": NOW, "received_at_ms": NOW, "payload": payload,
        "payload_hash": hash.to_string()})
}

/// A folder that is gone after the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ordain-server-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
