//! `ordain doctor`: how well this machine protects the gate.

use crate::agents::{self, AgentState};
use crate::arguments::Connect;
use crate::commands::pause;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::service;
use crate::signing;
use clap::Args;
use ordain_presence::{KeyFile, OsUser, fingerprint};
use ordain_spec::statement::ApproverKey;
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Args)]
#[command(after_help = exit::help_with("\
The level is `project` for a gate of this user, `service` for a gate behind a unix socket, `server` for one on the network. \
docs/security.md says what each level holds.", &[
    Outcome::Ok.means("done"),
    Outcome::Failed.means("a coding agent has a hook that does not guard it, or an error"),
]))]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// The findings.
#[derive(Serialize)]
struct Findings {
    level: &'static str,
    user: String,
    /// The name of this user at the gate.
    principal: Option<String>,
    /// The gate's folder in the state directory has this name; nothing for a gate behind a server.
    gate_id: Option<String>,
    /// The name of the gate's ledger: checkpoints and signed statements carry it.
    origin: Option<String>,
    /// Whether somebody owns the gate; nothing if it cannot be asked.
    owned: Option<bool>,
    /// The owners' keys, each with its id: they are yours, or somebody else claimed it.
    owners: Vec<String>,
    /// The id of this user's own key.
    fingerprint: Option<String>,
    /// The part of that key at the gate; nothing if there is no key, or the gate cannot be asked.
    key_is: Option<KeyIs>,
    agents: Vec<AgentState>,
    open_points: Vec<OpenPoint>,
}

#[derive(Serialize)]
struct OpenPoint {
    name: &'static str,
    problem: String,
    hint: String,
}

/// The part of this user's key at the gate.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum KeyIs {
    Owner,
    Approver,
    Revoked,
    NotEnrolled,
}

impl KeyIs {
    fn words(self) -> &'static str {
        match self {
            Self::Owner => "an owner's of this gate",
            Self::Approver => "enrolled for approvals; it is not an owner's",
            Self::Revoked => "revoked at this gate",
            Self::NotEnrolled => "not enrolled at this gate",
        }
    }
}

pub(crate) fn run(args: &Doctor, json: bool) -> Result<Outcome, Failure> {
    let mut server = args.connect.server.clone();
    let user = OsUser::current();
    let mut open_points = of_machine(&user);
    let (mut principal, mut owned, mut owners, mut observing) = (None, None, Vec::new(), Vec::new());
    let (mut gate_id, mut origin, mut keys) = (None, None, None);
    match Gateway::open(&args.connect, Purpose::Look) {
        Ok(gateway) => {
            server = gateway.server().map(str::to_owned);
            principal = Some(gateway.principal());
            let known = gateway.client().approver_keys()?;
            owned = Some(known.owned);
            let gate = gateway.client().gate()?;
            observing = gate.observing;
            origin = Some(gate.origin);
            gate_id = gateway.gate_id().map(str::to_owned);
            let in_force = known.keys.iter().filter(|key| key.owner && key.is_in_force());
            owners = in_force.map(|key| format!("{} {}", key.principal, key.key_id)).collect();
            keys = Some(known.keys);
        }
        Err(failure) => open_points.push(OpenPoint {
            name: "gate",
            problem: format!("the gate cannot be asked: {}", failure.text()),
            hint: "run `ordain init`, or pass `--server URL`".to_owned(),
        }),
    }
    let level = match server.as_deref() {
        None => "project",
        Some(url) if url.starts_with("unix:") => "service",
        Some(_) => "server",
    };
    if owned == Some(false) {
        let problem = match level {
            "service" => {
                "nobody owns this gate: whoever runs a program as the user it was set up for can claim it"
            }
            _ => "nobody owns this gate: every process of this user changes its policies, tokens and keys",
        };
        open_points.push(OpenPoint {
            name: "open_gate",
            problem: problem.to_owned(),
            hint: "run `ordain init --claim` on a terminal".to_owned(),
        });
    }
    let key = KeyFile::open(&signing::key_path()?);
    let fingerprint = key.as_ref().ok().map(|file| fingerprint(file.public()));
    let key_is = key.as_ref().ok().zip(keys).map(|(file, keys)| key_is(&signing::public_text(file), &keys));
    if let Err(error) = key {
        open_points.push(OpenPoint {
            name: "key",
            problem: error.to_string(),
            hint: "run `ordain approver enrol` on a terminal".to_owned(),
        });
    }
    if owned == Some(true) && key_is.is_some_and(|it| it != KeyIs::Owner) {
        let words = key_is.map_or("", KeyIs::words);
        open_points.push(OpenPoint {
            name: "foreign_key",
            problem: format!("your key is {words}: owner acts take the key of {}", owners.join(", ")),
            hint: match key_is {
                Some(KeyIs::Approver) => "ask that owner, or put your own key file in its place".to_owned(),
                _ => "if you are that owner, put your key file back; if not, run `ordain approver enrol` and ask that owner".to_owned(),
            },
        });
    }
    if level == "project" {
        open_points.push(OpenPoint {
            name: "project_level",
            problem: "agents run as this user, and can replace ordain, its hooks and its store, or record a passphrase".to_owned(),
            hint: "run the gate as its own user, or agents as another one".to_owned(),
        });
    }
    if let Some(socket) = server.as_deref().and_then(|url| url.strip_prefix("unix:")) {
        open_points.extend(of_service(Path::new(socket), &user));
    }
    open_points.extend(observing.iter().map(|observation| OpenPoint {
        name: if observation.hook.is_none() { "paused" } else { "observed" },
        problem: pause::told(observation),
        hint: pause::end_hint(observation),
    }));
    let agents = agents::look(Path::new("."), &observing)?;
    let user = user.name;
    let findings = Findings {
        level,
        user,
        principal,
        gate_id,
        origin,
        owned,
        owners,
        fingerprint,
        key_is,
        agents,
        open_points,
    };
    show(&findings, json)
}

fn key_is(public_key: &str, keys: &[ApproverKey]) -> KeyIs {
    match keys.iter().find(|key| key.public_key == public_key) {
        None => KeyIs::NotEnrolled,
        Some(key) if !key.is_in_force() => KeyIs::Revoked,
        Some(key) if key.owner => KeyIs::Owner,
        Some(_) => KeyIs::Approver,
    }
}

/// Parts of a service that this user could change or read. That the user belongs to the service's group is as
/// it should be.
fn of_service(socket: &Path, user: &OsUser) -> Vec<OpenPoint> {
    let mut found = Vec::new();
    let owns = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.uid() == user.uid);
    if owns(socket) || socket.parent().is_some_and(owns) {
        found.push(OpenPoint {
            name: "socket_owner",
            problem: format!(
                "{} belongs to this user, who can put another gate in its place",
                socket.display()
            ),
            hint: "run `sudo ordain service install` to run the gate as its own user".to_owned(),
        });
    }
    let state = Path::new(service::STATE_BASE).join(service::ACCOUNT);
    if socket == Path::new(service::SOCKET) && std::fs::read_dir(&state).is_ok() {
        found.push(OpenPoint {
            name: "service_state",
            problem: format!("this user can read {}, where the gate's key and record are", state.display()),
            hint: "make it a folder of the user `ordain` alone, with mode 700".to_owned(),
        });
    }
    found
}

/// Settings of the machine that let one process of a user reach into another.
fn of_machine(user: &OsUser) -> Vec<OpenPoint> {
    let mut found = Vec::new();
    let setting = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    if setting("/proc/sys/kernel/yama/ptrace_scope").is_none_or(|scope| scope == "0") {
        found.push(OpenPoint {
            name: "ptrace_scope",
            problem: "processes of this user can read each other's memory".to_owned(),
            hint: "run `sysctl kernel.yama.ptrace_scope=1` as root".to_owned(),
        });
    }
    if setting("/proc/sys/dev/tty/legacy_tiocsti").as_deref() == Some("1") {
        found.push(OpenPoint {
            name: "legacy_tiocsti",
            problem: "a process can type into its terminal".to_owned(),
            hint: "run `sysctl dev.tty.legacy_tiocsti=0` as root".to_owned(),
        });
    }
    if std::env::current_exe().is_ok_and(|binary| is_writable(&binary, user)) {
        found.push(OpenPoint {
            name: "writable_binary",
            problem: "this user can replace the ordain binary".to_owned(),
            hint: "install it as root, for example in /usr/local/bin".to_owned(),
        });
    }
    found
}

/// Whether a user owns a file or its folder, or everybody may write there.
fn is_writable(binary: &Path, user: &OsUser) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    let open = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|found| found.uid() == user.uid || found.mode() & OTHERS_WRITE != 0)
    };
    open(binary) || binary.parent().is_some_and(open)
}

fn show(findings: &Findings, json: bool) -> Result<Outcome, Failure> {
    if json {
        print_json(findings)?;
        return Ok(outcome(findings));
    }
    let mut page = Page::default();
    page.title("level", findings.level);
    let principal = findings.principal.as_deref().unwrap_or("not known");
    page.label("user", &format!("{}, to the gate {principal}", findings.user));
    let owned = match findings.owned {
        Some(true) => "owned",
        Some(false) => "open",
        None => "cannot be asked",
    };
    page.label(
        "gate",
        &findings.gate_id.as_ref().map_or_else(|| owned.to_owned(), |id| format!("{owned}, id {id}")),
    );
    if let Some(origin) = &findings.origin {
        page.label("ledger", origin);
    }
    for owner in &findings.owners {
        page.label("owner", owner);
    }
    let key = findings.fingerprint.as_deref().unwrap_or("none");
    let is = findings.key_is.map(|is| format!("; {}", is.words())).unwrap_or_default();
    page.label("key", &format!("{key}{is}"));
    if !findings.agents.is_empty() {
        page.section("Coding agents");
        for state in &findings.agents {
            let file = state.file.as_ref().map(|file| format!(", {file}")).unwrap_or_default();
            page.item(&format!("{}: {}{file}", state.agent, state.state));
            state.problems.iter().for_each(|problem| page.item(&format!("{}: {problem}", state.agent)));
            state
                .not_covered
                .iter()
                .for_each(|point| page.item(&format!("{}: not covered: {point}", state.agent)));
        }
    }
    page.section("Open points");
    for point in &findings.open_points {
        page.item_with_hint(&format!("{}: {}", point.name, point.problem), &point.hint);
    }
    print_page(&page)?;
    Ok(outcome(findings))
}

/// Something that claims to be guarded and is not is worse than something open.
fn outcome(findings: &Findings) -> Outcome {
    if findings.agents.iter().any(AgentState::is_broken) { Outcome::Failed } else { Outcome::Ok }
}
