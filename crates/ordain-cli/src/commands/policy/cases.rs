//! The cases of `ordain policy test`: how they are read, and what is filled in.

use super::signed_case::sign;
use crate::document::document_failure;
use crate::input::{Source, not_a_file, search};
use ordain_canon::{Canonicalizer, PayloadHash, Value};
use ordain_decision::{Case, PolicySet, decide_text};
use ordain_spec::action::ApprovalClass;
use ordain_spec::decision::{Decision, Outcome};
use ordain_spec::statement::ApproverKeys;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};

/// A case as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Option<String>,
    proposal: Json,
    change: Option<Json>,
    #[serde(default)]
    evidence: Vec<Json>,
    #[serde(default)]
    approvals: Vec<Json>,
    now_ms: u64,
    #[serde(default)]
    halted: bool,
    workspace: Option<String>,
    expect: Expect,
}

/// The expected decision.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) outcome: Outcome,
    /// Reasons that must be there.
    #[serde(default)]
    pub(super) reasons: Vec<ExpectedReason>,
    /// Whether there may be no others.
    #[serde(default)]
    pub(super) only: bool,
    pub(super) approvals: Option<ExpectedApprovals>,
}

/// A reason; what it does not name may be anything.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedReason {
    pub(super) rule_id: String,
    pub(super) path: Option<String>,
    /// A part of the message.
    pub(super) message: Option<String>,
    pub(super) policies: Option<Vec<String>>,
}

/// Approvals; what is not named may be anything.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedApprovals {
    pub(super) class: Option<ApprovalClass>,
    pub(super) required: Option<u64>,
    pub(super) have: Option<Vec<String>>,
}

/// A case that can be run, or why it cannot.
pub(super) struct Prepared {
    /// The file, below the policy folder.
    pub(super) file: String,
    pub(super) name: String,
    pub(super) case: Result<Ready, String>,
}

/// Everything that a decision is asked with.
pub(super) struct Ready {
    proposal: Json,
    evidence: Vec<Map<String, Json>>,
    approvals: Vec<Map<String, Json>>,
    now_ms: u64,
    halted: bool,
    workspace: Option<String>,
    pub(super) expect: Expect,
}

/// All cases below a folder, by file name. A file that cannot be read gives one that fails.
pub(super) fn read_all(policy: &Path, tests: &Path) -> Vec<Prepared> {
    let mut sources = Vec::new();
    if tests.is_dir() {
        search(tests, &mut sources);
    }
    sources.iter().flat_map(|source| read_file(policy, source)).collect()
}

fn read_file(policy: &Path, source: &Source) -> Vec<Prepared> {
    let path = PathBuf::from(source.name());
    let file = path.strip_prefix(policy).unwrap_or(&path).display().to_string();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let unreadable =
        |problem: String| vec![Prepared { file: file.clone(), name: stem.clone(), case: Err(problem) }];
    let value = match read_json(&path) {
        // Proposals and the like may lie beside the cases that name them.
        Ok(value) if !has_cases(&value) => return Vec::new(),
        Ok(value) => value,
        Err(problem) => return unreadable(problem),
    };
    let (cases, single) = match value {
        Json::Array(cases) => (cases, false),
        case => (vec![case], true),
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let prepare = |(at, case): (usize, Json)| {
        let numbered = if single { stem.clone() } else { format!("{stem} {}", at + 1) };
        let name = case.get("name").and_then(Json::as_str).map_or(numbered, str::to_owned);
        Prepared { file: file.clone(), name, case: ready(case, folder) }
    };
    cases.into_iter().enumerate().map(prepare).collect()
}

fn has_cases(value: &Json) -> bool {
    let is_case =
        |value: &Json| ["expect", "proposal", "now_ms"].iter().any(|name| value.get(name).is_some());
    value.as_array().map_or_else(|| is_case(value), |elements| elements.iter().any(is_case))
}

/// Reads JSON strictly, or YAML by its name.
fn read_json(path: &Path) -> Result<Json, String> {
    let source = Source::of(path);
    let failed = |failure: crate::exit::Failure| failure.to_string();
    if let Some(problem) = not_a_file(path) {
        return Err(format!("{}: {problem}", path.display()));
    }
    let text = source.text().map_err(failed)?;
    let value = text.read(&text.json).map_err(|wrong| failed(document_failure(&source, &wrong)))?;
    value.to_typed().map_err(|error| error.to_string())
}

fn ready(case: Json, folder: &Path) -> Result<Ready, String> {
    let written: Written = serde_json::from_value(case).map_err(|error| format!("is not a case: {error}"))?;
    if written.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err("is not a case: `name` is empty".to_owned());
    }
    let mut proposal = match written.proposal {
        Json::String(path) => read_json(&folder.join(path))?,
        proposal => proposal,
    };
    if let Some(change) = written.change {
        merge(&mut proposal, change);
    }
    let now_ms = written.now_ms;
    let mut evidence = documents(written.evidence, folder, "evidence")?;
    for packet in &mut evidence {
        fill_packet(packet, now_ms)?;
    }
    Ok(Ready {
        proposal,
        evidence,
        approvals: documents(written.approvals, folder, "approvals")?,
        now_ms,
        halted: written.halted,
        workspace: written.workspace,
        expect: written.expect,
    })
}

/// Documents in the case, and those of the files that it names.
fn documents(written: Vec<Json>, folder: &Path, what: &str) -> Result<Vec<Map<String, Json>>, String> {
    let mut all = Vec::new();
    for entry in written {
        let found = match entry {
            Json::String(path) => match read_json(&folder.join(path))? {
                Json::Array(elements) => elements,
                document => vec![document],
            },
            document => vec![document],
        };
        for document in found {
            match document {
                Json::Object(members) => all.push(members),
                _ => {
                    return Err(format!(
                        "is not a case: `{what}` lists objects, or names of files with them"
                    ));
                }
            }
        }
    }
    Ok(all)
}

/// RFC 7396.
fn merge(target: &mut Json, change: Json) {
    let Json::Object(change) = change else {
        *target = change;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(members) = target.as_object_mut() else { return };
    for (name, value) in change {
        match value {
            Json::Null => drop(members.remove(&name)),
            value => merge(members.entry(name).or_insert(Json::Null), value),
        }
    }
}

fn fill(document: &mut Map<String, Json>, fields: impl IntoIterator<Item = (&'static str, Json)>) {
    for (name, value) in fields {
        document.entry(name).or_insert(value);
    }
}

fn fill_packet(packet: &mut Map<String, Json>, now_ms: u64) -> Result<(), String> {
    let payload = packet.get("payload").unwrap_or(&Json::Null);
    let hash = PayloadHash::of(&mut Canonicalizer::new(), payload).map_err(|error| error.to_string())?;
    fill(
        packet,
        [
            ("packet_type", json!("api_response")),
            ("sensor_type", json!("test")),
            ("observed_at_ms", json!(now_ms)),
            ("received_at_ms", json!(now_ms)),
            ("payload_hash", json!(hash.to_string())),
        ],
    );
    Ok(())
}

/// A proposal with neither id nor time is a sketch, which is filled in; without an actor it is one of the
/// first agent, so that a case need not name anybody. Every other proposal is taken as it is, with all that
/// it lacks.
fn fill_proposal(proposal: &mut Json, policies: &PolicySet, now_ms: u64) {
    let Some(members) = proposal.as_object_mut() else { return };
    if ["proposal_id", "request_id", "ts_ms"].iter().any(|field| members.contains_key(*field)) {
        return;
    }
    fill(members, [("ts_ms", json!(now_ms))]);
    fill(members, policies.first_agent().map(|(agent, _)| ("actor", json!(agent))));
    if members.contains_key("action_type") {
        fill(members, [("proposal_id", json!("test")), ("parameters", json!({}))]);
        if let Some(target) = members.get_mut("target").and_then(Json::as_object_mut) {
            fill(target, [("constraints", json!({}))]);
        }
    } else if members.contains_key("tool_call") {
        fill(members, [("request_id", json!("test")), ("intent", json!("test"))]);
    }
}

fn fill_approval(
    approval: &mut Map<String, Json>,
    proposal_hash: Option<&str>,
    owner: Option<&str>,
    now_ms: u64,
) {
    fill(approval, proposal_hash.map(|hash| ("proposal_hash", json!(hash))));
    fill(approval, owner.map(|owner| ("approver", json!(owner))));
    fill(
        approval,
        [
            ("verdict", json!("approve")),
            ("reason", json!("")),
            ("view_digest", json!(format!("sha256:{}", "0".repeat(64)))),
            ("at_ms", json!(now_ms)),
        ],
    );
}

fn canonical(value: &Json) -> Result<Vec<u8>, String> {
    let mut canon = Canonicalizer::new();
    canon.value(value).map(<[u8]>::to_vec).map_err(|error| error.to_string())
}

impl Ready {
    /// Decides twice where there are approvals: first to learn the hash that they are for.
    pub(super) fn decide(&self, policies: &PolicySet) -> Result<Decision, String> {
        let mut proposal = self.proposal.clone();
        fill_proposal(&mut proposal, policies, self.now_ms);
        let proposal = canonical(&proposal)?;
        let mut keys = ApproverKeys::default();
        let first = self.decide_with(policies, &proposal, &[], &keys)?;
        if self.approvals.is_empty() {
            return Ok(first);
        }
        let hash = first.proposal_hash.0.as_ref().map(|hash| hash.as_str());
        let owner = policies.first_agent().map(|(_, owner)| owner);
        let mut approvals = self.approvals.clone();
        for approval in &mut approvals {
            fill_approval(approval, hash, owner, self.now_ms);
            sign(approval, &mut keys)?;
        }
        self.decide_with(policies, &proposal, &approvals, &keys)
    }

    fn decide_with(
        &self,
        policies: &PolicySet,
        proposal: &[u8],
        approvals: &[Map<String, Json>],
        keys: &ApproverKeys,
    ) -> Result<Decision, String> {
        let (evidence, approvals) = (texts(&self.evidence)?, texts(approvals)?);
        let case = Case {
            document: &Value::Null,
            policies,
            evidence: &values(&evidence)?,
            approvals: &values(&approvals)?,
            approver_keys: keys,
            now_ms: self.now_ms,
            halted: self.halted,
            workspace: self.workspace.as_deref(),
        };
        Ok(decide_text(proposal, &case).decision)
    }
}

fn texts(documents: &[Map<String, Json>]) -> Result<Vec<Vec<u8>>, String> {
    documents.iter().map(|document| canonical(&Json::Object(document.clone()))).collect()
}

fn values(texts: &[Vec<u8>]) -> Result<Vec<Value<'_>>, String> {
    texts.iter().map(|text| Value::read(text).map_err(|error| error.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 7396, appendix A.
    #[test]
    fn merge_patches() {
        for (target, change, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!("bar"), json!("bar")),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let mut merged = target.clone();
            merge(&mut merged, change.clone());
            assert_eq!(merged, expected, "{target} changed by {change}");
        }
    }
}
