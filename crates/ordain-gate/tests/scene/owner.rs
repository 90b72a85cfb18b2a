//! A gate that somebody owns, and what its owner signs.

use super::{NOW, Scene, policies};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::SigningKey;
use ordain_api::{Approving, NewApproverKey, NewToken, OwnerAct, VerdictRequest};
use ordain_decision::PolicyFiles;
use ordain_gate::{Caller, GateError, TokenSecret};
use ordain_spec::approval::Verdict;
use ordain_spec::statement::{ApproverKey, Assurance, Session, Signed, Statement};

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

pub(crate) fn public(key: &SigningKey) -> String {
    Base64UrlUnpadded::encode_string(key.verifying_key().as_bytes())
}

pub(crate) fn new_key(principal: &str, key: &SigningKey, owner: bool) -> NewApproverKey {
    NewApproverKey { principal: principal.to_owned(), public_key: public(key), owner, passkey: None }
}

/// A caller that signed an act, on the terms of now.
pub(crate) async fn signed(
    scene: &Scene,
    who: &str,
    key: &SigningKey,
    act: OwnerAct,
    subject: &str,
) -> Caller {
    let terms = scene.gate.act_terms(act.name()).await.unwrap();
    // Only the gate knows its new key.
    let subject = terms.subject.as_deref().unwrap_or(subject);
    let statement = Statement::Act(terms.statement(who, subject, 0));
    Caller::local(who).with_statements(vec![Signed::sign(&statement, key).unwrap()])
}

pub(crate) async fn enrol(
    scene: &Scene,
    who: &str,
    by: &SigningKey,
    new: &NewApproverKey,
) -> Result<ApproverKey, GateError> {
    let caller = signed(scene, who, by, OwnerAct::EnrolApproverKey, &new.subject()).await;
    scene.gate.enrol_approver_key(&caller, new).await
}

/// The same token, with a secret that whoever asks has made; and the token itself.
pub(crate) fn with_secret(new: NewToken) -> (NewToken, String) {
    let secret = TokenSecret::random().unwrap();
    (NewToken { secret: Some(secret.new_secret()), ..new }, secret.token())
}

/// A session of a key that was unlocked at that moment.
pub(crate) fn session(started_at_ms: u64, number: u64) -> Session {
    Session { id: "0123456789abcdef".repeat(2), started_at_ms, number }
}

/// An approval by a key that stays unlocked, as its signature of that number.
pub(crate) async fn recent_verdict(
    scene: &Scene,
    who: &str,
    key: &SigningKey,
    id: &str,
    number: u64,
) -> VerdictRequest {
    let status = scene.gate.status(&Caller::local(who), id).await.unwrap();
    let terms = status.signing.clone().unwrap();
    let session = session(NOW, number);
    let approving = Approving {
        principal: who,
        action_id: id,
        view_digest: &status.view_digest,
        verdict: Verdict::Approve,
        reason: "checked",
        assurance: Assurance::Recent,
        session: Some(&session),
        scope: ordain_spec::statement::ONCE,
    };
    let statement = Statement::Approval(terms.statement(&approving, 5));
    VerdictRequest {
        verdict: Verdict::Approve,
        reason: "checked".to_owned(),
        view_digest: status.view_digest.clone(),
        signed: Some(Signed::sign(&statement, key).unwrap()),
        scope: None,
    }
}

/// Policies that ask for presence.
pub(crate) fn careful() -> PolicyFiles {
    let mut files = policies("2");
    let cedar = files.get_mut("all.cedar").unwrap();
    cedar.push_str(
        r#"@id("erase") @approval("single") @approvers("leads") @assurance("presence")
permit(principal, action == Action::"delete", resource);
"#,
    );
    files
}

pub(crate) fn hash_of(files: &PolicyFiles) -> String {
    ordain_decision::PolicySet::load(files).unwrap().hash().to_string()
}

/// A gate that `ann` owns, with her policies in force.
pub(crate) async fn owned() -> (Scene, SigningKey) {
    owned_on(Scene::new().await).await
}

/// The same on a gate that nobody owns yet.
pub(crate) async fn owned_on(scene: Scene) -> (Scene, SigningKey) {
    let ann = key(1);
    enrol(&scene, "ann", &ann, &new_key("ann", &ann, true)).await.unwrap();
    let caller = signed(&scene, "ann", &ann, OwnerAct::PushPolicy, &hash_of(&careful())).await;
    assert!(scene.gate.set_policy(&caller, &careful()).await.unwrap());
    (scene, ann)
}
