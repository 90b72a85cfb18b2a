//! The folder of a run: written under another name, synced and renamed, so that what has a run's name is a whole run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of ordain in a workspace.
const OWN: &str = ".ordain";
/// Where runs are, relative to the workspace.
pub const RUNS: &str = ".ordain/runs";
const NAME_CHARS_MAX: usize = 100;

/// The folder of a run could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFolderError {
    /// Something stands where ordain would write.
    #[error("`{path}` cannot be used: {problem}")]
    Refused {
        /// Relative to the workspace.
        path: String,
        /// Why.
        problem: String,
    },
    /// The system refused.
    #[error("`{path}` cannot be written: {error}")]
    Io {
        /// Relative to the workspace.
        path: String,
        /// Why.
        error: io::Error,
    },
}

fn refused(path: &str, problem: &str) -> RunFolderError {
    RunFolderError::Refused { path: path.to_owned(), problem: problem.to_owned() }
}

/// Writes the files of a run and gives its folder, relative to the workspace. Names may have folders in them.
///
/// After a crash the folder is there with all its files or not at all.
pub fn write_run_folder(
    workspace: &Path,
    run_id: &str,
    files: &[(String, Vec<u8>)],
) -> Result<PathBuf, RunFolderError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if run_id.is_empty() || run_id.len() > NAME_CHARS_MAX || !run_id.bytes().all(plain) {
        return Err(refused(run_id, "the name of a run has letters, digits, `_` and `-`"));
    }
    prepare_run_folder(workspace)?;
    let (name, beside) = (format!("{RUNS}/{run_id}"), format!("{RUNS}/.{run_id}.tmp"));
    if fs::symlink_metadata(workspace.join(&name)).is_ok() {
        return Err(refused(&name, "there is a run of this name already"));
    }
    let error_at = |path: &str, error: io::Error| RunFolderError::Io { path: path.to_owned(), error };
    fs::create_dir(workspace.join(&beside)).map_err(|error| error_at(&beside, error))?;
    let done = write_files(&workspace.join(&beside), files)
        .map_err(|(file, error)| error_at(&format!("{name}/{file}"), error))
        .and_then(|()| {
            fs::rename(workspace.join(&beside), workspace.join(&name)).map_err(|error| error_at(&name, error))
        })
        .and_then(|()| sync_folder(&workspace.join(RUNS)).map_err(|error| error_at(RUNS, error)));
    if done.is_err() {
        // The failure to write is what counts.
        let _ = fs::remove_dir_all(workspace.join(&beside));
    }
    done.map(|()| PathBuf::from(name))
}

/// Replaces a file in `.ordain`: whoever reads it sees the old content or the new one. A crash may lose both,
/// so it is for what can be made again.
pub fn replace_own_file(workspace: &Path, name: &str, bytes: &[u8]) -> Result<(), RunFolderError> {
    prepare_own_folder(workspace)?;
    let (name, beside) = (format!("{OWN}/{name}"), format!("{OWN}/.{name}.{}.tmp", std::process::id()));
    // A command that was stopped may have left one; a link there must not be written through.
    let _ = fs::remove_file(workspace.join(&beside));
    let done = File::create_new(workspace.join(&beside))
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(workspace.join(&beside), workspace.join(&name)));
    done.map_err(|error| {
        // The failure to write is what counts.
        let _ = fs::remove_file(workspace.join(&beside));
        RunFolderError::Io { path: name, error }
    })
}

/// Makes what a run's folder will be in, or says why that cannot be: before anything is tried, not after.
pub fn prepare_run_folder(workspace: &Path) -> Result<(), RunFolderError> {
    prepare_own_folder(workspace)?;
    own_folder(workspace, RUNS)?;
    Ok(())
}

/// Makes `.ordain` with a `.gitignore`, so that nothing in it is ever committed.
fn prepare_own_folder(workspace: &Path) -> Result<(), RunFolderError> {
    let made = own_folder(workspace, OWN)?;
    let name = format!("{OWN}/.gitignore");
    if made {
        let written = File::create_new(workspace.join(&name))
            .and_then(|mut file| file.write_all(b"*\n").and_then(|()| file.sync_all()));
        written.map_err(|error| RunFolderError::Io { path: name, error })?;
    }
    Ok(())
}

/// Makes a folder if it is not there; says whether it was made. A link could lead anywhere.
fn own_folder(workspace: &Path, name: &str) -> Result<bool, RunFolderError> {
    let path = workspace.join(name);
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_symlink() => {
            Err(refused(name, "it is a symbolic link, and ordain does not follow it"))
        }
        Ok(metadata) if !metadata.is_dir() => Err(refused(name, "it is not a folder")),
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::create_dir(&path) {
            Ok(()) => Ok(true),
            // Another run was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(RunFolderError::Io { path: name.to_owned(), error }),
        },
        Err(error) => Err(RunFolderError::Io { path: name.to_owned(), error }),
    }
}

fn write_files(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), (String, io::Error)> {
    let mut folders = vec![folder.to_owned()];
    for (name, bytes) in files {
        let path = folder.join(name);
        let mut write = || {
            if let Some(parent) = path.parent().filter(|parent| !folders.iter().any(|it| it == parent)) {
                fs::create_dir_all(parent)?;
                folders.push(parent.to_owned());
            }
            let mut file = File::create_new(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(|error| (name.clone(), error))?;
    }
    // The innermost first: a name is only kept when the folder that has it is.
    for folder in folders.iter().rev() {
        sync_folder(folder).map_err(|error| (String::new(), error))?;
    }
    Ok(())
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicU32, Ordering};

    struct Workspace(PathBuf);

    impl Workspace {
        fn new() -> Self {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("ordain-folder-{}-{number}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn write(&self, run_id: &str, names: &[&str]) -> Result<PathBuf, String> {
            let files: Vec<_> = names.iter().map(|name| ((*name).to_owned(), b"{}".to_vec())).collect();
            write_run_folder(&self.0, run_id, &files).map_err(|error| error.to_string())
        }

        fn names(&self, folder: &str) -> Vec<String> {
            let entries = fs::read_dir(self.0.join(folder)).unwrap();
            let mut names: Vec<_> =
                entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Workspace {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_run_is_there_whole_and_nothing_else() {
        let workspace = Workspace::new();
        let folder = workspace.write("run_1", &["result.json", "output/1-stdout.txt"]).unwrap();
        assert_eq!(folder, Path::new(".ordain/runs/run_1"));
        assert_eq!(workspace.names(".ordain/runs"), ["run_1"]);
        assert_eq!(workspace.names(".ordain/runs/run_1"), ["output", "result.json"]);
        assert_eq!(fs::read(workspace.0.join(".ordain/.gitignore")).unwrap(), b"*\n");
        assert!(workspace.write("run_1", &["result.json"]).unwrap_err().contains("already"));
    }

    #[test]
    fn what_fails_leaves_no_folder() {
        let workspace = Workspace::new();
        let error = workspace.write("run_1", &["a", "a"]).unwrap_err();
        assert!(error.contains(".ordain/runs/run_1/a"), "{error}");
        assert_eq!(workspace.names(".ordain/runs"), Vec::<String>::new());
        for name in ["", "..", "a/b", "a b", &"x".repeat(101)] {
            assert!(workspace.write(name, &[]).is_err(), "{name}");
        }
    }

    #[test]
    fn links_are_not_followed() {
        for (link, made) in [(".ordain", ""), (".ordain/runs", ".ordain")] {
            let workspace = Workspace::new();
            fs::create_dir_all(workspace.0.join("elsewhere")).unwrap();
            fs::create_dir_all(workspace.0.join(made)).unwrap();
            symlink(workspace.0.join("elsewhere"), workspace.0.join(link)).unwrap();
            assert!(workspace.write("run_1", &["a"]).unwrap_err().contains("symbolic link"));
            assert_eq!(workspace.names("elsewhere"), Vec::<String>::new());
        }
        let workspace = Workspace::new();
        fs::write(workspace.0.join(".ordain"), "").unwrap();
        assert!(workspace.write("run_1", &["a"]).unwrap_err().contains("not a folder"));
    }

    #[test]
    fn a_file_of_ours_is_replaced_and_nothing_else_written_to() {
        let workspace = Workspace::new();
        let path = |name: &str| workspace.0.join(name);
        fs::write(path("outside"), "mine").unwrap();
        replace_own_file(&workspace.0, "index", b"1").unwrap();
        // Where a stopped command left its file, or somebody a link.
        let beside = format!(".ordain/.index.{}.tmp", std::process::id());
        symlink(path("outside"), path(&beside)).unwrap();
        replace_own_file(&workspace.0, "index", b"2").unwrap();
        assert_eq!(fs::read(path(".ordain/index")).unwrap(), b"2");
        assert_eq!(fs::read(path("outside")).unwrap(), b"mine");
        assert_eq!(workspace.names(".ordain"), [".gitignore", "index"]);
        // A link at the name itself is replaced, not followed.
        fs::remove_file(path(".ordain/index")).unwrap();
        symlink(path("outside"), path(".ordain/index")).unwrap();
        replace_own_file(&workspace.0, "index", b"3").unwrap();
        assert_eq!(fs::read(path("outside")).unwrap(), b"mine");
        let linked = Workspace::new();
        symlink(&workspace.0, linked.0.join(".ordain")).unwrap();
        assert!(
            replace_own_file(&linked.0, "index", b"4").unwrap_err().to_string().contains("symbolic link")
        );
    }
}
