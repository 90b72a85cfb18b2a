//! The kinds of documents, and how to tell one from its content.

use crate::rule::{Rule, RuleId};
use crate::schema::schema_of;
use crate::shape::Shape;
use crate::{
    action, approval, bundle, decision, evidence, intent, note, packet, patch, plan, profile, routing, run,
};
use ordain_canon::Value;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

/// The kind of a document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "each module says what its kind is")]
pub enum Kind {
    Intent,
    Bundle,
    Plan,
    Patch,
    Action,
    Packet,
    Approval,
    Decision,
    Profile,
    Evidence,
    Run,
    Note,
    Routing,
}

impl Kind {
    /// In the order of the documents' life.
    pub const ALL: [Self; 13] = [
        Self::Intent,
        Self::Bundle,
        Self::Plan,
        Self::Patch,
        Self::Action,
        Self::Packet,
        Self::Approval,
        Self::Decision,
        Self::Profile,
        Self::Evidence,
        Self::Run,
        Self::Note,
        Self::Routing,
    ];

    /// As commands name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Bundle => "bundle",
            Self::Plan => "plan",
            Self::Patch => "patch",
            Self::Action => "action",
            Self::Packet => "packet",
            Self::Approval => "approval",
            Self::Decision => "decision",
            Self::Profile => "profile",
            Self::Evidence => "evidence",
            Self::Run => "run",
            Self::Note => "note",
            Self::Routing => "routing",
        }
    }

    /// As people name it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Bundle => "bundle",
            Self::Plan => "plan proposal",
            Self::Patch => "patch set",
            Self::Action => "action proposal",
            Self::Packet => "evidence packet",
            Self::Approval => "approval",
            Self::Decision => "decision",
            Self::Profile => "policy profile",
            Self::Evidence => "execution evidence",
            Self::Run => "run result",
            Self::Note => "note proposal",
            Self::Routing => "vault routing",
        }
    }

    /// The page of `docs/contracts/` that describes it, without `.md`.
    pub fn contract(self) -> &'static str {
        match self {
            // An approval is only ever part of a decision.
            Self::Approval => Self::Decision.name(),
            _ => self.name(),
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its rule of that number.
    pub const fn rule(self, number: u16) -> RuleId {
        RuleId::Numbered(self, number)
    }

    /// The rules, in the order of the contract.
    pub fn rules(self) -> &'static [Rule] {
        match self {
            Self::Intent => intent::RULES,
            Self::Bundle => bundle::RULES,
            Self::Plan => plan::RULES,
            Self::Patch => patch::RULES,
            Self::Action => action::RULES,
            Self::Packet => packet::RULES,
            Self::Approval => approval::RULES,
            Self::Decision => decision::RULES,
            Self::Profile => profile::RULES,
            Self::Evidence => evidence::RULES,
            Self::Run => run::RULES,
            Self::Note => note::RULES,
            Self::Routing => routing::RULES,
        }
    }

    /// The JSON Schema (2020-12) of its documents.
    pub fn schema(self) -> Json {
        match self {
            Self::Intent => schema_of::<intent::Intent>(),
            Self::Bundle => schema_of::<bundle::Bundle>(),
            Self::Plan => schema_of::<plan::Proposal>(),
            Self::Patch => schema_of::<patch::PatchSet>(),
            Self::Action => schema_of::<action::Proposal>(),
            Self::Packet => schema_of::<packet::EvidencePacket>(),
            Self::Approval => schema_of::<approval::Approval>(),
            Self::Decision => schema_of::<decision::Decision>(),
            Self::Profile => schema_of::<profile::Profile>(),
            Self::Evidence => schema_of::<evidence::ExecutionEvidence>(),
            Self::Run => schema_of::<run::RunResult>(),
            Self::Note => schema_of::<note::Proposal>(),
            Self::Routing => schema_of::<routing::Routing>(),
        }
    }

    /// Fields that show this kind wherever they stand at the top of a document. One of them is enough, so that a
    /// document that lacks others can still be told what it lacks.
    pub fn signature(self) -> &'static [&'static str] {
        match self {
            Self::Intent => &["goal"],
            Self::Bundle => &["root_node", "terminal_nodes", "source_intent_hash"],
            Self::Plan => &["source_bundle_id", "acceptance_tests", "actions"],
            Self::Patch => {
                &["patch_schema_version", "source_proposal_id", "source_proposal_hash", "operations"]
            }
            Self::Action => &["action_type", "request_id", "tool_call", "risk_envelope", "time_window"],
            Self::Packet => &["packet_type", "payload_hash", "payload", "sensor_id"],
            Self::Approval => &["view_digest", "verdict", "approver"],
            Self::Decision => &["decision_schema_version", "outcome", "decided_at_ms", "policy_hash"],
            Self::Profile => &["allow_network", "allowed_commands", "allowed_write_roots"],
            Self::Evidence => &["evidence_schema_version", "action_results", "test_results"],
            Self::Run => &["run_schema_version", "run_id", "kernel_result_kind"],
            Self::Note => &["governance", "body", "origin"],
            Self::Routing => &["routes", "templates"],
        }
    }

    /// All fields that this kind has at its top and no other kind has.
    fn own_fields(self) -> &'static [String] {
        static OWN: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
            let fields: Vec<BTreeSet<String>> = Kind::ALL.into_iter().map(top_fields).collect();
            let own = |at: usize, field: &&String| {
                fields.iter().enumerate().all(|(other, fields)| other == at || !fields.contains(*field))
            };
            let own_of = |(at, all): (usize, &BTreeSet<String>)| {
                all.iter().filter(|it| own(at, it)).cloned().collect()
            };
            fields.iter().enumerate().map(own_of).collect()
        });
        OWN.get(self.position()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The kind that a document shows by its fields: by those of [`Kind::signature`], or, where none of them is there,
    /// by any that only one kind has.
    pub fn recognise(document: &Value<'_>) -> Result<Self, KindError> {
        let has = |field: &str| document.get(field).is_some();
        let shows = |kind: &Self| kind.signature().iter().any(|field| has(field));
        let hints = |kind: &Self| kind.own_fields().iter().any(|field| has(field));
        let mut kinds: Vec<Self> = Self::ALL.into_iter().filter(shows).collect();
        if kinds.is_empty() {
            kinds = Self::ALL.into_iter().filter(hints).collect();
        }
        match kinds.as_slice() {
            [kind] => Ok(*kind),
            [] if document.as_object().is_none() => Err(KindError::NotObject(document.kind())),
            [] => Err(KindError::Unknown),
            _ => Err(KindError::Ambiguous(kinds)),
        }
    }

    fn position(self) -> usize {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or_default()
    }

    /// The rule for unknown fields and leftover shape.
    pub(crate) fn schema_rule(self) -> RuleId {
        match self {
            Self::Action => self.rule(0),
            _ => RuleId::Schema,
        }
    }

    /// The shape that this document is checked against.
    pub(crate) fn shape(self, document: &Value<'_>) -> &'static Shape {
        static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
            let shape = |kind: Kind| compile(kind, &kind.schema());
            Kind::ALL
                .into_iter()
                .map(shape)
                .chain([compile(Kind::Action, &schema_of::<action::KernelRequest>())])
                .collect()
        });
        let position = match self {
            Self::Action if action::is_request(document) => Self::ALL.len(),
            _ => self.position(),
        };
        #[expect(clippy::expect_used, reason = "there is one for each kind")]
        SHAPES.get(position).expect("every kind has a shape")
    }
}

fn top_fields(kind: Kind) -> BTreeSet<String> {
    let mut schemas = vec![kind.schema()];
    if kind == Kind::Action {
        schemas.push(schema_of::<action::KernelRequest>());
    }
    let fields =
        |schema: &Json| schema.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
    schemas.iter().flat_map(|schema| fields(schema).into_iter().map(|(name, _)| name)).collect()
}

fn compile(kind: Kind, schema: &Json) -> Shape {
    let ids = |kind: Kind| kind.rules().iter().map(|rule| rule.id);
    let rules: Vec<RuleId> = ids(kind).collect();
    let foreign: Vec<RuleId> = Kind::ALL.into_iter().filter(|other| *other != kind).flat_map(ids).collect();
    match Shape::compile(schema, kind.schema_rule(), &rules, &foreign) {
        Ok(shape) => shape,
        #[expect(clippy::panic, reason = "the types are ours, and a test compiles every one")]
        Err(problem) => panic!("the type of {kind} gives a schema that is not understood: {problem}"),
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A document does not show what it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KindError {
    /// Documents are objects.
    NotObject(&'static str),
    /// No kind has one of its fields.
    Unknown,
    /// Several kinds do.
    Ambiguous(Vec<Kind>),
}

impl fmt::Display for KindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotObject(found) => write!(f, "a document is an object, found {found}"),
            Self::Unknown => write!(f, "no kind of document has these fields"),
            Self::Ambiguous(kinds) => {
                let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
                write!(f, "could be {}", names.join(" or "))
            }
        }
    }
}

impl KindError {
    /// With the way to say what the document is, which differs by interface: `--kind`, `?kind=`.
    pub fn with_way(&self, way: &str) -> String {
        match self {
            Self::NotObject(_) => self.to_string(),
            Self::Unknown | Self::Ambiguous(_) => format!("{self}; `{way}` names the kind"),
        }
    }
}

impl std::error::Error for KindError {}
