//! Coding agents, as their makers publish them, behind the gate: against a scripted model, with loopback as their only
//! network. Claude Code and Codex run every day, the others in the soak; every day their recorded events are asked.

use crate::harness::{Guarded, Ran, count, ran};
use ordain_hooks::{Agent, Answer, Shape};
use serde_json::{Value as Json, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An agent with its scripted model.
struct Live {
    guarded: Guarded,
    agent: Agent,
}

pub(crate) fn program(agent: Agent) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
    let everyday = matches!(agent, Agent::Claude | Agent::Codex);
    let folder = if everyday { "ordain/agents" } else { "ordain/agents-soak" };
    let below = match agent {
        Agent::Claude => "@anthropic-ai/claude-code-linux-x64/claude",
        Agent::Codex => "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        Agent::Copilot => "@github/copilot-linux-x64/copilot",
        Agent::Gemini => "@google/gemini-cli/bundle/gemini.js",
        Agent::Qwen => "@qwen-code/qwen-code/cli-entry.js",
        Agent::Opencode => "opencode-linux-x64/bin/opencode",
    };
    let program = cache.join(folder).join("node_modules").join(below);
    let task = if everyday { "test" } else { "soak agents" };
    assert!(program.is_file(), "`cargo xtask {task}` installs {}", program.display());
    program
}

/// The variables and the words of a run without a person, after the program itself. `{port}` is the model's port.
fn words_of(agent: Agent) -> (&'static [&'static str], &'static [&'static str]) {
    match agent {
        Agent::Gemini => (
            &[
                "GEMINI_API_KEY=none",
                "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:{port}",
                "GEMINI_CLI_TRUST_WORKSPACE=true",
            ],
            &["-m", "gemini-2.5-pro", "--yolo", "-p", "ORDAINTEST"],
        ),
        Agent::Qwen => (
            &["OPENAI_API_KEY=none", "OPENAI_BASE_URL=http://127.0.0.1:{port}/v1", "OPENAI_MODEL=m1"],
            &["--auth-type", "openai", "--yolo", "-p", "ORDAINTEST"],
        ),
        Agent::Copilot => (
            &[
                "COPILOT_OFFLINE=true",
                "COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:{port}/v1",
                "COPILOT_PROVIDER_API_KEY=none",
                "COPILOT_MODEL=gpt-4.1",
            ],
            &["-p", "ORDAINTEST", "--allow-all-tools", "--no-color"],
        ),
        _ => (
            &[
                "OPENCODE_DISABLE_MODELS_FETCH=1",
                "OPENCODE_DISABLE_AUTOUPDATE=1",
                "MODEL_URL=http://127.0.0.1:{port}/v1",
            ],
            &["run", "--format", "json", "ORDAINTEST"],
        ),
    }
}

/// The file with the hook, below the home folder.
fn settings_of(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => ".claude/settings.json",
        Agent::Codex => ".codex/hooks.json",
        Agent::Copilot => ".copilot/hooks/ordain.json",
        Agent::Gemini => ".gemini/settings.json",
        Agent::Qwen => ".qwen/settings.json",
        Agent::Opencode => ".config/opencode/plugin/ordain.js",
    }
}

/// Settings that the other agents need to talk to the scripted model, and to know the bank.
fn prepare(agent: Agent, home: &Path) {
    let bank = json!({"bank": {"command": "python3", "args": [harness("mcp_bank.py")]}});
    let (file, text) = match agent {
        Agent::Gemini => (
            ".gemini/settings.json",
            json!({"mcpServers": bank,
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}}),
        ),
        Agent::Qwen => (".qwen/settings.json", json!({"mcpServers": bank})),
        Agent::Opencode => (
            ".config/opencode/opencode.json",
            json!({"model": "scripted/m1",
            "mcp": {"bank": {"type": "local", "command": ["python3", harness("mcp_bank.py")], "enabled": true}},
            "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "models": {"m1": {}},
                "options": {"baseURL": "{env:MODEL_URL}", "apiKey": "none"}}}}),
        ),
        Agent::Copilot => (
            ".copilot/mcp-config.json",
            json!({"mcpServers": {"bank": {"type": "local",
            "command": "python3", "args": [harness("mcp_bank.py")], "tools": ["*"]}}}),
        ),
        Agent::Claude | Agent::Codex => return,
    };
    let path = home.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text.to_string()).unwrap();
}

fn harness(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/harness").join(name)
}

impl Live {
    /// The agent, set up by `ordain setup`; held calls wait five seconds.
    fn new(agent: Agent) -> Self {
        let guarded = Guarded::new();
        let program = program(agent);
        let home = guarded.home.path();
        let bank = json!({"mcpServers": {"bank": {"command": "python3", "args": [harness("mcp_bank.py")]}}});
        fs::write(home.join("mcp.json"), bank.to_string()).unwrap();
        fs::create_dir_all(home.join(".codex")).unwrap();
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"http://127.0.0.1:1/v1\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n\
             [mcp_servers.bank]\ncommand = \"python3\"\nargs = [{}]\n",
            json!(harness("mcp_bank.py"))
        );
        fs::write(home.join(".codex/config.toml"), config).unwrap();
        prepare(agent, home);
        let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
        let mut setup =
            guarded.command(&["setup", agent.name(), "--user", "--trust", "--wait", "5", "--json"]);
        let done = ran(setup.env("PATH", &path)).ended(0).json();
        assert_eq!(done["result"], "installed", "{done}");
        let doctor = ran(guarded.command(&["doctor", "--json"]).env("PATH", &path)).ended(0).json();
        let state =
            doctor["agents"].as_array().unwrap().iter().find(|it| it["agent"] == agent.name()).unwrap();
        assert_eq!(state["state"], "guarded", "{state}");
        Self { guarded, agent }
    }

    /// A shell command, as the model calls it.
    fn shell(&self, command: &str) -> Json {
        match self.agent {
            Agent::Claude => json!({"name": "Bash", "input": {"command": command, "description": "d"}}),
            Agent::Codex => json!({"name": "exec_command", "input": {"cmd": command}}),
            Agent::Gemini | Agent::Qwen => {
                json!({"name": "run_shell_command", "input": {"command": command, "description": "d", "is_background": false}})
            }
            Agent::Copilot | Agent::Opencode => {
                json!({"name": "bash", "input": {"command": command, "description": "d"}})
            }
        }
    }

    /// Runs the agent, and gives the texts that the model was told after each call.
    fn run(&self, main: &[Vec<Json>], sub: &[Vec<Json>]) -> Vec<String> {
        self.run_with(main, sub, &[])
    }

    fn run_with(&self, main: &[Vec<Json>], sub: &[Vec<Json>], options: &[&str]) -> Vec<String> {
        let home = self.guarded.home.path();
        let (steps, results) = (home.join("steps.json"), home.join("results.json"));
        fs::write(&steps, json!({"main": main, "sub": sub}).to_string()).unwrap();
        let _ = fs::remove_file(&results);
        let program = program(self.agent);
        let mut command = Command::new("unshare");
        // Without root, a namespace of users makes the others possible.
        let is_root = crate::harness::os_user() == "root";
        command.arg(if is_root { "--net" } else { "--net=" }).args((!is_root).then_some("--map-root-user"));
        command.arg("python3").arg(harness("agent_stage.py"));
        command.arg(match self.agent {
            Agent::Claude => "anthropic",
            Agent::Codex => "openai",
            Agent::Gemini => "gemini",
            Agent::Copilot | Agent::Qwen | Agent::Opencode => "chat",
        });
        let patience = if matches!(self.agent, Agent::Claude | Agent::Codex) { "50" } else { "150" };
        command.args([&steps, &results]).args(["--", "timeout", patience, "env", "-i"]);
        command.arg("PATH=/usr/local/bin:/usr/bin:/bin").arg(format!("HOME={}", home.display()));
        match self.agent {
            Agent::Claude => {
                command.args(["ANTHROPIC_BASE_URL=http://127.0.0.1:{port}", "ANTHROPIC_API_KEY=none"]);
                command
                    .args(["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"])
                    .arg(program);
                command.args([
                    "-p",
                    "ORDAINTEST",
                    "--output-format",
                    "json",
                    "--strict-mcp-config",
                    "--mcp-config",
                ]);
                command.arg(home.join("mcp.json"));
            }
            Agent::Gemini | Agent::Qwen | Agent::Copilot | Agent::Opencode => {
                let (variables, words) = words_of(self.agent);
                let is_script = program.extension().is_some_and(|extension| extension == "js");
                command.args(variables).args(is_script.then_some("node")).arg(program).args(words);
            }
            Agent::Codex => {
                command.arg("OPENAI_API_KEY=none").arg(program).args([
                    "exec",
                    "--skip-git-repo-check",
                    "--json",
                ]);
                command.args(["--dangerously-bypass-approvals-and-sandbox", "-c"]);
                command.arg("model_providers.scripted.base_url=\"http://127.0.0.1:{port}/v1\"");
                command.args(options).arg("ORDAINTEST");
            }
        }
        let ran: Ran = ran(command.current_dir(&self.guarded.project.root));
        let told = fs::read_to_string(&results).unwrap_or_else(|error| panic!("{error}: {}", ran.all()));
        let told: Vec<String> = serde_json::from_str(&told).unwrap();
        let calls: usize = main.iter().map(Vec::len).sum();
        assert_eq!(told.len(), calls, "{told:#?}\n{}", ran.all());
        told
    }

    fn exists(&self, name: &str) -> bool {
        self.guarded.project.path(name).exists()
    }
}

/// Allowed calls run, denied ones do not, and the model is told why: alone, in parallel, of a sub-agent, of an MCP
/// server, of files.
fn calls_pass_the_gate(live: &Live) {
    let root = live.guarded.project.root.clone();
    let wire = match live.agent {
        Agent::Claude => json!({"name": "mcp__bank__wire_money", "input": {"to": "bob"}}),
        _ => json!({"item": {"type": "function_call", "name": "wire_money", "namespace": "mcp__bank",
            "arguments": "{\"to\": \"bob\"}"}}),
    };
    let file = |name: &str| match live.agent {
        Agent::Claude => json!({"name": "Write", "input": {"file_path": root.join(name), "content": "hi\n"}}),
        _ => json!({"item": {"type": "custom_tool_call", "name": "apply_patch",
            "input": format!("*** Begin Patch\n*** Add File: {name}\n+hi\n*** End Patch\n")}}),
    };
    let mut main = vec![
        vec![live.shell("touch ok-1.txt")],
        vec![live.shell("touch denied-1.txt")],
        vec![live.shell("touch ok-2.txt"), live.shell("touch denied-2.txt"), live.shell("touch ok-3.txt")],
        vec![wire],
        vec![file("ok-file.txt")],
        vec![file("denied-file.txt")],
    ];
    let mut sub = Vec::new();
    if live.agent == Agent::Claude {
        let task =
            json!({"description": "sub", "prompt": "SUBTEST do it", "subagent_type": "general-purpose"});
        main.push(vec![json!({"name": "Agent", "input": task})]);
        sub = vec![vec![live.shell("touch ok-sub.txt")], vec![live.shell("touch denied-sub.txt")]];
    }
    let told = live.run(&main, &sub);
    for name in ["ok-1.txt", "ok-2.txt", "ok-3.txt", "ok-file.txt"] {
        assert!(live.exists(name), "{name} is not there: {told:#?}");
    }
    assert_eq!(live.exists("ok-sub.txt"), live.agent == Agent::Claude);
    for name in ["denied-1.txt", "denied-2.txt", "denied-file.txt", "denied-sub.txt", "wired.txt"] {
        assert!(!live.exists(name), "{name} is there: {told:#?}");
    }
    for at in [1, 3, 5, 7] {
        assert!(told[at].contains("ordain DENY"), "{at}: {told:#?}");
    }
    // Outcomes were reported by the event after each call.
    let entries = live.guarded.project.entries();
    assert_eq!(count(&entries, "permit_settled"), count(&entries, "permit_spent"), "{told:#?}");
}

/// Approved after the hook has given up: the identical call runs once, a changed one and a second one are held again.
fn a_hold_outlives_the_host(live: &Live) {
    let told = live.run(&[vec![live.shell("touch held.txt")]], &[]);
    assert!(told[0].contains("held; repeat the identical call after approval"), "{told:#?}");
    assert!(!live.exists("held.txt"));
    live.guarded.approve_all();
    let told = live.run(
        &[
            vec![live.shell("touch held-other.txt"), live.shell("touch held.txt")],
            vec![live.shell("touch held.txt")],
        ],
        &[],
    );
    assert!(live.exists("held.txt") && !live.exists("held-other.txt"), "{told:#?}");
    assert!(told[0].contains("held;") && told[2].contains("held;"), "{told:#?}");
}

/// Whatever becomes of the hook, the tool does not run.
fn a_broken_hook_blocks(live: &Live, settings: &Path, options: &[&str]) {
    let folder = live.guarded.home.path().join("broken");
    fs::create_dir_all(&folder).unwrap();
    let (real, fake) = (env!("CARGO_BIN_EXE_ordain"), folder.join("ordain"));
    // A listener that nobody serves takes questions and never answers.
    let _silent = std::os::unix::net::UnixListener::bind(folder.join("silent.sock")).unwrap();
    let key = live.guarded.pins(live.agent, 5).key;
    let pins = format!("--key {key} --actor agent-1 --wait 1");
    let agent = live.agent;
    let script = format!(
        "#!/bin/sh\nevent=$(cat)\nask() {{ printf '%s' \"$event\" | {real} \"$@\"; }}\ncase \"$event\" in\n\
         *ok-crash*) exit 1;;\n*ok-segv*) kill -SEGV $$;;\n*ok-kill*) kill -KILL $$;;\n*ok-garbage*) echo garbage; exit 3;;\n\
         *denied-stray*) echo a stray line; ask \"$@\"; exit $?;;\n\
         *ok-gone*) ask hook {agent} --gate 0123456789abcdef --state /nonexistent/ordain {pins}; exit $?;;\n\
         *ok-slow*) ask hook {agent} --gate x --socket {folder}/silent.sock --calls {folder} {pins}; exit $?;;\n\
         *ok-last*) ask \"$@\"; code=$?; rm \"$0\"; exit $code;;\nesac\nask \"$@\"\n",
        folder = folder.display()
    );
    fs::write(&fake, script).unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let text = fs::read_to_string(settings).unwrap();
    let real = Path::new(real).canonicalize().unwrap();
    let replaced = text.replace(real.to_str().unwrap(), fake.to_str().unwrap());
    assert_ne!(replaced, text);
    fs::write(settings, replaced).unwrap();
    let cases = ["ok-crash", "ok-segv", "ok-kill", "ok-garbage", "denied-stray", "ok-gone", "ok-slow"];
    let mut main: Vec<Vec<Json>> = vec![vec![live.shell("touch ok-before.txt")]];
    main.push(cases.iter().map(|name| live.shell(&format!("touch {name}.txt"))).collect());
    main.push(vec![live.shell("touch ok-last.txt")]);
    main.push(vec![live.shell("touch ok-missing.txt")]);
    let told = live.run_with(&main, &[], options);
    for name in ["ok-before.txt", "ok-last.txt"] {
        assert!(live.exists(name), "{name} is not there: {told:#?}");
    }
    for name in cases.iter().chain(&["ok-missing"]) {
        assert!(!live.exists(&format!("{name}.txt")), "{name} ran: {told:#?}");
    }
}

/// The same for the agents of the soak: alone, in parallel, of files, of an MCP server.
fn other_calls_pass_the_gate(live: &Live) {
    let root = live.guarded.project.root.clone();
    let file = |name: &str| {
        let path = root.join(name);
        match live.agent {
            Agent::Copilot => json!({"name": "create", "input": {"path": path, "file_text": "hi\n"}}),
            Agent::Opencode => json!({"name": "write", "input": {"filePath": path, "content": "hi\n"}}),
            _ => json!({"name": "write_file", "input": {"file_path": path, "content": "hi\n"}}),
        }
    };
    let bank = match live.agent {
        Agent::Gemini => "mcp_bank_wire_money",
        Agent::Qwen => "mcp__bank__wire_money",
        Agent::Copilot => "bank-wire_money",
        _ => "bank_wire_money",
    };
    let main = vec![
        vec![live.shell("touch ok-1.txt")],
        vec![live.shell("touch denied-1.txt")],
        vec![live.shell("touch ok-2.txt"), live.shell("touch denied-2.txt"), live.shell("touch ok-3.txt")],
        vec![json!({"name": bank, "input": {"to": "bob"}})],
        vec![file("ok-file.txt")],
        vec![file("denied-file.txt")],
    ];
    let told = live.run(&main, &[]);
    for name in ["ok-1.txt", "ok-2.txt", "ok-3.txt", "ok-file.txt"] {
        assert!(live.exists(name), "{name} is not there: {told:#?}");
    }
    for name in ["denied-1.txt", "denied-2.txt", "denied-file.txt", "wired.txt"] {
        assert!(!live.exists(name), "{name} is there: {told:#?}");
    }
    for at in [1, 3, 5, 7] {
        assert!(told[at].contains("ordain DENY"), "{at}: {told:#?}");
    }
}

/// The command before a call, as `setup` installs it, gets the recorded events of the agent: in a folder of the
/// project, with a call that passes and one that does not.
fn recorded_calls_pass_the_gate(agent: Agent) {
    let guarded = Guarded::new();
    guarded.run(&["setup", agent.name(), "--user", "--wait", "5"]).ended(0);
    let pins = guarded.pins(agent, 5);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ordain-hooks/tests/samples");
    let samples = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_agent = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(agent.name()) && (name.contains("shell") || name.contains("ash"))
    };
    let samples: Vec<PathBuf> = samples.filter(of_agent).collect();
    assert!(!samples.is_empty(), "{agent}");
    for sample in samples {
        let event = |command: &str| {
            let mut event: Json = serde_json::from_slice(&fs::read(&sample).unwrap()).unwrap();
            for input in ["/tool_input/command", "/toolArgs/command", "/args/command"] {
                if let Some(value) = event.pointer_mut(input) {
                    *value = json!(command);
                }
            }
            for folder in ["cwd", "directory"] {
                if event.get(folder).is_some() {
                    event[folder] = json!(guarded.project.root);
                }
            }
            event.to_string()
        };
        let shape = if event("x").contains("hook_event_name") && agent == Agent::Copilot {
            Shape::ClaudeLike
        } else {
            Shape::Own
        };
        let allowed = guarded.ask(&pins, &event("touch ok.txt")).ended(0);
        assert_eq!(allowed.stdout, Answer::Allow.printed(agent, shape).stdout, "{}", sample.display());
        let denied = guarded.ask(&pins, &event("touch denied.txt")).ended(2);
        let reason = denied.stderr.lines().next().unwrap().to_owned();
        assert!(reason.starts_with("ordain DENY"), "{reason}");
        assert_eq!(denied.stdout, Answer::Deny(reason).printed(agent, shape).stdout, "{}", sample.display());
    }
    guarded.project.sound();
}

fn other_agent_acts(agent: Agent) {
    if std::env::var_os("ORDAIN_SOAK").is_none() {
        return recorded_calls_pass_the_gate(agent);
    }
    let live = Live::new(agent);
    other_calls_pass_the_gate(&live);
    a_hold_outlives_the_host(&live);
    a_broken_hook_blocks(&live, &live.guarded.home.path().join(settings_of(agent)), &[]);
    live.guarded.project.sound();
}

#[test]
fn copilot_acts_through_the_gate() {
    other_agent_acts(Agent::Copilot);
}

#[test]
fn gemini_acts_through_the_gate() {
    other_agent_acts(Agent::Gemini);
}

#[test]
fn qwen_acts_through_the_gate() {
    other_agent_acts(Agent::Qwen);
}

#[test]
fn opencode_acts_through_the_gate() {
    other_agent_acts(Agent::Opencode);
}

/// The transcripts that real agents write are read whole, and say as many calls as there were.
fn its_transcripts_are_scanned(live: &Live) {
    let report = ran(live
        .guarded
        .command(&["scan", live.agent.name(), "--json"])
        .env("HOME", live.guarded.home.path()))
    .ended(0)
    .json();
    let calls = report["calls"].as_u64().unwrap();
    assert_eq!(
        (report["unreadable"].as_u64(), report["policies"].as_str()),
        (Some(0), Some("in force")),
        "{report:#}"
    );
    assert!(calls >= 10, "{report:#}");
    assert!(report["denied"].as_u64().unwrap() >= 3 && report["held"].as_u64().unwrap() >= 2, "{report:#}");
    assert!(report["kinds"]["shell"]["allowed"].as_u64().unwrap() >= 3, "{report:#}");
}

#[test]
fn claude_code_acts_through_the_gate() {
    let live = Live::new(Agent::Claude);
    calls_pass_the_gate(&live);
    a_hold_outlives_the_host(&live);
    its_transcripts_are_scanned(&live);
    a_broken_hook_blocks(&live, &live.guarded.home.path().join(settings_of(Agent::Claude)), &[]);
    live.guarded.project.sound();
}

#[test]
fn codex_acts_through_the_gate() {
    let live = Live::new(Agent::Codex);
    calls_pass_the_gate(&live);
    a_hold_outlives_the_host(&live);
    its_transcripts_are_scanned(&live);
    // The changed command is another hook, which nobody trusts.
    let options = ["--dangerously-bypass-hook-trust"];
    a_broken_hook_blocks(&live, &live.guarded.home.path().join(settings_of(Agent::Codex)), &options);
    live.guarded.project.sound();
}
