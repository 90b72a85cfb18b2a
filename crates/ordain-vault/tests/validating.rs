//! Proposals against vaults: every code, where it points, what it offers.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod support;

use ordain_spec::patch::PatchOp;
use ordain_vault::{Finding, Vault, validate};
use serde_json::{Value as Json, json};
use support::{Files, draft, proposal};

const ROUTING: &str = "\
version: 1
routes:
  - id: api/design
    pattern: api/design/*.md
    template: article
    required_sections: [Summary]
  - id: inbox
    pattern: inbox/**/*.md
  - id: exact
    pattern: api/design/special.md
  - {id: one, pattern: tie/*x.md}
  - {id: two, pattern: tie/?x.md}
  - {id: three, pattern: 'tie/[a-z]x.md'}
  - {id: lost, pattern: lost/*.md, template: gone}
frontmatter:
  required: [title, tags]
  statuses: [draft, review]
templates:
  article:
    required_sections: [Summary, References]
";

fn routed() -> Files {
    Files::new(&[("km/routing.yaml", ROUTING)])
}

fn findings(files: &Files, change: Json) -> Vec<Finding> {
    validate(&Vault::open(files.path()).unwrap(), &draft(change)).unwrap().findings
}

/// Code, place and alternatives of each finding.
fn shown(files: &Files, change: Json) -> Vec<String> {
    let show = |it: Finding| format!("{} {} {}", it.code, it.path, it.alternatives.join(","));
    findings(files, change).into_iter().map(|it| show(it).trim_end().to_owned()).collect()
}

const BODY: &str = "# T\n\n## Summary\n\n## References\n";

#[test]
fn routes() {
    let files = routed();
    let check = |path: &str, route: &str| shown(&files, json!({"path": path, "route": route, "body": BODY}));
    assert_eq!(check("api/design/a.md", "api/design"), [""; 0]);
    assert_eq!(check("inbox/x/y/a.md", "inbox"), [""; 0]);
    assert_eq!(check("api/design/special.md", "exact"), [""; 0]);
    assert_eq!(check("api/design/special.md", "api/design"), ["ROUTING_MISMATCH /target/route_id exact"]);
    assert_eq!(check("elsewhere/a.md", "inbox"), ["ROUTING_MISMATCH /target/path"]);
    assert_eq!(check("elsewhere/a.md", "nowhere"), ["ROUTING_MISMATCH /target/path"]);
    assert_eq!(check("api/design/deep/a.md", "api/design"), ["ROUTING_MISMATCH /target/path"]);
    assert_eq!(check("tie/ax.md", "one"), ["ROUTING_PATTERN_CONFLICT /target/path"]);
    assert_eq!(check("lost/a.md", "lost"), ["ROUTING_TEMPLATE_UNKNOWN /target/route_id"]);
    let conflict = &findings(&files, json!({"path": "tie/ax.md", "route": "one", "body": BODY}))[0].message;
    assert!(conflict.contains("`one` (`tie/*x.md`) and `two` (`tie/?x.md`)"), "{conflict}");
}

#[test]
fn sections_and_front_matter() {
    let files = routed();
    let at = |change: Json| {
        let mut all = json!({"path": "api/design/a.md"});
        all.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        all
    };
    let missing = findings(&files, at(json!({"body": "# T\n\n```\n## Summary\n```\n\n> ## References\n"})));
    assert_eq!(missing[0].code.name(), "ROUTING_REQUIRED_SECTIONS_MISSING");
    assert_eq!(missing[0].message, "headings are missing: `Summary`, `References`");
    let set = "References\n---\n\n### Summary ###\n";
    assert_eq!(shown(&files, at(json!({"body": set}))), [""; 0]);
    assert_eq!(
        shown(&files, at(json!({"body": BODY, "tags": null, "status": "published"}))),
        ["SCHEMA_INVALID /frontmatter/status", "SCHEMA_INVALID /frontmatter/tags"]
    );
    assert_eq!(shown(&files, at(json!({"body": BODY, "tags": []}))), ["SCHEMA_INVALID /frontmatter/tags"]);
    // Everything that is wrong is told at once, in one order.
    assert_eq!(
        shown(
            &files,
            json!({"path": "elsewhere/a.md", "title": "a\u{202e}b", "status": "archived", "body": "\u{7}"})
        ),
        [
            "SCHEMA_INVALID /body/content_md",
            "SCHEMA_INVALID /frontmatter/status",
            "SCHEMA_INVALID /frontmatter/title",
            "ROUTING_MISMATCH /target/path"
        ]
    );
}

#[test]
fn collisions_offer_free_names_of_the_same_route() {
    let files = Files::new(&[
        ("notes/a.md", "a"),
        ("notes/a-2.md", "a"),
        ("notes/A-4.md", "a"),
        ("notes/caf\u{e9}.md", "a"),
        ("Big/b.md", "b"),
        ("file", "x"),
    ]);
    let check = |path: &str| shown(&files, json!({"path": path}));
    assert_eq!(check("notes/new.md"), [""; 0]);
    assert_eq!(check("notes/a.md"), ["PATH_COLLISION /target/path notes/a-3.md,notes/a-5.md,notes/a-6.md"]);
    assert_eq!(check("notes/A.md")[0], "PATH_COLLISION /target/path notes/a-3.md,notes/a-5.md,notes/a-6.md");
    assert_eq!(check("notes/cafe\u{301}.md").len(), 1);
    assert_eq!(check("big/b.md"), ["PATH_COLLISION /target/path Big/b-2.md,Big/b-3.md,Big/b-4.md"]);
    assert_eq!(check("big/c.md"), ["PATH_COLLISION /target/path Big/c.md,Big/c-2.md,Big/c-3.md"]);
    assert_eq!(check("file/a.md"), ["PATH_COLLISION /target/path"]);
    // A route that takes no other name offers none.
    files.write(
        "km/routing.yaml",
        "routes: [{id: r, pattern: notes/a.md}, {id: s, pattern: 'notes/a-3.md'}]\n",
    );
    assert_eq!(shown(&files, json!({"path": "notes/a.md", "route": "r"})), ["PATH_COLLISION /target/path"]);
}

#[test]
fn enhancements_keep_what_they_must() {
    let old = "---\ntitle: Old title\naliases: [one]\ntags: [t]\ncreated: 2024-01-05\n---\n\nold\n";
    let files = Files::new(&[
        ("n/old.md", old),
        ("n/broken.md", "---\na: [\n---\n"),
        ("n/plain.md", "# Plain\n"),
        ("n/folder.md/x", ""),
    ]);
    let check = |path: &str, change: Json| {
        let mut all = json!({"path": path, "origin": "enhancement", "title": "Old title", "aliases": ["one"], "tags": ["new"]});
        all.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        shown(&files, all)
    };
    assert_eq!(check("n/old.md", json!({})), [""; 0]);
    assert_eq!(check("n/old.md", json!({"aliases": null})), [""; 0]);
    assert_eq!(
        check("n/old.md", json!({"title": "New title"})),
        ["FM_UNCHANGED /frontmatter/title Old title"]
    );
    assert_eq!(check("n/old.md", json!({"aliases": []})), ["FM_UNCHANGED /frontmatter/aliases"]);
    assert_eq!(check("n/old.md", json!({"aliases": ["one", "two"]})), ["FM_UNCHANGED /frontmatter/aliases"]);
    assert_eq!(check("n/none.md", json!({})), ["SCHEMA_INVALID /target/path"]);
    assert_eq!(check("n/OLD.md", json!({})), ["SCHEMA_INVALID /target/path n/old.md"]);
    assert_eq!(check("n/folder.md", json!({})), ["SCHEMA_INVALID /target/path"]);
    assert_eq!(
        check("n/broken.md", json!({"title": "broken"})).last().unwrap(),
        "SCHEMA_INVALID /target/path"
    );
    assert_eq!(check("n/plain.md", json!({"title": "Plain", "aliases": null})), [""; 0]);
    assert_eq!(check("n/old.md", json!({"origin": "prompt"})).len(), 1);
    // A check of the vault may do either.
    assert_eq!(check("n/old.md", json!({"origin": "health_check"})), [""; 0]);
    assert_eq!(check("n/fresh.md", json!({"origin": "health_check"})), [""; 0]);
}

#[test]
fn the_patch_set_is_what_was_shown() {
    let old = "---\ntitle: Idempotent requests\ncreated: 2024-01-05\n---\n\nold\n";
    let path = "api/design/idempotent-requests.md";
    let files = Files::new(&[]);
    let vault = Vault::open(files.path()).unwrap();
    let new = proposal(json!({"body": "a <b>\n"}));
    let validation = validate(&vault, &new).unwrap();
    let (set, base) = validation.patch_set(&new, "").unwrap();
    assert_eq!(set.operations[0].op, PatchOp::Create);
    assert_eq!(set.operations[0].content, validation.text);
    assert_eq!(
        (set.source_proposal_id.as_str(), set.source_proposal_hash.as_str()),
        (&*new.id, &*format!("sha256:{}", new.hash.as_str()))
    );
    assert_eq!(base.files[path], None);
    let (inside, base) = validation.patch_set(&new, "my notes").unwrap();
    assert_eq!(inside.operations[0].path, format!("my notes/{path}"));
    assert_eq!(base.files.into_keys().collect::<Vec<_>>(), [format!("my notes/{path}")]);
    assert_eq!(validation.warnings[0].code.name(), "HTML_ESCAPED");
    assert!(validation.text.unwrap().ends_with("a &lt;b>\n"));
    files.write(path, old);
    assert!(validate(&vault, &new).unwrap().patch_set(&new, "").is_none());
    let better = proposal(json!({"origin": "enhancement", "aliases": null}));
    let (set, base) = validate(&vault, &better).unwrap().patch_set(&better, "").unwrap();
    assert_eq!(set.operations[0].op, PatchOp::Modify);
    assert_eq!(
        base.files[path].as_deref(),
        Some(&*ordain_canon::ContentHash::of(old.as_bytes()).to_string())
    );
}

#[test]
fn links_lead_nowhere() {
    let files = Files::new(&[("real/secret.md", "# Secret\n"), ("outside", "")]);
    let vault_files = Files::new(&[("a/x.md", "x")]);
    let link = |to: &str, from: &str| {
        std::os::unix::fs::symlink(files.path().join(to), vault_files.path().join(from)).unwrap();
    };
    link("real", "linked");
    link("real/secret.md", "a/secret.md");
    let vault = Vault::open(vault_files.path()).unwrap();
    assert_eq!(vault.paths().unwrap(), ["a/x.md"]);
    assert!(vault.note("linked/secret.md").is_err());
    assert!(vault.note("a/secret.md").is_err());
    for path in ["../x.md", "/etc/passwd.md", "km/routing.md", ".obsidian/x.md", "a/x.txt", "a//x.md"] {
        assert!(vault.note(path).is_err(), "{path}");
    }
    for path in ["linked/new.md", "a/secret.md", "linked/secret.md"] {
        for origin in ["prompt", "enhancement"] {
            let found = shown(&vault_files, json!({"path": path, "origin": origin}));
            assert_eq!(found, ["SCHEMA_INVALID /target/path"], "{path} {origin}");
        }
    }
    link("real/secret.md", "km");
    assert!(Vault::open(vault_files.path()).is_err());
}

#[test]
fn a_vault_that_cannot_be_used() {
    let problem = |text: &str| {
        let files = Files::new(&[("km/routing.yaml", text)]);
        Vault::open(files.path()).err().unwrap().to_string()
    };
    assert_eq!(
        problem("routes:\n  - id: a\n    pattern: ../x.md\n"),
        "km/routing.yaml: RT3 at `/routes/0/pattern`, line 3: pattern `../x.md` contains `..`"
    );
    assert!(problem("routes: [\n").starts_with("km/routing.yaml: not YAML"));
    assert!(problem("routes: []\nroutes: []\n").contains("line 2"));
    assert!(problem("routes: []\nmore: 1\n").contains("SCHEMA at `/more`, line 2"));
    assert!(problem(&"#".repeat(2_000_000)).contains("larger than"));
    assert!(problem("").contains("no document"));
    let nowhere = Files::new(&[]);
    assert!(Vault::open(&nowhere.path().join("none")).is_err());
    let vault = Vault::open(nowhere.path()).unwrap();
    assert!(vault.routing().is_none());
    assert!(vault.note("a.md").unwrap().is_none());
    nowhere.write("large.md", &"x".repeat(1_048_577));
    assert!(vault.note("large.md").unwrap_err().to_string().contains("larger than 1048576 bytes"));
}
