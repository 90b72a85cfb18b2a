//! A recorded completion: one file.

use crate::ask::{Ask, Turn};
use crate::limits::FIXTURE_BYTES_MAX;
use crate::wire::{Finish, Reply};
use ordain_canon::{Canonicalizer, ContentHash, SHA256_PREFIX};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// One completion, without a word about its provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixture {
    /// The hash of what was asked.
    pub(crate) key: String,
    /// The request of a person.
    pub(crate) prompt: String,
    pub(crate) answer: String,
    pub(crate) finish: Finish,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
}

/// The parts that count for the key: all that a provider's answer depends on, and nothing of the provider.
#[derive(Serialize)]
struct Asked<'a> {
    system: &'a str,
    turns: &'a [Turn],
    schema: Option<&'a Json>,
}

/// The key of what is asked: a hash of its canonical form.
pub(crate) fn key(ask: &Ask) -> Result<String, String> {
    let schema = ask.schema.as_ref().map(|schema| &schema.value);
    let asked = Asked { system: &ask.system, turns: &ask.turns, schema };
    let mut canon = Canonicalizer::new();
    let bytes =
        canon.value(&asked).map_err(|error| format!("the question has no canonical form: {error}"))?;
    Ok(ContentHash::of(bytes).to_string())
}

impl Fixture {
    pub(crate) fn new(key: String, prompt: String, reply: Reply) -> Self {
        let Reply { text, finish, tokens_in, tokens_out } = reply;
        Self { key, prompt, answer: text, finish, tokens_in, tokens_out }
    }

    pub(crate) fn reply(&self) -> Reply {
        let Self { answer, finish, tokens_in, tokens_out, .. } = self;
        Reply { text: answer.clone(), finish: *finish, tokens_in: *tokens_in, tokens_out: *tokens_out }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let fixture: Self =
            serde_json::from_str(text).map_err(|error| format!("not a recorded completion: {error}"))?;
        match ordain_canon::is_sha256(&fixture.key) {
            true => Ok(fixture),
            false => Err("not a recorded completion: `key` is not a hash".to_owned()),
        }
    }

    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        let file = File::open(path).map_err(|error| error.to_string())?;
        // One byte more than may be there tells a file that is too long from one that just fits.
        let read =
            file.take(FIXTURE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
        match u64::try_from(read).is_ok_and(|read| read <= FIXTURE_BYTES_MAX) {
            true => Self::parse(&text),
            false => Err(format!("is longer than {} MiB", FIXTURE_BYTES_MAX >> 20)),
        }
    }

    /// Writes it into a folder, beside its name first, so that nobody reads half of it.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = self.key.strip_prefix(SHA256_PREFIX).unwrap_or(&self.key);
        let unique = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let beside = folder.join(format!(".{name}.{unique}.tmp"));
        let mut text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        text.push(b'\n');
        fs::create_dir_all(folder)?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        let done = file.write_all(&text).and_then(|()| file.sync_all());
        let done = done.and_then(|()| fs::rename(&beside, folder.join(format!("{name}.json"))));
        if done.is_err() {
            // The failure to write is what counts.
            let _ = fs::remove_file(&beside);
        }
        done
    }
}
