#![doc = include_str!("../README.md")]

pub mod limits;

mod judge;
mod observed;
mod permit;
mod policy;
mod shown;

pub use judge::{
    Case, Check, Examined, Judgement, ShellEffects, Standing, StandingOffer, decide, decide_derived,
    decide_own_undo, decide_pinned, decide_standing, decide_text, derive_shell, explain, mcp_server_of,
    nearest, standing_document,
};
pub use observed::{ObservedClaims, verify_observed};
pub use permit::{
    Claims, Grant, Minting, PermitError, PermitKey, PublicKey, PublicKeys, VerifiedPermit, mint,
    mint_with_claims, verify_permit,
};
pub use policy::{
    EffectKey, PolicyFiles, PolicySet, Problem, Severity, is_policy_file, look_alikes, schema_text,
};
