//! Changes of files go through the gate where a project has one: decided, permitted, spent, reported.

use super::{read, submit};
use crate::clock::now_ms;
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Local, Place, escaped};
use crate::project::{CONFIG, Project};
use crate::report::{YELLOW, printable};
use ordain_canon::{Canonicalizer, ContentHash, PayloadHash, SHA256_PREFIX};
use ordain_harness::apply::{Applied, ApplyError, Authority};
use ordain_spec::patch::PatchOp;
use ordain_spec::run::RunResult;
use ordain_workflow::gate::{ActionStatus, FileChange, Report, Spent, State, UseOutcome};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Whose evidence a run in the sandbox is, as the policy's `sensors.toml` names it.
const SANDBOX: &str = "ordain-sandbox";
/// How old the evidence of a run may be.
const EVIDENCE_MS_MAX: u64 = 24 * 3_600_000;
/// How often the same patch set can be applied anew before somebody should look.
const NUMBER_MAX: u64 = 1_000;

/// A change that somebody wants to make.
pub(crate) struct Wish<'a> {
    /// `apply` or `undo`.
    pub(crate) verb: &'static str,
    /// What it is done with: the hash of a patch set, or the record that is undone.
    pub(crate) patch_hash: &'a str,
    /// What happens to which file.
    pub(crate) operations: Vec<(PatchOp, &'a str)>,
    /// The run that it was tried in.
    pub(crate) run: Option<&'a RunResult>,
}

/// The gate's answer to a wish.
pub(crate) enum Asked {
    /// The project has no gate; the person at the machine answers for it.
    Free,
    /// It may be done, once, now.
    Permitted(Box<Permitted>),
    /// Not now; that was shown.
    Not(Outcome),
}

/// A spent permit: the change must follow, and then its report.
pub(crate) struct Permitted {
    gateway: Gateway,
    spent: Spent,
    patch_hash: String,
    undone: bool,
    started: Instant,
}

/// Asks the gate of the project that a workspace belongs to.
pub(crate) fn ask(
    workspace: &Path,
    actor: Option<&str>,
    wish: &Wish<'_>,
    json: bool,
) -> Result<Asked, Failure> {
    let Some(project) = Project::above(workspace)? else {
        let said =
            format!("there is no {CONFIG} here or above: no policy was asked, and nothing goes on a ledger");
        let _ = writeln!(anstream::stderr(), "{YELLOW}note:{YELLOW:#} {}", printable(&said));
        return Ok(Asked::Free);
    };
    let user = crate::args::user_name();
    let name = actor.map(str::to_owned).or_else(|| project.actor()).unwrap_or_else(|| user.clone());
    let local = Local::open_place(&Place::of_project(&project), &user, json)?;
    let gateway = Gateway::Local(Box::new(local));
    let status = match existing(&gateway, wish)? {
        Found::Open(status) => *status,
        Found::Free(id) => propose(&gateway, &id, &name, wish)?,
    };
    if status.state != State::Allowed {
        submit::show(&status, json)?;
        return Ok(Asked::Not(submit::outcome(&status)));
    }
    let permit = status.permit.as_ref().ok_or_else(|| Failure::Server("there is no permit".to_owned()))?;
    let body = json!({
        "permit": permit.token,
        "action_type": "write",
        "target": target(wish),
        "parameters": parameters(wish),
    });
    let spent: Spent = gateway.post(&format!("/v1/permits/{}/use", escaped(&permit.permit_id)), &body)?;
    Ok(Asked::Permitted(Box::new(Permitted {
        gateway,
        spent,
        patch_hash: wish.patch_hash.to_owned(),
        undone: wish.verb == "undo",
        started: Instant::now(),
    })))
}

enum Found {
    /// It was proposed before, and waits or may be done.
    Open(Box<ActionStatus>),
    /// It can be proposed under this id.
    Free(String),
}

/// The proposal of this change that is still open, or the first id that is free.
fn existing(gateway: &Gateway, wish: &Wish<'_>) -> Result<Found, Failure> {
    let digits: String = ContentHash::of(format!("{}\n{}", target(wish), parameters(wish)).as_bytes())
        .to_string()
        .trim_start_matches(SHA256_PREFIX)
        .chars()
        .take(12)
        .collect();
    for number in 1..=NUMBER_MAX {
        let id = format!("{}-{digits}-{number}", wish.verb);
        match gateway.get::<ActionStatus>(&format!("/v1/actions/{id}")) {
            Ok(status) if matches!(status.state, State::Held | State::Allowed) && still_holds(&status) => {
                return Ok(Found::Open(Box::new(status)));
            }
            Ok(status) if matches!(status.state, State::Running | State::Unknown) => {
                return Err(Failure::Server(format!(
                    "nobody knows whether {id} was done; look at the files, and settle it with `ordain permit outcome {}`",
                    status.permit.map(|permit| permit.permit_id).unwrap_or_default()
                )));
            }
            Ok(_) => {}
            Err(Failure::Gate(problem)) if problem.status == 404 => return Ok(Found::Free(id)),
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::Server(format!("this was done {NUMBER_MAX} times already; make another patch set")))
}

fn still_holds(status: &ActionStatus) -> bool {
    status.permit.as_ref().is_none_or(|permit| now_ms() < permit.valid_until_ms)
}

fn propose(gateway: &Gateway, id: &str, actor: &str, wish: &Wish<'_>) -> Result<ActionStatus, Failure> {
    let mut proposal = json!({
        "proposal_id": id,
        "ts_ms": now_ms(),
        "actor": actor,
        "action_type": "write",
        "target": target(wish),
        "parameters": parameters(wish),
    });
    if let Some(run) = wish.run {
        let packet = packet(run, wish.patch_hash)?;
        let evidence_id = packet.get("evidence_id").cloned().unwrap_or_default();
        gateway.post::<Json>("/v1/evidence", &packet)?;
        let binding = json!([{"evidence_id": evidence_id, "binding_type": "attestation", "required": true,
            "freshness_ms": EVIDENCE_MS_MAX}]);
        proposal.as_object_mut().map(|it| it.insert("evidence_bindings".to_owned(), binding));
    }
    let body = Canonicalizer::new().value(&proposal)?.to_vec();
    read(&gateway.raw("POST", "/v1/actions", Some(body))?.body)
}

fn target(wish: &Wish<'_>) -> Json {
    json!({"resource_type": "patch_set", "resource_id": wish.patch_hash, "domain": "workspace", "constraints": {}})
}

fn parameters(wish: &Wish<'_>) -> Json {
    let operation = |(op, path): &(PatchOp, &str)| json!({"op": op, "path": path});
    let operations: Vec<Json> = wish.operations.iter().map(operation).collect();
    json!({"operations": operations, "patch_hash": wish.patch_hash})
}

/// What the sandbox saw, as evidence.
fn packet(run: &RunResult, patch_hash: &str) -> Result<Json, Failure> {
    let mut canon = Canonicalizer::new();
    let payload = json!({
        "run_id": run.run_id,
        "patch_hash": patch_hash,
        "accepted": run.decision.accepted,
        "evidence_hash": run.execution.0.as_ref().map(|execution| execution.evidence_hash.as_str()),
        "result_hash": ContentHash::of(canon.value(run)?).to_string(),
    });
    let payload_hash = PayloadHash::of(&mut canon, &payload)?.to_string();
    let observed_at_ms = ordain_workflow::milliseconds(&run.completed_at).unwrap_or_else(now_ms);
    Ok(json!({
        "evidence_id": format!("sandbox-{}", run.run_id.as_str()),
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
        Authority::Permit { permit_id: self.spent.permit_id.clone(), number: self.spent.number }
    }

    /// Reports how it went. That the files changed stays true if this fails; the use is unknown then.
    pub(crate) fn report(self, done: &Result<Applied, ApplyError>) -> Result<(), Failure> {
        let duration_ms = u64::try_from(self.started.elapsed().as_millis()).ok();
        let (outcome, records, reason, change) = match done {
            Ok(applied) => {
                // Without a record nothing was changed.
                let change = applied.record.clone().map(|record| FileChange {
                    patch_hash: self.patch_hash,
                    record,
                    undone: self.undone,
                });
                (UseOutcome::Succeeded, applied.files.len() as u64, String::new(), change)
            }
            Err(error) => (UseOutcome::Failed, 0, error.to_string(), None),
        };
        /// What the ledger takes of a reason.
        const REASON_CHARACTERS_MAX: usize = 1_000;
        let report = Report {
            number: self.spent.number,
            outcome,
            affected_records: Some(records),
            duration_ms,
            reason: reason.chars().take(REASON_CHARACTERS_MAX).collect(),
            change,
        };
        let path = format!("/v1/permits/{}/outcome", escaped(&self.spent.permit_id));
        self.gateway.post::<Json>(&path, &report).map(drop)
    }
}
