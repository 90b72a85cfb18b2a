//! `ordain pause`: for a while the hooks of coding agents let every call pass, and the gate only records.

use crate::arguments::Connect;
use crate::clock::{date, now_ms, parse_span, relative};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::report::{YELLOW, printable};
use crate::signing;
use clap::Args;
use ordain_api::{EndedObservation, GateStatus, NewObservation, Observation};
use ordain_client::Client;
use ordain_gate::{OBSERVE_MS_MAX, PAUSE_MS_MAX};
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain pause --for 30m --reason \"the gate holds up a release\"
  ordain pause --end

An owner of the gate signs for a pause; the ledger records it, and it ends by itself. While it lasts, the hooks of coding agents let every \
call pass, and the gate records each decision. MCP gateways and everything else ask as ever. Anybody may end a pause, or an \
observation that `ordain setup --observe` started.", exit::PLAIN))]
pub(crate) struct Pause {
    /// For how long: at most a day, such as 30m or 2h
    #[arg(long = "for", value_name = "TIME", value_parser = parse_pause, required_unless_present = "end")]
    pub(crate) span_ms: Option<u64>,
    /// Why; it goes on the ledger
    #[arg(long, value_name = "TEXT", default_value = "paused by hand")]
    pub(crate) reason: String,
    /// End the pause now; with HOOK, the observation of the hook with this id
    #[arg(long, value_name = "HOOK", num_args = 0..=1, default_missing_value = "", conflicts_with = "span_ms")]
    pub(crate) end: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// A time that the gate takes for a pause. Nobody types a passphrase for another one.
fn parse_pause(text: &str) -> Result<u64, String> {
    let span_ms = parse_span(text)?;
    if span_ms > PAUSE_MS_MAX {
        return Err("a pause lasts at most a day, such as 30m, 2h or 24h".to_owned());
    }
    Ok(span_ms)
}

/// A time that the gate takes for the observation of one hook.
pub(crate) fn parse_observe(text: &str) -> Result<u64, String> {
    let span_ms = parse_span(text)?;
    if span_ms > OBSERVE_MS_MAX {
        return Err("a hook is observed for at most 14 days, such as 12h, 3d or 14d".to_owned());
    }
    Ok(span_ms)
}

pub(crate) fn run(args: &Pause, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let client = gateway.client();
    let status = match (args.span_ms, &args.end) {
        (Some(span_ms), _) => {
            let until_ms = now_ms().saturating_add(span_ms);
            let new = NewObservation { hook: None, reason: args.reason.clone(), until_ms };
            let about = format!("The hooks of all agents let everything pass until {}.", date(until_ms));
            start(client, &new, &about)?
        }
        (None, end) => {
            let hook = end.clone().filter(|hook| !hook.is_empty());
            client.end_observation(&EndedObservation { hook })?
        }
    };
    if json {
        print_json(&status)?;
        return Ok(Outcome::Ok);
    }
    let mut stdout = anstream::stdout().lock();
    for observation in &status.observing {
        writeln!(stdout, "{YELLOW}{}{YELLOW:#}", printable(&told(observation)))?;
    }
    if status.observing.is_empty() {
        writeln!(stdout, "enforcing  no hook is paused or observed")?;
    }
    Ok(Outcome::Ok)
}

/// Starts an observation, which an owner signs. The last line above the passphrase says what it comes to.
pub(crate) fn start(client: &Client, new: &NewObservation, about: &str) -> Result<GateStatus, Failure> {
    Ok(signing::for_observation(client, new, about)?.start_observation(new)?)
}

/// How an observation is ended.
pub(crate) fn end_hint(observation: &Observation) -> String {
    match &observation.hook {
        Some(hook) => format!("run `ordain pause --end {hook}` to end it"),
        None => "run `ordain pause --end` to end it".to_owned(),
    }
}

/// An observation in one line.
pub(crate) fn told(observation: &Observation) -> String {
    let Observation { by, hook, reason, until_ms, .. } = observation;
    let left = relative(*until_ms, now_ms());
    let until = format!("until {} ({left}), by {by}: {reason}", date(*until_ms));
    match hook {
        None => format!("paused: hooks let every call pass {until}"),
        Some(hook) => format!("observed: the hook {hook} lets every call pass {until}"),
    }
}
