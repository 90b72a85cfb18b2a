//! JSON-RPC messages: read strictly, told apart, never written anew.

use ordain_canon::Value;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The id of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Id {
    pub(crate) key: IdKey,
    /// As the requester wrote it.
    pub(crate) text: String,
}

/// Two ids with the same key are the same: `1` and `1.0`, but not `"1"`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum IdKey {
    Number(u64),
    Text(String),
}

impl Id {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let key = match Value::read(text.as_bytes()).ok()? {
            // Zero has two forms.
            Value::Number(number) => IdKey::Number((number + 0.0).to_bits()),
            Value::String(text) => IdKey::Text(text.into_owned()),
            _ => return None,
        };
        Some(Self { key, text: text.to_owned() })
    }
}

/// The members of a message that tell what it is.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The members of an object in their order, each as it was written.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> serde::de::Visitor<'de> for Reader {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                text.write_str("an object")
            }

            fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Reader).map(Self)
    }
}

/// A message, as far as it must be understood.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request {
        id: Id,
        method: String,
        params: Option<&'a str>,
    },
    Notification {
        method: String,
        params: Option<&'a str>,
    },
    Response {
        id: Id,
        result: Option<&'a str>,
        error: Option<&'a str>,
    },
    /// An error that belongs to no request.
    LooseError,
}

/// Why a message is not relayed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("the message is not JSON that every reader takes for the same: {0}")]
    Json(String),
    #[error("the message is a batch")]
    Batch,
    #[error("the message is not a JSON-RPC request, response or notification: {0}")]
    Shape(String),
}

impl<'a> Message<'a> {
    /// A message of the client. Every part of it is unambiguous: what is judged is what any server reads.
    pub(crate) fn of_client(line: &'a [u8]) -> Result<Self, MessageError> {
        let value = Value::read(line).map_err(|error| MessageError::Json(error.to_string()))?;
        let Some(members) = value.as_object() else {
            return Err(match value {
                Value::Array(_) => MessageError::Batch,
                other => MessageError::Shape(format!("it is {}", other.kind())),
            });
        };
        check_names(members.iter().map(|(name, _)| name.as_ref()), &ENVELOPE)?;
        let message = Self::of_server(line)?;
        if let Self::Request { method, .. } | Self::Notification { method, .. } = &message
            && GATED_METHODS.contains(&method.as_str())
            && let Some(params) = value.get("params").and_then(Value::as_object)
        {
            check_names(params.iter().map(|(name, _)| name.as_ref()), &PARAMS)?;
            let arguments = params.iter().find(|(name, _)| name == "arguments");
            if let Some(members) = arguments.and_then(|(_, arguments)| arguments.as_object()) {
                check_distinct(members.iter().map(|(name, _)| name.as_ref()))?;
            }
        }
        Ok(message)
    }

    /// A message of the server. Its outermost members are unambiguous; results pass as they are.
    pub(crate) fn of_server(line: &'a [u8]) -> Result<Self, MessageError> {
        let text = std::str::from_utf8(line).map_err(|error| MessageError::Json(error.to_string()))?;
        if text.trim_start().starts_with('[') {
            return Err(MessageError::Batch);
        }
        let envelope: Envelope<'a> =
            serde_json::from_str(text).map_err(|error| MessageError::Json(error.to_string()))?;
        let Envelope { id, method, params, result, error } = envelope;
        let shape = |problem: &str| MessageError::Shape(problem.to_owned());
        let wrong_id = || shape("its id is neither a string nor a number that every reader keeps");
        let id = id.map(|id| Id::parse(id.get()).ok_or_else(wrong_id)).transpose()?;
        let params = params.map(RawValue::get);
        match (id, method) {
            (_, Some(_)) if result.is_some() || error.is_some() => {
                Err(shape("it is a request and a response"))
            }
            (Some(id), Some(method)) => Ok(Self::Request { id, method, params }),
            (None, Some(method)) => Ok(Self::Notification { method, params }),
            (_, None) if result.is_some() && error.is_some() => Err(shape("it has a result and an error")),
            (Some(id), None) if result.is_some() || error.is_some() => {
                Ok(Self::Response { id, result: result.map(RawValue::get), error: error.map(RawValue::get) })
            }
            (None, None) if error.is_some() => Ok(Self::LooseError),
            // `"result": null` reads as no result.
            (Some(id), None) if has_member(text, "result") => {
                Ok(Self::Response { id, result: None, error: None })
            }
            _ => Err(shape("it has neither a method nor a result")),
        }
    }
}

fn has_member(text: &str, name: &str) -> bool {
    Value::read(text.as_bytes()).is_ok_and(|value| value.get(name).is_some())
}

/// The methods that the gate may judge.
pub(crate) const GATED_METHODS: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];

const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
const PARAMS: [&str; 7] = ["name", "arguments", "_meta", "task", "uri", "inputResponses", "requestState"];

/// Some servers read names without regard to case. A second spelling of a name would be judged as nothing and read as
/// that name.
fn check_names<'n>(names: impl Iterator<Item = &'n str>, known: &[&str]) -> Result<(), MessageError> {
    for name in names {
        let is_other = |known: &&str| *known != name && folded(known) == folded(name);
        if let Some(known) = known.iter().find(|known| is_other(known)) {
            return Err(MessageError::Shape(format!("some servers take `{name}` for `{known}`")));
        }
    }
    Ok(())
}

fn check_distinct<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), MessageError> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(folded(name)) {
            let problem =
                format!("its arguments have two spellings of `{name}`, which some servers take for one");
            return Err(MessageError::Shape(problem));
        }
    }
    Ok(())
}

/// As the readers fold that compare without regard to case.
fn folded(name: &str) -> String {
    name.chars()
        .flat_map(char::to_lowercase)
        .map(|character| if character == 'ſ' { 's' } else { character })
        .collect()
}

/// The requests of a batch, and whether one of them must be judged or changes what is known about the server.
pub(crate) struct Batch {
    pub(crate) ids: Vec<Id>,
    pub(crate) is_plain: bool,
}

impl Batch {
    /// The messages of a line that is a batch; nothing where an element is not a message.
    pub(crate) fn of(line: &[u8]) -> Option<Self> {
        let elements: Vec<&RawValue> = serde_json::from_slice(line).ok()?;
        Value::read(line).ok()?;
        let mut batch = Self { ids: Vec::new(), is_plain: true };
        for element in elements {
            match Message::of_client(element.get().as_bytes()).ok()? {
                Message::Request { id, method, .. } => {
                    batch.ids.push(id);
                    batch.is_plain &= !GATED_METHODS.contains(&method.as_str())
                        && !WATCHED_METHODS.contains(&method.as_str());
                }
                Message::Notification { method, .. } => {
                    batch.is_plain &=
                        !GATED_METHODS.contains(&method.as_str()) && method != "notifications/cancelled";
                }
                Message::Response { id, .. } => batch.ids.push(id),
                Message::LooseError => {}
            }
        }
        Some(batch)
    }
}

/// The methods whose answers tell something about the server.
pub(crate) const WATCHED_METHODS: [&str; 3] = ["initialize", "server/discover", "tools/list"];

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Result<String, MessageError> {
        Message::of_client(text.as_bytes()).map(|message| match message {
            Message::Request { id, method, .. } => format!("request {} {method}", id.text),
            Message::Notification { method, .. } => format!("notification {method}"),
            Message::Response { id, result, error } => format!("response {} {result:?} {error:?}", id.text),
            Message::LooseError => "error".to_owned(),
        })
    }

    #[test]
    fn messages_are_told_apart() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping"),
            (r#" {"id":"a","method":"x","params":{"y":[1.5]},"vendor":{"z":null}} "#, "request \"a\" x"),
            (r#"{"method":"notifications/initialized"}"#, "notification notifications/initialized"),
            (r#"{"id":1.0,"result":{}}"#, "response 1.0 Some(\"{}\") None"),
            (r#"{"id":1,"result":null}"#, "response 1 None None"),
            (r#"{"id":null,"error":{"code":-32700,"message":""}}"#, "error"),
            // A request without an id asks for nothing that anybody could answer.
            (r#"{"id":null,"method":"tools/call"}"#, "notification tools/call"),
        ] {
            assert_eq!(client(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn ambiguous_messages_are_refused() {
        let deep = format!(r#"{{"method":"x","params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        for text in [
            "",
            "hello",
            "3",
            "[]",
            r#"[{"id":1,"method":"tools/call"}]"#,
            r#"{"id":1,"method":"ping","method":"tools/call"}"#,
            r#"{"id":1,"method":"ping","meth\u006fd":"tools/call"}"#,
            r#"{"id":1,"method":"ping","Method":"tools/call"}"#,
            r#"{"id":1,"method":"ping","paramſ":{}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"path":"a","path":"b"}}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"path":"a","Path":"b"}}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":9007199254740993}}}"#,
            r#"{"id":1,"method":"tools/call","params":{"name":"\ud800"}}"#,
            r#"{"id":{},"method":"x"}"#,
            r#"{"id":1,"method":"x","result":{}}"#,
            r#"{"id":1,"result":{},"error":{}}"#,
            r#"{"id":1}"#,
            r#"{"id":1,"method":"x"} {"id":2,"method":"tools/call"}"#,
            &deep,
        ] {
            assert!(client(text).is_err(), "{text}");
        }
        assert!(Message::of_client(b"{\"method\":\"\xff\"}").is_err());
    }

    #[test]
    fn the_server_may_send_what_others_write() {
        let large = r#"{"id":1,"result":{"n":9007199254740993,"x":NaN}}"#.replace("NaN", "1e400");
        assert!(Message::of_server(large.as_bytes()).is_ok());
        for text in [
            r#"{"id":1,"id":2,"result":{}}"#,
            r#"{"id":1,"result":{},"result":{}}"#,
            r#"{"id":1,"result":NaN}"#,
        ] {
            assert!(Message::of_server(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_batch_hides_nothing() {
        let batch = |text: &str| Batch::of(text.as_bytes()).map(|batch| (batch.ids.len(), batch.is_plain));
        assert_eq!(batch(r#"[{"id":1,"method":"ping"},{"method":"notifications/x"}]"#), Some((1, true)));
        for hidden in ["tools/call", "tools/list", "initialize", "resources/read"] {
            let text = format!(r#"[{{"id":1,"method":"ping"}},{{"id":2,"method":"{hidden}"}}]"#);
            assert_eq!(batch(&text), Some((2, false)));
        }
        assert_eq!(batch(r#"[[{"id":1,"method":"tools/call"}]]"#), None);
        assert_eq!(batch(r#"[{"id":1,"method":"ping","Method":"tools/call"}]"#), None);
    }

    #[test]
    fn ids_have_one_key() {
        let key = |text: &str| Id::parse(text).map(|id| id.key);
        assert_eq!(key("1"), key("1.0"));
        assert_eq!(key("0"), key("-0"));
        assert_ne!(key("1"), key("\"1\""));
        assert_eq!(key("\"a\""), key("\"\\u0061\""));
        assert_eq!(key("true"), None);
    }
}
