//! Hostile note proposals: nothing of them reaches the disk unescaped or outside the vault, and what does is
//! read by others as what it was.

#![cfg(target_os = "linux")]

use crate::harness::Project;
use crate::harness::notes::proposal;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Everything below a folder but what ordain keeps, with its content; links by where they lead.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if path.is_symlink() {
            files.insert(name, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else if path.is_dir() {
            if path.file_name().unwrap() != ".ordain" {
                files.insert(name, Vec::new());
                files.extend(tree(&path));
            }
        } else {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

fn started() -> Project {
    let project = Project::empty();
    project.write("vault/n/there.md", "---\ntitle: There\n---\n\nold\n");
    project.write("outside/secret.md", "secret\n");
    std::os::unix::fs::symlink("../outside", project.path("vault/linked")).unwrap();
    std::os::unix::fs::symlink("../../outside/secret.md", project.path("vault/n/secret.md")).unwrap();
    project
}

/// Validates, shows and applies what is in the file; all of it must refuse and change nothing.
fn refused(project: &Project, what: &str) {
    let before = tree(&project.path(""));
    for command in ["validate", "show", "apply"] {
        let ran = project.run(&["note", command, "note.json", "--vault", "vault"]);
        assert!(ran.code != 0, "{what}: {command} says {}{}", ran.stdout, ran.stderr);
        assert!(ran.code < 64, "{what}: {command} ends with {}", ran.code);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        let raw =
            |it: char| (it.is_control() && it != '\n') || matches!(it, '\u{200b}' | '\u{202e}' | '\u{2066}');
        assert!(!all.contains(raw), "{what}: {command} prints it raw: {all:?}");
    }
    assert_eq!(tree(&project.path("")), before, "{what}");
}

#[test]
fn paths_that_lead_elsewhere() {
    let project = started();
    let absolute = project.path("outside/new.md").display().to_string();
    for path in [
        "../outside/new.md",
        "n/../../outside/new.md",
        "..",
        &absolute,
        "/new.md",
        "C:/new.md",
        "n\\new.md",
        "n/new.md/",
        "n/new.MD",
        "n/new.md\u{0}",
        "n/new.md\u{0}.png",
        "n/new.md\n",
        " n/new.md",
        "n/./new.md",
        "n//new.md",
        "new",
        "con.md",
        "n/NUL.md",
        "aux/x.md",
        "n/com1.md",
        "n/lpt\u{b9}.md",
        "n/new.md:stream.md",
        "n/new?.md",
        ".md",
        ".git/x.md",
        ".GIT/hooks.md",
        ".ordain/x.md",
        ".obsidian/x.md",
        "km/x.md",
        "km/routing.yaml",
        "KM/x.md",
        "n/a\u{202e}dm.md",
        "n/a\u{200b}.md",
        "linked/new.md",
        "linked/secret.md",
        "n/secret.md",
        "n/there.md",
        "n/THERE.md",
        "n/there.md/x.md",
        "N/new.md",
        "",
        "n/%2e%2e/../x.md",
        "file:///tmp/x.md",
        "~/x.md\u{7}",
    ] {
        for origin in ["prompt", "refinement"] {
            project.write("note.json", &proposal(json!({"path": path, "origin": origin})).to_string());
            refused(&project, &format!("{path:?} of {origin}"));
        }
    }
    for path in ["linked/secret.md", "n/secret.md", "n/none.md", "../outside/secret.md", "n/THERE.md"] {
        project.write("note.json", &proposal(json!({"path": path, "origin": "enhancement"})).to_string());
        refused(&project, &format!("{path:?} of an enhancement"));
    }
    let long = format!("{}.md", "x".repeat(300));
    project.write("note.json", &proposal(json!({"path": long})).to_string());
    refused(&project, "a long name");
}

#[test]
fn texts_that_hide_something() {
    let project = started();
    for (what, change) in [
        ("front matter by the title", json!({"title": "x\n---\nadmin: true\n---\n"})),
        ("a title of a megabyte", json!({"title": "x".repeat(1_000_000)})),
        ("a title with an escape", json!({"title": "abc\u{1b}[2J"})),
        ("a title that turns around", json!({"title": "abc\u{202e}cba"})),
        ("a tag with a line", json!({"tags": ["a\nadmin: true"]})),
        ("an alias that nobody sees", json!({"aliases": ["a\u{200b}b"]})),
        ("a second front matter", json!({"body": "---\ntitle: other\n---\n# T\n"})),
        ("a bell", json!({"body": "a\u{7}b"})),
        ("a null", json!({"body": "a\u{0}b"})),
        ("a carriage return", json!({"body": "visible\rhidden"})),
        ("text that turns around", json!({"body": "a \u{202e} b"})),
        ("text in tags that nobody sees", json!({"body": "a\u{e0041}\u{e0042}"})),
        ("a link that runs a program", json!({"body": "[a](javascript:alert(1))"})),
        ("a link that hides it", json!({"body": "[a](  java&#x0A;script:alert(1))"})),
        ("two megabytes", json!({"body": "x".repeat(2_000_000)})),
        ("nothing", json!({"body": " \n\t"})),
    ] {
        project.write("note.json", &proposal(change).to_string());
        refused(&project, what);
    }
    let mut fake = proposal(json!({"path": "n/fake.md"}));
    fake["hash"] = json!("0".repeat(64));
    project.write("note.json", &fake.to_string());
    refused(&project, "a false hash");
    fake["body"]["content_md"] = json!("other");
    project.write("note.json", &fake.to_string());
    refused(&project, "another body");
    project.write("note.json", &proposal(json!({})).to_string().replacen("{", "{\"hash\":\"x\",", 1));
    refused(&project, "a field twice");
}

#[test]
fn scripts_are_text() {
    let project = started();
    let body = "# T\n\n<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> b\n\n- x\n  ```\n<iframe src=y>\n  ```\n\n\
                <!-- -->\n\n```html\n<b>code</b>\n```\n\n<https://example.org>\n";
    project.write("note.json", &proposal(json!({"path": "n/new.md", "body": body})).to_string());
    project.run(&["note", "apply", "note.json", "--vault", "vault"]).ended(0).says_all(&["HTML_ESCAPED"]);
    let written = project.read("vault/n/new.md");
    for tag in ["<script", "</script", "<img", "<iframe", "<!--"] {
        assert!(!written.contains(tag), "{tag} in {written}");
        assert!(written.contains(&tag.replace('<', "&lt;")), "{tag} in {written}");
    }
    assert!(written.contains("<b>code</b>") && written.contains("<https://example.org>"), "{written}");
}

/// PyYAML's reading of the front matter of each note: title, status, tags, aliases.
fn read_by_python(project: &Project, paths: &[String]) -> Vec<Json> {
    const PROGRAM: &str = "import json, sys, yaml\n\
        for path in json.load(sys.stdin):\n\
        \x20   text = open(path, encoding='utf-8', newline='').read()\n\
        \x20   head, matter, body = text.split('---\\n', 2)\n\
        \x20   assert head == ''\n\
        \x20   fields = yaml.safe_load(matter)\n\
        \x20   assert list(fields) == ['title', 'status', 'tags', 'aliases'], fields\n\
        \x20   print(json.dumps(list(fields.values())))\n";
    let mut child = Command::new("/usr/bin/python3")
        .args(["-c", PROGRAM])
        .current_dir(project.path("vault"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(json!(paths).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn others_read_the_same_values() {
    let project = started();
    let titles = [
        "a: b",
        "a #b",
        "---",
        "--- x",
        "...",
        "yes",
        "Off",
        "null",
        "1.5",
        "0x1F",
        "0o17",
        "1_000",
        "12:30:00",
        "2024-01-01",
        "!!python/object:os.system x",
        "!tag",
        "&anchor x",
        "*alias",
        "- item",
        "? key",
        "| block",
        "> fold",
        "@at",
        "`tick`",
        "%dir",
        "[a, b]",
        "{a: b}",
        "\"quoted\"",
        "'single'",
        "a\\b",
        "\\x41 \\n",
        "it's",
        " padded ",
        "ünïcödé",
        "日本語",
        "end:",
        "=  =",
        "<<: merge",
        ".inf",
        "“q”",
        "title: x",
        "⚠️ care",
        "👩‍👧 two",
        "a\u{301}b",
        "~ ~",
        "None",
        "TRUE",
        "\u{fffd}\u{e000}x",
        "-1e5",
        "+.5x",
        "#hash",
        "x, y",
        "True story",
        "می‌خواهم",
        "<script>alert(1)</script>",
    ];
    let mut paths = Vec::new();
    for (number, title) in titles.iter().enumerate() {
        paths.push(format!("n/t{number}.md"));
        let change = json!({"path": paths[number], "title": title, "tags": [title, "no", "y", "On", "7", "~"], "aliases": [title]});
        project.write("note.json", &proposal(change).to_string());
        project.run(&["note", "apply", "note.json", "--vault", "vault"]).ended(0);
    }
    for (title, read) in titles.iter().zip(read_by_python(&project, &paths)) {
        assert_eq!(read, json!([title, "draft", [title, "no", "y", "On", "7", "~"], [title]]));
    }
}
