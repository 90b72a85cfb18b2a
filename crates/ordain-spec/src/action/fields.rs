//! V-PROP-016: the fields that `updates` may name.

use crate::facts::Facts;
use crate::invisible::is_invisible;
use crate::limits::OPEN_OBJECT_DEPTH_MAX;
use crate::node::Node;
use crate::path::shorten;
use crate::rule::Findings;
use ordain_canon::Value;
use std::collections::{BTreeMap, BTreeSet};
use unicode_normalization::UnicodeNormalization as _;

/// V-PROP-016. A list that cannot be read, and updates that have no names, cannot be judged and are refused.
/// `updates` is looked for at every depth, and so are forbidden names and paths below it: nesting hides
/// nothing.
pub(super) fn updates_obey_fields(_: &Facts<'_>, proposal: Node<'_, '_>, found: &mut Findings) {
    let target = proposal.get("target");
    let constraints = target.get("constraints");
    let mut list = |key: &'static str| -> Option<BTreeSet<_>> {
        let list = constraints.get(key);
        let names = list.array().and_then(|names| names.iter().map(Value::as_str).collect());
        if names.is_none() && !list.is_missing() {
            found.at(list, "must be an array of field names");
        }
        names
    };
    let allowed = list("allowed_fields");
    let forbidden = list("forbidden_fields");
    if allowed.is_some() || forbidden.is_some() {
        let forbidden = Forbidden::new(forbidden.unwrap_or_default());
        FieldLists { allowed, forbidden }.look_for_updates(proposal.get("parameters"), found);
    }
}

struct FieldLists<'v> {
    allowed: Option<BTreeSet<&'v str>>,
    forbidden: Forbidden,
}

impl FieldLists<'_> {
    fn look_for_updates(&self, node: Node<'_, '_>, found: &mut Findings) {
        for (name, member) in node.members() {
            if !name.eq_ignore_ascii_case("updates") {
                self.look_for_updates(member, found);
            } else if member.value().is_some_and(|updates| updates.as_object().is_none()) {
                found.at(member, "must be an object, so that the target's field lists can be enforced");
            } else {
                for (name, update) in member.members() {
                    self.check_update(name, update, found);
                }
            }
        }
        node.elements().for_each(|element| self.look_for_updates(element, found));
    }

    fn check_update(&self, name: &str, update: Node<'_, '_>, found: &mut Findings) {
        let not_allowed = self.allowed.as_ref().is_some_and(|names| !names.contains(name));
        let (forbidden, begun) = self.forbidden.step(&BTreeSet::new(), name);
        let mut reasons = Vec::new();
        if not_allowed {
            reasons.push("is not among the allowed fields");
        }
        if forbidden {
            reasons.push("is a forbidden field");
        }
        if !reasons.is_empty() {
            found.at(update, format!("`{}` {}", shorten(name), reasons.join(" and ")));
        }
        self.check_inside(update, &begun, found);
    }

    fn check_inside(&self, node: Node<'_, '_>, begun: &Begun, found: &mut Findings) {
        for (name, member) in node.members() {
            let (forbidden, begun) = self.forbidden.step(begun, name);
            if forbidden {
                found.at(member, format!("`{}` is a forbidden field", shorten(name)));
            }
            self.check_inside(member, &begun, found);
        }
        for (at, element) in node.elements().enumerate() {
            // A path may name the position or leave it out.
            let (_, with_position) = self.forbidden.step(begun, &at.to_string());
            let begun = begun.union(&with_position).copied().collect();
            self.check_inside(element, &begun, found);
        }
    }
}

/// Forbidden fields as what is compared with them: the parts of their paths, one after the other.
struct Forbidden {
    /// As they stand.
    names: BTreeSet<String>,
    /// Which segment follows which; the first is the beginning of all paths.
    after: Vec<After>,
}

#[derive(Default)]
struct After {
    parts: BTreeMap<String, usize>,
    is_end: bool,
}

/// Paths of which the last names were the first parts.
type Begun = BTreeSet<usize>;

impl Forbidden {
    fn new(listed: BTreeSet<&str>) -> Self {
        let mut forbidden = Self { names: BTreeSet::new(), after: vec![After::default()] };
        for name in listed {
            let name = plain(name);
            // A longer path cannot be in parameters that are not too deep, but under one name.
            if parts(&name).take(OPEN_OBJECT_DEPTH_MAX + 1).count() <= OPEN_OBJECT_DEPTH_MAX {
                forbidden.add(&name);
            }
            forbidden.names.insert(name);
        }
        forbidden
    }

    fn add(&mut self, name: &str) {
        let mut at = 0;
        for part in parts(name) {
            let next = self.after.len();
            let Some(after) = self.after.get_mut(at) else { return };
            at = *after.parts.entry(part.to_owned()).or_insert(next);
            if at == next {
                self.after.push(After::default());
            }
        }
        if let Some(after) = self.after.get_mut(at).filter(|_| at > 0) {
            after.is_end = true;
        }
    }

    /// Whether a forbidden path ends in a name, and which ones could go on below it. Many systems know a
    /// field in any case, and by a path to it.
    fn step(&self, begun: &Begun, name: &str) -> (bool, Begun) {
        let name = plain(name);
        let mut forbidden = self.names.contains(&name);
        let mut begun = begun.clone();
        for part in parts(&name) {
            let next = |at: &usize| self.after.get(*at)?.parts.get(part).copied();
            begun = begun.iter().chain([&0]).filter_map(next).collect();
            forbidden |= begun.iter().any(|at| self.after.get(*at).is_some_and(|after| after.is_end));
        }
        (forbidden, begun)
    }
}

/// A name as others may read it.
fn plain(name: &str) -> String {
    let plain = if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        name.nfkc().filter(|character| !is_invisible(*character)).collect::<String>().to_lowercase()
    };
    if plain.contains('~') { plain.replace("~1", "/") } else { plain }
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|it: char| !it.is_alphanumeric() && it != '_').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Begun, Forbidden};

    /// Whether a field is forbidden that is there under these names, one inside the other.
    fn forbids(listed: &str, names: &[&str]) -> bool {
        let forbidden = Forbidden::new([listed].into());
        let mut begun = Begun::new();
        names.iter().any(|name| {
            let (found, next) = forbidden.step(&begun, name);
            begun = next;
            found
        })
    }

    #[test]
    fn a_path_is_found_however_it_is_cut() {
        for (listed, names) in [
            ("address.zip", &["address", "zip"][..]),
            ("address.zip", &["address.zip"]),
            ("address.zip", &["customer", "Address", "ZIP"]),
            ("address.zip", &["home.address", "zip.code"]),
            ("/address/zip", &["address", "zip"]),
            ("$.address.zip", &["customer.address", "zip"]),
            ("a.b.c", &["a", "b.c"]),
            ("a.a.b", &["a", "a", "a", "b"]),
            ("items[0].price", &["items", "0", "price"]),
            ("ssn", &["person", "\u{ff33}\u{ff33}\u{ff2e}"]),
            ("\u{ff33}SN", &["ssn"]),
            ("***", &["***"]),
        ] {
            assert!(forbids(listed, names), "{listed} in {names:?}");
        }
        for (listed, names) in [
            ("address.zip", &["address", "city", "zip"][..]),
            ("address.zip", &["zip", "address"]),
            ("address.zip", &["address"]),
            ("address.zip", &["zip"]),
            ("a.a.b", &["a", "b"]),
            ("ssn", &["ssn_known"]),
            ("***", &["**"]),
        ] {
            assert!(!forbids(listed, names), "{listed} in {names:?}");
        }
    }
}
