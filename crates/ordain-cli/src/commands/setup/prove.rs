//! Proves a hook: its command line is run as the host runs it, and every case must come out as it should.

use ordain_hooks::{Agent, Answer, GatePin, Installed, Pins, Shape};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One case.
#[derive(Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) ok: bool,
    pub(super) said: String,
}

/// The output of a command, and how it ended.
struct Ran {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

/// Seconds that a case may wait for a person.
const WAIT_S: u64 = 4;
/// How long a case may take altogether; a gate may have to start.
const PATIENCE: Duration = Duration::from_secs(45);

/// Runs all cases in the folder of a project.
pub(super) fn all(installed: &Installed<'_>, folder: &Path) -> Vec<Check> {
    let quick = Pins { wait_s: WAIT_S, ..installed.pins.clone() };
    let program = installed.program;
    let event = harmless(quick.agent, folder);
    let call = event.to_string();
    let mut checks = vec![allowed(&quick, program, &event)];
    checks.push(refused(
        "damaged event",
        run(&quick.command(program), call.get(..call.len() / 2).unwrap_or_default()),
    ));
    checks.push(match tempfile::tempdir() {
        Ok(empty) => refused("no gate", run(&without_gate(&quick, empty.path()).command(program), &call)),
        Err(error) => Check { name: "no gate", ok: false, said: error.to_string() },
    });
    checks.push(silent_gate(&quick, program, &call));
    checks.push(refused("no program", run(&quick.command(Path::new("/nonexistent/ordain")), &call)));
    checks
}

/// A call that touches nothing, as the agent's host would send it.
fn harmless(agent: Agent, folder: &Path) -> Json {
    let claude_like = |tool: &str| {
        json!({"session_id": "ordain-setup", "cwd": folder, "hook_event_name": "PreToolUse", "tool_name": tool,
            "tool_input": {}, "tool_use_id": "ordain-setup"})
    };
    match agent {
        Agent::Claude => claude_like("TodoWrite"),
        Agent::Codex => claude_like("update_plan"),
        Agent::Qwen => claude_like("todo_write"),
        Agent::Gemini => json!({"session_id": "ordain-setup", "cwd": folder, "hook_event_name": "BeforeTool",
            "timestamp": "2026-01-01T00:00:00.000Z", "tool_name": "write_todos", "tool_input": {}}),
        Agent::Copilot => json!({"sessionId": "ordain-setup", "timestamp": 1, "cwd": folder,
            "toolName": "report_intent", "toolArgs": {}}),
        Agent::Opencode => json!({"hook_event_name": "tool.execute.before", "directory": folder,
            "input": {"tool": "todoread", "sessionID": "ordain-setup", "callID": "ordain-setup"},
            "tool_name": "todoread", "tool_input": {}}),
    }
}

/// The event after a call that ended well.
fn after(agent: Agent, before: &Json) -> Json {
    let mut event = before.clone();
    let (name, result) = match agent {
        Agent::Claude | Agent::Codex | Agent::Qwen => (Some("PostToolUse"), "tool_response"),
        Agent::Gemini => (Some("AfterTool"), "tool_response"),
        Agent::Opencode => (Some("tool.execute.after"), "tool_response"),
        Agent::Copilot => (None, "toolResult"),
    };
    if let Json::Object(members) = &mut event {
        members.extend(name.map(|name| ("hook_event_name".to_owned(), json!(name))));
        members.insert(result.to_owned(), json!({}));
    }
    event
}

/// A harmless call passes, and its outcome is reported.
fn allowed(pins: &Pins, program: &Path, event: &Json) -> Check {
    let name = "harmless call";
    let wanted = Answer::Allow.printed(pins.agent, Shape::Own);
    match run(&pins.command(program), &event.to_string()) {
        Ok(ran) if ran.code == Some(0) && ran.stdout == wanted.stdout => {
            match run(&pins.command_after(program), &after(pins.agent, event).to_string()) {
                Ok(ran) if ran.code == Some(0) && ran.stdout.is_empty() => {
                    Check { name, ok: true, said: "allowed".to_owned() }
                }
                _ => Check { name, ok: false, said: "allowed, but its outcome is not reported".to_owned() },
            }
        }
        Ok(ran) => Check { name, ok: false, said: format!("not allowed: {}", first_line(&ran.stderr)) },
        Err(error) => Check { name, ok: false, said: error.to_string() },
    }
}

/// Every no is a status of 2, a reason, and nothing that could be read as a yes.
fn refused(name: &'static str, ran: std::io::Result<Ran>) -> Check {
    match ran {
        Ok(ran)
            if ran.code == Some(2) && !ran.stderr.trim().is_empty() && !ran.stdout.contains("allow\"") =>
        {
            Check { name, ok: true, said: "refused".to_owned() }
        }
        Ok(ran) => {
            let code = ran.code.map_or("a signal".to_owned(), |code| code.to_string());
            Check { name, ok: false, said: format!("NOT refused: it ended with {code}") }
        }
        Err(error) => Check { name, ok: false, said: error.to_string() },
    }
}

/// The same hook for a gate that is not there.
fn without_gate(pins: &Pins, empty: &Path) -> Pins {
    let gate = match &pins.gate {
        GatePin::Own { id, .. } => GatePin::Own { id: id.clone(), state: empty.join("ordain") },
        GatePin::Service { origin, calls, .. } => {
            GatePin::Service { origin: origin.clone(), socket: empty.join("gate.sock"), calls: calls.clone() }
        }
        // Nobody listens there.
        GatePin::Server { origin, token, cacert, workspace, calls, .. } => GatePin::Server {
            origin: origin.clone(),
            url: "http://127.0.0.1:1".to_owned(),
            token: token.clone(),
            cacert: cacert.clone(),
            workspace: workspace.clone(),
            calls: calls.clone(),
        },
    };
    Pins { gate, ..pins.clone() }
}

/// A gate that takes the question and never answers.
fn silent_gate(pins: &Pins, program: &Path, call: &str) -> Check {
    let name = "silent gate";
    let tried = (|| {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("gate.sock");
        let listener = UnixListener::bind(&socket)?;
        std::thread::spawn(move || {
            // Connections stay open as long as this thread has them.
            let _open: Vec<_> = listener.incoming().take(4).filter_map(Result::ok).collect();
        });
        let gate = GatePin::Service { origin: "none".to_owned(), socket, calls: folder.path().to_owned() };
        let started = Instant::now();
        let ran = run(&Pins { gate, wait_s: 1, ..pins.clone() }.command(program), call);
        Ok::<_, std::io::Error>((ran, started.elapsed()))
    })();
    match tried {
        Ok((ran, took)) if took < PATIENCE => refused(name, ran),
        Ok(_) => Check { name, ok: false, said: "the hook waited for too long".to_owned() },
        Err(error) => Check { name, ok: false, said: error.to_string() },
    }
}

/// Runs a command line as hosts do, in a shell.
fn run(command: &str, input: &str) -> std::io::Result<Ran> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read its input has answered already.
        let _ = stdin.write_all(input.as_bytes());
    }
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let read = |stream: Option<&mut dyn Read>| {
        let mut text = String::new();
        // Bytes that are not text are not an answer.
        let _ = stream.map(|stream| stream.read_to_string(&mut text));
        text
    };
    let stdout = read(child.stdout.as_mut().map(|stream| stream as &mut dyn Read));
    let stderr = read(child.stderr.as_mut().map(|stream| stream as &mut dyn Read));
    Ok(Ran { stdout, stderr, code: status.and_then(|status| status.code()) })
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("it said nothing")
}
