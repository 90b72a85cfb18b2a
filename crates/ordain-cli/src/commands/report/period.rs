//! The report of a time: what was asked and decided, by whom, under which policies.

use super::html::{Cell, Html};
use super::single::state;
use crate::arguments::Selection;
use crate::clock::now_ms;
use crate::commands::status::each_action;
use crate::exit::Failure;
use crate::wording::{count, word};
use ordain_api::ActionStatus;
use ordain_canon::time::moment;
use ordain_client::Client;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

pub(super) struct Period {
    from_ms: u64,
    to_ms: u64,
    actions: Vec<Row>,
}

/// One action, without its documents: there may be many.
struct Row {
    status: ActionStatus,
    action_type: String,
    target: String,
}

impl Period {
    pub(super) fn read(client: &Client, selection: &Selection) -> Result<Self, Failure> {
        let mut actions = Vec::new();
        each_action(client, selection, u64::MAX, |status| {
            let text = |pointer: &str| {
                let found =
                    status.view.get("proposal").and_then(|it| it.pointer(pointer)).and_then(Json::as_str);
                found.unwrap_or_default().to_owned()
            };
            let (action_type, target) = (text("/action_type"), text("/target/resource_id"));
            actions.push(Row { status, action_type, target });
            Ok(())
        })?;
        let (from_ms, to_ms) = (selection.since.unwrap_or(0), selection.until.unwrap_or_else(now_ms));
        Ok(Self { from_ms, to_ms, actions })
    }

    /// How many actions there are for each of these words.
    fn counts(&self, words: impl Fn(&Row) -> Vec<String>) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for word in self.actions.iter().flat_map(words) {
            *counts.entry(word).or_default() += 1;
        }
        counts
    }

    fn all_counts(&self) -> [(&'static str, BTreeMap<String, u64>); 6] {
        [
            ("state", self.counts(|row| vec![row.status.state.name().to_owned()])),
            ("outcome", self.counts(|row| vec![row.status.decision.outcome.name().to_owned()])),
            ("actor", self.counts(|row| vec![row.status.actor.clone()])),
            ("action", self.counts(|row| vec![row.action_type.clone()])),
            ("approver", self.counts(|row| verdicts(&row.status).into_iter().map(|(who, _)| who).collect())),
            ("policy", self.counts(|row| vec![row.status.decision.policy_hash.as_str().to_owned()])),
        ]
    }

    pub(super) fn json(&self) -> Json {
        let row = |row: &Row| {
            let status = &row.status;
            let verdicts: Vec<Json> = status
                .approvals
                .iter()
                .map(|it| json!({"approver": it.approver, "verdict": it.verdict, "reason": it.reason, "at_ms": it.at_ms}))
                .collect();
            json!({"action_id": status.action_id, "state": status.state, "actor": status.actor,
                "submitted_at_ms": status.submitted_at_ms, "submitted_index": status.submitted_index,
                "action_type": row.action_type, "target": row.target, "outcome": status.decision.outcome,
                "policy_hash": status.decision.policy_hash, "approvals": verdicts,
                "uses": status.permit.as_ref().map_or(0, |permit| permit.used)})
        };
        let counts: serde_json::Map<String, Json> =
            self.all_counts().into_iter().map(|(name, counts)| (name.to_owned(), json!(counts))).collect();
        json!({"from_ms": self.from_ms, "to_ms": self.to_ms, "counts": counts,
            "actions": self.actions.iter().map(row).collect::<Vec<_>>()})
    }

    pub(super) fn html(&self) -> String {
        let mut page = Html::new(&format!("Actions from {} to {}", moment(self.from_ms), moment(self.to_ms)));
        page.prose(&count(self.actions.len() as u64, "action"));
        for (name, counts) in self.all_counts() {
            if counts.is_empty() {
                continue;
            }
            page.section(&format!("By {name}"));
            let rows: Vec<Vec<Cell>> = counts
                .into_iter()
                .map(|(word, number)| {
                    let word = if name == "policy" { Cell::Code(word) } else { Cell::Text(word) };
                    vec![word, Cell::Number(number)]
                })
                .collect();
            page.table(&[name, "actions"], &rows);
        }
        page.section("All of them");
        let row = |row: &Row| {
            let status = &row.status;
            let said: Vec<String> =
                verdicts(status).into_iter().map(|(who, what)| format!("{who} {what}")).collect();
            vec![
                Cell::Text(moment(status.submitted_at_ms)),
                state(status.state),
                Cell::Code(status.action_id.clone()),
                Cell::Text(format!("{}: {} {}", status.actor, row.action_type, row.target)),
                Cell::Text(said.join(", ")),
            ]
        };
        let rows: Vec<Vec<Cell>> = self.actions.iter().map(row).collect();
        page.table(&["Submitted", "State", "Action", "What", "Approvals"], &rows);
        page.end(
            "`ordain report ACTION` tells more about one of them, and `ordain dossier ACTION` proves it.",
        )
    }
}

/// The approvers and their verdicts.
fn verdicts(status: &ActionStatus) -> Vec<(String, String)> {
    let said = status.approvals.iter();
    said.map(|it| (it.approver.as_str().to_owned(), format!("{}s", word(&it.verdict)))).collect()
}
