//! The key file of this user: opened with a passphrase that is typed on the terminal, or made.

use crate::exit::Failure;
use crate::gateway::{approver_keys_of, location_of};
use crate::page::wrapped;
use crate::prompt;
use crate::report::printable;
use crate::signing::{key_failure, key_path, public_text, terminal_failure};
use crate::wording::width_of;
use ordain_presence::{
    KeyFile, KeyFileError, Passphrase, Terminal, TerminalError, UnlockedKey, fingerprint, generated_words,
    protect_process,
};
use ordain_state::Home;
use ordain_store::Location;
use std::collections::BTreeSet;
use std::path::Path;

/// How often somebody may type a passphrase.
const TRIES_MAX: u32 = 3;
const PROMPT: &str = "Passphrase: ";
/// Gates of this user that are named beside a key.
const GATES_SHOWN_MAX: usize = 3;

/// The key of this user, unlocked.
pub(crate) struct OwnKey {
    pub(crate) file: KeyFile,
    pub(crate) key: UnlockedKey,
}

impl OwnKey {
    /// Unlocks the key of this user, and makes one if there is none. Somebody who has one is told whose it is.
    pub(crate) fn unlock_or_make() -> Result<Self, Failure> {
        protect_process()?;
        let mut terminal = Terminal::open().map_err(terminal_failure)?;
        let path = key_path()?;
        match KeyFile::open(&path) {
            Ok(file) => {
                prompt::say(&mut terminal, &known(&file, &path))?;
                let key = unlock(&mut terminal, &file, "")?;
                Ok(Self { file, key })
            }
            Err(KeyFileError::Missing(_)) => {
                let passphrase = new_passphrase(&mut terminal)?;
                let (file, key) = KeyFile::create(&path, &passphrase).map_err(key_failure)?;
                Ok(Self { file, key })
            }
            Err(error) => Err(key_failure(error)),
        }
    }
}

/// Asks for the passphrase of a key, and again if it is the wrong one. The process must be protected before.
pub(crate) fn unlock(terminal: &mut Terminal, file: &KeyFile, about: &str) -> Result<UnlockedKey, Failure> {
    let columns = terminal.size().columns.saturating_sub(1);
    let about = printable(about);
    if about.is_empty() || width_of(&about) + 1 + width_of(PROMPT) <= columns {
        let space = if about.is_empty() { "" } else { " " };
        terminal.say(&format!("{about}{space}")).map_err(terminal_failure)?;
    } else {
        let lines = wrapped(&about, columns);
        terminal.say(&format!("{}\n", lines.join("\n"))).map_err(terminal_failure)?;
    }
    let mut tries_left = TRIES_MAX;
    loop {
        tries_left -= 1;
        let wrong = match terminal.passphrase(PROMPT) {
            Ok(passphrase) => match file.unlock(&passphrase) {
                Ok(key) => return Ok(key),
                Err(error @ KeyFileError::Passphrase(_)) => key_failure(error),
                Err(error) => return Err(key_failure(error)),
            },
            // No key has such a passphrase.
            Err(error @ TerminalError::Passphrase(_)) => terminal_failure(error),
            Err(error) => return Err(terminal_failure(error)),
        };
        if tries_left == 0 {
            return Err(wrong);
        }
        terminal.say("That is not the passphrase of this key. Try again.\n").map_err(terminal_failure)?;
    }
}

/// Has a new passphrase chosen, and again if it cannot be taken.
fn new_passphrase(terminal: &mut Terminal) -> Result<Passphrase, Failure> {
    let words = generated_words()?;
    let mut tries_left = TRIES_MAX;
    loop {
        tries_left -= 1;
        match terminal.new_passphrase(&words) {
            Err(TerminalError::Passphrase(error)) if tries_left > 0 => {
                terminal.say(&format!("Try again: {error}.\n\n")).map_err(terminal_failure)?;
            }
            done => return done.map_err(terminal_failure),
        }
    }
}

/// A key that is there already: where it lies, and who it is to gates of this user.
fn known(file: &KeyFile, path: &Path) -> String {
    let enrolled = match enrolled(&public_text(file)).as_slice() {
        [] => "No other gate of yours knows it.".to_owned(),
        gates => {
            let shown: Vec<&str> = gates.iter().take(GATES_SHOWN_MAX).map(String::as_str).collect();
            let more = if gates.len() > shown.len() { ", and others" } else { "" };
            format!("It is the key of {}{more}.", shown.join(", "))
        }
    };
    let text =
        format!("You have a key already: {}, in {}.\n{enrolled}", fingerprint(file.public()), path.display());
    let lines: Vec<String> = text.lines().map(|line| printable(line).into_owned()).collect();
    format!("\n{}\n", lines.join("\n"))
}

/// The principals that a key belongs to at gates of this machine: `olga at the gate of /home/olga/shop`.
fn enrolled(public_key: &str) -> Vec<String> {
    let Ok(home) = Home::from_environment() else { return Vec::new() };
    let projects = home.registry().map(|registry| registry.projects).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for project in projects {
        let gate = home.gate(&project.gate);
        // A database elsewhere may not answer, and nobody waits for it here.
        let is_file = matches!(location_of(&gate), Ok(Location::File(_)));
        if !is_file || !seen.insert(project.gate.to_string()) {
            continue;
        }
        let keys = approver_keys_of(&gate).unwrap_or_default();
        let own = keys.iter().find(|key| key.public_key == public_key && key.is_in_force());
        found.extend(own.map(|key| format!("`{}` at the gate of {}", key.principal, project.path.display())));
    }
    found
}
