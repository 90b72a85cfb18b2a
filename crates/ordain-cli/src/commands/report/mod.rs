//! `ordain report`.

mod html;
mod period;
mod single;

use crate::arguments::{Connect, Selection};
use crate::clock::parse_past;
use crate::document::write_file;
use crate::exit::{self, Failure, Outcome};
use crate::gate::ids;
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::report::GREEN;
use crate::wording::shell_word;
use clap::Args;
use ordain_client::Client;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain report push-1 -o push-1.html
  ordain report --from 2026-01-01 --to 2026-04-01 -o quarter.html
  ordain report --from 7d --json

The report is one HTML page without scripts, to read, print or mail; `--json` gives the same content to programs. It shows what the \
gate says; `ordain dossier` proves it.", exit::PLAIN))]
pub(crate) struct Report {
    /// The action, or the beginning of its id
    #[arg(value_name = "ACTION", conflicts_with_all = ["from", "to"])]
    pub(crate) id: Option<String>,
    /// Actions submitted at this time or later: a date, a time with its zone, or how long ago, such as 7d
    #[arg(long, value_name = "TIME", value_parser = parse_past)]
    pub(crate) from: Option<u64>,
    /// Actions submitted before this time [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_past, requires = "from")]
    pub(crate) to: Option<u64>,
    /// Write the page to this file [default: standard output, unless that is a terminal]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Report, json: bool) -> Result<Outcome, Failure> {
    if args.id.is_none() && args.from.is_none() {
        let failure = Failure::Usage("name an action, or a time with `--from`".to_owned());
        return Err(failure.with_hint(
            "run `ordain status` to see the actions, or run `ordain report --from 7d -o week.html` for a week",
        ));
    }
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let id = args.id.as_ref().map(|id| ids::action_id(gateway.client(), id)).transpose()?;
    if args.output.is_none() && !json && std::io::stdout().is_terminal() {
        return Err(not_here(gateway.client(), id.as_deref()));
    }
    let (content, page) = match id {
        Some(id) => {
            let single = single::Single::read(&gateway, &id)?;
            (single.json(), single.html())
        }
        None => {
            let selection = Selection { since: args.from, until: args.to, ..Selection::default() };
            let period = period::Period::read(gateway.client(), &selection)?;
            (period.json(), period.html())
        }
    };
    match &args.output {
        Some(path) => {
            let name = path.display().to_string();
            let text = if json { format!("{content}\n") } else { page };
            write_file(path, text.as_bytes()).map_err(|error| Failure::File { path: name.clone(), error })?;
            if json {
                print_json(&json!({"report": name}))?;
            } else {
                writeln!(anstream::stdout(), "{GREEN}written{GREEN:#}  {name}")?;
            }
        }
        None if json => print_json(&content)?,
        None => std::io::stdout().lock().write_all(page.as_bytes())?,
    }
    Ok(Outcome::Ok)
}

/// A terminal shows no HTML.
fn not_here(client: &Client, id: Option<&str>) -> Failure {
    let failure = Failure::Usage("the report is an HTML page, and standard output is a terminal".to_owned());
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|it| shell_word(&it.to_string_lossy())).collect();
    let output = match id {
        Some(id) => format!("{}.html", ids::short(client, id)),
        None => "report.html".to_owned(),
    };
    let command = format!("ordain {} -o {}", words.join(" "), shell_word(&output));
    failure.with_hint(format!("run `{command}`"))
}
