//! One policy, taken apart: its scope, its conditions one by one, its terms.

use super::annotations::Terms;
use super::people::entity_values;
use super::schema::{ACTIONS, groups_of};
use cedar_policy::pst::{self, BinaryOp, Clause, Expr, UnaryOp};
use cedar_policy::{ActionConstraint, Effect, EntityUid, Policy, PrincipalConstraint, ResourceConstraint};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A policy of the set.
pub(crate) struct Statement {
    pub(crate) id: String,
    pub(crate) file: String,
    pub(crate) line: Option<usize>,
    pub(crate) policy: Policy,
    pub(crate) effect: Effect,
    pub(crate) principal: Scope,
    pub(crate) resource: Scope,
    /// Names of the action types it is about.
    pub(crate) actions: Vec<&'static str>,
    /// All must hold for the policy to apply.
    pub(crate) conditions: Vec<Condition>,
    pub(crate) terms: Terms,
    /// The values that its conditions read.
    pub(crate) reads: Reads,
    /// The entities that its conditions look into by name, beyond comparing with them.
    pub(crate) named: Vec<EntityUid>,
    /// The policy without its scope, for whoever has looked at that already.
    pub(crate) unscoped: Policy,
}

/// The values that conditions read. Nothing else needs to be made ready for them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Reads {
    pub(crate) entities: EntityReads,
    /// Attributes of the context.
    context: BTreeMap<String, Members>,
    /// The context as a whole.
    whole_context: bool,
}

/// The entities that conditions look at.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct EntityReads {
    pub(crate) principal: bool,
    pub(crate) action: bool,
    pub(crate) resource: bool,
    /// Entities that conditions look into by name.
    pub(crate) named: bool,
}

impl EntityReads {
    /// Everything.
    pub(crate) fn all() -> Self {
        Self { principal: true, action: true, resource: true, named: true }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.principal |= other.principal;
        self.action |= other.action;
        self.resource |= other.resource;
        self.named |= other.named;
    }
}

/// The members that conditions look at in a record of the context.
#[derive(Clone, Debug)]
enum Members {
    All,
    Named(BTreeSet<String>),
}

impl Default for Members {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

impl Members {
    fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::All, _) => {}
            (this, Self::All) => *this = Self::All,
            (Self::Named(names), Self::Named(others)) => names.extend(others.iter().cloned()),
        }
    }
}

impl Reads {
    pub(crate) fn add(&mut self, other: &Self) {
        self.entities.add(other.entities);
        self.whole_context |= other.whole_context;
        for (name, members) in &other.context {
            self.context.entry(name.clone()).or_default().add(members);
        }
    }

    /// Whether an attribute of the context is looked at.
    pub(crate) fn context(&self, name: &str) -> bool {
        self.whole_context || self.context.contains_key(name)
    }

    /// Whether a member of a record of the context is looked at.
    pub(crate) fn member(&self, record: &str, name: &str) -> bool {
        let in_record = || match self.context.get(record) {
            Some(Members::All) => true,
            Some(Members::Named(names)) => names.contains(name),
            None => false,
        };
        self.whole_context || in_record()
    }

    fn walk(&mut self, json: &Json) {
        match json {
            Json::Array(elements) => elements.iter().for_each(|element| self.walk(element)),
            Json::Object(members) => {
                for (operator, operands) in members {
                    let attribute = operands.get("attr").and_then(Json::as_str);
                    let record = operands.get("left").and_then(|left| left.get("."));
                    let record = record.filter(|record| is_of_context(record));
                    let record = record.and_then(|record| record.get("attr")?.as_str());
                    match (operator.as_str(), operands) {
                        ("Var", Json::String(variable)) => match variable.as_str() {
                            "principal" => self.entities.principal = true,
                            "action" => self.entities.action = true,
                            "resource" => self.entities.resource = true,
                            _ => self.whole_context = true,
                        },
                        ("Record", Json::Object(members)) => members.values().for_each(|it| self.walk(it)),
                        (".", _) if is_of_context(operands) && attribute.is_some() => {
                            self.read_member(attribute, &Members::All);
                        }
                        // Whether it is there does not depend on what is in it.
                        ("has", _) if is_of_context(operands) && attribute.is_some() => {
                            self.read_member(attribute, &Members::default());
                        }
                        ("." | "has", _) if record.is_some() && attribute.is_some() => {
                            let names = attribute.map(str::to_owned).into_iter().collect();
                            self.read_member(record, &Members::Named(names));
                        }
                        _ => self.walk(operands),
                    }
                }
            }
            _ => {}
        }
    }

    fn read_member(&mut self, attribute: Option<&str>, members: &Members) {
        if let Some(name) = attribute {
            self.context.entry(name.to_owned()).or_default().add(members);
        }
    }
}

/// Whether the operands of `.` or `has` are about the context itself.
fn is_of_context(operands: &Json) -> bool {
    let variable = operands.get("left").and_then(|left| left.get("Var"));
    variable.is_some_and(|variable| variable == "context")
}

/// The principals, actions or resources of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    Any,
    /// The entity itself.
    Is(EntityUid),
    /// The entity, or what is in it.
    In(EntityUid),
    /// A type that no request has.
    Never,
}

impl Scope {
    /// Whether an entity with these ancestors is in it.
    pub(crate) fn fits(&self, entity: &EntityUid, ancestors: &[EntityUid]) -> bool {
        match self {
            Self::Any => true,
            Self::Is(uid) => uid == entity,
            Self::In(uid) => uid == entity || ancestors.contains(uid),
            Self::Never => false,
        }
    }

    /// As a condition on `variable`, in Cedar's words.
    pub(crate) fn text(&self, variable: &str) -> String {
        match self {
            Self::Any => "true".to_owned(),
            Self::Never => "false".to_owned(),
            Self::Is(uid) => format!("{variable} == {uid}"),
            Self::In(uid) => format!("{variable} in {uid}"),
        }
    }
}

/// One condition that must hold. Its expressions are read when somebody asks why, which is seldom.
pub(crate) struct Condition {
    pub(crate) text: String,
    /// The comparison, where the condition is one: its value says how far off it is.
    pub(crate) compared: Option<String>,
    /// Whether it comes from `unless`.
    pub(crate) negated: bool,
}

impl Condition {
    /// Whether another request could make a difference.
    pub(crate) fn depends_on_request(&self) -> bool {
        depends_on_request(&self.text)
    }
}

/// Whether a condition names anything of the request.
pub(crate) fn depends_on_request(condition: &str) -> bool {
    ["principal", "action", "resource", "context"].iter().any(|variable| condition.contains(variable))
}

impl Statement {
    /// Takes a policy apart. `None` if it cannot be: then the set is refused.
    pub(crate) fn of(
        id: String,
        file: String,
        line: Option<usize>,
        policy: Policy,
        terms: Terms,
    ) -> Result<Self, String> {
        let tree = policy.to_pst().map_err(|error| error.to_string())?;
        let mut conditions = Vec::new();
        for clause in tree.body().clauses() {
            match clause {
                Clause::When(expression) => collect(expression, false, &mut conditions),
                Clause::Unless(expression) => collect(expression, true, &mut conditions),
            }
        }
        let json = policy.to_json().map_err(|error| error.to_string())?;
        let conditions_json = json.get("conditions").unwrap_or(&Json::Null);
        let mut reads = Reads::default();
        reads.walk(conditions_json);
        let mut named = Vec::new();
        looked_into(conditions_json, &mut named);
        reads.entities.named = !named.is_empty();
        let mut body = tree.body().clone();
        body.principal = pst::PrincipalConstraint::Any;
        body.action = pst::ActionConstraint::Any;
        body.resource = pst::ResourceConstraint::Any;
        let body = pst::StaticPolicy::try_from(body).map_err(|error| error.to_string())?;
        let unscoped = Policy::from_pst(body.into()).map_err(|error| error.to_string())?;
        Ok(Self {
            effect: policy.effect(),
            principal: principal_scope(&policy.principal_constraint()),
            resource: resource_scope(&policy.resource_constraint()),
            actions: actions_of(&policy.action_constraint()),
            reads,
            named,
            unscoped,
            id,
            file,
            line,
            policy,
            conditions,
            terms,
        })
    }
}

fn actor_type(name: &impl ToString) -> bool {
    name.to_string() == "Actor"
}

fn principal_scope(constraint: &PrincipalConstraint) -> Scope {
    match constraint {
        PrincipalConstraint::Any => Scope::Any,
        PrincipalConstraint::Eq(uid) => Scope::Is(uid.clone()),
        PrincipalConstraint::In(uid) => Scope::In(uid.clone()),
        PrincipalConstraint::Is(name) if actor_type(name) => Scope::Any,
        PrincipalConstraint::IsIn(name, uid) if actor_type(name) => Scope::In(uid.clone()),
        PrincipalConstraint::Is(_) | PrincipalConstraint::IsIn(..) => Scope::Never,
    }
}

fn resource_scope(constraint: &ResourceConstraint) -> Scope {
    let resource = |name: &dyn ToString| name.to_string() == "Resource";
    match constraint {
        ResourceConstraint::Any => Scope::Any,
        ResourceConstraint::Eq(uid) => Scope::Is(uid.clone()),
        ResourceConstraint::In(uid) => Scope::In(uid.clone()),
        ResourceConstraint::Is(name) if resource(name) => Scope::Any,
        ResourceConstraint::IsIn(name, uid) if resource(name) => Scope::In(uid.clone()),
        ResourceConstraint::Is(_) | ResourceConstraint::IsIn(..) => Scope::Never,
    }
}

/// The action types that a constraint covers, groups followed.
fn actions_of(constraint: &ActionConstraint) -> Vec<&'static str> {
    let covers = |uids: &[EntityUid]| {
        let named = |name: &str| uids.iter().any(|uid| uid.id().unescaped() == name);
        let actions = ACTIONS
            .iter()
            .filter(|(action, name, _)| named(name) || groups_of(*action).iter().any(|group| named(group)));
        actions.map(|(_, name, _)| *name).collect()
    };
    match constraint {
        ActionConstraint::Any => ACTIONS.iter().map(|(_, name, _)| *name).collect(),
        // `==` with a group is the group alone, which no request has.
        ActionConstraint::Eq(uid) => {
            let name = uid.id().unescaped();
            ACTIONS.iter().filter(|(_, known, _)| *known == name).map(|(_, known, _)| *known).collect()
        }
        ActionConstraint::In(uids) => covers(uids),
    }
}

/// The conditions that must all hold for an expression to be true, or false where it is negated.
fn collect(expression: &Arc<Expr>, negated: bool, found: &mut Vec<Condition>) {
    match (expression.as_ref(), negated) {
        (Expr::BinaryOp { op: BinaryOp::And, left, right }, false)
        | (Expr::BinaryOp { op: BinaryOp::Or, left, right }, true) => {
            collect(left, negated, found);
            collect(right, negated, found);
        }
        (Expr::UnaryOp { op: UnaryOp::Not, expr }, _) if is_connective(expr) => {
            collect(expr, !negated, found)
        }
        (inner, _) => {
            let text = if negated { format!("!({inner})") } else { inner.to_string() };
            found.push(Condition { text, compared: compared(inner), negated });
        }
    }
}

fn is_connective(expression: &Expr) -> bool {
    matches!(expression, Expr::BinaryOp { op: BinaryOp::And | BinaryOp::Or, .. })
}

/// The side of a comparison whose value is not written in the policy.
fn compared(expression: &Expr) -> Option<String> {
    let side = match expression {
        Expr::BinaryOp {
            op:
                BinaryOp::Eq
                | BinaryOp::NotEq
                | BinaryOp::Less
                | BinaryOp::LessEq
                | BinaryOp::Greater
                | BinaryOp::GreaterEq
                | BinaryOp::DecimalLessThan
                | BinaryOp::DecimalLessEq
                | BinaryOp::DecimalGreater
                | BinaryOp::DecimalGreaterEq,
            left,
            right,
        } => match (left.as_ref(), right.as_ref()) {
            (Expr::GetAttr { .. }, _) => left,
            (_, Expr::GetAttr { .. }) => right,
            _ => return None,
        },
        Expr::Like { expr, .. } => expr,
        _ => return None,
    };
    Some(side.to_string())
}

/// Literals that are only compared with need no entity; all others are collected.
fn looked_into(json: &Json, found: &mut Vec<EntityUid>) {
    match json {
        Json::Array(elements) => elements.iter().for_each(|element| looked_into(element, found)),
        Json::Object(members) => {
            for (operator, operands) in members {
                let side = |name: &str| operands.get(name).unwrap_or(&Json::Null);
                match operator.as_str() {
                    "in" => {
                        looked_into(side("left"), found);
                        skip_literals(side("right"), found);
                    }
                    "==" | "!=" | "contains" | "containsAll" | "containsAny" => {
                        skip_literals(side("left"), found);
                        skip_literals(side("right"), found);
                    }
                    "Value" => entity_values(operands, found),
                    "Record" => {
                        operands.as_object().into_iter().flatten().for_each(|(_, it)| looked_into(it, found));
                    }
                    _ => looked_into(operands, found),
                }
            }
        }
        _ => {}
    }
}

fn skip_literals(json: &Json, found: &mut Vec<EntityUid>) {
    if json.get("Value").is_some() {
        return;
    }
    match json.get("Set").and_then(Json::as_array) {
        Some(elements) => elements.iter().for_each(|element| skip_literals(element, found)),
        None => looked_into(json, found),
    }
}

#[cfg(test)]
mod tests {
    use super::Reads;
    use cedar_policy::Policy;

    /// The parts of `evidence` and `envelope` that a condition reads.
    fn reads(condition: &str) -> String {
        let text = format!("permit(principal, action, resource) when {{ {condition} }};");
        let json = Policy::parse(None, &text).ok().and_then(|policy| policy.to_json().ok());
        let mut reads = Reads::default();
        reads.walk(&json.unwrap_or_default()["conditions"]);
        let mut found = Vec::new();
        for record in ["evidence", "envelope"] {
            found.extend(reads.context(record).then(|| record.to_owned()));
            for member in ["packets", "types", "reversible_required"] {
                found.extend(reads.member(record, member).then(|| format!("{record}.{member}")));
            }
        }
        found.join(" ")
    }

    #[test]
    fn only_members_that_are_read_are_made() {
        const EVIDENCE: &str = "evidence evidence.packets evidence.types evidence.reversible_required";
        const ENVELOPE: &str = "envelope envelope.packets envelope.types envelope.reversible_required";
        for (condition, expected) in [
            ("true", ""),
            ("context has envelope", "envelope"),
            (
                "context has envelope && context.envelope.reversible_required",
                "envelope envelope.reversible_required",
            ),
            (
                "context.evidence.packets > 1 || context.evidence[\"types\"].contains(\"x\")",
                "evidence evidence.packets evidence.types",
            ),
            ("context.evidence has types", "evidence evidence.types"),
            ("context.evidence == {}", EVIDENCE),
            ("[context.evidence].contains(context.evidence)", EVIDENCE),
            ("{a: context.evidence}.a.packets > 1", EVIDENCE),
            ("(if context.evidence.packets > 1 then context.evidence else context.evidence) == {}", EVIDENCE),
            // A path after `has` counts as the whole context.
            ("context has envelope.reversible_required", &format!("{EVIDENCE} {ENVELOPE}")),
            ("context == {}", &format!("{EVIDENCE} {ENVELOPE}")),
            ("(if true then context else context).evidence.packets > 1", &format!("{EVIDENCE} {ENVELOPE}")),
        ] {
            assert_eq!(reads(condition), expected, "{condition}");
        }
    }
}
