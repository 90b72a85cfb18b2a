//! `cargo xtask bench --model`: a real model on this machine drafts notes, and what it writes has to pass.

use crate::process::{cargo, command, line, root, run as run_command};
use crate::{Error, Result, tools};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = include_str!("model_server.py");
const PROMPTS: &str = "data/notes/prompts.txt";
/// Enough for an answer whose parts are all as long as they may be, and few enough that one without an end is cut off
/// before the time is over.
const TOKENS_MAX: u32 = 640;
/// The number of notes out of 100 that have to pass in the constrained mode.
const PASS_PERCENT_MIN: usize = 95;

/// The program that holds the model to the schema.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// The model's server: what does not fit cannot be written.
    JsonSchema,
    /// Nobody: the model is told, and may do as it likes.
    Unconstrained,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::JsonSchema => "json_schema",
            Self::Unconstrained => "unconstrained",
        }
    }
}

pub(crate) fn run() -> Result<()> {
    let python = tools::model_environment()?;
    run_command(&mut cargo(&["build", "--profile", "dist", "--package", "ordain-cli"]))?;
    let prompts = fs::read_to_string(root().join(PROMPTS)).map_err(|error| format!("{PROMPTS}: {error}"))?;
    let prompts: Vec<&str> = prompts.lines().filter(|line| !line.is_empty()).collect();
    let server = Server::start(&python)?;
    // The first request makes the server read the instructions, which it keeps for the others.
    measure(Mode::JsonSchema, &server, prompts.get(..1).unwrap_or_default())?;
    let mut figures = Vec::new();
    for mode in [Mode::JsonSchema, Mode::Unconstrained] {
        println!("==> {}: {} prompts", mode.name(), prompts.len());
        figures.push(measure(mode, &server, &prompts)?);
    }
    drop(server);
    println!("==> figures\nmode            passed   p50      p90      longest");
    figures.iter().for_each(Figures::print);
    let constrained = figures.iter().find(|figures| figures.mode == Mode::JsonSchema);
    match constrained.is_some_and(|figures| figures.passed * 100 >= figures.count() * PASS_PERCENT_MIN) {
        true => Ok(()),
        false => Err(Error::Failed(format!(
            "fewer than {PASS_PERCENT_MIN} % of the notes passed in json_schema mode"
        ))),
    }
}

fn measure(mode: Mode, server: &Server, prompts: &[&str]) -> Result<Figures> {
    let project = Project::new(mode, &server.url)?;
    let mut figures = Figures { mode, passed: 0, times: Vec::new(), reasons: BTreeMap::new() };
    for prompt in prompts {
        let mut draft = project.draft(prompt);
        let start = Instant::now();
        let output = draft.output().map_err(|error| format!("{} does not start: {error}", line(&draft)))?;
        let time = start.elapsed();
        figures.times.push(time);
        let verdict = match output.status.success() {
            true => {
                figures.passed += 1;
                "passed".to_owned()
            }
            false => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let error = said.lines().find(|line| line.starts_with("error: "));
                let reason = error.unwrap_or("no reason").to_owned();
                *figures.reasons.entry(reason.clone()).or_default() += 1;
                reason
            }
        };
        println!("{:>6.1} s  {prompt}  {verdict}", time.as_secs_f64());
    }
    Ok(figures)
}

struct Figures {
    mode: Mode,
    passed: usize,
    times: Vec<Duration>,
    reasons: BTreeMap<String, usize>,
}

impl Figures {
    fn count(&self) -> usize {
        self.times.len()
    }

    fn print(&self) {
        let [p50, p90, longest] = [50, 90, 100].map(|share| percentile(&self.times, share).as_secs_f64());
        let passed = format!("{}/{}", self.passed, self.count());
        println!("{:15} {passed:8} {p50:4.1} s   {p90:4.1} s   {longest:4.1} s", self.mode.name());
        for (reason, count) in &self.reasons {
            println!("    {count} × {reason}");
        }
    }
}

/// The smallest time that so many of a hundred do not exceed.
fn percentile(times: &[Duration], share: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    let position = (times.len() * share).div_ceil(100).saturating_sub(1);
    times.get(position).copied().unwrap_or_default()
}

/// A folder with settings that name the model, and no notes.
struct Project(PathBuf);

impl Project {
    fn new(mode: Mode, url: &str) -> std::result::Result<Self, String> {
        let folder =
            std::env::temp_dir().join(format!("ordain-notes-{}-{}", std::process::id(), mode.name()));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir(&folder).map_err(failed)?;
        let project = Self(folder.clone());
        let structured = mode == Mode::JsonSchema;
        let settings = format!(
            "[model]\nprovider = \"openai\"\nbase_url = \"{url}/v1\"\nmodel = \"SmolLM2-135M\"\n\
             structured = {structured}\nmax_tokens = {TOKENS_MAX}\n"
        );
        fs::write(folder.join("ordain.toml"), settings).map_err(failed)?;
        Ok(project)
    }

    /// The command that drafts a note. It succeeds if the note passes schema and guards.
    fn draft(&self, prompt: &str) -> Command {
        let mut command = command(&program().to_string_lossy(), &["note", "draft", "--json", prompt]);
        for name in ["PROVIDER", "BASE_URL", "KEY"] {
            command.env_remove(format!("ORDAIN_MODEL_{name}"));
        }
        command.env_remove("ORDAIN_MODEL").current_dir(&self.0).stdin(Stdio::null());
        command
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn program() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    root().join(target).join("dist/ordain")
}

/// The model behind an OpenAI-compatible API on a port of its own. It ends when its standard input does.
struct Server {
    child: Child,
    _stdin: Option<ChildStdin>,
    url: String,
}

impl Server {
    fn start(python: &Path) -> std::result::Result<Self, String> {
        let mut server = Command::new(python.join("bin/python"));
        server.args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            server.spawn().map_err(|error| format!("the model's server does not start: {error}"))?;
        let stdin = child.stdin.take();
        let mut url = String::new();
        if let Some(stdout) = child.stdout.take() {
            let read = BufReader::new(stdout).read_line(&mut url);
            read.map_err(|error| format!("the model's server does not say where it is: {error}"))?;
        }
        let server = Self { child, _stdin: stdin, url: url.trim().to_owned() };
        match server.url.starts_with("http://127.0.0.1:") {
            true => Ok(server),
            false => Err("the model's server does not start; what it says is above".to_owned()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_taken() {
        let times = |count: u64| -> Vec<Duration> { (1..=count).rev().map(Duration::from_secs).collect() };
        let seconds = |count, share| percentile(&times(count), share).as_secs();
        assert_eq!([seconds(20, 50), seconds(20, 90), seconds(20, 100)], [10, 18, 20]);
        assert_eq!([seconds(1, 50), seconds(1, 90), seconds(0, 50)], [1, 1, 0]);
    }

    #[test]
    fn there_are_enough_prompts() {
        let prompts = fs::read_to_string(root().join(PROMPTS)).unwrap();
        let prompts: Vec<&str> = prompts.lines().collect();
        assert!(prompts.len() >= 20 && prompts.iter().all(|prompt| prompt.len() >= 8), "{}", prompts.len());
    }
}
