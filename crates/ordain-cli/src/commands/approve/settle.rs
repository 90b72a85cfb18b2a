//! `ordain approve`, about uses whose outcome nobody knows: they happened, they did not, or nobody can tell.

use super::signing_key;
use crate::clock::now_ms;
use crate::exit::{Failure, Outcome};
use crate::gate::deciding::{self, Ask};
use crate::gate::screen::{Screen, SigningKey};
use crate::gate::settling::{self, Told, UnknownUse};
use crate::output::print_json;
use crate::report::{GREEN, RED, YELLOW, printable};
use crate::signing::{self, Signer};
use anstyle::Style;
use ordain_api::{ActionStatus, OutcomeReport, OwnerAct, PermitStatus, Settlement, UseOutcome};
use ordain_client::Client;
use ordain_presence::Terminal;
use ordain_spec::statement::{Signed, Statement};
use serde_json::json;
use std::io::Write;
use std::time::Instant;

/// The key signs after its passphrase was typed, however it was unlocked.
const TAKES: &str = "the answer takes its passphrase";

/// The uses that this person can settle: an owner those of everybody, and on an open gate whoever operates it.
pub(crate) fn waiting(client: &Client, signer: Option<&Signer>) -> Result<Vec<UnknownUse>, Failure> {
    let may = match signer {
        Some(signer) => signer.is_owner(),
        None => !client.approver_keys()?.owned,
    };
    if may { UnknownUse::find(client, now_ms()) } else { Ok(Vec::new()) }
}

/// Asks about each of them, and records the answers. One passphrase signs them all.
pub(super) fn all(
    client: &Client,
    signer: Option<&Signer>,
    unknown: &[UnknownUse],
    json: bool,
) -> Result<(Outcome, bool), Failure> {
    let mut terminal = Terminal::open().map_err(signing::terminal_failure)?;
    let mut told = Vec::new();
    let mut worst = Outcome::Ok;
    let mut goes_on = true;
    for (at, unknown_use) in unknown.iter().enumerate() {
        let screen = screen(unknown_use, signer).numbered(at + 1, unknown.len());
        match settling::ask(&mut terminal, &screen, &mut deciding::patiently)? {
            Told::Outcome(outcome) => told.push((unknown_use, outcome)),
            Told::Skip => worst = Outcome::Unknown,
            Told::Leave => {
                worst = Outcome::Unknown;
                goes_on = false;
                break;
            }
        }
    }
    drop(terminal);
    Ok((worst.max(record(client, signer, &told, json)?), goes_on))
}

/// Asks about one action.
pub(super) fn one(client: &Client, shown: &ActionStatus, json: bool) -> Result<Outcome, Failure> {
    if !signing::on_terminal() {
        let failure = Failure::Usage("standard input is not a terminal".to_owned());
        return Err(failure.with_hint("run the same command on a terminal"));
    }
    let signer = Signer::find(client)?;
    let unknown = UnknownUse::all_of(shown, now_ms());
    all(client, signer.as_ref(), &unknown, json).map(|(outcome, _)| outcome)
}

/// Asks about one use on a terminal that is open already, and records the answer; nothing if there was none.
pub(crate) fn watched(
    client: &Client,
    signer: &Signer,
    unknown: &UnknownUse,
    terminal: &mut Terminal,
    ask: Ask<'_>,
) -> Result<Option<UseOutcome>, Failure> {
    match settling::ask(terminal, &screen(unknown, Some(signer)), ask)? {
        Told::Outcome(outcome) => {
            let signed = sign(client, Some(signer), &[(unknown, outcome)])?.pop().flatten();
            settle(client, unknown, outcome, signed)?;
            Ok(Some(outcome))
        }
        Told::Skip | Told::Leave => Ok(None),
    }
}

fn screen(unknown: &UnknownUse, signer: Option<&Signer>) -> Screen {
    let key: SigningKey = signing_key(signer, TAKES);
    unknown.screen(&key, now_ms())
}

fn record(
    client: &Client,
    signer: Option<&Signer>,
    told: &[(&UnknownUse, UseOutcome)],
    json: bool,
) -> Result<Outcome, Failure> {
    if told.is_empty() {
        return Ok(Outcome::Ok);
    }
    let mut worst = Outcome::Ok;
    for ((unknown, outcome), signed) in told.iter().zip(sign(client, signer, told)?) {
        let done = settle(client, unknown, *outcome, signed);
        worst = worst.max(match &done {
            Err(failure) => failure.outcome(),
            Ok(_) if *outcome == UseOutcome::Unknown => Outcome::Unknown,
            Ok(_) => Outcome::Ok,
        });
        tell(unknown, *outcome, &done, json)?;
    }
    Ok(worst)
}

/// A statement about each, signed with one passphrase; none on an open gate.
fn sign(
    client: &Client,
    signer: Option<&Signer>,
    told: &[(&UnknownUse, UseOutcome)],
) -> Result<Vec<Option<Signed>>, Failure> {
    let Some(signer) = signer else { return Ok(vec![None; told.len()]) };
    let started = Instant::now();
    let terms = client.act_terms(OwnerAct::SettleOutcome)?;
    let statement = |(unknown, outcome): &(&UnknownUse, UseOutcome)| {
        let (permit_id, number) = (unknown.permit_id.as_str(), unknown.used.number);
        let subject = Settlement { outcome: *outcome, permit_id, number }.subject();
        Statement::Act(terms.statement(signer.principal(), &subject, signing::elapsed_ms(started)))
    };
    let statements: Vec<Statement> = told.iter().map(statement).collect();
    let about: Vec<String> = told.iter().map(|(unknown, outcome)| unknown.about(*outcome)).collect();
    Ok(signer.sign(&statements, &about)?.into_iter().map(Some).collect())
}

fn settle(
    client: &Client,
    unknown: &UnknownUse,
    outcome: UseOutcome,
    signed: Option<Signed>,
) -> Result<PermitStatus, Failure> {
    let report = OutcomeReport {
        number: unknown.used.number,
        outcome,
        affected_records: None,
        duration_ms: None,
        reason: String::new(),
        change: None,
    };
    let signed: Vec<Signed> = signed.into_iter().collect();
    Ok(client.with_statements(&signed).report_outcome(&unknown.permit_id, &report)?)
}

fn tell(
    unknown: &UnknownUse,
    outcome: UseOutcome,
    done: &Result<PermitStatus, Failure>,
    json: bool,
) -> Result<(), Failure> {
    let (id, number) = (&unknown.status.action_id, unknown.used.number);
    if json {
        return match done {
            Ok(_) => print_json(&json!({"action_id": id, "outcome": outcome.name(), "use": number})),
            Err(failure) => print_json(&json!({"action_id": id, "error": failure.text(), "use": number})),
        };
    }
    let (style, word, text): (Style, _, String) = match (done, outcome) {
        (Err(failure), _) => (RED, "failed", failure.text()),
        (Ok(_), UseOutcome::Unknown) => (YELLOW, "unknown", unknown.follows(outcome).to_owned()),
        (Ok(_), UseOutcome::Succeeded) => (GREEN, "happened", unknown.follows(outcome).to_owned()),
        (Ok(_), UseOutcome::Failed) => (GREEN, "did not", unknown.follows(outcome).to_owned()),
    };
    writeln!(anstream::stdout(), "{style}{word:<8}{style:#}  {}: {}", printable(id), printable(&text))?;
    Ok(())
}
