//! Codex runs a hook only if somebody trusts it: its hash is in `config.toml`. Codex itself says what the hash is.

use crate::exit::Failure;
use crate::report;
use crate::signing;
use ordain_hooks::codex_trust;
use ordain_presence::Terminal;
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How Codex takes a hook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TrustStatus {
    pub(crate) key: String,
    pub(crate) command: String,
    pub(crate) hash: String,
    pub(crate) event: String,
    pub(crate) trusted: bool,
    pub(crate) enabled: bool,
    pub(crate) source: PathBuf,
}

/// How long Codex may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The hooks that Codex sees from a folder; nothing if Codex is not there or does not answer.
pub(crate) fn hooks_of(folder: &Path) -> Option<Vec<TrustStatus>> {
    let mut command = Command::new("codex");
    command.arg("app-server").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.current_dir(folder).spawn().ok()?;
    let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    let messages = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "ordain", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "hooks/list", "params": {"cwds": [folder]}}),
    ];
    let asked = messages.iter().try_for_each(|message| writeln!(stdin, "{message}"));
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let answers = lines.filter_map(|line| serde_json::from_str::<Json>(&line).ok());
        let answer = answers.into_iter().find(|answer| answer.get("id") == Some(&Json::from(2)));
        // Nobody listens any more if it took too long.
        let _ = sender.send(answer);
    });
    let answer = asked.ok().and_then(|()| receiver.recv_timeout(PATIENCE).ok().flatten());
    drop(stdin);
    let _ = child.kill();
    let _ = child.wait();
    let text = |hook: &Json, name: &str| hook.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let hooks = answer?.pointer("/result/data/0/hooks")?.as_array()?.clone();
    let status = |hook: &Json| TrustStatus {
        key: text(hook, "key"),
        command: text(hook, "command"),
        hash: text(hook, "currentHash"),
        event: text(hook, "eventName"),
        trusted: ["trusted", "managed"].contains(&text(hook, "trustStatus").as_str()),
        enabled: hook.get("enabled") == Some(&Json::Bool(true)),
        source: PathBuf::from(text(hook, "sourcePath")),
    };
    Some(hooks.iter().map(status).collect())
}

impl TrustStatus {
    /// Whether it is a hook of ordain in this file.
    fn is_ours(&self, file: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(&self.source) == real(file) && self.command.contains(" hook codex ")
    }
}

/// Says so if Codex does not run the hooks of a file that nobody has to trust.
pub(super) fn check_seen(hooks_file: &Path, folder: &Path) {
    let runs = |hook: &TrustStatus| hook.is_ours(hooks_file) && hook.enabled && hook.trusted;
    // Where Codex is not installed there is nobody to ask.
    if hooks_of(folder).is_some_and(|hooks| !hooks.iter().any(runs)) {
        let said = format!("Codex does not run the hook in {}", hooks_file.display());
        report::note(&said, Some("look at `/hooks` in Codex, and at `[features]` of its settings"));
    }
}

/// Has the hooks of a file trusted, after the person at the terminal has seen their commands and hashes.
pub(super) fn trust(hooks_file: &Path, folder: &Path, without_asking: bool) -> Result<(), Failure> {
    let Some(hooks) = hooks_of(folder) else {
        let said = "Codex did not say the hash of the hook, so it is not trusted yet and does not run";
        report::note(said, Some("start `codex`, look at `/hooks`, and trust the hook of ordain"));
        return Ok(());
    };
    let untrusted: Vec<&TrustStatus> =
        hooks.iter().filter(|hook| hook.is_ours(hooks_file) && !hook.trusted).collect();
    if untrusted.is_empty() {
        return Ok(());
    }
    if !without_asking && !asked(&untrusted)? {
        let said = "the hook is not trusted, and Codex does not run it";
        report::note(said, Some("run `ordain setup codex` on a terminal, or trust it in Codex (`/hooks`)"));
        return Ok(());
    }
    let path = config_path()?;
    let failed = |error| Failure::File { path: path.display().to_string(), error };
    let mut text = if path.exists() { fs::read_to_string(&path).map_err(failed)? } else { String::new() };
    for hook in untrusted {
        text = codex_trust(&text, &hook.key, &hook.hash).map_err(|error| Failure::Document {
            path: path.display().to_string(),
            problem: error.to_string(),
        })?;
    }
    fs::write(&path, text).map_err(failed)
}

/// The settings of the user, where trust is kept for the hooks of projects too.
fn config_path() -> Result<PathBuf, Failure> {
    let home = std::env::var_os("CODEX_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = match home {
        Some(home) => home,
        None => crate::agents::home()?.join(".codex"),
    };
    Ok(home.join("config.toml"))
}

fn asked(hooks: &[&TrustStatus]) -> Result<bool, Failure> {
    if !signing::on_terminal() {
        return Ok(false);
    }
    let Ok(mut terminal) = Terminal::open() else { return Ok(false) };
    let mut text = String::from("\nCodex runs a hook only if you trust it.\n");
    for hook in hooks {
        text.push_str(&format!(
            "\n  event    {}\n  command  {}\n  hash     {}\n",
            hook.event, hook.command, hook.hash
        ));
    }
    let said = terminal.say(&report::printable_lines(text.as_bytes()));
    if said.is_err() {
        return Ok(false);
    }
    Ok(terminal.ask("\nTrust them? [y/N] ").is_ok_and(|line| line.eq_ignore_ascii_case("y")))
}
