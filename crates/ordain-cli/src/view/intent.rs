//! Intents: the goal, what must hold, and what comes along.

use super::plan::expected;
use crate::page::{Column, PLAIN, Page};
use crate::wording::{size_of, word, yes_no};
use ordain_spec::intent::{Context, Intent, IntentCommand, IntentFile, IntentTest};
use serde_json::{Map, Value as Json};

const KNOWN_KEYS: [&str; 4] = ["answers", "files", "commands", "tests"];

pub(super) fn show(page: &mut Page, intent: &Intent, full: bool) {
    page.title("intent", "");
    page.text_label("goal", &intent.goal);
    let constraints = intent.constraints.as_deref().unwrap_or_default();
    if !constraints.is_empty() {
        page.counted_section("Constraints", constraints.len());
        for constraint in constraints {
            page.item(constraint);
        }
    }
    let Some(context) = &intent.context else { return };
    match serde_json::from_value::<Context>(Json::Object(context.clone())) {
        Ok(known) => {
            show_known(page, &known, full);
            show_others(page, context);
        }
        Err(_) => {
            page.section("Context");
            page.json(context);
        }
    }
}

fn show_known(page: &mut Page, context: &Context, full: bool) {
    if let Some(answers) = &context.answers {
        page.counted_section("Answers", answers.len());
        for (question, answer) in answers {
            page.item(&format!("{question}  {answer}"));
        }
    }
    if let Some(files) = &context.files {
        page.counted_section("Files", files.len());
        let row = |it: &IntentFile| vec![size_of(&it.content), it.path.clone()];
        page.table(
            &[Column::Right("size"), Column::Left("path")],
            files.iter().map(row),
            |page, number, _| {
                if let Some(file) = files.get(number).filter(|_| full) {
                    page.content(&file.content);
                }
            },
        );
    }
    if let Some(commands) = &context.commands {
        page.counted_section("Commands", commands.len());
        // As a list of arguments: spaces inside one must not look like spaces between two.
        let row = |it: &IntentCommand| vec![yes_no(it.required.unwrap_or(true)).to_owned(), word(&it.argv)];
        page.table(
            &[Column::Left("required"), Column::Left("arguments")],
            commands.iter().map(row),
            |_, _, _| {},
        );
    }
    if let Some(tests) = &context.tests {
        page.counted_section("Tests", tests.len());
        let row = |it: &IntentTest| {
            vec![word(&it.test_type), yes_no(it.required.unwrap_or(true)).to_owned(), it.target.clone()]
        };
        let columns = [Column::Left("type"), Column::Left("required"), Column::Left("target")];
        page.table(&columns, tests.iter().map(row), |page, number, space| {
            let Some(test) = tests.get(number) else { return };
            page.prose(space, space, PLAIN, &test.name);
            page.prose(&format!("{space}expects "), space, PLAIN, &expected(&test.expected));
        });
    }
}

/// Keys without a meaning are kept in the intent and not looked at: a misspelt one should be seen.
fn show_others(page: &mut Page, context: &Map<String, Json>) {
    let mut others = context.clone();
    others.retain(|key, _| !KNOWN_KEYS.contains(&key.as_str()));
    if !others.is_empty() {
        page.counted_section("Other context, which has no meaning to the kernel", others.len());
        page.json(&others);
    }
}
