//! Shell commands: each effect has a lock of its own, however the command is spelled. In a file and in PostgreSQL.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{ActionStatus, OutcomeReport, UseOutcome, UseReceipt};
use ordain_decision::PolicyFiles;
use ordain_gate::{Act, Caller, Conflict, GateError, audit, check_records, replay};
use ordain_spec::approval::Verdict;
use scene::stored::{Kind, Stored};
use scene::{NOW, Scene, policies};
use serde_json::{Value as Json, json};

/// Commands run; publishing takes an approval.
fn files(effects: &str) -> PolicyFiles {
    let cedar = r#"
@id("run") @max_executions("2")
permit(principal, action == Action::"execute", resource)
unless { context has shell && context.shell.effect == "publish" };
@id("publish") @approval("single") @approvers("leads")
permit(principal, action == Action::"execute", resource)
when { context has shell && context.shell.effect == "publish" };
"#;
    let mut files = policies("2");
    files.insert("all.cedar".to_owned(), cedar.to_owned());
    files.insert("effects.toml".to_owned(), effects.to_owned());
    files
}

/// A gate in a file, and one in PostgreSQL.
async fn stores(effects: &str) -> [Stored; 2] {
    let files = files(effects);
    [Stored::open_gate(Kind::File, &files).await, Stored::open_gate(Kind::Postgres, &files).await]
}

fn shell(id: &str, command: &str) -> Json {
    json!({"proposal_id": id, "ts_ms": NOW, "actor": "agent", "action_type": "execute",
        "target": {"resource_type": "shell", "resource_id": id, "domain": "workspace", "constraints": {"noise": id}},
        "parameters": {"command": command, "cwd": ".", "noise": id}})
}

/// A use of a command, if nothing locks it.
async fn try_use(scene: &Scene, id: &str, command: &str) -> Result<UseReceipt, GateError> {
    let call = shell(id, command);
    let status = scene.submit(&call).await;
    scene.spend(&status, &call).await
}

async fn used(scene: &Scene, id: &str, command: &str) -> UseReceipt {
    try_use(scene, id, command).await.unwrap_or_else(|error| panic!("{command}: {error:?}"))
}

async fn ends(scene: &Scene, spent: &UseReceipt, outcome: UseOutcome) {
    let (number, reason) = (spent.number, String::new());
    let report =
        OutcomeReport { number, outcome, affected_records: None, duration_ms: None, reason, change: None };
    scene.gate.settle(&scene.operator, &spent.permit_id, &report).await.unwrap();
}

async fn is_locked(scene: &Scene, id: &str, command: &str) {
    let refused = try_use(scene, id, command).await;
    assert!(
        matches!(&refused, Err(GateError::Conflict(Conflict::Unsettled { .. }))),
        "{command}: {refused:?}"
    );
    // The same for a call that acts at once.
    let text = shell(&format!("{id}-act"), command).to_string();
    let act = Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook: None };
    let refused = scene.gate.act(&Caller::local("agent"), &act).await.err();
    assert!(
        matches!(&refused, Some(GateError::Conflict(Conflict::Unsettled { .. }))),
        "{command}: {refused:?}"
    );
}

/// Records, entries and decisions follow from each other.
async fn check(scene: &Scene) {
    let store = scene.gate.store();
    assert_eq!(audit(store, &[], &[], |_, _| {}).await.unwrap().damage, []);
    assert_eq!(check_records(store).await.unwrap(), []);
    let again = replay(&scene.gate, None, |_, _| {}).await.unwrap();
    assert_eq!((again.same, again.not_replayed), (again.decisions, vec![]));
    assert_eq!((again.derived_otherwise, again.other_effects), (vec![], vec![]));
}

/// The keys that the last entry of a kind names.
async fn keys_of(scene: &Scene, kind: &str) -> Vec<String> {
    let entries = scene.gate.store().entries(0, 1_000).await.unwrap();
    let events =
        entries.iter().map(|row| serde_json::from_slice::<Json>(&row.bytes).unwrap()["event"].clone());
    let last = events.rev().find(|event| event["kind"] == kind).unwrap();
    serde_json::from_value(last["effect_keys"].clone()).unwrap()
}

#[tokio::test]
async fn a15_an_interrupted_push_is_not_repeated_in_another_spelling() {
    for stored in stores("").await {
        let scene = &stored.scene;
        for (number, (first, spellings)) in [
            (
                "git push origin main",
                [
                    "git  push origin 'main'",
                    "bash -c 'env git push -f origin HEAD:main'",
                    "cd src; git push origin +main:refs/heads/main # nothing to see",
                ],
            ),
            ("git push", ["git  push", "\"git\" 'push'", "true && git --no-pager push"]),
        ]
        .into_iter()
        .enumerate()
        {
            let id = |part: &str, at: usize| format!("{part}-{number}-{at}");
            let push = used(scene, &id("first", 0), first).await;
            // While it may still be under way, a second one can be.
            ends(scene, &used(scene, &id("beside", 0), spellings[0]).await, UseOutcome::Succeeded).await;
            ends(scene, &push, UseOutcome::Unknown).await;
            for (at, spelling) in spellings.into_iter().enumerate() {
                is_locked(scene, &id("again", at), spelling).await;
            }
            // Another ref, and another kind of effect, are none of its business.
            used(scene, &id("other", 0), "git push origin next && git fetch").await;
            check(scene).await;
            ends(scene, &push, UseOutcome::Failed).await;
            for (at, spelling) in spellings.into_iter().enumerate() {
                let freed = used(scene, &id("freed", at), spelling).await;
                ends(scene, &freed, UseOutcome::Succeeded).await;
            }
            check(scene).await;
        }
    }
}

#[tokio::test]
async fn a15_every_effect_of_a_command_has_its_own_lock() {
    for stored in stores("").await {
        let scene = &stored.scene;
        let all = used(scene, "all", "rm -r dist; cargo test && cat notes.md && git push origin main").await;
        // Nobody reports; by its deadline it is unknown, with or without a sweep.
        scene.pass(5 * 60_000 + 6_000);
        for sweep in [false, true] {
            if sweep {
                scene.gate.sweep().await.unwrap();
            }
            let later = |id: &str| format!("{id}-{sweep}");
            let try_later = async |id: String, command: &str| {
                let mut call = shell(&id, command);
                call["ts_ms"] = (NOW + 5 * 60_000 + 6_000).into();
                let status = scene.submit(&call).await;
                scene.spend(&status, &call).await
            };
            for (id, command) in [("delete", "rm -rf ./dist"), ("push", "ls && git push -u origin main")] {
                let refused = try_later(later(id), command).await;
                assert!(
                    matches!(&refused, Err(GateError::Conflict(Conflict::Unsettled { .. }))),
                    "{command}: {refused:?}"
                );
            }
            for (id, command) in
                [("test", "cargo test"), ("read", "cat notes.md"), ("other", "rm -r build-2")]
            {
                let spent = try_later(later(id), command).await.unwrap();
                ends(scene, &spent, UseOutcome::Succeeded).await;
            }
            check(scene).await;
        }
        // One settlement frees all.
        ends(scene, &all, UseOutcome::Succeeded).await;
        for (id, command) in [("delete", "rm -r dist"), ("push", "git push origin main")] {
            let mut call = shell(id, command);
            call["ts_ms"] = (NOW + 5 * 60_000 + 6_000).into();
            let status = scene.submit(&call).await;
            scene.spend(&status, &call).await.unwrap();
        }
        check(scene).await;
    }
}

#[tokio::test]
async fn a15_a_command_that_cannot_be_read_locks_as_a_whole() {
    for stored in stores("").await {
        let scene = &stored.scene;
        let command = "frobnicate --now && git push origin main";
        let first = used(scene, "first", command).await;
        ends(scene, &first, UseOutcome::Unknown).await;
        is_locked(scene, "again", command).await;
        // The part that can be read locks by itself; the other is the whole command.
        is_locked(scene, "push", "git push origin main").await;
        used(scene, "other", "frobnicate --now").await;
        check(scene).await;
        ends(scene, &first, UseOutcome::Failed).await;
        used(scene, "freed", command).await;
        check(scene).await;
    }
}

#[tokio::test]
async fn a15_a_row_says_which_effects_of_commands_lock() {
    let rows = "[execute.delete]\non_unknown = \"note\"\n[execute.runs_code]\non_unknown = \"block\"\n\
                effect_parameters = []\n[execute.git_push]\non_unknown = \"block\"\neffect_parameters = [\"noise\"]\n";
    for stored in stores(rows).await {
        let scene = &stored.scene;
        let first = used(scene, "first", "rm -r dist && make && git push origin main").await;
        ends(scene, &first, UseOutcome::Unknown).await;
        used(scene, "delete", "rm -r dist").await;
        is_locked(scene, "build", "make").await;
        // The row makes the push of another `noise` another effect.
        used(scene, "push", "git push origin main").await;
        check(scene).await;
        // Approvers see effects that only make a note.
        let status = scene.submit(&shell("publish", "rm -r dist; npm publish")).await;
        let told = json!([{"permit_id": first.permit_id, "use": 1}]);
        assert_eq!(status.view["earlier"]["unknown"], Json::Null, "a proposer is not told");
        let status = scene.gate.status(&scene.operator, &status.action_id).await.unwrap();
        assert_eq!(status.view["earlier"]["unknown"], told);
    }
}

async fn held(scene: &Scene, id: &str, command: &str) -> ActionStatus {
    scene.submit(&shell(id, command)).await;
    scene.gate.status(&scene.operator, id).await.unwrap()
}

#[tokio::test]
async fn a13_a_rejected_effect_is_shown_whatever_stands_beside_it() {
    for stored in stores("").await {
        let scene = &stored.scene;
        let first = held(scene, "first", "echo now && git push origin main && npm publish").await;
        assert_eq!(first.view.get("earlier"), None);
        scene.say("ann", &first, Verdict::Reject).await.unwrap();
        assert_eq!(keys_of(scene, "rejected").await.len(), 2, "a harmless effect is none that is looked for");
        let rejected = json!([{"action_id": "first", "by": "ann", "at_ms": NOW, "reason": "because"}]);
        for (id, command) in [
            ("respelled", "env npm  publish"),
            ("beside", "cat notes.md; npm publish"),
            ("both", "git push -f origin main; npm publish"),
        ] {
            let shown = held(scene, id, command).await;
            assert_eq!(shown.view["earlier"]["rejected"], rejected, "{command}");
        }
        let other = held(scene, "other", "echo now; cargo publish").await;
        assert_eq!(other.view.get("earlier"), None);
        check(scene).await;
    }
}

#[tokio::test]
async fn uses_of_a_shared_effect_are_told_once() {
    for stored in stores("").await {
        let scene = &stored.scene;
        ends(scene, &used(scene, "push", "git push origin main").await, UseOutcome::Succeeded).await;
        scene.pass(1_000);
        let call = shell("both", "git push origin main && npm publish");
        let status = held(scene, "both", "git push origin main && npm publish").await;
        let last = json!({"action_id": "push", "succeeded": true, "at_ms": NOW});
        let settled = json!({"succeeded": 1, "failed": 0, "last": last});
        assert_eq!(status.view["earlier"], json!({"rejected": [], "unknown": [], "settled": settled}));
        let allowed = scene.say("ann", &status, Verdict::Approve).await.unwrap();
        let spent = scene.spend(&allowed, &call).await.unwrap();
        ends(scene, &spent, UseOutcome::Unknown).await;
        let unknown = json!([{"permit_id": spent.permit_id, "use": 1}]);
        let shown = held(scene, "third", "npm publish; git push origin main").await;
        assert_eq!(shown.view["earlier"]["unknown"], unknown);
        ends(scene, &spent, UseOutcome::Failed).await;
        let shown = scene.gate.status(&scene.operator, "third").await.unwrap();
        let last = json!({"action_id": "both", "succeeded": false, "at_ms": NOW + 1_000});
        let settled = json!({"succeeded": 1, "failed": 1, "last": last});
        assert_eq!(shown.view["earlier"], json!({"rejected": [], "unknown": [], "settled": settled}));
        check(scene).await;
    }
}

#[tokio::test]
async fn effects_are_on_record_in_one_order() {
    for stored in stores("").await {
        let scene = &stored.scene;
        let mut seen = Vec::new();
        for (id, command) in [
            ("one", "git push origin main; rm -r dist; cat notes.md"),
            ("two", "cat notes.md; git push origin main; rm -r dist; git push -f origin main"),
            ("three", "rm -r dist; cat notes.md; git push origin main; echo done"),
        ] {
            used(scene, id, command).await;
            seen.push(keys_of(scene, "permit_spent").await);
        }
        assert_eq!(seen[0].len(), 3);
        assert_eq!(seen[0].iter().filter(|key| key.starts_with('~')).count(), 1, "{:?}", seen[0]);
        assert!(seen[0].is_sorted_by_key(|key| key.trim_start_matches('~').to_owned()), "{:?}", seen[0]);
        assert_eq!((&seen[1], &seen[2]), (&seen[0], &seen[0]));
        check(scene).await;
    }
}

#[tokio::test]
async fn a_command_has_so_many_effects_that_lock() {
    for stored in stores("").await {
        let scene = &stored.scene;
        let delete = |count: usize| {
            let names: Vec<String> = (0..count).map(|number| format!("old-{number}")).collect();
            format!("rm {}", names.join(" "))
        };
        let many = used(scene, "many", &delete(64)).await;
        ends(scene, &many, UseOutcome::Unknown).await;
        is_locked(scene, "one", "rm old-63").await;
        check(scene).await;
        let text = shell("more", &delete(65)).to_string();
        let refused = scene.gate.submit(&scene.operator, text.as_bytes(), None).await.err().unwrap();
        assert!(
            matches!(&refused, GateError::Invalid { errors, .. }
            if errors[0].path == "/parameters/command" && errors[0].message.contains("at most 64")),
            "{refused:?}"
        );
        // Effects that make a note are not limited beyond what is read of a command.
        let names: Vec<String> = (0..100).map(|number| format!("note-{number}")).collect();
        used(scene, "read", &format!("cat {}", names.join(" "))).await;
        assert_eq!(keys_of(scene, "permit_spent").await.len(), 100);
        ends(scene, &many, UseOutcome::Succeeded).await;
        used(scene, "freed", "rm old-63").await;
        check(scene).await;
    }
}

#[tokio::test]
async fn a_call_looks_up_all_its_effects_at_once() {
    for stored in stores("").await {
        let scene = &stored.scene;
        scene.submit(&shell("first", "true")).await;
        let reads = scene.gate.store().counters().reads;
        let text = shell("acted", "rm -r a b c && git push origin main").to_string();
        let act = Act { text: text.as_bytes(), supersedes: None, waited_for: None, hook: None };
        let used = scene.gate.act(&Caller::local("agent"), &act).await.unwrap().used.unwrap();
        let reads_after = scene.gate.store().counters().reads;
        assert!(reads_after - reads <= 1, "{} reads", reads_after - reads);
        assert_eq!(keys_of(scene, "permit_spent").await.len(), 4);
        ends(scene, &used, UseOutcome::Succeeded).await;
    }
}

/// Nearly every command reads its folder; approvers are told of the last ones.
#[tokio::test]
async fn approvers_are_told_of_the_last_unknown_uses() {
    for stored in stores("").await {
        let scene = &stored.scene;
        let mut uses = Vec::new();
        for number in 0..20 {
            let spent = used(scene, &format!("look-{number}"), "git status").await;
            scene.pass(1_000);
            ends(scene, &spent, UseOutcome::Unknown).await;
            uses.push(spent);
        }
        let shown = held(scene, "publish", "git status && npm publish").await;
        let told: Vec<Json> =
            uses[4..].iter().map(|spent| json!({"permit_id": spent.permit_id, "use": 1})).collect();
        assert_eq!(shown.view["earlier"]["unknown"], json!(told));
        // One that is no longer among them can be settled, like the others.
        for spent in &uses[..19] {
            ends(scene, spent, UseOutcome::Failed).await;
        }
        let shown = held(scene, "again", "git status && npm publish").await;
        assert_eq!(shown.view["earlier"]["unknown"], json!([told[15]]));
        check(scene).await;
    }
}
