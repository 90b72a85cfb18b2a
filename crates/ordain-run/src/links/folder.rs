//! The files of a run's folder, and what is wrong with each.

use super::CheckedFile;
use crate::verified::canonical;
use ordain_canon::{DOCUMENT_BYTES_MAX, Value};
use ordain_spec::run::links;
use ordain_spec::{Document, Facts, Kind, Report, RuleId, Verified, Violation, verify_as};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Deeper than any run's folder.
const DEPTH_MAX: usize = 4;

/// A run's folder while it is checked.
pub(super) struct Folder<'p> {
    path: &'p Path,
    files: BTreeMap<String, Found>,
}

#[derive(Default)]
struct Found {
    present: bool,
    kind: Option<Kind>,
    violations: Vec<Violation>,
    warnings: Vec<Violation>,
}

/// The bytes of a regular file that is not too long for a document.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl<'p> Folder<'p> {
    pub(super) fn open(path: &'p Path) -> io::Result<Self> {
        let mut names = BTreeSet::new();
        list(path, "", DEPTH_MAX, &mut names)?;
        let found = |name| (name, Found { present: true, ..Found::default() });
        Ok(Self { path, files: names.into_iter().map(found).collect() })
    }

    /// The last part of its path, where that is a name.
    pub(super) fn name(&self) -> Option<String> {
        let path = self.path.canonicalize().ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.files.get(name).is_some_and(|file| file.present)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.files.iter().filter(|(_, file)| file.present).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn wrong(&mut self, rule: RuleId, file: &str, path: &str, message: String) {
        let violation = Violation { rule, path: path.to_owned(), message };
        self.files.entry(file.to_owned()).or_default().violations.push(violation);
    }

    pub(super) fn warn(&mut self, rule: RuleId, file: &str, path: &str, message: String) {
        let warning = Violation { rule, path: path.to_owned(), message };
        self.files.entry(file.to_owned()).or_default().warnings.push(warning);
    }

    /// Two documents that must be the same: says where they first differ.
    pub(super) fn same(
        &mut self,
        rule: RuleId,
        file: &str,
        what: &str,
        found: &impl Serialize,
        made: &impl Serialize,
    ) {
        let (found, made) = (serde_json::to_value(found), serde_json::to_value(made));
        let path = match (found, made) {
            (Ok(found), Ok(made)) => difference(&found, &made, String::new()),
            _ => Some(String::new()),
        };
        if let Some(path) = path {
            self.wrong(rule, file, &path, format!("is not what {what}"));
        }
    }

    /// The raw bytes of a file; that it cannot be read is said.
    pub(super) fn bytes(&mut self, name: &str) -> Option<Vec<u8>> {
        if !self.has(name) {
            return None;
        }
        match read(&self.path.join(name)) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.wrong(RuleId::Io, name, "", format!("cannot be read: {error}"));
                None
            }
        }
    }

    /// The text of a JSON file, in canonical form, so that a hash of the file is the hash of the document.
    pub(super) fn text(&mut self, name: &str) -> Option<Vec<u8>> {
        let bytes = self.bytes(name)?;
        match Value::read(&bytes) {
            Ok(value) => {
                if canonical(&value).is_ok_and(|canonical| canonical != bytes) {
                    self.wrong(links::FILES, name, "", "is not in canonical form".to_owned());
                }
            }
            Err(error) => {
                self.wrong(RuleId::Parse, name, &error.pointer, error.to_string());
                return None;
            }
        }
        Some(bytes)
    }

    /// A document that obeys its own rules, or nothing, with what is wrong said.
    pub(super) fn document<T: Document>(&mut self, name: &str, facts: &Facts<'_>) -> Option<Verified<T>> {
        let bytes = self.text(name)?;
        self.files.entry(name.to_owned()).or_default().kind = Some(T::KIND);
        let value = Value::read(&bytes).ok()?;
        match verify_as(&Facts { document_bytes: bytes.len(), ..*facts }, &value) {
            Ok(document) => Some(document),
            Err(report) => {
                let file = self.files.entry(name.to_owned()).or_default();
                file.violations.extend(report.violations().iter().cloned());
                file.warnings.extend(report.warnings().iter().cloned());
                None
            }
        }
    }

    /// A file that is not right leaves what follows from it unchecked, and that is said.
    pub(super) fn unchecked(&mut self, name: &str) {
        let rule = links::FILES;
        let others: Vec<String> = self.names().into_iter().filter(|it| it != name).collect();
        for other in others {
            let file = self.files.get(&other);
            if file.is_some_and(|it| it.violations.is_empty() && it.kind.is_none()) {
                self.warn(rule, &other, "", format!("not checked, because `{name}` is not right"));
            }
        }
    }

    pub(super) fn into_checked(self) -> Vec<CheckedFile> {
        let checked = |(file, found): (String, Found)| CheckedFile {
            file,
            kind: found.kind,
            report: Report::new(found.violations, found.warnings),
        };
        self.files.into_iter().map(checked).collect()
    }
}

fn list(folder: &Path, before: &str, depth: usize, names: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() && depth > 0 {
            list(&entry.path(), &format!("{name}/"), depth - 1, names)?;
        } else {
            names.insert(name);
        }
    }
    Ok(())
}

/// The pointer to the first place where two documents differ.
fn difference(left: &serde_json::Value, right: &serde_json::Value, path: String) -> Option<String> {
    use serde_json::Value as Json;
    match (left, right) {
        (Json::Object(a), Json::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let mut inner = path.clone();
                ordain_canon::push_pointer_token(&mut inner, key);
                match (a.get(key), b.get(key)) {
                    (Some(left), Some(right)) => difference(left, right, inner),
                    _ => Some(inner),
                }
            })
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.into_iter().find_map(|(at, (left, right))| difference(left, right, format!("{path}/{at}")))
        }
        _ => (left != right).then_some(path),
    }
}
