//! The pure part: bytes to bytes. Nothing here touches a file, the clock or the environment.

pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod event;
pub(crate) mod limits;
pub(crate) mod mapping;
pub(crate) mod patch;
pub(crate) mod tools;
pub(crate) mod words;
