//! `ordain sandbox` as a user sees it.

#![cfg(target_os = "linux")]

use crate::harness::{Ran, TempFile, folder, ordain};
use serde_json::Value as Json;
use tempfile::TempDir;

/// A workspace for the time of a test.
struct Workspace(TempDir);

impl Workspace {
    fn new() -> Self {
        let folder = folder();
        std::fs::write(
            folder.path().join("a.txt"),
            "content
",
        )
        .unwrap();
        Self(folder)
    }

    fn exec(&self, more: &[&str]) -> Ran {
        let mut arguments = vec!["sandbox", "exec", "--workspace", self.0.path().to_str().unwrap()];
        arguments.extend(more);
        ordain(&arguments, "")
    }
}

#[test]
fn a_command_shows_its_output_and_its_end() {
    let workspace = Workspace::new();
    let ran = workspace.exec(&["--", "cat", "a.txt"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "content\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("exit code 0") && ran.stderr.contains("protection  full"), "{}", ran.stderr);
    let ran = workspace.exec(&["--", "cat", "missing"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("cat: missing") && ran.stderr.contains("exit code 1"), "{}", ran.stderr);
    let ran = workspace.exec(&["--profile", "strict", "--", "python3"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("not among the commands of the profile `strict`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: the profile `dev` allows every command"), "{}", ran.stderr);
}

#[test]
fn evidence_is_valid_and_the_same_for_the_same_thing() {
    let workspace = Workspace::new();
    let script = ["--json", "--profile", "dev", "--", "sh", "-c", "echo $$; date +%N; echo x > y; rm a.txt"];
    let (first, second) = (workspace.exec(&script), workspace.exec(&script));
    assert_eq!((first.code, second.code), (0, 0), "{}", first.stderr);
    let hash = |text: &str| {
        let file = TempFile::new("evidence.json", text);
        assert_eq!(ordain(&["verify", file.path()], "").code, 0);
        ordain(&["hash", "--kind", "evidence", file.path()], "").stdout
    };
    assert_eq!(hash(&first.stdout), hash(&second.stdout));
    let evidence: Json = serde_json::from_str(&first.stdout).unwrap();
    assert_eq!(evidence["status"], "complete");
    assert_eq!(evidence["action_results"][0]["produced"][0]["path"], "y");
    assert_eq!(evidence["observed"]["sandbox"]["protections"]["level"], "full");
    assert_eq!(evidence["observed"]["sandbox"]["deleted"][0], "a.txt");
    assert!(workspace.0.path().join("a.txt").exists());
}

#[test]
fn what_goes_wrong_is_said() {
    let ran = ordain(&["sandbox", "exec", "--workspace", "/no/such/folder", "--", "true"], "");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("the workspace `/no/such/folder` cannot be used"), "{}", ran.stderr);
    assert_eq!(ordain(&["sandbox", "exec"], "").code, 64);
    assert_eq!(ordain(&["sandbox", "exec", "--profile", "none", "--", "true"], "").code, 64);
}

#[test]
fn the_probe_says_what_there_is() {
    let ran = ordain(&["sandbox", "probe"], "");
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("full: every profile can be used"), "{}", ran.stdout);
    let probe: Json = serde_json::from_str(&ordain(&["sandbox", "probe", "--json"], "").stdout).unwrap();
    assert_eq!(probe["level"], "full");
}

/// Runs `ordain` where the kernel refuses user namespaces.
const WITHOUT_NAMESPACES: &str = "
import ctypes, os, platform, struct, sys
clone = 56 if platform.machine() == 'x86_64' else 220
code = [(0x20, 0, 0, 0), (0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 0, 1, 0x10000000),
        (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *it) for it in code))
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_void_p)]
program = Program(6, ctypes.addressof(code))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

fn ordain_without_namespaces(arguments: &[&str]) -> Ran {
    let mut command = std::process::Command::new("python3");
    let output = command
        .args(["-c", WITHOUT_NAMESPACES, env!("CARGO_BIN_EXE_ordain")])
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn without_namespaces_a_command_needs_the_flag() {
    let workspace = Workspace::new();
    let folder = workspace.0.path().to_str().unwrap();
    let exec = |more: &[&str]| {
        let arguments = [&["sandbox", "exec", "--workspace", folder], more, &["--", "cat", "a.txt"]].concat();
        ordain_without_namespaces(&arguments)
    };
    let ran = exec(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("`--allow-landlock-only`: commands then run on a copy"), "{}", ran.stderr);
    let ran = exec(&["--allow-landlock-only"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "content\n"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("protection  landlock-only: no namespaces, no capabilities"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("open        modes and times of files"), "{}", ran.stderr);
    let ran = exec(&["--allow-landlock-only", "--profile", "strict"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("only reach the level `landlock-only`, and `full`"), "{}", ran.stderr);
    let ran = exec(&["--allow-landlock-only", "--json"]);
    let evidence: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(evidence["observed"]["sandbox"]["protections"]["level"], "landlock-only");
    let file = TempFile::new("evidence.json", &ran.stdout);
    assert_eq!(ordain(&["verify", file.path()], "").code, 0);
}

#[test]
fn without_namespaces_a_run_needs_the_flag() {
    let workspace = Workspace::new();
    let folder = workspace.0.path().to_str().unwrap();
    let intent = r#"{"goal": "Add the file `b.txt` with the text one", "constraints": ["Done when `b.txt` is there"],
        "context": {"files": [{"path": "b.txt", "content": "one\n"}], "commands": [{"argv": ["cat", "b.txt"]}]}}"#;
    let intent = TempFile::new("intent.json", intent);
    let run = |more: &[&str]| {
        ordain_without_namespaces(&[&["run", intent.path(), "--workspace", folder], more].concat())
    };
    let ran = run(&[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--allow-landlock-only"), "{}", ran.stderr);
    let ran = run(&["--allow-landlock-only"]);
    assert!(ran.stdout.contains("landlock-only: without namespaces"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("ok"), "{}", ran.stderr);
    // Where there are namespaces it changes nothing.
    let ran = ordain(&["run", intent.path(), "--workspace", folder, "--allow-landlock-only"], "");
    assert!(!ran.stdout.contains("landlock-only"), "{}", ran.stdout);
}

#[test]
fn the_probe_says_what_the_flag_allows() {
    let ran = ordain_without_namespaces(&["sandbox", "probe"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("landlock-only: nothing can be run without `--allow-landlock-only`"), "{words}");
    assert!(words.contains("What this level leaves open - no namespaces"), "{words}");
    let ran = ordain_without_namespaces(&["sandbox", "probe", "--json"]);
    let probe: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(probe["level"], "landlock-only");
    let features = probe["features"].as_array().unwrap();
    assert!(features.iter().any(|it| it["name"] == "user namespace" && it["remedy"].is_string()));
}

#[test]
fn what_a_command_writes_does_not_speak_to_the_terminal() {
    let workspace = Workspace::new();
    let print = r"printf 'a\033]0;b\007\tc\377\n'; printf '\033[2J' >&2";
    let ran = workspace.exec(&["--profile", "dev", "--", "sh", "-c", r"printf '\033[2J' >&2"]);
    assert!(ran.stderr.starts_with("\u{1b}[2J"), "no terminal: as it is: {}", ran.stderr);
    let command =
        ["sandbox", "exec", "--profile", "dev", "--workspace", workspace.0.path().to_str().unwrap(), "--"];
    let python = "import pty, sys; pty.spawn(sys.argv[1:])";
    let mut at_terminal = std::process::Command::new("python3");
    at_terminal.args(["-c", python, env!("CARGO_BIN_EXE_ordain")]).args(command).args(["sh", "-c", print]);
    let shown = at_terminal.stdin(std::process::Stdio::null()).output().unwrap().stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("a\\u{1b}]0;b\\u{7}\tc\\xff\r\n"), "{shown:?}");
    assert!(shown.contains("\\u{1b}[2J") && !shown.contains("\u{1b}[2J"), "{shown:?}");
}
