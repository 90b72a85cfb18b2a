#![doc = include_str!("../README.md")]

pub mod limits;

mod judge;
mod permit;
mod policy;
mod shown;

pub use judge::{Case, Check, Examined, Judgement, decide, decide_own_undo, decide_text, explain, nearest};
pub use permit::{
    Claims, Grant, Minting, PermitError, PermitKey, PublicKey, PublicKeys, VerifiedPermit, mint,
    mint_with_claims, verify_permit,
};
pub use policy::{PolicyFiles, PolicySet, Problem, Severity, is_policy_file, schema_text};
