//! Chat completions, as OpenAI made them and many others serve them.

use super::{
    Finish, Options, Reply, SEED, Wire, messages_with_system, object, read_json, schema, unknown_end, wanted,
};
use crate::ask::Ask;
use crate::secret::Secret;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// Chat completions. OpenAI itself takes less of a schema than others do, and has its own name for the limit.
#[derive(Debug)]
pub(crate) struct OpenAi {
    pub(crate) hosted: bool,
}

#[derive(Deserialize)]
struct Body {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    finish_reason: Option<String>,
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

#[derive(Deserialize, Default)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

impl Wire for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<(HeaderName, HeaderValue)> {
        key.and_then(|key| key.header("Bearer ")).map(|value| (AUTHORIZATION, value)).into_iter().collect()
    }

    fn body(&self, ask: &Ask, options: &Options) -> Json {
        let limit = if self.hosted { "max_completion_tokens" } else { "max_tokens" };
        let format = wanted(ask, options).map(|wanted| {
            let take = if self.hosted { schema::openai } else { schema::grammar };
            let format = json!({"name": wanted.name, "strict": true, "schema": take(&wanted.value)});
            ("response_format", json!({"type": "json_schema", "json_schema": format}))
        });
        object([
            Some(("model", json!(options.model))),
            Some(("messages", json!(messages_with_system(ask)))),
            Some(("stream", json!(false))),
            Some((limit, json!(options.max_tokens))),
            options.deterministic.then(|| ("temperature", json!(0))),
            options.deterministic.then(|| ("seed", json!(SEED))),
            format,
        ])
    }

    fn read(&self, body: &[u8]) -> Result<Reply, String> {
        let body: Body = read_json(body)?;
        let Usage { prompt_tokens, completion_tokens } = body.usage.unwrap_or_default();
        let choice = body.choices.into_iter().next().ok_or("has no choice")?;
        let Message { content, refusal } = choice.message;
        let refusal = refusal.filter(|refusal| !refusal.is_empty());
        let finish = match choice.finish_reason.as_deref() {
            Some("length") => Finish::Length,
            Some("content_filter") => Finish::Filter,
            _ if refusal.is_some() => Finish::Filter,
            Some("stop") => Finish::Stop,
            other => return Err(unknown_end(other)),
        };
        let text = match finish {
            Finish::Stop => content.ok_or("has no text")?,
            Finish::Length => content.unwrap_or_default(),
            Finish::Filter => refusal.or(content).unwrap_or_default(),
        };
        Ok(Reply { text, finish, tokens_in: prompt_tokens, tokens_out: completion_tokens })
    }
}
