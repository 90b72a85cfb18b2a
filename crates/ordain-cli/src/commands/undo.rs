//! `ordain undo`.

use crate::arguments::Connect;
use crate::changes::{show_changes, told, write_files};
use crate::exit::{self, Failure, Outcome};
use crate::gate::files::{self, Asked, Asker, Gated, What, Wish};
use crate::output::print_json;
use crate::report::{BOLD, GREEN, printable};
use crate::wording::count;
use clap::Args;
use ordain_canon::ContentHash;
use ordain_canon::time::rfc3339;
use ordain_harness::apply::{self, ApplyError, Authority, Change, Copies, records};
use ordain_spec::patch::PatchOp;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help(&[
    Outcome::Ok.means("undone"),
    Outcome::Failed.means("refused or not possible"),
    Outcome::Hold.means("held by the gate; nothing is changed"),
    Outcome::Deny.means("denied by the gate; nothing is changed"),
]))]
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
    /// The actor that proposes the change to a gate [default: the one in ordain.toml, or the user's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Undo, json: bool) -> Result<Outcome, Failure> {
    if args.list {
        return list(&args.workspace, json);
    }
    let record = args.record.as_deref();
    let copies = if args.even_if_copied { Copies::Trust } else { Copies::Refuse };
    if args.dry_run {
        let preview = told(apply::preview_undo(&args.workspace, record, copies), json)?;
        return show_changes(&preview.1, json);
    }
    let asker =
        Asker { workspace: &args.workspace, connect: &args.connect, actor: args.actor.as_deref(), json };
    let (undone, reported) = match asker.gate()? {
        None => {
            let undone = apply::undo(&args.workspace, record, copies, Authority::LocalOperator);
            if undone.is_ok() {
                files::say_nobody_was_asked();
            }
            (undone, Ok(()))
        }
        Some(gate) => {
            let (name, changes) = told(apply::preview_undo(&args.workspace, record, copies), json)?;
            let permitted = match ask_to_undo(gate, &args.workspace, &name, &changes, json)? {
                Asked::Not(outcome) => return Ok(outcome),
                Asked::Permitted(permitted) => permitted,
            };
            let undone = apply::undo(&args.workspace, Some(&name), copies, permitted.authority());
            let reported = permitted.report(&undone);
            (undone, reported)
        }
    };
    let undone = told(undone, json)?;
    if json {
        print_json(&json!({"undone": undone}))?;
        return reported.map(|()| Outcome::Ok);
    }
    let mut stdout = anstream::stdout().lock();
    let files = count(undone.files.len() as u64, "file");
    let record = undone.record.unwrap_or_default();
    writeln!(stdout, "{GREEN}undone{GREEN:#}  {record}: {files} as before")?;
    write_files(&mut stdout, &undone.files)?;
    stdout.flush()?;
    reported.map(|()| Outcome::Ok)
}

fn ask_to_undo(
    gate: Gated<'_>,
    workspace: &Path,
    record: &str,
    changes: &[Change],
    json: bool,
) -> Result<Asked, Failure> {
    let operation = |change: &'_ Change| match (&change.before, &change.after) {
        (None, _) => PatchOp::Create,
        (Some(_), Some(_)) => PatchOp::Modify,
        (Some(_), None) => PatchOp::Delete,
    };
    let operations = changes.iter().map(|change| (operation(change), change.path.as_str())).collect();
    let mut restored = Vec::new();
    for Change { path, after, .. } in changes {
        restored.extend(after.as_ref().map(|content| (path.as_str(), ContentHash::of(content).to_string())));
    }
    let known = told(records(workspace), json)?.into_iter().find(|it| it.record == record);
    let gone = || ApplyError::NoRecord(format!("there is no change `{record}` in this workspace any more"));
    let patch_hash = known.ok_or_else(gone)?.patch_hash;
    gate.ask(&Wish { what: What::Undo { record, restored }, patch_hash: &patch_hash, operations, changes })
}

fn list(workspace: &Path, json: bool) -> Result<Outcome, Failure> {
    let mut records = told(records(workspace), json)?;
    records.reverse();
    if json {
        print_json(&json!({"applied": records}))?;
        return Ok(Outcome::Ok);
    }
    let mut stdout = anstream::stdout().lock();
    if records.is_empty() {
        writeln!(stdout, "nothing was applied to this workspace, or all of it is undone")?;
    }
    for record in &records {
        let files = count(record.files.len() as u64, "file");
        let time = rfc3339(record.applied_at_ms).unwrap_or_default();
        let source = printable(&record.source_proposal_id);
        writeln!(stdout, "{BOLD}{}{BOLD:#}  {time}  {files}  {source}", record.record)?;
    }
    stdout.flush()?;
    Ok(Outcome::Ok)
}
