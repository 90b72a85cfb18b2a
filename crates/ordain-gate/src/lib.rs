#![doc = include_str!("../README.md")]

mod caller;
mod clock;
mod conflict;
mod error;
mod ids;
mod limits;
mod records;

mod claim;
mod in_force;
mod keyring;
mod nonce;
mod observe;
mod open;
mod owner;
mod policy;
mod projects;
mod servers;
mod signer;

mod transaction;

mod documents;
mod events;
mod find;
mod history;
mod index;
mod lookup;
mod view;

mod act;
mod approve;
mod control;
mod drafted;
mod evidence;
mod judge;
mod outcome;
mod permits;
mod session;
mod sources;
mod spend;
mod standing;
mod status;
mod submit;
mod sweep;
mod tokens;
mod undo;

mod audit;
#[cfg(test)]
mod audit_tests;
mod dossier;
mod dossier_check;
mod doubts;
mod duties;
mod effects;
mod fold;
mod fsck;
mod ledger;
mod replay;
mod signatures;

pub use act::Act;
pub use audit::{EntriesAudit, NamedNote, audit};
pub use caller::Caller;
pub use clock::Clock;
pub use conflict::Conflict;
pub use dossier_check::{DossierReport, check_dossier};
pub use error::GateError;
pub use find::selects;
pub use fsck::{check_records, fsck};
pub use keyring::{Keyring, KeyringError};
pub use ledger::{Export, check_grown, export, note_verifier, verifiers};
pub use limits::*;
pub use open::{Gate, Settings};
pub use ordain_store::{Counters, StoreError};
pub use policy::{ActivePolicy, load_policy_files, policy_document_hash};
pub use replay::{
    DerivedOtherwise, Flip, NotReplayed, OtherEffects, Replay, Replayer, audit_allowed, replay,
};
pub use signatures::{OwnerAudit, audit_owner};
pub use spend::{IntendedAction, Spend};
pub use status::StatusFingerprint;
pub use submit::Submitted;
pub use sweep::Swept;
pub use tokens::TokenSecret;
