//! KernelRequest, the older form of an action proposal, and how it becomes one.

use super::{ActionType, BindingType, EvidenceBinding, Proposal, RiskEnvelope, Target};
use crate::invisible::is_invisible;
use crate::limits::FRESHNESS_MS_DEFAULT;
use crate::node::Node;
use crate::rule::Findings;
use crate::schema::NonEmpty;
use ordain_canon::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use unicode_normalization::UnicodeNormalization as _;

/// A tool call that an agent asks for. Only the policy's tool table knows its action and its resource.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelRequest {
    /// Becomes `proposal_id`.
    #[schemars(length(min = 1), extend("x-rule" = "V-PROP-001"))]
    pub request_id: String,
    /// When it was made, in milliseconds since 1970.
    #[schemars(range(min = 1), extend("x-rule" = "V-PROP-002"))]
    pub ts_ms: u64,
    /// The actor that asks.
    #[schemars(extend("x-rule" = "V-PROP-003"))]
    pub actor: NonEmpty,
    /// Its purpose, in words; the kernel does not interpret it.
    pub intent: String,
    /// The tool and its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolCall>,
    /// The parameters, where the tool call has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "V-PROP-006"))]
    pub params: Option<Map<String, Json>>,
    /// Evidence: ids of packets, or whole bindings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Json>>,
}

/// A tool and its parameters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool's name.
    #[schemars(extend("x-rule" = "V-PROP-004"))]
    pub name: NonEmpty,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "V-PROP-006"))]
    pub params: Option<Map<String, Json>>,
}

/// Whether a document is a KernelRequest rather than an action proposal.
pub fn is_request(document: &Value<'_>) -> bool {
    let has = |field: &&str| document.get(field).is_some();
    ["request_id", "tool_call", "params", "intent"].iter().any(has)
        && !["proposal_id", "action_type", "target", "parameters"].iter().any(has)
}

/// V-PROP-000 for `evidence`: ids, or bindings.
pub(crate) fn check_evidence(request: Node<'_, '_>, found: &mut Findings) {
    if !request.value().is_some_and(is_request) {
        return;
    }
    for entry in request.get("evidence").elements() {
        let fits = match entry.value() {
            Some(Value::String(id)) => !id.trim().is_empty(),
            Some(value) => value.to_typed::<EvidenceBinding>().is_ok(),
            None => true,
        };
        if !fits {
            found.at(entry, "expected the id of an evidence packet, or an evidence binding");
        }
    }
}

/// The entry of one tool in the policy's `tools.toml`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolMapping {
    /// The action that the tool performs.
    pub action_type: ActionType,
    /// The target's resource type; `{name}` stands for a parameter.
    pub resource_type: String,
    /// The target's resource id; `{name}` stands for a parameter.
    pub resource_id: String,
    /// The target's domain; `{name}` stands for a parameter.
    pub domain: String,
    /// The target's constraints, as they are.
    #[serde(default)]
    pub constraints: Map<String, Json>,
    /// The effects that the policy lets the tool have; a request cannot say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_envelope: Option<RiskEnvelope>,
}

/// A KernelRequest cannot become an action proposal. Each is a reason to deny.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// Without a tool there is no action.
    #[error("the request names no tool")]
    NoTool,
    /// The policy does not know the tool.
    #[error("the policy does not map the tool `{0}`")]
    Unmapped(String),
    /// Parameters in two places.
    #[error("the request has parameters both in `tool_call.params` and in `params`, and they differ")]
    TwoParams,
    /// A template names a parameter that is not there or has no plain text.
    #[error("the target of `{tool}` needs the parameter `{name}` as text or as a whole number")]
    Parameter {
        /// The tool.
        tool: String,
        /// The parameter.
        name: String,
    },
    /// A parameter would change more of the target than its own place.
    #[error("the parameter `{name}` of `{tool}` cannot stand inside `{template}`: it {fault}")]
    Inside {
        /// The tool.
        tool: String,
        /// The parameter.
        name: String,
        /// The template.
        template: String,
        /// The error in the value, as the end of a sentence.
        fault: String,
    },
    /// A template is not closed.
    #[error("the template `{0}` has a brace without its partner")]
    Template(String),
    /// An evidence entry that is neither id nor binding.
    #[error("evidence entry {0} is neither an id nor a binding")]
    Evidence(usize),
}

/// The row of `tools.toml` for every tool that has none of its own. In a template, `{*}` is the name of the tool.
pub const ANY_TOOL: &str = "*";

/// The resource type of several files or folders; its id is a JSON array of their paths. In `tools.toml` the template
/// names their parameters, each a text or a list of texts.
pub const FILES: &str = "files";
/// Files and folders of this domain are named by their paths below it.
const WORKSPACE: &str = "workspace";
/// Paths that one call may name.
pub const FILES_MAX: usize = 256;

/// Makes the action proposal that a request stands for. It still has to be verified.
pub fn map_request(
    request: &KernelRequest,
    tools: &BTreeMap<String, ToolMapping>,
) -> Result<Proposal, MapError> {
    map_request_in(request, tools, None)
}

/// The same in a workspace: a path below it, from the root of the file system, is named as the workspace does.
pub fn map_request_in(
    request: &KernelRequest,
    tools: &BTreeMap<String, ToolMapping>,
    workspace: Option<&str>,
) -> Result<Proposal, MapError> {
    let call = request.tool_call.as_ref().ok_or(MapError::NoTool)?;
    let tool = call.name.as_str();
    let mapping = tools.get(tool).or_else(|| tools.get(ANY_TOOL));
    let mapping = mapping.ok_or_else(|| MapError::Unmapped(tool.to_owned()))?;
    let parameters = match (&call.params, &request.params) {
        (Some(inner), Some(outer)) if inner != outer => return Err(MapError::TwoParams),
        (Some(params), _) | (None, Some(params)) => params.clone(),
        (None, None) => Map::new(),
    };
    let fill = |template: &str| fill_template(tool, template, &parameters);
    let (resource_type, domain) = (fill(&mapping.resource_type)?, fill(&mapping.domain)?);
    let workspace = workspace.filter(|_| domain.as_str() == WORKSPACE);
    let resource_id = match resource_type.as_str() {
        FILES => paths(tool, &mapping.resource_id, &parameters, workspace)?,
        "file" | "folder" => NonEmpty::of(below(workspace, fill(&mapping.resource_id)?.as_str())),
        _ => fill(&mapping.resource_id)?,
    };
    let target = Target { resource_type, resource_id, domain, constraints: mapping.constraints.clone() };
    let bindings = request.evidence.as_deref().map(bindings).transpose()?;
    Ok(Proposal {
        proposal_id: request.request_id.clone(),
        ts_ms: request.ts_ms,
        actor: request.actor.clone(),
        action_type: mapping.action_type,
        target,
        parameters,
        preconditions: None,
        risk_envelope: mapping.risk_envelope.clone(),
        rollback_semantics: None,
        time_window: None,
        approval_class: None,
        evidence_bindings: bindings.filter(|bindings| !bindings.is_empty()),
    })
}

/// A path as the workspace names it. Another one stays as it is.
fn below(workspace: Option<&str>, path: &str) -> String {
    let Some(workspace) = workspace else { return path.to_owned() };
    match path.strip_prefix(workspace.trim_end_matches('/')) {
        Some("" | "/") => ".".to_owned(),
        Some(rest) => rest.strip_prefix('/').unwrap_or(path).to_owned(),
        None => path.to_owned(),
    }
}

/// The paths in the parameters that a template names, as a JSON array.
fn paths(
    tool: &str,
    template: &str,
    parameters: &Map<String, Json>,
    workspace: Option<&str>,
) -> Result<NonEmpty, MapError> {
    let mut paths = Vec::new();
    let names = template.split([' ', ',']).filter(|name| !name.is_empty());
    for name in names {
        let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let name = name.ok_or_else(|| MapError::Template(template.to_owned()))?;
        let wrong = || MapError::Parameter { tool: tool.to_owned(), name: name.to_owned() };
        let elements = match parameters.get(name) {
            Some(text @ Json::String(_)) => std::slice::from_ref(text),
            Some(Json::Array(elements)) if !elements.is_empty() => elements.as_slice(),
            _ => return Err(wrong()),
        };
        for element in elements {
            let path = element.as_str().filter(|path| !path.is_empty()).ok_or_else(wrong)?;
            paths.push(Json::String(below(workspace, path)));
        }
    }
    if paths.is_empty() {
        return Err(MapError::Template(template.to_owned()));
    }
    Ok(NonEmpty::of(Json::Array(paths).to_string()))
}

fn fill_template(tool: &str, template: &str, parameters: &Map<String, Json>) -> Result<NonEmpty, MapError> {
    let broken = || MapError::Template(template.to_owned());
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').ok_or_else(broken)?;
        filled.push_str(before);
        // The whole text is the caller's to choose, and other rules judge it. A part of one must stay that part.
        let whole = filled.is_empty() && before.is_empty() && behind.is_empty();
        let named = Json::String(tool.to_owned());
        let value = if name == ANY_TOOL { Some(&named) } else { parameters.get(name) };
        let part = value.and_then(Json::as_str).filter(|_| !whole);
        if let Some(fault) = part.and_then(inside_fault) {
            let (tool, name, template) = (tool.to_owned(), name.to_owned(), template.to_owned());
            return Err(MapError::Inside { tool, name, template, fault });
        }
        match value {
            Some(Json::String(text)) if !text.is_empty() => filled.push_str(text),
            Some(Json::Number(number)) if number.is_u64() || number.is_i64() => {
                filled.push_str(&number.to_string())
            }
            _ => return Err(MapError::Parameter { tool: tool.to_owned(), name: name.to_owned() }),
        }
        rest = behind;
    }
    if rest.contains('}') {
        return Err(broken());
    }
    filled.push_str(rest);
    Ok(NonEmpty::of(filled))
}

/// Why a value may not be a part of a longer text: as a path or an address it would lead elsewhere.
fn inside_fault(value: &str) -> Option<String> {
    const SEPARATORS: &[char] = &['/', '\\', '?', '#', '%', ':', '@', '&'];
    // Users of the target may know only the compatible form.
    let plain: String = value.nfkc().collect();
    if value.is_empty() {
        Some("is empty".to_owned())
    } else if plain == "." || plain == ".." {
        Some(format!("is `{plain}`"))
    } else if let Some(separator) = plain.chars().find(|character| SEPARATORS.contains(character)) {
        Some(format!("contains `{separator}`"))
    } else if plain.contains(char::is_whitespace) || value.contains(char::is_whitespace) {
        Some("contains whitespace".to_owned())
    } else if value.contains(char::is_control) {
        Some("contains a control character".to_owned())
    } else if value.contains(is_invisible) {
        Some("contains an invisible character".to_owned())
    } else {
        None
    }
}

fn bindings(evidence: &[Json]) -> Result<Vec<EvidenceBinding>, MapError> {
    let binding = |(position, entry): (usize, &Json)| match entry {
        Json::String(id) => Ok(EvidenceBinding {
            evidence_id: NonEmpty::of(id.clone()),
            binding_type: BindingType::Context,
            required: true,
            freshness_ms: FRESHNESS_MS_DEFAULT.unsigned_abs(),
        }),
        other => serde_json::from_value(other.clone()).map_err(|_| MapError::Evidence(position)),
    };
    evidence.iter().enumerate().map(binding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(request: Json) -> Result<Json, MapError> {
        let request: KernelRequest = serde_json::from_value(request).unwrap();
        let tools = serde_json::from_value(json!({"crm.update": {
            "action_type": "write", "resource_type": "crm_record", "resource_id": "contact-{contact}",
            "domain": "salesforce.com", "constraints": {"allowed_fields": ["email"]}}}))
        .unwrap();
        map_request(&request, &tools).map(|proposal| serde_json::to_value(proposal).unwrap())
    }

    fn request(with: Json) -> Json {
        let mut request = json!({"request_id": "r1", "ts_ms": 1, "actor": "a", "intent": "update a contact",
            "tool_call": {"name": "crm.update", "params": {"contact": 7}}});
        request.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        request
    }

    #[test]
    fn a_mapped_tool_becomes_a_proposal() {
        let proposal = map(request(json!({"evidence": ["evidence-001"]}))).unwrap();
        assert_eq!(
            proposal,
            json!({"proposal_id": "r1", "ts_ms": 1, "actor": "a", "action_type": "write",
                "target": {"resource_type": "crm_record", "resource_id": "contact-7", "domain": "salesforce.com",
                    "constraints": {"allowed_fields": ["email"]}},
                "parameters": {"contact": 7},
                "evidence_bindings": [{"evidence_id": "evidence-001", "binding_type": "context", "required": true,
                    "freshness_ms": 3_600_000}]})
        );
        let text = serde_json::to_vec(&proposal).unwrap();
        let report = crate::verify_text(crate::Kind::Action, &crate::Facts::default(), &text).unwrap();
        assert_eq!(report.violations(), []);
    }

    /// A tool without a row of its own takes the row `*`, which can name it.
    #[test]
    fn a_row_for_every_other_tool() {
        let tools: BTreeMap<String, ToolMapping> = serde_json::from_value(json!({
            "file.read": {"action_type": "read", "resource_type": "file", "resource_id": "{path}", "domain": "workspace"},
            "*": {"action_type": "custom", "resource_type": "tool", "resource_id": "{*}", "domain": "workspace"}}))
        .unwrap();
        let of = |name: &str, params: Json| {
            let request = request(json!({"tool_call": {"name": name, "params": params}}));
            map_request(&serde_json::from_value(request).unwrap(), &tools).unwrap()
        };
        assert_eq!(of("file.read", json!({"path": "a"})).target.resource_type.as_str(), "file");
        // A parameter of that name does not stand for the tool.
        let other = of("mail.send", json!({"*": "file.read"}));
        assert_eq!(other.target.resource_id.as_str(), "mail.send");
        assert_eq!(other.action_type, ActionType::Custom);
    }

    /// Several paths are one target, each as the workspace names it.
    #[test]
    fn paths_are_listed() {
        let tools: BTreeMap<String, ToolMapping> = serde_json::from_value(json!({
            "read": {"action_type": "read", "resource_type": "files", "resource_id": "{paths}", "domain": "workspace"},
            "move": {"action_type": "write", "resource_type": "files", "resource_id": "{from} {to}", "domain": "workspace"},
            "list": {"action_type": "read", "resource_type": "folder", "resource_id": "{path}", "domain": "workspace"}}))
        .unwrap();
        let of = |name: &str, params: Json| {
            let request = request(json!({"tool_call": {"name": name, "params": params}}));
            let request = serde_json::from_value(request).unwrap();
            map_request_in(&request, &tools, Some("/w"))
                .map(|proposal| proposal.target.resource_id.as_str().to_owned())
        };
        assert_eq!(
            of("read", json!({"paths": ["/w/a", "b", "/wx", "/w/../c"]})).unwrap(),
            r#"["a","b","/wx","../c"]"#
        );
        assert_eq!(of("move", json!({"from": "/w/a", "to": "b\"c"})).unwrap(), r#"["a","b\"c"]"#);
        assert_eq!(of("list", json!({"path": "/w"})).unwrap(), ".");
        for (name, params) in [
            ("read", json!({})),
            ("read", json!({"paths": []})),
            ("read", json!({"paths": ["a", 7]})),
            ("read", json!({"paths": [""]})),
            ("move", json!({"from": "a"})),
        ] {
            assert!(matches!(of(name, params.clone()), Err(MapError::Parameter { .. })), "{params}");
        }
    }

    /// A part of a longer text stays a part.
    #[test]
    fn a_parameter_leads_nowhere_else() {
        let tools: BTreeMap<String, ToolMapping> = serde_json::from_value(json!({"get": {
            "action_type": "read", "resource_type": "page", "resource_id": "{path}", "domain": "{host}.example.com"}}))
        .unwrap();
        let of = |host: &str, path: &str| {
            let request =
                request(json!({"tool_call": {"name": "get", "params": {"host": host, "path": path}}}));
            map_request(&serde_json::from_value(request).unwrap(), &tools)
        };
        for host in [
            "",
            ".",
            "..",
            "1/../../admin",
            "evil.com/?x=",
            "a?b",
            "a#",
            "a%2e",
            "a:1",
            "u@a",
            "a&b",
            "a\\b",
            "a b",
            "a\tb",
            "a\u{a0}b",
            "a\0",
            "a\u{200b}",
            "a\u{202e}b",
            "a\u{ff0f}b",
            "\u{2025}",
            "a\u{2100}b",
        ] {
            let error = of(host, "x").unwrap_err();
            assert!(matches!(&error, MapError::Inside { name, .. } if name == "host"), "{host:?}: {error}");
        }
        for host in ["www", "a.b", "a-1_2~", "münchen", "..."] {
            assert!(of(host, "x").is_ok(), "{host:?}");
        }
        let whole = of("www", "/a/../b?c=d#e").unwrap();
        assert_eq!(whole.target.resource_id.as_str(), "/a/../b?c=d#e");
    }

    #[test]
    fn doubt_is_a_refusal() {
        for (with, expected) in [
            (json!({"tool_call": {"name": "rm"}}), MapError::Unmapped("rm".into())),
            (json!({"params": {"contact": 8}}), MapError::TwoParams),
            (
                json!({"tool_call": {"name": "crm.update", "params": {"contact": [7]}}}),
                MapError::Parameter { tool: "crm.update".into(), name: "contact".into() },
            ),
            (json!({"evidence": [{"evidence_id": "x"}]}), MapError::Evidence(0)),
        ] {
            assert_eq!(map(request(with)), Err(expected));
        }
        let mut without = request(json!({}));
        without.as_object_mut().unwrap().remove("tool_call");
        assert_eq!(map(without), Err(MapError::NoTool));
    }
}
