//! Patch sets of work that exists: a folder, a diff, a repository, what a command left.

#![cfg(target_os = "linux")]

use crate::harness::{Ran, folder, ordain, ran};
use serde_json::{Value as Json, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

struct Bench {
    top: TempDir,
    workspace: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let top = folder();
        let workspace = top.path().join("ws");
        fs::create_dir_all(workspace.join("src")).unwrap();
        fs::write(workspace.join("src/a.txt"), "1\n2\n3\n").unwrap();
        fs::write(workspace.join("gone.txt"), "old\n").unwrap();
        Self { top, workspace }
    }

    fn path(&self, name: &str) -> String {
        self.top.path().join(name).to_str().unwrap().to_owned()
    }

    fn patch(&self, more: &[&str]) -> Ran {
        ordain(&[&["patch", "--workspace", self.workspace.to_str().unwrap()], more].concat(), "")
    }

    fn apply(&self, more: &[&str]) -> Ran {
        ordain(&[&["apply", "--workspace", self.workspace.to_str().unwrap()], more].concat(), "")
    }

    fn diff(&self, text: &str) -> String {
        fs::write(self.path("change.diff"), text).unwrap();
        self.path("change.diff")
    }

    fn git(&self, arguments: &[&str]) -> String {
        let settings = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
        ran(Command::new("git").current_dir(&self.workspace).args(settings).args(arguments)).ended(0).stdout
    }
}

/// `op path` of each operation of a valid patch set.
#[track_caller]
fn operations(set: &str) -> Vec<String> {
    ordain(&["verify", "--kind", "patch", "-"], set).ended(0);
    let set: Json = serde_json::from_str(set).unwrap();
    let operation = |it: &Json| format!("{} {}", it["op"].as_str().unwrap(), it["path"].as_str().unwrap());
    set["operations"].as_array().unwrap().iter().map(operation).collect()
}

const DIFF: &str = "diff --git a/src/a.txt b/src/a.txt\nindex 1..2 100644\n--- a/src/a.txt\n+++ b/src/a.txt\n\
                    @@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\ndiff --git a/gone.txt b/kept.txt\nsimilarity index 100%\n\
                    rename from gone.txt\nrename to kept.txt\n";

fn create(name: &str) -> String {
    format!(
        "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
    )
}

#[test]
fn a_folder_becomes_a_patch_set() {
    let bench = Bench::new();
    let other = bench.path("other");
    ran(Command::new("cp").args(["-a", bench.workspace.to_str().unwrap(), &other])).ended(0);
    let other_path = Path::new(&other);
    fs::write(other_path.join("src/a.txt"), "1\r\n2\n").unwrap();
    fs::write(other_path.join("new.txt"), "é").unwrap();
    fs::remove_file(other_path.join("gone.txt")).unwrap();
    fs::create_dir_all(other_path.join("__pycache__")).unwrap();
    fs::write(other_path.join("__pycache__/x.pyc"), [0, 255]).unwrap();
    let made = bench.patch(&["--from", &other]).ended(0);
    assert_eq!(operations(&made.stdout), ["delete gone.txt", "create new.txt", "modify src/a.txt"]);
    assert_eq!(made.json()["source_proposal_id"], "folder");
    let set = bench.path("set.json");
    bench.patch(&["--from", &other, "-o", &set]).ended(0).says("3 operations");
    bench.apply(&[&set]).ended(0);
    assert_eq!(
        operations(&bench.patch(&["--from", &other]).ended(0).stdout),
        [""; 0],
        "nothing differs any more"
    );
    // A change that no patch set can carry is named.
    symlink("/etc/passwd", other_path.join("link")).unwrap();
    bench.patch(&["--from", &other]).ended(1).says("`link` is a symbolic link");
    fs::remove_file(other_path.join("link")).unwrap();
    fs::write(other_path.join("data.bin"), [1, 0, 255]).unwrap();
    bench.patch(&["--from", &other]).ended(1).says("`data.bin` is not UTF-8");
    fs::remove_file(other_path.join("data.bin")).unwrap();
    fs::write(other_path.join("ordain.toml"), "").unwrap();
    bench.patch(&["--from", &other]).ended(1).says("`ordain.toml` holds the settings of a project");
    fs::remove_file(other_path.join("ordain.toml")).unwrap();
    fs::set_permissions(other_path.join("new.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    bench.patch(&["--from", &other]).ended(0).says("the executable bit changes");
    let inner = bench.workspace.join("src");
    bench.patch(&["--from", inner.to_str().unwrap()]).ended(1).says("one of the two lies in the other");
    bench.patch(&["--from", &bench.path("nowhere")]).ended(1);
    bench.patch(&[]).ended(64);
}

#[test]
fn a_diff_becomes_a_patch_set_and_is_applied() {
    let bench = Bench::new();
    let diff = bench.diff(DIFF);
    let made = bench.patch(&["--diff", &diff]).ended(0);
    assert_eq!(operations(&made.stdout), ["delete gone.txt", "create kept.txt", "modify src/a.txt"]);
    assert_eq!(made.json()["source_proposal_id"], "diff:change.diff");
    let hash = made.json()["source_proposal_hash"].as_str().unwrap().to_owned();
    let sum = ran(Command::new("sha256sum").arg(&diff)).stdout;
    assert_eq!(hash, format!("sha256:{}", &sum[..64]));
    let workspace = bench.workspace.to_str().unwrap().to_owned();
    let piped = ordain(&["patch", "--workspace", &workspace, "--diff", "-"], DIFF).ended(0);
    assert_eq!(piped.json()["source_proposal_id"], "diff");
    let preview = bench.apply(&["--dry-run", &diff]).ended(0);
    assert!(preview.stdout.contains("+two"), "{}", preview.stdout);
    // Our own preview is a diff that can be applied.
    ordain(&["apply", "--workspace", &workspace, "--diff", "-"], &preview.stdout).ended(0);
    assert_eq!(fs::read_to_string(bench.workspace.join("src/a.txt")).unwrap(), "1\ntwo\n3\n");
    assert_eq!(fs::read_to_string(bench.workspace.join("kept.txt")).unwrap(), "old\n");
    assert!(!bench.workspace.join("gone.txt").exists());
    ordain(&["undo", "--workspace", &workspace], "").ended(0);
    bench.apply(&[&diff]).ended(0);
    // A diff that was applied fits no longer.
    bench.apply(&[&diff]).ended(1).says("line 7 of the diff: line 2 of `src/a.txt` is not as the diff says");
}

#[test]
fn hostile_diffs_leave_the_workspace_alone() {
    let bench = Bench::new();
    symlink("/etc", bench.workspace.join("etc")).unwrap();
    for (diff, expected) in [
        (create("../up.txt"), "line 1 of the diff: path `../up.txt` contains `..`"),
        (create("/tmp/up.txt"), "line 1 of the diff: path `/tmp/up.txt` starts with `/`"),
        (create(".git/hooks/pre-commit"), "lies in `.git`"),
        (create("sub/.GIT/config"), "which is Git's own folder"),
        (create(".ordain/x"), "which is ordain's own folder"),
        (create("ordain.toml"), "line 1 of the diff: `ordain.toml` holds the settings of a project"),
        (create(".claude/settings.json"), "holds hooks or settings of an agent"),
        (create("etc/hostname.new"), "a symbolic link is on the way"),
        (create("etc"), "cannot be read"),
        (create("x").replace("100644", "120000"), "line 2 of the diff: the file is a symbolic link"),
        (create("x").replace("+x", "+\0"), "line 1 of the diff: `x` has a NUL byte"),
        (create("SRC/a.txt") + &create("src/A.txt"), "PS5"),
        (
            "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\n".to_owned(),
            "line 3 of the diff: the file is binary",
        ),
    ] {
        let file = bench.diff(&diff);
        bench.patch(&["--diff", &file]).ended(1).says(expected);
        bench.apply(&[&file]).ended(1).says(expected);
    }
    let mut names: Vec<_> =
        fs::read_dir(&bench.workspace).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["etc", "gone.txt", "src"]);
}

#[test]
fn a_repository_becomes_a_patch_set_and_runs_nothing() {
    let bench = Bench::new();
    bench.git(&["init", "-q"]);
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "-m", "one"]);
    fs::write(bench.workspace.join("src/a.txt"), "1\ntwo\n3\n").unwrap();
    fs::write(bench.workspace.join("untracked.txt"), "x").unwrap();
    fs::write(bench.workspace.join("added.txt"), "y").unwrap();
    bench.git(&["add", "added.txt"]);
    bench.git(&["rm", "-q", "gone.txt"]);
    // A repository that would run programs if git were asked as usual.
    let marker = bench.path("ran");
    let program = bench.path("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {marker}\ncat\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(bench.workspace.join(".git/info/attributes"), "* filter=evil diff=evil\n").unwrap();
    for key in [
        "core.fsmonitor",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "core.pager",
    ] {
        bench.git(&["config", key, &program]);
    }
    bench.git(&["config", "core.hooksPath", bench.top.path().to_str().unwrap()]);
    let _ = fs::remove_file(&marker);
    let made = bench.patch(&["--git", "HEAD"]).ended(0);
    assert_eq!(operations(&made.stdout), ["create added.txt", "delete gone.txt", "modify src/a.txt"]);
    assert!(made.json()["source_proposal_id"].as_str().unwrap().starts_with("git:"));
    assert!(!Path::new(&marker).exists(), "nothing of the repository ran");
    for key in
        ["core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean"]
    {
        bench.git(&["config", "--unset", key]);
    }
    bench.git(&["commit", "-q", "-a", "-m", "two"]);
    let between = bench.patch(&["--git", "HEAD~1..HEAD"]).ended(0);
    assert_eq!(operations(&between.stdout), ["create added.txt", "delete gone.txt", "modify src/a.txt"]);
    let empty = bench.patch(&["--git", "HEAD"]).ended(0).says("nothing differs, so the patch set is empty");
    assert_eq!(operations(&empty.stdout), [""; 0]);
    bench.patch(&["--git", "nonsense"]).ended(1).says("`nonsense` is not a commit");
    bench.patch(&["--git=--output=x"]).ended(1).says("is not a commit");
    symlink("/etc/passwd", bench.workspace.join("link")).unwrap();
    bench.git(&["add", "link"]);
    bench.patch(&["--git", "HEAD"]).ended(1).says("`link` is a symbolic link");
    let plain = Bench::new();
    plain.patch(&["--git", "HEAD"]).ended(1).says("not a commit of a repository");
}

#[test]
fn what_a_command_left_becomes_a_patch_set() {
    let bench = Bench::new();
    let set = bench.path("set.json");
    let workspace = bench.workspace.to_str().unwrap().to_owned();
    let exec = |profile: &str, script: &str| {
        let common = ["sandbox", "exec", "--workspace", &workspace, "--profile", profile, "--patch", &set];
        ordain(&[&common[..], &["--", "sh", "-c", script]].concat(), "")
    };
    exec("dev", "echo two > src/a.txt; echo x > new; rm gone.txt").ended(0).says("3 operations");
    let text = fs::read_to_string(&set).unwrap();
    assert_eq!(operations(&text), ["delete gone.txt", "create new", "modify src/a.txt"]);
    assert!(text.contains("sandbox:prop_"), "{text}");
    assert_eq!(fs::read_to_string(bench.workspace.join("src/a.txt")).unwrap(), "1\n2\n3\n");
    bench.apply(&[&set]).ended(0);
    assert_eq!(fs::read_to_string(bench.workspace.join("src/a.txt")).unwrap(), "two\n");
    fs::remove_file(&set).unwrap();
    exec("dev", "echo x > y; false").ended(1).says("no patch set was written, because the command failed");
    exec("dev", "ln -s /etc/passwd link").ended(1).says("no patch set can carry `link`");
    exec("dev", "printf '\\000' > data").ended(1).says("has a NUL byte");
    exec("dev", "echo > ordain.toml").ended(1).says("holds the settings of a project");
    assert!(!Path::new(&set).exists());
}

/// `context.delete` goes through plan, patch, run and apply.
#[test]
fn an_intent_deletes_files() {
    let bench = Bench::new();
    let intent = |delete: Json| {
        let intent = json!({
            "goal": "Remove the file `gone.txt` from the repository",
            "constraints": ["Done when `gone.txt` is gone"],
            "context": {"delete": delete, "tests": [{"name": "it is gone", "type": "command_success",
                "target": "test ! -e gone.txt", "expected": "0"}]},
        });
        fs::write(bench.path("intent.json"), intent.to_string()).unwrap();
        bench.path("intent.json")
    };
    let workspace = bench.workspace.to_str().unwrap().to_owned();
    let file = intent(json!(["gone.txt"]));
    let (plan, base) = (bench.path("plan.json"), bench.path("base.json"));
    ordain(&["plan", &file, "--workspace", &workspace, "--base", &base, "-o", &plan], "").ended(0);
    let planned: Json = serde_json::from_slice(&fs::read(&plan).unwrap()).unwrap();
    assert_eq!(planned["requires_approval"], true);
    assert!(fs::read_to_string(&base).unwrap().contains("gone.txt"));
    let set = ordain(&["patch", &plan], "").ended(0);
    assert!(operations(&set.stdout).contains(&"delete gone.txt".to_owned()));
    ordain(&["run", &file, "--workspace", &workspace, "--apply"], "").ended(0);
    assert!(!bench.workspace.join("gone.txt").exists());
    ordain(&["run", &file, "--workspace", &workspace], "").ended(1).says("is to be deleted and is not there");
    for (delete, rule) in [
        (json!(["../x"]), "IN9"),
        (json!(["a", "A"]), "IN9"),
        (json!("x"), "IN9"),
        (json!(["a", "a/b"]), "IN9"),
    ] {
        let file = intent(delete);
        ordain(&["verify", &file], "").ended(3).says(rule);
        ordain(&["transform", &file], "").ended(11);
    }
}
