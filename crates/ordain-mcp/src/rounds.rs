//! Rounds of a held call with clients of the revisions without server requests: the gateway answers that it needs
//! something first, and the client repeats the call with the state that it was given.
//!
//! The state only says which action a round waits for. An approval counts at the gate, whatever the state says.

use crate::message::Members;
use base64ct::{Base64UrlUnpadded, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use ordain_canon::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use sha2::Sha256;

/// By this, the gateway tells its own states from those of the server.
const PREFIX: &str = "ordain.";
/// The name of the gateway's question.
pub(crate) const QUESTION: &str = "ordain_approval";
/// Bytes of a server's own round that a state carries along.
const CARRIED_BYTES_MAX: usize = 16 << 10;
/// Rounds of one wait. Clients give up after ten.
pub(crate) const LEGS_MAX: u32 = 9;
/// A state is good for this long.
const STATE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// The content of a state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RoundState {
    /// The action that is waited for.
    pub(crate) action_id: String,
    /// How many rounds there were.
    pub(crate) leg: u32,
    until_ms: u64,
    /// The server's own state and answers, which this one stands before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answers: Option<Json>,
}

/// A later round of a call that the gateway held.
#[derive(Debug)]
pub(crate) struct OwnRound {
    pub(crate) state: RoundState,
    /// The client answered that nobody wants to wait.
    pub(crate) is_declined: bool,
    /// The call without the gateway's own part, as the server would have got it.
    pub(crate) line: Vec<u8>,
}

/// Seals states, for one principal and one server.
pub(crate) struct Sealer {
    key: [u8; 32],
    scope: String,
}

impl Sealer {
    pub(crate) fn new(key: [u8; 32], scope: String) -> Self {
        Self { key, scope }
    }

    /// The state for the next round of a call. Nothing if the server's own part is too long to carry.
    pub(crate) fn seal(
        &self,
        action_id: &str,
        leg: u32,
        (state, answers): (Option<&Json>, Option<&Json>),
        now_ms: u64,
    ) -> Option<String> {
        let state = match state {
            Some(state) => Some(state.as_str()?.to_owned()),
            None => None,
        };
        let until_ms = now_ms.saturating_add(STATE_MS_MAX);
        let content =
            RoundState { action_id: action_id.to_owned(), leg, until_ms, state, answers: answers.cloned() };
        let text = serde_json::to_vec(&content).ok().filter(|text| text.len() <= CARRIED_BYTES_MAX)?;
        let mac = self.mac(&text)?;
        Some(format!(
            "{PREFIX}{}.{}",
            Base64UrlUnpadded::encode_string(&text),
            Base64UrlUnpadded::encode_string(&mac)
        ))
    }

    fn mac(&self, text: &[u8]) -> Option<Vec<u8>> {
        Some(self.keyed(text)?.finalize().into_bytes().to_vec())
    }

    fn keyed(&self, text: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(b"ordain/mcp-round/v1\n");
        mac.update(ContentHash::of(self.scope.as_bytes()).to_string().as_bytes());
        mac.update(b"\n");
        mac.update(text);
        Some(mac)
    }

    fn open(&self, sealed: &str, now_ms: u64) -> Option<RoundState> {
        let (text, mac) = sealed.strip_prefix(PREFIX)?.split_once('.')?;
        let text = Base64UrlUnpadded::decode_vec(text).ok()?;
        let mac = Base64UrlUnpadded::decode_vec(mac).ok()?;
        self.keyed(&text)?.verify_slice(&mac).ok()?;
        let state: RoundState = serde_json::from_slice(&text).ok()?;
        (now_ms < state.until_ms).then_some(state)
    }

    /// The gateway's own round that a call belongs to, if it does.
    pub(crate) fn round_of(&self, line: &[u8], now_ms: u64) -> Result<Option<OwnRound>, String> {
        let Ok(message) = serde_json::from_slice::<Members<'_>>(line) else { return Ok(None) };
        let Some(params) = message.get("params") else { return Ok(None) };
        let Ok(params) = serde_json::from_str::<Members<'_>>(params) else { return Ok(None) };
        let Some(sealed) = params.get("requestState") else { return Ok(None) };
        let Ok(sealed) = serde_json::from_str::<String>(sealed) else { return Ok(None) };
        if !sealed.starts_with(PREFIX) {
            return Ok(None);
        }
        let state = self.open(&sealed, now_ms);
        let state =
            state.ok_or("`params.requestState` is not one that this gateway gave, or it is too old")?;
        let answers = params.get("inputResponses").and_then(|text| serde_json::from_str::<Json>(text).ok());
        let answer = answers.as_ref().and_then(|answers| answers.get(QUESTION));
        let is_declined = answer.is_some_and(is_declined);
        let (own_state, own_answers) = (state.state.as_ref(), state.answers.as_ref());
        let carried = |name: &str| match name {
            "requestState" => own_state.and_then(|state| serde_json::to_string(state).ok()),
            "inputResponses" => own_answers.map(Json::to_string),
            _ => None,
        };
        let is_own = |name: &str| ["requestState", "inputResponses"].contains(&name);
        let kept = params.0.iter().filter_map(|(name, value)| {
            let value = if is_own(name) { carried(name)? } else { value.get().to_owned() };
            Some((name.as_str(), value))
        });
        let mut kept: Vec<(&str, String)> = kept.collect();
        // The client had no answers to send in this round.
        for name in ["inputResponses", "requestState"] {
            if params.get(name).is_none() {
                kept.extend(carried(name).map(|value| (name, value)));
            }
        }
        let params = written(kept)?;
        let line = message.0.iter().map(|(name, value)| {
            (name.as_str(), if name == "params" { params.clone() } else { value.get().to_owned() })
        });
        let line = written(line.collect())?.into_bytes();
        Ok(Some(OwnRound { state, is_declined, line }))
    }
}

/// Whether an answer to the gateway's question says that nobody wants to wait. No answer is an approval.
pub(crate) fn is_declined(answer: &Json) -> bool {
    let accepted = answer.get("action").and_then(Json::as_str) == Some("accept");
    !accepted || answer.pointer("/content/next").and_then(Json::as_str) == Some("stop")
}

fn written(members: Vec<(&str, String)>) -> Result<String, String> {
    let mut text = String::from("{");
    for (position, (name, value)) in members.iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        text.push_str(&serde_json::to_string(name).map_err(|error| error.to_string())?);
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    Ok(text)
}

impl Members<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| RawValue::get(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sealer(scope: &str) -> Sealer {
        Sealer::new([7; 32], scope.to_owned())
    }

    fn call(state: &str) -> Vec<u8> {
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"sell","arguments":{{"n":1.50}},"inputResponses":{{"{QUESTION}":{{"action":"accept","content":{{"next":"wait"}}}}}},"requestState":"{state}","_meta":{{}}}}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn the_server_sees_nothing_of_the_gateways_rounds() {
        let state = sealer("a").seal("act-1", 3, (None, None), 1_000).unwrap();
        let round = sealer("a").round_of(&call(&state), 2_000).unwrap().unwrap();
        assert_eq!((round.state.action_id.as_str(), round.state.leg, round.is_declined), ("act-1", 3, false));
        let expected = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sell","arguments":{"n":1.50},"_meta":{}}}"#;
        assert_eq!(String::from_utf8(round.line).unwrap(), expected);
        // The server's own round goes on behind it.
        let answers = json!({"name": {"action": "accept"}});
        let state = sealer("a").seal("act-1", 1, (Some(&json!("theirs")), Some(&answers)), 1_000).unwrap();
        let round = sealer("a").round_of(&call(&state), 2_000).unwrap().unwrap();
        let found: Json = serde_json::from_slice(&round.line).unwrap();
        assert_eq!(found["params"]["requestState"], "theirs");
        assert_eq!(found["params"]["inputResponses"], answers);
    }

    #[test]
    fn only_states_of_this_gateway_and_this_principal_count() {
        let state = sealer("a").seal("act-1", 0, (None, None), 1_000).unwrap();
        let changed = state.replacen('.', ".e", 1);
        for (line, scope, now_ms) in [
            (call(&state), "b", 2_000),
            (call(&changed), "a", 2_000),
            (call("ordain.x"), "a", 2_000),
            (call(&state), "a", 1_000 + STATE_MS_MAX),
        ] {
            assert!(sealer(scope).round_of(&line, now_ms).is_err(), "{}", String::from_utf8_lossy(&line));
        }
        assert!(sealer("a").round_of(&call("theirs"), 2_000).unwrap().is_none());
        assert!(
            sealer("a")
                .round_of(br#"{"id":1,"method":"tools/call","params":{"name":"x"}}"#, 1)
                .unwrap()
                .is_none()
        );
        let large = json!("x".repeat(CARRIED_BYTES_MAX));
        assert_eq!(sealer("a").seal("act-1", 0, (Some(&large), None), 1), None);
    }

    #[test]
    fn no_answer_is_an_approval() {
        assert!(
            !is_declined(&json!({"action": "accept"}))
                && !is_declined(&json!({"action": "accept", "content": {"next": "wait"}}))
        );
        for answer in [
            json!({}),
            json!({"action": "decline"}),
            json!({"action": "cancel"}),
            json!(null),
            json!({"action": "accept", "content": {"next": "stop"}}),
        ] {
            assert!(is_declined(&answer), "{answer}");
        }
    }
}
