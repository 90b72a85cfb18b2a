//! The index against Cedar's plain `Authorizer` over the whole set.

use super::index::Place;
use super::people::{action_uid, actor_uid, domain_uid, resource_type_uid, resource_uid};
use super::schema::ACTIONS;
use super::{PolicyFiles, PolicySet};
use cedar_policy::{
    Authorizer, Context, Decision, Effect, Entities, Entity, EntityUid, PolicySet as CedarSet, Request,
    RestrictedExpression as Expression, Schema,
};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

/// Groups in groups and domains in domains, some several levels deep.
const ENTITIES: &str = r#"[
{"uid": {"type": "Group", "id": "g0"}, "attrs": {}, "parents": []},
{"uid": {"type": "Group", "id": "g1"}, "attrs": {}, "parents": [{"type": "Group", "id": "g0"}]},
{"uid": {"type": "Group", "id": "g2"}, "attrs": {}, "parents": [{"type": "Group", "id": "g1"}]},
{"uid": {"type": "Group", "id": "other"}, "attrs": {}, "parents": []},
{"uid": {"type": "Actor", "id": "deep"}, "attrs": {"person": "p", "attributes": {"level": 3, "boss": {"__entity": {"type": "Actor", "id": "both"}}}}, "parents": [{"type": "Group", "id": "g2"}]},
{"uid": {"type": "Actor", "id": "both"}, "attrs": {"attributes": {"level": 9}}, "parents": [{"type": "Group", "id": "g1"}, {"type": "Group", "id": "other"}]},
{"uid": {"type": "Actor", "id": "alone"}, "attrs": {}, "parents": []},
{"uid": {"type": "Domain", "id": "com"}, "attrs": {}, "parents": []},
{"uid": {"type": "Domain", "id": "x.com"}, "attrs": {"attributes": {"tier": 2}}, "parents": [{"type": "Domain", "id": "com"}]},
{"uid": {"type": "Domain", "id": "a.x.com"}, "attrs": {}, "parents": [{"type": "Domain", "id": "x.com"}]}
]"#;

const SCHEMA: &str = "type ActorAttributes = { level?: Long, boss?: Actor };\ntype DomainAttributes = { tier: Long };\n\
                      type Parameters = { count?: Long };\n";

fn policy_text(random: &mut Random, number: usize) -> String {
    let effect = random.pick(&["permit", "permit", "forbid"]);
    let principal = random.pick(&[
        "principal",
        "principal",
        "principal == Actor::\"deep\"",
        "principal == Actor::\"unknown\"",
        "principal == Group::\"g1\"",
        "principal in Group::\"g0\"",
        "principal in Group::\"g1\"",
        "principal in Group::\"other\"",
        "principal is Actor",
        "principal is Actor in Group::\"g2\"",
    ]);
    let action = random.pick(&[
        "action",
        "action == Action::\"read\"",
        "action == Action::\"write\"",
        "action in Action::\"modify\"",
        "action in Action::\"effect\"",
        "action in [Action::\"observe\", Action::\"delete\"]",
        "action in [Action::\"any\"]",
    ]);
    let resource = random.pick(&[
        "resource",
        "resource",
        "resource == Resource::\"x.com/page/1\"",
        "resource in Domain::\"com\"",
        "resource == Domain::\"x.com\"",
        "resource == ResourceType::\"page\"",
        "resource in Domain::\"x.com\"",
        "resource in ResourceType::\"page\"",
        "resource is Resource",
        "resource is Resource in Domain::\"a.x.com\"",
        "resource in Resource::\"a.x.com/file/docs~0/a.md\"",
    ]);
    let condition = random.pick(&[
        "",
        "",
        "when { context.approvals >= 1 }",
        "unless { resource.type == \"page\" }",
        "when { principal in Group::\"g1\" || resource in Domain::\"x.com\" }",
        "when { principal has attributes && principal.attributes has level && principal.attributes.level > 2 }",
        "when { principal has attributes && principal.attributes has boss && principal.attributes.boss in Group::\"other\" }",
        "when { Actor::\"both\" has attributes && Actor::\"both\".attributes has level && Actor::\"both\".attributes.level == 9 }",
        "when { Group::\"g2\" in Group::\"g0\" }",
        "when { [Actor::\"deep\", Actor::\"alone\"].contains(principal) }",
        "when { context.parameters has count && context.parameters.count * 4611686018427387904 > 0 }",
        "when { Domain::\"x.com\" has attributes && Domain::\"x.com\".attributes.tier == 2 }",
        "when { resource has path && resource.path like \"docs*\" }",
        "when { if principal in Group::\"g2\" then action == Action::\"read\" else resource in Domain::\"com\" }",
    ]);
    format!("@id(\"p{number}\") {effect}({principal}, {action}, {resource}) {condition};\n")
}

fn context(random: &mut Random) -> Context {
    let text = |text: &str| Expression::new_string(text.to_owned());
    let record = |members: Vec<(&str, Expression)>| {
        Expression::new_record(members.into_iter().map(|(name, it)| (name.to_owned(), it))).unwrap()
    };
    let none = || Expression::new_set([]);
    let count = [0, 1, 2, 9][random.below(4)];
    let parameters = if random.below(2) == 0 {
        record(vec![])
    } else {
        record(vec![("count", Expression::new_long(count))])
    };
    let evidence = record(vec![
        ("packets", Expression::new_long(0)),
        ("types", none()),
        ("sensors", none()),
        ("preconditions", Expression::new_long(0)),
        ("preconditions_hold", Expression::new_bool(true)),
        ("signed", Expression::new_bool(false)),
    ]);
    Context::from_pairs(
        [
            ("parameters", parameters),
            ("constraints", record(vec![])),
            ("rollback", text("none")),
            ("evidence", evidence),
            ("approvals", Expression::new_long(i64::try_from(random.below(3)).unwrap())),
            ("approval_class", text("none")),
            ("now", Expression::new_datetime("2024-01-01")),
        ]
        .map(|(name, it)| (name.to_owned(), it)),
    )
    .unwrap()
}

fn resource_entity(domain: &str, kind: &str, id: &str) -> Entity {
    let text = |text: &str| Expression::new_string(text.to_owned());
    let mut attributes = HashMap::from([
        ("id".to_owned(), text(id)),
        ("type".to_owned(), text(kind)),
        ("domain".to_owned(), text(domain)),
    ]);
    if kind != "page" {
        attributes.insert("path".to_owned(), text(id));
    }
    let parents = [domain_uid(domain), resource_type_uid(kind)];
    let id = format!("{domain}/{kind}/{id}");
    Entity::new(resource_uid(&id), attributes, parents.into_iter().collect()).unwrap()
}

/// The same question to the index, with as few entities as it needs, and to Cedar, with all.
fn compare(set: &PolicySet, schema: &Schema, random: &mut Random, seed: u64) -> usize {
    let all = Entities::from_json_str(ENTITIES, Some(schema)).unwrap();
    let whole = CedarSet::from_policies(set.statements.iter().map(|it| it.policy.clone())).unwrap();
    let mut deciding = 0;
    for _ in 0..12 {
        let actor = random.pick(&["deep", "both", "alone", "unknown"]);
        let domain = random.pick(&["com", "x.com", "a.x.com", "unknown.org"]);
        let (kind, id) = [("page", "1"), ("file", "docs~0/a.md"), ("page", "2")][random.below(3)];
        let (_, action, _) = ACTIONS[random.below(ACTIONS.len())];
        let resource = resource_entity(domain, kind, id);
        let principal = actor_uid(actor);
        let context = context(random);
        let action_uid = action_uid(action);
        let request =
            Request::new(principal.clone(), action_uid, resource.uid(), context, Some(schema)).unwrap();
        let plain = all.clone().add_entities([resource.clone()], Some(schema)).unwrap();
        let expected = Authorizer::new().is_authorized(&request, &whole, &plain);

        let mut ancestors: Vec<EntityUid> = set.people.domains_of(domain);
        ancestors.push(resource_type_uid(kind));
        let flat = resource.clone().into_inner();
        let resource = Entity::new(flat.0, flat.1, ancestors.iter().cloned().collect()).unwrap();
        let place = Place {
            action,
            principal: &principal,
            principal_ancestors: set.people.groups_of(actor),
            resource: &resource.uid(),
            resource_ancestors: &ancestors,
        };
        let in_scope = set.index.find(&place);
        let mut few: HashMap<EntityUid, Entity> = HashMap::new();
        if in_scope.reads.named {
            few.extend(set.always.iter().map(|it| (it.uid(), it.clone())));
        }
        if in_scope.reads.principal {
            few.extend(set.people.reach_of(actor).iter().map(|it| (it.uid(), it.clone())));
        }
        if in_scope.reads.resource {
            few.insert(resource.uid(), resource.clone());
        }
        if in_scope.reads.action {
            few.insert(set.actions[action].uid.clone(), set.actions[action].entity.clone());
        }
        let few = Entities::from_entities(few.into_values(), None).unwrap();
        let found = in_scope.ask(&request, &few);

        let names = |effect: Effect| -> BTreeSet<String> {
            let of_effect = |id: &String| set.statement(id).unwrap().effect == effect;
            expected.diagnostics().reason().map(ToString::to_string).filter(of_effect).collect()
        };
        let errors: BTreeSet<String> = expected
            .diagnostics()
            .errors()
            .map(|cedar_policy::AuthorizationError::PolicyEvaluationError(it)| it.policy_id().to_string())
            .collect();
        assert_eq!(
            found.errors.iter().map(|(id, _)| id.clone()).collect::<BTreeSet<_>>(),
            errors,
            "seed {seed}"
        );
        let forbids: BTreeSet<String> = found.forbids.iter().cloned().collect();
        assert_eq!(forbids, names(Effect::Forbid), "seed {seed}: {request}");
        if expected.decision() == Decision::Allow {
            assert_eq!(
                found.permits.iter().cloned().collect::<BTreeSet<_>>(),
                names(Effect::Permit),
                "seed {seed}"
            );
        }
        let allowed = !found.permits.is_empty() && forbids.is_empty();
        assert_eq!(allowed, expected.decision() == Decision::Allow, "seed {seed}: {request}");
        deciding += usize::from(!found.permits.is_empty() || !forbids.is_empty());
    }
    deciding
}

#[test]
fn the_index_finds_all_policies_that_can_apply() {
    let rounds = if option_env!("ORDAIN_SOAK").is_some() { 4_000 } else { 150 };
    let schema = Schema::from_cedarschema_str(
        &super::schema::schema_text()
            .replace("type ActorAttributes = {};", "")
            .replace("type DomainAttributes = {};", "")
            .replace("type Parameters = {};", "")
            .replace("entity Group", &format!("{SCHEMA}\nentity Group")),
    )
    .unwrap()
    .0;
    let mut deciding = 0;
    for seed in 0..rounds {
        let random = &mut Random(seed);
        let mut text = String::new();
        for number in 0..=random.below(30) {
            let _infallible = write!(text, "{}", policy_text(random, number));
        }
        let files = [("p.cedar", text.as_str()), ("entities.json", ENTITIES), ("schema.cedarschema", SCHEMA)];
        let files: PolicyFiles = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let set = PolicySet::load(&files).unwrap_or_else(|problems| panic!("seed {seed}: {problems:#?}"));
        deciding += compare(&set, &schema, random, seed);
    }
    assert!(deciding > 3 * usize::try_from(rounds).unwrap(), "{deciding} questions were decided by a policy");
}

/// 1,000 policies cost what 10 of the same shape cost.
#[test]
fn policies_of_others_are_not_evaluated() {
    let evaluated = |count: usize| {
        let mut text = String::new();
        for number in 0..count {
            let _infallible = writeln!(
                text,
                "@id(\"p{number}\") permit(principal in Group::\"g{number}\", action == Action::\"write\", \
                 resource in Domain::\"d{number}.com\") when {{ context.approvals >= 0 }};"
            );
        }
        for number in 0..10 {
            let _infallible = writeln!(
                text,
                "@id(\"r{number}\") permit(principal, action == Action::\"read\", resource == Resource::\"d/t/{number}\");\n\
                 @id(\"f{number}\") forbid(principal == Actor::\"a{number}\", action in Action::\"modify\", resource);"
            );
        }
        let entities: Vec<String> = (0..count)
            .map(|number| {
                format!(
                    r#"{{"uid": {{"type": "Actor", "id": "actor {number}"}}, "attrs": {{}},
                    "parents": [{{"type": "Group", "id": "g{number}"}}]}}"#
                )
            })
            .collect();
        let entities = format!("[{}]", entities.join(","));
        let files = [("p.cedar".to_owned(), text), ("entities.json".to_owned(), entities)];
        let set = PolicySet::load(&files.into()).unwrap_or_else(|problems| panic!("{problems:#?}"));
        let text = br#"{"proposal_id": "1", "ts_ms": 1, "actor": "actor 7", "action_type": "write", "parameters": {},
            "target": {"resource_type": "t", "resource_id": "1", "domain": "d7.com", "constraints": {}}}"#;
        let document = &ordain_canon::Value::read(text).unwrap();
        let case = crate::Case {
            document,
            policies: &set,
            evidence: &[],
            approvals: &[],
            approver_keys: &ordain_spec::statement::NO_KEYS,
            now_ms: 1,
            halted: false,
            workspace: None,
        };
        let judgement = crate::decide(&case);
        assert_eq!(judgement.decision.outcome.name(), "ALLOW");
        judgement.evaluated
    };
    assert_eq!(evaluated(10), 1);
    assert_eq!(evaluated(1_000), 1);
}
