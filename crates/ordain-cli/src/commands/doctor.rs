//! `ordain doctor`: how well this machine protects the gate.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::signing;
use clap::Args;
use ordain_presence::{KeyFile, OsUser, fingerprint};
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Args)]
#[command(after_help = exit::help_with("\
The level is `project` for a gate of this user, `service` for a gate behind a unix socket, `server` for one on the network. \
docs/security.md says what each level holds.", exit::PLAIN))]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// What was found.
#[derive(Serialize)]
struct Findings {
    level: &'static str,
    user: String,
    /// Who this user is to the gate.
    principal: Option<String>,
    /// Whether somebody owns the gate; nothing if it cannot be asked.
    owned: Option<bool>,
    fingerprint: Option<String>,
    open_points: Vec<OpenPoint>,
}

#[derive(Serialize)]
struct OpenPoint {
    name: &'static str,
    problem: String,
    hint: &'static str,
}

pub(crate) fn run(args: &Doctor, json: bool) -> Result<Outcome, Failure> {
    let level = match args.connect.server.as_deref() {
        None => "project",
        Some(url) if url.starts_with("unix:") => "service",
        Some(_) => "server",
    };
    let user = OsUser::current();
    let mut open_points = of_machine(&user);
    let (mut principal, mut owned) = (None, None);
    match Gateway::open(&args.connect, Purpose::Look) {
        Ok(gateway) => {
            principal = Some(gateway.principal());
            owned = Some(gateway.client().gate()?.owned);
        }
        Err(failure) => open_points.push(OpenPoint {
            name: "gate",
            problem: format!("the gate cannot be asked: {}", failure.text()),
            hint: "run `ordain init`, or pass `--server URL`",
        }),
    }
    if owned == Some(false) {
        open_points.push(OpenPoint {
            name: "open_gate",
            problem:
                "nobody owns this gate: every process of this user changes its policies, tokens and keys"
                    .to_owned(),
            hint: "run `ordain init --claim` on a terminal",
        });
    }
    let key = KeyFile::open(&signing::key_path()?);
    let fingerprint = key.as_ref().ok().map(|file| fingerprint(file.public()));
    if let Err(error) = key {
        open_points.push(OpenPoint {
            name: "key",
            problem: error.to_string(),
            hint: "run `ordain approver enrol` on a terminal",
        });
    }
    if level == "project" {
        open_points.push(OpenPoint {
            name: "project_level",
            problem: "agents run as this user, and can replace ordain, its hooks and its store, or record a passphrase".to_owned(),
            hint: "run the gate as its own user, or agents as another one",
        });
    }
    show(&Findings { level, user: user.name, principal, owned, fingerprint, open_points }, json)
}

/// Settings of the machine that let one process of a user reach into another.
fn of_machine(user: &OsUser) -> Vec<OpenPoint> {
    let mut found = Vec::new();
    let setting = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    if setting("/proc/sys/kernel/yama/ptrace_scope").is_none_or(|scope| scope == "0") {
        found.push(OpenPoint {
            name: "ptrace_scope",
            problem: "processes of this user can read each other's memory".to_owned(),
            hint: "run `sysctl kernel.yama.ptrace_scope=1` as root",
        });
    }
    if setting("/proc/sys/dev/tty/legacy_tiocsti").as_deref() == Some("1") {
        found.push(OpenPoint {
            name: "legacy_tiocsti",
            problem: "a process can type into its terminal".to_owned(),
            hint: "run `sysctl dev.tty.legacy_tiocsti=0` as root",
        });
    }
    if std::env::current_exe().is_ok_and(|binary| is_writable(&binary, user)) {
        found.push(OpenPoint {
            name: "writable_binary",
            problem: "this user can replace the ordain binary".to_owned(),
            hint: "install it as root, for example in /usr/local/bin",
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
        return Ok(Outcome::Ok);
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
    page.label("gate", owned);
    page.label("key", findings.fingerprint.as_deref().unwrap_or("none"));
    page.section("Open points");
    for point in &findings.open_points {
        page.item(&format!("{}: {}; {}", point.name, point.problem, point.hint));
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}
