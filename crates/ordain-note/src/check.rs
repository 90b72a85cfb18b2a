//! Nothing of an answer is trusted until it fits the contract.

use crate::request::fault;
use crate::schema::OURS;
use ordain_canon::{Canonicalizer, NoteHash, Value};
use ordain_spec::note::{Origin, Proposal};
use ordain_spec::{Facts, Verified, verify_as};
use ordain_vault::{Code, Finding, Vault, VaultError, guard, validate};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// The fields that the service adds to an answer.
pub(crate) struct Ours {
    pub(crate) id: String,
    pub(crate) origin: Origin,
    /// The note that is made better.
    pub(crate) enhance: Option<String>,
    /// Sentences for the end of the rationale, each with a space before it.
    pub(crate) remarks: Vec<&'static str>,
}

/// A proposal that fits.
pub(crate) struct Fit {
    pub(crate) note: Verified<Proposal>,
    pub(crate) canonicalization: Duration,
}

/// Why an answer is not a proposal.
pub(crate) enum CheckError {
    /// It is not one JSON object.
    Malformed(Vec<Finding>),
    /// It is, and does not fit.
    Invalid(Vec<Finding>),
    /// The vault cannot be read.
    Vault(VaultError),
    Broken(String),
}

impl CheckError {
    pub(crate) fn faults(&self) -> &[Finding] {
        match self {
            Self::Malformed(faults) | Self::Invalid(faults) => faults,
            Self::Vault(_) | Self::Broken(_) => &[],
        }
    }
}

pub(crate) fn check(answer: &str, ours: &Ours, vault: &Vault) -> Result<Fit, CheckError> {
    let mut document = read(answer)?;
    let mut faults: Vec<Finding> = OURS
        .into_iter()
        .filter(|name| document.get(name).is_some())
        .map(|name| fault(&format!("/{name}"), "is set by the service; leave it out"))
        .collect();
    let mut canonicalization = Duration::ZERO;
    let note = match finish(&mut document, ours, &mut canonicalization) {
        Ok(note) if faults.is_empty() => note,
        Ok(_) => return Err(CheckError::Invalid(faults)),
        Err(found) => {
            faults.extend(found);
            return Err(CheckError::Invalid(faults));
        }
    };
    faults = guard(&note);
    if let Some(path) = ours.enhance.as_ref().filter(|_| faults.is_empty()) {
        if note.target.path != *path {
            let message = format!("must stay `{path}`: an enhancement does not move its note");
            faults.push(Finding { code: Code::FmUnchanged, ..fault("/target/path", message) });
        } else {
            let found = validate(vault, &note).map_err(CheckError::Vault)?.findings;
            faults.extend(found.into_iter().filter(|it| it.code == Code::FmUnchanged));
        }
    }
    if faults.is_empty() { Ok(Fit { note, canonicalization }) } else { Err(CheckError::Invalid(faults)) }
}

/// One JSON object, and nothing before or after it.
fn read(answer: &str) -> Result<Value<'_>, CheckError> {
    let malformed = |problem: String| CheckError::Malformed(vec![fault("", problem)]);
    let text = answer.trim_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Err(malformed("the answer is empty; answer with one JSON object".to_owned()));
    }
    if text.starts_with("```") {
        let problem =
            "the answer is fenced with ```; leave out the fence and answer with the JSON object alone";
        return Err(malformed(problem.to_owned()));
    }
    if !text.starts_with('{') {
        let problem =
            "the answer does not begin with `{`; leave out everything before and after the JSON object";
        return Err(malformed(problem.to_owned()));
    }
    Value::read(text.as_bytes())
        .map_err(|error| malformed(format!("the answer is not one JSON object: {error}")))
}

/// Adds what the service sets, and verifies the whole.
fn finish(
    document: &mut Value<'_>,
    ours: &Ours,
    canonicalization: &mut Duration,
) -> Result<Verified<Proposal>, Vec<Finding>> {
    if let Some(Value::String(rationale)) =
        member(document, "governance").and_then(|it| member(it, "rationale"))
        && !rationale.trim().is_empty()
    {
        for remark in &ours.remarks {
            rationale.to_mut().push_str(remark);
        }
    }
    let origin = match ours.origin {
        Origin::Prompt => "prompt",
        Origin::Enhancement => "enhancement",
        Origin::Refinement => "refinement",
        Origin::HealthCheck => "health_check",
    };
    set(document, "id", &ours.id);
    set(document, "origin", origin);
    let started = Instant::now();
    let hash = NoteHash::of(&mut Canonicalizer::new(), document);
    *canonicalization = started.elapsed();
    match hash {
        Ok(hash) => set(document, "hash", &hash.to_string()),
        Err(error) => return Err(vec![fault("", format!("has no canonical form: {error}"))]),
    }
    verify_as(&Facts::default(), document).map_err(|report| Finding::of_report(&report))
}

fn member<'v, 'a>(value: &'v mut Value<'a>, name: &str) -> Option<&'v mut Value<'a>> {
    let Value::Object(members) = value else { return None };
    members.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// The model's own values there are dropped.
fn set(document: &mut Value<'_>, name: &'static str, text: &str) {
    let Value::Object(members) = document else { return };
    members.retain(|(key, _)| key != name);
    members.push((Cow::Borrowed(name), Value::String(Cow::Owned(text.to_owned()))));
}
