//! Evidence and preconditions (V-EVID, G4, G5).

use super::folder::ModelFolder;
use super::time::instant;
use super::{ModelReason, reason};
use ordain_canon::Value;
use ordain_spec::action::{Operator, Proposal};
use ordain_spec::{Facts, Kind, Sensor, verify_value};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

/// Preconditions that are compared.
const PRECONDITIONS_MAX: usize = 64;

/// The result of the evidence.
#[derive(Default)]
pub(super) struct Evidence {
    pub(super) reasons: Vec<ModelReason>,
    pub(super) packets: usize,
    pub(super) types: BTreeSet<String>,
    pub(super) sensors: BTreeSet<String>,
    pub(super) preconditions: usize,
    pub(super) preconditions_hold: bool,
    pub(super) signed: bool,
}

pub(super) fn judge(
    folder: &ModelFolder,
    proposal: &Proposal,
    document: &Value<'_>,
    given: &[Value<'_>],
    now_ms: i64,
) -> Evidence {
    let mut found = Evidence::default();
    let preconditions = proposal.preconditions.as_deref().unwrap_or_default();
    let bindings = proposal.evidence_bindings.as_deref().unwrap_or_default();

    // Every place that refers to a packet, in the order of the document's fields.
    let mut places: Vec<(&str, String)> = Vec::new();
    for (index, precondition) in preconditions.iter().enumerate() {
        places.push((&precondition.evidence_ref, format!("/preconditions/{index}/evidence_ref")));
    }
    for (index, binding) in bindings.iter().enumerate() {
        places.push((binding.evidence_id.as_str(), format!("/evidence_bindings/{index}/evidence_id")));
    }
    let mut first_places: BTreeMap<&str, &str> = BTreeMap::new();
    for (id, place) in &places {
        first_places.entry(id).or_insert(place);
    }

    // The packets of one id that differ.
    let packets_of = |id: &str| {
        let mut packets: Vec<&Value<'_>> = Vec::new();
        for packet in given.iter().filter(|it| it.get("evidence_id").and_then(Value::as_str) == Some(id)) {
            if !packets.iter().any(|other| other.same_as(packet)) {
                packets.push(packet);
            }
        }
        packets
    };

    let mut valid: BTreeMap<&str, &Value<'_>> = BTreeMap::new();
    let mut all_signed = true;
    for (id, place) in &first_places {
        let own = bindings.iter().filter(|binding| binding.evidence_id.as_str() == *id);
        let mut limits: Vec<i64> = vec![folder.freshness_ms];
        limits.extend(own.map(|binding| i64::try_from(binding.freshness_ms).unwrap_or(i64::MAX)));
        for packet in packets_of(id) {
            let sensor =
                packet.get("sensor_id").and_then(Value::as_str).and_then(|id| folder.sensors.get(id));
            limits.extend(sensor.and_then(|sensor| sensor.freshness_ms));
        }
        let plain: BTreeMap<String, Sensor> = folder
            .sensors
            .iter()
            .map(|(id, sensor)| (id.clone(), Sensor { freshness_ms: None, ..sensor.clone() }))
            .collect();
        let facts = Facts {
            now_ms: Some(now_ms),
            freshness_ms: limits.into_iter().min().unwrap_or_default(),
            sensors: Some(&plain),
            ..Facts::default()
        };
        let packets = packets_of(id);
        // Two packets of one id count for nothing.
        let [packet] = packets.as_slice() else { continue };
        let report = verify_value(Kind::Packet, &facts, packet);
        for violation in report.violations() {
            found.reasons.push(reason(&violation.rule.name(), *place, &[]));
        }
        if report.ok() {
            all_signed &= has_fitting_signature(folder, packet);
            valid.insert(id, packet);
        }
    }
    for (index, binding) in bindings.iter().enumerate() {
        let count = packets_of(binding.evidence_id.as_str()).len();
        if count > 1 || binding.required && count == 0 {
            found.reasons.push(reason("G4", format!("/evidence_bindings/{index}/evidence_id"), &[]));
        }
    }

    let text = |packet: &Value<'_>, key: &str| packet.get(key).and_then(Value::as_str).map(str::to_owned);
    for packet in valid.values() {
        found.types.extend(text(packet, "packet_type"));
        let sensor = text(packet, "sensor_id");
        let unsigned_run = sensor.as_deref() == Some("ordain-sandbox")
            && (packet.get("sensor_signature").is_none() || !has_fitting_signature(folder, packet));
        found.sensors.extend(sensor.filter(|_| !unsigned_run));
    }
    found.packets = valid.len();
    found.signed = !valid.is_empty() && all_signed;
    found.preconditions = preconditions.len();
    found.preconditions_hold = !preconditions.is_empty();
    if preconditions.len() > PRECONDITIONS_MAX {
        found.preconditions_hold = false;
        found.reasons.push(reason("G5", "/preconditions", &[]));
        return found;
    }
    for (index, precondition) in preconditions.iter().enumerate() {
        let wanted = document.get("preconditions").and_then(Value::as_array).and_then(|all| all.get(index));
        let wanted = wanted.and_then(|it| it.get("value")).unwrap_or(&Value::Null);
        let holds = valid.get(precondition.evidence_ref.as_str()).map(|packet| {
            let field = packet.get("payload").and_then(|it| field(it, precondition.field.as_str()));
            field.is_some_and(|field| compares(precondition.operator, field, wanted))
        });
        found.preconditions_hold &= holds == Some(true);
        if holds == Some(false) {
            found.reasons.push(reason("G5", format!("/preconditions/{index}"), &[]));
        }
    }
    found
}

/// A signature fits if it would do even where one is demanded.
fn has_fitting_signature(folder: &ModelFolder, packet: &Value<'_>) -> bool {
    let demanding = |(id, sensor): (&String, &Sensor)| {
        (id.clone(), Sensor { signature_required: true, ..sensor.clone() })
    };
    let sensors: BTreeMap<String, Sensor> = folder.sensors.iter().map(demanding).collect();
    let facts = Facts { sensors: Some(&sensors), ..Facts::default() };
    verify_value(Kind::Packet, &facts, packet).violations().iter().all(|it| it.rule.name() != "V-EVID-021")
}

/// A JSON Pointer or a dotted path into a payload.
fn field<'v>(payload: &'v Value<'v>, path: &str) -> Option<&'v Value<'v>> {
    let step = |value: &'v Value<'v>, token: &str| match value {
        Value::Array(elements) => {
            let plain = token == "0" || !token.starts_with('0') && token.bytes().all(|b| b.is_ascii_digit());
            elements.get(token.parse::<usize>().ok().filter(|_| plain)?)
        }
        _ => value.get(token),
    };
    let mut value = payload;
    match path.strip_prefix('/') {
        Some(pointer) => {
            for token in pointer.split('/') {
                value = step(value, &token.replace("~1", "/").replace("~0", "~"))?;
            }
        }
        None => {
            for token in path.split('.') {
                value = step(value, token)?;
            }
        }
    }
    Some(value)
}

fn compares(operator: Operator, field: &Value<'_>, wanted: &Value<'_>) -> bool {
    let same_type = discriminant(field) == discriminant(wanted);
    match operator {
        Operator::Eq => same_type && field.same_as(wanted),
        Operator::Ne => same_type && !field.same_as(wanted),
        Operator::Gt => is_greater(field, wanted),
        Operator::Lt => is_greater(wanted, field),
        Operator::Contains => match (field, wanted) {
            (Value::String(text), Value::String(part)) => text.contains(&**part),
            (Value::Array(elements), _) => elements.iter().any(|element| element.same_as(wanted)),
            _ => false,
        },
        Operator::Matches => match (field, wanted) {
            (Value::String(text), Value::String(pattern)) => matches_whole(pattern, text),
            _ => false,
        },
    }
}

fn is_greater(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left > right,
        (Value::String(left), Value::String(right)) => match (instant(left), instant(right)) {
            (Some(left), Some(right)) => left > right,
            _ => false,
        },
        _ => false,
    }
}

fn matches_whole(pattern: &str, text: &str) -> bool {
    let readable = pattern.len() <= 1024 && regex::Regex::new(pattern).is_ok();
    // The line feed ends a comment, which a pattern with the flag `x` can have at its end.
    let anchored = regex::Regex::new(&format!(r"\A(?:{pattern})\z"))
        .or_else(|_| regex::Regex::new(&format!("\\A(?:{pattern}\n)\\z")));
    readable && anchored.is_ok_and(|anchored| anchored.is_match(text))
}
