//! The agent spends only permits that its gate signed for its action, and reports every use.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use ordain_agent::{ActionDetails, Agent, AgentError, Permit, Proposed, Purpose};
use ordain_client::{Client, Reply, Request, Transport, TransportError};
use ordain_decision::PublicKey;
use ordain_harness::apply::{Applied, kept_uses};
use ordain_spec::NonEmpty;
use ordain_spec::action::{ActionType, Proposal, Target};
use serde_json::{Map, Value as Json, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const HASH: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
const PERMIT_ID: &str = "permit_1_0123456789abcdef";

/// A gate that answers every submission with one status, and counts the uses and reports.
struct Gate {
    status: Json,
    public: PublicKey,
    seen: Mutex<Vec<String>>,
}

impl Transport for Gate {
    fn send(&self, request: &Request) -> Result<Reply, TransportError> {
        let last = request.path.rsplit('/').next().unwrap_or_default();
        self.seen.lock().unwrap().push(last.to_owned());
        let (status, body) = match last {
            "actions" => (201, self.status.clone()),
            "jwks.json" => {
                let key = json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig",
                    "kid": self.public.id(), "x": self.public.to_string(), "created_at_ms": 1});
                (200, json!({"keys": [key]}))
            }
            "use" => (
                200,
                json!({"permit_id": PERMIT_ID, "action_id": "p", "use": 1, "uses_left": 0,
                    "deadline_ms": 9, "ledger_index": 2}),
            ),
            _ => (200, permit_status(None)),
        };
        let body = body.to_string().into_bytes();
        Ok(Reply { status, content_type: "application/json".to_owned(), body })
    }
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

/// A permit for an action, signed by a key.
fn token(signer: &SigningKey, action_id: &str) -> String {
    let id = PublicKey::of(signer).id();
    let header = json!({"alg": "EdDSA", "kid": id, "typ": "ordain-permit+jwt"});
    let claims = json!({"iss": id, "sub": "agent", "aud": "worker", "jti": PERMIT_ID, "iat": 1, "nbf": 1,
        "exp": 9_000_000_000_u64, "proposal_id": action_id, "proposal_hash": HASH, "action_type": "write",
        "target_hash": HASH, "parameters_hash": HASH, "evidence_set_hash": HASH, "policy_hash": HASH,
        "max_executions": 1, "nonce": "n"});
    let part = |value: &Json| Base64UrlUnpadded::encode_string(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let signature = Base64UrlUnpadded::encode_string(&signer.sign(signed.as_bytes()).to_bytes());
    format!("{signed}.{signature}")
}

fn permit_status(token: Option<String>) -> Json {
    json!({"permit_id": PERMIT_ID, "action_id": "p", "token": token, "valid_from_ms": 1,
        "valid_until_ms": 9_000_000_000_000_u64, "max_executions": 1, "max_duration_ms": null,
        "max_affected_records": null, "used": 0, "uses": []})
}

fn gate(state: &str, token: Option<String>) -> (Client, Arc<Gate>) {
    let permit = if state == "allowed" { permit_status(token) } else { Json::Null };
    let decision = json!({"decision_schema_version": "0.1.0", "outcome": "ALLOW", "proposal_id": "p",
        "proposal_hash": HASH, "policy_hash": HASH, "evidence_set_hash": HASH,
        "approvals": {"class": "none", "required": 0, "have": []}, "reasons": [], "decided_at_ms": 1});
    let status = json!({"action_id": "p", "state": state, "actor": "agent", "submitted_by": "agent",
        "submitted_at_ms": 1, "decision": decision, "approvals": [], "view": {}, "view_digest": "",
        "permit": permit, "expires_at_ms": null, "supersedes": null, "superseded_by": null,
        "submitted_index": 0, "decided_index": 1});
    let gate = Arc::new(Gate { status, public: PublicKey::of(&key(1)), seen: Mutex::default() });
    (Client::new(Arc::clone(&gate)), gate)
}

fn details() -> ActionDetails {
    let text = |text: &str| NonEmpty::of(text.to_owned());
    let target = Target {
        resource_type: text("patch_set"),
        resource_id: text(HASH),
        domain: text("workspace"),
        constraints: Map::new(),
    };
    ActionDetails { action_type: ActionType::Write, target, parameters: Map::new() }
}

fn propose(client: &Client) -> Result<Proposed, AgentError> {
    let ActionDetails { action_type, target, parameters } = details();
    let proposal = Proposal {
        proposal_id: "p".to_owned(),
        ts_ms: 1,
        actor: NonEmpty::of("agent".to_owned()),
        action_type,
        target,
        parameters,
        preconditions: None,
        risk_envelope: None,
        rollback_semantics: None,
        time_window: None,
        approval_class: None,
        evidence_bindings: None,
    };
    Agent { client, server: None }.propose(&proposal, &[])
}

fn permitted(client: &Client) -> Permit {
    match propose(client) {
        Ok(Proposed::Permitted(permit)) => *permit,
        Ok(_) => panic!("no permit"),
        Err(error) => panic!("{error}"),
    }
}

fn purpose() -> Purpose {
    Purpose { patch_hash: HASH.to_owned(), undo: false }
}

fn workspace(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ordain-agent-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn the_state_says_what_to_do() {
    for state in ["held", "denied", "expired", "superseded", "running", "succeeded", "failed", "unknown"] {
        let (client, gate) = gate(state, None);
        let found = match propose(&client).unwrap() {
            Proposed::Held(_) => "held",
            Proposed::Denied(_) => "denied",
            Proposed::Used(_) => "used",
            Proposed::Permitted(_) => "permitted",
        };
        let expected = match state {
            "held" => "held",
            "denied" | "expired" | "superseded" => "denied",
            _ => "used",
        };
        assert_eq!(found, expected, "{state}");
        assert_eq!(*gate.seen.lock().unwrap(), ["actions"], "{state}");
    }
}

#[test]
fn a_permit_of_another_gate_or_for_another_action_is_not_spent() {
    for (token, expected) in [
        (Some(token(&key(2), "p")), "the permit of `p` was issued by the key"),
        (Some(token(&key(1), "other")), "the gate answered for `other` instead of `p`"),
        (Some("nonsense".to_owned()), "the permit of `p` is not a JWT"),
        (None, "the gate gave no permit for `p`"),
    ] {
        let (client, gate) = gate("allowed", token);
        let error = propose(&client).map(drop).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(!gate.seen.lock().unwrap().contains(&"use".to_owned()));
    }
}

#[test]
fn a_use_is_kept_before_the_action_and_until_its_report() {
    let (client, gate) = gate("allowed", Some(token(&key(1), "p")));
    let folder = workspace("kept");
    let agent = Agent { client: &client, server: None };
    let spent = agent.spend(permitted(&client), details(), &folder, purpose()).unwrap();
    let kept = || std::fs::read_dir(folder.join(".ordain/uses")).unwrap().count();
    let acted = agent.act(spent, |_| {
        assert_eq!(kept(), 1);
        Ok(Applied { record: None, files: Vec::new() })
    });
    acted.reported.unwrap();
    assert_eq!(kept(), 0);
    assert_eq!(*gate.seen.lock().unwrap(), ["actions", "jwks.json", "use", "outcome"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_use_that_was_dropped_is_found_again() {
    let (client, _) = gate("allowed", Some(token(&key(1), "p")));
    let folder = workspace("dropped");
    let agent = Agent { client: &client, server: None };
    drop(agent.spend(permitted(&client), details(), &folder, purpose()).unwrap());
    let kept = kept_uses(&folder).unwrap();
    assert_eq!(kept.iter().map(|kept| kept.open.permit_id.as_str()).collect::<Vec<_>>(), [PERMIT_ID]);
    std::fs::remove_dir_all(folder).unwrap();
}
