//! Headers that say the same as the body. A server or a proxy may go by them, so they must.

use crate::message::Message;
use base64ct::{Base64, Encoding};
use hyper::header::{HeaderMap, HeaderName};
use serde::Deserialize;
use serde_json::Value as Json;

pub(super) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) static REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A header and the body disagree.
pub(super) const HEADER_MISMATCH: i64 = -32020;

#[derive(Default, Deserialize)]
struct Params {
    #[serde(default)]
    name: Option<Json>,
    #[serde(default)]
    uri: Option<Json>,
    #[serde(default, rename = "taskId")]
    task_id: Option<Json>,
    #[serde(default, rename = "_meta")]
    meta: Option<Json>,
}

/// The only value of a header. Two are a way to be read in two ways.
pub(super) fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| format!("the header `{name}` is not plain text"))
        }
        _ => Err(format!("the header `{name}` comes twice")),
    }
}

/// That the headers of a message say the same as its body.
pub(super) fn check(headers: &HeaderMap, message: &Message<'_>) -> Result<(), String> {
    let given = (one(headers, &METHOD)?, one(headers, &NAME)?, one(headers, &REVISION)?);
    one(headers, &SESSION)?;
    if given == (None, None, None) {
        return Ok(());
    }
    let (method, params) = match message {
        Message::Request { method, params, .. } | Message::Notification { method, params } => {
            (method, *params)
        }
        Message::Response { .. } | Message::LooseError => return Ok(()),
    };
    let params = params.and_then(|params| serde_json::from_str::<Params>(params).ok()).unwrap_or_default();
    let (given_method, given_name, revision) = given;
    if given_method.is_some_and(|given| given.trim() != method) {
        return Err(format!("the header `Mcp-Method` does not say `{method}`, as the body does"));
    }
    let name = params.name.or(params.uri).or(params.task_id);
    if let Some(given) = given_name {
        let given = decoded(given.trim()).ok_or("the header `Mcp-Name` cannot be decoded")?;
        if let Some(name) = name.as_ref().and_then(Json::as_str)
            && name != given
        {
            return Err(format!("the header `Mcp-Name` does not say `{name}`, as the body does"));
        }
    }
    let meta = params.meta.as_ref().and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"));
    if let (Some(given), Some(said)) = (revision, meta.and_then(Json::as_str))
        && given.trim() != said
    {
        return Err(format!("the header `MCP-Protocol-Version` does not say `{said}`, as the body does"));
    }
    Ok(())
}

/// The text of a header that may be written in base64.
fn decoded(text: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix("=?base64?").and_then(|text| text.strip_suffix("?=")) else {
        return Some(text.to_owned());
    };
    String::from_utf8(Base64::decode_vec(inner).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(headers: &[(&'static str, &'static str)], body: &str) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        check(&map, &Message::of_client(body.as_bytes()).unwrap()).is_ok()
    }

    #[test]
    fn headers_and_body_say_the_same() {
        let call = r#"{"id":1,"method":"tools/call","params":{"name":"delete","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert!(agree(&[], call));
        assert!(agree(
            &[("mcp-method", "tools/call"), ("mcp-name", "delete"), ("mcp-protocol-version", "2026-07-28")],
            call
        ));
        assert!(agree(&[("mcp-name", "=?base64?ZGVsZXRl?=")], call));
        for headers in [
            &[("mcp-name", "echo")][..],
            &[("mcp-name", "=?base64?ZWNobw==?=")],
            &[("mcp-name", "=?base64?%?=")],
            &[("mcp-method", "tools/list")],
            &[("mcp-protocol-version", "2025-11-25")],
            &[("mcp-name", "delete"), ("mcp-name", "echo")],
            &[("mcp-session-id", "a"), ("mcp-session-id", "b")],
        ] {
            assert!(!agree(headers, call), "{headers:?}");
        }
        assert!(agree(&[("mcp-protocol-version", "2025-11-25")], r#"{"id":1,"method":"ping"}"#));
    }
}
