//! Merkle trees of RFC 6962 and their subtrees (draft-ietf-plants-merkle-tree-certs).

use sha2::{Digest, Sha256};

use crate::checkpoint::Subtree;
use crate::error::Error;

/// A hash of SHA-256.
pub type Hash = [u8; 32];

/// Returns the hash of an entry of a log.
#[must_use]
pub fn leaf_hash(entry: &[u8]) -> Hash {
    Sha256::new()
        .chain_update([0])
        .chain_update(entry)
        .finalize()
        .into()
}

/// Returns the hash of an inner node.
#[must_use]
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new()
        .chain_update([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

/// Verifies that the leaf with index `index` of the log is in `tree`: a whole tree (from a
/// [`Checkpoint`](crate::Checkpoint)) or a subtree.
///
/// # Errors
/// [`Error::Subtree`] if `tree` is no subtree, and [`Error::Proof`].
pub fn verify_inclusion(
    tree: &Subtree,
    index: u64,
    leaf: &Hash,
    proof: &[Hash],
) -> Result<(), Error> {
    let hash = root_of(tree.start, tree.end, index, leaf, proof.iter().copied())?;
    if hash == tree.hash {
        Ok(())
    } else {
        Err(Error::Proof)
    }
}

/// Returns the hash that a tree or subtree has if the leaf with index `index` and the path `proof` are in it.
///
/// # Errors
/// [`Error::Subtree`] if the leaves are no subtree, and [`Error::Proof`] for an index or a path that it cannot have.
pub fn root_of(
    start: u64,
    end: u64,
    index: u64,
    leaf: &Hash,
    proof: impl IntoIterator<Item = Hash>,
) -> Result<Hash, Error> {
    let mut hash = *leaf;
    Subtree { start, end, hash }.check()?;
    if !(start..end).contains(&index) {
        return Err(Error::Proof);
    }
    let (mut node, mut last) = (index - start, end - start - 1);
    for sibling in proof {
        if last == 0 {
            return Err(Error::Proof);
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(&sibling, &hash);
            // A last node without a sibling goes up as it is.
            let levels = node.trailing_zeros();
            (node, last) = (node >> levels, last >> levels);
        } else {
            hash = node_hash(&hash, &sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    if last == 0 {
        Ok(hash)
    } else {
        Err(Error::Proof)
    }
}

/// Verifies that `part` is consistent with the whole tree of `size` leaves and hash `root`. With
/// `part.start` of 0 this is the consistency of two checkpoints.
///
/// # Errors
/// [`Error::Subtree`] if `part` is no subtree of the tree, and [`Error::Proof`].
pub fn verify_consistency(
    part: &Subtree,
    size: u64,
    root: &Hash,
    proof: &[Hash],
) -> Result<(), Error> {
    part.check()?;
    if part.end > size {
        return Err(Error::Subtree);
    }
    if part.end == 0 {
        // Nothing is consistent with everything.
        return if proof.is_empty() && part.hash == empty() {
            Ok(())
        } else {
            Err(Error::Proof)
        };
    }
    let (mut first, mut inner, mut outer) = (part.start, part.end - 1, size - 1);
    // The level of the largest complete node at the end of the part.
    while first != inner && (inner == outer || inner & 1 == 1) {
        (first, inner, outer) = (first >> 1, inner >> 1, outer >> 1);
    }
    let mut proof = proof.iter();
    let (mut of_part, mut of_tree) = if first == inner {
        (part.hash, part.hash)
    } else {
        let hash = proof.next().ok_or(Error::Proof)?;
        (*hash, *hash)
    };
    for sibling in proof {
        if outer == 0 {
            return Err(Error::Proof);
        }
        if inner & 1 == 1 || inner == outer {
            if first < inner {
                of_part = node_hash(sibling, &of_part);
            }
            of_tree = node_hash(sibling, &of_tree);
            let levels = inner.trailing_zeros();
            (first, inner, outer) = (first >> levels, inner >> levels, outer >> levels);
        } else {
            of_tree = node_hash(&of_tree, sibling);
        }
        (first, inner, outer) = (first >> 1, inner >> 1, outer >> 1);
    }
    let proved = outer == 0 && of_part == part.hash && of_tree == *root;
    if proved { Ok(()) } else { Err(Error::Proof) }
}

/// Returns the hash of a tree without leaves.
pub(crate) fn empty() -> Hash {
    Sha256::digest([]).into()
}
