//! The three APIs: what is sent, and what an answer says. Nothing here does the sending.

mod anthropic;
mod ollama;
mod openai;
mod schema;

pub(crate) use anthropic::Anthropic;
pub(crate) use ollama::Ollama;
pub(crate) use openai::OpenAi;

use crate::ask::{Ask, Schema, Turn};
use crate::secret::Secret;
use hyper::header::{HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::fmt;

/// One API.
pub(crate) trait Wire: fmt::Debug + Send + Sync {
    /// As settings name it.
    fn name(&self) -> &'static str;

    /// The path after the base URL.
    fn path(&self) -> &'static str;

    /// Headers beside those that every request has.
    fn headers(&self, key: Option<&Secret>) -> Vec<(HeaderName, HeaderValue)>;

    /// The body of a request.
    fn body(&self, ask: &Ask, options: &Options) -> Json;

    /// The content of an answer's body, or the problem with it.
    fn read(&self, body: &[u8]) -> Result<Reply, String>;
}

/// The settings for every request.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) model: String,
    pub(crate) max_tokens: u32,
    /// Whether the provider gets the schema.
    pub(crate) structured: bool,
    /// Whether the model is asked to answer the same each time. Some models take no wishes about that.
    pub(crate) deterministic: bool,
}

/// An answer, whatever the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) finish: Finish,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
}

/// How an answer ended. It is looked at before the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Finish {
    /// The model was done.
    Stop,
    /// It had more to say.
    Length,
    /// It refused, or a filter did; the text is its reason.
    Filter,
}

/// The number itself means nothing; that it stays the same does.
const SEED: u32 = 7;

/// The turns as all three APIs write them.
fn messages(turns: &[Turn]) -> Vec<Json> {
    turns.iter().map(|turn| json!({"role": turn.role, "content": turn.text})).collect()
}

/// The turns after the instructions, where these are a turn as well.
fn messages_with_system(ask: &Ask) -> Vec<Json> {
    let system = json!({"role": "system", "content": ask.system});
    std::iter::once(system).chain(messages(&ask.turns)).collect()
}

/// The schema, if the provider is to get it.
fn wanted<'a>(ask: &'a Ask, options: &Options) -> Option<&'a Schema> {
    ask.schema.as_ref().filter(|_| options.structured)
}

/// An object of the members that are there.
fn object<const N: usize>(members: [Option<(&str, Json)>; N]) -> Json {
    members.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| {
        let is_json = matches!(error.classify(), serde_json::error::Category::Data);
        // A message about data quotes values, which are the provider's; the place is enough to find them.
        let (line, column) = (error.line(), error.column());
        match is_json {
            true => format!("is not as its API describes it (line {line}, column {column})"),
            false => "is not JSON".to_owned(),
        }
    })
}

/// An answer that ended in a way which nothing can be made of.
fn unknown_end(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("ended with `{reason}`"),
        None => "does not say how it ended".to_owned(),
    }
}
