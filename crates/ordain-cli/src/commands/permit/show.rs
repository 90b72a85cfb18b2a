//! `ordain permit show`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::{ids, page};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use clap::Args;
use ordain_api::PermitStatus;
use ordain_client::Client;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct PermitShow {
    /// The permit, or its action; the beginning of an id is enough
    #[arg(value_name = "PERMIT_ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &PermitShow, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let id = ids::permit_id(gateway.client(), &args.id)?;
    show(&permit(gateway.client(), &id)?, json)
}

/// A permit that must be there.
pub(super) fn permit(client: &Client, id: &str) -> Result<PermitStatus, Failure> {
    client.permit(id)?.ok_or_else(|| Failure::unknown("permit", id))
}

pub(super) fn show(permit: &PermitStatus, json: bool) -> Result<Outcome, Failure> {
    if json {
        print_json(permit)?;
    } else {
        let mut page = Page::default();
        page::permit(&mut page, permit);
        print_page(&page)?;
    }
    Ok(Outcome::Ok)
}
