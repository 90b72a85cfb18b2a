//! `plan`, `patch` and `validate` on real files.

use crate::harness::{Project, Ran, fed, repository};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::PathBuf;

const BUNDLE: &str = "conformance/bundle/BS3/accept.json";
const INTENT: &str = "conformance/intent/IN6/accept.json";

/// A folder of its own for a test, with the conformance vectors at hand.
struct Folder(Project);

impl Folder {
    fn new() -> Self {
        let project = Project::empty();
        let vectors = repository().join("conformance");
        std::os::unix::fs::symlink(vectors, project.path("conformance")).unwrap();
        Self(project)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn json(&self, name: &str) -> Json {
        serde_json::from_str(&self.0.read(name)).unwrap()
    }

    /// Exit code, standard output, standard error.
    fn ordain(&self, args: &[&str], input: &[u8]) -> (i32, String, String) {
        let Ran { code, stdout, stderr } = fed(&mut self.0.command(args), input);
        (code, stdout, stderr)
    }

    #[track_caller]
    fn fails(&self, args: &[&str], code: i32, expected: &str) {
        let (found, stdout, stderr) = self.ordain(args, b"");
        assert!(
            (found, stdout.as_str()) == (code, "") && stderr.contains(expected),
            "{found} {stdout}{stderr}"
        );
    }
}

#[test]
fn from_a_bundle_to_a_patch_set() {
    let folder = Folder::new();
    let (code, plan, stderr) = folder.ordain(&["plan", BUNDLE, "--intent", INTENT], b"");
    assert!(code == 0 && plan.ends_with("}\n"), "{stderr}");
    let (code, said, _) = folder.ordain(&["plan", BUNDLE, "--intent", INTENT, "-o", "plan.json"], b"");
    let id = folder.json("plan.json")["id"].as_str().unwrap().to_owned();
    let summary = "Add a rate limit to the public API: 1 file to create, 1 command, 2 tests";
    assert_eq!((code, said), (0, format!("plan {id} written to plan.json: {summary}\n")));
    assert_eq!(fs::read_to_string(folder.path("plan.json")).unwrap(), plan);
    let (_, said, _) = folder.ordain(&["plan", BUNDLE, "--intent", INTENT, "-o", "plan.json", "--json"], b"");
    assert_eq!(said, format!("{{\"file\":\"plan.json\",\"id\":\"{id}\"}}\n"));
    assert_eq!(folder.ordain(&["verify", "plan.json", "--bundle", BUNDLE], b"").0, 0);

    let (code, set, _) = folder.ordain(&["patch", "-"], plan.as_bytes());
    assert_eq!(code, 0);
    let (_, said, _) = folder.ordain(&["patch", "plan.json", "--output", "patch.json"], b"");
    let bytes = folder.json("patch.json")["total_bytes"].clone();
    assert_eq!(said, format!("patch set of {id} written to patch.json: 1 operation, {bytes} bytes\n"));
    assert_eq!(fs::read_to_string(folder.path("patch.json")).unwrap(), set);
    let (_, hash, _) = folder.ordain(&["hash", "--kind", "patch", "--json", "patch.json"], b"");
    let (_, said, _) = folder.ordain(&["patch", "plan.json", "--output", "patch.json", "--json"], b"");
    assert_eq!(said, hash.replace('{', "{\"file\":\"patch.json\","));
    assert_eq!(folder.ordain(&["verify", "patch.json"], b"").0, 0);
    // Nothing is left beside the files.
    assert_eq!(fs::read_dir(&folder.0.root).unwrap().count(), 3);
}

#[test]
fn what_is_there_is_changed() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("work/config")).unwrap();
    let args = ["plan", BUNDLE, "--intent", INTENT, "--workspace", "work"];
    let types = || {
        let plan: Json = serde_json::from_str(&folder.ordain(&args, b"").1).unwrap();
        let mut types: Vec<String> = plan["actions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| format!("{} {}", it["target"], it["type"]))
            .collect();
        types.retain(|it| it.contains("config"));
        types
    };
    assert_eq!(types(), [r#""config/rate_limit.toml" "create_file""#]);
    fs::write(folder.path("work/config/rate_limit.toml"), "").unwrap();
    assert_eq!(types(), [r#""config/rate_limit.toml" "modify_file""#]);
    fs::remove_file(folder.path("work/config/rate_limit.toml")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path("work/config/rate_limit.toml")).unwrap();
    folder.fails(&args, 1, "config/rate_limit.toml  is a symbolic link, and links are not followed");
    fs::remove_file(folder.path("work/config/rate_limit.toml")).unwrap();
    fs::create_dir(folder.path("work/config/rate_limit.toml")).unwrap();
    folder.fails(&args, 1, "config/rate_limit.toml  is a folder, and only files can be changed");
    fs::remove_dir_all(folder.path("work/config")).unwrap();
    fs::write(folder.path("work/config"), "").unwrap();
    folder.fails(&args, 1, "cannot be reached: a part of its path is not a folder");
    folder.fails(
        &["plan", BUNDLE, "--intent", INTENT, "--workspace", "none"],
        1,
        "the workspace `none` cannot be used",
    );
}

/// YAML, standard input, and no trace of where it happened.
#[test]
fn spelling_and_place_do_not_matter() {
    let folder = Folder::new();
    let (_, plain, _) = folder.ordain(&["plan", BUNDLE, "--intent", INTENT], b"");
    let intent = fs::read(folder.path(INTENT)).unwrap();
    let (_, piped, _) =
        folder.ordain(&["plan", BUNDLE, "--intent", "-"], &[b"\xef\xbb\xbf", &intent[..]].concat());
    assert_eq!(piped, plain);
    // JSON is YAML.
    fs::write(folder.path("intent.yaml"), &intent).unwrap();
    let bundle = folder.path(BUNDLE).display().to_string();
    let workspace = folder.0.root.display().to_string();
    let (_, yaml, _) =
        folder.ordain(&["plan", &bundle, "--intent", "intent.yaml", "--workspace", &workspace], b"");
    assert_eq!(yaml, plain);
    folder.fails(&["plan", "-", "--intent", "-"], 64, "standard input can be read only once");
}

#[test]
fn documents_that_are_not_valid_are_reported() {
    let folder = Folder::new();
    let bad = "conformance/bundle/BS3/reject.json";
    folder.fails(&["plan", bad, "--intent", INTENT], 1, "BS3  /outputs/1  out of order");
    let (code, report, stderr) = folder.ordain(&["plan", bad, "--intent", INTENT, "--json"], b"");
    assert_eq!((code, stderr.as_str()), (1, ""));
    assert_eq!(report, folder.ordain(&["verify", bad, "--json"], b"").1);
    folder.fails(&["plan", INTENT, "--intent", INTENT], 1, "expected a bundle, found an intent");
    folder.fails(&["patch", "none.json"], 1, "none.json: No such file");
    folder.fails(&["patch", "-"], 1, "PARSE");
    let other = "conformance/intent/IN4/accept.json";
    folder.fails(&["plan", BUNDLE, "--intent", other], 1, "made from another intent");
    fs::create_dir(folder.path("out")).unwrap();
    folder.fails(&["plan", BUNDLE, "--intent", INTENT, "-o", "out"], 1, "out: is a folder, not a file");
    folder.fails(
        &["plan", BUNDLE, "--intent", INTENT, "-o", "none/plan.json"],
        1,
        "none/plan.json: No such file",
    );
}

/// A file that is replaced keeps its permissions, and a link to it stays one.
#[test]
fn files_are_replaced_whole() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let target = folder.path("real.json");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("real.json", folder.path("plan.json")).unwrap();
    assert_eq!(folder.ordain(&["plan", BUNDLE, "--intent", INTENT, "-o", "plan.json"], b"").0, 0);
    assert!(fs::symlink_metadata(folder.path("plan.json")).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(folder.json("real.json")["confidence"], 85);
    let (code, said, _) = folder.ordain(&["plan", BUNDLE, "--intent", INTENT, "-o", "/dev/null"], b"");
    assert!(code == 0 && said.contains("written to /dev/null"), "{said}");
}

#[test]
fn evidence_is_judged() {
    let folder = Folder::new();
    let (good, plan) = ("conformance/evidence/EV3/accept.json", "conformance/plan/PR13/accept.json");
    let (code, said, stderr) = folder.ordain(&["validate", good, "--plan", plan], b"");
    assert_eq!((code, said), (0, format!("accept  {good}: the plan was carried out\n")), "{stderr}");
    let (code, said, _) = folder.ordain(&["validate", good, "--plan", plan, "--json"], b"");
    assert_eq!((code, said.as_str()), (0, "{\"reasons\":[],\"recommendation\":\"accept\"}\n"));

    let mut evidence = folder.json(good);
    evidence["test_results"][1] = json!({"test_id": "test_suite", "passed": false, "actual": "1"});
    fs::write(folder.path("bad.json"), evidence.to_string()).unwrap();
    let (code, said, _) = folder.ordain(&["validate", "bad.json", "--plan", plan], b"");
    let reason = "VA5  /test_results/1/passed  a required test failed: The rate limit tests pass; expected `0`, found `1`";
    assert_eq!((code, said), (1, format!("reject  bad.json: 1 reason\n  {reason}\n")));
    folder.fails(
        &["validate", plan, "--plan", plan],
        1,
        "expected execution evidence, found a plan proposal",
    );
    folder.fails(&["validate", good], 64, "--plan");
}
