#![doc = include_str!("../README.md")]

mod derive;

mod outcome;

pub use outcome::{Refusal, RefusalCode, Transformed};
