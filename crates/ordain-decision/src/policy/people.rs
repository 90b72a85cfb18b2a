//! The actors, groups and domains of `entities.json`.

use super::names::Known;
use super::problem::{Problem, Problems, Severity};
use cedar_policy::{
    Entities, Entity, EntityId, EntityTypeName, EntityUid, EvalResult, RestrictedExpression, Schema,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

/// The roles that an actor may have over a socket.
const ROLES: [&str; 2] = ["auditor", "operator"];

/// The file with the entities.
pub(crate) const FILE: &str = "entities.json";

/// The people, groups and agents that the policy knows.
pub(crate) struct People {
    /// Actors, by id.
    actors: BTreeMap<String, Actor>,
    /// The people who own an agent, by the agent's person, and the owners of those.
    owners: BTreeMap<String, BTreeSet<String>>,
    /// The ids of the actors in each group, those of its groups included.
    groups: BTreeMap<String, BTreeSet<String>>,
    /// The domains that each domain is in, itself first.
    domains: BTreeMap<String, Vec<EntityUid>>,
    /// Each entity with all its ancestors as parents.
    flat: BTreeMap<EntityUid, Entity>,
}

struct Actor {
    person: String,
    /// The user of the operating system that it is.
    os_user: Option<String>,
    /// The roles of that user over a socket besides what everybody may do.
    roles: BTreeSet<String>,
    ancestors: Vec<EntityUid>,
    /// The actor's entity and those that its attributes lead to.
    reach: Vec<Entity>,
}

impl People {
    /// Reads the folder's entities; without a file there are none.
    pub(crate) fn load(text: Option<&str>, schema: &Schema, problems: &mut Problems) -> Option<Self> {
        let mut people = Self {
            actors: BTreeMap::new(),
            owners: BTreeMap::new(),
            groups: BTreeMap::new(),
            domains: BTreeMap::new(),
            flat: BTreeMap::new(),
        };
        let Some(text) = text else { return Some(people) };
        // Cedar keeps the last of two equal keys; here that is refused like everywhere.
        if let Err(error) = ordain_canon::Value::read(text.as_bytes()) {
            problems.push(Problem::error(FILE, error.to_string()));
            return None;
        }
        let entities = match Entities::from_json_str(text, Some(schema)) {
            Ok(entities) => entities,
            Err(error) => {
                problems.push(Problem::of_diagnostic(FILE, text, &error));
                return None;
            }
        };
        let before = problems.len();
        let mut of_type: BTreeMap<String, BTreeMap<String, Vec<EntityUid>>> = BTreeMap::new();
        for entity in entities.iter() {
            let uid = entity.uid();
            let mut ancestors: Vec<EntityUid> =
                entities.ancestors(&uid).into_iter().flatten().cloned().collect();
            ancestors.sort();
            if let Some(flat) = flatten(entity, &ancestors) {
                people.flat.insert(uid.clone(), flat);
            }
            let ids = of_type.entry(uid.type_name().to_string()).or_default();
            ids.insert(uid.id().unescaped().to_owned(), ancestors);
        }
        for id in of_type.get("Resource").into_iter().flatten().map(|(id, _)| id) {
            problems.push(Problem::error(
                FILE,
                format!("`Resource::\"{id}\"`: resources come with proposals, not from here"),
            ));
        }
        for (id, _) in of_type.remove("Group").unwrap_or_default() {
            people.groups.insert(id, BTreeSet::new());
        }
        for (id, ancestors) in of_type.remove("Domain").unwrap_or_default() {
            let own = [domain_uid(&id)];
            people.domains.insert(id, own.into_iter().chain(ancestors).collect());
        }
        for (id, ancestors) in of_type.remove("Actor").unwrap_or_default() {
            for group in &ancestors {
                if !people.groups.contains_key(group.id().unescaped()) {
                    let message =
                        format!("`{id}` is in the group `{}`, which is not there", group.id().unescaped());
                    problems.push(Problem::warning(FILE, message));
                }
                let members = people.groups.entry(group.id().unescaped().to_owned()).or_default();
                members.insert(id.clone());
            }
            let entity = entities.get(&actor_uid(&id));
            let person = entity.and_then(|actor| text_of(actor, "person")).unwrap_or_else(|| id.clone());
            let os_user = entity.and_then(|actor| text_of(actor, "os_user"));
            let roles = entity.map(|actor| texts_of(actor, "roles")).unwrap_or_default();
            if let Some(owner) = entity.and_then(|actor| text_of(actor, "agent_of")) {
                people.owners.entry(id.clone()).or_default().insert(owner);
            }
            let reach = people.reach(&actor_uid(&id));
            people.actors.insert(id, Actor { person, os_user, roles, ancestors, reach });
        }
        people.close(problems);
        people.check_users(problems);
        people.check_roles(problems);
        let mut persons = Known::default();
        for person in people.actors.values().map(|actor| &actor.person).chain(people.actors.keys()) {
            if let Some(other) = persons.insert(person) {
                problems
                    .push(Problem::error(FILE, format!("the people `{other}` and `{person}` look alike")));
            }
        }
        for (what, names) in [
            ("actors", people.actors.keys().collect::<Vec<_>>()),
            ("domains", people.domains.keys().collect()),
        ] {
            let mut known = Known::default();
            for name in names {
                if let Some(other) = known.insert(name) {
                    problems
                        .push(Problem::error(FILE, format!("the {what} `{other}` and `{name}` look alike")));
                }
            }
        }
        let broken = problems.iter().skip(before).any(|problem| problem.severity == Severity::Error);
        (!broken).then_some(people)
    }

    /// A user of the operating system is one actor.
    fn check_users(&self, problems: &mut Problems) {
        let mut users: BTreeMap<&str, &str> = BTreeMap::new();
        for (id, actor) in &self.actors {
            if let Some(user) = actor.os_user.as_deref()
                && let Some(other) = users.insert(user, id)
            {
                let message = format!("`{other}` and `{id}` have the same `os_user`, `{user}`");
                problems.push(Problem::error(FILE, message));
            }
        }
    }

    /// Roles are for people: an agent reads no record and settles nothing.
    fn check_roles(&self, problems: &mut Problems) {
        for (id, actor) in self.actors.iter().filter(|(_, actor)| !actor.roles.is_empty()) {
            if let Some(role) = actor.roles.iter().find(|role| !ROLES.contains(&role.as_str())) {
                let message = format!("`{id}` has the role `{role}`; there are {}", ROLES.join(" and "));
                problems.push(Problem::error(FILE, message));
            }
            if self.is_agent(id) {
                let message = format!("`{id}` is an agent and has `roles`, which are for people");
                problems.push(Problem::error(FILE, message));
            }
        }
    }

    /// Whether an actor, or the person that it is, is somebody's agent.
    pub(crate) fn is_agent(&self, actor: &str) -> bool {
        let person = self.person(actor);
        self.owners.get(person).is_some_and(|owners| owners.iter().any(|owner| owner != person))
    }

    /// Whether an actor has a role over a socket.
    pub(crate) fn has_role(&self, actor: &str, role: &str) -> bool {
        self.actors.get(actor).is_some_and(|known| known.roles.contains(role))
    }

    /// The actor that a user of the operating system is. A user whom nobody names is the actor of the same
    /// name, unless that actor is another user.
    pub(crate) fn actor_of_user(&self, user: &str) -> Option<&str> {
        let named = self.actors.iter().find(|(_, actor)| actor.os_user.as_deref() == Some(user));
        let same_name = || self.actors.get_key_value(user).filter(|(_, actor)| actor.os_user.is_none());
        named.or_else(same_name).map(|(id, _)| id.as_str())
    }

    /// The names of a person.
    pub(crate) fn names_of<'p>(&'p self, person: &'p str) -> impl Iterator<Item = &'p str> {
        let own = move |(_, actor): &(&String, &Actor)| actor.person == person;
        self.actors.iter().filter(own).map(|(id, _)| id.as_str())
    }

    /// The agents of a person, and the agents of those.
    pub(crate) fn agents_of<'p>(&'p self, person: &'p str) -> impl Iterator<Item = &'p str> {
        let owned = move |(_, actor): &(&String, &Actor)| self.owns(person, &actor.person);
        self.actors.iter().filter(owned).map(|(id, _)| id.as_str())
    }

    /// The first agent by name, and a name of its owner.
    pub(crate) fn first_agent(&self) -> Option<(&str, &str)> {
        self.actors.iter().find_map(|(id, actor)| {
            let owner = self.owners.get(&actor.person)?.first()?;
            Some((id.as_str(), owner.as_str()))
        })
    }

    /// The actors that a name in `@approvers` stands for.
    pub(crate) fn members(&self, name: &str) -> Result<BTreeSet<String>, String> {
        match (self.groups.get(name), self.actors.contains_key(name)) {
            (Some(_), true) => Err(format!("`{name}` is a group and an actor; it must be clear which")),
            (Some(members), false) if members.is_empty() => Err(format!("the group `{name}` has no members")),
            (Some(members), false) => Ok(members.clone()),
            (None, true) => Ok(BTreeSet::from([name.to_owned()])),
            (None, false) => Err(format!("`{name}` is neither a group nor an actor of {FILE}")),
        }
    }

    /// Follows `person` to its end: the person behind a name may in turn be a name of somebody. If people
    /// name each other, the first represents all. `agent_of` leads to people in the same way.
    fn close(&mut self, problems: &mut Problems) {
        let direct: BTreeMap<String, String> =
            self.actors.iter().map(|(id, actor)| (id.clone(), actor.person.clone())).collect();
        let end = |name: &str| -> String {
            let mut path = vec![name.to_owned()];
            while let Some(next) = path.last().and_then(|last| direct.get(last)) {
                if let Some(start) = path.iter().position(|known| known == next) {
                    let circle = path.get(start..).unwrap_or_default();
                    return circle.iter().min().cloned().unwrap_or_default();
                }
                path.push(next.clone());
            }
            path.pop().unwrap_or_default()
        };
        for (id, actor) in &mut self.actors {
            actor.person = end(id);
        }
        let known: BTreeSet<&String> = direct.keys().chain(direct.values()).collect();
        let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (agent, named) in &self.owners {
            for owner in named {
                if !known.contains(owner) {
                    let message = format!("`{agent}` is the agent of `{owner}`, which is not there");
                    problems.push(Problem::error(FILE, message));
                }
                owners.entry(end(agent)).or_default().insert(end(owner));
            }
        }
        // The agent of an agent belongs to whoever owns that one.
        loop {
            let further: Vec<(String, String)> = owners
                .iter()
                .flat_map(|(agent, own)| {
                    own.iter()
                        .filter_map(|owner| owners.get(owner))
                        .flatten()
                        .map(|it| (agent.clone(), it.clone()))
                })
                .filter(|(agent, owner)| {
                    agent != owner && !owners.get(agent).is_some_and(|own| own.contains(owner))
                })
                .collect();
            if further.is_empty() {
                break;
            }
            for (agent, owner) in further {
                owners.entry(agent).or_default().insert(owner);
            }
        }
        self.owners = owners;
    }

    /// Whether a person owns the agent that another person is.
    pub(crate) fn owns(&self, owner: &str, agent: &str) -> bool {
        self.owners.get(agent).is_some_and(|owners| owners.contains(owner))
    }

    /// The person behind an id.
    pub(crate) fn person<'p>(&'p self, id: &'p str) -> &'p str {
        self.actors.get(id).map_or(id, |actor| &actor.person)
    }

    /// The people behind ids.
    pub(crate) fn persons(&self, ids: &BTreeSet<String>) -> BTreeSet<&str> {
        ids.iter().filter_map(|id| self.actors.get(id)).map(|actor| actor.person.as_str()).collect()
    }

    /// Whether there is such a group, or somebody is in it.
    pub(crate) fn has_group(&self, id: &str) -> bool {
        self.groups.contains_key(id)
    }

    /// The group that may have been meant.
    pub(crate) fn group_hint(&self, id: &str) -> String {
        let close = |known: &&String| {
            let common = known.chars().zip(id.chars()).take_while(|(left, right)| left == right).count();
            let sorted = |text: &str| {
                let mut letters: Vec<char> = text.chars().collect();
                letters.sort_unstable();
                letters
            };
            let alike = known.chars().count().abs_diff(id.chars().count()) <= 1;
            common >= 3 && alike || sorted(known) == sorted(id)
        };
        let known = self.groups.keys().find(close);
        known.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default()
    }

    /// Whether there is such an actor.
    pub(crate) fn has_actor(&self, id: &str) -> bool {
        self.actors.contains_key(id)
    }

    /// The groups that an actor is in.
    pub(crate) fn groups_of(&self, actor: &str) -> &[EntityUid] {
        self.actors.get(actor).map(|actor| actor.ancestors.as_slice()).unwrap_or_default()
    }

    /// A domain and those that it is in.
    pub(crate) fn domains_of(&self, domain: &str) -> Vec<EntityUid> {
        match self.domains.get(domain) {
            Some(uids) => uids.clone(),
            None => vec![domain_uid(domain)],
        }
    }

    /// The entities that a policy can reach from an actor.
    pub(crate) fn reach_of(&self, actor: &str) -> &[Entity] {
        self.actors.get(actor).map(|actor| actor.reach.as_slice()).unwrap_or_default()
    }

    pub(crate) fn actor_names(&self) -> impl Iterator<Item = &String> {
        self.actors.keys()
    }

    pub(crate) fn domain_names(&self) -> impl Iterator<Item = &String> {
        self.domains.keys()
    }

    /// An entity and all those that its attributes lead to.
    pub(crate) fn reach(&self, start: &EntityUid) -> Vec<Entity> {
        let mut seen = BTreeSet::from([start.clone()]);
        let mut open = vec![start.clone()];
        let mut reached = Vec::new();
        while let Some(uid) = open.pop() {
            let Some(entity) = self.flat.get(&uid) else { continue };
            let json = entity.to_json_value().unwrap_or_default();
            let mut next = Vec::new();
            entity_values(json.get("attrs").unwrap_or(&Json::Null), &mut next);
            open.extend(next.into_iter().filter(|uid| seen.insert(uid.clone())));
            reached.push(entity.clone());
        }
        reached
    }
}

/// The entity with all ancestors as its parents, so that it needs none of them beside it.
fn flatten(entity: &Entity, ancestors: &[EntityUid]) -> Option<Entity> {
    let (uid, attributes, _) = entity.clone().into_inner();
    let attributes: HashMap<String, RestrictedExpression> = attributes;
    Entity::new(uid, attributes, ancestors.iter().cloned().collect::<HashSet<_>>()).ok()
}

fn text_of(actor: &Entity, attribute: &str) -> Option<String> {
    match actor.attr(attribute)?.ok()? {
        EvalResult::String(text) => Some(text),
        _ => None,
    }
}

fn texts_of(actor: &Entity, attribute: &str) -> BTreeSet<String> {
    let Some(Ok(EvalResult::Set(set))) = actor.attr(attribute) else { return BTreeSet::new() };
    let text = |value: &EvalResult| match value {
        EvalResult::String(text) => Some(text.clone()),
        _ => None,
    };
    set.iter().filter_map(text).collect()
}

/// The entities that a value refers to, in Cedar's JSON form.
pub(crate) fn entity_values(json: &Json, found: &mut Vec<EntityUid>) {
    match json {
        Json::Array(elements) => elements.iter().for_each(|element| entity_values(element, found)),
        Json::Object(members) => {
            if let Some(uid) = members.get("__entity").and_then(|uid| EntityUid::from_json(uid.clone()).ok())
            {
                found.push(uid);
            }
            members.values().for_each(|member| entity_values(member, found));
        }
        _ => {}
    }
}

/// Names of entity types are parsed once.
macro_rules! uids {
    ($($name:ident: $kind:literal),*) => {$(
        pub(crate) fn $name(id: &str) -> EntityUid {
            static KIND: LazyLock<EntityTypeName> = LazyLock::new(|| $kind.parse().expect("a word is a name"));
            EntityUid::from_type_name_and_id(KIND.clone(), EntityId::new(id))
        }
    )*};
}
uids!(
    actor_uid: "Actor",
    domain_uid: "Domain",
    resource_uid: "Resource",
    resource_type_uid: "ResourceType",
    action_uid: "Action"
);
