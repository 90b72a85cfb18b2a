//! `mcp.toml`: how the tools of MCP servers are treated; and which tools the policies could ever permit.

use super::names::Known;
use super::people::{actor_uid, domain_uid, resource_type_uid};
use super::problem::{Problem, Problems};
use super::schema::action_name;
use super::statement::Scope;
use super::{PolicySet, tables};
use cedar_policy::Effect;
use ordain_spec::action::{ANY_TOOL, ActionType};
use ordain_spec::mcp::{PinMode, is_server_name};
use serde::Deserialize;
use std::collections::BTreeMap;

pub(crate) const FILE: &str = "mcp.toml";

/// The servers, by name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Servers {
    /// For servers without an entry.
    #[serde(default)]
    pin: PinMode,
    #[serde(default)]
    servers: BTreeMap<String, Server>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    pin: PinMode,
}

impl Servers {
    pub(crate) fn load(text: Option<&str>, problems: &mut Problems) -> Self {
        let servers: Self = tables::read(FILE, text, problems).unwrap_or_default();
        for name in servers.servers.keys().filter(|name| !is_server_name(name)) {
            problems.push(Problem::error(FILE, format!("`{name}` cannot name a server")));
        }
        servers
    }
}

impl PolicySet {
    /// How the tools of a server are treated.
    pub fn pin_mode(&self, server: &str) -> PinMode {
        self.servers.servers.get(server).map_or(self.servers.pin, |server| server.pin)
    }

    /// Whether some call of a tool could be permitted to an actor. Conditions are not asked.
    pub fn could_permit(&self, actor: &str, tool: &str) -> bool {
        let Some(mapping) = self.tools.get(tool).or_else(|| self.tools.get(ANY_TOOL)) else { return false };
        // A command is judged by its effects, and a patch set by its paths.
        if mapping.action_type == ActionType::Execute && mapping.resource_type == "shell" {
            return true;
        }
        let fixed = |text: &String| (!text.contains('{')).then(|| text.clone());
        let (kind, domain) = (fixed(&mapping.resource_type), fixed(&mapping.domain));
        if kind.is_none() || kind.as_deref() == Some("patch_set") {
            return true;
        }
        let principal = actor_uid(actor);
        let groups = self.people.groups_of(actor);
        let domains = domain.as_ref().map(|domain| self.people.domains_of(domain));
        let action = action_name(mapping.action_type);
        self.statements.iter().filter(|statement| statement.effect == Effect::Permit).any(|statement| {
            let reaches = match (&statement.resource, &domains) {
                (Scope::Never, _) => false,
                (Scope::In(uid), Some(domains)) if uid.type_name() == domain_uid("").type_name() => {
                    domains.contains(uid)
                }
                (Scope::In(uid), _) if uid.type_name() == resource_type_uid("").type_name() => {
                    kind.as_deref().is_some_and(|kind| *uid == resource_type_uid(kind))
                }
                _ => true,
            };
            reaches && statement.actions.contains(&action) && statement.principal.fits(&principal, groups)
        })
    }
}

/// The names that could be taken for another one, and that one. The plainer of two is the known one.
pub fn look_alikes<'n>(names: impl Iterator<Item = &'n str>) -> BTreeMap<String, String> {
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| (!name.is_ascii(), name.contains(char::is_uppercase), *name));
    let mut known = Known::default();
    let mut found = BTreeMap::new();
    for name in names {
        if let Some(other) = known.like(name) {
            found.insert(name.to_owned(), other.to_owned());
        } else {
            known.insert(name);
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use crate::PolicyFiles;

    fn set(files: &[(&str, &str)]) -> PolicySet {
        let files: PolicyFiles =
            files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        PolicySet::load(&files).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    #[test]
    fn modes_have_a_default_and_are_checked() {
        assert_eq!(set(&[]).pin_mode("a"), PinMode::Review);
        let set = set(&[(FILE, "pin = \"first-use\"\n[servers.a]\npin = \"off\"\n")]);
        assert_eq!((set.pin_mode("a"), set.pin_mode("b")), (PinMode::Off, PinMode::FirstUse));
        for wrong in ["pin = \"no\"", "[servers.\"a.b\"]\npin = \"off\"", "[servers.a]", "other = 1"] {
            let files = PolicyFiles::from([(FILE.to_owned(), wrong.to_owned())]);
            assert!(PolicySet::load(&files).is_err(), "{wrong}");
        }
    }

    #[test]
    fn tools_that_nothing_permits_are_known() {
        let row = |name: &str, kind: &str, domain: &str| {
            format!(
                "[\"mcp.s.{name}\"]\naction_type = \"write\"\nresource_type = \"{kind}\"\nresource_id = \"{{id}}\"\ndomain = \"{domain}\"\n"
            )
        };
        let tools = [
            row("a", "note", "crm"),
            row("b", "note", "mail"),
            row("c", "file", "crm"),
            row("d", "note", "{d}"),
        ];
        let policy = "@id(\"p\") permit(principal == Actor::\"bot\", action == Action::\"write\", resource in Domain::\"crm\");\n\
            @id(\"q\") permit(principal, action == Action::\"write\", resource in ResourceType::\"file\");";
        let entities = r#"[{"uid": {"type": "Domain", "id": "crm"}, "attrs": {}, "parents": []}, {"uid": {"type": "Actor", "id": "bot"}, "attrs": {}, "parents": []}]"#;
        let set = set(&[("tools.toml", &tools.concat()), ("p.cedar", policy), ("entities.json", entities)]);
        let could = |actor: &str| {
            ["a", "b", "c", "d", "e"].map(|tool| set.could_permit(actor, &format!("mcp.s.{tool}")))
        };
        assert_eq!(could("bot"), [true, false, true, true, false]);
        assert_eq!(could("eve"), [false, false, true, false, false]);
    }

    #[test]
    fn look_alikes_are_found() {
        let found = look_alikes(["re\u{430}d", "read", "Read", "write"].into_iter());
        let expected = [("Read", "read"), ("re\u{430}d", "read")];
        assert_eq!(found, expected.map(|(name, other)| (name.to_owned(), other.to_owned())).into());
    }
}
