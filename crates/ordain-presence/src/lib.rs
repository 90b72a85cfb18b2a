#![doc = include_str!("../README.md")]

mod key_file;
mod multiplexer;
mod passphrase;
mod pty;
mod recent;
mod sessions;
mod terminal;
mod user;
mod words;

pub use key_file::{KeyFile, KeyFileError, UnlockedKey, fingerprint, read_private};
pub use multiplexer::multiplexer;
pub use passphrase::{CHARACTERS_MIN, Passphrase, PassphraseError};
pub use pty::{Pty, take_terminal};
pub use recent::{RECENT_MS_MAX, RECENT_SIGNATURES_MAX, RecentKey, since_boot_ms};
pub use sessions::Intruder;
pub use terminal::{Terminal, TerminalError, TerminalSize, Typed, is_there, size_of};
pub use user::{OsUser, group_id, is_member, protect_process, user_named};
pub use words::{four_words, generated_words, three_letters};
