//! `ordain evidence pack`: packets that are valid, bounded, and signed as the policy checks it.

use crate::harness::Project;
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::SigningKey;
use ordain_canon::ContentHash;
use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt;

const NOW: &str = "2026-01-05T12:00:00Z";

fn pack(project: &Project, args: &[&str], input: &str) -> Json {
    let mut all = vec!["evidence", "pack", "--sensor", "ci", "--now", NOW];
    all.extend(args);
    let ran = project.run_with(&all, input).ended(0);
    project.write("packet.json", &ran.stdout);
    project.run(&["verify", "--kind", "packet", "packet.json"]).ended(0);
    ran.json()
}

#[test]
fn of_a_file() {
    let project = Project::empty();
    project.write("out/app", "abc");
    let packet = pack(&project, &["--file", "out/app"], "");
    let payload = json!({"path": "out/app", "bytes": 3, "sha256": ContentHash::of(b"abc").to_string()});
    assert_eq!(packet["payload"], payload);
    assert_eq!(packet["packet_type"], "file_hash");
    assert_eq!(packet["observed_at_ms"], 1_767_614_400_000_u64);
    let hash = packet["payload_hash"].as_str().unwrap();
    assert_eq!(packet["evidence_id"], format!("ev-{}", &hash["sha256:".len()..][..16]));
    project.run(&["evidence", "pack", "--sensor", "ci", "--file", "none"]).ended(1).says_all(&["none"]);
    project.run(&["evidence", "pack", "--sensor", "ci", "--file", "out"]).ended(1).says_all(&["is a folder"]);
}

#[test]
fn of_a_document() {
    let project = Project::empty();
    let packet = pack(
        &project,
        &["--payload", "-", "--id", "a", "--sensor-type", "crm"],
        "{\"b\": 1.0, \"a\": [\"ä\"]}",
    );
    assert_eq!(packet["payload"], json!({"a": ["ä"], "b": 1}));
    assert_eq!((&packet["evidence_id"], &packet["sensor_type"]), (&json!("a"), &json!("crm")));
    assert_eq!(packet["packet_type"], "api_response");
    let packet = pack(&project, &["--payload", "-", "--type", "webhook_payload"], "{}");
    assert_eq!(packet["packet_type"], "webhook_payload");
    let refused = |input: &str| {
        project.run_with(&["evidence", "pack", "--sensor", "ci", "--payload", "-"], input).ended(1)
    };
    refused("[1]").says_all(&["a payload is an object", "an array"]);
    refused("{\"a\": 1, \"a\": 2}").says_all(&["standard input"]);
}

#[test]
fn every_type_of_packet_can_be_named() {
    let project = Project::empty();
    let schema: Json = project.run(&["schema", "packet"]).json();
    let types = schema["$defs"]["PacketType"]["enum"].as_array().unwrap();
    assert_eq!(types.len(), 13);
    for name in types {
        assert_eq!(
            pack(&project, &["--payload", "-", "--type", name.as_str().unwrap()], "{}")["packet_type"],
            *name
        );
    }
    project.run(&["evidence", "pack", "--sensor", "ci", "--type", "gossip", "--payload", "-"]).ended(64);
}

#[test]
fn of_a_command() {
    let project = Project::empty();
    let packet = pack(&project, &["--", "sh", "-c", "echo out; echo err >&2; exit 3"], "");
    let payload = json!({
        "command": ["sh", "-c", "echo out; echo err >&2; exit 3"],
        "exit_code": 3,
        "stdout": "out\n",
        "stdout_sha256": ContentHash::of(b"out\n").to_string(),
        "stderr": "err\n",
        "stderr_sha256": ContentHash::of(b"err\n").to_string(),
    });
    assert_eq!(packet["payload"], payload);
    assert_eq!(packet["packet_type"], "environment");
    let killed = pack(&project, &["--", "sh", "-c", "kill -9 $$"], "");
    assert_eq!((&killed["payload"]["exit_code"], &killed["payload"]["signal"]), (&Json::Null, &json!(9)));
    project
        .run(&["evidence", "pack", "--sensor", "ci", "--", "no-such-program"])
        .ended(1)
        .says_all(&["no-such-program"]);
    project.run(&["evidence", "pack", "--sensor", "ci"]).ended(64);
    project.run(&["evidence", "pack", "--sensor", "ci", "--file", "a", "--", "true"]).ended(64);
}

/// Both streams are long at once: neither may hold the command up.
#[test]
fn long_outputs_are_cut_and_hashed_whole() {
    let project = Project::empty();
    // A character of two bytes at the odd offset: the limit falls inside of one.
    let script = "printf a; yes ä | tr -d '\\n' | head -c 300000; yes b | tr -d '\\n' | head -c 300000 >&2";
    let packet = pack(&project, &["--", "sh", "-c", script], "");
    let payload = &packet["payload"];
    let stdout = payload["stdout"].as_str().unwrap();
    assert_eq!(stdout, format!("a{}", "ä".repeat(32_767)));
    let whole = format!("a{}", "ä".repeat(150_000));
    assert_eq!(payload["stdout_sha256"], ContentHash::of(whole.as_bytes()).to_string());
    assert_eq!((&payload["stdout_truncated"], &payload["stdout_bytes"]), (&json!(true), &json!(300_001)));
    assert_eq!(payload["stderr"].as_str().unwrap().len(), 65_536);
    assert_eq!(payload["stderr_truncated"], true);
    // Output that fits is not called cut.
    let packet = pack(&project, &["--", "sh", "-c", "yes b | tr -d '\\n' | head -c 65536"], "");
    assert_eq!(packet["payload"]["stdout"].as_str().unwrap().len(), 65_536);
    assert_eq!(packet["payload"].get("stdout_truncated"), None);
}

#[test]
fn a_signature_is_what_the_policy_checks() {
    let project = Project::started();
    let key = SigningKey::from_bytes(&[7; 32]);
    let public = Base64UrlUnpadded::encode_string(key.verifying_key().as_bytes());
    project.write("ci.key", &format!("{}\n", Base64UrlUnpadded::encode_string(&[7; 32])));
    std::fs::set_permissions(project.path("ci.key"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let sensors = format!("[sensors.ci]\npublic_key = \"{public}\"\nsignature_required = true\n");
    project.write("policy/sensors.toml", &sensors);
    let mut proposal: Json = serde_json::from_str(&project.read("policy/tests/proposals/read.json")).unwrap();
    let condition = json!({"field": "exit_code", "operator": "eq", "value": 0, "evidence_ref": "tests"});
    proposal["preconditions"] = json!([condition]);
    project.write("proposal.json", &proposal.to_string());
    let decide = || project.run(&["decide", "proposal.json", "--evidence", "packet.json", "--now", NOW]);

    pack(&project, &["--id", "tests", "--payload", "-"], "{\"exit_code\": 0}");
    decide().ended(21).says_all(&["V-EVID-021"]);
    let args = [
        "evidence",
        "pack",
        "--sensor",
        "ci",
        "--now",
        NOW,
        "--id",
        "tests",
        "--key",
        "ci.key",
        "--payload",
        "-",
    ];
    let ran = project.run_with(&args, "{\"exit_code\": 0}").ended(0);
    assert_eq!(ran.stderr, "");
    project.write("packet.json", &ran.stdout);
    decide().ended(0);
    project.write("packet.json", &ran.stdout.replace("\"ci\"", "\"ci\",\"context\":{}"));
    decide().ended(21).says_all(&["V-EVID-021"]);

    // The policy's owner needs the public key, and only that is shown.
    let mut to_file = args.to_vec();
    to_file.extend(["-o", "signed.json"]);
    let told = project.run_with(&to_file, "{}").ended(0).says_all(&[&format!("signed, public key {public}")]);
    assert!(!told.stdout.contains(project.read("ci.key").trim()));

    std::fs::set_permissions(project.path("ci.key"), std::fs::Permissions::from_mode(0o640)).unwrap();
    project.run_with(&args, "{}").ended(0).says_all(&["warning:", "ci.key", "chmod 600"]);
    for bad in ["", "short", "!!!"] {
        project.write("ci.key", bad);
        let ran = project.run_with(&args, "{}").ended(1).says_all(&["ci.key: is not a key"]);
        assert!(bad.is_empty() || !ran.stderr.contains(bad));
    }
}

#[test]
fn it_can_go_to_a_file() {
    let project = Project::empty();
    let args = ["evidence", "pack", "--sensor", "ci", "--id", "a", "--payload", "-", "-o", "packet.json"];
    project
        .run_with(&args, "{}")
        .ended(0)
        .says_all(&["evidence packet a written to packet.json: api_response, not signed"]);
    project.run(&["verify", "packet.json"]).ended(0);
    let mut with_json = args.to_vec();
    with_json.push("--json");
    assert_eq!(project.run_with(&with_json, "{}").json(), json!({"file": "packet.json", "id": "a"}));
}
