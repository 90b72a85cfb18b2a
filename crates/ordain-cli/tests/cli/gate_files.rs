//! Files go through the gate: where one is registered, `apply`, `undo` and `run --apply` ask, spend a permit and
//! leave their entries.

#![cfg(target_os = "linux")]

use crate::harness::Project;
use ordain_canon::ContentHash;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

fn patch(operations: &[(&str, &str, &str)]) -> String {
    let operation = |(op, path, content): &(&str, &str, &str)| {
        let mut operation = json!({"op": op, "path": path});
        if *op != "delete" {
            operation["content"] = json!(content);
            operation["expected_hash"] = json!(ContentHash::of(content.as_bytes()).to_string());
            operation["size_bytes"] = json!(content.len());
        }
        operation
    };
    let total: usize = operations.iter().map(|(_, _, content)| content.len()).sum();
    json!({"patch_schema_version": "1.0.0", "source_proposal_id": "prop_2c4250a41ca4e4fa",
        "source_proposal_hash": format!("sha256:{}", "1".repeat(64)), "total_bytes": total,
        "operations": operations.iter().map(operation).collect::<Vec<_>>()})
    .to_string()
}

/// The action that waits, with everything that an approver is shown.
fn held(project: &Project) -> Json {
    let listed = project.run(&["status", "--state", "held", "--json"]).ended(0);
    let first: Json = serde_json::from_str(listed.stdout.lines().next().unwrap()).unwrap();
    project.run(&["status", first["action_id"].as_str().unwrap(), "--json"]).ended(20).json()
}

/// Where the only action stands.
fn state(project: &Project) -> String {
    let listed = project.run(&["status", "--json"]).ended(0);
    let states: Vec<Json> = listed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [status] = &states[..] else { panic!("{states:?}") };
    status["state"].as_str().unwrap().to_owned()
}

fn approve(project: &Project, who: &str) -> i32 {
    let held = held(project);
    let (id, view) = (held["action_id"].as_str().unwrap(), held["view_digest"].as_str().unwrap());
    project.approve_as(who, id, view).code
}

fn events(project: &Project) -> Vec<String> {
    let shown = project.run(&["ledger", "show", "0", "--limit", "500", "--json"]).ended(0);
    let event = |line: &str| -> String {
        let entry: Json = serde_json::from_str(line).unwrap();
        entry["entry"]["event"]["kind"].as_str().unwrap().to_owned()
    };
    shown.stdout.lines().map(event).collect()
}

#[test]
fn a_patch_set_waits_for_its_approval_and_leaves_its_entries() {
    let project = Project::started();
    project.write("patch.json", &patch(&[("create", "docs/a.md", "a\n"), ("create", "src/b.rs", "b\n")]));
    project.run(&["apply", "patch.json"]).ended(20).says_all(&["held", "write-listed", "agent-1"]);
    assert!(!project.path("docs/a.md").exists());
    // The same command again is the same proposal.
    project.run(&["apply", "patch.json"]).ended(20);
    assert_eq!(events(&project).iter().filter(|event| *event == "submitted").count(), 1);
    assert_eq!(approve(&project, "alice"), 0);
    project.run(&["apply", "patch.json"]).ended(0).says_all(&["applied", "2 files"]);
    assert_eq!(project.read("docs/a.md"), "a\n");
    // An impossible change is not asked for.
    project.run(&["apply", "patch.json"]).ended(1).says_all(&["it is there already"]);
    // Taking it back deletes files, which takes two.
    project.run(&["undo"]).ended(20).says_all(&["delete-listed"]);
    assert_eq!(approve(&project, "alice"), 20);
    assert_eq!(approve(&project, "bob"), 0);
    project.run(&["undo"]).ended(0).says_all(&["undone"]);
    assert!(!project.path("docs/a.md").exists());
    // And again: a new proposal, because the first one is done.
    project.run(&["apply", "patch.json"]).ended(20);
    let events = events(&project);
    for event in ["permit_minted", "permit_spent", "permit_settled", "applied", "undone"] {
        assert!(events.iter().any(|it| it == event), "{event} is not in {events:?}");
    }
    project.run(&["ledger", "fsck"]).ended(0).says_all(&["verified"]);
    project.run(&["replay"]).ended(0);
}

/// A person takes back what their agent changed: one decision with their own authority, on the ledger. Nobody
/// owns this gate, so that they need no signature.
#[test]
fn a_person_undoes_an_agents_change_with_one_decision() {
    let project = Project::started();
    project.write("patch.json", &patch(&[("create", "docs/a.md", "a\n")]));
    project.run(&["apply", "patch.json"]).ended(20);
    assert_eq!(approve(&project, "alice"), 0);
    project.run(&["apply", "patch.json"]).ended(0);
    let before = events(&project).len();
    project.run(&["undo", "--actor", "olga"]).ended(0).says_all(&["undone"]);
    assert!(!project.path("docs/a.md").exists());
    let after = events(&project);
    let decided = after.iter().skip(before).filter(|event| *event == "decided").count();
    assert_eq!((decided, after.last().map(String::as_str)), (1, Some("undone")), "{after:?}");
    project.run(&["ledger", "fsck"]).ended(0);
    project.run(&["replay"]).ended(0);
    // The flag alone opens nothing: agents are not people.
    project.run(&["apply", "patch.json"]).ended(20);
}

#[test]
fn what_the_policy_denies_is_not_applied() {
    let project = Project::started();
    project.write("patch.json", &patch(&[("create", ".env", "x"), ("create", "docs/a.md", "a\n")]));
    project.run(&["apply", "patch.json"]).ended(21).says_all(&["DENY", ".env"]);
    assert!(!project.path("docs/a.md").exists());
    project.run(&["halt", "--reason", "stop"]).ended(0);
    project.write("other.json", &patch(&[("create", "docs/a.md", "a\n")]));
    project.run(&["apply", "other.json"]).ended(21).says_all(&["halted"]);
    project.run(&["resume", "--reason", "go"]).ended(0);
    // Somebody else than an agent of this user.
    project.run(&["apply", "other.json", "--actor", "mallory"]).ended(1).says("may not propose as `mallory`");
}

#[test]
fn the_evidence_of_a_run_is_bound_to_the_permit() {
    let project = Project::started();
    project.write("patch.json", &patch(&[("create", "docs/a.md", "a\n")]));
    project.run(&["run", "--patch", "patch.json", "--apply"]).ended(20);
    let held = held(&project);
    let evidence = &held["view"]["evidence"][0];
    assert_eq!(
        (&evidence["sensor_id"], &evidence["payload"]["accepted"], &evidence["payload"]["untested"]),
        (&json!("ordain-sandbox"), &json!(false), &json!(true))
    );
    assert_eq!(evidence["payload"]["patch_hash"], held["view"]["proposal"]["parameters"]["patch_hash"]);
    assert_ne!(
        held["decision"]["evidence_set_hash"],
        json!(format!("sha256:{}", "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"))
    );
    assert_eq!(approve(&project, "carol"), 0);
    let run = std::fs::read_dir(project.path(".ordain/runs")).unwrap().next().unwrap().unwrap();
    project.run(&["apply", run.path().to_str().unwrap()]).ended(0).says_all(&["applied"]);
    assert!(events(&project).contains(&"evidence_received".to_owned()));
}

/// A runner signs the packet that `apply` binds; nobody else's is taken.
#[test]
fn a11_a_runners_signature_makes_a_run_more_than_the_proposers_word() {
    let project = Project::started();
    project.write("patch.json", &patch(&[("create", "docs/a.md", "a\n")]));
    project.run(&["run", "--patch", "patch.json"]).ended(1);
    let run = std::fs::read_dir(project.path(".ordain/runs")).unwrap().next().unwrap().unwrap().path();
    let run = run.to_str().unwrap();
    project.write("runner.key", &"A".repeat(43));
    let pack = ["evidence", "pack", "--sensor", "ordain-sandbox", "--run", run, "--key", "runner.key"];
    let packet = project.run(&pack).ended(0);
    project.write("packet.json", &packet.stdout);
    let signed = packet.json();
    assert!(signed["sensor_signature"].is_string() && signed["sensor_id"] == "ordain-sandbox", "{signed}");
    project.run(&["evidence", "add", "packet.json"]).ended(0);
    // The proposal is bound to the runner's packet, though the proposer has another one.
    project.run(&["apply", run]).ended(20);
    let held = held(&project);
    assert_eq!(held["view"]["evidence"][0]["sensor_signature"], signed["sensor_signature"]);
    assert_eq!(held["view"]["evidence"][0]["evidence_id"], signed["evidence_id"]);
    let other = ["evidence", "pack", "--sensor", "ci", "--run", run];
    project.run(&other).ended(64).says_all(&["ordain-sandbox"]);
}

/// The policies that a project starts with let people decide about what a run makes of an intent.
#[test]
fn a_run_of_an_intent_can_be_approved() {
    let project = Project::started();
    let intent = json!({"goal": "Add `docs/port.md`, which names the port",
        "context": {"files": [{"path": "docs/port.md", "content": "7171\n"}],
            "commands": [{"argv": ["test", "-s", "docs/port.md"]}]}});
    project.write("intent.json", &intent.to_string());
    project.run(&["run", "intent.json", "--apply"]).ended(20);
    // The run is shown, and it is the same evidence when it is applied later.
    let payload = &held(&project)["view"]["evidence"][0]["payload"];
    let command = json!({"command": "test -s docs/port.md", "exit_code": 0, "status": "success"});
    assert_eq!((&payload["commands"], &payload["commands_in_all"]), (&json!([command]), &json!(1)));
    assert_eq!(payload["tests"][0]["passed"], true, "{payload}");
    assert_eq!(approve(&project, "carol"), 0);
    let run = std::fs::read_dir(project.path(".ordain/runs")).unwrap().next().unwrap().unwrap();
    project.run(&["apply", run.path().to_str().unwrap()]).ended(0).says_all(&["applied"]);
}

/// The evidence of a work order names the bundle, the patch set and every round.
#[test]
fn a_work_order_ends_at_the_gate_with_all_its_rounds() {
    let project = Project::started();
    let intent = json!({"goal": "Add `docs/port.md`, which names the port 7171",
        "context": {"commands": [{"argv": ["grep", "-q", "7171", "docs/port.md"]}]}});
    project.write("intent.json", &intent.to_string());
    let folder = crate::harness::folder();
    let order = folder.path().join("order");
    let agent = "mkdir -p docs; echo 7$((ORDAIN_ROUND * 100 - 29)) > docs/port.md";
    let order = order.to_str().unwrap();
    let work = ["work", "intent.json", "--folder", order, "--apply", "--json", "--", "sh", "-c", agent];
    let ran = project.run(&work).ended(20);
    let result = ran.lines()[0].clone();
    let held = held(&project);
    let payload = &held["view"]["evidence"][0]["payload"];
    assert_eq!(payload["accepted"], true, "{payload}");
    assert_eq!(payload["bundle_hash"], result["work"]["bundle_hash"]);
    assert_eq!(payload["patch_hash"], held["view"]["proposal"]["parameters"]["patch_hash"]);
    let rounds = payload["rounds"].as_array().unwrap();
    assert_eq!(
        (rounds.len(), &rounds[0]["accepted"], &rounds[1]["accepted"]),
        (2, &json!(false), &json!(true))
    );
    assert_eq!(rounds[1]["patch_hash"], payload["patch_hash"]);
    assert_eq!(approve(&project, "carol"), 0);
    let run = project.path(".ordain/runs").join(result["run_id"].as_str().unwrap());
    project.run(&["apply", run.to_str().unwrap()]).ended(0).says_all(&["applied"]);
    assert_eq!(project.read("docs/port.md"), "7171\n");
}

/// A git diff goes through the gate as any patch set.
#[test]
fn a_git_diff_waits_for_its_approval() {
    let project = Project::started();
    project.write("docs/a.md", "old\n");
    let diff =
        "diff --git a/docs/a.md b/docs/a.md\n--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-old\n+new\n";
    project.write("change.diff", diff);
    project.run(&["apply", "change.diff"]).ended(20);
    assert_eq!(project.read("docs/a.md"), "old\n");
    assert_eq!(approve(&project, "carol"), 0);
    project.run(&["apply", "change.diff"]).ended(0).says_all(&["applied"]);
    assert_eq!(project.read("docs/a.md"), "new\n");
}

/// An approver sees the lines that change, and exactly those are applied, or nothing.
#[test]
fn an_approver_sees_the_lines() {
    let project = Project::started();
    project.write("docs/a.md", "first\nold\nlast\n");
    project.write("patch.json", &patch(&[("modify", "docs/a.md", "first\nnew \u{1b}[2J\u{3164}\nlast\n")]));
    project.run(&["apply", "patch.json"]).ended(20);
    let held_first = held(&project);
    let diff = held_first["view"]["proposal"]["parameters"]["diff"].as_str().unwrap();
    let lines =
        "--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1,3 +1,3 @@\n first\n-old\n+new \u{1b}[2J\u{3164}\n last\n";
    assert!(diff.ends_with(lines), "{diff}");
    let id = held_first["action_id"].as_str().unwrap();
    // On a page of its own and not as JSON, and whatever could move the cursor is escaped.
    let shown = project.run(&["status", id]).ended(20);
    let shown = shown.says_all(&[
        "Changes, as the proposer says",
        "\n    -old\n",
        "\n    +new \\u{1b}[2J\\u{3164}\n",
    ]);
    assert!(!shown.stdout.contains("\"diff\""), "{}", shown.stdout);
    assert_eq!(approve(&project, "alice"), 0);
    // Somebody else changes the same lines meanwhile: nobody has seen what would happen now.
    project.write("docs/a.md", "first\nothers\nlast\n");
    project.run(&["apply", "patch.json"]).ended(20);
    assert_ne!(held(&project)["action_id"], id);
    project.write("docs/a.md", "first\nold\nlast\n");
    project.run(&["apply", "patch.json"]).ended(0);
}

/// Somebody writes to the file after the gate was asked and before it is changed: no diff has that.
#[test]
fn what_is_written_meanwhile_is_not_overwritten() {
    let project = approved();
    let slow_store = ["-f", "-qq", "--trace=fdatasync", "--inject=fdatasync:delay_enter=3000000:when=1"];
    std::thread::scope(|scope| {
        let applying = scope.spawn(|| traced(&project, &["apply", "patch.json"], &slow_store));
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        project.write("docs/a.md", "others\n");
        // On a machine so slow that it has not looked yet, it is proposed anew.
        assert!(matches!(applying.join().unwrap(), Some(1 | 20)));
    });
    assert_eq!(project.read("docs/a.md"), "others\n");
    assert!(!project.path("docs/b.md").exists());
}

/// Policies see the paths of the project, whatever folder is called the workspace.
#[test]
fn a_workspace_inside_is_no_way_round_the_policy() {
    let project = Project::started();
    project.write("patch.json", &patch(&[("create", "docs/a.md", "a\n")]));
    project
        .run(&["apply", "patch.json", "--workspace", "policy", "--json"])
        .ended(21)
        .says_all(&["policy/docs/a.md"]);
    assert!(!project.path("policy/docs").exists());
    // Where it may be done, it is: from inside, from outside, and back.
    project.write("docs/inner/b.md", "old\n");
    project.write("inner.json", &patch(&[("modify", "b.md", "new\n")]));
    project.run(&["apply", "inner.json", "--workspace", "docs/inner"]).ended(20);
    let parameters = &held(&project)["view"]["proposal"]["parameters"];
    assert_eq!(parameters["operations"], json!([{"op": "modify", "path": "docs/inner/b.md"}]));
    assert!(parameters["diff"].as_str().unwrap().contains("+++ b/docs/inner/b.md\n"), "{parameters}");
    assert_eq!(approve(&project, "alice"), 0);
    project.run(&["apply", "inner.json", "--workspace", "docs/inner"]).ended(0);
    assert_eq!(project.read("docs/inner/b.md"), "new\n");
    project.run(&["undo", "--workspace", "docs/inner"]).ended(20);
    let restored = &held(&project)["view"]["proposal"]["parameters"]["restored"];
    assert_eq!(restored[0]["path"], "docs/inner/b.md");
}

#[test]
fn of_a_long_change_the_beginning_is_shown() {
    let project = Project::started();
    let (old, new): (String, String) =
        (0..9_000).map(|line| (format!("old {line} \"\n"), format!("new {line} \"\n"))).unzip();
    project.write("docs/a.md", &old);
    project.write("patch.json", &patch(&[("modify", "docs/a.md", &new)]));
    let proposed = || {
        project.run(&["apply", "patch.json"]).ended(20);
        held(&project)
    };
    let first = proposed();
    let diff = first["view"]["proposal"]["parameters"]["diff"].as_str().unwrap();
    let lines = diff.lines().count();
    let rest = format!("\n… and {} more lines of docs/a.md that are not shown, ", 5 + 18_000 - lines);
    assert!(diff.contains(&rest) && lines > 1_000, "{lines}: {}", &diff[diff.len() - 200..]);
    assert!(serde_json::to_string(diff).unwrap().len() <= 32 << 10);
    // The same change is the same proposal.
    assert_eq!(proposed()["action_id"], first["action_id"]);
}

/// An undo does the same kind of thing to the same files; what may be applied may not be taken back, and the
/// other way round.
#[test]
fn an_undo_is_another_action_than_the_change() {
    let project = Project::started();
    project.write("docs/a.md", "old\n");
    project.write("patch.json", &patch(&[("modify", "docs/a.md", "new\n")]));
    project.run(&["apply", "patch.json"]).ended(20);
    let applying = held(&project)["view"]["proposal"].clone();
    assert_eq!(approve(&project, "alice"), 0);
    project.run(&["apply", "patch.json"]).ended(0);
    project.run(&["undo"]).ended(20);
    let undoing = held(&project)["view"]["proposal"].clone();
    let record = undoing["target"]["resource_id"].as_str().unwrap();
    assert!(record.starts_with("000001-"), "{undoing}");
    let parameters = &undoing["parameters"];
    assert_eq!((&parameters["undo"], &parameters["record"]), (&json!(true), &json!(record)));
    assert_eq!(parameters["patch_hash"], applying["parameters"]["patch_hash"]);
    let old = json!([{"path": "docs/a.md", "content_hash": ContentHash::of(b"old\n").to_string()}]);
    assert_eq!(parameters["restored"], old);
    assert_ne!(undoing["target"], applying["target"]);
    let id = held(&project)["action_id"].as_str().unwrap().to_owned();
    assert_eq!(approve(&project, "alice"), 0);
    // The permit of the undo is of no use for applying.
    let status = project.run(&["status", &id, "--json"]).ended(0).json();
    project.write("applying.json", &applying.to_string());
    let permit = status["permit"]["permit_id"].as_str().unwrap();
    project
        .run(&["permit", "use", permit, "--for", "applying.json"])
        .ended(1)
        .says_all(&["another `target`"]);
    project.run(&["undo"]).ended(0).says_all(&["undone"]);
    assert_eq!(project.read("docs/a.md"), "old\n");
}

#[test]
fn where_nothing_is_to_change_nobody_is_asked() {
    let project = Project::started();
    project.write("docs/a.md", "a\n");
    project.write("patch.json", &patch(&[("modify", "docs/a.md", "a\n")]));
    project.run(&["apply", "patch.json"]).ended(0).says_all(&["nothing to change"]);
    assert!(!project.path(".ordain").exists(), "nothing is proposed, applied or recorded");
}

/// A change that was approved and not made yet.
fn approved() -> Project {
    let project = Project::started();
    project.write("docs/a.md", "old\n");
    project.write("patch.json", &patch(&[("modify", "docs/a.md", "new\n"), ("create", "docs/b.md", "b\n")]));
    project.run(&["apply", "patch.json"]).ended(20);
    assert_eq!(approve(&project, "alice"), 0);
    project
}

/// Runs a command and lets one of its system calls end badly, or writes down all of them.
fn traced(project: &Project, args: &[&str], options: &[&str]) -> Option<i32> {
    let mut command = project.program("strace");
    command.args(options).arg("--").arg(env!("CARGO_BIN_EXE_ordain")).args(args);
    command.output().unwrap().status.code()
}

const APPLY: &[&str] = &["apply", "patch.json"];

/// Killed at every step that changes something: what the next command reports is what happened to the files.
#[test]
fn a_change_that_was_killed_is_reported_by_the_next_command() {
    const CALLS: &[&str] = &["renameat", "renameat2", "unlinkat", "mkdirat", "fsync"];
    let project = approved();
    let copied = || project.copy();
    let log = project.path("calls");
    let trace = format!("trace={}", CALLS.join(","));
    let control = copied();
    assert_eq!(traced(&control, APPLY, &["-o", log.to_str().unwrap(), "-e", &trace]), Some(0));
    assert_eq!(state(&control), "succeeded");
    let text = std::fs::read_to_string(&log).unwrap();
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('(')).map(|(name, _)| name).collect();
    let mut seen: BTreeMap<(String, bool), usize> = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        let number = names.iter().take(at + 1).filter(|it| it == &name).count();
        let project = copied();
        let inject = format!("inject={name}:signal=KILL:when={number}");
        let what = format!("{name} {number}");
        assert_eq!(
            traced(&project, APPLY, &["-o", "/dev/null", "-e", &trace, "-e", &inject]),
            None,
            "{what}"
        );
        let recovered = project.run(&["rules", "PS4"]).ended(0);
        let state = state(&project);
        let changed = project.read("docs/a.md") == "new\n";
        assert_eq!(project.path("docs/b.md").exists(), changed, "{what}");
        let leaves = events(&project).iter().filter(|event| *event == "applied").count();
        assert_eq!(leaves, usize::from(changed), "{what}: {state}: {}", recovered.stderr);
        match &*state {
            "succeeded" => assert!(changed, "{what}"),
            // `running`: killed before it was noted that the use has to be reported, and so before anything
            // was changed.
            "allowed" | "running" | "failed" => assert!(!changed, "{what}"),
            other => panic!("{what}: {other}"),
        }
        project.run(&["ledger", "fsck"]).ended(0);
        assert_eq!(project.run(&["rules", "PS4"]).ended(0).stderr, "", "{what}: it is told once");
        *seen.entry((state, changed)).or_default() += 1;
    }
    // Both ways were tried, and there are few moments at which nobody can tell.
    let count =
        |state: &str| seen.iter().filter(|((it, _), _)| it == state).map(|(_, count)| count).sum::<usize>();
    assert!(count("succeeded") > 5 && count("failed") > 3 && count("running") < 5, "{seen:?}");
}

/// A workspace between two states is not known to have failed, until somebody repairs it.
#[test]
fn what_is_half_made_is_unknown() {
    let project = approved();
    let options = ["-o", "/dev/null", "-e", "trace=renameat2", "-e", "inject=renameat2:error=EIO:when=2+"];
    assert_eq!(traced(&project, APPLY, &options), Some(1));
    // The command itself has reported it so; any other one takes the change back, and reports that.
    let recovered = project.run(&["rules", "PS4"]).ended(0).says_all(&["rolled back", "is reported now"]);
    assert_eq!(state(&project), "failed", "{}", recovered.stderr);
    let outcomes: Vec<Json> = project
        .run(&["ledger", "show", "0", "--limit", "500", "--json"])
        .ended(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["entry"]["event"]["outcome"].clone())
        .filter(|outcome| matches!(outcome.as_str(), Some("unknown" | "failed" | "succeeded")))
        .collect();
    assert_eq!(outcomes, [json!("unknown"), json!("failed")]);
    assert_eq!(project.read("docs/a.md"), "old\n");
    project.run(&["ledger", "fsck"]).ended(0);
}

#[test]
fn without_a_gate_it_says_so() {
    let project = Project::empty();
    project.write("patch.json", &patch(&[("create", "a.md", "a\n")]));
    project.run(&["apply", "patch.json"]).ended(0).says_all(&["no policy was asked", "applied"]);
    project.run(&["undo"]).ended(0).says_all(&["no policy was asked", "undone"]);
    project.run(&["submit", "patch.json"]).ended(1).says_all(&["no gate is registered"]);
}
