//! `ordain ledger document`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::report;
use clap::Args;
use ordain_api::DocumentOnRecord;
use ordain_canon::ContentHash;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain ledger document sha256:4c1d…
  ordain ledger document sha256:4c1d… --json | jq -r .text | sha256sum

Documents of an action are for those who see the action, permits for those who may use them, and earlier policies for auditors, \
operators and approvers. A server hides the values that its policies redact; the document then has another hash.", exit::PLAIN))]
pub(crate) struct LedgerDocument {
    /// The hash, as `ordain ledger show --json` and documents name it
    #[arg(value_name = "HASH")]
    pub(crate) hash: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerDocument, json: bool) -> Result<Outcome, Failure> {
    if ContentHash::parse(&args.hash).is_none() {
        let failure = Failure::Usage(format!("`{}` is not the hash of a document", args.hash));
        return Err(failure.with_hint("run `ordain ledger show --json` to see the hashes that entries name"));
    }
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let found = gateway.client().document(&args.hash)?;
    let found = found.ok_or_else(|| Failure::unknown("document", &args.hash))?;
    check(&found)?;
    if found.redacted {
        report::note("values are hidden, so that the text has another hash", None);
    }
    if json {
        print_json(&found)?;
        return Ok(Outcome::Ok);
    }
    let DocumentOnRecord { hash, kind, index, action_id, text, .. } = &found;
    let mut page = Page::default();
    page.title(&kind.replace('_', " "), hash);
    page.label("entry", &index.to_string());
    if let Some(id) = action_id {
        page.label("action", id);
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(files) if kind == "policy" => {
            for (name, text) in files.as_object().into_iter().flatten() {
                page.section(name);
                page.content(text.as_str().unwrap_or_default());
            }
        }
        Ok(document) => {
            page.section("Content");
            page.json(&document);
        }
        Err(_) => {
            page.section("Content");
            page.content(text);
        }
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}

/// The gate's word is not taken: a whole document has the hash that was asked for.
pub(crate) fn check(found: &DocumentOnRecord) -> Result<(), Failure> {
    if found.redacted || ContentHash::of(found.text.as_bytes()).is(&found.hash) {
        return Ok(());
    }
    let problem = format!("the gate gave another document than {}", found.hash);
    Err(Failure::Server(problem).with_hint("look at the connection: a proxy may rewrite answers"))
}
