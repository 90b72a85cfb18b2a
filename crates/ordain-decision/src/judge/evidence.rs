//! The evidence that a proposal refers to, and its preconditions.

use super::compare::compare;
use super::reasons::Reasons;
use crate::limits::PRECONDITIONS_MAX;
use crate::policy::PolicySet;
use crate::shown::{start_of, visible};
use ordain_canon::{Value, compare_utf16, with_number_text};
use ordain_spec::action::{Operator, Proposal, RUNNER_SENSOR, field_value};
use ordain_spec::decision::gate;
use ordain_spec::{Facts, Kind, verify_value};
use std::collections::{BTreeMap, BTreeSet};

/// The part of the evidence that policies may read.
pub(crate) struct Observed {
    pub(crate) packets: usize,
    pub(crate) types: BTreeSet<String>,
    pub(crate) sensors: BTreeSet<String>,
    pub(crate) preconditions: usize,
    pub(crate) preconditions_hold: bool,
    pub(crate) signed: bool,
}

/// One packet that the proposal refers to.
enum Packet<'v> {
    Absent,
    /// Given twice, with other content.
    Twice,
    Invalid,
    Valid(&'v Value<'v>),
}

/// A packet that was given, and whether another one came under its id.
struct Given<'v> {
    packet: &'v Value<'v>,
    twice: bool,
}

/// Where a packet is referred to, and how old it may be.
struct Reference {
    path: String,
    freshness_ms: Option<i64>,
}

/// Checks the evidence and the preconditions. `doubted` says whether the verifier found anything to say about it.
pub(crate) fn observe(
    set: &PolicySet,
    facts: &Facts<'_>,
    proposal: &Proposal,
    document: &Value<'_>,
    doubted: bool,
    reasons: &mut Reasons,
) -> Observed {
    let preconditions = proposal.preconditions.as_deref().unwrap_or_default();
    let bindings = proposal.evidence_bindings.as_deref().unwrap_or_default();
    let mut references: BTreeMap<&str, Reference> = BTreeMap::new();
    for (at, precondition) in preconditions.iter().enumerate() {
        let path = || format!("/preconditions/{at}/evidence_ref");
        references
            .entry(&precondition.evidence_ref)
            .or_insert_with(|| Reference { path: path(), freshness_ms: None });
    }
    for (at, binding) in bindings.iter().enumerate() {
        let path = || format!("/evidence_bindings/{at}/evidence_id");
        let entry = references
            .entry(binding.evidence_id.as_str())
            .or_insert_with(|| Reference { path: path(), freshness_ms: None });
        let limit_ms = i64::try_from(binding.freshness_ms).unwrap_or(i64::MAX);
        entry.freshness_ms = Some(entry.freshness_ms.map_or(limit_ms, |least| least.min(limit_ms)));
    }
    let needed: BTreeSet<&str> = preconditions.iter().map(|it| it.evidence_ref.as_str()).collect();
    let mut given: BTreeMap<&str, Given<'_>> = BTreeMap::new();
    for packet in facts.evidence {
        let Some(id) = packet.get("evidence_id").and_then(Value::as_str) else { continue };
        let entry = given.entry(id).or_insert(Given { packet, twice: false });
        entry.twice |= !entry.packet.same_as(packet);
    }
    let mut packets: BTreeMap<&str, Packet<'_>> = BTreeMap::new();
    for (id, reference) in &references {
        let packet = match given.get(id) {
            None => Packet::Absent,
            Some(given) if given.twice => Packet::Twice,
            // Evidence that the verifier looked at without a finding need not be looked at again.
            Some(given) if !doubted && needed.contains(id) => Packet::Valid(given.packet),
            Some(given) => checked(facts, id, given.packet, reference, reasons),
        };
        packets.insert(id, packet);
    }
    for (at, binding) in bindings.iter().enumerate() {
        let path = format!("/evidence_bindings/{at}/evidence_id");
        let id = binding.evidence_id.as_str();
        match packets.get(id) {
            Some(Packet::Absent) if binding.required => {
                reasons.deny(
                    gate::EVIDENCE,
                    path,
                    format!("the evidence `{id}` is required and was not given"),
                );
            }
            Some(Packet::Twice) => {
                reasons.deny(
                    gate::EVIDENCE,
                    path,
                    format!("the evidence `{id}` was given twice, with other content"),
                );
            }
            _ => {}
        }
    }
    // A question that was not asked gets no answer, and neither does one that is too large.
    let mut preconditions_hold = !preconditions.is_empty() && preconditions.len() <= PRECONDITIONS_MAX;
    if preconditions.len() > PRECONDITIONS_MAX {
        let message = format!(
            "there are {} preconditions, and at most {PRECONDITIONS_MAX} are compared in one proposal",
            preconditions.len()
        );
        reasons.deny(gate::PRECONDITION, "/preconditions", message);
    }
    let compared = if preconditions.len() > PRECONDITIONS_MAX { &[] } else { preconditions };
    for (at, precondition) in compared.iter().enumerate() {
        let problem = match packets.get(precondition.evidence_ref.as_str()) {
            Some(Packet::Valid(packet)) => {
                let expected =
                    document.get("preconditions").and_then(Value::as_array).and_then(|all| all.get(at));
                let expected = expected.and_then(|it| it.get("value")).unwrap_or(&Value::Null);
                let field = precondition.field.as_str();
                let found = packet.get("payload").and_then(|payload| field_value(payload, field));
                precondition_problem(set, field, precondition.operator, found, expected)
            }
            // That the evidence is not there or not valid is a reason already.
            _ => {
                preconditions_hold = false;
                None
            }
        };
        if let Some(message) = problem {
            preconditions_hold = false;
            reasons.deny(gate::PRECONDITION, format!("/preconditions/{at}"), message);
        }
    }
    let valid: Vec<&Value<'_>> = packets
        .values()
        .filter_map(|packet| if let Packet::Valid(packet) = packet { Some(*packet) } else { None })
        .collect();
    let texts = |key: &str| -> BTreeSet<String> {
        valid.iter().filter_map(|packet| packet.get(key)?.as_str().map(str::to_owned)).collect()
    };
    let is_signed = |packet: &&Value<'_>| {
        let sensor = packet.get("sensor_id").and_then(Value::as_str).and_then(|id| set.sensors.by_id.get(id));
        packet.get("sensor_signature").is_some() && sensor.is_some_and(|sensor| sensor.public_key.is_some())
    };
    let sensor_of = |packet: &Value<'_>| packet.get("sensor_id")?.as_str().map(str::to_owned);
    let is_run = |packet: &&Value<'_>| packet.get("sensor_id").and_then(Value::as_str) == Some(RUNNER_SENSOR);
    let sensors = valid.iter().copied();
    Observed {
        packets: valid.len(),
        types: texts("packet_type"),
        // An unsigned run is the proposer's word, which no policy counts as a runner's.
        sensors: sensors
            .filter(|packet| !is_run(packet) || is_signed(packet))
            .filter_map(sensor_of)
            .collect(),
        preconditions: preconditions.len(),
        preconditions_hold,
        signed: !valid.is_empty() && valid.iter().all(is_signed),
    }
}

/// Verifies a packet that the proposal refers to.
fn checked<'v>(
    facts: &Facts<'_>,
    id: &str,
    packet: &'v Value<'v>,
    reference: &Reference,
    reasons: &mut Reasons,
) -> Packet<'v> {
    // The proposer writes the bindings, so they can only shorten the policy's limit.
    let freshness_ms = reference.freshness_ms.unwrap_or(i64::MAX).min(facts.freshness_ms);
    let facts = Facts { freshness_ms, evidence: &[], ..*facts };
    let report = verify_value(Kind::Packet, &facts, packet);
    for violation in report.violations() {
        let message = format!("evidence `{id}`, `{}`: {}", violation.path, violation.message);
        reasons.deny(violation.rule, reference.path.clone(), message);
    }
    if report.ok() { Packet::Valid(packet) } else { Packet::Invalid }
}

/// Why a precondition does not hold.
fn precondition_problem(
    set: &PolicySet,
    field: &str,
    operator: Operator,
    found: Option<&Value<'_>>,
    expected: &Value<'_>,
) -> Option<String> {
    let Some(found) = found else {
        return Some(format!("`{field}` is not in the evidence; absence proves nothing"));
    };
    let why = compare(found, operator, expected).err()?;
    let name = match operator {
        Operator::Eq => "eq",
        Operator::Ne => "ne",
        Operator::Gt => "gt",
        Operator::Lt => "lt",
        Operator::Contains => "contains",
        Operator::Matches => "matches",
    };
    // A comparison can give a secret away: a value that is not unequal to another is that value.
    let secret = set.names_secret(field);
    if secret {
        return Some(format!(
            "`{field}` {why}: expected {name}; `redact.toml` keeps the values out of messages"
        ));
    }
    Some(format!("`{field}` {why}: expected {name} {}, found {}", short(set, expected), short(set, found)))
}

/// A value for a message, cut if it is long, with secrets left out.
fn short(set: &PolicySet, value: &Value<'_>) -> String {
    if let Value::String(text) = value {
        return format!("`{}`", visible(&start_of(text)));
    }
    let mut text = String::new();
    write_start(set, value, &mut text);
    match value {
        Value::Array(_) | Value::Object(_) => format!("`{}`", visible(&start_of(&text))),
        _ => text,
    }
}

/// Writes canonical JSON until there is more than enough of it.
fn write_start(set: &PolicySet, value: &Value<'_>, text: &mut String) {
    const BYTES_ENOUGH: usize = 256;
    match value {
        _ if text.len() > BYTES_ENOUGH => {}
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => with_number_text(*number, |number| text.push_str(number)),
        Value::String(string) => write_string(&start_of(string), text),
        Value::Array(elements) => {
            text.push('[');
            for (at, element) in elements.iter().enumerate().take(BYTES_ENOUGH) {
                text.push_str(if at > 0 { "," } else { "" });
                write_start(set, element, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(left, _), (right, _)| compare_utf16(left, right));
            text.push('{');
            for (at, (name, member)) in members.into_iter().enumerate().take(BYTES_ENOUGH) {
                text.push_str(if at > 0 { "," } else { "" });
                write_string(&start_of(name), text);
                text.push(':');
                match set.redact.contains(name.as_ref()) {
                    true => text.push_str("\"not shown\""),
                    false => write_start(set, member, text),
                }
            }
            text.push('}');
        }
    }
}

fn write_string(string: &str, text: &mut String) {
    text.push_str(&serde_json::Value::from(string).to_string());
}
