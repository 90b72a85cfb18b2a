//! Action proposals, the older requests, and the evidence packets that they rest on.

use super::time::{duration, instant};
use crate::page::{Column, Page};
use crate::wording::{word, yes_no};
use ordain_spec::action::{
    EvidenceBinding, KernelRequest, Precondition, Proposal, RiskEnvelope, RollbackSpec, Target, TimeWindow,
};
use ordain_spec::packet::EvidencePacket;
use serde_json::{Map, Value as Json};

pub(super) fn show(page: &mut Page, proposal: &Proposal) {
    page.title("action proposal", &proposal.proposal_id);
    page.label("actor", proposal.actor.as_str());
    page.label("made", &instant(proposal.ts_ms));
    page.label("action", &word(&proposal.action_type));
    page.label("target", &target_line(&proposal.target));
    page.label("approval", &proposal.approval_class.as_ref().map_or("as the policy says".to_owned(), word));
    if let Some(window) = &proposal.time_window {
        time_window(page, window);
    }
    object(page, "Target constraints", &proposal.target.constraints);
    page.section("Parameters");
    page.json(&proposal.parameters);
    if let Some(conditions) = &proposal.preconditions {
        preconditions(page, conditions);
    }
    if let Some(risk) = &proposal.risk_envelope {
        risk_envelope(page, risk);
    }
    if let Some(rollback) = &proposal.rollback_semantics {
        show_rollback(page, rollback);
    }
    if let Some(bindings) = &proposal.evidence_bindings {
        show_bindings(page, bindings);
    }
}

fn target_line(target: &Target) -> String {
    let [kind, id, domain] =
        [&target.resource_type, &target.resource_id, &target.domain].map(|part| part.as_str());
    format!("{kind} {id} in {domain}")
}

fn time_window(page: &mut Page, window: &TimeWindow) {
    page.label("valid from", &instant(window.valid_from_ms));
    page.label("until", &instant(window.valid_until_ms));
    page.label("at most", &duration(window.max_duration_ms));
}

fn object(page: &mut Page, name: &str, object: &Map<String, Json>) {
    if !object.is_empty() {
        page.section(name);
        page.json(object);
    }
}

fn preconditions(page: &mut Page, conditions: &[Precondition]) {
    // They are compared with evidence, which is not at hand here.
    page.counted_section("Preconditions, not checked here", conditions.len());
    for it in conditions {
        let operator = word(&it.operator);
        page.item(&format!("{} {operator} {}  in {}", it.field.as_str(), it.value, it.evidence_ref));
    }
}

fn risk_envelope(page: &mut Page, risk: &RiskEnvelope) {
    page.section("Risk");
    let list = |effects: &[String]| if effects.is_empty() { "none".to_owned() } else { effects.join(", ") };
    page.label("allowed", &list(&risk.allowed_side_effects));
    page.label("forbidden", &list(&risk.forbidden_effects));
    page.label("records", &format!("at most {}", risk.max_affected_records));
    page.label("reversible", if risk.reversible_required { "required" } else { "not required" });
}

fn show_rollback(page: &mut Page, rollback: &RollbackSpec) {
    page.section("Rollback");
    page.label("strategy", &word(&rollback.strategy));
    if let Some(ms) = rollback.deadline_ms {
        page.label("deadline", &instant(ms));
    }
    if let Some(action) = &rollback.action {
        page.label("action", &format!("{} {}", word(&action.action_type), target_line(&action.target)));
        page.json(&action.parameters);
    }
}

fn show_bindings(page: &mut Page, bindings: &[EvidenceBinding]) {
    page.counted_section("Evidence", bindings.len());
    let row = |it: &EvidenceBinding| {
        let required = yes_no(it.required).to_owned();
        vec![word(&it.binding_type), required, duration(it.freshness_ms), it.evidence_id.as_str().to_owned()]
    };
    let columns =
        [Column::Left("for"), Column::Left("required"), Column::Left("at most old"), Column::Left("packet")];
    page.table(&columns, bindings.iter().map(row), |_, _, _| {});
}

/// A request names a tool; which action that is, the policy says.
pub(super) fn show_request(page: &mut Page, request: &KernelRequest) {
    page.title("kernel request", &request.request_id);
    page.label("actor", request.actor.as_str());
    page.label("made", &instant(request.ts_ms));
    page.text_label("intent", &request.intent);
    page.label("tool", request.tool_call.as_ref().map_or("none", |call| call.name.as_str()));
    let call_params = request.tool_call.as_ref().and_then(|call| call.params.as_ref());
    for params in call_params.into_iter().chain(&request.params) {
        object(page, "Parameters", params);
    }
    if let Some(evidence) = &request.evidence {
        page.counted_section("Evidence", evidence.len());
        for entry in evidence {
            page.item(&entry.as_str().map_or_else(|| entry.to_string(), str::to_owned));
        }
    }
}

pub(super) fn show_packet(page: &mut Page, packet: &EvidencePacket) {
    page.title("evidence packet", packet.evidence_id.as_str());
    page.label("type", &word(&packet.packet_type));
    page.label("sensor", &format!("{} ({})", packet.sensor_id.as_str(), packet.sensor_type.as_str()));
    page.label("observed", &instant(packet.observed_at_ms));
    page.label("received", &instant(packet.received_at_ms));
    page.label("signature", packet.sensor_signature.as_deref().unwrap_or("none"));
    page.label("hash", packet.payload_hash.as_str());
    page.section("Payload");
    page.json(&packet.payload);
    if let Some(context) = &packet.context {
        object(page, "Context", context);
    }
}
