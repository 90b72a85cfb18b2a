//! The command line of the gate: deciding, policies, evidence.

use crate::clock::parse_time;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What a decision is asked with.
#[derive(Args)]
pub(crate) struct CaseArgs {
    /// The action proposal or KernelRequest, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The policy folder; without it the one that the nearest ordain.toml names, or ./policy
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    /// Evidence packets: a file with one or with an array of them, or a folder of such files; may be given several
    /// times
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Vec<PathBuf>,
    /// Approvals and rejections: a file with one or with an array of them, or a folder of such files; may be given
    /// several times
    #[arg(long, value_name = "FILE")]
    pub(crate) approvals: Vec<PathBuf>,
    /// The time to decide at, in milliseconds since 1970 or as 2026-01-05T12:00:00Z; the machine's when absent
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) now: Option<u64>,
    /// Decide as if an operator had halted the gate
    #[arg(long)]
    pub(crate) halted: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain decide proposal.json
  ordain decide proposal.json --policy policy --evidence evidence/ --approvals approvals/
  ordain decide request.yaml --now 2026-01-05T12:00:00Z --json

Exit codes: 0 ALLOW, 20 HOLD, 21 DENY, 1 an error; usage errors 64.")]
pub(crate) struct Decide {
    #[command(flatten)]
    pub(crate) case: CaseArgs,
}

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
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain policy check
  ordain policy check policy --deny-warnings

Exit codes: 0 valid, 1 problems; usage errors 64.")]
pub(crate) struct PolicyCheck {
    /// The policy folder; without it the one that the nearest ordain.toml names, or ./policy
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Take warnings for problems
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain policy test
  ordain policy test policy --filter payment
  ordain policy test --junit report.xml

Exit codes: 0 all cases are as expected, 1 some are not, or there are none; usage errors 64.")]
pub(crate) struct PolicyTest {
    /// The policy folder; without it the one that the nearest ordain.toml names, or ./policy
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Only the cases with this text in their name or in their file's
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Write the results to this file too, in JUnit's form
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain policy explain proposal.json
  ordain policy explain proposal.json --approvals approvals/ --now 2026-01-05T12:00:00Z

Exit codes: 0 explained, whatever the outcome, 1 an error; usage errors 64.")]
pub(crate) struct PolicyExplain {
    #[command(flatten)]
    pub(crate) case: CaseArgs,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain policy fmt
  ordain policy fmt --check policy
  ordain policy fmt - < draft.cedar

Exit codes: 0 done, or with --check nothing to do; 1 an error, or with --check something to do; usage errors 64.")]
pub(crate) struct PolicyFmt {
    /// Files, or folders whose `.cedar` files are meant; `-` is standard input, to standard output; without any, the
    /// policy folder
    #[arg(value_name = "FILE|DIR")]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing, and list the files that would change
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ordain init
  ordain init service && cd service && ordain policy test

Exit codes: 0 written, 1 something is there already, or an error: nothing is overwritten; usage errors 64.")]
pub(crate) struct Init {
    /// The folder to write to
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
}

#[derive(Args)]
pub(crate) struct Evidence {
    #[command(subcommand)]
    pub(crate) command: EvidenceCommand,
}

#[derive(Subcommand)]
pub(crate) enum EvidenceCommand {
    /// Make an evidence packet of a file, of a JSON document or of what a command prints
    Pack(Pack),
    /// Put evidence packets on record, for proposals to refer to
    Add(super::EvidenceAdd),
}

#[derive(Args)]
#[command(
    group(clap::ArgGroup::new("observed").required(true).args(["file", "payload", "argv"])),
    after_help = "\
Examples:
  ordain evidence pack --sensor ci --file target/release/app -o evidence/app.json
  ordain evidence pack --sensor crm --payload contact.json --key crm.key
  ordain evidence pack --sensor ci -- cargo test --workspace

The command is run as it is, without a sandbox. Its exit code is part of what was observed.
With --key and -o the public key is shown, for the policy's sensors.toml. A new key:
  (umask 077; head -c 32 /dev/urandom | basenc --base64url | tr -d = > ci.key)

Exit codes: 0 a packet was made, 1 an error; usage errors 64."
)]
pub(crate) struct Pack {
    /// Who observed: a name in the policy's sensors.toml
    #[arg(long, value_name = "ID")]
    pub(crate) sensor: String,
    /// What kind of sensor it is
    #[arg(long, value_name = "TYPE", default_value = "cli")]
    pub(crate) sensor_type: String,
    /// The packet's id; one made of the hash of the payload when absent
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What kind of observation it is, such as api_response; told from its origin when absent
    #[arg(long = "type", value_name = "TYPE", value_parser = super::packet_types())]
    pub(crate) packet_type: Option<ordain_spec::packet::PacketType>,
    /// When it was observed, in milliseconds since 1970 or as 2026-01-05T12:00:00Z; the machine's time when absent
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) now: Option<u64>,
    /// Sign with the Ed25519 key in this file: 32 bytes in base64url
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Write the packet to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Observe this file: its name, its hash and its size
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Take this JSON object for the payload as it is; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) payload: Option<PathBuf>,
    /// Observe what this command prints and how it ends
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) argv: Vec<String>,
}
