//! `ordain undo`.

use crate::arguments::Connect;
use crate::changes::{show_changes, told, write_files};
use crate::exit::{self, Failure, Outcome};
use crate::gate::files::{self, Asker, Changed};
use crate::output::print_json;
use crate::report::{BOLD, GREEN, printable};
use crate::signing::{self, Signer};
use crate::wording::count;
use clap::Args;
use ordain_agent::{Acted, AgentError, Sign};
use ordain_api::OwnerAct;
use ordain_canon::time::rfc3339;
use ordain_client::Client;
use ordain_harness::apply::{self, Authority, Change, Copies, records};
use ordain_state::Home;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help_with("\
On a terminal you take back what your agent changed with your own authority: you sign with your key, and the policies are not \
asked. Elsewhere it is proposed like any other change.", &[
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
    let acted = match asker.gate()? {
        None => {
            let undone = Authority::local_operator(&Home::from_environment()?, &args.workspace)
                .and_then(|authority| apply::undo(&args.workspace, record, copies, authority));
            if undone.is_ok() {
                files::say_nobody_was_asked();
            }
            Acted { applied: undone, reported: Ok(()) }
        }
        Some(gate) => {
            let (name, changes) = told(apply::preview_undo(&args.workspace, record, copies), json)?;
            let present = signing::on_terminal();
            let gate = if present { gate.by_person() } else { gate };
            let mut refused = None;
            let changed = gate.change(|gated, tell| {
                let mut sign = |hash: &str| {
                    sign(gated.client, gated.actor, hash, &changes).map_err(|failure| {
                        refused = Some(failure);
                        AgentError::NotSigned
                    })
                };
                let sign: Option<Sign<'_>> = if present { Some(&mut sign) } else { None };
                gated.undo(&name, copies, &changes, sign, tell)
            });
            if let Some(failure) = refused {
                return Err(failure);
            }
            match changed? {
                Changed::Not(outcome) => return Ok(outcome),
                Changed::Tried(acted) => acted,
            }
        }
    };
    let undone = told(acted.applied, json)?;
    if json {
        print_json(&json!({"undone": undone}))?;
    } else {
        let mut stdout = anstream::stdout().lock();
        let files = count(undone.files.len() as u64, "file");
        let record = undone.record.unwrap_or_default();
        writeln!(stdout, "{GREEN}undone{GREEN:#}  {record}: {files} as before")?;
        write_files(&mut stdout, &undone.files)?;
        stdout.flush()?;
    }
    acted.reported?;
    Ok(Outcome::Ok)
}

/// The client that submits an undo. An owner signs the proposal at their terminal, after they have seen what
/// changes; for everybody else the policies decide.
fn sign(client: &Client, actor: &str, hash: &str, changes: &[Change]) -> Result<Client, Failure> {
    let plain = client.with_statements(&[]);
    let owner = client.act_terms(OwnerAct::Undo)?.owned.then(|| Signer::find(client)).transpose()?.flatten();
    if owner.is_none_or(|signer| signer.principal() != actor) {
        return Ok(plain);
    }
    show_changes(changes, false)?;
    let about = format!("take back the changes of {} above, as {actor}", count(changes.len() as u64, "file"));
    signing::for_act(client, OwnerAct::Undo, hash, &[about])
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
