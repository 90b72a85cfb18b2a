//! Reading documents from files, folders and standard input.

use crate::exit::Failure;
use ordain_canon::{DOCUMENT_BYTES_MAX, ReadError, Value, place_of, span_of};
use ordain_run::is_run_folder;
use ordain_vault::yaml::{self, Converted};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Where a document comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
    /// A folder that could not be searched, and why.
    Folder(PathBuf, String),
    /// The folder of a run, whose files belong together.
    Run(PathBuf),
}

impl Source {
    pub(crate) fn of(path: &Path) -> Self {
        if path == Path::new("-") { Self::Stdin } else { Self::File(path.to_owned()) }
    }

    /// As reports name it: standard input has no name.
    pub(crate) fn file(&self) -> Option<String> {
        match self {
            Self::Stdin => None,
            Self::File(path) | Self::Folder(path, _) | Self::Run(path) => Some(path.display().to_string()),
        }
    }

    /// As messages name it.
    pub(crate) fn name(&self) -> String {
        self.file().unwrap_or_else(|| "standard input".to_owned())
    }

    fn is_yaml(&self) -> bool {
        let Self::File(path) = self else { return false };
        extension(path).is_some_and(|extension| extension == "yaml" || extension == "yml")
    }

    /// The raw bytes.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Failure> {
        // One byte more than a document may have: reading it then says that it is too long.
        let limit = DOCUMENT_BYTES_MAX as u64 + 1;
        let mut bytes = Vec::new();
        let read = match self {
            Self::Stdin => std::io::stdin().lock().take(limit).read_to_end(&mut bytes),
            Self::File(path) => File::open(path).and_then(|file| {
                let size = file.metadata().map_or(0, |metadata| metadata.len());
                bytes.reserve(usize::try_from(size.min(limit)).unwrap_or_default());
                file.take(limit).read_to_end(&mut bytes)
            }),
            Self::Folder(_, problem) => {
                return Err(Failure::Document { path: self.name(), problem: problem.clone() });
            }
            Self::Run(_) => {
                let problem = "is the folder of a run, and no document".to_owned();
                return Err(Failure::Document { path: self.name(), problem });
            }
        };
        read.map(|_| bytes).map_err(|error| Failure::File { path: self.name(), error })
    }

    /// The text of the document, from JSON or, by the file's name, from YAML.
    pub(crate) fn text(&self) -> Result<Text, Failure> {
        let bytes = self.bytes()?;
        if !self.is_yaml() {
            return Ok(Text { json: bytes, yaml: None });
        }
        let (json, converted) = match yaml::to_json(&bytes) {
            Ok(mut converted) => (std::mem::take(&mut converted.json), Ok(converted)),
            Err(error) => (Vec::new(), Err(error)),
        };
        Ok(Text { json, yaml: Some((bytes, converted)) })
    }
}

/// The text of a document.
pub(crate) struct Text {
    pub(crate) json: Vec<u8>,
    /// The file's own bytes and where what stands, if it was YAML; or why it cannot be read.
    yaml: Option<(Vec<u8>, Result<Converted, String>)>,
}

/// Why a text is not a document, and where.
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
    /// The file's own bytes.
    pub(crate) fn file(&self) -> &[u8] {
        self.yaml.as_ref().map_or(&self.json, |(bytes, _)| bytes)
    }

    /// Where in the file a value, or its nearest ancestor, stands.
    pub(crate) fn span_of(&self, pointer: &str) -> Option<Range<usize>> {
        match &self.yaml {
            None => Some(span_of(&self.json, pointer)),
            Some((bytes, Ok(converted))) => Some(converted.span_of(bytes, pointer)),
            Some((_, Err(_))) => None,
        }
    }

    /// The JSON text for those who read it themselves. YAML is read here first, since only this can say what is wrong
    /// with it in the words of its file.
    pub(crate) fn checked(&self) -> Result<&[u8], Unreadable> {
        if self.yaml.is_some() {
            self.read(&self.json)?;
        }
        Ok(&self.json)
    }

    /// Reads `json`, or a part of it that starts later.
    pub(crate) fn read<'a>(&self, json: &'a [u8]) -> Result<Value<'a>, Unreadable> {
        match &self.yaml {
            Some((_, Err(error))) => {
                Err(Unreadable { pointer: String::new(), message: error.clone(), offset: None })
            }
            // The converted text's lines are not the file's.
            Some((bytes, Ok(converted))) => Value::read(json).map_err(|error| {
                let place = place_of(bytes, converted.span_of(bytes, &error.pointer).start);
                Unreadable {
                    message: format!("{} at line {}, column {}", error.kind, place.line, place.column),
                    offset: Some(place.offset),
                    pointer: error.pointer,
                }
            }),
            None => Value::read(json).map_err(Unreadable::from),
        }
    }
}

/// The documents that a command line names: folders are searched, in the order of their names.
pub(crate) fn sources(paths: &[PathBuf]) -> Vec<Source> {
    let mut sources = Vec::new();
    for path in paths {
        if is_run_folder(path) {
            sources.push(Source::Run(path.clone()));
        } else if path.is_dir() {
            let before = sources.len();
            search(path, &mut sources);
            if sources.len() == before {
                let problem = "the folder holds no .json, .yaml or .yml file".to_owned();
                sources.push(Source::Folder(path.clone(), problem));
            }
        } else {
            sources.push(Source::of(path));
        }
    }
    sources
}

fn extension(path: &Path) -> Option<String> {
    path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase())
}

/// Why something in a folder is not read: a pipe would be waited for, and a device may never end. A command
/// line may name one itself.
pub(crate) fn not_a_file(path: &Path) -> Option<&'static str> {
    let other = path.metadata().is_ok_and(|it| !it.is_dir() && !it.is_file());
    other.then_some("is a device, a pipe or a socket, and is not read")
}

/// Linked folders are not entered, so that a loop of them ends; hidden entries are passed over.
pub(crate) fn search(folder: &Path, sources: &mut Vec<Source>) {
    let entries = std::fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => {
            sources.push(Source::Folder(folder.to_owned(), format!("cannot be searched: {error}")));
            return;
        }
    };
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let document = extension(&path).is_some_and(|it| it == "json" || it == "yaml" || it == "yml");
        if hidden {
            continue;
        }
        if entry.file_type().is_ok_and(|file_type| file_type.is_dir()) {
            if is_run_folder(&path) { sources.push(Source::Run(path)) } else { search(&path, sources) }
        } else if document && let Some(problem) = not_a_file(&path) {
            sources.push(Source::Folder(path, problem.to_owned()));
        } else if document && !path.is_dir() {
            // A link to a file counts; one that leads nowhere is reported when it is read.
            sources.push(Source::File(path));
        }
    }
}
