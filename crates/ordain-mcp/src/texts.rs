//! The gateway's own answers. A model reads the text of a result; programs read its `_meta`.

use ordain_api::{ActionState, ActionStatus};
use ordain_canon::time::moment;
use ordain_spec::approval::Verdict;
use serde_json::{Value as Json, json};

/// Why a call was not carried out, or why nobody knows.
pub(crate) struct Refusal {
    pub(crate) text: String,
    pub(crate) meta: Json,
}

fn refusal(word: &str, text: String, action: Option<&ActionStatus>) -> Refusal {
    let meta = match action {
        Some(action) => {
            json!({"state": word, "action_id": action.action_id, "expires_at_ms": action.expires_at_ms})
        }
        None => json!({"state": word}),
    };
    Refusal { text, meta: json!({"org.ordain/call": meta}) }
}

/// Approvals are missing.
pub(crate) fn held(tool: &str, action: &ActionStatus) -> Refusal {
    let id = &action.action_id;
    let missing = action
        .decision
        .approvals
        .required
        .saturating_sub(u64::try_from(action.decision.approvals.have.len()).unwrap_or(0));
    let until = action.expires_at_ms.map(|end| format!(" until {}", moment(end))).unwrap_or_default();
    let text = format!(
        "HELD ({id}): nothing was done. `{tool}` waits for {missing} approval(s){until}. A person approves with `ordain approve {id}`. \
         Repeat the identical call after approval: with exactly the same arguments it runs then; changed arguments are a new request. \
         Do not work around it."
    );
    refusal("held", text, Some(action))
}

/// The question that a client shows while a call is held. No answer to it is an approval.
pub(crate) fn question(tool: &str, action: &ActionStatus) -> String {
    let id = &action.action_id;
    format!(
        "`{}` is held and waits for approval ({id}). Nothing was done yet. A person approves with `ordain approve {id}`; your answer \
         here does not approve it.",
        shown(tool)
    )
}

/// An answer that is no: somebody rejected it, nobody approved it in time, or the policies deny it.
pub(crate) fn denied(tool: &str, action: &ActionStatus) -> Refusal {
    let id = &action.action_id;
    if action.state == ActionState::Expired {
        let text = format!(
            "EXPIRED ({id}): nothing was done. Nobody approved `{tool}` in time. Call it again only if it is still needed: that asks anew."
        );
        return refusal("expired", text, Some(action));
    }
    if let Some(rejection) = action.approvals.iter().find(|approval| approval.verdict == Verdict::Reject) {
        let text = format!(
            "REJECTED ({id}): nothing was done. {} rejected `{tool}`: {} Do not repeat the call; change it or ask the user.",
            shown(rejection.approver.as_str()),
            sentence(&rejection.reason)
        );
        return refusal("rejected", text, Some(action));
    }
    let reasons = action
        .decision
        .reasons
        .iter()
        .map(|reason| format!("[{}] {}", reason.rule_id, shown(&reason.message)));
    let reasons: Vec<String> = reasons.collect();
    let text = format!(
        "DENIED ({id}): nothing was done. The policies do not allow `{tool}`: {} Do not repeat the call.",
        sentence(&reasons.join("; "))
    );
    refusal("denied", text, Some(action))
}

/// The gate was not asked, or its answer cannot be trusted.
pub(crate) fn undecided(tool: &str, problem: &str) -> Refusal {
    refusal(
        "undecided",
        format!("NOT DECIDED: nothing was done. `{tool}` was not sent: {}", sentence(&shown(problem))),
        None,
    )
}

/// The server has the call and said nothing.
pub(crate) fn unknown(tool: &str, problem: &str) -> Refusal {
    let text = format!(
        "UNKNOWN: nobody knows whether `{tool}` was carried out: {} Look at its effect before you repeat it.",
        sentence(&shown(problem))
    );
    refusal("unknown", text, None)
}

/// The server answered with more than is relayed.
pub(crate) fn too_long(tool: &str, bytes: u64, bytes_max: usize) -> Refusal {
    let text = format!(
        "TOO LONG: `{tool}` was carried out, and its result of {bytes} bytes is not relayed (at most {bytes_max}). Ask for less, such as a part."
    );
    refusal("too_long", text, None)
}

/// A result that says no.
pub(crate) fn error_result(id: &str, refusal: &Refusal, is_modern: bool) -> Vec<u8> {
    let content = json!([{"type": "text", "text": refusal.text}]);
    let result = if is_modern {
        json!({"content": content, "isError": true, "_meta": refusal.meta, "resultType": "complete"})
    } else {
        json!({"content": content, "isError": true, "_meta": refusal.meta})
    };
    // The id goes back as it came.
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
}

/// A result of the gateway's own.
pub(crate) fn result(id: &str, result: &Json) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
}

/// An error of the protocol.
pub(crate) fn error(id: Option<&str>, code: i64, message: &str) -> Vec<u8> {
    let error = json!({"code": code, "message": message});
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", id.unwrap_or("null")).into_bytes()
}

/// A note that a call waits.
pub(crate) fn progress(token: &Json, step: u32, message: &str) -> Vec<u8> {
    // Small steps: the server counts on its own from where it likes.
    let params = json!({"progressToken": token, "progress": f64::from(step) / 1e6, "message": message});
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{params}}}").into_bytes()
}

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// Outside of the codes that JSON-RPC and MCP keep for themselves.
pub(crate) const NOT_RELAYED: i64 = -31_000;

/// Text from outside, without characters that change how the rest looks.
pub(crate) fn shown(text: &str) -> String {
    let hidden = |character: char| character.is_control() || ordain_spec::is_invisible(character);
    text.chars().map(|character| if hidden(character) { '\u{fffd}' } else { character }).collect()
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
