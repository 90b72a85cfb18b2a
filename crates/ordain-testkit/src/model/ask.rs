//! Cedar, asked the plain way (G8, G10–G12, and who is in scope).

use super::evidence::Evidence;
use super::folder::{ModelFolder, ModelPolicy};
use super::patch::Question;
use super::time::cedar_datetime;
use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityId, EntityTypeName, EntityUid, PolicySet, Request,
    Response,
};
use ordain_canon::Value;
use ordain_spec::action::Proposal;
use ordain_spec::path_faults;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::str::FromStr;
use unicode_normalization::UnicodeNormalization as _;

/// The answer of the policies to one question.
pub(super) struct Asked<'f> {
    pub(super) permits: Vec<&'f ModelPolicy>,
    pub(super) forbids: Vec<&'f ModelPolicy>,
    pub(super) errors: Vec<&'f ModelPolicy>,
}

/// The context of a proposal but for `parameters`, `constraints` and `approvals`.
pub(super) fn context(proposal: &Proposal, evidence: &Evidence, rollback: &str, now_ms: i64) -> Json {
    let mut context = json!({
        "rollback": rollback,
        "evidence": {
            "packets": evidence.packets, "types": evidence.types, "sensors": evidence.sensors,
            "preconditions": evidence.preconditions, "preconditions_hold": evidence.preconditions_hold,
            "signed": evidence.signed,
        },
        "approval_class": match &proposal.approval_class {
            Some(class) => json!(class),
            None => json!("none"),
        },
        "now": {"__extn": {"fn": "datetime", "arg": cedar_datetime(now_ms)}},
    });
    if let Some(members) = context.as_object_mut() {
        let envelope = proposal.risk_envelope.as_ref().map(|it| ("envelope".to_owned(), json!(it)));
        let window = proposal.time_window.as_ref().map(|it| ("window".to_owned(), json!(it)));
        members.extend(envelope.into_iter().chain(window));
    }
    context
}

/// The whole context of one question. The faults are pointers to what does not have its declared type.
pub(super) fn context_of(
    folder: &ModelFolder,
    common: &Json,
    question: &Question,
    document: &Value<'_>,
) -> Result<Json, Vec<String>> {
    let mut faults = Vec::new();
    let mut context = common.clone();
    let target = document.get("target").unwrap_or(&Value::Null);
    let parameters = document.get("parameters").unwrap_or(&Value::Null);
    let parameters = folder.declared.parameters(&question.action, parameters, &mut faults);
    let constraints =
        folder.declared.constraints(target.get("constraints").unwrap_or(&Value::Null), &mut faults);
    if let Some(members) = context.as_object_mut() {
        members.insert("parameters".to_owned(), parameters);
        members.insert("constraints".to_owned(), constraints);
    }
    if faults.is_empty() { Ok(context) } else { Err(faults) }
}

/// Asks with that many approvals.
#[expect(clippy::expect_used, reason = "a request that does not fit the schema is a mistake here")]
pub(super) fn ask<'f>(
    folder: &'f ModelFolder,
    actor: &str,
    question: &Question,
    entities: &Entities,
    context: &Json,
    approvals: usize,
) -> Asked<'f> {
    let mut context = context.clone();
    if let Some(members) = context.as_object_mut() {
        members.insert("approvals".to_owned(), json!(approvals));
    }
    let action = uid("Action", &question.action);
    let context = Context::from_json_value(context, Some((&folder.schema, &action))).expect("a context");
    let request =
        Request::new(uid("Actor", actor), action, resource(question), context, Some(&folder.schema))
            .expect("a request that fits the schema");
    let answer = |policies: &PolicySet| Authorizer::new().is_authorized(&request, policies, entities);

    let mut asked = Asked { permits: Vec::new(), forbids: Vec::new(), errors: Vec::new() };
    for policy in &folder.policies {
        let alone = answer(&policy.alone);
        if alone.diagnostics().errors().next().is_some() {
            asked.errors.push(policy);
        } else if alone.diagnostics().reason().next().is_some() {
            let list = if policy.permits { &mut asked.permits } else { &mut asked.forbids };
            list.push(policy);
        }
    }
    asked.agrees_with(&answer(&folder.whole));
    asked
}

impl Asked<'_> {
    /// All policies together say what they say one by one.
    fn agrees_with(&self, whole: &Response) {
        let allowed = self.forbids.is_empty() && !self.permits.is_empty();
        assert_eq!(whole.decision() == Decision::Allow, allowed, "all policies and each alone");
        let deciding = if self.forbids.is_empty() { &self.permits } else { &self.forbids };
        let ids = |list: &[&ModelPolicy]| list.iter().map(|it| it.id.clone()).collect::<BTreeSet<_>>();
        let named: BTreeSet<String> = whole.diagnostics().reason().map(ToString::to_string).collect();
        assert_eq!(named, ids(deciding), "the deciding policies");
        assert_eq!(whole.diagnostics().errors().count(), self.errors.len(), "policies with errors");
    }
}

/// Whether the scope of a policy fits, whatever its conditions say.
#[expect(clippy::expect_used, reason = "a request without a schema is always one")]
pub(super) fn fits_scope(
    policy: &ModelPolicy,
    actor: &str,
    question: &Question,
    entities: &Entities,
) -> bool {
    let (actor, action) = (uid("Actor", actor), uid("Action", &question.action));
    let request = Request::new(actor, action, resource(question), Context::empty(), None).expect("a request");
    Authorizer::new().is_authorized(&request, &policy.scope, entities).decision() == Decision::Allow
}

#[expect(clippy::expect_used, reason = "the names of our entity types can be read")]
fn uid(kind: &str, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(
        EntityTypeName::from_str(kind).expect("an entity type"),
        EntityId::new(id),
    )
}

fn resource(question: &Question) -> EntityUid {
    let escaped = |text: &str| text.replace('~', "~0").replace('/', "~1");
    let (domain, resource_type) = (escaped(&question.domain), escaped(&question.resource_type));
    uid("Resource", &format!("{domain}/{resource_type}/{}", question.resource_id))
}

/// The whole entity store, and the resource in question.
#[expect(clippy::expect_used, reason = "the resource that we make fits the schema")]
pub(super) fn with_resource(folder: &ModelFolder, question: &Question) -> Entities {
    let mut attributes = json!({
        "id": question.resource_id, "type": question.resource_type, "domain": question.domain});
    if let (true, Some(members)) = (path_faults(&question.resource_id).is_empty(), attributes.as_object_mut())
    {
        let folded: String = question.resource_id.to_lowercase().nfc().collect();
        members.insert("path".to_owned(), json!(question.resource_id));
        members.insert("folded".to_owned(), json!(folded));
    }
    let entity = json!([{
        "uid": {"type": "Resource", "id": resource(question).id().unescaped()},
        "attrs": attributes,
        "parents": [
            {"type": "Domain", "id": question.domain}, {"type": "ResourceType", "id": question.resource_type}],
    }]);
    let entities = folder.entities.clone();
    entities.add_entities_from_json_value(entity, Some(&folder.schema)).expect("a resource")
}
