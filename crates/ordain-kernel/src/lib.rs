#![doc = include_str!("../README.md")]

mod outcome;

mod derive;

mod intake;
mod question;

mod answer;

mod concern;
mod node;

mod brief;

mod transform;

mod stated;

mod plan;
mod plan_of_patch;

mod protected;

mod plan_of_work;

mod patch;

mod validate;

pub use outcome::{Refusal, RefusalCode, Transformed};
pub use patch::{PatchError, patch};
pub use plan::{PlanError, is_brief, plan};
pub use plan_of_patch::plan_of_patch;
pub use plan_of_work::{PutBack, bundle_hash, plan_of_work, put_back, undone};
pub use protected::{Protection, protection};
pub use question::KEEP_ALL;
pub use stated::{StatedCommand, stated_tests};
pub use transform::{KERNEL_VERSION, transform};
pub use validate::{Criterion, Reason, Recommendation, Validation, validate};
