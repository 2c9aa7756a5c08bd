//! In which order a batch is verified, and which items repeat others.

use core::hash::{BuildHasher, Hash};
use core::sync::atomic::{AtomicU8, AtomicUsize};
use std::hash::RandomState;

use mldsa_core::{Context, ParameterSet};

use crate::judge::{Judge, STRANGERS};
use crate::{Item, Message, Repeat, Signer};

/// An item to verify. Sorted by hint, signatures under one key are neighbours
/// and meet it in the cache; sorted by tag, repeats are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) hint: u32,
    pub(crate) tag: u64,
    pub(crate) index: usize,
}

/// The part of the jobs that one worker begins with.
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
    pub(crate) jobs: Vec<Job>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) repeats: Vec<Repeat>,
}

/// Marks a job that repeats another.
const REPEAT: usize = usize::MAX;

/// Sorts `jobs` by key and takes out those that repeat an earlier item, which
/// are appended to `repeats`.
///
/// Tags are the first bytes of the signatures. Where they collide, which honest
/// signatures do not, a keyed hash of the whole content separates the items and
/// a comparison decides: a flood of near-repeats costs one hash for each.
pub(crate) fn take_repeats<'a, P: ParameterSet>(
    judge: &'a Judge<P>,
    hasher: &RandomState,
    jobs: &mut Vec<Job>,
    repeats: &mut Vec<Repeat>,
    item: impl Fn(usize) -> Option<Item<'a>>,
) {
    sort(jobs);
    let before = repeats.len();
    for run in jobs.chunk_by_mut(|a, b| (a.hint, a.tag) == (b.hint, b.tag)) {
        if run.len() == 1 {
            continue;
        }
        for job in run.iter_mut() {
            job.tag = item(job.index).map_or(0, |item| hasher.hash_one(content(judge, &item)));
        }
        sort(run);
        let mut first = 0;
        for n in 1..run.len() {
            let pair = [item(run[first].index), item(run[n].index)];
            let [Some(a), Some(b)] = pair else { continue };
            if run[first].tag == run[n].tag
                && content(judge, &a) == content(judge, &b)
                && same_signer(run[n].hint, a.signer, b.signer)
            {
                repeats.push(Repeat {
                    index: run[n].index,
                    first: run[first].index,
                });
                run[n].index = REPEAT;
            } else {
                first = n;
            }
        }
    }
    if repeats.len() > before {
        jobs.retain(|job| job.index != REPEAT);
    }
}

/// By key, and within it in a fixed order. In place.
pub(crate) fn sort(jobs: &mut [Job]) {
    jobs.sort_unstable_by_key(|job| (job.hint, job.tag, job.index));
}

/// What makes an item, apart from the signer.
#[derive(PartialEq, Eq, Hash)]
struct Content<'a> {
    signature: &'a [u8],
    context: &'a [u8],
    form: u8,
    head: &'a [u8],
    parts: &'a [&'a [u8]],
}

fn content<'a, P: ParameterSet>(judge: &'a Judge<P>, item: &Item<'a>) -> Content<'a> {
    let (form, head, parts): (u8, &[u8], &[&[u8]]) = match item.message {
        Message::Bytes(message) => (0, message, &[]),
        Message::Parts(parts) => (1, &[], parts),
        Message::Mu(mu) => (2, mu.as_bytes(), &[]),
        Message::PreHashed { hash, digest } => (3 + hash as u8, digest, &[]),
    };
    Content {
        signature: item.signature,
        context: judge.context(item).unwrap_or(Context::EMPTY).as_bytes(),
        form,
        head,
        parts,
    }
}

/// Whether two signers with the same hint are one.
fn same_signer(hint: u32, a: Signer<'_>, b: Signer<'_>) -> bool {
    match (a, b) {
        (Signer::Key(a), Signer::Key(b)) => a == b,
        _ => hint < STRANGERS,
    }
}
