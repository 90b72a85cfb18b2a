//! Statements that contradict each other, and statements that do not.

use super::*;
use crate::requirement::requirements;
use crate::text::Text;

fn found(constraints: &[&str]) -> Vec<Vec<usize>> {
    let texts: Vec<_> = constraints.iter().map(|it| Text::new(it)).collect();
    let read: Vec<_> = texts.iter().map(requirements).collect();
    contradictions(&read).into_iter().map(|it| it.constraints).collect()
}

/// How many of the sets that contradict themselves are found, those that are not, and false alarms.
fn measured(pairs: &str) -> (usize, Vec<String>, usize, Vec<String>) {
    let (mut found, mut missed, mut quiet, mut alarms) = (0, Vec::new(), 0, Vec::new());
    for line in pairs.lines() {
        let item: serde_json::Value = serde_json::from_str(line).unwrap();
        let texts: Vec<&str> =
            item["constraints"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        let texts: Vec<Text<'_>> = texts.into_iter().map(Text::new).collect();
        let read: Vec<_> = texts.iter().map(requirements).collect();
        let goal = Text::new(item["goal"].as_str().unwrap_or_default());
        let any = !contradictions_with(&read, &requirements(&goal)).is_empty();
        match (item["contradicts"].as_bool().unwrap(), any) {
            (true, true) => found += 1,
            (true, false) => missed.push(line.to_owned()),
            (false, false) => quiet += 1,
            (false, true) => alarms.push(line.to_owned()),
        }
    }
    (found, missed, quiet, alarms)
}

/// Pairs that were written before the rules for them.
#[test]
fn pairs_that_were_written_before() {
    let (found, missed, quiet, alarms) =
        measured(include_str!("../../../../data/clarify/contradictions.jsonl"));
    assert_eq!((found, quiet), (30, 20), "missed: {missed:#?}\nfalse alarms: {alarms:#?}");
}

/// Pairs of the same kinds that were written when the rules were finished, and measured once.
#[test]
fn pairs_that_the_rules_had_not_seen() {
    let (found, missed, quiet, alarms) =
        measured(include_str!("../../../../data/clarify/contradictions-unseen.jsonl"));
    assert_eq!((found, missed.len()), (29, 1), "missed: {missed:#?}");
    assert_eq!(quiet, 20, "false alarms: {alarms:#?}");
}

/// Contradictions that bundles once missed.
#[test]
fn pairs_that_were_missed() {
    for (goal, constraints) in [
        ("", vec!["Minimum replicas: 10", "Maximum replicas: 5"]),
        ("", vec!["Only admins may export", "Every user may export"]),
        ("", vec!["Downtime must be zero", "Downtime may be up to 10 minutes"]),
        ("", vec!["Deploy to eu-west-1 only", "Deploy to at least two regions"]),
        ("", vec!["The export must be synchronous", "The export must run asynchronously"]),
        ("", vec!["Release on 1 March", "Do not release before 15 March"]),
        ("Rewrite the importer in Go", vec!["The importer must stay in Python"]),
        ("Make the button green", vec!["The button must be red"]),
        (
            "Store passwords in plain text so that support can read them",
            vec!["Passwords must never be stored in plain text"],
        ),
    ] {
        let texts: Vec<Text<'_>> = constraints.iter().map(|it| Text::new(it)).collect();
        let read: Vec<_> = texts.iter().map(requirements).collect();
        let found = contradictions_with(&read, &requirements(&Text::new(goal)));
        assert_eq!(found.len(), 1, "{goal} {constraints:?}: {found:?}");
    }
}

#[test]
fn what_cannot_hold_together() {
    let mut wrong = Vec::new();
    for constraints in [
        vec!["port must be 8080", "port must be 9090"],
        vec!["The server must listen on port 8080", "The port must be 9090"],
        vec!["The request timeout must be 5 seconds.", "The request timeout must be 30 seconds."],
        vec!["Timeout: 30 s", "timeout must be at least 1 minute"],
        vec!["Response time must be under 200 ms", "Response time must be at least 0.5 s"],
        vec!["The queue must hold at least 10000 messages.", "The queue must hold at most 2000 messages."],
        vec!["The request must not take more than 5 s", "The request must take at least 10 s"],
        vec!["Retry exactly 3 times", "Retry at least 5 times"],
        vec!["The sender must log the request body.", "The sender must not log the request body."],
        vec!["Requests must be logged", "Do not log requests"],
        vec!["Use Redis for sessions", "Do not use Redis"],
        vec!["Never store passwords", "Store passwords"],
        vec!["Results must be sorted in ascending order", "Results must be sorted in descending order"],
        vec!["Logging must be enabled", "Logging must be disabled"],
        vec!["Use only PostgreSQL", "Store the orders in MySQL"],
        vec!["The output format must be JSON", "The output format must be XML"],
        vec!["The service must be written in Go", "The service must be written in Rust"],
        vec!["The branch must be `main`", "The branch must be `trunk`"],
        vec!["Run the migration before the deployment", "Run the deployment before the migration"],
        vec!["Passwords must be at least 12 characters and at most 10 characters long."],
        vec!["The API must be public", "The API must be private"],
        vec!["Users may export data", "Users must not export data"],
        vec!["Caching is required", "Caching is forbidden"],
        vec!["Use Kafka for events", "Kafka is forbidden"],
        vec!["Overwrite existing files", "Existing files must not be overwritten"],
        vec!["Don't store tokens", "Store tokens in the keychain"],
        vec!["The service is stateless", "The service is stateful"],
        vec!["Currency: EUR", "Currency: USD"],
        vec!["Time zone must be UTC", "Time zone must be CET"],
        vec!["The id must be an integer", "The id must be a string"],
        vec!["Implement the service in Go", "Implement the service in Java"],
        vec!["The frontend uses React", "The frontend uses Vue"],
        vec!["Deploy to AWS only", "Deploy to Azure"],
        vec!["Accept only PNG", "Accept GIF"],
        vec!["Test coverage: 90 %", "Test coverage: 70 %"],
        vec!["The error rate must stay below 1 %", "The error rate must be above 2 %"],
        vec!["Set MAX_RETRIES=3", "Set MAX_RETRIES=7"],
        vec!["Exactly one admin", "Exactly two admins"],
        vec!["Encrypt the file before compressing it", "Compress the file before encrypting it"],
        vec!["First approve, then publish", "First publish, then approve"],
        vec!["The size must be greater than 10 and less than 5"],
        vec!["Logging must be enabled and disabled"],
        vec!["Page size must be exactly 50", "Page size must not exceed 20"],
        vec!["The service must run 3 replicas", "The service must run 5 replicas"],
        vec!["The backup must run at 02:00", "The backup must run at 04:00"],
        vec!["Node 18 or later", "Node 16 or earlier"],
        vec!["Logs are retained for 30 days", "Logs must be retained for at least 1 year"],
        vec!["The search is case sensitive", "The search is case insensitive"],
        vec!["Use of eval is not allowed", "Use eval"],
        vec!["There must be no logging", "Logging must happen"],
        vec!["The timeout must be both 5 s and 10 s"],
        vec![
            "Nobody may delete invoices",
            "Admins may delete invoices",
            "Nobody may delete invoices ever",
            "Delete invoices",
        ],
    ] {
        if found(&constraints).len() != 1 {
            wrong.push(format!("{constraints:?}: {:?}", found(&constraints)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let cycle = ["Lint before test", "Test before deploy", "Deploy before lint", "Build before lint"];
    assert_eq!(found(&cycle), [vec![0, 1, 2]]);
    assert_eq!(
        found(&["port must be 1", "port must be 2", "port must be 3", "host must be 4"]),
        [vec![0, 1, 2]]
    );
}

#[test]
fn what_can() {
    let mut wrong = Vec::new();
    for constraints in [
        vec!["must not log secrets", "must validate input"],
        vec!["HTTP port must be 8080", "The metrics port must be 9090"],
        vec!["Timeout must be at least 5 s", "Timeout must be at most 30 s"],
        vec!["Timeout must be 1 minute", "Timeout must be 60 s"],
        vec!["When the user is an admin, the limit is 100", "When the user is a guest, the limit is 10"],
        vec!["Sort names ascending", "Sort dates descending"],
        vec!["Support JSON", "Support XML"],
        vec!["Use PostgreSQL for orders", "Use Redis for sessions"],
        vec!["Use only PostgreSQL for storage", "Cache sessions in Redis"],
        vec!["Lint before test", "Test before deploy", "Lint before deploy"],
        vec!["Keep 3 copies", "Keep 3 copies of the log"],
        vec!["The cursor must not expose customer data", "The cursor must be signed"],
        vec!["Users may export data", "Users must not delete data"],
        vec!["Users may sort names ascending", "Users may sort names descending"],
        vec!["The API must not be slower than 200 ms", "The API must answer within 100 ms"],
        vec!["Retry 3 times within 10 s", "Wait 2 s"],
        vec!["Limit number 1 is high", "Limit number 2 is high"],
        vec!["Step 1 must be logged", "Step 2 must be logged"],
        vec!["Support Python 3.9", "Support Python 3.10"],
        vec!["Return status 404", "Return status 400"],
        vec!["Python >= 3.9", "Python < 3.13"],
        vec!["Must run on Ubuntu 22.04", "Must run on Ubuntu 24.04"],
        vec!["Accept files up to 50 MB", "Reject files over 50 MB"],
        vec!["Allow port 443", "Block port 22"],
        vec!["Include rows with a status", "Exclude rows without a status"],
        vec!["Keep 10 backups", "Do not keep more than 10 backups"],
        vec!["The left sidebar is 240 px wide", "The right sidebar is 320 px wide"],
        vec!["Start the API before the worker", "Stop the worker before the API"],
        vec!["Severity 1: 1 h", "Severity 2: 4 h"],
        vec!["Listen on port 8080 for HTTP", "Listen on port 8443 for HTTPS"],
        vec!["The discount is 5 % after 2 years", "The discount is 10 % after 5 years"],
        vec!["Reject names shorter than 3 characters", "Reject names longer than 50 characters"],
        vec!["Temperatures under 0 or over 40 raise an alarm"],
        vec!["Shift with x << 2 and y >> 3"],
        vec!["Take a backup before the migration", "Take a backup after the migration"],
        vec!["Send one email per day", "Do not send more than one email per day"],
        vec!["Delete files", "Do not delete files that are in use"],
        vec!["Do not store passwords", "Store password hashes"],
    ] {
        if !found(&constraints).is_empty() {
            wrong.push(format!("{constraints:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
