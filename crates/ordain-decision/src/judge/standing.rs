//! Standing grants: approvals of an earlier action, whose approvers signed that the same deed may be done again. They
//! stand in for missing approvals and for nothing else: everything about the proposal is judged as ever.

use super::Case;
use super::approvals::{Approved, Demands, counted};
use super::shell::ShellEffects;
use crate::limits::STANDING_PERMIT_MS;
use crate::policy::{PolicySet, Statement};
use ordain_canon::time::moment;
use ordain_canon::{ActionHash, Canonicalizer, ContentHash, Value};
use ordain_shell::EffectKind;
use ordain_spec::Sha256;
use ordain_spec::action::{Deed, Proposal};
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::standing::{STANDING_SCHEMA_VERSION, StandingScope, common_scope};
use std::collections::{BTreeMap, BTreeSet};

/// A standing grant that could stand in for the approvals of a proposal.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    /// Its id.
    pub grant_id: &'a str,
    /// As [`standing_document`] writes it.
    pub document: &'a Value<'a>,
    /// How often it was used before.
    pub used: u64,
    /// The project of the proposal's deed.
    pub project: &'a str,
    /// The principal of the proposal's deed.
    pub principal: &'a str,
}

/// On what terms the approvers of a held proposal may say that its deed may be repeated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StandingOffer {
    /// The permits that ask for approvals, and the hash of each one's text.
    pub permits: BTreeMap<String, Sha256>,
    /// How many later calls they may cover at most.
    pub max_uses: u64,
    /// For how long at most, in milliseconds.
    pub max_ms: u64,
}

/// The document of a grant: the action that was approved, its proposal, and the approvals, which are signed.
pub fn standing_document<'v>(
    action_id: &'v str,
    proposal: Value<'v>,
    approvals: Vec<Value<'v>>,
) -> Value<'v> {
    Value::Object(vec![
        ("action_id".into(), Value::String(action_id.into())),
        ("approvals".into(), Value::Array(approvals)),
        ("proposal".into(), proposal),
        ("standing_schema_version".into(), Value::String(STANDING_SCHEMA_VERSION.into())),
    ])
}

/// A grant whose scope covers the proposal. Its approvals are not counted yet.
pub(super) struct Granted<'a> {
    id: &'a str,
    number: u64,
    scope: StandingScope,
    pub(super) approvals: &'a [Value<'a>],
    /// The proposal that they are about.
    pub(super) proposal_hash: ActionHash,
}

impl<'a> Granted<'a> {
    /// The grant as this use of it, or why it does not cover the proposal.
    pub(super) fn of(standing: &Standing<'a>, case: &Case<'a>) -> Result<Self, String> {
        let Standing { grant_id, document, used, project, principal } = *standing;
        let damaged = || "it is not a grant".to_owned();
        let (Some(sample), Some(approvals)) =
            (document.get("proposal"), document.get("approvals").and_then(Value::as_array))
        else {
            return Err(damaged());
        };
        let action_id = document.get("action_id").and_then(Value::as_str).ok_or_else(damaged)?;
        let typed: Result<Vec<Approval>, _> = approvals.iter().map(Value::to_typed::<Approval>).collect();
        let typed = typed.map_err(|_| damaged())?;
        for approval in &typed {
            let signature = approval.signature.as_ref().filter(|_| approval.verdict == Verdict::Approve);
            let fits = signature.is_some_and(|signature| {
                let origin = signature.origin.as_str();
                let of_project = project.strip_prefix(origin);
                let here = of_project.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                here && signature.action_id.as_str() == action_id
            });
            if !fits {
                let approver = approval.approver.as_str();
                return Err(format!(
                    "the approval by `{approver}` is of another gate or action, or not signed"
                ));
            }
        }
        let scope = common_scope(&typed).ok_or("its approvals cover nothing in common but one action")?;
        let (Ok(before), Ok(now)) = (sample.to_typed::<Proposal>(), case.document.to_typed::<Proposal>())
        else {
            return Err(damaged());
        };
        for proposal in [&before, &now] {
            if !has_deed(&scope.deed, project, principal, proposal) {
                return Err("it is for another deed".to_owned());
            }
        }
        if now.time_window.as_ref().is_some_and(|window| window.valid_from_ms > case.now_ms) {
            return Err("the window of the proposal is not open yet".to_owned());
        }
        if case.now_ms >= scope.until_ms {
            return Err(format!("it ended at {}", moment(scope.until_ms)));
        }
        if used >= scope.max_uses {
            return Err(format!("all of its {} are over", counted(whole(scope.max_uses), "use")));
        }
        let proposal_hash =
            ActionHash::of(&mut Canonicalizer::new(), sample).map_err(|error| error.to_string())?;
        Ok(Self { id: grant_id, number: used + 1, scope, approvals, proposal_hash })
    }

    /// Why it does not meet what is asked of this proposal.
    pub(super) fn problem(&self, set: &PolicySet, demands: &Demands<'_>) -> Option<String> {
        if demands.all.iter().any(|demand| demand.policy().is_none()) {
            return Some("the proposal itself asks for approvals".to_owned());
        }
        let statements = demands.all.iter().filter_map(|demand| set.statement(demand.policy()?));
        statements.into_iter().find_map(|statement| match self.scope.permits.get(&statement.id) {
            _ if statement.terms.standing.is_none() => Some(format!("`{}` has no `@standing`", statement.id)),
            Some(text) if *text == text_hash(statement) => None,
            Some(_) => Some(format!("`{}` has another text than when it was approved", statement.id)),
            None => Some(format!("it was not given for `{}`", statement.id)),
        })
    }

    /// The reason of an ALLOW.
    pub(super) fn told(&self, approved: &Approved<'_>) -> String {
        let have = approved.have();
        let names: Vec<String> = have.iter().map(|name| format!("`{name}`")).collect();
        format!(
            "{} by the grant `{}` ({}): use {} of {}, until {}",
            counted(have.len(), "approval"),
            self.id,
            names.join(", "),
            self.number,
            self.scope.max_uses,
            moment(self.scope.until_ms)
        )
    }

    /// Its permits are for once and for at once.
    pub(super) fn permit_until_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add(STANDING_PERMIT_MS).min(self.scope.until_ms)
    }
}

/// Whether it is the deed of a proposal, in whose recorded form the gate may have written the window.
fn has_deed(deed: &Sha256, project: &str, principal: &str, proposal: &Proposal) -> bool {
    let without = Proposal { time_window: None, ..proposal.clone() };
    [proposal, &without].into_iter().any(|proposal| {
        let own = Deed::of(project, principal, proposal, |_| false);
        own.is_ok_and(|own| own.to_string() == deed.as_str())
    })
}

/// Why no grant can cover a proposal, whatever its approvers sign.
pub(super) fn uncovered(
    proposal: &Proposal,
    document: &Value<'_>,
    derived: Option<&ShellEffects>,
) -> Option<&'static str> {
    if proposal.evidence_bindings.as_ref().is_some_and(|bindings| !bindings.is_empty()) {
        return Some("it rests on evidence");
    }
    let resolved = document.get("parameters").and_then(|parameters| parameters.get("resolved"));
    if resolved.is_some_and(|resolved| resolved.get("unresolved").is_some()) {
        return Some("it names something whose content is not known");
    }
    let effects = derived.map(|derived| derived.effects.as_slice()).unwrap_or_default();
    let is_open = |kind: EffectKind| matches!(kind, EffectKind::Opaque | EffectKind::RunsCode);
    if effects.iter().any(|effect| !effect.known || is_open(effect.effect)) {
        return Some("its command runs code, or cannot be read in full");
    }
    None
}

/// The terms that the permits which ask for approvals have in common; none where one of them has none.
pub(super) fn offer(set: &PolicySet, demands: &Demands<'_>) -> Option<StandingOffer> {
    let ids: Option<BTreeSet<&str>> = demands.all.iter().map(|demand| demand.policy()).collect();
    let statements: Option<Vec<&Statement>> = ids?.into_iter().map(|id| set.statement(id)).collect();
    let statements = statements.filter(|statements| !statements.is_empty() && !demands.unsaid)?;
    let terms: Option<Vec<_>> = statements.iter().map(|statement| statement.terms.standing).collect();
    let terms = terms?;
    Some(StandingOffer {
        permits: statements.iter().map(|it| (it.id.clone(), text_hash(it))).collect(),
        max_uses: terms.iter().map(|terms| terms.uses).min()?,
        max_ms: terms.iter().map(|terms| terms.ms).min()?,
    })
}

/// The hash of a policy's text with its annotations.
fn text_hash(statement: &Statement) -> Sha256 {
    Sha256::from(ContentHash::of(statement.policy.to_string().as_bytes()))
}

fn whole(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
