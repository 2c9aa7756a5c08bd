//! In which order a batch is verified, and which items repeat others.

use core::hash::{BuildHasher, Hash};
use core::sync::atomic::{AtomicU8, AtomicUsize};
use mldsa_core::{Context, ParameterSet};

use crate::judge::Judge;
use crate::{Item, Message, Repeat, Signer, SignerId};

/// An item to verify. Sorted by key, signatures of one signer are neighbours and
/// meet the expanded key in the CPU's cache; sorted by tag, repeats are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    /// See [`Screened::sort_key`](crate::judge::Screened::sort_key).
    pub(crate) key: u32,
    pub(crate) tag: u64,
    pub(crate) index: usize,
}

/// The part of the plan that one worker begins with.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) next: AtomicUsize,
    pub(crate) end: usize,
}

/// Memory of one call, kept for the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// A code of [`Outcome`](crate::Outcome) for every item.
    pub(crate) codes: Vec<AtomicU8>,
    pub(crate) plan: Vec<Planned>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) repeats: Vec<Repeat>,
}

/// Marks an item that repeats another.
const REPEAT: usize = usize::MAX;

/// Sorts `plan` by key and takes out those that repeat an earlier item, which
/// are appended to `repeats`.
///
/// Tags are the first bytes of the signatures. Where they collide, which honest
/// signatures do not, a keyed hash of the whole content separates the items and
/// a comparison decides: a flood of near-repeats costs one hash for each.
pub(crate) fn take_repeats<'a, P: ParameterSet>(
    judge: &'a Judge<P>,
    hasher: &impl BuildHasher,
    plan: &mut Vec<Planned>,
    repeats: &mut Vec<Repeat>,
    item: impl Fn(usize) -> Option<Item<'a>>,
) {
    sort(plan);
    let before = repeats.len();
    let look_alike = |a: &Planned, b: &Planned| (a.key, a.tag) == (b.key, b.tag);
    for run in plan.chunk_by_mut(look_alike) {
        if run.len() == 1 {
            continue;
        }
        for planned in run.iter_mut() {
            planned.tag =
                item(planned.index).map_or(0, |item| hasher.hash_one(content(judge, &item)));
        }
        sort(run);
        for run in run.chunk_by_mut(look_alike) {
            for n in 1..run.len() {
                let index = run[n].index;
                let Some(later) = item(index) else { continue };
                let later = content(judge, &later);
                // The first of them, unless the hash collides too.
                let first = run[..n].iter().map(|planned| planned.index).find(|&first| {
                    first != REPEAT
                        && item(first).is_some_and(|first| content(judge, &first) == later)
                });
                if let Some(first) = first {
                    repeats.push(Repeat { index, first });
                    run[n].index = REPEAT;
                }
            }
        }
    }
    if repeats.len() > before {
        without_repeats(plan);
    }
}

// Not generic, so that a program has one of each, whatever it verifies.

fn without_repeats(plan: &mut Vec<Planned>) {
    plan.retain(|planned| planned.index != REPEAT);
}

/// By key, and within it in a fixed order. In place.
pub(crate) fn sort(plan: &mut [Planned]) {
    plan.sort_unstable_by_key(|planned| (planned.key, planned.tag, planned.index));
}

/// Those up to an index, in order.
pub(crate) fn repeats_up_to(last: usize, repeats: &mut Vec<Repeat>) {
    repeats.retain(|repeat| repeat.index <= last);
    repeats.sort_unstable_by_key(|repeat| repeat.index);
}

/// What makes an item.
#[derive(PartialEq, Eq, Hash)]
struct Content<'a> {
    signer: Identity<'a>,
    signature: &'a [u8],
    context: &'a [u8],
    form: u8,
    head: &'a [u8],
    parts: &'a [&'a [u8]],
}

/// A member is the same by id and by key; a key that is no member's stands for itself.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    Member(SignerId),
    Encoded(&'a [u8]),
}

fn content<'a, P: ParameterSet>(judge: &'a Judge<P>, item: &Item<'a>) -> Content<'a> {
    let (form, head, parts): (u8, &[u8], &[&[u8]]) = match item.message {
        Message::Bytes(message) => (0, message, &[]),
        Message::Parts(parts) => (1, &[], parts),
        Message::Mu(mu) => (2, mu.as_bytes(), &[]),
        Message::PreHashed { hash, digest } => (3 + hash as u8, digest, &[]),
    };
    Content {
        signer: match item.signer {
            Signer::Id(id) => Identity::Member(id),
            Signer::Key(key) => judge
                .member_of(key, None)
                .map_or(Identity::Encoded(key), Identity::Member),
        },
        signature: item.signature,
        context: judge.context(item).unwrap_or(Context::EMPTY).as_bytes(),
        form,
        head,
        parts,
    }
}

#[cfg(test)]
mod tests {
    use core::hash::Hasher;
    use std::collections::HashSet;
    use std::hash::RandomState;

    use super::*;
    use crate::{BatchVerifier, KeyPolicy, KeySet};
    use mldsa_core::MlDsa44;
    use proptest::prelude::*;

    /// Lets so many bits of a hash through.
    struct Weak(RandomState, u64);
    struct WeakHasher(<RandomState as BuildHasher>::Hasher, u64);

    impl BuildHasher for Weak {
        type Hasher = WeakHasher;

        fn build_hasher(&self) -> WeakHasher {
            WeakHasher(self.0.build_hasher(), self.1)
        }
    }

    impl Hasher for WeakHasher {
        fn finish(&self) -> u64 {
            self.0.finish() & self.1
        }

        fn write(&mut self, bytes: &[u8]) {
            self.0.write(bytes);
        }
    }

    /// (key, by id, message, signature, context); keys and signatures begin alike.
    type Pick = (usize, bool, usize, usize, usize);

    proptest! {
        /// Exactly the items that equal an earlier one, with the earliest, also
        /// where keys have equal prefixes and hashes collide.
        #[test]
        fn repeats_are_those_that_equal_an_earlier_item(
            picks in proptest::collection::vec(
                (0usize..5, any::<bool>(), 0usize..2, 0usize..2, 0usize..3), 0..40),
            mask in prop_oneof![Just(0), Just(1), Just(7), Just(u64::MAX)],
        ) {
            let mut keys = vec![vec![7u8; MlDsa44::PK_LEN]; 5];
            for (key, at) in keys[1..].iter_mut().zip([4, 40, 1311, 1311]) {
                key[at] ^= 1;
            }
            keys[4][5] ^= 1;
            let mut signatures = [[3u8; 2420]; 2];
            signatures[1][2000] ^= 1;
            let contexts = [b"here".as_slice(), b"here", b"there"]
                .map(|bytes| Context::new(bytes).unwrap());
            let set = KeySet::<MlDsa44>::builder().policy(KeyPolicy::Compact);
            let set = set.build([keys[2].as_slice()]).unwrap();
            let verifier = BatchVerifier::builder().keys(set).context(b"here");
            let verifier = verifier.build().unwrap();
            let judge = &verifier.judge;
            let item = |&(key, by_id, message, signature, context): &Pick| {
                let signer = match key {
                    2 if by_id => Signer::Id(SignerId::new(0)),
                    _ => Signer::Key(&keys[key]),
                };
                let message = [b"one".as_slice(), b"two"][message];
                let item = Item::new(signer, message, &signatures[signature]);
                match context {
                    0 => item,
                    n => item.with_context(contexts[n]),
                }
            };
            let same = |&(a, _, b, c, d): &Pick| (a, b, c, d == 2);

            let mut plan: Vec<Planned> = picks.iter().enumerate().map(|(index, pick)| {
                let item = item(pick);
                let key = judge.screen(&item, None).unwrap().sort_key();
                let tag = u64::from_ne_bytes(*item.signature.first_chunk().unwrap());
                Planned { key, tag, index }
            }).collect();
            let mut repeats = Vec::new();
            let hasher = Weak(RandomState::new(), mask);
            take_repeats(judge, &hasher, &mut plan, &mut repeats, |n| Some(item(&picks[n])));

            repeats.sort_unstable_by_key(|repeat| repeat.index);
            let expected: Vec<Repeat> = (0..picks.len()).filter_map(|index| {
                let earlier = picks[..index].iter();
                let first = earlier.map(same).position(|pick| pick == same(&picks[index]))?;
                Some(Repeat { index, first })
            }).collect();
            prop_assert_eq!(&repeats, &expected);
            let left: HashSet<usize> = plan.iter().map(|planned| planned.index).collect();
            prop_assert_eq!(left.len(), plan.len());
            let repeated: HashSet<usize> = expected.iter().map(|repeat| repeat.index).collect();
            prop_assert!(left.is_disjoint(&repeated));
            prop_assert_eq!(left.len() + repeated.len(), picks.len());
        }
    }
}
