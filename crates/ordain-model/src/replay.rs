//! Recorded completions instead of a model.

use crate::ask::{Ask, Usage};
use crate::error::ModelError;
use crate::fixture::{Fixture, key};
use crate::limits::FIXTURES_MAX;
use crate::wire::{Finish, Reply};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Examples that are part of the program: prompts, and what is answered to each, whatever its context is.
pub type Embedded = &'static [(&'static str, &'static str)];

/// Answers what was recorded, and nothing else.
#[derive(Debug)]
pub(crate) struct Replay {
    fixtures: BTreeMap<String, Fixture>,
    examples: Embedded,
}

impl Replay {
    pub(crate) fn embedded(examples: Embedded) -> Self {
        Self { fixtures: BTreeMap::new(), examples }
    }

    /// All `.json` files of a folder.
    pub(crate) fn folder(folder: &Path) -> Result<Self, ModelError> {
        let problem =
            |error: std::io::Error| ModelError::Setup(format!("`fixtures`: {}: {error}", folder.display()));
        let mut paths = Vec::new();
        for entry in folder.read_dir().map_err(problem)? {
            let path = entry.map_err(problem)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
            if paths.len() > FIXTURES_MAX {
                let folder = folder.display();
                return Err(ModelError::Setup(format!(
                    "`fixtures`: {folder} has more than {FIXTURES_MAX} files"
                )));
            }
        }
        paths.sort();
        Self::of(paths.into_iter().map(|path| (path.clone(), Fixture::read(&path))))
    }

    fn of(files: impl Iterator<Item = (PathBuf, Result<Fixture, String>)>) -> Result<Self, ModelError> {
        let mut fixtures = BTreeMap::new();
        for (path, fixture) in files {
            let refused =
                |problem: &str| ModelError::Setup(format!("`fixtures`: {}: {problem}", path.display()));
            let fixture = fixture.map_err(|problem| refused(&problem))?;
            // Which of two answers counts must not depend on the names of files.
            if let Some(other) = fixtures.insert(fixture.key.clone(), fixture.clone())
                && other != fixture
            {
                return Err(refused("another file has another answer to the same question"));
            }
        }
        Ok(Self { fixtures, examples: &[] })
    }

    pub(crate) fn reply(&self, ask: &Ask, usage: &mut Usage) -> Result<Reply, ModelError> {
        usage.attempts += 1;
        // An example is a first answer; whoever is not content with it asks a model.
        let example = self.examples.iter().find(|(prompt, _)| ask.turns.len() == 1 && *prompt == ask.prompt);
        if let Some((_, answer)) = example {
            let text = (*answer).to_owned();
            return Ok(Reply { text, finish: Finish::Stop, tokens_in: 0, tokens_out: 0 });
        }
        let key = key(ask).map_err(ModelError::Setup)?;
        let Some(fixture) = self.fixtures.get(&key) else {
            return Err(ModelError::NotRecorded { known: self.prompts() });
        };
        usage.count(fixture.tokens_in, fixture.tokens_out);
        Ok(fixture.reply())
    }

    /// The prompts that it knows. A prompt whose answer had to be repaired was recorded twice and is listed
    /// once.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let recorded = self.fixtures.values().map(|fixture| fixture.prompt.as_str());
        let prompts: BTreeSet<&str> =
            recorded.chain(self.examples.iter().map(|(prompt, _)| *prompt)).collect();
        prompts.into_iter().map(str::to_owned).collect()
    }
}
