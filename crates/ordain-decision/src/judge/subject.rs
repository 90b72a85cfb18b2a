//! Subjects that Cedar is asked about: one for a proposal, one for each operation of a patch set, one for each effect
//! of a shell command.

use super::evidence::Observed;
use super::reasons::Reasons;
use super::shell::{self, ShellEffects};
use crate::limits::NOW_MS_MAX;
use crate::policy::people::{actor_uid, resource_type_uid, resource_uid};
use crate::policy::schema::action_name;
use crate::policy::{Declared, EntityReads, InScope, Mismatch, Place, PolicySet, Statement, Verdicts};
use crate::shown::{unseen, visible};
use cedar_policy::{Context, Entities, Entity, EntityUid, Request, RestrictedExpression as Expression};
use ordain_canon::Value;
use ordain_canon::time::rfc3339_millis;
use ordain_shell::Effect;
use ordain_spec::action::{ActionType, ApprovalClass, FILES, FILES_MAX, Proposal, RollbackStrategy};
use ordain_spec::decision::gate;
use ordain_spec::{folded_path, path_problem};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use unicode_normalization::is_nfc;

/// The resource type and the domain of a patch set that is to be applied, and the type of the files it changes.
const PATCH_SET: &str = "patch_set";
const WORKSPACE: &str = "workspace";
const FILE: &str = "file";
const FOLDER: &str = "folder";
/// Where the operations of a patch set stand.
pub(crate) const OPERATIONS: &str = "/parameters/operations";

/// An action on a resource.
pub(crate) struct Subject<'p> {
    pub(crate) action: ActionType,
    pub(crate) resource_type: &'p str,
    pub(crate) resource_id: &'p str,
    pub(crate) domain: &'p str,
    /// Where in the proposal it stands.
    pub(crate) path: String,
    /// The effect of a shell command that it is.
    pub(crate) shell: Option<&'p Effect>,
}

impl Subject<'_> {
    /// The thing that is asked about, in words. The operations of a patch set have paths of their own; the effects of a
    /// command share one.
    pub(crate) fn told(&self) -> String {
        let (kind, id) = (visible(self.resource_type), visible(self.resource_id));
        let domain = visible(self.domain);
        match self.shell {
            None => format!("`{}` on the {kind} `{id}` of `{domain}`", action_name(self.action)),
            Some(effect) => {
                let effect_name = effect.effect.name();
                let by = match effect.program.as_str() {
                    "" => String::new(),
                    program => format!(" by `{}`", visible(program)),
                };
                format!("the effect `{effect_name}`{by} on the {kind} `{id}` of `{domain}`")
            }
        }
    }
}

/// Whether a proposal applies a patch set.
pub(crate) fn is_patch_set(proposal: &Proposal) -> bool {
    proposal.action_type == ActionType::Write
        && proposal.target.resource_type.as_str() == PATCH_SET
        && proposal.target.domain.as_str() == WORKSPACE
}

/// The subjects of a proposal; none if a patch set's operations cannot be read.
pub(crate) fn subjects<'p>(
    proposal: &'p Proposal,
    document: &'p Value<'p>,
    derived: Option<&'p ShellEffects>,
    reasons: &mut Reasons,
) -> Vec<Subject<'p>> {
    let target = &proposal.target;
    if let Some(derived) = derived {
        return shell_subjects(proposal, derived);
    }
    if let Some(problem) = shell::problem(proposal, document) {
        reasons.deny(gate::OPERATIONS, problem.path, problem.message);
        return Vec::new();
    }
    if !is_patch_set(proposal) {
        if target.resource_type.as_str() == PATCH_SET {
            let message = "a patch set is applied by `write` in the domain `workspace`, and by nothing else";
            reasons.deny(gate::OPERATIONS, "/target", message);
        }
        if target.resource_type.as_str() == FILES {
            return file_subjects(proposal, reasons);
        }
        if target.resource_type.as_str() == FOLDER
            && target.domain.as_str() == WORKSPACE
            && target.resource_id.as_str() != "."
            && let Some(problem) = file_problem(target.resource_id.as_str())
        {
            let message = format!("a folder is named by its path: {problem}");
            reasons.deny(gate::OPERATIONS, "/target/resource_id", message);
        }
        if target.resource_type.as_str() == FILE
            && target.domain.as_str() == WORKSPACE
            && let Some(problem) = file_problem(target.resource_id.as_str())
        {
            reasons.deny(
                gate::OPERATIONS,
                "/target/resource_id",
                format!("a file is named by its path: {problem}"),
            );
        }
        return vec![Subject {
            action: proposal.action_type,
            resource_type: target.resource_type.as_str(),
            resource_id: target.resource_id.as_str(),
            domain: target.domain.as_str(),
            path: String::new(),
            shell: None,
        }];
    }
    let operations = document.get("parameters").and_then(|parameters| parameters.get("operations"));
    let Some(operations) = operations.and_then(Value::as_array).filter(|operations| !operations.is_empty())
    else {
        reasons.deny(
            gate::OPERATIONS,
            OPERATIONS,
            "a patch set names at least one operation, as `{op, path}`",
        );
        return Vec::new();
    };
    let mut subjects = Vec::new();
    let mut seen = BTreeSet::new();
    let mut whole = true;
    for (at, operation) in operations.iter().enumerate() {
        let place = format!("{OPERATIONS}/{at}");
        match read_operation(operation) {
            Ok((action, path)) => {
                // The same operation again asks nothing new.
                if seen.insert((action_name(action), path)) {
                    subjects.push(Subject {
                        action,
                        resource_type: FILE,
                        resource_id: path,
                        domain: WORKSPACE,
                        path: place,
                        shell: None,
                    });
                }
            }
            Err(message) => {
                whole = false;
                reasons.deny(gate::OPERATIONS, place, message);
            }
        }
    }
    if whole { subjects } else { Vec::new() }
}

/// One for each path of a target that is several files.
fn file_subjects<'p>(proposal: &'p Proposal, reasons: &mut Reasons) -> Vec<Subject<'p>> {
    const PLACE: &str = "/target/resource_id";
    let target = &proposal.target;
    // Borrowed texts have no escapes; a path with one could not be compared with what a policy says.
    let paths: Option<Vec<&'p str>> = serde_json::from_str(target.resource_id.as_str()).ok();
    let Some(paths) = paths.filter(|paths| (1..=FILES_MAX).contains(&paths.len())) else {
        let message = format!("several files are named by a JSON array of at most {FILES_MAX} plain paths");
        reasons.deny(gate::OPERATIONS, PLACE, message);
        return Vec::new();
    };
    let mut subjects = Vec::new();
    let distinct: BTreeSet<&str> = paths.into_iter().collect();
    for path in distinct {
        if target.domain.as_str() == WORKSPACE
            && let Some(problem) = file_problem(path)
        {
            reasons.deny(gate::OPERATIONS, PLACE, format!("a file is named by its path: {problem}"));
            return Vec::new();
        }
        subjects.push(Subject {
            action: proposal.action_type,
            resource_type: FILE,
            resource_id: path,
            domain: target.domain.as_str(),
            path: PLACE.to_owned(),
            shell: None,
        });
    }
    subjects
}

/// One for each effect. The command's own target is not asked about: an effect says what is done to which thing.
fn shell_subjects<'p>(proposal: &Proposal, derived: &'p ShellEffects) -> Vec<Subject<'p>> {
    let subject = |effect: &'p Effect| Subject {
        action: proposal.action_type,
        resource_type: &effect.resource_type,
        resource_id: &effect.resource_id,
        domain: &effect.domain,
        path: shell::COMMAND.to_owned(),
        shell: Some(effect),
    };
    derived.effects.iter().map(subject).collect()
}

/// The error in the path of a file of the workspace. Policies compare paths as texts, so there is one way to
/// write each, and it shows.
fn file_problem(path: &str) -> Option<String> {
    if let Some(problem) = path_problem(path) {
        Some(problem)
    } else if let Some(unseen) = unseen(path) {
        Some(format!("path `{}` has {unseen}", visible(path)))
    } else if !is_nfc(path) {
        Some(format!("path `{path}` is not in Unicode's composed form (NFC)"))
    } else {
        None
    }
}

fn read_operation<'v>(operation: &'v Value<'v>) -> Result<(ActionType, &'v str), String> {
    let members = operation.as_object().ok_or("expected an object `{op, path}`")?;
    if let Some((other, _)) = members.iter().find(|(name, _)| name != "op" && name != "path") {
        return Err(format!("unknown field `{other}`; an operation is `{{op, path}}`"));
    }
    let action = match operation.get("op").and_then(Value::as_str) {
        Some("create") => ActionType::Create,
        Some("modify") => ActionType::Write,
        Some("delete") => ActionType::Delete,
        _ => return Err("`op` must be `create`, `modify` or `delete`".to_owned()),
    };
    let path = operation.get("path").and_then(Value::as_str).ok_or("`path` must be a string")?;
    match file_problem(path) {
        Some(problem) => Err(format!("the path cannot be judged: {problem}")),
        None => Ok((action, path)),
    }
}

/// Asks the policies about subjects.
pub(crate) struct Asker<'a> {
    set: &'a PolicySet,
    actor: &'a str,
    principal: EntityUid,
    subjects: &'a [Subject<'a>],
    /// The resource of each subject, and what it is in.
    resources: Vec<(EntityUid, Vec<EntityUid>)>,
    /// The policies whose scope each subject fits.
    found: Vec<InScope<'a>>,
    parameters: BTreeMap<&'static str, Expression>,
    fixed: Vec<(String, Expression)>,
    pub(crate) evaluated: usize,
}

impl<'a> Asker<'a> {
    /// Finds what the subjects are in.
    pub(crate) fn new(set: &'a PolicySet, proposal: &'a Proposal, subjects: &'a [Subject<'a>]) -> Self {
        let actor = proposal.actor.as_str();
        let principal = actor_uid(actor);
        let resources: Vec<_> = subjects.iter().map(|subject| resource_uids(set, subject)).collect();
        let place = |(subject, (resource, ancestors)): (&Subject<'_>, &(EntityUid, Vec<EntityUid>))| {
            set.index.find(&Place {
                action: action_name(subject.action),
                principal: &principal,
                principal_ancestors: set.people.groups_of(actor),
                resource,
                resource_ancestors: ancestors,
            })
        };
        let found = subjects.iter().zip(&resources).map(place).collect();
        let (parameters, fixed) = (BTreeMap::new(), Vec::new());
        Self { set, actor, principal, subjects, resources, found, parameters, fixed, evaluated: 0 }
    }

    /// Makes ready what conditions read. A value that policies could misread is denied, and then nothing can
    /// be asked.
    pub(crate) fn make_ready(
        &mut self,
        proposal: &Proposal,
        document: &Value<'_>,
        observed: &Observed,
        now_ms: u64,
        reasons: &mut Reasons,
    ) -> bool {
        if self.subjects.is_empty() {
            return false;
        }
        let set = self.set;
        let mut wrong = Vec::new();
        let mut convert = |declared: &Declared, value: Option<&Value<'_>>, path: &str| {
            declared.convert(value.unwrap_or(&Value::Null), path, &mut wrong)
        };
        for name in self.subjects.iter().map(|subject| action_name(subject.action)) {
            if let (false, Some(known)) = (self.parameters.contains_key(name), set.actions.get(name)) {
                let converted = convert(&known.parameters, document.get("parameters"), "/parameters");
                self.parameters.extend(converted.map(|it| (name, it)));
            }
        }
        let constraints = document.get("target").and_then(|target| target.get("constraints"));
        let constraints = convert(&set.constraints, constraints, "/target/constraints");
        for Mismatch { path, message } in &wrong {
            reasons.deny(gate::TYPES, path.clone(), message.clone());
        }
        self.fixed = fixed_context(set, proposal, observed);
        if set.reads.context("constraints") {
            self.fixed.extend(constraints.map(|it| ("constraints".to_owned(), it)));
        }
        let mut ready = wrong.is_empty();
        if set.reads.context("now") {
            if now_ms > NOW_MS_MAX {
                let message = "the time is after the year 9999, which no policy can read";
                reasons.deny(gate::EVALUATION, "", message);
                ready = false;
            }
            self.fixed.push((
                "now".to_owned(),
                Expression::new_datetime(rfc3339_millis(now_ms.min(NOW_MS_MAX)).unwrap_or_default()),
            ));
        }
        ready
    }

    /// The permits whose scope each subject fits, by position.
    pub(crate) fn permits_in_scope(&self) -> impl Iterator<Item = Vec<usize>> {
        self.found.iter().map(|in_scope| in_scope.permits().collect())
    }

    /// The answer of the policies about a subject when that many approvals count.
    pub(crate) fn ask(&mut self, at: usize, approvals: usize) -> Result<Verdicts, String> {
        let in_scope = self.found.get(at).ok_or("there is no such subject")?;
        let (request, entities) = self.question(at, approvals, in_scope.reads)?;
        let verdicts = in_scope.ask(&request, &entities);
        self.evaluated += verdicts.evaluated;
        Ok(verdicts)
    }

    /// Whether the actor and a subject's resource fit a policy's scope, each with the scope in words.
    pub(crate) fn scope_of(&self, at: usize, statement: &Statement) -> [(bool, String); 2] {
        let resource = self.resources.get(at);
        let fits = resource.is_some_and(|(uid, ancestors)| statement.resource.fits(uid, ancestors));
        [
            (statement.principal.fits(&self.principal, self.groups()), statement.principal.text("principal")),
            (fits, statement.resource.text("resource")),
        ]
    }

    pub(crate) fn actor(&self) -> &'a str {
        self.actor
    }

    fn groups(&self) -> &'a [EntityUid] {
        self.set.people.groups_of(self.actor)
    }

    /// The input that Cedar needs to answer, as far as conditions read it.
    pub(crate) fn question(
        &self,
        at: usize,
        approvals: usize,
        reads: EntityReads,
    ) -> Result<(Request, Entities), String> {
        let subject = self.subjects.get(at).ok_or("there is no such subject")?;
        let (resource, ancestors) = self.resources.get(at).ok_or("the resource has no name in Cedar")?;
        let action = action_name(subject.action);
        let known = self.set.actions.get(action).ok_or("the action is not known")?;
        let mut entities = Vec::new();
        if reads.action {
            entities.push(known.entity.clone());
        }
        if reads.resource {
            entities.push(resource_entity(subject, resource, ancestors)?);
        }
        if reads.principal {
            entities.extend(self.set.people.reach_of(self.actor).iter().cloned());
        }
        if reads.named {
            let own: Vec<EntityUid> = entities.iter().map(Entity::uid).collect();
            entities.extend(self.set.always.iter().filter(|entity| !own.contains(&entity.uid())).cloned());
        }
        let entities = if entities.is_empty() {
            Entities::empty()
        } else {
            Entities::from_entities(entities, None).map_err(|error| error.to_string())?
        };
        let mut context = self.fixed.clone();
        if self.set.reads.context("parameters") {
            context.extend(self.parameters.get(action).map(|it| ("parameters".to_owned(), it.clone())));
        }
        if self.set.reads.context("approvals") {
            let approvals = i64::try_from(approvals).unwrap_or(i64::MAX);
            context.push(("approvals".to_owned(), Expression::new_long(approvals)));
        }
        if let Some(effect) = subject.shell.filter(|_| self.set.reads.context("shell")) {
            context.push(("shell".to_owned(), shell_record(effect)?));
        }
        let context = Context::from_pairs(context).map_err(|error| error.to_string())?;
        let request =
            Request::new(self.principal.clone(), known.uid.clone(), resource.clone(), context, None)
                .map_err(|error| error.to_string())?;
        Ok((request, entities))
    }
}

fn shell_record(effect: &Effect) -> Result<Expression, String> {
    let text = |text: &str| Expression::new_string(text.to_owned());
    let members = [
        ("effect".to_owned(), text(effect.effect.name())),
        ("program".to_owned(), text(&effect.program)),
        ("args".to_owned(), Expression::new_set(effect.args.iter().map(|arg| text(arg)))),
        ("known".to_owned(), Expression::new_bool(effect.known)),
    ];
    Expression::new_record(members).map_err(|error| error.to_string())
}

fn resource_entity(
    subject: &Subject<'_>,
    uid: &EntityUid,
    ancestors: &[EntityUid],
) -> Result<Entity, String> {
    let text = |text: &str| Expression::new_string(text.to_owned());
    let mut attributes = HashMap::from([
        ("id".to_owned(), text(subject.resource_id)),
        ("type".to_owned(), text(subject.resource_type)),
        ("domain".to_owned(), text(subject.domain)),
    ]);
    let is_top = subject.resource_type == FOLDER && subject.resource_id == ".";
    if is_top || path_problem(subject.resource_id).is_none() {
        attributes.insert("path".to_owned(), text(subject.resource_id));
        attributes.insert("folded".to_owned(), text(&folded_path(subject.resource_id)));
    }
    Entity::new(uid.clone(), attributes, ancestors.iter().cloned().collect())
        .map_err(|error| error.to_string())
}

/// The resource's entity and what it is in.
fn resource_uids(set: &PolicySet, subject: &Subject<'_>) -> (EntityUid, Vec<EntityUid>) {
    let length = subject.domain.len() + subject.resource_type.len() + subject.resource_id.len();
    let mut id = String::with_capacity(length + 16);
    for part in [subject.domain, subject.resource_type] {
        for character in part.chars() {
            match character {
                '~' => id.push_str("~0"),
                '/' => id.push_str("~1"),
                other => id.push(other),
            }
        }
        id.push('/');
    }
    id.push_str(subject.resource_id);
    let mut ancestors = set.people.domains_of(subject.domain);
    ancestors.push(resource_type_uid(subject.resource_type));
    (resource_uid(&id), ancestors)
}

/// The part of the context that is the same for all subjects and any number of approvals.
fn fixed_context(set: &PolicySet, proposal: &Proposal, observed: &Observed) -> Vec<(String, Expression)> {
    let long = |count: u64| Expression::new_long(i64::try_from(count).unwrap_or(i64::MAX));
    let text = |text: &str| Some(Expression::new_string(text.to_owned()));
    let texts = |texts: &mut dyn Iterator<Item = &String>| {
        Expression::new_set(texts.map(|text| Expression::new_string(text.clone())))
    };
    // A record has the members that some policy reads. Record keys are given once each.
    let record = |name: &str, members: &[(&str, &dyn Fn() -> Expression)]| {
        let read = members.iter().filter(|(member, _)| set.reads.member(name, member));
        Expression::new_record(read.map(|(member, make)| ((*member).to_owned(), make()))).ok()
    };
    let evidence = || {
        record(
            "evidence",
            &[
                ("packets", &|| long(observed.packets as u64)),
                ("types", &|| texts(&mut observed.types.iter())),
                ("sensors", &|| texts(&mut observed.sensors.iter())),
                ("preconditions", &|| long(observed.preconditions as u64)),
                ("preconditions_hold", &|| Expression::new_bool(observed.preconditions_hold)),
                ("signed", &|| Expression::new_bool(observed.signed)),
            ],
        )
    };
    let envelope = || {
        let envelope = proposal.risk_envelope.as_ref()?;
        record(
            "envelope",
            &[
                ("allowed_side_effects", &|| texts(&mut envelope.allowed_side_effects.iter())),
                ("forbidden_effects", &|| texts(&mut envelope.forbidden_effects.iter())),
                ("max_affected_records", &|| long(envelope.max_affected_records)),
                ("reversible_required", &|| Expression::new_bool(envelope.reversible_required)),
            ],
        )
    };
    let window = || {
        let window = proposal.time_window.as_ref()?;
        record(
            "window",
            &[
                ("valid_from_ms", &|| long(window.valid_from_ms)),
                ("valid_until_ms", &|| long(window.valid_until_ms)),
                ("max_duration_ms", &|| long(window.max_duration_ms)),
            ],
        )
    };
    let class = || match proposal.approval_class.unwrap_or(ApprovalClass::None) {
        ApprovalClass::None => text("none"),
        ApprovalClass::Single => text("single"),
        ApprovalClass::Dual => text("dual"),
        ApprovalClass::Threshold => text("threshold"),
    };
    let rollback = || match rollback(set, proposal) {
        RollbackStrategy::InversePatch => text("inverse_patch"),
        RollbackStrategy::CompensatingAction => text("compensating_action"),
        RollbackStrategy::Manual => text("manual"),
        RollbackStrategy::None => text("none"),
    };
    let all: [(&str, &dyn Fn() -> Option<Expression>); 5] = [
        ("window", &window),
        ("evidence", &evidence),
        ("envelope", &envelope),
        ("approval_class", &class),
        ("rollback", &rollback),
    ];
    // A value that no policy reads need not be made.
    let read = all.into_iter().filter(|(name, _)| set.reads.context(name));
    read.filter_map(|(name, make)| Some((name.to_owned(), make()?))).collect()
}

/// The way back: the proposal's, or where it says nothing, the policy's for this action.
pub(crate) fn rollback(set: &PolicySet, proposal: &Proposal) -> RollbackStrategy {
    match &proposal.rollback_semantics {
        Some(rollback) => rollback.strategy,
        None => {
            let known = set.effects.of(proposal.action_type, proposal.target.resource_type.as_str());
            known.and_then(|effects| effects.rollback).unwrap_or(RollbackStrategy::None)
        }
    }
}

/// The side effects of the subjects, by `effects.toml`.
pub(crate) fn table_effects(
    set: &PolicySet,
    proposal: &Proposal,
    subjects: &[Subject<'_>],
) -> BTreeSet<String> {
    let own = [(proposal.action_type, proposal.target.resource_type.as_str())];
    let all = own.into_iter().chain(subjects.iter().map(|subject| (subject.action, subject.resource_type)));
    all.filter_map(|(action, kind)| set.effects.of(action, kind))
        .flat_map(|it| it.effects.iter().cloned())
        .collect()
}
