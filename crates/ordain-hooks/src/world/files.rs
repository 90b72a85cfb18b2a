//! Content of files. They belong to whoever can edit the workspace: a pipe must not make the hook wait, nor a huge
//! file.

use crate::core::limits::FILE_BYTES_MAX;
use ordain_canon::ContentHash;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The hash of a file, or `absent`.
pub(super) fn content(path: &Path) -> Result<String, String> {
    match bytes(path, FILE_BYTES_MAX)? {
        Some(bytes) => Ok(ContentHash::of(&bytes).to_string()),
        None => Ok("absent".to_owned()),
    }
}

/// The bytes of a plain file; nothing if it is not there.
pub(super) fn bytes(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, String> {
    let Some(file) = open(path)? else { return Ok(None) };
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length > bytes_max {
        return Err(format!("it has more than {bytes_max} bytes"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > bytes_max { Err("it grows while it is read".to_owned()) } else { Ok(Some(bytes)) }
}

fn open(path: &Path) -> Result<Option<File>, String> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.is_file() { Ok(Some(file)) } else { Err("it is not a plain file".to_owned()) }
}
