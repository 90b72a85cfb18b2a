//! The approvals of a case.

use super::folder::{ACTORS, World};
use super::proposal::Draft;
use super::rng::Rng;
use super::with;
use serde_json::{Value as Json, json};

pub(super) fn all(rng: &mut Rng, world: &World, draft: &Draft, hash: &str) -> Vec<Json> {
    let asks = world.files.values().any(|text| text.contains("@approvers"));
    if !asks && !rng.chance(10) {
        return Vec::new();
    }
    let actor = draft.proposal.get("actor").and_then(Json::as_str).unwrap_or_default();
    let mut names: Vec<&str> = match rng.below(10) {
        0..=3 => Vec::new(),
        4 | 5 => ACTORS.iter().map(|(id, ..)| *id).filter(|id| *id != actor).collect(),
        6 => vec!["dana", "kim"],
        _ => rng.some(&ACTORS, 25).into_iter().map(|(id, ..)| *id).collect(),
    };
    rng.shuffle(&mut names);
    let mut approvals: Vec<Json> = Vec::new();
    for name in names {
        let at_ms = draft.now_ms - *rng.pick(&[1_000, 60_000, 86_400_000, -5_000, 1_000]);
        approvals.push(approval(hash, name, "approve", at_ms));
    }
    for _ in 0..draft.approval_faults {
        fault(rng, draft, actor, hash, &mut approvals);
    }
    approvals
}

fn approval(hash: &str, approver: &str, verdict: &str, at_ms: i64) -> Json {
    json!({"proposal_hash": hash, "approver": approver, "verdict": verdict, "reason": "looked at it",
        "view_digest": format!("sha256:{}", "b".repeat(64)), "at_ms": at_ms})
}

fn fault(rng: &mut Rng, draft: &Draft, actor: &str, hash: &str, approvals: &mut Vec<Json>) {
    let name = rng.pick(&ACTORS).0;
    let at_ms = draft.now_ms - 500;
    let other_hash = format!("sha256:{}", "c".repeat(64));
    let fresh = |name: &str| approval(hash, name, "approve", at_ms);
    let malformed = |key: &str, value: Json| with(fresh(name), key, value);
    let new = match rng.below(17) {
        0 => approval(&other_hash, name, "approve", at_ms),
        1 => approval(hash, name, "approve", draft.now_ms - 86_400_001),
        2 => approval(hash, name, "approve", draft.now_ms + 5_001),
        3 => fresh("nobody"),
        4 => fresh(actor),
        5 => fresh("Dana"),
        6 => approvals.first().cloned().unwrap_or_else(|| fresh("dana-phone")),
        7 | 14 => approval(hash, name, "reject", draft.now_ms - 172_800_000),
        15 | 16 => approval(hash, rng.pick::<&str>(&["dana", "kim", "lee"]), "reject", at_ms),
        8 => approval(&other_hash, name, "reject", at_ms),
        9 => approval(hash, actor, "reject", at_ms),
        10 => with(malformed("verdict", json!("reject")), "reason", json!("")),
        11 => malformed("extra", json!(1)),
        12 => malformed("at_ms", json!("now")),
        _ => json!("approve"),
    };
    let at = rng.below(approvals.len() + 1);
    approvals.insert(at, new);
}
