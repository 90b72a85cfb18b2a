//! `ordain dossier`.

use crate::arguments::Connect;
use crate::document::write_file;
use crate::exit::{self, Failure, Outcome};
use crate::gate::ids;
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::report::{self, GREEN};
use crate::wording::count;
use clap::Args;
use ordain_api::Dossier as Content;
use ordain_canon::Canonicalizer;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain dossier push-1 -o push-1.dossier.json
  ordain verify push-1.dossier.json --key \"ordain/0123456789abcdef+89abcdef+AQ…\"

The file has the entries with their proofs, the documents, policies, approvals and keys. `ordain verify` checks it offline, and so does \
conformance/check_dossier.py without ordain.", exit::PLAIN))]
pub(crate) struct Dossier {
    /// The action, or the beginning of its id
    #[arg(value_name = "ACTION")]
    pub(crate) id: String,
    /// Write it to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Dossier, json: bool) -> Result<Outcome, Failure> {
    // A gate that signs puts its key on record.
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let id = ids::action_id(gateway.client(), &args.id)?;
    let dossier = of(&gateway, &id)?;
    let text = file_of(&dossier)?;
    if !dossier.withheld.is_empty() {
        let said = format!(
            "{} withheld: hidden values, or a permit that can be used",
            count(dossier.withheld.len() as u64, "document")
        );
        report::note(&said, Some("make it where the store is, or when the permit is over"));
    }
    match &args.output {
        Some(path) => {
            let name = path.display().to_string();
            write_file(path, &text).map_err(|error| Failure::File { path: name.clone(), error })?;
            let (entries, documents) = (dossier.entries.len(), dossier.documents.len());
            if json {
                let withheld = &dossier.withheld;
                print_json(
                    &json!({"action_id": id, "dossier": name, "entries": entries, "documents": documents,
                    "withheld": withheld}),
                )?;
            } else {
                writeln!(
                    anstream::stdout(),
                    "{GREEN}written{GREEN:#}  {name}: {entries} entries, {documents} documents"
                )?;
            }
        }
        None => std::io::stdout().lock().write_all(&text)?,
    }
    Ok(Outcome::Ok)
}

pub(crate) fn of(gateway: &Gateway, id: &str) -> Result<Content, Failure> {
    gateway.client().dossier(id)?.ok_or_else(|| Failure::unknown("action", id))
}

/// The bytes of its file.
pub(crate) fn file_of(dossier: &Content) -> Result<Vec<u8>, Failure> {
    let mut canon = Canonicalizer::new();
    Ok([canon.value(dossier)?, b"\n"].concat())
}
