//! Lists for people: they give what a look at everything would give, and cost what they give.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{ActionState, ActionStatus, ActionsQuery, EntriesQuery, Event, Role};
use ordain_canon::ContentHash;
use ordain_gate::{Caller, check_records};
use ordain_spec::approval::Verdict;
use ordain_store::Query;
use scene::{NOW, Scene, policies, proposal};
use serde_json::Value as Json;

fn about(id: &str, actor: &str, action: &str, target: &str) -> Json {
    let mut made = proposal(id, action);
    made["actor"] = actor.into();
    made["target"]["resource_id"] = target.into();
    made
}

/// All pages of a query, with pages of this length.
async fn all(scene: &Scene, caller: &Caller, query: &ActionsQuery, limit: usize) -> Vec<ActionStatus> {
    let (mut query, mut found) = (query.clone(), Vec::new());
    loop {
        let (page, next) = scene.gate.find_actions(caller, &query, limit).await.unwrap();
        assert!(page.len() <= limit + 1, "{} actions", page.len());
        found.extend(page);
        let Some(next) = next else { return found };
        assert!(query.before.is_none_or(|before| next < before), "it goes on");
        query.before = Some(next);
    }
}

/// The result of a look at everything.
async fn slow(scene: &Scene, query: &ActionsQuery) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), Some(0));
    while after.is_some() {
        let (page, next) = scene.gate.actions(&scene.operator, None, after, 500).await.unwrap();
        for status in page {
            let proposal = &status.view["proposal"];
            let is = |wanted: &Option<String>, value: &Json| wanted.as_deref().is_none_or(|it| value == it);
            let times = query.since_ms.unwrap_or(0)..query.until_ms.unwrap_or(u64::MAX);
            let by = |name: &String| status.approvals.iter().any(|it| it.approver.as_str() == name);
            let policy = |hash: &String| status.decision.policy_hash.as_str().starts_with(hash.as_str());
            if query.state.is_none_or(|state| state == status.state)
                && is(&query.actor, &proposal["actor"])
                && is(&query.action_type, &proposal["action_type"])
                && is(&query.target, &proposal["target"]["resource_id"])
                && times.contains(&status.submitted_at_ms)
                && query.approver.as_ref().is_none_or(by)
                && query.policy.as_ref().is_none_or(policy)
            {
                found.push(status.action_id);
            }
        }
        after = next;
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_list_gives_what_a_look_at_everything_gives() {
    let scene = Scene::new().await;
    let mut hashes = vec![scene.gate.gate_status().await.unwrap().policy_hash.unwrap()];
    for number in 0..240 {
        let id = format!("p{number:03}");
        let actor = if number % 5 == 0 { "agent-2" } else { "agent" };
        let action = ["read", "read", "write", "delete"][number % 4];
        let status = scene.submit(&about(&id, actor, action, &(number % 17).to_string())).await;
        if status.state == ActionState::Held && number % 3 == 0 {
            let who = if number % 2 == 0 { "ann" } else { "bob" };
            let verdict = if number % 9 == 0 { Verdict::Reject } else { Verdict::Approve };
            let shown = scene.gate.status(&scene.operator, &id).await.unwrap();
            let once = scene.say(who, &shown, verdict).await.unwrap();
            if number % 12 == 6 && once.state == ActionState::Held {
                scene.say("bob", &once, Verdict::Approve).await.unwrap();
            }
        }
        if number % 60 == 59 {
            scene.gate.set_policy(&scene.operator, &policies(&number.to_string())).await.unwrap();
            hashes.push(scene.gate.gate_status().await.unwrap().policy_hash.unwrap());
        }
        scene.pass(1_000);
    }
    let mut queries = vec![ActionsQuery::default()];
    let states = ActionState::ALL.map(|state| ActionsQuery { state: Some(state), ..ActionsQuery::default() });
    queries.extend(states);
    let text = |text: &str| Some(text.to_owned());
    let with = |change: fn(&mut ActionsQuery, Option<String>), value: &str| {
        let mut query = ActionsQuery::default();
        change(&mut query, text(value));
        query
    };
    for actor in ["agent", "agent-2", "nobody"] {
        queries.push(with(|query, value| query.actor = value, actor));
    }
    queries.push(with(|query, value| query.action_type = value, "delete"));
    queries.push(with(|query, value| query.target = value, "13"));
    for approver in ["ann", "bob", "agent"] {
        queries.push(with(|query, value| query.approver = value, approver));
    }
    queries.extend(hashes.iter().map(|hash| with(|query, value| query.policy = value, hash)));
    queries.push(ActionsQuery {
        actor: text("agent"),
        action_type: text("write"),
        target: text("2"),
        since_ms: Some(NOW + 20_000),
        until_ms: Some(NOW + 200_000),
        ..ActionsQuery::default()
    });
    queries.push(ActionsQuery {
        state: Some(ActionState::Denied),
        approver: text("ann"),
        policy: Some(hashes[1].clone()),
        ..ActionsQuery::default()
    });
    queries.push(ActionsQuery {
        since_ms: Some(NOW + 100_000),
        until_ms: Some(NOW + 110_000),
        ..ActionsQuery::default()
    });
    for round in 0..3 {
        for query in &queries {
            let expected = slow(&scene, query).await;
            for limit in [1, 7, 500] {
                let found = all(&scene, &scene.operator, query, limit).await;
                let mut ids: Vec<String> = found.iter().map(|status| status.action_id.clone()).collect();
                if query.state.is_none() && query.approver.is_none() && query.policy.is_none() {
                    assert!(ids.is_sorted_by(|left, right| left > right), "the newest first: {ids:?}");
                }
                ids.sort();
                assert_eq!(ids, expected, "{query:?}, {limit} on a page, round {round}");
            }
        }
        // Without an index, then with one, then after the permits are over.
        scene.gate.sweep().await.unwrap();
        if round == 1 {
            scene.pass(10 * 60_000);
        }
    }
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
}

/// Reads and rows.
fn work(scene: &Scene) -> (u64, u64) {
    let counters = scene.gate.store().counters();
    (counters.reads, counters.rows)
}

/// The cost of some lists of 20, of a document, and of the entries of one action, on a gate with so many actions.
async fn costs(actions: usize) -> Vec<(&'static str, usize, u64, u64)> {
    let scene = Scene::new().await;
    for number in 0..actions {
        let rare = number % (actions / 5) == 7;
        let actor = if rare { "agent-2" } else { "agent" };
        let action = if number % (actions / 4) == 3 { "write" } else { "read" };
        scene.submit(&about(&format!("p{number}"), actor, action, &number.to_string())).await;
        scene.pass(1_000);
    }
    while scene.gate.sweep().await.unwrap().changed > 0 {}
    for _ in 0..actions / 1_000 {
        scene.gate.sweep().await.unwrap();
    }
    let query = Query { kind: "index".to_owned(), limit: 10_000, ..Query::default() };
    let index = scene.gate.store().records(&query).await.unwrap();
    let bytes: usize = index.iter().map(|record| record.body.len()).sum();
    let indexed = index.len() * 256 / 3;
    assert!(bytes / indexed <= 25 && indexed + 256 > actions, "{bytes} bytes for {indexed}");
    let text = |text: String| Some(text);
    let queries = [
        ("newest", ActionsQuery::default()),
        ("rare actor", ActionsQuery { actor: text("agent-2".to_owned()), ..ActionsQuery::default() }),
        ("target", ActionsQuery { target: text((actions / 2).to_string()), ..ActionsQuery::default() }),
        ("held", ActionsQuery { state: Some(ActionState::Held), ..ActionsQuery::default() }),
        (
            "ten seconds",
            ActionsQuery {
                since_ms: Some(NOW + 50_000),
                until_ms: Some(NOW + 60_000),
                ..ActionsQuery::default()
            },
        ),
    ];
    let mut costs = Vec::new();
    for (name, query) in queries {
        let (reads, rows) = work(&scene);
        let found = scene.gate.find_actions(&scene.operator, &query, 20).await.unwrap().0;
        let (reads_after, rows_after) = work(&scene);
        costs.push((name, found.len(), reads_after - reads, rows_after - rows));
    }
    let old = scene.gate.status(&scene.operator, &format!("p{}", actions / 3)).await.unwrap();
    let hash = old.decision.proposal_hash.0.as_ref().unwrap().as_str().to_owned();
    let (reads, rows) = work(&scene);
    assert_eq!(scene.gate.document(&scene.operator, &hash).await.unwrap().kind, "proposal");
    let (reads_after, rows_after) = work(&scene);
    costs.push(("document", 1, reads_after - reads, rows_after - rows));
    let query =
        EntriesQuery { before: Some(u64::MAX), action_id: Some(old.action_id), ..EntriesQuery::default() };
    let (reads, rows) = work(&scene);
    let found = scene.gate.find_entries(&scene.operator, &query, 100).await.unwrap().entries;
    let (reads_after, rows_after) = work(&scene);
    costs.push(("entries of an action", found.len(), reads_after - reads, rows_after - rows));
    costs
}

/// Ten times the actions do not make a list more expensive: it reads the part of the index that leads to what
/// it gives (one row for every 256 entries), and at most one block that is not in the index yet.
#[tokio::test]
async fn a_list_costs_what_it_gives() {
    let (few, many) = (costs(1_000).await, costs(10_000).await);
    for ((name, found, reads, rows), (_, found_in_many, reads_of_many, rows_of_many)) in
        few.into_iter().zip(many)
    {
        assert_eq!(found, found_in_many, "{name}");
        println!("{name}: {found} found, {reads} and {reads_of_many} reads, {rows} and {rows_of_many} rows");
        let blocks = 10_000 * 3 / 256;
        assert!(reads_of_many <= reads + 8, "{name}: {reads} reads became {reads_of_many}");
        assert!(rows_of_many <= rows.max(256 + 80) + blocks, "{name}: {rows} rows became {rows_of_many}");
    }
}

#[tokio::test]
async fn documents_are_for_those_who_see_what_they_belong_to() {
    let scene = Scene::new().await;
    let allowed = scene.submit(&proposal("read", "read")).await;
    let held = scene.submit(&proposal("write", "write")).await;
    let shown = scene.gate.status(&scene.operator, &held.action_id).await.unwrap();
    scene.say("ann", &shown, Verdict::Reject).await.unwrap();
    let auditor = scene.token("eve", &[Role::Auditor], &[]).await;
    let agent = scene.token("agent", &[Role::Actor], &[]).await;
    let other = scene.token("agent-2", &[Role::Actor], &[]).await;
    let approver = scene.token("bob", &[Role::Approver], &[]).await;
    let worker = scene.token("worker", &[Role::Worker], &[]).await;
    let query = EntriesQuery::default();
    let entries = scene.gate.find_entries(&scene.operator, &query, 500).await.unwrap().entries;
    let mut seen = Vec::new();
    for entry in &entries {
        for hash in entry.entry.event.documents() {
            let whole = scene.gate.document(&scene.operator, hash).await.unwrap();
            assert_eq!(
                ContentHash::of(whole.text.as_bytes()).to_string(),
                hash,
                "whoever holds the store gets it whole"
            );
            let mut row = format!("{} {}:", entry.entry.event.name(), whole.kind);
            for (name, caller) in [
                ("auditor", &auditor),
                ("agent", &agent),
                ("other", &other),
                ("approver", &approver),
                ("worker", &worker),
            ] {
                if let Ok(found) = scene.gate.document(caller, hash).await {
                    let is_whole = ContentHash::of(found.text.as_bytes()).to_string() == hash;
                    assert_eq!(found.redacted, !is_whole);
                    assert!(!found.text.contains("hunter2"), "a secret is hidden");
                    row += &format!(" {name}{}", if is_whole { "" } else { "*" });
                }
            }
            seen.push(row);
        }
    }
    let expected = [
        "policy_changed policy: auditor approver",
        "submitted proposal: auditor* agent* approver* worker*",
        "decided decision: auditor agent approver worker",
        "decided inputs: auditor agent approver worker",
        // A permit that can be used is not for everybody who sees that it is there.
        "permit_minted permit: agent worker",
        "submitted proposal: auditor* agent* approver* worker*",
        "decided decision: auditor agent approver worker",
        "decided inputs: auditor agent approver worker",
        "rejected approval: auditor agent approver worker",
        "decided decision: auditor agent approver worker",
        "decided inputs: auditor agent approver worker",
    ];
    assert_eq!(seen, expected);
    let permit = entries.iter().find_map(|entry| match &entry.entry.event {
        Event::PermitMinted { permit_document, .. } => Some(permit_document.clone()),
        _ => None,
    });
    scene.pass(allowed.permit.unwrap().valid_until_ms - NOW);
    assert!(scene.gate.document(&auditor, &permit.unwrap()).await.is_ok(), "it is over");
    for unknown in ["", "sha256:", &ContentHash::of(b"").to_string()] {
        assert!(scene.gate.document(&scene.operator, unknown).await.is_err());
    }
    let page = EntriesQuery { documents: Some(true), ..EntriesQuery::default() };
    let page = scene.gate.find_entries(&auditor, &page, 500).await.unwrap();
    let texts = page.documents.unwrap();
    assert!(texts.iter().all(|(hash, text)| ContentHash::of(text.as_bytes()).is(hash)));
    assert!(!texts.values().any(|text| text.contains("hunter2")));
}
