//! `ordain permit use`.

use super::text_of;
use crate::arguments::Connect;
use crate::document::document_failure;
use crate::exit::{self, Failure, Outcome};
use crate::gate::read;
use crate::gateway::{Gateway, Purpose, escaped};
use crate::input::Source;
use crate::output::{print_json, print_page};
use crate::page::Page;
use clap::Args;
use ordain_api::{PermitStatus, UseReceipt};
use ordain_canon::time::moment;
use ordain_canon::{Canonicalizer, Value};
use ordain_spec::action::is_request;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain permit use permit_0123456789abcdef --for proposal.json", &[
    Outcome::Ok.means("spent: act now"),
    Outcome::Failed.means("refused: do not act"),
]))]
pub(crate) struct PermitUse {
    /// The permit
    #[arg(value_name = "PERMIT_ID")]
    pub(crate) id: String,
    /// The action to take: the KernelRequest, or a document with `action_type`, `target` and `parameters`, such as the proposal
    #[arg(long = "for", value_name = "FILE")]
    pub(crate) what: PathBuf,
    /// The permit's text; without it the one on record
    #[arg(long, value_name = "FILE")]
    pub(crate) permit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &PermitUse, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide, json)?;
    let path = format!("/v1/permits/{}", escaped(&args.id));
    let token = match &args.permit {
        Some(file) => text_of(file)?.trim().to_owned(),
        None => {
            let permit: PermitStatus = gateway.get(&path)?;
            permit.token.ok_or_else(|| {
                Failure::Server("this token may not read the text of the permit".to_owned())
                    .with_hint("pass a file with the permit: `--permit FILE`")
            })?
        }
    };
    let source = Source::of(&args.what);
    let text = source.text()?;
    let document = text.read(&text.json).map_err(|wrong| document_failure(&source, &wrong))?;
    let mut body: BTreeMap<&str, &Value<'_>> = BTreeMap::new();
    if is_request(&document) {
        body.insert("request", &document);
    } else {
        for field in ["action_type", "target", "parameters"] {
            let problem = || Failure::Document { path: source.name(), problem: format!("has no `{field}`") };
            body.insert(field, document.get(field).ok_or_else(problem)?);
        }
    }
    let token = Value::String(token.into());
    body.insert("permit", &token);
    let body = Canonicalizer::new().value(&body)?.to_vec();
    let spent: UseReceipt = read(&gateway.raw("POST", &format!("{path}/use"), Some(body))?.body)?;
    if json {
        print_json(&spent)?;
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    page.title("spent", &format!("use {} of {}", spent.number, spent.permit_id));
    page.label("left", &spent.uses_left.to_string());
    page.label("report by", &moment(spent.deadline_ms));
    page.label("ledger", &spent.ledger_index.to_string());
    page.section("Next");
    page.item("act now, exactly as proposed");
    page.item(&format!("ordain permit outcome {} succeeded --use {}", spent.permit_id, spent.number));
    print_page(&page)?;
    Ok(Outcome::Ok)
}
