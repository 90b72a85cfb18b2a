//! Ollama's chat.

use super::{
    Finish, Options, Reply, SEED, Wire, messages_with_system, object, read_json, schema, unknown_end, wanted,
};
use crate::ask::Ask;
use crate::secret::Secret;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value as Json, json};

#[derive(Debug)]
pub(crate) struct Ollama;

#[derive(Deserialize)]
struct Body {
    message: Message,
    done: bool,
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: u64,
    #[serde(default)]
    eval_count: u64,
}

#[derive(Deserialize)]
struct Message {
    content: String,
}

impl Wire for Ollama {
    fn name(&self) -> &'static str {
        "ollama"
    }

    fn path(&self) -> &'static str {
        "/api/chat"
    }

    /// A local Ollama knows no keys; one behind a proxy may want one.
    fn headers(&self, key: Option<&Secret>) -> Vec<(HeaderName, HeaderValue)> {
        key.and_then(|key| key.header("Bearer ")).map(|value| (AUTHORIZATION, value)).into_iter().collect()
    }

    fn body(&self, ask: &Ask, options: &Options) -> Json {
        let choices = object([
            Some(("num_predict", json!(options.max_tokens))),
            options.deterministic.then(|| ("temperature", json!(0))),
            options.deterministic.then(|| ("seed", json!(SEED))),
        ]);
        object([
            Some(("model", json!(options.model))),
            Some(("messages", json!(messages_with_system(ask)))),
            Some(("stream", json!(false))),
            Some(("options", choices)),
            wanted(ask, options).map(|wanted| ("format", schema::grammar(&wanted.value))),
        ])
    }

    fn read(&self, body: &[u8]) -> Result<Reply, String> {
        let body: Body = read_json(body)?;
        let finish = match body.done_reason.as_deref() {
            _ if !body.done => return Err("is only a part of one".to_owned()),
            Some("length") => Finish::Length,
            Some("stop") => Finish::Stop,
            other => return Err(unknown_end(other)),
        };
        let text = body.message.content;
        Ok(Reply { text, finish, tokens_in: body.prompt_eval_count, tokens_out: body.eval_count })
    }
}
