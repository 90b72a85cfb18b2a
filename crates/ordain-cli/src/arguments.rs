//! Arguments that several commands have.

use crate::clock::parse_past;
use crate::commands::status::states;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, ActionsQuery};
use ordain_client::Authorities;
use ordain_spec::Kind;
use std::path::PathBuf;

/// Where help lists the options about the gate to ask.
pub(crate) const GATE: &str = "Gate options";

/// The gate to ask. On a local store the user of the operating system asks, as `entities.json` names them.
#[derive(Args, Clone, Default)]
pub(crate) struct Connect {
    /// A server, such as https://gate.example or unix:PATH [default: the gate of this project]
    #[arg(long, value_name = "URL", env = "ORDAIN_SERVER", hide_env = true, help_heading = GATE)]
    pub(crate) server: Option<String>,
    /// Read the token from this file [default: ORDAIN_TOKEN; a socket needs none]
    #[arg(long, value_name = "FILE", requires = "server", help_heading = GATE)]
    pub(crate) token_file: Option<PathBuf>,
    /// Trust the certificate authorities in this PEM file and no others [default: ORDAIN_CACERT, or those of this
    /// machine]
    #[arg(long, value_name = "FILE", requires = "server", help_heading = GATE)]
    pub(crate) cacert: Option<PathBuf>,
}

impl Connect {
    /// The gate of the environment, for commands without these arguments.
    pub(crate) fn of_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self { server: variable("ORDAIN_SERVER"), ..Self::default() }
    }

    /// The certificate authorities that a server with TLS must have its certificate from.
    pub(crate) fn authorities(&self) -> Authorities {
        let variable = || std::env::var_os("ORDAIN_CACERT").filter(|value| !value.is_empty());
        let file = self.cacert.clone().or_else(|| variable().map(PathBuf::from));
        file.map_or(Authorities::System, Authorities::File)
    }
}

/// Which actions to list.
#[derive(Args, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Only actions in this state: held, allowed, denied, expired, superseded, running, succeeded, failed, unknown or
    /// observed
    #[arg(long, value_name = "STATE", value_parser = states(), hide_possible_values = true)]
    pub(crate) state: Option<ActionState>,
    /// Submitted at this time or later: a date, a time with its zone, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = parse_past)]
    pub(crate) since: Option<u64>,
    /// Submitted before this time
    #[arg(long, value_name = "TIME", value_parser = parse_past)]
    pub(crate) until: Option<u64>,
    /// Proposed by this actor
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// With this action type
    #[arg(long, value_name = "TYPE")]
    pub(crate) action: Option<String>,
    /// On the target with this resource id
    #[arg(long, value_name = "ID")]
    pub(crate) target: Option<String>,
    /// Decided under the policies whose hash begins so
    #[arg(long, value_name = "HASH")]
    pub(crate) policy: Option<String>,
    /// Approved or rejected by this approver
    #[arg(long, value_name = "NAME")]
    pub(crate) approver: Option<String>,
}

impl Selection {
    /// The first page.
    pub(crate) fn query(&self, limit: u64) -> ActionsQuery {
        ActionsQuery {
            state: self.state,
            id_prefix: None,
            after: None,
            wait: None,
            before: None,
            limit: Some(limit.clamp(1, PAGE_MAX as u64)),
            since_ms: self.since,
            until_ms: self.until,
            actor: self.actor.clone(),
            action_type: self.action.clone(),
            target: self.target.clone(),
            policy: self.policy.clone(),
            approver: self.approver.clone(),
        }
    }

    /// Whether it is more than a time.
    pub(crate) fn names_actions(&self) -> bool {
        let texts = [&self.actor, &self.action, &self.target, &self.policy, &self.approver];
        self.state.is_some() || texts.iter().any(|text| text.is_some())
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
