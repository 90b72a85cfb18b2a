#![doc = include_str!("../README.md")]

mod outcome;

mod derive;

mod lexicon;
mod text;

mod detect;
mod placeholder;
mod rules;
mod technology;

mod findings;

mod contradiction;
mod excerpt;
mod plan;
mod quantity;
mod requirement;

mod patch;

mod validate;

pub use findings::rule_counts;
pub use outcome::{Refusal, RefusalCode, Transformed};
pub use patch::{PatchError, patch};
pub use plan::{PlanError, plan};
pub use rules::{BASE_SCORE, CLARIFY_SCORE, CLARITY_RULES, ClarityRule, Effect};
pub use validate::{Criterion, Reason, Recommendation, Validation, validate};
