//! `ordain show`: every kind of document as a page for people.

use crate::harness::{TempFile, document, ordain, settled};
use insta::assert_snapshot;
use ordain_testkit::vectors;
use serde_json::json;

fn show(document: &serde_json::Value, args: &[&str]) -> String {
    let ran = ordain(&[&["show", "-"], args].concat(), document.to_string());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

/// A tree of three nodes and two questions.
#[test]
fn a_bundle() {
    let mut bundle = document("bundle/BS6/accept.json");
    bundle["root_node"]["children"][1]["unresolved_questions"] = json!([]);
    bundle["root_node"]["children"][1]["goal"] =
        json!("Count requests\nfor each key, whatever address they come from");
    let bundle = settled(bundle);
    assert_eq!(ordain(&["verify", "-"], bundle.to_string()).code, 0);
    assert_snapshot!(show(&bundle, &[]), @r"
    bundle  bundle_d036b660435a97f7
    status      incomplete
    kernel      0.1.0
    intent      6d2ae17ff64a…

    Tree
      Add a rate limit to the public API
      │ expanding · unclear 60 · settled 40 · 2 constraints · 1 question
      │ splits on: What is counted against the limit?
      ├─ Count requests …
      │    terminal · unclear 40 · settled 60 · 3 constraints
      │    · Allow 100 requests per minute
      │    + Count requests for each API key
      │    · Keep the limits in config/rate_limit.toml
      └─ Add a rate limit to the public API
           terminal · unclear 45 · settled 55 · 3 constraints · 1 question
           · Allow 100 requests per minute
           + Count requests for each client address
           · Keep the limits in config/rate_limit.toml

    Questions (2)
      1. What is counted against the limit?
         why      The two ways need different storage.
         answer   choice
                  · Count requests for each API key
                  · Count requests for each client address
         id       q_52982795ba931080  priority 90 · information gain 80
      2. Which proxies may set the client address?
         why      Anyone can forge the header.
         answer   text
         id       q_41ae91510e485320  priority 70 · information gain 55

    Outputs (1)
      type         size  confidence  path
      instruction  64 B          45  context/brief.md

    Figures
      3 nodes · 2 leaves · depth 1 · 1 output · 2 questions · on average unclear 43, settled 58
    ");
    let full = show(&bundle, &["--full"]);
    assert!(full.contains("    │ Three questions are open.\n"), "{full}");
}

#[test]
fn a_plan() {
    assert_snapshot!(show(&document("plan/PR1/accept.json"), &[]), @r"
    plan proposal  prop_2c4250a41ca4e4fa
    summary     Adds the rate limit configuration and runs its tests.
    approval    required
    confidence  85
    bundle      bundle_51258f8f33976f7a sha256:d217f1811cd1…

    Actions (3)
      order  type             required   size  target
          0  create_file      yes       114 B  context/brief.md
                                               Write context/brief.md
          0  create_file      yes        50 B  config/rate_limit.toml
                                               Write config/rate_limit.toml
          1  execute_command  yes              python3 -m pytest tests/test_rate_limit.py
                                               Run the rate limit tests

    Acceptance tests (2)
      type             required  target
      hash_match       yes       config/rate_limit.toml
                                 The configuration file is the planned one (test_config_content)
                                 expects sha256:eeae7976985a…
      command_success  yes       python3 -m pytest tests/test_rate_limit.py
                                 The rate limit tests pass (test_suite)
                                 expects 0
    ");
}

#[test]
fn a_patch_set_with_its_content() {
    assert_snapshot!(show(&document("patch/PS8/accept.json"), &["--full"]), @r"
    patch set  from prop_2c4250a41ca4e4fa
    source      sha256:192c660acefc…
    total       3 operations, 99 B

    Operations (3)
      op      lines  size  path
      delete               config/old_limits.toml
      create     +3  50 B  config/rate_limit.toml
        │ [public_api]
        │ requests_per_minute = 100
        │ burst = 20
      modify     +3  49 B  docs/limits.md
        │ # Limits
        │
        │ 100 requests per minute – für alle.
    ");
}

#[test]
fn an_intent() {
    let intent = json!({
        "goal": "Add a rate limit\nto the public API",
        "constraints": ["Allow 100 requests per minute"],
        "context": {
            "answers": {"q_0123456789abcdef": ["a", 1, true]},
            "files": [{"path": "config/rate_limit.toml", "content": "burst = 20\n"}],
            "commands": [{"argv": ["echo", "two words"], "required": false}],
            "tests": [{"name": "It is there", "type": "file_exists", "target": "config/rate_limit.toml", "expected": "true"}],
            "comands": [],
        },
    });
    assert_snapshot!(show(&intent, &[]), @r#"
    intent
    goal        Add a rate limit
                to the public API

    Constraints (1)
      · Allow 100 requests per minute

    Answers (1)
      · q_0123456789abcdef  ["a",1,true]

    Files (1)
      size  path
      11 B  config/rate_limit.toml

    Commands (1)
      required  arguments
      no        ["echo","two words"]

    Tests (1)
      type         required  target
      file_exists  yes       config/rate_limit.toml
                             It is there
                             expects true

    Other context, which has no meaning to the kernel (1)
      {
        "comands": []
      }
    "#);
}

#[test]
fn an_action_proposal_and_its_evidence() {
    let mut proposal = document("action/V-PROP-013/accept.json");
    proposal["rollback_semantics"] = json!({"strategy": "manual", "deadline_ms": 1705171800000_u64});
    assert_snapshot!(show(&proposal, &[]), @r#"
    action proposal  550e8400-e29b-41d4-a716-446655440000
    actor       agent-sales-001
    made        2024-01-13T18:40:00Z (1705171200000 ms)
    action      write
    target      crm_record contact-12345 in salesforce.com
    approval    none
    valid from  2024-01-13T18:40:00Z (1705171200000 ms)
    until       2024-01-13T18:45:00Z (1705171500000 ms)
    at most     30 s (30000 ms)

    Target constraints
      {
        "allowed_fields": [
          "email",
          "phone",
          "notes"
        ],
        "forbidden_fields": [
          "ssn",
          "credit_card"
        ]
      }

    Parameters
      {
        "updates": {
          "email": "new@example.com",
          "notes": "Updated via automation"
        }
      }

    Preconditions, not checked here (1)
      · record_exists eq true  in evidence-001

    Risk
    allowed     audit_log_entry
    forbidden   email_notification, workflow_trigger
    records     at most 1
    reversible  required

    Rollback
    strategy    manual
    deadline    2024-01-13T18:50:00Z (1705171800000 ms)
    "#);
    assert_snapshot!(show(&document("packet/V-EVID-001/accept.json"), &[]), @r#"
    evidence packet  evidence-001
    type        api_response
    sensor      crm-reader-1 (api_client)
    observed    2024-01-13T18:41:30Z (1705171290000 ms)
    received    2024-01-13T18:41:30.250Z (1705171290250 ms)
    signature   none
    hash        sha256:2090a9133a66ef326feae881fcd0613c197c5b157e9f696a292f56d91497c87e

    Payload
      {
        "record_exists": true,
        "record_id": "contact-12345"
      }
    "#);
}

#[test]
fn a_kernel_request() {
    let request = json!({
        "request_id": "req-1",
        "ts_ms": 1705171200000_u64,
        "actor": "agent-1",
        "intent": "Update a contact",
        "tool_call": {"name": "crm.update", "params": {"id": 7}},
        "evidence": ["evidence-001"],
    });
    assert_snapshot!(show(&request, &[]), @r#"
    kernel request  req-1
    actor       agent-1
    made        2024-01-13T18:40:00Z (1705171200000 ms)
    intent      Update a contact
    tool        crm.update

    Parameters
      {
        "id": 7
      }

    Evidence (1)
      · evidence-001
    "#);
}

#[test]
fn execution_evidence_and_a_run() {
    let mut evidence = document("evidence/EV1/accept.json");
    evidence["observed"] = json!({"executor": "sandbox"});
    assert_snapshot!(show(&evidence, &[]), @r#"
    execution evidence  of prop_2c4250a41ca4e4fa
    status      complete
    proposal    sha256:192c660acefc…

    Actions (3)
      status   exit code  action
      success             act_74694bc4564a9c6b
                          sha256:46a6a1ad1771… context/brief.md
      success             act_77bdae6f1cd6bd82
                          sha256:eeae7976985a… config/rate_limit.toml
      success          0  act_ac13b53743e90a86
                          sha256:3328c35439a8… build/coverage.txt
                          sha256:518b6d28ff98… build/report.txt

    Tests (2)
      result  test
      passed  test_config_content
              found sha256:eeae7976985a…
      passed  test_suite
              found 0

    Observed, outside the hash
      {
        "executor": "sandbox"
      }
    "#);
    assert_snapshot!(show(&document("run/RN6/accept.json"), &[]), @r"
    run result  run_3f9c2a7d5e1b4c60
    verdict     not accepted
    evidence    checked by the kernel
    started     2026-01-05T09:00:00Z
    completed   2026-01-05T09:00:07Z
    kernel      0.1.0
    intent      intents/rate-limit.json sha256:ff9ddd13b6aa…
    became      CLARIFY
    bundle      bundle_7153631de42a8c41 sha256:6d4889e01dc1…
    execution   nothing was tried

    Reasons
      · three questions are open

    Questions (3)
      · What is counted against the limit?
      · Which proxies may set the client address?
      · What limit has a key that is one day old?

    Profile
    name        docs-build
    network     none
    timeout     30 s (30000 ms) for each command
    output      at most 300 files, 20.0 MiB (20971520 bytes)
    commands    cargo, python3
    writes to   site, target
    ");
}

#[test]
fn a_note_and_a_routing() {
    assert_snapshot!(show(&document("note/NP1/accept.json"), &[]), @r"
    note proposal  prop-5b1f0c7a9e3d2468
    title       REST vs RPC: Concepts and Trade-offs
    status      draft
    path        api/design/rest-vs-rpc-intro.md
    route       api/design/overview
    origin      prompt
    tags        api, rest, rpc
    aliases     rest-rpc-overview
    rationale   Gives newcomers one page that compares the two styles.
    links       notes/api/rest-vs-rpc.md
                https://developer.mozilla.org/en-US/docs/Web/HTTP/Methods
    hash        eea4ca15cf54…

    Text
        │ # REST vs RPC
        │
        │ ## Summary
        │ REST names things, RPC names deeds.
        │
        │ ## References
        │ - [[notes/api/rest-vs-rpc]]
        │ - https://developer.mozilla.org/en-US/docs/Web/HTTP/Methods
    ");
    assert_snapshot!(show(&document("routing/RT1/accept.json"), &["--full"]), @r"
    vault routing
    required    title, status
    statuses    draft, review, published

    Routes (2)
      route                template  pattern
      api/design/overview  overview  api/design/*.md
                                     API design
                                     sections: Summary, References
      notes                          notes/**/*.md
                                     Everything else

    Templates (1)
      · overview
        sections: Summary
        │ # Title
        │
        │ ## Summary
        │
        │ ## References
    ");
}

#[test]
fn decisions_and_approvals() {
    assert_snapshot!(show(&document("decision/DC1/accept.json"), &[]), @r"
    decision  on 550e8400-e29b-41d4-a716-446655440000
    outcome     ALLOW
    proposal    sha256:f83dccbda7c1…
    approvals   2 of 2 (alice, bob), class dual
    policy      sha256:1cd9b8a52ad8…
    evidence    sha256:a79e87c15f90…
    decided     2024-01-13T18:41:40Z (1705171300000 ms)

    Reasons (1)
      rule  where and why
      G12   the proposal
            permitted by `crm-updates`
            policies: crm-updates
    ");
    assert_snapshot!(show(&document("decision/DC5/accept.json"), &[]), @r"
    decision  on 550e8400-e29b-41d4-a716-446655440000
    outcome     DENY
    proposal    sha256:f83dccbda7c1…
    approvals   2 of 2 (alice, bob), class dual
    policy      sha256:1cd9b8a52ad8…
    evidence    sha256:a79e87c15f90…
    decided     2024-01-13T18:41:40Z (1705171300000 ms)

    Reasons (2)
      rule  where and why
      G10   the proposal
            forbidden by `legal-hold` and `quiet-hours`
            policies: legal-hold, quiet-hours
      G6    /risk_envelope/forbidden_effects
            the action has the effect `workflow_trigger`, which the envelope forbids
    ");
    let mut unread = document("decision/DC5/accept.json");
    unread["proposal_id"] = json!(null);
    unread["proposal_hash"] = json!(null);
    unread["approvals"] = json!({"class": "none", "required": 0, "have": []});
    let message = "the text ends before the document is complete";
    unread["reasons"] = json!([{"rule_id": "PARSE", "path": "", "message": message, "policies": []}]);
    assert_snapshot!(show(&unread, &[]), @r"
    decision  on a proposal without an id
    outcome     DENY
    proposal    could not be read
    approvals   none
    policy      sha256:1cd9b8a52ad8…
    evidence    sha256:a79e87c15f90…
    decided     2024-01-13T18:41:40Z (1705171300000 ms)

    Reasons (1)
      rule   where and why
      PARSE  the proposal
             the text ends before the document is complete
    ");
    assert_snapshot!(show(&document("approval/AP4/accept.json"), &[]), @r"
    approval  by bob
    verdict     reject
    reason      The record is under a legal hold.
    given       2024-01-13T18:40:40Z (1705171240000 ms)
    proposal    sha256:f83dccbda7c1b26cf8553454b6618a23b80428d5306e4eb0c9e7018b8b00ba47
    was shown   sha256:dee2c291ff4b1cfd1958cd23b5728d2f969e5a4345a758cdcb3e5aebce4da79f
    ");
    let mut approval = document("approval/AP1/accept.json");
    approval["reason"] = json!("");
    assert!(show(&approval, &[]).contains("\nreason      none given\n"));
}

#[test]
fn outcomes_have_colours() {
    let shown = |vector: &str| {
        ordain(&["show", "--color", "always", &format!("conformance/decision/{vector}/accept.json")], "")
            .stdout
    };
    for (vector, colour) in [("DC1", "32mALLOW"), ("DC2", "33mHOLD"), ("DC5", "31mDENY")] {
        assert!(shown(vector).contains(colour), "{vector}: {:?}", shown(vector));
    }
}

/// A broken rule is said and the page is shown all the same; only what has not the fields of its kind is shown as JSON.
#[test]
fn invalid_documents() {
    let ran = ordain(&["show", "conformance/patch/PS4/reject.json"], "");
    assert_eq!(ran.code, 0);
    assert_snapshot!(ran.stdout, @r"
    invalid: 1 violation, see `ordain verify conformance/patch/PS4/reject.json`

    patch set  from prop_2c4250a41ca4e4fa
    source      sha256:192c660acefc…
    total       3 operations, 99 B

    Operations (3)
      op      lines  size  path
      delete               config/old_limits.toml
      create     +3  50 B  config/rate_limit..toml
      modify     +3  49 B  docs/limits.md
    ");
    let ran = ordain(&["show", "--kind", "intent", "-"], r#"{"goal":1,"context":{"b":1.5,"a":[]}}"#);
    assert_eq!(ran.code, 0);
    assert_snapshot!(ran.stdout, @r#"
    invalid: 1 violation, see `ordain verify --kind intent -`

    intent
      {
        "context": {
          "a": [],
          "b": 1.5
        },
        "goal": 1
      }
    "#);
}

#[test]
fn what_cannot_be_read_is_an_error() {
    for (input, args, message) in [
        ("{", vec!["show", "-"], "error: standard input: the text ends before"),
        ("[]", vec!["show", "-"], "error: standard input: a document is an object, found an array"),
        ("{\"a\":1}", vec!["show", "-"], "`--kind` names the kind"),
        ("\u{feff}{\"operations\":[]}", vec!["show", "-"], "byte order mark"),
        ("", vec!["show", "no-such-file.json"], "error: no-such-file.json: No such file"),
        ("", vec!["show", "conformance"], "error: conformance: Is a directory"),
    ] {
        let ran = ordain(&args, input);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}");
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    assert_eq!(ordain(&["show"], "").code, 64);
}

#[test]
fn yaml_and_canonical_json() {
    let file = TempFile::new("show.yaml", "goal: Add a changelog\nconstraints: [b, a]\n");
    let ran = ordain(&["show", file.path()], "");
    assert!(ran.code == 0 && ran.stdout.contains("goal        Add a changelog\n"), "{}", ran.stdout);
    let ran = ordain(&["show", "--json", file.path()], "");
    assert_eq!(ran.stdout, "{\"constraints\":[\"b\",\"a\"],\"goal\":\"Add a changelog\"}\n");
}

/// A document's text cannot pass for the words of ordain: no text can move the cursor, start a line, or turn
/// around.
#[test]
fn hostile_strings_are_harmless() {
    let hostile = "a\u{1b}[2J\u{202e}b\u{61c}\u{e0041}\nvalid  other.json\r\u{9b}31m";
    let treacherous = |it: char| it != '\n' && (it.is_control() || "\u{202e}\u{61c}\u{e0041}".contains(it));
    let check = |page: String| {
        assert!(!page.contains(treacherous), "{page:?}");
        assert!(!page.lines().any(|line| line.starts_with("valid  ")), "{page}");
        assert!(page.contains("\\u{1b}[2J\\u{202e}b\\u{61c}\\u{e0041}"), "{page}");
    };
    let mut bundle = document("bundle/BS6/accept.json");
    bundle["kernel_version"] = json!(hostile);
    bundle["root_node"]["goal"] = json!(hostile);
    bundle["root_node"]["children"][0]["constraints"] = json!([hostile]);
    bundle["root_node"]["unresolved_questions"][0]["text"] = json!(hostile);
    bundle["root_node"]["unresolved_questions"][0]["options"] = json!([hostile]);
    bundle["outputs"][0]["content"] = json!(hostile);
    bundle["outputs"][0]["path"] = json!(hostile);
    check(show(&bundle, &["--full"]));
    let intent = json!({"goal": hostile, "constraints": [hostile], "context": {hostile: hostile}});
    check(show(&intent, &["--full"]));
    // Every string of every kind of document.
    for vector in vectors() {
        let Some(accept) = vector.file("accept.json") else { continue };
        let mut document: serde_json::Value = serde_json::from_str(&accept).unwrap();
        poison(&mut document, hostile);
        let ran = ordain(&["show", "--full", "--kind", vector.kind.name(), "-"], document.to_string());
        assert_eq!(ran.code, 0, "{vector}: {}", ran.stderr);
        check(ran.stdout);
    }
}

fn poison(value: &mut serde_json::Value, hostile: &str) {
    match value {
        // Enums, which would not be read, are words without spaces or digits, but for one.
        serde_json::Value::String(text)
            if text != "ed25519" && text.contains(|it: char| !it.is_ascii_alphabetic() && it != '_') =>
        {
            *text = hostile.to_owned();
        }
        serde_json::Value::Array(list) => list.iter_mut().for_each(|it| poison(it, hostile)),
        serde_json::Value::Object(members) => members.values_mut().for_each(|it| poison(it, hostile)),
        _ => {}
    }
}

/// Every document of the conformance set is shown. A valid one has a page of its own, with its main fields.
#[test]
fn every_conformance_document_is_shown() {
    let main_fields = |kind: &str| -> &[&str] {
        match kind {
            "intent" => &["/goal"],
            "bundle" => &["/id", "/status", "/root_node/goal", "/outputs/0/path"],
            "plan" => &["/id", "/summary", "/actions/0/target", "/source_bundle_id"],
            "patch" => &["/source_proposal_id", "/operations/0/path"],
            "action" => &["/actor"],
            "packet" => &["/evidence_id", "/sensor_id", "/payload_hash"],
            "approval" => &["/approver", "/verdict", "/proposal_hash", "/view_digest"],
            "decision" => &["/outcome", "/proposal_id", "/reasons/0/rule_id", "/reasons/0/message"],
            "profile" => &["/name"],
            "evidence" => &["/proposal_id", "/status", "/action_results/0/action_id"],
            "run" => &["/run_id", "/kernel_result_kind", "/intent/path", "/policy/name"],
            "note" => &["/id", "/frontmatter/title", "/target/path", "/governance/rationale"],
            "routing" => &["/routes/0/id", "/routes/0/pattern"],
            other => panic!("no main fields of {other}"),
        }
    };
    for vector in vectors() {
        for (name, valid) in [("accept.json", true), ("reject.json", false)] {
            let Some(text) = vector.file(name) else { continue };
            let ran = ordain(&["show", "--full", "--kind", vector.kind.name(), "-"], &text);
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{vector}/{name}");
            assert!(ran.stdout.lines().count() > 3, "{vector}/{name}: {}", ran.stdout);
            if valid {
                assert!(!ran.stdout.starts_with("invalid"), "{vector}: {}", ran.stdout);
                let document: serde_json::Value = serde_json::from_str(&text).unwrap();
                for pointer in main_fields(vector.kind.name()) {
                    let field = document.pointer(pointer).and_then(|it| it.as_str());
                    assert!(
                        field.is_none_or(|it| ran.stdout.contains(it)),
                        "{vector} {pointer}: {}",
                        ran.stdout
                    );
                }
            }
        }
    }
}

/// Colours only where someone sees them.
#[test]
fn colours() {
    let args = ["show", "conformance/bundle/BS6/accept.json"];
    assert!(!ordain(&args, "").stdout.contains('\u{1b}'));
    assert!(ordain(&[&args[..], &["--color", "always"]].concat(), "").stdout.contains("\u{1b}[1m"));
}
