#![doc = include_str!("../README.md")]

pub mod limits;

pub mod intent;

pub mod bundle;

pub mod plan;

pub mod patch;

pub mod action;

pub mod packet;

pub mod approval;

pub mod statement;

pub mod standing;

pub mod decision;

pub mod profile;

pub mod evidence;

pub mod run;

pub mod mcp;

pub mod note;

pub mod routing;

pub mod name;

mod facts;
mod kind;
mod report;
mod rule;
mod verify;

mod command;
mod invisible;
mod node;
mod order;
mod path;
mod schema;
mod shape;
mod version;

pub use command::{CommandError, join_command, shown_command, split_command};
pub use facts::{Approvers, Facts, Sensor, SourceBundle};
pub use invisible::is_invisible;
pub use kind::{Kind, KindError};
pub use path::{Clash, PathFault, clashes, folded_path, nfc, path_faults, path_problem};
pub use report::{Report, Violation};
pub use rule::{Category, Check, Findings, Rule, RuleId};
pub use schema::{Hex64, NonEmpty, Nullable, Sha256, tidy_schema};
pub use verify::{Document, Verified, document_text, verify_as, verify_text, verify_value};
