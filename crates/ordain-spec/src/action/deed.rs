//! The deed of a call: which action it asks for, whoever is asked how often. Two calls with the same deed are the same
//! request to the same gate by the same principal.

use super::{EvidenceBinding, Proposal};
use ordain_canon::{Canonicalizer, ContentHash, WriteError};
use serde::Serialize;
use std::fmt;

/// The hash of everything about a call except for what differs between two calls for the same thing. The list
/// of exceptions is closed: `proposal_id`, `ts_ms`, a `time_window` that the gate wrote, and evidence from
/// hooks and gateways.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Deed(ContentHash);

/// The sensor of hooks of coding agents.
pub const HOOK_SENSOR: &str = "ordain-hook";

/// Sensors whose packets say where a call came from. They are not part of its deed.
pub const SOURCE_SENSORS: [&str; 2] = [HOOK_SENSOR, "ordain-gateway"];

/// The sensor of runs in the sandbox. Its packets say what a run came to; unless a runner's own key signed
/// them, the proposer may have made them up.
pub const RUNNER_SENSOR: &str = "ordain-sandbox";

/// The project of a deed: the ledger's name, and the id of the project where the gate has registered one.
pub fn project_name(origin: &str, project: Option<&str>) -> String {
    match project {
        Some(project) => format!("{origin}/{project}"),
        None => origin.to_owned(),
    }
}

#[derive(Serialize)]
struct Form<'a> {
    project: &'a str,
    principal: &'a str,
    proposal: ProposalForm<'a>,
}

/// A proposal without what is not part of the deed.
#[derive(Serialize)]
struct ProposalForm<'a> {
    actor: &'a super::NonEmpty,
    action_type: &'a super::ActionType,
    target: &'a super::Target,
    parameters: &'a super::Map<String, super::Json>,
    preconditions: &'a Option<Vec<super::Precondition>>,
    risk_envelope: &'a Option<super::RiskEnvelope>,
    rollback_semantics: &'a Option<super::RollbackSpec>,
    time_window: &'a Option<super::TimeWindow>,
    approval_class: &'a Option<super::ApprovalClass>,
    evidence_bindings: Option<Vec<&'a EvidenceBinding>>,
}

impl Deed {
    /// The deed of a call as its caller sent it, before the gate adds a `time_window`. `is_source` says
    /// whether an evidence id is that of a packet from one of [`SOURCE_SENSORS`].
    pub fn of(
        project: &str,
        principal: &str,
        proposal: &Proposal,
        is_source: impl Fn(&str) -> bool,
    ) -> Result<Self, WriteError> {
        // Without `..`: a new field is part of the deed until somebody decides otherwise.
        let Proposal {
            proposal_id: _,
            ts_ms: _,
            actor,
            action_type,
            target,
            parameters,
            preconditions,
            risk_envelope,
            rollback_semantics,
            time_window,
            approval_class,
            evidence_bindings,
        } = proposal;
        let bound = |bindings: &'_ Vec<EvidenceBinding>| -> bool {
            bindings.iter().any(|binding| !is_source(binding.evidence_id.as_str()))
        };
        let evidence_bindings =
            evidence_bindings.as_ref().filter(|bindings| bindings.is_empty() || bound(bindings));
        let evidence_bindings = evidence_bindings.map(|bindings| {
            bindings.iter().filter(|binding| !is_source(binding.evidence_id.as_str())).collect()
        });
        let proposal = ProposalForm {
            actor,
            action_type,
            target,
            parameters,
            preconditions,
            risk_envelope,
            rollback_semantics,
            time_window,
            approval_class,
            evidence_bindings,
        };
        let form = Form { project, principal, proposal };
        Ok(Self(ContentHash::of(Canonicalizer::new().value(&form)?)))
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
