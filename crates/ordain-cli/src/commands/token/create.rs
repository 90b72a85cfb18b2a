//! `ordain token create`.

use crate::arguments::Connect;
use crate::clock::{date, parse_time};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::report::{GREEN, printable};
use crate::signing;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ordain_api::{NewToken, OwnerAct, Role};
use ordain_gate::TokenSecret;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  (umask 077; ordain token create agent-7 --role actor --role worker > agent.token)
  ordain token create alice --role approver
  ordain token create bob --role actor --name agent-8 --name agent-9

The principal cannot approve proposals that the token makes under one of its names.", exit::PLAIN))]
pub(crate) struct TokenCreate {
    /// The principal that the token belongs to
    #[arg(value_name = "PRINCIPAL")]
    pub(crate) principal: String,
    /// A role: actor, approver, operator, sensor, worker or auditor; may be given several times
    #[arg(long = "role", value_name = "ROLE", required = true, value_parser = roles(), hide_possible_values = true)]
    pub(crate) roles: Vec<Role>,
    /// A further name that it may propose or observe under, such as that of an agent
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Until when it holds, in milliseconds since 1970 or as 2026-01-05T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) expires: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// The roles by name, so that help and completions list them.
fn roles() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::name)).try_map(|name| {
        let found = Role::ALL.into_iter().find(|role| role.name() == name);
        found.ok_or_else(|| format!("there is no role `{name}`"))
    })
}

pub(super) fn run(args: &TokenCreate, json: bool) -> Result<Outcome, Failure> {
    // Made here, so that the signature covers its hash and the gate never has the secret.
    let secret = TokenSecret::random()?;
    let new = NewToken {
        principal: args.principal.clone(),
        roles: args.roles.iter().copied().collect(),
        names: args.names.iter().cloned().collect(),
        expires_at_ms: args.expires,
        secret: Some(secret.new_secret()),
    };
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let client = signing::for_act(gateway.client(), OwnerAct::CreateToken, &new.subject(), &about(&new))?;
    let mut made = client.create_token(&new)?;
    made.token = Some(secret.token());
    if json {
        print_json(&made)?;
        return Ok(Outcome::Ok);
    }
    // The token alone on standard output, so that it can go into a file.
    writeln!(anstream::stdout(), "{}", secret.token())?;
    let said = format!("token {} of {}; it is not shown again", made.status.token_id, made.status.principal);
    writeln!(anstream::stderr(), "{GREEN}made{GREEN:#}  {}", printable(&said))?;
    Ok(Outcome::Ok)
}

/// The token in words.
fn about(new: &NewToken) -> Vec<String> {
    let roles: Vec<&str> = new.roles.iter().map(|role| role.name()).collect();
    let names: Vec<&str> = new.names.iter().map(String::as_str).collect();
    let mut about = vec![
        format!("make a token of {}", new.principal),
        format!("  {}: {}", if roles.len() == 1 { "role" } else { "roles" }, roles.join(", ")),
    ];
    if !names.is_empty() {
        about.push(format!("  also proposes or observes as: {}", names.join(", ")));
    }
    about.push(match new.expires_at_ms {
        Some(at_ms) => format!("  until {}", date(at_ms)),
        None => "  without an end".to_owned(),
    });
    about
}
