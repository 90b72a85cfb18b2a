//! V-EVID-001–006, 010–012 and 020–022, in order.

use crate::action::field_value;
use crate::facts::{Facts, Sensor};
use crate::kind::Kind;
use crate::limits::CLOCK_SKEW_MS;
use crate::node::Node;
use crate::path::shorten;
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signature, VerifyingKey};
use ordain_canon::{Canonicalizer, PayloadHash, Value, is_sha256};

const VE: Kind = Kind::Packet;

/// The rules of an evidence packet.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known and has its type", section: "evidence packets", category: Category::Schema, check: by_shape },
    Rule { id: VE.rule(1), title: "evidence_id is not empty", section: "evidence packets", category: Category::Field, check: by_shape },
    Rule { id: VE.rule(2), title: "packet_type is known", section: "evidence packets", category: Category::Field, check: by_shape },
    Rule { id: VE.rule(3), title: "the sensor is named", section: "evidence packets", category: Category::Field, check: by_shape },
    Rule { id: VE.rule(4), title: "times are positive integers", section: "evidence packets", category: Category::Field, check: by_shape },
    Rule { id: VE.rule(5), title: "the payload is an object", section: "evidence packets", category: Category::Field, check: by_shape },
    Rule { id: VE.rule(6), title: "payload_hash matches the payload", section: "evidence packets", category: Category::Integrity, check: payload_hash_matches },
    Rule { id: VE.rule(10), title: "nothing is received before it is observed", section: "evidence packets", category: Category::Time, check: observed_before_received },
    Rule { id: VE.rule(11), title: "the observation is not from the future", section: "evidence packets", category: Category::Time, check: not_from_the_future },
    Rule { id: VE.rule(12), title: "the observation is fresh", section: "evidence packets", category: Category::Time, check: is_fresh },
    Rule { id: VE.rule(20), title: "the policy knows the sensor", section: "evidence packets", category: Category::Reference, check: sensor_is_known },
    Rule { id: VE.rule(21), title: "the sensor's signature fits", section: "evidence packets", category: Category::Integrity, check: signature_fits },
    Rule { id: VE.rule(22), title: "packets agree on what preconditions name", section: "evidence packets", category: Category::Consistency, check: packets_agree },
];

/// V-EVID-006.
fn payload_hash_matches(_: &Facts<'_>, packet: Node<'_, '_>, found: &mut Findings) {
    let hash = packet.get("payload_hash");
    let (Some(named), Some(payload)) = (hash.str().filter(|it| is_sha256(it)), packet.get("payload").value())
    else {
        return;
    };
    if let Ok(real) = PayloadHash::of(&mut Canonicalizer::new(), payload)
        && !real.is(named)
    {
        found.at(hash, format!("does not match the payload, whose hash is `{real}`"));
    }
}

/// V-EVID-010.
fn observed_before_received(_: &Facts<'_>, packet: Node<'_, '_>, found: &mut Findings) {
    let observed = packet.get("observed_at_ms");
    if let (Some(observed_ms), Some(received_ms)) =
        (observed.integer(), packet.get("received_at_ms").integer())
        && observed_ms > received_ms
    {
        found.at(
            observed,
            format!("is {} ms after `received_at_ms`", observed_ms.saturating_sub(received_ms)),
        );
    }
}

/// V-EVID-011.
fn not_from_the_future(facts: &Facts<'_>, packet: Node<'_, '_>, found: &mut Findings) {
    let observed = packet.get("observed_at_ms");
    let (Some(now_ms), Some(observed_ms)) = (facts.now_ms, observed.integer()) else { return };
    let ahead_ms = observed_ms.saturating_sub(now_ms);
    if ahead_ms > CLOCK_SKEW_MS {
        found.at(observed, format!("is {ahead_ms} ms in the future; {CLOCK_SKEW_MS} ms are tolerated"));
    }
}

/// V-EVID-012.
fn is_fresh(facts: &Facts<'_>, packet: Node<'_, '_>, found: &mut Findings) {
    let observed = packet.get("observed_at_ms");
    let (Some(now_ms), Some(observed_ms)) = (facts.now_ms, observed.integer()) else { return };
    let age_ms = now_ms.saturating_sub(observed_ms);
    let of_sensor_ms = sensor_of(facts, packet).flatten().and_then(|sensor| sensor.freshness_ms);
    let limit_ms =
        of_sensor_ms.map_or(facts.freshness_ms, |of_sensor_ms| of_sensor_ms.min(facts.freshness_ms));
    if age_ms > limit_ms {
        found.at(observed, format!("is {age_ms} ms old; at most {limit_ms} ms are allowed"));
    }
}

fn sensor_of<'f>(facts: &'f Facts<'_>, packet: Node<'_, '_>) -> Option<Option<&'f Sensor>> {
    let sensors = facts.sensors?;
    Some(sensors.get(packet.get("sensor_id").str()?))
}

/// V-EVID-020.
fn sensor_is_known(facts: &Facts<'_>, packet: Node<'_, '_>, found: &mut Findings) {
    let id = packet.get("sensor_id");
    if let (Some(None), Some(name)) = (sensor_of(facts, packet), id.str()) {
        found.at(id, format!("the policy does not know the sensor `{}`", shorten(name)));
    }
}

/// V-EVID-021. A signature that is there is checked wherever the policy has the key, demanded or not.
fn signature_fits(facts: &Facts<'_>, packet: Node<'_, '_>, found: &mut Findings) {
    let Some(Some(sensor)) = sensor_of(facts, packet) else { return };
    let signature = packet.get("sensor_signature");
    let problem = match (&sensor.public_key, signature.str()) {
        (_, None) if sensor.signature_required && signature.is_missing() => {
            Some("the policy demands a signature")
        }
        (None, Some(_)) if sensor.signature_required => {
            Some("the policy demands a signature but has no key for it")
        }
        (Some(key), Some(text)) => signature_problem(packet, key, text),
        _ => None,
    };
    if let Some(message) = problem {
        found.at(signature, message);
    }
}

fn signature_problem(packet: Node<'_, '_>, key: &str, signature: &str) -> Option<&'static str> {
    let mut bytes = [0; 64];
    let Some(key) =
        Base64UrlUnpadded::decode(key, &mut bytes).ok().and_then(|key| <[u8; 32]>::try_from(key).ok())
    else {
        return Some("the policy's key for this sensor is not 32 bytes in base64url");
    };
    let Ok(key) = VerifyingKey::from_bytes(&key) else {
        return Some("the policy's key for this sensor is not an Ed25519 key");
    };
    let decoded = Base64UrlUnpadded::decode(signature, &mut bytes).ok();
    let Some(signature) = decoded.and_then(|bytes| Signature::from_slice(bytes).ok()) else {
        return Some("is not 64 bytes in base64url");
    };
    let members = packet.value().and_then(Value::as_object).unwrap_or_default();
    let signed =
        Value::Object(members.iter().filter(|(key, _)| key != "sensor_signature").cloned().collect());
    let mut canon = Canonicalizer::new();
    let valid = canon.value(&signed).is_ok_and(|message| key.verify_strict(message, &signature).is_ok());
    (!valid).then_some("does not fit the packet and the sensor's key")
}

/// V-EVID-022.
fn packets_agree(facts: &Facts<'_>, packet: Node<'_, '_>, found: &mut Findings) {
    let payload = packet.get("payload");
    let Some(value) = payload.value() else { return };
    for field in facts.fields {
        let Some(here) = field_value(value, field) else { continue };
        let id = packet.get("evidence_id").str();
        let others =
            facts.evidence.iter().filter(|other| other.get("evidence_id").and_then(Value::as_str) != id);
        for other in others {
            let there = other.get("payload").and_then(|payload| field_value(payload, field));
            if there.is_some_and(|there| !there.same_as(here)) {
                let name = other.get("evidence_id").and_then(Value::as_str).unwrap_or_default();
                let message = format!("disagrees with evidence `{}` on `{}`", shorten(name), shorten(field));
                found.at(payload, message);
            }
        }
    }
}

/// The first thing that is wrong with a packet that a proposal refers to.
pub(crate) fn packet_problem(facts: &Facts<'_>, packet: &Value<'_>) -> Option<String> {
    let report = crate::verify::verify_value(crate::Kind::Packet, facts, packet);
    report.violations().first().map(|first| format!("{} at `{}`: {}", first.rule, first.path, first.message))
}
