//! The index: what it reads, what it finds, and what it does not believe.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod support;

use ordain_vault::{Index, Updated, Vault};
use serde_json::json;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};
use support::{Files, draft};

const FILE: &str = ".ordain/vault-index.json";

fn vault() -> Files {
    let files = Files::new(&[
        (
            "a/rest.md",
            "---\ntitle: REST\naliases: [representational]\ntags: [api]\n---\n\n# R\n\n[[RPC]] [x](../b/y.md)\n",
        ),
        ("a/rpc.md", "# RPC\n"),
        ("b/rpc.md", "# Other\n"),
        ("b/broken.md", "---\na: [\n---\n# Broken\n"),
        ("b/binary.md", "x"),
        ("km/own.md", "# no\n"),
        (".hidden/x.md", "# no\n"),
        ("b/text.txt", "no"),
    ]);
    fs::write(files.path().join("b/binary.md"), [0xff, 0xfe]).unwrap();
    for path in ["a/rest.md", "a/rpc.md", "b/rpc.md", "b/broken.md", "b/binary.md"] {
        age(&files, path, 60);
    }
    files
}

/// Files written a moment ago are read again, so tests write in the past.
fn age(files: &Files, path: &str, seconds: u64) {
    let file = File::options().append(true).open(files.path().join(path)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

fn open(files: &Files) -> (Index, Updated) {
    Index::open(&Vault::open(files.path()).unwrap()).unwrap()
}

fn updated(read: usize, kept: usize, removed: usize) -> Updated {
    Updated { read, kept, removed }
}

#[test]
fn only_what_changed_is_read() {
    let files = vault();
    assert_eq!(open(&files).1, updated(5, 0, 0));
    assert_eq!(open(&files).1, updated(0, 5, 0));
    files.write("a/rpc.md", "# Remote\n");
    age(&files, "a/rpc.md", 50);
    files.write("c/new.md", "# New\n");
    age(&files, "c/new.md", 50);
    fs::remove_file(files.path().join("b/rpc.md")).unwrap();
    let (index, now) = open(&files);
    assert_eq!(now, updated(2, 3, 1));
    assert_eq!(index.get("a/rpc.md").unwrap().title, "Remote");
    assert_eq!(index.find("[[New]]"), ["c/new.md"]);
    // Same length and same time, but another file.
    let (old, new) = (files.path().join("a/rpc.md"), files.path().join("a/.new"));
    let modified = fs::metadata(&old).unwrap().modified().unwrap();
    fs::write(&new, "# Secret\n").unwrap();
    File::options().append(true).open(&new).unwrap().set_modified(modified).unwrap();
    fs::rename(&new, &old).unwrap();
    assert_eq!(open(&files).1, updated(1, 4, 0));
    // A file written a moment ago may be written again without a trace.
    files.write("c/new.md", "# Newer\n");
    assert_eq!(open(&files).1, updated(1, 4, 0));
    assert_eq!(open(&files).1, updated(1, 4, 0));
    let fresh = Index::build(&Vault::open(files.path()).unwrap()).unwrap();
    assert!(
        fresh
            .notes()
            .map(|(path, note)| (path, &note.title, &note.hash))
            .eq(open(&files).0.notes().map(|(path, note)| (path, &note.title, &note.hash)))
    );
}

#[test]
fn a_damaged_or_foreign_index_is_not_believed() {
    let files = vault();
    open(&files);
    let path = files.path().join(FILE);
    let kept = fs::read_to_string(&path).unwrap();
    let (_, json) = kept.split_once('\n').unwrap();
    let signed = |json: &str| format!("{}\n{json}", ordain_canon::ContentHash::of(json.as_bytes()));
    let damaged = [
        String::new(),
        "{}".to_owned(),
        kept.replace("REST", "ROOT"),
        kept[..kept.len() - 10].to_owned(),
        signed("{}"),
        signed(&json.replacen("[1,", "[2,", 1)),
        signed(&json.replacen("[1,", "[1,9", 1)),
        signed("[]"),
    ];
    for text in damaged {
        fs::write(&path, &text).unwrap();
        let (index, read) = open(&files);
        assert_eq!(read, updated(5, 0, 0), "{text}");
        assert_eq!(index.get("a/rest.md").unwrap().title, "REST");
        assert_eq!(open(&files).1, updated(0, 5, 0));
    }
    // One that is whole is believed, or this test would say nothing.
    fs::write(&path, signed(json)).unwrap();
    assert_eq!(open(&files).1, updated(0, 5, 0));
    // Where it cannot be kept it is built each time.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(open(&files).1, updated(5, 0, 0));
}

#[test]
fn notes_are_found_by_their_names() {
    let files = vault();
    let (index, _) = open(&files);
    for (reference, expected) in [
        ("a/rest.md", &["a/rest.md"][..]),
        ("a/rest", &["a/rest.md"]),
        ("[[REST#R|shown]]", &["a/rest.md"]),
        ("representational", &["a/rest.md"]),
        ("Representational", &["a/rest.md"]),
        ("[[rpc]]", &["a/rpc.md", "b/rpc.md"]),
        ("b/RPC", &["b/rpc.md"]),
        ("Other", &["b/rpc.md"]),
        ("Broken", &["b/broken.md"]),
        ("own", &[]),
        ("", &[]),
        ("pc", &[]),
    ] {
        assert_eq!(index.find(reference), expected, "{reference}");
    }
    assert_eq!(index.get("a/rest.md").unwrap().links, ["[[RPC]]", "../b/y.md"]);
    assert!(index.get("b/broken.md").unwrap().problem.as_deref().unwrap().contains("YAML"));
    assert!(index.get("b/binary.md").unwrap().problem.as_deref().unwrap().contains("UTF-8"));
}

#[test]
fn names_that_are_taken_and_links_that_lead_nowhere() {
    let files = vault();
    let (index, _) = open(&files);
    let warned = |change| {
        let warnings = index.warnings(&draft(change));
        warnings.iter().map(|it| format!("{} {} {}", it.code, it.path, it.message)).collect::<Vec<_>>()
    };
    let body = "[[REST]] [[a/rpc]] [x](../rest.md) [y](a/rest.md) [z](https://x.org/a.md) [[me]] ![[pic.png]] `[[code]]` [m](me.md)\n";
    let fine = json!({"path": "a/x/me.md", "title": "Mine", "aliases": null, "body": body,
        "links": ["a/rest.md", "https://example.org", "[[RPC]]"]});
    assert_eq!(warned(fine), [""; 0]);
    let bad = json!({"path": "a/x/me.md", "title": "rest", "aliases": ["new", "Other"], "body": "[[none]] [x](none.md)",
        "links": ["a/none.md"]});
    assert_eq!(
        warned(bad),
        [
            "LINK_UNKNOWN /body/content_md there is no note `[[none]]`",
            "LINK_UNKNOWN /body/content_md there is no note `none.md`",
            "NAME_TAKEN /frontmatter/aliases/1 `b/rpc.md` has this title or alias already",
            "NAME_TAKEN /frontmatter/title `a/rest.md` has this title or alias already",
            "LINK_UNKNOWN /governance/related_links/0 there is no note `a/none.md`",
        ]
    );
    // A note has its own name.
    assert_eq!(
        warned(json!({"path": "a/rest.md", "title": "REST", "aliases": ["representational"]})),
        [""; 0]
    );
}
