//! Asking a person whether something happened that nobody knows about, and telling what follows from each answer.

use super::deciding::{self, Ask};
use super::held;
use super::screen::{Fact, Screen, SigningKey, key_fact, risk_and_project};
use super::summary::deed;
use crate::clock::{date, relative};
use crate::exit::Failure;
use crate::report::YELLOW;
use anstyle::Style;
use ordain_api::{ActionState, ActionStatus, Use, UseOutcome};
use ordain_client::Client;
use ordain_presence::Terminal;
use serde_json::{Value as Json, json};

/// A use of a permit whose outcome nobody knows, with its action.
#[derive(Clone, Debug)]
pub(crate) struct UnknownUse {
    pub(crate) status: ActionStatus,
    pub(crate) permit_id: String,
    pub(crate) used: Use,
    /// Whether the same effect is refused until somebody knows.
    locks: bool,
}

/// The answer of a person.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// How it went, as far as anybody knows.
    Outcome(UseOutcome),
    Skip,
    /// Nothing more is to be asked.
    Leave,
}

/// The question below the screen.
pub(crate) const PROMPT: &str = "[h]appened [d]id not [c]annot tell [v]iew all [s]kip [q]uit: ";

impl UnknownUse {
    /// The uses of an action that are unknown at this time.
    pub(crate) fn all_of(status: &ActionStatus, now_ms: u64) -> Vec<Self> {
        let Some(permit) = status.permit.as_ref().filter(|_| status.state == ActionState::Unknown) else {
            return Vec::new();
        };
        let unknown = permit.uses.iter().filter(|used| used.is_unknown(now_ms));
        let of = |used: &Use| Self {
            status: status.clone(),
            permit_id: permit.permit_id.clone(),
            used: used.clone(),
            locks: permit.locks.contains(&used.number),
        };
        unknown.map(of).collect()
    }

    /// Every such use that the caller sees, the oldest first.
    pub(crate) fn find(client: &Client, now_ms: u64) -> Result<Vec<Self>, Failure> {
        let actions = held::all_in(client, ActionState::Unknown)?;
        let mut found: Vec<Self> = actions.iter().flat_map(|status| Self::all_of(status, now_ms)).collect();
        found.sort_by_key(|unknown| unknown.used.spent_at_ms);
        Ok(found)
    }

    /// For programs.
    pub(crate) fn json(&self) -> Json {
        json!({"action_id": self.status.action_id, "actor": self.status.actor, "locks": self.locks,
            "permit_id": self.permit_id, "spent_at_ms": self.used.spent_at_ms, "use": self.used.number,
            "wants": super::page::wants(&self.status)})
    }

    /// `agent-1: run: git push origin main, and nobody knows whether it happened`.
    pub(crate) fn in_list(&self) -> String {
        format!("{}; did it happen?", super::page::wants(&self.status))
    }

    /// The consequence of an answer.
    pub(crate) fn follows(&self, outcome: UseOutcome) -> &'static str {
        match (outcome, self.locks) {
            (UseOutcome::Succeeded, true) => {
                "it counts as done; its lock is freed: the same may be asked again"
            }
            (UseOutcome::Succeeded, false) => "it counts as done",
            (UseOutcome::Failed, true) => {
                "it counts as failed; its lock is freed: the same may be asked again"
            }
            (UseOutcome::Failed, false) => "it counts as failed",
            (UseOutcome::Unknown, true) => {
                "it stays unknown; its lock is kept: the same is refused meanwhile"
            }
            (UseOutcome::Unknown, false) => "it stays unknown; whoever approves the same again is told",
        }
    }

    /// The last line before a passphrase: what is signed.
    pub(crate) fn about(&self, outcome: UseOutcome) -> String {
        let said = match outcome {
            UseOutcome::Succeeded => "happened",
            UseOutcome::Failed => "did not happen",
            UseOutcome::Unknown => "nobody can tell",
        };
        let (id, number) = (&self.status.action_id, self.used.number);
        format!("{id} use {number}: {said}; {}", self.follows(outcome))
    }

    /// The screen with the question.
    pub(crate) fn screen(&self, key: &SigningKey, now_ms: u64) -> Screen {
        let Self { status, used, permit_id, .. } = self;
        let mut facts = risk_and_project(status);
        let when = format!("{} ({})", relative(used.spent_at_ms, now_ms), date(used.spent_at_ms));
        let begun = format!("{when} by {}: use {} of {permit_id}", used.worker, used.number);
        facts.push(Fact { label: "begun", style: Style::new(), text: begun });
        let (by, why) = match &used.settled {
            Some(settled) => (settled.by.as_str(), settled.reason.as_str()),
            None => ("ordain", "no outcome was reported in time"),
        };
        let why = if why.is_empty() { "no reason given" } else { why };
        facts.push(Fact { label: "unknown", style: YELLOW, text: format!("{by} says: {why}") });
        for (label, outcome) in [
            ("happened", UseOutcome::Succeeded),
            ("did not", UseOutcome::Failed),
            ("cannot", UseOutcome::Unknown),
        ] {
            facts.push(Fact { label, style: Style::new(), text: self.follows(outcome).to_owned() });
        }
        facts.push(key_fact(key));
        let summary = format!("Did it happen? {} was about to {}", status.actor, deed(status));
        Screen::of(status, key, now_ms).asking(summary, facts)
    }
}

/// Shows a use until somebody says how it went, or leaves it. Nobody speaks about more than they were shown: if it is
/// longer than the screen, an answer shows all of it first and asks again.
pub(crate) fn ask(terminal: &mut Terminal, screen: &Screen, ask: Ask<'_>) -> Result<Told, Failure> {
    let mut seen_all = false;
    loop {
        let shown = screen.fitted(terminal.size());
        deciding::say(terminal, &format!("\n{}", shown.text))?;
        let Some(answer) = ask(terminal, PROMPT)? else { return Ok(Told::Leave) };
        let told = match answer.to_lowercase().as_str() {
            "h" | "happened" => Some(UseOutcome::Succeeded),
            "d" | "did not" => Some(UseOutcome::Failed),
            "c" | "cannot tell" => Some(UseOutcome::Unknown),
            "" | "s" | "skip" => return Ok(Told::Skip),
            "q" | "quit" => return Ok(Told::Leave),
            "v" | "view" => None,
            _ => {
                deciding::say(terminal, "Type one of the letters in brackets.\n")?;
                continue;
            }
        };
        match told {
            Some(outcome) if shown.is_whole || seen_all => return Ok(Told::Outcome(outcome)),
            Some(_) => deciding::say(terminal, deciding::LONGER)?,
            None => {}
        }
        seen_all |= deciding::show_pages(terminal, |columns| screen.whole(columns), ask)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordain_presence::TerminalSize;

    const NOW: u64 = 1_767_614_400_000;

    fn unknown(settled: Json, locks: &[u64]) -> ActionStatus {
        let mut proposal = json!({"actor": "agent-1", "action_type": "execute", "ts_ms": NOW,
            "target": {"resource_type": "command", "resource_id": "git push origin main", "domain": "workspace",
                "constraints": {}}, "parameters": {"command": "git push origin main"}});
        proposal["proposal_id"] = json!("push-1");
        let hash = format!("sha256:{}", "1".repeat(64));
        let used = json!({"use": 1, "worker": "olga", "spent_at_ms": NOW - 400_000, "deadline_ms": NOW - 100_000,
            "settled": settled});
        serde_json::from_value(json!({
            "action_id": "push-1", "actor": "agent-1", "approvals": [], "decided_index": 5, "expires_at_ms": null,
            "decision": {"decision_schema_version": "1.0.0", "proposal_id" : "push-1", "proposal_hash": hash,
                "outcome": "ALLOW", "policy_hash": hash, "evidence_set_hash": hash, "decided_at_ms": NOW,
                "approvals": {"class": "single", "required": 1, "have": ["olga"]}, "reasons": []},
            "permit": {"action_id": "push-1", "permit_id": "permit_00ff00ff00ff00ff_push-1", "token": null, "used": 1,
                "max_affected_records": null, "max_duration_ms": 300_000, "max_executions": 1, "locks": locks,
                "valid_from_ms": NOW - 500_000, "valid_until_ms": NOW, "uses": [used]},
            "state": "unknown", "submitted_at_ms": NOW - 500_000, "submitted_by": "agent-1", "submitted_index": 4,
            "superseded_by": null, "supersedes": null, "view_digest": hash,
            "view": {"proposal": proposal, "project": {"project_id": "p", "path": "/home/olga/shop"}},
        }))
        .unwrap()
    }

    #[test]
    fn the_question() {
        let key = SigningKey::Key {
            fingerprint: "6c1f 22aa 9d01 77e0".to_owned(),
            takes: "the answer takes its passphrase",
        };
        let interrupted = json!({"outcome": "unknown", "reason": "reported by Claude Code", "affected_records": null,
            "duration_ms": null, "by": "olga", "at_ms": NOW - 390_000});
        let mut shown = String::new();
        for (status, size) in [
            (unknown(Json::Null, &[1]), (80, 24)),
            (unknown(interrupted.clone(), &[]), (80, 24)),
            (unknown(interrupted, &[1]), (40, 16)),
        ] {
            let all = UnknownUse::all_of(&status, NOW);
            assert_eq!(all.len(), 1);
            let fitted = all[0].screen(&key, NOW).fitted(TerminalSize { columns: size.0, rows: size.1 });
            assert!(fitted.text.lines().count() < size.1, "{}", fitted.text);
            let plain = anstream::adapter::strip_str(&fitted.text).to_string();
            shown += &format!("== {}x{}\n{plain}{PROMPT}\n", size.0, size.1);
        }
        insta::assert_snapshot!(shown);
        // Nobody asks about held actions and settled uses.
        let mut over = unknown(
            json!({"outcome": "failed", "reason": "", "affected_records": null, "duration_ms": null,
            "by": "olga", "at_ms": NOW}),
            &[],
        );
        assert!(UnknownUse::all_of(&over, NOW).is_empty());
        over.state = ActionState::Held;
        assert!(UnknownUse::all_of(&over, NOW).is_empty());
    }
}
