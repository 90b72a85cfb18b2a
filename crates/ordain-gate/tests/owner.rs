//! A gate with an owner: what needs a signature, whose, and what has no effect without one.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod scene;

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::SigningKey;
use ordain_api::{
    ActionState, ActionStatus, Approving, NewSecret, NewToken, OutcomeReport, OwnerAct, PermitStatus, Role,
    Settlement, UseOutcome, UseReceipt, VerdictRequest,
};
use ordain_gate::{Caller, Conflict, GateError, audit_owner, check_records, replay};
use ordain_spec::approval::Verdict;
use ordain_spec::statement::{Assurance, NONE, Signed, Statement, reason_hash};
use ordain_store::{Change, Guard, NewRecord, Writes};
use scene::owner::{
    careful, enrol, hash_of, key, new_key, owned, public, recent_verdict, session, signed, with_secret,
};
use scene::{Scene, policies, proposal};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicU64, Ordering};

fn is_presence<T: std::fmt::Debug>(result: Result<T, GateError>) -> String {
    match result {
        Err(GateError::Presence(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

async fn verdict(
    scene: &Scene,
    who: &str,
    key: &SigningKey,
    id: &str,
    assurance: Assurance,
) -> (ActionStatus, VerdictRequest) {
    let status = scene.gate.status(&Caller::local(who), id).await.unwrap();
    // Every signature has another place in the session.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed) % 20 + 1;
    let session = (assurance == Assurance::Recent).then(|| session(scene.gate.now_ms() - 60_000, number));
    let approving = Approving {
        principal: who,
        action_id: id,
        view_digest: &status.view_digest,
        verdict: Verdict::Approve,
        reason: "checked",
        assurance,
        session: session.as_ref(),
        scope: ordain_spec::statement::ONCE,
    };
    let terms = status.signing.clone().unwrap();
    let statement = Statement::Approval(terms.statement(&approving, 5));
    let request = VerdictRequest {
        verdict: Verdict::Approve,
        reason: "checked".to_owned(),
        view_digest: status.view_digest.clone(),
        signed: Some(Signed::sign(&statement, key).unwrap()),
        scope: None,
    };
    (status, request)
}

async fn is_sound(scene: &Scene) {
    assert_eq!(check_records(scene.gate.store()).await.unwrap(), []);
    let again = replay(&scene.gate, None, |_, _| {}).await.unwrap();
    assert_eq!((again.flips.len(), again.not_replayed.len()), (0, 0), "{again:?}");
    assert_eq!(again.same, again.decisions);
}

#[tokio::test]
async fn the_first_key_is_an_owners_and_signs_for_itself() {
    let scene = Scene::new().await;
    let (ann, bob) = (key(1), key(2));
    assert!(!scene.gate.is_owned().await.unwrap());
    let not_owner = new_key("ann", &ann, false);
    assert!(is_presence(enrol(&scene, "ann", &ann, &not_owner).await).contains("is an owner's"));
    let new = new_key("ann", &ann, true);
    is_presence(scene.gate.enrol_approver_key(&Caller::local("ann"), &new).await);
    is_presence(enrol(&scene, "ann", &bob, &new).await);
    let agent = scene.token("agent", &[Role::Approver], &[]).await;
    let terms = scene.gate.act_terms("enrol_approver_key").await.unwrap();
    let own = new_key("agent", &bob, true);
    let statement = Statement::Act(terms.statement("agent", &own.subject(), 0));
    let agent = agent.with_statements(vec![Signed::sign(&statement, &bob).unwrap()]);
    assert!(matches!(scene.gate.enrol_approver_key(&agent, &own).await, Err(GateError::Forbidden(_))));
    let enrolled = enrol(&scene, "ann", &ann, &new).await.unwrap();
    assert!(enrolled.owner && scene.gate.is_owned().await.unwrap());
    is_sound(&scene).await;
}

/// Policies and tokens from before the gate had an owner lose their force until an owner signs them.
#[tokio::test]
async fn what_nobody_signed_loses_its_force_with_the_first_key() {
    let scene = Scene::new().await;
    let ann = key(1);
    let new = NewToken {
        principal: "worker".to_owned(),
        roles: [Role::Worker].into(),
        names: Default::default(),
        expires_at_ms: None,
        secret: None,
    };
    let (_, before) = scene.gate.create_token(&scene.operator, &new).await.unwrap();
    let before = before.unwrap();
    scene.gate.authenticate(&before).await.unwrap();
    enrol(&scene, "ann", &ann, &new_key("ann", &ann, true)).await.unwrap();
    assert!(matches!(scene.gate.authenticate(&before).await, Err(GateError::Unauthenticated(_))));
    assert!(matches!(scene.gate.authenticate_to_write(&before).await, Err(GateError::Unauthenticated(_))));
    let text = proposal("p1", "read").to_string();
    let submitted = scene.gate.submit(&scene.operator, text.as_bytes(), None).await;
    assert!(matches!(submitted, Err(GateError::Unavailable(_))));
    let caller = signed(&scene, "ann", &ann, OwnerAct::PushPolicy, &hash_of(&policies("2"))).await;
    assert!(scene.gate.set_policy(&caller, &policies("2")).await.unwrap());
    assert_eq!(scene.submit(&proposal("p1", "read")).await.state, ActionState::Allowed);
    let (new, secret) = with_secret(new);
    let caller = signed(&scene, "ann", &ann, OwnerAct::CreateToken, &new.subject()).await;
    let (_, made) = scene.gate.create_token(&caller, &new).await.unwrap();
    assert_eq!(made, None);
    assert_eq!(scene.gate.authenticate(&secret).await.unwrap().principal(), "worker");
    is_sound(&scene).await;
}

#[tokio::test]
async fn owner_acts_are_refused_without_a_statement_and_count_once() {
    let (scene, ann) = owned().await;
    let (gate, nobody) = (&scene.gate, Caller::local("ann"));
    let new = NewToken {
        principal: "x".to_owned(),
        roles: [Role::Operator].into(),
        names: Default::default(),
        expires_at_ms: None,
        secret: None,
    };
    is_presence(gate.set_policy(&nobody, &policies("3")).await);
    // The gate makes no secret of which nobody signed the hash.
    let without = gate.create_token(&nobody, &new).await;
    assert!(matches!(without, Err(GateError::Invalid { .. })), "{without:?}");
    let (new, _) = with_secret(new);
    is_presence(gate.create_token(&nobody, &new).await);
    is_presence(gate.rotate_key(&nobody).await);
    let owner = gate.approver_key_list().await.unwrap().keys.remove(0);
    let last = gate.revoke_approver_key(&nobody, &owner.key_id).await;
    assert!(matches!(last, Err(GateError::Conflict(Conflict::LastOwnerKey { .. }))), "{last:?}");
    // A halt needs nobody; lifting it does.
    gate.halt(&nobody, "a leak").await.unwrap();
    is_presence(gate.resume(&nobody, "mended").await);
    let caller = signed(&scene, "ann", &ann, OwnerAct::Resume, &reason_hash("mended")).await;
    // Another reason, another act, another person.
    is_presence(gate.resume(&caller, "because").await);
    is_presence(gate.rotate_key(&caller).await);
    is_presence(
        gate.resume(&Caller::local("bob").with_statements(caller.statements().to_vec()), "mended").await,
    );
    gate.resume(&caller, "mended").await.unwrap();
    // The same statement does not lift the next halt: it names the one that it lifted.
    scene.pass(1_000);
    gate.halt(&nobody, "a leak").await.unwrap();
    is_presence(gate.resume(&caller, "mended").await);
    let caller = signed(&scene, "ann", &ann, OwnerAct::Resume, &reason_hash("mended")).await;
    gate.resume(&caller, "mended").await.unwrap();
    // A token is added, so that only the statement itself can show that it counted.
    let caller = signed(&scene, "ann", &ann, OwnerAct::CreateToken, &new.subject()).await;
    gate.create_token(&caller, &new).await.unwrap();
    let again = gate.create_token(&caller, &new).await;
    assert!(matches!(again, Err(GateError::Conflict(Conflict::StatementCounted { .. }))), "{again:?}");
    let caller = signed(&scene, "ann", &ann, OwnerAct::RotateKey, NONE).await;
    gate.rotate_key(&caller).await.unwrap();
    // Too late, and a nonce that the gate did not make.
    let late = signed(&scene, "ann", &ann, OwnerAct::CreateToken, &new.subject()).await;
    scene.pass(11 * 60_000);
    assert!(is_presence(gate.create_token(&late, &new).await).contains("ended"));
    let mut terms = gate.act_terms("create_token").await.unwrap();
    terms.not_after_ms += 1;
    let statement = Statement::Act(terms.statement("ann", &new.subject(), 0));
    let forged = Caller::local("ann").with_statements(vec![Signed::sign(&statement, &ann).unwrap()]);
    assert!(is_presence(gate.create_token(&forged, &new).await).contains("nonce"));
    is_sound(&scene).await;
}

/// The statement of a new token covers its id and the hash of its secret, and that of a new key the key:
/// nobody between who signs and the gate puts others in their place.
#[tokio::test]
async fn a_statement_covers_the_secret_and_the_new_key() {
    let (scene, ann) = owned().await;
    let (principal, roles) = ("x".to_owned(), [Role::Worker].into());
    let plain = NewToken { principal, roles, names: Default::default(), expires_at_ms: None, secret: None };
    let ((own, token), (other, stolen)) = (with_secret(plain.clone()), with_secret(plain));
    let caller = signed(&scene, "ann", &ann, OwnerAct::CreateToken, &own.subject()).await;
    let (own_secret, other_secret) = (own.secret.clone().unwrap(), other.secret.clone().unwrap());
    let other_id = NewSecret { token_id: other_secret.token_id, ..own_secret.clone() };
    let other_hash = NewSecret { secret_hash: other_secret.secret_hash, ..own_secret };
    let swapped = [other_id, other_hash].map(|secret| NewToken { secret: Some(secret), ..own.clone() });
    for swapped in swapped.into_iter().chain([other]) {
        assert!(is_presence(scene.gate.create_token(&caller, &swapped).await).contains("subject"));
    }
    scene.gate.create_token(&caller, &own).await.unwrap();
    scene.gate.authenticate(&token).await.unwrap();
    assert!(scene.gate.authenticate(&stolen).await.is_err());
    scene.pass(1);
    let again = signed(&scene, "ann", &ann, OwnerAct::CreateToken, &own.subject()).await;
    let taken = scene.gate.create_token(&again, &own).await;
    assert!(matches!(taken, Err(GateError::Conflict(Conflict::TokenExists { .. }))), "{taken:?}");

    // The terms name the key, and it is the one that comes.
    let terms = scene.gate.act_terms("rotate_key").await.unwrap();
    let wanted = terms.subject.clone().unwrap();
    let foreign = Statement::Act(terms.statement("ann", &public(&key(9)), 0));
    let caller = Caller::local("ann").with_statements(vec![Signed::sign(&foreign, &ann).unwrap()]);
    assert!(is_presence(scene.gate.rotate_key(&caller).await).contains("subject"));
    let caller = signed(&scene, "ann", &ann, OwnerAct::RotateKey, NONE).await;
    assert_eq!(scene.gate.rotate_key(&caller).await.unwrap().public_key, wanted);
    assert_ne!(scene.gate.act_terms("rotate_key").await.unwrap().subject.unwrap(), wanted);
    is_sound(&scene).await;
}

/// 20 signatures and 15 minutes, whatever the program that holds the key says.
#[tokio::test]
async fn the_gate_counts_the_signatures_of_a_session() {
    let (scene, ann) = owned().await;
    let mut files = careful();
    files.get_mut("all.cedar").unwrap().push_str(
        r#"@id("call") @approval("single") @approvers("leads") @assurance("recent")
permit(principal, action == Action::"communicate", resource);
"#,
    );
    let caller = signed(&scene, "ann", &ann, OwnerAct::PushPolicy, &hash_of(&files)).await;
    scene.gate.set_policy(&caller, &files).await.unwrap();
    let caller = Caller::local("ann");
    scene.submit(&proposal("p1", "communicate")).await;
    let good = recent_verdict(&scene, "ann", &ann, "p1", 20).await;
    let signed = good.signed.clone().unwrap();
    let line = session(scene::NOW, 20).to_string();
    assert!(signed.statement.contains(&line));
    let past = scene::NOW - 15 * 60_000;
    for (other, says) in [
        (session(scene::NOW, 21).to_string(), "the number 21"),
        (session(past, 20).to_string(), "before the signature"),
        (session(scene::NOW + 6, 20).to_string(), "after the signature"),
        ("none".to_owned(), "is missing"),
    ] {
        use ed25519_dalek::Signer;
        let statement = signed.statement.replace(&line, &other);
        let signature = Base64UrlUnpadded::encode_string(&ann.sign(statement.as_bytes()).to_bytes());
        let forged = Signed { statement, signature, ..signed.clone() };
        let request = VerdictRequest { signed: Some(forged), ..good.clone() };
        let problem = is_presence(scene.gate.give_verdict(&caller, "p1", &request).await);
        assert!(problem.contains(says), "{problem}");
    }
    assert_eq!(scene.gate.give_verdict(&caller, "p1", &good).await.unwrap().state, ActionState::Allowed);
    // The same place in the same session, for another action.
    scene.submit(&proposal("p2", "communicate")).await;
    let again = recent_verdict(&scene, "ann", &ann, "p2", 20).await;
    let refused = scene.gate.give_verdict(&caller, "p2", &again).await;
    assert!(matches!(refused, Err(GateError::Conflict(Conflict::SessionCounted { .. }))), "{refused:?}");
    let other = recent_verdict(&scene, "ann", &ann, "p2", 19).await;
    scene.gate.give_verdict(&caller, "p2", &other).await.unwrap();
    is_sound(&scene).await;
}

#[tokio::test]
async fn a_further_key_is_signed_by_its_person_or_by_two_owners() {
    let (scene, ann) = owned().await;
    let (bob, cat, phone, other) = (key(2), key(3), key(4), key(5));
    is_presence(enrol(&scene, "bob", &bob, &new_key("bob", &bob, false)).await);
    enrol(&scene, "ann", &ann, &new_key("bob", &bob, false)).await.unwrap();
    // Somebody who only approves enrols no owner, and no key of others.
    is_presence(enrol(&scene, "bob", &bob, &new_key("cat", &cat, false)).await);
    is_presence(enrol(&scene, "bob", &bob, &new_key("bob", &phone, true)).await);
    enrol(&scene, "bob", &bob, &new_key("bob", &phone, false)).await.unwrap();
    // One owner cannot speak for somebody who has a key.
    is_presence(enrol(&scene, "ann", &ann, &new_key("bob", &other, false)).await);
    enrol(&scene, "ann", &ann, &new_key("cat", &cat, true)).await.unwrap();
    let new = new_key("bob", &other, false);
    let first = signed(&scene, "ann", &ann, OwnerAct::EnrolApproverKey, &new.subject()).await;
    let second = signed(&scene, "cat", &cat, OwnerAct::EnrolApproverKey, &new.subject()).await;
    let both = [first.statements(), second.statements()].concat();
    let both = Caller::local("ann").with_statements(both);
    scene.gate.enrol_approver_key(&both, &new).await.unwrap();
    // A lost key is revoked by another one; the last owner's key stays.
    let lost = ordain_spec::statement::key_id(&public(&phone)).unwrap();
    let caller = signed(&scene, "bob", &bob, OwnerAct::RevokeApproverKey, &lost).await;
    assert!(scene.gate.revoke_approver_key(&caller, &lost).await.unwrap().revoked_index.is_some());
    is_presence(enrol(&scene, "bob", &phone, &new_key("bob", &key(9), false)).await);
    for (who, signer, revoked, ok) in [("cat", &cat, &ann, true), ("cat", &cat, &cat, false)] {
        let id = ordain_spec::statement::key_id(&public(revoked)).unwrap();
        let caller = signed(&scene, who, signer, OwnerAct::RevokeApproverKey, &id).await;
        assert_eq!(scene.gate.revoke_approver_key(&caller, &id).await.is_ok(), ok, "{who}");
    }
    is_sound(&scene).await;
}

#[tokio::test]
async fn an_approval_without_the_signature_that_policies_ask_for_does_not_count() {
    let (scene, ann) = owned().await;
    let held = scene.submit(&proposal("p1", "delete")).await;
    assert_eq!(held.state, ActionState::Held);
    let refused = scene.say("ann", &held, Verdict::Approve).await;
    let Err(GateError::Refused { reasons, .. }) = refused else { panic!("{refused:?}") };
    assert!(reasons.iter().any(|it| it.rule_id == "G15" && it.message.contains("`presence`")), "{reasons:?}");
    let (_, recent) = verdict(&scene, "ann", &ann, "p1", Assurance::Recent).await;
    let refused = scene.gate.give_verdict(&Caller::local("ann"), "p1", &recent).await;
    assert!(matches!(refused, Err(GateError::Refused { .. })), "{refused:?}");
    // Signed by a key that nobody enrolled, and for another reason.
    let (_, stranger) = verdict(&scene, "ann", &key(7), "p1", Assurance::Presence).await;
    is_presence(scene.gate.give_verdict(&Caller::local("ann"), "p1", &stranger).await);
    let (_, mut request) = verdict(&scene, "ann", &ann, "p1", Assurance::Presence).await;
    is_presence(scene.gate.give_verdict(&Caller::local("bob"), "p1", &request).await);
    request.reason = "changed".to_owned();
    is_presence(scene.gate.give_verdict(&Caller::local("ann"), "p1", &request).await);
    request.reason = "checked".to_owned();
    let allowed = scene.gate.give_verdict(&Caller::local("ann"), "p1", &request).await.unwrap();
    assert_eq!(allowed.state, ActionState::Allowed);
    // Another action of the same content is another statement.
    scene.submit(&proposal("p2", "delete")).await;
    let other = scene.gate.status(&scene.operator, "p2").await.unwrap();
    request.view_digest = other.view_digest;
    is_presence(scene.gate.give_verdict(&Caller::local("ann"), "p2", &request).await);
    // A permit ends with the key that approved it.
    let bob = key(2);
    enrol(&scene, "ann", &ann, &new_key("bob", &bob, true)).await.unwrap();
    let id = ordain_spec::statement::key_id(&public(&ann)).unwrap();
    let caller = signed(&scene, "bob", &bob, OwnerAct::RevokeApproverKey, &id).await;
    scene.gate.revoke_approver_key(&caller, &id).await.unwrap();
    let spent = scene.spend(&allowed, &proposal("p1", "delete")).await;
    assert!(matches!(spent, Err(GateError::Refused { .. })), "{spent:?}");
    is_sound(&scene).await;
}

/// A key that stays unlocked signs alone: where two people must approve, each of them types a passphrase.
#[tokio::test]
async fn a_recent_signature_counts_only_alone() {
    let (scene, ann) = owned().await;
    let mut files = careful();
    files.insert(
        "recent.cedar".to_owned(),
        r#"@id("mail") @approval("single") @approvers("leads") @assurance("recent")
permit(principal, action == Action::"communicate", resource);
@id("pay") @approval("dual") @approvers("leads") @assurance("local")
permit(principal, action == Action::"transact", resource);
@id("call") @approval("single") @approvers("leads") @assurance("recent")
permit(principal, action == Action::"custom", resource);
@id("call-takes-two")
forbid(principal, action == Action::"custom", resource) unless { context.approvals >= 2 };
"#
        .to_owned(),
    );
    let caller = signed(&scene, "ann", &ann, OwnerAct::PushPolicy, &hash_of(&files)).await;
    scene.gate.set_policy(&caller, &files).await.unwrap();
    for (id, action) in [("alone", "communicate"), ("two", "transact"), ("seen", "custom")] {
        assert_eq!(scene.submit(&proposal(id, action)).await.state, ActionState::Held, "{id}");
    }
    let (status, request) = verdict(&scene, "ann", &ann, "alone", Assurance::Recent).await;
    assert_eq!(status.signing.unwrap().assurance, Assurance::Recent);
    let allowed = scene.gate.give_verdict(&Caller::local("ann"), "alone", &request).await.unwrap();
    assert_eq!(allowed.state, ActionState::Allowed);
    let (_, request) = verdict(&scene, "ann", &ann, "two", Assurance::Recent).await;
    let refused = scene.gate.give_verdict(&Caller::local("ann"), "two", &request).await;
    let Err(GateError::Refused { reasons, .. }) = refused else { panic!("{refused:?}") };
    assert!(reasons.iter().any(|it| it.message.contains("counts only alone")), "{reasons:?}");
    // A policy that wants to see two approvals is another way to ask for them.
    let (_, request) = verdict(&scene, "ann", &ann, "seen", Assurance::Recent).await;
    is_presence(scene.gate.give_verdict(&Caller::local("ann"), "seen", &request).await);
    let (_, request) = verdict(&scene, "ann", &ann, "two", Assurance::Presence).await;
    scene.gate.give_verdict(&Caller::local("ann"), "two", &request).await.unwrap();
    is_sound(&scene).await;
}

/// Signing adds no look at the store: the keys are known by the hash that the gate's own record names.
#[tokio::test]
async fn a_signed_approval_reads_no_more_than_an_unsigned_one() {
    let (scene, ann) = owned().await;
    for id in ["p1", "p2", "p3"] {
        scene.submit(&proposal(id, "write")).await;
    }
    scene
        .say("ann", &scene.gate.status(&scene.operator, "p1").await.unwrap(), Verdict::Approve)
        .await
        .unwrap();
    let status = scene.gate.status(&scene.operator, "p2").await.unwrap();
    let before = scene.gate.store().counters().reads;
    scene.say("ann", &status, Verdict::Approve).await.unwrap();
    let unsigned = scene.gate.store().counters().reads - before;
    let (_, request) = verdict(&scene, "ann", &ann, "p3", Assurance::Presence).await;
    let before = scene.gate.store().counters().reads;
    scene.gate.give_verdict(&Caller::local("ann"), "p3", &request).await.unwrap();
    assert_eq!(scene.gate.store().counters().reads - before, unsigned);
}

/// Writes a record straight into the store, as somebody could who has its file.
async fn plant(scene: &Scene, kind: &str, id: &str, state: &str, change: impl FnOnce(&mut Json)) {
    let store = scene.gate.store();
    let known = store.record(kind, id).await.unwrap();
    let mut body: Json = known.as_ref().map_or(Json::Null, |it| serde_json::from_str(&it.body).unwrap());
    change(&mut body);
    let version = known.map_or(0, |it| it.version);
    let record = NewRecord {
        kind: kind.to_owned(),
        id: id.to_owned(),
        state: state.to_owned(),
        body: body.to_string(),
    };
    let guards = vec![Guard::new(kind, id, version)];
    let build = move |_: ordain_store::End<'_>| Writes { records: vec![record], ..Writes::default() };
    store.commit(Change { guards, attached: None, build: Box::new(build) }).await.unwrap();
}

/// Another process that opens the same store.
async fn reopened(scene: &Scene) -> Result<ordain_gate::Gate, GateError> {
    let keyring = scene.gate.keyring();
    let clock = ordain_gate::Clock::of(|| scene::NOW);
    let settings = ordain_gate::Settings::default();
    ordain_gate::Gate::open(scene.gate.store().clone(), keyring, clock, settings).await
}

fn is_damaged<T>(result: Result<T, GateError>) -> String {
    match result {
        Err(GateError::Damaged(problem)) => problem,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("went through"),
    }
}

#[tokio::test]
async fn rows_written_into_the_store_take_no_effect() {
    let (scene, _ann) = owned().await;
    let (mallory, secret) = (key(66), "A".repeat(43));
    // A token that nobody made.
    let hash = ordain_canon::ContentHash::of(secret.as_bytes()).to_string();
    let row = json!({"principal": "mallory", "names": [], "roles": ["operator"], "secret_hash": hash,
        "created_at_ms": 1, "expires_at_ms": null, "revoked_at_ms": null, "created_index": 0,
        "created_by": "ann"});
    plant(&scene, "token", "00000000000000aa", "valid", |body| *body = row).await;
    let token = format!("ordain_00000000000000aa_{secret}");
    let refused = scene.gate.authenticate(&token).await;
    assert!(matches!(refused, Err(GateError::Unauthenticated(_))), "{refused:?}");
    // Policies that nobody signed: those of before the gate had an owner, whose entry is on the ledger.
    let entries = scene.gate.ledger_entries(0, 100).await.unwrap();
    let first = entries.iter().find(|it| it.entry.event.name() == "policy_changed").unwrap();
    let event = serde_json::to_value(&first.entry.event).unwrap();
    let index = first.index;
    let (files, policy) = (event["files_document"].clone(), event["policy_hash"].clone());
    let old = json!({"hash": policy, "files_document": files, "index": index});
    plant(&scene, "control", "gate", "open", |body| body["policy"] = old).await;
    assert!(is_damaged(reopened(&scene).await).contains("other policies"));
    let text = proposal("p1", "read").to_string();
    assert!(
        is_damaged(scene.gate.submit(&scene.operator, text.as_bytes(), None).await)
            .contains("other policies")
    );
    // A key that nobody enrolled.
    let keys = json!({"keys": [{"key_id": ordain_spec::statement::key_id(&public(&mallory)).unwrap(),
        "principal": "ann", "public_key": public(&mallory), "owner": true, "enrolled_index": 1}]});
    let bytes = ordain_canon::Canonicalizer::new().value(&keys).unwrap().to_vec();
    let document = ordain_canon::ContentHash::of(&bytes).to_string();
    let build = move |_: ordain_store::End<'_>| Writes { documents: vec![bytes], ..Writes::default() };
    let change = Change { guards: Vec::new(), attached: None, build: Box::new(build) };
    scene.gate.store().commit(change).await.unwrap();
    plant(&scene, "control", "gate", "open", |body| {
        body["keys"] = json!({"document": document, "index": 1});
    })
    .await;
    is_damaged(reopened(&scene).await);
    is_damaged(scene.gate.approver_key_list().await);
    let damage = check_records(scene.gate.store()).await.unwrap();
    assert!(damage.iter().any(|it| it.problem.contains("keys of approvers")), "{damage:?}");
}

/// Appends an entry straight to the ledger, with its number and its mark, as somebody could who has the store's file.
async fn append(scene: &Scene, event: Json) {
    let (gate, store) = (&scene.gate, scene.gate.store());
    let last = gate.ledger_entries(gate.size().await.unwrap() - 1, 1).await.unwrap().remove(0);
    let mut entry = serde_json::to_value(&last.entry).unwrap();
    let changes = entry["changes"].as_u64().unwrap() + 1;
    entry["changes"] = json!(changes);
    entry["event"] = event;
    entry["how"] = json!("local");
    entry.as_object_mut().unwrap().remove("signed");
    let entries = vec![ordain_canon::Canonicalizer::new().value(&entry).unwrap().to_vec()];
    let writes = Writes { entries, marks: vec![(0, changes)], ..Writes::default() };
    store.commit(Change::new(Vec::new(), |_| writes)).await.unwrap();
}

const NOW_LATER: u64 = scene::NOW + 60_000;

#[tokio::test]
async fn entries_that_nobody_signed_stop_the_gate() {
    let hash = format!("sha256:{}", "0".repeat(64));
    let mallory = public(&key(66));
    for (event, says) in [
        (json!({"kind": "opened", "origin": "ordain/0000000000000000"}), "a ledger begins once"),
        (json!({"kind": "policy_changed", "policy_hash": hash, "files_document": hash}), "push_policy"),
        (json!({"kind": "resumed", "reason": "go"}), "resume"),
        (
            json!({"kind": "observation_started", "until_ms": NOW_LATER, "reason": "mine"}),
            "start_observation",
        ),
        (json!({"kind": "key_rotated", "key_id": "00", "public_key": mallory}), "rotate_key"),
        (json!({"kind": "token_revoked", "token_id": "00"}), "revoke_token"),
        (
            json!({"kind": "token_created", "token_id": "00", "principal": "mallory", "names": [],
                "roles": ["operator"], "secret_hash": hash}),
            "create_token",
        ),
        (
            json!({"kind": "approver_key_enrolled", "key_id": "00", "principal": "mallory",
                "public_key": mallory, "owner": true, "keys_document": hash}),
            "enrol_approver_key",
        ),
    ] {
        let (scene, _ann) = owned().await;
        append(&scene, event).await;
        let text = proposal("p1", "read").to_string();
        let submitted = scene.gate.submit(&scene.operator, text.as_bytes(), None).await;
        assert!(is_damaged(submitted).contains(says), "{says}");
        assert!(is_damaged(reopened(&scene).await).contains(says), "{says}");
    }
    // A halt needs nobody's signature, and holds things back.
    let (scene, _ann) = owned().await;
    append(&scene, json!({"kind": "halted", "reason": "stop"})).await;
    is_damaged(scene.gate.gate_status().await);
}

/// The last key of an owner stays, also for somebody who has it and writes the ledger by hand.
#[tokio::test]
async fn an_entry_does_not_open_a_gate_again() {
    let (scene, ann) = owned().await;
    let own = scene.gate.approver_key_list().await.unwrap().keys.remove(0);
    let caller = signed(&scene, "ann", &ann, OwnerAct::RevokeApproverKey, &own.key_id).await;
    let hash = format!("sha256:{}", "0".repeat(64));
    let event = json!({"kind": "approver_key_revoked", "key_id": own.key_id, "keys_document": hash});
    let (gate, store) = (&scene.gate, scene.gate.store());
    let last = gate.ledger_entries(gate.size().await.unwrap() - 1, 1).await.unwrap().remove(0);
    let mut entry = serde_json::to_value(&last.entry).unwrap();
    let changes = entry["changes"].as_u64().unwrap() + 1;
    entry["changes"] = json!(changes);
    entry["event"] = event;
    entry["how"] = json!("signed");
    entry["by"] = json!("ann");
    entry["signed"] = json!(caller.statements());
    let entries = vec![ordain_canon::Canonicalizer::new().value(&entry).unwrap().to_vec()];
    let writes = Writes { entries, marks: vec![(0, changes)], ..Writes::default() };
    store.commit(Change::new(Vec::new(), |_| writes)).await.unwrap();
    assert!(is_damaged(gate.gate_status().await).contains("last key of an owner"));
}

/// Ann says how a use went, with a statement about an outcome.
async fn settle(
    scene: &Scene,
    ann: &SigningKey,
    used: &UseReceipt,
    signed_for: UseOutcome,
    outcome: UseOutcome,
) -> Result<PermitStatus, GateError> {
    let settlement = Settlement { outcome: signed_for, permit_id: &used.permit_id, number: used.number };
    let caller = signed(scene, "ann", ann, OwnerAct::SettleOutcome, &settlement.subject()).await;
    let (number, reason) = (used.number, String::new());
    let report =
        OutcomeReport { number, outcome, affected_records: None, duration_ms: None, reason, change: None };
    scene.gate.settle(&caller, &used.permit_id, &report).await
}

/// After the deadline an outcome is a person's word. On a gate with an owner, one of their keys signs it: whoever has
/// the owner's shell frees no lock.
#[tokio::test]
async fn an_owner_signs_how_a_late_use_went() {
    let (scene, ann) = owned().await;
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    let used = scene.spend(&status, &read).await.unwrap();
    // Until the deadline it is the worker's. A worker that did not know cannot free the lock later.
    scene.report(&used, UseOutcome::Unknown).await.unwrap();
    assert!(is_presence(scene.report(&used, UseOutcome::Failed).await).contains("settle_outcome"));
    scene.pass(5 * 60_000 + 6_000);
    let mut again = proposal("p2", "read");
    again["ts_ms"] = json!(scene.gate.now_ms());
    let next = scene.submit(&again).await;
    for outcome in [UseOutcome::Failed, UseOutcome::Succeeded] {
        assert!(is_presence(scene.report(&used, outcome).await).contains("settle_outcome"));
        let other = if outcome == UseOutcome::Failed { UseOutcome::Succeeded } else { UseOutcome::Unknown };
        assert!(is_presence(settle(&scene, &ann, &used, other, outcome).await).contains("subject"));
        is_presence(settle(&scene, &key(66), &used, outcome, outcome).await);
    }
    let locked = scene.spend(&next, &again).await;
    assert!(matches!(locked, Err(GateError::Conflict(Conflict::Unsettled { .. }))), "{locked:?}");
    // Nobody can tell: that is on record too, and the lock stays.
    let (unknown, failed) = (UseOutcome::Unknown, UseOutcome::Failed);
    let told = settle(&scene, &ann, &used, unknown, unknown).await.unwrap();
    assert_eq!(
        (told.locks.as_slice(), told.uses[0].settled.as_ref().unwrap().by.as_str()),
        (&[1][..], "ann")
    );
    assert!(scene.spend(&next, &again).await.is_err());
    let told = settle(&scene, &ann, &used, failed, failed).await.unwrap();
    assert_eq!((told.locks.as_slice(), told.uses[0].outcome_name()), (&[][..], "failed"));
    let entries = scene.gate.ledger_entries(0, 200).await.unwrap();
    let settled = entries.iter().filter(|it| it.entry.event.name() == "permit_settled");
    let how: Vec<Json> = settled.map(|it| serde_json::to_value(it.entry.how).unwrap()).collect();
    assert_eq!(how, [json!("local"), json!("signed"), json!("signed")]);
    // The worker says the same again, and is told that it is known; nothing else counts any more.
    assert_eq!(scene.report(&used, failed).await.unwrap(), ActionState::Failed);
    let other = scene.report(&used, UseOutcome::Succeeded).await;
    assert!(matches!(other, Err(GateError::Conflict(Conflict::Settled { .. }))), "{other:?}");
    // Its numbers do not turn the owner's word around.
    let used = scene.spend(&next, &again).await.unwrap();
    let (number, reason) = (used.number, String::new());
    let worker = Caller::local("worker").with_agents(["agent"]);
    let (outcome, duration_ms) = (unknown, Some(999_999_999));
    let report = OutcomeReport { number, outcome, affected_records: None, duration_ms, reason, change: None };
    scene.gate.settle(&worker, &used.permit_id, &report).await.unwrap();
    let told = settle(&scene, &ann, &used, UseOutcome::Succeeded, UseOutcome::Succeeded).await.unwrap();
    assert_eq!(told.uses[0].outcome_name(), "succeeded");
    is_sound(&scene).await;
    assert_eq!(audit_owner(scene.gate.store(), &public(&ann)).await.unwrap(), []);
}

/// A use whose deadline has passed is listed as unknown before anybody wrote so.
#[tokio::test]
async fn a_silent_use_is_listed_as_unknown() {
    let scene = Scene::new().await;
    let mut ids = Vec::new();
    for id in ["p1", "p2", "p3"] {
        let mut read = proposal(id, "read");
        read["parameters"]["updates"]["email"] = json!(id);
        let status = scene.submit(&read).await;
        let used = scene.spend(&status, &read).await.unwrap();
        if id == "p2" {
            scene.report(&used, UseOutcome::Unknown).await.unwrap();
        }
        ids.push(id);
    }
    let unknown = Some(ActionState::Unknown);
    let listed =
        |after: Option<u64>, limit: usize| scene.gate.actions(&scene.operator, unknown, after, limit);
    assert_eq!(listed(None, 10).await.unwrap().0.len(), 1);
    scene.pass(5 * 60_000 + 6_000);
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let (page, next) = listed(after, 1).await.unwrap();
        found.extend(page.iter().map(|status| status.action_id.clone()));
        after = next;
        if after.is_none() {
            break;
        }
    }
    found.sort();
    assert_eq!(found, ids);
    assert_eq!(listed(None, 2).await.unwrap().0.len(), 2);
}

/// Somebody who has the store's file writes an outcome that nobody signed.
#[tokio::test]
async fn a_late_outcome_that_nobody_signed_is_found() {
    let (scene, ann) = owned().await;
    let read = proposal("p1", "read");
    let status = scene.submit(&read).await;
    let used = scene.spend(&status, &read).await.unwrap();
    scene.pass(5 * 60_000 + 6_000 + 60_000);
    scene.gate.sweep().await.unwrap();
    let (gate, store) = (&scene.gate, scene.gate.store());
    let last = gate.ledger_entries(gate.size().await.unwrap() - 1, 1).await.unwrap().remove(0);
    let mut entry = serde_json::to_value(&last.entry).unwrap();
    assert_eq!(entry["event"]["kind"], "permit_settled");
    entry["event"]["outcome"] = json!("failed");
    entry["by"] = json!("worker");
    let entries = vec![ordain_canon::Canonicalizer::new().value(&entry).unwrap().to_vec()];
    let writes = Writes { entries, ..Writes::default() };
    store.commit(Change::new(Vec::new(), |_| writes)).await.unwrap();
    let damage = audit_owner(store, &public(&ann)).await.unwrap();
    assert!(damage.iter().any(|it| it.problem.contains("settle_outcome")), "{damage:?} {used:?}");
}
