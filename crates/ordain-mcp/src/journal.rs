//! Calls under way, noted in a file, so that the next gateway can report those that this one left open.
//!
//! The file survives the process and not the machine. After a crash of the machine the deadline of a use makes it
//! unknown.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Result, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Mutex;

/// The notes of this process. Others see by its lock that the process lives.
pub(crate) struct Journal {
    file: Mutex<File>,
}

const ENDING: &str = "calls";
/// Notes of one process that are read.
const BYTES_MAX: u64 = 64 << 20;

impl Journal {
    /// Begins notes, and gives the actions that gateways left open which are gone. Their notes are deleted.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Vec<String>)> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut left_open = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
            if file.try_lock().is_err() {
                continue;
            }
            let mut text = String::new();
            (&file).take(BYTES_MAX).read_to_string(&mut text)?;
            left_open.extend(open_actions(&text));
            fs::remove_file(&path)?;
        }
        let file = loop {
            let name = crate::gatekeeper::random_id().map_err(std::io::Error::other)?;
            let path = folder.join(format!("{name}.{ENDING}"));
            let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
            // Another gateway may have taken it for one that was left, and deleted it.
            if file.try_lock().is_ok() && path.exists() {
                break file;
            }
        };
        Ok((Self { file: Mutex::new(file) }, left_open))
    }

    /// An action may be under way from now on.
    pub(crate) fn begin(&self, action_id: &str) -> Result<()> {
        self.write('+', action_id)
    }

    pub(crate) fn end(&self, action_id: &str) -> Result<()> {
        self.write('-', action_id)
    }

    fn write(&self, sign: char, action_id: &str) -> Result<()> {
        let line = format!("{sign}\t{action_id}\n");
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line.as_bytes())
    }
}

/// The key that seals the rounds of held calls; the next gateway knows those of this one.
pub(crate) fn round_key(folder: &Path) -> std::result::Result<[u8; 32], String> {
    let path = folder.join("rounds.key");
    let problem = |error: std::io::Error| format!("{}: {error}", path.display());
    loop {
        match fs::read(&path) {
            Ok(bytes) => {
                return bytes.try_into().map_err(|_| format!("{} is not 32 bytes", path.display()));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(problem(error)),
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| format!("no random numbers: {error}"))?;
        // Written aside and linked, so that nobody reads half of it; the first one wins.
        let aside = folder.join(format!("{}.key.part", crate::gatekeeper::random_id()?));
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside).map_err(problem)?;
        file.write_all(&key).map_err(problem)?;
        let linked = fs::hard_link(&aside, &path);
        fs::remove_file(&aside).map_err(problem)?;
        if let Err(error) = linked
            && error.kind() != std::io::ErrorKind::AlreadyExists
        {
            return Err(problem(error));
        }
    }
}

fn open_actions(text: &str) -> BTreeSet<String> {
    let mut open = BTreeSet::new();
    for line in text.lines() {
        match line.split_once('\t') {
            Some(("+", action_id)) => drop(open.insert(action_id.to_owned())),
            Some(("-", action_id)) => drop(open.remove(action_id)),
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_of_a_dead_gateway_are_found_once() {
        let folder = std::env::temp_dir().join(format!("ordain-mcp-journal-{}", std::process::id()));
        let (journal, open) = Journal::open(&folder).unwrap();
        assert!(open.is_empty());
        journal.begin("a1").unwrap();
        journal.begin("a2").unwrap();
        journal.end("a1").unwrap();
        // While it lives, nobody takes its notes.
        let (second, open) = Journal::open(&folder).unwrap();
        assert!(open.is_empty());
        drop((journal, second));
        let (third, open) = Journal::open(&folder).unwrap();
        assert_eq!(open, ["a2"]);
        drop(third);
        assert!(Journal::open(&folder).unwrap().1.is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}
