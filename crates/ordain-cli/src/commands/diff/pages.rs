//! The differences between two bundles, for people.

use super::changes::{Change, Changes, OutputAt, OutputChange, Outputs, QuestionChange, Questions};
use super::tree::{NodeAt, NodeChange, Nodes};
use crate::page::{PLAIN, Page, style_of};
use crate::report::BOLD;
use crate::view::bundle_figures;
use crate::wording::{first_line, short_hash, size, word};
use ordain_spec::bundle::Question;
use std::fmt::Display;

pub(super) fn show(page: &mut Page, changes: &Changes<'_>) {
    if changes.same {
        return page.title("the same bundle", changes.id.to);
    }
    page.label("bundle", &arrow(changes.id));
    let label = |page: &mut Page, name: &str, change: Change<String>| {
        if !change.is_none() {
            page.label(name, &arrow(change));
        }
    };
    let map = |change: Change<&str>, shown: fn(&str) -> String| Change {
        from: shown(change.from),
        to: shown(change.to),
    };
    label(page, "status", Change { from: word(&changes.status.from), to: word(&changes.status.to) });
    label(page, "format", map(changes.schema_version, str::to_owned));
    label(page, "kernel", map(changes.kernel_version, str::to_owned));
    label(page, "intent", map(changes.source_intent_hash, short_hash));
    if !changes.entropy_score.is_none() {
        page.label("unclear", &format!("{} at the root", arrow(changes.entropy_score)));
    }
    if !changes.density_score.is_none() {
        page.label("settled", &format!("{} at the root", arrow(changes.density_score)));
    }
    questions(page, &changes.questions);
    nodes(page, &changes.nodes);
    outputs(page, &changes.outputs);
    if !changes.stats.is_none() {
        page.section("Figures");
        page.prose("  - ", "    ", PLAIN, &bundle_figures(changes.stats.from));
        page.prose("  + ", "    ", PLAIN, &bundle_figures(changes.stats.to));
    }
}

fn arrow<T: Display>(change: Change<T>) -> String {
    format!("{} → {}", change.from, change.to)
}

/// An entry with its sign: gone, new, or other than before.
fn entry(page: &mut Page, sign: char, text: &str) {
    page.prose(&format!("  {} ", signed(sign)), "    ", BOLD, text);
}

/// The lines that belong to an entry.
fn detail(page: &mut Page, sign: char, text: &str) {
    page.prose(&format!("      {} ", signed(sign)), "        ", PLAIN, text);
}

fn signed(sign: char) -> String {
    let style = style_of(sign);
    format!("{style}{sign}{style:#}")
}

fn questions(page: &mut Page, Questions { added, removed, changed }: &Questions<'_>) {
    if added.is_empty() && removed.is_empty() && changed.is_empty() {
        return;
    }
    page.section("Questions");
    let mut question = |sign: char, it: &Question, note: &str| {
        entry(page, sign, &it.text);
        detail(page, '·', &format!("{}  {note}", it.id));
    };
    removed.iter().for_each(|it| question('-', it, "answered, or no longer asked"));
    added.iter().for_each(|it| question('+', it, "new"));
    for QuestionChange { id, text, priority, information_gain } in changed {
        entry(page, '~', text);
        let facts = [("priority", priority), ("information gain", information_gain)];
        let facts = facts.iter().filter(|(_, change)| !change.is_none());
        let facts: Vec<String> = facts.map(|(name, change)| format!("{name} {}", arrow(**change))).collect();
        detail(page, '·', &format!("{id}  {}", facts.join(" · ")));
    }
}

fn nodes(page: &mut Page, Nodes { added, removed, changed }: &Nodes<'_>) {
    if added.is_empty() && removed.is_empty() && changed.is_empty() {
        return;
    }
    page.section("Nodes");
    for NodeChange { path, goal, constraints, status, entropy_score, density_score, other, .. } in changed {
        entry(page, '~', &place(path));
        if !goal.is_none() {
            detail(page, '-', &first_line(goal.from));
            detail(page, '+', &first_line(goal.to));
        }
        constraints.removed.iter().for_each(|it| detail(page, '-', it));
        constraints.added.iter().for_each(|it| detail(page, '+', it));
        let mut facts = Vec::new();
        if !status.is_none() {
            facts.push(format!("{} → {}", word(&status.from), word(&status.to)));
        }
        if !entropy_score.is_none() {
            facts.push(format!("unclear {}", arrow(*entropy_score)));
        }
        if !density_score.is_none() {
            facts.push(format!("settled {}", arrow(*density_score)));
        }
        // A score says what its measures come to; measures without it, and the rest, are only named.
        let told = |field: &str| match field {
            "entropy" => !entropy_score.is_none(),
            "density" => !density_score.is_none(),
            _ => false,
        };
        let untold: Vec<&str> =
            other.iter().filter(|field| !told(field)).map(|field| spoken(field)).collect();
        if !untold.is_empty() {
            facts.push(format!("also changed: {}", untold.join(", ")));
        }
        if !facts.is_empty() {
            detail(page, '·', &facts.join(" · "));
        }
    }
    let mut node = |sign: char, NodeAt { id, path, own_constraints, .. }: &NodeAt<'_>| {
        entry(page, sign, &place(path));
        detail(page, '·', id);
        own_constraints.iter().for_each(|it| detail(page, sign, it));
    };
    removed.iter().for_each(|it| node('-', it));
    added.iter().for_each(|it| node('+', it));
}

/// A field of a node, as people would call it.
fn spoken(field: &str) -> &str {
    match field {
        "density" => "the measures of what is settled",
        "entropy" => "the measures of what is unclear",
        "splitting_question" => "the question that it splits on",
        "unresolved_questions" => "its questions",
        other => other,
    }
}

fn place(path: &[&str]) -> String {
    let goals: Vec<String> = path.iter().map(|goal| first_line(goal)).collect();
    goals.join(" › ")
}

fn outputs(page: &mut Page, Outputs { added, removed, changed }: &Outputs<'_>) {
    if added.is_empty() && removed.is_empty() && changed.is_empty() {
        return;
    }
    page.section("Outputs");
    let mut output = |sign: char, it: &OutputAt<'_>| {
        entry(page, sign, it.path);
        detail(page, '·', &format!("{}, {}", word(&it.output_type), size(it.size_bytes as u64)));
    };
    removed.iter().for_each(|it| output('-', it));
    added.iter().for_each(|it| output('+', it));
    changed.iter().for_each(|it| output_change(page, it));
}

fn output_change(page: &mut Page, it: &OutputChange<'_>) {
    entry(page, '~', it.path);
    if it.output_type.from != it.output_type.to {
        detail(page, '·', &format!("type {} → {}", word(&it.output_type.from), word(&it.output_type.to)));
    }
    if !it.confidence.is_none() {
        detail(page, '·', &format!("confidence {}", arrow(it.confidence)));
    }
    for constraint in &it.source_constraints.removed {
        detail(page, '-', &format!("serves: {constraint}"));
    }
    for constraint in &it.source_constraints.added {
        detail(page, '+', &format!("serves: {constraint}"));
    }
    match &it.diff {
        Some(diff) => page.diff(diff),
        None if !it.content_hash.is_none() => {
            let [from, to] = [it.size_bytes.from, it.size_bytes.to].map(|bytes| size(bytes as u64));
            detail(page, '·', &format!("{from} → {to}, too long to compare line by line"));
        }
        None => {}
    }
}
