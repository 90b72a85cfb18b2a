//! The real binary: every command is wired, and exit codes and outputs are those of the contract.

use crate::harness::{folder, ordain};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

#[track_caller]
fn check(args: &[&str], input: &str, code: i32, stdout: &str) {
    let ran = ordain(args, input.as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str()), (code, stdout), "{args:?}: {}", ran.stderr);
}

#[test]
fn verify_exit_codes() {
    let good = "conformance/patch/PS4/accept.json";
    let bad = "conformance/patch/PS4/reject.json";
    for (args, code) in [
        (vec!["verify", good], 0),
        (vec!["verify", good, "no-such-file.json"], 1),
        (vec!["verify", "CONTRIBUTING.md"], 2),
        (vec!["verify", good, bad], 3),
        (vec!["verify", bad, "no-such-file.json", "CONTRIBUTING.md"], 3),
        (vec!["verify", "no-such-file.json", "CONTRIBUTING.md"], 2),
        (vec!["verify"], 64),
        (vec!["verify", "--kind", "nonsense", good], 64),
        (vec!["verify", "--profile", "nonsense", good], 64),
        (vec!["verify", "--jsonl", good], 64),
        (vec!["verify", "--kind", "plan", good], 3),
        (vec!["verify", "conformance/patch/PS4/no-such-folder"], 1),
        (vec!["nonsense"], 64),
        (vec![], 64),
        (vec!["rules", "XX1"], 64),
        (vec!["--version"], 0),
        (vec!["--help"], 0),
        (vec!["verify", "--help"], 0),
    ] {
        let ran = ordain(&args, b"");
        assert_eq!(ran.code, code, "{args:?}\n{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn verify_json_is_canonical_and_names_files() {
    check(&["verify", "--json", "-"], r#"{"goal":"x"}"#, 0, "{\"ok\":true}\n");
    check(
        &["verify", "--json", "conformance/note/NP3/accept.json", "-", "no-such.json"],
        "{\"goal\":\"\"}",
        3,
        "{\"file\":\"conformance/note/NP3/accept.json\",\"ok\":true}\n\
         {\"ok\":false,\"violations\":[{\"message\":\"must not be blank\",\"path\":\"/goal\",\"rule_id\":\"IN1\"}]}\n\
         {\"file\":\"no-such.json\",\"ok\":false,\"violations\":[{\"message\":\"cannot be read: No such file or directory (os error 2)\",\"path\":\"\",\"rule_id\":\"IO\"}]}\n",
    );
    check(
        &["verify", "--json", "-"],
        "{\"goal\":\"x\",\n\"goal\":1}",
        2,
        "{\"ok\":false,\"violations\":[{\"message\":\"the object has the key `goal` twice at line 2, column 1 (byte 13)\",\"path\":\"/goal\",\"rule_id\":\"PARSE\"}]}\n",
    );
}

#[test]
fn kinds_are_recognised_or_refused() {
    let ran = ordain(&["verify", "-"], br#"{"goal":"x","operations":[]}"#);
    assert_eq!(ran.code, 2);
    assert!(ran.stdout.contains("could be intent or patch"), "{}", ran.stdout);
    assert_eq!(ordain(&["verify", "-"], b"{}").code, 2);
    assert_eq!(ordain(&["verify", "-"], b"[]").code, 2);
    assert_eq!(ordain(&["verify", "--kind", "intent", "-"], br#"{"goal":"x","operations":[]}"#).code, 3);
}

#[test]
fn a_byte_order_mark_is_only_for_intents() {
    assert_eq!(ordain(&["verify", "-"], b"\xef\xbb\xbf{\"goal\":\"x\"}").code, 0);
    assert_eq!(ordain(&["verify", "--kind", "intent", "-"], b"\xef\xbb\xbf{\"goal\":\"x\"}").code, 0);
    assert_eq!(ordain(&["verify", "-"], b"\xef\xbb\xbf{\"operations\":[]}").code, 2);
    assert_eq!(ordain(&["verify", "--kind", "patch", "-"], b"\xef\xbb\xbf{\"operations\":[]}").code, 2);
}

#[test]
fn facts_come_from_the_command_line() {
    let proposal = "conformance/action/V-PROP-010/accept.json";
    let without = ordain(&["verify", "--json", proposal], b"");
    assert_eq!(without.code, 0);
    assert!(without.stdout.contains("not checked: the time was not given"), "{}", without.stdout);
    assert_eq!(ordain(&["verify", "--now", "1", proposal], b"").code, 0);
    assert_eq!(ordain(&["verify", "--now", "9999999999999", proposal], b"").code, 3);

    let temporary = folder();
    let folder = temporary.path();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let fact = |vector: &str, name: &str| {
        let text = std::fs::read_to_string(root.join(vector).join("facts.json")).unwrap();
        let facts: serde_json::Value = serde_json::from_str(&text).unwrap();
        let path = folder.join(format!("{name}.json"));
        std::fs::write(&path, facts[name].to_string()).unwrap();
        (path.display().to_string(), facts)
    };
    let (evidence, facts) = fact("action/V-PROP-013", "evidence");
    let now = facts["now_ms"].as_i64().unwrap_or(1705171300000).to_string();
    let proposal = "conformance/action/V-PROP-013/accept.json";
    assert_eq!(ordain(&["verify", proposal], b"").code, 3, "evidence that is not given does not exist");
    let ran = ordain(&["verify", "--now", &now, "--evidence", &evidence, proposal], b"");
    assert_eq!(ran.code, 0, "{}", ran.stdout);

    let (bundle, _) = fact("plan/PR2", "bundle");
    assert_eq!(ordain(&["verify", "--bundle", &bundle, "conformance/plan/PR2/accept.json"], b"").code, 0);
    assert_eq!(ordain(&["verify", "--bundle", &bundle, "conformance/plan/PR2/reject.json"], b"").code, 3);

    let profile = folder.join("profile.json");
    std::fs::write(&profile, std::fs::read(root.join("profile/PF3/reject.json")).unwrap()).unwrap();
    let ran =
        ordain(&["verify", "--profile", profile.to_str().unwrap(), "conformance/patch/PS7/accept.json"], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("PF3"), "{}", ran.stderr);
}

#[test]
fn lines_keep_their_order_on_all_cores() {
    let mut input = String::new();
    let mut expected = String::new();
    for number in 0..20_000 {
        match number % 3 {
            0 => {
                input.push_str(&format!("{{\"goal\":\"{}\"}}\n", "x".repeat(number % 700 + 1)));
                expected.push_str("{\"ok\":true}\n");
            }
            1 => {
                input.push_str(&format!("{{\"goal\":{number}}}\n"));
                expected.push_str(&format!("{{\"ok\":false,\"violations\":[{{\"message\":\"expected a string, found {number}\",\"path\":\"/goal\",\"rule_id\":\"IN1\"}}]}}\n"));
            }
            _ => {
                input.push_str("{\"goal\"\n");
                expected.push_str("{\"ok\":false,\"violations\":[{\"message\":\"the text ends before the document is complete at line 1, column 8 (byte 7)\",\"path\":\"/goal\",\"rule_id\":\"PARSE\"}]}\n");
            }
        }
    }
    check(&["verify", "--jsonl", "--kind", "intent"], &input, 3, &expected);
    // The last line may lack its line feed; no input gives no output.
    check(&["verify", "--jsonl", "--kind", "intent"], "{\"goal\":\"x\"}", 0, "{\"ok\":true}\n");
    check(&["verify", "--jsonl", "--kind", "intent"], "", 0, "");
}

/// A partner that writes one line and waits for its answer gets it.
#[test]
fn lines_are_answered_as_they_come() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ordain"))
        .args(["verify", "--jsonl", "--kind", "intent"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        stdin.write_all(b"{\"goal\":\"x\"}\n").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), "{\"ok\":true}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn canon_writes_canonical_bytes() {
    check(&["canon", "-"], "{ \"b\": 1.0, \"a\": \"\\u00e9\" }\n", 0, "{\"a\":\"é\",\"b\":1}");
    check(
        &["canon", "--jsonl"],
        "[1.50]\n[1,]\n{\"a\":{}}\n",
        1,
        "[1.5]\n{\"ok\":false,\"violations\":[{\"message\":\"expected a value, found `]` at line 1, column 4 (byte 3)\",\"path\":\"/1\",\"rule_id\":\"PARSE\"}]}\n{\"a\":{}}\n",
    );
    let ran = ordain(&["canon", "-"], b"{\"a\":1,\"a\":2}");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("the key `a` twice"), "{}", ran.stderr);
}

/// Expected values from another implementation: printf and sha256sum.
#[test]
fn hashes_differ_as_the_contract_says() {
    let document = "{\"hash\": \"x\", \"observed\": 1, \"a\": 1}";
    let content = "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\n";
    check(&["hash", "--kind", "content", "-"], "a", 0, content);
    check(&["hash", "--kind", "content", "--jsonl"], "\"a\"\n", 0, content);
    // {"a":1,"hash":"x","observed":1} with and without a line feed, without `hash`, without `observed`.
    let expected = [
        ("bundle", sha256sum("{\"a\":1,\"hash\":\"x\",\"observed\":1}\n")),
        ("plan", "sha256:".to_owned() + &sha256sum("{\"a\":1,\"hash\":\"x\",\"observed\":1}")),
        ("action", "sha256:".to_owned() + &sha256sum("{\"a\":1,\"hash\":\"x\",\"observed\":1}")),
        ("packet", "sha256:".to_owned() + &sha256sum("{\"a\":1,\"hash\":\"x\",\"observed\":1}")),
        ("decision", "sha256:".to_owned() + &sha256sum("{\"a\":1,\"hash\":\"x\",\"observed\":1}")),
        ("patch", "sha256:".to_owned() + &sha256sum("{\"a\":1,\"hash\":\"x\",\"observed\":1}")),
        ("note", sha256sum("{\"a\":1,\"observed\":1}")),
        ("evidence", "sha256:".to_owned() + &sha256sum("{\"a\":1,\"hash\":\"x\"}")),
    ];
    for (what, hash) in expected {
        check(&["hash", "--kind", what, "-"], document, 0, &format!("{hash}\n"));
        check(&["hash", "--kind", what, "--jsonl"], &format!("{document}\n"), 0, &format!("{hash}\n"));
        check(&["hash", "--kind", what, "--json", "-"], document, 0, &format!("{{\"hash\":\"{hash}\"}}\n"));
    }
    let normal = "{\"constraints\":[\"a\",\"b c\"],\"context\":{},\"goal\":\"x\"}\n";
    let intent = r#"{"goal":" x ","constraints":["b  c","a","","a"]}"#;
    check(&["hash", "--kind", "intent", "-"], intent, 0, &format!("{}\n", sha256sum(normal)));
    assert_eq!(ordain(&["hash", "--kind", "intent", "-"], b"{\"goal\":1}").code, 1);
}

fn sha256sum(text: &str) -> String {
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

#[test]
fn ids_follow_from_content() {
    let node = r#"{"id":"node_x","parent_id":null,"goal":"g","constraints":[],"status":"terminal"}"#;
    let hash = sha256sum("{\"constraints\":[],\"goal\":\"g\",\"parent_id\":null}\n");
    check(&["id", "--kind", "node", "-"], node, 0, &format!("node_{}\n", &hash[..16]));
    check(
        &["id", "--kind", "node", "--jsonl", "--json"],
        node,
        0,
        &format!("{{\"id\":\"node_{}\"}}\n", &hash[..16]),
    );
    let all = sha256sum("{\"a\":1}\n");
    for (what, prefix) in [("bundle", "bundle"), ("plan", "prop"), ("action", "act")] {
        check(
            &["id", "--kind", what, "-"],
            "{\"id\":\"y\",\"a\":1}",
            0,
            &format!("{prefix}_{}\n", &all[..16]),
        );
    }
    let ran = ordain(&["id", "--kind", "node", "-"], b"{\"goal\":\"g\"}");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("`parent_id` is missing"), "{}", ran.stderr);
}

#[test]
fn every_rule_explains_itself() {
    let list = ordain(&["rules", "--json"], b"");
    assert_eq!(list.code, 0);
    for line in list.stdout.lines() {
        let rule: serde_json::Value = serde_json::from_str(line).unwrap();
        let (id, kind) = (rule["rule_id"].as_str().unwrap(), rule["kind"].as_str().unwrap());
        let ran = ordain(&["rules", id, "--kind", kind], b"");
        assert!(ran.code == 0 && ran.stdout.contains(rule["title"].as_str().unwrap()), "{id}");
        assert!(ran.stdout.lines().count() > 3, "{id} has no text");
    }
    assert_eq!(ordain(&["rules", "v-prop-010"], b"").code, 0);
}

#[test]
fn yaml_is_read_by_the_file_name() {
    let temporary = folder();
    let folder = temporary.path();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let good = file("good.yaml", "version: 1\nroutes:\n  - id: notes\n    pattern: 'notes/**/*.md'\n");
    assert_eq!(ordain(&["verify", &good], b"").code, 0);
    let bad = file("bad.yml", "routes:\n  - id: a\n    pattern: '/x.md'\n  - id: a\n    pattern: y\n");
    let ran = ordain(&["verify", "--json", &bad], b"");
    assert_eq!(ran.code, 3);
    for rule in ["RT2", "RT3"] {
        assert!(ran.stdout.contains(rule), "{}", ran.stdout);
    }
    let twice = file("twice.yaml", "routes: []\nroutes: []\n");
    assert_eq!(ordain(&["verify", &twice], b"").code, 2);
    // A folder is searched, hidden files are not.
    file(".hidden.json", "{");
    let ran = ordain(&["verify", "--json", folder.to_str().unwrap()], b"");
    assert_eq!((ran.code, ran.stdout.lines().count()), (3, 3), "{}", ran.stdout);
}

/// The rules of the gate are listed with decisions, which name them.
#[test]
fn rules_explain_the_gate() {
    let ran = ordain(&["rules", "g5"], b"");
    let expected =
        "G5: every precondition holds\ngate · it denies · docs/contracts/decision.md\n\nA missing field";
    assert!(ran.code == 0 && ran.stdout.starts_with(expected), "{}", ran.stdout);
    let listed = |args: &[&str]| ordain(&[&["rules"], args].concat(), b"").stdout.matches("\n  G").count();
    assert_eq!((listed(&[]), listed(&["--kind", "decision"]), listed(&["--kind", "action"])), (18, 18, 0));
    let ran = ordain(&["rules", "--json", "--kind", "decision"], b"");
    let gates = ran.stdout.lines().filter(|line| line.contains("\"category\":\"gate\""));
    assert_eq!(gates.filter(|line| !line.contains("about")).count(), 18, "{}", ran.stdout);
    assert!(
        ordain(&["rules", "--json", "G12"], b"").stdout.starts_with("{\"about\":\"An action that no policy")
    );
    assert_eq!(ordain(&["rules", "G19"], b"").code, 64);
    assert_eq!(ordain(&["rules", "G5", "--kind", "patch"], b"").code, 64);
}

/// One page describes approvals and decisions.
#[test]
fn approvals_refer_to_the_contract_of_decisions() {
    let ran = ordain(&["verify", "conformance/approval/AP4/reject.json"], b"");
    assert!(ran.stdout.contains("`ordain rules AP4` or docs/contracts/decision.md"), "{}", ran.stdout);
    assert!(ordain(&["rules", "AP4"], b"").stdout.contains("· docs/contracts/decision.md"));
}

#[test]
fn completions_manuals_and_schemas() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = ordain(&["completions", shell], b"");
        assert!(ran.code == 0 && ran.stdout.contains("verify"), "{shell}");
    }
    assert!(ordain(&["man"], b"").stdout.contains(".TH ordain"));
    // Closed lists are completed, and so are the ids of held actions.
    let bash = ordain(&["completions", "bash"], b"").ended(0).stdout;
    for list in ["held allowed denied expired", "actor approver operator", "completions --ids held"] {
        assert!(bash.contains(list), "{list}");
    }
    let complete = r#"eval "$(ordain completions bash)"; COMP_WORDS=(ordain status --state ""); COMP_CWORD=3
        _ordain_with_ids ordain "" --state; echo "${COMPREPLY[@]}""#;
    let path =
        format!("{}:/usr/bin:/bin", Path::new(env!("CARGO_BIN_EXE_ordain")).parent().unwrap().display());
    let completed = Command::new("bash").args(["-c", complete]).env("PATH", path).output().unwrap();
    let completed = String::from_utf8(completed.stdout).unwrap();
    assert!(completed.starts_with("held allowed denied"), "{completed}");
    for kind in [
        "intent", "bundle", "plan", "patch", "action", "packet", "approval", "decision", "profile",
        "evidence", "run", "note", "routing",
    ] {
        let ran = ordain(&["schema", kind], b"");
        let schema: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{kind}");
    }
}

#[test]
fn help_is_grouped_and_fits() {
    let help = ordain(&["--help"], b"").ended(0).stdout;
    let heads: Vec<&str> =
        help.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
    assert!(
        heads.len() >= 10 && heads.contains(&"Propose and decide:") && !heads.contains(&"More:"),
        "{heads:?}"
    );
    assert!(!help.contains("Exit codes"), "{help}");
    assert_eq!(ordain(&["help"], b"").ended(0).stdout, help);
    ordain(&["help", "--help"], b"").ended(0).says("ordain help ledger verify");
    ordain(&["help", "ledger", "show"], b"").ended(0).says_all(&[
        "Usage: ordain ledger show",
        "Gate options:",
        "--server",
    ]);
    ordain(&["help", "nonsense"], b"").ended(64).says("run `ordain help` for the list");
    let narrow =
        Command::new(env!("CARGO_BIN_EXE_ordain")).arg("--help").env("COLUMNS", "60").output().unwrap();
    let narrow = String::from_utf8(narrow.stdout).unwrap();
    let long: Vec<&str> = narrow.lines().filter(|line| line.chars().count() > 60).collect();
    assert!(long.is_empty(), "{long:?}");
    let man = ordain(&["man"], b"").ended(0).stdout;
    for part in ["ENVIRONMENT", "NO_COLOR", "FILES", "approver.key", "EXIT", "SEE", "fBordain\\-approve"] {
        assert!(man.contains(part), "{part}: {man}");
    }
}

/// Colours only where someone sees them.
#[test]
fn reports_for_people() {
    let args = ["verify", "conformance/plan/PR9/reject.json"];
    let plain = ordain(&args, b"");
    assert!(plain.stdout.contains("PR9  /confidence") && plain.stdout.contains("^^^"), "{}", plain.stdout);
    assert!(!plain.stdout.contains('\u{1b}'));
    let colored = ordain(&[&args[..], &["--color", "always"]].concat(), b"");
    assert!(colored.stdout.contains('\u{1b}'));
}

/// A document's text cannot pass for the words of ordain.
#[test]
fn terminals_are_safe_from_documents() {
    let text = br#"{"goal":"a","x\u001b[2J\u202e\nvalid  other.json: intent":1}"#;
    let ran = ordain(&["verify", "--color", "always", "-"], text);
    let fake = |line: &str| line.trim_start().starts_with("valid");
    assert!(ran.code == 3 && !ran.stdout.lines().any(fake), "{}", ran.stdout);
    assert!(!ran.stdout.contains("\u{1b}[2J") && !ran.stdout.contains('\u{202e}'), "{:?}", ran.stdout);
    let ran = ordain(&["canon", "--color", "always", "-"], b"{\"a\\u001b[2J\":1,\"a\\u001b[2J\":2}");
    assert!(ran.code == 1 && !ran.stderr.contains("\u{1b}[2J"), "{:?}", ran.stderr);
}

/// A folder that cannot be searched is one result among the others; links to files count, other documents given as
/// evidence do not, and standard input is read once.
#[test]
fn nothing_named_is_passed_over() {
    let temporary = folder();
    let folder = temporary.path();
    std::fs::create_dir_all(folder.join("empty")).unwrap();
    std::fs::write(folder.join("a.JSON"), "{\"goal\":\"x\"}").unwrap();
    std::os::unix::fs::symlink(folder.join("a.JSON"), folder.join("link.json")).unwrap();
    std::os::unix::fs::symlink(folder.join("nowhere"), folder.join("nowhere.json")).unwrap();
    std::os::unix::fs::symlink(folder, folder.join("loop.json")).unwrap();
    let name = |path: &str| folder.join(path).display().to_string();
    let ran =
        ordain(&["verify", "--json", &name("empty"), &name(""), "conformance/note/NP3/reject.json"], b"");
    let ok: Vec<bool> = ran.stdout.lines().map(|line| line.contains("\"ok\":true")).collect();
    assert_eq!((ran.code, ok), (3, vec![false, true, true, false, false]), "{}", ran.stdout);

    let note = "conformance/note/NP3/accept.json";
    let ran = ordain(&["verify", "--evidence", note, note], b"");
    assert!(ran.code == 1 && ran.stderr.contains("found note proposal"), "{}", ran.stderr);
    assert_eq!(ordain(&["verify", "-", "-"], b"{}").code, 64);
    assert_eq!(ordain(&["verify", "--jsonl", "--evidence", "-"], b"{}").code, 64);
}

/// Nesting bombs, giant keys and strings: an error, no crash, and never "valid".
#[test]
fn hostile_texts_are_errors() {
    let deep = "[".repeat(3_000_000);
    let key = format!("{{\"{}\":1}}", "k".repeat(2_000_000));
    let string = format!("{{\"goal\":\"{}", "s".repeat(5_000_000));
    let surrogate = r#"{"goal":"\ud800"}"#.to_owned();
    for text in [deep, key, string, surrogate] {
        let ran = ordain(&["verify", "--kind", "intent", "-"], text.as_bytes());
        assert_eq!(ran.code, 2, "{}", &ran.stderr);
        assert!(ran.stdout.len() < 1_000, "{}", ran.stdout.len());
    }
    assert_eq!(ordain(&["verify", "--kind", "intent", "-"], b"{\"goal\":\"\xff\"}").code, 2);
    assert_eq!(ordain(&["verify", "--kind", "intent", "-"], b"").code, 2);
}
