//! Finding and reading a policy folder.

use crate::exit::Failure;
use crate::input::{Source, not_a_file};
use crate::project::{CONFIG, POLICY, Project};
use crate::report::{RED, YELLOW, printable};
use ordain_canon::{Canonicalizer, ContentHash, DOCUMENT_BYTES_MAX, place_of};
use ordain_decision::{PolicyFiles, PolicySet, Problem, Severity, is_policy_file};
use serde_json::json;
use std::fs::DirEntry;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The one folder in a policy folder.
pub(crate) const TESTS: &str = "tests";

/// The folder that was named, or the one that the nearest configuration names, or the usual one.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    if let Some(project) = Project::find()? {
        return project.policy();
    }
    let usual = PathBuf::from(POLICY);
    if usual.is_dir() {
        return Ok(usual);
    }
    let problem = format!(
        "no policy folder found: no `{CONFIG}` in this directory or its parents, and no `./{POLICY}`"
    );
    let failure = Failure::Document { path: ".".to_owned(), problem };
    Err(failure.with_hint("run `ordain init`, or name a policy folder"))
}

/// A policy folder as it was found.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) files: PolicyFiles,
    /// The unreadable files, and those that do not belong there.
    problems: Vec<Problem>,
}

impl Folder {
    pub(crate) fn read(path: PathBuf) -> Result<Self, Failure> {
        let failure = |error| Failure::File { path: path.display().to_string(), error };
        let entries = std::fs::read_dir(&path).map_err(failure)?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(failure)?;
        entries.sort_by_key(DirEntry::path);
        let mut folder = Self { path, files: PolicyFiles::new(), problems: Vec::new() };
        for entry in entries {
            folder.add(&entry);
        }
        if !folder.files.keys().any(|name| name.ends_with(".cedar")) {
            let message = "holds no policy, no `*.cedar`, and so would deny everything";
            folder.problems.push(problem("", message.to_owned()));
        }
        Ok(folder)
    }

    fn add(&mut self, entry: &DirEntry) {
        let name = entry.file_name();
        let shown = name.to_string_lossy().into_owned();
        if shown.starts_with('.') {
            return;
        }
        let path = entry.path();
        let read = match (path.is_dir(), name.to_str()) {
            (true, Some(TESTS)) => return,
            (true, _) => {
                Err(format!("is a folder, whose policies would not be read; only `{TESTS}` may be here"))
            }
            (false, Some(name)) if is_policy_file(name) => read_text(&path),
            // A misspelt name must not pass for something that has no say.
            (false, Some(name)) if looks_like_one(name) => Ok(String::new()),
            (false, Some(name)) if is_reading_matter(name) => return,
            (false, Some(_)) => Err("is not read; policies end in `.cedar`, and only texts for people may stand beside them (`*.md`, `README`)".to_owned()),
            (false, None) => Err("has a name that is not UTF-8".to_owned()),
        };
        match read {
            Ok(text) => drop(self.files.insert(shown, text)),
            Err(message) => self.problems.push(problem(&shown, message)),
        }
    }

    /// The policies, or everything that is wrong with the folder.
    pub(crate) fn load(&self) -> Result<PolicySet, Vec<Problem>> {
        let mut problems = self.problems.clone();
        match ordain_gate::load_policy_files(&self.files) {
            Ok(set) if problems.is_empty() => return Ok(set),
            Ok(set) => problems.extend(set.warnings().iter().cloned()),
            Err(more) => problems.extend(more),
        }
        problems.sort();
        Err(problems)
    }
}

fn problem(file: &str, message: String) -> Problem {
    Problem { file: file.to_owned(), line: None, policy: None, message, severity: Severity::Error }
}

/// Files for people, which have no effect.
fn is_reading_matter(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with(".md") || lower.starts_with("readme") || lower.starts_with("licen")
}

fn looks_like_one(name: &str) -> bool {
    let extension = Path::new(name).extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
    let known = ["cedar", "cedarschema", "json", "toml", "yaml", "yml"];
    extension.is_some_and(|extension| known.contains(&extension.as_str()))
}

fn read_text(path: &Path) -> Result<String, String> {
    if let Some(problem) = not_a_file(path) {
        return Err(problem.to_owned());
    }
    let bytes = Source::of(path).bytes().map_err(|failure| match failure {
        Failure::File { error, .. } => format!("cannot be read: {error}"),
        other => other.to_string(),
    })?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(format!("is longer than {DOCUMENT_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = place_of(error.as_bytes(), error.utf8_error().valid_up_to()).line;
        format!("is not UTF-8 from line {line} on")
    })
}

/// The folder, and the hash by which its files would be on record. Whether they are valid is not looked at.
pub(crate) fn document_hash(path: PathBuf) -> Result<(PathBuf, ContentHash), Failure> {
    let folder = Folder::read(path)?;
    let hash = ordain_gate::policy_document_hash(&folder.files)?;
    Ok((folder.path, hash))
}

/// The files of the policy folder that was named or is found; what is wrong with it is printed.
pub(crate) fn load_files(named: Option<&Path>, json: bool) -> Result<(PathBuf, PolicyFiles), Failure> {
    let (folder, _) = checked(named, json)?;
    Ok((folder.path, folder.files))
}

/// The folder that was named or is found, with its policies. Its problems are printed.
pub(crate) fn checked(named: Option<&Path>, json: bool) -> Result<(Folder, PolicySet), Failure> {
    let folder = Folder::read(find(named)?)?;
    match folder.load() {
        Ok(set) => Ok((folder, set)),
        Err(problems) => Err(tell_problems(&folder, &problems, json)?),
    }
}

/// The policies of the folder that was named or is found. Its problems are printed: for people on standard
/// error, with `--json` on standard output.
pub(crate) fn load(named: Option<&Path>, json: bool) -> Result<(PathBuf, PolicySet), Failure> {
    checked(named, json).map(|(folder, set)| (folder.path, set))
}

fn tell_problems(folder: &Folder, problems: &[Problem], json: bool) -> Result<Failure, Failure> {
    if json {
        let report = json!({"ok": false, "policy": folder.path.display().to_string(), "problems": problems});
        let mut stdout = io::stdout().lock();
        stdout.write_all(Canonicalizer::new().value(&report)?)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    } else {
        let mut stderr = anstream::stderr().lock();
        show(&mut stderr, &folder.path, problems)?;
        let path = folder.path.display().to_string();
        let said = format!("{path} cannot be used: {}", counted(problems));
        writeln!(stderr, "{RED}error:{RED:#} {}", printable(&said))?;
    }
    Ok(Failure::Reported)
}

/// One problem a line, with its place.
pub(crate) fn show(out: &mut impl Write, folder: &Path, problems: &[Problem]) -> io::Result<()> {
    for Problem { file, line, policy, message, severity } in problems {
        let (style, name) = match severity {
            Severity::Error => (RED, "error"),
            Severity::Warning => (YELLOW, "warning"),
        };
        let place = if file.is_empty() { folder.to_owned() } else { folder.join(file) };
        let mut place = place.display().to_string();
        if let Some(line) = line {
            place += &format!(":{line}");
        }
        if let Some(policy) = policy {
            place += &format!("  `{policy}`");
        }
        writeln!(out, "{style}{name}{style:#}  {}: {}", printable(&place), printable(message))?;
    }
    Ok(())
}

/// `2 errors, 1 warning`.
pub(crate) fn counted(problems: &[Problem]) -> String {
    let of = |severity| problems.iter().filter(|it| it.severity == severity).count() as u64;
    let parts = [(of(Severity::Error), "error"), (of(Severity::Warning), "warning")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    parts.map(|(number, noun)| crate::wording::count(number, noun)).collect::<Vec<_>>().join(", ")
}
