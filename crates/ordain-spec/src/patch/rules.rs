//! PS1–PS10 (PATCH_SPEC §8), in spec order, and PS11.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::order::check_order;
use crate::path::{clashes, describe, path_faults};
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use crate::version::check_version;
use ordain_canon::{ContentHash, compare_utf16, is_sha256};

const PS: Kind = Kind::Patch;

/// The rules of a patch set.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known and has its type", section: "PATCH_SPEC §3", category: Category::Schema, check: by_shape },
    Rule { id: PS.rule(1), title: "the schema version is known", section: "PATCH_SPEC §8", category: Category::Schema, check: version_is_known },
    Rule { id: PS.rule(2), title: "every operation is create, modify or delete", section: "PATCH_SPEC §8", category: Category::Field, check: by_shape },
    Rule { id: PS.rule(3), title: "every path is relative", section: "PATCH_SPEC §8", category: Category::Content, check: path_is_relative },
    Rule { id: PS.rule(4), title: "every path stays inside and is written one way", section: "PATCH_SPEC §8, §4", category: Category::Content, check: path_stays_inside },
    Rule { id: PS.rule(5), title: "no two operations meet in one file", section: "PATCH_SPEC §8", category: Category::Consistency, check: targets_are_distinct },
    Rule { id: PS.rule(6), title: "content is text, is there when needed and matches its hash and size", section: "PATCH_SPEC §8", category: Category::Content, check: content_fits },
    Rule { id: PS.rule(7), title: "total_bytes is the sum of the content and within the limit", section: "PATCH_SPEC §8", category: Category::Limit, check: total_is_right },
    Rule { id: PS.rule(8), title: "operations are sorted by order and path", section: "PATCH_SPEC §8", category: Category::Order, check: operations_are_sorted },
    Rule { id: PS.rule(9), title: "no operation makes a symbolic link", section: "PATCH_SPEC §8", category: Category::Field, check: no_symlinks },
    Rule { id: PS.rule(10), title: "violations come in one order", section: "PATCH_SPEC §8", category: Category::Verifier, check: by_shape },
    Rule { id: PS.rule(11), title: "the bundle that it was made for is the one that it names", section: "work orders", category: Category::Reference, check: bundle_is_right },
];

/// PS1.
fn version_is_known(_: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    check_version(set.get("patch_schema_version"), 1, found);
}

/// PS3 owns absolute and drive paths.
fn path_is_relative(_: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    check_paths(set, true, found);
}

/// PS4 owns all other faults of a path.
fn path_stays_inside(_: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    check_paths(set, false, found);
}

fn check_paths(set: Node<'_, '_>, absolute: bool, found: &mut Findings) {
    for operation in set.get("operations").elements() {
        let path = operation.get("path");
        let Some(text) = path.str() else { continue };
        let mut faults = path_faults(text);
        faults.retain(|fault| fault.is_absolute() == absolute);
        if let Some(message) = describe(text, &faults) {
            found.at(path, message);
        }
    }
}

/// PS5 looks at paths that pass PS3 and PS4.
fn targets_are_distinct(_: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    check_clashes(set.get("operations"), "path", |_| true, found);
}

/// Reports the elements whose path cannot be there beside that of another element.
pub(crate) fn check_clashes<'v>(
    list: Node<'_, 'v>,
    field: &'v str,
    counts: impl Fn(Node<'_, 'v>) -> bool,
    found: &mut Findings,
) {
    let mut positions = Vec::new();
    let mut paths = Vec::new();
    for (position, element) in list.elements().enumerate() {
        if let Some(path) = element.get(field).str()
            && counts(element)
            && path_faults(path).is_empty()
        {
            positions.push(position);
            paths.push(path);
        }
    }
    let mut clashing = clashes(&paths).into_iter().peekable();
    for (position, element) in list.elements().enumerate() {
        let here = |(at, ..): &(usize, usize, _)| positions.get(*at) == Some(&position);
        if let Some((at, other, clash)) = clashing.next_if(here)
            && let (Some(path), Some(other)) = (paths.get(at), paths.get(other))
        {
            found.at(element.get(field), clash.message(path, other));
        }
    }
}

/// PS6.
fn content_fits(_: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    for operation in set.get("operations").elements() {
        let content = operation.get("content");
        match operation.get("op").str() {
            Some(op @ ("create" | "modify")) if content.is_missing() => {
                found.at(content, format!("`content` is missing; `{op}` needs it"));
            }
            Some("delete") if content.str().is_some() => found.at(content, "`delete` has no content"),
            _ => {}
        }
        let Some(text) = content.str() else { continue };
        if text.contains('\0') {
            found.at(content, "content has a NUL character; only text can be patched");
        }
        let expected = operation.get("expected_hash");
        if let Some(named) = expected.str().filter(|named| is_sha256(named)) {
            let hash = ContentHash::of(text.as_bytes());
            if !hash.is(named) {
                found.at(expected, format!("does not match the content, whose hash is `{hash}`"));
            }
        }
        let size = operation.get("size_bytes");
        if size.integer().is_some_and(|named| named >= 0 && named != text.len() as i64) {
            found.at(size, format!("does not match the content, which has {} bytes", text.len()));
        }
    }
}

/// PS7. Where content is missing or is not text, the sum is unknown, and that is a finding of its own.
fn total_is_right(facts: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    let (total, operations) = (set.get("total_bytes"), set.get("operations"));
    let bytes = |operation: Node<'_, '_>| match operation.get("content").value() {
        None => Some(0),
        Some(content) => content.as_str().map(|text| text.len() as u64),
    };
    let sum: Option<u64> = operations.array().and_then(|_| operations.elements().map(bytes).sum());
    let Some(sum) = sum else { return };
    if let Some(named) = total.integer().and_then(|named| u64::try_from(named).ok())
        && named != sum
    {
        found.at(total, format!("is {named}, but the content has {sum} bytes"));
    }
    let limit = facts.profile.max_total_output_bytes;
    if sum > limit {
        let profile = &facts.profile.name;
        found.at(total, format!("the content has {sum} bytes; profile `{profile}` allows {limit}"));
    }
}

/// PS8. A missing order counts as 0.
fn operations_are_sorted(_: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    let operations = set.get("operations");
    let with_order = operations.elements().filter(|operation| !operation.get("order").is_missing()).count();
    if with_order > 0 && with_order < operations.elements().len() {
        for operation in operations.elements() {
            let order = operation.get("order");
            if order.is_missing() {
                found.at(order, "`order` is missing; it stands on all operations or on none");
            }
        }
    }
    check_order(
        operations,
        |operation| {
            let order = operation.get("order");
            let number = if order.is_missing() { Some(0) } else { order.integer() };
            Some((number?, operation.get("path").str()?))
        },
        |left, right| left.0.cmp(&right.0).then_with(|| compare_utf16(left.1, right.1)),
        "order, then path",
        found,
    );
}

/// PS9. PS2 refuses it too; this says why.
fn no_symlinks(_: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    for operation in set.get("operations").elements() {
        let op = operation.get("op");
        if op.str() == Some("symlink") {
            found.at(op, "symbolic links are not allowed: they can lead out of the workspace");
        }
    }
}

/// PS11. Without the bundle only the form of the hash can be looked at, which the shape does.
fn bundle_is_right(facts: &Facts<'_>, set: Node<'_, '_>, found: &mut Findings) {
    let Some(bundle) = facts.bundle else { return };
    let named = set.get("source_bundle_hash");
    if let Some(hash) = named.str().filter(|hash| is_sha256(hash))
        && hash != bundle.hash
    {
        found.at(named, format!("is not the hash of the bundle given, which is `{}`", bundle.hash));
    }
}
