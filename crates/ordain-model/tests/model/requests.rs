//! Requests, whole: as they go over the wire.

use crate::support::{KEY, Scripted, ask, complete, done, environment, good, http, path, settings};
use ordain_model::{ProviderName, Settings};
use serde_json::{Value as Json, json};
use std::num::NonZeroU32;
use std::path::Path;

/// The head without what differs from run to run, and the body.
async fn sent(wire: ProviderName, change: impl Fn(&mut Settings)) -> (Vec<String>, Json) {
    sent_with(wire, change, true).await
}

async fn sent_with(
    wire: ProviderName,
    change: impl Fn(&mut Settings),
    with_key: bool,
) -> (Vec<String>, Json) {
    let server = Scripted::new(vec![http("200 OK", "", &good(wire, "{}", done(wire)).to_string())]).await;
    let mut settings = settings(wire, &server.url);
    change(&mut settings);
    let environment = environment(&settings);
    let variable = |name: &str| environment(name).filter(|_| with_key || name != "ORDAIN_MODEL_KEY");
    let provider = settings.provider(variable, Path::new("."), &[]).unwrap();
    complete(&provider, "A note, please.").await.0.unwrap();
    let requests = server.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let differs = |line: &&str| line.starts_with("host: ") || line.starts_with("content-length: ");
    let mut lines: Vec<String> = head.lines().filter(|line| !differs(line)).map(str::to_owned).collect();
    lines[1..].sort();
    (lines, serde_json::from_str(body).unwrap())
}

fn head(wire: ProviderName, base: &str, own: &[String]) -> Vec<String> {
    let agent = concat!("user-agent: ordain/", env!("CARGO_PKG_VERSION"));
    let mut lines = vec![format!("POST {base}{} HTTP/1.1", path(wire))];
    lines.extend(["accept: application/json", "content-type: application/json", agent].map(str::to_owned));
    lines.extend_from_slice(own);
    lines[1..].sort();
    lines
}

fn schema() -> Json {
    json!({
        "type": "object",
        "properties": {"title": {"type": "string", "maxLength": 40}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["title"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn openai_gets_chat_completions() {
    let wire = ProviderName::OpenAi;
    let (lines, body) = sent(wire, |_| {}).await;
    assert_eq!(lines, head(wire, "/v1", &[format!("authorization: Bearer {KEY}")]));
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "You answer in JSON."},
            {"role": "user", "content": "A note, please."},
        ],
        "stream": false,
        "max_tokens": 4096,
        "temperature": 0,
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "note", "strict": true, "schema": schema()},
        },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn anthropic_gets_messages() {
    let wire = ProviderName::Anthropic;
    let (lines, body) = sent(wire, |settings| settings.max_tokens = NonZeroU32::new(100)).await;
    let own = ["anthropic-version: 2023-06-01".to_owned(), format!("x-api-key: {KEY}")];
    assert_eq!(lines, head(wire, "", &own));
    let mut schema = schema();
    schema["properties"]["title"] = json!({"type": "string"});
    let expected = json!({
        "model": "some-model",
        "system": "You answer in JSON.",
        "messages": [{"role": "user", "content": "A note, please."}],
        "stream": false,
        "max_tokens": 100,
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn ollama_gets_a_chat() {
    let wire = ProviderName::Ollama;
    let (lines, body) = sent_with(wire, |_| {}, false).await;
    assert_eq!(lines, head(wire, "", &[]));
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "You answer in JSON."},
            {"role": "user", "content": "A note, please."},
        ],
        "stream": false,
        "options": {"num_predict": 4096, "temperature": 0, "seed": 7},
        "format": schema(),
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn settings_leave_out_the_schema_and_the_seed() {
    for (wire, left_out) in [
        (ProviderName::OpenAi, vec!["response_format", "seed", "temperature"]),
        (ProviderName::Anthropic, vec!["output_config", "temperature"]),
        (ProviderName::Ollama, vec!["format"]),
    ] {
        let (_, body) = sent(wire, |settings| {
            settings.structured = Some(false);
            settings.deterministic = Some(false);
        })
        .await;
        for field in left_out {
            assert_eq!(body.get(field), None, "{wire:?}");
        }
        let options = body.get("options").cloned().unwrap_or_default();
        assert_eq!((options.get("seed"), options.get("temperature")), (None, None), "{wire:?}");
    }
    let (_, body) = sent(ProviderName::Anthropic, |settings| settings.deterministic = Some(true)).await;
    assert_eq!(body["temperature"], json!(0));
}

/// The turns keep their order and their speakers, for a question about an answer that was not good enough.
#[tokio::test]
async fn a_conversation_is_sent_whole() {
    use ordain_model::{Role, Turn, Usage};
    for wire in crate::support::WIRES {
        let server = Scripted::new(vec![http("200 OK", "", &good(wire, "{}", done(wire)).to_string())]).await;
        let settings = settings(wire, &server.url);
        let provider = settings.provider(environment(&settings), Path::new("."), &[]).unwrap();
        let mut ask = ask("one");
        ask.turns.push(Turn { role: Role::Assistant, text: "two".to_owned() });
        ask.turns.push(Turn { role: Role::User, text: "three \u{202e} \" \\ \n".to_owned() });
        let deadline = std::time::Instant::now() + provider.limits().request;
        provider.complete(&ask, deadline, &mut Usage::default()).await.unwrap();
        let requests = server.requests();
        let body: Json = serde_json::from_str(requests[0].split_once("\r\n\r\n").unwrap().1).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let expected = json!([
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": "three \u{202e} \" \\ \n"},
        ]);
        assert!(messages.ends_with(expected.as_array().unwrap()), "{wire:?}: {body}");
    }
}
