//! What operators do: `halt`, `resume`, `token`, `keys`.

use super::{Jwk, Jwks, print_json, print_page};
use crate::args::{Keys, KeysCommand, Switch, Token, TokenCommand, TokenCreate};
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Purpose, escaped};
use crate::page::{Column, Page};
use crate::report::{GREEN, RED, YELLOW, printable};
use ordain_api::{GateStatus, KeyStatus, NewToken, TokenStatus};
use ordain_canon::time::moment;
use ordain_gate::note_verifier;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::Write;

pub(crate) fn switch(args: &Switch, path: &str, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write, json)?;
    let status: GateStatus = gateway.post(path, &json!({"reason": args.reason}))?;
    if json {
        print_json(&status)?;
        return Ok(Outcome::Ok);
    }
    let mut stdout = anstream::stdout().lock();
    match &status.halted {
        Some(halt) => {
            let said = format!("by {}: {}", halt.by, halt.reason);
            writeln!(
                stdout,
                "{RED}halted{RED:#}  {}; nothing is allowed until `ordain resume`",
                printable(&said)
            )?
        }
        None => writeln!(stdout, "{GREEN}open{GREEN:#}  decisions are made and permits can be spent")?,
    }
    Ok(Outcome::Ok)
}

#[derive(Serialize, Deserialize)]
struct MadeToken {
    status: TokenStatus,
    token: String,
}

#[derive(Deserialize)]
struct TokenPage {
    tokens: Vec<TokenStatus>,
}

pub(crate) fn token(args: &Token, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        TokenCommand::Create(args) => create(args, json),
        TokenCommand::List(args) => {
            let tokens: TokenPage = Gateway::open(&args.connect, Purpose::Look, json)?.get("/v1/tokens")?;
            if json {
                tokens.tokens.iter().try_for_each(print_json)?;
                return Ok(Outcome::Ok);
            }
            let mut page = Page::default();
            let columns = [
                Column::Left("id"),
                Column::Left("principal"),
                Column::Left("state"),
                Column::Left("roles and names"),
            ];
            page.table(&columns, tokens.tokens.iter().map(row), |_, _, _| {});
            print_page(&page)?;
            Ok(Outcome::Ok)
        }
        TokenCommand::Revoke(args) => {
            let gateway = Gateway::open(&args.connect, Purpose::Write, json)?;
            let path = format!("/v1/tokens/{}", escaped(&args.id));
            let status: TokenStatus = gateway.send("DELETE", &path, None::<&()>)?;
            if json {
                print_json(&status)?;
            } else {
                let said = format!("{} of {}", status.token_id, status.principal);
                writeln!(anstream::stdout(), "{YELLOW}revoked{YELLOW:#}  {}", printable(&said))?;
            }
            Ok(Outcome::Ok)
        }
    }
}

fn create(args: &TokenCreate, json: bool) -> Result<Outcome, Failure> {
    let new = NewToken {
        principal: args.principal.clone(),
        roles: args.roles.iter().copied().collect(),
        names: args.names.iter().cloned().collect(),
        expires_at_ms: args.expires,
    };
    let made: MadeToken = Gateway::open(&args.connect, Purpose::Write, json)?.post("/v1/tokens", &new)?;
    if json {
        print_json(&made)?;
        return Ok(Outcome::Ok);
    }
    // The token alone on standard output, so that it can go into a file.
    writeln!(anstream::stdout(), "{}", made.token)?;
    let said = format!("token {} of {}; it is not shown again", made.status.token_id, made.status.principal);
    writeln!(anstream::stderr(), "{GREEN}made{GREEN:#}  {}", printable(&said))?;
    Ok(Outcome::Ok)
}

fn row(token: &TokenStatus) -> Vec<String> {
    let state = match (token.revoked_at_ms, token.expires_at_ms) {
        (Some(at_ms), _) => format!("revoked {}", moment(at_ms)),
        (None, Some(at_ms)) => format!("until {}", moment(at_ms)),
        (None, None) => "valid".to_owned(),
    };
    let roles: Vec<&str> = token.roles.iter().map(|role| role.name()).collect();
    let names =
        if token.names.is_empty() { String::new() } else { format!("; also {}", token.names.join(", ")) };
    vec![token.token_id.clone(), token.principal.clone(), state, format!("{}{names}", roles.join(", "))]
}

pub(crate) fn keys(args: &Keys, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        KeysCommand::Rotate(args) => {
            let gateway = Gateway::open(&args.connect, Purpose::Write, json)?;
            let key: KeyStatus = gateway.send("POST", "/v1/keys/rotate", None::<&()>)?;
            let KeyStatus { key_id, public_key, retired_at_ms, .. } = key;
            show_keys(&gateway, &[Jwk { kid: key_id, x: public_key, retired_at_ms }], json)
        }
        KeysCommand::List(args) => {
            let gateway = Gateway::open(&args.connect, Purpose::Look, json)?;
            let jwks: Jwks = gateway.get("/.well-known/jwks.json")?;
            show_keys(&gateway, &jwks.keys, json)
        }
    }
}

fn show_keys(gateway: &Gateway, keys: &[Jwk], json: bool) -> Result<Outcome, Failure> {
    let origin = gateway.get::<GateStatus>("/v1/gate")?.origin;
    let mut page = Page::default();
    for Jwk { kid: id, x: public, retired_at_ms } in keys {
        let verifier = note_verifier(&origin, public).map(|verifier| verifier.to_string());
        if json {
            let mut key = json!({"key_id": id, "public_key": public, "verifier": verifier});
            if let (Some(retired_at_ms), Some(members)) = (retired_at_ms, key.as_object_mut()) {
                members.insert("retired_at_ms".to_owned(), json!(retired_at_ms));
            }
            print_json(&key)?;
            continue;
        }
        page.title("key", id);
        page.label("public", public);
        page.label(
            "state",
            &retired_at_ms.map_or_else(|| "signs".to_owned(), |at_ms| format!("retired {}", moment(at_ms))),
        );
        page.label("verifier", verifier.as_deref().unwrap_or("cannot be checked with this key"));
    }
    print_page(&page)?;
    Ok(Outcome::Ok)
}
