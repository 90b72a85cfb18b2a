//! The loop: propose, wait, spend, act, report.

use crate::clock::now_ms;
use crate::error::AgentError;
use crate::report::report_of;
use ordain_api::limits::POLL_SECONDS_MAX;
use ordain_api::{
    ActionState, ActionStatus, OutcomeReport, PermitStatus, ProblemCode, UseOutcome, UseRequest,
};
use ordain_canon::Canonicalizer;
use ordain_client::{Client, ClientError};
use ordain_decision::{PublicKey, PublicKeys, VerifiedPermit};
use ordain_harness::apply::{Applied, ApplyError, Authority, KeptUse, OpenUse, SpentUse, keep_use};
use ordain_spec::action::{ActionType, Proposal, RUNNER_SENSOR, Target};
use ordain_spec::packet::EvidencePacket;
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The class of worker that permits must be for.
const AUDIENCE: &str = "worker";

/// Proposes actions to a gate, and carries out those that it permits.
#[derive(Clone, Copy)]
pub struct Agent<'a> {
    /// The gate.
    pub client: &'a Client,
    /// The server that the client talks to; nothing for the store of the project.
    pub server: Option<&'a str>,
}

/// Whether the gate takes this packet only from a runner: it demands a signature, or has the runner's own
/// already. Then the proposal is bound to that one, and the gate says if it is missing.
fn is_the_runners(packet: &EvidencePacket, error: &ClientError) -> bool {
    let ClientError::Problem(problem) = error else { return false };
    let unsigned = problem.errors.iter().any(|error| error.rule_id.as_deref() == Some("V-EVID-021"));
    packet.sensor_id.as_str() == RUNNER_SENSOR && (unsigned || problem.code == ProblemCode::Conflict)
}

/// The gate's answer to a proposal.
pub enum Proposed {
    /// Approvals are missing.
    Held(Box<ActionStatus>),
    /// It is denied, expired or superseded.
    Denied(Box<ActionStatus>),
    /// A worker acts already, or has acted.
    Used(Box<ActionStatus>),
    /// It may be done.
    Permitted(Box<Permit>),
}

/// A permit that the gate signed for an action.
pub struct Permit {
    verified: VerifiedPermit,
    token: String,
    action: ActionStatus,
}

impl Permit {
    /// The action that it permits.
    pub fn action(&self) -> &ActionStatus {
        &self.action
    }
}

/// The action that is about to be taken, exactly as it was proposed.
#[derive(Clone, PartialEq, Debug)]
pub struct ActionDetails {
    /// The kind of the action.
    pub action_type: ActionType,
    /// The resource that it acts on.
    pub target: Target,
    /// The details.
    pub parameters: Map<String, Json>,
}

/// A spent use of a permit. The action must follow, and then its report: see [`Agent::act`].
pub struct Spent {
    authority: Authority,
    kept: KeptUse,
    workspace: PathBuf,
    started: Instant,
}

/// An action that was tried.
pub struct Acted {
    /// How it went.
    pub applied: Result<Applied, ApplyError>,
    /// Whether the gate knows. If not, the next command reports it.
    pub reported: Result<(), AgentError>,
}

impl<'a> Agent<'a> {
    /// Submits a proposal, and puts its evidence on record before.
    pub fn propose(&self, proposal: &Proposal, evidence: &[EvidencePacket]) -> Result<Proposed, AgentError> {
        let mut canon = Canonicalizer::new();
        for packet in evidence {
            match self.client.add_evidence(canon.value(packet)?) {
                Ok(_) => {}
                Err(error) if is_the_runners(packet, &error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.answer(self.client.submit(canon.value(proposal)?, None)?.status)
    }

    /// Waits until an action is no longer held, or until the time is over.
    pub fn wait(&self, action_id: &str, seconds: u64) -> Result<Proposed, AgentError> {
        let status = wait(self.client, action_id, seconds)?;
        self.answer(status.ok_or_else(|| AgentError::NoAction { action_id: action_id.to_owned() })?)
    }

    /// How a worker reads the status of its action.
    pub fn answer(&self, status: ActionStatus) -> Result<Proposed, AgentError> {
        match status.state {
            ActionState::Held => Ok(Proposed::Held(Box::new(status))),
            // Nothing of an observed call can be used.
            ActionState::Denied | ActionState::Expired | ActionState::Superseded | ActionState::Observed => {
                Ok(Proposed::Denied(Box::new(status)))
            }
            ActionState::Running | ActionState::Succeeded | ActionState::Failed | ActionState::Unknown => {
                Ok(Proposed::Used(Box::new(status)))
            }
            ActionState::Allowed => self.permit(status).map(|permit| Proposed::Permitted(Box::new(permit))),
        }
    }

    /// The permit of an allowed action, verified with the gate's public keys.
    fn permit(&self, action: ActionStatus) -> Result<Permit, AgentError> {
        let action_id = &action.action_id;
        let no_permit = || AgentError::NoPermit { action_id: action_id.clone() };
        let PermitStatus { permit_id, token, .. } = action.permit.as_ref().ok_or_else(no_permit)?;
        let token = token.clone().ok_or_else(no_permit)?;
        let bad = |error| AgentError::BadPermit { action_id: action_id.clone(), error };
        let mut keys = PublicKeys::new();
        for key in self.client.keys()?.keys {
            keys.insert(key.kid, PublicKey::parse(&key.x).map_err(bad)?);
        }
        let verified = VerifiedPermit::verify(&token, &keys, AUDIENCE, now_ms()).map_err(bad)?;
        let claims = verified.claims();
        same(action_id, &claims.proposal_id)?;
        same(permit_id, &claims.jti)?;
        Ok(Permit { verified, token, action })
    }

    /// Spends one use of a permit for a change of files. The use is kept in the workspace when this returns.
    pub fn spend(
        &self,
        permit: Permit,
        details: ActionDetails,
        workspace: &Path,
        purpose: Purpose,
    ) -> Result<Spent, AgentError> {
        let Permit { verified, token, .. } = permit;
        let ActionDetails { action_type, target, parameters } = details;
        let request = UseRequest { permit: token, action_type, target, parameters };
        let permit_id = verified.claims().jti.clone();
        let receipt = self.client.use_permit(&permit_id, &request)?;
        let used = SpentUse { permit_id: &receipt.permit_id, number: receipt.number };
        let authority = Authority::spent(&verified, used)?;
        let started = Instant::now();
        let Purpose { patch_hash, undo } = purpose;
        let server = self.server.map(str::to_owned);
        let open = OpenUse { permit_id, number: receipt.number, server, patch_hash, undo };
        // Nothing is changed before it is sure that it will be reported, also after a crash.
        match keep_use(workspace, open.clone()) {
            Ok(kept) => Ok(Spent { authority, kept, workspace: workspace.to_owned(), started }),
            Err(error) => {
                let report = report_of(&open, UseOutcome::Failed, 0, &error.to_string(), None);
                self.send(&open, &report)?;
                Err(error.into())
            }
        }
    }

    /// Acts, and reports how it went. Changed files stay changed if the report fails; the next command tries again.
    pub fn act(&self, spent: Spent, action: impl FnOnce(Authority) -> Result<Applied, ApplyError>) -> Acted {
        let Spent { authority, kept, workspace, started } = spent;
        let applied = action(authority);
        let duration_ms = u64::try_from(started.elapsed().as_millis()).ok();
        let report = crate::report::of_attempt(&workspace, &kept.open, &applied, duration_ms);
        let reported = self.report(kept, &report);
        Acted { applied, reported }
    }

    fn report(&self, kept: KeptUse, report: &OutcomeReport) -> Result<(), AgentError> {
        self.send(&kept.open, report)?;
        // An unknown outcome may become known, and is reported again then.
        if report.outcome != UseOutcome::Unknown {
            kept.forget()?;
        }
        Ok(())
    }

    pub(crate) fn send(&self, open: &OpenUse, report: &OutcomeReport) -> Result<(), ClientError> {
        self.client.report_outcome(&open.permit_id, report).map(drop)
    }
}

/// The change that a use is spent for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Purpose {
    /// The patch set.
    pub patch_hash: String,
    /// Whether the change is taken back rather than made.
    pub undo: bool,
}

/// The status of an action, when it is no longer held or the time is over. Nothing, if there is no such action.
pub fn wait(client: &Client, action_id: &str, seconds: u64) -> Result<Option<ActionStatus>, ClientError> {
    // Without an end, if the clock cannot count that far.
    let end = Instant::now().checked_add(Duration::from_secs(seconds));
    loop {
        let left = end.map_or(u64::MAX, |end| end.saturating_duration_since(Instant::now()).as_secs());
        let left = left.min(POLL_SECONDS_MAX);
        let status =
            if left == 0 { client.action(action_id)? } else { client.wait_for_action(action_id, left)? };
        let is_held = status.as_ref().is_some_and(|status| status.state == ActionState::Held);
        if !is_held || left == 0 {
            return Ok(status);
        }
    }
}

fn same(expected: &str, found: &str) -> Result<(), AgentError> {
    if expected == found {
        return Ok(());
    }
    Err(AgentError::Mismatch { expected: expected.to_owned(), found: found.to_owned() })
}
