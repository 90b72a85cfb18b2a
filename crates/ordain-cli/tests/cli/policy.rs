//! `ordain policy`: problems with their places, cases with their differences, explanations, layout.

use crate::harness::{Project, Ran};
use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt;

const WRITE: &str = "policy/tests/proposals/write.json";
const NOW_MS: u64 = 1_767_614_400_000;

#[test]
fn check_names_every_problem_with_its_place() {
    let project = Project::empty();
    project.write(
        "policy/a.cedar",
        "@id(\"one\")\npermit(principal, action in Action::\"observe\", resource);\n\n@id(\"two\")\n@approvers(\"nobody\")\n\
         @approval(\"single\")\npermit(principal, action == Action::\"write\", resource);\n",
    );
    project.write(
        "policy/b.cedar",
        "@id(\"one\")\npermit(principal, action, resource);\n\n\
         @id(\"three\")\npermit(principal, action, resource)\nwhen { context.nothing };\n",
    );
    project.write("policy/c.cedar", "permit(principal, action, resource;\n");
    project.write("policy/effects.toml", "[fly.file]\neffects = []\n");
    let ran = project.run(&["policy", "check", "policy"]).ended(1);
    let ran = ran.says_all(&[
        "policy/a.cedar:4  `two`: `@approvers`: `nobody` is neither a group nor an actor",
        "policy/b.cedar:1  `one`: is in a.cedar too",
        "policy/b.cedar:6  `three`: attribute `nothing` in context not found; did you mean `now`?\n",
        "policy/c.cedar:1: ",
        "policy/effects.toml: `fly` is not an action type",
        "invalid  policy: 5 errors",
    ]);
    assert_eq!(ran.stdout.lines().count(), 6, "{}", ran.stdout);
    let checked = project.run(&["policy", "check", "policy", "--json"]).ended(1).json();
    assert_eq!((&checked["ok"], checked["problems"].as_array().unwrap().len()), (&json!(false), 5));
    assert_eq!(checked["problems"][0]["line"], 4);
}

#[test]
fn check_warns_and_can_be_told_to_refuse() {
    let project = Project::started();
    project.write(
        "policy/zz.cedar",
        "@id(\"again\")\npermit(principal in Group::\"agents\", action == Action::\"read\", resource in Domain::\"workspace\");\n",
    );
    let said = ["warning  policy/zz.cedar:1  `again`: makes no difference: `observe` covers all of it"];
    project
        .run(&["policy", "check"])
        .ended(0)
        .says_all(&said)
        .says_all(&["valid  policy: 14 permits, 5 forbids, 1 warning"]);
    project.run(&["policy", "check", "--deny-warnings"]).ended(1).says_all(&said).says_all(&["invalid"]);
    let checked = project.run(&["policy", "check", "--json"]).ended(0).json();
    assert_eq!(checked["problems"][0]["severity"], "warning");
    assert_eq!(checked["policy_hash"].as_str().unwrap().len(), "sha256:".len() + 64);
}

#[test]
fn check_warns_about_what_can_never_matter_and_nothing_else() {
    let people = json!([
        {"uid": {"type": "Group", "id": "leads"}, "attrs": {}, "parents": []},
        {"uid": {"type": "Actor", "id": "lea"}, "attrs": {}, "parents": [{"type": "Group", "id": "leads"}]},
    ]);
    let all = "@id(\"all\")\npermit(principal, action, resource);\n";
    let mail = "permit(principal, action == Action::\"communicate\", resource);\n";
    for (policies, said) in [
        (
            "@id(\"never\")\npermit(principal, action, resource)\nwhen { 1 > 2 };\n".to_owned(),
            "`never`: never applies: `1 > 2` is never true",
        ),
        ("@id(\"never\")\npermit(principal, action, resource)\nwhen { false };\n".to_owned(), "`never`: "),
        (
            format!(
                "@id(\"no-mail\")\nforbid(principal, action in Action::\"external\", resource);\n@id(\"mail\")\n{mail}"
            ),
            "`mail`: never permits anything: `no-mail` forbids all of it",
        ),
        (format!("{all}@id(\"mail\")\n{mail}"), "`mail`: makes no difference: `all` covers all of it"),
        // All permits in scope say who may approve, so this one has a say.
        (format!("{all}@id(\"mail\")\n@approvers(\"leads\")\n{mail}"), ""),
    ] {
        let project = Project::empty();
        project.write("policy/a.cedar", &policies);
        project.write("policy/entities.json", &people.to_string());
        let ran = project.run(&["policy", "check"]).ended(0);
        match said {
            "" => assert!(!ran.stdout.contains("warning  "), "{}", ran.stdout),
            said => drop(ran.says_all(&["warning  policy/a.cedar:", said, ", 1 warning"])),
        }
    }
}

/// The hash covers everything that decisions depend on, and nothing else.
#[test]
fn the_policy_hash_covers_every_file_but_the_tests() {
    let project = Project::started();
    project.write("policy/redact.toml", "fields = [\"ssn\"]\n");
    let hash = || project.run(&["policy", "check", "--json"]).ended(0).json()["policy_hash"].clone();
    let mut seen = vec![hash()];
    for name in [
        "files.cedar",
        "schema.cedarschema",
        "entities.json",
        "effects.toml",
        "sensors.toml",
        "tools.toml",
        "redact.toml",
    ] {
        let file = format!("policy/{name}");
        project.write(&file, &format!("{}\n", project.read(&file)));
        let changed = hash();
        assert!(!seen.contains(&changed), "{name}");
        seen.push(changed);
    }
    project.write(
        "policy/more.cedar",
        "@id(\"more\")\npermit(principal, action == Action::\"custom\", resource);\n",
    );
    assert!(!seen.contains(&hash()), "another file");
    seen.push(hash());
    std::fs::remove_file(project.path("policy/redact.toml")).unwrap();
    assert!(!seen.contains(&hash()), "a file less");
    let before = hash();
    project.write("policy/tests/money.json", "[]\n");
    project.write("policy/tests/more/new.json", "[]\n");
    project.write("policy/README.md", "Other words.\n");
    assert_eq!(hash(), before);
}

/// A file that could be meant to have a say must not be passed over.
#[test]
fn nothing_in_the_folder_is_silently_ignored() {
    for (name, said) in [
        ("sensor.toml", "unknown file in a policy folder"),
        ("Entities.json", "unknown file in a policy folder"),
        ("extra.cedarschema", "unknown file in a policy folder"),
        ("MINE.CEDAR", "unknown file in a policy folder"),
        ("effects.yaml", "unknown file in a policy folder"),
        ("money.ceder", "is not read; policies end in `.cedar`"),
        ("mine.cedar ", "is not read; policies end in `.cedar`"),
        ("more/mine.cedar", "is a folder"),
    ] {
        let project = Project::started();
        project.write(&format!("policy/{name}"), "");
        let file = name.split('/').next().unwrap();
        project.run(&["policy", "check"]).ended(1).says_all(&[&format!("policy/{file}: "), said]);
    }
    let project = Project::started();
    project.write("policy/NOTES.md", "");
    project.write("policy/.mine.cedar.swp", "");
    project.run(&["policy", "check"]).ended(0);
    std::fs::write(project.path("policy/bad.cedar"), b"// \xff\n").unwrap();
    project.run(&["policy", "check"]).ended(1).says_all(&["policy/bad.cedar: is not UTF-8 from line 1 on"]);
    std::fs::remove_file(project.path("policy/bad.cedar")).unwrap();
    std::os::unix::fs::symlink("nowhere", project.path("policy/link.cedar")).unwrap();
    project.run(&["policy", "check"]).ended(1).says_all(&["policy/link.cedar: cannot be read"]);
}

/// A pipe would be waited for without end.
#[test]
fn what_is_no_file_is_not_read() {
    let pipe = |project: &Project, name: &str| {
        let made = std::process::Command::new("mkfifo").arg(project.path(name)).status().unwrap();
        assert!(made.success());
    };
    for name in ["pipe.cedar", "sensors.toml"] {
        let project = Project::started();
        let _ = std::fs::remove_file(project.path(&format!("policy/{name}")));
        pipe(&project, &format!("policy/{name}"));
        project.run(&["policy", "check"]).ended(1).says_all(&["is a device, a pipe or a socket"]);
        project
            .run(&["decide", "policy/tests/proposals/read.json"])
            .ended(1)
            .says_all(&["is a device, a pipe or a socket"]);
    }
    let project = Project::started();
    pipe(&project, "policy/tests/pipe.json");
    project
        .run(&["policy", "test"])
        .ended(1)
        .says_all(&["tests/pipe.json", "is a device, a pipe or a socket"]);
    // Below another name, it is reached by a case that names it.
    let case = json!({"proposal": "pipe", "now_ms": 1, "expect": {"outcome": "DENY"}});
    let project = with_cases(&case);
    pipe(&project, "policy/tests/pipe");
    project.run(&["policy", "test"]).ended(1).says_all(&["is a device, a pipe or a socket"]);
    std::os::unix::fs::symlink("/dev/zero", project.path("policy/tests/zero.yaml")).unwrap();
    project.run(&["policy", "test"]).ended(1).says_all(&["zero.yaml", "is a device, a pipe or a socket"]);
}

#[test]
fn a_folder_without_policies_is_no_policy() {
    let project = Project::empty();
    std::fs::create_dir(project.path("policy")).unwrap();
    project.run(&["policy", "check"]).ended(1).says_all(&["holds no policy"]);
    project.run(&["policy", "check", "none"]).ended(1).says_all(&["none: No such file"]);
}

/// Puts one file of cases in the place of all others.
fn with_cases(cases: &Json) -> Project {
    let project = Project::started();
    for entry in std::fs::read_dir(project.path("policy/tests")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    project.write("policy/tests/cases.json", &cases.to_string());
    project
}

fn case(expect: &Json) -> Json {
    json!({"name": "it", "proposal": "proposals/write.json", "now_ms": NOW_MS, "expect": expect})
}

#[track_caller]
fn expecting(expect: &Json) -> Ran {
    with_cases(&case(expect)).run(&["policy", "test"])
}

#[test]
fn expectations_can_fail_in_every_part() {
    // A write in the starter is held for one approval: G12 tells, G14 waits.
    for (expect, minus, plus) in [
        (json!({"outcome": "ALLOW"}), "-outcome ALLOW", "+outcome HOLD"),
        (
            json!({"outcome": "HOLD", "approvals": {"class": "dual"}}),
            "-approvals.class dual",
            "+approvals.class single",
        ),
        (
            json!({"outcome": "HOLD", "approvals": {"required": 2}}),
            "-approvals.required 2",
            "+approvals.required 1",
        ),
        (
            json!({"outcome": "HOLD", "approvals": {"have": ["bob", "alice"]}}),
            "-approvals.have alice, bob",
            "+approvals.have nobody",
        ),
        (
            json!({"outcome": "HOLD", "reasons": [{"rule_id": "G10"}]}),
            "-G10 at anywhere",
            " G14 at /approval_class",
        ),
        (
            json!({"outcome": "HOLD", "reasons": [{"rule_id": "G14", "path": ""}]}),
            "-G14 at the proposal",
            " G14 at /approval_class",
        ),
        (
            json!({"outcome": "HOLD", "reasons": [{"rule_id": "G14", "message": "from `finance`"}]}),
            "-G14 at anywhere: … from `finance` …",
            " G14 at /approval_class",
        ),
        (
            json!({"outcome": "HOLD", "reasons": [{"rule_id": "G14", "policies": []}]}),
            "-G14 at anywhere [no policies]",
            " G14 at /approval_class",
        ),
        (json!({"outcome": "HOLD", "only": true}), "+G14 at /approval_class", "[write-listed]"),
    ] {
        let ran = expecting(&expect).ended(1);
        ran.says_all(&[
            "failed  tests/cases.json: it",
            "--- expected",
            "+++ decided",
            minus,
            plus,
            "1 case: 1 failed",
        ]);
    }
}

#[test]
fn expectations_that_hold() {
    let whole = json!({
        "outcome": "HOLD",
        "only": true,
        "reasons": [
            {"rule_id": "G14", "path": "/approval_class", "message": "from `engineers`", "policies": ["write-listed"]}
        ],
        "approvals": {"class": "single", "required": 1, "have": []}
    });
    expecting(&whole).ended(0).says_all(&["ok      tests/cases.json: it", "1 case: all as expected"]);
    // With `only`, a rule that only tells counts once it is listed.
    let listed = json!({"outcome": "HOLD", "only": true, "reasons": [
        {"rule_id": "G14"}, {"rule_id": "G12", "policies": ["write-listed"]}
    ]});
    expecting(&listed).ended(0);
    let other = json!({"outcome": "HOLD", "only": true, "reasons": [
        {"rule_id": "G14"}, {"rule_id": "G12", "policies": ["observe"]}
    ]});
    expecting(&other).ended(1).says_all(&["-G12 at anywhere [observe]", "+G12 at the proposal"]);
}

#[test]
fn what_is_not_given_is_filled_in_and_what_is_given_stays() {
    let condition = json!([{"field": "a", "operator": "eq", "value": 1, "evidence_ref": "e"}]);
    let packet = json!({"evidence_id": "e", "sensor_id": "ci", "payload": {"a": 1}});
    let mut wrong = packet.clone();
    wrong["payload_hash"] = json!(format!("sha256:{}", "1".repeat(64)));
    let mut stale = packet.clone();
    stale["observed_at_ms"] = json!(NOW_MS - 7_200_000);
    let about = |name: &str, packet: Json, approvals: Json, expect: Json| {
        json!({
            "name": name, "proposal": "proposals/write.json", "change": {"preconditions": condition}, "evidence": [packet],
            "approvals": approvals, "now_ms": NOW_MS, "expect": expect,
        })
    };
    let alice = json!([{"approver": "alice"}]);
    let cases = json!([
        about("filled", packet.clone(), alice.clone(), json!({"outcome": "ALLOW"})),
        about(
            "wrong",
            wrong,
            alice.clone(),
            json!({"outcome": "DENY", "reasons": [{"rule_id": "V-EVID-006"}]})
        ),
        about(
            "stale",
            stale,
            alice.clone(),
            json!({"outcome": "DENY", "reasons": [{"rule_id": "V-EVID-012"}]})
        ),
        about("file", json!("packets.json"), json!(["approval.json"]), json!({"outcome": "ALLOW"})),
        about(
            "damaged",
            packet.clone(),
            json!([{"approver": "alice", "verdict": "maybe"}]),
            json!({"outcome": "HOLD", "reasons": [{"rule_id": "G15"}]})
        ),
    ]);
    let project = with_cases(&cases);
    project.write("policy/tests/packets.json", &json!([packet]).to_string());
    project.write("policy/tests/approval.json", &alice[0].to_string());
    project.run(&["policy", "test"]).ended(0).says_all(&["5 cases: all as expected"]);
}

#[test]
fn cases_that_cannot_be_run_fail_and_say_why() {
    let good = case(&json!({"outcome": "HOLD"}));
    let changed = |name: &str, value: Json| {
        let mut changed = good.clone();
        changed[name] = value;
        changed
    };
    let project = with_cases(&json!([
        changed("expects", json!({})),
        changed("expect", json!({"outcome": "HOLD", "reason": []})),
        changed("expect", json!({"outcome": "MAYBE"})),
        changed("expect", json!({"outcome": "HOLD", "reasons": [{"rule_id": "G14", "policy": "a"}]})),
        changed("proposal", json!("proposals/none.json")),
        changed("evidence", json!([1])),
        changed("now_ms", json!("now")),
        changed("name", json!(" ")),
        {"proposal": "proposals/write.json", "now_ms": 1},
    ]));
    project.write("policy/tests/b.yaml", "name: [\n");
    project.write("policy/tests/c.json", "{\"expect\": 1,}");
    project.run(&["policy", "test"]).ended(1).says_all(&[
        "unknown field `expects`",
        "unknown field `reason`",
        "unknown variant `MAYBE`",
        "unknown field `policy`",
        "policy/tests/proposals/none.json: No such file",
        "`evidence` lists objects",
        "invalid type: string \"now\"",
        "`name` is empty",
        "missing field `expect`",
        "failed  tests/b.yaml: b",
        "failed  tests/c.json: c",
        "line 1, column 14",
        "11 cases: 11 failed",
    ]);
}

#[test]
fn cases_can_be_chosen_and_must_be_there() {
    let project = Project::started();
    project
        .run(&["policy", "test", "--filter", "tests/money"])
        .ended(0)
        .says_all(&["9 of 78 cases: all as expected"]);
    project.run(&["policy", "test", "--filter", "a cent more"]).ended(0).says_all(&["1 of 78 cases"]);
    project
        .run(&["policy", "test", "--filter", "nonsense"])
        .ended(1)
        .says_all(&["none of the 78 cases", "nonsense"]);
    std::fs::remove_dir_all(project.path("policy/tests")).unwrap();
    project.run(&["policy", "test"]).ended(1).says_all(&["policy/tests: there are no cases"]);
}

#[test]
fn cases_may_be_yaml() {
    let project = with_cases(&json!([]));
    project.write(
        "policy/tests/a.yml",
        &format!(
            "- name: one\n  proposal: proposals/read.json\n  now_ms: {NOW_MS}\n  expect: {{outcome: ALLOW}}\n"
        ),
    );
    project.run(&["policy", "test"]).ended(0).says_all(&["ok      tests/a.yml: one"]);
}

#[test]
fn results_for_programs() {
    let cases = json!([
        case(&json!({"outcome": "HOLD"})),
        {"name": "<b> & \"c\" \u{1}", "proposal": "proposals/write.json", "now_ms": NOW_MS, "expect": {"outcome": "DENY"}},
        {"name": "broken", "proposal": 1, "now_ms": NOW_MS},
    ]);
    let project = with_cases(&cases);
    let ran = project.run(&["policy", "test", "--json", "--junit", "report.xml"]).ended(1);
    let lines: Vec<Json> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let oks: Vec<_> = lines.iter().map(|line| line["ok"].as_bool().unwrap()).collect();
    assert_eq!(oks, [true, false, false]);
    assert_eq!(lines[1]["differences"], json!(["-outcome DENY", "+outcome HOLD"]));
    assert_eq!(lines[1]["decision"]["outcome"], "HOLD");
    assert!(lines[2]["error"].as_str().unwrap().contains("missing field `expect`"));
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"ordain policy test\" tests=\"3\" failures=\"1\" errors=\"1\">
  <testsuite name=\"tests/cases.json\" tests=\"3\" failures=\"1\" errors=\"1\">
    <testcase classname=\"tests/cases.json\" name=\"it\"/>
    <testcase classname=\"tests/cases.json\" name=\"&lt;b&gt; &amp; &quot;c&quot; \u{fffd}\">
      <failure message=\"the decision is not as expected\">-outcome DENY
+outcome HOLD</failure>
    </testcase>
    <testcase classname=\"tests/cases.json\" name=\"broken\">
      <error message=\"cannot be run\">is not a case: missing field `expect`</error>
    </testcase>
  </testsuite>
</testsuites>
";
    assert_eq!(project.read("report.xml"), expected);
}

#[test]
fn explain_says_what_holds_and_what_is_missing() {
    let project = Project::started();
    project.write("pay.json", &project.read("policy/tests/proposals/pay.json").replace("120.5", "600"));
    let ran = project.run(&["policy", "explain", "pay.json"]).ended(0);
    let ran = ran.says_all(&[
        "outcome     DENY",
        "Policies that apply (1)\n  forbid  money-takes-two  No money moves unless two people have approved",
        "✓ context.parameters.currency == \"EUR\"",
        "✗ context.parameters.amount.lessThanOrEqual(decimal(\"500.0\"))  (found decimal(\"600.0\"))",
        "  · would be permitted by `pay-small` if `context.parameters.amount",
        "  · `money-takes-two` forbids it until `context.approvals >= 2` holds\n",
    ]);
    let (permit, forbid) = (ran.stdout.find("permit  pay-small"), ran.stdout.find("forbid  keep-secrets"));
    assert!(permit < forbid, "the nearest miss first: {}", ran.stdout);
    let explained = project.run(&["policy", "explain", "pay.json", "--json"]).ended(0).json();
    assert_eq!(explained["decision"]["outcome"], "DENY");
    let first = &explained["policies"][0];
    assert_eq!((&first["policy"], &first["applies"]), (&json!("money-takes-two"), &json!(true)));
}

#[test]
fn explain_counts_the_approvals_that_are_given() {
    let project = Project::started();
    let pay = "policy/tests/proposals/pay.json";
    let now = NOW_MS.to_string();
    let decision = project.run(&["decide", pay, "--now", &now, "--json"]).json();
    let approval = |approver: &str| {
        json!({
            "proposal_hash": decision["proposal_hash"], "approver": approver, "verdict": "approve", "reason": "",
            "view_digest": decision["proposal_hash"], "at_ms": NOW_MS,
        })
    };
    project.write("approvals.json", &json!([approval("dora"), approval("emil")]).to_string());
    let ran =
        project.run(&["policy", "explain", pay, "--now", &now, "--approvals", "approvals.json"]).ended(0);
    let ran = ran.says_all(&[
        "outcome     ALLOW",
        "✗ !(context.approvals >= 2)",
        "What would have to change\n  · nothing\n",
    ]);
    assert!(!ran.stdout.contains("forbids it"), "{}", ran.stdout);
}

#[test]
fn explain_looks_at_the_operation_that_matters() {
    let project = Project::started();
    let set = project.read("policy/tests/proposals/patch-set.json").replace("src/main.rs", ".github/ci.yml");
    project.write("set.json", &set);
    let ran = project.run(&["policy", "explain", "set.json"]).ended(0).says_all(&[
        "Policies that apply, modify .github/ci.yml (1)\n  forbid  keep-controls",
        "· modify .github/ci.yml: `keep-controls` forbids it",
    ]);
    assert!(!ran.stdout.contains("create docs/guide.md: "), "{}", ran.stdout);
    // And at every other that matters.
    project.write("set.json", &set.replace("docs/guide.md", ".github/new.yml"));
    project.run(&["policy", "explain", "set.json"]).ended(0).says_all(&[
        "· create .github/new.yml: `keep-controls` forbids it",
        "· modify .github/ci.yml: `keep-controls` forbids it",
    ]);
}

/// A permit that no change of the proposal can make match does not help.
#[test]
fn explain_names_no_permit_that_can_never_match() {
    let project = Project::empty();
    project.write(
        "policy/a.cedar",
        "@id(\"off\")\npermit(principal, action, resource)\nwhen { false };\n\
         @id(\"groups\")\npermit(principal is Group, action, resource);\n",
    );
    let proposal = json!({"proposal_id": "1", "ts_ms": 1, "actor": "agent", "action_type": "read", "parameters": {},
        "target": {"resource_type": "page", "resource_id": "news", "domain": "example.com", "constraints": {}}});
    project.write("read.json", &proposal.to_string());
    let ran = project.run(&["policy", "explain", "read.json"]).ended(0);
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("no permit for `read` can ever match"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("would be permitted by"), "{}", ran.stdout);
    // One that could is named alone.
    project
        .write("policy/b.cedar", "@id(\"docs\")\npermit(principal, action, resource in Domain::\"docs\");\n");
    let ran = project.run(&["policy", "explain", "read.json"]).ended(0);
    let (_, changes) = ran.stdout.split_once("What would have to change").unwrap();
    assert!(changes.contains("would be permitted by `docs` if"), "{changes}");
    assert!(!changes.contains("`off`") && !changes.contains("`groups`"), "{changes}");
}

#[test]
fn explain_of_what_cannot_be_asked() {
    let project = Project::started();
    project.write("bad.json", "{}");
    project.run(&["policy", "explain", "bad.json"]).ended(0).says_all(&["V-PROP-001", "none was asked"]);
}

const UGLY: &str = "// first\n@id(\"a\") permit(principal,action in Action::\"observe\",resource)when{resource.id==\"https://x\"&&true}; // behind\n// last\n";

#[test]
fn fmt_lays_out_and_keeps_comments_and_permissions() {
    let project = Project::empty();
    project.write("policy/a.cedar", UGLY);
    project.write("policy/.hidden.cedar", UGLY);
    project.write("policy/other.txt", "x");
    std::fs::set_permissions(project.path("policy/a.cedar"), std::fs::Permissions::from_mode(0o640)).unwrap();
    project
        .run(&["policy", "fmt", "--check"])
        .ended(1)
        .says_all(&["would change  policy/a.cedar", "1 file, 1 to change"]);
    assert_eq!(project.read("policy/a.cedar"), UGLY);
    let before = project.run(&["policy", "check", "--json"]).json();
    project.run(&["policy", "fmt"]).ended(0).says_all(&["changed  policy/a.cedar"]);
    let laid_out = project.read("policy/a.cedar");
    for part in ["// first", "// behind", "// last", "resource.id == \"https://x\" && true"] {
        assert!(laid_out.contains(part), "{laid_out}");
    }
    let mode = std::fs::metadata(project.path("policy/a.cedar")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let after = project.run(&["policy", "check", "--json"]).json();
    assert_eq!((&before["ok"], &before["permits"]), (&after["ok"], &after["permits"]));
    project.run(&["policy", "fmt", "--check", "policy"]).ended(0);
    assert_eq!(project.read("policy/.hidden.cedar"), UGLY);
    assert_eq!(project.run_with(&["policy", "fmt", "-"], UGLY).ended(0).stdout, laid_out);
    project.run_with(&["policy", "fmt", "-", "--check"], UGLY).ended(1);
    project.run_with(&["policy", "fmt", "-", "--check"], &laid_out).ended(0);
}

#[test]
fn fmt_writes_nothing_if_one_file_is_wrong() {
    let project = Project::empty();
    project.write("policy/a.cedar", UGLY);
    project.write("policy/b.cedar", "// fine\npermit(principal, action, resource;\n");
    project.run(&["policy", "fmt"]).ended(1).says_all(&["policy/b.cedar: line 2"]);
    assert_eq!(project.read("policy/a.cedar"), UGLY);
    project.write("policy/b.cedar", "// nothing but this\n\n\n");
    project.run(&["policy", "fmt"]).ended(0);
    assert_eq!(project.read("policy/b.cedar"), "// nothing but this\n\n\n");
    project.run(&["policy", "fmt", "none.cedar"]).ended(1).says_all(&["none.cedar"]);
    project.run(&["policy", "fmt", "-", "policy"]).ended(64);
}

#[test]
fn the_schema_of_policies() {
    let project = Project::empty();
    project
        .run(&["schema", "policy"])
        .ended(0)
        .says_all(&["entity Actor in [Group]", "action transact in [external]"]);
    let schema = project.run(&["schema", "policy", "--json"]).ended(0).json();
    assert!(schema[""]["actions"]["transact"].is_object(), "{schema}");
    project.run(&["completions", "bash"]).ended(0).says_all(&["routing policy", "ordain__subcmd__policy"]);
    project.run(&["schema", "nothing"]).ended(64);
    project.run(&["decide", WRITE, "--help"]).ended(0).says_all(&["Examples:", "ordain decide"]);
}

/// The cases for other implementations are in the form that this command reads.
#[test]
fn the_conformance_cases_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/decide");
    let project = Project::empty();
    project.run(&["policy", "test", folder]).ended(0).says_all(&["all as expected"]);
}
