//! Annotations. Cedar does not look at them, so every mistake in one must be found when the folder is read.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use ordain_decision::{PolicyFiles, PolicySet};
use serde_json::json;

const SCOPE: &str = "(principal, action, resource);";

/// Loads one text of policies; everything that is wrong, as one text.
fn load(policies: &str) -> Result<(), String> {
    let lead = |id: &str, person: &str| {
        json!({"uid": {"type": "Actor", "id": id}, "attrs": {"person": person},
            "parents": [{"type": "Group", "id": "leads"}]})
    };
    let entities = json!([
        {"uid": {"type": "Group", "id": "leads"}, "attrs": {}, "parents": []},
        {"uid": {"type": "Group", "id": "empty"}, "attrs": {}, "parents": []},
        lead("lea", "lea"), lead("lea-phone", "lea"), lead("leo", "leo"),
    ]);
    let files = PolicyFiles::from([
        ("p.cedar".to_owned(), policies.to_owned()),
        ("entities.json".to_owned(), entities.to_string()),
    ]);
    let said =
        |problems: Vec<_>| problems.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n");
    PolicySet::load(&files).map(drop).map_err(said)
}

#[test]
fn every_mistake_is_found_when_the_folder_is_read() {
    let class = "must be `none`, `single`, `dual` or `threshold:N` with N from 1 to 16";
    let uses = "`@max_executions` must be a whole number from 1 to 1000000";
    for (annotations, said) in [
        ("@id(\"p\") @aproval(\"single\")", "the annotation `@aproval` is not known"),
        ("@id(\"p\") @X_owner(\"me\")", "the annotation `@X_owner` is not known"),
        ("@id(\"p\") @approvers(\"leads\") @approval(\"treble\")", class),
        ("@id(\"p\") @approvers(\"leads\") @approval(\"Single\")", class),
        ("@id(\"p\") @approvers(\"leads\") @approval", class),
        ("@id(\"p\") @approvers(\"leads\") @approval(\"threshold\")", class),
        ("@id(\"p\") @approvers(\"leads\") @approval(\"threshold:0\")", class),
        ("@id(\"p\") @approvers(\"leads\") @approval(\"threshold:17\")", class),
        ("@id(\"p\") @approvers(\"leads\") @approval(\"threshold:-1\")", class),
        ("@id(\"p\") @approval(\"single\")", "asks for approvals without `@approvers"),
        ("@id(\"p\") @approvers(\"lea, lea-phone\") @approval(\"dual\")", "names fewer people: 1"),
        ("@id(\"p\") @approvers(\"leads\") @approval(\"threshold:3\")", "names fewer people: 2"),
        ("@id(\"p\") @approvers(\"\")", "`@approvers` names nobody"),
        ("@id(\"p\") @approvers(\"Leads\")", "`Leads` is neither a group nor an actor"),
        ("@id(\"p\") @max_executions(\"0\")", uses),
        ("@id(\"p\") @max_executions(\"1000001\")", uses),
        ("@id(\"p\") @max_executions(\"many\")", uses),
        ("@id(\"p\") @max_executions", uses),
        ("@id(\"p\") @effects", "`@effects` is empty"),
        ("@id(\"p\") @effects(\"\")", "`@effects` is empty"),
        ("@id(\"p\") @effects(\" , \")", "`@effects` is empty"),
        ("@id(\"a b\")", "`@id(\"a b\")` must be letters, digits"),
        ("@id(\"\")", "`@id(\"\")` must be letters, digits"),
        ("@id", "`@id(\"\")` must be letters, digits"),
        ("@reason(\"none\")", "a policy has no `@id`"),
    ] {
        let refused = load(&format!("{annotations} permit{SCOPE}")).err();
        let refused = refused.unwrap_or_else(|| panic!("{annotations} is taken"));
        assert!(refused.contains(said) && refused.lines().count() == 1, "{annotations}: {refused}");
    }
    for name in ["approval(\"single\")", "approvers(\"leads\")", "effects(\"mail\")", "max_executions(\"2\")"]
    {
        let refused = load(&format!("@id(\"p\") @{name} forbid{SCOPE}")).unwrap_err();
        assert!(refused.contains("says nothing on a `forbid`"), "{name}: {refused}");
    }
    for (policies, said) in [
        ("@id(\"p\") permit(principal == ?principal, action, resource);".to_owned(), "has a template"),
        (format!("@id(\"p\") permit{SCOPE}\n@id(\"p\") forbid{SCOPE}"), "is there twice"),
    ] {
        let refused = load(&policies).unwrap_err();
        assert!(refused.contains(said), "{policies}: {refused}");
    }
}

#[test]
fn what_is_right_is_taken() {
    for annotations in [
        "@id(\"p.Q_7-x\") @reason(\"because\") @x_owner(\"me\") @x_",
        "@id(\"p\") @approval(\"none\")",
        "@id(\"p\") @approvers(\"leo\")",
        "@id(\"p\") @approvers(\"lea,leo\") @approval(\"dual\")",
        "@id(\"p\") @approvers(\" leads \") @approval(\"threshold:1\")",
        "@id(\"p\") @effects(\"mail, log\") @max_executions(\"1000000\")",
    ] {
        load(&format!("{annotations} permit{SCOPE}")).unwrap_or_else(|why| panic!("{annotations}: {why}"));
    }
}
