#![doc = include_str!("../README.md")]

mod clock;
mod error;

mod agent;
mod diff;
mod files;
mod interrupted;
mod report;
mod trial;

pub use agent::{Acted, ActionDetails, Agent, Permit, Proposed, Purpose, Spent, wait};
pub use diff::{DiffPart, diff_excerpt, write_diff};
pub use error::AgentError;
pub use files::{FileOutcome, GatedWorkspace, Sign};
pub use interrupted::{Interrupted, Note};
pub use trial::{Trial, evidence_of};
