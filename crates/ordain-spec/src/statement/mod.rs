//! Statements: the exact bytes that an approver's key signs.
//!
//! A statement is a text of lines, one value each, every line ended by a line feed. The first line names the
//! form, so that a signature over one form never fits another. docs/contracts/statement.md lists the lines.

mod key;
mod passkey;
mod session;
mod signed;

use crate::approval::Verdict;
use crate::limits::{STATEMENT_BYTES_MAX, WHOLE_MAX};
use crate::name::violation;
use ordain_canon::{ContentHash, is_sha256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use key::{ApproverKey, ApproverKeys, KeyError, NO_KEYS, key_id};
pub use passkey::{Passkey, PasskeyAlgorithm};
pub use session::{SESSION_ID_DIGITS, Session};
pub use signed::{SignatureError, SignatureMethod, Signed};

/// The first line of an approval's statement.
pub const APPROVAL_TYPE: &str = "ordain/approval/v1";
/// The first line of an owner act's statement.
pub const ACT_TYPE: &str = "ordain/act/v1";
/// The scope of an approval of one action, once.
pub const ONCE: &str = "once";
/// Stands for a state or a subject that does not exist.
pub const NONE: &str = "none";

/// How sure the gate is that a person is behind an approval, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// An OS user, peer credentials of a socket, or a token.
    Local,
    /// A session of an identity provider.
    Login,
    /// Signed by a key that a person unlocked a while ago.
    Recent,
    /// Signed by a key that a person unlocked for this signature.
    Presence,
}

impl Assurance {
    /// All of them, weakest first.
    pub const ALL: [Self; 4] = [Self::Local, Self::Login, Self::Recent, Self::Presence];

    /// As documents write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Login => "login",
            Self::Recent => "recent",
            Self::Presence => "presence",
        }
    }

    /// From its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|assurance| assurance.name() == name)
    }

    /// Whether only a signature reaches it.
    pub fn needs_signature(self) -> bool {
        self >= Self::Recent
    }
}

/// How the author of an entry was authenticated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// As the OS user of this machine, or as the program itself.
    Local,
    /// By the peer credentials of a unix socket.
    Peer,
    /// By a token.
    Token,
    /// By a session of an identity provider.
    Login,
    /// By a signature of an approver's key.
    Signed,
    /// By a signature of a passkey.
    Passkey,
}

impl How {
    /// As documents write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Peer => "peer",
            Self::Token => "token",
            Self::Login => "login",
            Self::Signed => "signed",
            Self::Passkey => "passkey",
        }
    }

    /// The assurance of somebody who signed nothing.
    pub const fn unsigned_assurance(self) -> Assurance {
        match self {
            Self::Login => Assurance::Login,
            Self::Local | Self::Peer | Self::Token | Self::Signed | Self::Passkey => Assurance::Local,
        }
    }
}

/// A statement, as one of its two forms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// Somebody approves or rejects an action.
    Approval(ApprovalStatement),
    /// Somebody changes the gate.
    Act(ActStatement),
}

/// The statement of an approval or a rejection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApprovalStatement {
    /// The ledger's name.
    pub origin: String,
    /// The approver.
    pub principal: String,
    /// The action's id.
    pub action_id: String,
    /// The proposal.
    pub proposal_hash: String,
    /// The digest of what was shown.
    pub view_digest: String,
    /// Yes or no.
    pub verdict: Verdict,
    /// `once`, or the hash of the grant, plan or batch that it covers.
    pub scope: String,
    /// `recent` or `presence`.
    pub assurance: Assurance,
    /// The session of a signature that is `recent`: since when the key is unlocked, and which of its
    /// signatures this is.
    pub session: Option<Session>,
    /// The hash of the reason's bytes; see [`reason_hash`].
    pub reason_hash: String,
    /// When it was signed, in milliseconds since 1970.
    pub at_ms: u64,
    /// Until when the gate takes it.
    pub not_after_ms: u64,
    /// As the gate handed it out.
    pub nonce: String,
}

/// The statement of an act that changes the gate: its policies, tokens, keys, or whether it is halted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActStatement {
    /// The ledger's name.
    pub origin: String,
    /// The owner.
    pub principal: String,
    /// The name of the act, such as `push_policy`.
    pub act: String,
    /// The object of the act: a hash or an id, or `none`.
    pub subject: String,
    /// The state that it changes, or `none`.
    pub from: String,
    /// When it was signed, in milliseconds since 1970.
    pub at_ms: u64,
    /// Until when the gate takes it.
    pub not_after_ms: u64,
    /// As the gate handed it out.
    pub nonce: String,
}

/// Why a text is not a statement.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatementError {
    /// The first line is of no form that is known.
    #[error("has no first line `{APPROVAL_TYPE}` or `{ACT_TYPE}`")]
    Form,
    /// There are more or fewer lines.
    #[error("has {found} lines instead of {expected}, each ended by a line feed")]
    Lines {
        /// How many the form has.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A line has no value of its kind.
    #[error("`{field}` {problem}")]
    Field {
        /// The field.
        field: &'static str,
        /// The error.
        problem: String,
    },
    /// Longer than any statement.
    #[error("is longer than {STATEMENT_BYTES_MAX} bytes")]
    TooLong,
}

/// The hash that a statement has in the place of a reason.
pub fn reason_hash(reason: &str) -> String {
    ContentHash::of(reason.as_bytes()).to_string()
}

impl Statement {
    /// The bytes that are signed. A value that would not be one line is refused.
    pub fn text(&self) -> Result<String, StatementError> {
        let lines = self.lines();
        let mut text = String::with_capacity(512);
        for (field, value) in &lines {
            check_line(field, value)?;
            text.push_str(value);
            text.push('\n');
        }
        self.check()?;
        if text.len() > STATEMENT_BYTES_MAX { Err(StatementError::TooLong) } else { Ok(text) }
    }

    /// Reads a statement. Only the exact bytes that [`Statement::text`] writes are one.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        if text.len() > STATEMENT_BYTES_MAX {
            return Err(StatementError::TooLong);
        }
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        let found = if text.ends_with('\n') { lines.len() } else { lines.len().saturating_sub(1) };
        let statement = match lines.first() {
            Some(&APPROVAL_TYPE) => approval(found, &lines)?,
            Some(&ACT_TYPE) => act(found, &lines)?,
            _ => return Err(StatementError::Form),
        };
        statement.text()?;
        Ok(statement)
    }

    /// The maker of the statement.
    pub fn principal(&self) -> &str {
        match self {
            Self::Approval(approval) => &approval.principal,
            Self::Act(act) => &act.principal,
        }
    }

    /// The ledger that it is for.
    pub fn origin(&self) -> &str {
        match self {
            Self::Approval(approval) => &approval.origin,
            Self::Act(act) => &act.origin,
        }
    }

    /// When it was signed, and until when the gate takes it.
    pub fn window_ms(&self) -> (u64, u64) {
        match self {
            Self::Approval(approval) => (approval.at_ms, approval.not_after_ms),
            Self::Act(act) => (act.at_ms, act.not_after_ms),
        }
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Approval(approval) => vec![
                ("type", APPROVAL_TYPE.to_owned()),
                ("origin", approval.origin.clone()),
                ("principal", approval.principal.clone()),
                ("action_id", approval.action_id.clone()),
                ("proposal_hash", approval.proposal_hash.clone()),
                ("view_digest", approval.view_digest.clone()),
                ("verdict", verdict_name(approval.verdict).to_owned()),
                ("scope", approval.scope.clone()),
                ("assurance", approval.assurance.name().to_owned()),
                ("session", session::line(approval.session.as_ref())),
                ("reason_hash", approval.reason_hash.clone()),
                ("at_ms", approval.at_ms.to_string()),
                ("not_after_ms", approval.not_after_ms.to_string()),
                ("nonce", approval.nonce.clone()),
            ],
            Self::Act(act) => vec![
                ("type", ACT_TYPE.to_owned()),
                ("origin", act.origin.clone()),
                ("principal", act.principal.clone()),
                ("act", act.act.clone()),
                ("subject", act.subject.clone()),
                ("from", act.from.clone()),
                ("at_ms", act.at_ms.to_string()),
                ("not_after_ms", act.not_after_ms.to_string()),
                ("nonce", act.nonce.clone()),
            ],
        }
    }

    /// Values that are one line each, and still no values of their kind.
    fn check(&self) -> Result<(), StatementError> {
        let wrong = |field: &'static str, problem: &str| {
            Err(StatementError::Field { field, problem: problem.to_owned() })
        };
        let (at_ms, not_after_ms) = self.window_ms();
        if at_ms == 0 || at_ms > WHOLE_MAX {
            return wrong("at_ms", "is not a time");
        }
        if not_after_ms > WHOLE_MAX {
            return wrong("not_after_ms", "is not a time");
        }
        let Self::Approval(approval) = self else { return Ok(()) };
        let hashes = [
            ("proposal_hash", &approval.proposal_hash),
            ("view_digest", &approval.view_digest),
            ("reason_hash", &approval.reason_hash),
        ];
        if let Some((field, _)) = hashes.into_iter().find(|(_, hash)| !is_sha256(hash)) {
            return wrong(field, "is not a `sha256:` hash");
        }
        if approval.scope != ONCE && !is_sha256(&approval.scope) {
            return wrong("scope", "is neither `once` nor a `sha256:` hash");
        }
        if !approval.assurance.needs_signature() {
            return wrong("assurance", "is neither `recent` nor `presence`");
        }
        match (&approval.session, approval.assurance) {
            (None, Assurance::Recent) => wrong("session", "is missing from a signature that is `recent`"),
            (Some(_), assurance) if assurance != Assurance::Recent => {
                wrong("session", "is named by a signature that is not `recent`")
            }
            (Some(session), _) => match session.violation(at_ms) {
                Some(problem) => wrong("session", &problem),
                None => Ok(()),
            },
            (None, _) => Ok(()),
        }
    }
}

const fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Approve => "approve",
        Verdict::Reject => "reject",
    }
}

fn check_line(field: &'static str, value: &str) -> Result<(), StatementError> {
    match violation(value) {
        Some(problem) => Err(StatementError::Field { field, problem: problem.to_string() }),
        None => Ok(()),
    }
}

fn approval(found: usize, lines: &[&str]) -> Result<Statement, StatementError> {
    let [
        _,
        origin,
        principal,
        action_id,
        proposal_hash,
        view_digest,
        verdict,
        scope,
        assurance,
        session,
        reason_hash,
        at_ms,
        not_after_ms,
        nonce,
    ] = exact(found, lines)?;
    let verdict = match verdict {
        "approve" => Verdict::Approve,
        "reject" => Verdict::Reject,
        _ => return Err(field("verdict", "is neither `approve` nor `reject`")),
    };
    let assurance = Assurance::parse(assurance)
        .ok_or_else(|| field("assurance", "is neither `recent` nor `presence`"))?;
    Ok(Statement::Approval(ApprovalStatement {
        origin: origin.to_owned(),
        principal: principal.to_owned(),
        action_id: action_id.to_owned(),
        proposal_hash: proposal_hash.to_owned(),
        view_digest: view_digest.to_owned(),
        verdict,
        scope: scope.to_owned(),
        assurance,
        session: session::parse(session)?,
        reason_hash: reason_hash.to_owned(),
        at_ms: time("at_ms", at_ms)?,
        not_after_ms: time("not_after_ms", not_after_ms)?,
        nonce: nonce.to_owned(),
    }))
}

fn act(found: usize, lines: &[&str]) -> Result<Statement, StatementError> {
    let [_, origin, principal, act, subject, from, at_ms, not_after_ms, nonce] = exact(found, lines)?;
    Ok(Statement::Act(ActStatement {
        origin: origin.to_owned(),
        principal: principal.to_owned(),
        act: act.to_owned(),
        subject: subject.to_owned(),
        from: from.to_owned(),
        at_ms: time("at_ms", at_ms)?,
        not_after_ms: time("not_after_ms", not_after_ms)?,
        nonce: nonce.to_owned(),
    }))
}

fn exact<'t, const N: usize>(found: usize, lines: &[&'t str]) -> Result<[&'t str; N], StatementError> {
    let wrong = StatementError::Lines { expected: N, found };
    if found != N {
        return Err(wrong);
    }
    lines.try_into().map_err(|_| wrong)
}

/// A number as it is written: `007` and `+7` are other bytes, and no statement.
fn time(name: &'static str, text: &str) -> Result<u64, StatementError> {
    let number: Option<u64> = text.parse().ok();
    number.filter(|number| number.to_string() == text).ok_or_else(|| field(name, "is not a time"))
}

fn field(field: &'static str, problem: &str) -> StatementError {
    StatementError::Field { field, problem: problem.to_owned() }
}
