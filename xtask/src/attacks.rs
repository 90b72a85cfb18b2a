//! The table of known attacks in `docs/attacks.md` names the tests that there are, all of them.

use crate::generate::files_below;
use crate::process::root;
use std::collections::{BTreeMap, BTreeSet};

/// The attacks that must be answered.
const REQUIRED: [u32; 15] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Two of these may be accepted, with a reason.
const OTHERS: [u32; 8] = [16, 17, 18, 19, 21, 24, 28, 31];

type Tests = BTreeMap<u32, BTreeSet<String>>;

/// The number in the name of a test, as in `a7_what_is_shown_…`.
fn number_of(name: &str) -> Option<u32> {
    name.strip_prefix('a')?.split_once('_')?.0.parse().ok()
}

/// The tests of a source: functions right below an attribute that makes them one.
fn tests_in(source: &str, found: &mut Tests) {
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        if let Some(name) = function.and_then(|rest| rest.split('(').next()).filter(|_| is_test)
            && let Some(number) = number_of(name)
        {
            found.entry(number).or_default().insert(name.to_owned());
        }
        is_test = line.starts_with("#[test]")
            || line.starts_with("#[tokio::test")
            || is_test && line.starts_with('#');
    }
}

/// The tests that the table names, by attack.
fn listed(page: &str) -> Tests {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| A"));
    rows.map(|row| {
        let number = row.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let tests = cell.split(", ").filter_map(|name| name.strip_prefix('`')?.strip_suffix('`'));
        (number, tests.filter(|name| number_of(name) == Some(number)).map(str::to_owned).collect())
    })
    .collect()
}

#[test]
fn the_table_of_attacks_names_every_test_there_is() {
    let mut found = Tests::new();
    for path in files_below(&root().join("crates")).expect("the sources") {
        if path.extension().is_some_and(|extension| extension == "rs") {
            tests_in(&std::fs::read_to_string(&path).expect("a source"), &mut found);
        }
    }
    let page = std::fs::read_to_string(root().join("docs/attacks.md")).expect("the page");
    let mut table = listed(&page);
    for number in REQUIRED {
        assert!(table.get(&number).is_some_and(|tests| !tests.is_empty()), "A{number} has no test");
    }
    let accepted = OTHERS.iter().filter(|number| table.get(number).is_some_and(BTreeSet::is_empty)).count();
    assert!(OTHERS.iter().all(|number| table.contains_key(number)) && accepted <= 2);
    table.retain(|_, tests| !tests.is_empty());
    assert_eq!(table, found);
}

#[test]
fn only_tests_count() {
    let mut found = Tests::new();
    tests_in(
        "#[test]\nfn a1_x() {}\nfn a1_helper() {}\n#[tokio::test]\nasync fn a12_y() {}\n#[test]\nfn a_z() {}",
        &mut found,
    );
    assert_eq!(found.into_values().flatten().collect::<Vec<_>>(), ["a1_x", "a12_y"]);
}
