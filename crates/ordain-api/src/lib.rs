#![doc = include_str!("../README.md")]

mod action;
mod entry;
mod error;
mod evidence;
mod gate;
pub mod limits;
mod permit;
mod role;
mod token;

pub use action::{ActAnswer, ActionState, ActionStatus, VerdictRequest};
pub use entry::{ENTRY_SCHEMA_VERSION, Entry, Event, LedgerEntry};
pub use error::FieldError;
pub use evidence::EvidenceReceipt;
pub use gate::{GateStatus, Halt, KeyStatus};
pub use permit::{FileChange, OutcomeReport, PermitStatus, Settled, Use, UseOutcome, UseReceipt};
pub use role::Role;
pub use token::{NewToken, TokenStatus};
