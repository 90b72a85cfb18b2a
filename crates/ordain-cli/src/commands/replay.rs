//! `ordain replay`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::page;
use crate::gateway::Purpose;
use crate::output::{print_json, print_page};
use crate::page::{Column, Page};
use crate::policy_folder;
use crate::progress::Progress;
use crate::report::{GREEN, YELLOW};
use crate::wording::count;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain replay
  ordain replay --policy stricter/", &[
    Outcome::Ok.means("every decision is the same"),
    Outcome::Failed.means("a decision differs, or could not be replayed"),
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
    let local = super::ledger::local(&args.connect, Purpose::Look)?;
    let mut progress = Progress::new("entries", None);
    let mut before = 0;
    let step = |done: u64, _: u64| {
        progress.add(usize::try_from(done - before).unwrap_or_default());
        before = done;
    };
    let replay = local.runtime.block_on(ordain_gate::replay(local.app.gate(), other, step))?;
    drop(progress);
    let same = replay.flips.is_empty() && replay.not_replayed.is_empty();
    if json {
        print_json(&replay)?;
    } else {
        show(&replay, with_others)?;
    }
    Ok(if same { Outcome::Ok } else { Outcome::Failed })
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
    print_page(&page)
}
