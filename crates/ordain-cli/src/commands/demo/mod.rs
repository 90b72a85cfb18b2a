//! `ordain demo`: one action through a gate, from the agent's wish to the proof.
//!
//! Every step is a real command, run as a process of its own in a new folder. Where a person would type, the
//! demo types, at a terminal that it makes.

use crate::exit::{self, Failure, Outcome};
use crate::output::print_json;
use crate::report::{BOLD, GREEN};
use clap::Args;
use ordain_presence::{Pty, take_terminal};
use serde::Serialize;
use serde_json::Value as Json;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

#[derive(Args)]
#[command(after_help = exit::help_with("\
An agent's `git push` is held, approved with a signature, used, refused the second time, and proven from the ledger. The gate, its \
key and the key of the approver are made for the demo and removed at its end.", exit::PLAIN))]
pub(crate) struct Demo {
    /// Keep the folder of the demo, and say where it is
    #[arg(long)]
    pub(crate) keep: bool,
    /// Run a command on this terminal, in a session of its own
    #[arg(long, hide = true, value_name = "TERMINAL", requires = "command")]
    pub(crate) on: Option<PathBuf>,
    #[arg(hide = true, last = true)]
    pub(crate) command: Vec<String>,
}

/// Typed at the terminal of the demo, and nowhere else.
const PASSPHRASE: &str = "a passphrase for the demo";

/// The agent's proposal.
const PROPOSAL: &str = include_str!("push.json");

/// A line that the person types when the prompt has come.
struct Typed {
    prompt: &'static str,
    line: &'static str,
}

/// One step of the demo, as `--json` tells it.
#[derive(Serialize)]
struct Step {
    about: &'static str,
    command: String,
    exit: Option<i32>,
    output: String,
}

pub(crate) fn run(args: &Demo, json: bool) -> Result<Outcome, Failure> {
    if let Some(terminal) = &args.on {
        return run_on(terminal, &args.command);
    }
    let folder = tempfile::Builder::new().prefix("ordain-demo-").tempdir()?;
    let stage = Stage::new(folder.path(), json)?;
    stage.play()?;
    finish(folder, args.keep, json)
}

/// The process that leads the new session. The command that it runs asks on its terminal.
fn run_on(terminal: &Path, command: &[String]) -> Result<Outcome, Failure> {
    let terminal = take_terminal(terminal)?;
    let status = Command::new(std::env::current_exe()?)
        .args(command)
        .stdin(terminal.try_clone()?)
        .stdout(terminal.try_clone()?)
        .stderr(terminal)
        .status()?;
    Ok(if status.success() { Outcome::Ok } else { Outcome::Failed })
}

fn finish(folder: TempDir, keep: bool, json: bool) -> Result<Outcome, Failure> {
    if keep {
        let folder = folder.keep();
        if !json {
            writeln!(anstream::stdout(), "\nkept in {}", folder.display())?;
        }
    }
    Ok(Outcome::Ok)
}

/// The folder in which the demo plays, with a state directory and a configuration of its own.
struct Stage {
    top: PathBuf,
    shop: PathBuf,
    json: bool,
}

impl Stage {
    fn new(top: &Path, json: bool) -> Result<Self, Failure> {
        let shop = top.join("shop");
        fs::create_dir(&shop)?;
        Ok(Self { top: top.to_owned(), shop, json })
    }

    fn play(&self) -> Result<(), Failure> {
        let typed = |prompt, line| Typed { prompt, line };
        let passphrase = typed("Passphrase: ", PASSPHRASE);
        self.step(
            "You make a gate for your project, and a key under a passphrase that you type.",
            &["init", "--solo"],
            &[typed("New passphrase: ", PASSPHRASE), typed("The same again: ", PASSPHRASE)],
            Outcome::Ok,
        )?;
        self.write_proposal()?;
        let submit = ["submit", "push.json"];
        self.step("Your agent wants to push. The policies hold that for you.", &submit, &[], Outcome::Hold)?;
        self.step(
            "You see exactly what it wants, and sign for exactly that.",
            &["approve", "push-1"],
            &[typed("[q]uit: ", "a"), passphrase],
            Outcome::Ok,
        )?;
        let permit = self.field(&["status", "push-1", "--json"], "/permit/permit_id")?;
        let spend = ["permit", "use", &permit, "--for", "push.json"];
        self.step("Your agent uses the permit, and pushes.", &spend, &[], Outcome::Ok)?;
        self.step("A second push with the same permit is refused.", &spend, &[], Outcome::Failed)?;
        let entry = self.field(&["ledger", "show", "--limit", "1", "--json"], "/index")?;
        let verifier = self.field(&["keys", "list", "--json"], "/verifier")?;
        let prove = ["ledger", "prove", &entry, "-o", "proof.txt"];
        self.step("The ledger proves that it was used.", &prove, &[], Outcome::Ok)?;
        let verify = ["verify", "proof.txt", "--key", &verifier];
        self.step("Anybody with the gate's public key can check the proof.", &verify, &[], Outcome::Ok)?;
        self.step("The whole record is sound.", &["ledger", "verify"], &[], Outcome::Ok)
    }

    /// The agent's wish: exactly this command.
    fn write_proposal(&self) -> Result<(), Failure> {
        if !self.json {
            writeln!(
                anstream::stdout(),
                "\n{BOLD}# Your agent writes down what it wants, in push.json:{BOLD:#}\n{PROPOSAL}"
            )?;
        }
        Ok(fs::write(self.shop.join("push.json"), PROPOSAL)?)
    }

    /// Runs a command and shows it with its output. A command that a person types at gets a terminal.
    fn step(
        &self,
        about: &'static str,
        arguments: &[&str],
        typed: &[Typed],
        expected: Outcome,
    ) -> Result<(), Failure> {
        let command = format!("ordain {}", arguments.join(" "));
        let mut out = anstream::stdout();
        if !self.json {
            writeln!(out, "\n{BOLD}# {about}{BOLD:#}\n{GREEN}$ {command}{GREEN:#}")?;
        }
        let (exit, output) = if typed.is_empty() {
            self.run_plainly(arguments)?
        } else {
            self.run_on_terminal(arguments, typed)?
        };
        let ended = exit == Some(i32::from(expected.code()));
        if self.json {
            print_json(&Step { about, command: command.clone(), exit, output })?;
        } else {
            out.write_all(output.as_bytes())?;
            out.flush()?;
        }
        if ended {
            Ok(())
        } else {
            Err(Failure::Server(format!("the demo cannot go on: `{command}` ended otherwise")))
        }
    }

    fn run_plainly(&self, arguments: &[&str]) -> Result<(Option<i32>, String), Failure> {
        let done = self.command(arguments)?.stdin(Stdio::null()).output()?;
        let output = [done.stdout, done.stderr].concat();
        Ok((done.status.code(), String::from_utf8_lossy(&output).into_owned()))
    }

    fn run_on_terminal(&self, arguments: &[&str], typed: &[Typed]) -> Result<(Option<i32>, String), Failure> {
        let mut pty = Pty::open()?;
        let on = pty.path().display().to_string();
        let mut command = self.command(&["demo", "--on", &on, "--"])?;
        let mut child = command.args(arguments).stdin(Stdio::null()).spawn()?;
        let (mut shown, mut answered) = (String::new(), 0);
        let mut typed = typed.iter();
        let mut next = typed.next();
        while let Some(bytes) = pty.read()? {
            shown.push_str(&String::from_utf8_lossy(&bytes).replace('\r', ""));
            if let Some(answer) = next
                && let Some(at) = shown.get(answered..).and_then(|rest| rest.find(answer.prompt))
            {
                answered += at + answer.prompt.len();
                pty.type_line(answer.line)?;
                next = typed.next();
            }
        }
        Ok((child.wait()?.code(), shown))
    }

    /// This program, which knows the demo's gate and no other.
    fn command(&self, arguments: &[&str]) -> Result<Command, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).current_dir(&self.shop);
        command.env("XDG_STATE_HOME", self.top.join("state")).env("XDG_CONFIG_HOME", self.top.join("config"));
        command.env_remove("ORDAIN_SERVER").env_remove("ORDAIN_TOKEN").env_remove("ORDAIN_CACERT");
        Ok(command)
    }

    /// A field of the last line that a command prints.
    fn field(&self, arguments: &[&str], pointer: &str) -> Result<String, Failure> {
        let (_, output) = self.run_plainly(arguments)?;
        let last: Option<Json> = output.lines().last().and_then(|line| serde_json::from_str(line).ok());
        let found = last.as_ref().and_then(|json| json.pointer(pointer));
        let text = found.map(|field| field.as_str().map_or_else(|| field.to_string(), str::to_owned));
        text.ok_or_else(|| {
            Failure::Server(format!("the demo cannot go on: `{}` said {output}", arguments.join(" ")))
        })
    }
}
