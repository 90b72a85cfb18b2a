#![doc = include_str!("../README.md")]
#![allow(
    missing_docs,
    reason = "the kernel is the only user; each module says what it holds, docs/clarity.md what a rule means"
)]

pub mod literal;

pub mod class;
pub mod excerpt;
pub mod lexicon;
pub mod text;

pub mod outline;

pub mod genre;
pub mod language;

pub mod detect;
pub mod placeholder;
pub mod rules;
pub mod technology;

mod by_genre;
pub mod findings;

pub mod contradiction;
pub mod quantity;
mod relation;
pub mod requirement;
pub mod stems;
pub mod strength;

pub use findings::judged;
pub use genre::{GENRES, Genre};
pub use rules::{CLARIFY_SCORE, CLARITY_RULES, ClarityRule, Effect};
