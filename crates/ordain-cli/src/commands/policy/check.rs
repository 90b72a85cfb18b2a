//! `ordain policy check`.

use crate::exit::{self, Failure, Outcome};
use crate::policy_folder::{Folder, counted, find, show};
use crate::report::{GREEN, RED, printable};
use crate::wording::count;
use clap::Args;
use ordain_canon::Canonicalizer;
use ordain_decision::{PolicySet, Problem};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain policy check
  ordain policy check policy --deny-warnings", &[
    Outcome::Ok.means("valid"),
    Outcome::Failed.means("problems were found"),
]))]
pub(crate) struct PolicyCheck {
    /// The policy folder; without it the one that the nearest ordain.toml names, or ./policy
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Take warnings for problems
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

/// The result for programs.
#[derive(Serialize)]
struct Checked<'a> {
    ok: bool,
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permits: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forbids: Option<usize>,
    problems: &'a [Problem],
}

pub(crate) fn run(args: &PolicyCheck, json: bool) -> Result<Outcome, Failure> {
    let folder = Folder::read(find(args.dir.as_deref())?)?;
    let loaded = folder.load();
    let (set, problems) = match &loaded {
        Ok(set) => (Some(set), set.warnings()),
        Err(problems) => (None, problems.as_slice()),
    };
    let ok = set.is_some() && (problems.is_empty() || !args.deny_warnings);
    let path = folder.path.display().to_string();
    let mut out = anstream::stdout().lock();
    if json {
        let counts = set.map(PolicySet::counts);
        let checked = Checked {
            ok,
            policy: path,
            policy_hash: set.map(|set| set.hash().to_string()),
            permits: counts.map(|(permits, _)| permits),
            forbids: counts.map(|(_, forbids)| forbids),
            problems,
        };
        out.write_all(Canonicalizer::new().value(&checked)?)?;
        writeln!(out)?;
    } else {
        show(&mut out, &folder.path, problems)?;
        let (style, word) = if ok { (GREEN, "valid") } else { (RED, "invalid") };
        let mut parts = Vec::new();
        if let Some(set) = set {
            let (permits, forbids) = set.counts();
            parts.extend([count(permits as u64, "permit"), count(forbids as u64, "forbid")]);
        }
        if !problems.is_empty() {
            parts.push(counted(problems));
        }
        writeln!(out, "{style}{word}{style:#}  {}: {}", printable(&path), parts.join(", "))?;
        if let Some(set) = set {
            writeln!(out, "policy hash {}", set.hash())?;
        }
    }
    out.flush()?;
    Ok(if ok { Outcome::Ok } else { Outcome::Failed })
}
