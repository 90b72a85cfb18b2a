//! The command line.

mod gate;
mod note;
mod service;

use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ordain_canon::DerivedId;
use ordain_spec::Kind;
use ordain_spec::packet::PacketType;
use std::path::{Path, PathBuf};

pub(crate) use gate::{
    CaseArgs, Decide, Evidence, EvidenceCommand, Init, Pack, Policy, PolicyCheck, PolicyCommand,
    PolicyExplain, PolicyFmt, PolicyTest,
};
pub(crate) use note::{Note, NoteApply, NoteCommand, NoteDraft, NoteFile};
pub(crate) use service::{
    Approve, Connect, EvidenceAdd, Keys, KeysCommand, Ledger, LedgerCommand, LedgerExport, LedgerFsck,
    LedgerProve, LedgerShow, LedgerVerify, Permit, PermitCommand, PermitOutcome, PermitUse, PermitVerify,
    Reject, Replay, Serve, Status, Submit, Switch, Token, TokenCommand, TokenCreate, UseOutcome, user_name,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

const EXIT_CODES: &str = "\
Exit codes: verify and note validate 0 valid, 1 could not be read, 2 does not parse, 3 violations (several files: the highest); \
transform 0 a bundle, 10 questions, 11 refused; run 0 accepted, 1 not accepted, 2 an error; \
decide, submit, status, approve, reject and whatever applies or undoes files 0 ALLOW, 20 HOLD, 21 DENY; submit and status also 22 failed, 23 unknown; \
ledger verify, ledger fsck and replay 0 all is well, 1 it is not, 2 it could not be checked; every other command 0 or 1; usage errors 64.";

/// The gate between what an AI agent proposes and what really happens.
///
/// Every artefact is a document with one canonical form, one hash, and one answer to "is it valid, and if not,
/// exactly what is wrong". Most commands work on this machine alone; those of the gate also with a server (`--server`).
#[derive(Parser)]
#[command(name = "ordain", version, styles = STYLES, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args, Clone, Copy)]
pub(crate) struct Global {
    /// Print canonical JSON, one line for each result
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_possible_values = true, help = "When to use colours: auto, always, never")]
    pub(crate) color: Color,
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Cli {
    /// The workspace that the command is about.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        Some(match &self.command {
            // It recovers itself.
            Command::Recover(_) => return None,
            Command::Plan(args) => &args.workspace,
            Command::Apply(args) => args.workspace.as_deref().unwrap_or(Path::new(".")),
            Command::Undo(args) => &args.workspace,
            Command::Run(args) => &args.workspace,
            Command::Sandbox(Sandbox { command: SandboxCommand::Exec(args) }) => &args.workspace,
            _ => Path::new("."),
        })
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check documents: is it valid, and if not, exactly what is wrong
    Verify(Verify),
    /// Show a document to a person: what it says, laid out for a terminal
    Show(Show),
    /// Compare two bundles: what changed from one to the other
    Diff(Diff),
    /// Make a bundle of an intent, or ask what is unclear
    Transform(Transform),
    /// Answer the questions about an intent, and write it with its answers
    Clarify(Clarify),
    /// Make the plan for a bundle: files to write, commands to run, tests that must pass
    Plan(Plan),
    /// Make the patch set of a plan: its file operations
    Patch(Patch),
    /// Judge the evidence of an execution against its plan: accept, review or reject
    ///
    /// Everything is worked out again from the two documents. `reject`: something required failed, or the evidence
    /// is missing or contradicts itself. `review`: only something optional failed.
    Validate(Validate),
    /// Try an intent, a plan or a patch set in the sandbox, and say whether it is accepted
    ///
    /// The workspace stays as it is; only `.ordain` is written to, where the folder of the run has everything that was
    /// made. `ordain verify` checks such a folder.
    Run(Run),
    /// Change a workspace by a patch set or an accepted run: entirely or not at all
    ///
    /// Everything is checked first: every operation, links, names that differ only by case, free space, permissions.
    /// Then the new contents are staged, and a journal is written, by which the change is finished or rolled back
    /// after a crash by the next command. What is replaced is kept for `undo`.
    Apply(Apply),
    /// Take the last change back, if nothing changed since
    Undo(Undo),
    /// Finish or roll back a change that was interrupted, as every command does by itself
    ///
    /// By itself no command trusts a journal that came with a copy of the workspace, because it may have come with
    /// somebody's repository.
    Recover(Recover),
    /// Draft notes with a model, hold them against a vault, show what they would write, and apply them
    Note(Note),
    /// Run commands without letting them touch anything else
    Sandbox(Sandbox),
    /// Decide about an action proposal: ALLOW, HOLD or DENY, with every reason
    ///
    /// It takes the policies of a folder, evidence, approvals and the time, and reads nothing else: the same input
    /// gives the same decision, byte for byte. Evidence and approvals that are not given do not exist.
    Decide(Decide),
    /// Check, test, explain and lay out policies
    Policy(Policy),
    /// Make evidence packets, and put them on record
    Evidence(Evidence),
    /// Submit an action proposal to the gate: it is decided, recorded, and with an ALLOW there is a permit
    ///
    /// The same proposal again gives the recorded answer. The gate is a server, or the store of this project, which
    /// `ordain init` prepares.
    Submit(Submit),
    /// Show where actions stand
    Status(Status),
    /// Approve a held action
    Approve(Approve),
    /// Reject a held action
    Reject(Reject),
    /// Show, verify and spend permits, and report outcomes
    Permit(Permit),
    /// Check, show and prove what is on the ledger
    Ledger(Ledger),
    /// Decide everything on the ledger again, by the recorded policies or by others
    Replay(Replay),
    /// Let nothing happen any more, until `resume`
    Halt(Switch),
    /// Lift a halt
    Resume(Switch),
    /// Make, list and revoke tokens
    Token(Token),
    /// List the public keys, or rotate the signing key
    Keys(Keys),
    /// Serve the gate over HTTP
    Serve(Serve),
    /// Write ordain.toml and a policy folder to start with, with its tests and a guide
    ///
    /// Agents may look at everything, change listed paths after one approval, delete and run commands after two, and
    /// pay up to a limit after two of finance. Everything else is denied. Nothing is overwritten.
    Init(Init),
    /// Print the canonical bytes of a document (RFC 8785)
    Canon(Canon),
    /// Print the hash of a document
    Hash(Hash),
    /// Print the id that a document's content gives
    Id(Id),
    /// List the rules, or explain one
    Rules(Rules),
    /// Print the JSON Schema of a kind of document, or the Cedar schema of policies
    Schema(Schema),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page, or write one for each command
    Man(Man),
}

fn note_verifier(text: &str) -> Result<ordain_ledger::NoteVerifier, String> {
    ordain_ledger::NoteVerifier::parse(text).map_err(|error| error.to_string())
}

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Verify {
    /// Documents; `-` is standard input; a folder is searched for .json, .yaml and .yml, but hidden and linked
    /// folders are not; of the folder of a run every file and every link between them is checked
    #[arg(value_name = "FILE", required_unless_present = "jsonl")]
    pub(crate) files: Vec<PathBuf>,
    /// What the documents are; told from their content when absent
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// The policy profile: strict, default, dev, or a file
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// The time, in milliseconds since 1970; without it no rule about the present is checked
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    pub(crate) now: Option<i64>,
    /// The bundle that a plan proposal comes from
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// The plan proposal that a patch set comes from: it must give the same patch set
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// The intent that a bundle comes from: the transform must give the same bundle
    #[arg(long, value_name = "FILE")]
    pub(crate) intent: Option<PathBuf>,
    /// An evidence packet, or an array of them; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Vec<PathBuf>,
    /// Read one document a line, write one result a line, in order, on all cores
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// The key of the ledger that a proof file comes from, as `ordain keys list` shows it; may be given several times
    #[arg(long = "key", value_name = "VERIFIER", value_parser = note_verifier)]
    pub(crate) keys: Vec<ordain_ledger::NoteVerifier>,
}

#[derive(Args)]
pub(crate) struct Show {
    /// The document, or the folder of a run; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What the document is; told from its content when absent
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// Show the content of files as well
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 the same bundle; 1 the bundles differ, or one is not valid; usage errors 64."
)]
pub(crate) struct Diff {
    /// The bundle before; `-` is standard input
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,
    /// The bundle after; `-` is standard input
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 a bundle, 10 a bundle with questions, 11 refused, 1 an error; usage errors 64. With --jsonl the highest."
)]
pub(crate) struct Transform {
    /// The intent, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "INTENT")]
    pub(crate) intent: Option<PathBuf>,
    /// Take plain text as the goal: this text, or without it what stands in INTENT
    #[arg(long, value_name = "TEXT", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, without a value, and with one are three things")]
    pub(crate) goal: Option<Option<String>>,
    /// Write the bundle to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Read one intent a line, write one result a line, in order, on all cores
    #[arg(long)]
    pub(crate) jsonl: bool,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 nothing is open any more, 1 questions are left or an error; usage errors 64."
)]
pub(crate) struct Clarify {
    /// The intent, JSON or by its name YAML
    #[arg(value_name = "INTENT")]
    pub(crate) intent: PathBuf,
    /// Take the answers from this file, an object by question id, and ask nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Write the answered intent to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Plan {
    /// The bundle together with `--intent`, or an intent alone; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The intent that the bundle was made from; `-` is standard input
    #[arg(long, value_name = "INTENT")]
    pub(crate) intent: Option<PathBuf>,
    /// Where the files will go: those that are there are changed, the others created
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Write the hashes of the files that the plan replaces to this file, for `apply --if-unchanged`
    #[arg(long, value_name = "FILE")]
    pub(crate) base: Option<PathBuf>,
    /// Write the plan to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Patch {
    /// The plan proposal; `-` is standard input
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Write the patch set to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Exit codes: 0 accept, 1 review, reject or an error; usage errors 64.")]
pub(crate) struct Validate {
    /// The execution evidence; `-` is standard input
    #[arg(value_name = "EVIDENCE")]
    pub(crate) evidence: PathBuf,
    /// The plan proposal that was tried; `-` is standard input
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: PathBuf,
}

#[derive(Args)]
#[command(
    group(clap::ArgGroup::new("origin").required(true).args(["intent", "plan", "patch"])),
    after_help = "Exit codes: 0 accepted, 1 not accepted (also with --plan-only, and when questions are open), 2 an error; usage errors 64."
)]
pub(crate) struct Run {
    /// The intent, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "INTENT")]
    pub(crate) intent: Option<PathBuf>,
    /// Try this plan proposal: files, commands and tests
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Try this patch set: only files
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// The folder that it is about
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// What commands may do: strict, default, dev, or a file
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) protection: Protection,
    /// Make the plan and the patch set, and try nothing
    #[arg(long)]
    pub(crate) plan_only: bool,
    /// If it is accepted, change the workspace by it, unless files changed meanwhile
    #[arg(long, conflicts_with = "plan_only")]
    pub(crate) apply: bool,
    /// Who proposes the change, where a gate is asked; without it what ordain.toml says, or the user's name
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 applied, 1 refused or rolled back, 20 held by the gate, 21 denied by it: nothing is changed; usage errors 64."
)]
pub(crate) struct Apply {
    /// A patch set, or the folder of an accepted run; `-` is standard input
    #[arg(value_name = "PATCH|RUN")]
    pub(crate) what: PathBuf,
    /// The folder to change; without it the one that the run was tried on, or this one
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Only if the files are as this list says, as `plan --base` writes it; a run has one of its own
    #[arg(long, value_name = "BASE")]
    pub(crate) if_unchanged: Option<PathBuf>,
    /// Apply a run even if files changed since it was tried
    #[arg(long, conflicts_with = "if_unchanged")]
    pub(crate) even_if_changed: bool,
    /// Change nothing, and print what would change as a unified diff
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Who proposes the change, where a gate is asked; without it what ordain.toml says, or the user's name
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 undone, 1 refused or not possible, 20 held by the gate, 21 denied by it: nothing is changed; usage errors 64."
)]
pub(crate) struct Undo {
    /// The change, as `apply` named it; the last one when absent
    #[arg(value_name = "RECORD")]
    pub(crate) record: Option<String>,
    /// The folder that was changed
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Change nothing, and print what would change as a unified diff
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// List the changes that can be undone, the last one first
    #[arg(long, conflicts_with_all = ["record", "dry_run"])]
    pub(crate) list: bool,
    /// Trust a record that came with a copy of the workspace
    #[arg(long)]
    pub(crate) even_if_copied: bool,
    /// Who proposes the change, where a gate is asked; without it what ordain.toml says, or the user's name
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 nothing is unfinished any more, 1 it cannot be finished; usage errors 64."
)]
pub(crate) struct Recover {
    /// The folder that was being changed
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Trust a journal that came with a copy of the workspace
    #[arg(long)]
    pub(crate) even_if_copied: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
pub(crate) struct Sandbox {
    #[command(subcommand)]
    pub(crate) command: SandboxCommand,
}

#[derive(Subcommand)]
pub(crate) enum SandboxCommand {
    /// Try what this machine supports, and say what to change
    #[command(
        after_help = "Exit codes: 0 the sandbox works, 1 it does not, or not without --allow-landlock-only; usage errors 64."
    )]
    Probe,
    /// Run one command on a view of a workspace, and show what came of it
    ///
    /// The command sees the workspace in /workspace and may change it there; the folder itself stays as it is. With
    /// --json the execution evidence is printed, of a plan that has this one command.
    #[command(
        after_help = "Exit codes: 0 the command succeeded, 1 it did not, or could not be run; usage errors 64."
    )]
    Exec(Exec),
}

/// How little protection is enough.
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
pub(crate) struct Exec {
    /// What it may do: strict, default, dev, or a file
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    pub(crate) profile: String,
    /// The folder that it works on
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    #[command(flatten)]
    pub(crate) protection: Protection,
    /// The command and its arguments, without a shell
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) argv: Vec<String>,
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

#[derive(Args)]
pub(crate) struct Canon {
    #[command(flatten)]
    pub(crate) lines: Lines,
}

#[derive(Args)]
pub(crate) struct Hash {
    #[command(flatten)]
    pub(crate) lines: Lines,
    /// Which hash
    #[arg(long = "as", value_enum, value_name = "WHAT")]
    pub(crate) what: HashOf,
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum HashOf {
    /// A bundle: canonical JSON and a line feed
    Bundle,
    /// A plan proposal
    Plan,
    /// A patch set
    Patch,
    /// An action proposal, as approvals and decisions name it
    Action,
    /// An evidence packet
    Packet,
    /// A decision
    Decision,
    /// A note proposal, without its `hash`
    Note,
    /// Execution evidence, without what was `observed`
    Evidence,
    /// An intent: normalized, canonical JSON and a line feed
    Intent,
    /// The raw bytes of a file (with --jsonl: of a JSON string)
    Content,
}

#[derive(Args)]
pub(crate) struct Id {
    #[command(flatten)]
    pub(crate) lines: Lines,
    /// What the document is
    #[arg(long = "as", value_enum, value_name = "WHAT")]
    pub(crate) what: IdOf,
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum IdOf {
    /// A node of a bundle
    Node,
    /// A question
    Question,
    /// An output of a bundle
    Output,
    /// An action of a plan proposal
    Action,
    /// A plan proposal
    Plan,
    /// A bundle
    Bundle,
}

impl From<IdOf> for DerivedId {
    fn from(what: IdOf) -> Self {
        match what {
            IdOf::Node => Self::Node,
            IdOf::Question => Self::Question,
            IdOf::Output => Self::Output,
            IdOf::Action => Self::Action,
            IdOf::Plan => Self::Plan,
            IdOf::Bundle => Self::Bundle,
        }
    }
}

#[derive(Args)]
pub(crate) struct Rules {
    /// A rule, such as PS4 or V-PROP-010; all of them when absent
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only the rules of this kind of document
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
}

#[derive(Args)]
pub(crate) struct Schema {
    /// The kind of document, or `policy`
    #[arg(value_name = "KIND", value_parser = schemas())]
    pub(crate) of: SchemaOf,
}

/// What has a schema.
#[derive(Clone, Copy)]
pub(crate) enum SchemaOf {
    Kind(Kind),
    /// What policies can name, in Cedar's form.
    Policy,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args)]
pub(crate) struct Man {
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

/// The kinds by name, so that help and completions list them.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name))
        .try_map(|name| Kind::parse(&name).ok_or_else(|| format!("`{name}` is no kind")))
}

const POLICY: &str = "policy";

fn schemas() -> impl TypedValueParser<Value = SchemaOf> {
    let names = Kind::ALL.map(Kind::name).into_iter().chain([POLICY]);
    PossibleValuesParser::new(names).try_map(|name| match Kind::parse(&name) {
        _ if name == POLICY => Ok(SchemaOf::Policy),
        Some(kind) => Ok(SchemaOf::Kind(kind)),
        None => Err(format!("`{name}` has no schema")),
    })
}

/// The types of evidence packets by name.
fn packet_types() -> impl TypedValueParser<Value = PacketType> {
    PossibleValuesParser::new(PACKET_TYPES)
        .try_map(|name| serde_json::from_value(serde_json::Value::String(name)))
}

const PACKET_TYPES: [&str; 13] = [
    "dom_snapshot",
    "url_observation",
    "form_state",
    "selection",
    "api_response",
    "webhook_payload",
    "file_hash",
    "diff_observation",
    "timestamp",
    "environment",
    "approval",
    "attestation",
    "aggregate",
];
