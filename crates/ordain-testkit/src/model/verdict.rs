//! The stages together, and the outcome.

use super::approvals::{Demands, Eligible, demands, is_valid, own_number};
use super::ask::{Asked, ask, context, context_of, fits_scope, with_resource};
use super::folder::{ModelFolder, ModelPolicy};
use super::patch::{Question, action_name, is_patch_set, questions};
use super::{ModelAnswer, ModelInput, ModelReason, evidence, names, reason};
use cedar_policy::Entities;
use ordain_canon::{ActionHash, Canonicalizer, Value, sort_utf16};
use ordain_spec::action::{
    ApprovalClass, KernelRequest, Proposal, RollbackStrategy, is_request, map_request,
};
use ordain_spec::decision::Outcome;
use ordain_spec::statement::Assurance;
use ordain_spec::{Facts, Kind, verify_value};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Further approvals that are looked for at most.
const APPROVALS_MAX: u32 = 16;
/// Operations of which the same is said one by one.
const OPERATIONS_TOLD: usize = 16;

pub(super) fn decide(folder: &ModelFolder, input: &ModelInput<'_>) -> ModelAnswer {
    let mut reasons = BTreeSet::new();
    if input.halted {
        reasons.insert(reason("G1", "", &[]));
    }
    let document = match Value::read(input.proposal) {
        Ok(document) => document,
        Err(error) => {
            reasons.insert(reason("PARSE", error.pointer, &[]));
            return unreadable(reasons);
        }
    };
    verify(folder, input, &document, &mut reasons);
    if !is_request(&document) {
        return match document.to_typed::<Proposal>() {
            Ok(proposal) => judge(folder, input, &proposal, &document, reasons),
            Err(_) => unreadable(reasons),
        };
    }
    let Ok(request) = document.to_typed::<KernelRequest>() else { return unreadable(reasons) };
    let Ok(proposal) = map_request(&request, &folder.tools) else {
        reasons.insert(reason("G2", "/tool_call", &[]));
        return unreadable(reasons);
    };
    let text = serde_json::to_vec(&proposal).unwrap_or_default();
    let Ok(mapped) = Value::read(&text) else { return unreadable(reasons) };
    verify(folder, input, &mapped, &mut reasons);
    judge(folder, input, &proposal, &mapped, reasons)
}

/// V-PROP-000 to 016, but for what V-PROP-014 says of people.
fn verify(
    folder: &ModelFolder,
    input: &ModelInput<'_>,
    document: &Value<'_>,
    reasons: &mut BTreeSet<ModelReason>,
) {
    let facts = Facts {
        now_ms: Some(input.now_ms),
        evidence: input.evidence,
        freshness_ms: folder.freshness_ms,
        sensors: Some(&folder.sensors),
        ..Facts::default()
    };
    for violation in verify_value(Kind::Action, &facts, document).violations() {
        reasons.insert(reason(&violation.rule.name(), violation.path.clone(), &[]));
    }
}

fn unreadable(reasons: BTreeSet<ModelReason>) -> ModelAnswer {
    ModelAnswer { outcome: Outcome::Deny, class: ApprovalClass::None, required: 0, have: Vec::new(), reasons }
}

/// The part that does not change when people approve.
struct Matter<'f> {
    folder: &'f ModelFolder,
    proposal: &'f Proposal,
    questions: Vec<Question>,
    /// One for each question.
    stores: Vec<Entities>,
    /// One for each question, or none at all where Cedar cannot be asked.
    contexts: Option<Vec<Json>>,
    eligible: Eligible<'f>,
    own_class: ApprovalClass,
    /// The approvers that the permits in scope of each question name.
    scopes: Vec<BTreeSet<String>>,
}

/// The answer with some approvals.
struct State {
    denials: BTreeSet<ModelReason>,
    waits: BTreeSet<ModelReason>,
    tells: BTreeSet<ModelReason>,
    permitted: BTreeSet<ModelReason>,
    class: ApprovalClass,
    required: u64,
    approvers: Vec<String>,
    /// The view of the policies.
    number: usize,
    persons: BTreeMap<String, Assurance>,
    demands: Vec<(ModelReason, super::approvals::Demand)>,
}

fn judge<'f>(
    folder: &'f ModelFolder,
    input: &ModelInput<'_>,
    proposal: &'f Proposal,
    document: &Value<'_>,
    mut fixed: BTreeSet<ModelReason>,
) -> ModelAnswer {
    let target = &proposal.target;
    for (kind, name, path) in [
        ("Actor", &proposal.actor, "/actor"),
        ("Domain", &target.domain, "/target/domain"),
        ("ResourceType", &target.resource_type, "/target/resource_type"),
    ] {
        if names::misleads(folder, kind, name.as_str()) {
            fixed.insert(reason("G3", path, &[]));
        }
    }
    let evidence = evidence::judge(folder, proposal, document, input.evidence, input.now_ms);
    fixed.extend(evidence.reasons.iter().cloned());

    let rollback = rollback(folder, proposal);
    if rollback == "none" && proposal.risk_envelope.as_ref().is_some_and(|it| it.reversible_required) {
        fixed.insert(reason("G7", "/rollback_semantics", &[]));
    }
    let (kind, domain) = (target.resource_type.as_str(), target.domain.as_str());
    if kind == "patch_set" && (action_name(proposal) != "write" || domain != "workspace") {
        fixed.insert(reason("G9", "/target", &[]));
    }
    if kind == "file" && domain == "workspace" && !names::is_plain_path(target.resource_id.as_str()) {
        fixed.insert(reason("G9", "/target/resource_id", &[]));
    }
    let (questions, mut askable) = match questions(proposal, document) {
        Ok(questions) => (questions, true),
        Err(faults) => {
            fixed.extend(faults);
            (Vec::new(), false)
        }
    };
    let common = context(proposal, &evidence, &rollback, input.now_ms);
    let mut contexts = Vec::new();
    for question in &questions {
        match context_of(folder, &common, question, document) {
            Ok(context) => contexts.push(context),
            Err(faults) => {
                fixed.extend(faults.into_iter().map(|path| reason("G8", path, &[])));
                askable = false;
            }
        }
    }
    let hash = ActionHash::of(&mut Canonicalizer::new(), document);
    let actor = proposal.actor.as_str();
    let stores: Vec<Entities> = questions.iter().map(|question| with_resource(folder, question)).collect();
    let mut scopes: Vec<BTreeSet<String>> = Vec::new();
    let mut asked: BTreeMap<String, (Assurance, u64)> = BTreeMap::new();
    for (question, store) in questions.iter().zip(&stores) {
        let permits = folder.policies.iter().filter(|policy| policy.permits);
        let fitting = permits.filter(|policy| fits_scope(policy, actor, question, store));
        let mut named = BTreeSet::new();
        for policy in fitting {
            for approver in &policy.approvers {
                let least = asked.entry(approver.clone()).or_insert((policy.assurance, policy.demand));
                *least = (least.0.min(policy.assurance), least.1.min(policy.demand));
                named.insert(approver.clone());
            }
        }
        scopes.push(named);
    }
    let in_scope = scopes.iter().flatten().cloned().collect();
    let matter = Matter {
        folder,
        proposal,
        questions,
        stores,
        contexts: askable.then_some(contexts),
        scopes,
        eligible: Eligible {
            folder,
            proposal_hash: hash.map(|hash| hash.to_string()).unwrap_or_default(),
            given: input.approvals.len(),
            actor_person: folder.person(actor).to_owned(),
            in_scope,
            asked,
            valid: input.approvals.iter().map(|it| is_valid(it, input.approver_keys)).collect(),
            now_ms: input.now_ms,
        },
        own_class: proposal.approval_class.unwrap_or(ApprovalClass::None),
    };
    conclude(&matter, input, fixed)
}

/// The proposal's way back, or the one that the policy gives for the action.
fn rollback(folder: &ModelFolder, proposal: &Proposal) -> String {
    let own = proposal.rollback_semantics.as_ref().map(|it| it.strategy);
    let entry = folder.effect_entry(&action_name(proposal), proposal.target.resource_type.as_str());
    let strategy = own.or(entry.and_then(|entry| entry.rollback)).unwrap_or(RollbackStrategy::None);
    json!(strategy).as_str().unwrap_or_default().to_owned()
}

fn conclude(matter: &Matter<'_>, input: &ModelInput<'_>, fixed: BTreeSet<ModelReason>) -> ModelAnswer {
    let mut asked_before: BTreeMap<usize, Vec<Asked<'_>>> = BTreeMap::new();
    let now = matter.state(input.approvals, &mut asked_before);
    let answer = |outcome, state: &State, required, reasons| {
        let mut have = now.approvers.clone();
        sort_utf16(&mut have);
        ModelAnswer { outcome, class: state.class, required, have, reasons }
    };
    if fixed.is_empty() && now.is_fine() {
        return answer(
            Outcome::Allow,
            &now,
            now.required,
            now.tells.union(&now.permitted).cloned().collect(),
        );
    }
    // The fixed part does not change however many approve.
    if fixed.is_empty()
        && let Some(then) = matter.with_more(input, &now, &mut asked_before, State::is_fine)
    {
        let mut reasons: BTreeSet<ModelReason> = now.tells.union(&then.permitted).cloned().collect();
        reasons.extend(missing(&now, &then));
        return answer(Outcome::Hold, &then, then.given(), reasons);
    }
    let mut reasons = fixed;
    reasons.extend(now.tells.iter().cloned());
    // Where policies would be content with more approvals, those are what is missing of the policies' side.
    let then = match (now.policies_content(&["G13"]), now.policies_content(&["G13", "G6"])) {
        (true, _) => None,
        (false, content) => {
            let mut more = |but: &[&str]| {
                matter.with_more(input, &now, &mut asked_before, |then| then.policies_content(but))
            };
            more(&["G13"]).or_else(|| if content { None } else { more(&["G13", "G6"]) })
        }
    };
    if let Some(then) = then {
        reasons.extend(then.denials.iter().cloned());
        reasons.extend(missing(&now, &then));
        return answer(Outcome::Deny, &then, then.given(), reasons);
    }
    reasons.extend(now.denials.iter().chain(&now.waits).cloned());
    let unmet = now.demands.iter().filter(|(_, demand)| !demand.met_by(&now.persons));
    if unmet.into_iter().any(|(_, demand)| demand.finds_weak(&now.persons)) {
        reasons.insert(reason("G15", "", &[]));
    }
    if !now.waits.is_empty() && now.denials.iter().all(|(rule, ..)| matches!(rule.as_str(), "G6" | "G13")) {
        // Approvals are missing, and the policies refuse as soon as they are there.
        reasons.insert(reason("V-PROP-014", "/approval_class", &[]));
    }
    answer(Outcome::Deny, &now, now.required, reasons)
}

/// G14: the demands that are not met now; and where policies ask for more, or alone, the forbids that apply
/// now and the permits that match only then.
fn missing(now: &State, then: &State) -> BTreeSet<ModelReason> {
    let unmet = then.demands.iter().filter(|(_, demand)| !demand.met_by(&now.persons));
    let unmet: Vec<_> = unmet.collect();
    let mut waits: BTreeSet<ModelReason> = unmet.iter().map(|(wait, _)| wait.clone()).collect();
    let weak = unmet.iter().any(|(_, demand)| demand.finds_weak(&now.persons));
    let refused = now.denials.iter().any(|(rule, ..)| matches!(rule.as_str(), "G10" | "G11" | "G12"));
    if waits.is_empty() || (refused && then.given() > then.required) {
        let ids = |reasons: &BTreeSet<ModelReason>, rule: &str| {
            let named = reasons.iter().filter(|(name, ..)| name == rule);
            named.flat_map(|(_, _, ids)| ids.clone()).collect::<BTreeSet<String>>()
        };
        let new = &ids(&then.permitted, "G12") - &ids(&now.permitted, "G12");
        let asking: Vec<String> = ids(&now.denials, "G10").union(&new).cloned().collect();
        let asking: Vec<&str> = asking.iter().map(String::as_str).collect();
        waits.insert(reason("G14", "/approval_class", &asking));
    }
    if weak {
        waits.insert(reason("G15", "", &[]));
    }
    waits
}

impl State {
    /// Nothing but what is fixed could stand against an ALLOW.
    fn is_fine(&self) -> bool {
        self.denials.is_empty() && self.waits.is_empty()
    }

    /// How many approvals there are.
    fn given(&self) -> u64 {
        u64::try_from(self.approvers.len()).unwrap_or_default()
    }

    /// The policies permit and all that they ask for is there, whatever else is wrong.
    fn policies_content(&self, but: &[&str]) -> bool {
        self.waits.is_empty() && self.denials.iter().all(|(rule, ..)| but.contains(&rule.as_str()))
    }
}

impl<'f> Matter<'f> {
    /// HOLD by its definition: some of the people in scope approve, nothing else changes, and the answer is
    /// ALLOW. It takes a smallest of all such sets, and among those one with which the policies see the
    /// largest number.
    fn with_more(
        &self,
        input: &ModelInput<'_>,
        now: &State,
        asked_before: &mut BTreeMap<usize, Vec<Asked<'f>>>,
        enough: impl Fn(&State) -> bool,
    ) -> Option<State> {
        let mut others: BTreeMap<&str, &str> = BTreeMap::new();
        for id in &self.eligible.in_scope {
            let person = self.folder.person(id);
            if person != self.eligible.actor_person && !now.persons.contains_key(person) {
                others.entry(person).or_insert(id);
            }
        }
        let others: Vec<&str> = others.into_values().collect();
        let mut sets: Vec<u32> =
            (1..1_u32 << others.len()).filter(|set| set.count_ones() <= APPROVALS_MAX).collect();
        sets.sort_by_key(|set| set.count_ones());
        let mut best: Option<(u32, State)> = None;
        for set in sets {
            if best.as_ref().is_some_and(|(size, _)| *size < set.count_ones()) {
                break;
            }
            let chosen = others.iter().enumerate().filter(|(index, _)| set & (1 << index) != 0);
            let mut documents = input.approvals.to_vec();
            documents.extend(chosen.map(|(_, id)| self.approval_of(id)));
            let then = self.state(&documents, asked_before);
            if enough(&then) && best.as_ref().is_none_or(|(_, best)| best.number < then.number) {
                best = Some((set.count_ones(), then));
            }
        }
        best.map(|(_, then)| then)
    }

    fn approval_of(&self, id: &str) -> Value<'static> {
        let member = |key: &'static str, text: String| (key.into(), Value::String(text.into()));
        #[expect(clippy::cast_precision_loss, reason = "a time that documents can carry is exact")]
        let now_ms = self.eligible.now_ms as f64;
        Value::Object(vec![
            member("proposal_hash", self.eligible.proposal_hash.clone()),
            member("approver", id.to_owned()),
            member("verdict", "approve".to_owned()),
            member("reason", String::new()),
            member("view_digest", format!("sha256:{}", "0".repeat(64))),
            ("at_ms".into(), Value::Number(now_ms)),
        ])
    }

    /// The result of these approvals.
    fn state(&self, documents: &[Value<'_>], asked_before: &mut BTreeMap<usize, Vec<Asked<'f>>>) -> State {
        let counted = self.eligible.count(documents);
        // With several operations, the one counts whose own approvers have given the fewest.
        let in_scope = |ids: &BTreeSet<String>| {
            let people: BTreeSet<&str> = ids.iter().map(|id| self.folder.person(id)).collect();
            people.into_iter().filter(|person| counted.persons.contains_key(*person)).count()
        };
        let number = self.scopes.iter().map(in_scope).min().unwrap_or_default();
        // The policies see the number alone, so one number is asked once.
        let asked = asked_before.entry(number).or_insert_with(|| self.ask_all(number));
        let mut state = State {
            denials: BTreeSet::new(),
            waits: BTreeSet::new(),
            tells: BTreeSet::new(),
            permitted: BTreeSet::new(),
            class: self.own_class,
            required: own_number(self.own_class),
            approvers: counted.approvers,
            number,
            persons: counted.persons,
            demands: Vec::new(),
        };
        if counted.rejected {
            state.denials.insert(reason("G13", "", &[]));
        }
        if counted.ignored {
            state.tells.insert(reason("G15", "", &[]));
        }
        self.policies_say(asked, &mut state);
        self.effects_fit(asked, &mut state);
        self.approvals_suffice(asked, &mut state);
        state
    }

    fn ask_all(&self, number: usize) -> Vec<Asked<'f>> {
        let actor = self.proposal.actor.as_str();
        let asks = self.questions.iter().zip(&self.stores).zip(self.contexts.iter().flatten());
        asks.map(|((question, store), context)| ask(self.folder, actor, question, store, context, number))
            .collect()
    }

    /// G10 to G12. Each operation that is refused has its own reasons, until there are too many; a permit
    /// stands at the first operation that it matches.
    fn policies_say(&self, asked: &[Asked<'_>], state: &mut State) {
        let mut counts: BTreeMap<(&str, Vec<&str>), usize> = BTreeMap::new();
        let mut deny = |path: &str, rule: &'static str, ids: Vec<&'f str>| {
            let count = counts.entry((rule, ids.clone())).or_default();
            *count += 1;
            let path = if *count > OPERATIONS_TOLD { "/parameters/operations" } else { path };
            state.denials.insert(reason(rule, path, &ids));
        };
        let mut named: BTreeSet<&str> = BTreeSet::new();
        for (question, asked) in self.questions.iter().zip(asked) {
            for policy in &asked.forbids {
                deny(&question.path, "G10", vec![self.id(policy)]);
            }
            for policy in &asked.errors {
                deny(&question.path, "G11", vec![self.id(policy)]);
            }
            for policy in &asked.permits {
                if named.insert(self.id(policy)) {
                    state.permitted.insert(reason("G12", question.path.clone(), &[self.id(policy)]));
                }
            }
            if asked.permits.is_empty() {
                deny(&question.path, "G12", Vec::new());
            }
        }
    }

    fn id(&self, policy: &ModelPolicy) -> &'f str {
        let own = self.folder.policies.iter().find(|other| other.id == policy.id);
        own.map(|policy| policy.id.as_str()).unwrap_or_default()
    }

    /// G6.
    fn effects_fit(&self, asked: &[Asked<'_>], state: &mut State) {
        // Each effect, with the permits that declare it.
        let mut declared: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut declare = |action: &str, resource_type: &str| {
            let entry = self.folder.effect_entry(action, resource_type);
            for effect in entry.into_iter().flat_map(|entry| &entry.effects) {
                declared.entry(effect).or_default();
            }
        };
        let proposal = self.proposal;
        declare(&action_name(proposal), proposal.target.resource_type.as_str());
        if is_patch_set(proposal) {
            self.questions.iter().for_each(|question| declare(&question.action, &question.resource_type));
        }
        for policy in asked.iter().flat_map(|asked| &asked.permits) {
            for effect in &policy.effects {
                declared.entry(effect).or_default().insert(self.id(policy));
            }
        }
        for (effect, permits) in declared {
            let path = match &proposal.risk_envelope {
                None => "/risk_envelope",
                Some(envelope) if envelope.forbidden_effects.iter().any(|it| it == effect) => {
                    "/risk_envelope/forbidden_effects"
                }
                Some(envelope) if !envelope.allowed_side_effects.iter().any(|it| it == effect) => {
                    "/risk_envelope/allowed_side_effects"
                }
                Some(_) => continue,
            };
            let permits: Vec<&str> = permits.into_iter().collect();
            state.denials.insert(reason("G6", path, &permits));
        }
    }

    /// V-PROP-014 and G14.
    fn approvals_suffice(&self, asked: &[Asked<'_>], state: &mut State) {
        let mut permits: BTreeMap<&str, &ModelPolicy> = BTreeMap::new();
        for policy in asked.iter().flat_map(|asked| &asked.permits) {
            permits.insert(&policy.id, policy);
        }
        let permits: Vec<&ModelPolicy> = permits.into_values().collect();
        let Demands { all, class, required, threshold_unknown } =
            demands(&self.eligible, &permits, self.own_class);
        (state.class, state.required) = (class, required);
        if threshold_unknown {
            state.denials.insert(reason("V-PROP-014", "/approval_class", &[]));
        }
        for demand in all {
            let ids: Vec<&str> = demand.permit.as_deref().into_iter().collect();
            let wait = reason("G14", "/approval_class", &ids);
            if !demand.possible() {
                state.denials.insert(reason("V-PROP-014", "/approval_class", &ids));
            } else if !demand.met_by(&state.persons) {
                state.waits.insert(wait.clone());
            }
            state.demands.push((wait, demand));
        }
    }
}
