//! `facts.json` of a vector.

use ordain_canon::Value;
use ordain_spec::profile::Profile;
use ordain_spec::{Approvers, Facts, Sensor};

/// The facts that a vector states.
///
/// # Panics
///
/// When the file has a member that is not a fact: a typing mistake must not pass as "no fact".
#[expect(clippy::panic, clippy::expect_used, reason = "for tests")]
pub fn facts_of<'a>(file: &Value<'a>) -> Facts<'a> {
    let mut facts = Facts::default();
    for (name, value) in file.as_object().expect("facts.json is an object") {
        match &**name {
            "now_ms" => facts.now_ms = value.as_integer(),
            "freshness_ms" => facts.freshness_ms = value.as_integer().expect("an integer"),
            "profile" => {
                facts.profile = match value {
                    Value::String(name) => Profile::built_in(name).expect("a built-in profile"),
                    other => other.to_typed().expect("a profile"),
                };
            }
            "bundle" => facts.bundle = Some(value.clone()),
            "recomputed" => facts.recomputed = Some(value.clone()),
            "evidence" => facts.evidence = value.as_array().expect("an array").to_vec(),
            "fields" => facts.fields = value.to_typed().expect("an array of strings"),
            "approvers" => {
                let number =
                    |name| value.get(name).and_then(Value::as_integer).and_then(|it| u64::try_from(it).ok());
                facts.approvers = Some(Approvers {
                    eligible: number("eligible").expect("eligible"),
                    threshold: number("threshold").expect("threshold"),
                });
            }
            "sensors" => {
                let sensor = |value: &Value<'_>| Sensor {
                    public_key: value.get("public_key").and_then(Value::as_str).map(str::to_owned),
                    signature_required: value
                        .get("signature_required")
                        .and_then(Value::as_bool)
                        .unwrap_or_default(),
                };
                let sensors = value.as_object().expect("an object");
                facts.sensors =
                    Some(sensors.iter().map(|(id, value)| (id.to_string(), sensor(value))).collect());
            }
            other => panic!("`{other}` is not a fact"),
        }
    }
    facts
}
