//! The service as systemd runs it: its unit is started, hardened, restarted and removed by a live systemd.

use crate::harness::{Machine, proposal, ran};
use crate::service::{SOCKET, write_policies};
use std::path::Path;
use std::time::{Duration, Instant};

/// The most that `systemd-analyze security` may find open, of 10.
const EXPOSURE_MAX: f64 = 1.5;

#[test]
fn systemd_runs_the_service_hardened_and_starts_it_again() {
    let machine = Machine::booted();
    let shop = machine.path("shop");
    std::fs::create_dir_all(&shop).unwrap();
    machine.root(&["chown", "agent", shop.to_str().unwrap()]).ended(0);
    let start = machine.path("start");
    write_policies(&start, Some("agent"));
    let start = start.to_str().unwrap();

    // One command makes the user, the gate and the unit, and starts it.
    let install = ["service", "install", "--owner", "olga", "--policy", start];
    machine.ordain("root", &shop, &install).ended(0).says_all(&["systemctl enable", "ordain init --claim"]);
    let property = |name: &str| {
        let shown = machine.root(&["systemctl", "show", "--value", "--property", name, "ordain"]);
        shown.ended(0).stdout.trim().to_owned()
    };
    assert_eq!((property("ActiveState").as_str(), property("UnitFileState").as_str()), ("active", "enabled"));
    let answers = || machine.ordain("olga", &shop, &["status", "--server", SOCKET]).code == 0;
    wait_until("the service answers", answers);

    // The hardening is in force, not only in the file.
    let first = property("MainPID");
    let status = machine.root(&["cat", &format!("/proc/{first}/status")]).ended(0).stdout;
    for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.contains(line), "{line} is not in {status}");
    }
    let uid = machine.root(&["id", "-u", "ordain"]).ended(0).stdout;
    assert!(status.contains(&format!("Uid:\t{0}\t{0}", uid.trim())), "{status}");
    let inside = |script: &str| {
        let target = format!("--target={first}");
        let enter = ["nsenter", &target, "--mount", "--net", "setpriv", "--reuid=ordain", "--clear-groups"];
        machine.root(&[&enter[..], &["sh", "-c", script]].concat())
    };
    inside("touch /var/lib/ordain/probe && rm /var/lib/ordain/probe").ended(0);
    for place in ["/etc/probe", "/usr/probe", "/opt/ordain/probe", "/var/lib/probe"] {
        assert_ne!(inside(&format!("touch {place}")).code, 0, "{place}");
    }
    for place in ["/home", "/root"] {
        assert_ne!(inside(&format!("ls {place}")).code, 0, "{place}");
    }
    let links = inside("grep -c : /proc/net/dev; grep lo: /proc/net/dev").ended(0).stdout;
    assert!(links.starts_with("1\n"), "{links}");
    let analysis = machine.root(&["systemd-analyze", "security", "--no-pager", "ordain.service"]).stdout;
    let exposure = analysis.lines().find(|line| line.contains("Overall exposure level"));
    let exposure =
        exposure.and_then(|line| line.split_whitespace().find_map(|word| word.parse::<f64>().ok()));
    assert!(exposure.is_some_and(|level| level <= EXPOSURE_MAX), "{analysis}");

    // A reload keeps the process; a killed one comes back with everything that it had acknowledged.
    let halted =
        || machine.ordain("olga", &shop, &["status", "--server", SOCKET]).all().contains("halted by olga");
    machine.ordain("olga", &shop, &["halt", "--reason", "tea", "--server", SOCKET]).ended(0);
    machine.root(&["systemctl", "reload", "ordain"]).ended(0);
    assert_eq!(property("MainPID"), first);
    machine.root(&["kill", "-9", &first]).ended(0);
    wait_until("systemd starts it again", || !["0", &first].contains(&property("MainPID").as_str()));
    wait_until("it answers again", answers);
    assert!(halted());

    // An upgrade is the same command again.
    let again = machine.ordain("root", &shop, &[&install[..], &["--json"]].concat()).ended(0).json();
    let states = again["steps"].as_array().unwrap();
    let done: Vec<&str> =
        states.iter().filter_map(|it| (it["state"] == "done").then(|| it["step"].as_str())?).collect();
    assert!(done.iter().all(|step| step.starts_with("systemctl")), "{again}");
    wait_until("the upgraded one answers", answers);
    let journal =
        machine.root(&["journalctl", "--unit=ordain", "--output=cat", "--no-pager"]).ended(0).stdout;
    assert!(journal.contains("this gate is open"), "{journal}");

    // The hint for a stopped service works.
    std::fs::write(shop.join("p.json"), proposal("p1", "crm", 1).to_string()).unwrap();
    machine.root(&["systemctl", "stop", "ordain"]).ended(0);
    let stopped = machine.ordain("olga", &shop, &["submit", "p.json"]).ended(1);
    stopped.says_all(&["is not running", "systemctl start ordain"]);
    machine.root(&["systemctl", "start", "ordain"]).ended(0);
    wait_until("it was started", || answers() && halted());
    // The service's own user works on the store, as the guide says, while the service runs.
    let gate = |arguments: &[&str]| {
        let program = [&["env", "XDG_STATE_HOME=/var/lib", "/opt/ordain/ordain"], arguments].concat();
        ran(&mut machine.command("ordain", Path::new("/"), &program))
    };
    let listed = gate(&["gate", "list", "--json"]).ended(0).json();
    let id = listed["gate"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
    gate(&["ledger", "fsck", "--gate", &id]).ended(0).says("verified");
    gate(&["gate", "export", "/var/lib/ordain/backup", "--gate", &id]).ended(0);

    machine.ordain("root", &shop, &["service", "uninstall", "--purge"]).ended(0);
    assert_ne!(machine.root(&["systemctl", "is-active", "ordain"]).code, 0);
    machine.root(&["sh", "-c", "test ! -e /var/lib/ordain && test ! -e /run/ordain && ! id ordain"]).ended(0);
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        std::thread::sleep(Duration::from_millis(100));
    }
}
