//! The annotations of a policy. Cedar does not look at them, so all of it is checked here.

use super::people::People;
use super::problem::Problem;
use crate::limits::{APPROVALS_MAX, EXECUTIONS_MAX};
use cedar_policy::{Effect, Policy};
use ordain_spec::action::ApprovalClass;
use ordain_spec::limits::{STANDING_MS_MAX, STANDING_USES_MAX};
use ordain_spec::statement::Assurance;
use std::collections::{BTreeMap, BTreeSet};

/// The demands of a policy beyond its condition.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) reason: Option<String>,
    pub(crate) class: ApprovalClass,
    /// Approvals that it takes.
    pub(crate) approvals: usize,
    /// As the policy names them: groups and actors.
    pub(crate) approver_names: Vec<String>,
    /// The ids of all actors among them.
    pub(crate) approvers: BTreeSet<String>,
    /// How sure it must be that a person is behind each approval.
    pub(crate) assurance: Assurance,
    pub(crate) effects: Vec<String>,
    pub(crate) max_executions: u64,
    /// How far its approvers may say that the same deed may be repeated.
    pub(crate) standing: Option<StandingTerms>,
}

/// The bounds of standing grants for a permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StandingTerms {
    pub(crate) uses: u64,
    pub(crate) ms: u64,
}

const KNOWN: [&str; 8] =
    ["id", "reason", "approval", "approvers", "assurance", "effects", "max_executions", "standing"];
/// Own annotations of a folder's owner start with this.
const OWN_PREFIX: &str = "x_";

/// Reads and checks all annotations but `@id`.
pub(crate) fn terms(policy: &Policy, people: &People, refuse: &mut dyn FnMut(Problem)) -> Terms {
    let mut wrong = |message: String| refuse(Problem::error("", message));
    let annotations: BTreeMap<&str, &str> = policy.annotations().collect();
    for name in annotations.keys().filter(|name| !KNOWN.contains(name) && !name.starts_with(OWN_PREFIX)) {
        wrong(format!(
            "the annotation `@{name}` is not known; there are {}, and your own start with `{OWN_PREFIX}`",
            KNOWN.map(|name| format!("`@{name}`")).join(", ")
        ));
    }
    if policy.effect() == Effect::Forbid {
        for name in ["approval", "approvers", "assurance", "effects", "max_executions", "standing"] {
            if annotations.contains_key(name) {
                wrong(format!("`@{name}` says nothing on a `forbid`; it belongs to a `permit`"));
            }
        }
    }
    let get = |name: &str| annotations.get(name).copied();
    let (class, approvals) = match get("approval").map(parse_approval) {
        None => (ApprovalClass::None, 0),
        Some(Ok(parsed)) => parsed,
        Some(Err(message)) => {
            wrong(message);
            (ApprovalClass::None, 0)
        }
    };
    let approver_names = get("approvers").map(list).unwrap_or_default();
    let mut approvers = BTreeSet::new();
    let mut all_known = true;
    for name in &approver_names {
        match people.members(name) {
            Ok(members) => approvers.extend(members),
            Err(message) => {
                all_known = false;
                wrong(format!("`@approvers`: {message}"));
            }
        }
    }
    if get("approvers").is_some() && approver_names.is_empty() {
        wrong("`@approvers` names nobody".to_owned());
    }
    let effects = get("effects").map(list).unwrap_or_default();
    if get("effects").is_some() && effects.is_empty() {
        wrong("`@effects` is empty".to_owned());
    }
    let persons = people.persons(&approvers).len();
    if approvals > 0 && get("approvers").is_none() {
        wrong("asks for approvals without `@approvers(\"…\")`".to_owned());
    } else if approvals > persons && all_known && !approver_names.is_empty() {
        wrong(format!("asks for {approvals} approvals, and `@approvers` names fewer people: {persons}"));
    }
    let assurance = match get("assurance").map(Assurance::parse) {
        None => Assurance::Local,
        Some(Some(assurance)) => assurance,
        Some(None) => {
            let names = Assurance::ALL.map(|assurance| format!("`{}`", assurance.name())).join(", ");
            wrong(format!("`@assurance` must be one of {names}"));
            Assurance::Presence
        }
    };
    if get("assurance").is_some() && approvals == 0 {
        wrong("`@assurance` has no effect without `@approval(\"…\")`".to_owned());
    }
    let max_executions = match get("max_executions").map(str::parse::<u64>) {
        None => 1,
        Some(Ok(count)) if (1..=EXECUTIONS_MAX).contains(&count) => count,
        Some(_) => {
            wrong(format!("`@max_executions` must be a whole number from 1 to {EXECUTIONS_MAX}"));
            1
        }
    };
    let standing = match get("standing").map(parse_standing) {
        None => None,
        Some(Ok(terms)) => Some(terms),
        Some(Err(message)) => {
            wrong(message);
            None
        }
    };
    if get("standing").is_some() && !(approvals > 0 && assurance.needs_signature()) {
        wrong(
            "`@standing` needs approvals that are signed: `@approval(\"…\")` with `@assurance(\"recent\")` or `\"presence\"`"
                .to_owned(),
        );
    }
    Terms {
        reason: get("reason").map(str::trim).filter(|reason| !reason.is_empty()).map(str::to_owned),
        class,
        approvals,
        approver_names,
        approvers,
        assurance,
        effects,
        max_executions,
        standing,
    }
}

fn list(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// `uses=N, hours=N`: both in any order, each at most once; what is missing is as large as it can be.
fn parse_standing(text: &str) -> Result<StandingTerms, String> {
    const HOUR_MS: u64 = 3_600_000;
    let wrong = || {
        format!(
            "`@standing(\"{text}\")` must be `uses=N` with N from 1 to {STANDING_USES_MAX}, `hours=N` with N from 1 to {}, or both \
             with a comma",
            STANDING_MS_MAX / HOUR_MS
        )
    };
    let (mut uses, mut hours) = (None, None);
    for part in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
        let (name, number) = part.split_once('=').ok_or_else(wrong)?;
        let number: u64 = number.trim().parse().map_err(|_| wrong())?;
        let (place, largest) = match name.trim() {
            "uses" => (&mut uses, STANDING_USES_MAX),
            "hours" => (&mut hours, STANDING_MS_MAX / HOUR_MS),
            _ => return Err(wrong()),
        };
        if !(1..=largest).contains(&number) || place.replace(number).is_some() {
            return Err(wrong());
        }
    }
    Ok(StandingTerms {
        uses: uses.unwrap_or(STANDING_USES_MAX),
        ms: hours.map_or(STANDING_MS_MAX, |hours| hours * HOUR_MS),
    })
}

fn parse_approval(text: &str) -> Result<(ApprovalClass, usize), String> {
    let threshold = text.strip_prefix("threshold:").map(str::parse::<usize>);
    match (text, threshold) {
        ("none", _) => Ok((ApprovalClass::None, 0)),
        ("single", _) => Ok((ApprovalClass::Single, 1)),
        ("dual", _) => Ok((ApprovalClass::Dual, 2)),
        (_, Some(Ok(count))) if (1..=APPROVALS_MAX).contains(&count) => Ok((ApprovalClass::Threshold, count)),
        _ => Err(format!(
            "`@approval(\"{text}\")` must be `none`, `single`, `dual` or `threshold:N` with N from 1 to {APPROVALS_MAX}"
        )),
    }
}

/// The id of a policy, if it has one that a decision can name.
pub(crate) fn policy_id(policy: &Policy) -> Result<&str, String> {
    let Some(id) = policy.annotation("id") else {
        return Err(
            "a policy has no `@id`; decisions name the policies they follow, so each needs one".to_owned()
        );
    };
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    if id.is_empty() || !id.chars().all(plain) {
        return Err(format!("`@id(\"{id}\")` must be letters, digits, `.`, `_` and `-`"));
    }
    Ok(id)
}
