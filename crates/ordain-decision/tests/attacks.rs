//! Attacks that succeeded once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use ordain_canon::{ActionHash, Canonicalizer, Value};
use ordain_decision::{Case, PolicyFiles, PolicySet, decide, decide_text, explain};
use serde_json::{Value as Json, json};

fn load(
    policies: &str,
    actors: &[(&str, &str, &str)],
    schema: &str,
    redact: &str,
) -> Result<PolicySet, String> {
    let mut entities = Vec::new();
    for (id, group, person) in actors {
        let attributes = if person.is_empty() { json!({}) } else { json!({"person": person}) };
        entities.push(json!({"uid": {"type": "Actor", "id": id}, "attrs": attributes,
            "parents": [{"type": "Group", "id": group}]}));
    }
    let files = [
        ("p.cedar", policies.to_owned()),
        ("entities.json", Json::Array(entities).to_string()),
        ("schema.cedarschema", schema.to_owned()),
        ("redact.toml", redact.to_owned()),
    ];
    let files: PolicyFiles = files.map(|(name, text)| (name.to_owned(), text)).into();
    PolicySet::load(&files).map_err(|problems| format!("{problems:?}"))
}

fn proposal(action: &str, target: [&str; 3], parameters: &Json) -> Json {
    let [domain, kind, id] = target;
    json!({"proposal_id": "1", "ts_ms": 1, "actor": "agent", "action_type": action, "parameters": parameters,
        "target": {"resource_type": kind, "resource_id": id, "domain": domain, "constraints": {}}})
}

/// The outcome and the whole decision as text.
fn answer(policies: &PolicySet, proposal: &Json, approvers: &[&str]) -> (&'static str, String) {
    let decision = with_case(policies, proposal, approvers, |case| decide(case).decision);
    (decision.outcome.name(), format!("{decision:?}"))
}

fn with_case<T>(
    policies: &PolicySet,
    proposal: &Json,
    approvers: &[&str],
    ask: impl FnOnce(&Case<'_>) -> T,
) -> T {
    let hash = ActionHash::of(&mut Canonicalizer::new(), proposal).unwrap().to_string();
    let approval = |approver: &&str| {
        json!({"proposal_hash": hash, "approver": approver, "verdict": "approve", "reason": "", "at_ms": 1_000,
            "view_digest": hash})
        .to_string()
    };
    let approvals: Vec<String> = approvers.iter().map(approval).collect();
    let approvals: Vec<Value<'_>> = approvals.iter().map(|it| Value::read(it.as_bytes()).unwrap()).collect();
    let text = proposal.to_string();
    ask(&Case {
        document: &Value::read(text.as_bytes()).unwrap(),
        policies,
        evidence: &[],
        approvals: &approvals,
        approver_keys: &ordain_spec::statement::NO_KEYS,
        now_ms: 1_000,
        halted: false,
        workspace: None,
    })
}

const EVERYTHING: &str = "@id(\"all\") permit(principal, action, resource);";

#[test]
fn a_harmless_operation_does_not_bring_other_approvers() {
    let policies = r#"
@id("docs") @approval("single") @approvers("interns")
permit(principal, action == Action::"create", resource in Domain::"workspace") when { resource has path && resource.path like "docs/*" };
@id("src") @approvers("leads")
permit(principal, action == Action::"write", resource in Domain::"workspace") when { resource has path && resource.path like "src/*" };
@id("src-two") forbid(principal, action == Action::"write", resource) unless { context.approvals >= 2 };"#;
    let people = [("ian", "interns", ""), ("ina", "interns", ""), ("lea", "leads", ""), ("leo", "leads", "")];
    let set = load(policies, &people, "", "fields = []").unwrap();
    let operations =
        json!({"operations": [{"op": "modify", "path": "src/a"}, {"op": "create", "path": "docs/x"}]});
    let patch = proposal("write", ["workspace", "patch_set", "x"], &operations);
    assert_eq!(answer(&set, &patch, &["ian", "ina"]).0, "HOLD");
    assert_eq!(answer(&set, &patch, &["ian", "ina", "lea"]).0, "HOLD");
    // An explanation counts as the decision does.
    for (approvers, applies) in [(&["ian", "ina"][..], true), (&["ian", "ina", "lea", "leo"], false)] {
        let explained = with_case(&set, &patch, approvers, explain);
        let two = explained.iter().find(|it| it.policy == "src-two").unwrap();
        assert_eq!(two.applies(), applies, "{approvers:?}: {two:?}");
    }
    // The number is the smallest over the operations, so it takes two of each.
    assert_eq!(answer(&set, &patch, &["ian", "ina", "lea", "leo"]).0, "ALLOW");
}

#[test]
fn what_only_looks_like_a_patch_set_or_a_path_is_refused() {
    let set = load(EVERYTHING, &[], "", "fields = []").unwrap();
    let operations = json!({"operations": [{"op": "modify", "path": "a"}]});
    assert_eq!(
        answer(&set, &proposal("write", ["workspace", "patch_set", "x"], &operations), &[]).0,
        "ALLOW"
    );
    for (action, domain, kind) in [
        ("write", "workspace", "Patch_set"),
        ("write", "Workspace", "patch_set"),
        ("write", "w\u{3bf}rkspace", "patch_set"),
        ("write", "workspace.", "patch_set"),
        ("create", "workspace", "patch_set"),
        ("write", "elsewhere", "patch_set"),
    ] {
        let (outcome, said) = answer(&set, &proposal(action, [domain, kind, "x"], &operations), &[]);
        assert_eq!(outcome, "DENY", "{action} {domain} {kind}: {said}");
    }
    for path in ["./.env", "docs/../.env", "/repo/.env", ".env/", "x//.env", "docs\\.env", "C:.env", ".env\n"]
    {
        let (outcome, said) = answer(&set, &proposal("read", ["workspace", "file", path], &json!({})), &[]);
        assert!(outcome == "DENY" && said.contains("\"G9\""), "{path:?}: {said}");
    }
}

#[test]
fn one_person_in_two_spellings_is_no_two_people() {
    let people = [("lea-work", "leads", "Lea"), ("lea-oncall", "leads", "lea")];
    let refused = load(EVERYTHING, &people, "", "fields = []").err().unwrap();
    assert!(refused.contains("look alike"), "{refused}");
}

#[test]
fn secrets_stay_out_of_messages() {
    let policy = "@id(\"p\") permit(principal, action, resource) when { context.parameters[\"card-number\"] == \"x\" };";
    let schema = "type Parameters = { \"card-number\": String, ssn: Long };";
    let set = load(policy, &[], schema, "fields = [\"card-number\", \"ssn\"]").unwrap();
    let of = |ssn: Json| {
        proposal("read", ["d", "t", "1"], &json!({"card-number": "4111111111111111", "ssn": ssn}))
    };
    for (ssn, rule) in [(json!(1), "\"G12\""), (json!(123_456_789.5), "\"G8\"")] {
        let (outcome, said) = answer(&set, &of(ssn), &[]);
        assert!(outcome == "DENY" && said.contains(rule), "{said}");
        assert!(!said.contains("4111111111111111") && !said.contains("123456789.5"), "{said}");
    }
}

#[test]
fn a_forbidden_field_in_another_spelling_is_that_field() {
    let set = load(EVERYTHING, &[], "", "fields = []").unwrap();
    for name in
        ["person['ssn']", "ssn ", "`ssn`", "person~1ssn", "person->ssn", "ｓｓｎ", "ssn\u{200b}", "SSN"]
    {
        let mut it = proposal("write", ["d", "t", "1"], &json!({"updates": {name: 1}}));
        it["target"]["constraints"] = json!({"forbidden_fields": ["ssn"]});
        assert_eq!(answer(&set, &it, &[]).0, "DENY", "{name:?}");
    }
}

/// Many permits with overlapping approvers: the search for who could approve ends.
#[test]
fn looking_for_approvers_ends() {
    let mut policies = String::new();
    for number in 0..30 {
        let names: Vec<String> =
            (0..12).map(|at| format!("u{}", (number * 7 + at * (number % 5 + 3)) % 80)).collect();
        policies += &format!(
            "@id(\"p{number}\") @approval(\"threshold:4\") @approvers(\"{}\") permit(principal, action, resource);\n",
            names.join(",")
        );
    }
    let ids: Vec<String> = (0..80).map(|number| format!("u{number}")).collect();
    let people: Vec<(&str, &str, &str)> = ids.iter().map(|id| (id.as_str(), "all", "")).collect();
    let set = load(&policies, &people, "", "fields = []").unwrap();
    assert_ne!(answer(&set, &proposal("read", ["d", "t", "1"], &json!({})), &[]).0, "ALLOW");
}

/// The demands of permits, of the proposal and of a forbid are named at once, and the number is the one that
/// suffices.
#[test]
fn a_hold_does_not_understate() {
    let policies = r#"
@id("one") @approval("single") @approvers("leads") permit(principal, action == Action::"create", resource);
@id("two") forbid(principal, action == Action::"create", resource) unless { context.approvals >= 2 };
@id("left") @approval("single") @approvers("leads") permit(principal, action == Action::"delete", resource);
@id("right") @approval("single") @approvers("interns") permit(principal, action == Action::"delete", resource);"#;
    let people = [("ian", "interns", ""), ("ina", "interns", ""), ("lea", "leads", ""), ("leo", "leads", "")];
    let set = load(policies, &people, "", "fields = []").unwrap();
    let of = |action: &str| proposal(action, ["d", "t", "1"], &json!({}));
    let (outcome, said) = answer(&set, &of("create"), &[]);
    assert!(outcome == "HOLD" && said.contains("required: 2"), "{said}");
    assert!(said.contains("`one` asks for 1 approval from `leads`"), "{said}");
    assert!(
        said.contains(
            "the policies ask for 2 approvals in all, 0 given; these people may approve: `lea`, `leo`"
        ),
        "{said}"
    );
    let (outcome, said) = answer(&set, &of("create"), &["lea"]);
    assert!(outcome == "HOLD" && said.contains("required: 2") && !said.contains("`one` asks"), "{said}");
    assert_eq!(answer(&set, &of("create"), &["lea", "leo"]).0, "ALLOW");
    // One of each: two in all, and no policy is said to ask for them.
    let (outcome, said) = answer(&set, &of("delete"), &["lea"]);
    assert!(
        outcome == "HOLD" && said.contains("required: 2") && !said.contains("the policies ask"),
        "{said}"
    );
}

#[test]
fn the_number_for_a_patch_set_is_that_of_all_its_operations() {
    let policies = r#"
@id("docs") @approvers("interns") permit(principal, action == Action::"create", resource);
@id("src") @approvers("leads") permit(principal, action == Action::"write", resource);
@id("two") forbid(principal, action, resource) unless { context.approvals >= 2 };"#;
    let people = [("ian", "interns", ""), ("ina", "interns", ""), ("lea", "leads", ""), ("leo", "leads", "")];
    let set = load(policies, &people, "", "fields = []").unwrap();
    let operations = json!({"operations": [{"op": "modify", "path": "a"}, {"op": "create", "path": "b"}]});
    let patch = proposal("write", ["workspace", "patch_set", "x"], &operations);
    let (outcome, said) = answer(&set, &patch, &["ian"]);
    assert!(outcome == "HOLD" && said.contains("required: 4"), "{said}");
}

/// Eighteen permits that each ask for somebody else.
#[test]
fn too_many_approvals_are_called_that() {
    let mut policies = String::new();
    let ids: Vec<String> = (0..18).map(|number| format!("u{number}")).collect();
    for id in &ids {
        policies += &format!(
            "@id(\"p-{id}\") @approval(\"single\") @approvers(\"{id}\") permit(principal, action, resource);\n"
        );
    }
    let people: Vec<(&str, &str, &str)> = ids.iter().map(|id| (id.as_str(), "all", "")).collect();
    let set = load(&policies, &people, "", "fields = []").unwrap();
    let (outcome, said) = answer(&set, &proposal("read", ["d", "t", "1"], &json!({})), &[]);
    assert!(outcome == "DENY" && said.contains("V-PROP-014"), "{said}");
    assert!(said.contains("more than 16") && said.contains("`@approvers`"), "{said}");
    assert!(!said.contains("no longer permit"), "{said}");
}

#[test]
fn a_policy_that_fails_is_not_called_missing() {
    let schema = "type Parameters = { count: Long };";
    let policies = "@id(\"f\") forbid(principal, action, resource) when { context.parameters.count + 9223372036854775807 > 0 };";
    let set = load(policies, &[], schema, "fields = []").unwrap();
    let (outcome, said) = answer(&set, &proposal("read", ["d", "t", "1"], &json!({"count": 1})), &[]);
    assert!(outcome == "DENY" && said.contains("\"G11\"") && !said.contains("at all"), "{said}");
    // Without a failure it is said.
    let (_, said) =
        answer(&set, &proposal("read", ["d", "t", "1"], &json!({"count": -9_007_199_254_740_991_i64})), &[]);
    assert!(!said.contains("\"G11\"") && said.contains("there is no permit for `read` at all"), "{said}");
}

#[test]
fn what_can_never_be_is_no_nearest_miss() {
    let policies = r#"
@id("never") permit(principal is Group, action == Action::"read", resource);
@id("off") permit(principal, action == Action::"write", resource) when { false };
@id("doubly") permit(principal, action == Action::"create", resource) unless { true };
@id("on") permit(principal, action == Action::"create", resource) when { resource.id == "2" };"#;
    let Ok(set) = load(policies, &[], "", "fields = []") else { panic!("the folder is valid") };
    for action in ["read", "write", "create"] {
        let (outcome, said) = answer(&set, &proposal(action, ["d", "t", "1"], &json!({})), &[]);
        assert!(outcome == "DENY" && !said.contains("`false`") && !said.contains("!(true)"), "{said}");
        assert_eq!(said.contains("would be permitted by `on`"), action == "create", "{said}");
    }
}

/// Nothing was shown where nothing was asked.
#[test]
fn no_preconditions_do_not_hold() {
    let policies =
        "@id(\"p\") permit(principal, action, resource) when { context.evidence.preconditions_hold };";
    let set = load(policies, &[], "", "fields = []").unwrap();
    assert_eq!(answer(&set, &proposal("read", ["d", "t", "1"], &json!({})), &[]).0, "DENY");
}

#[test]
fn a_path_that_is_not_what_it_looks_like_is_refused() {
    let set = load(EVERYTHING, &[], "", "fields = []").unwrap();
    for path in [
        "a\u{200b}b",
        "\u{202e}cod.exe",
        "cafe\u{301}",
        "\u{212b}",
        "a\u{fff9}",
        "a\u{7f}",
        "\u{e0041}",
        "a\u{2028}b",
    ] {
        let file = proposal("read", ["workspace", "file", path], &json!({}));
        let patch = proposal(
            "write",
            ["workspace", "patch_set", "x"],
            &json!({"operations": [{"op": "create", "path": path}]}),
        );
        for it in [file, patch] {
            let (outcome, said) = answer(&set, &it, &[]);
            assert!(outcome == "DENY" && said.contains("\"G9\""), "{path:?}: {said}");
        }
    }
    for path in ["caf\u{e9}", "東京/a b.md"] {
        assert_eq!(answer(&set, &proposal("read", ["workspace", "file", path], &json!({})), &[]).0, "ALLOW");
    }
}

#[test]
fn too_many_preconditions_are_not_compared() {
    let set = load(EVERYTHING, &[], "", "fields = []").unwrap();
    let of = |count: usize| {
        let mut it = proposal("read", ["d", "t", "1"], &json!({}));
        let one = json!({"field": "a", "operator": "matches", "value": "\\w{900}", "evidence_ref": "e"});
        it["preconditions"] = Json::Array(vec![one; count]);
        answer(&set, &it, &[]).1
    };
    let said = of(65);
    assert!(said.contains("\"G5\"") && said.contains("path: \"/preconditions\""), "{said}");
    assert!(said.contains("there are 65 preconditions, and at most 64 are compared"), "{said}");
    assert!(!of(64).contains("are compared"));
}

/// Forty lines that are a million million parts when they are written out.
#[test]
fn a_schema_that_explodes_is_refused() {
    let mut schema = "type T0 = { a: Long, b: Long };\n".to_owned();
    for number in 1..=40 {
        let inner = number - 1;
        schema += &format!("type T{number} = {{ a: T{inner}, b: Set<T{inner}> }};\n");
    }
    let refused = load(EVERYTHING, &[], &format!("{schema}type Parameters = {{ x?: T40 }};"), "fields = []");
    let refused = refused.err().unwrap();
    assert!(refused.contains("more than 2000 parts when they are written out"), "{refused:.300}");
    let circle = "type A = { b: B }; type B = { a: A }; type Parameters = { x?: A };";
    assert!(load(EVERYTHING, &[], circle, "fields = []").is_err());
    let wide: Vec<String> = (0..900).map(|number| format!("a{number}?: Long")).collect();
    let wide = format!("type Parameters = {{ {} }};", wide.join(", "));
    assert!(load(EVERYTHING, &[], &wide, "fields = []").is_ok());
}

/// An action that a condition names is known with its groups, and a group by itself is nobody's action.
#[test]
fn actions_that_conditions_name_are_known() {
    for (condition, outcome) in [
        ("Action::\"read\" in Action::\"observe\"", "ALLOW"),
        ("Action::\"delete\" in Action::\"effect\"", "ALLOW"),
        ("action in Action::\"any\" && !(Action::\"read\" in Action::\"modify\")", "ALLOW"),
        ("[Action::\"observe\", Action::\"modify\"].contains(action)", "DENY"),
        ("action == Action::\"observe\"", "DENY"),
        ("Action::\"read\" in Action::\"modify\"", "DENY"),
    ] {
        let policy = format!("@id(\"p\") permit(principal, action, resource) when {{ {condition} }};");
        let alone = PolicyFiles::from([("p.cedar".to_owned(), policy.clone())]);
        for set in [PolicySet::load(&alone).unwrap(), load(&policy, &[], "", "fields = []").unwrap()] {
            for action in ["read", "delete"] {
                let (found, said) = answer(&set, &proposal(action, ["d", "t", "1"], &json!({})), &[]);
                assert_eq!(found, outcome, "{condition}: {said}");
            }
        }
    }
    // In a scope `==` with a group never matches, and the author gets a warning.
    let policy = "@id(\"p\") permit(principal, action == Action::\"observe\", resource);";
    match load(policy, &[], "", "fields = []") {
        Err(why) => {
            assert!(why.contains("never") || why.contains("impossible") || why.contains("apply"), "{why}")
        }
        Ok(set) => {
            assert_eq!(answer(&set, &proposal("read", ["d", "t", "1"], &json!({})), &[]).0, "DENY");
            assert!(!set.warnings().is_empty());
        }
    }
}

/// The values that a condition reads are found in Cedar's JSON form, where operators are keys. A record may
/// have such keys too.
#[test]
fn keys_that_look_like_operators_hide_nothing() {
    let schema = "type Parameters = { count: Long };";
    for condition in [
        "{\"Var\": context.parameters.count}[\"Var\"] == 7",
        "{\"Value\": context.parameters.count}[\"Value\"] == 7",
        "{\"==\": context.parameters.count, \"left\": 1}[\"==\"] == 7",
        "{\"left\": context.parameters.count, \"attr\": \"approvals\"}[\"left\"] == 7",
        "{\".\": {\"left\": context.parameters, \"attr\": \"x\"}}[\".\"].left.count == 7",
        "{\"has\": {\"left\": {\"Var\": context.parameters.count}, \"attr\": \"now\"}}[\"has\"].left[\"Var\"] == 7",
        "{\"Record\": {\"in\": context.parameters.count}}[\"Record\"][\"in\"] == 7",
        "{\"in\": {\"right\": principal}}[\"in\"].right in Group::\"leads\" && context.parameters.count == 7",
        "{\"Value\": Actor::\"lea\"}[\"Value\"] in Group::\"leads\" && context.parameters.count == 7",
        "{\"contains\": {\"left\": Actor::\"lea\"}}.contains.left in Group::\"leads\" && context.parameters.count == 7",
    ] {
        let policy = format!("@id(\"p\") permit(principal, action, resource) when {{ {condition} }};");
        let people = [("agent", "leads", ""), ("lea", "leads", "")];
        let set =
            load(&policy, &people, schema, "fields = []").unwrap_or_else(|why| panic!("{condition}: {why}"));
        for (count, outcome) in [(7, "ALLOW"), (8, "DENY")] {
            let (found, said) =
                answer(&set, &proposal("read", ["d", "t", "1"], &json!({"count": count})), &[]);
            assert!(found == outcome && !said.contains("\"G11\""), "{condition}: {said}");
        }
    }
}

/// A number that Cedar would see as another one must not reach it.
#[test]
fn numbers_at_the_edge_are_exact_or_refused() {
    let of = |number: &str| {
        let policies = format!(
            "@id(\"p\") permit(principal, action, resource) when {{ context.parameters.count == {number} }};"
        );
        let known = number.parse::<i64>().is_ok_and(|number| number > i64::MIN);
        let policies = if known { policies.as_str() } else { EVERYTHING };
        let set = load(policies, &[], "type Parameters = { count: Long };", "fields = []").unwrap();
        let text = proposal("read", ["d", "t", "1"], &json!({"count": 0}))
            .to_string()
            .replace("\"count\":0", &format!("\"count\":{number}"));
        let case = Case {
            document: &Value::Null,
            policies: &set,
            evidence: &[],
            approvals: &[],
            approver_keys: &ordain_spec::statement::NO_KEYS,
            now_ms: 1_000,
            halted: false,
            workspace: None,
        };
        let decision = decide_text(text.as_bytes(), &case).decision;
        let said = decision.reasons.iter().map(|it| format!("{} {} {}", it.rule_id, it.path, it.message));
        (decision.outcome.name(), said.collect::<Vec<_>>().join("\n"))
    };
    for number in ["9007199254740991", "-9007199254740991", "0", "-1"] {
        let (outcome, said) = of(number);
        assert_eq!(outcome, "ALLOW", "{number}: {said}");
    }
    for number in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
    ] {
        let (outcome, said) = of(number);
        let place = said.starts_with("PARSE /parameters/count ") && said.lines().count() == 1;
        assert!(outcome == "DENY" && place && said.contains("2^53"), "{number}: {said}");
    }
    for number in ["1e21", "-1e21", "9007199254740992.0", "9.007199254740993e15", "0.5"] {
        let (outcome, said) = of(number);
        assert!(outcome == "DENY" && !said.contains("G12"), "{number}: {said}");
        let wrong = said.starts_with("G8 /parameters/count ") || said.starts_with("PARSE /parameters/count ");
        assert!(wrong && said.contains("2^53"), "{number}: {said}");
    }
}

/// A failure of a policy is said of each operation, too, and what is too much is counted.
#[test]
fn a_policy_that_fails_is_named_at_every_operation() {
    let schema = "type Parameters = { count: Long };";
    let policies = "@id(\"all\") permit(principal, action, resource);\n\
        @id(\"f\") forbid(principal, action, resource) when { context.parameters.count + 9223372036854775807 > 0 };";
    let set = load(policies, &[], schema, "fields = []").unwrap();
    for (operations, told, counted) in
        [(3, 3, ""), (17, 16, "1 more operation\""), (20, 16, "4 more operations\"")]
    {
        let listed: Vec<Json> =
            (0..operations).map(|at| json!({"op": "modify", "path": format!("a{at}")})).collect();
        let patch =
            proposal("write", ["workspace", "patch_set", "x"], &json!({"count": 1, "operations": listed}));
        let (outcome, said) = answer(&set, &patch, &[]);
        assert_eq!(outcome, "DENY");
        assert_eq!(said.matches("path: \"/parameters/operations/").count(), told, "{said}");
        let rest =
            format!("path: \"/parameters/operations\", message: \"`f` cannot be evaluated for {counted}");
        assert_eq!(said.contains(&rest), !counted.is_empty(), "{said}");
    }
}
