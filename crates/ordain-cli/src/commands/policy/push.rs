//! `ordain policy push`.

use super::diff::changes;
use crate::arguments::Connect;
use crate::changes::show_changes;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::policy_folder;
use crate::report::GREEN;
use crate::signing;
use crate::wording::count;
use clap::Args;
use ordain_agent::{DiffPart, write_diff};
use ordain_api::OwnerAct;
use ordain_harness::apply::Change;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain policy push --dry-run
  ordain policy push
  ordain policy push --hash sha256:0f4c… --server https://gate.example", &[
    Outcome::Ok.means("in force"),
    Outcome::Failed.means("nothing changed: the folder is invalid, is not the one that was named, or an error"),
]))]
pub(crate) struct PolicyPush {
    /// The policy folder; without it the one that ordain.toml names, or ./policy
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Change nothing, and print what would change as a unified diff
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Push only if the folder has this hash, as `ordain policy check` prints it
    #[arg(long, value_name = "HASH", conflicts_with = "dry_run")]
    pub(crate) hash: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &PolicyPush, json: bool) -> Result<Outcome, Failure> {
    let (folder, set) = policy_folder::checked(args.dir.as_deref(), json)?;
    let hash = set.hash().to_string();
    if let Some(wanted) = args.hash.as_ref().filter(|wanted| **wanted != hash) {
        let problem = format!("has the hash {hash}, not {wanted}; nothing changed");
        let failure = Failure::Document { path: folder.path.display().to_string(), problem };
        return Err(failure.with_hint("run `ordain policy diff` to look at the folder"));
    }
    let purpose = if args.dry_run { Purpose::Look } else { Purpose::Write };
    let gateway = Gateway::open(&args.connect, purpose)?;
    let active = gateway.client().policy(None)?;
    let from = active.as_ref().map(|active| active.policy_hash.clone());
    let changes = changes(&active.map(|active| active.files).unwrap_or_default(), &folder.files);
    if args.dry_run {
        return show_changes(&changes, json);
    }
    let push = ordain_api::PolicyPush { files: folder.files, from: from.clone() };
    let about = about(&changes)?;
    // The signer sees the lines first; the statement has a hash of them.
    if !json && std::io::stdout().is_terminal() && gateway.client().gate()?.owned {
        show_changes(&changes, json)?;
    }
    let client = signing::for_act(gateway.client(), OwnerAct::PushPolicy, &hash, &about)?;
    let pushed = client.push_policy(&push)?;
    if json {
        print_json(&pushed)?;
        return Ok(Outcome::Ok);
    }
    let mut stdout = anstream::stdout().lock();
    match (pushed.changed, from) {
        (false, _) => {
            writeln!(stdout, "{GREEN}unchanged{GREEN:#}  {} is in force already", pushed.policy_hash)?
        }
        (true, None) => writeln!(stdout, "{GREEN}in force{GREEN:#}  {}", pushed.policy_hash)?,
        // They had lost their force, because nobody had signed them.
        (true, Some(old)) if old == pushed.policy_hash => writeln!(
            stdout,
            "{GREEN}in force{GREEN:#}  {}: the same policies, pushed again",
            pushed.policy_hash
        )?,
        (true, Some(old)) => {
            writeln!(stdout, "{GREEN}in force{GREEN:#}  {}, in place of {old}", pushed.policy_hash)?
        }
    }
    Ok(Outcome::Ok)
}

/// The files that a push changes, one line each, and the lines that change.
fn about(changes: &[Change]) -> Result<Vec<String>, Failure> {
    let lines = count_lines(changes)?;
    let said = match changes.len() {
        0 => "put the policies in force again; no file changes".to_owned(),
        files => format!("put policies in force; changed: {}", count(files as u64, "file")),
    };
    let row = |(change, (added, removed)): (&Change, (usize, usize))| {
        let sign = match (&change.before, &change.after) {
            (None, _) => '+',
            (_, None) => '-',
            _ => '~',
        };
        format!("  {sign} {}  +{added} -{removed}", change.path)
    };
    Ok(std::iter::once(said).chain(changes.iter().zip(lines).map(row)).collect())
}

/// How many lines each change adds and takes away.
fn count_lines(changes: &[Change]) -> Result<Vec<(usize, usize)>, Failure> {
    let count = |change: &Change| {
        let (mut added, mut removed) = (0, 0);
        write_diff(&change.path, change, &mut |part, _| {
            match part {
                DiffPart::Added => added += 1,
                DiffPart::Removed => removed += 1,
                DiffPart::File | DiffPart::Hunk | DiffPart::Context | DiffPart::Remark => {}
            }
            Ok(())
        })?;
        Ok((added, removed))
    };
    changes.iter().map(count).collect()
}
