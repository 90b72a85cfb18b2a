//! The tables of a policy folder: effects, sensors, tools, what to redact.

use super::effect::OnUnknown;
use super::problem::{Problem, Problems, line_at};
use super::schema::action_name;
use crate::judge::SHELL;
use ordain_shell::Effect;
use ordain_spec::Sensor;
use ordain_spec::action::{ActionType, RollbackStrategy, ToolMapping};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const EFFECTS: &str = "effects.toml";
pub(crate) const SENSORS: &str = "sensors.toml";
pub(crate) const TOOLS: &str = "tools.toml";
pub(crate) const REDACT: &str = "redact.toml";

/// The side effects of an action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionEffects {
    #[serde(default)]
    pub(crate) effects: Vec<String>,
    /// The way back where a proposal names none.
    pub(crate) rollback: Option<RollbackStrategy>,
    /// The parameters that make it another effect; all where none are named.
    pub(crate) effect_parameters: Option<Vec<String>>,
    /// The treatment of the same effect while an outcome is unknown.
    pub(crate) on_unknown: Option<OnUnknown>,
}

/// By action type, then by resource type.
#[derive(Debug, Default)]
pub(crate) struct Effects(BTreeMap<String, BTreeMap<String, ActionEffects>>);

/// Stands for any resource type.
const ANY: &str = "*";

impl Effects {
    pub(crate) fn load(text: Option<&str>, problems: &mut Problems) -> Self {
        let table: BTreeMap<String, BTreeMap<String, ActionEffects>> =
            read(EFFECTS, text, problems).unwrap_or_default();
        for action in
            table.keys().filter(|name| !super::schema::ACTIONS.iter().any(|(_, known, _)| known == name))
        {
            problems.push(Problem::error(EFFECTS, format!("`{action}` is not an action type")));
        }
        for (action, rows) in &table {
            for (kind, row) in rows {
                if row.on_unknown == Some(OnUnknown::Block) && row.effect_parameters.is_none() {
                    let message = format!(
                        "`[{action}.{kind}]` blocks on unknown outcomes and lacks `effect_parameters`, so one meaningless \
                         parameter more would pass it (`[]` means that the target alone makes the effect)"
                    );
                    problems.push(Problem::error(EFFECTS, message));
                }
            }
        }
        Self(table)
    }

    /// The resource types that have an entry.
    pub(crate) fn resource_types(&self) -> impl Iterator<Item = &String> {
        self.0.values().flat_map(BTreeMap::keys).filter(|name| *name != ANY)
    }

    /// The row of the table for an action on a resource type.
    pub(crate) fn of(&self, action: ActionType, resource_type: &str) -> Option<&ActionEffects> {
        let by_type = self.0.get(action_name(action))?;
        by_type.get(resource_type).or_else(|| by_type.get(ANY))
    }

    /// The row that says when an effect of a shell command is the same as another: of its kind, of its resource type,
    /// of all commands or of everything that is run, the first that says anything about it.
    pub(crate) fn of_shell(&self, effect: &Effect) -> Option<&ActionEffects> {
        let by_type = self.0.get(action_name(ActionType::Execute))?;
        let names = [effect.effect.name(), &effect.resource_type, SHELL, ANY];
        let mut rows = names.iter().filter_map(|name| by_type.get(*name));
        rows.find(|row| row.effect_parameters.is_some() || row.on_unknown.is_some())
    }
}

/// The sensors, and how old their evidence may be.
#[derive(Debug, Default)]
pub(crate) struct Sensors {
    pub(crate) freshness_ms: Option<i64>,
    pub(crate) by_id: BTreeMap<String, Sensor>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SensorsFile {
    freshness_ms: Option<i64>,
    #[serde(default)]
    sensors: BTreeMap<String, SensorEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SensorEntry {
    public_key: Option<String>,
    #[serde(default)]
    signature_required: bool,
    freshness_ms: Option<i64>,
}

impl Sensors {
    pub(crate) fn load(text: Option<&str>, problems: &mut Problems) -> Self {
        let file: SensorsFile = read(SENSORS, text, problems).unwrap_or_default();
        if file.freshness_ms.is_some_and(|limit_ms| limit_ms <= 0) {
            problems.push(Problem::error(SENSORS, "`freshness_ms` must be positive"));
        }
        let mut by_id = BTreeMap::new();
        for (id, entry) in file.sensors {
            if entry.freshness_ms.is_some_and(|limit_ms| limit_ms <= 0) {
                let message = format!("`freshness_ms` of the sensor `{id}` must be positive");
                problems.push(Problem::error(SENSORS, message));
            }
            if entry.signature_required && entry.public_key.is_none() {
                problems.push(Problem::error(
                    SENSORS,
                    format!("the sensor `{id}` must sign and has no `public_key`"),
                ));
            }
            if let Some(key) = &entry.public_key
                && crate::permit::PublicKey::parse(key).is_err()
            {
                problems.push(Problem::error(
                    SENSORS,
                    format!(
                        "the `public_key` of the sensor `{id}` is not an Ed25519 key in base64url without padding"
                    ),
                ));
            }
            let sensor = Sensor {
                public_key: entry.public_key,
                signature_required: entry.signature_required,
                freshness_ms: entry.freshness_ms,
            };
            by_id.insert(id, sensor);
        }
        Self { freshness_ms: file.freshness_ms, by_id }
    }
}

pub(crate) fn load_tools(text: Option<&str>, problems: &mut Problems) -> BTreeMap<String, ToolMapping> {
    read(TOOLS, text, problems).unwrap_or_default()
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RedactFile {
    fields: BTreeSet<String>,
}

pub(crate) fn load_redact(text: Option<&str>, problems: &mut Problems) -> BTreeSet<String> {
    read::<RedactFile>(REDACT, text, problems).unwrap_or_default().fields
}

pub(crate) fn read<T: DeserializeOwned>(
    file: &str,
    text: Option<&str>,
    problems: &mut Problems,
) -> Option<T> {
    let text = text?;
    match toml::from_str(text) {
        Ok(table) => Some(table),
        Err(error) => {
            let line = error.span().map(|span| line_at(text, span.start));
            problems.push(Problem::error(file, error.message().replace('\n', " ")).at(line));
            None
        }
    }
}
