//! Calls of tools of MCP servers: whether the tool is the one that an owner approved.

use ordain_canon::Value;
use ordain_spec::mcp::{GET_PROMPT, PinMode, Pins, READ_RESOURCE, ToolState};

/// The server that a call is for, as its gateway says.
pub fn mcp_server_of<'d>(document: &'d Value<'_>) -> Option<&'d str> {
    document.get("parameters")?.get("mcp")?.get("server")?.as_str()
}

/// Why a call is not one of an approved tool.
pub(super) fn problem(document: &Value<'_>, mode: PinMode, pins: Option<&Pins>) -> Option<String> {
    let server = mcp_server_of(document)?;
    let said = |name: &str| document.get("parameters")?.get("mcp")?.get(name)?.as_str();
    let Some(tool) = said("tool") else { return Some(format!("the call names no tool of `{server}`")) };
    let state = pins.map_or(ToolState::New, |pins| pins.state_of(tool, said("pin")));
    if state == ToolState::Blocked {
        return Some(format!("the tool `{tool}` of the MCP server `{server}` is blocked"));
    }
    if mode == PinMode::Off {
        return None;
    }
    let not_approved = || Some(format!("the MCP server `{server}` is not approved"));
    let Some(pins) = pins.filter(|pins| pins.server == server) else { return not_approved() };
    if let Some(problem) = pins.server_problem(said("upstream").unwrap_or_default(), said("instructions")) {
        return Some(format!("the MCP server `{server}` {problem}"));
    }
    let is_tool = tool != READ_RESOURCE && !tool.starts_with(GET_PROMPT);
    match state {
        _ if !is_tool => None,
        ToolState::Approved => None,
        _ if said("pin").is_none() => {
            Some(format!("the server `{server}` has not listed the tool `{tool}` in this session"))
        }
        ToolState::Changed => Some(format!(
            "the definition of the tool `{tool}` of the MCP server `{server}` changed after it was approved"
        )),
        ToolState::New | ToolState::Gone | ToolState::Blocked => {
            Some(format!("the tool `{tool}` of the MCP server `{server}` is not approved"))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use ordain_spec::mcp::{Listing, hash_of};
    use serde_json::{Value as Json, json};
    use std::collections::{BTreeMap, BTreeSet};

    fn found(mcp: &Json, mode: PinMode, pins: Option<&Pins>) -> Option<String> {
        let text = json!({"parameters": {"mcp": mcp}}).to_string();
        problem(&Value::read(text.as_bytes()).unwrap(), mode, pins)
    }

    #[test]
    fn only_the_approved_definition_passes() {
        let definition = json!({"name": "a", "description": "x"});
        let listing = Listing {
            upstream: "sha256:u".to_owned(),
            instructions: Some("be nice".to_owned()),
            tools: BTreeMap::from([("a".to_owned(), definition.clone()), ("b".to_owned(), json!({}))]),
        };
        let pins = Pins::none("s", None).approving(&listing, "sha256:l", &BTreeSet::from(["b".to_owned()]));
        let call = |with: Json| {
            let mut call = json!({"server": "s", "tool": "a", "upstream": "sha256:u", "pin": hash_of(&definition),
                "instructions": listing.instructions_hash()});
            call.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
            call
        };
        let judged = |with: Json| found(&call(with), PinMode::Review, Some(&pins));
        assert_eq!(judged(json!({})), None);
        assert_eq!(judged(json!({"tool": "resources/read", "pin": null})), None);
        for (with, expected) in [
            (json!({"pin": hash_of(&json!({"name": "a"}))}), "changed"),
            (json!({"pin": null}), "not listed"),
            (json!({"tool": "b"}), "is not approved"),
            (json!({"tool": null}), "names no tool"),
            (json!({"upstream": "sha256:v"}), "another command"),
            (json!({"instructions": "sha256:i"}), "other instructions"),
            (json!({"server": "t"}), "`t` is not approved"),
        ] {
            let problem = judged(with.clone()).unwrap_or_default();
            assert!(problem.contains(expected), "{with}: {problem}");
        }
        for mode in [PinMode::Review, PinMode::FirstUse] {
            assert!(found(&call(json!({})), mode, None).is_some());
        }
        assert_eq!(found(&call(json!({})), PinMode::Off, None), None);
        let blocked = Pins { blocked: BTreeSet::from(["a".to_owned()]), ..pins };
        assert!(found(&call(json!({})), PinMode::Off, Some(&blocked)).unwrap().contains("blocked"));
        // Nothing else is about a server.
        assert_eq!(found(&json!(1), PinMode::Review, None), None);
    }
}
