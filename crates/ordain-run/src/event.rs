//! The events of a run while it goes on, for people who wait.

use ordain_harness::sandbox::End;
use ordain_spec::bundle::Bundle;
use ordain_spec::evidence::ActionStatus;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;

/// A step of a run. Everything in it is also in the result or in the folder.
#[derive(Clone, Copy, Debug)]
pub enum Event<'e> {
    /// The intent became a bundle.
    Bundled(&'e Bundle),
    /// There are a plan and its patch set.
    Planned(&'e Proposal, &'e PatchSet),
    /// These files are put back before the next trial.
    PutBack(&'e [String]),
    /// A command begins.
    Began {
        /// Counted from 1.
        number: usize,
        /// How many there are.
        total: usize,
        /// The command line.
        command: &'e str,
        /// Its purpose.
        purpose: Purpose,
    },
    /// A command ended.
    Ended {
        /// Counted from 1.
        number: usize,
        /// How many there are.
        total: usize,
        /// The command line.
        command: &'e str,
        /// How it ended, in a word.
        status: ActionStatus,
        /// How it ended.
        end: &'e End,
        /// How long it took.
        duration_ms: u64,
    },
}

/// The purpose of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It is an action of the plan, by its position.
    Action(usize),
    /// It is an acceptance test of the plan, by its position.
    Test(usize),
}
