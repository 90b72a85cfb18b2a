//! Reading documents from files, folders and standard input.

use crate::exit::Failure;
use crate::yaml;
use ordain_canon::{ReadError, Value};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where a document comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
}

impl Source {
    pub(crate) fn of(path: &Path) -> Self {
        if path == Path::new("-") { Self::Stdin } else { Self::File(path.to_owned()) }
    }

    /// As reports name it: standard input has no name.
    pub(crate) fn file(&self) -> Option<String> {
        match self {
            Self::Stdin => None,
            Self::File(path) => Some(path.display().to_string()),
        }
    }

    /// As messages name it.
    pub(crate) fn name(&self) -> String {
        self.file().unwrap_or_else(|| "standard input".to_owned())
    }

    fn is_yaml(&self) -> bool {
        let Self::File(path) = self else { return false };
        path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
    }

    /// The raw bytes.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let read = match self {
            Self::Stdin => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
            }
            Self::File(path) => std::fs::read(path),
        };
        read.map_err(|error| Failure::File { path: self.name(), error })
    }

    /// The text of the document, from JSON or, by the file's name, from YAML.
    pub(crate) fn text(&self) -> Result<Text, Failure> {
        let bytes = self.bytes()?;
        if !self.is_yaml() {
            return Ok(Text { json: bytes, yaml: None });
        }
        Ok(match yaml::to_json(&bytes) {
            Ok(json) => Text { json, yaml: Some(Ok(())) },
            Err(error) => Text { json: Vec::new(), yaml: Some(Err(error)) },
        })
    }
}

/// The text of a document.
pub(crate) struct Text {
    pub(crate) json: Vec<u8>,
    /// Whether it was YAML, and whether that could be read.
    yaml: Option<Result<(), String>>,
}

/// Why a text is no document, and where.
pub(crate) struct Unreadable {
    pub(crate) pointer: String,
    pub(crate) message: String,
    /// Where to look in the text.
    pub(crate) offset: Option<usize>,
}

impl From<ReadError> for Unreadable {
    fn from(error: ReadError) -> Self {
        Self { message: error.to_string(), offset: Some(error.place.offset), pointer: error.pointer }
    }
}

impl Text {
    /// Whether places in `json` are places in the file.
    pub(crate) fn shows_places(&self) -> bool {
        self.yaml.is_none()
    }

    /// Reads `json`, or a part of it that starts later.
    pub(crate) fn read<'a>(&self, json: &'a [u8]) -> Result<Value<'a>, Unreadable> {
        match &self.yaml {
            Some(Err(error)) => {
                Err(Unreadable { pointer: String::new(), message: error.clone(), offset: None })
            }
            // The converted text's lines are not the file's.
            Some(Ok(())) => Value::read(json).map_err(|error| Unreadable {
                message: error.kind.to_string(),
                offset: None,
                pointer: error.pointer,
            }),
            None => Value::read(json).map_err(Unreadable::from),
        }
    }
}

/// The documents that a command line names: folders are searched, in the order of their names.
pub(crate) fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = sources.len();
            search(path, &mut sources)?;
            if sources.len() == before {
                let problem = "the folder holds no .json, .yaml or .yml file".to_owned();
                return Err(Failure::Document { path: path.display().to_string(), problem });
            }
        } else {
            sources.push(Source::of(path));
        }
    }
    Ok(sources)
}

/// Links are not followed, so that a loop of them ends; hidden entries are passed over.
fn search(folder: &Path, sources: &mut Vec<Source>) -> Result<(), Failure> {
    let failure = |error| Failure::File { path: folder.display().to_string(), error };
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failure)? {
        let entry = entry.map_err(failure)?;
        entries.push((entry.path(), entry.file_type().map_err(failure)?));
    }
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    for (path, file_type) in entries {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let document = path.extension().is_some_and(|it| it == "json" || it == "yaml" || it == "yml");
        if hidden {
            continue;
        }
        if file_type.is_dir() {
            search(&path, sources)?;
        } else if file_type.is_file() && document {
            sources.push(Source::File(path));
        }
    }
    Ok(())
}
