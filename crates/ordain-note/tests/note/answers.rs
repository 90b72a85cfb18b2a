//! The proposals that answers become.

use crate::support::{PROMPT, Vault, draft, drafter, good, request};
use ordain_canon::{Canonicalizer, NoteHash, Value};
use ordain_model::Settings;
use ordain_note::{Code, Drafter, EXAMPLES, Request, Source};
use serde_json::{Value as Json, json};
use std::path::Path;

#[tokio::test]
async fn an_answer_that_fits_becomes_a_proposal() {
    let vault = Vault::new();
    let draft = draft(&vault, &request(PROMPT), &good().to_string()).await.unwrap();
    let note = serde_json::to_value(&*draft.note).unwrap();
    assert_eq!(note["origin"], "prompt");
    assert!(draft.note.id.starts_with("prop-") && draft.note.id.len() == 21, "{}", draft.note.id);
    let text = Canonicalizer::new().value(&note).unwrap().to_vec();
    let hash = NoteHash::of(&mut Canonicalizer::new(), &Value::read(&text).unwrap()).unwrap();
    assert_eq!(draft.note.hash.as_str(), hash.to_string());
    let mut without = note.clone();
    for name in ["id", "origin", "hash"] {
        without.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(without, good());
    let steps = &draft.steps;
    assert_eq!((steps.attempts, steps.repair_attempted, steps.validation_error_count), (1, false, 0));
    assert_eq!((steps.input_size_chars, steps.context_count), (18, 0));
    assert_eq!(steps.proposal_hash.as_deref(), Some(draft.note.hash.as_str()));
    assert!(vault.files().is_empty());
}

/// Id and hash as Python makes them with `json.dumps(…, sort_keys=True)` and `hashlib`: the same on every
/// machine and day.
#[tokio::test]
async fn the_same_request_and_answer_have_the_same_hash() {
    let vault = Vault::new();
    let spelled: Vec<String> = vec![
        good().to_string(),
        serde_json::to_string_pretty(&good()).unwrap(),
        format!("\n {} \n", good()).replace("\"version\":1", "\"version\":1.0"),
    ];
    for answer in spelled {
        for prompt in [PROMPT, "  a note \n about   tides "] {
            let draft = draft(&vault, &request(prompt), &answer).await.unwrap();
            assert_eq!(draft.note.id, "prop-e3d9956870d932fd");
            assert_eq!(
                draft.note.hash.as_str(),
                "04f686d5bd35a4a8149aba189253edb6c464887a67275f4961140d51197cd74e"
            );
        }
    }
}

/// Whatever is not one JSON object is malformed; there is no repair recorded, so the failure says what was tried.
#[tokio::test]
async fn what_is_not_one_object_is_not_taken() {
    let vault = Vault::new();
    let good = good().to_string();
    for answer in [
        String::new(),
        format!("```json\n{good}\n```"),
        format!("Here is your note: {good}"),
        format!("{good} I hope it helps."),
        format!("{good}{good}"),
        "I cannot do that.".to_owned(),
        "[]".to_owned(),
        good[..good.len() - 3].to_owned(),
        good.replacen("\"version\":1", "\"version\":1,\"version\":1", 1),
        format!("\u{feff}{good}"),
    ] {
        let failure = draft(&vault, &request(PROMPT), &answer).await.unwrap_err();
        assert_eq!(failure.code, Code::NotRecorded, "{answer}: {failure}");
        let guidance = failure.repair_guidance.clone().unwrap();
        assert!(guidance.starts_with("- the whole: the answer "), "{answer}: {guidance}");
        assert!(failure.steps.repair_attempted && failure.steps.validation_error_count == 1);
        assert_eq!(failure.steps.attempts, 2);
    }
    assert!(vault.files().is_empty());
}

/// The first fault of an answer that has one field changed.
async fn fault_of(pointer: &str, value: Json) -> String {
    let vault = Vault::new();
    let mut answer = good();
    match answer.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let parent = answer.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            parent.insert(name.to_owned(), value);
        }
    }
    let drafted = draft(&vault, &request(PROMPT), &answer.to_string()).await;
    assert!(vault.files().is_empty());
    match drafted {
        Ok(draft) => panic!("{pointer}: {:?}", draft.note),
        Err(failure) => failure.repair_guidance.unwrap_or_else(|| panic!("{}", failure.message)),
    }
}

#[tokio::test]
async fn every_fault_is_named_with_its_place() {
    let cases = [
        ("/id", json!("prop-0123456789abcdef"), "/id: is set by the service; leave it out"),
        ("/origin", json!("prompt"), "/origin: is set by the service; leave it out"),
        ("/hash", json!("0".repeat(64)), "/hash: is set by the service; leave it out"),
        ("/extra", json!(1), "/extra: "),
        ("/body/extra", json!(1), "/body/extra: "),
        ("/version", json!(2), "/version: "),
        ("/target/path", json!("../tides.md"), "/target/path: "),
        ("/target/path", json!("/etc/tides.md"), "/target/path: "),
        ("/target/path", json!("sea/tides.txt"), "/target/path: "),
        ("/target/path", json!("sea/tides.MD"), "/target/path: "),
        ("/target/path", json!("sea/.hidden/tides.md"), "/target/path: "),
        ("/target/path", json!("km/tides.md"), "/target/path: "),
        ("/target/path", json!("sea\\tides.md"), "/target/path: "),
        ("/target/path", json!("sea/tides.md\u{0}.md"), "/target/path: "),
        ("/target/path", json!("sea/aux.md"), "/target/path: "),
        ("/target/route_id", json!(""), "/target/route_id: "),
        ("/frontmatter/title", json!("ab"), "/frontmatter/title: "),
        ("/frontmatter/title", json!("a".repeat(1 << 20)), "/frontmatter/title: "),
        ("/frontmatter/title", json!("Tides\n---\nadmin: true"), "/frontmatter/title: "),
        ("/frontmatter/title", json!("Ti\u{202e}sed"), "/frontmatter/title: "),
        ("/frontmatter/status", json!("done"), "/frontmatter/status: "),
        ("/frontmatter/tags", json!(vec!["a"; 25]), "/frontmatter/tags: "),
        ("/body/content_md", json!(""), "/body/content_md: "),
        ("/body/content_md", json!("a\u{7}b"), "/body/content_md: "),
        ("/governance/rationale", json!(""), "/governance/rationale: "),
        ("/governance/rationale", json!("we\u{2066}ll"), "/governance/rationale: "),
        ("/governance/rationale", json!("a".repeat(4_001)), "/governance/rationale: "),
        ("/governance/related_links", json!(["a\u{202e}b"]), "/governance/related_links/0: "),
        ("/governance/related_links", json!(vec!["a"; 101]), "/governance/related_links: "),
        ("/target/route_id", json!("s\u{0}ea"), "/target/route_id: "),
    ];
    for (pointer, value, expected) in cases {
        let guidance = fault_of(pointer, value.clone()).await;
        let found = guidance.lines().any(|line| line.starts_with(&format!("- {expected}")));
        assert!(found, "{pointer} = {}: {guidance}", value.to_string().chars().take(80).collect::<String>());
    }
}

#[tokio::test]
async fn an_enhancement_keeps_what_it_must() {
    let vault = Vault::new();
    vault.write("sea/tides.md", "---\ntitle: Tides\nstatus: draft\naliases: [ebb]\n---\n# Tides\n\nTwice.\n");
    let enhance =
        |path: &str| Request::new(Source::Prompt, "add a table", &[], Some(path.to_owned())).unwrap();
    let mut answer = good();
    answer["frontmatter"]["aliases"] = json!(["ebb"]);
    answer["frontmatter"]["status"] = json!("review");
    let request = enhance("sea/tides.md");
    let draft_ = draft(&vault, &request, &answer.to_string()).await.unwrap();
    assert_eq!(serde_json::to_value(&*draft_.note).unwrap()["origin"], "enhancement");
    for (pointer, value) in [
        ("/target/path", json!("sea/other.md")),
        ("/frontmatter/title", json!("Other")),
        ("/frontmatter/aliases", json!(["flood"])),
    ] {
        let mut changed = answer.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let failure = draft(&vault, &request, &changed.to_string()).await.unwrap_err();
        let guidance = failure.repair_guidance.clone().unwrap();
        assert!(guidance.contains(&format!("- {pointer}: ")), "{pointer}: {guidance}");
    }
    let missing = draft(&vault, &enhance("sea/none.md"), &answer.to_string()).await.unwrap_err();
    assert_eq!(missing.code, Code::InputInvalid);
    assert_eq!(missing.message, "there is no note `sea/none.md` in the vault");
    assert_eq!(missing.errors[0].path, "/enhance");
}

#[tokio::test]
async fn a_note_that_no_answer_could_hold_is_not_enhanced() {
    let vault = Vault::new();
    vault.write("sea/tides.md", &format!("---\ntitle: Tides\n---\n{}", "wave ".repeat(4_000)));
    let request = Request::new(Source::Prompt, "add a table", &[], Some("sea/tides.md".to_owned())).unwrap();
    let failure = draft(&vault, &request, &good().to_string()).await.unwrap_err();
    assert_eq!((failure.code, failure.errors[0].path.as_str()), (Code::InputInvalid, "/enhance"));
    assert!(failure.message.contains("raise `max_tokens`"), "{failure}");
}

/// A million faults are not told one by one.
#[tokio::test]
async fn what_is_told_is_bounded() {
    let vault = Vault::new();
    let mut answer = good();
    for number in 0..1_000 {
        answer[format!("k{number}")] = json!(1);
    }
    let failure = draft(&vault, &request(PROMPT), &answer.to_string()).await.unwrap_err();
    assert_eq!(failure.errors.len(), 100);
    assert_eq!(failure.repair_guidance.unwrap().lines().count(), 21);
    let refs: Vec<String> = (0..100_000).map(|number| format!("\"r{number}\"")).collect();
    let body = format!(r#"{{"prompt": "{PROMPT}", "contextRefs": [{}]}}"#, refs.join(","));
    let faults = Request::read(body.as_bytes()).unwrap_err();
    assert_eq!(faults.len(), 1);
    let body: serde_json::Map<String, Json> = (0..10_000).map(|it| (format!("f{it}"), json!(1))).collect();
    assert_eq!(Request::read(json!(body).to_string().as_bytes()).unwrap_err().len(), 100);
}

#[tokio::test]
async fn what_was_cut_is_said_in_the_rationale() {
    let vault = Vault::new();
    let long = "tides ".repeat(4_000);
    let draft_ = draft(&vault, &request(&long), &good().to_string()).await.unwrap();
    assert_eq!(
        draft_.note.governance.rationale.as_str(),
        "We live at the sea. The request was longer than what is read of it and was cut."
    );
    vault.write("sea/long.md", &format!("# Long\n\n{}", "tides ".repeat(4_000)));
    let request = Request::new(Source::Prompt, PROMPT, &["sea/long.md".to_owned()], None).unwrap();
    let draft_ = draft(&vault, &request, &good().to_string()).await.unwrap();
    assert!(
        draft_
            .note
            .governance
            .rationale
            .as_str()
            .ends_with("A note of the context was longer than what is read of it and was cut.")
    );
}

#[tokio::test]
async fn a_snapshot_is_written_only_if_it_is_wanted() {
    let vault = Vault::new();
    let request = request(PROMPT);
    let mut answer = good();
    answer["frontmatter"]["title"] = json!("Tides: \"high\" & low # 1");
    let drafter = drafter(&vault, &request, &answer.to_string(), true);
    let mut draft = drafter.draft(&request, "c-1").await.unwrap();
    assert!(vault.files().is_empty(), "nothing is written before the proposal is given out");
    drafter.keep(&mut draft, "c-1").await;
    assert!(draft.steps.snapshot_written);
    let files = vault.files();
    assert_eq!(files.len(), 1);
    let (name, text) = &files[0];
    assert_eq!(name, "km/.km_last_proposal.yaml");
    let json = ordain_vault::yaml::to_json(text.as_bytes()).unwrap().json;
    let read: Json = serde_json::from_slice(&json).unwrap();
    assert_eq!(read, serde_json::to_value(&*draft.note).unwrap());
}

/// A link where the snapshot goes must not lead it elsewhere.
#[cfg(unix)]
#[tokio::test]
async fn a_snapshot_follows_no_link() {
    let (vault, elsewhere) = (Vault::new(), Vault::new());
    std::os::unix::fs::symlink(&elsewhere.0, vault.0.join("km")).unwrap();
    let request = request(PROMPT);
    let drafter = drafter(&vault, &request, &good().to_string(), true);
    let failure = drafter.draft(&request, "c-1").await.unwrap_err();
    assert_eq!(failure.code, Code::Setup);
    assert!(elsewhere.files().is_empty());

    std::fs::remove_file(vault.0.join("km")).unwrap();
    elsewhere.write("target", "as it was");
    std::fs::create_dir(vault.0.join("km")).unwrap();
    let link = vault.0.join("km/.km_last_proposal.yaml");
    std::os::unix::fs::symlink(elsewhere.0.join("target"), &link).unwrap();
    let mut draft = drafter.draft(&request, "c-1").await.unwrap();
    drafter.keep(&mut draft, "c-1").await;
    assert!(draft.steps.snapshot_written && link.symlink_metadata().unwrap().is_file());
    assert_eq!(elsewhere.files(), [("target".to_owned(), "as it was".to_owned())]);
}

#[tokio::test]
async fn every_example_is_a_proposal() {
    let vault = Vault::new();
    let provider = Settings::default().provider(|_| None, Path::new("."), EXAMPLES).unwrap();
    let drafter = Drafter::new(provider, &vault.0, false);
    for (prompt, _) in EXAMPLES {
        let draft = drafter.draft(&request(prompt), "c-1").await.unwrap();
        let opened = ordain_vault::Vault::open(&vault.0).unwrap();
        let validation = ordain_vault::validate(&opened, &draft.note).unwrap();
        assert!(validation.ok() && validation.warnings.is_empty(), "{prompt}: {validation:?}");
    }
    let unknown = drafter.draft(&request("something else entirely"), "c-1").await.unwrap_err();
    assert_eq!(unknown.code, Code::NotRecorded);
    assert!(EXAMPLES.iter().all(|(prompt, _)| unknown.message.contains(prompt)), "{unknown}");
}
