//! The program that the unit starts. Nobody but root may be able to replace it.

use super::steps::Steps;
use crate::exit::Failure;
use std::fs::{self, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where a copy goes if somebody could replace this program.
pub(super) const COPY: &str = "/opt/ordain/ordain";

/// This program, or a copy of it that belongs to root.
pub(super) fn prepare(steps: &mut Steps) -> Result<PathBuf, Failure> {
    let this = std::env::current_exe()?.canonicalize()?;
    if is_roots(&this) {
        return Ok(this);
    }
    let copy = PathBuf::from(COPY);
    let same = is_roots(&copy) && fs::read(&copy)? == fs::read(&this)?;
    let step = format!("copy {} to {COPY}, which only root can replace", this.display());
    steps.take(&step, same, || put(&this, &copy))?;
    Ok(copy)
}

fn put(this: &Path, copy: &Path) -> Result<(), Failure> {
    let failure = |path: &Path| {
        let path = path.display().to_string();
        move |error| Failure::File { path, error }
    };
    let folder = copy.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(failure(folder))?;
    // Somebody else who can write there could have us write elsewhere.
    if !only_root_writes(folder) {
        return Err(others_write(folder));
    }
    // A program that runs is replaced, not written to.
    let draft = copy.with_extension("new");
    let written = fs::copy(this, &draft)
        .and_then(|_| fs::set_permissions(&draft, Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&draft, copy));
    written.map_err(failure(copy))?;
    if is_roots(copy) {
        return Ok(());
    }
    Err(others_write(copy))
}

fn others_write(path: &Path) -> Failure {
    let problem = "others than root can replace it, or a folder above it".to_owned();
    let failure = Failure::Document { path: path.display().to_string(), problem };
    failure.with_hint("make it and the folders above it root's, with mode 755")
}

/// Whether a program and every folder above it belong to root, and nobody else may write there.
pub(crate) fn is_roots(program: &Path) -> bool {
    program.is_file() && only_root_writes(program)
}

/// Whether a file or folder and every folder above it belong to root, nobody else may write there, and none is a link.
fn only_root_writes(path: &Path) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    path.ancestors().all(|step| {
        step.symlink_metadata()
            .is_ok_and(|found| found.uid() == 0 && found.mode() & OTHERS_WRITE == 0 && !found.is_symlink())
    })
}
