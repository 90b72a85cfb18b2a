//! The evidence of a case: packets, bindings and preconditions.

use super::folder::sensor_key;
use super::proposal::Draft;
use super::rng::Rng;
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::Signer;
use ordain_canon::{Canonicalizer, PayloadHash};
use serde_json::{Value as Json, json};

/// A packet that is not sealed yet.
#[derive(Clone)]
pub(super) struct PacketDraft {
    pub(super) packet: Json,
    pub(super) seal: Seal,
}

/// How a packet is sealed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Seal {
    /// Hash and signature are what they should be.
    Right,
    /// No signature.
    Unsigned,
    /// The hash is another.
    WrongHash,
    /// The signature is of something else.
    WrongSignature,
    /// The signature is not base64url.
    NoSignature,
}

/// Preconditions that hold for the payload of [`packet`].
#[rustfmt::skip]
pub(super) fn true_preconditions() -> Vec<(&'static str, &'static str, Json)> {
    vec![
        ("exists", "eq", json!(true)), ("exists", "ne", json!(false)), ("status", "eq", json!("open")),
        ("/status", "ne", json!("closed")), ("count", "gt", json!(4.5)), ("count", "lt", json!(6)),
        ("seen", "gt", json!("2024-01-13T19:39:59.99+01:00")), ("seen", "lt", json!("2024-01-13t18:40:00.0001z")),
        ("list", "contains", json!({"b": 1, "a": [2]})), ("list.1", "eq", json!("x")),
        ("/list/0", "lt", json!(4)), ("nested.inner", "contains", json!("ee")),
        ("/nested/a~1b~0c", "eq", json!(null)), ("nested", "eq", json!({"a/b~c": null, "inner": "deep"})),
        ("status", "matches", json!("o.*n|closed")), ("nested.inner", "matches", json!("(?i)DEEP")),
        ("nested.inner", "matches", json!("(?x) d e+ p # all of it")), ("count", "ne", json!(6)),
        ("list", "ne", json!([])), ("status", "contains", json!("")),
    ]
}

/// Preconditions that do not.
#[rustfmt::skip]
pub(super) fn false_preconditions() -> Vec<(&'static str, &'static str, Json)> {
    vec![
        ("exists", "eq", json!(false)), ("exists", "ne", json!("true")), ("exists", "gt", json!(false)),
        ("missing", "eq", json!(null)), ("missing", "ne", json!(1)), ("nested.missing", "ne", json!(1)),
        ("status", "gt", json!("a")), ("count", "gt", json!("4")), ("count", "lt", json!(5)),
        ("seen", "gt", json!("2024-01-13T18:40:00Z")), ("seen", "lt", json!("2025-01-01")),
        ("seen", "lt", json!("2025-02-30T00:00:00Z")), ("seen", "lt", json!("2025-01-01T00:00:00")),
        ("seen", "gt", json!(0)), ("list", "contains", json!([3])), ("list", "contains", json!("3")),
        ("count", "contains", json!(5)), ("nested", "contains", json!("inner")), ("exists", "contains", json!(true)),
        ("status", "matches", json!("pen")), ("status", "matches", json!("o(")), ("status", "matches", json!("open)|(x")),
        ("count", "matches", json!("5")), ("status", "matches", json!(1)), ("/list/2", "eq", json!("x")),
        ("/list/-", "ne", json!("x")), ("/status/0", "eq", json!("o")), ("list", "eq", json!(["x", 3, {"a": [2], "b": 1}])),
        ("nested", "ne", json!({"inner": "deep", "a/b~c": null})), ("status", "contains", json!(["open"])),
    ]
}

pub(super) fn packet(rng: &mut Rng, id: &str, now_ms: i64) -> PacketDraft {
    let sensor = *rng.pick(&["crm", "crm", "lab", "door"]);
    let observed_ms = now_ms - *rng.pick(&[1_000, 30_000, 50_000, -4_000]);
    let packet = json!({
        "evidence_id": id, "packet_type": rng.pick(&["api_response", "file_hash", "dom_snapshot"]),
        "sensor_id": sensor, "sensor_type": "probe", "observed_at_ms": observed_ms,
        "received_at_ms": observed_ms + 5,
        "payload": {"exists": true, "status": "open", "count": 5, "seen": "2024-01-13T18:40:00.000Z",
            "list": [3, "x", {"a": [2], "b": 1}], "nested": {"inner": "deep", "a/b~c": null}}});
    let seal = if sensor == "door" && rng.chance(40) { Seal::Unsigned } else { Seal::Right };
    PacketDraft { packet, seal }
}

pub(super) fn add(rng: &mut Rng, draft: &mut Draft) {
    if rng.chance(45) {
        return;
    }
    let count = 1 + rng.below(2);
    let ids: Vec<String> = (0..count).map(|number| format!("evidence-{number}")).collect();
    for id in &ids {
        let packet = packet(rng, id, draft.now_ms);
        draft.packets.push(packet);
    }
    if draft.is_request() {
        let entry = |rng: &mut Rng, id: &String| match rng.chance(50) {
            true => json!(id),
            false => binding(rng, id),
        };
        let list: Vec<Json> = ids.iter().map(|id| entry(rng, id)).collect();
        draft.set("", "evidence", json!(list));
        return;
    }
    let mut bindings: Vec<Json> = Vec::new();
    for id in &ids {
        if rng.chance(70) {
            bindings.push(binding(rng, id));
        }
    }
    if rng.chance(15) {
        bindings.push(json!({"evidence_id": "evidence-absent", "binding_type": "context", "required": false,
            "freshness_ms": 1000}));
    }
    if rng.chance(10) {
        bindings.push(binding(rng, "evidence-0"));
    }
    let mut preconditions: Vec<Json> = Vec::new();
    for _ in 0..rng.below(4) {
        let (field, operator, value) = rng.pick(&true_preconditions()).clone();
        preconditions.push(precondition(field, operator, &value, rng.pick::<String>(&ids)));
    }
    if !bindings.is_empty() || rng.chance(10) {
        draft.set("", "evidence_bindings", json!(bindings));
    }
    if !preconditions.is_empty() || rng.chance(10) {
        draft.set("", "preconditions", json!(preconditions));
    }
}

pub(super) fn precondition(field: &str, operator: &str, value: &Json, id: &str) -> Json {
    json!({"field": field, "operator": operator, "value": value, "evidence_ref": id})
}

fn binding(rng: &mut Rng, id: &str) -> Json {
    json!({"evidence_id": id, "binding_type": rng.pick(&["precondition", "context", "attestation"]),
        "required": rng.chance(70), "freshness_ms": rng.pick(&[60_000, 600_000, 90_000_000])})
}

/// Hashes and signs.
pub(super) fn seal(draft: &mut Draft) {
    let packets = std::mem::take(&mut draft.packets);
    draft.evidence = packets.into_iter().map(sealed).collect();
}

fn sealed(draft: PacketDraft) -> Json {
    let PacketDraft { mut packet, seal } = draft;
    let mut canon = Canonicalizer::new();
    let payload = packet.get("payload").cloned().unwrap_or_default();
    let sensor = packet.get("sensor_id").and_then(Json::as_str).unwrap_or_default().to_owned();
    let Some(members) = packet.as_object_mut() else { return packet };
    let hash = match seal {
        Seal::WrongHash => PayloadHash::of(&mut canon, "other"),
        _ => PayloadHash::of(&mut canon, &payload),
    };
    members.insert("payload_hash".into(), json!(hash.map(|hash| hash.to_string()).unwrap_or_default()));
    if seal == Seal::Unsigned || !matches!(sensor.as_str(), "lab" | "door") {
        return packet;
    }
    let key = sensor_key(if seal == Seal::WrongSignature { "other" } else { &sensor });
    let message = canon.value(&packet).map(<[u8]>::to_vec).unwrap_or_default();
    let message = if seal == Seal::WrongSignature { b"other".to_vec() } else { message };
    let signature = match seal {
        Seal::NoSignature => "signed".to_owned(),
        _ => Base64UrlUnpadded::encode_string(&key.sign(&message).to_bytes()),
    };
    if let Some(members) = packet.as_object_mut() {
        members.insert("sensor_signature".into(), json!(signature));
    }
    packet
}
