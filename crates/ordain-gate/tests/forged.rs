//! A store in which somebody changed something and made every hash anew: each entry is compared with those
//! before it, and each record with the entries.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{Role, UseOutcome};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_gate::{GateError, Replayer, audit, check_records};
use ordain_spec::approval::Verdict;
use ordain_store::{Change, Guard, Location, NewRecord, Query, Store, Writes};
use scene::{NOW, Scene, proposal};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Everything that is in a store.
#[derive(Clone)]
struct Forgery {
    entries: Vec<Json>,
    documents: BTreeMap<String, Vec<u8>>,
    /// By kind and id; the state by which it is listed, and the body.
    records: BTreeMap<(String, String), (String, Json)>,
}

impl Forgery {
    async fn of(store: &Store) -> Self {
        let rows = store.entries(0, 1_000).await.unwrap();
        let entries: Vec<Json> = rows.iter().map(|row| serde_json::from_slice(&row.bytes).unwrap()).collect();
        let mut documents = BTreeMap::new();
        for bytes in rows.iter().flat_map(|row| &row.attached) {
            documents.insert(ContentHash::of(bytes).to_string(), bytes.clone());
        }
        for (name, value) in entries.iter().flat_map(|entry| entry["event"].as_object().unwrap()) {
            if name.ends_with("_document") && !documents.contains_key(value.as_str().unwrap()) {
                let hash = ContentHash::parse(value.as_str().unwrap()).unwrap();
                documents.insert(hash.to_string(), store.document(&hash).await.unwrap().unwrap());
            }
        }
        let mut records = BTreeMap::new();
        for kind in ["control", "action", "effect", "deed", "evidence", "token", "key", "statement"] {
            let query = Query { kind: kind.to_owned(), limit: 100, ..Query::default() };
            for record in store.records(&query).await.unwrap() {
                let body = serde_json::from_str(&record.body).unwrap();
                records.insert((record.kind, record.id), (record.state, body));
            }
        }
        Self { entries, documents, records }
    }

    /// The place of an entry of a kind about an action, the last one.
    fn last(&self, kind: &str, action_id: &str) -> usize {
        let about = |entry: &Json| {
            entry["event"]["kind"] == kind
                && (action_id.is_empty() || entry["event"]["action_id"] == action_id)
        };
        self.entries.iter().rposition(about).unwrap()
    }

    fn permit(&self, action_id: &str) -> String {
        self.records[&key("action", action_id)].1["permit"]["id"].as_str().unwrap().to_owned()
    }

    fn record(&mut self, kind: &str, id: &str) -> &mut Json {
        &mut self.records.get_mut(&key(kind, id)).unwrap().1
    }

    fn state(&mut self, kind: &str, id: &str, state: &str) {
        state.clone_into(&mut self.records.get_mut(&key(kind, id)).unwrap().0);
    }

    /// Changes a document that an entry names, and its name.
    fn document(&mut self, at: usize, member: &str, change: impl FnOnce(&mut Json)) {
        let name = self.entries[at]["event"][member].as_str().unwrap().to_owned();
        let mut body: Json = serde_json::from_slice(&self.documents[&name]).unwrap();
        change(&mut body);
        let bytes = Canonicalizer::new().value(&body).unwrap().to_vec();
        let name = ContentHash::of(&bytes).to_string();
        self.documents.insert(name.clone(), bytes);
        self.entries[at]["event"][member] = json!(name);
    }

    /// One more use of a permit like the last one, at a time, with everything that follows from it.
    fn use_again(&mut self, action_id: &str, now_ms: u64) -> usize {
        let mut entry = self.entries[self.last("permit_spent", action_id)].clone();
        let permit_id = self.permit(action_id);
        let permit = &mut self.record("action", action_id)["permit"];
        let number = permit["used"].as_u64().unwrap() + 1;
        permit["used"] = json!(number);
        permit["effect_keys"][number.to_string()] = entry["event"]["effect_keys"].clone();
        let deadline_ms = now_ms + 300_000;
        let used = json!({"use": number, "worker": "worker", "spent_at_ms": now_ms, "deadline_ms": deadline_ms,
            "settled": null});
        permit["uses"].as_array_mut().unwrap().push(used);
        // The only action whose uses are over, or that the test has opened again.
        let is_other = |open: &Json| open["permit_id"] != json!(permit_id);
        let (_, effect) = self
            .records
            .iter()
            .filter(|((kind, _), _)| kind == "effect")
            .find(|(_, (_, body))| !body["open"].as_array().unwrap().iter().any(is_other))
            .map(|(key, _)| key.clone())
            .unwrap();
        let open = json!({"permit_id": permit_id, "use": number, "deadline_ms": deadline_ms});
        self.record("effect", &effect)["open"].as_array_mut().unwrap().push(open);
        self.state("effect", &effect, "open");
        self.record("action", action_id)["state"] = json!("running");
        self.state("action", action_id, "running");
        entry["at_ms"] = json!(now_ms);
        entry["event"]["use"] = json!(number);
        entry["event"]["deadline_ms"] = json!(deadline_ms);
        self.entries.push(entry);
        let at = self.entries.len() - 1;
        self.document(at, "inputs_document", |inputs| inputs["now_ms"] = json!(now_ms));
        at
    }

    /// Counts the changes of the gate's state anew, and gives the marks.
    fn count_changes(&mut self) -> Vec<(usize, u64)> {
        const CHANGES: [&str; 9] = [
            "opened",
            "policy_changed",
            "key_rotated",
            "halted",
            "resumed",
            "observation_started",
            "observation_ended",
            "token_created",
            "token_revoked",
        ];
        let (mut changes, mut marks) = (0, Vec::new());
        let last = self.entries.len() - 1;
        for (at, entry) in self.entries.iter_mut().enumerate() {
            let is_change = CHANGES.contains(&entry["event"]["kind"].as_str().unwrap());
            if is_change {
                changes += 1;
                marks.push((at, changes));
            }
            if is_change || at == last || entry.get("changes").is_some() {
                entry["changes"] = json!(changes);
            }
        }
        marks
    }

    /// The findings in such a store. Its entries, tree and documents are in order.
    async fn found(mut self) -> Vec<(Option<u64>, String)> {
        let marks = self.count_changes();
        let store = Store::open(&Location::Memory).await.unwrap();
        let mut canon = Canonicalizer::new();
        let entries = self.entries.iter().map(|entry| canon.value(entry).unwrap().to_vec()).collect();
        let guards = self.records.keys().map(|(kind, id)| Guard::absent(kind, id)).collect();
        let record = |((kind, id), (state, body)): ((String, String), (String, Json))| {
            NewRecord::new(kind, id, state, body.to_string())
        };
        let records = self.records.into_iter().map(record).collect();
        let attached: Vec<Vec<u8>> = self.documents.into_values().collect();
        let writes = Writes { records, entries, marks, ..Writes::default() };
        store.commit(Change::new(guards, |_| writes).attach(&attached).unwrap()).await.unwrap();
        assert_eq!(audit(&store, &[], &[], |_, _| {}).await.unwrap().damage, []);
        let damage = check_records(&store).await.unwrap();
        damage.into_iter().map(|damage| (damage.index, damage.problem)).collect()
    }
}

fn key(kind: &str, id: &str) -> (String, String) {
    (kind.to_owned(), id.to_owned())
}

/// A store with a bit of everything, in order.
async fn honest() -> Forgery {
    let scene = Scene::new().await;
    scene.token("zoe", &[Role::Auditor], &[]).await;
    let write = proposal("write", "write");
    let held = scene.submit(&write).await;
    scene.say("ann", &held, Verdict::Approve).await.unwrap();
    let allowed = scene.say("bob", &held, Verdict::Approve).await.unwrap();
    scene.gate.halt(&scene.operator, "stop").await.unwrap();
    scene.gate.resume(&scene.operator, "go").await.unwrap();
    scene.spend(&allowed, &write).await.unwrap();
    scene.submit(&proposal("denied", "delete")).await;
    let mut read = proposal("read", "read");
    read["target"]["resource_id"] = json!("8");
    let status = scene.submit(&read).await;
    let spent = scene.spend(&status, &read).await.unwrap();
    scene.report(&spent, UseOutcome::Succeeded).await.unwrap();
    let honest = Forgery::of(scene.gate.store()).await;
    assert_eq!(honest.clone().found().await, []);
    honest
}

#[tokio::test]
async fn a_decision_is_made_from_what_the_ledger_has() {
    let honest = honest().await;
    let nothing = format!("sha256:{}", "0".repeat(64));
    type Change = fn(&mut Json, &str);
    let changes: [(&str, Change); 9] = [
        ("by other approvals", |inputs, _| inputs["approval_documents"] = json!([])),
        ("by other approvals", |inputs, nothing| {
            inputs["approval_documents"].as_array_mut().unwrap().push(json!(nothing));
        }),
        ("by other approvals", |inputs, _| inputs["approval_documents"].as_array_mut().unwrap().reverse()),
        ("as if the gate were halted", |inputs, _| inputs["halted"] = json!(true)),
        ("by other policies", |inputs, nothing| inputs["files_document"] = json!(nothing)),
        ("by another proposal", |inputs, nothing| inputs["proposal_document"] = json!(nothing)),
        ("as if it were another time", |inputs, _| inputs["now_ms"] = json!(NOW - 60_001)),
        ("as if it were another time", |inputs, _| inputs["now_ms"] = json!(NOW + 1)),
        ("by evidence that nobody had brought", |inputs, nothing| {
            inputs["evidence_documents"] = json!([nothing])
        }),
    ];
    for (words, change) in changes {
        for kind in ["decided", "permit_spent"] {
            let mut forged = honest.clone();
            let at = forged.last(kind, "write");
            forged.document(at, "inputs_document", |inputs| change(inputs, &nothing));
            let found = forged.found().await;
            let told = |it: &(Option<u64>, String)| it.0 == Some(at as u64) && it.1.contains(words);
            assert!(found.iter().any(told), "{kind}: {words} is not in {found:?}");
        }
    }
    // Nothing else than the comparison with the entries before finds this.
    let mut forged = honest.clone();
    let at = forged.last("decided", "write");
    forged.document(at, "inputs_document", |inputs| inputs["approval_documents"] = json!([]));
    let found = forged.found().await;
    assert_eq!(
        found,
        [(Some(at as u64), "decides on `write` by other approvals than were given".to_owned())]
    );
}

#[tokio::test]
async fn an_outcome_is_that_of_its_document() {
    let mut forged = honest().await;
    let at = forged.last("decided", "denied");
    forged.entries[at]["event"]["outcome"] = json!("HOLD");
    forged.record("action", "denied")["state"] = json!("held");
    forged.state("action", "denied", "held");
    let problem = "decides on `denied` otherwise than its document says".to_owned();
    assert_eq!(forged.found().await, [(Some(at as u64), problem)]);
}

#[tokio::test]
async fn a_permit_comes_from_an_allow_and_from_a_valid_key() {
    let honest = honest().await;
    let mut forged = honest.clone();
    let at = forged.last("permit_minted", "read");
    let permit = forged.permit("read");
    forged.entries[at]["event"]["key_id"] = json!("0123456789abcdef");
    let problem = format!("mints `{permit}` with a key that was not valid");
    assert_eq!(forged.found().await, [(Some(at as u64), problem)]);

    let mut forged = honest.clone();
    let at = forged.last("permit_minted", "read");
    forged.entries[at - 1]["event"]["outcome"] = json!("DENY");
    forged.document(at - 1, "decision_document", |decision| decision["outcome"] = json!("DENY"));
    let name = forged.entries[at - 1]["event"]["decision_document"].clone();
    forged.record("action", "read")["decision_document"] = name;
    let problem = format!("mints `{permit}` without an ALLOW just before it");
    assert_eq!(forged.found().await, [(Some(at as u64), problem)]);
}

#[tokio::test]
async fn a_permit_is_used_as_it_says() {
    let honest = honest().await;
    let permit = honest.permit("read");
    // A second use is in order.
    let mut forged = honest.clone();
    forged.use_again("read", NOW);
    assert_eq!(forged.clone().found().await, []);
    let at = forged.use_again("read", NOW);
    let problem = format!("uses `{permit}` more often than it can be used");
    assert_eq!(forged.found().await, [(Some(at as u64), problem)]);

    for now_ms in [NOW + 299_999, NOW + 300_000] {
        let mut forged = honest.clone();
        let at = forged.use_again("read", now_ms);
        let problem = (Some(at as u64), format!("uses `{permit}` outside its window"));
        let expected = if now_ms == NOW + 300_000 { vec![problem] } else { vec![] };
        assert_eq!(forged.found().await, expected);
    }

    let mut forged = honest.clone();
    let mut halted = forged.entries[forged.last("halted", "")].clone();
    halted["at_ms"] = json!(NOW);
    forged.entries.push(halted);
    forged.record("control", "gate")["halt"] = json!({"by": "operator", "reason": "stop", "at_ms": NOW});
    forged.state("control", "gate", "halted");
    let at = forged.use_again("read", NOW);
    forged.document(at, "inputs_document", |inputs| inputs["halted"] = json!(true));
    let problem = format!("uses `{permit}` while the gate was halted");
    assert_eq!(forged.found().await, [(Some(at as u64), problem)]);

    let mut forged = honest.clone();
    let at = forged.use_again("read", NOW);
    forged.document(at, "decision_document", |decision| decision["outcome"] = json!("DENY"));
    let problem = format!("uses `{permit}`, and its document is not an ALLOW");
    assert_eq!(forged.found().await, [(Some(at as u64), problem)]);
}

#[tokio::test]
async fn records_are_as_their_entries_say() {
    let honest = honest().await;
    let nothing = json!(format!("sha256:{}", "0".repeat(64)));
    let token = honest.records.keys().find(|(kind, _)| kind == "token").unwrap().1.clone();
    let submitted = honest.last("submitted", "read") as u64;
    let action = "submits the action `read`, whose record says something else than the ledger";
    for (kind, id, pointer, value, expected) in [
        ("token", &token, "/secret_hash", &nothing, (None, "its secret, or until when it holds")),
        ("token", &token, "/expires_at_ms", &json!(NOW), (None, "its secret, or until when it holds")),
        ("action", &"read".to_owned(), "/proposal_document", &nothing, (Some(submitted), action)),
        ("action", &"read".to_owned(), "/submitted_at_ms", &json!(NOW - 1), (Some(submitted), action)),
        (
            "action",
            &"read".to_owned(),
            "/permit/uses/0/spent_at_ms",
            &json!(NOW - 1),
            (Some(submitted), action),
        ),
        (
            "action",
            &"read".to_owned(),
            "/permit/used",
            &json!(0),
            (Some(submitted), "the ledger has 1 uses and the record 0"),
        ),
    ] {
        let mut forged = honest.clone();
        *forged.record(kind, id).pointer_mut(pointer).unwrap() = value.clone();
        let found = forged.found().await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == expected.0 && found[0].1.contains(expected.1), "{pointer}: {found:?}");
    }
    // Uses of an effect that ended are told to approvers.
    let mut forged = honest.clone();
    let settled =
        forged.records.values_mut().find_map(|(_, body)| body.get_mut("settled").filter(|it| it.is_object()));
    settled.unwrap()["succeeded"] = json!(0);
    let found = forged.found().await;
    assert!(found.len() == 1 && found[0].1.contains("counts other uses or rejections"), "{found:?}");
}

#[tokio::test]
async fn a_ledger_begins_once() {
    let mut forged = honest().await;
    let mut entry = forged.entries[0].clone();
    entry["at_ms"] = forged.entries.last().unwrap()["at_ms"].clone();
    forged.entries.push(entry);
    let at = forged.entries.len() as u64 - 1;
    let found = forged.found().await;
    let told = |it: &(Option<u64>, String)| it.0 == Some(at) && it.1.contains("a ledger begins once");
    assert!(found.iter().any(told), "{found:?}");
}

/// The entries hold the count of changes: one that is missing is missed.
#[tokio::test]
async fn changes_of_the_gate_are_counted_without_a_gap() {
    let mut forged = honest().await;
    let marks = forged.count_changes();
    let (at, _) = *marks.last().unwrap();
    forged.entries.remove(at);
    let store = Store::open(&Location::Memory).await.unwrap();
    let mut canon = Canonicalizer::new();
    let entries = forged.entries.iter().map(|entry| canon.value(entry).unwrap().to_vec()).collect();
    let attached: Vec<Vec<u8>> = forged.documents.into_values().collect();
    let writes = Writes { entries, ..Writes::default() };
    store.commit(Change::new(Vec::new(), |_| writes).attach(&attached).unwrap()).await.unwrap();
    let damage = check_records(&store).await.unwrap();
    let says = |words: &str| damage.iter().any(|damage| damage.problem.contains(words));
    assert!(says("changes of the gate's state, and there are"), "{damage:?}");
    assert!(says("has the mark none and should have 1"), "{damage:?}");
}

/// A use that names no effect, or another one, would lock nothing.
#[tokio::test]
async fn effects_are_named_as_a_gate_does() {
    let honest = honest().await;
    let other = "0".repeat(32);
    let named = |forged: &Forgery, kind: &str, id: &str| {
        forged.entries[forged.last(kind, id)]["event"]["effect_keys"][0].as_str().unwrap().to_owned()
    };
    let real = named(&honest, "permit_spent", "write");
    let (small, large) = if real.trim_start_matches('~') < other.as_str() {
        (real.clone(), other.clone())
    } else {
        (other.clone(), real.clone())
    };
    for keys in [json!([]), json!([real, real]), json!([large, small])] {
        let mut forged = honest.clone();
        let at = forged.last("permit_spent", "write");
        forged.entries[at]["event"]["effect_keys"] = keys;
        let problem = "names the effects of `write` otherwise than a gate does";
        let found = forged.found().await;
        let told = |it: &(Option<u64>, String)| it.0 == Some(at as u64) && it.1 == problem;
        assert!(found.iter().any(told), "{found:?}");
    }
    // In order, and of something else: the policies of then say so.
    let replayed = |forged: &Forgery| {
        let mut replayer = Replayer::new(None);
        for (index, entry) in forged.entries.iter().enumerate() {
            replayer.add(index as u64, entry.to_string().as_bytes(), |hash| {
                forged
                    .documents
                    .get(&hash.to_string())
                    .cloned()
                    .ok_or(GateError::Damaged("missing".to_owned()))
            });
        }
        replayer.end()
    };
    assert_eq!(replayed(&honest).other_effects, []);
    let mut forged = honest.clone();
    let at = forged.last("permit_spent", "write");
    forged.entries[at]["event"]["effect_keys"] = json!([other]);
    let found = replayed(&forged).other_effects;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].index, &found[0].recorded, &found[0].by_inputs),
        (at as u64, &vec![other], &vec![real])
    );
}
