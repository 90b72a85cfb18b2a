//! The conditions of policies.

use super::folder::World;
use super::rng::Rng;
use std::fmt::Write;

/// Permits mostly have conditions that hold, and forbids ones that do not.
pub(super) fn write(rng: &mut Rng, world: &World, permits: bool, broad: bool, text: &mut String) {
    let count = match (permits, broad) {
        (true, true) => *rng.pick(&[0, 0, 0, 1]),
        (true, false) => *rng.pick(&[0, 1, 1, 2]),
        (false, _) => *rng.pick(&[1, 1, 2]),
    };
    for _ in 0..count {
        let word = if permits != rng.chance(20) { "when" } else { "unless" };
        // A forbid says what must hold, too: `unless` with something that mostly holds.
        let word = if permits { word } else { rng.pick(&["unless", "unless", "when"]) };
        let usually = (word == "when") == permits;
        let condition = one(rng, world, usually);
        let _ = write!(text, "\n{word} {{ {condition} }}");
    }
}

fn one(rng: &mut Rng, world: &World, usually: bool) -> String {
    match rng.below(11) {
        0 | 1 => approvals(rng, usually),
        2..=4 => parameter(rng, world, usually),
        5 => evidence(rng, usually),
        6 => envelope(rng, usually),
        7 => resource(rng, usually),
        8 => principal(rng, usually),
        9 => window(rng, usually),
        _ => rest(rng, world, usually),
    }
}

fn approvals(rng: &mut Rng, usually: bool) -> String {
    let list: &[&str] = match usually {
        true => &[
            "context.approvals >= 1",
            "context.approvals >= 2",
            "context.approvals < 3",
            "context.approvals != 1",
            "context.approval_class == \"none\" || context.approvals > 0",
            "if context.approvals == 0 then 9223372036854775807 + context.approvals + 1 > 0 else true",
        ],
        false => &[
            "context.approvals == 0 && context.approval_class == \"dual\"",
            "context.approvals > 3",
            "context.approvals == 1",
            "context.approvals + 9223372036854775806 < 0",
        ],
    };
    (*rng.pick(list)).to_owned()
}

/// Values come from the same few as those of the proposals.
fn parameter(rng: &mut Rng, world: &World, usually: bool) -> String {
    if world.parameters.is_empty() {
        return evidence(rng, usually);
    }
    let (name, kind, must) = *rng.pick(&world.parameters);
    let it = format!("context.parameters.{name}");
    let test = match (kind, usually) {
        ("Long", true) => rng.pick(&[" < 1000", " >= 0", " != 7", " * 3 < 100000"]).to_string(),
        ("Long", false) => rng
            .pick(&[" > 900", " == 7", " * 4611686018427387904 == 1", " + 9223372036854775800 < 0"])
            .to_string(),
        ("decimal", true) => ".lessThan(decimal(\"100.0\"))".to_owned(),
        ("decimal", false) => {
            rng.pick(&[".greaterThan(decimal(\"99.5\"))", " == decimal(\"0.1\")"]).to_string()
        }
        ("String", true) => rng.pick(&[" like \"*a*\"", " != \"beta\""]).to_string(),
        ("String", false) => rng.pick(&[" == \"beta\"", " like \"g*\""]).to_string(),
        ("Set<String>", true) => {
            rng.pick(&[".contains(\"red\")", ".containsAny([\"red\", \"blue\"])"]).to_string()
        }
        ("Set<String>", false) => rng.pick(&[".isEmpty()", ".contains(\"green\")"]).to_string(),
        ("Origin", true) => ".country == \"DE\"".to_owned(),
        ("Origin", false) => format!(" has code && {it}.code > 5"),
        ("datetime", true) => " > datetime(\"2020-01-01\")".to_owned(),
        ("datetime", false) => " > context.now".to_owned(),
        ("duration", true) => " < duration(\"2h\")".to_owned(),
        ("duration", false) => " > duration(\"1d\")".to_owned(),
        ("ipaddr", true) => ".isIpv4()".to_owned(),
        ("ipaddr", false) => ".isInRange(ip(\"192.168.0.0/16\"))".to_owned(),
        (_, true) => " == false".to_owned(),
        (_, false) => " == true".to_owned(),
    };
    match (must && world.parameters_of.len() == 10, usually) {
        (true, _) => format!("{it}{test}"),
        (false, true) => format!("if context.parameters has {name} then {it}{test} else true"),
        (false, false) => format!("context.parameters has {name} && {it}{test}"),
    }
}

fn evidence(rng: &mut Rng, usually: bool) -> String {
    let list: &[&str] = match usually {
        true => &[
            "context.evidence.preconditions_hold",
            "context.evidence.packets >= 1 || context.evidence.preconditions == 0",
            "context.evidence.packets < 3",
            "!context.evidence.types.contains(\"dom_snapshot\")",
        ],
        false => &[
            "context.evidence.packets == 0 && context.evidence.preconditions > 0",
            "context.evidence.signed",
            "context.evidence.sensors.contains(\"door\")",
            "!context.evidence.preconditions_hold",
        ],
    };
    (*rng.pick(list)).to_owned()
}

fn envelope(rng: &mut Rng, usually: bool) -> String {
    let list: &[&str] = match usually {
        true => &[
            "if context has envelope then context.envelope.max_affected_records <= 10 else true",
            "context has envelope && !context.envelope.forbidden_effects.contains(\"audit_log\")",
            "context.rollback != \"none\"",
        ],
        false => &[
            "context has envelope && context.envelope.max_affected_records > 10",
            "context has envelope && context.envelope.reversible_required && context.rollback == \"manual\"",
            "context.rollback == \"compensating_action\"",
            "!(context has envelope)",
        ],
    };
    (*rng.pick(list)).to_owned()
}

fn window(rng: &mut Rng, usually: bool) -> String {
    let list: &[&str] = match usually {
        true => &[
            "if context has window then context.window.max_duration_ms <= 1000 else true",
            "if context has window then context.window.valid_until_ms - context.window.valid_from_ms < 310000 else true",
        ],
        false => &[
            "context has window && context.window.valid_until_ms - context.window.valid_from_ms <= 300000",
            "context has window && context.window.valid_from_ms > 1705172000000",
            "context has window && context.window.max_duration_ms > 1000",
            "!(context has window)",
        ],
    };
    (*rng.pick(list)).to_owned()
}

fn resource(rng: &mut Rng, usually: bool) -> String {
    let list: &[&str] = match usually {
        true => &[
            "resource has path",
            "!(resource has folded && resource.folded like \"*.pem\")",
            "!(resource has path && resource.path like \"*.pem\")",
            "resource.id != \"ticket-9\"",
            "resource.domain like \"*e*\"",
        ],
        false => &[
            "resource has path && resource.path like \"src/*\"",
            "resource has folded && resource.folded like \"src/*\"",
            "resource has folded && resource.folded == \"docs/\u{e9}.md\"",
            "resource has path && resource has folded && resource.path != resource.folded",
            "resource.id like \"*-9\"",
            "resource.type == \"payment\" && resource.domain == \"example.com\"",
            "resource in Domain::\"bank/eu~1\"",
            "resource in ResourceType::\"Secrets\"",
        ],
    };
    (*rng.pick(list)).to_owned()
}

fn principal(rng: &mut Rng, usually: bool) -> String {
    let list: &[&str] = match usually {
        true => &[
            "if principal has attributes then principal.attributes has team else true",
            "!(principal in Group::\"auditors\")",
            "!(principal has attributes && principal.attributes has level && principal.attributes.level == 0)",
        ],
        false => &[
            "principal has attributes && principal.attributes has team && principal.attributes.team == \"ops\"",
            "principal has person && principal.person == \"kim\"",
            "principal == Actor::\"ghost\"",
            "principal in Group::\"auditors\"",
        ],
    };
    (*rng.pick(list)).to_owned()
}

fn rest(rng: &mut Rng, world: &World, usually: bool) -> String {
    if let (true, Some((name, kind, _))) = (rng.chance(60), world.constraints.first()) {
        let it = format!("context.constraints.{name}");
        let test = match *kind {
            "String" => " == \"eu\"".to_owned(),
            "Long" => " < 50".to_owned(),
            _ => ".contains(\"a\")".to_owned(),
        };
        return match usually {
            true => format!("if context.constraints has {name} then {it}{test} else true"),
            false => format!("context.constraints has {name} && !({it}{test})"),
        };
    }
    let list: &[&str] = match usually {
        true => {
            &["context.now > datetime(\"2024-01-01T00:00:00Z\")", "context.approval_class != \"threshold\""]
        }
        false => &["context.now > datetime(\"2030-01-01\")", "context.approval_class == \"single\""],
    };
    (*rng.pick(list)).to_owned()
}
