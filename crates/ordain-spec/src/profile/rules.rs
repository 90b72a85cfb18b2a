//! PF1–PF7.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::order::check_distinct;
use crate::path::{path_problem, shorten};
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};

const PF: Kind = Kind::Profile;

/// The rules of a policy profile.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known", section: "profiles", category: Category::Schema, check: by_shape },
    Rule { id: PF.rule(1), title: "the name is a plain word", section: "profiles", category: Category::Field, check: name_is_plain },
    Rule { id: PF.rule(2), title: "allow_network is true or false", section: "profiles", category: Category::Field, check: by_shape },
    Rule { id: PF.rule(3), title: "the timeout is between 1 s and 10 min", section: "profiles", category: Category::Limit, check: by_shape },
    Rule { id: PF.rule(4), title: "max_output_files is between 1 and 10,000", section: "profiles", category: Category::Limit, check: by_shape },
    Rule { id: PF.rule(5), title: "max_total_output_bytes is between 1 KiB and 1 GiB", section: "profiles", category: Category::Limit, check: by_shape },
    Rule { id: PF.rule(6), title: "allowed_commands is all, or distinct bare names", section: "profiles", category: Category::Field, check: commands_are_names },
    Rule { id: PF.rule(7), title: "allowed_write_roots is all, or distinct safe paths", section: "profiles", category: Category::Field, check: roots_are_safe },
];

/// PF1.
fn name_is_plain(_: &Facts<'_>, profile: Node<'_, '_>, found: &mut Findings) {
    let name = profile.get("name");
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    match name.str() {
        Some("") => found.at(name, "must not be empty"),
        Some(text) if !text.bytes().all(plain) => {
            found
                .at(name, format!("`{}` has other characters than `a-z`, `0-9`, `-` and `_`", shorten(text)));
        }
        _ => {}
    }
}

/// PF6.
fn commands_are_names(_: &Facts<'_>, profile: Node<'_, '_>, found: &mut Findings) {
    check_list(profile.get("allowed_commands"), found, |name| {
        let bare =
            !name.is_empty() && !name.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control());
        (!bare).then(|| format!("`{}` is not the bare name of a command", shorten(name)))
    });
}

/// PF7.
fn roots_are_safe(_: &Facts<'_>, profile: Node<'_, '_>, found: &mut Findings) {
    check_list(profile.get("allowed_write_roots"), found, path_problem);
}

fn check_list(list: Node<'_, '_>, found: &mut Findings, problem: impl Fn(&str) -> Option<String>) {
    let count = list.elements().len();
    for element in list.elements() {
        match element.str() {
            Some("*") if count > 1 => found.at(element, "`*` means all and stands alone"),
            Some("*") | None => {}
            Some(text) => {
                if let Some(message) = problem(text) {
                    found.at(element, message);
                }
            }
        }
    }
    check_distinct(list, |element| element.str(), None, found);
}
