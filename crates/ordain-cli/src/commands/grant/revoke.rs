//! `ordain grant revoke`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::report::{YELLOW, printable};
use clap::Args;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct GrantRevoke {
    /// The grant, as `ordain grant list` shows it
    #[arg(value_name = "GRANT_ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &GrantRevoke, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let revoked = gateway.client().revoke_grant(&args.id)?;
    let grant = revoked.ok_or_else(|| Failure::unknown("grant", &args.id))?;
    if json {
        print_json(&grant)?;
    } else {
        let said = format!("{}: {} of {} uses were taken", grant.grant_id, grant.used, grant.max_uses);
        writeln!(anstream::stdout(), "{YELLOW}revoked{YELLOW:#}  {}", printable(&said))?;
    }
    Ok(Outcome::Ok)
}
