//! The names of the person and the agent that a project starts with.

use crate::exit::Failure;
use ordain_spec::{is_invisible, name};
use serde_json::json;

/// The names that the starters are written with.
const EXAMPLE_PERSON: &str = "olga";
pub(super) const EXAMPLE_AGENT: &str = "agent-1";
/// The other people of the team's starter.
const EXAMPLE_PEOPLE: [&str; 7] = ["alice", "alice-oncall", "Alice-Oncall", "bob", "carol", "dora", "emil"];
/// The name in the starters for the user who runs `init`.
const USER_PLACE: &str = "@OS_USER@";

/// The people and agents that a project starts with.
pub(crate) struct Names {
    /// The user of the operating system.
    pub(crate) user: String,
    /// The person, as the gate names them.
    pub(crate) me: Option<String>,
    /// Their agent.
    pub(crate) agent: Option<String>,
}

impl Names {
    /// Checks the names, and that they differ.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for (option, name) in [("--me", &self.me), ("--agent", &self.agent)] {
            if let Some(name) = name {
                check(option, name)?;
            }
        }
        let me = self.me.as_deref().unwrap_or(&self.user);
        if Some(me) == self.agent.as_deref() || (me == EXAMPLE_AGENT && self.agent.is_none()) {
            let failure = Failure::Usage(format!("`{me}` cannot name a person and an agent at once"));
            return Err(failure.with_hint("give the agent a name of its own, as in `--agent claude`"));
        }
        Ok(())
    }

    /// A file of a starter with these names. Example people who have one of them get another one.
    pub(super) fn put_into(&self, text: &str) -> String {
        let quoted = |name: &str| json!(name).to_string();
        let mut pairs = vec![(quoted(EXAMPLE_AGENT), self.agent.clone())];
        pairs.push((quoted(EXAMPLE_PERSON), self.me.clone()));
        for example in EXAMPLE_PEOPLE {
            // Policies refuse two names that look alike.
            let same = |name: &Option<String>| {
                name.as_ref().is_some_and(|it| it.to_lowercase() == example.to_lowercase())
            };
            let taken = [&self.me, &self.agent].into_iter().any(same);
            pairs.push((quoted(example), taken.then(|| format!("{example}-example"))));
        }
        // A person is who they are on this machine where nothing else was said.
        let place = quoted(USER_PLACE);
        let (user, me) = (quoted(&self.user), quoted(self.me.as_deref().unwrap_or(&self.user)));
        // All at once: a new name may be one of the examples.
        let mut written = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('"') {
            let (before, from) = rest.split_at(start);
            written.push_str(before);
            let pair = pairs.iter().find(|(old, _)| from.starts_with(old.as_str()));
            let (old, new) = match pair {
                _ if from.starts_with(&place) => {
                    let is_user = written.ends_with("\"os_user\": ");
                    (place.as_str(), Some(if is_user { user.clone() } else { me.clone() }))
                }
                Some((old, new)) => (old.as_str(), new.as_ref().map(|new| quoted(new))),
                None => ("\"", None),
            };
            written.push_str(new.as_deref().unwrap_or(old));
            rest = from.get(old.len()..).unwrap_or_default();
        }
        written.push_str(rest);
        written
    }
}

fn check(option: &str, name: &str) -> Result<(), Failure> {
    let fault = match name::violation(name) {
        Some(violation) => Some(violation.to_string()),
        None if name.trim() != name => Some("begins or ends with a space".to_owned()),
        None if name.contains(is_invisible) => Some("has an invisible character".to_owned()),
        None => None,
    };
    match fault {
        Some(fault) => {
            let failure = Failure::Usage(format!("the name of `{option}` {fault}"));
            Err(failure.with_hint(format!("use letters, digits and dashes, as in `{option} agent-7`")))
        }
        None => Ok(()),
    }
}
