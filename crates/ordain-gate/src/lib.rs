#![doc = include_str!("../README.md")]

mod caller;
mod clock;
mod entry;
mod error;
mod limits;
mod records;

mod keyring;
mod open;
mod policy;

mod approve;
mod control;
mod drafted;
mod evidence;
mod judge;
mod outcome;
mod permits;
mod spend;
mod status;
mod submit;
mod sweep;
mod tokens;

mod audit;
#[cfg(test)]
mod audit_tests;
mod doubts;
mod expected;
mod fsck;
mod ledger;
mod replay;

pub use approve::Say;
pub use audit::{Audit, Damage, EntriesAudit, NamedNote, audit};
pub use caller::{Caller, Role};
pub use clock::Clock;
pub use entry::{ENTRY_SCHEMA_VERSION, Entry, Event};
pub use error::{Fault, GateError};
pub use evidence::Received;
pub use fsck::check_records;
pub use keyring::{Keyring, KeyringError};
pub use ledger::{LedgerEntry, check_grown, export, note_verifier, verifiers};
pub use limits::*;
pub use open::{Gate, Settings};
pub use ordain_store::{Counters, StoreError};
pub use outcome::{FileChange, Report};
pub use records::{Halt, Settled, State, Use, UseOutcome};
pub use replay::{Flip, NotReplayed, Replay, replay};
pub use spend::{Deed, Spend, Spent};
pub use status::{ActionStatus, GateStatus, Glance, KeyStatus, PermitStatus, TokenStatus};
pub use submit::Submitted;
pub use sweep::Swept;
pub use tokens::NewToken;
