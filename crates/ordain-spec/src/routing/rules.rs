//! RT1–RT7.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::order::check_distinct;
use crate::path::{PathFault, path_faults, shorten};
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use globset::GlobBuilder;
use std::collections::BTreeSet;

const RT: Kind = Kind::Routing;

/// The rules of a routing file.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known and has its type", section: "routing", category: Category::Schema, check: by_shape },
    Rule { id: RT.rule(1), title: "the version is 1", section: "routing", category: Category::Schema, check: by_shape },
    Rule { id: RT.rule(2), title: "route ids are unique", section: "routing", category: Category::Consistency, check: ids_are_unique },
    Rule { id: RT.rule(3), title: "patterns are relative globs that can match a note", section: "routing", category: Category::Content, check: patterns_are_globs },
    Rule { id: RT.rule(4), title: "no two routes have the same pattern", section: "routing", category: Category::Consistency, check: patterns_are_unique },
    Rule { id: RT.rule(5), title: "a route's template exists", section: "routing", category: Category::Reference, check: templates_exist },
    Rule { id: RT.rule(6), title: "required sections are distinct and not empty", section: "routing", category: Category::Field, check: sections_are_distinct },
    Rule { id: RT.rule(7), title: "front matter rules name known fields and statuses", section: "routing", category: Category::Field, check: by_shape },
];

/// RT2.
fn ids_are_unique(_: &Facts<'_>, routing: Node<'_, '_>, found: &mut Findings) {
    check_distinct(routing.get("routes"), |route| route.get("id").str(), Some("id"), found);
}

/// RT3.
fn patterns_are_globs(_: &Facts<'_>, routing: Node<'_, '_>, found: &mut Findings) {
    for route in routing.get("routes").elements() {
        let pattern = route.get("pattern");
        let Some(text) = pattern.str().filter(|text| !text.trim().is_empty()) else { continue };
        // A backslash escapes in a glob; everything else that is wrong in a path is wrong here too.
        let fault = path_faults(text).into_iter().find(|fault| *fault != PathFault::Backslash);
        if let Some(fault) = fault {
            found.at(pattern, format!("pattern `{}` {}", shorten(text), fault.message()));
        } else if let Err(error) = GlobBuilder::new(text).literal_separator(true).build() {
            found.at(pattern, format!("pattern `{}` is not a glob: {}", shorten(text), error.kind()));
        } else if !text.ends_with(".md") && !text.ends_with(['*', '}']) {
            found.at(
                pattern,
                format!(
                    "pattern `{}` cannot match a note: it ends in none of `.md`, `*` and `}}`",
                    shorten(text)
                ),
            );
        }
    }
}

/// RT4.
fn patterns_are_unique(_: &Facts<'_>, routing: Node<'_, '_>, found: &mut Findings) {
    check_distinct(routing.get("routes"), |route| route.get("pattern").str(), Some("pattern"), found);
}

/// RT5.
fn templates_exist(_: &Facts<'_>, routing: Node<'_, '_>, found: &mut Findings) {
    let names: BTreeSet<&str> = routing.get("templates").members().map(|(name, _)| name).collect();
    for route in routing.get("routes").elements() {
        let template = route.get("template");
        if let Some(name) = template.str().filter(|name| !names.contains(name)) {
            found.at(template, format!("there is no template `{}`", shorten(name)));
        }
    }
}

/// RT6.
fn sections_are_distinct(_: &Facts<'_>, routing: Node<'_, '_>, found: &mut Findings) {
    let mut check = |holder: Node<'_, '_>| {
        check_distinct(holder.get("required_sections"), |section| section.str(), None, found);
    };
    routing.get("routes").elements().for_each(&mut check);
    routing.get("templates").members().for_each(|(_, template)| check(template));
}
