//! Steps whose order runs in a circle.

use super::{Contradiction, Key, Stated, contradiction};
use std::collections::BTreeMap;

/// Orders that run in a circle: the strongly connected parts of the graph of `A before B`.
pub(super) fn cycles(stated: &[Stated<'_>], found: &mut Vec<Contradiction>) {
    let mut nodes: BTreeMap<&Key, usize> = BTreeMap::new();
    let mut edges: Vec<(usize, usize, Stated<'_>)> = Vec::new();
    for (constraint, requirement) in stated {
        if let Some((left, right)) = &requirement.order {
            let mut node = |key| {
                let next = nodes.len();
                *nodes.entry(key).or_insert(next)
            };
            let (left, right) = (node(left), node(right));
            edges.push((left, right, (*constraint, requirement)));
        }
    }
    // A step that nothing comes before, or that nothing comes after, is on no circle: remove it until nothing
    // changes.
    let mut alive = vec![true; edges.len()];
    for forward in [true, false] {
        let ends =
            |edge: &(usize, usize, Stated<'_>)| if forward { (edge.0, edge.1) } else { (edge.1, edge.0) };
        let mut incoming = vec![0_usize; nodes.len()];
        let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (index, edge) in edges.iter().enumerate().filter(|(index, _)| alive.get(*index) == Some(&true)) {
            let (from, to) = ends(edge);
            if let (Some(count), Some(list)) = (incoming.get_mut(to), outgoing.get_mut(from)) {
                *count += 1;
                list.push(index);
            }
        }
        let mut free: Vec<usize> =
            incoming.iter().enumerate().filter(|(_, count)| **count == 0).map(|(at, _)| at).collect();
        while let Some(node) = free.pop() {
            for index in outgoing.get(node).cloned().unwrap_or_default() {
                let Some(edge) = edges.get(index) else { continue };
                let (_, to) = ends(edge);
                if let (Some(alive), Some(count)) = (alive.get_mut(index), incoming.get_mut(to)) {
                    *alive = false;
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        free.push(to);
                    }
                }
            }
        }
    }
    let members: Vec<_> =
        edges.iter().zip(&alive).filter(|(_, alive)| **alive).map(|(edge, _)| edge.2).collect();
    if !members.is_empty() {
        found.push(contradiction("their order runs in a circle", &members));
    }
}
