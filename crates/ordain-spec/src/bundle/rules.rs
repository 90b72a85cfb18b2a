//! BS1–BS12 (BUNDLE_SPEC, as the rulings number it), in order.

use super::total::decomposition_is_total;
use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::order::{check_order, check_strings};
use crate::path::path_problem;
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use crate::version::check_version;
use ordain_canon::{Canonicalizer, ContentHash, DerivedId, Value, branch_id, compare_utf16, is_sha256};
use std::collections::BTreeMap;

const BS: Kind = Kind::Bundle;

/// The rules of a bundle.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known and has its type", section: "BUNDLE_SPEC §3", category: Category::Schema, check: by_shape },
    Rule { id: BS.rule(1), title: "the schema version is known", section: "BUNDLE_SPEC §7", category: Category::Schema, check: version_is_known },
    Rule { id: BS.rule(2), title: "the same intent gives the same bundle", section: "BUNDLE_SPEC §2.7, Appendix A", category: Category::Integrity, check: is_reproduced },
    Rule { id: BS.rule(3), title: "outputs are sorted by path", section: "BUNDLE_SPEC §4.2", category: Category::Order, check: outputs_are_sorted },
    Rule { id: BS.rule(4), title: "constraints are sorted and distinct", section: "BUNDLE_SPEC §4.2", category: Category::Order, check: constraints_are_sorted },
    Rule { id: BS.rule(5), title: "questions are sorted by priority and id", section: "BUNDLE_SPEC §4.2", category: Category::Order, check: questions_are_sorted },
    Rule { id: BS.rule(6), title: "nodes, branches and options are sorted", section: "BUNDLE_SPEC §4.2", category: Category::Order, check: nodes_are_sorted },
    Rule { id: BS.rule(7), title: "output paths stay inside", section: "BUNDLE_SPEC §4.5", category: Category::Content, check: paths_are_safe },
    Rule { id: BS.rule(8), title: "canonical serialization is idempotent", section: "BUNDLE_SPEC §4.1, Appendix A", category: Category::Verifier, check: by_shape },
    Rule { id: BS.rule(9), title: "every id and content hash matches its content", section: "BUNDLE_SPEC §3.3, §5.4", category: Category::Integrity, check: ids_match },
    Rule { id: BS.rule(10), title: "every score is an integer from 0 to 100", section: "BUNDLE_SPEC §3.4", category: Category::Limit, check: by_shape },
    Rule { id: BS.rule(11), title: "status, leaves and figures agree with the tree", section: "BUNDLE_SPEC §3", category: Category::Consistency, check: figures_agree },
    Rule { id: BS.rule(12), title: "the leaves say everything that the intent says", section: "BUNDLE_SPEC §2.4", category: Category::Consistency, check: decomposition_is_total },
];

/// Calls `visit` with every node: those of the tree with their depth, and the repeated leaves with none.
fn for_each_node(bundle: Node<'_, '_>, visit: &mut dyn FnMut(Node<'_, '_>, Option<usize>)) {
    fn descend(node: Node<'_, '_>, depth: Option<usize>, visit: &mut dyn FnMut(Node<'_, '_>, Option<usize>)) {
        visit(node, depth);
        for child in node.get("children").elements() {
            descend(child, depth.map(|depth| depth + 1), visit);
        }
    }
    let root = bundle.get("root_node");
    if !root.is_missing() {
        descend(root, Some(0), visit);
    }
    for leaf in bundle.get("terminal_nodes").elements() {
        descend(leaf, None, visit);
    }
}

/// Calls `visit` with every list of questions and with the splitting questions.
fn for_each_question_list(bundle: Node<'_, '_>, visit: &mut dyn FnMut(Node<'_, '_>)) {
    visit(bundle.get("unresolved_questions"));
    for_each_node(bundle, &mut |node, _| visit(node.get("unresolved_questions")));
}

fn for_each_question(bundle: Node<'_, '_>, visit: &mut dyn FnMut(Node<'_, '_>)) {
    for_each_question_list(bundle, &mut |list| list.elements().for_each(&mut *visit));
    for_each_node(bundle, &mut |node, _| visit(node.get("splitting_question").get("question")));
}

/// BS1.
fn version_is_known(_: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    check_version(bundle.get("schema_version"), 0, found);
}

/// BS2. The caller runs the transform; without its result nothing is compared.
fn is_reproduced(facts: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    let (Some(recomputed), Some(value)) = (facts.recomputed, bundle.value()) else { return };
    if !value.same_as(recomputed) {
        found.at(bundle, "is not the bundle that the intent transforms to");
    }
}

/// BS3.
fn outputs_are_sorted(_: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    let outputs = bundle.get("outputs");
    check_order(
        outputs,
        |output| output.get("path").str(),
        |left, right| compare_utf16(left, right),
        "path",
        found,
    );
}

/// BS4.
fn constraints_are_sorted(_: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    for_each_node(bundle, &mut |node, _| check_strings(node.get("constraints"), true, found));
    for output in bundle.get("outputs").elements() {
        check_strings(output.get("source_constraints"), true, found);
    }
}

/// BS5.
fn questions_are_sorted(_: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    for_each_question_list(bundle, &mut |list| {
        check_order(
            list,
            |question| Some((question.get("priority").integer()?, question.get("id").str()?)),
            |left, right| right.0.cmp(&left.0).then_with(|| compare_utf16(left.1, right.1)),
            "priority, highest first, then id",
            found,
        );
    });
}

/// BS6.
fn nodes_are_sorted(_: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    let by_id = |list: Node<'_, '_>, found: &mut Findings| {
        check_order(list, |node| node.get("id").str(), |left, right| compare_utf16(left, right), "id", found);
    };
    by_id(bundle.get("terminal_nodes"), found);
    for_each_node(bundle, &mut |node, _| {
        by_id(node.get("children"), found);
        let split = node.get("splitting_question");
        let branches = split.get("branches");
        let branch = |branch: Node<'_, '_>| branch.get("branch_id").str().map(str::to_owned);
        check_order(branches, branch, |left, right| compare_utf16(left, right), "branch_id", found);
    });
    for_each_question(bundle, &mut |question| check_strings(question.get("options"), false, found));
}

/// BS7.
fn paths_are_safe(_: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    for output in bundle.get("outputs").elements() {
        let path = output.get("path");
        if let Some(message) = path.str().and_then(path_problem) {
            found.at(path, message);
        }
    }
}

/// BS9.
fn ids_match(_: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    let mut canon = Canonicalizer::new();
    check_id(&mut canon, bundle, DerivedId::Bundle, found);
    for_each_node(bundle, &mut |node, depth| {
        check_id(&mut canon, node, DerivedId::Node, found);
        check_branches(&mut canon, node, found);
        check_parents(node, depth, found);
    });
    for_each_question(bundle, &mut |question| check_id(&mut canon, question, DerivedId::Question, found));
    for output in bundle.get("outputs").elements() {
        check_id(&mut canon, output, DerivedId::Output, found);
        let hash = output.get("content_hash");
        if let (Some(named), Some(content)) =
            (hash.str().filter(|it| is_sha256(it)), output.get("content").str())
        {
            let real = ContentHash::of(content.as_bytes());
            if !real.is(named) {
                found.at(hash, format!("does not match the content, whose hash is `{real}`"));
            }
        }
    }
}

fn check_id(canon: &mut Canonicalizer, node: Node<'_, '_>, kind: DerivedId, found: &mut Findings) {
    let id = node.get("id");
    let (Some(named), Some(value)) = (id.str(), node.value()) else { return };
    match kind.of(canon, value) {
        Ok(derived) if named != derived => {
            found.at(id, format!("does not match the content, which gives `{derived}`"));
        }
        // Where a field that the id covers is missing, that is a finding of its own; the id's form can still be judged.
        Err(_) if !kind.is_well_formed(named) => {
            found.at(id, format!("expected `{}_` and 16 hexadecimal digits", kind.prefix()));
        }
        _ => {}
    }
}

fn check_branches(canon: &mut Canonicalizer, node: Node<'_, '_>, found: &mut Findings) {
    let split = node.get("splitting_question");
    let question = split.get("question");
    let question_id = question.get("id");
    for branch in split.get("branches").elements() {
        let id = branch.get("branch_id");
        if let (Some(named), Some(question), Some(answer)) =
            (id.str(), question_id.value(), branch.get("answer").value())
            && let Ok(derived) = branch_id(canon, question, answer)
            && named != derived
        {
            found.at(id, format!("does not match question and answer, which give `{derived}`"));
        }
    }
}

/// A child names the node above it; the root names none.
fn check_parents(node: Node<'_, '_>, depth: Option<usize>, found: &mut Findings) {
    let parent = node.get("parent_id");
    if depth == Some(0) && parent.str().is_some() {
        found.at(parent, "the root has no parent; expected null");
    }
    for child in node.get("children").elements() {
        let parent = child.get("parent_id");
        if let (Some(id), Some(named)) = (node.get("id").value(), parent.value())
            && !id.same_as(named)
            && matches!(named, Value::String(_) | Value::Null)
        {
            found.at(parent, "is not the id of the node above");
        }
    }
}

/// BS11.
fn figures_agree(_: &Facts<'_>, bundle: Node<'_, '_>, found: &mut Findings) {
    let mut open_in_tree = false;
    collect(bundle.get("root_node"), 0, &mut |node, _| {
        open_in_tree |=
            node.get("unresolved_questions").array().is_some_and(|questions| !questions.is_empty());
    });
    check_status(bundle, open_in_tree, found);
    let (mut nodes, mut depth_max) = (0, 0);
    let mut leaves: BTreeMap<&str, Vec<&Value<'_>>> = BTreeMap::new();
    let mut leaf_count = 0;
    collect(bundle.get("root_node"), 0, &mut |node, depth| {
        nodes += 1;
        depth_max = depth_max.max(depth);
        let status = node.get("status");
        let is_leaf = node.get("children").array().is_none_or(<[_]>::is_empty);
        match (status.str(), is_leaf) {
            (Some("terminal"), false) => {
                found.at(status, "a node with children is `expanding`, not `terminal`")
            }
            (Some("expanding"), true) => {
                found.at(status, "a node without children is `terminal`, not `expanding`")
            }
            _ => {}
        }
        if let (true, Some(value)) = (is_leaf, node.value()) {
            leaf_count += 1;
            leaves.entry(node.get("id").str().unwrap_or_default()).or_default().push(value);
        }
    });
    check_leaves(bundle.get("terminal_nodes"), leaves, found);
    let stats = bundle.get("stats");
    // Where the tree or a list is missing, that is a finding of its own and figures cannot be compared.
    let root = bundle.get("root_node");
    let in_tree = |figure: usize| root.value().and_then(Value::as_object).map(|_| figure);
    let count = |field| bundle.get(field).array().map(<[_]>::len);
    let average = |measure: &'static str, score: &'static str, figure: &'static str| {
        let terminal = bundle.get("terminal_nodes");
        terminal.array()?;
        let scores: Option<Vec<i64>> =
            terminal.elements().map(|node| node.get(measure).get(score).integer()).collect();
        let scores = scores.filter(|scores| scores.iter().all(|score| SCORES.contains(score)));
        let average = scores.map(|scores| average_half_up(&scores));
        // A score out of range is a matter of BS10.
        average.filter(|_| {
            bundle.get("stats").get(figure).integer().is_some_and(|named| SCORES.contains(&named))
        })
    };
    for (field, real) in [
        ("total_nodes", in_tree(nodes)),
        ("terminal_nodes", in_tree(leaf_count)),
        ("max_depth", in_tree(depth_max)),
        ("total_outputs", count("outputs")),
        ("unresolved_count", count("unresolved_questions")),
        ("avg_terminal_entropy", average("entropy", "entropy_score", "avg_terminal_entropy")),
        ("avg_terminal_density", average("density", "density_score", "avg_terminal_density")),
    ] {
        let named = stats.get(field);
        if let (Some(number), Some(real)) = (named.integer(), real)
            && number >= 0
            && number != real as i64
        {
            found.at(named, format!("is {number}, but the tree gives {real}"));
        }
    }
}

fn collect<'v>(node: Node<'_, 'v>, depth: usize, visit: &mut dyn FnMut(Node<'_, 'v>, usize)) {
    if node.is_missing() {
        return;
    }
    visit(node, depth);
    for child in node.get("children").elements() {
        collect(child, depth + 1, visit);
    }
}

/// The range of a score.
const SCORES: std::ops::RangeInclusive<i64> = 0..=100;

/// The average of nothing is 0.
fn average_half_up(scores: &[i64]) -> usize {
    let (sum, count) =
        (scores.iter().fold(0_i64, |sum, score| sum.saturating_add(*score)), scores.len() as i64);
    if count == 0 {
        return 0;
    }
    let rounded = (sum.saturating_mul(2).saturating_add(count)).div_euclid(2 * count);
    usize::try_from(rounded.clamp(0, 100)).unwrap_or_default()
}

fn check_status(bundle: Node<'_, '_>, open_in_tree: bool, found: &mut Findings) {
    let status = bundle.get("status");
    let empty = |field| bundle.get(field).array().map(<[_]>::is_empty);
    match (status.str(), empty("unresolved_questions"), empty("outputs")) {
        (Some("complete"), Some(false), _) => found.at(status, "is `complete`, but questions are open"),
        (Some("incomplete"), Some(true), _) => found.at(status, "is `incomplete`, but no question is open"),
        (Some("complete"), ..) if open_in_tree => {
            found.at(status, "is `complete`, but a node has open questions")
        }
        (Some("complete"), _, Some(true)) => found.at(status, "is `complete`, but there is no output"),
        _ => {}
    }
}

/// The repeated leaves are the tree's leaves, each once and unchanged.
fn check_leaves(terminal: Node<'_, '_>, mut leaves: BTreeMap<&str, Vec<&Value<'_>>>, found: &mut Findings) {
    if terminal.array().is_some_and(<[_]>::is_empty) {
        found.at(terminal, "is empty; every tree has a leaf");
        return;
    }
    if terminal.array().is_none() || leaves.is_empty() {
        return;
    }
    for node in terminal.elements() {
        let (Some(value), Some(id)) = (node.value(), node.get("id").str()) else { continue };
        match leaves.get_mut(id).and_then(Vec::pop) {
            Some(leaf) if leaf.same_as(value) => {}
            Some(_) => found.at(node, "differs from the leaf of the tree with that id"),
            None => found.at(node, "is not a leaf of the tree"),
        }
    }
    for (id, left) in leaves {
        for _ in left {
            found.at(terminal, format!("lacks the leaf `{}`", crate::path::shorten(id)));
        }
    }
}
