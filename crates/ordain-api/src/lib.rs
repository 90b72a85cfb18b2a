#![doc = include_str!("../README.md")]

pub mod limits;

mod error;
mod problem;
mod role;

mod action;
mod approver;
mod document;
mod dossier;
mod entry;
mod events;
mod evidence;
mod gate;
mod grant;
mod ledger;
mod note;
mod permit;
mod project;
mod query;
mod server;
mod server_pins;
mod session;
mod token;
mod view;

mod openapi;
mod operation;
mod operations;
mod plain_schema;

pub use action::{
    ActAnswer, ActionPage, ActionState, ActionStatus, CalledAction, ObservedCall, ShownView, SourcedCall,
    VerdictRequest,
};
pub use approver::{
    ActTerms, ApproverKeyList, Approving, NewApproverKey, OwnerAct, PasskeyOffer, STATEMENT_HEADER,
    STATEMENTS_MAX, SigningTerms, StandingTerms, read_statement_header, statement_header,
};
pub use document::{VerifyReport, VerifyResult, VerifyViolation};
pub use dossier::{DOSSIER_SCHEMA_VERSION, Dossier, DossierEntry};
pub use entry::{ENTRY_SCHEMA_VERSION, Entry, Event, GrantUse, LedgerEntry, ReplacedGate};
pub use error::FieldError;
pub use events::{EventsQuery, GateEvent, ViewQuery};
pub use evidence::EvidenceReceipt;
pub use gate::{
    EndedObservation, GateStatus, Halt, KeyStatus, NewObservation, Observation, PolicyOnRecord, PolicyPush,
    PolicyPushed, ReasonRequest,
};
pub use grant::{GrantList, GrantState, GrantStatus};
pub use ledger::{Audit, ConsistencyProof, Damage, DocumentOnRecord, EntryPage};
pub use note::{DraftRequest, FailedDraft, NoteFinding, NoteValidation};
pub use openapi::openapi;
pub use operation::{
    Access, Answer, Body, Content, LongPoll, Method, Operation, OperationId, Presence, SchemaOf,
};
pub use operations::OPERATIONS;
pub use permit::{
    FileChange, KernelUseRequest, OutcomeReport, PermitStatus, Settled, Settlement, Use, UseOutcome,
    UseReceipt, UseRequest,
};
pub use problem::{Problem, ProblemCode};
pub use project::{NewProject, ProjectList, ProjectName, ProjectStatus, RegisteredProject};
pub use query::{
    ActQuery, ActionQuery, ActionsQuery, ConsistencyQuery, EntriesQuery, PolicyQuery, ProofQuery,
    SubmitQuery, VerifyQuery,
};
pub use role::Role;
pub use server::{Health, Jwk, Jwks, PolicyState, Ready};
pub use server_pins::{BlockedTool, ListingAnswer, ListingReport, NewPins, ServerList, ServerStatus};
pub use session::{EndSessionQuery, EndedSessions, NewSession, SESSION_PREFIX, Session, VIEW_DIGEST_HEADER};
pub use token::{CreatedToken, NewSecret, NewToken, TokenList, TokenStatus};
pub use view::ViewDocument;
