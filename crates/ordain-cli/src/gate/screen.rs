//! The screen on which a person decides. It fits the terminal, so that what is approved is never scrolled away.

use super::fields::fields;
use super::repeat;
use super::summary::{risk, summary};
use crate::clock::{date, relative};
use crate::display;
use crate::page::{style_of, wrapped};
use crate::report::{BLUE, BOLD, YELLOW, printable};
use crate::wording::{count, cut, width_of};
use anstyle::Style;
use ordain_api::ActionStatus;
use ordain_presence::TerminalSize;
use ordain_spec::decision::gate::{Weight, weight};
use serde_json::{Value as Json, json};
use unicode_width::UnicodeWidthChar;

/// Lines of the block with what the agent wrote.
const AGENT_LINES_MAX: usize = 10;
/// Lines of the diff or the parameters that are shown in any case.
const CONTENT_LINES_MIN: usize = 8;
/// Lines of the block with what the agent wrote, before the facts are shortened.
const AGENT_LINES_MIN: usize = 3;
/// Lines of the summary.
const SUMMARY_LINES_MAX: usize = 3;
/// Lines of a fact.
const FACT_LINES_MAX: usize = 2;
/// Earlier rejections and uses that are listed.
const EARLIER_MAX: usize = 2;
const LABEL_WIDTH: usize = 11;
/// Before every line that the agent wrote. Nothing that the agent writes can begin a line without it.
const BAR: &str = "│ ";

/// The key that signs the answer.
pub(crate) enum SigningKey {
    /// A key, by its fingerprint, and what it takes to use it.
    Key { fingerprint: String, takes: &'static str },
    /// No key of this person is enrolled.
    None,
}

/// A line of ours: a name, a text, and how it looks.
pub(super) struct Fact {
    pub(super) label: &'static str,
    pub(super) style: Style,
    pub(super) text: String,
}

/// A line that the agent wrote.
struct Written {
    style: Style,
    text: String,
}

/// Everything about a held action that somebody looks at before they answer.
pub(crate) struct Screen {
    /// `2 of 5`.
    position: Option<String>,
    summary: String,
    facts: Vec<Fact>,
    /// The agent's text besides the content.
    agent: Vec<Written>,
    author: String,
    /// The name of `content`.
    title: &'static str,
    content: Vec<Written>,
    /// Only in the whole view.
    evidence: Vec<Written>,
    reasons: Vec<String>,
    digest: String,
    /// Whether an approval could count.
    pub(super) can_be_approved: bool,
    /// Whether exact repetitions may be approved too.
    pub(crate) offers_repeat: bool,
}

/// The screen as it fits the terminal.
pub(crate) struct Fitted {
    pub(crate) text: String,
    /// Whether nothing that the agent wrote is left out.
    pub(crate) is_whole: bool,
}

impl Screen {
    pub(crate) fn of(status: &ActionStatus, key: &SigningKey, now_ms: u64) -> Self {
        let mut proposal = status.view.get("proposal").cloned().unwrap_or_default();
        let mut parameters = proposal.get_mut("parameters").map(Json::take).unwrap_or_default();
        let had_patch = parameters.get("patch_hash").is_some();
        let diff = match parameters.as_object_mut() {
            Some(members) if members.get("diff").is_some_and(Json::is_string) => members.remove("diff"),
            _ => None,
        };
        if let Some(members) = proposal.as_object_mut() {
            // These are in the summary.
            for name in ["actor", "action_type", "parameters", "ts_ms"] {
                members.remove(name);
            }
            if let Some(target) = members.get_mut("target").and_then(Json::as_object_mut) {
                target.retain(|name, value| {
                    name == "constraints" && value.as_object().is_none_or(|it| !it.is_empty())
                });
                if target.is_empty() {
                    members.remove("target");
                }
            }
        }
        // The id first: it is how the action is named.
        let id = proposal.as_object_mut().and_then(|members| members.remove("proposal_id"));
        let mut agent: Vec<Written> =
            id.map(|id| json!({"proposal_id" : id})).iter().flat_map(written).collect();
        // Then its purpose, in words that nothing checks.
        if let Some(intent) = status.view.get("intent").filter(|intent| **intent != json!("")) {
            agent.extend(written(&json!({ "intent": intent })));
        }
        agent.extend(written(&proposal));
        let (title, content) = match diff.as_ref().and_then(Json::as_str) {
            Some(diff) => {
                agent.extend(written(&parameters));
                ("Diff", diff_lines(diff))
            }
            None => ("Parameters", written(&parameters)),
        };
        let mut facts = facts(status, key, now_ms);
        let signs = matches!(key, SigningKey::Key { .. });
        let offered = repeat::offered(status).filter(|_| signs);
        let offers_repeat = offered.is_some();
        if let Some(scope) = offered {
            facts.push(Fact { label: "grant", style: Style::new(), text: repeat::offer(status, &scope) });
        }
        if had_patch && diff.is_none() {
            let text = "no diff was sent, or there was no room for one; compare the patch set by its hash";
            facts.push(Fact { label: "warning", style: YELLOW, text: text.to_owned() });
        }
        let evidence = status.view.get("evidence").and_then(Json::as_array).map(Vec::as_slice);
        Self {
            position: None,
            summary: summary(status),
            facts,
            agent,
            author: status.actor.clone(),
            title,
            content,
            evidence: evidence.unwrap_or_default().iter().flat_map(written).collect(),
            reasons: status.decision.reasons.iter().map(|reason| reason.message.clone()).collect(),
            digest: status.view_digest.clone(),
            can_be_approved: !status.needs_owner,
            offers_repeat,
        }
    }

    /// The same action, with another question about it than whether it may happen.
    pub(super) fn asking(self, summary: String, facts: Vec<Fact>) -> Self {
        Self { summary, facts, ..self }
    }

    /// The same, as one of several.
    pub(crate) fn numbered(self, number: usize, of: usize) -> Self {
        Self { position: Some(format!("{number} of {of}")), ..self }
    }

    /// The screen, with the last row free for the answer.
    pub(crate) fn fitted(&self, size: TerminalSize) -> Fitted {
        let columns = display::within(size.columns);
        let agent = marked(&self.agent, columns);
        let content = marked(&self.content, columns);
        // One title for each part, and the row of the answer.
        let others = usize::from(!agent.is_empty()) + 2;
        let for_content = content.len().clamp(1, CONTENT_LINES_MIN);
        let below = others + for_content;
        let mut lines = self.head(columns, FACT_LINES_MAX, SUMMARY_LINES_MAX);
        if lines.len() + below + agent.len().min(AGENT_LINES_MIN) > size.rows {
            lines = self.head(columns, 1, SUMMARY_LINES_MAX);
        }
        if lines.len() + below > size.rows {
            lines = self.head(columns, 1, 1);
        }
        let room = size.rows.saturating_sub(lines.len() + others);
        let agent_room = room.saturating_sub(for_content).min(AGENT_LINES_MAX - 1);
        let mut is_whole = true;
        if !agent.is_empty() {
            lines.push(self.agent_title(columns));
            is_whole &= push_some(&mut lines, agent, agent_room.max(1));
        }
        let used = lines.len() + 2;
        lines.push(self.content_title(columns));
        is_whole &= push_some(&mut lines, content, size.rows.saturating_sub(used).max(1));
        Fitted { text: joined(&lines), is_whole }
    }

    /// Everything, for a pager.
    pub(crate) fn whole(&self, columns: usize) -> String {
        let columns = display::within(columns);
        let mut lines = self.head(columns, usize::MAX, SUMMARY_LINES_MAX);
        lines.push(self.agent_title(columns));
        lines.extend(marked(&self.agent, columns));
        lines.push(self.content_title(columns));
        lines.extend(marked(&self.content, columns));
        if !self.evidence.is_empty() {
            lines.push(format!("{BOLD}Evidence{BOLD:#}"));
            lines.extend(marked(&self.evidence, columns));
        }
        lines.push(format!("{BOLD}Reasons of the decision{BOLD:#}"));
        for reason in &self.reasons {
            lines.extend(
                hard_wrapped(&printable(reason), columns - 2).into_iter().map(|it| format!("  {it}")),
            );
        }
        lines.push(format!("{BOLD}Digest of what is shown{BOLD:#}"));
        lines.push(format!("  {}", printable(&self.digest)));
        joined(&lines)
    }

    fn head(&self, columns: usize, fact_lines_max: usize, summary_lines_max: usize) -> Vec<String> {
        let position = self.position.as_ref().map(|position| format!("{position}: ")).unwrap_or_default();
        let text = format!("{position}{}", printable(&self.summary));
        let mut broken = hard_wrapped(&text, columns);
        if broken.len() > summary_lines_max {
            broken.truncate(summary_lines_max);
            if let Some(last) = broken.last_mut() {
                *last = cut(&format!("{last}……"), columns);
            }
        }
        let mut lines: Vec<String> = broken.into_iter().map(|line| format!("{BOLD}{line}{BOLD:#}")).collect();
        for Fact { label, style, text } in &self.facts {
            let mut parts = wrapped(&printable(text), columns - LABEL_WIDTH);
            if parts.len() > fact_lines_max {
                parts.truncate(fact_lines_max);
                if let Some(last) = parts.last_mut() {
                    *last = cut(&format!("{last} …"), columns - LABEL_WIDTH);
                }
            }
            let mut label = *label;
            for part in parts {
                lines.push(format!("{label:<LABEL_WIDTH$}{style}{part}{style:#}"));
                label = "";
            }
        }
        lines
    }

    fn agent_title(&self, columns: usize) -> String {
        let title = format!("Written by {}: every line with a bar", printable(&self.author));
        format!("{BOLD}{}{BOLD:#}", cut(&title, columns))
    }

    fn content_title(&self, columns: usize) -> String {
        let of = if self.content.is_empty() { ": none" } else { "" };
        format!("{BOLD}{}{BOLD:#}", cut(&format!("{}{of}", self.title), columns))
    }
}

/// The first facts of every screen.
pub(super) fn risk_and_project(status: &ActionStatus) -> Vec<Fact> {
    let risk = risk(status);
    let text = format!("{}: {}", risk.level.name(), risk.words);
    let mut facts = vec![Fact { label: "risk", style: risk.level.style(), text }];
    if let Some(path) = status.view.pointer("/project/path").and_then(Json::as_str) {
        facts.push(Fact { label: "project", style: Style::new(), text: path.to_owned() });
    }
    facts
}

fn facts(status: &ActionStatus, key: &SigningKey, now_ms: u64) -> Vec<Fact> {
    let plain = |label: &'static str, text: String| Fact { label, style: Style::new(), text };
    let mut facts = risk_and_project(status);
    if status.needs_owner {
        let text = "it takes a signature, and nobody owns this gate";
        facts.push(Fact { label: "open", style: YELLOW, text: text.to_owned() });
    } else {
        facts.push(plain("approvals", approvals(status)));
    }
    let permitted = true;
    let waits =
        status.decision.reasons.iter().find(|reason| weight(&reason.rule_id, permitted) == Weight::Waits);
    if let Some(reason) = waits {
        facts.push(plain("policy", reason.message.clone()));
    }
    if let Some(at_ms) = status.expires_at_ms {
        facts.push(plain("until", format!("{} ({})", relative(at_ms, now_ms), date(at_ms))));
    }
    let earlier = earlier(status, now_ms);
    let left_out = earlier.len().saturating_sub(EARLIER_MAX);
    for text in earlier.into_iter().take(EARLIER_MAX) {
        facts.push(Fact { label: "earlier", style: YELLOW, text });
    }
    if left_out > 0 {
        facts.push(Fact { label: "earlier", style: YELLOW, text: format!("and {left_out} more") });
    }
    facts.extend(settled(status, now_ms).map(|text| plain("earlier", text)));
    let evidence = status.view.get("evidence").and_then(Json::as_array).map_or(0, Vec::len);
    if evidence > 0 {
        let labels = status.view.get("labels").and_then(Json::as_object).map_or(0, serde_json::Map::len);
        let label =
            if labels > 0 { format!(", {labels} on the proposer's word alone") } else { String::new() };
        facts.push(plain("evidence", format!("{}{label}", count(evidence as u64, "packet"))));
    }
    if !status.needs_owner {
        facts.push(key_fact(key));
    }
    facts
}

pub(super) fn key_fact(key: &SigningKey) -> Fact {
    let (style, text) = match key {
        SigningKey::Key { fingerprint, takes } => (Style::new(), format!("{fingerprint}; {takes}")),
        SigningKey::None => {
            (YELLOW, "none of yours is enrolled at this gate: your answer is not signed".to_owned())
        }
    };
    Fact { label: "key", style, text }
}

/// `1 of 2 given (alice); yours is the last one`.
fn approvals(status: &ActionStatus) -> String {
    let required = usize::try_from(status.decision.approvals.required).unwrap_or(usize::MAX);
    let have = &status.decision.approvals.have;
    let names = if have.is_empty() { String::new() } else { format!(" ({})", have.join(", ")) };
    match required {
        0 => format!("{} given{names}; the policies say how many it takes", have.len()),
        1 => "yours is enough".to_owned(),
        required if have.len() + 1 >= required => {
            format!("{} of {required} given{names}; yours is the last one", have.len())
        }
        required => {
            let others = required - have.len() - 1;
            format!("{} of {required} given{names}; {} more besides yours", have.len(), others)
        }
    }
}

/// Rejections of the same effect, and uses whose outcome nobody knows.
pub(super) fn earlier(status: &ActionStatus, now_ms: u64) -> Vec<String> {
    let list = |name: &str| {
        let found = status.view.get("earlier").and_then(|earlier| earlier.get(name));
        found.and_then(Json::as_array).cloned().unwrap_or_default()
    };
    let text = |value: &Json, name: &str| value.get(name).and_then(Json::as_str).unwrap_or("?").to_owned();
    let rejected = list("rejected").into_iter().rev().map(|it| {
        let at_ms = it.get("at_ms").and_then(Json::as_u64).unwrap_or_default();
        format!("rejected by {} {}: {}", text(&it, "by"), relative(at_ms, now_ms), text(&it, "reason"))
    });
    let unknown = list("unknown").into_iter().map(|it| {
        let number = it.get("use").and_then(Json::as_u64).unwrap_or_default();
        format!("use {number} of {} did the same, and its outcome is unknown", text(&it, "permit_id"))
    });
    rejected.chain(unknown).collect()
}

/// How other uses with the same effect went: `done 3 times before, the last 5 h ago; failed once`.
pub(super) fn settled(status: &ActionStatus, now_ms: u64) -> Option<String> {
    let uses = status.view.pointer("/earlier/settled")?;
    let number = |name: &str| uses.get(name).and_then(Json::as_u64).unwrap_or_default();
    let times = |count: u64| match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let at = uses.pointer("/last/at_ms").and_then(Json::as_u64).map(|at_ms| relative(at_ms, now_ms));
    let last_succeeded = uses.pointer("/last/succeeded").and_then(Json::as_bool).unwrap_or_default();
    let last = |count: u64, is_this: bool| match &at {
        Some(at) if is_this && count == 1 => format!(", {at}"),
        Some(at) if is_this => format!(", the last {at}"),
        _ => String::new(),
    };
    let succeeded = match number("succeeded") {
        0 => None,
        count => Some(format!("done {} before{}", times(count), last(count, last_succeeded))),
    };
    let failed = match number("failed") {
        0 => None,
        count => Some(format!("failed {}{}", times(count), last(count, !last_succeeded))),
    };
    let parts: Vec<String> = succeeded.into_iter().chain(failed).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn written(value: &Json) -> Vec<Written> {
    fields(value).into_iter().map(|text| Written { style: Style::new(), text }).collect()
}

fn diff_lines(diff: &str) -> Vec<Written> {
    let lines = diff.strip_suffix('\n').unwrap_or(diff).split('\n');
    let line =
        |line: &str| Written { style: style_of(line.chars().next().unwrap_or(' ')), text: line.to_owned() };
    lines.map(line).collect()
}

/// The lines with a bar before each, broken where the terminal would break them.
fn marked(lines: &[Written], columns: usize) -> Vec<String> {
    let width = columns - width_of(BAR);
    let mut found = Vec::new();
    for Written { style, text } in lines {
        let clean = text.replace('\t', "    ");
        for part in hard_wrapped(&printable(&clean), width) {
            found.push(format!("{BLUE}{BAR}{BLUE:#}{style}{part}{style:#}"));
        }
    }
    found
}

/// Adds the lines that there is room for; says whether those are all.
fn push_some(lines: &mut Vec<String>, new: Vec<String>, room: usize) -> bool {
    if new.len() <= room {
        lines.extend(new);
        return true;
    }
    let left_out = new.len() - room + 1;
    lines.extend(new.into_iter().take(room - 1));
    let plural = if left_out == 1 { "" } else { "s" };
    lines.push(format!("{YELLOW}… {left_out} more line{plural}; `v` shows all{YELLOW:#}"));
    false
}

/// A text in lines of exactly the width of the terminal. No space is lost: an approver sees the text as it is.
fn hard_wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or_default();
        if used + wide > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            line.push(character);
        }
        used += wide;
    }
    lines
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_767_614_400_000;

    fn status(parameters: &Json, more: &Json) -> ActionStatus {
        let mut proposal = json!({"actor": "agent-1", "action_type": "execute", "ts_ms": NOW,
            "target": {"resource_type": "command", "resource_id": "git push origin main", "domain": "workspace",
                "constraints": {}}, "parameters": parameters});
        proposal["proposal_id"] = json!("push-1");
        for (name, value) in more.as_object().unwrap() {
            proposal[name] = value.clone();
        }
        let hash = format!("sha256:{}", "1".repeat(64));
        serde_json::from_value(json!({
            "action_id": "push-1", "actor": "agent-1", "approvals": [], "decided_index": 5, "expires_at_ms": NOW + 86_400_000,
            "decision": {"decision_schema_version": "1.0.0", "proposal_id" : "push-1", "proposal_hash": hash,
                "outcome": "HOLD", "policy_hash": hash, "evidence_set_hash": hash, "decided_at_ms": NOW,
                "approvals": {"class": "dual", "required": 2, "have": ["alice"]},
                "reasons": [{"rule_id": "G14", "path": "", "policies": ["run"],
                    "message": "`run` asks for 2 approvals from `engineers`, 1 of them given; still needed: 1 of bob, carol"}]},
            "permit": null, "state": "held", "submitted_at_ms": NOW, "submitted_by": "root", "submitted_index": 4,
            "superseded_by": null, "supersedes": null, "view_digest": hash,
            "view": {"proposal": proposal, "evidence": [{"evidence_id": "e1", "payload": {"exit_code": 0}}],
                "labels": {"e1": "proposer's word"}, "project": {"project_id": "p", "path": "/home/olga/shop"},
                "earlier": {"rejected": [{"action_id": "push-0", "by": "bob", "at_ms": NOW - 7_200_000, "reason": "not this week"}],
                    "unknown": [], "settled": {"succeeded": 3, "failed": 1,
                        "last": {"action_id": "push-9", "succeeded": true, "at_ms": NOW - 18_000_000}}},
                "intent": "publish the fix that olga asked for"},
        }))
        .unwrap()
    }

    fn key() -> SigningKey {
        SigningKey::Key {
            fingerprint: "6c1f 22aa 9d01 77e0".to_owned(),
            takes: "an approval takes its passphrase",
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn fitted(status: &ActionStatus, columns: usize, rows: usize) -> Fitted {
        Screen::of(status, &key(), NOW).fitted(TerminalSize { columns, rows })
    }

    /// The diff of a change of two files.
    fn with_diff() -> ActionStatus {
        let diff: String = (1..=40).map(|line| format!("+line {line}\n")).collect();
        let more = json!({"action_type": "write", "target": {"resource_type": "patch_set", "resource_id": "change-1",
            "domain": "workspace", "constraints": {}}, "risk_envelope": {"reversible_required": true}});
        let operations = json!([{"op": "create", "path": "a.txt"}, {"op": "delete", "path": "b.txt"}]);
        let diff = format!("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,40 @@\n{diff}");
        status(&json!({"diff": diff, "operations": operations, "patch_hash": "sha256:1"}), &more)
    }

    #[test]
    fn the_screen() {
        let push = status(&json!({"command": "git push origin main"}), &json!({}));
        let mut shown = String::new();
        for (columns, rows) in [(60, 24), (80, 24), (120, 24)] {
            shown += &format!("== {columns}\n{}", plain(&fitted(&push, columns, rows).text));
        }
        for (columns, rows) in [(60, 24), (80, 24), (120, 24)] {
            shown += &format!("== diff, {columns}\n{}", plain(&fitted(&with_diff(), columns, rows).text));
        }
        shown += &format!("== all of it\n{}", plain(&Screen::of(&push, &SigningKey::None, NOW).whole(80)));
        insta::assert_snapshot!(shown);
        insta::assert_snapshot!("the_screen_in_colour", fitted(&push, 80, 24).text.replace('\u{1b}', "␛"));
    }

    /// Whatever the agent writes, the screen fits, each of its lines has a bar, and none moves the cursor.
    #[test]
    fn what_the_agent_writes_stays_in_its_place() {
        let hostile = [
            "[a]pprove [r]eject: a\n\nrisk       low: reads",
            "\u{1b}[2J\u{1b}[H\u{7}\rapproved",
            "\u{202e}hsup tig",
            "東京".repeat(300).as_str(),
            "\t".repeat(200).as_str(),
            "x".repeat(5_000).as_str(),
        ]
        .map(str::to_owned);
        for text in &hostile {
            let parameters = json!({"command": text, "nested": {text.as_str(): [text, {"deep": text}]}});
            let more = json!({"proposal_id" : text, "rollback_semantics": {"note": text}});
            let mut status = status(&parameters, &more);
            let mut view: Json = (*status.view).clone();
            view["intent"] = json!(text);
            status.view = serde_json::from_value(view).unwrap();
            for (columns, rows) in [(40, 16), (60, 24), (80, 24), (200, 50)] {
                let shown = plain(&fitted(&status, columns, rows).text);
                assert!(shown.lines().count() < rows, "{columns}x{rows}:\n{shown}");
                assert!(shown.lines().all(|line| width_of(line) <= columns), "{columns}x{rows}:\n{shown}");
                assert!(!shown.contains(|it: char| it.is_control() && it != '\n'), "{shown:?}");
                let own = [
                    "agent-1",
                    "risk",
                    "project",
                    "approvals",
                    "policy",
                    "until",
                    "earlier",
                    "evidence",
                    "key",
                    "open",
                ];
                let titles = ["Written by", "Parameters", "… ", "           "];
                let from = shown.lines().position(|line| line.starts_with("risk")).unwrap();
                for line in shown.lines().skip(from) {
                    let known = own.iter().chain(&titles).any(|start| line.starts_with(start));
                    assert!(known || line.starts_with(BAR), "{line:?} in\n{shown}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        assert!(fitted(&status(&json!({"command": "ls"}), &json!({})), 80, 24).is_whole);
        let long = fitted(&with_diff(), 80, 24);
        assert!(!long.is_whole && long.text.contains("more lines; `v` shows all"), "{}", long.text);
        let all = plain(&Screen::of(&with_diff(), &key(), NOW).whole(80));
        assert!((1..=40).all(|line| all.contains(&format!("│ +line {line}\n"))), "{all}");
    }
}
