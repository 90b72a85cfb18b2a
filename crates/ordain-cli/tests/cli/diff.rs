//! `ordain diff`: what changed from one bundle to another.

use crate::harness::{Ran, TempFile, document, ordain, settled};
use insta::assert_snapshot;
use serde_json::{Value as Json, json};

fn before() -> Json {
    document("bundle/BS6/accept.json")
}

/// One question is answered and another asked, a child is gone and another new, a constraint and an output changed.
fn after() -> Json {
    let mut bundle = before();
    let root = &mut bundle["root_node"];
    root["constraints"] =
        json!(["Allow 120 requests per minute", "Keep the limits in config/rate_limit.toml"]);
    root["entropy"]["entropy_score"] = json!(34);
    root["density"]["density_score"] = json!(60);
    let children = root["children"].as_array_mut().unwrap();
    let key = &mut children[1];
    key["constraints"] = json!([
        "Allow 120 requests per minute",
        "Count requests for each API key",
        "Keep the limits in config/rate_limit.toml"
    ]);
    key["unresolved_questions"][0]["text"] = json!("What limit has a new key?");
    let other = &mut children[0];
    other["goal"] = json!("Limit each network");
    other["constraints"] = json!(["Count requests for each network"]);
    other["unresolved_questions"][0]["priority"] = json!(65);
    bundle["outputs"][0]["content"] =
        json!("# Add a rate limit to the public API\n\nThree questions are open.\nAnswer them.");
    let mut output = bundle["outputs"][0].clone();
    output["path"] = json!("context/limits.md");
    bundle["outputs"].as_array_mut().unwrap().push(output);
    settled(bundle)
}

fn diff(name: &str, args: &[&str], before: &Json, after: &Json) -> Ran {
    let file = TempFile::new(name, &before.to_string());
    ordain(&[&["diff", file.path(), "-"], args].concat(), after.to_string())
}

#[test]
fn what_changed() {
    assert_eq!(ordain(&["verify", "-"], after().to_string()).code, 0);
    let ran = diff("changed.json", &[], &before(), &after());
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    assert_snapshot!(ran.stdout, @r"
    bundle      bundle_7153631de42a8c41 → bundle_ec4840efbf76c0f2
    unclear     60 → 34 at the root
    settled     40 → 60 at the root

    Questions
      - What limit has a key that is one day old?
          · q_c597d775b6cf6bea  answered, or no longer asked
      + What limit has a new key?
          · q_32e3928013b88b0e  new
      ~ Which proxies may set the client address?
          · q_41ae91510e485320  priority 70 → 65

    Nodes
      ~ Add a rate limit to the public API
          - Allow 100 requests per minute
          + Allow 120 requests per minute
          · unclear 60 → 34 · settled 40 → 60
      ~ Add a rate limit to the public API › Add a rate limit to the public API
          - Allow 100 requests per minute
          + Allow 120 requests per minute
          · also changed: its questions
      - Add a rate limit to the public API › Add a rate limit to the public API
          · node_a593986e1af6137a
          - Count requests for each client address
      + Add a rate limit to the public API › Limit each network
          · node_f226ffd063ee6c54
          + Count requests for each network

    Outputs
      + context/limits.md
          · instruction, 76 B
      ~ context/brief.md
        @@ -1,3 +1,4 @@
         # Add a rate limit to the public API

         Three questions are open.
        +Answer them.
        \ No newline at end of file

    Figures
      - 3 nodes · 2 leaves · depth 1 · 1 output · 3 questions · on average unclear 43, settled 58
      + 3 nodes · 2 leaves · depth 1 · 2 outputs · 3 questions · on average unclear 43, settled 58
    ");
}

#[test]
fn the_way_back_has_the_same_facts() {
    let there: Json =
        serde_json::from_str(&diff("there.json", &["--json"], &before(), &after()).stdout).unwrap();
    let back: Json =
        serde_json::from_str(&diff("back.json", &["--json"], &after(), &before()).stdout).unwrap();
    for part in ["questions", "nodes", "outputs"] {
        assert_eq!(there[part]["added"], back[part]["removed"], "{part}");
        assert_eq!(there[part]["removed"], back[part]["added"], "{part}");
    }
    assert_eq!(there["stats"]["from"], back["stats"]["to"]);
}

#[test]
fn for_programs() {
    let ran = diff("json.json", &["--json"], &before(), &after());
    assert_eq!(ran.code, 1);
    let canonical = ordain(&["canon", "-"], &ran.stdout).stdout;
    assert_eq!(ran.stdout, canonical + "\n");
    let changes: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&changes).unwrap(), @r#"
    {
      "density_score": {
        "from": 40,
        "to": 60
      },
      "entropy_score": {
        "from": 60,
        "to": 34
      },
      "id": {
        "from": "bundle_7153631de42a8c41",
        "to": "bundle_ec4840efbf76c0f2"
      },
      "kernel_version": {
        "from": "0.1.0",
        "to": "0.1.0"
      },
      "nodes": {
        "added": [
          {
            "constraints": [
              "Count requests for each network"
            ],
            "id": "node_f226ffd063ee6c54",
            "own_constraints": [
              "Count requests for each network"
            ],
            "path": [
              "Add a rate limit to the public API",
              "Limit each network"
            ]
          }
        ],
        "changed": [
          {
            "constraints": {
              "added": [
                "Allow 120 requests per minute"
              ],
              "removed": [
                "Allow 100 requests per minute"
              ]
            },
            "density_score": {
              "from": 40,
              "to": 60
            },
            "entropy_score": {
              "from": 60,
              "to": 34
            },
            "goal": {
              "from": "Add a rate limit to the public API",
              "to": "Add a rate limit to the public API"
            },
            "id": {
              "from": "node_b83c65c235456598",
              "to": "node_ff3108009b9df66e"
            },
            "other": [
              "density",
              "entropy"
            ],
            "path": [
              "Add a rate limit to the public API"
            ],
            "status": {
              "from": "expanding",
              "to": "expanding"
            }
          },
          {
            "constraints": {
              "added": [
                "Allow 120 requests per minute"
              ],
              "removed": [
                "Allow 100 requests per minute"
              ]
            },
            "density_score": {
              "from": 60,
              "to": 60
            },
            "entropy_score": {
              "from": 40,
              "to": 40
            },
            "goal": {
              "from": "Add a rate limit to the public API",
              "to": "Add a rate limit to the public API"
            },
            "id": {
              "from": "node_e4aeb1e7f29c2103",
              "to": "node_193539073f253b48"
            },
            "other": [
              "unresolved_questions"
            ],
            "path": [
              "Add a rate limit to the public API",
              "Add a rate limit to the public API"
            ],
            "status": {
              "from": "terminal",
              "to": "terminal"
            }
          }
        ],
        "removed": [
          {
            "constraints": [
              "Allow 100 requests per minute",
              "Count requests for each client address",
              "Keep the limits in config/rate_limit.toml"
            ],
            "id": "node_a593986e1af6137a",
            "own_constraints": [
              "Count requests for each client address"
            ],
            "path": [
              "Add a rate limit to the public API",
              "Add a rate limit to the public API"
            ]
          }
        ]
      },
      "outputs": {
        "added": [
          {
            "content_hash": "sha256:0227a1171d852658b42af14132b5307abae986fe7980b05704f9ed4676ec4791",
            "path": "context/limits.md",
            "size_bytes": 76,
            "type": "instruction"
          }
        ],
        "changed": [
          {
            "confidence": {
              "from": 45,
              "to": 45
            },
            "content_hash": {
              "from": "sha256:b7f284aaa7f3ca2e28353350cd4d8dee9d5f9d4839e3e44c2c6f568b72bbf4c8",
              "to": "sha256:0227a1171d852658b42af14132b5307abae986fe7980b05704f9ed4676ec4791"
            },
            "diff": "@@ -1,3 +1,4 @@\n # Add a rate limit to the public API\n \n Three questions are open.\n+Answer them.\n\\ No newline at end of file\n",
            "path": "context/brief.md",
            "size_bytes": {
              "from": 64,
              "to": 76
            },
            "source_constraints": {
              "added": [],
              "removed": []
            },
            "type": {
              "from": "instruction",
              "to": "instruction"
            }
          }
        ],
        "removed": []
      },
      "questions": {
        "added": [
          {
            "expected_answer_type": "text",
            "id": "q_32e3928013b88b0e",
            "information_gain": 40,
            "priority": 60,
            "text": "What limit has a new key?",
            "why_needed": "New keys are often abused."
          }
        ],
        "changed": [
          {
            "id": "q_41ae91510e485320",
            "information_gain": {
              "from": 55,
              "to": 55
            },
            "priority": {
              "from": 70,
              "to": 65
            },
            "text": "Which proxies may set the client address?"
          }
        ],
        "removed": [
          {
            "expected_answer_type": "text",
            "id": "q_c597d775b6cf6bea",
            "information_gain": 40,
            "priority": 60,
            "text": "What limit has a key that is one day old?",
            "why_needed": "New keys are often abused."
          }
        ]
      },
      "same": false,
      "schema_version": {
        "from": "0.1.0",
        "to": "0.1.0"
      },
      "source_intent_hash": {
        "from": "6d2ae17ff64a94bda7cc084352f7b6e074928ace86ee9e3b837127d535e9cabf",
        "to": "6d2ae17ff64a94bda7cc084352f7b6e074928ace86ee9e3b837127d535e9cabf"
      },
      "stats": {
        "from": {
          "avg_terminal_density": 58,
          "avg_terminal_entropy": 43,
          "max_depth": 1,
          "terminal_nodes": 2,
          "total_nodes": 3,
          "total_outputs": 1,
          "unresolved_count": 3
        },
        "to": {
          "avg_terminal_density": 58,
          "avg_terminal_entropy": 43,
          "max_depth": 1,
          "terminal_nodes": 2,
          "total_nodes": 3,
          "total_outputs": 2,
          "unresolved_count": 3
        }
      },
      "status": {
        "from": "incomplete",
        "to": "incomplete"
      }
    }
    "#);
}

#[test]
fn the_same_bundle() {
    // Another spelling of the same document.
    let ran = diff("same.json", &[], &before(), &before());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "the same bundle  bundle_7153631de42a8c41\n"));
    let ran = diff("same-json.json", &["--json"], &before(), &before());
    let changes: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &changes["same"], &changes["nodes"]["changed"]), (0, &json!(true), &json!([])));
}

/// Siblings with one goal find their partners by what sets them apart, though all their ids changed.
#[test]
fn partners_among_siblings() {
    let mut bundle = before();
    for constraints in ["/root_node", "/root_node/children/0", "/root_node/children/1"] {
        let node = bundle.pointer_mut(constraints).unwrap();
        node["constraints"].as_array_mut().unwrap().push(json!("Log every refusal"));
    }
    let ran = diff("partners.json", &["--json"], &before(), &settled(bundle));
    let changes: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&changes["nodes"]["added"], &changes["nodes"]["removed"]), (&json!([]), &json!([])));
    let changed = changes["nodes"]["changed"].as_array().unwrap();
    assert_eq!(changed.len(), 3);
    for node in changed {
        assert_eq!(node["constraints"], json!({"added": ["Log every refusal"], "removed": []}));
    }
}

/// Whatever differs, something is said about it.
#[test]
fn no_difference_is_passed_over() {
    for (pointer, value) in [
        ("/root_node/entropy/schema_gaps", json!(3)),
        ("/root_node/density/constraint_depth", json!(3)),
        ("/root_node/children/0/entropy/entropy_score", json!(46)),
        ("/root_node/splitting_question/question/priority", json!(1)),
        ("/outputs/0/confidence", json!(1)),
        ("/outputs/0/type", json!("config")),
        ("/outputs/0/source_constraints", json!([])),
        ("/kernel_version", json!("0.2.0")),
        ("/schema_version", json!("0.2.0")),
        ("/source_intent_hash", json!("0".repeat(64))),
    ] {
        let mut bundle = before();
        *bundle.pointer_mut(pointer).unwrap() = value;
        let ran = diff("passed.json", &[], &before(), &settled(bundle));
        assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{pointer}");
        assert!(ran.stdout.lines().count() > 1, "{pointer}: {}", ran.stdout);
    }
}

#[test]
fn only_valid_bundles() {
    let good = "conformance/bundle/BS6/accept.json";
    let ran = ordain(&["diff", good, "conformance/bundle/BS6/reject.json"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert_snapshot!(ran.stderr, @r"
    invalid  conformance/bundle/BS6/reject.json: bundle, 1 violation
      BS6  /terminal_nodes/1  out of order: the list is sorted by id
       182 │     {
           │     ^
      see `ordain rules BS6` or docs/contracts/bundle.md
    error: conformance/bundle/BS6/reject.json: only valid bundles can be compared, and this has 1 violation
    ");
    for (other, message) in [
        ("conformance/plan/PR1/accept.json", "expected a bundle, found a plan proposal"),
        ("CONTRIBUTING.md", "error: CONTRIBUTING.md: "),
        ("no-such-file.json", "No such file"),
    ] {
        let ran = ordain(&["diff", other, good], "");
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{other}");
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    assert_eq!(ordain(&["diff", "-", "-"], "{}").code, 64);
    assert_eq!(ordain(&["diff", good], "").code, 64);
}

#[test]
fn hostile_content_is_harmless() {
    let mut bundle = before();
    bundle["outputs"][0]["content"] = json!("a\u{1b}[2J\rb\u{202e}\n\ttab\n");
    let goal = json!("x\u{1b}]0;y\u{7}");
    bundle["root_node"]["children"][0]["goal"] = goal.clone();
    bundle["root_node"]["goal"] = goal;
    let ran = diff("hostile.json", &[], &before(), &settled(bundle));
    assert!(!ran.stdout.contains(['\u{1b}', '\r', '\u{7}', '\u{202e}']), "{:?}", ran.stdout);
    assert!(ran.stdout.contains("+a\\u{1b}[2J\\u{d}b\\u{202e}\n    +\ttab\n"), "{}", ran.stdout);
}
