//! The OpenAPI 3.1 document, from the table of routes.

use crate::routes::{Content, ROUTES, Route, Who, problem_form, problems};
use ordain_spec::action::{KernelRequest, Proposal};
use ordain_spec::approval::Approval;
use ordain_spec::decision::Decision;
use ordain_spec::packet::EvidencePacket;
use ordain_spec::tidy_schema;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json, json};

/// The description of the HTTP interface.
pub fn openapi() -> Json {
    let settings =
        SchemaSettings::draft2020_12().with(|it| it.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let mut paths: Map<String, Json> = Map::new();
    for route in ROUTES {
        let operation = operation(route, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.method.to_owned(), operation);
        }
    }
    let mut schemas = generator.take_definitions(true);
    let documents = documents();
    schemas
        .iter_mut()
        .filter(|(name, _)| documents.contains_key(*name))
        .for_each(|(_, schema)| tidy_schema(schema));
    json!({
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
    })
}

/// The parts of the contracts, whose schemas are as they are published.
fn documents() -> Map<String, Json> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    generator.subschema_for::<Proposal>();
    generator.subschema_for::<KernelRequest>();
    generator.subschema_for::<EvidencePacket>();
    generator.subschema_for::<Approval>();
    generator.subschema_for::<Decision>();
    generator.take_definitions(false)
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Json {
    let mut parameters: Vec<Json> = Vec::new();
    if route.path.contains("{id}") {
        parameters.push(json!({"name": "id", "in": "path", "required": true,
            "schema": {"type": "string", "minLength": 1}}));
    }
    for parameter in route.query {
        parameters.push(json!({"name": parameter.name, "in": "query", "required": parameter.required,
            "description": parameter.about, "schema": (parameter.form)(generator)}));
    }
    let mut responses: Map<String, Json> = Map::new();
    for answer in route.answers {
        let content = match &answer.content {
            Content::Json(form) => json!({"application/json": {"schema": form(generator)}}),
            Content::Events(form) => json!({"text/event-stream": {"schema": form(generator)}}),
            Content::Text(content_type) => json!({*content_type: {"schema": {"type": "string"}}}),
            Content::Problem => problem_content(generator),
        };
        responses.insert(answer.status.to_string(), json!({"description": answer.about, "content": content}));
    }
    for (status, about) in problems(route) {
        let content = problem_content(generator);
        responses
            .entry(status.to_string())
            .or_insert_with(|| json!({"description": about, "content": content}));
    }
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(members) = operation.as_object_mut() {
        if let Some(body) = route.body {
            let content = json!({"application/json": {"schema": body(generator)}});
            members.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
        }
        match route.who {
            Who::Anybody => drop(members.insert("security".to_owned(), json!([]))),
            Who::AnyToken => drop(members.insert("security".to_owned(), json!([{"token": []}]))),
            Who::Roles(roles) => {
                let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
                members.insert("security".to_owned(), json!([{"token": []}]));
                members.insert(
                    "description".to_owned(),
                    json!(format!("Takes the role {}.", names.join(" or "))),
                );
            }
        }
    }
    operation
}

fn problem_content(generator: &mut SchemaGenerator) -> Json {
    json!({"application/problem+json": {"schema": problem_form(generator)}})
}

fn operation_id(route: &Route) -> String {
    let words = route.path.split(['/', '{', '}', '.', '-']).filter(|word| !word.is_empty() && *word != "v1");
    words.fold(route.method.to_owned(), |id, word| format!("{id}_{word}"))
}
