//! Whether a repair changed more than it was asked to.

use crate::request::fault;
use ordain_vault::Finding;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The fields of a repaired answer that differ from the first one although no fault names them. Nothing where
/// the first answer was not an object: then there is nothing to compare with.
pub(crate) fn drift(first: &str, repaired: &str, faults: &[Finding]) -> Vec<Finding> {
    let (Ok(first), Ok(repaired)) =
        (serde_json::from_str::<Json>(first), serde_json::from_str::<Json>(repaired))
    else {
        return Vec::new();
    };
    if !first.is_object() {
        return Vec::new();
    }
    let named: BTreeSet<&str> = faults.iter().map(|it| it.path.as_str()).collect();
    let mut changed = Vec::new();
    changes(&first, &repaired, String::new(), &mut changed);
    changed.retain(|(path, kind)| !named.iter().any(|fault| allows(fault, path, *kind)));
    changed
        .into_iter()
        .map(|(path, _)| fault(&path, "was changed by the repair, and no error named it"))
        .collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    /// A member is new or gone.
    Member,
    Value,
}

/// A fault names a value; of an object it says that a member is missing or unknown. Where a note goes is one
/// matter: its path follows from its route.
fn allows(fault: &str, path: &str, change: Change) -> bool {
    let within = path == fault || path.strip_prefix(fault).is_some_and(|rest| rest.starts_with('/'));
    let parent = path.rsplit_once('/').map(|(parent, _)| parent);
    let target = fault.starts_with("/target/") && path.starts_with("/target/");
    match change {
        Change::Member => within || parent == Some(fault) || target,
        // The object itself is named, not what its members say.
        Change::Value => {
            path == fault
                || fault.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
                || (within && !matches!(fault, "" | "/target" | "/frontmatter" | "/body" | "/governance"))
                || target
        }
    }
}

fn changes(first: &Json, repaired: &Json, path: String, changed: &mut Vec<(String, Change)>) {
    match (first, repaired) {
        (Json::Object(before), Json::Object(after)) => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let mut inner = path.clone();
                ordain_canon::push_pointer_token(&mut inner, key);
                match (before.get(key), after.get(key)) {
                    (Some(before), Some(after)) => changes(before, after, inner, changed),
                    _ => changed.push((inner, Change::Member)),
                }
            }
        }
        // A list is one value; a fault may name one of its elements.
        _ if first != repaired => changed.push((path, Change::Value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn drifted(change: impl Fn(&mut Json), faults: &[&str]) -> Vec<String> {
        let first = json!({"target": {"route_id": "api", "path": "api/design/rest-vs-rpc.md"}, "frontmatter": {"title": "REST", "status": "wrong", "tags": ["a"]},
            "body": {"content_md": "x"}, "governance": {"related_links": [], "rationale": "r"}});
        let mut repaired = first.clone();
        change(&mut repaired);
        let faults: Vec<Finding> = faults.iter().map(|it| fault(it, "is wrong")).collect();
        drift(&first.to_string(), &repaired.to_string(), &faults).into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn only_what_an_error_named_may_change() {
        let status = |it: &mut Json| it["frontmatter"]["status"] = json!("draft");
        assert_eq!(drifted(status, &["/frontmatter/status"]), [""; 0]);
        let moved = |it: &mut Json| {
            status(it);
            it["frontmatter"]["title"] = json!("Another");
            it["target"]["path"] = json!("other/place.md");
        };
        assert_eq!(drifted(moved, &["/frontmatter/status"]), ["/frontmatter/title", "/target/path"]);
        assert_eq!(
            drifted(moved, &["/frontmatter"]),
            ["/frontmatter/status", "/frontmatter/title", "/target/path"]
        );
        let routed = |it: &mut Json| it["target"] = json!({"route_id": "docs", "path": "docs/a.md"});
        assert_eq!(drifted(routed, &["/target/route_id"]), [""; 0]);
        assert_eq!(drifted(routed, &["/body/content_md"]), ["/target/path", "/target/route_id"]);
        let dropped = |it: &mut Json| drop(it["governance"].as_object_mut().map(|it| it.remove("rationale")));
        assert_eq!(drifted(dropped, &["/frontmatter/status"]), ["/governance/rationale"]);
        let added = |it: &mut Json| it["frontmatter"]["aliases"] = json!([]);
        assert_eq!(drifted(added, &["/frontmatter"]), [""; 0]);
        assert_eq!(drifted(added, &["/frontmatter/status"]), ["/frontmatter/aliases"]);
        let tags = |it: &mut Json| it["frontmatter"]["tags"] = json!(["b"]);
        assert_eq!(drifted(tags, &["/frontmatter/tags/0"]), [""; 0]);
        assert_eq!(drifted(tags, &[""]), ["/frontmatter/tags"]);
        let body = |it: &mut Json| it["body"]["content_md"] = json!("y");
        assert_eq!(drifted(body, &["/frontmatter/status"]), ["/body/content_md"]);
        assert_eq!(drift("no json", "{}", &[]).len(), 0);
    }

    /// One field was named, another one changed: each is told by its place.
    #[test]
    fn every_other_change_is_told() {
        let named = ["/frontmatter/status"];
        for (pointer, value) in [
            ("/target/path", json!("other/place.md")),
            ("/target/route_id", json!("other")),
            ("/frontmatter/title", json!("Another title")),
            ("/frontmatter/title", json!("")),
            ("/frontmatter/tags", json!([])),
            ("/frontmatter/tags", json!(["a", "b"])),
            ("/body/content_md", json!("x and more")),
            ("/body/content_md", json!(null)),
            ("/governance/rationale", json!("another")),
            ("/governance/related_links", json!(["[[other]]"])),
        ] {
            let change = |it: &mut Json| {
                it["frontmatter"]["status"] = json!("draft");
                if let Some(place) = it.pointer_mut(pointer) {
                    *place = value.clone();
                }
            };
            assert_eq!(drifted(change, &named), [pointer], "{pointer} = {value}");
            // Once an error names it, it may change.
            assert_eq!(drifted(change, &[named[0], pointer]), [""; 0], "{pointer} = {value}");
        }
    }
}
