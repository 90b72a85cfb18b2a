//! The pinned gate: asked before a call is sent, told how it went.

use crate::call::Call;
use crate::journal::Journal;
use crate::rounds::Sealer;
use ordain_api::{
    ActQuery, ActionState, ActionStatus, ListingReport, OutcomeReport, ProblemCode, UseOutcome, UseReceipt,
};
use ordain_canon::{Canonicalizer, ParametersHash};
use ordain_client::{Client, ClientError};
use ordain_decision::{PublicKey, PublicKeys, VerifiedPermit};
use ordain_spec::action::{KernelRequest, ToolCall};
use ordain_spec::decision::Outcome;
use ordain_spec::mcp::Listing;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The class of worker that permits must be for.
const AUDIENCE: &str = "worker";

/// A gate, the key that signs its permits, and the agent that asks.
pub struct Gatekeeper {
    client: Client,
    key: PublicKey,
    actor: String,
    journal: Journal,
    sealer: Sealer,
}

/// The gate's answer to a call.
pub(crate) enum Answer {
    /// The use of a permit: send the call now.
    Allowed(UseReceipt),
    Held(Box<ActionStatus>),
    Denied(Box<ActionStatus>),
}

/// A call in the form that the gate judges.
pub(crate) struct Judged {
    tool: String,
    intent: String,
    parameters: Map<String, Json>,
}

impl Judged {
    pub(crate) fn of(
        call: &Call,
        server: &str,
        upstream: &str,
        pins: Map<String, Json>,
    ) -> Result<Self, String> {
        let parameters = call.parameters(server, upstream, pins)?;
        let tool = format!("mcp.{server}.{}", call.tool);
        let intent = format!("Call `{}` of the MCP server `{server}`", call.tool);
        Ok(Self { tool, intent, parameters })
    }
}

impl Gatekeeper {
    /// A gate whose permits this key signs. Calls under way are noted in `notes`; those that an earlier gateway left
    /// open are reported
    /// as unknown.
    pub fn new(client: Client, key: PublicKey, actor: String, notes: &Path) -> Result<Self, String> {
        let keys = client.keys().map_err(|error| error.to_string())?.keys;
        if !keys.iter().any(|known| PublicKey::parse(&known.x).is_ok_and(|known| known == key)) {
            return Err("the gate has another key than the one that is pinned".to_owned());
        }
        let (journal, left_open) =
            Journal::open(notes).map_err(|error| format!("{}: {error}", notes.display()))?;
        let scope = format!("{actor}\n{}", notes.display());
        let sealer = Sealer::new(crate::journal::round_key(notes)?, scope);
        let gatekeeper = Self { client, key, actor, journal, sealer };
        for action_id in left_open {
            gatekeeper.settle_left_open(&action_id);
        }
        Ok(gatekeeper)
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.sealer
    }

    /// Reports the open uses of an action as unknown. After the deadline only a person settles them, and they are
    /// unknown already.
    fn settle_left_open(&self, action_id: &str) {
        let Ok(Some(ActionStatus { permit: Some(permit), .. })) = self.client.action(action_id) else {
            return;
        };
        for used in permit.uses.iter().filter(|used| used.settled.is_none()) {
            let reason = "the gateway ended before the server answered";
            let _ = self.send_report(&permit.permit_id, used.number, UseOutcome::Unknown, reason, None);
        }
    }

    /// The tools of a list that the agent is not shown, and why.
    pub(crate) fn hidden(
        &self,
        server: &str,
        listing: Listing,
        whole: bool,
    ) -> Result<BTreeMap<String, String>, String> {
        let report = ListingReport { actor: self.actor.clone(), listing, whole };
        let answer = self.client.report_listing(server, &report).map_err(|error| said(&error))?;
        Ok(answer.hidden)
    }

    /// Decides a call and, if it is allowed, uses its permit.
    pub(crate) fn act(&self, call: &Judged, waited_for: Option<&str>) -> Result<Answer, String> {
        let request_id = format!("mcp-{}", random_id()?);
        // Before the gate is asked: it may allow the call, and this process may end before it hears of it.
        self.journal.begin(&request_id).map_err(|error| error.to_string())?;
        let answered = self.ask(call, &request_id, waited_for);
        if !answered
            .as_ref()
            .is_ok_and(|answer| matches!(answer, Answer::Allowed(used) if used.action_id == request_id))
        {
            self.journal.end(&request_id).map_err(|error| error.to_string())?;
        }
        answered
    }

    fn ask(&self, call: &Judged, request_id: &str, waited_for: Option<&str>) -> Result<Answer, String> {
        let request = KernelRequest {
            request_id: request_id.to_owned(),
            ts_ms: now_ms(),
            actor: serde_json::from_value(Json::String(self.actor.clone()))
                .map_err(|error| error.to_string())?,
            intent: call.intent.clone(),
            tool_call: Some(ToolCall {
                name: serde_json::from_value(Json::String(call.tool.clone()))
                    .map_err(|error| error.to_string())?,
                params: Some(call.parameters.clone()),
            }),
            params: None,
            evidence: None,
        };
        let mut canon = Canonicalizer::new();
        let document = canon.value(&request).map_err(|error| error.to_string())?;
        let query = ActQuery { waited_for: waited_for.map(str::to_owned), ..ActQuery::default() };
        let waits = waited_for.is_some();
        let answer = self.client.act(document, &query).map_err(|error| match said(&error) {
            said if waits && error.code() == Some(ProblemCode::Conflict) => {
                format!("another call used the approval: {said}")
            }
            said => said,
        })?;
        match answer.outcome {
            Outcome::Hold => Ok(Answer::Held(Box::new(answer.action))),
            Outcome::Deny => Ok(Answer::Denied(Box::new(answer.action))),
            Outcome::Allow => {
                self.check_permit(call, &answer.action)?;
                let used = answer.used.ok_or("the gate allows the call and names no use of a permit")?;
                if used.action_id != request_id {
                    self.journal.begin(&used.action_id).map_err(|error| error.to_string())?;
                }
                Ok(Answer::Allowed(used))
            }
        }
    }

    /// That the pinned gate signed a permit for exactly this call.
    fn check_permit(&self, call: &Judged, action: &ActionStatus) -> Result<(), String> {
        let token = action.permit.as_ref().and_then(|permit| permit.token.as_deref());
        let token = token.ok_or("the gate allows the call and shows no permit")?;
        let keys = PublicKeys::from([(self.key.id(), self.key.clone())]);
        let permit = VerifiedPermit::verify(token, &keys, AUDIENCE, now_ms());
        let permit = permit.map_err(|error| format!("the permit {error}"))?;
        let parameters = ParametersHash::of(&mut Canonicalizer::new(), &call.parameters);
        let same = parameters.map_err(|error| error.to_string())?.is(&permit.claims().parameters_hash);
        if !same || permit.claims().sub != self.actor {
            return Err("the permit is for another call".to_owned());
        }
        Ok(())
    }

    /// Waits until an action is no longer held, or until the time is over.
    pub(crate) fn wait(&self, action_id: &str, time: Duration) -> Result<Option<ActionStatus>, String> {
        let status =
            self.client.wait_for_action(action_id, time.as_secs().max(1)).map_err(|error| said(&error))?;
        Ok(status.filter(|status| status.state != ActionState::Held))
    }

    /// Reports how a use went.
    pub(crate) fn report(
        &self,
        used: &UseReceipt,
        outcome: UseOutcome,
        reason: &str,
        duration: Duration,
    ) -> Result<(), String> {
        let duration_ms = u64::try_from(duration.as_millis()).ok();
        self.send_report(&used.permit_id, used.number, outcome, reason, duration_ms)?;
        self.journal.end(&used.action_id).map_err(|error| error.to_string())
    }

    fn send_report(
        &self,
        permit_id: &str,
        number: u64,
        outcome: UseOutcome,
        reason: &str,
        duration_ms: Option<u64>,
    ) -> Result<(), String> {
        let reason = reason.to_owned();
        let report =
            OutcomeReport { number, outcome, affected_records: None, duration_ms, reason, change: None };
        self.client.report_outcome(permit_id, &report).map(drop).map_err(|error| said(&error))
    }
}

/// An error of the gate with its reasons.
fn said(error: &ClientError) -> String {
    let ClientError::Problem(problem) = error else { return format!("the gate cannot be asked: {error}") };
    let reasons = problem.reasons.iter().map(|reason| format!("[{}] {}", reason.rule_id, reason.message));
    std::iter::once(problem.detail.clone()).chain(reasons).collect::<Vec<_>>().join("; ")
}

pub(crate) fn random_id() -> Result<String, String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
