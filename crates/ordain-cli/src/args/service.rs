//! The command line of the record and the service.

use crate::clock::parse_time;
use clap::{Args, Subcommand, ValueEnum};
use ordain_server::ListenAddress;
use std::path::PathBuf;

/// Which gate, and who asks.
#[derive(Args)]
pub(crate) struct Connect {
    /// A server, such as http://127.0.0.1:7171 or unix:PATH; its token comes from ORDAIN_TOKEN. Without it the store of this project
    #[arg(long, value_name = "URL", env = "ORDAIN_SERVER", conflicts_with = "store", hide_env_values = true)]
    pub(crate) server: Option<String>,
    /// Read the token from this file
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) token_file: Option<PathBuf>,
    /// The store: a file, postgres://user@host/database, or `memory`; without it what ordain.toml says
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
    /// Who asks, on a local store; a server knows it by the token. Without it the user's name
    #[arg(long = "as", value_name = "NAME", env = "ORDAIN_AS")]
    pub(crate) name: Option<String>,
}

impl Connect {
    /// What the environment says, for commands that need no gate themselves.
    pub(crate) fn of_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self { server: variable("ORDAIN_SERVER"), token_file: None, store: None, name: variable("ORDAIN_AS") }
    }

    /// Who asks, on a local store.
    pub(crate) fn who(&self) -> String {
        self.name.clone().unwrap_or_else(user_name)
    }
}

/// The name of whoever sits at this machine.
pub(crate) fn user_name() -> String {
    let user = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    user.filter(|name| !name.is_empty()).unwrap_or_else(|| "local".to_owned())
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain submit proposal.json
  ordain submit proposal.json --wait 60
  ordain submit edited.json --supersedes 4f1c
  agent | ordain submit - --server http://127.0.0.1:7171

Exit codes: 0 allowed, 20 held, 21 denied, 1 an error; of what was submitted before as of `ordain status`; \
usage errors 64.")]
pub(crate) struct Submit {
    /// The action proposal or KernelRequest, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The held, denied or expired proposal that this one takes the place of
    #[arg(long, value_name = "ID")]
    pub(crate) supersedes: Option<String>,
    /// Wait up to this many seconds for approvals
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600")]
    pub(crate) wait: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain status
  ordain status --state held
  ordain status 4f1c --wait

Exit codes: of one action 0 allowed, under way or done, 20 held, 21 denied, expired or superseded, 22 failed, 23 unknown; \
1 an error; of a list 0; usage errors 64.")]
pub(crate) struct Status {
    /// The action; without it the list of all
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only actions in this state
    #[arg(long, value_name = "STATE", conflicts_with = "id", value_parser = state)]
    pub(crate) state: Option<ordain_api::ActionState>,
    /// Wait until the action is no longer held, up to this many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600", requires = "id")]
    pub(crate) wait: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

fn state(text: &str) -> Result<ordain_api::ActionState, String> {
    let all = ordain_api::ActionState::ALL;
    all.into_iter().find(|state| state.name() == text).ok_or_else(|| {
        format!("there are {}", all.iter().map(|state| state.name()).collect::<Vec<_>>().join(", "))
    })
}

#[derive(Args)]
#[command(after_help = "\
Shows what there is to approve and asks, on a terminal. Elsewhere name the digest of what was shown, which \
`ordain status ID --json` has as `view_digest`.

Examples:
  ordain approve 4f1c
  ordain approve 4f1c --reason \"checked with finance\" --view sha256:…

Exit codes: 0 allowed now, 20 still held, 21 denied, 1 an error; usage errors 64.")]
pub(crate) struct Approve {
    /// The action
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// The digest of what was shown, instead of being shown it and asked
    #[arg(long, value_name = "DIGEST")]
    pub(crate) view: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain reject 4f1c --reason \"the address is wrong\"

Exit codes: 21 denied now, 1 an error; usage errors 64.")]
pub(crate) struct Reject {
    /// The action
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why; it reaches the agent
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The digest of what was shown; without it what there is now
    #[arg(long, value_name = "DIGEST")]
    pub(crate) view: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct Permit {
    #[command(subcommand)]
    pub(crate) command: PermitCommand,
}

#[derive(Subcommand)]
pub(crate) enum PermitCommand {
    /// Show a permit and its uses
    Show(PermitShow),
    /// Verify a permit by itself, offline: who issued it, that nobody changed it, when it holds
    Verify(PermitVerify),
    /// Spend one use of a permit: everything is checked again, and then the worker may act
    Use(PermitUse),
    /// Report how a use went, or settle what is unknown
    Outcome(PermitOutcome),
}

#[derive(Args)]
pub(crate) struct PermitShow {
    /// The permit
    #[arg(value_name = "PERMIT_ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain permit verify permit.jwt
  curl -s http://127.0.0.1:7171/.well-known/jwks.json > jwks.json
  ordain permit verify permit.jwt --jwks jwks.json

Exit codes: 0 it holds, 1 it does not; usage errors 64.")]
pub(crate) struct PermitVerify {
    /// The permit: a file with the token; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The public keys: a JWK set; without it those of the gate
    #[arg(long, value_name = "FILE")]
    pub(crate) jwks: Option<PathBuf>,
    /// The class of worker that it must be for
    #[arg(long, value_name = "NAME", default_value = "worker")]
    pub(crate) audience: String,
    /// The time, in milliseconds since 1970 or as 2026-01-05T12:00:00Z; the machine's when absent
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) now: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain permit use permit_0123456789abcdef --for proposal.json

Exit codes: 0 spent: act now, 1 refused: do not act; usage errors 64.")]
pub(crate) struct PermitUse {
    /// The permit
    #[arg(value_name = "PERMIT_ID")]
    pub(crate) id: String,
    /// What is about to be done: the KernelRequest, or a document with `action_type`, `target` and `parameters`, such as the proposal
    #[arg(long = "for", value_name = "FILE")]
    pub(crate) what: PathBuf,
    /// The permit's text; without it the one on record
    #[arg(long, value_name = "FILE")]
    pub(crate) permit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain permit outcome permit_0123456789abcdef succeeded --records 1 --duration 250
  ordain permit outcome permit_0123456789abcdef failed --use 2 --reason \"timeout at the bank\"")]
pub(crate) struct PermitOutcome {
    /// The permit
    #[arg(value_name = "PERMIT_ID")]
    pub(crate) id: String,
    /// How it went
    #[arg(value_name = "OUTCOME")]
    pub(crate) outcome: UseOutcome,
    /// Which use
    #[arg(long = "use", value_name = "N", default_value_t = 1)]
    pub(crate) number: u64,
    /// How many records changed
    #[arg(long, value_name = "N")]
    pub(crate) records: Option<u64>,
    /// How long it took, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) duration: Option<u64>,
    /// What there is to say
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum UseOutcome {
    /// It happened
    Succeeded,
    /// It did not happen
    Failed,
    /// Nobody knows
    Unknown,
}

#[derive(Args)]
pub(crate) struct EvidenceAdd {
    /// Evidence packets: files with one or with an array of them; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct Switch {
    /// Why; it goes on the ledger
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token; its secret is shown once
    Create(TokenCreate),
    /// List all tokens, without their secrets
    List(TokenList),
    /// Revoke a token, at once and everywhere
    Revoke(TokenRevoke),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  (umask 077; ordain token create agent-7 --role actor --role worker > agent.token)
  ordain token create alice --role approver
  ordain token create bob --role actor --name agent-8 --name agent-9

What a token may propose under one of its names, its principal cannot approve.")]
pub(crate) struct TokenCreate {
    /// Whose it is
    #[arg(value_name = "PRINCIPAL")]
    pub(crate) principal: String,
    /// What it is for: actor, approver, operator, sensor, worker, auditor; several times for several
    #[arg(long = "role", value_name = "ROLE", required = true, value_parser = role)]
    pub(crate) roles: Vec<ordain_api::Role>,
    /// A further name that it may propose or observe under, such as that of an agent
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Until when it holds, in milliseconds since 1970 or as 2026-01-05T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) expires: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

fn role(text: &str) -> Result<ordain_api::Role, String> {
    let all = ordain_api::Role::ALL;
    all.into_iter().find(|role| role.name() == text).ok_or_else(|| {
        format!("there are {}", all.iter().map(|role| role.name()).collect::<Vec<_>>().join(", "))
    })
}

#[derive(Args)]
pub(crate) struct TokenList {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct TokenRevoke {
    /// The token's id: the part between its two underscores
    #[arg(value_name = "TOKEN_ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// List the public keys of permits and checkpoints
    List(KeysList),
    /// Sign with a new key from now on; permits of the old one hold as long as they say
    Rotate(KeysList),
}

#[derive(Args)]
pub(crate) struct KeysList {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct Ledger {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
}

#[derive(Subcommand)]
pub(crate) enum LedgerCommand {
    /// Check the whole ledger: entries, tree, documents, and what earlier checkpoints signed
    Verify(LedgerVerify),
    /// Show entries
    Show(LedgerShow),
    /// Write a proof that an entry is on the ledger, complete in itself
    Prove(LedgerProve),
    /// Print the signed head
    Checkpoint(LedgerCheckpoint),
    /// Write the ledger as static files (C2SP tlog-tiles)
    Export(LedgerExport),
    /// Check the ledger, and that what is kept beside it follows from it: permits and their uses, actions, tokens
    Fsck(LedgerFsck),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain ledger verify
  ordain ledger verify --checkpoint checkpoints/2026-01-05.txt
  ordain ledger verify --server https://gate.example --key \"ordain/0123456789abcdef+89abcdef+AQ…\" --keep last.txt

With --server the entries are read and their tree is compared with what the server signs now and with what it signed \
before, by the checkpoints that you kept. The server's word is not taken for anything; the documents stay there. Only a \
kept checkpoint shows that nothing of what was there then is missing now.

Exit codes: 0 all is well, 1 it is not, and the first bad entry is named, 2 it could not be checked; usage errors 64.")]
pub(crate) struct LedgerVerify {
    /// With --server: the ledger's key, as `ordain keys list` shows it; may be given several times
    #[arg(long = "key", value_name = "VERIFIER", value_parser = super::note_verifier, requires = "server")]
    pub(crate) keys: Vec<ordain_ledger::NoteVerifier>,
    /// With --server: compare with the checkpoint in this file, if it is there, and if all is well put the one of now in its place
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) what: LedgerFsck,
}

#[derive(Args)]
#[command(after_help = "\
Exit codes: 0 all is well, 1 it is not, and the first bad entry is named, 2 it could not be checked; usage errors 64.")]
pub(crate) struct LedgerFsck {
    /// A checkpoint from elsewhere that the ledger must still agree with; may be given several times
    #[arg(long = "checkpoint", value_name = "FILE")]
    pub(crate) checkpoints: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct LedgerShow {
    /// The first entry; without it the last ones
    #[arg(value_name = "INDEX")]
    pub(crate) from: Option<u64>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain ledger prove 17 -o decision.tlog-proof
  ordain verify decision.tlog-proof --key \"ordain/0123456789abcdef+89abcdef+AQ…\"")]
pub(crate) struct LedgerProve {
    /// The entry
    #[arg(value_name = "INDEX")]
    pub(crate) index: u64,
    /// Write the proof to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct LedgerCheckpoint {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct LedgerExport {
    /// The folder to write to
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain replay
  ordain replay --policy stricter/

Exit codes: 0 everything came out the same, 1 something did not, or could not be replayed, 2 nothing could be; usage errors 64.")]
pub(crate) struct Replay {
    /// Decide by these policies instead, and list what would change
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain serve
  ordain serve --store postgres://ordain@db/ordain --listen 10.0.0.5:7171
  ordain serve --listen unix:/run/ordain/gate.sock

Every request takes a token (`ordain token create`), but for /health, /ready, /metrics, /openapi.json and \
/.well-known/jwks.json. On another address than a loopback one it starts only if there are tokens; put a proxy with TLS \
before it. A hangup signal reads the policies and the key again. Logs are JSON lines on standard error.

PostgreSQL on another machine is reached with TLS, and its certificate is verified; `?sslrootcert=FILE` in the URL names an \
authority of your own, `?sslmode=disable` does without. Version 14 or newer.")]
pub(crate) struct Serve {
    /// Where to listen: a TCP address, or unix:PATH for a socket; may be given several times
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7171")]
    pub(crate) listen: Vec<ListenAddress>,
    /// The policy folder; without it what ordain.toml says
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    /// The store: a file, postgres://user@host/database, or `memory`; without it what ordain.toml says
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,
}
