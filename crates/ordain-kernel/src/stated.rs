//! Criteria that a bundle states as commands: `Done when `make test` passes` is a test that can be run.

use ordain_clarity::strength::{Modality, strength};
use ordain_clarity::text::{Kind, Text, Token};
use ordain_spec::bundle::Bundle;
use ordain_spec::intent::IntentTest;
use ordain_spec::plan::TestType;
use ordain_spec::split_command;
use std::collections::BTreeSet;

/// A command that a text says must succeed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedCommand {
    /// Its spelling in the text; it needs no shell.
    pub line: String,
    /// Whether the work is not done without it.
    pub required: bool,
}

/// Programs whose bare name is a command.
#[rustfmt::skip]
static PROGRAMS: &[&str] = &[
    "ava", "bats", "busted", "clippy", "ctest", "eslint", "flake8", "gradle", "jest", "just", "make", "mocha", "mypy", "ninja", "nosetests", "phpunit", "pre-commit",
    "prettier", "prove", "pylint", "pytest", "rake", "rspec", "rubocop", "ruff", "shellcheck", "stylelint", "task", "tox", "tsc", "vitest",
];

/// The commands that a text states as criteria, in its order.
pub(crate) fn stated_commands(text: &Text<'_>) -> Vec<StatedCommand> {
    let mut found: Vec<StatedCommand> = Vec::new();
    for range in &text.sentences {
        let sentence = text.sentence(range);
        if !sentence.iter().any(|it| it.kind == Kind::Code) {
            continue;
        }
        let (modality, negative) = strength(sentence);
        if negative {
            continue;
        }
        let required = modality == Modality::Must;
        for (at, token) in sentence.iter().enumerate().filter(|(_, it)| it.kind == Kind::Code) {
            let line = token.text.trim_matches('`').trim();
            if succeeds(sentence, at) && is_command(line) && !found.iter().any(|it| it.line == line) {
                found.push(StatedCommand { line: line.to_owned(), required });
            }
        }
    }
    found
}

/// The stated criteria of a bundle that are commands, as tests. They follow from the goals and constraints of
/// its leaves, so that nobody who works on the bundle can change them.
pub fn stated_tests(bundle: &Bundle) -> Vec<IntentTest> {
    let leaves = bundle.terminal_nodes.iter();
    let texts: BTreeSet<&str> = leaves
        .flat_map(|leaf| std::iter::once(&leaf.goal).chain(&leaf.constraints))
        .map(String::as_str)
        .collect();
    let mut tests: Vec<IntentTest> = Vec::new();
    for command in texts.into_iter().flat_map(|text| stated_commands(&Text::new(text))) {
        match tests.iter_mut().find(|it| it.target == command.line) {
            // A demand of one sentence stays, whatever another makes optional.
            Some(known) => known.required = Some(known.required == Some(true) || command.required),
            None => tests.push(IntentTest {
                name: format!("stated: `{}` succeeds", command.line),
                test_type: TestType::CommandSuccess,
                target: command.line,
                expected: "0".to_owned(),
                required: Some(command.required),
            }),
        }
    }
    tests
}

/// Whether the words behind the command at `at`, or behind a list of commands, say that it succeeds.
fn succeeds(sentence: &[Token<'_>], at: usize) -> bool {
    let word = |at: usize| sentence.get(at).map(|it| &*it.lower).unwrap_or_default();
    let mut next = at + 1;
    // `a`, `b` and `c` pass
    while matches!(word(next), "," | "and" | "both" | "all")
        || sentence.get(next).is_some_and(|it| it.kind == Kind::Code)
    {
        next += 1;
    }
    while matches!(
        word(next),
        "must"
            | "shall"
            | "should"
            | "still"
            | "now"
            | "always"
            | "also"
            | "will"
            | "has"
            | "have"
            | "to"
            | "both"
    ) {
        next += 1;
    }
    match (word(next), word(next + 1)) {
        ("passes" | "pass" | "succeeds" | "succeed", _) => true,
        ("exits" | "exit", "0" | "with" | "cleanly") => {
            word(next + 1) != "with" || matches!(word(next + 2), "0" | "code" | "status")
        }
        ("returns" | "return", "0")
        | ("is" | "are" | "be" | "stays", "green")
        | ("runs" | "run", "clean" | "cleanly" | "green" | "through") => true,
        _ => false,
    }
}

/// Whether a text in backticks is a command that needs no shell, and not a file, a name or a piece of code.
fn is_command(line: &str) -> bool {
    let Ok(argv) = split_command(line) else { return false };
    let Some(program) = argv.first() else { return false };
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.' | '/' | '+');
    let named = !program.is_empty() && program.chars().all(plain) && !program.starts_with('-');
    let script = program.starts_with("./") || program.ends_with(".sh");
    let bare = argv.len() > 1 || script || PROGRAMS.contains(&program.as_str());
    // `tests/a.py passes` names a file.
    let file = !script && ordain_clarity::literal::has_extension(program);
    named && bare && !file && !line.contains(['(', '=', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let commands = stated_commands(&Text::new(text));
        commands.into_iter().map(|it| format!("{}{}", it.line, if it.required { "" } else { "?" })).collect()
    }

    #[test]
    fn commands_that_must_succeed() {
        for (text, expected) in [
            ("Done when `python3 -B -m unittest -q` passes", vec!["python3 -B -m unittest -q"]),
            ("Done when `npm test` passes.", vec!["npm test"]),
            ("`make` succeeds", vec!["make"]),
            ("`cargo test` and `cargo clippy` must pass", vec!["cargo test", "cargo clippy"]),
            (
                "`cargo test`, `cargo fmt --check` and `make lint` pass",
                vec!["cargo test", "cargo fmt --check", "make lint"],
            ),
            ("`./check.sh` exits with 0", vec!["./check.sh"]),
            (
                "`go test ./...` stays green. `npm run lint` should pass.",
                vec!["go test ./...", "npm run lint?"],
            ),
            (
                "Done when `cargo test -p orders` passes, and `openapi/orders.yaml` describes both",
                vec!["cargo test -p orders"],
            ),
            ("A test in `test_calc.py` must cover negative numbers", vec![]),
            ("Done when `test_calc.py` passes", vec![]),
            ("Done when `add(2, 2) == 4` passes", vec![]),
            ("Done when `grep -c x < a.txt` passes", vec![]),
            ("Run `npm test`", vec![]),
            ("`npm test` must not pass", vec![]),
            ("`total` passes through", vec![]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
