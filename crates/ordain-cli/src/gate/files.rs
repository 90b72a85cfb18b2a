//! Changes of files go through the gate where a project has one: decided, permitted, spent, reported.

use crate::arguments::Connect;
use crate::clock::now_ms;
use crate::commands::submit;
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::project::{CONFIG, Project};
use crate::report::{YELLOW, printable};
use crate::unified;
use ordain_api::{ActionState, ActionStatus, FileChange, OutcomeReport, ProblemCode, UseOutcome, UseRequest};
use ordain_canon::{Canonicalizer, ContentHash, PayloadHash, SHA256_PREFIX};
use ordain_harness::apply::{
    Applied, ApplyError, Authority, Change, Done, KeptUse, OpenUse, done_under, keep_use, kept_uses,
};
use ordain_spec::NonEmpty;
use ordain_spec::action::{self, BindingType, EvidenceBinding, Target, TimeWindow};
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::limits::OPEN_OBJECT_BYTES_MAX;
use ordain_spec::patch::PatchOp;
use ordain_spec::plan::{AcceptanceTest, ActionType, Proposal, ProposedAction};
use ordain_spec::run::RunResult;
use serde_json::{Map, Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Whose evidence a run in the sandbox is, as the policy's `sensors.toml` names it.
const SANDBOX: &str = "ordain-sandbox";
/// How old the evidence of a run may be.
const EVIDENCE_MS_MAX: u64 = 24 * 3_600_000;
/// Commands and tests that evidence of a run names one by one, and as much of each.
const STEPS_MAX: usize = 50;
const STEP_CHARACTERS_MAX: usize = 200;

/// How often the same patch set can be applied anew before somebody should look.
const NUMBER_MAX: u64 = 1_000;

/// Of a diff that goes with a proposal, as JSON.
const DIFF_BYTES_MAX: usize = 32 << 10;
/// With less there is none.
const DIFF_BYTES_MIN: usize = 256;
/// Its name and its comma.
const DIFF_KEY_BYTES: usize = r#","diff":"#.len();

/// A change that somebody wants to make.
pub(crate) struct Wish<'a> {
    pub(crate) what: What<'a>,
    /// The patch set that is applied, or that was.
    pub(crate) patch_hash: &'a str,
    /// What happens to which file.
    pub(crate) operations: Vec<(PatchOp, &'a str)>,
    /// The files before and after.
    pub(crate) changes: &'a [Change],
}

/// Which way a wish goes. The two are different actions to the gate, also where they do the same kind of thing to the same
/// files.
pub(crate) enum What<'a> {
    /// A patch set is applied.
    Apply {
        /// The run that it was tried in.
        run: Option<Trial<'a>>,
    },
    /// A record is taken back.
    Undo {
        /// Its name.
        record: &'a str,
        /// The files that come back, with the hashes of their contents.
        restored: Vec<(&'a str, String)>,
    },
}

/// A run in the sandbox.
#[derive(Clone, Copy)]
pub(crate) struct Trial<'a> {
    pub(crate) result: &'a RunResult,
    pub(crate) plan: &'a Proposal,
    pub(crate) evidence: &'a ExecutionEvidence,
}

/// Who asks, about which workspace, and which gate.
pub(crate) struct Asker<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) connect: &'a Connect,
    pub(crate) actor: Option<&'a str>,
    pub(crate) json: bool,
}

/// How long a change may wait to be carried out, once it is proposed: as long as it may wait for approvals. Who approves in the
/// evening need not be there when it is applied in the morning.
const WINDOW_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long carrying it out may take.
const DURATION_MS: u64 = 5 * 60 * 1_000;
/// A server's clock may be behind.
const CLOCKS_APART_MS: u64 = 60_000;

/// A gate that has to be asked.
pub(crate) struct Gated<'a> {
    asker: &'a Asker<'a>,
    project: Option<Project>,
}

/// The gate's answer to a wish.
pub(crate) enum Asked {
    /// It may be done, once, now.
    Permitted(Box<Permitted>),
    /// Not now; that was shown.
    Not(Outcome),
}

/// A spent permit: the change must follow, and then its report.
pub(crate) struct Permitted {
    gateway: Gateway,
    workspace: PathBuf,
    kept: KeptUse,
    started: Instant,
}

impl Asker<'_> {
    /// The gate that changes of this workspace go through: a server or a store that was named, or that of the project.
    pub(crate) fn gate(&self) -> Result<Option<Gated<'_>>, Failure> {
        // What is no folder cannot be changed, whoever is asked; whoever tries says so.
        let project = if self.workspace.is_dir() { Project::above(self.workspace)? } else { None };
        let named = self.connect.server.is_some() || self.connect.store.is_some();
        Ok((named || project.is_some()).then_some(Gated { asker: self, project }))
    }
}

/// Where there is no gate, that is said.
pub(crate) fn say_nobody_was_asked() {
    let said =
        format!("there is no {CONFIG} here or above: no policy was asked, and nothing goes on a ledger");
    note(&said);
}

fn note(said: &str) {
    let _ = writeln!(anstream::stderr(), "{YELLOW}note:{YELLOW:#} {}", printable(said));
}

impl Gated<'_> {
    /// Asks whether a wish may be carried out. If so, a use of the permit is spent.
    pub(crate) fn ask(self, wish: &Wish<'_>) -> Result<Asked, Failure> {
        let Self { asker: &Asker { workspace, connect, actor, json }, project } = self;
        let actor = actor.map(str::to_owned).or_else(|| project.as_ref().and_then(Project::actor));
        let actor = actor.unwrap_or_else(crate::arguments::user_name);
        let place = project.as_ref().map(|project| project.path_within(workspace)).transpose()?;
        let parameters = parameters(wish, &place.unwrap_or_default());
        let gateway = Gateway::open_in(project, connect, Purpose::Decide, json)?;
        report_left(&gateway, workspace, left_to_report(workspace, gateway.server()))?;
        let status = match existing(&gateway, &actor, wish, &parameters)? {
            Found::Open(status) => *status,
            Found::Free(id) => propose(&gateway, &id, &actor, wish, &parameters)?,
        };
        if status.state != ActionState::Allowed {
            submit::show(&status, json)?;
            return Ok(Asked::Not(submit::outcome(&status)));
        }
        let permit =
            status.permit.as_ref().ok_or_else(|| Failure::Server("there is no permit".to_owned()))?;
        let request = UseRequest {
            permit: permit.token.clone().unwrap_or_default(),
            action_type: action::ActionType::Write,
            target: target(wish),
            parameters,
        };
        let spent = gateway.client().use_permit(&permit.permit_id, &request)?;
        let open = OpenUse {
            permit_id: spent.permit_id,
            number: spent.number,
            server: gateway.server().map(str::to_owned),
            patch_hash: wish.patch_hash.to_owned(),
            undo: matches!(wish.what, What::Undo { .. }),
        };
        let started = Instant::now();
        // Nothing is changed before it is sure that it will be reported, also after a crash.
        let kept = match keep_use(workspace, open.clone()) {
            Ok(kept) => kept,
            Err(error) => {
                let report = report_of(&open, UseOutcome::Failed, 0, &error.to_string(), None);
                send(&gateway, &open, &report)?;
                return Err(error.into());
            }
        };
        Ok(Asked::Permitted(Box::new(Permitted { gateway, workspace: workspace.to_owned(), kept, started })))
    }
}

enum Found {
    /// It was proposed before, and waits or may be done.
    Open(Box<ActionStatus>),
    /// It can be proposed under this id.
    Free(String),
}

/// The proposal of this change that is still open, or the first id that is free.
fn existing(
    gateway: &Gateway,
    actor: &str,
    wish: &Wish<'_>,
    parameters: &Map<String, Json>,
) -> Result<Found, Failure> {
    let verb = match wish.what {
        What::Apply { .. } => "apply",
        What::Undo { .. } => "undo",
    };
    let (target, parameters) = (json!(target(wish)), json!(parameters));
    let digits: String = ContentHash::of(format!("{actor}\n{target}\n{parameters}").as_bytes())
        .to_string()
        .trim_start_matches(SHA256_PREFIX)
        .chars()
        .take(12)
        .collect();
    for number in 1..=NUMBER_MAX {
        let id = format!("{verb}-{digits}-{number}");
        match gateway.client().action(&id)? {
            None => return Ok(Found::Free(id)),
            Some(status)
                if matches!(status.state, ActionState::Held | ActionState::Allowed)
                    && still_holds(&status) =>
            {
                return Ok(Found::Open(Box::new(status)));
            }
            Some(status) if matches!(status.state, ActionState::Running | ActionState::Unknown) => {
                return Err(Failure::Server(format!(
                    "nobody knows whether {id} was done; look at the files, and settle it with `ordain permit outcome {}`",
                    status.permit.map(|permit| permit.permit_id).unwrap_or_default()
                )));
            }
            Some(_) => {}
        }
    }
    Err(Failure::Server(format!("this was done {NUMBER_MAX} times already; make another patch set")))
}

fn still_holds(status: &ActionStatus) -> bool {
    status.permit.as_ref().is_none_or(|permit| now_ms() < permit.valid_until_ms)
}

fn propose(
    gateway: &Gateway,
    id: &str,
    actor: &str,
    wish: &Wish<'_>,
    parameters: &Map<String, Json>,
) -> Result<ActionStatus, Failure> {
    let now_ms = now_ms();
    let mut proposal = action::Proposal {
        proposal_id: id.to_owned(),
        ts_ms: now_ms,
        actor: NonEmpty::of(actor.to_owned()),
        action_type: action::ActionType::Write,
        target: target(wish),
        parameters: parameters.clone(),
        preconditions: None,
        risk_envelope: None,
        rollback_semantics: None,
        time_window: Some(TimeWindow {
            valid_from_ms: now_ms.saturating_sub(CLOCKS_APART_MS),
            valid_until_ms: now_ms.saturating_add(WINDOW_MS),
            max_duration_ms: DURATION_MS,
        }),
        approval_class: None,
        evidence_bindings: None,
    };
    let mut canon = Canonicalizer::new();
    if let What::Apply { run: Some(run) } = &wish.what {
        let packet = packet(run, wish.patch_hash)?;
        let receipt = gateway.client().add_evidence(canon.value(&packet)?)?;
        proposal.evidence_bindings = Some(vec![EvidenceBinding {
            evidence_id: NonEmpty::of(receipt.evidence_id),
            binding_type: BindingType::Attestation,
            required: true,
            freshness_ms: EVIDENCE_MS_MAX,
        }]);
    }
    Ok(gateway.client().submit(canon.value(&proposal)?, None)?.status)
}

fn target(wish: &Wish<'_>) -> Target {
    let id = match &wish.what {
        What::Apply { .. } => wish.patch_hash,
        What::Undo { record, .. } => record,
    };
    Target {
        resource_type: NonEmpty::of("patch_set".to_owned()),
        resource_id: NonEmpty::of(id.to_owned()),
        domain: NonEmpty::of("workspace".to_owned()),
        constraints: Map::new(),
    }
}

/// With the paths of the project, where the workspace has this place in it.
fn parameters(wish: &Wish<'_>, place: &str) -> Map<String, Json> {
    let name = |path: &str| if place.is_empty() { path.to_owned() } else { format!("{place}/{path}") };
    let operation = |(op, path): &(PatchOp, &str)| json!({"op": op, "path": name(path)});
    let operations: Vec<Json> = wish.operations.iter().map(operation).collect();
    let mut members = Map::new();
    members.insert("operations".to_owned(), json!(operations));
    members.insert("patch_hash".to_owned(), json!(wish.patch_hash));
    if let What::Undo { record, restored } = &wish.what {
        let file = |(path, hash): &(&str, String)| json!({"path": name(path), "content_hash": hash});
        members.insert("undo".to_owned(), json!(true));
        members.insert("record".to_owned(), json!(record));
        members.insert("restored".to_owned(), restored.iter().map(file).collect());
    }
    // Whoever approves sees what changes, and what is applied then must be that.
    let room = OPEN_OBJECT_BYTES_MAX.saturating_sub(json!(members).to_string().len() + DIFF_KEY_BYTES);
    if room >= DIFF_BYTES_MIN {
        let diff = unified::excerpt(wish.changes, name, room.min(DIFF_BYTES_MAX));
        members.insert("diff".to_owned(), json!(diff));
    }
    members
}

/// What the sandbox saw, as evidence: who approves wants to know what was run, and how that went.
fn packet(trial: &Trial<'_>, patch_hash: &str) -> Result<Json, Failure> {
    let Trial { result: run, plan, evidence } = trial;
    let mut canon = Canonicalizer::new();
    let short = |text: &str| match text.char_indices().nth(STEP_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    };
    let is_command = |action: &&ProposedAction| {
        matches!(action.action_type, ActionType::ExecuteCommand | ActionType::Validate | ActionType::Test)
    };
    // What was planned and did not run has neither.
    let command = |action: &ProposedAction| {
        let found = evidence.action_results.iter().find(|it| it.action_id == action.id);
        let (status, exit_code) = (found.map(|it| it.status), found.and_then(|it| it.exit_code));
        json!({"command": short(&action.target), "status": status, "exit_code": exit_code})
    };
    let test = |test: &AcceptanceTest| {
        let found = evidence.test_results.iter().find(|it| it.test_id.as_str() == test.id);
        let passed = found.map(|it| it.passed);
        json!({"name": short(&test.name), "target": short(&test.target), "passed": passed})
    };
    let commands: Vec<Json> = plan.actions.iter().filter(is_command).map(command).collect();
    let tests: Vec<Json> = plan.acceptance_tests.iter().map(test).collect();
    let payload = json!({
        "run_id": run.run_id,
        "patch_hash": patch_hash,
        "accepted": run.decision.accepted,
        "evidence_hash": run.execution.0.as_ref().map(|execution| execution.evidence_hash.as_str()),
        "result_hash": ContentHash::of(canon.value(run)?).to_string(),
        "commands": commands.get(..STEPS_MAX).unwrap_or(&commands),
        "commands_in_all": commands.len(),
        "tests": tests.get(..STEPS_MAX).unwrap_or(&tests),
        "tests_in_all": tests.len(),
    });
    let payload_hash = PayloadHash::of(&mut canon, &payload)?.to_string();
    let observed_at_ms = ordain_canon::time::milliseconds(&run.completed_at).unwrap_or_else(now_ms);
    Ok(json!({
        // With the version of the payload: the same id never stands for other content.
        "evidence_id": format!("sandbox-{}-2", run.run_id.as_str()),
        "packet_type": "attestation",
        "sensor_id": SANDBOX,
        "sensor_type": "sandbox",
        "observed_at_ms": observed_at_ms,
        "received_at_ms": observed_at_ms,
        "payload": payload,
        "payload_hash": payload_hash,
    }))
}

impl Permitted {
    /// What the record in the workspace names.
    pub(crate) fn authority(&self) -> Authority {
        let OpenUse { permit_id, number, .. } = &self.kept.open;
        Authority::Permit { permit_id: permit_id.clone(), number: *number }
    }

    /// Reports how it went. That the files changed stays true if this fails; the next command tries again.
    pub(crate) fn report(self, done: &Result<Applied, ApplyError>) -> Result<(), Failure> {
        let Self { gateway, workspace, kept, started } = self;
        let duration_ms = u64::try_from(started.elapsed().as_millis()).ok();
        let open = &kept.open;
        let report = match done {
            Ok(applied) => succeeded(open, applied, duration_ms),
            // What is half made may still be finished or taken back, and nobody can tell which.
            Err(error) => match done_under(&workspace, open) {
                Ok(Done::NotMade) => report_of(open, UseOutcome::Failed, 0, &error.to_string(), duration_ms),
                Ok(Done::Made(applied)) => succeeded(open, &applied, duration_ms),
                Ok(Done::AtWork) | Err(_) => {
                    report_of(open, UseOutcome::Unknown, 0, &error.to_string(), duration_ms)
                }
            },
        };
        let unknown = report.outcome == UseOutcome::Unknown;
        send(&gateway, open, &report)?;
        if !unknown {
            kept.forget()?;
        }
        Ok(())
    }
}

fn succeeded(open: &OpenUse, applied: &Applied, duration_ms: Option<u64>) -> OutcomeReport {
    let change = applied.record.as_ref().map(|record| FileChange {
        patch_hash: open.patch_hash.clone(),
        record: record.clone(),
        undone: open.undo,
    });
    let records = applied.files.len() as u64;
    OutcomeReport { change, ..report_of(open, UseOutcome::Succeeded, records, "", duration_ms) }
}

fn report_of(
    open: &OpenUse,
    outcome: UseOutcome,
    records: u64,
    reason: &str,
    duration_ms: Option<u64>,
) -> OutcomeReport {
    /// What the ledger takes of a reason.
    const REASON_CHARACTERS_MAX: usize = 1_000;
    OutcomeReport {
        number: open.number,
        outcome,
        // How many files were changed is not known either.
        affected_records: (outcome != UseOutcome::Unknown).then_some(records),
        duration_ms,
        reason: reason.chars().take(REASON_CHARACTERS_MAX).collect(),
        change: None,
    }
}

fn send(gateway: &Gateway, open: &OpenUse, report: &OutcomeReport) -> Result<(), Failure> {
    Ok(gateway.client().report_outcome(&open.permit_id, report).map(drop)?)
}

/// Reports the changes whose commands ended before they could. That it cannot be done stops nobody.
pub(crate) fn report_interrupted(workspace: &Path, connect: &Connect) {
    let server = connect.server.as_deref().map(|url| url.trim_end_matches('/'));
    let left = left_to_report(workspace, server);
    if left.is_empty() {
        return;
    }
    let reported = Project::above(workspace)
        .and_then(|project| Gateway::open_in(project, connect, Purpose::Write, false))
        .and_then(|gateway| report_left(&gateway, workspace, left));
    if let Err(failure) = reported {
        note(&format!("a change was interrupted, and cannot be reported now: {}", failure.text()));
    }
}

/// The uses of permits of this gate that were interrupted. Those of others are told to their gate and to nobody else: a
/// file must not say where a token is sent.
fn left_to_report(workspace: &Path, server: Option<&str>) -> Vec<KeptUse> {
    // A folder that cannot be read has nothing to say; a command about it says so itself.
    let (here, elsewhere): (Vec<_>, Vec<_>) = kept_uses(workspace)
        .unwrap_or_default()
        .into_iter()
        .partition(|it| it.open.server.as_deref() == server);
    for KeptUse { open, .. } in &elsewhere {
        let command = match &open.server {
            Some(url) => format!("ordain recover --server {url}"),
            None => "ordain recover".to_owned(),
        };
        note(&format!("{} was interrupted and is not reported yet; this does it: {command}", name(open)));
    }
    here
}

fn name(open: &OpenUse) -> String {
    format!("use {} of {}", open.number, open.permit_id)
}

fn report_left(gateway: &Gateway, workspace: &Path, left: Vec<KeptUse>) -> Result<(), Failure> {
    for kept in left {
        let open = &kept.open;
        let report = match done_under(workspace, open)? {
            Done::Made(applied) => succeeded(open, &applied, None),
            Done::NotMade => {
                let reason = "it was interrupted, and nothing of it is left in the workspace";
                report_of(open, UseOutcome::Failed, 0, reason, None)
            }
            Done::AtWork => continue,
        };
        match send(gateway, open, &report) {
            Ok(()) => {
                let outcome = if report.change.is_some() { "it was done" } else { "nothing was changed" };
                note(&format!("{} was interrupted and is reported now: {outcome}", name(open)));
            }
            // Somebody has settled it meanwhile.
            Err(Failure::Gate(problem)) if problem.code == ProblemCode::Conflict => {
                note(&format!("{} was interrupted: {}", name(open), problem.detail));
            }
            Err(failure) => return Err(failure),
        }
        kept.forget()?;
    }
    Ok(())
}
