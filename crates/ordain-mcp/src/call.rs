//! A call of the client as a request to the gate.

use crate::abilities::Abilities;
use crate::limits::{ARGUMENTS_BYTES_MAX, HEAD_CHARACTERS, VALUE_BYTES_MAX};
use ordain_canon::{Canonicalizer, ContentHash, push_pointer_token};
use ordain_spec::mcp::{GET_PROMPT, READ_RESOURCE, tool_name_fault};
use serde_json::{Map, Value as Json, json};

/// A request of the client that the gate judges.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    /// As `tools.toml` knows it, without the server.
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Json>,
    /// Further members of the request, which reach the server.
    further: Map<String, Json>,
    /// For notes about progress, as the client wrote it.
    pub(crate) progress_token: Option<Json>,
    /// Whether it follows the revisions without `initialize`, whose results name their type.
    pub(crate) is_modern: bool,
    /// How its client can hear of a hold, if the call says so itself.
    pub(crate) abilities: Abilities,
}

impl Call {
    pub(crate) fn read(method: &str, params: Option<&str>) -> Result<Self, String> {
        let params: Json = match params {
            Some(text) => serde_json::from_str(text).map_err(|error| error.to_string())?,
            None => Json::Null,
        };
        let Json::Object(mut params) = params else { return Err("`params` is not an object".to_owned()) };
        let meta = params.remove("_meta").unwrap_or_default();
        let progress_token = meta.get("progressToken").filter(|token| token.is_string() || token.is_number());
        let progress_token = progress_token.cloned();
        let is_modern = meta.get("io.modelcontextprotocol/protocolVersion").is_some();
        let abilities = meta.get("io.modelcontextprotocol/clientCapabilities").filter(|_| is_modern);
        let abilities = abilities.map(Abilities::of).unwrap_or_default();
        let (tool, arguments) = if method == "resources/read" {
            let uri = text(&mut params, "uri")?;
            (READ_RESOURCE.to_owned(), Map::from_iter([("uri".to_owned(), Json::String(uri))]))
        } else {
            let name = text(&mut params, "name")?;
            if let Some(fault) = tool_name_fault(&name) {
                return Err(format!("the name of the tool {fault}"));
            }
            let arguments = match params.remove("arguments") {
                None => Map::new(),
                Some(Json::Object(arguments)) => arguments,
                Some(_) => return Err("`params.arguments` is not an object".to_owned()),
            };
            (if method == "prompts/get" { format!("{GET_PROMPT}{name}") } else { name }, arguments)
        };
        Ok(Self { tool, arguments, further: params, progress_token, is_modern, abilities })
    }

    /// The parameters of the action: every argument under its own name, and under `mcp` which server is called and how.
    pub(crate) fn parameters(
        &self,
        server: &str,
        upstream: &str,
        pins: Map<String, Json>,
    ) -> Result<Map<String, Json>, String> {
        let mut long = Vec::new();
        let arguments = shortened_members(&self.arguments, &mut String::new(), &mut long);
        let mut mcp = Map::from_iter([
            ("server".to_owned(), json!(server)),
            ("tool".to_owned(), json!(self.tool)),
            ("upstream".to_owned(), json!(upstream)),
        ]);
        mcp.extend(pins);
        if !self.further.is_empty() {
            mcp.insert("further".to_owned(), Json::Object(self.further.clone()));
        }
        if !long.is_empty() {
            // Without this, an argument that looks like a shortened one would be the same action.
            mcp.insert("shortened".to_owned(), json!(long));
        }
        let mut parameters = if arguments.contains_key(OWN) {
            mcp.insert("arguments_in".to_owned(), json!("input"));
            Map::from_iter([("input".to_owned(), Json::Object(arguments))])
        } else {
            arguments
        };
        parameters.insert(OWN.to_owned(), Json::Object(mcp));
        let written = serde_json::to_vec(&self.arguments).map_err(|error| error.to_string())?;
        if written.len() > ARGUMENTS_BYTES_MAX {
            return Err(format!(
                "its arguments have {} bytes, and at most {ARGUMENTS_BYTES_MAX} are judged",
                written.len()
            ));
        }
        Ok(parameters)
    }

    /// The same for two rounds of one call.
    pub(crate) fn round_key(&self, state: Option<&str>) -> Option<String> {
        let mut canon = Canonicalizer::new();
        let form = json!({"tool": self.tool, "arguments": self.arguments, "state": state});
        canon.value(&form).ok().map(|bytes| ContentHash::of(bytes).to_string())
    }

    /// The server's own state and answers that this round brings.
    pub(crate) fn round_parts(&self) -> (Option<&Json>, Option<&Json>) {
        (self.further.get("requestState"), self.further.get("inputResponses"))
    }

    /// The state by which the server recognises a later round of a call, if this may be one.
    pub(crate) fn answers_round(&self) -> Option<Option<&str>> {
        let state = self.further.get("requestState").and_then(Json::as_str);
        (state.is_some() || self.further.contains_key("inputResponses")).then_some(state)
    }
}

/// The member of the parameters that the gateway writes.
const OWN: &str = "mcp";

fn text(params: &mut Map<String, Json>, name: &str) -> Result<String, String> {
    match params.remove(name) {
        Some(Json::String(text)) if !text.is_empty() => Ok(text),
        _ => Err(format!("`params.{name}` is not a text")),
    }
}

fn shortened_members(
    members: &Map<String, Json>,
    pointer: &mut String,
    long: &mut Vec<String>,
) -> Map<String, Json> {
    let mut shorter = Map::new();
    for (name, value) in members {
        let length = pointer.len();
        push_pointer_token(pointer, name);
        shorter.insert(name.clone(), shortened(value, pointer, long));
        pointer.truncate(length);
    }
    shorter
}

fn shortened(value: &Json, pointer: &mut String, long: &mut Vec<String>) -> Json {
    match value {
        Json::String(text) if text.len() > VALUE_BYTES_MAX => {
            long.push(pointer.clone());
            let head: String = text.chars().take(HEAD_CHARACTERS).collect();
            json!({"sha256": ContentHash::of(text.as_bytes()).to_string(), "bytes": text.len(), "head": head})
        }
        Json::Array(elements) => {
            let mut shorter = Vec::new();
            for (position, element) in elements.iter().enumerate() {
                let length = pointer.len();
                push_pointer_token(pointer, &position.to_string());
                shorter.push(shortened(element, pointer, long));
                pointer.truncate(length);
            }
            Json::Array(shorter)
        }
        Json::Object(members) => Json::Object(shortened_members(members, pointer, long)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(params: &Json) -> Json {
        let call = Call::read("tools/call", Some(&params.to_string())).unwrap();
        Json::Object(call.parameters("fs", "sha256:u", Map::new()).unwrap())
    }

    #[test]
    fn the_mapping_is_total() {
        let found =
            parameters(&json!({"name": "write", "arguments": {"path": "a", "n": 3}, "task": {"ttl": 1},
            "_meta": {"progressToken": 1, "session": "x"}}));
        let expected = json!({"path": "a", "n": 3,
            "mcp": {"server": "fs", "tool": "write", "upstream": "sha256:u", "further": {"task": {"ttl": 1}}}});
        assert_eq!(found, expected);
    }

    #[test]
    fn two_calls_never_have_the_same_parameters() {
        let long = "x".repeat(VALUE_BYTES_MAX + 1);
        let short = json!({"sha256": ContentHash::of(long.as_bytes()).to_string(), "bytes": long.len(),
            "head": "x".repeat(HEAD_CHARACTERS)});
        let of = |arguments: Json| parameters(&json!({"name": "t", "arguments": arguments}));
        let shortened = of(json!({"c": [long]}));
        assert_eq!(shortened["c"][0], short);
        assert_eq!(shortened["mcp"]["shortened"], json!(["/c/0"]));
        assert_ne!(shortened, of(json!({"c": [short]})));
        // An argument of the gateway's own name moves all of them.
        assert_ne!(of(json!({"mcp": {"tool": "u"}})), of(json!({"input": {"mcp": {"tool": "u"}}})));
        assert_eq!(of(json!({"mcp": 1}))["mcp"]["tool"], "t");
    }

    #[test]
    fn bad_calls_are_refused() {
        for params in [
            json!({}),
            json!([]),
            json!({"name": ""}),
            json!({"name": 3}),
            json!({"name": "a\u{200b}"}),
            json!({"name": "a\nb"}),
            json!({"name": "x".repeat(200)}),
            json!({"name": "resources/read"}),
            json!({"name": "prompts/get/a"}),
            json!({"name": "a", "arguments": "b"}),
            json!({"name": "a", "arguments": null}),
        ] {
            assert!(Call::read("tools/call", Some(&params.to_string())).is_err(), "{params}");
        }
        assert!(Call::read("tools/call", None).is_err());
    }
}
