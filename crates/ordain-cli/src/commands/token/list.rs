//! `ordain token list`.

use crate::arguments::Connect;
use crate::clock::when;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::{Column, Page};
use clap::Args;
use ordain_api::TokenStatus;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct TokenList {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &TokenList, json: bool) -> Result<Outcome, Failure> {
    let tokens = Gateway::open(&args.connect, Purpose::Look)?.client().tokens()?.tokens;
    if json {
        tokens.iter().try_for_each(print_json)?;
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    let columns = [
        Column::Left("id"),
        Column::Left("principal"),
        Column::Left("state"),
        Column::Left("roles and names"),
    ];
    page.table(&columns, tokens.iter().map(row), |_, _, _| {});
    print_page(&page)?;
    Ok(Outcome::Ok)
}

fn row(token: &TokenStatus) -> Vec<String> {
    let state = match (token.revoked_at_ms, token.expires_at_ms) {
        (Some(at_ms), _) => format!("revoked {}", when(at_ms)),
        (None, Some(at_ms)) => format!("until {}", when(at_ms)),
        (None, None) => "valid".to_owned(),
    };
    let roles: Vec<&str> = token.roles.iter().map(|role| role.name()).collect();
    let names =
        if token.names.is_empty() { String::new() } else { format!("; also {}", token.names.join(", ")) };
    vec![token.token_id.clone(), token.principal.clone(), state, format!("{}{names}", roles.join(", "))]
}
