//! `ordain approve` without an id: everything that waits, one after the other, signed with one passphrase.

use super::{
    CLAIM, Given, TAKES_PASSPHRASE, about, rejection, scope_of, settle, signing_key, statement, status,
    submit,
};
use crate::clock::now_ms;
use crate::exit::{Failure, Outcome};
use crate::gate::deciding::{self, Answer};
use crate::gate::repeat::Reach;
use crate::gate::screen::Screen;
use crate::gate::settling::UnknownUse;
use crate::gate::{held, ids};
use crate::gateway::Gateway;
use crate::output::{print_json, print_result};
use crate::page::{PLAIN, Page};
use crate::report::{self, GREEN, RED, YELLOW, printable};
use crate::signing::{self, Signer};
use ordain_api::{ActionState, ActionStatus, VerdictRequest};
use ordain_client::Client;
use ordain_presence::Terminal;
use ordain_spec::approval::Verdict;
use ordain_spec::standing::StandingScope;
use ordain_spec::statement::{Assurance, Signed};
use serde_json::json;
use std::io::Write;
use std::time::Instant;

pub(super) fn run(gateway: &Gateway, reason: &str, json: bool) -> Result<Outcome, Failure> {
    let client = gateway.client();
    let signer = Signer::find(client)?;
    let mut waiting = held::for_approver(client, &gateway.principal())?;
    let unknown = settle::waiting(client, signer.as_ref())?;
    list(&waiting, &unknown, json)?;
    if waiting.is_empty() && unknown.is_empty() {
        return Ok(Outcome::Ok);
    }
    if !signing::on_terminal() {
        let first = waiting.first().map(|status| &status.action_id);
        let first = first.or(unknown.first().map(|used| &used.status.action_id));
        let first = first.map(|id| ids::short(client, id)).unwrap_or_default();
        let hint =
            format!("run `ordain approve` on a terminal, or run `ordain status {first}` to see the first");
        report::note("there is no terminal to ask on, so nothing was approved", Some(&hint));
        return Ok(if waiting.is_empty() { Outcome::Unknown } else { Outcome::Hold });
    }
    let mut worst = Outcome::Ok;
    if !unknown.is_empty() {
        let (settled, goes_on) = settle::all(client, signer.as_ref(), &unknown, json)?;
        worst = settled;
        if !goes_on {
            return Ok(if waiting.is_empty() { worst } else { worst.max(Outcome::Hold) });
        }
        // An approver is shown how earlier uses with the same effect went.
        waiting = held::for_approver(client, &gateway.principal())?;
    }
    // On the terminal, wherever the output goes: nobody approves what they were not shown.
    let mut terminal = Terminal::open().map_err(signing::terminal_failure)?;
    let mut chosen = Vec::new();
    for (number, status) in waiting.iter().enumerate() {
        if chosen.len() == BATCH_MAX {
            let said = format!(
                "At most {BATCH_MAX} are signed at once. The others come with the next `ordain approve`"
            );
            report::note(&said, None);
            break;
        }
        let screen = Screen::of(status, &signing_key(signer.as_ref(), TAKES_PASSPHRASE), now_ms());
        let screen = screen.numbered(number + 1, waiting.len());
        match deciding::decide(&mut terminal, &screen, &mut deciding::patiently)? {
            Answer::Approve(reach) => chosen.push((status, reach)),
            Answer::Reject(reason) => {
                let done = client.record_verdict(&status.action_id, &rejection(status, reason));
                let done = done.map_err(Failure::from);
                worst = worst.max(done.as_ref().map_or_else(Failure::outcome, submit::outcome));
                tell(status, &done, json)?;
            }
            Answer::Skip => worst = worst.max(Outcome::Hold),
            Answer::Leave => {
                worst = worst.max(Outcome::Hold);
                break;
            }
        }
    }
    drop(terminal);
    if waiting.iter().any(|status| status.needs_owner) {
        report::note(
            "nobody owns this gate, and nothing that needs a signature can be approved",
            Some(CLAIM),
        );
    }
    if chosen.is_empty() {
        return Ok(worst);
    }
    Ok(worst.max(approve(client, &chosen, reason, json)?))
}

/// As many as fit on one screen, above the passphrase.
const BATCH_MAX: usize = 15;

fn list(waiting: &[ActionStatus], unknown: &[UnknownUse], json: bool) -> Result<(), Failure> {
    if json {
        let listed: Vec<_> = waiting.iter().map(held::HeldAction::of).collect();
        let unknown: Vec<_> = unknown.iter().map(UnknownUse::json).collect();
        return print_json(&json!({"held": listed, "unknown": unknown}));
    }
    let mut page = Page::default();
    if waiting.is_empty() && unknown.is_empty() {
        page.prose("", "", PLAIN, "nothing waits for your approval");
    } else {
        held::numbered(&mut page, unknown, waiting);
    }
    print_result(&page)
}

/// An action that was chosen: its signed statement, where there is one, or why it cannot be approved now.
struct Prepared<'a> {
    shown: &'a ActionStatus,
    signed: Result<Option<Signed>, Failure>,
    scope: Option<StandingScope>,
}

/// Approves each by itself. If one fails, the others are still approved.
fn approve(
    client: &Client,
    chosen: &[(&ActionStatus, Reach)],
    reason: &str,
    json: bool,
) -> Result<Outcome, Failure> {
    let mut worst = Outcome::Ok;
    for Prepared { shown, signed, scope } in sign(client, chosen, reason)? {
        let done = signed.and_then(|signed| {
            let (reason, view_digest) = (reason.to_owned(), shown.view_digest.clone());
            let verdict = VerdictRequest { verdict: Verdict::Approve, reason, view_digest, signed, scope };
            client.record_verdict(&shown.action_id, &verdict).map_err(|error| super::refused(client, error))
        });
        worst = worst.max(done.as_ref().map_or_else(Failure::outcome, submit::outcome));
        tell(shown, &done, json)?;
    }
    Ok(worst)
}

/// Signs all of them with one passphrase, each with the terms of now.
fn sign<'a>(
    client: &Client,
    chosen: &[(&'a ActionStatus, Reach)],
    reason: &str,
) -> Result<Vec<Prepared<'a>>, Failure> {
    let unsigned = |(shown, _): &(&'a ActionStatus, Reach)| Prepared { shown, signed: Ok(None), scope: None };
    let Some(signer) = Signer::find(client)? else { return Ok(chosen.iter().map(unsigned).collect()) };
    let started = Instant::now();
    let mut statements = Vec::new();
    let mut lines = Vec::new();
    let mut prepared: Vec<Prepared<'a>> = Vec::new();
    for (shown, reach) in chosen {
        let now = fresh(client, shown).and_then(|now| Ok((scope_of(&now, *reach)?, now)));
        let mut granted = None;
        if let Ok((scope, now)) = &now
            && let Some(terms) = &now.signing
        {
            let given = Given {
                verdict: Verdict::Approve,
                reason,
                assurance: Assurance::Presence,
                session: None,
                scope: scope.as_ref(),
            };
            statements.push(statement(&signer, now, terms, given, started)?);
            lines.push(about(Verdict::Approve, now, scope.as_ref()));
            granted.clone_from(scope);
        }
        prepared.push(Prepared { shown, signed: now.map(|_| None), scope: granted });
    }
    if statements.is_empty() {
        return Ok(prepared);
    }
    let mut made = signer.sign(&statements, &lines)?.into_iter();
    for Prepared { shown, signed, .. } in &mut prepared {
        if let Ok(place) = signed
            && shown.signing.is_some()
        {
            *place = made.next();
        }
    }
    Ok(prepared)
}

/// The action as it is now, if that is what was shown.
fn fresh(client: &Client, shown: &ActionStatus) -> Result<ActionStatus, Failure> {
    let now = status::of(client, &shown.action_id)?;
    let same = now.state == ActionState::Held
        && now.view_digest == shown.view_digest
        && now.signing.is_some() == shown.signing.is_some();
    if same {
        return Ok(now);
    }
    let problem = format!("`{}` changed since it was shown", shown.action_id);
    Err(Failure::Server(problem).with_hint("look at it again"))
}

fn tell(shown: &ActionStatus, done: &Result<ActionStatus, Failure>, json: bool) -> Result<(), Failure> {
    let id = &shown.action_id;
    if json {
        return match done {
            Ok(status) => print_json(&json!({"action_id": id, "state": status.state.name()})),
            Err(failure) => print_json(&json!({"action_id": id, "error": failure.text()})),
        };
    }
    let (style, word, text) = match done {
        Ok(status) if status.state == ActionState::Held => {
            (YELLOW, "held", "more approvals are missing".to_owned())
        }
        Ok(status) => (GREEN, status.state.name(), String::new()),
        Err(failure) => (RED, "failed", failure.text()),
    };
    // It is harmless already, and has lines of its own.
    let text = if text.is_empty() { text } else { format!(": {text}") };
    writeln!(anstream::stdout(), "{style}{word:<8}{style:#}  {}{text}", printable(id))?;
    if let Err(failure) = done {
        report::write_hint(&mut anstream::stderr().lock(), failure.hint())?;
    }
    Ok(())
}
