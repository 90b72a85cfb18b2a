//! Rows that somebody writes into the store's file with SQL: the gate believes the ledger instead, and `fsck` finds them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ed25519_dalek::SigningKey;
use ordain_api::{ActionState, NewToken, OwnerAct, Role};
use ordain_gate::{Caller, Clock, Conflict, Gate, GateError, Settings, check_records};
use ordain_store::{Location, Store};
use rusqlite::Connection;
use scene::owner::{careful, enrol, hash_of, key, new_key, owned_on, signed};
use scene::{NOW, Scene, policies, proposal};
use std::path::PathBuf;

/// A gate that `ann` owns, in a file.
struct Filed {
    scene: Scene,
    ann: SigningKey,
    path: PathBuf,
}

impl Filed {
    async fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ordain-rows-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("ordain.db");
        let store = Store::open(&Location::File(path.clone())).await.unwrap();
        let (scene, ann) = owned_on(Scene::on(store).await).await;
        Self { scene, ann, path }
    }

    fn sql(&self, sql: &str) {
        let connection = Connection::open(&self.path).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        connection.execute_batch(sql).unwrap();
    }

    /// The row as it is now, to put it back later.
    fn row(&self, kind: &str) -> (String, String, i64, String, String) {
        let connection = Connection::open(&self.path).unwrap();
        let sql = "SELECT kind, id, version, state, body FROM records WHERE kind = ?1";
        let read =
            |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
        connection.query_row(sql, [kind], read).unwrap()
    }

    /// Puts a row back under the version that it had.
    fn put_back(&self, (kind, id, version, state, body): &(String, String, i64, String, String)) {
        let connection = Connection::open(&self.path).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        let sql = "UPDATE records SET version = ?3, state = ?4, body = ?5 WHERE kind = ?1 AND id = ?2";
        assert_eq!(connection.execute(sql, (kind, id, version, state, body)).unwrap(), 1);
    }

    /// Another process.
    async fn open(&self) -> Result<Gate, GateError> {
        let store = Store::open(&Location::File(self.path.clone())).await.unwrap();
        let clock = Clock::of(|| NOW);
        Gate::open(store, self.scene.gate.keyring(), clock, Settings::default()).await
    }

    async fn other(&self) -> Scene {
        let gate = self.open().await.unwrap();
        Scene { gate, hands: self.scene.hands.clone(), operator: self.scene.operator.clone() }
    }

    /// A process that knows the record from memory decides nothing by what was put back under the version that it knows.
    async fn is_refused_from_memory(&self, says: &str) {
        let text = proposal("after", "read").to_string();
        let submitted = self.scene.gate.submit(&self.scene.operator, text.as_bytes(), None).await;
        check_damaged(submitted.map(drop), says);
    }

    /// Nothing is decided any more by a process that reads the record. The ledger can still be read, and `fsck` says what is
    /// wrong.
    async fn is_refused(&self, says: &str) {
        check_damaged(self.scene.gate.gate_status().await.map(drop), says);
        check_damaged(self.open().await.map(drop), says);
        let store = Store::open(&Location::File(self.path.clone())).await.unwrap();
        let (keyring, clock) = (self.scene.gate.keyring(), Clock::of(|| NOW));
        let gate = Gate::open_to_look(store, keyring, clock, Settings::default()).await.unwrap();
        assert!(gate.ledger_entries(0, 10).await.unwrap().len() > 3);
        check_damaged(gate.gate_status().await.map(drop), says);
        assert_ne!(check_records(gate.store()).await.unwrap(), []);
    }
}

impl Drop for Filed {
    fn drop(&mut self) {
        std::fs::remove_dir_all(self.path.parent().unwrap()).ok();
    }
}

#[track_caller]
fn check_damaged(result: Result<(), GateError>, says: &str) {
    match result {
        Err(error @ GateError::Damaged(_)) => {
            let text = error.to_string();
            assert!(text.contains(says) && text.contains("ordain ledger fsck"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

fn other_policies() -> ordain_decision::PolicyFiles {
    let mut files = careful();
    files.get_mut("all.cedar").unwrap().push_str("@id(\"none\") forbid(principal, action, resource);\n");
    files
}

#[tokio::test]
async fn without_its_keys_on_record_a_gate_is_not_open_again() {
    let filed = Filed::new("keys").await;
    filed.sql("UPDATE records SET body = json_remove(body, '$.keys') WHERE kind = 'control'");
    filed.is_refused("other keys of approvers than entry").await;
    // A process that runs goes on with what it knows, which is right. Owner acts without a signature fail.
    assert_eq!(filed.scene.submit(&proposal("after", "read")).await.state, ActionState::Allowed);
    let pushed = filed.scene.gate.set_policy(&filed.scene.operator, &policies("1")).await;
    check_damaged(pushed.map(drop), "other keys of approvers");
}

#[tokio::test]
async fn without_its_record_a_gate_does_not_begin_anew() {
    let filed = Filed::new("missing").await;
    filed.sql("DELETE FROM records WHERE kind = 'control'");
    filed.is_refused("is missing").await;
}

#[tokio::test]
async fn earlier_policies_that_an_owner_signed_are_not_put_back() {
    let filed = Filed::new("policy").await;
    let status = filed.scene.submit(&proposal("before", "read")).await;
    assert_eq!(status.state, ActionState::Allowed);
    let before = filed.row("control");
    // Another process pushes; the one that runs has the earlier row in memory.
    let other = filed.other().await;
    let hash = hash_of(&other_policies());
    let caller = signed(&other, "ann", &filed.ann, OwnerAct::PushPolicy, &hash).await;
    assert!(other.gate.set_policy(&caller, &other_policies()).await.unwrap());
    filed.put_back(&before);
    filed.is_refused_from_memory("other policies than entry").await;
    filed.is_refused("other policies than entry").await;
    // Nor with the mark of the entry removed.
    filed.sql("UPDATE entries SET mark = NULL WHERE mark = (SELECT max(mark) FROM entries)");
    check_damaged(filed.open().await.map(drop), "are marked");
    let damage = check_records(filed.scene.gate.store()).await.unwrap();
    assert!(damage.iter().any(|damage| damage.problem.contains("has the mark none")), "{damage:?}");
}

#[tokio::test]
async fn a_halt_is_not_lifted_by_a_row() {
    let filed = Filed::new("halt").await;
    let before = filed.row("control");
    let other = filed.other().await;
    other.gate.halt(&other.operator, "stop").await.unwrap();
    filed.put_back(&before);
    filed.is_refused_from_memory("halted last").await;
    filed.is_refused("halted last").await;
}

#[tokio::test]
async fn keys_of_before_are_not_put_back_in_force() {
    let filed = Filed::new("older-keys").await;
    let bob = key(2);
    let new = new_key("bob", &bob, true);
    let enrolled = enrol(&filed.scene, "ann", &filed.ann, &new).await.unwrap();
    let before = filed.row("control");
    let other = filed.other().await;
    let caller = signed(&other, "ann", &filed.ann, OwnerAct::RevokeApproverKey, &enrolled.key_id).await;
    other.gate.revoke_approver_key(&caller, &enrolled.key_id).await.unwrap();
    filed.put_back(&before);
    filed.is_refused("other keys of approvers than entry").await;
}

fn operator_token() -> NewToken {
    let roles = [Role::Operator, Role::Actor].into();
    NewToken { principal: "agent".to_owned(), roles, names: Default::default(), expires_at_ms: None }
}

#[tokio::test]
async fn a_revoked_token_stays_revoked() {
    let filed = Filed::new("token").await;
    let caller =
        signed(&filed.scene, "ann", &filed.ann, OwnerAct::CreateToken, &operator_token().subject()).await;
    let (status, secret) = filed.scene.gate.create_token(&caller, &operator_token()).await.unwrap();
    filed.scene.gate.authenticate(&secret).await.unwrap();
    let before = filed.row("token");
    let other = filed.other().await;
    let caller = signed(&other, "ann", &filed.ann, OwnerAct::RevokeToken, &status.token_id).await;
    other.gate.revoke_token(&caller, &status.token_id).await.unwrap();
    filed.put_back(&before);
    for gate in [&filed.scene.gate, &other.gate, &filed.open().await.unwrap()] {
        let refused = gate.authenticate(&secret).await;
        assert!(matches!(refused, Err(GateError::Unauthenticated(_))), "{refused:?}");
        let refused = gate.authenticate_to_write(&secret).await;
        assert!(matches!(refused, Err(GateError::Unauthenticated(_))), "{refused:?}");
    }
    let damage = check_records(filed.scene.gate.store()).await.unwrap();
    assert!(damage.iter().any(|damage| damage.problem.contains("it was revoked")), "{damage:?}");
}

/// A process that knows a token from memory, and writes.
#[tokio::test]
async fn a_revoked_token_writes_nothing() {
    let filed = Filed::new("write").await;
    let caller =
        signed(&filed.scene, "ann", &filed.ann, OwnerAct::CreateToken, &operator_token().subject()).await;
    let (status, secret) = filed.scene.gate.create_token(&caller, &operator_token()).await.unwrap();
    filed.scene.gate.authenticate(&secret).await.unwrap();
    let before = filed.row("token");
    let other = filed.other().await;
    let caller = signed(&other, "ann", &filed.ann, OwnerAct::RevokeToken, &status.token_id).await;
    other.gate.revoke_token(&caller, &status.token_id).await.unwrap();
    filed.put_back(&before);
    let caller = filed.scene.gate.authenticate_to_write(&secret).await.unwrap();
    let text = proposal("late", "read").to_string();
    let submitted = filed.scene.gate.submit(&caller, text.as_bytes(), None).await;
    assert!(matches!(submitted, Err(GateError::Unauthenticated(_))), "{:?}", submitted.err());
}

#[tokio::test]
async fn a_statement_does_not_count_again_without_its_record() {
    let filed = Filed::new("statement").await;
    let caller =
        signed(&filed.scene, "ann", &filed.ann, OwnerAct::CreateToken, &operator_token().subject()).await;
    filed.scene.gate.create_token(&caller, &operator_token()).await.unwrap();
    filed.sql("DELETE FROM records WHERE kind = 'statement'");
    for gate in [&filed.scene.gate, &filed.open().await.unwrap()] {
        let again = gate.create_token(&caller, &operator_token()).await;
        let counted = matches!(again, Err(GateError::Conflict(Conflict::StatementCounted { .. })));
        assert!(counted, "{:?}", again.err());
    }
}

/// The key that signs permits was retired, and its record says that it was not.
#[tokio::test]
async fn a_key_of_the_gate_counts_as_the_ledger_says() {
    let filed = Filed::new("gate-key").await;
    let before = filed.row("key");
    let old = filed.scene.gate.keyring();
    let caller = signed(&filed.scene, "ann", &filed.ann, OwnerAct::RotateKey, "none").await;
    filed.scene.gate.rotate_key(&caller).await.unwrap();
    filed.put_back(&before);
    let store = Store::open(&Location::File(filed.path.clone())).await.unwrap();
    let opened = Gate::open(store, old, Clock::of(|| NOW), Settings::default()).await;
    check_damaged(opened.map(drop), "is not what the ledger says");
    let damage = check_records(filed.scene.gate.store()).await.unwrap();
    assert!(damage.iter().any(|damage| damage.problem.contains("the key `")), "{damage:?}");
}

/// Two processes that take turns agree on what is in force.
#[tokio::test]
async fn two_processes_follow_each_other() {
    let filed = Filed::new("two").await;
    let other = filed.other().await;
    for (number, name) in ["one", "two", "three"].into_iter().enumerate() {
        let (first, second) = if number % 2 == 0 { (&filed.scene, &other) } else { (&other, &filed.scene) };
        // Another request each time: at the same moment the same one would be the same statement.
        let new = NewToken { names: [name.to_owned()].into(), ..operator_token() };
        let caller = signed(first, "ann", &filed.ann, OwnerAct::CreateToken, &new.subject()).await;
        let (status, secret) = first.gate.create_token(&caller, &new).await.unwrap();
        let caller = second.gate.authenticate_to_write(&secret).await.unwrap();
        let text = proposal(name, "read").to_string();
        second.gate.submit(&caller, text.as_bytes(), None).await.unwrap();
        let caller = signed(second, "ann", &filed.ann, OwnerAct::RevokeToken, &status.token_id).await;
        second.gate.revoke_token(&caller, &status.token_id).await.unwrap();
        let refused = first.gate.submit(&Caller::local("operator"), b"{}", None).await;
        assert!(matches!(refused, Err(GateError::Invalid { .. })), "{:?}", refused.err());
        let refused = first.gate.authenticate(&secret).await;
        assert!(matches!(refused, Err(GateError::Unauthenticated(_))), "{refused:?}");
    }
    assert_eq!(check_records(filed.scene.gate.store()).await.unwrap(), []);
}

/// Somebody puts a key of their own in the place of the gate's key file. It was never an owner's act.
#[tokio::test]
async fn a_gate_takes_no_key_that_its_ledger_does_not_name() {
    let folder = std::env::temp_dir().join(format!("ordain-rows-foreign-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let store = Store::open(&Location::Memory).await.unwrap();
    let keyring = ordain_gate::Keyring::open(&folder).unwrap();
    let scene = Scene::with(store, keyring, NOW).await;
    std::fs::remove_file(folder.join("signing.key")).unwrap();
    ordain_gate::Keyring::open(&folder).unwrap();
    let size = scene.gate.size().await.unwrap();
    let reloaded = scene.gate.reload_key().await;
    assert!(matches!(reloaded, Err(GateError::ForeignKey { .. })), "{reloaded:?}");
    assert_eq!(scene.gate.size().await.unwrap(), size);
    std::fs::remove_dir_all(&folder).ok();
}
