//! A folder of notes: its routing, what is at a path, and every note.

use crate::error::VaultError;
use crate::limits::{DEPTH_MAX, NOTE_BYTES_MAX, NOTES_MAX, ROUTING_BYTES_MAX};
use crate::note::Note;
use crate::route::Routes;
use crate::yaml;
use ordain_canon::{Value, place_of};
use ordain_harness::{EntryKind, Folder};
use ordain_spec::routing::Routing;
use ordain_spec::{Facts, Kind, RuleId, folded_path, path_faults, verify_value};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where the routing of a vault is.
pub const ROUTING: &str = "km/routing.yaml";
/// The folder of a vault's own files.
const OWN: &str = "km";

/// A vault. Nothing outside its folder is ever read, and no link is followed.
pub struct Vault {
    root: PathBuf,
    pub(crate) folder: Folder,
    pub(crate) routes: Option<Routes>,
}

/// The state of a place for a note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum At {
    Nothing,
    /// Something has this very path.
    Same,
    /// Something has this path but for case or Unicode form, and this is how it is spelled.
    Spelled(String),
    /// A folder on the way has this path but for case or Unicode form, and nothing is there; this would be the path.
    InFolder(String),
    /// This should be a folder and is none.
    NoFolder(String),
    /// This is a link.
    Link(String),
}

impl Vault {
    /// Opens a vault and reads its routing. One that is there and is not valid is an error.
    pub fn open(root: &Path) -> Result<Self, VaultError> {
        let folder = Folder::open(root)
            .map_err(|error| VaultError::Root { path: root.display().to_string(), error })?;
        let routes = match folder.read(ROUTING, ROUTING_BYTES_MAX as u64) {
            Ok((bytes, _)) => Some(read_routing(&bytes).map_err(|problem| VaultError::Routing { problem })?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                return Err(VaultError::Routing { problem: format!("cannot be read: {error}") });
            }
        };
        Ok(Self { root: root.to_owned(), folder, routes })
    }

    /// Its folder, as it was given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its routing; a vault without one takes every path.
    pub fn routing(&self) -> Option<&Routing> {
        self.routes.as_ref().map(|routes| &routes.routing)
    }

    /// The note at a path, if there is one.
    pub fn note(&self, path: &str) -> Result<Option<Note>, VaultError> {
        let unreadable = |problem: String| VaultError::Unreadable { path: path.to_owned(), problem };
        if !is_note_path(path) {
            return Err(unreadable("it is not the path of a note in this vault".to_owned()));
        }
        match self.folder.read(path, NOTE_BYTES_MAX as u64) {
            Ok((bytes, _)) => Note::read(path, bytes).map(Some).map_err(unreadable),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }

    /// The paths of all notes, in order. Links are passed over, and so are hidden folders and `km`.
    pub fn paths(&self) -> Result<Vec<String>, VaultError> {
        let mut paths = Vec::new();
        self.walk(&mut |path, _, names| {
            paths.extend(names.iter().map(|name| joined(path, name)));
            Ok(())
        })?;
        paths.sort_unstable();
        Ok(paths)
    }

    /// Calls for each folder with the names of its notes. A folder that may not be read has none.
    pub(crate) fn walk(
        &self,
        each: &mut impl FnMut(&str, &Folder, Vec<String>) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        let mut count = 0;
        let mut waiting = vec![(String::new(), 0)];
        while let Some((path, depth)) = waiting.pop() {
            let unreadable = |problem: String| VaultError::Unreadable { path: path.clone(), problem };
            let opened = self.folder.folder(&path).and_then(|folder| {
                let entries = folder.entries()?;
                Ok((folder, entries))
            });
            let (folder, entries) = match opened {
                Ok(opened) => opened,
                Err(error) if depth > 0 && is_closed(&error) => continue,
                Err(error) => return Err(unreadable(error.to_string())),
            };
            let is_ours = |name: &str| !name.starts_with('.') && (depth > 0 || folded_path(name) != OWN);
            let mut names = Vec::new();
            for entry in entries.into_iter().filter(|entry| is_ours(&entry.name)) {
                match entry.kind {
                    EntryKind::File if entry.name.ends_with(".md") => names.push(entry.name),
                    EntryKind::Folder if depth < DEPTH_MAX => {
                        waiting.push((joined(&path, &entry.name), depth + 1));
                    }
                    EntryKind::Folder => {
                        return Err(unreadable(format!("folders are nested deeper than {DEPTH_MAX}")));
                    }
                    EntryKind::File | EntryKind::Link | EntryKind::Other => {}
                }
            }
            count += names.len();
            if count > NOTES_MAX {
                return Err(unreadable(format!("the vault has more than {NOTES_MAX} notes")));
            }
            each(&path, &folder, names)?;
        }
        Ok(())
    }

    /// The state of the place for a note, by a path that passed the guards.
    pub(crate) fn at(&self, path: &str) -> Result<At, VaultError> {
        let mut folder_path = String::new();
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let here = joined(&folder_path, name);
            let unreadable = |error: std::io::Error| VaultError::Unreadable {
                path: here.clone(),
                problem: error.to_string(),
            };
            let folder = self.folder.folder(&folder_path).map_err(unreadable)?;
            match folder.look(name).map_err(unreadable)? {
                Some((EntryKind::Link, _)) => return Ok(At::Link(here)),
                Some((EntryKind::Folder, _)) if names.peek().is_some() => folder_path = here,
                Some(_) if names.peek().is_some() => return Ok(At::NoFolder(here)),
                Some(_) => return Ok(At::Same),
                None => {
                    let folded = folded_path(name);
                    let entries = folder.entries().map_err(unreadable)?;
                    let other = entries.into_iter().find(|entry| folded_path(&entry.name) == folded);
                    let Some(other) = other else { return Ok(At::Nothing) };
                    let spelled = joined(&folder_path, &other.name);
                    let rest = names.map(|name| format!("/{name}")).collect::<String>();
                    if rest.is_empty() {
                        return Ok(At::Spelled(spelled));
                    }
                    // The next folder may be spelled otherwise, too.
                    let spelled = spelled + &rest;
                    return Ok(match self.at(&spelled)? {
                        At::Nothing => At::InFolder(spelled),
                        At::Same => At::Spelled(spelled),
                        other => other,
                    });
                }
            }
        }
        Ok(At::Nothing)
    }
}

/// Whether notes can have this path: it stays inside, ends in `.md`, and is neither hidden nor one of the vault's own.
pub fn is_note_path(path: &str) -> bool {
    let own = path.split('/').next().is_some_and(|first| folded_path(first) == OWN);
    path_faults(path).is_empty()
        && path.ends_with(".md")
        && !own
        && path.split('/').all(|segment| !segment.starts_with('.'))
}

/// Somebody else's folder, or one that went away meanwhile.
fn is_closed(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::NotADirectory)
}

pub(crate) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn read_routing(bytes: &[u8]) -> Result<Routes, String> {
    let converted = yaml::to_json(bytes)?;
    let line = |pointer: &str| place_of(bytes, converted.span_of(bytes, pointer).start).line;
    let value = Value::read(&converted.json)
        .map_err(|error| format!("{} at `{}`, line {}", error.kind, error.pointer, line(&error.pointer)))?;
    let report = verify_value(Kind::Routing, &Facts::default(), &value);
    // A template that is missing concerns the notes of its route, and they are told.
    let problems: Vec<String> = report
        .violations()
        .iter()
        .filter(|it| it.rule != RuleId::Numbered(Kind::Routing, 5))
        .map(|it| format!("{} at `{}`, line {}: {}", it.rule, it.path, line(&it.path), it.message))
        .collect();
    if !problems.is_empty() {
        return Err(problems.join("; "));
    }
    let routing = value.to_typed().map_err(|error| error.to_string())?;
    Routes::new(routing).map_err(|error| error.to_string())
}
