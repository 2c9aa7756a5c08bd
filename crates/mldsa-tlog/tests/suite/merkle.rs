//! Every proof of small trees, made by the recursive definitions of RFC 6962 and of the draft on Merkle
//! Tree Certificates, and changes of each of them.

use mldsa_tlog::{
    Error, Hash, Subtree, leaf_hash, node_hash, verify_consistency, verify_inclusion,
};

/// The largest power of two below `n`.
fn split(n: u64) -> u64 {
    n.next_power_of_two() / 2
}

pub(crate) fn root(start: u64, end: u64) -> Hash {
    if end - start == 1 {
        return leaf_hash(&start.to_be_bytes());
    }
    let middle = start + split(end - start);
    node_hash(&root(start, middle), &root(middle, end))
}

pub(crate) fn tree(start: u64, end: u64) -> Subtree {
    Subtree {
        start,
        end,
        hash: root(start, end),
    }
}

pub(crate) fn path(index: u64, start: u64, end: u64) -> Vec<Hash> {
    if end - start == 1 {
        return Vec::new();
    }
    let middle = start + split(end - start);
    let (mut path, sibling) = if index < middle {
        (path(index, start, middle), root(middle, end))
    } else {
        (path(index, middle, end), root(start, middle))
    };
    path.push(sibling);
    path
}

/// The proof that `start..end` is part of `low..high`. `known`: the verifier has its hash.
pub(crate) fn consistency(start: u64, end: u64, low: u64, high: u64, known: bool) -> Vec<Hash> {
    if (start, end) == (low, high) {
        return if known {
            Vec::new()
        } else {
            vec![root(low, high)]
        };
    }
    let middle = low + split(high - low);
    let (mut proof, sibling) = if end <= middle {
        (
            consistency(start, end, low, middle, known),
            root(middle, high),
        )
    } else if start >= middle {
        (
            consistency(start, end, middle, high, known),
            root(low, middle),
        )
    } else {
        // It starts at the left end: otherwise it would be no subtree.
        assert_eq!(start, low);
        (
            consistency(middle, end, middle, high, false),
            root(low, middle),
        )
    };
    proof.push(sibling);
    proof
}

/// Every change of a proof fails.
fn changes_fail(proof: &[Hash], verify: &dyn Fn(&[Hash]) -> Result<(), Error>) {
    for at in 0..proof.len() {
        let mut changed = proof.to_vec();
        changed[at][at % 32] ^= 1;
        assert_eq!(verify(&changed), Err(Error::Proof));
        changed.remove(at);
        assert_eq!(verify(&changed), Err(Error::Proof));
    }
    let longer = [proof, &[[0; 32]]].concat();
    assert_eq!(verify(&longer), Err(Error::Proof));
}

#[test]
fn inclusion_in_trees_and_subtrees() {
    for end in 1..=33 {
        for start in 0..end {
            let tree = tree(start, end);
            if tree.check().is_err() {
                let verdict = verify_inclusion(&tree, start, &[0; 32], &[]);
                assert_eq!(verdict, Err(Error::Subtree));
                continue;
            }
            for index in start..end {
                let (leaf, proof) = (leaf_hash(&index.to_be_bytes()), path(index, start, end));
                verify_inclusion(&tree, index, &leaf, &proof).unwrap();
                changes_fail(&proof, &|proof| {
                    verify_inclusion(&tree, index, &leaf, proof)
                });
                let other = verify_inclusion(&tree, index ^ 1, &leaf, &proof);
                assert!(other.is_err());
                assert!(verify_inclusion(&tree, index, &[0; 32], &proof).is_err());
            }
            assert!(verify_inclusion(&tree, end, &[0; 32], &[]).is_err());
        }
    }
}

#[test]
fn consistency_of_trees_and_subtrees() {
    for size in 1..=33 {
        let whole = root(0, size);
        for end in 1..=size {
            for start in 0..end {
                let part = tree(start, end);
                if part.check().is_err() {
                    continue;
                }
                let proof = consistency(start, end, 0, size, true);
                verify_consistency(&part, size, &whole, &proof).unwrap();
                changes_fail(&proof, &|proof| {
                    verify_consistency(&part, size, &whole, proof)
                });
                let other = Subtree {
                    hash: [0; 32],
                    ..part
                };
                assert_eq!(
                    verify_consistency(&other, size, &whole, &proof),
                    Err(Error::Proof)
                );
                assert!(verify_consistency(&part, size, &[0; 32], &proof).is_err());
            }
        }
        let beyond = Subtree {
            start: 0,
            end: size + 1,
            hash: whole,
        };
        assert_eq!(
            verify_consistency(&beyond, size, &whole, &[]),
            Err(Error::Subtree)
        );
    }
}

#[test]
fn extremes() {
    let huge = Subtree {
        start: 0,
        end: u64::MAX,
        hash: [0; 32],
    };
    for length in [0, 1, 63, 64, 65] {
        let proof = vec![[0; 32]; length];
        assert!(verify_inclusion(&huge, u64::MAX - 1, &[0; 32], &proof).is_err());
        assert!(verify_inclusion(&huge, 0, &[0; 32], &proof).is_err());
        assert!(verify_consistency(&huge, u64::MAX, &[1; 32], &proof).is_err());
        let half = Subtree {
            end: 1 << 63,
            ..huge
        };
        assert!(verify_consistency(&half, u64::MAX, &[1; 32], &proof).is_err());
        let part = Subtree {
            start: 1 << 63,
            ..huge
        };
        assert!(verify_consistency(&part, u64::MAX, &[1; 32], &proof).is_err());
        let empty = Subtree {
            start: 0,
            end: 0,
            hash: [0; 32],
        };
        assert!(verify_inclusion(&empty, 0, &[0; 32], &proof).is_err());
        assert!(verify_consistency(&empty, 0, &[0; 32], &proof).is_err());
    }
}
