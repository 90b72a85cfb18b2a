//! `ordain sandbox`.

use crate::args::{Exec, Sandbox, SandboxCommand};
use crate::exit::{Failure, Outcome};
use crate::facts::load_profile;
use crate::page::{Column, Page, Row};
use crate::report::{GREEN, RED, YELLOW, printable_lines};
use crate::wording::{size, yes_no};
use ordain_canon::Canonicalizer;
use ordain_harness::sandbox::{self, Level, Probe, Protections, Report, Session, Step, StepReport};
use ordain_spec::evidence::ActionStatus;
use ordain_workflow::{command_evidence, plan_of_command};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

pub(crate) fn run(args: &Sandbox, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        SandboxCommand::Probe => probe(json),
        SandboxCommand::Exec(args) => exec(args, json),
    }
}

fn probe(json: bool) -> Result<Outcome, Failure> {
    let probe = sandbox::probe();
    let mut stdout = anstream::stdout().lock();
    if json {
        stdout.write_all(Canonicalizer::new().value(&probe)?)?;
        stdout.write_all(b"\n")?;
    } else {
        stdout.write_all(probe_page(&probe).text().as_bytes())?;
    }
    stdout.flush()?;
    Ok(if probe.level.is_some() { Outcome::Ok } else { Outcome::Failed })
}

fn probe_page(probe: &Probe) -> Page {
    let mut page = Page::default();
    let (style, level, meaning) = match probe.level {
        Some(Level::Full) => (GREEN, "full", "every profile can be used"),
        Some(Level::Namespaces) => (YELLOW, "namespaces", "the profile `strict` cannot be used"),
        None => (RED, "none", "nothing can be run"),
    };
    page.styled_label("level", style, &format!("{level}: {meaning}"));
    page.label("caller", &probe.caller);
    page.section("What it is made of");
    let row = |feature: &sandbox::Feature| Row {
        style: if feature.works { crate::page::PLAIN } else { RED },
        cells: vec![feature.name.clone(), yes_no(feature.works).to_owned(), feature.found.clone()],
    };
    let columns = [Column::Left("feature"), Column::Left("works"), Column::Left("found")];
    page.table(&columns, probe.features.iter().map(row), |page, number, before| {
        if let Some(remedy) = probe.features.get(number).and_then(|feature| feature.remedy.as_ref()) {
            page.prose(before, before, YELLOW, remedy);
        }
    });
    page
}

fn exec(args: &Exec, json: bool) -> Result<Outcome, Failure> {
    let profile = load_profile(&args.profile)?;
    // Only evidence needs a plan; what has none is refused before anything runs.
    let proposal = json.then(|| plan_of_command(&args.argv)).transpose()?;
    let mut session = Session::new(&args.workspace, profile);
    session.steps.push(Step::new(args.argv.iter().cloned()));
    let report = sandbox::run(&session)?;
    let Some(step) = report.steps.first() else {
        let problem = "the sandbox reported no step".to_owned();
        return Err(Failure::Document { path: "the command".to_owned(), problem });
    };
    if let Some(proposal) = &proposal {
        let evidence = command_evidence(proposal, &report, step)?;
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(Canonicalizer::new().value(&evidence)?)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    } else {
        // As if it had run here: its output to our output, its errors to our errors, and what we say after them.
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&harmless(&step.stdout.kept, stdout.is_terminal()))?;
        stdout.flush()?;
        let mut stderr = anstream::stderr().lock();
        let to_terminal = std::io::stderr().is_terminal();
        std::io::stderr().lock().write_all(&harmless(&step.stderr.kept, to_terminal))?;
        stderr.write_all(exec_page(&report, step).text().as_bytes())?;
    }
    Ok(if step.status() == ActionStatus::Success { Outcome::Ok } else { Outcome::Failed })
}

/// What a command wrote could speak to a terminal; to a file or a pipe it is passed on as it is.
fn harmless(bytes: &[u8], to_terminal: bool) -> Cow<'_, [u8]> {
    if to_terminal { printable_lines(bytes).into_bytes().into() } else { bytes.into() }
}

fn exec_page(report: &Report, step: &StepReport) -> Page {
    let mut page = Page::default();
    let style = match step.status() {
        ActionStatus::Success => GREEN,
        ActionStatus::Timeout => YELLOW,
        ActionStatus::Failure | ActionStatus::Skipped => RED,
    };
    let memory = size(step.peak_memory_bytes);
    page.styled_label(
        "ended",
        style,
        &format!("{}, after {} ms, {memory} of memory", step.end, step.duration_ms),
    );
    for violation in &step.violations {
        page.styled_label("violation", RED, violation);
    }
    if step.stragglers > 0 {
        page.styled_label("killed", YELLOW, &format!("{} processes that it left running", step.stragglers));
    }
    for (name, stream) in [("stdout", &step.stdout), ("stderr", &step.stderr)] {
        if stream.truncated {
            let (kept, all) = (size(stream.kept.len() as u64), size(stream.bytes));
            page.styled_label(name, YELLOW, &format!("cut: {kept} of {all} are shown"));
        }
    }
    left_behind(&mut page, report);
    page.label("protection", &protection(&report.protections));
    page
}

fn left_behind(page: &mut Page, report: &Report) {
    if report.produced.is_empty() && report.deleted.is_empty() {
        page.label("left", "nothing");
    }
    for file in &report.produced {
        let executable = if file.executable { ", executable" } else { "" };
        page.label("left", &format!("{} ({}{executable})", file.path, size(file.size)));
    }
    for path in &report.deleted {
        page.label("deleted", path);
    }
    for refused in &report.refused {
        page.styled_label("refused", YELLOW, &format!("{}: {}", refused.path, refused.reason));
    }
    for path in &report.dropped {
        page.styled_label("dropped", YELLOW, &format!("{path}: changes below .git or .ordain never count"));
    }
}

fn protection(protections: &Protections) -> String {
    let level = protections.level.map_or("none", Level::name);
    let landlock = match protections.landlock_abi {
        0 => "no Landlock".to_owned(),
        abi => format!("Landlock {abi}"),
    };
    let namespaces = protections.namespaces.len();
    format!("{level}: {namespaces} namespaces, no capabilities, seccomp, {landlock}, no network")
}
