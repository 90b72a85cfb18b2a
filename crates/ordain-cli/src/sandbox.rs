//! `ordain sandbox`.

use crate::args::{Exec, Sandbox, SandboxCommand};
use crate::exit::{Failure, Outcome};
use crate::facts::load_profile;
use crate::page::{Column, Page, Row};
use crate::report::{GREEN, RED, YELLOW};
use crate::wording::{size, yes_no};
use ordain_canon::{Canonicalizer, PlanHash, Value};
use ordain_harness::sandbox::{self, Level, Probe, Protections, Report, Session, Step, StepReport};
use ordain_kernel::{Transformed, plan, transform};
use ordain_spec::bundle::Bundle;
use ordain_spec::evidence::{ActionStatus, ExecutionEvidence};
use ordain_spec::plan::Proposal;
use ordain_spec::{Facts, Verified, split_command, verify_as};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;

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
    let proposal = json.then(|| plan_of(&args.argv)).transpose()?;
    let mut session = Session::new(&args.workspace, profile);
    session.steps.push(Step::new(args.argv.iter().cloned()));
    let report = sandbox::run(&session)?;
    let Some(step) = report.steps.first() else {
        return Err(problem("the sandbox reported no step".to_owned()));
    };
    if let Some(proposal) = &proposal {
        let evidence = evidence_of(proposal, &report, step)?;
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(Canonicalizer::new().value(&evidence)?)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    } else {
        // As if it had run here: its output to our output, its errors to our errors, and what we say after them.
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&step.stdout.kept)?;
        stdout.flush()?;
        let mut stderr = anstream::stderr().lock();
        std::io::stderr().lock().write_all(&step.stderr.kept)?;
        stderr.write_all(exec_page(&report, step).text().as_bytes())?;
    }
    Ok(if step.status() == ActionStatus::Success { Outcome::Ok } else { Outcome::Failed })
}

fn problem(problem: String) -> Failure {
    Failure::Document { path: "the command".to_owned(), problem }
}

/// A plan whose only action is the command, so that its evidence is about a proposal like any other.
fn plan_of(argv: &[String]) -> Result<Proposal, Failure> {
    let refused = |text: String| problem(format!("it cannot be planned: {text}"));
    let intent = json!({"goal": "Run one command in the sandbox", "context": {"commands": [{"argv": argv}]}});
    let text = Canonicalizer::new().value(&intent)?.to_vec();
    let intent = Value::read(&text).map_err(|error| refused(error.to_string()))?;
    let bundle = match transform(&intent, text.len()) {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => bundle,
        Transformed::Refuse(refusal) => return Err(refused(refusal.to_string())),
    };
    let text = Canonicalizer::new().value(&bundle)?.to_vec();
    let value = Value::read(&text).map_err(|error| refused(error.to_string()))?;
    let bundle: Verified<Bundle> = verify_as(&Facts::default(), &value)
        .map_err(|report| refused(format!("{:?}", report.violations())))?;
    let proposal = plan(&bundle, &intent, &BTreeSet::new()).map_err(|error| refused(error.to_string()))?;
    let planned = command_action(&proposal).map(|action| split_command(&action.target));
    match planned {
        Some(Ok(planned)) if planned == argv => Ok(proposal),
        // A plan holds text in Unicode's normal form C.
        _ => Err(refused("an argument is not in Unicode's normal form C".to_owned())),
    }
}

fn command_action(proposal: &Proposal) -> Option<&ordain_spec::plan::ProposedAction> {
    use ordain_spec::plan::ActionType;
    proposal.actions.iter().find(|action| action.action_type == ActionType::ExecuteCommand)
}

/// Judged by the same rules as any evidence before it leaves.
fn evidence_of(
    proposal: &Proposal,
    report: &Report,
    step: &StepReport,
) -> Result<ExecutionEvidence, Failure> {
    let status = step.status();
    let produced: Vec<_> =
        step.produced.iter().map(|file| json!({"path": file.path, "sha256": file.sha256})).collect();
    let mut result = json!({
        "action_id": command_action(proposal).map(|action| action.id.clone()),
        "status": status,
        "produced": produced,
    });
    if let (Some(code), Some(fields)) = (step.exit_code(), result.as_object_mut()) {
        fields.insert("exit_code".to_owned(), code.into());
    }
    let evidence = json!({
        "evidence_schema_version": "1.0.0",
        "proposal_id": proposal.id,
        "proposal_hash": PlanHash::of(&mut Canonicalizer::new(), proposal)?,
        "action_results": [result],
        "test_results": [],
        "status": if status == ActionStatus::Success { "complete" } else { "failed" },
        "observed": report.observed(),
    });
    let text = Canonicalizer::new().value(&evidence)?.to_vec();
    let value = Value::read(&text).map_err(|error| problem(error.to_string()))?;
    verify_as::<ExecutionEvidence>(&Facts::default(), &value)
        .map(Verified::into_inner)
        .map_err(|report| problem(format!("its evidence would not be valid: {:?}", report.violations())))
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
