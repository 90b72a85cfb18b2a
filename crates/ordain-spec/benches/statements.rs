//! Verifying signed approvals beside bare signatures, in one run on one thread: the rate, and that it is linear.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signature, SigningKey};
use ordain_canon::Value;
use ordain_spec::approval::Verdict;
use ordain_spec::statement::{
    ApprovalStatement, ApproverKey, ApproverKeys, Assurance, Signed, Statement, key_id, reason_hash,
};
use ordain_spec::{Facts, Kind, verify_value};
use serde_json::json;
use std::time::Instant;

/// A signed approval with its statement.
fn approval(key: &SigningKey, number: u64) -> (String, Signed) {
    let hash = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let (at_ms, not_after_ms) = (1_800_000_000_000, 1_800_000_600_000);
    let (reason, action_id) = ("Checked with the customer.", format!("p{number}"));
    let statement = ApprovalStatement {
        origin: "ordain/0123456789abcdef".to_owned(),
        principal: "alice".to_owned(),
        action_id: action_id.clone(),
        proposal_hash: hash("a"),
        view_digest: hash("b"),
        verdict: Verdict::Approve,
        scope: "once".to_owned(),
        assurance: Assurance::Presence,
        session: None,
        reason_hash: reason_hash(reason),
        at_ms,
        not_after_ms,
        nonce: "bm9uY2Utbm9uY2Utbm9uY2Ut".to_owned(),
    };
    let signed = Signed::sign(&Statement::Approval(statement), key).unwrap();
    let text = json!({"proposal_hash": hash("a"), "approver": "alice", "verdict": "approve", "reason": reason,
        "view_digest": hash("b"), "at_ms": at_ms, "signature": {"method": "ed25519", "key_id": signed.key_id,
        "origin": "ordain/0123456789abcdef", "action_id": action_id, "scope": "once", "assurance": "presence",
        "not_after_ms": not_after_ms, "nonce": "bm9uY2Utbm9uY2Utbm9uY2Ut", "signature": signed.signature}});
    (text.to_string(), signed)
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// Seconds of bare signatures and of approvals, the best of some rounds.
fn measure(count: u64) -> (f64, f64) {
    let key = SigningKey::from_bytes(&[1; 32]);
    let public_key = Base64UrlUnpadded::encode_string(key.verifying_key().as_bytes());
    let keys = ApproverKeys {
        keys: vec![ApproverKey {
            key_id: key_id(&public_key).unwrap(),
            principal: "alice".to_owned(),
            public_key,
            owner: true,
            passkey: None,
            enrolled_index: 2,
            revoked_index: None,
        }],
    };
    let approvals: Vec<(String, Signed)> = (0..count).map(|number| approval(&key, number)).collect();
    let facts = Facts { approver_keys: Some(&keys), ..Facts::default() };
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        let raw = seconds(|| {
            for (_, signed) in &approvals {
                let mut bytes = [0; 64];
                Base64UrlUnpadded::decode(&signed.signature, &mut bytes).unwrap();
                let signature = Signature::from_bytes(&bytes);
                key.verifying_key().verify_strict(signed.statement.as_bytes(), &signature).unwrap();
            }
        });
        let whole = seconds(|| {
            for (text, _) in &approvals {
                let document = Value::read(text.as_bytes()).unwrap();
                assert!(verify_value(Kind::Approval, &facts, &document).ok());
            }
        });
        best = (best.0.min(raw), best.1.min(whole));
    }
    best
}

fn main() {
    let (few, many) = (500, 4_000);
    let (raw, whole) = measure(many);
    let (_, whole_few) = measure(few);
    let rate = raw / whole;
    let growth = (whole / many as f64) / (whole_few / few as f64);
    println!("| signed approvals verified, of the rate of bare signatures | {rate:.2} | at least 0.5 |");
    println!("| time of one among {many}, to one among {few} | {growth:.2} | at most 1.5 |");
    assert!(rate >= 0.5, "signed approvals are verified at {rate:.2} of the rate of bare signatures");
    assert!(growth <= 1.5, "verifying grows {growth:.2} times with eight times as many approvals");
}
