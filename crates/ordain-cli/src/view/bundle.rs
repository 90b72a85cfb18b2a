//! Bundles: the tree, the questions, the outputs.

use crate::page::{Column, PLAIN, Page};
use crate::report::{BOLD, GREEN, RED, YELLOW};
use crate::wording::{count, first_line, short_hash, size_of, word};
use anstyle::Style;
use ordain_spec::bundle::{Bundle, BundleStats, BundleStatus, ContextNode, Output, Question};

pub(crate) fn show(page: &mut Page, bundle: &Bundle, full: bool) {
    page.title("bundle", &bundle.id);
    page.styled_label("status", status_style(bundle.status), &word(&bundle.status));
    page.label("kernel", &bundle.kernel_version);
    page.label("intent", &short_hash(bundle.source_intent_hash.as_str()));

    page.section("Tree");
    node(page, &bundle.root_node, None, ["  ", "  "]);

    if !bundle.unresolved_questions.is_empty() {
        page.counted_section("Questions", bundle.unresolved_questions.len());
        let mut questions: Vec<&Question> = bundle.unresolved_questions.iter().collect();
        questions.sort_by_key(|question| std::cmp::Reverse(question.priority));
        for (position, it) in questions.into_iter().enumerate() {
            question(page, position + 1, it);
        }
    }
    outputs(page, &bundle.outputs, full);
    page.section("Figures");
    page.prose("  ", "  ", PLAIN, &figures(&bundle.stats));
}

fn status_style(status: BundleStatus) -> Style {
    match status {
        BundleStatus::Complete => GREEN,
        BundleStatus::Incomplete => YELLOW,
        BundleStatus::Error => RED,
    }
}

/// A node and what is below it, with what stands before its first line and before all others.
fn node(page: &mut Page, it: &ContextNode, parent: Option<&ContextNode>, [first, rest]: [&str; 2]) {
    page.prose(first, rest, BOLD, &first_line(&it.goal));
    let mut facts = vec![
        word(&it.status),
        format!("unclear {} · settled {}", it.entropy.entropy_score, it.density.density_score),
        count(it.constraints.len() as u64, "constraint"),
    ];
    if !it.unresolved_questions.is_empty() {
        facts.push(count(it.unresolved_questions.len() as u64, "question"));
    }
    // The line down to the children starts under the goal.
    let below = format!("{rest}{}", if it.children.is_empty() { "  " } else { "│ " });
    page.prose(&below, &below, PLAIN, &facts.join(" · "));
    if it.children.is_empty() {
        let inherited = parent.map(|parent| parent.constraints.as_slice()).unwrap_or_default();
        for constraint in &it.constraints {
            let (sign, style) = if parent.is_some() && !inherited.contains(constraint) {
                ('+', GREEN)
            } else {
                ('·', PLAIN)
            };
            page.prose(&format!("{below}{style}{sign}{style:#} "), &format!("{below}  "), PLAIN, constraint);
        }
    }
    if let Some(split) = &it.splitting_question {
        page.prose(&format!("{below}splits on: "), &format!("{below}  "), PLAIN, &split.question.text);
    }
    for (position, child) in it.children.iter().enumerate() {
        let last = position + 1 == it.children.len();
        let (corner, line) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        node(page, child, Some(it), [&format!("{rest}{corner}"), &format!("{rest}{line}")]);
    }
}

fn question(page: &mut Page, number: usize, it: &Question) {
    let first = format!("{number:>3}. ");
    let rest = " ".repeat(first.len());
    page.prose(&first, &rest, BOLD, &it.text);
    let mut fact = |label: &str, text: &str| {
        page.prose(&format!("{rest}{label:<9}"), &format!("{rest}         "), PLAIN, text);
    };
    fact("why", &it.why_needed);
    fact("answer", &word(&it.expected_answer_type));
    for option in it.options.iter().flatten() {
        fact("", &format!("· {option}"));
    }
    fact("id", &format!("{}  priority {} · information gain {}", it.id, it.priority, it.information_gain));
}

fn outputs(page: &mut Page, outputs: &[Output], full: bool) {
    if outputs.is_empty() {
        return;
    }
    page.counted_section("Outputs", outputs.len());
    let row = |it: &Output| {
        vec![word(&it.output_type), size_of(&it.content), it.confidence.to_string(), it.path.clone()]
    };
    let columns =
        [Column::Left("type"), Column::Right("size"), Column::Right("confidence"), Column::Left("path")];
    page.table(&columns, outputs.iter().map(row), |page, number, _| {
        if let Some(output) = outputs.get(number).filter(|_| full) {
            page.content(&output.content);
        }
    });
}

pub(crate) fn figures(stats: &BundleStats) -> String {
    let leaves = if stats.terminal_nodes == 1 {
        "1 leaf".to_owned()
    } else {
        format!("{} leaves", stats.terminal_nodes)
    };
    [
        count(stats.total_nodes, "node"),
        leaves,
        format!("depth {}", stats.max_depth),
        count(stats.total_outputs, "output"),
        count(stats.unresolved_count, "question"),
        format!("on average unclear {}, settled {}", stats.avg_terminal_entropy, stats.avg_terminal_density),
    ]
    .join(" · ")
}
