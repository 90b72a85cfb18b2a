//! `ordain ledger show`.

use super::PAGE_MAX;
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::{Column, Page};
use clap::Args;
use ordain_api::{EntriesQuery, LedgerEntry};
use ordain_canon::time::moment;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct LedgerShow {
    /// The first entry; without it the last ones
    #[arg(value_name = "INDEX")]
    pub(crate) from: Option<u64>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerShow, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let size = gateway.client().entries(&EntriesQuery { from: None, limit: Some(1) })?.size;
    let from = args.from.unwrap_or_else(|| size.saturating_sub(args.limit));
    let mut entries: Vec<LedgerEntry> = Vec::new();
    while (entries.len() as u64) < args.limit {
        let next = from + entries.len() as u64;
        let limit = (args.limit - entries.len() as u64).clamp(1, PAGE_MAX);
        let page = gateway.client().entries(&EntriesQuery { from: Some(next), limit: Some(limit) })?;
        if page.entries.is_empty() {
            break;
        }
        entries.extend(page.entries);
    }
    if json {
        entries.iter().try_for_each(print_json)?;
        return Ok(Outcome::Ok);
    }
    if entries.is_empty() {
        writeln!(anstream::stdout(), "there are no entries from {from} on; the ledger has {size}")?;
        return Ok(Outcome::Ok);
    }
    let row = |it: &LedgerEntry| {
        let event = serde_json::to_value(&it.entry.event).unwrap_or_default();
        let details = event.as_object().map(|members| {
            let plain = members.iter().filter(|(name, _)| *name != "kind" && !name.ends_with("_document"));
            plain
                .map(|(name, value)| {
                    format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
                .collect::<Vec<_>>()
                .join(", ")
        });
        vec![
            it.index.to_string(),
            moment(it.entry.at_ms),
            it.entry.by.clone(),
            it.entry.event.name().to_owned(),
            details.unwrap_or_default(),
        ]
    };
    let mut page = Page::default();
    let columns = [
        Column::Right("entry"),
        Column::Left("time"),
        Column::Left("by"),
        Column::Left("event"),
        Column::Left(""),
    ];
    page.table(&columns, entries.iter().map(row), |_, _, _| {});
    print_page(&page)?;
    Ok(Outcome::Ok)
}
