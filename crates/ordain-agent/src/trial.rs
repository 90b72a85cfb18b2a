//! A run in the sandbox as evidence.

use crate::clock::now_ms;
use crate::error::AgentError;
use ordain_canon::{Canonicalizer, ContentHash, PayloadHash};
use ordain_spec::action::RUNNER_SENSOR;
use ordain_spec::evidence::{ActionStatus, ExecutionEvidence};
use ordain_spec::packet::{EvidencePacket, PacketType};
use ordain_spec::plan::{AcceptanceTest, ActionType, Proposal, ProposedAction};
use ordain_spec::run::{RunResult, UNTESTED, WorkRound};
use ordain_spec::{NonEmpty, Sha256};
use serde::Serialize;

/// Commands and tests that the evidence names one by one.
const STEPS_MAX: usize = 50;
/// Characters of each.
const STEP_CHARACTERS_MAX: usize = 200;

/// A run in the sandbox.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    /// The result.
    pub result: &'a RunResult,
    /// The plan that was carried out.
    pub plan: &'a Proposal,
    /// The observations of the sandbox.
    pub evidence: &'a ExecutionEvidence,
}

/// The observations of the sandbox: an approver wants to know which commands ran and how they ended.
#[derive(Serialize)]
struct Payload<'a> {
    run_id: &'a str,
    patch_hash: &'a str,
    accepted: bool,
    /// Nothing that somebody asked for was executed or tested.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    untested: bool,
    evidence_hash: Option<&'a str>,
    result_hash: String,
    commands: Vec<Command>,
    commands_in_all: usize,
    tests: Vec<Test>,
    tests_in_all: usize,
    /// The bundle that a work order was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle_hash: Option<&'a str>,
    /// The steps that the agent took for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rounds: Vec<Round<'a>>,
}

/// A round of a work order.
#[derive(Serialize)]
struct Round<'a> {
    agent: String,
    patch_hash: Option<&'a str>,
    evidence_hash: Option<&'a str>,
    restored_evidence_hash: Option<&'a str>,
    protected: Vec<String>,
    accepted: bool,
}

/// A command of the plan. One that did not run has neither status nor exit code.
#[derive(Serialize)]
struct Command {
    command: String,
    status: Option<ActionStatus>,
    exit_code: Option<i64>,
}

#[derive(Serialize)]
struct Test {
    name: String,
    target: String,
    passed: Option<bool>,
}

/// The evidence that a run gives for a patch set.
pub fn evidence_of(trial: &Trial<'_>, patch_hash: &str) -> Result<EvidencePacket, AgentError> {
    let Trial { result: run, plan, evidence } = trial;
    let mut canon = Canonicalizer::new();
    let commands: Vec<&ProposedAction> = plan.actions.iter().filter(|action| is_command(action)).collect();
    let command = |action: &&ProposedAction| {
        let found = evidence.action_results.iter().find(|result| result.action_id == action.id);
        Command {
            command: shortened(&action.target),
            status: found.map(|result| result.status),
            exit_code: found.and_then(|result| result.exit_code),
        }
    };
    let test = |test: &AcceptanceTest| {
        let found = evidence.test_results.iter().find(|result| result.test_id.as_str() == test.id);
        Test {
            name: shortened(&test.name),
            target: shortened(&test.target),
            passed: found.map(|result| result.passed),
        }
    };
    let payload = Payload {
        run_id: run.run_id.as_str(),
        patch_hash,
        accepted: run.decision.accepted,
        untested: run.decision.reasons.first().is_some_and(|reason| reason == UNTESTED),
        evidence_hash: run.execution.0.as_ref().map(|execution| execution.evidence_hash.as_str()),
        result_hash: ContentHash::of(canon.value(run)?).to_string(),
        commands: commands.iter().take(STEPS_MAX).map(command).collect(),
        commands_in_all: commands.len(),
        tests: plan.acceptance_tests.iter().take(STEPS_MAX).map(test).collect(),
        tests_in_all: plan.acceptance_tests.len(),
        bundle_hash: run.work.as_ref().map(|work| work.bundle_hash.as_str()),
        rounds: run.work.iter().flat_map(|work| &work.rounds).map(round).collect(),
    };
    let payload_hash = Sha256::from(PayloadHash::of(&mut canon, &payload)?);
    let observed_at_ms = ordain_canon::time::milliseconds(&run.completed_at).unwrap_or_else(now_ms);
    Ok(EvidencePacket {
        // With the version of the payload: the same id always means the same content.
        evidence_id: NonEmpty::of(format!("sandbox-{}-2", run.run_id.as_str())),
        packet_type: PacketType::Attestation,
        sensor_id: NonEmpty::of(RUNNER_SENSOR.to_owned()),
        sensor_type: NonEmpty::of("sandbox".to_owned()),
        observed_at_ms,
        received_at_ms: observed_at_ms,
        payload: serde_json::from_value(serde_json::to_value(&payload)?)?,
        payload_hash,
        context: None,
        sensor_signature: None,
    })
}

fn round(round: &WorkRound) -> Round<'_> {
    Round {
        agent: shortened(round.agent.as_str()),
        patch_hash: round.patch_hash.as_ref().map(Sha256::as_str),
        evidence_hash: round.evidence_hash.as_ref().map(Sha256::as_str),
        restored_evidence_hash: round.restored_evidence_hash.as_ref().map(Sha256::as_str),
        protected: round.protected.iter().take(STEPS_MAX).map(|path| shortened(path)).collect(),
        accepted: round.accepted,
    }
}

fn is_command(action: &ProposedAction) -> bool {
    matches!(action.action_type, ActionType::ExecuteCommand | ActionType::Validate | ActionType::Test)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(STEP_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
