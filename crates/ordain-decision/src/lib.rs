#![doc = include_str!("../README.md")]

pub mod limits;

mod judge;
mod permit;
mod policy;
mod shown;

pub use judge::{
    Case, Check, Examined, Judgement, ShellEffects, decide, decide_derived, decide_own_undo, decide_text,
    derive_shell, explain, nearest,
};
pub use permit::{
    Claims, Grant, Minting, PermitError, PermitKey, PublicKey, PublicKeys, VerifiedPermit, mint,
    mint_with_claims, verify_permit,
};
pub use policy::{PolicyFiles, PolicySet, Problem, Severity, is_policy_file, schema_text};
