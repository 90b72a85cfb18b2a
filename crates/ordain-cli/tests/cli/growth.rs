//! Every verifier takes time in proportion to its document.

use ordain_spec::Kind;
use ordain_testkit::{large_bundle, large_patch_set, vectors};
use serde_json::{Value, json};

fn accepted(kind: Kind) -> Value {
    let vector =
        vectors().into_iter().find(|it| it.kind == kind && it.file("accept.json").is_some()).unwrap();
    serde_json::from_str(&vector.file("accept.json").unwrap()).unwrap()
}

fn repeat(count: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..count).map(make).collect()
}

/// A document of that kind whose lists have `count` elements. Most of them break rules on purpose: a verifier must
/// be as quick with those.
fn document(kind: Kind, count: usize) -> String {
    let mut document = accepted(kind);
    match kind {
        Kind::Bundle => return large_bundle(count),
        Kind::Patch => return large_patch_set(count, 1),
        Kind::Intent => {
            document["constraints"] = repeat(count, |n| json!(format!("row {}", n % 100)));
            document["context"] = json!({
                "answers": (0..count).map(|n| (format!("q_{n:016x}"), json!(n))).collect::<serde_json::Map<_, _>>(),
                "files": repeat(count, |n| json!({"path": format!("src/{}/{}", n % 7, n / 2), "content": "x"})),
                "commands": repeat(count, |_| json!({"argv": ["true"]})),
                "tests": repeat(count, |n| json!({"name": "t", "type": "file_exists", "target": format!("{n}"), "expected": "no"})),
            });
        }
        Kind::Plan => {
            document["actions"] = repeat(count, |n| {
                json!({"id": format!("act_{:016x}", count - n), "type": "create_file", "target": "a.txt", "content": "x",
                    "required": true, "description": "", "order": n % 3})
            });
            document["acceptance_tests"] = repeat(
                count,
                |n| json!({"id": format!("t{}", n / 2), "name": "", "type": "hash_match", "target": "a", "expected": "x", "required": true}),
            );
        }
        Kind::Action => {
            document["parameters"] = json!({"updates": (0..count).map(|n| (format!("f{n}"), json!(n))).collect::<serde_json::Map<_, _>>()});
            document["target"]["constraints"] = json!({"allowed_fields": repeat(count, |n| json!(format!("f{}", n * 2))),
                "forbidden_fields": repeat(count, |n| json!(format!("f{}", n * 3)))});
            document["risk_envelope"]["allowed_side_effects"] = repeat(count, |n| json!(format!("e{n}")));
            document["risk_envelope"]["forbidden_effects"] = repeat(count, |n| json!(format!("e{n}")));
            document["preconditions"] = repeat(
                count,
                |n| json!({"field": "a", "operator": "eq", "value": 1, "evidence_ref": format!("{n}")}),
            );
        }
        Kind::Packet => {
            document["payload"] = (0..count)
                .map(|n| (format!("k{}", count - n), json!([n])))
                .collect::<serde_json::Map<_, _>>()
                .into();
        }
        Kind::Approval => {
            document["verdict"] = json!("reject");
            document["reason"] = json!("\u{a0}".repeat(count * 20));
        }
        Kind::Decision => {
            document["approvals"]["have"] = repeat(count, |n| json!(format!("{}", n / 2)));
            document["reasons"] = repeat(count, |n| {
                json!({"rule_id": format!("G{}", n % 16), "path": format!("/parameters/operations/{n}"), "message": "x",
                    "policies": ["b", "a"]})
            });
        }
        Kind::Profile => {
            document["allowed_commands"] = repeat(count, |n| json!(format!("c{}", n / 2)));
            document["allowed_write_roots"] = repeat(count, |n| json!(format!("../{}", n / 2)));
        }
        Kind::Evidence => {
            document["action_results"] = repeat(count, |n| {
                json!({"action_id": format!("act_{:016x}", n / 2), "status": "failure", "exit_code": 0,
                    "produced": [{"path": "b", "sha256": "x"}, {"path": "a", "sha256": "x"}]})
            });
            document["test_results"] =
                repeat(count, |n| json!({"test_id": format!("{}", n / 2), "passed": true}));
        }
        Kind::Run => {
            document["policy"]["allowed_commands"] = repeat(count, |n| json!(format!("c{}", n / 2)));
            document["decision"]["reasons"] = repeat(count, |_| json!("because"));
            document["clarify_questions"] = repeat(count, |_| json!("why?"));
        }
        Kind::Note => {
            document["governance"]["related_links"] = repeat(count, |n| json!(format!("notes/{n}.md")));
            document["frontmatter"]["tags"] = repeat(count, |n| json!(format!("t{n}")));
        }
        Kind::Routing => {
            document["routes"] = repeat(count, |n| {
                json!({"id": format!("{}", n / 2), "pattern": format!("{}/*.md", n / 2), "template": format!("t{n}"),
                    "required_sections": ["a", "a"]})
            });
            document["templates"] = (0..count)
                .map(|n| (format!("t{}", n * 2), json!({})))
                .collect::<serde_json::Map<_, _>>()
                .into();
        }
    }
    document.to_string()
}

fn check(kind: Kind) {
    let base = 300;
    let arguments = ["verify", "--json", "--kind", kind.name()];
    crate::harness::counting::check(kind.name(), |times| {
        crate::harness::counting::instructions(&arguments, &document(kind, base * times))
    });
}

macro_rules! growth_tests {
    ($($name:ident: $kind:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            check(Kind::$kind);
        }
    )*};
}
growth_tests! {
    intent: Intent, bundle: Bundle, plan: Plan, patch: Patch, action: Action, packet: Packet,
    approval: Approval, decision: Decision, profile: Profile, evidence: Evidence, run: Run, note: Note, routing: Routing,
}
