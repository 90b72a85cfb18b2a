//! Documents that a command works on, and the one that it makes.

use crate::commands::verify::{Checked, FileReport};
use crate::exit::{Failure, Outcome};
use crate::input::{Source, Text, Unreadable};
use crate::report;
use ordain_canon::{Canonicalizer, Value};
use ordain_spec::{Document, Facts, Kind, RuleId, Verified, document_text, verify_as};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A document that obeys all rules, and its text.
pub(crate) struct Loaded<T> {
    pub(crate) document: Verified<T>,
    pub(crate) source: Source,
    text: Text,
}

impl<T: Document> Loaded<T> {
    /// How long its text is.
    pub(crate) fn text_bytes(&self) -> usize {
        document_text(T::KIND, &self.text.json).len()
    }

    /// The document as it was written.
    pub(crate) fn value(&self) -> Result<Value<'_>, Failure> {
        let read = self.text.read(document_text(T::KIND, &self.text.json));
        read.map_err(|wrong| document_failure(&self.source, &wrong))
    }
}

/// Refuses command lines that would read standard input twice.
pub(crate) fn check_stdin_once(paths: &[&Path]) -> Result<(), Failure> {
    match paths.iter().filter(|path| Source::of(path) == Source::Stdin).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::Usage("standard input can be read only once".to_owned())),
    }
}

/// Loads a document. Violations are printed as `verify` does: for people on standard error, with `--json` on
/// standard output.
pub(crate) fn load<T: Document>(path: &Path, json: bool) -> Result<Loaded<T>, Failure> {
    load_with(path, json, &Facts::default())
}

/// Loads a document, knowing these facts.
pub(crate) fn load_with<T: Document>(
    path: &Path,
    json: bool,
    facts: &Facts<'_>,
) -> Result<Loaded<T>, Failure> {
    let source = Source::of(path);
    let text = source.text()?;
    match check::<T>(&text, facts) {
        Ok(document) => Ok(Loaded { document, source, text }),
        Err(checked) => {
            if json {
                let report = FileReport { file: source.file(), report: &checked.report };
                let mut stdout = io::stdout().lock();
                stdout.write_all(Canonicalizer::new().value(&report)?)?;
                stdout.write_all(b"\n")?;
                stdout.flush()?;
            } else {
                report::checked(&mut anstream::stderr().lock(), &source.name(), &checked, Some(&text))?;
            }
            Err(Failure::Reported)
        }
    }
}

fn check<T: Document>(text: &Text, facts: &Facts<'_>) -> Result<Verified<T>, Checked> {
    let bytes = document_text(T::KIND, &text.json);
    let document =
        text.read(bytes).map_err(|wrong| Checked::refused(RuleId::Parse, wrong, Outcome::Failed))?;
    let facts = Facts { document_bytes: bytes.len(), ..*facts };
    verify_as(&facts, &document).map_err(|report| match Kind::recognise(&document) {
        // For a document of another kind, name its kind: every field would be wrong.
        Ok(kind) if kind != T::KIND => {
            let message = format!("expected {}, found {}", with_article(T::KIND), with_article(kind));
            let wrong = Unreadable { pointer: String::new(), message, offset: None };
            Checked::refused(RuleId::Kind, wrong, Outcome::Failed)
        }
        _ => Checked { kind: Some(T::KIND), report, outcome: Outcome::Failed, offset: None },
    })
}

pub(crate) fn with_article(kind: Kind) -> String {
    match kind {
        Kind::Evidence | Kind::Routing => kind.title().to_owned(),
        Kind::Intent | Kind::Action | Kind::Packet | Kind::Approval => format!("an {}", kind.title()),
        Kind::Bundle | Kind::Plan | Kind::Patch | Kind::Decision | Kind::Profile | Kind::Run | Kind::Note => {
            format!("a {}", kind.title())
        }
    }
}

/// The summary of a document that was written to a file.
pub(crate) struct Made {
    /// Its kind and name, as in `plan prop_…`.
    pub(crate) title: String,
    /// Its identity for programs: `id` or `hash`, and the value.
    pub(crate) name: (&'static str, String),
    /// Its content in one line.
    pub(crate) summary: String,
}

/// Prints a document in canonical form and a line feed; or writes it to a file and prints what was made.
pub(crate) fn emit(
    document: &impl Serialize,
    output: Option<&Path>,
    json: bool,
    made: Made,
) -> Result<(), Failure> {
    let mut canon = Canonicalizer::new();
    let mut bytes = canon.value(document)?.to_vec();
    bytes.push(b'\n');
    let mut stdout = io::stdout().lock();
    match output.filter(|path| *path != Path::new("-")) {
        None => stdout.write_all(&bytes)?,
        Some(path) => {
            let file = path.display().to_string();
            write_file(path, &bytes).map_err(|error| Failure::File { path: file.clone(), error })?;
            let Made { title, name: (key, value), summary } = made;
            if json {
                stdout.write_all(canon.value(&BTreeMap::from([("file", file), (key, value)]))?)?;
                stdout.write_all(b"\n")?;
            } else {
                let sentence = format!("{title} written to {file}: {summary}");
                writeln!(stdout, "{}", report::printable(&sentence))?;
            }
        }
    }
    Ok(stdout.flush()?)
}

/// Writes beside the file and renames, so that nobody sees half of it. A link stays a link; a device such as
/// `/dev/stderr` cannot be replaced and is written to.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (target, permissions) = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, not a file"));
        }
        Ok(metadata) if metadata.is_file() => (path.canonicalize()?, Some(metadata.permissions())),
        Ok(_) => return OpenOptions::new().write(true).open(path)?.write_all(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
        Err(error) => return Err(error),
    };
    let (mut file, beside) = create_beside(&target)?;
    let done = file.write_all(bytes).and_then(|()| match permissions {
        Some(permissions) => file.set_permissions(permissions),
        None => Ok(()),
    });
    let done = done.and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, &target));
    if done.is_err() {
        // The failure to write is what counts.
        let _ = fs::remove_file(&beside);
    }
    done
}

/// A new file with a name of its own. One that a stopped run left behind is passed over, not overwritten.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    const TRIES: u32 = 100;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "names no file");
    for attempt in 0..TRIES {
        let beside = target.with_file_name(format!(".{name}.{}-{attempt}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// The failure of a command whose document cannot be read.
pub(crate) fn document_failure(source: &Source, wrong: &Unreadable) -> Failure {
    let place = if wrong.pointer.is_empty() { String::new() } else { format!(", in `{}`", wrong.pointer) };
    Failure::Document { path: source.name(), problem: format!("{}{place}", wrong.message) }
}

/// Why there is no document, as an error of this command.
pub(crate) fn unreadable(source: &Source, refused: &Checked) -> Failure {
    let wrong = refused.report.violations().first();
    let (pointer, message) = wrong.map(|it| (it.path.clone(), it.message.clone())).unwrap_or_default();
    document_failure(source, &Unreadable { pointer, message, offset: None })
}
