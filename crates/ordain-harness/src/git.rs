//! Git, asked without letting a repository decide what runs: no hooks, filters, pagers, drivers or fetches.

use ordain_spec::patch::FileChange;
use ordain_spec::path_problem;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Git did not answer, or its answer cannot become a patch set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// It cannot be started.
    #[error("git cannot be started: {0}")]
    Start(io::Error),
    /// It refused.
    #[error("git: {0}")]
    Refused(String),
    /// A change that no patch set can carry.
    #[error("`{path}` {problem}")]
    Uncarried {
        /// As git names it.
        path: String,
        /// Why.
        problem: String,
    },
}

/// The changes between two states of a repository.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GitChanges {
    /// The commits that were compared: one, or two.
    pub commits: Vec<String>,
    /// The files.
    pub changes: Vec<FileChange>,
    /// Files whose mode changes, which a patch set does not carry.
    pub modes: Vec<String>,
}

/// Options that a repository's own settings cannot undo. Only plumbing is asked for, which compares and
/// prints by itself; filters run where git reads a work tree's files, which it is never asked to do.
const SAFE: &[&str] = &[
    "--no-pager",
    "-c",
    "safe.directory=*",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "core.alternateRefsCommand=false",
    "-c",
    "protocol.allow=never",
];

fn git(workspace: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear().args(SAFE).arg("-C").arg(workspace);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.envs([
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("HOME", "/nonexistent"),
        ("LC_ALL", "C"),
    ]);
    command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Runs git, and takes at most so many bytes of its answer.
fn answer(command: &mut Command, bytes_max: u64) -> Result<Vec<u8>, GitError> {
    let mut child = command.spawn().map_err(GitError::Start)?;
    let mut bytes = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(bytes_max + 1).read_to_end(&mut bytes).map_err(GitError::Start)?;
    }
    if bytes.len() as u64 > bytes_max {
        // Nobody reads on; it ends by itself or by this.
        let _ = child.kill();
        let _ = child.wait();
        return Err(GitError::Refused(format!("its answer has more than {bytes_max} bytes")));
    }
    let ended = child.wait_with_output().map_err(GitError::Start)?;
    if ended.status.success() {
        return Ok(bytes);
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let line = said.lines().find(|line| !line.is_empty()).unwrap_or("it failed");
    Err(GitError::Refused(line.trim_start_matches("fatal: ").to_owned()))
}

const LIST_BYTES_MAX: u64 = 64 << 20;

/// The paths among these that git ignores in a workspace; none where there is no repository or no git.
pub fn ignored(workspace: &Path, paths: &[&str]) -> BTreeSet<String> {
    if paths.is_empty() {
        return BTreeSet::new();
    }
    let asked = || -> io::Result<Vec<u8>> {
        let mut child =
            git(workspace).args(["check-ignore", "-z", "--stdin"]).stdin(Stdio::piped()).spawn()?;
        let input: Vec<u8> = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        let stdin = child.stdin.take();
        let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
        let output = child.wait_with_output()?;
        let _ = writer.join();
        Ok(output.stdout)
    };
    let found = asked().unwrap_or_default();
    let found = found.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
    found.filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

/// The changes from a commit to the work tree, or `A..B` from one to another. Files that git does not track
/// are left out.
pub fn changes(workspace: &Path, revision: &str, bytes_max: u64) -> Result<GitChanges, GitError> {
    let repository = Repository { workspace, bytes_max };
    match revision.split_once("..") {
        Some((from, to)) => repository.between(&repository.commit(from)?, &repository.commit(to)?),
        None => repository.to_work_tree(&repository.commit(revision)?),
    }
}

struct Repository<'r> {
    workspace: &'r Path,
    bytes_max: u64,
}

/// A file as a commit or the index has it.
struct Tracked {
    mode: String,
    id: String,
}

impl Repository<'_> {
    fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        answer(git(self.workspace).args(arguments), LIST_BYTES_MAX)
    }

    /// The full name of a commit; whatever looks like an option is only a name.
    fn commit(&self, name: &str) -> Result<String, GitError> {
        let name = if name.is_empty() { "HEAD" } else { name };
        let wanted = format!("{name}^{{commit}}");
        let id = self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
        let id = id.map_err(|error| match error {
            GitError::Refused(_) => {
                GitError::Refused(format!("`{name}` is not a commit of a repository here"))
            }
            other => other,
        })?;
        Ok(String::from_utf8_lossy(&id).trim().to_owned())
    }

    /// From one commit to another: git compares what it has stored.
    fn between(&self, from: &str, to: &str) -> Result<GitChanges, GitError> {
        let raw = self.ask(&["diff-tree", "-r", "--raw", "-z", "--no-renames", "--relative", from, to])?;
        let mut found = GitChanges { commits: vec![from.to_owned(), to.to_owned()], ..GitChanges::default() };
        let mut room = self.bytes_max;
        let mut parts = raw.split(|byte| *byte == 0);
        while let (Some(line), Some(path)) = (parts.next(), parts.next()) {
            let line = String::from_utf8_lossy(line).into_owned();
            let fields: Vec<&str> = line.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old_id, new_id, _] = fields.as_slice() else {
                return Err(GitError::Refused("its answer cannot be read".to_owned()));
            };
            let path = safe(path)?;
            check_mode(&path, old_mode)?;
            check_mode(&path, new_mode)?;
            let was_there = *old_mode != NOTHING;
            if *new_mode == NOTHING {
                found.changes.push(FileChange::new(&path, was_there, None));
                continue;
            }
            if new_mode != old_mode && (was_there || *new_mode == EXECUTABLE) {
                found.modes.push(path.clone());
            }
            if old_id != new_id {
                let content = answer(git(self.workspace).args(["cat-file", "blob", new_id]), room)?;
                room = room.saturating_sub(content.len() as u64);
                found.changes.push(FileChange::new(&path, was_there, Some(content)));
            }
        }
        Ok(found)
    }

    /// From a commit to the work tree. Git only hashes the files, because comparing them it would run filters that the
    /// repository names.
    fn to_work_tree(&self, from: &str) -> Result<GitChanges, GitError> {
        let tree = listed(&self.ask(&["ls-tree", "-r", "-z", from])?, 2)?;
        let index = listed(&self.ask(&["ls-files", "-s", "-z"])?, 1)?;
        let folder = crate::Folder::open(self.workspace).map_err(GitError::Start)?;
        let mut found = GitChanges { commits: vec![from.to_owned()], ..GitChanges::default() };
        let mut there = Vec::new();
        for path in tree.keys().chain(index.keys().filter(|path| !tree.contains_key(*path))) {
            let old = tree.get(path);
            let uncarried =
                |problem: &str| GitError::Uncarried { path: path.clone(), problem: problem.to_owned() };
            let now = self.workspace.join(path).symlink_metadata();
            match (old.map(|old| old.mode.as_str()), now) {
                (Some(SUBMODULE), _) => {}
                (Some(LINK), Ok(now)) if now.is_symlink() => {
                    let target = std::fs::read_link(self.workspace.join(path)).map_err(GitError::Start)?;
                    let id = old.map(|old| old.id.as_str()).unwrap_or_default();
                    if self.blob(id, LIST_BYTES_MAX)? != target.as_os_str().as_encoded_bytes() {
                        return Err(uncarried("is a symbolic link, and a patch set carries none"));
                    }
                }
                (Some(LINK), _) => {
                    return Err(uncarried("was a symbolic link, and a patch set carries none"));
                }
                (_, Ok(now)) if now.is_symlink() => {
                    return Err(uncarried("is a symbolic link, and a patch set carries none"));
                }
                (old, Ok(now)) if now.is_file() => {
                    there.push(path.clone());
                    let executable = is_executable(&now);
                    if executable != (old == Some(EXECUTABLE)) {
                        found.modes.push(safe(path.as_bytes())?);
                    }
                }
                (Some(_), _) => found.changes.push(FileChange::new(&safe(path.as_bytes())?, true, None)),
                (None, _) => {}
            }
        }
        let mut room = self.bytes_max;
        for (path, id) in there.iter().zip(self.hashes(&there)?) {
            if tree.get(path).is_some_and(|old| old.id == id) {
                continue;
            }
            let path = safe(path.as_bytes())?;
            let uncarried = |problem: String| GitError::Uncarried { path: path.clone(), problem };
            let (content, _) = folder.read(&path, room).map_err(|error| uncarried(error.to_string()))?;
            room = room.saturating_sub(content.len() as u64);
            found.changes.push(FileChange::new(&path, tree.contains_key(&path), Some(content)));
        }
        Ok(found)
    }

    fn blob(&self, id: &str, bytes_max: u64) -> Result<Vec<u8>, GitError> {
        answer(git(self.workspace).args(["cat-file", "blob", id]), bytes_max)
    }

    /// The ids that git would give these files, without any filter.
    fn hashes(&self, paths: &[String]) -> Result<Vec<String>, GitError> {
        if let Some(odd) = paths.iter().find(|path| path.contains(['\n', '"'])) {
            let problem = "has a name that no patch set may have".to_owned();
            return Err(GitError::Uncarried { path: odd.clone(), problem });
        }
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = git(self.workspace);
        command.args(["hash-object", "--no-filters", "--stdin-paths"]).stdin(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::Start)?;
        let (stdin, input) = (child.stdin.take(), paths.join("\n") + "\n");
        let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        let ended = child.wait_with_output().map_err(GitError::Start)?;
        let _ = writer.join();
        let ids: Vec<String> = String::from_utf8_lossy(&ended.stdout).lines().map(str::to_owned).collect();
        if !ended.status.success() || ids.len() != paths.len() {
            return Err(GitError::Refused("a file changed while it was read".to_owned()));
        }
        Ok(ids)
    }
}

const NOTHING: &str = "000000";
const EXECUTABLE: &str = "100755";
const LINK: &str = "120000";
const SUBMODULE: &str = "160000";

fn check_mode(path: &str, mode: &str) -> Result<(), GitError> {
    let problem = match mode {
        NOTHING | "100644" | EXECUTABLE | "100664" => return Ok(()),
        LINK => "is a symbolic link, and a patch set carries none",
        SUBMODULE => "is a submodule, and a patch set carries only files",
        _ => "is not a file",
    };
    Err(GitError::Uncarried { path: path.to_owned(), problem: problem.to_owned() })
}

/// A path that a patch set may have.
fn safe(path: &[u8]) -> Result<String, GitError> {
    let shown = String::from_utf8_lossy(path).into_owned();
    let problem = match std::str::from_utf8(path) {
        Err(_) => Some("has a name that is not UTF-8".to_owned()),
        Ok(path) => path_problem(path).or_else(|| crate::apply::unpatchable(path)),
    };
    match problem {
        Some(problem) => Err(GitError::Uncarried { path: shown, problem }),
        None => Ok(shown),
    }
}

/// Lines such as `mode … id …<TAB>path`, with a NUL at the end of each. The id is the field with this number.
fn listed(text: &[u8], id_at: usize) -> Result<BTreeMap<String, Tracked>, GitError> {
    let mut found = BTreeMap::new();
    for line in text.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let unreadable = || GitError::Refused("its answer cannot be read".to_owned());
        let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(unreadable)?;
        let (fields, path) = line.split_at(tab);
        let fields = String::from_utf8_lossy(fields).into_owned();
        let fields: Vec<&str> = fields.split(' ').collect();
        let (Some(mode), Some(id)) = (fields.first(), fields.get(id_at)) else { return Err(unreadable()) };
        let path = String::from_utf8(path.get(1..).unwrap_or_default().to_vec()).map_err(|error| {
            let path = String::from_utf8_lossy(error.as_bytes()).into_owned();
            GitError::Uncarried { path, problem: "has a name that is not UTF-8".to_owned() }
        })?;
        found.insert(path, Tracked { mode: (*mode).to_owned(), id: (*id).to_owned() });
    }
    Ok(found)
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}
