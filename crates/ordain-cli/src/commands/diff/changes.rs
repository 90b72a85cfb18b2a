//! The differences between two bundles, as data.

use super::tree::{Nodes, node_changes};
use ordain_canon::compare_utf16;
use ordain_spec::bundle::{Bundle, BundleStats, BundleStatus, Output, OutputType, Question};
use serde::Serialize;
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet};

/// The time that a comparison takes grows with the square of the lines that differ: beyond this many, only that a
/// content changed is said. A deadline instead would make the answer depend on the machine.
const DIFFED_LINES_MAX: usize = 20_000;

/// As `--json` prints it, and as the page for people is made from.
#[derive(Serialize)]
pub(super) struct Changes<'a> {
    pub(super) same: bool,
    pub(super) id: Change<&'a str>,
    pub(super) status: Change<BundleStatus>,
    pub(super) schema_version: Change<&'a str>,
    pub(super) kernel_version: Change<&'a str>,
    pub(super) source_intent_hash: Change<&'a str>,
    /// At the root, as the next one.
    pub(super) entropy_score: Change<u8>,
    pub(super) density_score: Change<u8>,
    pub(super) questions: Questions<'a>,
    pub(super) nodes: Nodes<'a>,
    pub(super) outputs: Outputs<'a>,
    pub(super) stats: Change<&'a BundleStats>,
}

#[derive(Serialize, Clone, Copy)]
pub(super) struct Change<T> {
    pub(super) from: T,
    pub(super) to: T,
}

#[derive(Serialize)]
pub(super) struct Questions<'a> {
    pub(super) added: Vec<&'a Question>,
    /// Answered, or no longer worth asking: two bundles do not tell which.
    pub(super) removed: Vec<&'a Question>,
    pub(super) changed: Vec<QuestionChange<'a>>,
}

/// Everything else belongs to a question's id.
#[derive(Serialize)]
pub(super) struct QuestionChange<'a> {
    pub(super) id: &'a str,
    pub(super) text: &'a str,
    pub(super) priority: Change<u8>,
    pub(super) information_gain: Change<u8>,
}

#[derive(Serialize)]
pub(super) struct Outputs<'a> {
    pub(super) added: Vec<OutputAt<'a>>,
    pub(super) removed: Vec<OutputAt<'a>>,
    pub(super) changed: Vec<OutputChange<'a>>,
}

#[derive(Serialize)]
pub(super) struct OutputAt<'a> {
    pub(super) path: &'a str,
    #[serde(rename = "type")]
    pub(super) output_type: OutputType,
    pub(super) content_hash: &'a str,
    pub(super) size_bytes: usize,
}

#[derive(Serialize)]
pub(super) struct OutputChange<'a> {
    pub(super) path: &'a str,
    #[serde(rename = "type")]
    pub(super) output_type: Change<OutputType>,
    pub(super) confidence: Change<u8>,
    pub(super) content_hash: Change<&'a str>,
    pub(super) size_bytes: Change<usize>,
    pub(super) source_constraints: ListChange<'a>,
    /// Unified; absent where the content is the same or too long to compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) diff: Option<String>,
}

#[derive(Serialize)]
pub(super) struct ListChange<'a> {
    pub(super) added: Vec<&'a str>,
    pub(super) removed: Vec<&'a str>,
}

impl<T: PartialEq> Change<T> {
    pub(super) fn is_none(&self) -> bool {
        self.from == self.to
    }
}

impl<'a> ListChange<'a> {
    pub(super) fn between(before: &'a [String], after: &'a [String]) -> Self {
        let only = |these: &'a [String], others: &'a [String]| {
            let others: BTreeSet<&String> = others.iter().collect();
            these.iter().filter(|it| !others.contains(it)).map(String::as_str).collect()
        };
        Self { added: only(after, before), removed: only(before, after) }
    }

    pub(super) fn is_none(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

impl<'a> Changes<'a> {
    pub(super) fn between(before: &'a Bundle, after: &'a Bundle) -> Self {
        let (root, root_after) = (&before.root_node, &after.root_node);
        Self {
            same: before == after,
            id: Change { from: &before.id, to: &after.id },
            status: Change { from: before.status, to: after.status },
            schema_version: Change { from: &before.schema_version, to: &after.schema_version },
            kernel_version: Change { from: &before.kernel_version, to: &after.kernel_version },
            source_intent_hash: Change {
                from: before.source_intent_hash.as_str(),
                to: after.source_intent_hash.as_str(),
            },
            entropy_score: Change { from: root.entropy.entropy_score, to: root_after.entropy.entropy_score },
            density_score: Change { from: root.density.density_score, to: root_after.density.density_score },
            questions: questions(&before.unresolved_questions, &after.unresolved_questions),
            nodes: node_changes(root, root_after),
            outputs: outputs(&before.outputs, &after.outputs),
            stats: Change { from: &before.stats, to: &after.stats },
        }
    }
}

fn questions<'a>(before: &'a [Question], after: &'a [Question]) -> Questions<'a> {
    let by_id = |questions: &'a [Question]| -> BTreeMap<&'a str, &'a Question> {
        questions.iter().map(|question| (question.id.as_str(), question)).collect()
    };
    let (old, new) = (by_id(before), by_id(after));
    let change = |question: &'a Question| {
        let old = old.get(question.id.as_str()).filter(|old| **old != question)?;
        Some(QuestionChange {
            id: &question.id,
            text: &question.text,
            priority: Change { from: old.priority, to: question.priority },
            information_gain: Change { from: old.information_gain, to: question.information_gain },
        })
    };
    Questions {
        added: after.iter().filter(|question| !old.contains_key(question.id.as_str())).collect(),
        removed: before.iter().filter(|question| !new.contains_key(question.id.as_str())).collect(),
        changed: after.iter().filter_map(change).collect(),
    }
}

/// Both lists are sorted by path, so that they can be walked together, even if one has a path twice.
fn outputs<'a>(before: &'a [Output], after: &'a [Output]) -> Outputs<'a> {
    let mut outputs = Outputs { added: Vec::new(), removed: Vec::new(), changed: Vec::new() };
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (Some(old), Some(new)) => compare_utf16(&old.path, &new.path),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return outputs,
        };
        let old = if order.is_le() { before.next() } else { None };
        let new = if order.is_ge() { after.next() } else { None };
        match (old, new) {
            (Some(old), Some(new)) if old != new => outputs.changed.push(output_change(old, new)),
            (Some(_), Some(_)) | (None, None) => {}
            (Some(old), None) => outputs.removed.push(OutputAt::of(old)),
            (None, Some(new)) => outputs.added.push(OutputAt::of(new)),
        }
    }
}

impl<'a> OutputAt<'a> {
    fn of(output: &'a Output) -> Self {
        Self {
            path: &output.path,
            output_type: output.output_type,
            content_hash: output.content_hash.as_str(),
            size_bytes: output.content.len(),
        }
    }
}

fn output_change<'a>(old: &'a Output, new: &'a Output) -> OutputChange<'a> {
    OutputChange {
        path: &new.path,
        output_type: Change { from: old.output_type, to: new.output_type },
        confidence: Change { from: old.confidence, to: new.confidence },
        content_hash: Change { from: old.content_hash.as_str(), to: new.content_hash.as_str() },
        size_bytes: Change { from: old.content.len(), to: new.content.len() },
        source_constraints: ListChange::between(&old.source_constraints, &new.source_constraints),
        diff: unified(&old.content, &new.content),
    }
}

fn unified(old: &str, new: &str) -> Option<String> {
    // Only a line feed ends a line here: a lone carriage return must not hide what follows it.
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    if old == new || old_lines.len() + new_lines.len() > DIFFED_LINES_MAX {
        return None;
    }
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old_lines, &new_lines);
    Some(diff.unified_diff().context_radius(3).to_string())
}
