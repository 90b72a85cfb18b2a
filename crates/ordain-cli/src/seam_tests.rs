//! The CLI talks to the gate through the typed client, and leaves proposals to `ordain-agent`.

use std::path::{Path, PathBuf};

/// Sources of the CLI, without this file.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("seam_tests.rs")
        {
            found.push(path);
        }
    }
}

/// Why a line does not belong into the CLI.
fn objection(line: &str) -> Option<&'static str> {
    let after = |mark: &str| line.split(mark).nth(1).map(str::trim_start);
    if ["\"/v1/", "\"/proposal", "\"/validate"].iter().any(|path| line.contains(path)) {
        return Some("names an HTTP path; use a method of ordain_client::Client");
    }
    let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    if after("status ==").is_some_and(is_number) || after("status !=").is_some_and(is_number) {
        return Some("compares an HTTP status; match on ProblemCode");
    }
    if line.contains("\"proposal_id\":") {
        return Some("writes a proposal as JSON; build an ordain_spec::action::Proposal");
    }
    None
}

#[test]
fn no_paths_no_statuses_and_no_proposals_as_json() {
    let mut paths = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut paths);
    assert!(paths.len() > 50);
    let mut found = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let told = objection(line).map(|why| format!("{}:{}: {why}", path.display(), number + 1));
            found.extend(told);
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_rule_sees_what_it_is_for() {
    for line in [
        r#"gateway.get("/v1/actions")"#,
        r#"raw("POST", "/proposal", body)"#,
        "if problem.status == 404 {",
        r#"json!({"proposal_id": id})"#,
    ] {
        assert!(objection(line).is_some(), "{line}");
    }
    assert!(objection("if bundle.status == BundleStatus::Incomplete {").is_none());
}
