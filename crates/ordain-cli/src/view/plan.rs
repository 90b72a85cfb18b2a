//! Plan proposals: what is to be done, in order, and what must hold afterwards.

use crate::page::{Column, PLAIN, Page};
use crate::report::YELLOW;
use crate::wording::{first_line, short_hash, size_of, word, yes_no};
use ordain_spec::plan::{AcceptanceTest, Proposal, ProposedAction};

pub(super) fn show(page: &mut Page, plan: &Proposal, full: bool) {
    page.title("plan proposal", &plan.id);
    page.text_label("summary", &plan.summary);
    if plan.requires_approval {
        page.styled_label("approval", YELLOW, "required")
    } else {
        page.label("approval", "not required")
    }
    page.label("confidence", &plan.confidence.to_string());
    page.label(
        "bundle",
        &format!("{} {}", plan.source_bundle_id, short_hash(plan.source_bundle_hash.as_str())),
    );
    actions(page, &plan.actions, full);
    tests(page, &plan.acceptance_tests);
}

fn actions(page: &mut Page, actions: &[ProposedAction], full: bool) {
    page.counted_section("Actions", actions.len());
    // In the order of execution, also when the document is not.
    let mut sorted: Vec<&ProposedAction> = actions.iter().collect();
    sorted.sort_by_key(|action| action.order);
    let row = |it: &&ProposedAction| {
        vec![
            it.order.to_string(),
            word(&it.action_type),
            yes_no(it.required).to_owned(),
            it.content.as_deref().map(size_of).unwrap_or_default(),
            it.target.clone(),
        ]
    };
    let columns = [
        Column::Right("order"),
        Column::Left("type"),
        Column::Left("required"),
        Column::Right("size"),
        Column::Left("target"),
    ];
    page.table(&columns, sorted.iter().map(row), |page, number, space| {
        let Some(action) = sorted.get(number) else { return };
        if !action.description.is_empty() {
            page.prose(space, space, PLAIN, &first_line(&action.description));
        }
        if full {
            page.prose(space, space, PLAIN, &action.id);
            if let Some(content) = &action.content {
                page.content(content);
            }
        }
    });
}

fn tests(page: &mut Page, tests: &[AcceptanceTest]) {
    page.counted_section("Acceptance tests", tests.len());
    let row =
        |it: &AcceptanceTest| vec![word(&it.test_type), yes_no(it.required).to_owned(), it.target.clone()];
    let columns = [Column::Left("type"), Column::Left("required"), Column::Left("target")];
    page.table(&columns, tests.iter().map(row), |page, number, space| {
        let Some(test) = tests.get(number) else { return };
        page.prose(space, space, PLAIN, &format!("{} ({})", test.name, test.id));
        page.prose(&format!("{space}expects "), space, PLAIN, &expected(&test.expected));
    });
}

/// A hash, `true`, `0`, or the start of a content.
pub(super) fn expected(text: &str) -> String {
    if text.starts_with("sha256:") { short_hash(text) } else { first_line(text) }
}
