//! `decide`: from a proposal to a decision with every reason.

mod approvals;
mod ask;
mod compare;
mod evidence;
mod misses;
mod pins;
mod reasons;
mod shell;
mod standing;
mod subject;

use crate::limits::WINDOW_MS_DEFAULT;
use crate::permit::Grant;
use crate::policy::schema::action_name;
use crate::policy::{PolicySet, name_fault};
use approvals::{Approved, Demands, Given};
use ask::Answer;
use misses::Examiner;
use ordain_canon::{
    ActionHash, Canonicalizer, ContentHash, EvidenceSetHash, PacketHash, ParametersHash, TargetHash, Value,
};
use ordain_spec::action::{
    ApprovalClass, KernelRequest, Proposal, RollbackStrategy, is_request, map_request,
};
use ordain_spec::decision::{Approvals, Decision, Outcome, SCHEMA_VERSION, gate};
use ordain_spec::limits::FRESHNESS_MS_DEFAULT;
use ordain_spec::mcp::Pins;
use ordain_spec::statement::{ApproverKeys, Assurance};
use ordain_spec::{Facts, Kind, Nullable, RuleId, Sha256, verify_value};
use reasons::Reasons;
use standing::{Granted, uncovered};
use std::collections::BTreeSet;
use subject::{Asker, Subject, rollback, subjects, table_effects};

pub use misses::{Check, Examined, nearest};
pub use pins::mcp_server_of;
pub(crate) use shell::SHELL;
pub use shell::{ShellEffects, derive_shell};
pub use standing::{Standing, StandingOffer, standing_document};

/// Everything that a decision depends on.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// An action proposal or a KernelRequest.
    pub document: &'a Value<'a>,
    /// The policies in force.
    pub policies: &'a PolicySet,
    /// The evidence packets held.
    pub evidence: &'a [Value<'a>],
    /// The approvals and rejections given.
    pub approvals: &'a [Value<'a>],
    /// The keys of approvers in force.
    pub approver_keys: &'a ApproverKeys,
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
    /// Whether an operator has halted the gate.
    pub halted: bool,
    /// The folder of the project, from the root of the file system, for the effects of shell commands. Without it,
    /// paths from the root are outside.
    pub workspace: Option<&'a str>,
}

/// A decision, and what follows from it.
#[derive(Clone, PartialEq, Debug)]
pub struct Judgement {
    /// The decision for the record.
    pub decision: Decision,
    /// With an ALLOW: what a permit can be made of.
    pub grant: Option<Grant>,
    /// With a HOLD: how sure the approvals that are missing must be.
    pub assurance: Option<Assurance>,
    /// With an ALLOW or a HOLD: how far its approvers may say that the same deed may be repeated.
    pub standing: Option<StandingOffer>,
    /// Whether it is an ALLOW by a standing grant, one of whose uses it takes.
    pub by_grant: bool,
    /// How many policies were evaluated.
    pub evaluated: usize,
}

/// Decides.
///
/// ```
/// use ordain_canon::Value;
/// use ordain_decision::{Case, PolicyFiles, PolicySet, decide};
/// use ordain_spec::decision::Outcome;
/// use ordain_spec::statement::NO_KEYS;
/// let policy = "@id(\"read\") permit(principal, action in Action::\"observe\", resource);";
/// let files = PolicyFiles::from([("read.cedar".to_owned(), policy.to_owned())]);
/// let policies = PolicySet::load(&files).unwrap_or_else(|problems| panic!("{problems:?}"));
/// let text = br#"{"proposal_id": "1", "ts_ms": 1, "actor": "agent", "action_type": "read", "parameters": {},
///     "target": {"resource_type": "file", "resource_id": "README.md", "domain": "workspace", "constraints": {}}}"#;
/// let document = Value::read(text).unwrap_or_else(|error| panic!("{error}"));
/// let (evidence, approvals, approver_keys) = (&[], &[], &NO_KEYS);
/// let case = Case { document: &document, policies: &policies, evidence, approvals, approver_keys, now_ms: 1, halted: false, workspace: None };
/// assert_eq!(decide(&case).decision.outcome, Outcome::Allow);
/// let halted = decide(&Case { halted: true, ..case });
/// assert_eq!(halted.decision.outcome, Outcome::Deny);
/// ```
pub fn decide(case: &Case<'_>) -> Judgement {
    let mut judge = Judge::new(case);
    judge.judge_document(case.document);
    judge.finish()
}

/// Decides about a text instead of the case's own document, which is not looked at. Unreadable text is denied.
///
/// ```
/// use ordain_canon::Value;
/// use ordain_decision::{Case, PolicyFiles, PolicySet, decide_text};
/// use ordain_spec::statement::NO_KEYS;
/// let policies = PolicySet::load(&PolicyFiles::new()).unwrap_or_else(|problems| panic!("{problems:?}"));
/// let document = &Value::Null;
/// let (evidence, approvals, approver_keys) = (&[], &[], &NO_KEYS);
/// let case = Case { document, policies: &policies, evidence, approvals, approver_keys, now_ms: 1, halted: false, workspace: None };
/// let decision = decide_text(b"{", &case).decision;
/// assert_eq!(decision.reasons[0].rule_id, "PARSE");
/// ```
pub fn decide_text(text: &[u8], case: &Case<'_>) -> Judgement {
    let mut judge = Judge::new(case);
    match Value::read(text) {
        Err(error) => judge.reasons.deny(RuleId::Parse, error.pointer.clone(), error.to_string()),
        Ok(document) => judge.judge_document(&document),
    }
    judge.finish()
}

/// Decides about a shell command by effects that were derived before, as [`derive_shell`] does with the workspace. For
/// any other proposal they do not matter.
pub fn decide_derived(case: &Case<'_>, derived: &ShellEffects) -> Judgement {
    let mut judge = Judge::new(case);
    judge.derived = Some(derived.clone());
    judge.judge_document(case.document);
    judge.finish()
}

/// The same where it is known which tools of MCP servers an owner approved: a call of another one is denied.
/// `derived` is there for a shell command, and `pins` for a server of which something is approved.
pub fn decide_pinned(case: &Case<'_>, derived: Option<&ShellEffects>, pins: Option<&Pins>) -> Judgement {
    let mut judge = Judge::pinned(case, derived, pins);
    judge.judge_document(case.document);
    judge.finish()
}

/// The same where a standing grant could stand in for approvals that nobody gave. It never makes more of a proposal
/// than its approvals would: what is allowed or denied without it is decided without it.
pub fn decide_standing(
    case: &Case<'_>,
    derived: Option<&ShellEffects>,
    pins: Option<&Pins>,
    standing: &Standing<'_>,
) -> Judgement {
    let alone = decide_pinned(case, derived, pins);
    if alone.decision.outcome != Outcome::Hold || !case.approvals.is_empty() {
        return alone;
    }
    let problem = match Granted::of(standing, case) {
        Err(problem) => problem,
        Ok(granted) => {
            let mut judge = Judge::pinned(case, derived, pins);
            judge.granted = Some(granted);
            judge.judge_document(case.document);
            let problem = judge.granted_problem.take().or_else(|| judge.reasons.first(gate::NOT_COUNTED));
            let judgement = judge.finish();
            if judgement.decision.outcome == Outcome::Allow {
                return Judgement { by_grant: true, ..judgement };
            }
            problem.unwrap_or_else(|| "its approvals are not enough".to_owned())
        }
    };
    let mut judge = Judge::pinned(case, derived, pins);
    let message = format!("the grant `{}` does not count: {problem}", standing.grant_id);
    judge.reasons.tell(gate::STANDING, message);
    judge.judge_document(case.document);
    judge.finish()
}

/// Decides about a proposal by which somebody takes back the change of an action, with their own authority.
/// The caller has made sure that they may; the policies are not asked. Everything else that is wrong with the
/// proposal denies it as ever.
pub fn decide_own_undo(case: &Case<'_>, undoes: &str) -> Judgement {
    let mut judge = Judge::new(case);
    judge.undoes = Some(undoes.to_owned());
    judge.judge_document(case.document);
    judge.finish()
}

/// Why the policies say what they say: every policy about the action, condition by condition, with the
/// approvals that count. For a patch set it does so for each operation that a reason of the decision points
/// to.
pub fn explain(case: &Case<'_>) -> Vec<Examined> {
    let mut judge = Judge::new(case);
    judge.explaining = Some(Vec::new());
    judge.judge_document(case.document);
    judge.explaining.unwrap_or_default()
}

struct Judge<'a> {
    case: &'a Case<'a>,
    canon: Canonicalizer,
    reasons: Reasons,
    proposal_id: Option<String>,
    proposal_hash: Option<ActionHash>,
    evidence_hash: Option<EvidenceSetHash>,
    approvals: Approvals,
    /// How many approvals the policies see.
    seen: usize,
    grant: Option<Grant>,
    assurance: Option<Assurance>,
    evaluated: usize,
    explaining: Option<Vec<Examined>>,
    /// The action whose change is taken back.
    undoes: Option<String>,
    /// The effects of a shell command, where they were derived before.
    derived: Option<ShellEffects>,
    /// The grant that stands in for the approvals.
    granted: Option<Granted<'a>>,
    /// Why it does not.
    granted_problem: Option<String>,
    standing: Option<StandingOffer>,
}

impl<'a> Judge<'a> {
    fn new(case: &'a Case<'a>) -> Self {
        let mut reasons = Reasons::default();
        if case.halted {
            reasons.deny(
                gate::HALT,
                "",
                "an operator has halted the gate; nothing is allowed until the halt is lifted",
            );
        }
        Self {
            case,
            canon: Canonicalizer::new(),
            reasons,
            proposal_id: None,
            proposal_hash: None,
            evidence_hash: None,
            approvals: Approvals { class: ApprovalClass::None, required: 0, have: Vec::new() },
            seen: 0,
            grant: None,
            assurance: None,
            evaluated: 0,
            explaining: None,
            undoes: None,
            derived: None,
            granted: None,
            granted_problem: None,
            standing: None,
        }
    }

    fn pinned(case: &'a Case<'a>, derived: Option<&ShellEffects>, pins: Option<&Pins>) -> Self {
        let mut judge = Self::new(case);
        judge.derived = derived.cloned();
        let mode = mcp_server_of(case.document).map(|server| case.policies.pin_mode(server));
        if let Some(problem) = mode.and_then(|mode| pins::problem(case.document, mode, pins)) {
            judge.reasons.deny(gate::PINNED, "/parameters/mcp", problem);
        }
        judge
    }

    fn facts(&self) -> Facts<'a> {
        let sensors = &self.case.policies.sensors;
        Facts {
            now_ms: Some(i64::try_from(self.case.now_ms).unwrap_or(i64::MAX)),
            evidence: self.case.evidence,
            freshness_ms: sensors.freshness_ms.unwrap_or(FRESHNESS_MS_DEFAULT),
            sensors: Some(&sensors.by_id),
            ..Facts::default()
        }
    }

    fn judge_document(&mut self, document: &Value<'_>) {
        if is_request(document) {
            self.judge_request(document);
        } else {
            self.judge_proposal(document);
        }
    }

    /// G2, and then the proposal that the request stands for.
    fn judge_request(&mut self, document: &Value<'_>) {
        let id = document.get("request_id").and_then(Value::as_str);
        self.proposal_id = id.map(str::to_owned);
        self.proposal_hash = ActionHash::of(&mut self.canon, document).ok();
        let report = verify_value(Kind::Action, &self.facts(), document);
        self.reasons.deny_report(&report);
        let Ok(request) = document.to_typed::<KernelRequest>() else { return };
        match map_request(&request, &self.case.policies.tools) {
            Err(error) => {
                let message = format!("{error}; the policy's `tools.toml` says what a tool does");
                self.reasons.deny(gate::MAPPED, "/tool_call", message);
            }
            Ok(proposal) => {
                let bytes = self.canon.value(&proposal).map(<[u8]>::to_vec);
                let bytes = bytes.unwrap_or_default();
                match Value::read(&bytes) {
                    Ok(document) => self.judge_proposal(&document),
                    Err(error) => self.reasons.deny(RuleId::Parse, "", error.to_string()),
                }
            }
        }
    }

    fn judge_proposal(&mut self, document: &Value<'_>) {
        let id = document.get("proposal_id").and_then(Value::as_str);
        self.proposal_id = id.map(str::to_owned);
        let facts = self.facts();
        let report = verify_value(Kind::Action, &facts, document);
        self.reasons.deny_report(&report);
        let hash = match ActionHash::of(&mut self.canon, document) {
            Ok(hash) => hash,
            Err(error) => return self.reasons.deny(Kind::Action.rule(0), "", error.to_string()),
        };
        self.proposal_hash = Some(hash);
        let Ok(proposal) = document.to_typed::<Proposal>() else {
            if report.ok() {
                self.reasons.deny(Kind::Action.rule(0), "", "is not an action proposal");
            }
            return;
        };
        let set = self.case.policies;
        self.check_names(&proposal);
        let doubted = report.violations().iter().any(|violation| violation.rule == Kind::Action.rule(13));
        let observed = evidence::observe(set, &facts, &proposal, document, doubted, &mut self.reasons);
        self.check_rollback(&proposal);
        let derived = match (shell::is_judged_by_effects(&proposal, document), self.derived.take()) {
            (false, _) => None,
            (true, Some(derived)) => Some(derived),
            (true, None) => derive_shell(document, self.case.workspace),
        };
        let subjects = subjects(&proposal, document, derived.as_ref(), &mut self.reasons);
        if let Some(undoes) = self.undoes.clone() {
            let actor = proposal.actor.as_str();
            let message = format!("`{actor}` takes back the change of `{undoes}` with their own authority");
            self.reasons.tell(gate::OWN_UNDO, message);
            if self.reasons.outcome() == Outcome::Allow {
                self.grant(&proposal, document, hash, &Answer::default());
            }
            return;
        }
        let class = proposal.approval_class.unwrap_or(ApprovalClass::None);
        self.approvals.class = class;
        self.approvals.required = match class {
            ApprovalClass::None | ApprovalClass::Threshold => 0,
            ApprovalClass::Single => 1,
            ApprovalClass::Dual => 2,
        };
        let mut asker = Asker::new(set, &proposal, &subjects);
        let ready = asker.make_ready(&proposal, document, &observed, self.case.now_ms, &mut self.reasons);
        let scopes = self.scopes(&asker);
        let approvers: BTreeSet<String> = scopes.iter().flatten().cloned().collect();
        let approved = Approved::count(
            set,
            proposal.actor.as_str(),
            &approvers,
            self.granted.as_ref().map_or(&hash, |granted| &granted.proposal_hash),
            &Given {
                documents: self.granted.as_ref().map_or(self.case.approvals, |granted| granted.approvals),
                keys: self.case.approver_keys,
                now_ms: self.case.now_ms,
                asked: self.asked_of_approvers(&asker),
            },
            &mut self.reasons,
        );
        self.approvals.have = approved.have();
        if !ready {
            return self.check_effects(&proposal, &subjects, &Answer::default());
        }
        let answer = self.ask_and_wait(&proposal, &subjects, &mut asker, &approved, &scopes);
        self.evaluated = asker.evaluated;
        if self.explaining.is_some() {
            let mut examiner = Examiner::new(set, &asker, self.seen);
            let told = subjects.iter().enumerate().filter(|(_, it)| self.reasons.point_to(&it.path));
            let told = told.flat_map(|(at, subject)| {
                let examined = examiner.examine(at, action_name(subject.action), None);
                examined.into_iter().map(|it| Examined { path: subject.path.clone(), ..it })
            });
            self.explaining = Some(told.collect());
        }
        self.check_effects(&proposal, &subjects, &answer);
        self.check_standing(&proposal, document, derived.as_ref(), &subjects, &mut asker, &approved, &answer);
        if self.reasons.outcome() == Outcome::Allow {
            self.grant(&proposal, document, hash, &answer);
        }
    }

    /// G18: whether the grant meets what is asked; without one, whether the approvers may make one.
    #[expect(clippy::too_many_arguments, reason = "the parts of a proposal that was judged")]
    fn check_standing(
        &mut self,
        proposal: &Proposal,
        document: &Value<'_>,
        derived: Option<&ShellEffects>,
        subjects: &[Subject<'_>],
        asker: &mut Asker<'_>,
        approved: &Approved<'_>,
        answer: &Answer,
    ) {
        let set = self.case.policies;
        let uncovered = uncovered(proposal, document, derived);
        let demands = Demands::of(set, proposal, &answer.permit_ids, approved);
        let Some(granted) = &self.granted else {
            let mut offer = if uncovered.is_some() { None } else { standing::offer(set, &demands) };
            // Policies that look at the number of approvals do not see a grant.
            if offer.is_some() && set.reads.context("approvals") && !self.ask(subjects, asker, 0).allows() {
                offer = None;
            }
            self.standing = offer;
            return;
        };
        let problem = uncovered.map(str::to_owned).or_else(|| granted.problem(set, &demands));
        match problem {
            None if self.reasons.outcome() == Outcome::Allow => {
                let message = granted.told(approved);
                self.reasons.tell(gate::STANDING, message);
            }
            None => {}
            Some(problem) => {
                // Only its judge sees this, and decides without the grant.
                self.reasons.deny(gate::APPROVALS, "", problem.clone());
                self.granted_problem = Some(problem);
            }
        }
    }

    /// G3.
    fn check_names(&mut self, proposal: &Proposal) {
        let known = &self.case.policies.known;
        let names = [
            ("/actor", "actor", proposal.actor.as_str(), &known.actors),
            ("/target/domain", "domain", proposal.target.domain.as_str(), &known.domains),
            (
                "/target/resource_type",
                "resource type",
                proposal.target.resource_type.as_str(),
                &known.resource_types,
            ),
        ];
        for (path, what, name, known) in names {
            if let Some(fault) = name_fault(name) {
                self.reasons.deny(gate::NAMES, path, fault);
            } else if let Some(other) =
                if what == "domain" { known.like_host(name) } else { known.like(name) }
            {
                let message =
                    format!("looks like the {what} `{other}`, which the policy knows, but is another name");
                self.reasons.deny(gate::NAMES, path, message);
            }
        }
    }

    /// G7.
    fn check_rollback(&mut self, proposal: &Proposal) {
        let required = proposal.risk_envelope.as_ref().is_some_and(|envelope| envelope.reversible_required);
        if required && rollback(self.case.policies, proposal) == RollbackStrategy::None {
            let message = "`reversible_required` needs a way back: a `strategy` other than `none` here, or a `rollback` for \
                           this action in the policy's `effects.toml`";
            self.reasons.deny(gate::ROLLBACK, "/rollback_semantics", message);
        }
    }

    /// Effects that the envelope does not allow, and the policies that declare them.
    fn effect_problems(
        &self,
        proposal: &Proposal,
        subjects: &[Subject<'_>],
        permits: &BTreeSet<String>,
    ) -> Vec<(String, String, Vec<String>)> {
        let set = self.case.policies;
        let mut declared = table_effects(set, proposal, subjects);
        let of_permits = |effect: &str| -> Vec<String> {
            let declares = |id: &&String| {
                set.statement(id).is_some_and(|it| it.terms.effects.iter().any(|it| it == effect))
            };
            permits.iter().filter(declares).cloned().collect()
        };
        for statement in permits.iter().filter_map(|id| set.statement(id)) {
            declared.extend(statement.terms.effects.iter().cloned());
        }
        let mut problems = Vec::new();
        for effect in declared {
            let (path, message) = match &proposal.risk_envelope {
                None => (
                    "/risk_envelope",
                    format!("the action has the effect `{effect}`, and without an envelope none is allowed"),
                ),
                Some(envelope) if envelope.forbidden_effects.contains(&effect) => (
                    "/risk_envelope/forbidden_effects",
                    format!("the action has the effect `{effect}`, which the envelope forbids"),
                ),
                Some(envelope) if !envelope.allowed_side_effects.contains(&effect) => {
                    let message = format!(
                        "the action has the effect `{effect}`, which is not among `allowed_side_effects`"
                    );
                    ("/risk_envelope/allowed_side_effects", message)
                }
                Some(_) => continue,
            };
            problems.push((path.to_owned(), message, of_permits(&effect)));
        }
        problems
    }

    /// G6.
    fn check_effects(&mut self, proposal: &Proposal, subjects: &[Subject<'_>], answer: &Answer) {
        for (path, message, policies) in self.effect_problems(proposal, subjects, &answer.permit_ids) {
            let policies: Vec<&str> = policies.iter().map(String::as_str).collect();
            self.reasons.deny_by(gate::EFFECTS, path, message, &policies);
        }
    }

    fn grant(
        &mut self,
        proposal: &Proposal,
        document: &Value<'_>,
        proposal_hash: ActionHash,
        answer: &Answer,
    ) {
        let null = Value::Null;
        let part = |name: &str| document.get(name).unwrap_or(&null);
        let target_hash = TargetHash::of(&mut self.canon, part("target"));
        let parameters_hash = ParametersHash::of(&mut self.canon, part("parameters"));
        let evidence_set_hash = self.evidence_set_hash();
        let (Ok(target_hash), Ok(parameters_hash), Some(evidence_set_hash)) =
            (target_hash, parameters_hash, evidence_set_hash)
        else {
            return self.reasons.deny(Kind::Action.rule(0), "", "its parts have no canonical form");
        };
        let set = self.case.policies;
        let permits = answer.permit_ids.iter().filter_map(|id| set.statement(id));
        let now_ms = self.case.now_ms;
        let window = proposal.time_window.as_ref();
        let valid_until_ms =
            window.map_or(now_ms.saturating_add(WINDOW_MS_DEFAULT), |window| window.valid_until_ms);
        self.grant = Some(Grant {
            actor: proposal.actor.as_str().to_owned(),
            proposal_id: proposal.proposal_id.clone(),
            proposal_hash,
            action_type: proposal.action_type,
            target_hash,
            parameters_hash,
            evidence_set_hash,
            policy_hash: set.hash(),
            decided_at_ms: now_ms,
            valid_from_ms: window.map_or(now_ms, |window| window.valid_from_ms),
            valid_until_ms: match &self.granted {
                Some(granted) => valid_until_ms.min(granted.permit_until_ms(now_ms)),
                None => valid_until_ms,
            },
            max_executions: match &self.granted {
                Some(_) => 1,
                None => permits.map(|permit| permit.terms.max_executions).min().unwrap_or(1),
            },
            max_duration_ms: window.map(|window| window.max_duration_ms),
            max_affected_records: proposal
                .risk_envelope
                .as_ref()
                .map(|envelope| envelope.max_affected_records),
        });
    }

    /// The hash of all packets. A packet that has no canonical form cannot be recorded, so nothing is allowed with it.
    fn evidence_set_hash(&mut self) -> Option<EvidenceSetHash> {
        if self.evidence_hash.is_none() {
            let mut hashes = Vec::with_capacity(self.case.evidence.len());
            for packet in self.case.evidence {
                hashes.push(PacketHash::of(&mut self.canon, packet).ok()?);
            }
            self.evidence_hash = EvidenceSetHash::of(&mut self.canon, &hashes).ok();
        }
        self.evidence_hash
    }

    fn finish(mut self) -> Judgement {
        let evidence_set_hash = match self.evidence_set_hash() {
            Some(hash) => Sha256::from(hash),
            None => {
                self.reasons.deny(
                    gate::EVIDENCE,
                    "",
                    "a packet has no canonical form and cannot be recorded",
                );
                Sha256::from(ContentHash::of(b""))
            }
        };
        let outcome = self.reasons.outcome();
        let decision = Decision {
            decision_schema_version: SCHEMA_VERSION.to_owned(),
            outcome,
            proposal_id: Nullable(self.proposal_id),
            proposal_hash: Nullable(self.proposal_hash.map(Sha256::from)),
            policy_hash: Sha256::from(self.case.policies.hash()),
            evidence_set_hash,
            approvals: self.approvals,
            reasons: self.reasons.into_sorted(),
            decided_at_ms: self.case.now_ms,
        };
        let grant = self.grant.filter(|_| outcome == Outcome::Allow);
        let assurance = self.assurance.filter(|_| outcome == Outcome::Hold);
        let standing = self.standing.filter(|_| outcome != Outcome::Deny);
        Judgement { decision, grant, assurance, standing, by_grant: false, evaluated: self.evaluated }
    }
}
