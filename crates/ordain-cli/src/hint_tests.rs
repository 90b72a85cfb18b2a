//! A command that a message tells people to run is one that the program takes.

use crate::cli::command;
use clap::error::ErrorKind;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "tests" {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// Messages of a source: without comments and tests, and with texts of several lines in one.
fn messages(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut parts = lines.join("\n").split("\\\n").map(str::to_owned).collect::<Vec<_>>();
    for part in parts.iter_mut().skip(1) {
        *part = part.trim_start().to_owned();
    }
    parts.concat()
}

/// A command between backquotes, and whether the words before it say to run it.
fn commands(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut before = "";
    for (at, part) in text.split('`').enumerate() {
        if part.starts_with("ordain ") && !part.contains(['\n', '…', '"']) {
            found.push((part.to_owned(), before.ends_with("run ") && at > 0));
        }
        before = part;
    }
    found
}

/// The words of a command, with values for those that stand for one.
fn words(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        plain.push_str(before);
        // One that is glued to a word adds options or nothing.
        if before.ends_with([' ', '=']) {
            plain.push_str("VALUE");
        }
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    let stands_for = |word: &str| word.chars().all(|it| it.is_ascii_uppercase() || "_-:.".contains(it));
    plain
        .split_whitespace()
        .map(|word| match word.split('|').next().unwrap_or_default() {
            first if stands_for(first) && !first.starts_with('-') => "1".to_owned(),
            first => first.to_owned(),
        })
        .collect()
}

/// The error in a command that a message names.
fn objection(text: &str, is_order: bool) -> Option<String> {
    let error = command().try_get_matches_from(words(text)).err()?;
    let is_name = words(text).iter().all(|word| word.chars().all(|it| it.is_ascii_lowercase() || it == '-'));
    let is_fine = match error.kind() {
        // A value of the reader's own.
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => true,
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        // `ordain hook` in a sentence is the name of a command.
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => is_name && !is_order,
        _ => false,
    };
    (!is_fine).then(|| error.to_string().lines().take(3).collect::<Vec<_>>().join(" "))
}

#[test]
fn every_command_in_a_message_can_be_run() {
    let mut paths = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for entry in std::fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut paths);
        }
    }
    let mut count = 0;
    let mut wrong = Vec::new();
    for path in paths {
        let text = messages(&std::fs::read_to_string(&path).unwrap());
        for (text, is_order) in commands(&text) {
            count += 1;
            let name = path.strip_prefix(crates).unwrap().display();
            wrong.extend(objection(&text, is_order).map(|why| format!("{name}: `{text}`: {why}")));
        }
    }
    assert!(count >= 80, "{count}");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_rule_sees_what_it_is_for() {
    for text in ["ordain permit outcom P", "ordain gate import", "ordain approve --as ann", "ordain ledger"] {
        assert!(objection(text, true).is_some(), "{text}");
    }
    for text in
        ["ordain recover{server}", "ordain hook", "ordain permit outcome {id} succeeded|failed --use N"]
    {
        assert_eq!(objection(text, false), None, "{text}");
    }
    assert_eq!(
        commands(&messages("// `ordain a`\nhint(\"run `ordain \\\n    doctor`, or `x`\")")),
        [("ordain doctor".to_owned(), true)]
    );
}
