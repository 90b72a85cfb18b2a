//! `ordain permit verify`.

use super::text_of;
use crate::arguments::Connect;
use crate::clock::{now_ms, parse_time};
use crate::exit::{self, Failure, Outcome};
use crate::gate::page;
use crate::gateway::{Gateway, Purpose};
use crate::input::Source;
use crate::output::{print_json, print_page};
use crate::page::Page;
use clap::Args;
use ordain_api::Jwks;
use ordain_canon::time::moment;
use ordain_decision::{PublicKey, PublicKeys, verify_permit};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain permit verify permit.jwt
  curl -s http://127.0.0.1:7171/.well-known/jwks.json > jwks.json
  ordain permit verify permit.jwt --jwks jwks.json", &[
    Outcome::Ok.means("the permit is valid"),
    Outcome::Failed.means("the permit is not valid, or an error"),
]))]
pub(crate) struct PermitVerify {
    /// The permit: a file with the token; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The public keys: a JWK set; without it those of the gate
    #[arg(long, value_name = "FILE")]
    pub(crate) jwks: Option<PathBuf>,
    /// The class of worker that it must be for
    #[arg(long, value_name = "NAME", default_value = "worker")]
    pub(crate) audience: String,
    /// The time, in milliseconds since 1970 or as 2026-01-05T12:00:00Z; the machine's when absent
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) now: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &PermitVerify, json: bool) -> Result<Outcome, Failure> {
    let token = text_of(&args.file)?;
    let jwks: Jwks = match &args.jwks {
        Some(path) => {
            let text = Source::of(path).text()?;
            serde_json::from_slice(&text.json).map_err(|error| Failure::Document {
                path: path.display().to_string(),
                problem: format!("is not a JWK set: {error}"),
            })?
        }
        None => Gateway::open(&args.connect, Purpose::Look)?.client().keys()?,
    };
    let mut keys = PublicKeys::new();
    for key in jwks.keys {
        let public = PublicKey::parse(&key.x)
            .map_err(|error| Failure::Server(format!("the key {} {error}", key.kid)))?;
        keys.insert(key.kid, public);
    }
    let now_ms = args.now.unwrap_or_else(now_ms);
    let claims = verify_permit(token.trim(), &keys, &args.audience, now_ms).map_err(|error| {
        Failure::Document { path: args.file.display().to_string(), problem: format!("the permit {error}") }
    })?;
    if json {
        print_json(&claims)?;
        return Ok(Outcome::Ok);
    }
    let mut page = Page::default();
    page.title("permit", &claims.jti);
    page.styled_label("holds", crate::report::GREEN, "yes");
    page.label("actor", &claims.sub);
    page.label("action", &format!("{} ({})", claims.proposal_id, page::name(&claims.action_type)));
    if let Ok((from_ms, until_ms)) = claims.window_ms() {
        page.label("window", &format!("{} to {}", moment(from_ms), moment(until_ms)));
    }
    page.label("uses", &format!("at most {}; the gate counts them", claims.max_executions));
    page.label("target", &claims.target_hash);
    page.label("parameters", &claims.parameters_hash);
    page.label("issued by", &claims.iss);
    print_page(&page)?;
    Ok(Outcome::Ok)
}
