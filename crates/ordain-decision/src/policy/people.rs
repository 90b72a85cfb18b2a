//! The actors, groups and domains of `entities.json`.

use super::names::Known;
use super::problem::{Problem, Problems, Severity};
use cedar_policy::{
    Entities, Entity, EntityId, EntityTypeName, EntityUid, EvalResult, RestrictedExpression, Schema,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

/// The file with the entities.
pub(crate) const FILE: &str = "entities.json";

/// Who and what the policy knows.
pub(crate) struct People {
    /// Actors, by id.
    actors: BTreeMap<String, Actor>,
    /// The ids of the actors in each group, those of its groups included.
    groups: BTreeMap<String, BTreeSet<String>>,
    /// The domains that each domain is in, itself first.
    domains: BTreeMap<String, Vec<EntityUid>>,
    /// Each entity with all its ancestors as parents.
    flat: BTreeMap<EntityUid, Entity>,
}

struct Actor {
    person: String,
    ancestors: Vec<EntityUid>,
    /// The actor's entity and those that its attributes lead to.
    reach: Vec<Entity>,
}

impl People {
    /// Of the folder's entities; without a file there are none.
    pub(crate) fn load(text: Option<&str>, schema: &Schema, problems: &mut Problems) -> Option<Self> {
        let mut people = Self {
            actors: BTreeMap::new(),
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
            let person = entities.get(&actor_uid(&id)).and_then(person_of);
            let reach = people.reach(&actor_uid(&id));
            people.actors.insert(id.clone(), Actor { person: person.unwrap_or(id), ancestors, reach });
        }
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

    /// The actors that a name in `@approvers` stands for.
    pub(crate) fn members(&self, name: &str) -> Result<BTreeSet<String>, String> {
        match (self.groups.get(name), self.actors.contains_key(name)) {
            (Some(_), true) => Err(format!("`{name}` is a group and an actor; it must be clear which")),
            (Some(members), false) if members.is_empty() => Err(format!("the group `{name}` has no members")),
            (Some(members), false) => Ok(members.clone()),
            (None, true) => Ok(BTreeSet::from([name.to_owned()])),
            (None, false) => Err(format!("`{name}` is no group and no actor of {FILE}")),
        }
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

fn person_of(actor: &Entity) -> Option<String> {
    match actor.attr("person")?.ok()? {
        EvalResult::String(person) => Some(person),
        _ => None,
    }
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
