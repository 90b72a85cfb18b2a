//! Commands and their effects, as people judged them.

#![allow(clippy::panic, reason = "a test may fail loudly")]

use ordain_shell::{Effect, EffectKind, Place, VERSION, analyse};
use std::collections::BTreeSet;

struct Line<'t> {
    source: &'t str,
    expected: Vec<(&'t str, Option<&'t str>)>,
    command: String,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut columns = line.splitn(3, '\t');
            let mut next = || columns.next().unwrap_or_else(|| panic!("three columns: {line}"));
            let (source, expected, command) = (next(), next(), next());
            let expected = expected.split("; ").map(|effect| match effect.split_once(' ') {
                Some((kind, resource)) => (kind, Some(resource)),
                None => (effect, None),
            });
            Line { source, expected: expected.collect(), command: command.replace('␊', "\n") }
        })
        .collect()
}

static ORDINARY: &str = include_str!("data/ordinary.tsv");
static EVASIONS: &str = include_str!("data/evasions.tsv");

fn effects(command: &str) -> Vec<Effect> {
    let place = Place { workspace: Some("/w"), cwd: ".", home: None };
    analyse(command, &place).effects
}

/// The mistakes in the effects of a line.
fn difference(line: &Line<'_>) -> Option<String> {
    let found = effects(&line.command);
    let mut kinds: BTreeSet<&str> = found.iter().map(|effect| effect.effect.name()).collect();
    if kinds.len() > 1 {
        kinds.remove("harmless");
    }
    let wanted: BTreeSet<&str> = line.expected.iter().map(|(kind, _)| *kind).collect();
    let has = |(kind, resource): &(&str, Option<&str>)| {
        let fits = |effect: &Effect| {
            effect.effect.name() == *kind && resource.is_none_or(|resource| effect.resource_id == resource)
        };
        found.iter().any(fits)
    };
    if kinds == wanted && line.expected.iter().all(has) {
        return None;
    }
    let shown: Vec<String> =
        found.iter().map(|effect| format!("{} {}", effect.effect.name(), effect.resource_id)).collect();
    Some(format!("{:?}\n  judged {:?}\n  found  {shown:?}", line.command, line.expected))
}

fn check(text: &str) {
    let wrong: Vec<String> = lines(text).iter().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{} commands differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn ordinary_commands_do_what_people_say() {
    check(ORDINARY);
}

#[test]
fn evasions_do_what_people_say() {
    check(EVASIONS);
}

#[test]
fn the_corpora_are_large_and_mostly_written_by_others() {
    let ordinary = lines(ORDINARY);
    let others = ordinary.iter().filter(|line| line.source != "written here").count();
    assert!(ordinary.len() >= 300 && others >= 200, "{} commands, {others} of others", ordinary.len());
    assert!(lines(EVASIONS).len() >= 150);
}

#[test]
fn few_ordinary_commands_are_opaque() {
    let ordinary = lines(ORDINARY);
    let opaque = |line: &&Line<'_>| effects(&line.command).iter().any(|it| it.effect == EffectKind::Opaque);
    let opaque: Vec<&str> = ordinary.iter().filter(opaque).map(|line| line.command.as_str()).collect();
    assert!(opaque.len() * 50 <= ordinary.len(), "{} of {}: {opaque:?}", opaque.len(), ordinary.len());
}

#[test]
fn no_evasion_is_harmless() {
    let quiet = |effect: &Effect| match effect.effect {
        EffectKind::Harmless => true,
        EffectKind::Read => effect.resource_type == "file" && effect.domain == "workspace",
        _ => false,
    };
    let harmless = |line: &Line<'_>| effects(&line.command).iter().all(quiet).then(|| line.command.clone());
    let harmless: Vec<String> = lines(EVASIONS).iter().filter_map(harmless).collect();
    assert_eq!(harmless, Vec::<String>::new());
}

/// The version is on record with every decision, so it changes with what is derived.
#[test]
fn the_version_changes_with_the_effects() {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for line in lines(ORDINARY).iter().chain(&lines(EVASIONS)) {
        let effects = effects(&line.command);
        let identities: Vec<_> = effects.iter().map(Effect::identity).collect();
        let text = format!("{:?}{effects:?}{identities:?}", line.command);
        for byte in text.bytes() {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(
        (VERSION, format!("{digest:016x}").as_str()),
        ("1", "60ef319959d60504"),
        "say so with a new version"
    );
}
