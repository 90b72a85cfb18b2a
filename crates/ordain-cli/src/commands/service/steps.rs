//! The steps of setting up and removing the service: done one after the other, or only shown.

use crate::exit::Failure;
use crate::output::print_json;
use crate::report::{GREEN, printable};
use serde::Serialize;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Whether the steps are done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Do,
    /// Nothing is changed.
    Show,
}

/// The steps done so far, in order.
pub(super) struct Steps {
    mode: Mode,
    taken: Vec<Taken>,
}

#[derive(Serialize)]
struct Taken {
    step: String,
    state: &'static str,
}

impl Steps {
    pub(super) fn new(mode: Mode) -> Self {
        Self { mode, taken: Vec::new() }
    }

    /// Does something unless it is done already.
    pub(super) fn take(
        &mut self,
        step: &str,
        is_done: bool,
        act: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let state = match (is_done, self.mode) {
            (true, _) => "unchanged",
            (false, Mode::Show) => "planned",
            (false, Mode::Do) => {
                act()?;
                "done"
            }
        };
        self.taken.push(Taken { step: step.to_owned(), state });
        Ok(())
    }

    /// Runs a program of the system.
    pub(super) fn program(&mut self, program: &[&str], is_done: bool) -> Result<(), Failure> {
        self.take(&program.join(" "), is_done, || run_program(program))
    }

    /// Shows what was done, with the unit and what comes next.
    pub(super) fn show(self, unit: Option<&str>, next: &[String], json: bool) -> Result<(), Failure> {
        if json {
            return print_json(&json!({"next": next, "steps": self.taken, "unit": unit}));
        }
        let mut stdout = anstream::stdout().lock();
        for Taken { step, state } in &self.taken {
            writeln!(stdout, "{GREEN}{state:<9}{GREEN:#}  {}", printable(step))?;
        }
        if let Some(unit) = unit.filter(|_| self.mode == Mode::Show) {
            writeln!(stdout, "\n{}", unit.trim_end())?;
        }
        if !next.is_empty() {
            writeln!(stdout, "\nNext")?;
        }
        for line in next {
            writeln!(stdout, "  - {}", printable(line))?;
        }
        Ok(stdout.flush()?)
    }
}

/// The folders in which programs of the system are. The environment does not choose them.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

fn run_program(program: &[&str]) -> Result<(), Failure> {
    let [name, arguments @ ..] = program else { return Ok(()) };
    let found = PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    let Some(path) = found else {
        let failure = Failure::Usage(format!("this machine has no program `{name}`"));
        return Err(failure.with_hint(format!("install it; it is looked for in {PATH}")));
    };
    let output = Command::new(path).args(arguments).env_clear().env("PATH", PATH).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::Server(format!("`{}` failed: {}", program.join(" "), printable(&said))))
}

/// That root runs this, on a machine with systemd where that is needed.
pub(super) fn check_machine(needs_systemd: bool) -> Result<(), Failure> {
    const DRY_RUN: &str = "run it with `--dry-run` to see the unit and every step";
    if ordain_presence::OsUser::current().uid != 0 {
        let failure = Failure::Usage("only root sets up a service".to_owned());
        return Err(failure.with_hint(DRY_RUN));
    }
    if needs_systemd && !Path::new("/run/systemd/system").is_dir() {
        let failure = Failure::Usage("systemd does not run on this machine".to_owned());
        let hint = format!("{DRY_RUN}, or with `--no-start` to prepare a machine that has it");
        return Err(failure.with_hint(hint));
    }
    Ok(())
}
