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
use clap::Args;
use ordain_api::OwnerAct;
use std::io::Write;
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
        return Err(failure.with_hint("look at the folder with `ordain policy diff`"));
    }
    let purpose = if args.dry_run { Purpose::Look } else { Purpose::Write };
    let gateway = Gateway::open(&args.connect, purpose)?;
    let active = gateway.client().policy(None)?;
    if args.dry_run {
        let before = active.map(|active| active.files).unwrap_or_default();
        return show_changes(&changes(&before, &folder.files), json);
    }
    let from = active.map(|active| active.policy_hash);
    let push = ordain_api::PolicyPush { files: folder.files, from: from.clone() };
    let client = signing::for_act(gateway.client(), OwnerAct::PushPolicy, &hash)?;
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
        (true, Some(old)) => {
            writeln!(stdout, "{GREEN}in force{GREEN:#}  {}, in place of {old}", pushed.policy_hash)?
        }
    }
    Ok(Outcome::Ok)
}
