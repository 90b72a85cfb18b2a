//! `facts.json` of a vector.

use ordain_canon::Value;
use ordain_spec::profile::Profile;
use ordain_spec::statement::ApproverKeys;
use ordain_spec::{Approvers, Facts, Sensor, SourceBundle};
use std::collections::BTreeMap;

/// The facts that a vector states, with what they refer to.
#[derive(Default)]
pub struct OwnedFacts<'a> {
    now_ms: Option<i64>,
    freshness_ms: Option<i64>,
    profile: Option<Profile>,
    bundle: Option<SourceBundle>,
    intent: Option<Value<'a>>,
    recomputed: Option<Value<'a>>,
    evidence: Vec<Value<'a>>,
    fields: Vec<String>,
    approvers: Option<Approvers>,
    sensors: Option<BTreeMap<String, Sensor>>,
    approver_keys: Option<ApproverKeys>,
}

impl<'a> OwnedFacts<'a> {
    /// From the content of the file.
    ///
    /// # Panics
    ///
    /// When the file has a member that is not a fact: a typing mistake must not pass as "no fact".
    #[expect(clippy::panic, clippy::expect_used, reason = "for tests")]
    pub fn of(file: &Value<'a>) -> Self {
        let mut facts = Self::default();
        for (name, value) in file.as_object().expect("facts.json is an object") {
            match &**name {
                "now_ms" => facts.now_ms = value.as_integer(),
                "freshness_ms" => facts.freshness_ms = value.as_integer(),
                "profile" => {
                    facts.profile = Some(match value {
                        Value::String(name) => Profile::built_in(name).expect("a built-in profile"),
                        other => other.to_typed().expect("a profile"),
                    });
                }
                "bundle" => facts.bundle = Some(SourceBundle::of(value).expect("a bundle")),
                "intent" => facts.intent = Some(value.clone()),
                "recomputed" => facts.recomputed = Some(value.clone()),
                "evidence" => facts.evidence = value.as_array().expect("an array").to_vec(),
                "fields" => facts.fields = value.to_typed().expect("an array of strings"),
                "approvers" => facts.approvers = Some(approvers(value).expect("eligible and threshold")),
                "sensors" => {
                    let sensors = value.as_object().expect("an object");
                    facts.sensors =
                        Some(sensors.iter().map(|(id, value)| (id.to_string(), sensor(value))).collect());
                }
                "approver_keys" => facts.approver_keys = Some(value.to_typed().expect("keys of approvers")),
                other => panic!("`{other}` is not a fact"),
            }
        }
        facts
    }

    /// As the verifier takes them.
    pub fn facts(&'a self) -> Facts<'a> {
        let none = Facts::default();
        Facts {
            now_ms: self.now_ms,
            freshness_ms: self.freshness_ms.unwrap_or(none.freshness_ms),
            profile: self.profile.as_ref().unwrap_or(none.profile),
            bundle: self.bundle.as_ref(),
            intent: self.intent.as_ref(),
            recomputed: self.recomputed.as_ref(),
            evidence: &self.evidence,
            fields: &self.fields,
            approvers: self.approvers,
            sensors: self.sensors.as_ref(),
            approver_keys: self.approver_keys.as_ref(),
            ..none
        }
    }
}

fn approvers(value: &Value<'_>) -> Option<Approvers> {
    let number = |name| u64::try_from(value.get(name)?.as_integer()?).ok();
    Some(Approvers { eligible: number("eligible")?, threshold: number("threshold")? })
}

fn sensor(value: &Value<'_>) -> Sensor {
    Sensor {
        public_key: value.get("public_key").and_then(Value::as_str).map(str::to_owned),
        signature_required: value.get("signature_required").and_then(Value::as_bool).unwrap_or_default(),
        freshness_ms: value.get("freshness_ms").and_then(Value::as_integer),
    }
}
