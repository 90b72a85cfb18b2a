//! Patch sets of work that exists: a folder, a diff, a git repository, what a command left.

use crate::document::Made;
use crate::exit::Failure;
use crate::report;
use crate::wording::count;
use ordain_canon::{Canonicalizer, ContentHash, PatchHash, RunFileHash, Value};
use ordain_harness::apply::{Base, unpatchable};
use ordain_harness::worktree::Snapshot;
use ordain_harness::{Folder, git};
use ordain_spec::patch::{FileChange, PatchSet, PatchSource, parse_diff, patch_of_changes};
use ordain_spec::{Facts, NonEmpty, Sha256, Verified, verify_as};
use std::cell::RefCell;
use std::io;
use std::path::Path;

/// Names that are listed before the rest is counted.
const LISTED_MAX: usize = 10;

/// The patch set that a git diff describes, and what it was made for.
pub(crate) fn of_diff(
    text: &[u8],
    name: &str,
    workspace: &Path,
) -> Result<(Verified<PatchSet>, Base), Failure> {
    let wrong = |problem: String| Failure::Document { path: name.to_owned(), problem };
    let diff = parse_diff(text).map_err(|error| wrong(error.to_string()))?;
    let at_workspace = |error| Failure::File { path: workspace.display().to_string(), error };
    let folder = Folder::open(workspace).map_err(at_workspace)?;
    let base = RefCell::new(Base::default());
    let bytes_max = Facts::default().profile.max_total_output_bytes;
    let read = |path: &str| -> Result<Option<Vec<u8>>, String> {
        if let Some(problem) = unpatchable(path) {
            return Err(problem);
        }
        let content = match folder.read(path, bytes_max) {
            Ok((bytes, _)) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("cannot be read: {error}")),
        };
        let hash = content.as_ref().map(|bytes| ContentHash::of(bytes).to_string());
        base.borrow_mut().files.insert(path.to_owned(), hash);
        Ok(content)
    };
    let changes = diff.changes(read).map_err(|error| wrong(error.to_string()))?;
    let modes: Vec<&str> =
        diff.files.iter().filter(|file| file.mode.is_some()).map(|file| file.new.as_str()).collect();
    note_modes(&modes);
    let file =
        Path::new(name).file_name().and_then(|file| file.to_str()).filter(|_| name != "standard input");
    let id = file.map_or_else(|| "diff".to_owned(), |file| format!("diff:{file}"));
    let line_of =
        |path: &str| diff.files.iter().find(|it| it.new == path || it.old == path).map(|it| it.line);
    let source = PatchSource { id: NonEmpty::of(id), hash: ContentHash::of(text).into(), bundle: None };
    let set = patch_of_changes(source, changes).map_err(|error| {
        let line = line_of(&error.path).map(|line| format!("line {line} of the diff: ")).unwrap_or_default();
        wrong(format!("{line}{error}"))
    })?;
    let set = verified(&set, name)?;
    let mut base = base.into_inner();
    base.files.retain(|path, _| set.operations.iter().any(|operation| operation.path == *path));
    Ok((set, base))
}

/// The patch set that turns a workspace into another folder.
pub(crate) fn of_folder(workspace: &Path, folder: &Path) -> Result<Verified<PatchSet>, Failure> {
    let name = folder.display().to_string();
    let wrong = |problem: String| Failure::Document { path: name.clone(), problem };
    let failed = |path: &Path, error| Failure::File { path: path.display().to_string(), error };
    let real = |path: &Path| path.canonicalize().map_err(|error| failed(path, error));
    let (inner, outer) = (real(folder)?, real(workspace)?);
    if inner.starts_with(&outer) || outer.starts_with(&inner) {
        return Err(wrong("is the workspace, or one of the two lies in the other".to_owned()));
    }
    let before = Snapshot::take(workspace).map_err(|error| failed(workspace, error))?;
    let after = Snapshot::take(folder).map_err(|error| failed(folder, error))?;
    let mut found = before.differences(&after);
    let changed: Vec<&str> = found.changed.iter().map(|it| it.path.as_str()).collect();
    let ignored = git::ignored(workspace, &changed);
    found.leave_out(&ignored);
    if let Some(path) = found.guards.first() {
        return Err(wrong(format!("`{path}` {}", unpatchable(path).unwrap_or_default())));
    }
    if let Some(problem) = found.problems.first() {
        return Err(wrong(problem.to_string()));
    }
    note_listed("left out, because git ignores it or tools make it", &found.left_out);
    note_modes(&found.modes.iter().map(String::as_str).collect::<Vec<_>>());
    let bytes_max = Facts::default().profile.max_total_output_bytes;
    let changes = found.contents(folder, bytes_max).map_err(|error| wrong(error.to_string()))?;
    made_of("folder", &name, changes)
}

/// The patch set of what changed since a commit, or from one to another.
pub(crate) fn of_git(workspace: &Path, revision: &str) -> Result<Verified<PatchSet>, Failure> {
    let bytes_max = Facts::default().profile.max_total_output_bytes;
    let found = git::changes(workspace, revision, bytes_max).map_err(|error| Failure::Document {
        path: workspace.display().to_string(),
        problem: error.to_string(),
    })?;
    note_modes(&found.modes.iter().map(String::as_str).collect::<Vec<_>>());
    made_of(&format!("git:{}", found.commits.join("..")), revision, found.changes)
}

/// A patch set of changes that have no document of their own: its source is what the files have become.
fn made_of(id: &str, name: &str, changes: Vec<FileChange>) -> Result<Verified<PatchSet>, Failure> {
    let hash = |change: &FileChange| change.after.as_ref().map(|bytes| ContentHash::of(bytes).to_string());
    let files = changes.iter().map(|change| (change.path.clone(), hash(change)));
    let hash: Sha256 = RunFileHash::of(&mut Canonicalizer::new(), &Base { files: files.collect() })?.into();
    let source = PatchSource { id: NonEmpty::of(id.to_owned()), hash, bundle: None };
    of_changes(source, name, changes)
}

/// The verified patch set of changes.
pub(crate) fn of_changes(
    source: PatchSource,
    name: &str,
    changes: Vec<FileChange>,
) -> Result<Verified<PatchSet>, Failure> {
    let set = patch_of_changes(source, changes)
        .map_err(|error| Failure::Document { path: name.to_owned(), problem: error.to_string() })?;
    verified(&set, name)
}

fn verified(set: &PatchSet, name: &str) -> Result<Verified<PatchSet>, Failure> {
    let wrong = |problem: String| Failure::Document { path: name.to_owned(), problem };
    let text = Canonicalizer::new().value(set)?.to_vec();
    let value = Value::read(&text).map_err(|error| wrong(error.to_string()))?;
    verify_as(&Facts { document_bytes: text.len(), ..Facts::default() }, &value).map_err(|report| {
        let said: Vec<String> =
            report.violations().iter().map(|it| format!("{}: {}", it.rule, it.message)).collect();
        wrong(format!("no patch set can be made: {}", said.join("; ")))
    })
}

/// How a patch set that was written to a file is told.
pub(crate) fn made(set: &PatchSet) -> Result<Made, Failure> {
    let (operations, bytes) = (set.operations.len() as u64, set.total_bytes);
    Ok(Made {
        title: format!("patch set of {}", set.source_proposal_id.as_str()),
        name: ("hash", PatchHash::of(&mut Canonicalizer::new(), set)?.to_string()),
        summary: format!("{}, {}", count(operations, "operation"), count(bytes, "byte")),
    })
}

fn note_modes(paths: &[&str]) {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    note_listed("the executable bit changes, and a patch set does not carry it", &paths);
}

fn note_listed(what: &str, paths: &[String]) {
    if paths.is_empty() {
        return;
    }
    let shown: Vec<&str> = paths.iter().take(LISTED_MAX).map(String::as_str).collect();
    let more = paths.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    report::note(&format!("{what}: {}{more}", shown.join(", ")), None);
}

/// Whether a text is a git diff and no document.
pub(crate) fn is_diff(text: &[u8]) -> bool {
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    first != Some(&b'{') && text.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"diff --git "))
}
