//! Verifies proofs of inclusion and consistency without the tree.

use crate::hash::Hash;
use crate::proof::{ProofError, check_growth, check_index};

/// Checks that a leaf is the entry `index` of the ledger with this size and root.
///
/// The size must come from where the root comes from, which is a signed checkpoint: with another size and the same
/// way to the leaf, the same hashes fit.
pub fn verify_inclusion(
    leaf: Hash,
    index: u64,
    size: u64,
    proof: &[Hash],
    root: Hash,
) -> Result<(), ProofError> {
    check_index(index, size)?;
    // Below, the way to this leaf has left the way to the last one and has a sibling at each level. Above, on the
    // right edge, a sibling is only where the way turns right.
    let below = (index ^ (size - 1)).checked_ilog2().map_or(0, |height| height + 1);
    let above = (index >> below).count_ones();
    let expected = (below + above) as usize;
    if proof.len() != expected {
        return Err(ProofError::Length { expected, found: proof.len() });
    }
    let mut levels = 0..below;
    let reached = proof.iter().fold(leaf, |subtree, sibling| match levels.next() {
        Some(level) if index >> level & 1 == 0 => Hash::of_node(subtree, *sibling),
        _ => Hash::of_node(*sibling, subtree),
    });
    if reached == root { Ok(()) } else { Err(ProofError::Root { size }) }
}

/// Checks that the ledger with the new size and root starts with the whole ledger of the old size and root.
///
/// Sizes must come from where the roots come from, as for [`verify_inclusion`].
pub fn verify_consistency(
    old: u64,
    new: u64,
    old_root: Hash,
    new_root: Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    check_growth(old, new)?;
    if old == 0 && old_root != Hash::EMPTY {
        return Err(ProofError::Root { size: old });
    }
    if old == new && old_root != new_root {
        return Err(ProofError::Root { size: new });
    }
    if old == 0 || old == new {
        return if proof.is_empty() { Ok(()) } else { Err(length(0, proof)) };
    }
    let expected = consistency_length(old, new);
    if proof.len() != expected {
        return Err(length(expected, proof));
    }
    // The last subtree of the old ledger is where both ways start. If it is all of the old ledger, it is not told.
    let height = old.trailing_zeros();
    let whole = old.is_power_of_two();
    let (start, siblings) = match proof.split_first() {
        Some((first, rest)) if !whole => (*first, rest),
        _ => (old_root, proof),
    };
    let (mut old_way, mut new_way) = (start, start);
    let (mut old_last, mut new_last) = ((old - 1) >> height, (new - 1) >> height);
    for sibling in siblings {
        // On the right edge of the new ledger a level without a sibling is passed over.
        while old_last == new_last && old_last & 1 == 0 && old_last > 0 {
            (old_last, new_last) = (old_last >> 1, new_last >> 1);
        }
        if old_last & 1 == 1 {
            old_way = Hash::of_node(*sibling, old_way);
            new_way = Hash::of_node(*sibling, new_way);
        } else {
            new_way = Hash::of_node(new_way, *sibling);
        }
        (old_last, new_last) = (old_last >> 1, new_last >> 1);
    }
    if old_way != old_root {
        Err(ProofError::Root { size: old })
    } else if new_way != new_root {
        Err(ProofError::Root { size: new })
    } else {
        Ok(())
    }
}

/// Hashes of a consistency proof of a ledger that was not empty and grew.
fn consistency_length(old: u64, new: u64) -> usize {
    let height = old.trailing_zeros();
    let (old_last, new_last) = ((old - 1) >> height, (new - 1) >> height);
    let below = (old_last ^ new_last).checked_ilog2().map_or(0, |height| height + 1);
    let above = (old_last >> below).count_ones();
    (below + above) as usize + usize::from(!old.is_power_of_two())
}

fn length(expected: usize, proof: &[Hash]) -> ProofError {
    ProofError::Length { expected, found: proof.len() }
}
