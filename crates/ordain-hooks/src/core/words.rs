//! Reasons, written for a model: what was refused, by which rule, what to do instead, and whether to try again.

use super::limits::REASON_BYTES_MAX;
use ordain_canon::time::rfc3339_millis;
use ordain_spec::decision::Decision;

/// One line of plain characters, not longer than a model needs.
pub(crate) fn one_line(text: &str) -> String {
    let plain: String =
        text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    head(&words.join(" "), REASON_BYTES_MAX)
}

/// The beginning of a text, cut between two characters.
pub(crate) fn head(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// The hook cannot tell whether the call is allowed.
pub(crate) fn unanswered(problem: &str) -> String {
    format!(
        "ordain: the call was not run, because the gate gave no answer: {problem}. Do not try another way around it; tell the user. \
         They can run `ordain doctor`."
    )
}

/// The gate denied the call.
pub(crate) fn denied(action_id: &str, decision: &Decision) -> String {
    let reasons: Vec<String> =
        decision.reasons.iter().map(|reason| format!("[{}] {}", reason.rule_id, reason.message)).collect();
    let reasons = if reasons.is_empty() { "no policy permits it".to_owned() } else { reasons.join("; ") };
    format!(
        "ordain DENY {reasons}. The call was not run. Do not retry it. Choose another way or ask the user. ({action_id})"
    )
}

/// A person said no.
pub(crate) fn rejected(action_id: &str, reason: &str) -> String {
    let reason = if reason.is_empty() { "no reason given" } else { reason };
    format!(
        "ordain REJECTED by a person: {reason}. The call was not run. Do not retry it; do what the reason says or ask the user. \
         ({action_id})"
    )
}

/// The call waits for a person.
pub(crate) fn held(action_id: &str, missing: u64, until_ms: Option<u64>) -> String {
    let approvals = if missing == 1 { "1 approval".to_owned() } else { format!("{missing} approvals") };
    let until = until_ms.and_then(rfc3339_millis).map(|until| format!(" until {until}")).unwrap_or_default();
    format!(
        "ordain HOLD: held; repeat the identical call after approval. It waits for {approvals}{until}, and was not run. Ask the user to \
         run `ordain approve {action_id}`, go on with other work, then repeat the call exactly as it was: a changed call needs its own \
         approval. ({action_id})"
    )
}

/// Another call used the approval that this one waited for.
pub(crate) fn used_by_other(action_id: &str) -> String {
    format!(
        "ordain: the approval was for one call, and an identical call used it. This one was not run. Repeat it only if it is needed \
         again; it will be held anew. ({action_id})"
    )
}

/// Nobody knows whether an earlier call that does the same was carried out.
pub(crate) fn unsettled(problem: &str) -> String {
    format!(
        "ordain HOLD: held, because {problem}. The call was not run. Ask the user to look whether the earlier one happened and to say \
         so with `ordain approve`; then repeat this call exactly as it was, if it is still needed."
    )
}

/// For the person in front of the host, while a call waits.
pub(crate) fn waiting(action_id: &str, minutes_left: u64) -> String {
    format!("ordain: held for {minutes_left} min at most; `ordain approve {action_id}` answers it")
}

/// The same, while a person finds out how an equal call went.
pub(crate) fn waiting_for_settlement(minutes_left: u64) -> String {
    format!(
        "ordain: held for {minutes_left} min at most; did the same call before happen? `ordain approve` asks"
    )
}
