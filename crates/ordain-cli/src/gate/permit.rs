//! `ordain permit show|verify|use|outcome`.

use super::{Jwks, page, print_json, print_page};
use crate::args::{Permit, PermitCommand, PermitOutcome, PermitUse, PermitVerify, UseOutcome};
use crate::canon::document_failure;
use crate::clock::now_ms;
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Purpose, escaped};
use crate::input::Source;
use crate::page::Page;
use ordain_api::{OutcomeReport, PermitStatus, UseReceipt};
use ordain_canon::time::moment;
use ordain_canon::{Canonicalizer, Value};
use ordain_decision::{PublicKey, PublicKeys, verify_permit};
use ordain_spec::action::is_request;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) fn run(args: &Permit, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        PermitCommand::Show(args) => {
            let gateway = Gateway::open(&args.connect, Purpose::Look, json)?;
            show(&gateway.get(&format!("/v1/permits/{}", escaped(&args.id)))?, json)
        }
        PermitCommand::Verify(args) => verify(args, json),
        PermitCommand::Use(args) => spend(args, json),
        PermitCommand::Outcome(args) => outcome(args, json),
    }
}

fn show(permit: &PermitStatus, json: bool) -> Result<Outcome, Failure> {
    if json {
        print_json(permit)?;
    } else {
        let mut page = Page::default();
        page::permit(&mut page, permit);
        print_page(&page)?;
    }
    Ok(Outcome::Ok)
}

fn verify(args: &PermitVerify, json: bool) -> Result<Outcome, Failure> {
    let token = text_of(&args.file)?;
    let jwks: Jwks = match &args.jwks {
        Some(path) => {
            let text = Source::of(path).text()?;
            serde_json::from_slice(&text.json).map_err(|error| Failure::Document {
                path: path.display().to_string(),
                problem: format!("is no JWK set: {error}"),
            })?
        }
        None => Gateway::open(&args.connect, Purpose::Look, json)?.get("/.well-known/jwks.json")?,
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

fn text_of(path: &Path) -> Result<String, Failure> {
    let bytes = Source::of(path).bytes()?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::Document { path: path.display().to_string(), problem: "is no text".to_owned() })
}

fn spend(args: &PermitUse, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide, json)?;
    let path = format!("/v1/permits/{}", escaped(&args.id));
    let token = match &args.permit {
        Some(file) => text_of(file)?.trim().to_owned(),
        None => {
            let permit: PermitStatus = gateway.get(&path)?;
            permit.token.ok_or_else(|| {
                Failure::Server(
                    "this token may not see the permit's text; name a file with --permit".to_owned(),
                )
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
    let spent: UseReceipt = super::read(&gateway.raw("POST", &format!("{path}/use"), Some(body))?.body)?;
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

fn outcome(args: &PermitOutcome, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write, json)?;
    let report = OutcomeReport {
        number: args.number,
        outcome: match args.outcome {
            UseOutcome::Succeeded => ordain_api::UseOutcome::Succeeded,
            UseOutcome::Failed => ordain_api::UseOutcome::Failed,
            UseOutcome::Unknown => ordain_api::UseOutcome::Unknown,
        },
        affected_records: args.records,
        duration_ms: args.duration,
        reason: args.reason.clone(),
        change: None,
    };
    show(&gateway.post(&format!("/v1/permits/{}/outcome", escaped(&args.id)), &report)?, json)
}
