//! Order of verification and detection of duplicates.

use core::hash::BuildHasher;
use core::sync::atomic::AtomicUsize;

use mldsa_core::ParameterSet;

use super::resolve::Resolved;

/// Position of an item in the order of verification. Signatures of one signer are adjacent, so that
/// the prepared key stays in the CPU's cache, and so are duplicates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedItem {
    /// See [`Resolved::order`].
    pub(crate) order: u64,
    pub(crate) index: usize,
}

/// Part of the plan that one worker begins with.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) next: AtomicUsize,
    pub(crate) end: usize,
}

/// Sorts `plan` and removes the items that equal an earlier one, which are appended
/// to `duplicates`.
///
/// If the first bytes of signatures under one key collide, which those of honest signatures
/// rarely do, a keyed hash of the whole content separates the items and a comparison decides: a
/// flood of near-duplicates costs one hash for each.
pub(crate) fn take_duplicates<'a, P: ParameterSet>(
    hasher: &impl BuildHasher,
    plan: &mut Vec<PlannedItem>,
    duplicates: &mut Vec<(usize, usize)>,
    item: impl Fn(usize) -> Option<&'a Resolved<'a, P>>,
) {
    sort(plan);
    let before = duplicates.len();
    let look_alike = |a: &PlannedItem, b: &PlannedItem| a.order == b.order;
    for run in plan.chunk_by_mut(look_alike) {
        if run.len() == 1 {
            continue;
        }
        for planned in run.iter_mut() {
            if let Some(item) = item(planned.index) {
                planned.order = hasher.hash_one(item.content());
            }
        }
        sort(run);
        for run in run.chunk_by_mut(look_alike) {
            for n in 1..run.len() {
                let index = run[n].index;
                let Some(later) = item(index).map(Resolved::content) else {
                    continue;
                };
                // The first one with this content, which is no duplicate itself.
                let mut earlier = run[..n].iter().map(|planned| planned.index);
                let first =
                    earlier.find(|&first| item(first).is_some_and(|it| it.content() == later));
                duplicates.extend(first.map(|first| (index, first)));
            }
        }
    }
    let new = &mut duplicates[before..];
    if !new.is_empty() {
        new.sort_unstable();
        plan.retain(|planned| {
            let found = new.binary_search_by_key(&planned.index, |(index, _)| *index);
            found.is_err()
        });
    }
}

/// Sorts in place. Not generic, so that a program has one copy.
pub(crate) fn sort(plan: &mut [PlannedItem]) {
    plan.sort_unstable_by_key(|planned| (planned.order, planned.index));
}
