//! Folders and files that only their owner may use.

use crate::error::StateError;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Makes a folder that only its owner may use, whatever the umask; or checks that the one there is such a folder.
pub fn make_private_folder(path: &Path) -> Result<(), StateError> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        // A umask may take bits away from the owner too.
        Ok(()) => set_mode(path, 0o700)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(StateError::io(path)(error)),
    }
    check_private_folder(path)
}

/// Checks that a folder is not a link, that it is the caller's, and that nobody else may use it.
pub(crate) fn check_private_folder(path: &Path) -> Result<(), StateError> {
    let metadata = path.symlink_metadata().map_err(StateError::io(path))?;
    if !metadata.is_dir() {
        let problem = if metadata.is_symlink() {
            "is a link, and the state is never reached through one"
        } else {
            "is not a folder"
        };
        return Err(StateError::new(path, problem).with_hint("move it away"));
    }
    check_owner(path, &metadata, "700")
}

/// Checks that a file is not a link, that it is the caller's, and that nobody else may use it.
pub fn check_private_file(path: &Path) -> Result<(), StateError> {
    open_private(path).map(drop)
}

/// Opens a file that is not a link, is the caller's, and that nobody else may use; `None` where there is
/// none.
pub fn open_private(path: &Path) -> Result<Option<File>, StateError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // Whatever stopped being a file since must not make us wait.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(_) if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) => {
            let problem = "is a link, and the state is never reached through one";
            return Err(StateError::new(path, problem).with_hint("put the file itself there"));
        }
        Err(error) => return Err(StateError::io(path)(error)),
    };
    let metadata = file.metadata().map_err(StateError::io(path))?;
    if !metadata.is_file() {
        return Err(StateError::new(path, "is not a file"));
    }
    check_owner(path, &metadata, "600")?;
    Ok(Some(file))
}

/// Replaces a file, so that whoever reads it sees the old content or the new one. Only its owner may use it.
pub fn write_private(path: &Path, text: &str) -> Result<(), StateError> {
    let failed = StateError::io(path);
    let draft = path.with_extension(format!("{}.draft", crate::ids::random_hex()?));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let done = written.map_err(&failed).and_then(|()| {
        set_mode(&draft, 0o600)?;
        std::fs::rename(&draft, path).map_err(&failed)
    });
    if done.is_err() {
        // The failure to write counts.
        let _ = std::fs::remove_file(&draft);
    }
    done
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> Result<(), StateError> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(StateError::io(path))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> Result<(), StateError> {
    Ok(())
}

#[cfg(unix)]
fn check_owner(path: &Path, metadata: &Metadata, mode: &str) -> Result<(), StateError> {
    use std::os::unix::fs::MetadataExt;
    let (owner, caller) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != caller {
        return Err(StateError::new(path, format!("belongs to user {owner}, and you are user {caller}")));
    }
    if metadata.mode() & 0o077 != 0 {
        let problem = format!("others may use it (mode {:o})", metadata.mode() & 0o777);
        let hint = format!("if you trust its content, run `chmod {mode} {}`", path.display());
        return Err(StateError::new(path, problem).with_hint(hint));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path, _: &Metadata, _: &str) -> Result<(), StateError> {
    Ok(())
}

/// That nobody but root and the caller decides where a path leads.
#[cfg(unix)]
pub(crate) fn check_way(path: &Path) -> Result<(), StateError> {
    use std::os::unix::fs::MetadataExt;
    let caller = rustix::process::geteuid().as_raw();
    let mut there = Path::new("/");
    let mut steps: Vec<&Path> = path.ancestors().collect();
    steps.reverse();
    for step in steps {
        let Ok(metadata) = step.symlink_metadata() else { break };
        if metadata.is_symlink() && metadata.uid() != 0 {
            let problem = "is a link on the way to the state directory";
            let hint = "set XDG_STATE_HOME to the folder that it leads to";
            return Err(StateError::new(step, problem).with_hint(hint));
        }
        there = step;
    }
    let real = there.canonicalize().map_err(StateError::io(there))?;
    for folder in real.ancestors() {
        let metadata = folder.symlink_metadata().map_err(StateError::io(folder))?;
        let (owner, mode) = (metadata.uid(), metadata.mode());
        if owner != 0 && owner != caller {
            let problem = format!("is on the way to the state directory and belongs to user {owner}");
            return Err(
                StateError::new(folder, problem).with_hint("set XDG_STATE_HOME to a folder of your own")
            );
        }
        if mode & 0o002 != 0 && mode & 0o1000 == 0 {
            let problem = format!(
                "is on the way to the state directory, and everybody may write to it (mode {:o})",
                mode & 0o7777
            );
            return Err(
                StateError::new(folder, problem).with_hint(format!("run `chmod o-w {}`", folder.display()))
            );
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_way(_: &Path) -> Result<(), StateError> {
    Ok(())
}
