//! How commands end: the one table of exit codes.

use std::process::ExitCode;

/// How a command ended. The order is that of severity: of several results the last in this list counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    /// All is well. `transform`: a bundle.
    Ok,
    /// `transform`: a bundle with questions.
    Clarify,
    /// `transform`: no bundle.
    Refused,
    /// `decide`: approvals are missing.
    Hold,
    /// `decide`: it may not happen.
    Deny,
    /// `status`: it was allowed, and it failed.
    WentWrong,
    /// `status`: it was allowed, and nobody knows whether it happened.
    Unknown,
    /// `verify`: a file could not be read. `diff`: the bundles differ. `run`: not accepted. `ledger verify`: damaged. Any
    /// command but those and `replay`: it failed.
    Failed,
    /// `verify`: a text is no document. `run`, `ledger verify`, `ledger fsck`, `replay`: it came to no result.
    Unreadable,
    /// `verify`: a document breaks rules.
    Violations,
    /// The command line is wrong.
    Usage,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Ok => 0,
            Outcome::Clarify => 10,
            Outcome::Refused => 11,
            Outcome::Hold => 20,
            Outcome::Deny => 21,
            Outcome::WentWrong => 22,
            Outcome::Unknown => 23,
            Outcome::Failed => 1,
            Outcome::Unreadable => 2,
            Outcome::Violations => 3,
            Outcome::Usage => 64,
        })
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was asked for does not exist.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// As it was given.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A result has no canonical form: it is too long.
    #[error("the result cannot be written: {0}")]
    Result(#[from] ordain_canon::WriteError),
    /// Output could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
    /// A file that `verify` needs does not parse.
    #[error("{path}: {problem}")]
    Parse {
        /// As it was given.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A file that the command needs is not what it should be.
    #[error("{path}: {problem}")]
    Document {
        /// As it was given.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A store is not the one that it was.
    #[error("{path}: {problem}")]
    Damaged {
        /// As it was given.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// The sandbox could not do its work.
    #[error(transparent)]
    Sandbox(#[from] ordain_harness::sandbox::SandboxError),
    /// A run, or a part of one, came to no result.
    #[error(transparent)]
    Run(#[from] ordain_run::RunError),
    /// `run` came to no result, or a ledger could not be checked.
    #[error(transparent)]
    NoResult(Box<Failure>),
    /// A workspace was not changed.
    #[error(transparent)]
    Apply(#[from] ordain_harness::apply::ApplyError),
    /// The vault cannot be used.
    #[error(transparent)]
    Vault(#[from] ordain_vault::VaultError),
    /// The gate refused.
    #[error("{}", .0.detail)]
    Gate(Box<ordain_api::Problem>),
    /// The gate could not be reached, or its answer not be understood.
    #[error("{0}")]
    Server(String),
    /// What is wrong was printed.
    #[error("the document is not valid")]
    Reported,
}

impl From<ordain_gate::GateError> for Failure {
    fn from(error: ordain_gate::GateError) -> Self {
        Self::Gate(Box::new(ordain_server::ErrorResponse::from(error).problem))
    }
}

impl Failure {
    /// What to exit with.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Usage(_) => Outcome::Usage,
            Self::Parse { .. } => Outcome::Unreadable,
            Self::File { .. }
            | Self::Output(_)
            | Self::Result(_)
            | Self::Document { .. }
            | Self::Damaged { .. }
            | Self::Sandbox(_)
            | Self::Run(_)
            | Self::Apply(_)
            | Self::Vault(_)
            | Self::Gate(_)
            | Self::Server(_)
            | Self::Reported => Outcome::Failed,
            Self::NoResult(failure) => match failure.outcome() {
                Outcome::Usage => Outcome::Usage,
                _ => Outcome::Unreadable,
            },
        }
    }

    /// For a terminal: whatever came from outside is made harmless, and only a list of ours has lines of its own.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Gate(problem) => crate::gate::problem_text(problem),
            Self::NoResult(failure) => failure.text(),
            other => crate::report::printable(&other.to_string()).into_owned(),
        }
    }

    /// Whether everything was said already.
    pub(crate) fn was_reported(&self) -> bool {
        match self {
            Self::Reported => true,
            // The reader went away, as `head` does: there is nobody to tell.
            Self::Output(error) => error.kind() == std::io::ErrorKind::BrokenPipe,
            Self::NoResult(failure) => failure.was_reported(),
            _ => false,
        }
    }
}
