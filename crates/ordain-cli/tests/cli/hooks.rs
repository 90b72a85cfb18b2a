//! `ordain hook` and `ordain setup`: a call asks the pinned gate, every failure is a no, and settings go back to what
//! they were.

use crate::harness::{Guarded, count, fed, folder, ran};
use ordain_hooks::{Agent, GatePin, Pins};
use serde_json::{Value as Json, json};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const ALLOW: &str =
    "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}\n";

fn reason(stdout: &str) -> String {
    let said: Json = serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "deny", "{said}");
    said["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned()
}

#[test]
fn calls_are_allowed_held_or_denied_by_the_gate() {
    let guarded = Guarded::new();
    let pins = guarded.pins(Agent::Claude, 5);
    // The first call starts the gate.
    let allowed = guarded
        .ask(&pins, &guarded.event("Bash", json!({"command": "touch a.txt", "description": "d"})))
        .ended(0);
    assert_eq!((allowed.stdout.as_str(), allowed.stderr.as_str()), (ALLOW, ""));
    for (tool, input) in [
        ("Write", json!({"file_path": guarded.project.path("new.txt"), "content": "hi"})),
        ("Edit", json!({"file_path": "policy/x.txt", "old_string": "a", "new_string": "b"})),
        ("Read", json!({"file_path": guarded.project.path("ordain.toml")})),
        ("Grep", json!({"pattern": "x"})),
        ("TodoWrite", json!({"todos": []})),
        ("Agent", json!({"prompt": "p", "subagent_type": "general-purpose"})),
    ] {
        assert_eq!(guarded.ask(&pins, &guarded.event(tool, input)).ended(0).stdout, ALLOW, "{tool}");
    }
    for (tool, input) in [
        ("Bash", json!({"command": "touch denied.txt"})),
        ("Write", json!({"file_path": "denied.txt", "content": "x"})),
        ("Read", json!({"file_path": "/etc/hostname"})),
        ("Write", json!({"file_path": "../outside.txt", "content": "x"})),
        ("mcp__bank__wire_money", json!({"to": "bob"})),
        ("WebFetch", json!({"url": "https://example.org/?q=1", "prompt": "p"})),
        ("Bash", json!({"command": ["touch", "a.txt"]})),
    ] {
        let denied = guarded.ask(&pins, &guarded.event(tool, input)).ended(2);
        let reason = reason(&denied.stdout);
        assert!(denied.stderr.starts_with(&reason), "{}", denied.stderr);
        assert!(reason.starts_with("ordain DENY"), "{reason}");
    }
    // A link inside the workspace leads where it leads.
    std::os::unix::fs::symlink("/etc/hostname", guarded.project.path("innocent.txt")).unwrap();
    guarded.ask(&pins, &guarded.event("Read", json!({"file_path": "innocent.txt"}))).ended(2);
    // Sources are on record beside the action, and bound to nothing.
    let entries = guarded.project.entries();
    let packets: Vec<&Json> = entries
        .iter()
        .map(|entry| &entry["entry"]["event"])
        .filter(|event| event["kind"] == "evidence_received" && event["sensor_id"] == "ordain-hook")
        .collect();
    assert_eq!(packets.len(), count(&entries, "submitted"));
    guarded.project.sound();
}

/// The event after a call settles its use; an interrupted one is unknown.
#[test]
fn outcomes_are_reported() {
    let guarded = Guarded::new();
    let pins = guarded.pins(Agent::Claude, 5);
    for (at, (name, extra, state)) in [
        ("PostToolUse", json!({"tool_response": {"stdout": "", "interrupted": false}}), "succeeded"),
        ("PostToolUseFailure", json!({"error": "exit 1"}), "failed"),
        ("PostToolUse", json!({"tool_response": {"interrupted": true}}), "unknown"),
    ]
    .into_iter()
    .enumerate()
    {
        let before = guarded.event("Bash", json!({"command": format!("touch f{at}.txt")}));
        guarded.ask(&pins, &before).ended(0);
        let mut after: Json = serde_json::from_str(&before).unwrap();
        after["hook_event_name"] = json!(name);
        after.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let reported = guarded.ask(&pins, &after.to_string()).ended(0);
        assert_eq!(reported.all(), "");
        let states: Vec<Json> = guarded.project.run(&["status", "--json"]).lines();
        let states: Vec<&str> = states.iter().map(|status| status["state"].as_str().unwrap()).collect();
        assert!(states.contains(&state), "{states:?}");
    }
    guarded.project.sound();
}

/// A hold outlives the host: approved later, the identical call runs once; a changed one, or a second one, is held
/// again.
#[test]
fn a_held_call_is_repeated_after_approval() {
    let guarded = Guarded::new();
    let pins = guarded.pins(Agent::Claude, 5);
    let call = || guarded.event("Bash", json!({"command": "echo held", "description": "d"}));
    let held = guarded.ask(&pins, &call()).ended(2);
    let said = reason(&held.stdout);
    assert!(said.contains("held; repeat the identical call after approval"), "{said}");
    guarded.approve_all();
    let changed = guarded.event("Bash", json!({"command": "echo  held"}));
    assert!(reason(&guarded.ask(&pins, &changed).ended(2).stdout).contains("held"));
    // The deed leaves out the remark for people.
    let again = guarded.event("Bash", json!({"command": "echo held", "description": "other words"}));
    assert_eq!(guarded.ask(&pins, &again).ended(0).stdout, ALLOW);
    assert!(reason(&guarded.ask(&pins, &call()).ended(2).stdout).contains("held"));
    let entries = guarded.project.entries();
    assert_eq!(count(&entries, "permit_spent"), 1);
    // Somebody approves while the hook waits.
    let waiting = guarded.pins(Agent::Claude, 60);
    let event = guarded.event("Bash", json!({"command": "echo held and waiting"}));
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| guarded.ask(&waiting, &event));
        let started = Instant::now();
        while count(&guarded.project.entries(), "submitted") < 4 {
            assert!(started.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(100));
        }
        guarded.approve_all();
        assert_eq!(asked.join().unwrap().ended(0).stdout, ALLOW);
    });
    guarded.project.sound();
}

/// While nobody knows how an equal call went, the next one waits for a person to say so, and then is judged anew.
#[test]
fn a_call_waits_until_an_equal_one_is_settled() {
    let guarded = Guarded::new();
    let effects = "[execute.shell]\neffect_parameters = [\"command\"]\non_unknown = \"block\"\n";
    guarded.project.write("policy/effects.toml", effects);
    guarded.project.push();
    let pins = guarded.pins(Agent::Claude, 4);
    let call = || guarded.event("Bash", json!({"command": "touch once.txt"}));
    let before = call();
    guarded.ask(&pins, &before).ended(0);
    let mut after: Json = serde_json::from_str(&before).unwrap();
    after["hook_event_name"] = json!("PostToolUse");
    after["tool_response"] = json!({"interrupted": true});
    guarded.ask(&pins, &after.to_string()).ended(0);
    let unknown = guarded.project.run(&["status", "--state", "unknown", "--json"]).lines();
    let id = unknown[0]["action_id"].as_str().unwrap().to_owned();
    let said = reason(&guarded.ask(&pins, &call()).ended(2).stdout);
    assert!(
        said.contains("which has the same effect, is unknown") && said.contains("`ordain approve`"),
        "{said}"
    );
    // Another command is none of its business.
    guarded.ask(&pins, &guarded.event("Bash", json!({"command": "touch other.txt"}))).ended(0);
    let waiting = guarded.pins(Agent::Claude, 60);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| guarded.ask(&waiting, &call()));
        std::thread::sleep(Duration::from_secs(3));
        assert!(!asked.is_finished());
        guarded.project.run(&["permit", "outcome", &id, "failed"]).ended(0);
        assert_eq!(asked.join().unwrap().ended(0).stdout, ALLOW);
    });
    guarded.project.sound();
}

/// Copilot shows lines while a call waits. Every other host gets its answer and nothing else.
#[test]
fn progress_is_shown_where_the_host_shows_it() {
    let guarded = Guarded::new();
    let copilot = json!({"sessionId": "s", "timestamp": 1, "cwd": guarded.project.root, "toolName": "bash",
        "toolArgs": {"command": "echo held"}});
    let claude_like = guarded.event("Bash", json!({"command": "echo held"}));
    for (agent, event, shows) in [
        (Agent::Copilot, copilot.to_string(), true),
        (Agent::Copilot, claude_like.clone(), false),
        (Agent::Claude, claude_like.clone(), false),
        (Agent::Codex, claude_like, false),
    ] {
        let asked = guarded.ask(&guarded.pins(agent, 4), &event).ended(2);
        let lines: Vec<Json> = asked.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (answer, progress) = lines.split_last().unwrap();
        assert!(answer.to_string().contains("held; repeat the identical call"), "{answer}");
        assert_eq!(!progress.is_empty(), shows, "{agent}: {}", asked.stdout);
        for line in progress {
            assert_eq!((&line["type"], &line["temporary"]), (&json!("progress"), &json!(true)), "{line}");
            assert!(line["message"].as_str().unwrap().contains("ordain approve copilot-"), "{line}");
        }
    }
    // Nobody waits, and nothing is shown.
    let at_once = guarded.ask(&guarded.pins(Agent::Copilot, 0), &copilot.to_string()).ended(2);
    assert_eq!(at_once.stdout.lines().count(), 1, "{}", at_once.stdout);
}

/// Where nobody is, a held call ends at once.
#[test]
fn a_job_does_not_wait_for_anybody() {
    let guarded = Guarded::new();
    let pins = guarded.pins(Agent::Claude, 0);
    guarded.ask(&pins, &guarded.event("Bash", json!({"command": "echo ok"}))).ended(0);
    let started = Instant::now();
    let held = guarded.ask(&pins, &guarded.event("Bash", json!({"command": "echo held"}))).ended(2);
    assert!(reason(&held.stdout).contains("held; repeat the identical call"), "{}", held.stdout);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

/// A job asks a server with the agent's token. It has no terminal, so a held call ends at once.
#[test]
fn a_job_asks_a_server_and_waits_for_nobody() {
    let guarded = Guarded::new();
    let file = guarded.home.path().join("token");
    std::fs::write(&file, guarded.project.token("agent-1", &["actor", "worker"])).unwrap();
    let server = guarded.project.serve();
    let url = server.url().to_owned();
    let setup =
        ["setup", "claude", "--project", "--server", &url, "--actor", "agent-1", "--json", "--token-file"];
    let done = ran(guarded.command(&setup).arg(&file)).ended(0).json();
    assert!(done["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{done}");
    let settings = guarded.project.read(".claude/settings.local.json");
    let settings: Json = serde_json::from_str(&settings).unwrap();
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.contains("--wait 590"), "{command}");
    let ask = |text: &str| {
        let event = guarded.event("Bash", json!({"command": text}));
        let mut alone = Command::new("setsid");
        alone
            .args(["--wait", "/bin/sh", "-c", command])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/");
        fed(&mut alone, event.as_bytes())
    };
    assert_eq!(ask("touch a.txt").ended(0).stdout, ALLOW);
    ask("touch denied.txt").ended(2).says("ordain DENY");
    let started = Instant::now();
    ask("echo held").ended(2).says("held; repeat the identical call");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    // The token is the agent's: it approves nothing and pauses nothing.
    let held = guarded.project.run(&["status", "--state", "held", "--json"]).lines();
    let id = held[0]["action_id"].as_str().unwrap();
    for attempt in [&["approve", id][..], &["pause", "--for", "1m"]] {
        let mut command = guarded.command(attempt);
        command.args(["--server", &url, "--token-file"]).arg(&file);
        assert_ne!(ran(&mut command).code, 0);
    }
    server.stop();
    ask("touch b.txt").ended(2).says("cannot reach");
    guarded.project.sound();
}

/// A push after another commit, and a script that changed, are other deeds.
#[test]
fn content_is_part_of_the_deed() {
    let guarded = Guarded::new();
    let pins = guarded.pins(Agent::Claude, 5);
    let project = &guarded.project;
    project.write("held.sh", "echo 1\n");
    let call = || guarded.event("Bash", json!({"command": "sh held.sh"}));
    guarded.ask(&pins, &call()).ended(2);
    guarded.approve_all();
    project.write("held.sh", "echo 2\n");
    assert!(reason(&guarded.ask(&pins, &call()).ended(2).stdout).contains("held"));
    project.write("held.sh", "echo 1\n");
    guarded.ask(&pins, &call()).ended(0);
}

/// Whatever goes wrong is a no, with its own reason, in time.
#[test]
fn every_failure_is_a_no() {
    let guarded = Guarded::new();
    let pins = guarded.pins(Agent::Claude, 5);
    let event = guarded.event("Bash", json!({"command": "touch a.txt"}));
    guarded.ask(&pins, &event).ended(0);
    let silent = folder();
    let socket = silent.path().join("gate.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let service = |socket: &Path| GatePin::Service {
        origin: "ordain/none".to_owned(),
        socket: socket.to_owned(),
        calls: silent.path().to_owned(),
    };
    let GatePin::Own { id, state } = &pins.gate else { panic!() };
    let other_key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let other_key = ordain_decision::PublicKey::parse(other_key).unwrap();
    let with = |gate: GatePin| Pins { gate, wait_s: 2, ..pins.clone() };
    for (name, pins, words) in [
        ("gone", with(GatePin::Own { id: id.clone(), state: "/nonexistent/ordain".into() }), "is gone"),
        ("silent", with(service(&socket)), "took too long"),
        ("nobody", with(service(&silent.path().join("none.sock"))), "cannot reach"),
        ("another", with(service(&state.join(id.as_str()).join("gate.sock"))), "another gate answers"),
        ("key", Pins { key: other_key, ..pins.clone() }, "the permit was issued by the key"),
        ("actor", Pins { actor: "mallory".to_owned(), ..pins.clone() }, "may not propose as"),
    ] {
        let started = Instant::now();
        let refused = guarded.ask(&pins, &event).ended(2);
        assert!(reason(&refused.stdout).contains(words), "{name}: {}", refused.all());
        assert!(started.elapsed() < Duration::from_secs(15), "{name}");
    }
    for (name, event) in [
        ("empty", String::new()),
        ("cut off", event[..event.len() / 2].to_owned()),
        ("unknown event", event.replace("PreToolUse", "Stop")),
        ("no folder", event.replace("\"cwd\"", "\"cd\"")),
        ("folder that is not there", event.replace(guarded.project.root.to_str().unwrap(), "/nonexistent")),
    ] {
        let refused = guarded.ask(&pins, &event).ended(2);
        assert!(reason(&refused.stdout).starts_with("ordain"), "{name}");
    }
    // The command line itself.
    let binary = env!("CARGO_BIN_EXE_ordain");
    for words in
        [&["hook", "claude"][..], &["hook", "nobody", "--gate", "x"], &["hook", "claude", "--gate", "x"]]
    {
        let refused = fed(Command::new(binary).args(words), event.as_bytes()).ended(2);
        assert!(refused.stderr.contains("command line is damaged"), "{}", refused.stderr);
    }
    let missing =
        ran(Command::new("/bin/sh").args(["-c", &pins.command(Path::new("/nonexistent/ordain"))])).ended(2);
    assert!(missing.stderr.contains("ordain: the call was not run."), "{}", missing.stderr);
    // No variable and no file of the workspace changes which gate is asked.
    guarded.project.write("ordain.toml", "policy = \"elsewhere\"\n");
    let denied = guarded.event("Bash", json!({"command": "touch denied.txt"}));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &pins.command(Path::new(binary))]).current_dir(&guarded.project.root);
    shell.envs([
        ("XDG_STATE_HOME", "/nonexistent"),
        ("HOME", "/nonexistent"),
        ("ORDAIN_SERVER", "http://127.0.0.1:1"),
    ]);
    fed(&mut shell, denied.as_bytes()).ended(2).says("ordain DENY");
}

/// Many calls at once start one gate, and every one of them is on record.
#[test]
fn parallel_calls_lose_nothing() {
    let guarded = Guarded::new();
    let pins = guarded.pins(Agent::Codex, 60);
    let events: Vec<String> =
        (0..24).map(|at| guarded.event("Bash", json!({"command": format!("touch p{at}.txt")}))).collect();
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            events.iter().map(|event| scope.spawn(|| guarded.ask(&pins, event).ended(0).all())).collect();
        assert!(asked.into_iter().all(|asked| asked.join().unwrap().is_empty()));
    });
    assert_eq!(count(&guarded.project.entries(), "permit_spent"), 24);
    assert_eq!(guarded.stop_gate(), 1);
    guarded.project.sound();
}

/// A folder that no project registers is judged as the host's, and not as a workspace.
#[test]
fn a_folder_without_a_project_belongs_to_the_host() {
    let guarded = Guarded::new();
    let pins = guarded.pins(Agent::Claude, 5);
    let elsewhere = folder();
    let event = |tool: &str, input: Json| {
        guarded
            .event(tool, input)
            .replace(guarded.project.root.to_str().unwrap(), elsewhere.path().to_str().unwrap())
    };
    guarded.ask(&pins, &event("TodoWrite", json!({}))).ended(0);
    let denied = guarded.ask(&pins, &event("Write", json!({"file_path": "a.txt", "content": "x"}))).ended(2);
    assert!(reason(&denied.stdout).starts_with("ordain DENY"), "{}", denied.stdout);
}

#[test]
fn setup_installs_proves_and_restores() {
    let guarded = Guarded::new();
    let file = guarded.project.path(".claude/settings.local.json");
    let before = "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}";
    guarded.project.write(".claude/settings.local.json", before);
    let shown = guarded.run(&["setup", "claude", "--dry-run"]).ended(0);
    assert!(shown.stdout.contains("hook claude --gate"), "{}", shown.stdout);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);

    let done = guarded.run(&["setup", "claude", "--json"]).ended(0).json();
    assert_eq!(
        (&done["result"], done["checks"].as_array().unwrap().len()),
        (&json!("installed"), 5),
        "{done}"
    );
    assert!(done["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{done}");
    let with = std::fs::read_to_string(&file).unwrap();
    assert!(with.contains("\"onFailure\": \"block\"") && with.contains("\"timeout\": 600"), "{with}");
    let doctor = guarded.run(&["doctor", "--json"]).ended(0).json();
    assert_eq!(doctor["agents"][0]["state"], "guarded", "{doctor}");

    let again = guarded.run(&["setup", "claude", "--json"]).ended(0).json();
    assert_eq!(again["result"], "unchanged");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), with);
    // An edited hook claims to guard and does not.
    for (from, to, words) in [
        ("\"onFailure\": \"block\"", "\"onFailure\": \"allow\"", "was edited"),
        ("\"timeout\": 600", "\"timeout\": 6", "waits less long"),
        ("\"hooks\": {", "\"disableAllHooks\": true, \"hooks\": {", "switches all hooks off"),
        ("hook claude", "hook codex", "was edited"),
    ] {
        std::fs::write(&file, with.replacen(from, to, 1)).unwrap();
        guarded.run(&["doctor"]).ended(1).says_all(&["claude: broken", words]);
    }
    std::fs::write(&file, &with[..with.len() - 3]).unwrap();
    guarded.run(&["doctor"]).ended(1).says("claude: broken");
    guarded.run(&["setup", "claude"]).ended(1).says("it was not changed");
    std::fs::write(&file, &with).unwrap();

    guarded.run(&["setup", "claude", "--remove", "--dry-run"]).ended(0);
    assert_eq!(guarded.run(&["setup", "claude", "--remove", "--json"]).ended(0).json()["result"], "removed");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    assert_eq!(guarded.run(&["setup", "claude", "--remove", "--json"]).ended(0).json()["result"], "absent");
    assert_eq!(guarded.run(&["doctor", "--json"]).ended(0).json()["agents"], json!([]));
}

/// Files of ordain's own appear and disappear with their folders; somebody else's file of that name is left alone.
#[test]
fn settings_that_were_not_there_are_gone_again() {
    let guarded = Guarded::new();
    for (agent, file, top) in [
        ("gemini", ".gemini/settings.json", ".gemini"),
        ("qwen", ".qwen/settings.json", ".qwen"),
        ("copilot", ".copilot/hooks/ordain.json", ".copilot"),
        ("opencode", ".config/opencode/plugin/ordain.js", ".config"),
    ] {
        let done = guarded.run(&["setup", agent, "--user", "--json"]).ended(0).json();
        assert!(done["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{done}");
        assert!(guarded.home.path().join(file).is_file());
        let doctor = guarded.run(&["doctor", "--json"]).ended(0).json();
        assert_eq!(
            (&doctor["agents"][0]["agent"], &doctor["agents"][0]["state"]),
            (&json!(agent), &json!("guarded"))
        );
        guarded.run(&["setup", agent, "--user", "--remove"]).ended(0);
        assert!(!guarded.home.path().join(top).exists(), "{agent}");
    }
    guarded.project.write(".opencode/plugin/ordain.js", "export const Mine = 1\n");
    guarded.run(&["setup", "opencode"]).ended(1).says("is not a file of ordain");
    let nowhere = folder();
    let mut setup = guarded.command(&["setup", "claude", "--project"]);
    ran(setup.current_dir(nowhere.path()))
        .ended(1)
        .says_all(&["no gate is registered", "ordain init --solo"]);
}
