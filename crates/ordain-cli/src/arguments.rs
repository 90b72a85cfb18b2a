//! Arguments that several commands have.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ordain_spec::Kind;
use std::path::PathBuf;

/// The gate to ask. On a local store the user of the operating system asks, as `entities.json` names them.
#[derive(Args)]
pub(crate) struct Connect {
    /// The server, such as http://127.0.0.1:7171 or unix:PATH, with the token in ORDAIN_TOKEN; a socket needs none and takes you for the user that you are [default: the gate of this project]
    #[arg(long, value_name = "URL", env = "ORDAIN_SERVER", hide_env_values = true)]
    pub(crate) server: Option<String>,
    /// Read the token from this file
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) token_file: Option<PathBuf>,
}

impl Connect {
    /// The gate of the environment, for commands without these arguments.
    pub(crate) fn of_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self { server: variable("ORDAIN_SERVER"), token_file: None }
    }
}

/// The least protection that commands may run with.
#[derive(Args)]
pub(crate) struct Protection {
    /// Where there are no namespaces, run commands on a copy with Landlock and seccomp alone
    ///
    /// They can then write nothing else, read no other files and reach no network, but they see which files and
    /// processes there are, and can change modes and times of the caller's own files. The profile `strict` never
    /// allows it, and where there are namespaces nothing changes.
    #[arg(long)]
    pub(crate) allow_landlock_only: bool,
}

#[derive(Args)]
pub(crate) struct Lines {
    /// The document; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "jsonl")]
    pub(crate) file: Option<PathBuf>,
    /// Read one document a line, write one result a line, in order, on all cores
    #[arg(long)]
    pub(crate) jsonl: bool,
}

/// The kinds by name, so that help and completions list them.
pub(crate) fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name))
        .try_map(|name| Kind::parse(&name).ok_or_else(|| format!("there is no kind `{name}`")))
}

/// The key of a ledger.
pub(crate) fn note_verifier(text: &str) -> Result<ordain_ledger::NoteVerifier, String> {
    ordain_ledger::NoteVerifier::parse(text).map_err(|error| error.to_string())
}
