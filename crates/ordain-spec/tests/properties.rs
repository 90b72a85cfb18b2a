//! Laws that hold for every document, tried on the conformance vectors and on damaged copies of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use ordain_canon::{Canonicalizer, Value};
use ordain_spec::{Facts, Kind, Report, verify_as, verify_value};
use ordain_testkit::{OwnedFacts, Vector, damaged, vectors};

/// Calls `check` with every accepted document and its facts.
fn for_each_accepted(check: impl Fn(&Vector, &Facts<'_>, &Value<'_>)) {
    for vector in vectors() {
        let Some(text) = vector.file("accept.json") else { continue };
        let facts_text = vector.file("facts.json").unwrap_or_else(|| "{}".to_owned());
        let facts_value = Value::read(facts_text.as_bytes()).unwrap();
        let facts = OwnedFacts::of(&facts_value);
        check(&vector, &facts.facts(), &Value::read(text.as_bytes()).unwrap());
    }
}

fn canonical(report: &Report) -> String {
    String::from_utf8(Canonicalizer::new().value(report).unwrap().to_vec()).unwrap()
}

/// Places where any value is as good as another, so that no rule can object to a change there.
fn is_free(kind: Kind, pointer: &str, damage: &str) -> bool {
    let any_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| pointer.starts_with(prefix));
    let optional_field =
        |fields: &[&str]| damage == "left out" && fields.iter().any(|field| pointer.ends_with(field));
    match kind {
        // A blank constraint is dropped; other context is open; a name may be empty.
        Kind::Intent => {
            optional_field(&[
                "/constraints",
                "/context",
                "/answers",
                "/files",
                "/commands",
                "/tests",
                "/required",
            ]) || (damage == "empty"
                && (any_of(&["/constraints/"])
                    || pointer.ends_with("/content")
                    || pointer.ends_with("/name")))
                || (damage == "empty" && any_of(&["/context/commands/"]) && !pointer.ends_with("/argv/0"))
                || (damage == "unknown field" && pointer == "/context")
                || (any_of(&["/context/"])
                    && !any_of(&[
                        "/context/answers",
                        "/context/files",
                        "/context/commands",
                        "/context/tests",
                    ]))
                || (any_of(&["/context/answers/"]) && damage != "null" && damage != "unknown field")
        }
        // Open objects, and what the caller may leave out.
        Kind::Action => {
            optional_field(&[
                "/preconditions",
                "/risk_envelope",
                "/rollback_semantics",
                "/time_window",
                "/approval_class",
                "/evidence_bindings",
                "/action",
                "/deadline_ms",
                "/evidence",
            ]) || any_of(&["/parameters/", "/target/constraints/"])
                || (matches!(pointer, "/parameters" | "/target/constraints") && damage == "unknown field")
                || (pointer.ends_with("/value") && damage != "left out")
                || (damage == "empty" && pointer.contains("effects/"))
        }
        // Without a recomputed hash nothing may change in the payload; `context` and an unsigned signature are free.
        Kind::Packet => {
            optional_field(&["/context", "/sensor_signature"])
                || any_of(&["/context/"])
                || (pointer == "/context" && damage == "unknown field")
                || (pointer == "/sensor_signature" && damage == "empty")
        }
        // An approver need not say why. Whether an approval must be signed is for the policies to say, so
        // that without its signature it is another valid one.
        Kind::Approval => {
            (damage == "empty" && pointer == "/reason") || (damage == "left out" && pointer == "/signature")
        }
        // A proposal that cannot be read has neither id nor hash, and an empty pointer is the whole proposal.
        Kind::Decision => {
            (damage == "null" && matches!(pointer, "/proposal_id" | "/proposal_hash"))
                || (damage == "empty" && (pointer == "/proposal_id" || pointer.ends_with("/path")))
        }
        Kind::Evidence => {
            // Another failure is still a failure.
            (damage == "negative" && pointer.ends_with("/exit_code"))
                || any_of(&["/observed"])
                || optional_field(&["/exit_code", "/actual"])
                || (damage == "empty" && pointer.ends_with("/actual"))
        }
        Kind::Run => {
            // A plan that was not tried has no execution. Most runs are not work orders; a round may have
            // come to no patch set, or to nothing that was tried.
            (damage == "null" && pointer == "/execution")
                || (damage == "empty" && (pointer.contains("/reasons/")))
                || optional_field(&["/work", "/patch_hash"])
                || (damage == "left out"
                    && pointer.starts_with("/work/")
                    && pointer.ends_with("/evidence_hash"))
        }
        Kind::Routing => {
            optional_field(&[
                "/version",
                "/frontmatter",
                "/templates",
                "/topic",
                "/template",
                "/required_sections",
                "/required",
                "/statuses",
                "/body",
            ]) || (damage == "empty" && (pointer.ends_with("/topic") || pointer.ends_with("/body")))
                || damage == "left out" && pointer.starts_with("/templates/")
                || (pointer == "/templates" && damage == "unknown field")
        }
        Kind::Patch => {
            // The source may be named in any way; orders and hashes may be left out, and most patch sets have
            // no bundle.
            optional_field(&["/expected_hash", "/size_bytes", "/order", "/source_bundle_hash"])
        }
        Kind::Bundle | Kind::Plan | Kind::Profile | Kind::Note => false,
    }
}

#[test]
fn a_damaged_document_is_never_valid() {
    let mut escaped = Vec::new();
    let mut tried = 0_usize;
    for_each_accepted(|vector, facts, document| {
        assert!(verify_value(vector.kind, facts, document).ok(), "{vector}");
    });
    for vector in vectors() {
        let Some(text) = vector.file("accept.json") else { continue };
        let facts_text = vector.file("facts.json").unwrap_or_else(|| "{}".to_owned());
        let facts_value = Value::read(facts_text.as_bytes()).unwrap();
        let facts = OwnedFacts::of(&facts_value);
        let document = Value::read(text.as_bytes()).unwrap();
        for (pointer, damage, copy) in damaged(&document) {
            tried += 1;
            if verify_value(vector.kind, &facts.facts(), &copy).ok()
                && !is_free(vector.kind, &pointer, damage)
            {
                escaped.push(format!("{vector} {damage} at {pointer}"));
            }
        }
    }
    assert!(tried > 5_000, "{tried}");
    escaped.dedup();
    assert!(escaped.is_empty(), "{} of {tried} escaped:\n{}", escaped.len(), escaped.join("\n"));
}

/// Spelling does not count: any order of members, any text of the same document, gives the same report.
#[test]
fn reports_do_not_depend_on_the_order_of_members() {
    fn reversed<'a>(value: &Value<'a>) -> Value<'a> {
        match value {
            Value::Array(elements) => Value::Array(elements.iter().map(reversed).collect()),
            Value::Object(members) => Value::Object(
                members.iter().rev().map(|(key, member)| (key.clone(), reversed(member))).collect(),
            ),
            other => other.clone(),
        }
    }
    for vector in vectors() {
        for name in ["accept.json", "reject.json"] {
            let Some(text) = vector.file(name) else { continue };
            let document = Value::read(text.as_bytes()).unwrap();
            let facts = Facts::default();
            let report = verify_value(vector.kind, &facts, &document);
            assert_eq!(report, verify_value(vector.kind, &facts, &reversed(&document)), "{vector}/{name}");
            let bytes = Canonicalizer::new().value(&document).unwrap().to_vec();
            assert_eq!(
                report,
                verify_value(vector.kind, &facts, &Value::read(&bytes).unwrap()),
                "{vector}/{name}"
            );
        }
    }
}

/// PS10, and the same order everywhere: rule, path, message, each as plain text.
#[test]
fn violations_are_sorted_and_stable() {
    for vector in vectors() {
        let Some(text) = vector.file("accept.json") else { continue };
        let document = Value::read(text.as_bytes()).unwrap();
        for (_, _, copy) in damaged(&document).into_iter().step_by(7) {
            let report = verify_value(vector.kind, &Facts::default(), &copy);
            let key = |it: &ordain_spec::Violation| {
                (it.rule.name().into_owned(), it.path.clone(), it.message.clone())
            };
            let keys: Vec<_> = report.violations().iter().map(key).collect();
            assert!(keys.is_sorted(), "{vector}: {keys:?}");
            assert_eq!(canonical(&report), canonical(&verify_value(vector.kind, &Facts::default(), &copy)));
        }
    }
}

/// Five wrong fields and three broken rules are eight findings, in the order of the contract.
#[test]
fn everything_wrong_is_reported_at_once() {
    let text = r#"{
        "id": "prop_0000000000000000", "schema_version": 7, "source_bundle_id": "bundle_0123456789abcdef",
        "source_bundle_hash": "sha256:zz", "acceptance_tests": [
            {"id": "t1", "name": "there", "type": "file_exists", "target": "a.txt", "expected": "yes", "required": true},
            {"id": "t1", "name": "there", "type": "file_exists", "target": "a.txt", "expected": "true", "required": true}],
        "actions": [{"id": "act_0123456789abcdef", "type": "delete_file", "target": "../a.txt", "required": "yes",
            "description": "x", "order": 0}],
        "summary": " ", "requires_approval": true, "confidence": 0.5, "extra": null}"#;
    let report = ordain_spec::verify_text(Kind::Plan, &Facts::default(), text.as_bytes()).unwrap();
    let found: Vec<String> =
        report.violations().iter().map(|it| format!("{} {}", it.rule, it.path)).collect();
    assert_eq!(
        found,
        [
            "PR1 /schema_version",
            "PR10 /summary",
            "PR13 /actions/0/id",
            "PR13 /id",
            "PR14 /actions/0/target",
            "PR2 /source_bundle_hash",
            "PR7 /acceptance_tests/1/id",
            "PR8 /acceptance_tests/0/expected",
            "PR9 /confidence",
            "SCHEMA /actions/0/required",
            "SCHEMA /extra",
        ]
    );
}

/// Nobody trusts an id or a hash that comes in.
#[test]
fn forgeries_are_found() {
    let check = |kind: Kind, rule: &str, pointer: &str, forged: &str| {
        let vector = vectors().into_iter().find(|it| it.kind == kind && it.rule == "SCHEMA").unwrap();
        let text = vector.file("accept.json").unwrap();
        let original = serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let mut copy = original.clone();
        let slot = copy.pointer_mut(pointer).unwrap_or_else(|| panic!("{kind} has no {pointer}"));
        *slot = serde_json::from_str(forged).unwrap();
        let bytes = serde_json::to_vec(&copy).unwrap();
        let report = ordain_spec::verify_text(kind, &Facts::default(), &bytes).unwrap();
        let found = report.violations().iter().any(|it| it.rule.name() == rule && it.path == pointer);
        assert!(found, "{kind} {pointer}: {}", canonical(&report));
    };
    let hash = format!("\"sha256:{}\"", "0".repeat(64));
    check(Kind::Bundle, "BS9", "/id", "\"bundle_0000000000000000\"");
    check(Kind::Bundle, "BS9", "/root_node/id", "\"node_0000000000000000\"");
    check(Kind::Bundle, "BS9", "/outputs/0/id", "\"out_0000000000000000\"");
    check(Kind::Bundle, "BS9", "/outputs/0/content_hash", &hash);
    check(Kind::Plan, "PR13", "/id", "\"prop_0000000000000000\"");
    check(Kind::Plan, "PR13", "/actions/0/id", "\"act_0000000000000000\"");
    check(Kind::Patch, "PS7", "/total_bytes", "1");
    check(Kind::Note, "NP13", "/hash", &format!("\"{}\"", "0".repeat(64)));
    check(Kind::Packet, "V-EVID-006", "/payload_hash", &hash);
}

/// Documents that verify have a type, and writing that type verifies again, with the same canonical bytes.
#[test]
fn verified_documents_survive_their_types() {
    fn round_trip<T: ordain_spec::Document + serde::Serialize>(facts: &Facts<'_>, document: &Value<'_>) {
        let verified = verify_as::<T>(facts, document).unwrap();
        let mut canon = Canonicalizer::new();
        let bytes = canon.value(&*verified).unwrap().to_vec();
        assert_eq!(bytes, Canonicalizer::new().value(document).unwrap());
    }
    for_each_accepted(|vector, facts, document| match vector.kind {
        Kind::Intent => round_trip::<ordain_spec::intent::Intent>(facts, document),
        Kind::Bundle => round_trip::<ordain_spec::bundle::Bundle>(facts, document),
        Kind::Plan => round_trip::<ordain_spec::plan::Proposal>(facts, document),
        Kind::Patch => round_trip::<ordain_spec::patch::PatchSet>(facts, document),
        Kind::Action => round_trip::<ordain_spec::action::Proposal>(facts, document),
        Kind::Packet => round_trip::<ordain_spec::packet::EvidencePacket>(facts, document),
        Kind::Approval => round_trip::<ordain_spec::approval::Approval>(facts, document),
        Kind::Decision => round_trip::<ordain_spec::decision::Decision>(facts, document),
        Kind::Profile => round_trip::<ordain_spec::profile::Profile>(facts, document),
        Kind::Evidence => round_trip::<ordain_spec::evidence::ExecutionEvidence>(facts, document),
        Kind::Run => round_trip::<ordain_spec::run::RunResult>(facts, document),
        Kind::Note => round_trip::<ordain_spec::note::Proposal>(facts, document),
        Kind::Routing => round_trip::<ordain_spec::routing::Routing>(facts, document),
    });
}

/// Applies a change to a vector's accepted document and returns what is then found, as `RULE pointer`.
fn found_after(
    kind: Kind,
    rule: &str,
    facts: &Facts<'_>,
    change: impl Fn(&mut serde_json::Value),
) -> Vec<String> {
    let vector = vectors().into_iter().find(|it| it.kind == kind && it.rule == rule).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&vector.file("accept.json").unwrap()).unwrap();
    change(&mut document);
    let report = ordain_spec::verify_text(kind, facts, &serde_json::to_vec(&document).unwrap()).unwrap();
    report.violations().iter().map(|it| format!("{} {}", it.rule, it.path)).collect()
}

#[test]
fn one_fault_is_one_finding() {
    let none = Facts::default();
    let remove = |field: &'static str| {
        move |it: &mut serde_json::Value| drop(it.as_object_mut().unwrap().remove(field))
    };
    assert_eq!(found_after(Kind::Patch, "PS1", &none, remove("operations")), ["SCHEMA /operations"]);
    assert_eq!(found_after(Kind::Patch, "PS1", &none, remove("total_bytes")), ["PS7 /total_bytes"]);
    assert_eq!(found_after(Kind::Action, "V-PROP-001", &none, remove("target")), ["V-PROP-005 /target"]);
    assert_eq!(found_after(Kind::Action, "V-PROP-001", &none, remove("actor")), ["V-PROP-003 /actor"]);
    // A bundle's id covers everything, so it does not fit any more either.
    let found = found_after(Kind::Bundle, "BS1", &none, remove("terminal_nodes"));
    assert_eq!(found, ["BS11 /terminal_nodes", "BS9 /id"]);
    let found = found_after(Kind::Bundle, "BS1", &none, remove("root_node"));
    assert_eq!(found, ["BS9 /id", "SCHEMA /root_node"]);
    let found = found_after(Kind::Action, "V-PROP-016", &none, |it| {
        it["parameters"]["updates"] = serde_json::json!([1])
    });
    assert_eq!(found, ["V-PROP-016 /parameters/updates"]);
    let found =
        found_after(Kind::Patch, "PS1", &none, |it| it["operations"][1]["content"] = serde_json::json!(7));
    assert_eq!(found, ["PS6 /operations/1/content"]);
}

/// The proposer writes the bindings: they can shorten the policy's limit, one hour here, and never lengthen it.
#[test]
fn a4_bindings_only_shorten_how_old_evidence_may_be() {
    let vector = vectors().into_iter().find(|it| it.rule == "V-PROP-013").unwrap();
    let facts_text = vector.file("facts.json").unwrap();
    let facts_value = Value::read(facts_text.as_bytes()).unwrap();
    let owned = OwnedFacts::of(&facts_value);
    let observed = facts_value.get("evidence").unwrap().as_array().unwrap()[0].get("observed_at_ms").unwrap();
    let at = |age_ms: i64| Facts { now_ms: Some(observed.as_integer().unwrap() + age_ms), ..owned.facts() };
    let bind = |freshness_ms: i64| {
        move |it: &mut serde_json::Value| {
            it.as_object_mut().unwrap().remove("time_window");
            it["evidence_bindings"] = serde_json::json!([{"evidence_id": "evidence-001", "binding_type": "precondition",
                "required": true, "freshness_ms": freshness_ms}]);
        }
    };
    let stale = ["V-PROP-013 /preconditions/0/evidence_ref"];
    assert_eq!(found_after(Kind::Action, "V-PROP-013", &at(60_000), bind(60_000)), [""; 0]);
    assert_eq!(found_after(Kind::Action, "V-PROP-013", &at(60_001), bind(60_000)), stale);
    assert_eq!(found_after(Kind::Action, "V-PROP-013", &at(3_600_000), bind(10_000_000)), [""; 0]);
    assert_eq!(found_after(Kind::Action, "V-PROP-013", &at(3_600_001), bind(10_000_000)), stale);
    assert_eq!(found_after(Kind::Action, "V-PROP-013", &at(3_600_001), bind(9_007_199_254_740_991)), stale);
}

/// A bundle that names itself wrongly does not vouch for a plan that repeats the name.
#[test]
fn a_plan_is_not_vouched_for_by_a_forged_bundle() {
    let vector = vectors().into_iter().find(|it| it.rule == "PR2").unwrap();
    let facts: serde_json::Value = serde_json::from_str(&vector.file("facts.json").unwrap()).unwrap();
    let mut forged = facts["bundle"].clone();
    forged["id"] = "bundle_0000000000000000".into();
    let bundle_text = serde_json::to_vec(&forged).unwrap();
    let bundle = Value::read(&bundle_text).unwrap();
    let source = ordain_spec::SourceBundle::of(&bundle).unwrap();
    let facts = Facts { bundle: Some(&source), ..Facts::default() };
    let hash = ordain_canon::BundleHash::of(&mut Canonicalizer::new(), &bundle).unwrap().prefixed();
    let found = found_after(Kind::Plan, "PR2", &facts, |it| {
        it["source_bundle_id"] = "bundle_0000000000000000".into();
        it["source_bundle_hash"] = hash.clone().into();
    });
    assert!(found.contains(&"PR2 /source_bundle_id".to_owned()), "{found:?}");
}

/// Evidence is a set: the same packet twice is one, and packets that contradict each other prove nothing.
#[test]
fn evidence_must_not_contradict_itself() {
    let vector = vectors().into_iter().find(|it| it.rule == "V-PROP-013").unwrap();
    let facts: serde_json::Value = serde_json::from_str(&vector.file("facts.json").unwrap()).unwrap();
    let packet = facts["evidence"][0].clone();
    let mut other = packet.clone();
    other["evidence_id"] = "evidence-002".into();
    other["payload"]["record_exists"] = false.into();
    let payload = Value::read(other["payload"].to_string().as_bytes()).map(|payload| {
        ordain_canon::PayloadHash::of(&mut Canonicalizer::new(), &payload).unwrap().to_string()
    });
    other["payload_hash"] = payload.unwrap().into();
    let check = |packets: &[&serde_json::Value]| {
        let texts: Vec<String> = packets.iter().map(|packet| packet.to_string()).collect();
        let evidence: Vec<Value<'_>> =
            texts.iter().map(|text| Value::read(text.as_bytes()).unwrap()).collect();
        let facts = Facts { evidence: &evidence, ..Facts::default() };
        found_after(Kind::Action, "V-PROP-013", &facts, |_| {})
    };
    let refused = ["V-PROP-013 /preconditions/0/evidence_ref"];
    assert_eq!(check(&[&packet]), [""; 0]);
    assert_eq!(check(&[&packet, &packet]), [""; 0]);
    assert_eq!(check(&[&packet, &other]), refused);
    other["evidence_id"] = "evidence-001".into();
    assert_eq!(check(&[&packet, &other]), refused);
    assert_eq!(check(&[]), refused);
}

/// Every outcome with every sort of reason: exactly one outcome follows, and the others are found.
#[test]
fn an_outcome_follows_from_its_reasons() {
    let found = |outcome: &str, rule_ids: &[&str]| {
        let reason =
            |id: &&str| serde_json::json!({"rule_id": id, "path": "", "message": "x", "policies": ["p"]});
        let reasons: Vec<_> = rule_ids.iter().map(reason).collect();
        found_after(Kind::Decision, "DC1", &Facts::default(), |it| {
            it["outcome"] = outcome.into();
            it["reasons"] = reasons.clone().into();
        })
    };
    for (rule_ids, right) in [
        (&["G12"][..], &["ALLOW", "DENY"][..]),
        (&["G12", "G15"], &["ALLOW", "DENY"]),
        (&["G12", "G14"], &["HOLD", "DENY"]),
        (&["G14"], &[]),
        (&[], &[]),
        (&["G15"], &[]),
        (&["G1"], &["DENY"]),
        (&["G14", "V-PROP-004"], &["DENY"]),
        (&["PARSE"], &["DENY"]),
        (&["not a rule"], &["DENY"]),
    ] {
        for outcome in ["ALLOW", "HOLD", "DENY"] {
            let expected: &[&str] = if right.contains(&outcome) { &[] } else { &["DC6 /outcome"] };
            assert_eq!(found(outcome, rule_ids), expected, "{outcome} {rule_ids:?}");
        }
    }
}

/// Reasons sort by UTF-16 code units, as everything does, and the order of the type is that of the rule.
#[test]
fn reasons_and_approvers_have_one_order() {
    use ordain_spec::decision::Reason;
    let reason = |path: &str, policies: &[&str]| Reason {
        rule_id: "G1".to_owned(),
        path: path.to_owned(),
        message: "x".to_owned(),
        policies: policies.iter().map(|it| (*it).to_owned()).collect(),
    };
    let reasons = [
        reason("/a", &[]),
        reason("/a", &["p"]),
        reason("/a", &["p", "q"]),
        reason("/a", &["q"]),
        reason("/\u{1f600}", &[]),
        reason("/\u{fb33}", &[]),
    ];
    assert!(reasons.is_sorted());
    let found = |reasons: &[Reason]| {
        found_after(Kind::Decision, "DC5", &Facts::default(), |it| {
            it["reasons"] = serde_json::to_value(reasons).unwrap()
        })
    };
    assert_eq!(found(&reasons), [""; 0]);
    for at in 1..reasons.len() {
        let mut swapped = reasons.to_vec();
        swapped.swap(at - 1, at);
        assert_eq!(found(&swapped), [format!("DC5 /reasons/{at}")]);
    }
    assert_eq!(
        found(&[reason("", &["q", "p"]), reason("", &["r", "r"])]),
        ["DC5 /reasons/0/policies/1", "DC5 /reasons/1/policies/1"]
    );
    let have = |names: &[&str]| {
        found_after(Kind::Decision, "DC4", &Facts::default(), |it| {
            it["approvals"]["have"] = names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>().into()
        })
    };
    assert_eq!(have(&["alice", "bob", "carol"]), [""; 0]);
    assert_eq!(have(&["bob", "alice"]), ["DC4 /approvals/have/1"]);
    assert_eq!(have(&["alice", "alice"]), ["DC4 /approvals/have/1"]);
    assert_eq!(have(&[]), ["DC4 /approvals/have"]);
}

/// A document that lacks any one field is still recognised, and told what it lacks.
#[test]
fn documents_are_recognised_without_any_one_field() {
    for_each_accepted(|vector, _, document| {
        let members = document.as_object().unwrap();
        for (left_out, _) in members {
            let rest = members.iter().filter(|(key, _)| key != left_out).cloned().collect();
            let kind = Kind::recognise(&Value::Object(rest));
            assert!(kind == Ok(vector.kind) || members.len() == 1, "{vector} without {left_out}: {kind:?}");
        }
    });
    let recognise = |text: &str| Kind::recognise(&Value::read(text.as_bytes()).unwrap());
    assert_eq!(
        recognise(r#"{"proposal_id":"p","ts_ms":1,"actor":"a","target":{},"parameters":{}}"#),
        Ok(Kind::Action)
    );
    assert_eq!(recognise(r#"{"ts_ms":1,"actor":"a","intent":"x"}"#), Ok(Kind::Action));
    assert_eq!(recognise(r#"{"constraints":["a"],"context":{}}"#), Ok(Kind::Intent));
    assert!(recognise(r#"{"goal":"x","operations":[]}"#).is_err());
    // One foreign field does not make a document ambiguous when its own kind shows.
    assert_eq!(recognise(r#"{"goal":"x","summary":"y"}"#), Ok(Kind::Intent));
}
