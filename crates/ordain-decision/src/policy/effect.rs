//! The key of an effect: by it, earlier rejections and unknown outcomes of the same thing are found. It can
//! warn, hold or block; it never joins, permits or covers.

use super::PolicySet;
use super::schema::action_name;
use crate::judge::ShellEffects;
use ordain_canon::{Canonicalizer, ContentHash, SHA256_PREFIX, Value};
use ordain_shell::{Effect, EffectKind, Identity};
use ordain_spec::action::{ActionType, field_value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// The parts that two proposals have in common if they do the same.
#[derive(Serialize)]
struct Covered<'a> {
    action_type: &'a str,
    domain: &'a str,
    resource_type: &'a str,
    resource_id: &'a str,
    parameters: Value<'a>,
    /// The effect of a shell command.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<&'static str>,
    /// The workspace, where the resource is another one in each.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a str>,
    /// The command and its folder, where the effect can be anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<[Value<'a>; 2]>,
}

impl Covered<'_> {
    /// Half of its hash.
    fn id(&self) -> String {
        const DIGITS: usize = 32;
        // A proposal without a canonical form could not be allowed.
        let hash =
            Canonicalizer::new().value(self).map(ContentHash::of).unwrap_or_else(|_| ContentHash::of(b""));
        hash.to_string().trim_start_matches(SHA256_PREFIX).chars().take(DIGITS).collect()
    }
}

impl PolicySet {
    /// The effects of a proposal, by their ids, each once. There is one, except for a shell command: `shell` has its
    /// effects as they were derived.
    pub fn effect_keys(&self, proposal: &Value<'_>, shell: Option<&ShellEffects>) -> Vec<EffectKey> {
        let Some(shell) = shell else { return vec![self.effect_key(proposal)] };
        let harmless = |effect: &&Effect| effect.effect == EffectKind::Harmless;
        let is_harmless = shell.effects.iter().all(|effect| harmless(&effect));
        let effects = shell.effects.iter().filter(|effect| is_harmless || !harmless(effect));
        let keys = effects.map(|effect| self.shell_key(proposal, shell, effect));
        // A command without effects is denied.
        let keys: BTreeMap<String, bool> = keys.map(|key| (key.id, key.blocks)).collect();
        keys.into_iter().map(|(id, blocks)| EffectKey { id, blocks }).collect()
    }

    /// The effect of a proposal: action type, target, and the parameters that `effects.toml` names, all of
    /// them where it names none. Actor, constraints and everything else make no other effect.
    fn effect_key(&self, proposal: &Value<'_>) -> EffectKey {
        let text =
            |value: Option<&'_ Value<'_>>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let target = |field: &str| text(proposal.get("target").and_then(|target| target.get(field)));
        let action_type = text(proposal.get("action_type"));
        let (domain, resource_type) = (target("domain"), target("resource_type"));
        let action: Option<ActionType> = serde_json::from_value(action_type.clone().into()).ok();
        let row = action.and_then(|action| self.effects.of(action, &resource_type));
        let all = proposal.get("parameters").unwrap_or(&Value::Null);
        let names = row.and_then(|row| row.effect_parameters.as_ref());
        let covered = Covered {
            action_type: &action_type,
            domain: &domain,
            resource_type: &resource_type,
            resource_id: &target("resource_id"),
            parameters: names.map_or_else(|| all.clone(), |names| named(all, names)),
            effect: None,
            workspace: None,
            command: None,
        };
        let on_unknown = row.and_then(|row| row.on_unknown);
        let on_unknown = on_unknown.unwrap_or_else(|| by_default(action, &domain));
        EffectKey { id: covered.id(), blocks: on_unknown == OnUnknown::Block }
    }

    /// One effect of a shell command: what is done to which thing, and no more of the command than `effects.toml`
    /// names. An effect that can be anything is that of the whole command.
    fn shell_key(&self, proposal: &Value<'_>, shell: &ShellEffects, effect: &Effect) -> EffectKey {
        let row = self.effects.of_shell(effect);
        let all = proposal.get("parameters").unwrap_or(&Value::Null);
        let parameter = |name: &str| all.get(name).cloned().unwrap_or(Value::Null);
        let identity = effect.identity();
        let command = identity.is_none().then(|| [parameter("command"), parameter("cwd")]);
        let anything =
            || Identity { domain: effect.domain.clone(), resource_id: String::new(), of_workspace: true };
        let Identity { domain, resource_id, of_workspace } = identity.unwrap_or_else(anything);
        let names = row.and_then(|row| row.effect_parameters.as_deref()).unwrap_or_default();
        let covered = Covered {
            action_type: action_name(ActionType::Execute),
            domain: &domain,
            resource_type: &effect.resource_type,
            resource_id: &resource_id,
            parameters: named(all, names),
            effect: Some(effect.effect.name()),
            workspace: shell.workspace.as_deref().filter(|_| of_workspace),
            command,
        };
        let on_unknown = row.and_then(|row| row.on_unknown).unwrap_or_else(|| by_kind(effect));
        EffectKey { id: covered.id(), blocks: on_unknown == OnUnknown::Block }
    }
}

/// The parameters that make it another effect.
fn named<'v>(all: &'v Value<'v>, names: &[String]) -> Value<'v> {
    let named = |name: &String| Some((name.clone().into(), field_value(all, name)?.clone()));
    Value::Object(names.iter().filter_map(named).collect())
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

/// The same for the effect of a shell command.
fn by_kind(effect: &Effect) -> OnUnknown {
    use EffectKind::{
        Delete, GitPush, GitWrite, Harmless, Install, NetworkRead, NetworkWrite, Opaque, Privilege, Process,
        Publish, Read, RunsCode, Write,
    };
    match effect.effect {
        Harmless | Read | NetworkRead | Install | Process | RunsCode => OnUnknown::Note,
        Write if effect.domain == "workspace" => OnUnknown::Note,
        NetworkWrite if effect.domain == "loopback" => OnUnknown::Note,
        Write | Delete | NetworkWrite | GitWrite | GitPush | Publish | Privilege | Opaque => OnUnknown::Block,
    }
}
