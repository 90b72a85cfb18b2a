//! Keys of approvers, and the terms on which statements are signed.

use crate::limits::{NAME_CHARACTERS_MAX, NAME_PATTERN};
use base64ct::{Base64UrlUnpadded, Encoding};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_spec::Sha256;
use ordain_spec::approval::Verdict;
use ordain_spec::standing::{Covers, StandingScope};
use ordain_spec::statement::{
    ActStatement, ApprovalStatement, ApproverKey, Assurance, Passkey, Session, Signed, reason_hash,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The header that carries the signed statements of an owner act: base64url of a JSON array of [`Signed`].
pub const STATEMENT_HEADER: &str = "ordain-statement";
/// Statements that one request may carry: two owners may have to sign.
pub const STATEMENTS_MAX: usize = 2;

/// The acts that change the gate. Each needs the signature of an enrolled key once the gate has an owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnerAct {
    /// Puts policies in force. Subject: the policy hash. From: the policy hash in force.
    PushPolicy,
    /// Lifts a halt. Subject: the hash of the reason. From: the hash of the halt's canonical JSON.
    Resume,
    /// Signs with a new key. Subject: that public key, which the terms name. From: the id of the key that signs.
    RotateKey,
    /// Creates a token. Subject: the hash of the request's canonical JSON, with the id and the hash of the
    /// secret. From: `none`.
    CreateToken,
    /// Revokes a token. Subject: its id. From: `none`.
    RevokeToken,
    /// Enrols a key of an approver. Subject: the hash of the request's canonical JSON. From: the hash of the
    /// keys in force.
    EnrolApproverKey,
    /// Revokes a key of an approver. Subject: its id. From: the hash of the keys in force.
    RevokeApproverKey,
    /// Takes back what an agent changed. Subject: the hash of the proposal that does it. From: `none`.
    Undo,
    /// Registers a folder as a project. Subject: the hash of the request's canonical JSON. From: `none`.
    RegisterProject,
    /// Forgets a project. Subject: its id. From: `none`.
    ForgetProject,
    /// Has calls of hooks observed for a time. Subject: the hash of the request's canonical JSON. From: `none`.
    StartObservation,
    /// Approves tools of an MCP server. Subject: the hash of the pins' canonical JSON. From: the hash of the pins that
    /// were put in force last, of whatever server.
    PinServer,
    /// Says how a use went whose outcome nobody knows. Subject: the hash of the canonical JSON of `{outcome, permit_id,
    /// use}`. From: `none`.
    SettleOutcome,
}

impl OwnerAct {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::PushPolicy,
        Self::Resume,
        Self::RotateKey,
        Self::CreateToken,
        Self::RevokeToken,
        Self::EnrolApproverKey,
        Self::RevokeApproverKey,
        Self::Undo,
        Self::RegisterProject,
        Self::ForgetProject,
        Self::StartObservation,
        Self::PinServer,
        Self::SettleOutcome,
    ];

    /// As statements write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PushPolicy => "push_policy",
            Self::Resume => "resume",
            Self::RotateKey => "rotate_key",
            Self::CreateToken => "create_token",
            Self::RevokeToken => "revoke_token",
            Self::EnrolApproverKey => "enrol_approver_key",
            Self::RevokeApproverKey => "revoke_approver_key",
            Self::Undo => "undo",
            Self::RegisterProject => "register_project",
            Self::ForgetProject => "forget_project",
            Self::StartObservation => "start_observation",
            Self::PinServer => "pin_server",
            Self::SettleOutcome => "settle_outcome",
        }
    }

    /// From its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.name() == name)
    }
}

/// Everything that the statement of an approval needs besides the action.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SigningTerms {
    /// The ledger's name.
    pub origin: String,
    /// The hash of the proposal.
    pub proposal_hash: String,
    /// How sure the approvals that are missing must be; of several that are asked for, the highest.
    pub assurance: Assurance,
    /// The gate's time, in milliseconds since 1970. Add the time that has passed since.
    pub at_ms: u64,
    /// Until when the gate takes the statement.
    pub not_after_ms: u64,
    /// Goes into the statement as it is.
    pub nonce: String,
    /// On what terms the same call may be repeated, where the policies let approvers say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<StandingTerms>,
}

/// On what terms an approver may say that calls with the same deed are approved too.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StandingTerms {
    /// The deed of the action.
    pub deed: Sha256,
    /// How many later calls at most.
    pub max_uses: u64,
    /// The permits that ask for approvals, and the hash of each one's text.
    pub permits: BTreeMap<String, Sha256>,
    /// Until when at most, in milliseconds since 1970.
    pub until_ms: u64,
}

impl StandingTerms {
    /// The widest scope that they allow until a time.
    pub fn scope(&self, until_ms: u64) -> StandingScope {
        StandingScope {
            covers: Covers::Deed,
            deed: self.deed.clone(),
            max_uses: self.max_uses,
            permits: self.permits.clone(),
            until_ms: until_ms.min(self.until_ms),
        }
    }
}

/// Everything that the statement of an owner act needs besides its author and its subject.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActTerms {
    /// The ledger's name.
    pub origin: String,
    /// The act.
    pub act: OwnerAct,
    /// The state that it changes, or `none`.
    pub from: String,
    /// The subject, where only the gate knows it: the public key of `rotate_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Whether the gate has an owner. An open gate takes the act without a statement.
    pub owned: bool,
    /// The gate's time, in milliseconds since 1970. Add the time that has passed since.
    pub at_ms: u64,
    /// Until when the gate takes the statement.
    pub not_after_ms: u64,
    /// Goes into the statement as it is.
    pub nonce: String,
}

impl ActTerms {
    /// The statement to sign. `elapsed_ms` is the time since the terms were handed out.
    pub fn statement(&self, principal: &str, subject: &str, elapsed_ms: u64) -> ActStatement {
        ActStatement {
            origin: self.origin.clone(),
            principal: principal.to_owned(),
            act: self.act.name().to_owned(),
            subject: subject.to_owned(),
            from: self.from.clone(),
            at_ms: self.at_ms.saturating_add(elapsed_ms),
            not_after_ms: self.not_after_ms,
            nonce: self.nonce.clone(),
        }
    }
}

/// The statement that an approver signs about one action. The client computes the digest from what it showed.
#[derive(Clone, Copy, Debug)]
pub struct Approving<'a> {
    /// The person who approves or rejects.
    pub principal: &'a str,
    /// The action.
    pub action_id: &'a str,
    /// The digest of what was shown.
    pub view_digest: &'a str,
    /// Yes or no.
    pub verdict: Verdict,
    /// Why.
    pub reason: &'a str,
    /// `recent` or `presence`.
    pub assurance: Assurance,
    /// The session of a key that stays unlocked; of a signature that is `recent`.
    pub session: Option<&'a Session>,
    /// The hash of the scope, or `once`.
    pub scope: &'a str,
}

impl SigningTerms {
    /// The statement to sign. `elapsed_ms` is the time since the terms were handed out.
    pub fn statement(&self, approving: &Approving<'_>, elapsed_ms: u64) -> ApprovalStatement {
        ApprovalStatement {
            origin: self.origin.clone(),
            principal: approving.principal.to_owned(),
            action_id: approving.action_id.to_owned(),
            proposal_hash: self.proposal_hash.clone(),
            view_digest: approving.view_digest.to_owned(),
            verdict: approving.verdict,
            scope: approving.scope.to_owned(),
            assurance: approving.assurance,
            session: approving.session.cloned(),
            reason_hash: reason_hash(approving.reason),
            at_ms: self.at_ms.saturating_add(elapsed_ms),
            not_after_ms: self.not_after_ms,
            nonce: self.nonce.clone(),
        }
    }
}

/// A key to be enrolled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApproverKey {
    /// The principal that it belongs to.
    #[schemars(length(max = NAME_CHARACTERS_MAX), regex(pattern = NAME_PATTERN))]
    pub principal: String,
    /// 32 bytes in base64url without padding; of a passkey as its algorithm says.
    pub public_key: String,
    /// Whether it signs owner acts.
    #[serde(default)]
    pub owner: bool,
    /// The binding of a passkey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkey: Option<Passkey>,
}

/// A passkey that a page has made for somebody, to be enrolled on a terminal. Its code is base64url of its canonical
/// JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasskeyOffer {
    /// The binding of the passkey.
    pub passkey: Passkey,
    /// The principal that it is for.
    pub principal: String,
    /// Its public key.
    pub public_key: String,
}

impl PasskeyOffer {
    /// Reads a code. Gives the offer, and the bytes that page and terminal make the same words of.
    pub fn parse(code: &str) -> Result<(Self, Vec<u8>), String> {
        let wrong = || "it is not the code of a passkey that the console shows".to_owned();
        let bytes = Base64UrlUnpadded::decode_vec(code.trim()).map_err(|_| wrong())?;
        let offer: Self = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
        let mut canon = Canonicalizer::new();
        if canon.value(&offer).ok() != Some(bytes.as_slice()) {
            return Err(wrong());
        }
        if let Some(problem) = offer.passkey.violation() {
            return Err(format!("the passkey {problem}"));
        }
        offer.passkey.key_id(&offer.public_key).map_err(|_| "its public key is not one of its algorithm")?;
        Ok((offer, bytes))
    }

    /// The key to enrol.
    pub fn new_key(self, owner: bool) -> NewApproverKey {
        let Self { passkey, principal, public_key } = self;
        NewApproverKey { principal, public_key, owner, passkey: Some(passkey) }
    }
}

impl NewApproverKey {
    /// The subject of the statement that enrols it: the hash of its canonical JSON.
    pub fn subject(&self) -> String {
        subject(self)
    }
}

/// The hash of a request's canonical JSON. A request that has no canonical JSON has no subject, so no
/// statement fits it.
pub(crate) fn subject(request: &impl Serialize) -> String {
    Canonicalizer::new().value(request).map(|bytes| ContentHash::of(bytes).to_string()).unwrap_or_default()
}

/// All keys of approvers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApproverKeyList {
    /// Whether somebody owns the gate. The OS user and operators change an open gate without a signature.
    pub owned: bool,
    /// In the order in which they were enrolled, revoked ones too.
    pub keys: Vec<ApproverKey>,
}

/// The signed statements of a request, as its header carries them.
pub fn statement_header(signed: &[Signed]) -> Result<String, serde_json::Error> {
    Ok(Base64UrlUnpadded::encode_string(&serde_json::to_vec(signed)?))
}

/// Reads a header with signed statements; none if it is not one.
pub fn read_statement_header(text: &str) -> Option<Vec<Signed>> {
    let bytes = Base64UrlUnpadded::decode_vec(text).ok()?;
    let signed: Vec<Signed> = serde_json::from_slice(&bytes).ok()?;
    (signed.len() <= STATEMENTS_MAX).then_some(signed)
}
