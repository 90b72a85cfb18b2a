//! `ordain ledger show`.

use super::{OtherGate, PAGE_MAX};
use crate::arguments::{Connect, Selection};
use crate::clock::{date, when};
use crate::commands::status::each_action;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::Purpose;
use crate::output::{print_json, print_page};
use crate::page::{Column, Page};
use crate::wording::short_hash;
use clap::Args;
use ordain_api::limits::WHOLE_MAX;
use ordain_api::{EntriesQuery, LedgerEntry};
use ordain_client::Client;
use serde::Serialize;
use serde_json::Value as Json;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain ledger show
  ordain ledger show 17 --limit 1
  ordain ledger show --since 2h
  ordain ledger show --actor agent-7 --action execute", exit::PLAIN))]
pub(crate) struct LedgerShow {
    /// The first entry, in their order; without it the newest come first
    #[arg(value_name = "INDEX")]
    pub(crate) from: Option<u64>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u64,
    /// The entries of the actions that are selected
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) other: OtherGate,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerShow, json: bool) -> Result<Outcome, Failure> {
    let gateway = args.other.open(&args.connect, Purpose::Look)?;
    let Selection { since, until, .. } = args.selection;
    let client = gateway.client();
    let (entries, size) = match args.from {
        Some(_) if args.selection.names_actions() || since.is_some() || until.is_some() => {
            return Err(Failure::Usage("an INDEX and filters do not go together".to_owned()));
        }
        Some(from) => from_index(client, from, args.limit)?,
        None if args.selection.names_actions() => (of_actions(client, args)?, 0),
        None => {
            let query = EntriesQuery { since_ms: since, until_ms: until, ..EntriesQuery::default() };
            newest(client, query, args.limit)?
        }
    };
    if json {
        entries.iter().try_for_each(print_json)?;
        return Ok(Outcome::Ok);
    }
    if entries.is_empty() {
        match args.from {
            Some(from) => {
                writeln!(anstream::stdout(), "there are no entries from {from} on; the ledger has {size}")?;
            }
            None => writeln!(anstream::stdout(), "there are no such entries")?,
        }
        return Ok(Outcome::Ok);
    }
    let row = |it: &LedgerEntry| {
        vec![
            it.index.to_string(),
            when(it.entry.at_ms),
            it.entry.by.clone(),
            it.entry.event.name().to_owned(),
            details(&it.entry.event),
        ]
    };
    let mut page = Page::default();
    let columns = [
        Column::Right("entry"),
        Column::Spare("time"),
        Column::Spare("by"),
        Column::Left("event"),
        Column::Left(""),
    ];
    page.table(&columns, entries.iter().map(row), |_, _, _| {});
    print_page(&page)?;
    Ok(Outcome::Ok)
}

/// The members of an event in one line. Hashes are shortened, times are dates, and `--json` has everything.
fn details(event: &impl Serialize) -> String {
    let event = serde_json::to_value(event).unwrap_or_default();
    let is_shown = |name: &str| name != "kind" && name != "public_key" && !name.ends_with("_document");
    let members = event.as_object().into_iter().flatten().filter(|(name, _)| is_shown(name));
    let parts = members.map(|(name, value)| {
        let text = match value {
            Json::String(text) if text.starts_with("sha256:") => short_hash(text),
            Json::String(text) => text.clone(),
            Json::Number(number) if name.ends_with("_ms") => number.as_u64().map_or_else(String::new, date),
            Json::Object(members) => {
                members.get("path").and_then(Json::as_str).map_or_else(|| value.to_string(), str::to_owned)
            }
            other => other.to_string(),
        };
        format!("{} {text}", name.trim_end_matches("_ms"))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Entries from a place on, and the size of the ledger.
fn from_index(client: &Client, from: u64, limit: u64) -> Result<(Vec<LedgerEntry>, u64), Failure> {
    let mut entries: Vec<LedgerEntry> = Vec::new();
    loop {
        let next = from + entries.len() as u64;
        let left = (limit.saturating_sub(entries.len() as u64)).clamp(1, PAGE_MAX);
        let query = EntriesQuery { from: Some(next), limit: Some(left), ..EntriesQuery::default() };
        let page = client.entries(&query)?;
        let is_last = page.entries.is_empty();
        entries.extend(page.entries);
        if is_last || entries.len() as u64 >= limit {
            entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            return Ok((entries, page.size));
        }
    }
}

/// The newest entries that a query selects, and the size of the ledger.
fn newest(client: &Client, query: EntriesQuery, limit: u64) -> Result<(Vec<LedgerEntry>, u64), Failure> {
    let mut entries: Vec<LedgerEntry> = Vec::new();
    let mut query = EntriesQuery { before: Some(WHOLE_MAX), ..query };
    loop {
        query.limit = Some(limit.saturating_sub(entries.len() as u64).clamp(1, PAGE_MAX));
        let page = client.entries(&query)?;
        entries.extend(page.entries);
        match page.next {
            Some(next) if (entries.len() as u64) < limit => query.before = Some(next),
            _ => {
                entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                return Ok((entries, page.size));
            }
        }
    }
}

/// The entries of the actions that are selected: the newest action first, and of each the newest entry.
fn of_actions(client: &Client, args: &LedgerShow) -> Result<Vec<LedgerEntry>, Failure> {
    let mut entries: Vec<LedgerEntry> = Vec::new();
    each_action(client, &args.selection, args.limit, |action| {
        let left = args.limit.saturating_sub(entries.len() as u64);
        if left > 0 {
            let query = EntriesQuery { action_id: Some(action.action_id), ..EntriesQuery::default() };
            entries.extend(newest(client, query, left)?.0);
        }
        Ok(())
    })?;
    Ok(entries)
}
