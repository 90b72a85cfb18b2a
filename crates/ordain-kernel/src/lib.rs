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
mod quantity;
mod requirement;

pub use findings::rule_counts;
pub use outcome::{Refusal, RefusalCode, Transformed};
pub use rules::{BASE_SCORE, CLARIFY_SCORE, CLARITY_RULES, ClarityRule, Effect};
