//! Facts that the caller knows and a document cannot contain: the time, the limits, the other documents.

use crate::kind::Kind;
use crate::limits::FRESHNESS_MS_DEFAULT;
use crate::profile::Profile;
use crate::statement::ApproverKeys;
use crate::verify::verify_value;
use ordain_canon::{BundleHash, Canonicalizer, DeriveError, DerivedId, Value};
use std::collections::BTreeMap;

/// The facts that rules may ask for. A rule whose fact is missing is not checked, but for two: evidence that is not
/// given does not exist (V-PROP-013), and without a profile the limits are those of `default` (PS7).
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The time, in milliseconds since 1970.
    pub now_ms: Option<i64>,
    /// The policy profile in force.
    pub profile: &'a Profile,
    /// The bundle that a plan proposal names as its source.
    pub bundle: Option<&'a SourceBundle>,
    /// The normalized intent that a bundle was made from.
    pub intent: Option<&'a Value<'a>>,
    /// The bundle that the transform makes of the intent today.
    pub recomputed: Option<&'a Value<'a>>,
    /// The evidence packets held.
    pub evidence: &'a [Value<'a>],
    /// How many approvers there are and how many a threshold asks for.
    pub approvers: Option<Approvers>,
    /// How old evidence may be. Bindings and sensors can only shorten it.
    pub freshness_ms: i64,
    /// The sensors that the policy knows, by id.
    pub sensors: Option<&'a BTreeMap<String, Sensor>>,
    /// The keys of approvers, where signatures of approvals are to be checked.
    pub approver_keys: Option<&'a ApproverKeys>,
    /// The evidence fields that preconditions name.
    pub fields: &'a [String],
    /// How long the document's text is.
    pub document_bytes: usize,
}

impl Default for Facts<'_> {
    fn default() -> Self {
        Self {
            now_ms: None,
            profile: Profile::default_profile(),
            bundle: None,
            intent: None,
            recomputed: None,
            evidence: &[],
            approvers: None,
            freshness_ms: FRESHNESS_MS_DEFAULT,
            sensors: None,
            approver_keys: None,
            fields: &[],
            document_bytes: 0,
        }
    }
}

/// The bundle that a plan proposal comes from: what its content says, worked out once for any number of plans.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceBundle {
    /// The id that its content gives; its own word is not trusted.
    pub(crate) id: String,
    /// As a plan names it.
    pub(crate) hash: String,
    pub(crate) complete: bool,
    /// Whether it brings files, which a plan has to write.
    pub(crate) brings_files: bool,
    /// The first thing that is wrong with it.
    pub(crate) problem: Option<String>,
}

impl SourceBundle {
    /// The reference to a bundle's document. An invalid one still has an id and a hash, and the reference
    /// says that it is invalid.
    pub fn of(bundle: &Value<'_>) -> Result<Self, DeriveError> {
        let mut canon = Canonicalizer::new();
        let report = verify_value(Kind::Bundle, &Facts::default(), bundle);
        let problem = report.violations().first();
        Ok(Self {
            id: DerivedId::Bundle.of(&mut canon, bundle)?,
            hash: BundleHash::of(&mut canon, bundle)?.prefixed(),
            brings_files: brings_files(bundle),
            complete: bundle.get("status").and_then(Value::as_str) == Some("complete"),
            problem: problem.map(|it| format!("{} at `{}`: {}", it.rule, it.path, it.message)),
        })
    }
}

fn brings_files(bundle: &Value<'_>) -> bool {
    let outputs = bundle.get("outputs").and_then(Value::as_array).unwrap_or_default();
    outputs.iter().any(|output| output.get("type").and_then(Value::as_str) == Some("file"))
}

/// The people who could approve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Approvers {
    /// Approvers that the policy names, without the actor.
    pub eligible: u64,
    /// Approvals that the class `threshold` asks for.
    pub threshold: u64,
}

/// A sensor that the policy knows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sensor {
    /// Its Ed25519 key, base64url without padding.
    pub public_key: Option<String>,
    /// Whether its packets must be signed.
    pub signature_required: bool,
    /// How old its packets may be, at most; it can only shorten [`Facts::freshness_ms`].
    pub freshness_ms: Option<i64>,
}
