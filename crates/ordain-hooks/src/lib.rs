#![doc = include_str!("../README.md")]

mod core;

mod world;

mod calls;
mod gate;
mod hook;
mod install;
mod pins;
mod transcript;

pub use core::agent::Agent;
pub use core::answer::{Answer, Printed, Shape};
pub use core::event::{Call, Event, EventError, Report, read_event};
pub use core::mapping::{Action, Place, Resolved, World, action_of};
pub use core::tools::{Kind, tools_of, tools_toml};
pub use gate::{client_of_server, leave_session};
pub use hook::run_if_asked;
pub use install::{Edit, EditError, Found, Installed, Setting, codex_trust, find_hook, install, remove};
pub use pins::{GatePin, Pins, PinsError};
pub use transcript::{Step, TranscriptReader, action_in_transcript};
