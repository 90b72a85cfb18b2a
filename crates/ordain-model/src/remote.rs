//! A provider on the other end of a connection: calls, deadlines, retries.

use crate::ask::{Ask, Usage};
use crate::error::ModelError;
use crate::http::{Broken, Client};
use crate::limits::{ANSWER_BYTES_MAX, Limits};
use crate::redact::{quoted, redact};
use crate::retry::{backoff, retry_after};
use crate::secret::Secret;
use crate::wire::{Options, Reply, Wire};
use hyper::body::Bytes;
use hyper::{StatusCode, Uri};
use serde_json::Value as Json;
use std::time::{Duration, Instant, SystemTime};

/// A provider that speaks one of the three APIs.
#[derive(Debug)]
pub(crate) struct Remote {
    wire: Box<dyn Wire>,
    uri: Uri,
    key: Option<Secret>,
    options: Options,
    limits: Limits,
    client: Client,
    /// For messages: which API, and where.
    name: String,
}

impl Remote {
    pub(crate) fn new(
        wire: Box<dyn Wire>,
        base: &Uri,
        key: Option<Secret>,
        options: Options,
    ) -> Result<Self, ModelError> {
        let whole = format!("{}{}", base.to_string().trim_end_matches('/'), wire.path());
        let uri: Uri = whole.parse().map_err(|_| ModelError::Setup("`base_url` is too long".to_owned()))?;
        let name = format!(
            "{} at {}",
            wire.name(),
            base.authority().map(|place| place.as_str()).unwrap_or_default()
        );
        let client = Client::new().map_err(ModelError::Setup)?;
        Ok(Self { wire, uri, key, options, limits: Limits::default(), client, name })
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn max_tokens(&self) -> u32 {
        self.options.max_tokens
    }

    pub(crate) fn model(&self) -> &str {
        &self.options.model
    }

    /// A text without our key, and without what looks like one.
    pub(crate) fn redact(&self, text: &str) -> String {
        redact(&self.without_key(text))
    }

    pub(crate) fn without_key(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.scrub(text))
    }

    /// Asks, and asks again where that may help and time is left.
    pub(crate) async fn reply(
        &self,
        ask: &Ask,
        deadline: Instant,
        usage: &mut Usage,
    ) -> Result<Reply, ModelError> {
        let body = serde_json::to_vec(&self.wire.body(ask, &self.options))
            .map(Bytes::from)
            .map_err(|error| ModelError::Setup(format!("the request cannot be written: {error}")))?;
        let mut retries_left = self.limits.retries;
        loop {
            let error = match self.call(body.clone(), deadline, usage).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            let Some(wish) = retry_wish(&error).filter(|_| retries_left > 0) else { return Err(error) };
            let wait = wish.max(backoff(self.limits.backoff, usage.retries));
            // Waiting for nothing helps nobody: whoever asked learns now when it makes sense again.
            if Instant::now().checked_add(wait).is_none_or(|next| next >= deadline) {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
            retries_left -= 1;
            usage.retries += 1;
        }
    }

    /// One call, cut at its own limit and at the deadline, whichever comes first.
    async fn call(&self, body: Bytes, deadline: Instant, usage: &mut Usage) -> Result<Reply, ModelError> {
        let start = Instant::now();
        let time = deadline.saturating_duration_since(start).min(self.limits.call);
        let timeout = || ModelError::Timeout { provider: self.name.clone() };
        if time.is_zero() {
            return Err(timeout());
        }
        usage.attempts += 1;
        usage.provider_code = None;
        let done = tokio::time::timeout(time, self.exchange(body, usage)).await;
        usage.latency += start.elapsed();
        let reply = done.unwrap_or_else(|_| Err(timeout()))?;
        usage.count(reply.tokens_in, reply.tokens_out);
        Ok(reply)
    }

    async fn exchange(&self, body: Bytes, usage: &mut Usage) -> Result<Reply, ModelError> {
        let headers = self.wire.headers(self.key.as_ref());
        let received =
            self.client.post(&self.uri, headers, body).await.map_err(|broken| self.broken(broken))?;
        usage.provider_code = Some(received.status.as_u16());
        if received.status != StatusCode::OK {
            let (status, wish) = (received.status, retry_after(&received.headers, SystemTime::now()));
            let said = received.beginning().await;
            return Err(self.refusal(status, wish, &said));
        }
        let answer = received.body().await.map_err(|broken| self.broken(broken))?;
        self.wire.read(&answer).map_err(|problem| self.malformed(&problem))
    }

    fn malformed(&self, problem: &str) -> ModelError {
        ModelError::Malformed { provider: self.name.clone(), problem: quoted(&self.without_key(problem)) }
    }

    fn broken(&self, broken: Broken) -> ModelError {
        match broken {
            Broken::Unreachable(cause) => ModelError::Unavailable {
                provider: self.name.clone(),
                status: None,
                retry_after: None,
                message: quoted(&self.without_key(&cause)),
            },
            Broken::Cut(cause) => self.malformed(&format!("broke off: {cause}")),
            Broken::TooLong => self.malformed(&format!("is longer than {} MiB", ANSWER_BYTES_MAX >> 20)),
        }
    }

    /// Some models refuse what others need; then the settings can leave it out.
    fn with_hint(&self, message: String) -> String {
        let mentions = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let setting = if self.options.deterministic && mentions(&["temperature", "seed"]) {
            "deterministic"
        } else if self.options.structured && mentions(&["response_format", "output_config", "schema"]) {
            "structured"
        } else {
            return message;
        };
        format!("{message} (`{setting} = false` in [model] of ordain.toml leaves it out)")
    }

    /// The error of a refusal, by its status.
    fn refusal(&self, status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> ModelError {
        let provider = self.name.clone();
        let message = quoted(&self.without_key(&message_of(body)));
        match status.as_u16() {
            429 => ModelError::Busy { provider, retry_after, message },
            status @ 500.. => {
                ModelError::Unavailable { provider, status: Some(status), retry_after, message }
            }
            status @ 300..400 => {
                let message =
                    "redirects are not followed, and `base_url` must be the final address".to_owned();
                ModelError::Refused { provider, status, message }
            }
            status @ 400.. => ModelError::Refused { provider, status, message: self.with_hint(message) },
            status => self.malformed(&format!("has the status {status}")),
        }
    }
}

/// How long to wait before another try, if there is to be one.
fn retry_wish(error: &ModelError) -> Option<Duration> {
    match error {
        ModelError::Timeout { .. } => Some(Duration::ZERO),
        ModelError::Busy { retry_after, .. }
        | ModelError::Unavailable { status: Some(_), retry_after, .. } => {
            Some(retry_after.unwrap_or_default())
        }
        // Nothing else gets better by itself. No retry where nobody listens: the address is more likely wrong.
        _ => None,
    }
}

/// The provider's words about an error: `error.message`, or `error` where that is the text, or all of it.
fn message_of(body: &[u8]) -> String {
    let json: Option<Json> = serde_json::from_slice(body).ok();
    let error = json.as_ref().and_then(|json| json.get("error"));
    let message = error.and_then(|error| error.get("message").unwrap_or(error).as_str());
    message.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned)
}
