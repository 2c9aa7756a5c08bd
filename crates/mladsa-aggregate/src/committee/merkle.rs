//! Merkle trees over SHAKE256, padded to a power of two.

use alloc::vec;
use alloc::vec::Vec;

use mldsa_core::Backend;
use mldsa_core::internals::{LaneHash, Shake256, shake256_lanes};

use crate::wire::framing::{push_length, push_lp};

pub(crate) type Node = [u8; 32];

/// Input of a leaf: `lp` of the first parts and of the last one.
pub(crate) type LeafParts<'a, const N: usize> = ([&'a [u8]; N], &'a [u8]);

/// `Leaf(lp(parts))` of every item, in lanes.
pub(crate) fn leaves<const N: usize>(items: &[LeafParts<'_, N>]) -> Vec<Node> {
    let heads: Vec<Vec<u8>> = items.iter().map(leaf_head).collect();
    let inputs = heads.iter().zip(items);
    hash(inputs.map(|(head, (_, last))| [head.as_slice(), *last]))
}

/// `Leaf(lp(parts))`.
pub(crate) fn leaf<const N: usize>(parts: &LeafParts<'_, N>) -> Node {
    hash_one([&leaf_head(parts), parts.1])
}

/// Returns the input of a leaf up to its last part.
fn leaf_head<const N: usize>((first, last): &LeafParts<'_, N>) -> Vec<u8> {
    let mut head = Vec::with_capacity(128);
    head.extend_from_slice(b"F.mt\x00");
    first.iter().for_each(|part| push_lp(&mut head, part));
    push_length(&mut head, last);
    head
}

/// `Leaf(bytes)`, without framing.
pub(crate) fn raw_leaf(bytes: &[u8]) -> Node {
    hash_one([b"F.mt\x00", bytes])
}

/// Returns the input of the node above a pair.
fn node_input(pair: &[Node; 2]) -> [&[u8]; 2] {
    [b"F.mt\x01", pair.as_flattened()]
}

fn hash_one(input: [&[u8]; 2]) -> Node {
    let mut out = [0; 32];
    Shake256::digest(Backend::detect().permutation(), &input, &mut out);
    out
}

/// Computes the hashes of all inputs, in lanes.
fn hash<'a>(inputs: impl ExactSizeIterator<Item = [&'a [u8]; 2]>) -> Vec<Node> {
    let mut out = vec![[0; 32]; inputs.len()];
    let lanes = inputs.zip(&mut out);
    shake256_lanes(
        Backend::detect(),
        lanes.map(|(input, output)| LaneHash { input, output }),
    );
    out
}

/// Levels above the leaves.
pub(crate) const fn depth(leaves: usize) -> usize {
    leaves.next_power_of_two().trailing_zeros() as usize
}

/// A whole tree: the root, and all levels below it, leaves first.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    root: Node,
    below: Vec<Vec<Node>>,
}

impl Levels {
    /// Builds the tree over leaves; `None` without leaves.
    pub(crate) fn new(leaves: &[Node]) -> Option<Self> {
        let mut level = leaves.to_vec();
        level.resize(leaves.len().next_power_of_two(), raw_leaf(b""));
        let mut below = Vec::with_capacity(depth(leaves.len()));
        while level.len() > 1 {
            let above = hash(level.as_chunks::<2>().0.iter().map(node_input));
            below.push(core::mem::replace(&mut level, above));
        }
        let root = *level.first().filter(|_| !leaves.is_empty())?;
        Some(Self { root, below })
    }

    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    pub(crate) fn leaf(&self, index: u32) -> Option<&Node> {
        match self.below.first() {
            Some(leaves) => leaves.get(index as usize),
            None => (index == 0).then_some(&self.root),
        }
    }

    /// Returns the siblings of leaf `index`, lowest first.
    pub(crate) fn path(&self, index: usize) -> Option<Vec<Node>> {
        let levels = self.below.iter().enumerate();
        let path = levels.map(|(height, level)| level.get((index >> height) ^ 1).copied());
        path.collect()
    }
}

/// Computes the root over leaf hashes; `None` without leaves.
pub(crate) fn root(leaves: &[Node]) -> Option<Node> {
    Some(*Levels::new(leaves)?.root())
}

/// Returns whether `path` has `depth` nodes and leads from leaf `index` to `root`.
pub(crate) fn verify_path(
    leaf: &Node,
    index: u32,
    path: &[Node],
    depth: usize,
    root: &Node,
) -> bool {
    let mut index = index;
    let mut hash = *leaf;
    for sibling in path {
        let pair = if index & 1 == 0 {
            [hash, *sibling]
        } else {
            [*sibling, hash]
        };
        hash = hash_one(node_input(&pair));
        index >>= 1;
    }
    path.len() == depth && index == 0 && hash == *root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_small_trees_verify_only_unchanged() {
        assert_eq!(root(&[]), None);
        for n in 1..=17usize {
            let leaves: Vec<Node> = (0..n).map(|i| raw_leaf(&[i as u8])).collect();
            let levels = Levels::new(&leaves).unwrap();
            let root = *levels.root();
            let depth = depth(n);
            if n > 1 {
                assert_eq!(levels.path(n.next_power_of_two()), None);
            }
            for (i, leaf) in leaves.iter().enumerate() {
                let path = levels.path(i).unwrap();
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
    fn lane_leaves_equal_single_leaves() {
        let data = [7; 3000];
        for n in 0..20usize {
            let items: Vec<LeafParts<'_, 2>> = (0..n)
                .map(|i| ([&data[..1 + 7 * i % 64], &data[..33]], &data[..i * 149]))
                .collect();
            let single: Vec<Node> = items.iter().map(leaf).collect();
            assert_eq!(leaves(&items), single);
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
