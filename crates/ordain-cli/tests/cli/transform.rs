//! `transform`, `clarify` and `verify --intent` with the real binary.

use crate::harness::{folder, ordain};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A file with this content in a folder.
fn file(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn exit_codes_say_what_came_out() {
    let folder = folder();
    let clear = file(&folder, "clear.json", r#"{"goal": "Add `--dry-run` to `deploy.sh`"}"#);
    let unclear = file(&folder, "unclear.yaml", "goal: Rename it to <name>\n");
    let refused = file(&folder, "refused.json", r#"{"goal": ""}"#);
    let marked = file(&folder, "marked.json", "\u{feff}{\"goal\": \"Add `--dry-run` to `deploy.sh`\"}");
    for (path, code, kind) in
        [(&clear, 0, "complete"), (&marked, 0, "complete"), (&unclear, 10, "incomplete")]
    {
        let ran = ordain(&["transform", path], "");
        assert_eq!(
            (ran.code, parsed(&ran.stdout)["status"].as_str()),
            (code, Some(kind)),
            "{path}: {}",
            ran.stderr
        );
    }
    let ran = ordain(&["transform", &refused], "");
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (11, "", "EMPTY_GOAL: Intent goal cannot be empty\n")
    );
    let ran = ordain(&["transform", "--json", &refused], "");
    assert_eq!(
        parsed(&ran.stdout),
        json!({"kernel_result_kind": "REFUSE", "bundle": null, "refuse": {"code": "EMPTY_GOAL", "message": "Intent goal cannot be empty"}})
    );
}

#[test]
fn bad_input_gets_a_clear_error() {
    let folder = folder();
    for (name, content, code, message) in [
        ("a.json", b"{\"goal\":" as &[u8], 11, "INVALID_INTENT: the text ends"),
        (
            "b.json",
            b"{\"goal\":\"a\",\"goal\":\"b\"}",
            11,
            "INVALID_INTENT: the object has the key `goal` twice",
        ),
        ("c.json", b"{\"goal\":\"\xff\"}", 11, "INVALID_INTENT: "),
        ("d.yaml", b"goal: [\n", 11, "INVALID_INTENT: "),
        ("e.json", b"", 11, "INVALID_INTENT: "),
    ] {
        let ran = ordain(&["transform", &file(&folder, name, content)], "");
        assert_eq!(ran.code, code, "{name}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(message), "{name}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"));
    }
    let long = file(
        &folder,
        "long.json",
        format!("{{\"goal\":\"x\",\"context\":{{\"n\":\"{}\"}}}}", "y".repeat(1 << 20)),
    );
    let ran = ordain(&["transform", &long], "");
    assert!(ran.code == 11 && ran.stderr.starts_with("LIMIT_EXCEEDED: The intent has "), "{}", ran.stderr);
    assert_eq!(ordain(&["transform", "no-such-file.json"], "").code, 1);
    assert_eq!(ordain(&["transform"], "").code, 64);
    assert_eq!(ordain(&["transform", &long, "--goal", "x"], "").code, 64);
    let text = file(&folder, "goal.bin", b"\xff");
    assert_eq!(ordain(&["transform", &text, "--goal"], "").code, 1);
}

#[test]
fn a_goal_may_be_plain_text() {
    let folder = folder();
    let goal = "Add `--dry-run` to `deploy.sh`";
    let text = file(&folder, "goal.txt", goal);
    let outputs = [
        ordain(&["transform", "--goal", goal], ""),
        ordain(&["transform", "--goal", "-"], goal),
        ordain(&["transform", &text, "--goal"], ""),
        ordain(&["transform", "-"], json!({"goal": goal}).to_string()),
    ];
    for ran in &outputs {
        assert_eq!((ran.code, &ran.stdout), (0, &outputs[0].stdout), "{}", ran.stderr);
    }
    let ran = ordain(&["transform", "--goal", &text], "");
    assert!(ran.stderr.contains("to read the file"), "{}", ran.stderr);
}

#[test]
fn streams_keep_their_order_on_any_number_of_cores() {
    let folder = folder();
    let mut lines = Vec::new();
    for number in 0..400 {
        lines.push(match number % 4 {
            0 => json!({"goal": format!("Add `flag_{number}` to `deploy.sh`")}).to_string(),
            1 => json!({"goal": format!("Rename number {number} to <name>")}).to_string(),
            2 => json!({"goal": number}).to_string(),
            _ => format!("{{\"goal\": {number}"),
        });
    }
    let input = lines.join("\n");
    let ran = ordain(&["transform", "--jsonl"], &input);
    assert_eq!(ran.code, 11);
    let results: Vec<Json> = ran.stdout.lines().map(parsed).collect();
    assert_eq!(results.len(), lines.len());
    for (number, result) in results.iter().enumerate() {
        let kind = ["BUNDLE", "CLARIFY", "REFUSE", "REFUSE"][number % 4];
        assert_eq!(result["kernel_result_kind"], kind, "{number}");
        match number % 4 {
            0 | 1 => {
                assert!(result["bundle"]["root_node"]["goal"].as_str().unwrap().contains(&number.to_string()))
            }
            2 => assert_eq!(result["refuse"]["code"], "INVALID_GOAL"),
            _ => {
                assert_eq!((&result["bundle"], &result["ok"]), (&Json::Null, &json!(false)));
                assert_eq!(result["violations"][0]["rule_id"], "PARSE");
            }
        }
    }
    let one_core = Command::new("taskset")
        .args(["-c", "0", env!("CARGO_BIN_EXE_ordain"), "transform", "--jsonl"])
        .arg(file(&folder, "lines.jsonl", &input))
        .output();
    assert_eq!(String::from_utf8(one_core.unwrap().stdout).unwrap(), ran.stdout);
}

#[test]
fn a_bundle_must_be_what_its_intent_gives() {
    let folder = folder();
    let intent = file(&folder, "source.yaml", "goal: Add `--dry-run` to `deploy.sh`\n");
    let other = file(&folder, "other.yaml", "goal: Add `--dry-run` to `build.sh`\n");
    let bundle = file(&folder, "source.bundle.json", ordain(&["transform", &intent], "").stdout);
    assert_eq!(ordain(&["verify", &bundle, "--intent", &intent], "").code, 0);
    let ran = ordain(&["verify", "--json", &bundle, "--intent", &other], "");
    assert_eq!(ran.code, 3);
    let broken = parsed(&ran.stdout)["violations"].clone();
    let rules: Vec<&str> =
        broken.as_array().unwrap().iter().map(|it| it["rule_id"].as_str().unwrap()).collect();
    assert!(rules.contains(&"BS2") && rules.contains(&"BS12"), "{rules:?}");
    let refused = file(&folder, "refused.yaml", "goal: ''\n");
    let ran = ordain(&["verify", &bundle, "--intent", &refused], "");
    assert!(ran.code == 1 && ran.stderr.contains("EMPTY_GOAL"), "{}", ran.stderr);
}

#[test]
fn answers_come_from_the_terminal_or_from_a_file() {
    let folder = folder();
    let intent = file(
        &folder,
        "ask.yaml",
        "goal: Rename `run` to <name> in `src/a.rs`\nconstraints:\n  - port must be 1\n  - port must be 2\n",
    );
    let made = file(&folder, "asked.json", "");
    let ran = ordain(&["clarify", &intent, "-o", &made], "TBD\nstart\n9\n2\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("not taken: ") && ran.stderr.contains("is a placeholder"), "{}", ran.stderr);
    assert!(ran.stderr.contains("expected a number from 1 to 3"), "{}", ran.stderr);
    // The answer that chooses nothing is the last one.
    assert!(ran.stderr.contains("1) port must be 1\n   2) port must be 2\n   3) keep all"), "{}", ran.stderr);
    assert!(ran.stderr.contains("taken: unclear ") && ran.stderr.contains(" → "), "{}", ran.stderr);
    let answered = parsed(&fs::read_to_string(&made).unwrap());
    let answers = answered["context"]["answers"].as_object().unwrap().clone();
    assert_eq!(answers.len(), 2);
    let bundle = parsed(&ordain(&["transform", &made], "").stdout);
    assert_eq!(bundle["root_node"]["goal"], "Rename `run` to start in `src/a.rs`");
    assert_eq!(bundle["root_node"]["constraints"], json!(["port must be 2"]));

    let file_of_answers = file(&folder, "answers.json", Json::Object(answers).to_string());
    let ran = ordain(&["clarify", &intent, "--answers", &file_of_answers], "");
    assert_eq!((ran.code, parsed(&ran.stdout)), (0, answered), "{}", ran.stderr);

    // Open points are named, and no answer is lost.
    let ran = ordain(&["clarify", &intent], "start\n");
    assert_eq!(ran.code, 1);
    assert_eq!(parsed(&ran.stdout)["context"]["answers"].as_object().unwrap().len(), 1);
    let ran = ordain(&["clarify", &intent], "\n\n");
    assert!(ran.code == 1 && ran.stderr.contains("left open"), "{}", ran.stderr);

    let unknown = file(&folder, "unknown.json", r#"{"q_0123456789abcdef": "x"}"#);
    let ran = ordain(&["clarify", &intent, "--answers", &unknown], "");
    assert!(ran.code == 1 && ran.stderr.contains("INVALID_ANSWER"), "{}", ran.stderr);
    ordain(&["transform", "-"], "goal: hi").ended(11).says("hint: standard input is read as JSON");
    ordain(&["transform", "--goal", "-"], "hi").ended(10);
    let ran = ordain(&["clarify", "-"], "{}");
    assert!(ran.code == 1 && ran.stderr.contains("goal"), "{} {}", ran.code, ran.stderr);
    let text = json!({"goal": "Rename `run` to <name> in `src/a.rs`", "constraints": ["port must be 1", "port must be 2"]});
    let text = text.to_string();
    let ran = ordain(&["clarify", "-", "--answers", &file_of_answers], text);
    assert_eq!(parsed(&ran.stdout)["context"]["answers"].as_object().unwrap().len(), 2, "{}", ran.stderr);
}

/// The hint below an intent on standard input can be followed to the end.
#[test]
fn the_hint_for_standard_input_works() {
    let folder = folder();
    for goal in [
        "Rename `run` to <name> in `src/a.rs`",
        "Set the session timeout in `auth.rs` to [X] minutes",
        "Set the retention of `logs` to ??? days",
        "Deploy `api` to __REGION__",
        "Increase the price in `plans.json` by xx%",
        "Send the report of `sales.csv` to TBD",
        "Use the colour #?????? in `theme.css`",
        "Greet {{user}} in `mail.txt`",
        "Add `[insert title here]` to `index.html` and set its width to ____ pixels",
        "Set the colour of `a.css` to ??? Remove the file `b.txt`. Rename `c.txt` to `d.txt`.",
    ] {
        let mut intent = json!({"goal": goal}).to_string();
        let mut answers = serde_json::Map::new();
        let mut rounds = 0;
        let bundle = loop {
            let ran = ordain(&["transform", "-"], &intent);
            let bundle = parsed(&ran.stdout);
            if ran.code == 0 {
                break bundle;
            }
            assert_eq!(ran.code, 10, "{goal}: {}", ran.stderr);
            assert!(ran.stderr.contains("`ordain clarify - --answers FILE`"), "{goal}: {}", ran.stderr);
            rounds += 1;
            assert!(rounds < 5, "{goal}: {}", ran.stderr);
            for question in bundle["unresolved_questions"].as_array().unwrap() {
                let answer = match question["expected_answer_type"].as_str().unwrap() {
                    "choice" => question["options"][0].clone(),
                    "boolean" => json!(true),
                    "number" => json!(7),
                    _ => json!("seven"),
                };
                answers.insert(question["id"].as_str().unwrap().to_owned(), answer);
            }
            let answers = file(&folder, "answers.json", Json::Object(answers.clone()).to_string());
            intent = ordain(&["clarify", "-", "--answers", &answers], &intent).stdout;
        };
        assert!(rounds > 0, "nothing was asked: {goal}");
        let bundle = file(&folder, "bundle.json", bundle.to_string());
        let ran = ordain(&["verify", &bundle], "");
        assert_eq!(ran.code, 0, "{goal}: {} {}", ran.stdout, ran.stderr);
    }
}

#[test]
fn an_intent_can_be_planned_at_once() {
    let folder = folder();
    let intent = file(
        &folder,
        "plan.json",
        json!({"goal": "Add `a.txt`", "context": {"files": [{"path": "a.txt", "content": "a\n"}]}})
            .to_string(),
    );
    let workspace = crate::harness::folder();
    let workspace = workspace.path().to_str().unwrap();
    let bundle = file(&folder, "plan.bundle.json", ordain(&["transform", &intent], "").stdout);
    let from_bundle = ordain(&["plan", &bundle, "--intent", &intent, "--workspace", workspace], "");
    let from_intent = ordain(&["plan", &intent, "--workspace", workspace], "");
    assert_eq!((from_intent.code, &from_intent.stdout), (0, &from_bundle.stdout), "{}", from_bundle.stderr);
    let alone = ordain(&["plan", &bundle, "--workspace", workspace], "");
    assert!(alone.code == 64 && alone.stderr.contains("--intent"), "{}", alone.stderr);
    let plan = file(&folder, "plan.plan.json", &from_intent.stdout);
    assert_eq!(ordain(&["verify", &plan, "--bundle", &bundle], "").code, 0);
    let patch = file(&folder, "plan.patch.json", ordain(&["patch", &plan], "").stdout);
    assert_eq!(ordain(&["verify", &patch], "").code, 0);
}

/// The bundles of the examples are committed: a change of one is a change of the kernel, and CHANGELOG_GOLDENS.md
/// says why. `ORDAIN_BLESS=1` writes them.
#[test]
fn examples_give_the_same_bytes_everywhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut examples: Vec<PathBuf> = fs::read_dir(root.join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "yaml" || it == "json"))
        .collect();
    examples.sort();
    assert!(examples.len() >= 13, "{examples:?}");
    let golden = root.join("examples/golden");
    for example in examples {
        let made = |variables: &[(&str, &str)]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
            command.arg("transform").arg(&example).envs(variables.iter().copied());
            let output = command.output().unwrap();
            assert!(matches!(output.status.code(), Some(0 | 10)), "{}: {output:?}", example.display());
            output.stdout
        };
        let bytes = made(&[]);
        assert_eq!(
            bytes,
            made(&[("LC_ALL", "tr_TR.UTF-8"), ("LANG", "tr_TR.UTF-8"), ("TZ", "Pacific/Kiritimati")])
        );
        let name = example.file_stem().unwrap().to_str().unwrap();
        let file = golden.join(format!("{name}.bundle.json"));
        if std::env::var_os("ORDAIN_BLESS").is_some() {
            fs::create_dir_all(&golden).unwrap();
            fs::write(&file, &bytes).unwrap();
        }
        let expected = fs::read(&file).unwrap_or_default();
        assert!(bytes == expected, "{}: not the committed bundle; see `ordain diff`", example.display());
    }
}
