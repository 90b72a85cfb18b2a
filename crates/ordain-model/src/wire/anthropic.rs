//! Anthropic's Messages.

use super::{Finish, Options, Reply, Wire, messages, object, read_json, schema, unknown_end, wanted};
use crate::ask::Ask;
use crate::secret::Secret;
use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value as Json, json};

#[derive(Debug)]
pub(crate) struct Anthropic;

#[derive(Deserialize)]
struct Body {
    content: Vec<Block>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Usage,
}

/// A block is text, or something that is not meant for the reader, such as a thought.
#[derive(Deserialize)]
struct Block {
    r#type: String,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize, Default)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl Wire for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<(HeaderName, HeaderValue)> {
        let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
        let key = key.and_then(|key| key.header(""));
        let key = key.map(|value| (HeaderName::from_static("x-api-key"), value));
        std::iter::once(version).chain(key).collect()
    }

    fn body(&self, ask: &Ask, options: &Options) -> Json {
        let format = wanted(ask, options).map(|wanted| {
            let format = json!({"type": "json_schema", "schema": schema::anthropic(&wanted.value)});
            ("output_config", json!({"format": format}))
        });
        object([
            Some(("model", json!(options.model))),
            Some(("system", json!(ask.system))),
            Some(("messages", json!(messages(&ask.turns)))),
            Some(("stream", json!(false))),
            Some(("max_tokens", json!(options.max_tokens))),
            options.deterministic.then(|| ("temperature", json!(0))),
            format,
        ])
    }

    fn read(&self, body: &[u8]) -> Result<Reply, String> {
        let body: Body = read_json(body)?;
        let finish = match body.stop_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
            Some("refusal") => Finish::Filter,
            Some("end_turn" | "stop_sequence") => Finish::Stop,
            other => return Err(unknown_end(other)),
        };
        let texts = body.content.into_iter().filter(|block| block.r#type == "text");
        let texts: Option<Vec<String>> = texts.map(|block| block.text).collect();
        let texts = texts.ok_or("has a block of text without text")?;
        if finish == Finish::Stop && texts.is_empty() {
            return Err("has no text".to_owned());
        }
        let Usage { input_tokens, output_tokens } = body.usage;
        Ok(Reply { text: texts.concat(), finish, tokens_in: input_tokens, tokens_out: output_tokens })
    }
}
