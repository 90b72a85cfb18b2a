//! Which nodes of two trees belong together, and how they differ.

use super::changes::{Change, ListChange};
use ordain_spec::bundle::{ContextNode, NodeStatus};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Serialize, Default)]
pub(super) struct Nodes<'a> {
    pub(super) added: Vec<NodeAt<'a>>,
    pub(super) removed: Vec<NodeAt<'a>>,
    pub(super) changed: Vec<NodeChange<'a>>,
}

#[derive(Serialize)]
pub(super) struct NodeAt<'a> {
    pub(super) id: &'a str,
    /// The goals from the root to the node.
    pub(super) path: Vec<&'a str>,
    pub(super) constraints: &'a [String],
    /// Those that the node above does not have: what sets it apart from its siblings.
    pub(super) own_constraints: Vec<&'a str>,
}

#[derive(Serialize)]
pub(super) struct NodeChange<'a> {
    pub(super) id: Change<&'a str>,
    /// The goals from the root to the node, as they are now.
    pub(super) path: Vec<&'a str>,
    pub(super) goal: Change<&'a str>,
    pub(super) constraints: ListChange<'a>,
    pub(super) status: Change<NodeStatus>,
    pub(super) entropy_score: Change<u8>,
    pub(super) density_score: Change<u8>,
    /// Which other fields differ.
    pub(super) other: Vec<&'static str>,
}

pub(super) fn node_changes<'a>(before: &'a ContextNode, after: &'a ContextNode) -> Nodes<'a> {
    let mut nodes = Nodes::default();
    compare(before, after, &[], &mut nodes);
    nodes
}

fn compare<'a>(before: &'a ContextNode, after: &'a ContextNode, above: &[&'a str], nodes: &mut Nodes<'a>) {
    // An id covers only parent, goal and constraints, so that equal ids do not make equal nodes.
    if before == after {
        return;
    }
    let path = [above, &[after.goal.as_str()]].concat();
    let change = NodeChange::between(before, after, path.clone());
    if !change.is_none() {
        nodes.changed.push(change);
    }
    let paired = pair(before, after);
    for (old, new) in paired.both {
        compare(old, new, &path, nodes);
    }
    let path_before = [above, &[before.goal.as_str()]].concat();
    for old in paired.removed {
        list(old, before, &path_before, &mut nodes.removed);
    }
    for new in paired.added {
        list(new, after, &path, &mut nodes.added);
    }
}

/// A node and all below it.
fn list<'a>(node: &'a ContextNode, parent: &'a ContextNode, above: &[&'a str], nodes: &mut Vec<NodeAt<'a>>) {
    let path = [above, &[node.goal.as_str()]].concat();
    nodes.push(NodeAt {
        id: &node.id,
        path: path.clone(),
        constraints: &node.constraints,
        own_constraints: ListChange::between(&parent.constraints, &node.constraints).added,
    });
    for child in &node.children {
        list(child, node, &path, nodes);
    }
}

#[derive(Default)]
struct Paired<'a> {
    both: Vec<(&'a ContextNode, &'a ContextNode)>,
    removed: Vec<&'a ContextNode>,
    added: Vec<&'a ContextNode>,
}

/// Finds the partners among the children of two nodes. A changed constraint changes the ids of all nodes below, and
/// siblings may share a goal. So the same id counts most, then the same goal with the same constraints beyond the
/// parent's, then the same goal.
fn pair<'a>(before: &'a ContextNode, after: &'a ContextNode) -> Paired<'a> {
    type Key<'a> = fn(&'a ContextNode, &BTreeSet<&'a str>) -> Vec<&'a str>;
    let keys: [Key<'a>; 3] = [
        |node, _| vec![&node.id],
        |node, inherited| {
            let own = node.constraints.iter().map(String::as_str).filter(|it| !inherited.contains(it));
            [node.goal.as_str()].into_iter().chain(own).collect()
        },
        |node, _| vec![&node.goal],
    ];
    let inherited = |parent: &'a ContextNode| parent.constraints.iter().map(String::as_str).collect();
    let (inherited_before, inherited_after): (BTreeSet<&str>, BTreeSet<&str>) =
        (inherited(before), inherited(after));
    let mut paired = Paired { removed: before.children.iter().collect(), ..Paired::default() };
    let mut free: Vec<Option<&ContextNode>> = after.children.iter().map(Some).collect();
    for key in keys {
        let mut positions: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        // Backwards, so that the first one is taken first.
        for (position, node) in free.iter().enumerate().rev() {
            if let Some(node) = node {
                positions.entry(key(node, &inherited_after)).or_default().push(position);
            }
        }
        let both = &mut paired.both;
        paired.removed.retain(|old| {
            let position = positions.get_mut(&key(old, &inherited_before)).and_then(Vec::pop);
            let new = position.and_then(|position| free.get_mut(position)).and_then(Option::take);
            both.extend(new.map(|new| (*old, new)));
            new.is_none()
        });
    }
    paired.added = free.into_iter().flatten().collect();
    paired
}

impl<'a> NodeChange<'a> {
    fn between(before: &'a ContextNode, after: &'a ContextNode, path: Vec<&'a str>) -> Self {
        let differs = [
            ("density", before.density != after.density),
            ("entropy", before.entropy != after.entropy),
            ("splitting_question", before.splitting_question != after.splitting_question),
            ("unresolved_questions", before.unresolved_questions != after.unresolved_questions),
        ];
        Self {
            id: Change { from: &before.id, to: &after.id },
            path,
            goal: Change { from: &before.goal, to: &after.goal },
            constraints: ListChange::between(&before.constraints, &after.constraints),
            status: Change { from: before.status, to: after.status },
            entropy_score: Change { from: before.entropy.entropy_score, to: after.entropy.entropy_score },
            density_score: Change { from: before.density.density_score, to: after.density.density_score },
            other: differs.into_iter().filter_map(|(field, differs)| differs.then_some(field)).collect(),
        }
    }

    /// Whether nothing but the ids differs, which follow from the nodes above.
    fn is_none(&self) -> bool {
        self.goal.is_none() && self.constraints.is_none() && self.status.is_none() && self.other.is_empty()
    }
}
