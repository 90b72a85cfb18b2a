//! How commands end: the one table of exit codes.

use ordain_agent::AgentError;
use ordain_api::{Problem, ProblemCode};
use ordain_client::{ClientError, TransportError};
use std::process::ExitCode;

/// How a command ended. The order is that of severity: of several results the last in this list counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    Ok,
    Clarify,
    Refused,
    Hold,
    Deny,
    ActionFailed,
    Unknown,
    Failed,
    NoResult,
    Violations,
    Usage,
}

/// A row of the table of exit codes.
struct Row {
    outcome: Outcome,
    code: u8,
    word: &'static str,
    meaning: &'static str,
}

const fn row(outcome: Outcome, code: u8, word: &'static str, meaning: &'static str) -> Row {
    Row { outcome, code, word, meaning }
}

/// The table of exit codes. Help texts and documents are made from it.
const TABLE: [Row; 11] = [
    row(Outcome::Ok, 0, "ok", "done, and the answer is yes: valid, accepted, allowed, the same"),
    row(
        Outcome::Failed,
        1,
        "failed",
        "an error, or the answer is no: not accepted, refused, different, damaged",
    ),
    row(
        Outcome::NoResult,
        2,
        "no result",
        "there is no answer: a document does not parse, or an error stopped the check or the run",
    ),
    row(Outcome::Violations, 3, "violations", "a document breaks rules"),
    row(Outcome::Clarify, 10, "clarify", "the bundle has open questions"),
    row(Outcome::Refused, 11, "refused", "the intent is refused; there is no bundle"),
    row(Outcome::Hold, 20, "hold", "approvals are missing; nothing happened"),
    row(Outcome::Deny, 21, "deny", "the action is denied, expired or superseded; nothing happened"),
    row(Outcome::ActionFailed, 22, "action failed", "the action was allowed, and it failed"),
    row(Outcome::Unknown, 23, "unknown", "the action was allowed, and its outcome is unknown"),
    row(Outcome::Usage, 64, "usage", "the command line is wrong"),
];

/// A line of a help text: an outcome, and its meaning for one command.
pub(crate) struct Meaning {
    outcome: Outcome,
    text: &'static str,
}

/// The lines of a command that does its work or fails.
pub(crate) const PLAIN: &[Meaning] = &[Outcome::Ok.means("done"), Outcome::Failed.means("an error")];

impl Outcome {
    /// The meaning of this outcome for one command.
    pub(crate) const fn means(self, text: &'static str) -> Meaning {
        Meaning { outcome: self, text }
    }

    /// The exit status.
    pub(crate) fn code(self) -> u8 {
        self.row().code
    }

    fn row(self) -> &'static Row {
        // A test makes sure that every outcome has a row; without one it must not look like success.
        let [.., last] = &TABLE;
        TABLE.iter().find(|row| row.outcome == self).unwrap_or(last)
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome.row().code)
    }
}

/// The exit codes of a command, for the end of its help text.
pub(crate) fn help(meanings: &[Meaning]) -> String {
    let usage = Outcome::Usage.row();
    let lines = meanings.iter().map(|meaning| (meaning.outcome.row().code, meaning.text));
    list(lines.chain([(usage.code, usage.meaning)]).map(|(code, text)| (code, text.to_owned())))
}

/// Examples or remarks, and below them the exit codes.
pub(crate) fn help_with(text: &str, meanings: &[Meaning]) -> String {
    format!("{text}\n\n{}", help(meanings))
}

/// All exit codes, for the help text of `ordain` itself.
pub(crate) fn help_of_all() -> String {
    list(TABLE.iter().map(|row| (row.code, format!("{}: {}", row.word, row.meaning))))
}

fn list(lines: impl Iterator<Item = (u8, String)>) -> String {
    let lines = lines.map(|(code, text)| format!("  {code:>2}  {text}"));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// The failure of a command. Its message names the thing and the fact; advice is a separate hint.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line names something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// As it was given.
        path: String,
        /// The reason of the system.
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
        /// The fact, without the path.
        problem: String,
    },
    /// A file that the command needs is not what it should be.
    #[error("{path}: {problem}")]
    Document {
        /// As it was given.
        path: String,
        /// The fact, without the path.
        problem: String,
    },
    /// A store is not the one that it was.
    #[error("{path}: {problem}")]
    Damaged {
        /// As it was given.
        path: String,
        /// The fact, without the path.
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
    Gate(Box<Problem>),
    /// The gate could not be reached, or its answer not be understood.
    #[error("{0}")]
    Server(String),
    /// A failure, and what to do about it.
    #[error("{failure}")]
    Hinted {
        /// Without the advice.
        failure: Box<Failure>,
        /// A sentence for people, with a command to run where there is one.
        hint: String,
    },
    /// The command has printed everything already.
    #[error("the document is not valid")]
    Reported,
}

impl From<ordain_gate::GateError> for Failure {
    fn from(error: ordain_gate::GateError) -> Self {
        Self::Gate(Box::new(ordain_server::ErrorResponse::from(error).problem))
    }
}

impl From<ordain_state::StateError> for Failure {
    fn from(error: ordain_state::StateError) -> Self {
        let failure = Self::Document { path: error.path().to_owned(), problem: error.problem().to_owned() };
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let hint = error.hint().map(str::to_owned);
        let failure = match error {
            ClientError::Problem(problem) if problem.code == ProblemCode::NoRoute => {
                return Self::Server("the server does not have this operation".to_owned()).with_hint(
                    "name the server by its address alone, as in https://gate.example, and check its version",
                );
            }
            ClientError::Problem(problem) => return Self::Gate(problem),
            ClientError::Address(_) | ClientError::Transport(TransportError::Unsendable { .. }) => {
                Self::Usage(error.to_string())
            }
            ClientError::BadAnswer { operation, reason } => {
                Self::Server(format!("the server's answer cannot be read: {operation}: {reason}"))
            }
            error => Self::Server(error.to_string()),
        };
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Client(error) => error.into(),
            AgentError::Apply(error) => error.into(),
            AgentError::Write(error) => error.into(),
            error => match error.hint() {
                Some(hint) => Self::Server(error.to_string()).with_hint(hint),
                None => Self::Server(error.to_string()),
            },
        }
    }
}

impl Failure {
    /// There is no such thing.
    pub(crate) fn unknown(what: &str, id: &str) -> Self {
        Self::Gate(Box::new(Problem::new(ProblemCode::Unknown, format!("no {what} `{id}`"))))
    }

    /// The same failure, with advice that is printed on a line of its own.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self::Hinted { failure: Box::new(self), hint: hint.into() }
    }

    /// The same for a command that takes no `--server`: its advice does not name that option.
    pub(crate) fn without_server(self) -> Self {
        if self.hint() == Some(crate::gateway::NO_GATE) { self.with_hint("run `ordain init`") } else { self }
    }

    /// The advice, if there is any.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Self::Hinted { hint, .. } => Some(hint),
            Self::NoResult(failure) => failure.hint(),
            Self::Gate(problem) => problem.hint.as_deref(),
            Self::Apply(error) => error.hint(),
            Self::Run(error) => error.hint(),
            Self::Sandbox(error) => error.hint(),
            _ => None,
        }
    }

    /// Whether it is about damage, and not about anything else that can go wrong.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Gate(problem) => problem.code == ProblemCode::Damaged,
            Self::Damaged { .. } => true,
            Self::Hinted { failure, .. } => failure.is_damage(),
            _ => false,
        }
    }

    /// The outcome to exit with.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Usage(_) => Outcome::Usage,
            Self::Parse { .. } => Outcome::NoResult,
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
            Self::Hinted { failure, .. } => failure.outcome(),
            Self::NoResult(failure) => match failure.outcome() {
                Outcome::Usage => Outcome::Usage,
                _ => Outcome::NoResult,
            },
        }
    }

    /// For a terminal: whatever came from outside is made harmless, and only a list of ours has lines of its own.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Gate(problem) => crate::gate::problem_text(problem),
            Self::Hinted { failure, .. } | Self::NoResult(failure) => failure.text(),
            other => crate::report::printable(&other.to_string()).into_owned(),
        }
    }

    /// Whether everything was said already.
    pub(crate) fn was_reported(&self) -> bool {
        match self {
            Self::Reported => true,
            // The reader went away, as `head` does: there is nobody to tell.
            Self::Output(error) => error.kind() == std::io::ErrorKind::BrokenPipe,
            Self::Hinted { failure, .. } | Self::NoResult(failure) => failure.was_reported(),
            _ => false,
        }
    }
}

/// The tables of exit codes in the documents.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeSet;
    use std::path::Path;

    const HEADING: &str = "Exit codes:\n";

    fn table() -> String {
        let rows = TABLE.iter().map(|row| format!("| {} | {} | {} |\n", row.code, row.word, row.meaning));
        format!("| code | name | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
    }

    /// The commands that do something, with the lines about their exit codes.
    fn leaves(command: &clap::Command, path: &str, found: &mut Vec<(String, String)>) {
        for part in command.get_subcommands() {
            let path = format!("{path}{}", part.get_name());
            if part.has_subcommands() {
                leaves(part, &format!("{path} "), found);
            } else {
                let help = part.get_after_help().map(ToString::to_string).unwrap_or_default();
                let (_, codes) = help.split_once(HEADING).unwrap_or_default();
                found.push((path, codes.to_owned()));
            }
        }
    }

    fn commands() -> Vec<(String, String)> {
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        found
    }

    fn table_of_commands() -> String {
        let usage = help(&[]).replacen(HEADING, "", 1);
        let plain = help(PLAIN).replacen(HEADING, "", 1);
        let mut rows = String::from("| command | code | meaning |\n|---|---|---|\n");
        for (name, codes) in commands().iter().filter(|(_, codes)| *codes != plain) {
            let mut first = format!("`{name}`");
            for line in codes.lines().filter(|line| *line != usage) {
                let (code, meaning) = line.trim_start().split_once("  ").unwrap();
                rows += &format!("| {} | {code} | {meaning} |\n", std::mem::take(&mut first));
            }
        }
        let [done, error] = PLAIN else { panic!("two lines") };
        rows += &format!("| every other | {} | {} |\n", done.outcome.row().code, done.text);
        rows + &format!("| | {} | {} |\n", error.outcome.row().code, error.text)
    }

    #[test]
    fn every_outcome_has_one_row_and_one_code() {
        let outcomes: BTreeSet<_> = TABLE.iter().map(|row| row.outcome).collect();
        let codes: BTreeSet<_> = TABLE.iter().map(|row| row.code).collect();
        assert_eq!((outcomes.len(), codes.len()), (TABLE.len(), TABLE.len()));
        assert_eq!(outcomes.last(), Some(&Outcome::Usage));
        assert_eq!(TABLE.len(), Outcome::Usage as usize + 1, "an outcome has no row");
    }

    #[test]
    fn the_help_of_every_command_lists_its_exit_codes() {
        let missing = commands().into_iter().filter(|(_, codes)| codes.is_empty()).map(|(name, _)| name);
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<String>::new());
    }

    /// `cargo xtask gen` runs this with `ORDAIN_BLESS`, and then it writes the tables.
    #[test]
    fn the_documents_have_these_exit_codes() {
        for (file, mark, table) in [
            ("docs/contracts/canonical.md", "exit codes", table()),
            ("docs/contracts/canonical.md", "exit codes of commands", table_of_commands()),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            let start = format!("<!-- generated: {mark} -->\n\n");
            let end = format!("\n<!-- end: {mark} -->\n");
            let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{file} has no {start}"));
            let (found, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{file} has no {end}"));
            if std::env::var_os("ORDAIN_BLESS").is_some() {
                std::fs::write(&path, format!("{before}{start}{table}{end}{after}")).unwrap();
            } else {
                assert_eq!(found, table, "{file} is not up to date; run cargo xtask gen");
            }
        }
    }
}
