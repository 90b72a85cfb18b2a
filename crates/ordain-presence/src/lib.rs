#![doc = include_str!("../README.md")]

mod key_file;
mod passphrase;
mod sessions;
mod terminal;
mod user;
mod words;

pub use key_file::{KeyFile, KeyFileError, UnlockedKey, fingerprint};
pub use passphrase::{CHARACTERS_MIN, Passphrase, PassphraseError};
pub use sessions::Intruder;
pub use terminal::{Terminal, TerminalError, is_there};
pub use user::{OsUser, group_id, is_member, protect_process, user_named};
pub use words::generated_words;
