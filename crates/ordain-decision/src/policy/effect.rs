//! The key of an effect: by it, earlier rejections and unknown outcomes of the same thing are found. It can
//! warn, hold or block; it never joins, permits or covers.

use super::PolicySet;
use ordain_canon::{Canonicalizer, ContentHash, SHA256_PREFIX, Value};
use ordain_spec::action::{ActionType, field_value};
use serde::{Deserialize, Serialize};

/// The treatment of an action while the outcome of an equal one is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnUnknown {
    /// It cannot be done.
    Block,
    /// Approvers are told.
    Note,
}

/// The effect of a proposal, as far as it matters whether it was done before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectKey {
    /// 32 hexadecimal digits. Half of a hash is enough, since a collision can only warn or block.
    pub id: String,
    /// Whether nobody may do it again while its outcome is unknown.
    pub blocks: bool,
}

#[derive(Serialize)]
struct Covered<'a> {
    action_type: &'a str,
    domain: &'a str,
    resource_type: &'a str,
    resource_id: &'a str,
    parameters: Value<'a>,
}

impl PolicySet {
    /// The effect of a proposal: action type, target, and the parameters that `effects.toml` names, all of
    /// them where it names none. Actor, constraints and everything else make no other effect.
    pub fn effect_key(&self, proposal: &Value<'_>) -> EffectKey {
        const DIGITS: usize = 32;
        let text =
            |value: Option<&'_ Value<'_>>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let target = |field: &str| text(proposal.get("target").and_then(|target| target.get(field)));
        let action_type = text(proposal.get("action_type"));
        let (domain, resource_type) = (target("domain"), target("resource_type"));
        let action: Option<ActionType> = serde_json::from_value(action_type.clone().into()).ok();
        let row = action.and_then(|action| self.effects.of(action, &resource_type));
        let all = proposal.get("parameters").unwrap_or(&Value::Null);
        let named = row.and_then(|row| row.effect_parameters.as_ref());
        let parameters = match named {
            None => all.clone(),
            Some(names) => Value::Object(
                names
                    .iter()
                    .filter_map(|name| Some((name.clone().into(), field_value(all, name)?.clone())))
                    .collect(),
            ),
        };
        let covered = Covered {
            action_type: &action_type,
            domain: &domain,
            resource_type: &resource_type,
            resource_id: &target("resource_id"),
            parameters,
        };
        // A proposal without a canonical form could not be allowed.
        let hash = Canonicalizer::new()
            .value(&covered)
            .map(ContentHash::of)
            .unwrap_or_else(|_| ContentHash::of(b""));
        let id = hash.to_string().trim_start_matches(SHA256_PREFIX).chars().take(DIGITS).collect();
        let on_unknown = row.and_then(|row| row.on_unknown);
        let on_unknown = on_unknown.unwrap_or_else(|| by_default(action, &domain));
        EffectKey { id, blocks: on_unknown == OnUnknown::Block }
    }
}

/// Reading, and what stays in the workspace, can be done again. Whatever reaches others must not happen twice
/// by accident.
fn by_default(action: Option<ActionType>, domain: &str) -> OnUnknown {
    use ActionType::{
        Approve, Communicate, Create, Custom, Delete, Execute, Navigate, Read, Transact, Write,
    };
    match action {
        Some(Navigate | Read) => OnUnknown::Note,
        Some(Write | Create | Execute) if domain == "workspace" => OnUnknown::Note,
        Some(Write | Create | Execute | Communicate | Transact | Approve | Delete | Custom) | None => {
            OnUnknown::Block
        }
    }
}
