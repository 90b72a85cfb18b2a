//! The cases of `conformance/decide`, whose expectations were written without this crate.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use ordain_canon::Value;
use ordain_decision::{Case, Judgement, PolicyFiles, PolicySet, decide, decide_own_undo, is_policy_file};
use ordain_spec::decision::{Outcome, gate};
use ordain_spec::statement::NO_KEYS;
use ordain_spec::{Facts, Kind, verify_value};
use ordain_testkit::conformance_folder;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;

fn policies() -> PolicySet {
    let mut files = PolicyFiles::new();
    for entry in fs::read_dir(conformance_folder().join("decide")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if is_policy_file(&name) {
            let text = fs::read_to_string(conformance_folder().join("decide").join(&name)).unwrap();
            files.insert(name, text);
        }
    }
    PolicySet::load(&files).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// RFC 7396.
fn merge(target: &mut Json, change: &Json) {
    let Json::Object(change) = change else {
        *target = change.clone();
        return;
    };
    if !target.is_object() {
        *target = Json::Object(serde_json::Map::new());
    }
    for (key, value) in change {
        match value {
            Json::Null => drop(target.as_object_mut().unwrap().remove(key)),
            value => merge(target.as_object_mut().unwrap().entry(key.clone()).or_insert(Json::Null), value),
        }
    }
}

fn cases() -> Vec<(String, Json)> {
    let folder = conformance_folder().join("decide/tests");
    let mut cases = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let list: Vec<Json> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for mut case in list {
            if let Some(file) = case["proposal"].as_str() {
                case["proposal"] =
                    serde_json::from_str(&fs::read_to_string(folder.join(file)).unwrap()).unwrap();
            }
            if let Some(change) = case.as_object_mut().unwrap().remove("change") {
                merge(&mut case["proposal"], &change);
            }
            cases.push((
                format!("{}: {}", path.file_stem().unwrap().display(), case["name"].as_str().unwrap()),
                case,
            ));
        }
    }
    cases.sort_by(|left, right| left.0.cmp(&right.0));
    cases
}

fn judge(policies: &PolicySet, case: &Json) -> Judgement {
    let proposal = serde_json::to_vec(&case["proposal"]).unwrap();
    let texts = |key: &str| -> Vec<Vec<u8>> {
        case[key].as_array().into_iter().flatten().map(|it| serde_json::to_vec(it).unwrap()).collect()
    };
    let (evidence, approvals) = (texts("evidence"), texts("approvals"));
    let evidence: Vec<Value<'_>> = evidence.iter().map(|text| Value::read(text).unwrap()).collect();
    let approvals: Vec<Value<'_>> = approvals.iter().map(|text| Value::read(text).unwrap()).collect();
    decide(&Case {
        document: &Value::read(&proposal).unwrap(),
        policies,
        evidence: &evidence,
        approvals: &approvals,
        approver_keys: &ordain_spec::statement::NO_KEYS,
        now_ms: case["now_ms"].as_u64().unwrap(),
        halted: case["halted"].as_bool().unwrap_or_default(),
        workspace: None,
    })
}

#[test]
fn every_case_is_decided_as_expected() {
    let policies = policies();
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() > 300, "{} cases", cases.len());
    for (name, case) in &cases {
        let judgement = judge(&policies, case);
        assert_eq!(judgement, judge(&policies, case), "the same case, another decision");
        let decision = serde_json::to_value(&judgement.decision).unwrap();
        let expected = &case["expect"];
        let mut problems = Vec::new();
        if decision["outcome"] != expected["outcome"] {
            problems.push(format!("{} instead of {}", decision["outcome"], expected["outcome"]));
        }
        for (key, value) in expected["approvals"].as_object().into_iter().flatten() {
            if decision["approvals"][key] != *value {
                problems.push(format!("{key}: {} instead of {value}", decision["approvals"][key]));
            }
        }
        let key = |reason: &Json, with: bool| {
            let policies = if with { reason["policies"].to_string() } else { String::new() };
            (reason["rule_id"].to_string(), reason["path"].to_string(), policies)
        };
        let listed: Vec<&Json> = expected["reasons"].as_array().unwrap().iter().collect();
        let found: Vec<&Json> = decision["reasons"].as_array().unwrap().iter().collect();
        for reason in &listed {
            let with = reason.get("policies").is_some();
            if !found.iter().any(|it| key(it, with) == key(reason, with)) {
                problems.push(format!("not found: {reason}"));
            }
        }
        let permitted = decision["outcome"] != "DENY";
        for reason in &found {
            let known = listed.iter().any(|it| {
                let with = it.get("policies").is_some();
                key(it, with) == key(reason, with)
            });
            if !(known || permitted && reason["rule_id"] == "G12") {
                problems.push(format!("not expected: {reason}"));
            }
        }
        // Every decision must itself be a valid document, whatever it says.
        let text = serde_json::to_vec(&decision).unwrap();
        let report = verify_value(Kind::Decision, &Facts::default(), &Value::read(&text).unwrap());
        problems
            .extend(report.violations().iter().map(|it| format!("{} {} {}", it.rule, it.path, it.message)));
        assert_eq!(judgement.grant.is_some(), decision["outcome"] == "ALLOW");
        if !problems.is_empty() {
            wrong.push(format!("{name}\n    {}", problems.join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// An owner's undo needs no policy. Everything else that is wrong denies it, a halt included.
#[test]
fn an_owners_undo_is_judged_without_the_policies() {
    let nothing = PolicySet::load(&PolicyFiles::new()).unwrap();
    let judged = |path: &str, halted: bool| {
        let text = format!(
            r#"{{"proposal_id": "undo-1", "ts_ms": 1767614400000, "actor": "olga", "action_type": "write",
            "target": {{"resource_type": "patch_set", "resource_id": "000001", "domain": "workspace", "constraints": {{}}}},
            "parameters": {{"operations": [{{"op": "delete", "path": "{path}"}}], "undo": true}}}}"#
        );
        let document = &Value::read(text.as_bytes()).unwrap();
        let now_ms = 1_767_614_400_000;
        let (policies, approver_keys) = (&nothing, &NO_KEYS);
        let case = Case {
            document,
            policies,
            evidence: &[],
            approvals: &[],
            approver_keys,
            now_ms,
            halted,
            workspace: None,
        };
        assert_eq!(decide(&case).decision.outcome, Outcome::Deny);
        let judgement = decide_own_undo(&case, "apply-1");
        let text = serde_json::to_vec(&judgement.decision).unwrap();
        let report = verify_value(Kind::Decision, &Facts::default(), &Value::read(&text).unwrap());
        assert!(report.ok(), "{:?}", report.violations());
        judgement
    };
    let allowed = judged("docs/a.md", false);
    assert_eq!((allowed.decision.outcome, allowed.grant.is_some()), (Outcome::Allow, true));
    let reasons: Vec<&str> = allowed.decision.reasons.iter().map(|it| it.rule_id.as_str()).collect();
    assert_eq!(reasons, ["G16"]);
    for denied in [judged("docs/../.env", false), judged("docs/a.md", true)] {
        assert_eq!((denied.decision.outcome, denied.grant.is_some()), (Outcome::Deny, false));
    }
}

/// The messages that people read: every message of every case, so that a change of words is looked at.
#[test]
fn messages_say_what_to_change() {
    let policies = policies();
    let mut page = String::new();
    let mut seen = BTreeSet::new();
    for (name, case) in cases() {
        let judgement = judge(&policies, &case);
        page.push_str(&format!("{name}\n  {}\n", judgement.decision.outcome.name()));
        for reason in &judgement.decision.reasons {
            seen.insert(reason.rule_id.clone());
            page.push_str(&format!("  {} `{}` {}\n", reason.rule_id, reason.path, reason.message));
        }
    }
    assert!(!page.contains("never in a message"));
    // No document says that it is an owner's undo; the gate does, and a test below is about it.
    // Nor which tools an owner approved, or what approvers let repeat: tests of the gate are about those.
    let by_documents = |rule: &&ordain_spec::decision::gate::Gate| {
        ![gate::OWN_UNDO, gate::PINNED, gate::STANDING].contains(&rule.id)
    };
    for rule in gate::GATES.iter().filter(by_documents) {
        assert!(seen.contains(rule.id.name().as_ref()), "no case has {}", rule.id);
    }
    for rule in Kind::Action.rules().iter().chain(Kind::Packet.rules()) {
        let id = rule.id.name();
        // Without an id a packet cannot be referred to; a dispute is a matter of V-PROP-013.
        assert!(
            ["V-EVID-001", "V-EVID-022"].contains(&id.as_ref()) || seen.contains(id.as_ref()),
            "no case has {id}"
        );
    }
    let golden = conformance_folder().join("decide/messages.md");
    if std::env::var_os("ORDAIN_BLESS").is_some() {
        fs::write(&golden, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&golden).unwrap_or_default() == page,
        "messages changed; look at them with ORDAIN_BLESS=1 and git diff"
    );
}
