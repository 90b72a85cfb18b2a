//! `ordain permit use`.

use super::{show, text_of};
use crate::arguments::Connect;
use crate::clock::when_exactly;
use crate::document::document_failure;
use crate::exit::{self, Failure, Outcome};
use crate::gate::ids;
use crate::gateway::{Gateway, Purpose};
use crate::input::Source;
use crate::output::{print_json, print_result};
use crate::page::Page;
use clap::Args;
use ordain_api::{KernelUseRequest, UseRequest};
use ordain_canon::Value;
use ordain_spec::action::is_request;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain permit use permit_0123456789abcdef --for proposal.json", &[
    Outcome::Ok.means("spent: act now"),
    Outcome::Failed.means("refused: do not act"),
]))]
pub(crate) struct PermitUse {
    /// The permit, or its action; the beginning of an id is enough
    #[arg(value_name = "PERMIT_ID")]
    pub(crate) id: String,
    /// The action to take: the KernelRequest, or a document with `action_type`, `target` and `parameters`,
    /// such as the proposal
    #[arg(long = "for", value_name = "FILE")]
    pub(crate) what: PathBuf,
    /// The permit's text; without it the one on record
    #[arg(long, value_name = "FILE")]
    pub(crate) permit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &PermitUse, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide)?;
    let client = gateway.client();
    let id = &ids::permit_id(client, &args.id)?;
    let permit = match &args.permit {
        Some(file) => text_of(file)?.trim().to_owned(),
        None => show::permit(client, id)?.token.ok_or_else(|| {
            Failure::Server("this token may not read the text of the permit".to_owned())
                .with_hint("pass a file with the permit: `--permit FILE`")
        })?,
    };
    let source = Source::of(&args.what);
    let text = source.text()?;
    let document = text.read(&text.json).map_err(|wrong| document_failure(&source, &wrong))?;
    let spent = if is_request(&document) {
        let request = typed(&source, &document, "")?;
        client.use_permit_for_request(id, &KernelUseRequest { permit, request })?
    } else {
        let request = UseRequest {
            permit,
            action_type: field(&source, &document, "action_type")?,
            target: field(&source, &document, "target")?,
            parameters: field(&source, &document, "parameters")?,
        };
        client.use_permit(id, &request)?
    };
    if json {
        print_json(&spent)?;
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    page.title("spent", &format!("use {} of {}", spent.number, spent.permit_id));
    page.label("left", &spent.uses_left.to_string());
    page.label("report by", &when_exactly(spent.deadline_ms));
    page.label("ledger", &spent.ledger_index.to_string());
    page.section("Next");
    page.item("act now, exactly as proposed");
    let settle =
        |word: &str| format!("ordain permit outcome {} {word} --use {}", spent.permit_id, spent.number);
    page.step("if it happened", &settle("succeeded"));
    page.step("if it did not", &settle("failed"));
    print_result(&page)?;
    Ok(Outcome::Ok)
}

/// A field of the document that names the action.
fn field<T: DeserializeOwned>(source: &Source, document: &Value<'_>, name: &str) -> Result<T, Failure> {
    let missing = || Failure::Document { path: source.name(), problem: format!("has no `{name}`") };
    typed(source, document.get(name).ok_or_else(missing)?, &format!("/{name}"))
}

fn typed<T: DeserializeOwned>(source: &Source, value: &Value<'_>, pointer: &str) -> Result<T, Failure> {
    value.to_typed().map_err(|error| Failure::Document {
        path: source.name(),
        problem: format!("{pointer}{}: {}", error.pointer(), error.without_values()),
    })
}
