#![doc = include_str!("../README.md")]

pub mod limits;

mod error;
mod location;

mod change;
mod rows;

mod store;

mod batch;
mod checks;
mod pack;
mod queue;
mod tree;

mod postgres;
mod sqlite;

pub use change::{Change, Committed, End, Guard, NewRecord, Writes};
pub use error::StoreError;
pub use location::Location;
pub use pack::Packed;
pub use rows::{Counters, EntryRow, Head, MarkedView, Query, Record};
pub use store::Store;
