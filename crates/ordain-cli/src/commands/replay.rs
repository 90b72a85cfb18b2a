//! `ordain replay`.

use super::ledger::foreign::{Documents, ForeignPage};
use super::ledger::{PAGE_MAX, document};
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::page;
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::{Column, Page};
use crate::policy_folder;
use crate::progress::Progress;
use crate::report::{GREEN, YELLOW};
use crate::wording::count;
use clap::Args;
use ordain_canon::ContentHash;
use ordain_client::Client;
use ordain_decision::PolicySet;
use ordain_gate::Replayer;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain replay
  ordain replay --policy stricter/
  ordain replay --server https://gate.example

With --server an auditor's token reads the entries and documents, and the decisions are made here. Each document is checked by its hash; \
`ordain ledger verify --server` checks that the entries are those that were signed. Decisions about proposals with values that the \
policies hide can be replayed only where the store is.", &[
    Outcome::Ok.means("every decision is the same"),
    Outcome::Failed.means("a decision or the effects of a use differ, or could not be replayed"),
    Outcome::NoResult.means("nothing could be replayed"),
]))]
pub(crate) struct Replay {
    /// Decide by these policies instead, and list what would change
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Replay, json: bool) -> Result<Outcome, Failure> {
    replayed(args, json).map_err(super::ledger::no_result)
}

fn replayed(args: &Replay, json: bool) -> Result<Outcome, Failure> {
    let other = match &args.policy {
        Some(path) => Some(policy_folder::load(Some(path), json)?.1),
        None => None,
    };
    let with_others = other.is_some();
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let mut progress = Progress::new("entries", None);
    let mut before = 0;
    let step = |done: u64, _: u64| {
        progress.add(usize::try_from(done - before).unwrap_or_default());
        before = done;
    };
    let replay = if gateway.server().is_some() {
        replay_server(gateway.client(), other, step)?
    } else {
        let Some(local) = gateway.into_local() else { return Err(Failure::Usage("no store".to_owned())) };
        local.runtime.block_on(ordain_gate::replay(local.app.gate(), other, step))?
    };
    drop(progress);
    let same = replay.flips.is_empty() && replay.not_replayed.is_empty() && replay.other_effects.is_empty();
    if json {
        print_json(&replay)?;
    } else {
        show(&replay, with_others)?;
    }
    Ok(if same { Outcome::Ok } else { Outcome::Failed })
}

/// Documents that are kept for entries to come.
const DOCUMENTS_KEPT: usize = 4_096;

/// Decides everything again that a server has on its ledger, from what it sends.
fn replay_server(
    client: &Client,
    other: Option<PolicySet>,
    mut step: impl FnMut(u64, u64),
) -> Result<ordain_gate::Replay, Failure> {
    let mut replayer = Replayer::new(other);
    let mut known: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut next = 0;
    loop {
        let page = ForeignPage::read(client, next, PAGE_MAX, Documents::Sent)?;
        if page.entries.is_empty() {
            return Ok(replayer.end());
        }
        if known.len() > DOCUMENTS_KEPT {
            known.clear();
        }
        for (hash, text) in page.documents {
            if ContentHash::of(text.as_bytes()).is(&hash) {
                known.insert(hash, text.into_bytes());
            }
        }
        for it in page.entries {
            if it.index != next {
                return Err(Failure::Server(format!("the server sends entry {} for entry {next}", it.index)));
            }
            next += 1;
            replayer.add(it.index, &it.entry, |hash| {
                let name = hash.to_string();
                if let Some(bytes) = known.get(&name) {
                    return Ok(bytes.clone());
                }
                let bytes = fetch(client, &name)?;
                known.insert(name, bytes.clone());
                Ok::<_, Failure>(bytes)
            });
        }
        step(next, next);
    }
}

/// One document, whole.
fn fetch(client: &Client, hash: &str) -> Result<Vec<u8>, Failure> {
    let found = client.document(hash)?.ok_or_else(|| Failure::unknown("document", hash))?;
    if found.redacted {
        let problem = format!("the policies hide values of the {} {hash}", found.kind);
        return Err(Failure::Server(problem));
    }
    document::check(&found)?;
    Ok(found.text.into_bytes())
}

fn show(replay: &ordain_gate::Replay, with_others: bool) -> Result<(), Failure> {
    let mut page = Page::default();
    page.title("replay", &count(replay.decisions, "decision"));
    let same = if with_others { "the same outcome" } else { "the same, byte for byte" };
    page.styled_label("same", GREEN, &format!("{} {same}", replay.same));
    if !replay.flips.is_empty() {
        page.styled_label("flips", YELLOW, &replay.flips.len().to_string());
        let row = |flip: &ordain_gate::Flip| {
            let reason =
                flip.reasons.first().map(|it| format!("{}: {}", it.rule_id, it.message)).unwrap_or_default();
            vec![
                flip.index.to_string(),
                flip.action_id.clone(),
                format!("{} → {}", page::name(&flip.was), page::name(&flip.would_be)),
                reason,
            ]
        };
        let columns =
            [Column::Right("entry"), Column::Left("action"), Column::Left("outcome"), Column::Left("why")];
        page.table(&columns, replay.flips.iter().map(row), |_, _, _| {});
    }
    if !replay.not_replayed.is_empty() {
        page.counted_section("Not replayed", replay.not_replayed.len());
        for it in &replay.not_replayed {
            page.item(&format!("entry {}: {}", it.index, it.problem));
        }
    }
    if !replay.other_effects.is_empty() {
        page.counted_section("Other effects on record than by its inputs", replay.other_effects.len());
        for it in &replay.other_effects {
            page.item(&format!("entry {}: `{}`", it.index, it.action_id));
        }
    }
    if !replay.derived_otherwise.is_empty() {
        page.counted_section("Effects of commands derived otherwise today", replay.derived_otherwise.len());
        for it in &replay.derived_otherwise {
            let (was, now) = (it.recorded.join(", "), it.today.join(", "));
            page.item(&format!("entry {} (version {}): recorded {was}; today {now}", it.index, it.version));
        }
    }
    print_page(&page)
}
