//! Cache of valid votes, in bounded memory with a share for each member.

use core::hash::{BuildHasher, BuildHasherDefault, Hasher};
use core::mem::size_of;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::RandomState;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use lru::LruCache;
use mldsa_core::ParameterSet;

use crate::{Committee, Message, Vote};

/// Positive verdicts on votes of members. Rejections are never cached.
///
/// A hit equals a verified vote in every byte: `tr` (the hash of the member's key), context,
/// message and signature. So it holds in every committee with that key and context.
///
/// When the cache is full, the member with most bytes loses its least recently used vote: a
/// member that signs for heights that are never reached displaces only its own votes.
pub(super) struct VerdictCache {
    max_bytes: usize,
    hasher: RandomState,
    process: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    members: HashMap<u64, Share, BuildHasherDefault<Identity>>,
    /// Shares by size.
    by_bytes: BTreeSet<(usize, u64)>,
    bytes: usize,
    hits: u64,
}

/// Votes of one member.
struct Share {
    votes: LruCache<u64, Entry, BuildHasherDefault<Identity>>,
    bytes: usize,
}

/// A valid vote.
struct Entry {
    /// `tr`, length of the context, context, message.
    signed: Box<[u8]>,
    signature: Box<[u8]>,
}

/// Bytes of an entry and its place in the tables, without its content.
const ENTRY_BYTES: usize = size_of::<(u64, Entry)>() + 64;

impl Entry {
    /// Bytes with the place in the tables.
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.signed.len() + self.signature.len()
    }
}

/// Hasher for keys that are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A vote that is looked up in the cache.
struct Lookup<'a> {
    member: u64,
    hash: u64,
    tr: &'a [u8; 64],
    context: &'a [u8],
    message: &'a Message<'a>,
    signature: &'a [u8],
}

/// Counters of the cache.
#[derive(Default)]
pub(super) struct CacheStats {
    pub(super) entries: usize,
    pub(super) bytes: usize,
    pub(super) hits: u64,
}

/// Look-ups while the lock is held.
const LOOKUPS: usize = 64;

impl Lookup<'_> {
    /// Passes everything that makes the vote but the signature, in the order of [`Entry`].
    fn pieces(&self, mut act: impl FnMut(&[u8])) {
        act(self.tr);
        // At most 255.
        act(&[self.context.len() as u8]);
        act(self.context);
        self.message.pieces(act);
    }

    fn equals(&self, entry: &Entry) -> bool {
        let mut left = Some(&*entry.signed);
        self.pieces(|piece| left = left.and_then(|left| left.strip_prefix(piece)));
        left.is_some_and(<[u8]>::is_empty) && *entry.signature == *self.signature
    }
}

impl VerdictCache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            hasher: RandomState::new(),
            process: process::id(),
            state: Mutex::default(),
        }
    }

    /// `None` for a vote that is never cached: by no member of the committees, with a wrong
    /// length, or pre-hashed, whose rules may differ.
    fn lookup<'a, P: ParameterSet>(
        &self,
        committees: &'a [Committee<P>],
        vote: &'a Vote<'_>,
    ) -> Option<Lookup<'a>> {
        if self.max_bytes == 0
            || vote.signature.len() != P::SIG_LEN
            || matches!(vote.message, Message::PreHashed { .. })
        {
            return None;
        }
        let mut committees = committees.iter();
        let committee = committees.find(|committee| committee.contains(vote.member))?;
        let tr = committee.key(vote.member)?.tr();
        // 16 bytes of the challenge, a hash of everything that is signed.
        let challenge: &[u8; 16] = vote.signature.first_chunk()?;
        Some(Lookup {
            member: member(tr),
            hash: self.hasher.hash_one(u128::from_ne_bytes(*challenge)),
            tr,
            context: committee.context(),
            message: &vote.message,
            signature: vote.signature,
        })
    }

    /// Whether the vote is cached. Counts a hit.
    pub(super) fn get<P: ParameterSet>(
        &self,
        committees: &[Committee<P>],
        vote: &Vote<'_>,
    ) -> bool {
        let lookup = self.lookup(committees, vote);
        lookup.is_some_and(|lookup| self.lock().is_some_and(|mut state| state.get(&lookup)))
    }

    /// Indices of the votes that are not cached. Counts hits.
    pub(super) fn misses<P: ParameterSet>(
        &self,
        committees: &[Committee<P>],
        votes: &[Vote<'_>],
    ) -> Vec<usize> {
        let mut misses = Vec::new();
        for (n, part) in votes.chunks(LOOKUPS).enumerate() {
            let mut state = self.lock();
            let mut is_hit = |vote| {
                let lookup = self.lookup(committees, vote)?;
                Some(state.as_mut()?.get(&lookup))
            };
            let part = (n * LOOKUPS..).zip(part);
            let part = part.filter(|(_, vote)| is_hit(vote) != Some(true));
            misses.extend(part.map(|(index, _)| index));
        }
        misses
    }

    /// Whether the vote is cached. Changes nothing.
    pub(super) fn contains<P: ParameterSet>(
        &self,
        committees: &[Committee<P>],
        vote: &Vote<'_>,
    ) -> bool {
        let cached = || {
            let lookup = self.lookup(committees, vote)?;
            let state = self.lock()?;
            let entry = state
                .members
                .get(&lookup.member)?
                .votes
                .peek(&lookup.hash)?;
            Some(lookup.equals(entry))
        };
        cached() == Some(true)
    }

    /// Caches a valid vote.
    pub(super) fn insert<P: ParameterSet>(&self, committees: &[Committee<P>], vote: &Vote<'_>) {
        let Some(lookup) = self.lookup(committees, vote) else {
            return;
        };
        let mut len = 0;
        lookup.pieces(|piece| len += piece.len());
        if ENTRY_BYTES + len + lookup.signature.len() > self.max_bytes {
            return;
        }
        let mut signed = Vec::with_capacity(len);
        lookup.pieces(|piece| signed.extend_from_slice(piece));
        let entry = Entry {
            signed: signed.into(),
            signature: lookup.signature.into(),
        };
        // Freed without the lock.
        let mut evicted = Vec::new();
        let Some(mut state) = self.lock() else { return };
        let share = state.members.entry(lookup.member).or_insert_with(|| Share {
            votes: LruCache::unbounded_with_hasher(BuildHasherDefault::new()),
            bytes: 0,
        });
        let before = share.bytes;
        share.bytes += entry.bytes();
        if let Some(old) = share.votes.put(lookup.hash, entry) {
            share.bytes -= old.bytes();
            evicted.push(old);
        }
        let after = share.bytes;
        state.resize(lookup.member, before, after);
        while state.bytes > self.max_bytes
            && let Some(old) = state.evict()
        {
            evicted.push(old);
        }
        drop(state);
    }

    /// Drops votes of members that are in none of the committees.
    pub(super) fn retain<P: ParameterSet>(&self, committees: &[Committee<P>]) {
        let keys = committees.iter().flat_map(|committee| {
            let keys = committee
                .members()
                .filter_map(|member| committee.key(member));
            keys.map(|key| member(key.tr()))
        });
        let keys: HashSet<u64> = keys.collect();
        let Some(mut state) = self.lock() else { return };
        let gone: Vec<u64> = state.members.keys().copied().collect();
        for member in gone.into_iter().filter(|member| !keys.contains(member)) {
            if let Some(share) = state.members.remove(&member) {
                state.resize(member, share.bytes, 0);
            }
        }
    }

    pub(super) fn stats(&self) -> CacheStats {
        let stats = |state: MutexGuard<'_, State>| CacheStats {
            entries: state.members.values().map(|share| share.votes.len()).sum(),
            bytes: state.bytes,
            hits: state.hits,
        };
        self.lock().map(stats).unwrap_or_default()
    }

    /// `None` in a child process, if a thread of the parent held the lock at the fork: it is
    /// never released there.
    fn lock(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            Err(TryLockError::WouldBlock) if self.process != process::id() => None,
            Err(TryLockError::WouldBlock) => {
                Some(self.state.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }
}

impl State {
    fn get(&mut self, lookup: &Lookup<'_>) -> bool {
        let share = self.members.get_mut(&lookup.member);
        let entry = share.and_then(|share| share.votes.get(&lookup.hash));
        let hit = entry.is_some_and(|entry| lookup.equals(entry));
        self.hits += u64::from(hit);
        hit
    }

    /// Removes the least recently used vote of the largest share. O(log members).
    fn evict(&mut self) -> Option<Entry> {
        let &(before, member) = self.by_bytes.last()?;
        let share = self.members.get_mut(&member)?;
        let (_, entry) = share.votes.pop_lru()?;
        share.bytes -= entry.bytes();
        let after = share.bytes;
        if share.votes.is_empty() {
            self.members.remove(&member);
        }
        self.resize(member, before, after);
        Some(entry)
    }

    fn resize(&mut self, member: u64, before: usize, after: usize) {
        self.bytes = self.bytes - before + after;
        if before > 0 {
            self.by_bytes.remove(&(before, member));
        }
        if after > 0 {
            self.by_bytes.insert((after, member));
        }
    }
}

/// Key of a member's share. `tr` is a hash, so members have different ones.
fn member(tr: &[u8; 64]) -> u64 {
    let head = tr.first_chunk();
    head.map_or(0, |head| u64::from_le_bytes(*head))
}
