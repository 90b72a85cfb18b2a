//! The things that a command line refers to. It does not parse the shell, and nothing is permitted by it: it finds the
//! files and repositories that the words of a command name, so that a call after a change is another deed. Too much is
//! found rather than too little.

use super::{Machine, files, follow, git};
use crate::core::limits::{FILE_BYTES_MAX, FILES_MAX};
use crate::core::mapping::Resolved;
use ordain_canon::ContentHash;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Programs that run what a file of the folder says, and the names of that file.
const DRIVEN: &[(&[&str], &[&str])] = &[
    (&["npm", "npx", "pnpm", "yarn", "bun", "node"], &["package.json"]),
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["rake"], &["Rakefile", "rakefile"]),
    (&["composer"], &["composer.json"]),
];
/// Programs that run a file, so that one that is named by a variable is not known.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "fish", "source", ".", "python", "python3", "node", "perl", "ruby",
    "php",
];
/// Bytes of all files of one command.
const ALL_BYTES_MAX: u64 = 256 << 20;

pub(super) fn resolved(machine: &Machine, cwd: &Path, command: &str) -> Resolved {
    let words = words(command);
    let mut resolved = Resolved::default();
    let mut found: BTreeMap<String, Json> = BTreeMap::new();
    let (mut bytes, mut left_out) = (0, 0);
    let mut folders = vec![cwd.to_owned()];
    for word in &words {
        let Some(path) = path_of(word) else { continue };
        let (real, exists) = follow(cwd, path);
        if !exists {
            continue;
        }
        let Ok(metadata) = real.metadata() else { continue };
        if metadata.is_dir() {
            folders.push(real);
        } else if metadata.is_file() && !is_system(&real) {
            bytes += metadata.len();
            if found.len() >= FILES_MAX || bytes > ALL_BYTES_MAX {
                left_out += 1;
                continue;
            }
            add(machine, &real, &mut found, &mut resolved);
        }
    }
    for (programs, names) in DRIVEN {
        if words.iter().any(|word| programs.contains(&program(word))) {
            let driving = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
            for path in driving.filter(|path| path.is_file()) {
                add(machine, &path, &mut found, &mut resolved);
            }
        }
    }
    if left_out > 0 {
        resolved.unresolved.push(format!("{left_out} more files that the command names"));
    }
    for pair in words.windows(2) {
        if let [runs, file] = pair
            && INTERPRETERS.contains(&program(runs))
            && file.contains(['$', '`', '*', '?'])
        {
            resolved.unresolved.push(format!("`{file}` that `{runs}` runs"));
        }
    }
    if !found.is_empty() {
        resolved.known.insert("files".to_owned(), Json::Object(found.into_iter().collect()));
    }
    // Also where the name stands inside a longer text, such as that of `bash -c`.
    if command.contains("git") {
        add_git(machine, &folders, &mut resolved);
    }
    resolved
}

fn add(machine: &Machine, path: &Path, found: &mut BTreeMap<String, Json>, resolved: &mut Resolved) {
    let name = machine.name(path);
    match files::bytes(path, FILE_BYTES_MAX) {
        Ok(Some(bytes)) => {
            found.insert(name, json!(ContentHash::of(&bytes).to_string()));
        }
        Ok(None) => {}
        Err(problem) => resolved.unresolved.push(format!("{name}: {problem}")),
    }
}

fn add_git(machine: &Machine, folders: &[PathBuf], resolved: &mut Resolved) {
    let mut repositories = Map::new();
    for folder in folders.iter().take(FILES_MAX) {
        match git::state(folder) {
            None => {}
            Some(Ok(state)) => {
                repositories.insert(machine.name(folder), state);
            }
            Some(Err(problem)) => {
                resolved.unresolved.push(format!("the repository of {}: {problem}", machine.name(folder)))
            }
        }
    }
    if !repositories.is_empty() {
        resolved.known.insert("git".to_owned(), Json::Object(repositories));
    }
}

impl Machine {
    /// As parameters name a place.
    fn name(&self, path: &Path) -> String {
        let inside = self.root.as_ref().and_then(|root| path.strip_prefix(root).ok());
        let name = inside.unwrap_or(path).to_string_lossy().into_owned();
        if name.is_empty() { ".".to_owned() } else { name }
    }
}

/// Programs and libraries of the system change with updates, and no call is about that.
fn is_system(path: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys", "/dev"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// A word that may name a file.
fn path_of(word: &str) -> Option<&Path> {
    // `--file=path` and `NAME=path` name one too.
    let word = word.rsplit_once('=').map_or(word, |(_, value)| value);
    let named =
        !word.is_empty() && word.len() < 4_096 && !word.starts_with(['-', '~']) && !word.contains('\0');
    named.then(|| Path::new(word))
}

/// The words of a command, with quotes taken off, split at everything that could separate two.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (Some('\''), character) => word.push(character),
            (_, '\\') => word.extend(characters.next()),
            (None, character) if character.is_whitespace() || ";&|<>()".contains(character) => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            (_, character) => word.push(character),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    // A quoted text may be a command itself.
    let inner: Vec<String> = words
        .iter()
        .filter(|word| word.contains(char::is_whitespace))
        .flat_map(|word| {
            word.split(|character: char| character.is_whitespace() || ";&|<>()'\"".contains(character))
        })
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.extend(inner);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(root: &Path) -> Machine {
        Machine { root: Some(root.to_owned()) }
    }

    #[test]
    fn words_lose_their_quotes() {
        assert_eq!(
            words(r#"a 'b c' "d"e\ f;g|h>i"#),
            ["a", "b c", "de f", "g", "h", "i", "b", "c", "de", "f"]
        );
    }

    #[test]
    fn a_changed_script_is_another_deed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("run.sh"), "echo 1\n").unwrap();
        let before = resolved(&machine(&root), &root, "bash -c './run.sh --fast'");
        assert!(before.known["files"]["run.sh"].is_string(), "{before:?}");
        fs::write(root.join("run.sh"), "echo 2\n").unwrap();
        assert_ne!(resolved(&machine(&root), &root, "bash -c './run.sh --fast'"), before);
        let unknown = resolved(&machine(&root), &root, "bash $SCRIPT");
        assert_eq!(unknown.unresolved, ["`$SCRIPT` that `bash` runs"]);
    }

    #[test]
    fn a_commit_a_remote_and_a_branch_make_another_deed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/refs/heads")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(".git/config"), "[remote \"origin\"]\n\turl = https://git.example/a\n").unwrap();
        let id = |digit: &str| format!("{}\n", digit.repeat(40));
        fs::write(root.join(".git/refs/heads/main"), id("1")).unwrap();
        let push = || resolved(&machine(&root), &root, "git push");
        let first = push();
        assert_eq!(first.known["git"]["."]["commit"], "1".repeat(40));
        assert_eq!(first.known["git"]["."]["remotes"]["origin"], "https://git.example/a");
        fs::write(root.join(".git/refs/heads/main"), id("2")).unwrap();
        let second = push();
        assert_ne!(second, first);
        fs::write(root.join(".git/refs/heads/other"), id("3")).unwrap();
        let third = push();
        assert_ne!(third, second);
        fs::write(root.join(".git/config"), "[remote \"origin\"]\n\turl = https://evil.example/a\n").unwrap();
        assert_ne!(push(), third);
        assert!(first.unresolved.is_empty(), "{first:?}");
    }

    /// Nobody waits for a pipe.
    #[test]
    fn a_pipe_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(files::content(&root.join("pipe")).is_err());
        assert_eq!(resolved(&machine(&root), &root, "cat pipe"), Resolved::default());
    }
}
