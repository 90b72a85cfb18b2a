//! The commands: each file or folder holds the arguments of one command and runs it.

pub(crate) mod apply;
pub(crate) mod approve;
pub(crate) mod approver;
pub(crate) mod canon;
pub(crate) mod clarify;
pub(crate) mod completions;
pub(crate) mod decide;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod dossier;
pub(crate) mod evidence;
pub(crate) mod gate;
pub(crate) mod grant;
pub(crate) mod halt;
pub(crate) mod hash;
pub(crate) mod help;
pub(crate) mod hook;
pub(crate) mod id;
pub(crate) mod init;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod note;
pub(crate) mod patch;
pub(crate) mod pause;
pub(crate) mod permit;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod recover;
pub(crate) mod reject;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod scan;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod token;
pub(crate) mod transform;
pub(crate) mod undo;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod watch;
pub(crate) mod work;

use crate::exit::{Failure, Outcome};
use clap::Subcommand;
use std::path::Path;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Play one action through a temporary gate: held, approved with a signature, used once, proven from the ledger
    Demo(demo::Demo),
    /// Check documents, and report every violation with its rule and place
    Verify(verify::Verify),
    /// Show a document, laid out for a terminal
    Show(show::Show),
    /// Show the changes from one bundle to another
    Diff(diff::Diff),
    /// Make a bundle from an intent, or ask about unclear parts
    Transform(transform::Transform),
    /// Answer the questions about an intent, and write it with its answers
    Clarify(clarify::Clarify),
    /// Make the plan for a bundle: files to write, commands to run, tests that must pass
    Plan(plan::Plan),
    /// Make the patch set of a plan, a folder, a git diff or a git repository
    Patch(patch::Patch),
    /// Judge the evidence of an execution against its plan: accept, review or reject
    ///
    /// The verdict follows from the two documents alone. `reject`: something required failed, or the evidence is
    /// missing or contradicts itself. `review`: only something optional failed.
    Validate(validate::Validate),
    /// Try an intent, a plan or a patch set in the sandbox, and say whether it is accepted
    ///
    /// The workspace stays as it is. The folder of the run, in `.ordain/runs`, has everything that the run made;
    /// `ordain verify` checks such a folder.
    Run(run::Run),
    /// Give an intent to an agent in a copy of the workspace, try what it did, and return failures to it
    ///
    /// The agent edits the copy. Its changes become a patch set that names the bundle. The criteria of the
    /// bundle run in the sandbox on the agent's tree, and once more with the tests, test configuration, build
    /// scripts and CI files that were there before put back. The agent runs as you, with your environment,
    /// and can leave the copy; only changes in the copy count.
    Work(work::Work),
    /// Change a workspace by a patch set, a git diff or an accepted run: entirely or not at all
    ///
    /// First every operation is checked, with links, names that differ only by case, free space and permissions. Then
    /// the new contents are staged, and a journal is written. After a crash the next command uses it to finish the
    /// change or to roll it back. Replaced files are kept for `undo`.
    Apply(apply::Apply),
    /// Take the last change back, if nothing changed since
    Undo(undo::Undo),
    /// Finish or roll back an interrupted change, as every command does when it starts
    ///
    /// Other commands do not trust a journal that came with a copy of the workspace, because it may have come with a
    /// repository of somebody else.
    Recover(recover::Recover),
    /// Draft notes with a model, check them against a vault, show them, and apply them
    Note(note::Note),
    /// Run commands without letting them touch anything else
    Sandbox(sandbox::Sandbox),
    /// Decide about an action proposal: ALLOW, HOLD or DENY, with every reason
    ///
    /// It takes the policies of a folder, evidence, approvals and the time, and reads nothing else: the same input
    /// gives the same decision, byte for byte. Evidence and approvals that are not given do not exist.
    Decide(decide::Decide),
    /// Check, test, explain and lay out policies, and put them in force
    Policy(policy::Policy),
    /// Make evidence packets, and put them on record
    Evidence(evidence::Evidence),
    /// Submit an action proposal to the gate, which decides, records, and issues a permit for an ALLOW
    ///
    /// Submitting the same proposal again gives the recorded answer. The gate is a server, or the store of
    /// this project, which `ordain init` prepares.
    Submit(submit::Submit),
    /// Show the state of actions
    Status(status::Status),
    /// Approve a held action, or choose among everything that waits
    Approve(approve::Approve),
    /// Reject a held action
    Reject(reject::Reject),
    /// Watch what waits, and approve it with a key that stays unlocked for a while
    Watch(watch::Watch),
    /// List and take back approvals that hold for repeated calls
    Grant(grant::Grant),
    /// Enrol, list and revoke the keys of people who approve
    Approver(approver::Approver),
    /// Show, verify and spend permits, and report outcomes
    Permit(permit::Permit),
    /// Check and show the ledger, and prove its entries
    Ledger(ledger::Ledger),
    /// Repeat every decision on the ledger, with the recorded policies or with others
    Replay(replay::Replay),
    /// Report what happened: one action, or all of a time, as a page to print or as JSON
    Report(report::Report),
    /// Write everything about an action to one file that anybody checks offline
    Dossier(dossier::Dossier),
    /// Stop all decisions and permits until `resume`
    Halt(halt::Switch),
    /// Lift a halt
    Resume(halt::Switch),
    /// Let the calls of coding agents pass for a while, and only record the decisions
    Pause(pause::Pause),
    /// Make, list and revoke tokens
    Token(token::Token),
    /// List the public keys, or rotate the signing key
    Keys(keys::Keys),
    /// Serve the gate over HTTP
    Serve(serve::Serve),
    /// Set up a gate that runs as its own user, for the projects of this machine
    Service(service::Service),
    /// Make a gate for a folder, and write ordain.toml and policies to start with
    ///
    /// The gate lives in the state directory, outside of every workspace: $XDG_STATE_HOME/ordain or
    /// ~/.local/state/ordain.
    ///
    /// With `--solo` reading, editing and ordinary commands pass: to look, search, commit, build and test. Calls that
    /// delete, install, send or cannot be read take your signature, and those that push or publish your passphrase;
    /// secrets and guard files are denied. With `--team` agents may look at everything, change listed paths after one
    /// approval, delete and run commands after two, and pay up to a limit after two of finance; everything else is
    /// denied. Nothing is overwritten.
    Init(init::Init),
    /// List, register, move and back up gates
    Gate(gate::Gate),
    /// Put a coding agent behind the gate, and prove that it is
    Setup(setup::Setup),
    /// Answer an event of a coding agent; `ordain setup` installs this
    Hook(hook::Hook),
    /// Replay the sessions of coding agents on this machine, and report what would be held or denied
    Scan(scan::Scan),
    /// Put a gate in front of an MCP server
    Mcp(mcp::Mcp),
    /// Report how well this machine protects the gate, every coding agent, and every open point
    Doctor(doctor::Doctor),
    /// Print the canonical bytes of a document (RFC 8785)
    Canon(canon::Canon),
    /// Print the hash of a document
    Hash(hash::Hash),
    /// Print the id of a document, derived from its content
    Id(id::Id),
    /// List the rules, or explain one
    Rules(rules::Rules),
    /// Print the JSON Schema of a kind of document, or the Cedar schema of policies
    Schema(schema::Schema),
    /// Print the help of a command
    Help(help::Help),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write one for each command
    Man(man::Man),
}

impl Command {
    pub(crate) fn run(&self, json: bool) -> Result<Outcome, Failure> {
        match self {
            Self::Demo(args) => demo::run(args, json),
            Self::Verify(args) => verify::run(args, json),
            Self::Show(args) => show::run(args, json),
            Self::Diff(args) => diff::run(args, json),
            Self::Transform(args) => transform::run(args, json),
            Self::Clarify(args) => clarify::run(args, json),
            Self::Plan(args) => plan::run(args, json),
            Self::Patch(args) => patch::run(args, json),
            Self::Validate(args) => validate::run(args, json),
            Self::Run(args) => run::run(args, json).map_err(|failure| Failure::NoResult(Box::new(failure))),
            Self::Work(args) => work::run(args, json).map_err(|failure| Failure::NoResult(Box::new(failure))),
            Self::Apply(args) => apply::run(args, json),
            Self::Undo(args) => undo::run(args, json),
            Self::Recover(args) => recover::run(args, json),
            Self::Note(args) => note::run(args, json),
            Self::Sandbox(args) => sandbox::run(args, json),
            Self::Decide(args) => decide::run(args, json),
            Self::Policy(args) => policy::run(args, json),
            Self::Evidence(args) => evidence::run(args, json),
            Self::Submit(args) => submit::run(args, json),
            Self::Status(args) => status::run(args, json),
            Self::Approve(args) => approve::run(args, json),
            Self::Reject(args) => reject::run(args, json),
            Self::Watch(args) => watch::run(args, json),
            Self::Approver(args) => approver::run(args, json),
            Self::Permit(args) => permit::run(args, json),
            Self::Ledger(args) => ledger::run(args, json),
            Self::Replay(args) => replay::run(args, json),
            Self::Report(args) => report::run(args, json),
            Self::Halt(args) => halt::halt(args, json),
            Self::Resume(args) => halt::resume(args, json),
            Self::Pause(args) => pause::run(args, json),
            Self::Scan(args) => scan::run(args, json),
            Self::Token(args) => token::run(args, json),
            Self::Grant(args) => grant::run(args, json),
            Self::Keys(args) => keys::run(args, json),
            Self::Serve(args) => serve::run(args, json),
            Self::Service(args) => service::run(args, json),
            Self::Init(args) => init::run(args, json),
            Self::Setup(args) => setup::run(args, json),
            Self::Hook(args) => hook::run(args),
            Self::Mcp(args) => mcp::run(args, json),
            Self::Doctor(args) => doctor::run(args, json),
            Self::Dossier(args) => dossier::run(args, json),
            Self::Gate(args) => gate::run(args, json),
            Self::Canon(args) => canon::run(args),
            Self::Hash(args) => hash::run(args, json),
            Self::Id(args) => id::run(args, json),
            Self::Rules(args) => rules::run(args, json),
            Self::Schema(args) => schema::run(args, json),
            Self::Help(args) => help::run(args),
            Self::Completions(args) => completions::run(args),
            Self::Man(args) => man::run(args),
        }
    }

    /// The workspace whose interrupted change is finished before the command runs.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        let here = Path::new(".");
        match self {
            // `recover` does it itself, and may trust a copied journal.
            Self::Recover(_) | Self::Demo(_) | Self::Help(_) | Self::Man(_) | Self::Completions(_) => None,
            // Its client chooses the folder, and its output belongs to the protocol.
            Self::Mcp(args) if args.is_gateway() => None,
            Self::Plan(args) => Some(&args.workspace),
            Self::Apply(args) => Some(args.workspace.as_deref().unwrap_or(here)),
            Self::Undo(args) => Some(&args.workspace),
            Self::Run(args) => Some(&args.workspace),
            Self::Patch(args) => Some(&args.workspace),
            Self::Work(args) => args.workspace(),
            Self::Sandbox(args) => Some(args.workspace().unwrap_or(here)),
            _ => Some(here),
        }
    }
}
