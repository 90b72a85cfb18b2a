//! `ordain token revoke`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::report::{YELLOW, printable};
use crate::signing;
use clap::Args;
use ordain_api::OwnerAct;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct TokenRevoke {
    /// The token's id: the part between its two underscores
    #[arg(value_name = "TOKEN_ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &TokenRevoke, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let known = gateway.client().tokens()?.tokens.into_iter().find(|token| token.token_id == args.id);
    let about = known.map(|token| format!("revoke the token {} of {}", token.token_id, token.principal));
    let about: Vec<String> = about.into_iter().collect();
    let client = signing::for_act(gateway.client(), OwnerAct::RevokeToken, &args.id, &about)?;
    let revoked = client.revoke_token(&args.id)?;
    let status = revoked.ok_or_else(|| Failure::unknown("token", &args.id))?;
    if json {
        print_json(&status)?;
    } else {
        let said = format!("{} of {}", status.token_id, status.principal);
        writeln!(anstream::stdout(), "{YELLOW}revoked{YELLOW:#}  {}", printable(&said))?;
    }
    Ok(Outcome::Ok)
}
