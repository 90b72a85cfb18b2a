//! The policies of a case.

use super::conditions;
use super::folder::{ACTIONS, ACTORS, Aim, DOMAINS, GROUPS, RESOURCE_TYPES, World};
use super::rng::Rng;
use std::collections::BTreeSet;
use std::fmt::Write;

pub(super) fn write(rng: &mut Rng, world: &mut World) {
    let most = if rng.chance(70) { 6 } else { 12 };
    let count = 1 + rng.below(most);
    let mut files = [String::new(), String::new()];
    for number in 0..count {
        // The first is broad, so that most folders permit something.
        let broad = number == 0 && rng.chance(85);
        let permits = number == 0 || rng.chance(60);
        let (scope, aim) = scope(rng, world, broad);
        let mut text = String::new();
        let _ = writeln!(text, "@id(\"p{number}\")");
        if permits {
            annotations(rng, world, &mut text);
            world.aims.push(aim);
        }
        if rng.chance(10) {
            let _ = writeln!(text, "@reason(\"because of rule {number}\")");
        }
        if rng.chance(5) {
            let _ = writeln!(text, "@x_owner(\"ops\")");
        }
        let _ = write!(text, "{} ({scope})", if permits { "permit" } else { "forbid" });
        conditions::write(rng, world, permits, broad, &mut text);
        let file = usize::from(rng.chance(40));
        if let Some(file) = files.get_mut(file) {
            let _ = writeln!(file, "{text};\n");
        }
    }
    for (name, text) in ["main.cedar", "more.cedar"].iter().zip(files) {
        if !text.is_empty() {
            world.files.insert((*name).into(), text);
        }
    }
}

fn annotations(rng: &mut Rng, world: &World, text: &mut String) {
    let (approval, number) = *rng.pick(&[
        ("", 0),
        ("", 0),
        ("", 0),
        ("none", 0),
        ("single", 1),
        ("single", 1),
        ("dual", 2),
        ("threshold:1", 1),
        ("threshold:2", 2),
        ("threshold:3", 3),
    ]);
    let named =
        rng.some(&["managers", "heads", "auditors", "dana", "kim", "lee", "agents", "sam", "robin"], 35);
    let persons: BTreeSet<&str> = world
        .actors
        .iter()
        .filter(|(id, groups, _)| named.iter().any(|name| *name == id || groups.contains(*name)))
        .map(|(_, _, person)| *person)
        .collect();
    let names: Vec<&str> = named.into_iter().copied().collect();
    if !names.is_empty() && persons.len() >= number {
        let comma = *rng.pick(&[",", ", "]);
        let _ = writeln!(text, "@approvers(\"{}\")", names.join(comma));
        if !approval.is_empty() {
            let _ = writeln!(text, "@approval(\"{approval}\")");
            if number > 0 {
                assurance(text);
            }
        }
    }
    if rng.chance(12) {
        let _ =
            writeln!(text, "@effects(\"{}\")", rng.pick(&["audit_log", "mail,webhook", "audit_log, mail"]));
    }
    if rng.chance(10) {
        let _ = writeln!(text, "@max_executions(\"{}\")", rng.pick(&[1, 3, 1_000_000]));
    }
}

/// Drawn from a stream of its own, which leaves the rest of the folder as it is.
fn assurance(text: &mut String) {
    let mut rng = Rng::new(text.len() as u64, 3);
    let name = *rng.pick(&["", "", "", "local", "login", "recent", "presence"]);
    if !name.is_empty() {
        let _ = writeln!(text, "@assurance(\"{name}\")");
    }
}

fn scope(rng: &mut Rng, world: &World, broad: bool) -> (String, Aim) {
    let all_actors = || ACTORS.map(|(id, ..)| id).to_vec();
    let (principal, actors) = match rng.below(if broad { 4 } else { 8 }) {
        0 | 1 => ("principal".to_owned(), all_actors()),
        2 => ("principal is Actor".to_owned(), all_actors()),
        3 | 4 => {
            let group = rng.pick(&GROUPS).0;
            let members = world.actors.iter().filter(|(_, groups, _)| groups.contains(&group));
            (format!("principal in Group::\"{group}\""), members.map(|(id, ..)| *id).collect())
        }
        5 => {
            let actor = rng.pick(&ACTORS).0;
            (format!("principal == Actor::\"{actor}\""), vec![actor])
        }
        6 => {
            let members = world.actors.iter().filter(|(_, groups, _)| groups.contains(&"agents"));
            ("principal is Actor in Group::\"agents\"".to_owned(), members.map(|(id, ..)| *id).collect())
        }
        _ => ("principal in Actor::\"agent-1\"".to_owned(), vec!["agent-1"]),
    };
    let (action, actions) = action(rng, broad);
    let (resource, types, domains) = resource(rng, broad);
    (format!("{principal}, {action}, {resource}"), Aim { actors, actions, types, domains })
}

fn action(rng: &mut Rng, broad: bool) -> (String, Vec<&'static str>) {
    let groups: [(&str, &[&'static str]); 5] = [
        ("any", &ACTIONS),
        ("effect", &["write", "create", "delete", "communicate", "transact", "execute", "approve", "custom"]),
        ("observe", &["navigate", "read"]),
        ("modify", &["write", "create", "delete"]),
        ("external", &["communicate", "transact"]),
    ];
    match rng.below(if broad { 4 } else { 7 }) {
        0 | 1 => ("action".to_owned(), ACTIONS.to_vec()),
        2 | 3 => {
            let (group, members) = *rng.pick(&groups);
            (format!("action in Action::\"{group}\""), members.to_vec())
        }
        4 => {
            let one = *rng.pick(&ACTIONS);
            (format!("action == Action::\"{one}\""), vec![one])
        }
        5 => (
            "action in [Action::\"write\", Action::\"create\", Action::\"read\"]".to_owned(),
            vec!["write", "create", "read"],
        ),
        _ => (
            "action in [Action::\"transact\", Action::\"observe\"]".to_owned(),
            vec!["transact", "navigate", "read"],
        ),
    }
}

fn resource(rng: &mut Rng, broad: bool) -> (String, Vec<&'static str>, Vec<&'static str>) {
    let all_types = || RESOURCE_TYPES.to_vec();
    let all_domains = || DOMAINS.map(|(name, _)| name).to_vec();
    match rng.below(if broad { 4 } else { 8 }) {
        0 | 1 => ("resource".to_owned(), all_types(), all_domains()),
        2 | 5 => {
            let domain = rng.pick(&DOMAINS).0;
            let below = |name: &str| match domain {
                "internal" => matches!(name, "internal" | "example.com" | "crm.example.com" | "workspace"),
                "example.com" => matches!(name, "example.com" | "crm.example.com"),
                other => name == other,
            };
            let domains = DOMAINS.iter().map(|(name, _)| *name).filter(|name| below(name)).collect();
            (format!("resource in Domain::\"{domain}\""), all_types(), domains)
        }
        3 | 4 => {
            let kind = *rng.pick(&RESOURCE_TYPES);
            (format!("resource in ResourceType::\"{kind}\""), vec![kind], all_domains())
        }
        6 => (
            "resource is Resource in Domain::\"workspace\"".to_owned(),
            vec!["file", "patch_set"],
            vec!["workspace"],
        ),
        _ => (
            "resource == Resource::\"example.com/ticket/ticket-1\"".to_owned(),
            vec!["ticket"],
            vec!["example.com"],
        ),
    }
}
