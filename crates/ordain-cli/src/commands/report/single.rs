//! The report of one action: what was proposed, who said what and saw what, under which policies, and how it went.

use super::html::{Cell, Html};
use crate::commands::{dossier, status};
use crate::exit::Failure;
use crate::gate::page::wants;
use crate::gateway::Gateway;
use crate::wording::{count, word};
use ordain_api::{ActionState, ActionStatus, Dossier, Entry, Event};
use ordain_canon::time::moment;
use ordain_spec::approval::Verdict;
use serde_json::{Value as Json, json};

pub(super) struct Single {
    status: ActionStatus,
    dossier: Dossier,
    entries: Vec<(u64, Entry)>,
}

impl Single {
    pub(super) fn read(gateway: &Gateway, id: &str) -> Result<Self, Failure> {
        let status = status::of(gateway.client(), id)?;
        let dossier = dossier::of(gateway, id)?;
        let read = |it: &ordain_api::DossierEntry| Some((it.index, serde_json::from_str(&it.entry).ok()?));
        let entries = dossier.entries.iter().filter_map(read).collect();
        Ok(Self { status, dossier, entries })
    }

    pub(super) fn json(&self) -> Json {
        let document = |(hash, text): (&String, &String)| {
            (hash.clone(), serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.clone())))
        };
        let documents: serde_json::Map<String, Json> = self.dossier.documents.iter().map(document).collect();
        let entries: Vec<Json> =
            self.entries.iter().map(|(index, entry)| json!({"index": index, "entry": entry})).collect();
        json!({"action": self.status, "entries": entries, "documents": documents,
            "checkpoint": self.dossier.checkpoint, "withheld": self.dossier.withheld})
    }

    pub(super) fn html(&self) -> String {
        let status = &self.status;
        let mut page = Html::new(&format!("Action {}", status.action_id));
        page.prose(&wants(status));
        self.summary(&mut page);
        page.section("What was proposed");
        page.verbatim(&pretty(status.view.get("proposal").unwrap_or(&Json::Null)));
        let diff = status.view.get("proposal").and_then(|it| it.pointer("/parameters/diff"));
        if let Some(diff) = diff.and_then(Json::as_str) {
            page.part("What it changes, as the proposer says");
            page.verbatim(diff);
        }
        if let Some(intent) = status.view.get("intent").and_then(Json::as_str) {
            page.part("Its purpose, in the words of the proposer");
            page.verbatim(intent);
        }
        if let Some(earlier) = status.view.get("earlier") {
            page.part("The same effect before, as approvers were told");
            page.verbatim(&pretty(earlier));
        }
        self.decision(&mut page);
        self.verdicts(&mut page);
        self.permit(&mut page);
        self.history(&mut page);
        self.policies(&mut page);
        let withheld = match self.dossier.withheld.len() {
            0 => String::new(),
            number => format!(" {number} documents are withheld from whoever made this report."),
        };
        let head = self.dossier.checkpoint.lines().take(3).collect::<Vec<_>>().join(" ");
        page.end(&format!(
            "Ledger: {head}.{withheld} `ordain dossier {}` proves what is said here.",
            status.action_id
        ))
    }

    fn summary(&self, page: &mut Html) {
        let status = &self.status;
        let mut facts = vec![
            ("State", state(status.state)),
            ("Actor", Cell::Text(status.actor.clone())),
            (
                "Submitted",
                Cell::Text(format!("{} by {}", moment(status.submitted_at_ms), status.submitted_by)),
            ),
            ("Decision", Cell::Text(status.decision.outcome.name().to_owned())),
            ("Decided", Cell::Text(moment(status.decision.decided_at_ms))),
            ("Policies", Cell::Code(status.decision.policy_hash.as_str().to_owned())),
        ];
        if let Some(path) = status.view.pointer("/project/path").and_then(Json::as_str) {
            facts.push(("Project", Cell::Code(path.to_owned())));
        }
        for (name, id) in [("Supersedes", &status.supersedes), ("Superseded by", &status.superseded_by)] {
            facts.extend(id.clone().map(|id| (name, Cell::Code(id))));
        }
        page.facts(&facts);
    }

    fn decision(&self, page: &mut Html) {
        page.section("Reasons");
        let reasons = &self.status.decision.reasons;
        if reasons.is_empty() {
            page.prose("The policies permit it without conditions.");
            return;
        }
        let row = |reason: &ordain_spec::decision::Reason| {
            vec![
                Cell::Code(reason.rule_id.clone()),
                Cell::Text(reason.message.clone()),
                Cell::Text(reason.policies.join(", ")),
            ]
        };
        page.table(&["Rule", "Why", "Policies"], &reasons.iter().map(row).collect::<Vec<_>>());
    }

    fn verdicts(&self, page: &mut Html) {
        page.section("Approvals");
        let status = &self.status;
        if status.approvals.is_empty() {
            page.prose("Nobody approved or rejected it.");
            return;
        }
        for (approval, shown) in status.approvals.iter().zip(&status.shown) {
            let verdict = match approval.verdict {
                Verdict::Approve => Cell::State("good", "approves".to_owned()),
                Verdict::Reject => Cell::State("bad", "rejects".to_owned()),
            };
            let signed = match &approval.signature {
                Some(signature) => {
                    format!(
                        "signed with the key {} ({})",
                        signature.key_id.as_str(),
                        signature.assurance.name()
                    )
                }
                None => "not signed".to_owned(),
            };
            let reach = match &approval.scope {
                Some(scope) => format!(
                    "this action, and the same call again: at most {} until {}",
                    count(scope.max_uses, "time"),
                    moment(scope.until_ms)
                ),
                None => "this action".to_owned(),
            };
            page.part(&shown.approver);
            page.facts(&[
                ("Verdict", verdict),
                ("When", Cell::Text(moment(shown.at_ms))),
                ("Covers", Cell::Text(reach)),
                ("Reason", Cell::Text(approval.reason.clone())),
                ("Signature", Cell::Text(signed)),
                ("Policies then", Cell::Code(shown.policy_hash.clone())),
                ("Entry", Cell::Number(shown.index)),
                ("Saw", Cell::Code(shown.view_digest.clone())),
            ]);
            match &shown.view {
                Some(view) => page.verbatim(&pretty(view)),
                None if shown.view_digest == status.view_digest => {
                    page.prose("This is the proposal above, with its evidence.");
                }
                None => page.prose("It can no longer be shown in full: the policies in force hide more."),
            }
        }
        let evidence = status.view.get("evidence").and_then(Json::as_array).filter(|it| !it.is_empty());
        if let Some(evidence) = evidence {
            page.section("Evidence");
            evidence.iter().for_each(|packet| page.verbatim(&pretty(packet)));
        }
    }

    fn permit(&self, page: &mut Html) {
        let Some(permit) = &self.status.permit else { return };
        page.section("Permit");
        page.facts(&[
            ("Permit", Cell::Code(permit.permit_id.clone())),
            (
                "Holds",
                Cell::Text(format!("{} to {}", moment(permit.valid_from_ms), moment(permit.valid_until_ms))),
            ),
            ("Uses", Cell::Text(format!("{} of {}", permit.used, permit.max_executions))),
        ]);
        if permit.uses.is_empty() {
            return;
        }
        let row = |it: &ordain_api::Use| {
            let settled = it.settled.as_ref();
            vec![
                Cell::Number(it.number),
                Cell::Text(it.worker.clone()),
                Cell::Text(moment(it.spent_at_ms)),
                Cell::Text(it.outcome_name().to_owned()),
                Cell::Text(settled.map(|it| format!("{}: {}", it.by, it.reason)).unwrap_or_default()),
            ]
        };
        page.table(
            &["Use", "Worker", "Spent", "Outcome", "Reported by"],
            &permit.uses.iter().map(row).collect::<Vec<_>>(),
        );
    }

    fn history(&self, page: &mut Html) {
        page.section("On the ledger");
        let row = |(index, entry): &(u64, Entry)| {
            vec![
                Cell::Number(*index),
                Cell::Text(moment(entry.at_ms)),
                Cell::Text(entry.event.name().replace('_', " ")),
                Cell::Text(entry.by.clone()),
                Cell::Text(word(&entry.how)),
            ]
        };
        let rows: Vec<Vec<Cell>> = self.entries.iter().map(row).collect();
        page.table(&["Entry", "Time", "Event", "By", "Authenticated"], &rows);
    }

    fn policies(&self, page: &mut Html) {
        for (index, entry) in &self.entries {
            let Event::PolicyChanged { policy_hash, files_document } = &entry.event else { continue };
            page.section(&format!("Policies {policy_hash}"));
            page.prose(&format!("In force since {}, entry {index}.", moment(entry.at_ms)));
            let files = self.dossier.documents.get(files_document);
            let files = files.and_then(|text| serde_json::from_str::<Json>(text).ok()).unwrap_or_default();
            for (name, text) in files.as_object().into_iter().flatten() {
                page.part(name);
                page.verbatim(text.as_str().unwrap_or_default());
            }
        }
    }
}

pub(super) fn state(state: ActionState) -> Cell {
    let class = match state {
        ActionState::Held | ActionState::Running => "wait",
        ActionState::Allowed | ActionState::Succeeded => "good",
        ActionState::Denied | ActionState::Expired | ActionState::Failed | ActionState::Unknown => "bad",
        ActionState::Superseded | ActionState::Observed => "",
    };
    Cell::State(class, state.name().to_owned())
}

fn pretty(value: &Json) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
