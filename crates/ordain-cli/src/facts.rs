//! The facts of `verify` besides the documents: the profile, the source bundle, the evidence.

use crate::commands::transform::transform_text;
use crate::exit::Failure;
use crate::input::{Source, Text, Unreadable};
use ordain_canon::{Canonicalizer, Value};
use ordain_kernel::Transformed;
use ordain_spec::profile::Profile;
use ordain_spec::statement::ApproverKeys;
use ordain_spec::{Facts, Kind, SourceBundle, Verified, verify_as};
use std::path::{Path, PathBuf};

/// A built-in profile, or one from a file, which must be valid itself.
pub(crate) fn load_profile(name: &str) -> Result<Profile, Failure> {
    if let Some(profile) = Profile::built_in(name) {
        return Ok(profile);
    }
    let path = PathBuf::from(name);
    if !path.exists() {
        let names = Profile::BUILT_IN.join(", ");
        let problem = format!("no profile and no file is called `{name}`");
        return Err(Failure::Usage(problem).with_hint(format!("the built-in profiles are {names}")));
    }
    let text = Source::of(&path).text()?;
    let value = read_fact(&path, &text)?;
    verify_as::<Profile>(&Facts::default(), &value).map(Verified::into_inner).map_err(|report| {
        let problems: Vec<_> = report
            .violations()
            .iter()
            .map(|it| format!("{} at `{}`: {}", it.rule, it.path, it.message))
            .collect();
        Failure::Document {
            path: name.to_owned(),
            problem: format!("not a valid profile: {}", problems.join("; ")),
        }
    })
}

/// The bundle that plans come from.
pub(crate) fn load_bundle(path: &Path) -> Result<SourceBundle, Failure> {
    let text = Source::of(path).text()?;
    SourceBundle::of(&read_fact(path, &text)?).map_err(|error| refused(path, error.to_string()))
}

/// The bundle that the transform makes from an intent today, as canonical text.
pub(crate) fn recompute(path: &Path, text: &Text) -> Result<Vec<u8>, Failure> {
    match transform_text(text) {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => {
            Ok(Canonicalizer::new().value(&bundle)?.to_vec())
        }
        Transformed::Refuse(refusal) => Err(refused(path, format!("the intent is refused: {refusal}"))),
    }
}

/// The keys of approvers, as a gate lists them.
pub(crate) fn load_approver_keys(path: &Path) -> Result<ApproverKeys, Failure> {
    let text = Source::of(path).text()?;
    let list = read_fact(path, &text)?;
    let keys = list.get("keys").ok_or_else(|| refused(path, "has no member `keys`".to_owned()))?;
    let keys = keys.to_typed().map_err(|error| refused(path, error.to_string()))?;
    Ok(ApproverKeys { keys })
}

/// The evidence packets of a file: one, or an array of them.
pub(crate) fn read_packets<'t>(path: &Path, text: &'t Text) -> Result<Vec<Value<'t>>, Failure> {
    let packets = match read_fact(path, text)? {
        Value::Array(packets) => packets,
        packet => vec![packet],
    };
    // A damaged packet is reported where a proposal refers to it; another kind of document is a mistake.
    let other = packets.iter().find_map(|packet| match Kind::recognise(packet) {
        Ok(Kind::Packet) => None,
        Ok(kind) => Some(kind.title()),
        Err(_) => packet.as_object().is_none().then(|| packet.kind()),
    });
    match other {
        Some(other) => {
            Err(refused(path, format!("expected an evidence packet or an array of them, found {other}")))
        }
        None => Ok(packets),
    }
}

fn refused(path: &Path, problem: String) -> Failure {
    Failure::Document { path: path.display().to_string(), problem }
}

fn read_fact<'t>(path: &Path, text: &'t Text) -> Result<Value<'t>, Failure> {
    let problem =
        |wrong: Unreadable| Failure::Parse { path: path.display().to_string(), problem: wrong.message };
    text.read(&text.json).map_err(problem)
}
