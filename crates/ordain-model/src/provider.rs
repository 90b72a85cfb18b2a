//! Providers of answers.

use crate::ask::{Answer, Ask, Usage};
use crate::error::ModelError;
use crate::fixture::{Fixture, key};
use crate::limits::{Limits, TOKENS_MAX};
use crate::redact::{quoted, redact};
use crate::remote::Remote;
use crate::replay::Replay;
use crate::wire::{Finish, Reply};
use std::path::PathBuf;
use std::time::Instant;

/// A provider of answers: a model behind one of three APIs, or a recording.
#[derive(Debug)]
pub struct Provider {
    source: Source,
    /// Where every answer is written down.
    record: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) enum Source {
    Remote(Box<Remote>),
    Replay(Replay),
}

impl Provider {
    pub(crate) fn new(source: Source, record: Option<PathBuf>) -> Self {
        Self { source, record }
    }

    /// Other limits than the usual ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        if let Source::Remote(remote) = &mut self.source {
            remote.set_limits(limits);
        }
        self
    }

    /// The limits of a request here.
    pub fn limits(&self) -> Limits {
        match &self.source {
            Source::Remote(remote) => remote.limits(),
            Source::Replay(_) => Limits::default(),
        }
    }

    /// Its name, for people: `openai at api.openai.com`, or `replay`.
    pub fn name(&self) -> &str {
        match &self.source {
            Source::Remote(remote) => remote.name(),
            Source::Replay(_) => "replay",
        }
    }

    /// The model's name; of a recording `replay`.
    pub fn model(&self) -> &str {
        match &self.source {
            Source::Remote(remote) => remote.model(),
            Source::Replay(_) => "replay",
        }
    }

    /// How many tokens an answer may have.
    pub fn max_tokens(&self) -> u32 {
        match &self.source {
            Source::Remote(remote) => remote.max_tokens(),
            Source::Replay(_) => TOKENS_MAX,
        }
    }

    /// The prompts that a recording knows; none if a model is asked.
    pub fn recorded(&self) -> Option<Vec<String>> {
        match &self.source {
            Source::Replay(replay) => Some(replay.prompts()),
            Source::Remote(_) => None,
        }
    }

    /// A text without this provider's key, and without what looks like one.
    pub fn redact(&self, text: &str) -> String {
        match &self.source {
            Source::Remote(remote) => remote.redact(text),
            Source::Replay(_) => redact(text),
        }
    }

    /// A text without this provider's key, and otherwise as it is.
    pub fn without_key(&self, text: &str) -> String {
        match &self.source {
            Source::Remote(remote) => remote.without_key(text),
            Source::Replay(_) => text.to_owned(),
        }
    }

    /// One completion before the deadline. A call that failed with 429, 500 and above or a timeout is tried once more,
    /// if there is time; `usage` counts all calls.
    pub async fn complete(
        &self,
        ask: &Ask,
        deadline: Instant,
        usage: &mut Usage,
    ) -> Result<Answer, ModelError> {
        let reply = match &self.source {
            Source::Remote(remote) => remote.reply(ask, deadline, usage).await,
            Source::Replay(replay) => replay.reply(ask, usage),
        }?;
        let reply = match &self.record {
            Some(folder) => self.write_down(ask, reply, folder.clone()).await?,
            None => reply,
        };
        self.answer(reply)
    }

    /// How it ended counts before what it says.
    fn answer(&self, reply: Reply) -> Result<Answer, ModelError> {
        let provider = || self.name().to_owned();
        match reply.finish {
            Finish::Stop => Ok(Answer { text: reply.text }),
            Finish::Length => Err(ModelError::Truncated { provider: provider(), tokens: reply.tokens_out }),
            Finish::Filter => {
                let message = quoted(&self.redact(&reply.text));
                Err(ModelError::Filtered { provider: provider(), message })
            }
        }
    }

    /// Gives back what was written, not what came: a replay answers the same as this run did.
    async fn write_down(&self, ask: &Ask, reply: Reply, folder: PathBuf) -> Result<Reply, ModelError> {
        let reply = Reply { text: self.redact(&reply.text), ..reply };
        let key = key(ask).map_err(ModelError::Setup)?;
        let fixture = Fixture::new(key, self.redact(&ask.prompt), reply.clone());
        let place = folder.display().to_string();
        let written = tokio::task::spawn_blocking(move || fixture.write(&folder)).await;
        match written.map_err(std::io::Error::other).flatten() {
            Ok(()) => Ok(reply),
            Err(error) => Err(ModelError::Setup(format!("`record`: {place} cannot be written to: {error}"))),
        }
    }
}
