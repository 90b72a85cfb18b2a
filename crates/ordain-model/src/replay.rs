//! Recorded completions instead of a model.

use crate::ask::{Ask, Usage};
use crate::error::ModelError;
use crate::fixture::{Fixture, key};
use crate::limits::FIXTURES_MAX;
use crate::wire::Reply;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Recorded completions that are part of the program: names of files, and what is in them.
pub type Embedded = &'static [(&'static str, &'static str)];

/// Answers what was recorded, and nothing else.
#[derive(Debug)]
pub(crate) struct Replay {
    fixtures: BTreeMap<String, Fixture>,
}

impl Replay {
    pub(crate) fn embedded(files: Embedded) -> Result<Self, ModelError> {
        let fixtures = files.iter().map(|(name, text)| (PathBuf::from(name), Fixture::parse(text)));
        Self::of(fixtures)
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
                return Err(refused("another file has another answer to the same; remove one of them"));
            }
        }
        Ok(Self { fixtures })
    }

    pub(crate) fn reply(&self, ask: &Ask, usage: &mut Usage) -> Result<Reply, ModelError> {
        usage.attempts += 1;
        let key = key(ask).map_err(ModelError::Setup)?;
        let Some(fixture) = self.fixtures.get(&key) else {
            return Err(ModelError::NotRecorded { known: self.prompts() });
        };
        usage.tokens_in += fixture.tokens_in;
        usage.tokens_out += fixture.tokens_out;
        Ok(fixture.reply())
    }

    /// What it knows. A prompt whose answer had to be repaired was recorded twice and is listed once.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let prompts: BTreeSet<&str> = self.fixtures.values().map(|fixture| fixture.prompt.as_str()).collect();
        prompts.into_iter().map(str::to_owned).collect()
    }
}
