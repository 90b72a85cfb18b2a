//! A rule: what it is called, what it says, and the small function that checks it.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::report::{Report, Violation};
use ordain_canon::push_pointer_token;
use std::borrow::Cow;
use std::fmt;

/// The name of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleId {
    /// The text is not a document at all.
    Parse,
    /// The text could not be had.
    Io,
    /// The document's kind cannot be told.
    Kind,
    /// Unknown fields, and shape that no numbered rule covers.
    Schema,
    /// A rule of a kind's contract.
    Numbered(Kind, u16),
    /// A link between the files of a run's folder.
    Link(u16),
    /// A rule of the gate, which the decision kernel checks.
    Gate(u16),
}

impl RuleId {
    /// As reports and people write it.
    pub fn name(self) -> Cow<'static, str> {
        let (prefix, number) = match self {
            Self::Parse => return "PARSE".into(),
            Self::Io => return "IO".into(),
            Self::Kind => return "KIND".into(),
            Self::Schema => return "SCHEMA".into(),
            Self::Link(number) => ("RL", number),
            Self::Gate(number) => ("G", number),
            Self::Numbered(kind, number) => match kind {
                Kind::Action => return format!("V-PROP-{number:03}").into(),
                Kind::Packet => return format!("V-EVID-{number:03}").into(),
                Kind::Approval => ("AP", number),
                Kind::Decision => ("DC", number),
                Kind::Intent => ("IN", number),
                Kind::Bundle => ("BS", number),
                Kind::Plan => ("PR", number),
                Kind::Patch => ("PS", number),
                Kind::Profile => ("PF", number),
                Kind::Evidence => ("EV", number),
                Kind::Run => ("RN", number),
                Kind::Note => ("NP", number),
                Kind::Routing => ("RT", number),
            },
        };
        format!("{prefix}{number}").into()
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// The subject of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    /// The shape of the document and its version.
    Schema,
    /// That a field is there and has a sensible value.
    Field,
    /// References to other documents.
    Reference,
    /// Paths and file content.
    Content,
    /// Order, so that one document has one form.
    Order,
    /// Ids and hashes that must follow from content.
    Integrity,
    /// That parts of the document agree with each other.
    Consistency,
    /// Bounds.
    Limit,
    /// Time.
    Time,
    /// A condition that the gate checks before an action may happen.
    Gate,
    /// The verifier or the writer itself.
    Verifier,
}

impl Category {
    /// In lower case, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Field => "field",
            Self::Reference => "reference",
            Self::Content => "content",
            Self::Order => "order",
            Self::Integrity => "integrity",
            Self::Consistency => "consistency",
            Self::Limit => "limit",
            Self::Time => "time",
            Self::Gate => "gate",
            Self::Verifier => "verifier",
        }
    }
}

/// Looks at a document, knowing the facts, and says what it finds.
pub type Check = fn(&Facts<'_>, Node<'_, '_>, &mut Findings);

/// One entry of a rule table.
pub struct Rule {
    /// Its name.
    pub id: RuleId,
    /// The statement that holds in a valid document.
    pub title: &'static str,
    /// Where the contract says it.
    pub section: &'static str,
    /// Its subject.
    pub category: Category,
    /// Finds what breaks it.
    pub check: Check,
}

/// The check of a rule that the types say completely: the shape's findings carry its name.
pub(crate) fn by_shape(_: &Facts<'_>, _: Node<'_, '_>, _: &mut Findings) {}

/// Where checks put what they find. The runner sets the rule, so that a check cannot cite the wrong one.
pub struct Findings {
    rule: RuleId,
    violations: Vec<Violation>,
    warnings: Vec<Violation>,
}

impl Findings {
    pub(crate) fn new() -> Self {
        Self { rule: RuleId::Schema, violations: Vec::new(), warnings: Vec::new() }
    }

    pub(crate) fn set_rule(&mut self, rule: RuleId) {
        self.rule = rule;
    }

    /// Something is wrong with this node.
    pub(crate) fn at(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        self.violations.push(Violation { rule: self.rule, path: node.pointer(), message: message.into() });
    }

    /// A field of this object is not there.
    pub(crate) fn missing(&mut self, object: Node<'_, '_>, name: &str) {
        let mut path = object.pointer();
        push_pointer_token(&mut path, name);
        self.violations.push(Violation { rule: self.rule, path, message: format!("`{name}` is missing") });
    }

    /// Something about this node should be known.
    pub(crate) fn warn(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        self.warnings.push(Violation { rule: self.rule, path: node.pointer(), message: message.into() });
    }

    pub(crate) fn into_report(self) -> Report {
        Report::new(self.violations, self.warnings)
    }
}
