#![doc = include_str!("../README.md")]

mod error;
mod event;
mod outcome;
mod request;

mod chain;

mod trial;

mod attempt;

mod evidence;
mod results;

mod run_id;
mod verdict;

mod artefacts;

mod links;

mod work;

mod verified;

pub use chain::run;
pub use error::RunError;
pub use event::{Event, Purpose};
pub use evidence::command_evidence;
pub use links::{CheckedFile, is_run_folder, patch_link, verify_run_folder};
pub use outcome::{Planned, Run, Tried};
pub use request::{IntentText, Mode, Origin, Request, Runner, World};
pub use run_id::run_id;
pub use trial::plan_of_command;
pub use verdict::VerdictReason;
pub use work::{AgentWords, OrderFile, Round, WorkFolder, WorkOrder, WorkRun};
