//! Approvals: what one person said about one proposal.

mod rules;

use crate::schema::{NonEmpty, Sha256};
use crate::standing::StandingScope;
use crate::statement::{
    ApprovalStatement, Assurance, How, Session, SignatureMethod, Signed, Statement, StatementError,
    reason_hash,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use rules::RULES;

/// An approval or a rejection, bound to the exact proposal and to what its author was shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The proposal.
    #[schemars(extend("x-rule" = "AP1"))]
    pub proposal_hash: Sha256,
    /// The approver.
    #[schemars(extend("x-rule" = "AP2"))]
    pub approver: NonEmpty,
    /// The verdict.
    #[schemars(extend("x-rule" = "AP3"))]
    pub verdict: Verdict,
    /// Why; a rejection always says.
    #[schemars(extend("x-rule" = "AP4"))]
    pub reason: String,
    /// The hash of what they were shown.
    #[schemars(extend("x-rule" = "AP5"))]
    pub view_digest: Sha256,
    /// When, in milliseconds since 1970.
    #[schemars(range(min = 1), extend("x-rule" = "AP6"))]
    pub at_ms: u64,
    /// How the approver was authenticated, where nothing was signed. Without it, as an OS user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<How>,
    /// How far it goes beyond this action; without it, it is for this action once. The signature covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "AP13"))]
    pub scope: Option<StandingScope>,
    /// The signature, with the fields of the signed statement that the approval lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "AP7"))]
    pub signature: Option<ApprovalSignature>,
}

/// The signature of an approval. With the approval it gives the statement that was signed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalSignature {
    /// How it was signed.
    #[schemars(extend("x-rule" = "AP7"))]
    pub method: SignatureMethod,
    /// The key.
    #[schemars(extend("x-rule" = "AP7"))]
    pub key_id: NonEmpty,
    /// The ledger's name.
    #[schemars(extend("x-rule" = "AP7"))]
    pub origin: NonEmpty,
    /// The action's id.
    #[schemars(extend("x-rule" = "AP7"))]
    pub action_id: NonEmpty,
    /// `once`, or the hash of the grant, plan or batch that it covers.
    #[schemars(extend("x-rule" = "AP7"))]
    pub scope: NonEmpty,
    /// `recent` or `presence`.
    #[schemars(extend("x-rule" = "AP7"))]
    pub assurance: Assurance,
    /// The session of a signature that is `recent`: since when the key is unlocked, and which of its
    /// signatures this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "AP12"))]
    pub session: Option<Session>,
    /// Until when the gate takes it.
    #[schemars(range(min = 1), extend("x-rule" = "AP8"))]
    pub not_after_ms: u64,
    /// As the gate handed it out.
    #[schemars(extend("x-rule" = "AP7"))]
    pub nonce: NonEmpty,
    /// The signature, base64url without padding; of a passkey authenticator data, client data and signature, with
    /// dots between them.
    #[schemars(extend("x-rule" = "AP7"))]
    pub signature: NonEmpty,
}

impl Approval {
    /// The statement that was signed, with its signature; none if nothing was.
    pub fn signed(&self) -> Option<Result<Signed, StatementError>> {
        let signature = self.signature.as_ref()?;
        let statement = Statement::Approval(ApprovalStatement {
            origin: signature.origin.as_str().to_owned(),
            principal: self.approver.as_str().to_owned(),
            action_id: signature.action_id.as_str().to_owned(),
            proposal_hash: self.proposal_hash.as_str().to_owned(),
            view_digest: self.view_digest.as_str().to_owned(),
            verdict: self.verdict,
            scope: signature.scope.as_str().to_owned(),
            assurance: signature.assurance,
            session: signature.session.clone(),
            reason_hash: reason_hash(&self.reason),
            at_ms: self.at_ms,
            not_after_ms: signature.not_after_ms,
            nonce: signature.nonce.as_str().to_owned(),
        });
        Some(statement.text().map(|statement| Signed {
            statement,
            method: signature.method,
            key_id: signature.key_id.as_str().to_owned(),
            signature: signature.signature.as_str().to_owned(),
        }))
    }

    /// How sure it is that a person is behind it, if its signature, where it has one, fits.
    pub fn assurance(&self) -> Assurance {
        match (&self.signature, self.how) {
            (Some(signature), _) => signature.assurance,
            (None, Some(how)) => how.unsigned_assurance(),
            (None, None) => Assurance::Local,
        }
    }
}

/// The verdict of an approver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Approve,
    /// No.
    Reject,
}
