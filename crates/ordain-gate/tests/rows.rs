//! Rows that somebody writes into the store with SQL, in a file or in PostgreSQL: the gate believes the
//! ledger instead, and `fsck` finds them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use ordain_api::{ActionState, NewToken, OwnerAct, Role};
use ordain_gate::{Caller, Clock, Conflict, Gate, GateError, Settings, audit_owner, check_records};
use ordain_spec::approval::Verdict;
use ordain_store::{Location, Store};
use scene::owner::{careful, enrol, hash_of, key, new_key, public, recent_verdict, signed, with_secret};
use scene::stored::{Kind, Stored, check_damaged};
use scene::{NOW, Scene, policies, proposal};

/// Each test on a file and on PostgreSQL.
macro_rules! on_stores {
    ($($name:ident,)*) => {
        mod file {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Kind::File).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Kind::Postgres).await;
            })*
        }
    };
}

on_stores! {
    without_its_keys_on_record_a_gate_is_not_open_again,
    without_its_record_a_gate_does_not_begin_anew,
    earlier_policies_that_an_owner_signed_are_not_put_back,
    a_halt_is_not_lifted_by_a_row,
    a_row_has_no_calls_observed,
    keys_of_before_are_not_put_back_in_force,
    a_revoked_token_stays_revoked,
    a_revoked_token_writes_nothing,
    a_token_whose_row_is_removed_still_ties_its_names,
    a_statement_does_not_count_again_without_its_record,
    a_session_that_counts_twice_is_found,
    a_key_of_the_gate_counts_as_the_ledger_says,
    two_processes_follow_each_other,
}

fn other_policies() -> ordain_decision::PolicyFiles {
    let mut files = careful();
    files.get_mut("all.cedar").unwrap().push_str("@id(\"none\") forbid(principal, action, resource);\n");
    files
}

async fn without_its_keys_on_record_a_gate_is_not_open_again(kind: Kind) {
    let stored = Stored::new(kind).await;
    stored.remove_member("control", "keys");
    stored.is_refused("other keys of approvers than entry").await;
    // A process that runs goes on with what it knows, which is right. Owner acts without a signature fail.
    assert_eq!(stored.scene.submit(&proposal("after", "read")).await.state, ActionState::Allowed);
    let pushed = stored.scene.gate.set_policy(&stored.scene.operator, &policies("1")).await;
    check_damaged(pushed.map(drop), "other keys of approvers");
}

async fn without_its_record_a_gate_does_not_begin_anew(kind: Kind) {
    let stored = Stored::new(kind).await;
    stored.sql("DELETE FROM records WHERE kind = 'control'");
    stored.is_refused("is missing").await;
}

/// The row of a pause that an owner signed, and that is over, does not come back with another end.
async fn a_row_has_no_calls_observed(kind: Kind) {
    let stored = Stored::new(kind).await;
    let (reason, until_ms) = ("a release".to_owned(), NOW + 60_000);
    let new = ordain_api::NewObservation { hook: None, reason, until_ms };
    let caller = signed(&stored.scene, "ann", &stored.ann, OwnerAct::StartObservation, &new.subject()).await;
    stored.scene.gate.start_observation(&caller, &new).await.unwrap();
    let (kind, id, version, state, body) = stored.row("control");
    let body = body.replace(&until_ms.to_string(), &(until_ms + 60_000).to_string());
    stored.put_back(&(kind, id, version, state, body));
    stored.is_refused("other observations").await;
}

async fn earlier_policies_that_an_owner_signed_are_not_put_back(kind: Kind) {
    let stored = Stored::new(kind).await;
    let status = stored.scene.submit(&proposal("before", "read")).await;
    assert_eq!(status.state, ActionState::Allowed);
    let before = stored.row("control");
    // Another process pushes; the one that runs has the earlier row in memory.
    let other = stored.other().await;
    let hash = hash_of(&other_policies());
    let caller = signed(&other, "ann", &stored.ann, OwnerAct::PushPolicy, &hash).await;
    assert!(other.gate.set_policy(&caller, &other_policies()).await.unwrap());
    stored.put_back(&before);
    stored.is_refused_from_memory("other policies than entry").await;
    stored.is_refused("other policies than entry").await;
    // Nor with the mark of the entry removed.
    stored.sql("UPDATE entries SET mark = NULL WHERE mark = (SELECT max(mark) FROM entries)");
    check_damaged(stored.open().await.map(drop), "are marked");
    let damage = check_records(stored.scene.gate.store()).await.unwrap();
    assert!(damage.iter().any(|damage| damage.problem.contains("has the mark none")), "{damage:?}");
}

async fn a_halt_is_not_lifted_by_a_row(kind: Kind) {
    let stored = Stored::new(kind).await;
    let before = stored.row("control");
    let other = stored.other().await;
    other.gate.halt(&other.operator, "stop").await.unwrap();
    stored.put_back(&before);
    stored.is_refused_from_memory("halted last").await;
    stored.is_refused("halted last").await;
}

async fn keys_of_before_are_not_put_back_in_force(kind: Kind) {
    let stored = Stored::new(kind).await;
    let bob = key(2);
    let new = new_key("bob", &bob, true);
    let enrolled = enrol(&stored.scene, "ann", &stored.ann, &new).await.unwrap();
    let before = stored.row("control");
    let other = stored.other().await;
    let caller = signed(&other, "ann", &stored.ann, OwnerAct::RevokeApproverKey, &enrolled.key_id).await;
    other.gate.revoke_approver_key(&caller, &enrolled.key_id).await.unwrap();
    stored.put_back(&before);
    stored.is_refused("other keys of approvers than entry").await;
}

fn operator_token() -> (NewToken, String) {
    let roles = [Role::Operator, Role::Actor].into();
    let (principal, names) = ("agent".to_owned(), Default::default());
    with_secret(NewToken { principal, roles, names, expires_at_ms: None, secret: None })
}

async fn a_revoked_token_stays_revoked(kind: Kind) {
    let stored = Stored::new(kind).await;
    let (new, secret) = operator_token();
    let caller = signed(&stored.scene, "ann", &stored.ann, OwnerAct::CreateToken, &new.subject()).await;
    let (status, _) = stored.scene.gate.create_token(&caller, &new).await.unwrap();
    stored.scene.gate.authenticate(&secret).await.unwrap();
    let before = stored.row("token");
    let other = stored.other().await;
    let caller = signed(&other, "ann", &stored.ann, OwnerAct::RevokeToken, &status.token_id).await;
    other.gate.revoke_token(&caller, &status.token_id).await.unwrap();
    stored.put_back(&before);
    for gate in [&stored.scene.gate, &other.gate, &stored.open().await.unwrap()] {
        let refused = gate.authenticate(&secret).await;
        assert!(matches!(refused, Err(GateError::Unauthenticated(_))), "{refused:?}");
        let refused = gate.authenticate_to_write(&secret).await;
        assert!(matches!(refused, Err(GateError::Unauthenticated(_))), "{refused:?}");
    }
    let damage = check_records(stored.scene.gate.store()).await.unwrap();
    assert!(damage.iter().any(|damage| damage.problem.contains("it was revoked")), "{damage:?}");
}

/// A process that knows a token from memory, and writes.
async fn a_revoked_token_writes_nothing(kind: Kind) {
    let stored = Stored::new(kind).await;
    let (new, secret) = operator_token();
    let caller = signed(&stored.scene, "ann", &stored.ann, OwnerAct::CreateToken, &new.subject()).await;
    let (status, _) = stored.scene.gate.create_token(&caller, &new).await.unwrap();
    stored.scene.gate.authenticate(&secret).await.unwrap();
    let before = stored.row("token");
    let other = stored.other().await;
    let caller = signed(&other, "ann", &stored.ann, OwnerAct::RevokeToken, &status.token_id).await;
    other.gate.revoke_token(&caller, &status.token_id).await.unwrap();
    stored.put_back(&before);
    let caller = stored.scene.gate.authenticate_to_write(&secret).await.unwrap();
    let text = proposal("late", "read").to_string();
    let submitted = stored.scene.gate.submit(&caller, text.as_bytes(), None).await;
    assert!(matches!(submitted, Err(GateError::Unauthenticated(_))), "{:?}", submitted.err());
}

async fn a_statement_does_not_count_again_without_its_record(kind: Kind) {
    let stored = Stored::new(kind).await;
    let (new, _) = operator_token();
    let caller = signed(&stored.scene, "ann", &stored.ann, OwnerAct::CreateToken, &new.subject()).await;
    stored.scene.gate.create_token(&caller, &new).await.unwrap();
    stored.sql("DELETE FROM records WHERE kind = 'statement'");
    for gate in [&stored.scene.gate, &stored.open().await.unwrap()] {
        let again = gate.create_token(&caller, &new).await;
        let counted = matches!(again, Err(GateError::Conflict(Conflict::StatementCounted { .. })));
        assert!(counted, "{:?}", again.err());
    }
}

/// Separation of duties goes by the tokens on the ledger: a token that held two names still ties them when
/// its row is gone.
async fn a_token_whose_row_is_removed_still_ties_its_names(kind: Kind) {
    let stored = Stored::new(kind).await;
    let (new, _) = operator_token();
    let new = NewToken { names: ["ann".to_owned()].into(), roles: [Role::Actor].into(), ..new };
    let caller = signed(&stored.scene, "ann", &stored.ann, OwnerAct::CreateToken, &new.subject()).await;
    stored.scene.gate.create_token(&caller, &new).await.unwrap();
    let held = stored.scene.submit(&proposal("tied", "write")).await;
    for sql in ["SELECT 1", "DELETE FROM records WHERE kind = 'token'"] {
        stored.sql(sql);
        for scene in [&stored.scene, &stored.other().await] {
            let refused = scene.say("ann", &held, Verdict::Approve).await;
            assert!(matches!(refused, Err(GateError::Forbidden(_))), "{sql}: {refused:?}");
        }
    }
}

/// Two statements with the same place in a session of a key: the second counts only if somebody removes the
/// row of the first, and is found.
async fn a_session_that_counts_twice_is_found(kind: Kind) {
    let stored = Stored::new(kind).await;
    let mut files = careful();
    let call = "@id(\"call\") @approval(\"single\") @approvers(\"leads\") @assurance(\"recent\")\n\
                permit(principal, action == Action::\"communicate\", resource);\n";
    files.get_mut("all.cedar").unwrap().push_str(call);
    let caller = signed(&stored.scene, "ann", &stored.ann, OwnerAct::PushPolicy, &hash_of(&files)).await;
    stored.scene.gate.set_policy(&caller, &files).await.unwrap();
    let mut requests = Vec::new();
    for id in ["one", "two"] {
        assert_eq!(stored.scene.submit(&proposal(id, "communicate")).await.state, ActionState::Held);
        requests.push((id, recent_verdict(&stored.scene, "ann", &stored.ann, id, 7).await));
    }
    let ann = Caller::local("ann");
    let [(one, first), (two, second)] = requests.as_slice() else { panic!("{requests:?}") };
    stored.scene.gate.give_verdict(&ann, one, first).await.unwrap();
    let again = stored.scene.gate.give_verdict(&ann, two, second).await;
    assert!(matches!(again, Err(GateError::Conflict(Conflict::SessionCounted { .. }))), "{again:?}");
    assert_eq!(check_records(stored.scene.gate.store()).await.unwrap(), []);
    stored.sql("DELETE FROM records WHERE kind = 'session'");
    stored.scene.gate.give_verdict(&ann, two, second).await.unwrap();
    for damage in [
        check_records(stored.scene.gate.store()).await.unwrap(),
        audit_owner(stored.scene.gate.store(), &public(&stored.ann)).await.unwrap(),
    ] {
        let found = damage.iter().any(|damage| damage.problem.contains("the same session and number"));
        assert!(found, "{damage:?}");
    }
}

/// The key that signs permits was retired, and its record says that it was not.
async fn a_key_of_the_gate_counts_as_the_ledger_says(kind: Kind) {
    let stored = Stored::new(kind).await;
    let before = stored.row("key");
    let old = stored.scene.gate.keyring();
    let caller = signed(&stored.scene, "ann", &stored.ann, OwnerAct::RotateKey, "none").await;
    stored.scene.gate.rotate_key(&caller).await.unwrap();
    stored.put_back(&before);
    let opened = Gate::open(stored.store().await, old, Clock::of(|| NOW), Settings::default()).await;
    check_damaged(opened.map(drop), "is not what the ledger says");
    let damage = check_records(stored.scene.gate.store()).await.unwrap();
    assert!(damage.iter().any(|damage| damage.problem.contains("the key `")), "{damage:?}");
}

/// Two processes that take turns agree on what is in force.
async fn two_processes_follow_each_other(kind: Kind) {
    let stored = Stored::new(kind).await;
    let other = stored.other().await;
    for (number, name) in ["one", "two", "three"].into_iter().enumerate() {
        let (first, second) = if number % 2 == 0 { (&stored.scene, &other) } else { (&other, &stored.scene) };
        // Another request each time: at the same moment the same one would be the same statement.
        let (new, secret) = operator_token();
        let new = NewToken { names: [name.to_owned()].into(), ..new };
        let caller = signed(first, "ann", &stored.ann, OwnerAct::CreateToken, &new.subject()).await;
        let (status, _) = first.gate.create_token(&caller, &new).await.unwrap();
        let caller = second.gate.authenticate_to_write(&secret).await.unwrap();
        let text = proposal(name, "read").to_string();
        second.gate.submit(&caller, text.as_bytes(), None).await.unwrap();
        let caller = signed(second, "ann", &stored.ann, OwnerAct::RevokeToken, &status.token_id).await;
        second.gate.revoke_token(&caller, &status.token_id).await.unwrap();
        let refused = first.gate.submit(&Caller::local("operator"), b"{}", None).await;
        assert!(matches!(refused, Err(GateError::Invalid { .. })), "{:?}", refused.err());
        let refused = first.gate.authenticate(&secret).await;
        assert!(matches!(refused, Err(GateError::Unauthenticated(_))), "{refused:?}");
    }
    assert_eq!(check_records(stored.scene.gate.store()).await.unwrap(), []);
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
