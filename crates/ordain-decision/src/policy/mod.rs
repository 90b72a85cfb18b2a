//! A policy folder, read, checked and ready to be asked.

mod annotations;
mod declared;
mod effect;
mod index;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]
mod index_tests;
mod lint;
mod names;
pub(crate) mod people;
mod problem;
pub(crate) mod schema;
mod servers;
mod size;
mod statement;
mod tables;

use annotations::{policy_id, terms};
use cedar_policy::{Effect, Entity, PolicyId, PolicySet as CedarSet, ValidationMode, Validator};
use ordain_canon::{Canonicalizer, ContentHash, PolicyHash, Value};
use ordain_spec::action::ToolMapping;
use ordain_spec::{Facts, Kind, Violation, verify_value};
use people::{People, action_uid};
use problem::line_at;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use tables::{Effects, Sensors};

pub(crate) use declared::{Declared, Mismatch};
pub use effect::EffectKey;
pub(crate) use index::{InScope, Index, Place, Verdicts};
pub(crate) use names::{Known, fault as name_fault};
pub use problem::{Problem, Severity};
pub use schema::schema_text;
pub use servers::look_alikes;
pub(crate) use statement::{Condition, EntityReads, Reads, Statement, depends_on_request};

/// The files of a policy folder: names and texts, without its tests.
pub type PolicyFiles = BTreeMap<String, String>;

/// Policies, and everything that decisions need to know about the folder they come from. Only a valid folder
/// becomes one.
pub struct PolicySet {
    hash: PolicyHash,
    pub(crate) statements: Vec<Statement>,
    /// Positions of the statements by id.
    pub(crate) by_id: BTreeMap<String, usize>,
    pub(crate) index: Index,
    pub(crate) people: People,
    /// Entities that conditions look into, whatever the request.
    pub(crate) always: Vec<Entity>,
    pub(crate) actions: BTreeMap<&'static str, ActionSet>,
    pub(crate) constraints: Declared,
    pub(crate) effects: Effects,
    pub(crate) sensors: Sensors,
    pub(crate) tools: BTreeMap<String, ToolMapping>,
    pub(crate) redact: BTreeSet<String>,
    pub(crate) servers: servers::Servers,
    pub(crate) known: KnownNames,
    /// The values that conditions read, all policies together.
    pub(crate) reads: Reads,
    warnings: Vec<Problem>,
}

/// The properties of an action type in this set.
pub(crate) struct ActionSet {
    pub(crate) uid: cedar_policy::EntityUid,
    pub(crate) entity: Entity,
    pub(crate) parameters: Declared,
}

/// Names that others must not be taken for.
#[derive(Default)]
pub(crate) struct KnownNames {
    pub(crate) actors: Known,
    pub(crate) domains: Known,
    pub(crate) resource_types: Known,
}

/// The name of a file that belongs to a policy folder.
pub fn is_policy_file(name: &str) -> bool {
    name.ends_with(".cedar") || OTHER_FILES.contains(&name)
}

const OTHER_FILES: [&str; 7] = [
    schema::FILE,
    people::FILE,
    tables::EFFECTS,
    tables::SENSORS,
    tables::TOOLS,
    tables::REDACT,
    servers::FILE,
];

#[derive(Serialize)]
struct Covered<'f> {
    product_schema: ContentHash,
    files: BTreeMap<&'f str, ContentHash>,
}

impl PolicySet {
    /// Reads a folder's files. If anything is wrong with them, everything that is.
    ///
    /// ```
    /// use ordain_decision::{PolicyFiles, PolicySet};
    /// let files = PolicyFiles::from([(
    ///     "read.cedar".to_owned(),
    ///     "@id(\"read\") permit(principal, action in Action::\"observe\", resource);".to_owned(),
    /// )]);
    /// assert!(PolicySet::load(&files).is_ok());
    /// let files = PolicyFiles::from([("read.cedar".to_owned(), "permit(principal, action, resource);".to_owned())]);
    /// assert!(PolicySet::load(&files).is_err());
    /// ```
    pub fn load(files: &PolicyFiles) -> Result<Self, Vec<Problem>> {
        let mut problems = size::check_folder(files);
        if !problems.is_empty() {
            return Err(problems);
        }
        for name in files.keys().filter(|name| !is_policy_file(name)) {
            problems.push(Problem::error(
                name,
                format!("unknown file in a policy folder; expected `*.cedar`, {}", OTHER_FILES.join(", ")),
            ));
        }
        let set = Self::load_into(files, &mut problems);
        problems.sort();
        problems.dedup();
        match set {
            Some(mut set) if problems.iter().all(|problem| problem.severity == Severity::Warning) => {
                set.warnings = problems;
                Ok(set)
            }
            _ => Err(problems),
        }
    }

    fn load_into(files: &PolicyFiles, problems: &mut Vec<Problem>) -> Option<Self> {
        let text = |name: &str| files.get(name).map(String::as_str);
        let effects = Effects::load(text(tables::EFFECTS), problems);
        let sensors = Sensors::load(text(tables::SENSORS), problems);
        let tools = tables::load_tools(text(tables::TOOLS), problems);
        let redact = tables::load_redact(text(tables::REDACT), problems);
        let servers = servers::Servers::load(text(servers::FILE), problems);
        let parsed = parse_all(files, problems);
        let built = schema::build(text(schema::FILE), problems)?;
        let people = People::load(text(people::FILE), &built.schema, problems)?;
        let mut statements = Vec::new();
        for Parsed { id, file, line, policy } in parsed {
            let mut refuse = |problem: Problem| {
                problems.push(Problem { file: file.clone(), ..problem }.at(line).about(&id));
            };
            let terms = terms(&policy, &people, &mut refuse);
            match Statement::of(id.clone(), file.clone(), line, policy, terms) {
                Ok(statement) => statements.push(statement),
                Err(message) => refuse(Problem::error("", message)),
            }
        }
        validate(&built.schema, &statements, files, problems);
        let declared_or_nothing = |name: &str, problems: &mut Vec<Problem>| {
            Declared::named(name, &built.types, problems).unwrap_or_else(Declared::nothing)
        };
        let mut actions = BTreeMap::new();
        for (action, name, _) in schema::ACTIONS {
            let own = schema::parameters_type(name);
            let parameters = if built.types.contains_key(&own) { own } else { "Parameters".to_owned() };
            let parameters = declared_or_nothing(&parameters, problems);
            let uid = action_uid(name);
            let groups = schema::groups_of(action).iter().map(|group| action_uid(group));
            let entity = Entity::new_no_attrs(uid.clone(), groups.collect());
            actions.insert(name, ActionSet { uid, entity, parameters });
        }
        let constraints = declared_or_nothing("Constraints", problems);
        let known = known_names(&people, &effects, &statements, problems);
        problems.extend(lint::never(&statements, problems));
        problems.extend(lint::warnings(&statements));
        let index =
            Index::of(&statements).map_err(|message| problems.push(Problem::error("", message))).ok()?;
        let mut always: BTreeMap<_, Entity> = BTreeMap::new();
        for uid in statements.iter().flat_map(|statement| statement.named.clone()) {
            let action = actions.values().find(|known| known.uid == uid);
            always.extend(action.map(|known| (uid.clone(), known.entity.clone())));
            always.extend(people.reach(&uid).into_iter().map(|entity| (entity.uid(), entity)));
        }
        let mut reads = Reads::default();
        statements.iter().for_each(|statement| reads.add(&statement.reads));
        let by_id = statements.iter().enumerate().map(|(at, it)| (it.id.clone(), at)).collect();
        let covered = Covered {
            product_schema: ContentHash::of(schema_text().as_bytes()),
            files: files
                .iter()
                .map(|(name, text)| (name.as_str(), ContentHash::of(text.as_bytes())))
                .collect(),
        };
        let hash = PolicyHash::of(&mut Canonicalizer::new(), &covered);
        let hash = hash.map_err(|error| problems.push(Problem::error("", error.to_string()))).ok()?;
        Some(Self {
            hash,
            reads,
            statements,
            by_id,
            index,
            people,
            always: always.into_values().collect(),
            actions,
            constraints,
            effects,
            sensors,
            tools,
            redact,
            servers,
            known,
            warnings: Vec::new(),
        })
    }

    /// The hash of everything that decisions depend on.
    pub fn hash(&self) -> PolicyHash {
        self.hash
    }

    /// The person behind a name; a name that the policies do not know stands for itself.
    pub fn person<'p>(&'p self, name: &'p str) -> &'p str {
        self.people.person(name)
    }

    /// Whether `sensors.toml` names this sensor.
    pub fn knows_sensor(&self, sensor: &str) -> bool {
        self.sensors.by_id.contains_key(sensor)
    }

    /// Why the signature of a packet is not the one that `sensors.toml` asks for (V-EVID-021).
    pub fn signature_problem(&self, packet: &Value<'_>) -> Option<Violation> {
        let facts = Facts { sensors: Some(&self.sensors.by_id), ..Facts::default() };
        let report = verify_value(Kind::Packet, &facts, packet);
        let rule = Kind::Packet.rule(21);
        report.violations().iter().find(|violation| violation.rule == rule).cloned()
    }

    /// Whether `sensors.toml` has a key of this sensor.
    pub fn has_key_of(&self, sensor: &str) -> bool {
        self.sensors.by_id.get(sensor).is_some_and(|sensor| sensor.public_key.is_some())
    }

    /// Whether a policy names this actor in `@approvers`, itself or by a group.
    pub fn is_approver(&self, name: &str) -> bool {
        self.statements.iter().any(|statement| statement.terms.approvers.contains(name))
    }

    /// Whether `entities.json` has such an actor.
    pub fn has_actor(&self, name: &str) -> bool {
        self.people.has_actor(name)
    }

    /// The actor that a user of the operating system is, by `os_user` of `entities.json`. A user whom no
    /// actor names is the actor of the same name, unless that actor is another user.
    pub fn actor_of_user(&self, user: &str) -> Option<&str> {
        self.people.actor_of_user(user)
    }

    /// Whether an actor is somebody's agent, by `agent_of` of `entities.json`.
    pub fn is_agent(&self, actor: &str) -> bool {
        self.people.is_agent(actor)
    }

    /// Whether the user that an actor is has a role over a socket, by `roles` of `entities.json`.
    pub fn has_role(&self, actor: &str, role: &str) -> bool {
        self.people.has_role(actor, role)
    }

    /// The names of a person.
    pub fn names_of<'p>(&'p self, person: &'p str) -> impl Iterator<Item = &'p str> {
        self.people.names_of(person)
    }

    /// The agents of a person, by `agent_of` of `entities.json`.
    pub fn agents_of<'p>(&'p self, person: &'p str) -> impl Iterator<Item = &'p str> {
        self.people.agents_of(person)
    }

    /// Whether a person owns an actor, by `agent_of` of `entities.json`, or is that actor's person.
    pub fn answers_for(&self, person: &str, actor: &str) -> bool {
        let agent = self.person(actor);
        person == agent || self.people.owns(person, agent)
    }

    /// The first agent by name, and whose it is.
    pub fn first_agent(&self) -> Option<(&str, &str)> {
        self.people.first_agent()
    }

    /// Problems that do not make the folder invalid, but that somebody should know.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// How many permits and how many forbids there are.
    pub fn counts(&self) -> (usize, usize) {
        let permits = self.statements.iter().filter(|it| it.effect == Effect::Permit).count();
        (permits, self.statements.len() - permits)
    }

    /// The policy of that id.
    pub(crate) fn statement(&self, id: &str) -> Option<&Statement> {
        self.statements.get(*self.by_id.get(id)?)
    }
}

struct Parsed {
    id: String,
    file: String,
    line: Option<usize>,
    policy: cedar_policy::Policy,
}

/// All policies of all files, each under its own id.
fn parse_all(files: &PolicyFiles, problems: &mut Vec<Problem>) -> Vec<Parsed> {
    let mut parsed: Vec<Parsed> = Vec::new();
    let mut used: BTreeMap<String, String> = BTreeMap::new();
    for (file, text) in files.iter().filter(|(name, _)| name.ends_with(".cedar")) {
        if let Err(problem) = size::check(file, text) {
            problems.push(problem);
            continue;
        }
        let set = match CedarSet::from_str(text) {
            Ok(set) => set,
            Err(errors) => {
                problems.extend(errors.iter().map(|error| Problem::of_diagnostic(file, text, error)));
                continue;
            }
        };
        if set.num_of_templates() > 0 {
            problems.push(Problem::error(
                file,
                "has a template (`?principal` or `?resource`), which policy folders do not support",
            ));
        }
        let mut policies: Vec<_> = set.policies().cloned().collect();
        // Cedar numbers the policies of a text in their order.
        policies.sort_by_key(|policy| number_of(policy.id()));
        for policy in policies {
            let number = number_of(policy.id());
            match policy_id(&policy).map(str::to_owned) {
                Err(message) => {
                    let line = statement_line(text, number);
                    problems.push(Problem::error(file, message).at(line));
                }
                Ok(id) => {
                    let line = id_line(text, &id);
                    if let Some(other) = used.insert(id.clone(), file.clone()) {
                        let message = if other == *file {
                            "is there twice".to_owned()
                        } else {
                            format!("is in {other} too")
                        };
                        problems.push(Problem::error(file, message).at(line).about(&id));
                        continue;
                    }
                    let policy = policy.new_id(PolicyId::new(&id));
                    parsed.push(Parsed { id, file: file.clone(), line, policy });
                }
            }
        }
    }
    parsed
}

fn number_of(id: &PolicyId) -> usize {
    id.to_string().trim_start_matches("policy").parse().unwrap_or_default()
}

/// The line of an `@id`.
fn id_line(text: &str, id: &str) -> Option<usize> {
    text.find(&format!("@id(\"{id}\")")).map(|offset| line_at(text, offset))
}

/// The line of the policy of that number, by its first word.
fn statement_line(text: &str, number: usize) -> Option<usize> {
    let starts = |line: &str| {
        let line = line.trim_start();
        ["permit", "forbid"].iter().any(|word| {
            line.strip_prefix(word)
                .is_some_and(|rest| rest.trim_start().starts_with('(') || rest.trim().is_empty())
        })
    };
    text.lines().enumerate().filter(|(_, line)| starts(line)).nth(number).map(|(position, _)| position + 1)
}

/// Cedar's strict validation.
fn validate(
    schema: &cedar_policy::Schema,
    statements: &[Statement],
    files: &PolicyFiles,
    problems: &mut Vec<Problem>,
) {
    let place = |id: &PolicyId| statements.iter().find(|statement| statement.id == id.to_string());
    let mut set = CedarSet::new();
    for statement in statements {
        if let Err(error) = set.add(statement.policy.clone()) {
            problems.push(Problem::error(&statement.file, error.to_string()).about(&statement.id));
        }
    }
    let result = Validator::new(schema.clone()).validate(&set, ValidationMode::Strict);
    let located = |problem: Problem, id: &PolicyId| match place(id) {
        Some(statement) => {
            let file = statement.file.clone();
            let line = problem.line.or(statement.line);
            Problem { file, ..problem }.at(line).about(&statement.id)
        }
        None => problem,
    };
    // Cedar looks at each action by itself. A problem with all actions of a policy is reported once.
    let mut by_action: BTreeMap<Problem, BTreeSet<String>> = BTreeMap::new();
    for error in result.validation_errors() {
        let text = place(error.policy_id()).and_then(|statement| files.get(&statement.file));
        let problem = Problem::of_diagnostic("", text.map(String::as_str).unwrap_or_default(), error);
        let problem = located(without_policy(problem), error.policy_id());
        let (message, action) = without_action(&problem.message);
        by_action.entry(Problem { message, ..problem }).or_default().extend(action);
    }
    for (problem, actions) in by_action {
        let all = problem.policy.as_deref().and_then(|id| place(&PolicyId::new(id)));
        let named = match all.is_some_and(|statement| statement.actions.len() == actions.len()) {
            true => String::new(),
            false => actions.iter().map(|action| format!(", for `{action}`")).collect(),
        };
        problems.push(Problem { message: format!("{}{named}", problem.message), ..problem });
    }
    for warning in result.validation_warnings() {
        let problem = Problem::warning("", warning.to_string());
        problems.push(located(without_policy(problem), warning.policy_id()));
    }
}

/// The message without the action that it is about, and that action.
fn without_action(message: &str) -> (String, Option<String>) {
    let parts = message.split_once(" for Action::\"");
    match parts.and_then(|(before, rest)| Some((before, rest.split_once('"')?))) {
        Some((before, (action, after))) => (format!("{before}{after}"), Some(action.to_owned())),
        None => (message.to_owned(), None),
    }
}

/// Cedar repeats the policy's id in front of its messages; ours name it already.
fn without_policy(problem: Problem) -> Problem {
    let message = match problem.message.strip_prefix("for policy `").and_then(|rest| rest.split_once("`, ")) {
        Some((_, message)) => message.to_owned(),
        None => problem.message.clone(),
    };
    Problem { message, ..problem }
}

/// The names of the entities and of the policies' literals.
fn known_names(
    people: &People,
    effects: &Effects,
    statements: &[Statement],
    problems: &mut Vec<Problem>,
) -> KnownNames {
    let mut known = KnownNames::default();
    let mut names: Vec<(&str, String, Option<&Statement>)> = Vec::new();
    names.extend(["file", "patch_set", "shell"].map(|name| ("ResourceType", name.to_owned(), None)));
    names.push(("Domain", "workspace".to_owned(), None));
    names.extend(effects.resource_types().map(|name| ("ResourceType", name.clone(), None)));
    names.extend(people.actor_names().map(|name| ("Actor", name.clone(), None)));
    names.extend(people.domain_names().map(|name| ("Domain", name.clone(), None)));
    for statement in statements {
        for literal in statement.policy.entity_literals() {
            let id = literal.id().unescaped();
            match literal.type_name().to_string().as_str() {
                "Actor" => {
                    if !people.has_actor(id) {
                        let message = format!("`Actor::\"{id}\"` is not in {}", people::FILE);
                        let problem = Problem::warning(&statement.file, message);
                        problems.push(problem.at(statement.line).about(&statement.id));
                    }
                    names.push(("Actor", id.to_owned(), Some(statement)));
                }
                "Group" if !people.has_group(id) => {
                    let message =
                        format!("`Group::\"{id}\"` is not in {}{}", people::FILE, people.group_hint(id));
                    let problem = Problem::error(&statement.file, message);
                    problems.push(problem.at(statement.line).about(&statement.id));
                }
                "Domain" => names.push(("Domain", id.to_owned(), Some(statement))),
                "ResourceType" => names.push(("ResourceType", id.to_owned(), Some(statement))),
                "Resource" => {
                    let mut parts = id.splitn(3, '/').map(|part| part.replace("~1", "/").replace("~0", "~"));
                    match (parts.next(), parts.next(), parts.next()) {
                        (Some(domain), Some(kind), Some(_)) => {
                            names.push(("Domain", domain, Some(statement)));
                            names.push(("ResourceType", kind, Some(statement)));
                        }
                        _ => {
                            let message = format!(
                                "`Resource::\"{id}\"` is not a resource of the form `domain/type/id`"
                            );
                            problems.push(
                                Problem::error(&statement.file, message)
                                    .at(statement.line)
                                    .about(&statement.id),
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }
    for (kind, name, statement) in names {
        let like = match kind {
            "Actor" => known.actors.insert(&name),
            "Domain" => known.domains.insert(&name),
            _ => known.resource_types.insert(&name),
        };
        if let (Some(other), Some(statement)) = (like, statement) {
            let message = format!("`{kind}::\"{name}\"` looks like `{other}`, which is another");
            problems.push(Problem::error(&statement.file, message).at(statement.line).about(&statement.id));
        }
    }
    known
}
