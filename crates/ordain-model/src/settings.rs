//! The `[model]` table of `ordain.toml`, and what the environment says instead.

use crate::error::ModelError;
use crate::http::{base, is_loopback};
use crate::limits::TOKENS_MAX;
use crate::provider::{Provider, Source};
use crate::remote::Remote;
use crate::replay::{Embedded, Replay};
use crate::secret::Secret;
use crate::wire::{Anthropic, Ollama, OpenAi, Options, Wire};
use hyper::Uri;
use serde::{Deserialize, Deserializer};
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

const PROVIDER: &str = "ORDAIN_MODEL_PROVIDER";
const BASE_URL: &str = "ORDAIN_MODEL_BASE_URL";
const MODEL: &str = "ORDAIN_MODEL";
const KEY: &str = "ORDAIN_MODEL_KEY";

/// The `[model]` table. There is no key in it: a file is copied, committed and backed up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The provider; without it, recordings answer.
    pub provider: Option<ProviderName>,
    /// Where the API is, without the path of the call: `https://api.openai.com/v1`.
    pub base_url: Option<String>,
    /// The model's name, as the provider spells it.
    pub model: Option<String>,
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
    pub max_tokens: Option<NonZeroU32>,
    /// Never there. A key in the file is refused in a sentence that says where it belongs.
    #[serde(default, alias = "api_key", alias = "token", deserialize_with = "refuse_key")]
    pub key: Option<Infallible>,
    /// Never there. A file may come with a repository, and does not choose which variable is sent.
    #[serde(default, deserialize_with = "refuse_key_env")]
    pub key_env: Option<Infallible>,
}

/// The provider.
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

    /// Whether it is the provider itself. A port of this machine is not: any user can listen on it.
    fn may_get_a_key(self, base: &Uri) -> bool {
        let host = base.host().unwrap_or_default();
        let own: Option<Uri> = self.base_url().parse().ok();
        !is_loopback(host)
            && own.is_some_and(|own| own.host().is_some_and(|own| own.eq_ignore_ascii_case(host)))
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
    Err(serde::de::Error::custom(format!("a key does not belong in a file, but in {KEY}")))
}

fn refuse_key_env<'de, D: Deserializer<'de>>(_: D) -> Result<Option<Infallible>, D::Error> {
    Err(serde::de::Error::custom(format!(
        "a file does not choose which variable is sent: the key is in {KEY}"
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
                setup(format!("{PROVIDER} is `{text}`, and must be replay, openai, anthropic or ollama"))
            })?),
            None => self.provider,
        };
        let Some(name) = name else {
            if self.base_url.is_some() || variable(BASE_URL).is_some() {
                return Err(setup("there is a base URL, but [model] of ordain.toml has no `provider`"));
            }
            return self.replay(root, embedded);
        };
        // The address and the model in the file belong to the provider in the file. Taken for another, they would send
        // the key of one to the other.
        let own = Some(name) == self.provider;
        let file = |value: &Option<String>| value.clone().filter(|_| own);
        let url =
            variable(BASE_URL).or_else(|| file(&self.base_url)).unwrap_or_else(|| name.base_url().to_owned());
        let key = variable(KEY).map(|key| {
            // The value is not quoted, whatever it is.
            Secret::new(&key)
                .ok_or_else(|| setup(format!("{KEY} holds no key: keys have no spaces and only ASCII")))
        });
        let key = key.transpose()?;
        // A file may come with a repository. It does not say alone where the key goes.
        let by_owner = variable(BASE_URL).is_some()
            || (variable(PROVIDER).is_some() && !(own && self.base_url.is_some()));
        let base = || {
            let base = base(&url).map_err(setup)?;
            if key.is_none() || by_owner || name.may_get_a_key(&base) {
                return Ok(base);
            }
            Err(setup(format!(
                "[model] of ordain.toml would send the key in {KEY} to {}; if you trust it, say so yourself: {BASE_URL}={url}",
                base.authority().map(ToString::to_string).unwrap_or_default()
            )))
        };
        let (base, wire): (Uri, Box<dyn Wire>) = match name {
            ProviderName::Replay => return self.replay(root, embedded),
            ProviderName::OpenAi => {
                let base = base()?;
                let hosted = is_hosted(&base);
                (base, Box::new(OpenAi { hosted }))
            }
            ProviderName::Anthropic if key.is_none() => {
                return Err(setup(format!("anthropic requires a key in {KEY}")));
            }
            ProviderName::Anthropic => (base()?, Box::new(Anthropic)),
            ProviderName::Ollama => (base()?, Box::new(Ollama)),
        };
        let which =
            || setup(format!("which model? write `model` into [model] of ordain.toml, or set {MODEL}"));
        let options = Options {
            model: variable(MODEL).or_else(|| file(&self.model)).ok_or_else(which)?,
            max_tokens: self.max_tokens.map_or(TOKENS_MAX, NonZeroU32::get),
            structured: self.structured.unwrap_or(true),
            deterministic: self.deterministic.filter(|_| own).unwrap_or(name != ProviderName::Anthropic),
        };
        let remote = Remote::new(wire, &base, key, options)?;
        Ok(Provider::new(
            Source::Remote(Box::new(remote)),
            self.record.as_ref().map(|folder| root.join(folder)),
        ))
    }

    fn replay(&self, root: &Path, embedded: Embedded) -> Result<Provider, ModelError> {
        let replay = match &self.fixtures {
            Some(folder) => Replay::folder(&root.join(folder)),
            None => Ok(Replay::embedded(embedded)),
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: &[(&str, &str)] = &[];

    /// The result of a `[model]` table and some variables: the provider and its model, or why there is none.
    fn check(table: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let settings: Settings =
            toml::from_str(table).map_err(|error: toml::de::Error| error.message().to_owned())?;
        let variable = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let provider = settings.provider(variable, Path::new("/nowhere"), NOTHING);
        let provider = provider.map_err(|error| error.to_string())?;
        Ok(format!("{}, {}", provider.name(), provider.model()))
    }

    fn fails(table: &str, variables: &[(&str, &str)], expected: &str) {
        let problem = check(table, variables).unwrap_err();
        assert!(problem.contains(expected), "{table} {variables:?}: {problem}");
    }

    #[test]
    fn the_default_is_a_replay() {
        assert_eq!(check("", &[]).unwrap(), "replay, replay");
        assert_eq!(check("provider = 'replay'", &[]).unwrap(), "replay, replay");
        // An empty variable is one that is not set.
        assert_eq!(check("", &[(PROVIDER, ""), (BASE_URL, "")]).unwrap(), "replay, replay");
    }

    #[test]
    fn the_file_names_a_provider() {
        let check = |table: &str| check(table, &[(KEY, "some-key")]).unwrap();
        assert_eq!(check("provider = 'openai'\nmodel = 'm'"), "openai at api.openai.com, m");
        assert_eq!(check("provider = 'anthropic'\nmodel = 'm'"), "anthropic at api.anthropic.com, m");
        let check = |table: &str| self::check(table, &[]).unwrap();
        assert_eq!(check("provider = 'ollama'\nmodel = 'm'"), "ollama at 127.0.0.1:11434, m");
        let other = "provider = 'openai'\nmodel = 'm'\nbase_url = 'http://localhost:8080/v1/'";
        assert_eq!(check(other), "openai at localhost:8080, m");
    }

    #[test]
    fn the_environment_wins() {
        let table = "provider = 'openai'\nmodel = 'm'\nbase_url = 'https://example.com/v1'";
        let all = [(PROVIDER, "ollama"), (BASE_URL, "http://127.0.0.1:9"), (MODEL, "n")];
        assert_eq!(check(table, &all).unwrap(), "ollama at 127.0.0.1:9, n");
        assert_eq!(check(table, &[(MODEL, "n")]).unwrap(), "openai at example.com, n");
        assert_eq!(check(table, &[(BASE_URL, "https://example.org")]).unwrap(), "openai at example.org, m");
        assert_eq!(check(table, &[(PROVIDER, "replay")]).unwrap(), "replay, replay");
        fails(
            table,
            &[(PROVIDER, "OpenAI")],
            "ORDAIN_MODEL_PROVIDER is `OpenAI`, and must be replay, openai,",
        );
    }

    #[test]
    fn a12_a_file_does_not_say_where_a_key_goes() {
        let table =
            |url: &str, rest: &str| format!("provider = 'openai'\nmodel = 'm'\nbase_url = '{url}'\n{rest}");
        let elsewhere = table("https://models.example/v1", "");
        fails(&elsewhere, &[(KEY, "some-key")], "ORDAIN_MODEL_BASE_URL=https://models.example/v1");
        for url in [
            "https://api.openai.com.example/v1",
            "https://openai.com/v1",
            "https://me.openai.azure.com",
            // Any user of this machine can listen there.
            "http://127.0.0.1:7561/v1",
            "http://localhost:8080/v1",
            "http://[::1]:8080/v1",
        ] {
            fails(&table(url, ""), &[(KEY, "some-key")], "would send the key in ORDAIN_MODEL_KEY to ");
            fails(&table(url, ""), &[(KEY, "some-key"), (PROVIDER, "openai")], "would send the key");
        }
        // Nor by its choice of a provider on this machine.
        fails("provider = 'ollama'\nmodel = 'm'", &[(KEY, "some-key")], "to 127.0.0.1:11434");
        check("provider = 'ollama'\nmodel = 'm'", &[(KEY, "some-key"), (PROVIDER, "ollama")]).unwrap();
        // Without a key, or with a word of one's own, or to the provider.
        check(&elsewhere, &[]).unwrap();
        check(&table("http://[::1]:8080/v1", ""), &[]).unwrap();
        check(&elsewhere, &[(KEY, "some-key"), (BASE_URL, "https://models.example/v1")]).unwrap();
        check(&table("https://api.OpenAI.com/v1", ""), &[(KEY, "some-key")]).unwrap();
    }

    #[test]
    fn a12_a_file_does_not_choose_which_variable_is_sent() {
        for url in ["http://127.0.0.1:7561/v1", "https://api.openai.com/v1"] {
            let table = format!(
                "provider = 'openai'\nmodel = 'm'\nbase_url = '{url}'\nkey_env = 'AWS_SECRET_ACCESS_KEY'"
            );
            let variables = [("AWS_SECRET_ACCESS_KEY", "some-key"), (BASE_URL, url)];
            fails(
                &table,
                &variables,
                "a file does not choose which variable is sent: the key is in ORDAIN_MODEL_KEY",
            );
        }
    }

    #[test]
    fn what_the_file_says_of_one_provider_is_not_used_for_another() {
        let table = "provider = 'openai'\nmodel = 'm'\nbase_url = 'https://example.com'";
        let variables = [(KEY, "some-key"), (PROVIDER, "anthropic"), (MODEL, "n")];
        assert_eq!(check(table, &variables).unwrap(), "anthropic at api.anthropic.com, n");
        fails(table, &[(PROVIDER, "ollama")], "which model?");
        assert_eq!(
            check(table, &[(PROVIDER, "ollama"), (MODEL, "n")]).unwrap(),
            "ollama at 127.0.0.1:11434, n"
        );
    }

    #[test]
    fn a_key_comes_from_the_environment() {
        let table = "provider = 'anthropic'\nmodel = 'm'";
        assert!(check(table, &[(KEY, "some-key")]).is_ok());
        fails(table, &[], "anthropic requires a key in ORDAIN_MODEL_KEY");
        fails(table, &[(KEY, "two words")], "ORDAIN_MODEL_KEY holds no key");
        assert!(!check(table, &[(KEY, "two words")]).unwrap_err().contains("two"), "it is not quoted");
        fails("provider = 'openai'\nkey = 'sk-planted'", &[], "a key does not belong in a file");
        assert!(!check("key = 'sk-planted'", &[]).unwrap_err().contains("planted"));
        assert!(!check("key_env = 'sk-planted'", &[]).unwrap_err().contains("planted"));
    }

    #[test]
    fn a_key_is_not_sent_in_clear() {
        let table = "provider = 'openai'\nmodel = 'm'\nbase_url = 'http://example.com/v1'";
        fails(table, &[], "`base_url` may be http:// only on this machine");
        fails(
            "provider = 'ollama'\nmodel = 'm'",
            &[(BASE_URL, "http://192.168.0.2:11434")],
            "an https:// address",
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        fails("provider = 'openai'", &[], "which model?");
        fails("provider = 'mistral'", &[], "unknown variant `mistral`");
        fails("provder = 'openai'", &[], "unknown field `provder`");
        fails("base_url = 'https://example.com'", &[], "has no `provider`");
        fails("", &[(BASE_URL, "https://example.com")], "has no `provider`");
        fails("record = 'here'", &[], "`record` writes down what a model answers");
        fails("fixtures = 'missing'", &[], "`fixtures`: /nowhere/missing: ");
        fails("max_tokens = 0", &[], "expected a nonzero u32");
    }

    #[test]
    fn only_openai_is_openai() {
        let hosted = |url: &str| is_hosted(&url.parse().unwrap());
        assert!(hosted("https://api.openai.com/v1"));
        assert!(hosted("https://eu.API.openai.com/v1"));
        assert!(hosted("https://mine.openai.azure.com/openai/v1"));
        assert!(!hosted("https://openai.example.com/v1"));
        assert!(!hosted("https://notopenai.com/v1"));
        assert!(!hosted("http://127.0.0.1:8080/v1"));
    }
}
