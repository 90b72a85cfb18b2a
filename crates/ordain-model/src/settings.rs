//! The `[model]` table of `ordain.toml`, and what the environment says instead.

use crate::error::ModelError;
use crate::http::base;
use crate::limits::TOKENS_MAX;
use crate::provider::{Provider, Source};
use crate::remote::Remote;
use crate::replay::{Embedded, Replay};
use crate::secret::Secret;
use crate::wire::{Anthropic, Ollama, OpenAi, Options};
use hyper::Uri;
use serde::{Deserialize, Deserializer};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

const PROVIDER: &str = "ORDAIN_MODEL_PROVIDER";
const BASE_URL: &str = "ORDAIN_MODEL_BASE_URL";
const MODEL: &str = "ORDAIN_MODEL";
const KEY: &str = "ORDAIN_MODEL_KEY";

/// The `[model]` table. There is no key in it: a file is copied, committed and backed up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Who answers; without it what is recorded.
    pub provider: Option<ProviderName>,
    /// Where the API is, without the path of the call: `https://api.openai.com/v1`.
    pub base_url: Option<String>,
    /// The model's name, as the provider spells it.
    pub model: Option<String>,
    /// The name of the environment variable that holds the key.
    pub key_env: Option<String>,
    /// A folder into which every answer is written.
    pub record: Option<PathBuf>,
    /// A folder of recorded answers, for `replay`, instead of those that the program brings.
    pub fixtures: Option<PathBuf>,
    /// Whether the provider gets the schema that the answer has to fit; yes, if nothing is said.
    pub structured: Option<bool>,
    /// Whether the provider is asked for temperature 0 and a fixed seed. Without a word: yes, but not of Anthropic,
    /// whose newer models refuse it, as OpenAI's reasoning models do.
    pub deterministic: Option<bool>,
    /// How many tokens an answer may have.
    pub max_tokens: Option<u32>,
    /// Never there. A key in the file is refused in a sentence that says where it belongs.
    #[serde(default, deserialize_with = "refuse_key")]
    pub key: Option<Infallible>,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderName {
    /// Nobody: recorded answers.
    Replay,
    /// Chat completions of OpenAI, and of all who serve the same API.
    OpenAi,
    /// Anthropic's Messages.
    Anthropic,
    /// Ollama's chat.
    Ollama,
}

impl ProviderName {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "replay" => Some(Self::Replay),
            "openai" => Some(Self::OpenAi),
            "anthropic" => Some(Self::Anthropic),
            "ollama" => Some(Self::Ollama),
            _ => None,
        }
    }

    fn base_url(self) -> &'static str {
        match self {
            Self::Replay => "",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }
}

fn refuse_key<'de, D: Deserializer<'de>>(_: D) -> Result<Option<Infallible>, D::Error> {
    Err(serde::de::Error::custom(format!(
        "a key does not belong into a file; put it into {KEY}, or into a variable that `key_env` names"
    )))
}

impl Settings {
    /// The provider that these settings and the environment name; where both say something, the environment wins.
    /// Folders are below `root`, and `embedded` is replayed if nothing names a provider or a folder.
    pub fn provider(
        &self,
        variable: impl Fn(&str) -> Option<String>,
        root: &Path,
        embedded: Embedded,
    ) -> Result<Provider, ModelError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let name = match variable(PROVIDER) {
            Some(text) => Some(ProviderName::parse(&text).ok_or_else(|| {
                setup(format!("{PROVIDER} is `{text}`; write replay, openai, anthropic or ollama"))
            })?),
            None => self.provider,
        };
        let Some(name) = name else {
            if self.base_url.is_some() || variable(BASE_URL).is_some() {
                return Err(setup(
                    "there is a base URL but no provider; write `provider` into [model] of ordain.toml",
                ));
            }
            return self.replay(root, embedded);
        };
        // The address, the model and the key in the file belong to the provider in the file. Taken for another, they
        // would send the key of one to the other.
        let own = Some(name) == self.provider;
        let file = |value: &Option<String>| value.clone().filter(|_| own);
        let url =
            variable(BASE_URL).or_else(|| file(&self.base_url)).unwrap_or_else(|| name.base_url().to_owned());
        let key = match (variable(KEY), file(&self.key_env)) {
            (Some(key), _) => Some((KEY.to_owned(), key)),
            (None, Some(named)) => {
                let missing = || setup(format!("`key_env` names {named}, which is not set"));
                let key = variable(&named).ok_or_else(missing)?;
                Some((named, key))
            }
            (None, None) => None,
        };
        let key = key.map(|(name, key)| {
            // The value is not quoted, whatever it is.
            Secret::new(&key)
                .ok_or_else(|| setup(format!("{name} holds no key: keys have no spaces and only ASCII")))
        });
        let key = key.transpose()?;
        let model = variable(MODEL).or_else(|| file(&self.model));
        let options = |deterministic: bool| {
            let model = model.ok_or_else(|| {
                setup(format!("which model? write `model` into [model] of ordain.toml, or set {MODEL}"))
            })?;
            Ok(Options {
                model,
                max_tokens: self.max_tokens.unwrap_or(TOKENS_MAX),
                structured: self.structured.unwrap_or(true),
                deterministic: self.deterministic.filter(|_| own).unwrap_or(deterministic),
            })
        };
        let source = match name {
            ProviderName::Replay => return self.replay(root, embedded),
            ProviderName::OpenAi => {
                let base = base(&url).map_err(setup)?;
                let wire = OpenAi { hosted: is_hosted(&base) };
                Source::OpenAi(Remote::new(wire, &base, key, options(true)?)?)
            }
            ProviderName::Anthropic if key.is_none() => {
                return Err(setup(format!(
                    "anthropic wants a key; set {KEY}, or name a variable in `key_env`"
                )));
            }
            ProviderName::Anthropic => {
                Source::Anthropic(Remote::new(Anthropic, &base(&url).map_err(setup)?, key, options(false)?)?)
            }
            ProviderName::Ollama => {
                Source::Ollama(Remote::new(Ollama, &base(&url).map_err(setup)?, key, options(true)?)?)
            }
        };
        Ok(Provider::new(source, self.record.as_ref().map(|folder| root.join(folder))))
    }

    fn replay(&self, root: &Path, embedded: Embedded) -> Result<Provider, ModelError> {
        let replay = match &self.fixtures {
            Some(folder) => Replay::folder(&root.join(folder)),
            None => Replay::embedded(embedded),
        };
        if self.record.is_some() {
            return Err(setup("`record` writes down what a model answers; with `replay` there is none"));
        }
        Ok(Provider::new(Source::Replay(replay?), None))
    }
}

/// Whether it is OpenAI itself, also on Azure, and not somebody who serves the same API.
fn is_hosted(base: &Uri) -> bool {
    let host = base.host().unwrap_or_default().to_ascii_lowercase();
    host == "openai.com" || host.ends_with(".openai.com") || host.ends_with(".openai.azure.com")
}

fn setup(problem: impl Into<String>) -> ModelError {
    ModelError::Setup(problem.into())
}
