//! Dossiers: valid as they are written, and invalid after any change, for our checker and for one that shares
//! no code with it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{Dossier, Role, UseOutcome, VerdictRequest};
use ordain_canon::Canonicalizer;
use ordain_gate::{Caller, check_dossier};
use ordain_ledger::NoteVerifier;
use ordain_spec::approval::Verdict;
use ordain_spec::statement::{Assurance, Signed, Statement};
use scene::owner::owned;
use scene::{Scene, policies, proposal};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Command;

fn file_of(dossier: &impl serde::Serialize) -> Vec<u8> {
    [Canonicalizer::new().value(dossier).unwrap(), b"\n"].concat()
}

/// Whether the Python checker takes each of several files for valid.
fn checked_elsewhere(files: &[Vec<u8>], keys: &[NoteVerifier]) -> Vec<bool> {
    let folder = tempfile::tempdir().unwrap();
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/check_dossier.py");
    // One process for all of them: starting Python takes longer than the work.
    let many = "import runpy, sys\nmodule = runpy.run_path(sys.argv[1])\nfor name in sys.argv[3:]:\n    try:\n        \
                found = module['Dossier'](open(name, 'rb').read(), [sys.argv[2]])\n        found.check()\n        print('ok')\n    \
                except (module['Wrong'], KeyError, TypeError, ValueError, AttributeError, IndexError):\n        print('invalid')\n";
    let mut command = Command::new("python3");
    command.arg("-c").arg(many).arg(checker).arg(keys[0].to_string());
    for (number, bytes) in files.iter().enumerate() {
        let path = folder.path().join(number.to_string());
        std::fs::write(&path, bytes).unwrap();
        command.arg(path);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line == "ok").collect()
}

/// A gate with an owner, and on it an action with a rejection before it, a signed approval, a
/// use and an outcome.
async fn lived() -> (Scene, Dossier, Vec<NoteVerifier>) {
    let (scene, ann) = owned().await;
    let plain = |id: &str| {
        let mut made = proposal(id, "delete");
        made["parameters"] = json!({"updates": {"email": "x@example.org", "name": "Zoë <b>"}});
        made
    };
    scene.submit(&plain("before")).await;
    let shown = scene.gate.status(&Caller::local("ann"), "before").await.unwrap();
    scene.say("ann", &shown, Verdict::Reject).await.unwrap();
    scene.submit(&plain("wanted")).await;
    let shown = scene.gate.status(&Caller::local("ann"), "wanted").await.unwrap();
    assert!(shown.view.get("earlier").is_some());
    let terms = shown.signing.as_ref().unwrap();
    let approving = ordain_api::Approving {
        principal: "ann",
        action_id: "wanted",
        view_digest: &shown.view_digest,
        verdict: Verdict::Approve,
        reason: "checked",
        assurance: Assurance::Presence,
        session: None,
        scope: ordain_spec::statement::ONCE,
    };
    let statement = Statement::Approval(terms.statement(&approving, 0));
    let request = VerdictRequest {
        verdict: Verdict::Approve,
        reason: "checked".to_owned(),
        view_digest: shown.view_digest.clone(),
        signed: Some(Signed::sign(&statement, &ann).unwrap()),
        scope: None,
    };
    let allowed =
        scene.gate.give_verdict(&Caller::local("ann").with_agents(["agent"]), "wanted", &request).await;
    let allowed = allowed.unwrap();
    let spent = scene.spend(&allowed, &plain("wanted")).await.unwrap();
    scene.report(&spent, UseOutcome::Succeeded).await.unwrap();
    for number in 0..40 {
        scene.submit(&proposal(&format!("other{number}"), "read")).await;
    }
    let dossier = scene.gate.dossier(&scene.operator, "wanted").await.unwrap();
    let keys = scene.gate.note_verifiers().await.unwrap();
    (scene, dossier, keys)
}

#[tokio::test]
async fn a_dossier_proves_what_happened_to_two_checkers() {
    let (_scene, dossier, keys) = lived().await;
    assert_eq!(dossier.withheld, [""; 0]);
    let bytes = file_of(&dossier);
    let report = check_dossier(&bytes, &keys);
    assert_eq!(report.problems, [""; 0], "{}", String::from_utf8_lossy(&bytes));
    assert_eq!((report.decisions, report.signatures), (3, 1), "{report:?}");
    assert_eq!(report.entries, dossier.entries.len() as u64);
    let kinds: Vec<String> = dossier
        .entries
        .iter()
        .map(|it| {
            serde_json::from_str::<Json>(&it.entry).unwrap()["event"]["kind"].as_str().unwrap().to_owned()
        })
        .collect();
    let expected = [
        "key_rotated",
        "approver_key_enrolled",
        "policy_changed",
        "submitted",
        "decided",
        "approved",
        "decided",
        "permit_minted",
        "permit_spent",
        "permit_settled",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(checked_elsewhere(&[bytes], &keys), [true]);
}

/// Evidence that an action names is in its dossier, and another byte of it is found.
#[tokio::test]
async fn a_dossier_has_the_evidence_of_its_action() {
    let scene = Scene::new().await;
    let payload = json!({"balance": "seen by the sensor"});
    let hash = ordain_canon::ContentHash::of(payload.to_string().as_bytes());
    let packet = json!({"evidence_id": "seen", "packet_type": "api_response", "sensor_id": "crm",
        "sensor_type": "api", "observed_at_ms": scene::NOW, "received_at_ms": scene::NOW, "payload": payload,
        "payload_hash": hash.to_string()});
    scene.gate.receive(&scene.operator, packet.to_string().as_bytes()).await.unwrap();
    let mut made = proposal("wanted", "read");
    made["evidence_bindings"] = json!([{"evidence_id": "seen", "binding_type": "context", "required": true,
        "freshness_ms": 1000}]);
    scene.submit(&made).await;
    let dossier = scene.gate.dossier(&scene.operator, "wanted").await.unwrap();
    let keys = scene.gate.note_verifiers().await.unwrap();
    assert_eq!(dossier.withheld, [""; 0]);
    let bytes = file_of(&dossier);
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.contains("seen by the sensor") && text.contains("evidence_received"), "{text}");
    assert_eq!(check_dossier(&bytes, &keys).problems, [""; 0]);
    let changed = text.replace("seen by the sensor", "seen by the censor").into_bytes();
    assert_ne!(check_dossier(&changed, &keys).problems, [""; 0]);
    assert_eq!(checked_elsewhere(&[bytes, changed], &keys), [true, false]);
}

/// Another byte at many places, pieces of other dossiers, and pieces left out.
#[tokio::test]
async fn any_change_is_found_by_both() {
    let (scene, dossier, keys) = lived().await;
    let bytes = file_of(&dossier);
    let mut changed: Vec<(String, Vec<u8>)> = Vec::new();
    let steps = 400;
    for number in 0..steps {
        let at = number * (bytes.len() - 1) / (steps - 1);
        let mut other = bytes.clone();
        // A digit, a letter or a mark of JSON becomes another one.
        other[at] = match other[at] {
            b'0' => b'1',
            b'a' => b'b',
            b'"' => b'\'',
            byte if byte.is_ascii_alphanumeric() => byte ^ 1,
            byte => byte ^ 2,
        };
        changed.push((format!("byte {at}"), other));
    }
    changed.push(("one line feed more".to_owned(), [&bytes[..], b"\n"].concat()));
    changed.push(("no line feed".to_owned(), bytes[..bytes.len() - 1].to_vec()));
    let whole = serde_json::to_value(&dossier).unwrap();
    let entries = whole["entries"].as_array().unwrap().clone();
    for (number, entry) in entries.iter().enumerate() {
        let mut without = whole.clone();
        without["entries"].as_array_mut().unwrap().remove(number);
        let kind = serde_json::from_str::<Json>(entry["entry"].as_str().unwrap()).unwrap();
        // The last entry may be left out: that the ledger goes on, a dossier cannot show.
        if kind["event"]["kind"] != "permit_settled" {
            changed.push((format!("without entry {}", kind["event"]["kind"]), file_of(&without)));
        }
    }
    for part in ["documents", "views"] {
        for name in whole[part].as_object().unwrap().keys() {
            let mut without = whole.clone();
            let text = without[part].as_object_mut().unwrap().remove(name).unwrap();
            changed.push((format!("without {name}"), file_of(&without)));
            let mut longer = whole.clone();
            longer[part][name] = format!("{} ", text.as_str().unwrap()).into();
            changed.push((format!("{name} with a space"), file_of(&longer)));
        }
    }
    let other = serde_json::to_value(scene.gate.dossier(&scene.operator, "before").await.unwrap()).unwrap();
    for part in ["documents", "entries", "views", "action_id", "withheld"] {
        let mut mixed = whole.clone();
        if mixed[part] != other[part] {
            mixed[part] = other[part].clone();
            changed.push((format!("{part} of another"), file_of(&mixed)));
        }
    }
    let mut more = whole.clone();
    more["withheld"] = json!(["sha256:00"]);
    changed.push(("something withheld".to_owned(), file_of(&more)));
    more["withheld"] = json!([]);
    more["note"] = json!("");
    changed.push(("a member more".to_owned(), file_of(&more)));
    let files: Vec<Vec<u8>> = changed.iter().map(|(_, bytes)| bytes.clone()).collect();
    let elsewhere = checked_elsewhere(&files, &keys);
    assert_eq!(elsewhere.len(), changed.len());
    for ((what, bytes), valid_elsewhere) in changed.iter().zip(elsewhere) {
        assert_ne!(check_dossier(bytes, &keys).problems, [""; 0], "{what} is not found");
        assert!(!valid_elsewhere, "{what} is not found by the other checker");
    }
    // A key of another ledger.
    let stranger = Scene::new().await.gate.note_verifiers().await.unwrap();
    assert_ne!(check_dossier(&bytes, &stranger).problems, [""; 0]);
    assert_eq!(checked_elsewhere(&[bytes], &stranger), [false]);
}

#[tokio::test]
async fn what_an_auditor_may_not_have_is_withheld_and_said() {
    let scene = Scene::new().await;
    let allowed = scene.submit(&proposal("p1", "read")).await;
    let auditor = scene.token("eve", &[Role::Auditor], &[]).await;
    let dossier = scene.gate.dossier(&auditor, "p1").await.unwrap();
    // The proposal has a password, and the permit can be used.
    assert_eq!(dossier.withheld.len(), 2, "{:?}", dossier.withheld);
    let bytes = file_of(&dossier);
    assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"));
    assert!(!String::from_utf8_lossy(&bytes).contains(allowed.permit.unwrap().token.unwrap().as_str()));
    let keys = scene.gate.note_verifiers().await.unwrap();
    let report = check_dossier(&bytes, &keys);
    assert_eq!((report.problems.len(), report.decisions, report.withheld.len()), (0, 0, 2), "{report:?}");
    assert_eq!(checked_elsewhere(&[bytes], &keys), [true]);
    // The policies of then, although others are in force now.
    scene.gate.set_policy(&scene.operator, &policies("7")).await.unwrap();
    let later = scene.gate.dossier(&scene.operator, "p1").await.unwrap();
    let bytes = file_of(&later);
    assert_eq!(check_dossier(&bytes, &keys).problems, [""; 0]);
    assert_eq!(checked_elsewhere(&[bytes], &keys), [true]);
    let agent = scene.token("agent-2", &[Role::Actor], &[]).await;
    assert!(scene.gate.dossier(&agent, "p1").await.is_err(), "it is another's");
}
