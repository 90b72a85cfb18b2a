#![doc = include_str!("../README.md")]

mod limits;

mod error;
mod place;

mod order;
mod scan;

mod number;
mod reader;
mod value;

mod de;

mod check;
mod ser;
mod writer;

mod hash;
mod id;

pub mod time;

/// How often documents were read by this process.
#[cfg(feature = "counting")]
pub mod counting {
    /// Calls of [`crate::Value::read`].
    pub static READS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
}

pub use check::is_canonical;
pub use de::TypeError;
pub use error::{ReadError, ReadErrorKind, WriteError};
pub use hash::{
    ActionHash, BundleHash, ContentHash, DecisionHash, EvidenceHash, EvidenceSetHash, IntentHash, NoteHash,
    PacketHash, ParametersHash, PatchHash, PayloadHash, PlanHash, PolicyHash, RunFileHash, SHA256_PREFIX,
    TargetHash, ViewDigest, is_lower_hex, is_sha256,
};
pub use id::{DeriveError, DerivedId, branch_id};
pub use limits::{DEPTH_MAX, DOCUMENT_BYTES_MAX, KEY_BYTES_MAX};
pub use number::with_number_text;
pub use order::compare_utf16;
pub use place::{Place, place_of, push_pointer_token, span_of};
pub use ser::Written;
pub use value::{Member, Value, sort_utf16};
pub use writer::Canonicalizer;
