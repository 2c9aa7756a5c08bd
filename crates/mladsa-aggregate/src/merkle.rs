//! Merkle trees over SHAKE256, padded to a power of two.

use alloc::vec::Vec;

use mldsa_core::Backend;
use mldsa_core::hazmat::Shake256;

use crate::encoding::absorb_lp;
use crate::error::Error;

/// A node of a tree.
pub type Hash = [u8; 32];

/// `Leaf(lp(parts))`.
pub(crate) fn leaf(parts: &[&[u8]]) -> Hash {
    let mut sponge = Shake256::new(Backend::detect());
    sponge.absorb(b"F.mt\x00");
    absorb_lp(&mut sponge, parts);
    finish(sponge)
}

/// `Leaf(bytes)`, without framing.
fn raw_leaf(bytes: &[u8]) -> Hash {
    let mut sponge = Shake256::new(Backend::detect());
    sponge.absorb(b"F.mt\x00");
    sponge.absorb(bytes);
    finish(sponge)
}

fn node(left: &Hash, right: &Hash) -> Hash {
    let mut sponge = Shake256::new(Backend::detect());
    sponge.absorb(b"F.mt\x01");
    sponge.absorb(left);
    sponge.absorb(right);
    finish(sponge)
}

fn finish(mut sponge: Shake256) -> Hash {
    let mut out = [0; 32];
    sponge.finish();
    sponge.squeeze(&mut out);
    out
}

/// Levels above the leaves.
pub(crate) fn depth(leaves: usize) -> usize {
    leaves.next_power_of_two().trailing_zeros() as usize
}

/// All levels, leaves first, the root alone in the last.
fn levels(leaves: &[Hash]) -> Result<Vec<Vec<Hash>>, Error> {
    if leaves.is_empty() {
        return Err(Error::EmptyCohort);
    }
    let mut level = leaves.to_vec();
    level.resize(leaves.len().next_power_of_two(), raw_leaf(b""));
    let mut levels = Vec::with_capacity(1 + depth(leaves.len()));
    while level.len() > 1 {
        let above = level
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[a, b]| node(a, b))
            .collect();
        levels.push(core::mem::replace(&mut level, above));
    }
    levels.push(level);
    Ok(levels)
}

/// The root over leaf hashes.
pub(crate) fn root(leaves: &[Hash]) -> Result<Hash, Error> {
    levels(leaves)?
        .last()
        .and_then(|level| level.first().copied())
        .ok_or(Error::EmptyCohort)
}

/// The siblings of leaf `index`, lowest first.
pub(crate) fn path(leaves: &[Hash], index: usize) -> Result<Vec<Hash>, Error> {
    if index >= leaves.len() {
        return Err(Error::OutOfRange);
    }
    let levels = levels(leaves)?;
    let siblings = levels.iter().enumerate();
    Ok(siblings
        .filter_map(|(height, level)| level.get((index >> height) ^ 1).copied())
        .collect())
}

/// Whether `path`, of the length that the caller expects, leads from leaf
/// `index` to `root`.
pub(crate) fn verify_path(
    leaf: &Hash,
    index: u32,
    path: &[Hash],
    depth: usize,
    root: &Hash,
) -> bool {
    let mut index = index;
    let mut hash = *leaf;
    for sibling in path {
        hash = if index & 1 == 0 {
            node(&hash, sibling)
        } else {
            node(sibling, &hash)
        };
        index >>= 1;
    }
    path.len() == depth && index == 0 && hash == *root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_every_small_tree_verifies_and_no_other() {
        assert_eq!(root(&[]), Err(Error::EmptyCohort));
        for n in 1..=17usize {
            let leaves: Vec<Hash> = (0..n).map(|i| raw_leaf(&[i as u8])).collect();
            let root = root(&leaves).unwrap();
            let depth = depth(n);
            assert_eq!(path(&leaves, n), Err(Error::OutOfRange));
            for (i, leaf) in leaves.iter().enumerate() {
                let path = path(&leaves, i).unwrap();
                let index = i as u32;
                assert_eq!(path.len(), depth);
                assert!(verify_path(leaf, index, &path, depth, &root));
                assert!(!verify_path(
                    leaf,
                    index + (1 << depth),
                    &path,
                    depth,
                    &root
                ));
                assert!(!verify_path(leaf, index ^ 1, &path, depth, &root) || n == 1);
                assert!(!verify_path(leaf, index, &path, depth + 1, &root));
                let mut longer = path.clone();
                longer.push(raw_leaf(b""));
                assert!(!verify_path(leaf, index, &longer, depth, &root));
                if let Some(first) = longer.first_mut() {
                    first[0] ^= 1;
                }
                longer.pop();
                assert!(!verify_path(leaf, index, &longer, depth, &root) || n == 1);
            }
        }
    }

    #[test]
    fn published_root() {
        let leaves = [raw_leaf(b"a"), raw_leaf(b"b"), raw_leaf(b"c")];
        assert_eq!(
            hex::encode(root(&leaves).unwrap()),
            "b141de6cbda70f2562195d2f0a5467c224fe74bc44fba55a0aa6cdfe77877053"
        );
    }
}
