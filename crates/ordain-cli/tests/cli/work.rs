//! `ordain work`: agents that are right, wrong, hostile, and one real one.

#![cfg(target_os = "linux")]

use crate::harness::{NO_STATE, Ran, folder, ordain, ran};
use serde_json::{Value as Json, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const CALC: &str = "def add(a, b):\n    return a - b\n";
const RIGHT: &str = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py";
const TEST: &str = "import unittest\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n";
const CRITERION: &str = "python3 -m unittest -q tests.test_calc";

/// A workspace with a bug and a test for it; the intent and the folder of the order stand beside it.
struct Bench {
    top: TempDir,
    workspace: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let top = folder();
        let workspace = top.path().join("ws");
        fs::create_dir_all(workspace.join("tests")).unwrap();
        fs::write(workspace.join("calc.py"), CALC).unwrap();
        fs::write(workspace.join("tests/__init__.py"), "").unwrap();
        fs::write(workspace.join("tests/test_calc.py"), TEST).unwrap();
        let bench = Self { top, workspace };
        bench.intent(&json!({"tests": [test(CRITERION)]}));
        bench
    }

    fn intent(&self, context: &Json) {
        let intent = json!({
            "goal": "Correct the function `add` in `calc.py` so that it returns the sum of its arguments",
            "constraints": ["The function keeps its name and its two parameters"],
            "context": context,
        });
        fs::write(self.path("intent.json"), intent.to_string()).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.top.path().join(name).to_str().unwrap().to_owned()
    }

    fn work(&self, more: &[&str]) -> Ran {
        let (intent, order) = (self.path("intent.json"), self.path("order"));
        let workspace = self.workspace.to_str().unwrap();
        let mut all = vec!["work", &intent, "--workspace", workspace, "--folder", &order, "--json"];
        all.extend(more);
        ordain_with_system_tools(&all)
    }

    /// The result for a shell script as the agent; the workspace is the same as before.
    #[track_caller]
    fn agent(&self, code: i32, more: &[&str], script: &str) -> Json {
        let before = listing(&self.workspace);
        let mut all = more.to_vec();
        all.extend(["--", "sh", "-c", script]);
        let ran = self.work(&all).ended(code);
        assert_eq!(listing(&self.workspace), before, "the workspace stays as it is");
        let result = ran.json();
        self.folder(&result);
        result
    }

    /// The folder of the run, once it is verified.
    #[track_caller]
    fn folder(&self, result: &Json) -> PathBuf {
        let folder = self.workspace.join(".ordain/runs").join(result["run_id"].as_str().unwrap());
        ordain(&["verify", folder.to_str().unwrap()], "").ended(0);
        folder
    }
}

/// The system's own Python comes first: it is the one that has pytest.
fn ordain_with_system_tools(arguments: &[&str]) -> Ran {
    let path = format!("/usr/bin:/bin:{}", std::env::var("PATH").unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    ran(command.args(arguments).env("PATH", path).env("XDG_STATE_HOME", NO_STATE))
}

fn test(command: &str) -> Json {
    json!({"name": "the tests pass", "type": "command_success", "target": command, "expected": "0"})
}

/// Paths and contents, without what ordain itself keeps.
fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.symlink_metadata().unwrap() {
                _ if path.ends_with(".ordain") => {}
                it if it.is_dir() => folders.push(path),
                _ => found.push((path.clone(), fs::read(path).unwrap_or_default())),
            }
        }
    }
    found.sort();
    found
}

fn rounds(result: &Json) -> &Vec<Json> {
    result["work"]["rounds"].as_array().unwrap()
}

#[track_caller]
fn refused(result: &Json, reason: &str) {
    assert_eq!(result["decision"]["accepted"], false, "{result}");
    let reasons = result["decision"]["reasons"].to_string();
    assert!(reasons.contains(reason), "`{reason}` is not in {reasons}");
}

fn read(folder: &Path, name: &str) -> Json {
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn a_right_agent_is_accepted_at_once() {
    let bench = Bench::new();
    let result = bench.agent(0, &[], RIGHT);
    assert_eq!(result["decision"]["accepted"], true);
    assert_eq!(rounds(&result).len(), 1);
    assert!(!Path::new(&bench.path("order")).exists(), "an order that is done leaves nothing behind");
    let folder = bench.folder(&result);
    let patch = read(&folder, "patch.json");
    assert_eq!(patch["source_bundle_hash"], result["work"]["bundle_hash"]);
    assert_eq!(patch["operations"][0]["path"], "calc.py");
    // The bundle names itself, and only the right one fits.
    let (set, bundle) = (folder.join("patch.json"), folder.join("bundle.json"));
    ordain(&["verify", set.to_str().unwrap(), "--bundle", bundle.to_str().unwrap()], "").ended(0);
    ordain(&["apply", folder.to_str().unwrap()], "").ended(0);
    assert!(fs::read_to_string(bench.workspace.join("calc.py")).unwrap().contains("a + b"));
}

#[test]
fn a_wrong_agent_hears_why_and_is_accepted_in_round_two() {
    let bench = Bench::new();
    let script = format!(
        "test -s \"$ORDAIN_BRIEF\" || exit 1; \
         if [ \"$ORDAIN_ROUND\" = 1 ]; then test -z \"$ORDAIN_FEEDBACK\" || exit 2; echo '# tried' >> calc.py; \
         else grep -q 'AssertionError: -1 != 5' \"$ORDAIN_FEEDBACK\" || exit 3; grep -q 'Round 1 was not accepted' || exit 4; {RIGHT}; fi"
    );
    let result = bench.agent(1, &["--apply"], "true");
    refused(&result, "the agent changed nothing in the copy");
    fs::remove_dir_all(bench.path("order")).unwrap();
    let ran = bench.work(&["--apply", "--", "sh", "-c", &script]).ended(0);
    let result = ran.lines()[0].clone();
    let rounds = rounds(&result);
    assert_eq!(
        (rounds.len(), &rounds[0]["accepted"], &rounds[1]["accepted"]),
        (2, &json!(false), &json!(true))
    );
    assert_ne!(rounds[0]["patch_hash"], rounds[1]["patch_hash"]);
    assert!(rounds[0]["reasons"].to_string().contains("a required test failed"));
    let folder = bench.folder(&result);
    assert!(fs::read_to_string(folder.join("rounds/1/feedback.md")).unwrap().contains("-1 != 5"));
    for file in
        ["rounds/1/patch.json", "rounds/1/evidence.json", "rounds/2/patch.json", "rounds/2/evidence.json"]
    {
        assert!(folder.join(file).exists(), "{file}");
    }
    assert!(fs::read_to_string(bench.workspace.join("calc.py")).unwrap().contains("a + b"), "--apply");
}

/// A round, its evidence or its patch set that was changed afterwards is found.
#[test]
fn a_folder_that_was_changed_is_found() {
    let bench = Bench::new();
    let result = bench.agent(1, &["--rounds", "1"], "echo 'pass' > tests/test_calc.py; echo >> calc.py");
    let folder = bench.folder(&result);
    assert_eq!(rounds(&result)[0]["protected"], json!(["tests/test_calc.py"]));
    let verify = || ordain(&["verify", folder.to_str().unwrap()], "");
    let change = |name: &str, from: &str, to: &str| {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name}: {text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let found = verify().ended(3);
        fs::write(&path, text).unwrap();
        found
    };
    change("result.json", "\"protected\":[\"tests/test_calc.py\"]", "\"protected\":[]").says("RL11");
    change("rounds/1/restored/evidence.json", "\"passed\":false", "\"passed\":true").says("RL11");
    change("rounds/1/patch.json", "tests/test_calc.py", "tests/test_calk.py");
    change("bundle.json", "calc.py", "calk.py");
    fs::remove_file(folder.join("rounds/1/restored/evidence.json")).unwrap();
    verify().ended(3).says("RL1");
}

#[test]
fn a_protected_file_cannot_turn_a_failure_into_success() {
    for (script, protected) in [
        // It rewrites the test, and something else, so that a change is left.
        ("echo 'import unittest' > tests/test_calc.py; echo >> calc.py", "tests/test_calc.py"),
        // It deletes the test and puts an empty module of that name elsewhere on the path.
        (
            "rm tests/test_calc.py tests/__init__.py; mkdir -p tests; echo >> calc.py; echo > tests/test_calc.py",
            "tests/test_calc.py",
        ),
        // It brings another test runner.
        ("echo 'import sys; sys.exit(0)' > unittest.py; echo >> calc.py", "unittest.py"),
        (
            "mkdir unittest; echo 'import sys; sys.exit(0)' > unittest/__main__.py; echo > unittest/__init__.py; echo >> calc.py",
            "unittest/__main__.py",
        ),
    ] {
        let bench = Bench::new();
        let result = bench.agent(1, &["--rounds", "1"], script);
        refused(&result, "with protected files put back: VA");
        let listed = rounds(&result)[0]["protected"].to_string();
        assert!(listed.contains(protected), "{listed}");
        let feedback = bench.folder(&result).join("rounds/1/feedback.md");
        assert!(fs::read_to_string(feedback).unwrap().contains(protected), "the agent is told");
    }
    // A file that the criterion runs judges the work, whatever it is called; one that the goal names is what
    // to work on.
    let bench = Bench::new();
    fs::write(bench.workspace.join("verdict.py"), "import calc\nassert calc.add(1, 1) == 2\n").unwrap();
    bench.intent(&json!({"tests": [test("python3 verdict.py")]}));
    let result = bench.agent(1, &["--rounds", "1"], "echo pass > verdict.py; echo >> calc.py");
    assert_eq!(rounds(&result)[0]["protected"], json!(["verdict.py"]));
    fs::remove_dir_all(bench.path("order")).unwrap();
    bench.intent(&json!({"tests": [test("python3 calc.py")]}));
    let result = bench.agent(0, &[], RIGHT);
    assert_eq!(rounds(&result)[0]["protected"], json!([]));
    // Nothing is left but the test.
    let result = Bench::new().agent(1, &["--rounds", "1"], "echo 'import unittest' > tests/test_calc.py");
    refused(&result, "nothing is left of the change with protected files put back");
    // A right change beside a changed test passes on both trees.
    let result = Bench::new().agent(0, &[], &format!("{RIGHT}; echo '# more' >> tests/test_calc.py"));
    assert_eq!(rounds(&result)[0]["protected"], json!(["tests/test_calc.py"]));
    assert!(rounds(&result)[0]["restored_evidence_hash"].is_string());
}

#[test]
fn test_configuration_and_build_scripts_are_put_back() {
    let bench = Bench::new();
    fs::write(bench.workspace.join("Makefile"), format!("check:\n\t{CRITERION}\n")).unwrap();
    bench.intent(&json!({"tests": [test("make check")]}));
    for script in [
        "printf 'check:\\n\\ttrue\\n' > Makefile; echo >> calc.py",
        "printf 'check:\\n\\ttrue\\n' > GNUmakefile; echo >> calc.py",
    ] {
        let result = bench.agent(1, &["--rounds", "1"], script);
        refused(&result, "with protected files put back");
        fs::remove_dir_all(bench.path("order")).unwrap();
    }
    // A new conftest.py that skips what fails.
    bench.intent(&json!({"tests": [test("python3 -m pytest -q tests")]}));
    let conftest = "printf 'def pytest_collection_modifyitems(items):\\n    items[:] = []\\n\\ndef pytest_sessionfinish(session):\\n    session.exitstatus = 0\\n' > conftest.py; echo >> calc.py";
    let result = bench.agent(1, &["--rounds", "1"], conftest);
    refused(&result, "with protected files put back");
    assert_eq!(rounds(&result)[0]["protected"], json!(["conftest.py"]));
}

/// Files that the intent brings are in the copy, and stay as the intent has them.
#[test]
fn the_intent_brings_and_deletes_files() {
    let bench = Bench::new();
    fs::write(bench.workspace.join("old.py"), "x = 1\n").unwrap();
    let check = "import calc\nassert calc.add(1, 1) == 2\n";
    let command = "python3 check_sum.py";
    bench.intent(&json!({
        "files": [{"path": "check_sum.py", "content": check}],
        "delete": ["old.py"],
        "tests": [test(command)],
    }));
    let result = bench.agent(0, &[], &format!("test -f check_sum.py -a ! -e old.py && {RIGHT}"));
    let patch = read(&bench.folder(&result), "patch.json");
    let operations: Vec<String> = patch["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["op"].as_str().unwrap(), it["path"].as_str().unwrap()))
        .collect();
    assert_eq!(operations, ["modify calc.py", "create check_sum.py", "delete old.py"]);
    // An agent that changes the check, or brings the file back, is not accepted.
    let result = bench.agent(1, &["--rounds", "1"], "echo pass > check_sum.py; echo >> calc.py");
    refused(&result, "check_sum.py has the planned content");
    fs::remove_dir_all(bench.path("order")).unwrap();
    let result = bench.agent(1, &["--rounds", "1"], &format!("{RIGHT}; echo 'x = 2' > old.py"));
    refused(&result, "`old.py` is to be deleted, and is still there");
    fs::remove_dir_all(bench.path("order")).unwrap();
    bench.intent(&json!({"delete": ["none.py"], "tests": [test(command)]}));
    bench.work(&["--", "true"]).ended(2).says("`none.py` is to be deleted, and is not there");
}

/// A link that goes up through another one leads out of the copy though its text does not: files of the intent are not
/// written there.
#[test]
fn files_of_the_intent_are_not_written_through_links() {
    let bench = Bench::new();
    let deep = bench.workspace.join("s/p/q");
    fs::create_dir_all(&deep).unwrap();
    symlink("../../..", deep.join("top")).unwrap();
    symlink("s/p/q/top/..", bench.workspace.join("docs")).unwrap();
    fs::create_dir(bench.workspace.join("real")).unwrap();
    symlink("../s/p/q/top/../stolen.md", bench.workspace.join("real/plan.md")).unwrap();
    for path in ["docs/stolen.md", "real/plan.md"] {
        bench.intent(&json!({"tests": [test(CRITERION)], "files": [{"path": path, "content": "x"}]}));
        let refused = bench.work(&["--", "true"]);
        assert_ne!(refused.code, 0, "{}", refused.all());
        refused.says("leads through the symbolic link");
        let found: Vec<PathBuf> = listing(bench.top.path()).into_iter().map(|(path, _)| path).collect();
        let stolen = found.iter().any(|path| path.ends_with("stolen.md") && !path.is_symlink());
        assert!(!stolen, "{found:?}");
    }
}

#[test]
fn hostile_trees_become_no_patch_set() {
    let bench = Bench::new();
    symlink("/etc/hostname", bench.workspace.join("leads-out")).unwrap();
    for (script, reason) in [
        ("ln -s /etc/passwd link; echo >> calc.py", "is a symbolic link"),
        ("rm calc.py; ln -s /etc/passwd calc.py", "is a symbolic link"),
        ("mkfifo pipe; echo >> calc.py", "pipe"),
        ("d=$(pwd); cd ..; rm -r \"$d\"; ln -s /etc \"$d\"", "the copy was replaced by a symbolic link"),
        ("printf 'x\\000y' > data; echo >> calc.py", "has a NUL byte"),
        ("printf '\\377' > data; echo >> calc.py", "is not UTF-8"),
        ("truncate -s 60000000 huge.txt; echo >> calc.py", "larger than"),
        ("truncate -s 20G huge.txt", "more than"),
        (
            "i=0; while [ $i -lt 600 ]; do : > f$i; i=$((i+1)); done",
            "600 files changed, and the profile allows 500",
        ),
        ("echo > 'a\\b'; echo >> calc.py", "has a name that no patch set may have\""),
        ("printf x > \"$(printf 'n\\377m')\"; echo >> calc.py", "a name that no patch set may have"),
        ("echo 1 > Calc.py; echo >> calc.py", "PS5"),
    ] {
        let result = bench.agent(1, &["--rounds", "1"], script);
        refused(&result, reason);
        fs::remove_dir_all(bench.path("order")).unwrap();
    }
    // Files that never count do not stop the work: `.git`, caches, and files by which agents are held.
    let script = format!(
        "test ! -e leads-out || exit 1; git init -q .; mkdir -p .claude __pycache__ .ordain; echo '{{}}' > .claude/settings.json; \
         printf '\\000' > __pycache__/x.pyc; echo x > .ordain/x; {RIGHT}"
    );
    let result = bench.agent(0, &[], &script);
    let patch = read(&bench.folder(&result), "patch.json");
    assert_eq!(patch["operations"].as_array().unwrap().len(), 1, "{patch}");
}

#[test]
fn an_agent_that_does_not_end_well_is_ended() {
    let bench = Bench::new();
    let start = Instant::now();
    let crash = format!("{RIGHT}; echo broken >&2; exit 7");
    let result = bench.agent(1, &["--rounds", "1"], &crash);
    refused(&result, "the agent exited with 7");
    let folder = bench.folder(&result);
    assert_eq!(fs::read_to_string(folder.join("rounds/1/agent/stderr.txt")).unwrap(), "broken\n");
    fs::remove_dir_all(bench.path("order")).unwrap();
    let result = bench.agent(1, &["--rounds", "1"], "kill -SEGV $$");
    refused(&result, "the agent ended by signal 11");
    fs::remove_dir_all(bench.path("order")).unwrap();
    let result = bench.agent(1, &["--rounds", "1", "--time", "1"], "sleep 1000");
    refused(&result, "the agent ended after 1 s, its time limit");
    fs::remove_dir_all(bench.path("order")).unwrap();
    let result = bench.agent(1, &["--rounds", "1"], "yes");
    refused(&result, "because it wrote more than");
    let kept = fs::metadata(bench.folder(&result).join("rounds/1/agent/stdout.txt")).unwrap().len();
    assert_eq!(kept, 1 << 20, "only the first of it is kept");
    fs::remove_dir_all(bench.path("order")).unwrap();
    // Processes that leave the group and the session of the agent are ended too.
    let marker = bench.path("still-running");
    let left = format!("{RIGHT}; (setsid sh -c 'sleep 3; touch {marker}' >/dev/null 2>&1 &) ; sleep 0.2");
    let result = bench.agent(0, &[], &left);
    assert!(rounds(&result)[0]["agent"].as_str().unwrap().contains(" running, which w"), "{result}");
    std::thread::sleep(Duration::from_secs(3).saturating_sub(start.elapsed() / 8));
    assert!(!Path::new(&marker).exists());
    bench.work(&["--", "no-such-agent"]).ended(2).says("no-such-agent");
}

#[test]
fn only_changes_in_the_copy_count() {
    let bench = Bench::new();
    let outside = bench.path("outside.txt");
    let result = bench.agent(1, &["--rounds", "1"], &format!("echo x > {outside}"));
    refused(&result, "the agent changed nothing in the copy");
    assert!(Path::new(&outside).exists(), "the agent is its user's");
    fs::remove_dir_all(bench.path("order")).unwrap();
    // Nor is anything overwritten that somebody else changed meanwhile.
    let script = format!("{RIGHT}; echo '# mine' >> {}", bench.workspace.join("calc.py").display());
    bench
        .work(&["--", "sh", "-c", &script])
        .ended(2)
        .says("`calc.py` changed in the workspace since the copy was made");
    assert!(fs::read_to_string(bench.workspace.join("calc.py")).unwrap().ends_with("# mine\n"));
}

#[test]
fn an_order_is_prepared_and_submitted() {
    let bench = Bench::new();
    let order = bench.work(&[]).ended(0).json();
    let (copy, folder) = (order["copy"].as_str().unwrap(), order["folder"].as_str().unwrap());
    let brief = fs::read_to_string(order["brief"].as_str().unwrap()).unwrap();
    assert!(brief.contains(CRITERION) && brief.contains("put back"), "{brief}");
    let acceptance = read(Path::new(folder), "acceptance.json");
    assert_eq!(acceptance["tests"][0]["target"], CRITERION);
    bench.work(&[]).ended(2).says("is not empty");
    assert!(Path::new(copy).join("calc.py").exists(), "what is there stays");
    let submit =
        |more: &[&str]| ordain_with_system_tools(&[&["work", "submit", folder, "--json"], more].concat());
    refused(&submit(&[]).ended(1).json(), "the agent changed nothing");
    fs::write(Path::new(copy).join("calc.py"), CALC.replace('-', "*")).unwrap();
    refused(&submit(&[]).ended(1).json(), "a required test failed");
    assert!(fs::read_to_string(Path::new(folder).join("feedback.md")).unwrap().contains("6 != 5"));
    fs::write(Path::new(copy).join("calc.py"), CALC.replace('-', "+")).unwrap();
    submit(&["--bundle", "bundle_0123456789abcdef"]).ended(2).says("and not about `bundle_0123456789abcdef`");
    let id = order["bundle_id"].as_str().unwrap();
    let result = submit(&["--bundle", id]).ended(0).json();
    assert_eq!(
        (&result["bundle"]["bundle_id"], &rounds(&result)[0]["agent"]),
        (&order["bundle_id"], &json!("submitted"))
    );
    bench.folder(&result);
    assert!(!Path::new(folder).exists());
}

/// A work order that is killed leaves the workspace as it was, and can still be submitted.
#[test]
fn an_interrupted_order_can_be_submitted() {
    let bench = Bench::new();
    let before = listing(&bench.workspace);
    let (intent, order, pid) = (bench.path("intent.json"), bench.path("order"), bench.path("pid"));
    let script = format!("{RIGHT}; echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 100");
    let mut killed = Command::new(env!("CARGO_BIN_EXE_ordain"))
        .args(["work", &intent, "--workspace", bench.workspace.to_str().unwrap(), "--folder", &order])
        .args(["--", "sh", "-c", &script])
        .env("XDG_STATE_HOME", NO_STATE)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !Path::new(&pid).exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the agent does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let agent = fs::read_to_string(&pid).unwrap();
    ran(Command::new("kill").arg(agent.trim())).ended(0);
    assert_eq!(listing(&bench.workspace), before);
    let result = ordain_with_system_tools(&["work", "submit", &order, "--json"]).ended(0).json();
    bench.folder(&result);
}

#[test]
fn what_cannot_be_worked_on_starts_no_agent() {
    let bench = Bench::new();
    let marker = bench.path("started");
    let agent = ["--", "touch", marker.as_str()];
    fs::write(bench.path("intent.json"), json!({"goal": "Make it better"}).to_string()).unwrap();
    let result = bench.work(&agent).ended(1).json();
    assert_eq!(result["kernel_result_kind"], "CLARIFY");
    fs::write(bench.path("intent.json"), "{").unwrap();
    assert_eq!(bench.work(&agent).ended(1).json()["kernel_result_kind"], "REFUSE");
    assert!(!Path::new(&marker).exists() && !Path::new(&bench.path("order")).exists());
    // Nothing to test is untested, and another round would not help.
    bench.intent(&json!({}));
    let result = bench.agent(1, &[], RIGHT);
    assert!(result["decision"]["reasons"][0].as_str().unwrap().starts_with("UNTESTED"), "{result}");
    assert_eq!(rounds(&result).len(), 1);
    // A bundle is taken with its intent.
    bench.intent(&json!({"tests": [test(CRITERION)]}));
    fs::remove_dir_all(bench.path("order")).unwrap();
    let bundle = ordain(&["transform", &bench.path("intent.json")], "").ended(0).stdout;
    fs::write(bench.path("bundle.json"), &bundle).unwrap();
    let (bundle, intent, order) = (bench.path("bundle.json"), bench.path("intent.json"), bench.path("order"));
    let workspace = bench.workspace.to_str().unwrap();
    let common = ["--workspace", workspace, "--folder", &order, "--json", "--", "sh", "-c", RIGHT];
    ordain_with_system_tools(&[&["work", &bundle, "--intent", &intent], &common[..]].concat()).ended(0);
    ordain_with_system_tools(&[&["work", &bundle], &common[..]].concat()).ended(1);
    let inside = bench.workspace.join("inner");
    bench.work(&["--", "true"]);
    fs::remove_dir_all(&order).unwrap();
    ordain(&["work", &intent, "--workspace", workspace, "--folder", inside.to_str().unwrap()], "")
        .ended(2)
        .says("kept outside of its workspace");
}

/// Whatever git ignores in the workspace is left out, by the workspace's own rules.
#[test]
fn ignored_files_are_left_out() {
    let bench = Bench::new();
    let git =
        |arguments: &[&str]| ran(Command::new("git").current_dir(&bench.workspace).args(arguments)).ended(0);
    git(&["init", "-q"]);
    fs::write(bench.workspace.join(".gitignore"), "*.log\n").unwrap();
    let result = bench.agent(
        0,
        &[],
        &format!("test ! -e .git || exit 1; {RIGHT}; head -c 100 /dev/urandom > build.log"),
    );
    assert_eq!(read(&bench.folder(&result), "patch.json")["operations"].as_array().unwrap().len(), 1);
}

/// Codex, headless, with its own home, an invented key, and a scripted model on loopback: wrong at first,
/// then right.
#[test]
fn a_real_agent_is_accepted_in_round_two() {
    let bench = Bench::new();
    let packages = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("node");
    let codex = packages.join("node_modules/@openai/codex/bin/codex.js");
    assert!(codex.exists(), "`cargo xtask test` installs @openai/codex");
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/harness/scripted_model.py");
    let (home, port) = (bench.path("home"), bench.path("port"));
    fs::create_dir_all(Path::new(&home).join(".codex")).unwrap();
    let answers = json!([["Round 1 was not accepted", RIGHT], ["", "echo '# tried' >> calc.py"]]);
    let mut server =
        Command::new("/usr/bin/python3").arg(model).args([&port, &answers.to_string()]).spawn().unwrap();
    let start = Instant::now();
    let port = loop {
        match fs::read_to_string(&port) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => assert!(start.elapsed() < Duration::from_secs(30), "the model does not start"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let settings = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
         base_url = \"http://127.0.0.1:{port}/v1\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n"
    );
    fs::write(Path::new(&home).join(".codex/config.toml"), settings).unwrap();
    let path = std::env::var("PATH").unwrap();
    let before = listing(&bench.workspace);
    let ran = bench.work(&[
        "--time",
        "60",
        "--",
        "env",
        "-i",
        &format!("PATH={path}"),
        &format!("HOME={home}"),
        "OPENAI_API_KEY=none",
        "node",
        codex.to_str().unwrap(),
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "-",
    ]);
    let _ = server.kill();
    let _ = server.wait();
    let result = ran.ended(0).json();
    assert_eq!(listing(&bench.workspace), before);
    let rounds = rounds(&result);
    assert_eq!(
        (rounds.len(), &rounds[0]["accepted"], &rounds[1]["accepted"]),
        (2, &json!(false), &json!(true)),
        "{result}"
    );
    assert!(rounds[0]["patch_hash"].is_string() && rounds[0]["patch_hash"] != rounds[1]["patch_hash"]);
    let folder = bench.folder(&result);
    let said = fs::read_to_string(folder.join("rounds/2/agent/stdout.txt")).unwrap();
    assert!(said.contains("Done."), "{said}");
}
