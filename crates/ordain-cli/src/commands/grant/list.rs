//! `ordain grant list`.

use crate::arguments::Connect;
use crate::clock::when;
use crate::commands::status;
use crate::exit::{self, Failure, Outcome};
use crate::gate::summary::deed;
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::{Column, PLAIN, Page, Row};
use crate::report::GREEN;
use clap::Args;
use ordain_api::{GrantState, GrantStatus};
use ordain_client::Client;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct GrantList {
    /// Also those that have ended, are used up or were taken back
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &GrantList, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let client = gateway.client();
    let mut grants = client.grants()?.grants;
    grants.retain(|grant| args.all || grant.state == GrantState::Active);
    if json {
        grants.iter().try_for_each(print_json)?;
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    if grants.is_empty() {
        page.prose("", "", PLAIN, "no call may be repeated without a new approval");
    } else {
        let rows = grants.iter().map(|grant| row(client, grant)).collect::<Result<Vec<_>, _>>()?;
        let columns = [
            Column::Left("id"),
            Column::Left("state"),
            Column::Left("used"),
            Column::Left("signed by"),
            Column::Left("covers exactly"),
        ];
        page.table(&columns, rows, |_, _, _| {});
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}

fn row(client: &Client, grant: &GrantStatus) -> Result<Row, Failure> {
    let action = status::of(client, &grant.action_id)?;
    let state = match (grant.state, &grant.revoked_by) {
        (GrantState::Active, _) => format!("until {}", when(grant.until_ms)),
        (GrantState::Revoked, Some(by)) => format!("taken back by {by}"),
        (GrantState::UsedUp, _) => "used up".to_owned(),
        (state, _) => state.name().to_owned(),
    };
    Ok(Row {
        style: if grant.state == GrantState::Active { GREEN } else { PLAIN },
        cells: vec![
            grant.grant_id.clone(),
            state,
            format!("{} of {}", grant.used, grant.max_uses),
            grant.approvers.join(", "),
            format!("{}: {}", grant.actor, deed(&action)),
        ],
    })
}
