//! `cargo xtask layers`: which crate may depend on which, and that the pure crates touch nothing outside.

use crate::generate::files_below;
use crate::process::{cargo, output, root};
use crate::{Result, no_arguments};
use serde_json::Value as Json;
use std::fs;

struct Layer {
    name: &'static str,
    /// Crates of ours that it may use outside its tests. `ordain-testkit` is in no list: only tests may use it.
    may_use: &'static [&'static str],
    pure: bool,
}

/// `ls crates/` is the architecture; this is its order.
static LAYERS: &[Layer] = &[
    Layer { name: "ordain-canon", may_use: &[], pure: true },
    Layer { name: "ordain-spec", may_use: &["ordain-canon"], pure: true },
    Layer { name: "ordain-clarity", may_use: &["ordain-canon", "ordain-spec"], pure: true },
    Layer { name: "ordain-kernel", may_use: &["ordain-canon", "ordain-spec", "ordain-clarity"], pure: true },
    Layer { name: "ordain-shell", may_use: &[], pure: true },
    Layer { name: "ordain-decision", may_use: &["ordain-canon", "ordain-spec", "ordain-shell"], pure: true },
    Layer { name: "ordain-ledger", may_use: &["ordain-canon"], pure: true },
    Layer { name: "ordain-state", may_use: &[], pure: false },
    Layer { name: "ordain-store", may_use: &["ordain-canon", "ordain-ledger"], pure: false },
    Layer { name: "ordain-api", may_use: &["ordain-canon", "ordain-spec"], pure: false },
    Layer { name: "ordain-client", may_use: &["ordain-canon", "ordain-spec", "ordain-api"], pure: false },
    Layer { name: "ordain-presence", may_use: &[], pure: false },
    Layer { name: "ordain-model", may_use: &["ordain-canon"], pure: false },
    Layer {
        name: "ordain-harness",
        may_use: &["ordain-canon", "ordain-spec", "ordain-decision", "ordain-state"],
        pure: false,
    },
    Layer { name: "ordain-vault", may_use: &["ordain-canon", "ordain-spec", "ordain-harness"], pure: false },
    Layer {
        name: "ordain-note",
        may_use: &[
            "ordain-canon",
            "ordain-spec",
            "ordain-api",
            "ordain-harness",
            "ordain-model",
            "ordain-vault",
        ],
        pure: false,
    },
    Layer {
        name: "ordain-gate",
        may_use: &[
            "ordain-canon",
            "ordain-spec",
            "ordain-decision",
            "ordain-shell",
            "ordain-ledger",
            "ordain-state",
            "ordain-store",
            "ordain-api",
        ],
        pure: false,
    },
    Layer {
        name: "ordain-run",
        may_use: &["ordain-canon", "ordain-spec", "ordain-kernel", "ordain-harness"],
        pure: false,
    },
    Layer {
        name: "ordain-agent",
        may_use: &[
            "ordain-canon",
            "ordain-spec",
            "ordain-decision",
            "ordain-harness",
            "ordain-api",
            "ordain-client",
        ],
        pure: false,
    },
    Layer {
        name: "ordain-server",
        may_use: &[
            "ordain-canon",
            "ordain-spec",
            "ordain-kernel",
            "ordain-decision",
            "ordain-ledger",
            "ordain-api",
            "ordain-client",
            "ordain-gate",
            "ordain-presence",
            "ordain-state",
            "ordain-model",
            "ordain-vault",
            "ordain-note",
        ],
        pure: false,
    },
    Layer {
        name: "ordain-hooks",
        may_use: &[
            "ordain-canon",
            "ordain-spec",
            "ordain-decision",
            "ordain-state",
            "ordain-api",
            "ordain-client",
        ],
        pure: false,
    },
    Layer {
        name: "ordain-mcp",
        may_use: &["ordain-canon", "ordain-spec", "ordain-decision", "ordain-api", "ordain-client"],
        pure: false,
    },
    Layer { name: "ordain-testkit", may_use: &["ordain-canon", "ordain-spec"], pure: false },
    Layer {
        name: "ordain-cli",
        may_use: &[
            "ordain-canon",
            "ordain-spec",
            "ordain-kernel",
            "ordain-decision",
            "ordain-ledger",
            "ordain-mcp",
            "ordain-state",
            "ordain-store",
            "ordain-harness",
            "ordain-hooks",
            "ordain-vault",
            "ordain-model",
            "ordain-note",
            "ordain-agent",
            "ordain-api",
            "ordain-client",
            "ordain-gate",
            "ordain-presence",
            "ordain-run",
            "ordain-server",
        ],
        pure: false,
    },
    Layer { name: "ordain-bench", may_use: &[], pure: false },
    Layer {
        name: "xtask",
        may_use: &["ordain-canon", "ordain-spec", "ordain-clarity", "ordain-api"],
        pure: false,
    },
];

/// Modules of `std` that reach outside, and what to do instead.
const OUTSIDE_MODULES: &[(&str, &str)] = &[
    ("fs", "files are read and written by the caller, which passes their bytes"),
    ("env", "the caller reads the environment and passes what it says as an argument"),
    ("net", "the same document must give the same report without a network"),
    ("time", "the time is a fact that the caller passes, so that a verdict can be repeated"),
    ("process", "other programs are run by the caller; their results are documents"),
    ("thread", "the order of results must not depend on a scheduler"),
];
/// Names that reach outside however they were imported.
const OUTSIDE_NAMES: &[(&str, &str)] = &[
    ("SystemTime", "the time is a fact that the caller passes, so that a verdict can be repeated"),
    ("Instant::now", "the time is a fact that the caller passes, so that a verdict can be repeated"),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    Ok(check()?)
}

pub(crate) fn check() -> std::result::Result<(), String> {
    let metadata = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Json =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let mut problems = dependency_problems(LAYERS, &metadata);
    for layer in LAYERS.iter().filter(|layer| layer.pure) {
        problems.extend(clippy_problem(layer.name));
        let sources = root().join("crates").join(layer.name).join("src");
        for path in files_below(&sources).map_err(|error| format!("{}: {error}", sources.display()))? {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            problems.extend(purity_problems(&name, &text));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// All pure crates share one `clippy.toml`.
fn clippy_problem(name: &str) -> Option<String> {
    const SHARED: &str = "../../clippy-pure.toml";
    let link = root().join("crates").join(name).join("clippy.toml");
    let shared = fs::read_link(&link).is_ok_and(|target| target.as_os_str() == SHARED);
    (!shared).then(|| format!("crates/{name}/clippy.toml must be a link to {SHARED}"))
}

fn dependency_problems(layers: &[Layer], metadata: &Json) -> Vec<String> {
    let list =
        |value: &'_ Json, key: &str| value.get(key).and_then(Json::as_array).cloned().unwrap_or_default();
    let text = |value: &Json, key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
    let packages = list(metadata, "packages");
    let names: Vec<String> = packages.iter().filter_map(|package| text(package, "name")).collect();
    let mut problems = Vec::new();
    for layer in layers.iter().filter(|layer| !names.iter().any(|name| name == layer.name)) {
        problems.push(format!("{} is in the table of layers but not in the workspace", layer.name));
    }
    for package in &packages {
        let name = text(package, "name").unwrap_or_default();
        let Some(layer) = layers.iter().find(|layer| layer.name == name) else {
            problems.push(format!("{name} is not in the table of layers (xtask/src/layers.rs)"));
            continue;
        };
        for dependency in list(package, "dependencies") {
            let used = text(&dependency, "name").unwrap_or_default();
            let for_tests = text(&dependency, "kind").is_some_and(|kind| kind == "dev");
            if !for_tests && names.contains(&used) && !layer.may_use.contains(&used.as_str()) {
                let allowed = match layer.may_use {
                    [] => "no crate of ours".to_owned(),
                    list => format!("only {}", list.join(", ")),
                };
                problems.push(format!("{name} depends on {used}; outside its tests it may use {allowed}"));
            }
        }
    }
    problems
}

/// The crate is pure: what it says about a document must not depend on where or when it runs.
fn purity_problems(file: &str, source: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = source.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    for (position, line) in lines {
        let mut found = |name: &str, reason: &str| {
            let number = position + 1;
            problems.push(format!("{file}:{number} mentions `{name}` in a pure crate: {reason}"));
        };
        for (module, reason) in OUTSIDE_MODULES {
            if mentions(line, &format!("std::{module}")) || group_of_std(line).any(|word| word == *module) {
                found(&format!("std::{module}"), reason);
            }
        }
        for (name, reason) in OUTSIDE_NAMES {
            if mentions(line, name) {
                found(name, reason);
            }
        }
    }
    problems
}

/// Whether the line has the name as a whole word; `std::env!` is a macro, and what it gives is fixed by the
/// build.
fn mentions(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(start, _)| {
        let after = line.get(start + name.len()..).and_then(|rest| rest.chars().next());
        let before = line.get(..start).and_then(|rest| rest.chars().next_back());
        let in_word = |character: char| character.is_alphanumeric() || character == '_';
        !before.is_some_and(in_word) && !after.is_some_and(|next| in_word(next) || next == '!')
    })
}

/// The words of `use std::{…}`.
fn group_of_std(line: &str) -> impl Iterator<Item = &str> {
    let group = line.split_once("std::{").map(|(_, group)| group).unwrap_or_default();
    group.split(|character: char| !character.is_alphanumeric() && character != '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dependencies_against_the_order_are_named() {
        let layers = [
            Layer { name: "low", may_use: &[], pure: true },
            Layer { name: "high", may_use: &["low"], pure: false },
            Layer { name: "gone", may_use: &[], pure: false },
        ];
        let metadata = json!({"packages": [
            {"name": "low", "dependencies": [
                {"name": "high", "kind": null}, {"name": "serde", "kind": null}, {"name": "kit", "kind": "dev"}]},
            {"name": "high", "dependencies": [{"name": "low", "kind": null}, {"name": "kit", "kind": "build"}]},
            {"name": "kit", "dependencies": []},
        ]});
        assert_eq!(
            dependency_problems(&layers, &metadata),
            [
                "gone is in the table of layers but not in the workspace",
                "low depends on high; outside its tests it may use no crate of ours",
                "high depends on kit; outside its tests it may use only low",
                "kit is not in the table of layers (xtask/src/layers.rs)",
            ]
        );
    }

    #[test]
    fn pure_sources_do_not_reach_outside() {
        let impure = |line: &str| !purity_problems("lib.rs", line).is_empty();
        assert!(impure("use std::fs;"));
        assert!(impure("    let home = std::env::var(\"HOME\");"));
        assert!(impure("use std::{fmt, time::Duration};"));
        assert!(impure("let start = Instant::now();"));
        assert!(impure("fn at(time: SystemTime) {}"));
        assert!(!impure("// No `std::fs` here."));
        assert!(!impure("    /// Unlike std::time."));
        assert!(!impure("let version = std::env!(\"CARGO_PKG_VERSION\");"));
        assert!(!impure("use std::{fmt, net_like};"));
    }
}
