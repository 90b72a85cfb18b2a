//! The OpenAPI 3.1 document, from the table of operations.

use crate::limits::{NAME_CHARACTERS_MAX, NAME_PATTERN};
use crate::operation::{Access, Content, Operation};
use crate::operations::OPERATIONS;
use crate::plain_schema::simplify;
use crate::problem::Problem;
use ordain_spec::action::{KernelRequest, Proposal};
use ordain_spec::approval::Approval;
use ordain_spec::decision::Decision;
use ordain_spec::packet::EvidencePacket;
use ordain_spec::tidy_schema;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// The description of the HTTP interface.
pub fn openapi() -> Json {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let mut paths: Map<String, Json> = Map::new();
    for operation in OPERATIONS {
        let description = describe(operation, &mut generator);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(operation.method.name().to_lowercase(), description);
        }
    }
    let mut schemas = generator.take_definitions(true);
    let documents = documents();
    schemas
        .iter_mut()
        .filter(|(name, _)| documents.contains_key(*name))
        .for_each(|(_, schema)| tidy_schema(schema));
    limit_names(&mut schemas);
    simplify(&mut schemas);
    let mut description = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ordain",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The gate between what an AI agent proposes and what really happens.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    });
    // Another crate of a program may have turned on serde_json's `preserve_order`.
    description.sort_all_objects();
    description
}

/// Fields that become names on record. The gate has rules for them beyond those of the contracts.
const NAMES: &[(&str, [&str; 2])] = &[
    ("ActionProposal", ["proposal_id", "actor"]),
    ("KernelRequest", ["request_id", "actor"]),
    ("EvidencePacket", ["evidence_id", "sensor_id"]),
];

fn limit_names(schemas: &mut Map<String, Json>) {
    for (component, fields) in NAMES {
        for field in fields {
            let schema = schemas
                .get_mut(*component)
                .and_then(|schema| schema.pointer_mut(&format!("/properties/{field}")));
            if let Some(Json::Object(members)) = schema {
                members.insert("maxLength".to_owned(), json!(NAME_CHARACTERS_MAX));
                members.insert("pattern".to_owned(), json!(NAME_PATTERN));
            }
        }
    }
}

/// The parts of the contracts, whose schemas are published as they are.
fn documents() -> Map<String, Json> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    generator.subschema_for::<Proposal>();
    generator.subschema_for::<KernelRequest>();
    generator.subschema_for::<EvidencePacket>();
    generator.subschema_for::<Approval>();
    generator.subschema_for::<Decision>();
    generator.take_definitions(false)
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator) -> Json {
    let mut description = json!({
        "operationId": operation.id.name(),
        "summary": operation.summary,
        "parameters": parameters(operation, generator),
        "responses": responses(operation, generator),
    });
    let Some(members) = description.as_object_mut() else { return description };
    if let Some(body) = &operation.body {
        let content = json!({"application/json": {"schema": (body.schema)(generator)}});
        members.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
    }
    let security = if operation.access == Access::Anybody { json!([]) } else { json!([{"token": []}]) };
    members.insert("security".to_owned(), security);
    let roles = match operation.access {
        Access::Anybody | Access::AnyToken => None,
        Access::Roles(roles) => Some((roles, " or ")),
        Access::AllRoles(roles) => Some((roles, " and ")),
    };
    if let Some((roles, word)) = roles {
        let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
        let text = format!("Takes a token with the role {}.", names.join(word));
        members.insert("description".to_owned(), json!(text));
    }
    description
}

fn parameters(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Json> {
    let in_path = operation.path_names().map(|name| {
        json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}})
    });
    let mut parameters: Vec<Json> = in_path.collect();
    let Some(query) = operation.query else { return parameters };
    let query = query(generator);
    let required = query.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
    let fields = query.get("properties").and_then(Json::as_object).cloned().unwrap_or_default();
    // The order of a map depends on the features of serde_json.
    let fields: BTreeMap<String, Json> = fields.into_iter().collect();
    for (name, field) in fields {
        let required = required.contains(&json!(name));
        let mut schema = present(field);
        let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        parameters.push(
            json!({"name": name, "in": "query", "required": required, "description": about, "schema": schema}),
        );
    }
    parameters
}

/// The schema of a field that is there: a parameter that is absent is not written as `null`.
fn present(mut field: Json) -> Json {
    let Some(members) = field.as_object_mut() else { return field };
    if let Some(Json::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    if let Some(Json::Array(choices)) = members.remove("anyOf") {
        let choice = choices.into_iter().find(|choice| *choice != json!({"type": "null"}));
        members.extend(choice.and_then(|choice| choice.as_object().cloned()).unwrap_or_default());
    }
    field
}

fn responses(operation: &Operation, generator: &mut SchemaGenerator) -> Map<String, Json> {
    let mut responses: Map<String, Json> = Map::new();
    for answer in operation.answers {
        let content = match &answer.content {
            Content::Json(schema) => json!({"application/json": {"schema": schema(generator)}}),
            Content::Events(schema) => json!({"text/event-stream": {"schema": schema(generator)}}),
            Content::Text => json!({"text/plain": {"schema": {"type": "string"}}}),
            Content::Problem => problem_content(generator),
        };
        let response = json!({"description": answer.summary, "content": content});
        responses.insert(answer.status.to_string(), response);
    }
    for (status, summary) in common_problems(operation) {
        let content = problem_content(generator);
        responses
            .entry(status.to_string())
            .or_insert_with(|| json!({"description": summary, "content": content}));
    }
    responses
}

/// The problems that any operation may answer with.
fn common_problems(operation: &Operation) -> Vec<(u16, &'static str)> {
    let mut problems = vec![
        (500, "The records are damaged, or the server has a bug"),
        (
            503,
            "Busy, or the store cannot be reached: nothing was done, try again. With the code `uncertain` the request may \
             have been carried out: look first",
        ),
    ];
    if operation.access != Access::Anybody {
        problems.push((400, "The request is not valid; `errors` says why"));
        problems.push((401, "The request has no valid token"));
        problems.push((403, "The caller may not do this, or the kernel refuses; `reasons` says why"));
        problems.push((429, "The principal has too many requests under way"));
    }
    if operation.body.is_some() {
        problems.push((408, "The body did not arrive in time"));
        problems.push((413, "The body is too long"));
        problems.push((415, "The body is not JSON"));
    }
    problems
}

fn problem_content(generator: &mut SchemaGenerator) -> Json {
    json!({"application/problem+json": {"schema": generator.subschema_for::<Problem>()}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{PAGE_MAX, WHOLE_MAX};

    #[test]
    fn names_on_record_have_their_limits() {
        let description = openapi();
        for (component, fields) in NAMES {
            for field in fields {
                let schema = &description["components"]["schemas"][component]["properties"][field];
                assert_eq!(schema["maxLength"], json!(NAME_CHARACTERS_MAX), "{component}.{field}");
                assert_eq!(schema["pattern"], json!(NAME_PATTERN), "{component}.{field}");
            }
        }
    }

    #[test]
    fn parameters_come_from_the_types_of_queries() {
        let description = openapi();
        let parameters = &description["paths"]["/v1/actions"]["get"]["parameters"];
        let names: Vec<&str> =
            parameters.as_array().into_iter().flatten().filter_map(|it| it["name"].as_str()).collect();
        let filters = [
            "action_type",
            "actor",
            "after",
            "approver",
            "before",
            "id_prefix",
            "limit",
            "policy",
            "since_ms",
            "state",
        ];
        assert_eq!(names, [&filters[..], &["target", "until_ms", "wait"]].concat());
        let parameters: Json = [4, 6, 9].into_iter().map(|number| parameters[number].clone()).collect();
        let expected = json!([
            {"name": "before", "in": "query", "required": false,
                "description": "Without `after`: the `next` of the page before. The newest come first.",
                "schema": {"type": "integer", "format": "uint64", "minimum": 0, "maximum": WHOLE_MAX}},
            {"name": "limit", "in": "query", "required": false,
                "description": "The largest number of actions on the page.",
                "schema": {"type": "integer", "format": "uint64", "minimum": 1, "maximum": PAGE_MAX}},
            {"name": "state", "in": "query", "required": false, "description": "Only actions in this state.",
                "schema": {"$ref": "#/components/schemas/ActionState"}},
        ]);
        assert_eq!(parameters, expected);
        let index = &description["paths"]["/v1/ledger/proof"]["get"]["parameters"][0];
        assert_eq!((&index["name"], &index["required"]), (&json!("index"), &json!(true)));
    }
}
