//! Calls under way: which use of which permit a call has, until the event after it. The agent can edit these notes;
//! an outcome that a hook reports is the agent's word anyway.

use ordain_state::{make_private_folder, write_private};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The use of a permit by a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    pub(crate) permit_id: String,
    pub(crate) number: u64,
}

/// Notes of calls that nobody reported are kept this long.
const KEPT: Duration = Duration::from_secs(2 * 86_400);

/// Notes that a call is under way. A call whose note cannot be written becomes unknown by itself.
pub(crate) fn note(folder: &Path, key: &str, call: &OpenCall) {
    let Ok(text) = serde_json::to_string(call) else { return };
    if make_private_folder(folder).is_ok() {
        let _ = write_private(&path(folder, key), &text);
    }
    // Now and then.
    if key.starts_with('0') {
        forget_old(folder);
    }
}

/// Takes the note of a call.
pub(crate) fn take(folder: &Path, key: &str) -> Option<OpenCall> {
    let path = path(folder, key);
    let text = std::fs::read_to_string(&path).ok()?;
    let _ = std::fs::remove_file(&path);
    serde_json::from_str(&text).ok()
}

fn path(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.json"))
}

fn forget_old(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let age = changed.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
