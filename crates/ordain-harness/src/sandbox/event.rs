//! The events of a session while it runs.

use super::End;
use ordain_spec::evidence::ActionStatus;
use serde::{Deserialize, Serialize};

/// A command begins or ends. Only for people who wait: the report has everything.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum StepEvent {
    /// It starts. A step that is skipped or not allowed never does.
    Began {
        /// Counted from 0.
        step: usize,
    },
    /// It is over, or was never started.
    Ended {
        /// Counted from 0.
        step: usize,
        /// As execution evidence says it.
        status: ActionStatus,
        /// How it ended.
        end: End,
        /// How long it took.
        duration_ms: u64,
    },
}
