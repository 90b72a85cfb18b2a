//! `ordain policy`: check, test, explain and lay out policies, and put them in force.

mod cases;
mod check;
mod diff;
mod explain;
mod fmt;
mod junit;
mod push;
mod show;
mod signed_case;
mod test;

use crate::exit::{Failure, Outcome};
use check::PolicyCheck;
use clap::{Args, Subcommand};
use diff::PolicyDiff;
use explain::PolicyExplain;
use fmt::PolicyFmt;
use push::PolicyPush;
use show::PolicyShow;
use test::PolicyTest;

#[derive(Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check a policy folder: everything that is wrong with it, and policies that make no difference
    Check(PolicyCheck),
    /// Run the cases in the `tests` folder of a policy folder
    ///
    /// A case is a proposal with the evidence, the approvals and the time, and the decision that is expected of it.
    /// docs/contracts/policy.md describes the files.
    Test(PolicyTest),
    /// Say why a proposal is decided as it is: every policy about its action, condition by condition
    Explain(PolicyExplain),
    /// Lay out policies in one way, without changing what they mean
    Fmt(PolicyFmt),
    /// Put a policy folder in force; that goes on the ledger
    ///
    /// Nothing else changes the policies that decide: no file in a workspace, no start of a server.
    Push(PolicyPush),
    /// Show the policies in force, or earlier ones by their hash
    Show(PolicyShow),
    /// Show how a policy folder differs from the policies in force
    Diff(PolicyDiff),
}

pub(crate) fn run(args: &Policy, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        PolicyCommand::Check(args) => check::run(args, json),
        PolicyCommand::Test(args) => test::run(args, json),
        PolicyCommand::Explain(args) => explain::run(args, json),
        PolicyCommand::Fmt(args) => fmt::run(args, json),
        PolicyCommand::Push(args) => push::run(args, json),
        PolicyCommand::Show(args) => show::run(args, json),
        PolicyCommand::Diff(args) => diff::run(args, json),
    }
}
