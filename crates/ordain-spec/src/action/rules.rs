//! V-PROP-000–006 and 010–016 (PROPOSAL_SPEC §4), in spec order.

use crate::action::check_evidence;
use crate::action::fields::updates_obey_fields;
use crate::facts::Facts;
use crate::kind::Kind;
use crate::limits::{OPEN_OBJECT_BYTES_MAX, OPEN_OBJECT_DEPTH_MAX};
use crate::node::Node;
use crate::packet::packet_problem;
use crate::path::shorten;
use crate::rule::{Category, Findings, Rule, by_shape};
use ordain_canon::{Canonicalizer, Value};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

const VP: Kind = Kind::Action;

/// The rules of an action proposal.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: VP.rule(0), title: "every field is known and the structure holds", section: "PROPOSAL_SPEC §3", category: Category::Schema, check: structure_holds },
    Rule { id: VP.rule(1), title: "proposal_id is a string that is not empty", section: "PROPOSAL_SPEC §4.1", category: Category::Field, check: by_shape },
    Rule { id: VP.rule(2), title: "ts_ms is a positive integer", section: "PROPOSAL_SPEC §4.1", category: Category::Field, check: by_shape },
    Rule { id: VP.rule(3), title: "the actor is named", section: "PROPOSAL_SPEC §4.1", category: Category::Field, check: by_shape },
    Rule { id: VP.rule(4), title: "action_type is known", section: "PROPOSAL_SPEC §4.1", category: Category::Field, check: by_shape },
    Rule { id: VP.rule(5), title: "the target has all its fields and bounded constraints", section: "PROPOSAL_SPEC §4.1", category: Category::Field, check: target_is_bounded },
    Rule { id: VP.rule(6), title: "parameters are a bounded object", section: "PROPOSAL_SPEC §4.1", category: Category::Limit, check: parameters_are_bounded },
    Rule { id: VP.rule(10), title: "the time window is still open", section: "PROPOSAL_SPEC §4.2", category: Category::Time, check: window_is_open },
    Rule { id: VP.rule(11), title: "the time window starts before it ends", section: "PROPOSAL_SPEC §4.2", category: Category::Time, check: window_is_in_order },
    Rule { id: VP.rule(12), title: "max_affected_records is a positive integer", section: "PROPOSAL_SPEC §4.2", category: Category::Limit, check: by_shape },
    Rule { id: VP.rule(13), title: "preconditions refer to valid evidence", section: "PROPOSAL_SPEC §4.2", category: Category::Reference, check: evidence_is_there },
    Rule { id: VP.rule(14), title: "the approval class is known and can be satisfied", section: "PROPOSAL_SPEC §4.2", category: Category::Consistency, check: approval_is_possible },
    Rule { id: VP.rule(15), title: "no effect is both allowed and forbidden", section: "PROPOSAL_SPEC §3.6", category: Category::Consistency, check: effects_are_disjoint },
    Rule { id: VP.rule(16), title: "updates obey the target's field lists", section: "PROPOSAL_SPEC §3.4, §6", category: Category::Consistency, check: updates_obey_fields },
];

/// V-PROP-000, what types alone cannot say.
fn structure_holds(_: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    let rollback = proposal.get("rollback_semantics");
    let action = rollback.get("action");
    if rollback.get("strategy").str() == Some("compensating_action") && action.is_missing() {
        found.at(action, "`action` is missing; `compensating_action` needs it");
    }
    let compensating_target = action.get("target");
    check_bounds(compensating_target.get("constraints"), found);
    check_bounds(action.get("parameters"), found);
    // The evidence of a KernelRequest: an action proposal has no such field.
    check_evidence(proposal, found);
}

/// V-PROP-005.
fn target_is_bounded(_: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    let target = proposal.get("target");
    check_bounds(target.get("constraints"), found);
}

/// V-PROP-006.
fn parameters_are_bounded(_: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    check_bounds(proposal.get("parameters"), found);
    check_bounds(proposal.get("params"), found);
    let call = proposal.get("tool_call");
    check_bounds(call.get("params"), found);
}

fn check_bounds(open: Node<'_, '_>, found: &mut Findings) {
    let Some(value @ Value::Object(_)) = open.value() else { return };
    let Extent { depth, bytes_at_most } = extent(value);
    if depth > OPEN_OBJECT_DEPTH_MAX {
        found.at(open, format!("is {depth} levels deep; at most {OPEN_OBJECT_DEPTH_MAX} are allowed"));
    } else if bytes_at_most <= OPEN_OBJECT_BYTES_MAX {
        // Most are so small that nobody needs to know how small.
        return;
    }
    let bytes = Canonicalizer::new().value(value).map(<[u8]>::len).unwrap_or(usize::MAX);
    if bytes > OPEN_OBJECT_BYTES_MAX {
        found.at(open, format!("has {bytes} canonical bytes; at most {OPEN_OBJECT_BYTES_MAX} are allowed"));
    }
}

#[derive(Default)]
struct Extent {
    /// Levels of containers, the value itself included.
    depth: usize,
    /// A bound on the canonical bytes.
    bytes_at_most: usize,
}

impl Extent {
    /// Takes in what is inside, with a comma.
    fn add(&mut self, inner: &Self) {
        self.depth = self.depth.max(1 + inner.depth);
        self.bytes_at_most = self.bytes_at_most.saturating_add(inner.bytes_at_most).saturating_add(1);
    }
}

fn extent(value: &Value<'_>) -> Extent {
    /// No number is longer, and no other value without anything inside.
    const PLAIN_BYTES_MAX: usize = 32;
    // A byte becomes `\u001f` at most.
    let string_bytes = |text: &str| text.len().saturating_mul(6).saturating_add(2);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            Extent { depth: 0, bytes_at_most: PLAIN_BYTES_MAX }
        }
        Value::String(text) => Extent { depth: 0, bytes_at_most: string_bytes(text) },
        Value::Array(elements) => {
            let mut all = Extent { depth: 1, bytes_at_most: 2 };
            elements.iter().for_each(|element| all.add(&extent(element)));
            all
        }
        Value::Object(members) => {
            let mut all = Extent { depth: 1, bytes_at_most: 2 };
            for (key, member) in members {
                all.add(&extent(member));
                all.bytes_at_most = all.bytes_at_most.saturating_add(string_bytes(key)).saturating_add(1);
            }
            all
        }
    }
}

/// V-PROP-010. Without a time it is not checked, and that is said.
fn window_is_open(facts: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    let window = proposal.get("time_window");
    let until = window.get("valid_until_ms");
    let Some(until_ms) = until.integer().filter(|until_ms| *until_ms >= 0) else { return };
    match facts.now_ms {
        None => found.warn(until, "not checked: the time was not given (`--now`)"),
        Some(now_ms) if until_ms <= now_ms => {
            found.at(until, format!("the window closed {} ms ago", now_ms.saturating_sub(until_ms)));
        }
        Some(_) => {}
    }
}

/// V-PROP-011.
fn window_is_in_order(_: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    let window = proposal.get("time_window");
    let from = window.get("valid_from_ms");
    if let (Some(from_ms), Some(until_ms)) = (from.integer(), window.get("valid_until_ms").integer())
        && from_ms > until_ms
        && until_ms >= 0
    {
        found.at(from, format!("is {} ms after `valid_until_ms`", from_ms.saturating_sub(until_ms)));
    }
}

/// V-PROP-013. Evidence that is not given does not exist.
fn evidence_is_there(facts: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    let preconditions = proposal.get("preconditions");
    let mut freshness: BTreeMap<&str, i64> = BTreeMap::new();
    for binding in proposal.get("evidence_bindings").elements() {
        if let (Some(id), Some(limit_ms)) =
            (binding.get("evidence_id").str(), binding.get("freshness_ms").integer())
        {
            // If several bindings name one packet, the strictest counts.
            freshness.entry(id).and_modify(|least| *least = limit_ms.min(*least)).or_insert(limit_ms);
        }
    }
    let mut packets: BTreeMap<&str, (&Value<'_>, Option<String>)> = BTreeMap::new();
    if preconditions.elements().len() > 0 {
        for packet in facts.evidence {
            let Some(id) = packet.get("evidence_id").and_then(Value::as_str) else { continue };
            // The proposer writes the bindings, so they can only shorten the policy's limit.
            let of_bindings_ms = freshness.get(id).copied().unwrap_or(i64::MAX);
            let freshness_ms = of_bindings_ms.min(facts.freshness_ms);
            let facts = &Facts { freshness_ms, ..*facts };
            match packets.entry(id) {
                Entry::Vacant(entry) => drop(entry.insert((packet, packet_problem(facts, packet)))),
                // Evidence is a set: a packet that is given twice counts once.
                Entry::Occupied(mut entry) if !entry.get().0.same_as(packet) => {
                    entry.get_mut().1 = Some("it was given twice, with other content".to_owned());
                }
                Entry::Occupied(_) => {}
            }
        }
    }
    let mut disputes: BTreeMap<&str, Option<[&str; 2]>> = BTreeMap::new();
    for precondition in preconditions.elements() {
        let reference = precondition.get("evidence_ref");
        let Some(id) = reference.str() else { continue };
        match packets.get(id) {
            None => found.at(reference, format!("no evidence `{}` was given", shorten(id))),
            Some((_, Some(problem))) => {
                found.at(reference, format!("evidence `{}` is not valid: {problem}", shorten(id)));
            }
            Some((_, None)) => {
                let Some(field) = precondition.get("field").str() else { continue };
                let payloads =
                    || packets.iter().filter_map(|(id, (packet, _))| Some((*id, packet.get("payload")?)));
                if let Some([one, other]) =
                    disputes.entry(field).or_insert_with(|| dispute(payloads(), field))
                {
                    let message = format!(
                        "V-EVID-022: evidence `{}` and `{}` disagree on `{}`",
                        shorten(one),
                        shorten(other),
                        shorten(field)
                    );
                    found.at(reference, message);
                }
            }
        }
    }
}

/// Two packets that disagree on a field.
fn dispute<'v>(
    payloads: impl Iterator<Item = (&'v str, &'v Value<'v>)>,
    field: &str,
) -> Option<[&'v str; 2]> {
    let mut values = payloads.filter_map(|(id, payload)| Some((id, field_value(payload, field)?)));
    let (first, value) = values.next()?;
    values.find(|(_, other)| !other.same_as(value)).map(|(other, _)| [first, other])
}

/// V-PROP-014.
fn approval_is_possible(facts: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    let class = proposal.get("approval_class");
    let (Some(approvers), Some(name)) = (facts.approvers, class.str()) else { return };
    let needed = match name {
        "single" => 1,
        "dual" => 2,
        "threshold" => approvers.threshold,
        _ => return,
    };
    if needed > approvers.eligible {
        found.at(
            class,
            format!("`{name}` needs {needed} approvals, but only {} may approve", approvers.eligible),
        );
    }
}

/// V-PROP-015.
fn effects_are_disjoint(_: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    let envelope = proposal.get("risk_envelope");
    let mut allowed = BTreeSet::new();
    for effect in envelope.get("allowed_side_effects").elements() {
        allowed.extend(effect.str());
    }
    for effect in envelope.get("forbidden_effects").elements() {
        if let Some(name) = effect.str().filter(|name| allowed.contains(name)) {
            found.at(effect, format!("`{}` is allowed as well", shorten(name)));
        }
    }
}

/// The value that a precondition's `field` names in a payload: a JSON Pointer, or a dotted path.
pub fn field_value<'v>(payload: &'v Value<'v>, field: &str) -> Option<&'v Value<'v>> {
    let step = |value: &'v Value<'v>, token: &str| match value {
        // As RFC 6901 has it: no sign, and no zero in front.
        Value::Array(elements) if token == "0" || token.starts_with(|first| matches!(first, '1'..='9')) => {
            elements.get(token.parse::<usize>().ok()?)
        }
        Value::Array(_) => None,
        _ => value.get(token),
    };
    match field.strip_prefix('/') {
        Some(pointer) => pointer
            .split('/')
            .try_fold(payload, |value, token| step(value, &token.replace("~1", "/").replace("~0", "~"))),
        None => match payload.get(field) {
            Some(value) => Some(value),
            None => field.split('.').try_fold(payload, step),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::extent;
    use ordain_canon::{Canonicalizer, Value};

    #[test]
    fn no_value_is_longer_than_its_bound() {
        for (text, depth) in [
            (r#"{}"#, 1),
            (r#"{"a":[[],{}],"b":null}"#, 3),
            (r#"["\u0001\u0002\u0003","\\\"\n","\u00e9\ud83d\ude00"]"#, 1),
            (r#"{"\u001f\u001f":[-1.2345678901234567e-300,-9007199254740991,1e300,true,false,null]}"#, 2),
            (r#"[-0.0000012345678901234567,-1.5,0.1]"#, 1),
        ] {
            let value = Value::read(text.as_bytes());
            let value = value.unwrap_or(Value::Null);
            let bytes = Canonicalizer::new().value(&value).map(<[u8]>::len).unwrap_or(usize::MAX);
            let extent = extent(&value);
            assert!(bytes <= extent.bytes_at_most, "{text}: {bytes} > {}", extent.bytes_at_most);
            assert_eq!(extent.depth, depth, "{text}");
        }
    }
}
