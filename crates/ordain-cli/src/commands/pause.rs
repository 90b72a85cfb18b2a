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
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span, required_unless_present = "end")]
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
