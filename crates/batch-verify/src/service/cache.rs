//! Cache of valid votes, in bounded memory with a share for each member.

use core::hash::{BuildHasher, BuildHasherDefault, Hasher};
use core::mem::size_of;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::RandomState;
use std::sync::{Arc, PoisonError};

use lru::LruCache;
use mldsa_core::ParameterSet;

use super::Source;
use super::queue::MAX_SHARE;
use super::sync::{Mutex, MutexGuard};
use crate::{Committee, Message, Vote};

/// Positive verdicts on votes of members. Rejections are never cached.
///
/// A hit equals a verified vote in every byte: `tr` (the hash of the member's key), context,
/// message and signature. So it holds in every committee with that key and context.
///
/// When the cache is full, the member with most bytes loses its least recently used vote: a
/// member that signs for heights that are never reached displaces only its own votes. Votes of
/// earlier heights are never recently used, so that replays of them displace no others.
pub(super) struct VerdictCache<P: ParameterSet> {
    max_bytes: usize,
    /// Secret keys of the hash.
    keys: [u64; 2],
    state: Mutex<State<P>>,
}

struct State<P: ParameterSet> {
    /// The committees of the service, so that a hit takes one lock.
    committees: Arc<[Committee<P>]>,
    /// Their members.
    current: HashSet<u64>,
    members: Members,
    /// Shares by size.
    by_bytes: BTreeSet<(usize, u64)>,
    bytes: usize,
    hits: u64,
    /// Of these, those of [`VerdictCache::answer`].
    answered: u64,
}

/// Votes of one member.
struct Share {
    votes: LruCache<u64, Entry, BuildHasherDefault<Identity>>,
    bytes: usize,
}

/// A valid vote: signature, `tr`, length of the context, context, message.
struct Entry(Box<[u8]>);

/// Bytes of an entry and its place in the tables, without its content.
const ENTRY_BYTES: usize = size_of::<(u64, Entry)>() + 64;

impl Entry {
    /// Returns the bytes of the vote and of its place in the tables.
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.0.len()
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

struct Lookup<'a> {
    member: u64,
    hash: u64,
    tr: &'a [u8; 64],
    /// With its length. Never empty: `memcmp` of no bytes at the address of an empty slice costs
    /// 40 ns where masked loads of unmapped addresses are slow.
    context: &'a [u8],
    message: &'a Message<'a>,
    signature: &'a [u8],
}

#[derive(Default)]
pub(super) struct CacheStats {
    pub(super) entries: usize,
    pub(super) bytes: usize,
    pub(super) hits: u64,
    pub(super) answered: u64,
}

impl Lookup<'_> {
    /// Passes everything that makes the vote, in the order of [`Entry`].
    fn pieces(&self, mut act: impl FnMut(&[u8])) {
        act(self.signature);
        act(self.tr);
        act(self.context);
        self.message.pieces(act);
    }

    fn equals(&self, entry: &Entry) -> bool {
        let mut left = Some(&*entry.0);
        self.pieces(|piece| left = left.and_then(|left| left.strip_prefix(piece)));
        left.is_some_and(<[u8]>::is_empty)
    }
}

impl<P: ParameterSet> VerdictCache<P> {
    pub(super) fn new(max_bytes: usize, committees: Arc<[Committee<P>]>) -> Self {
        let random = RandomState::new();
        let current = members(&committees);
        Self {
            max_bytes,
            keys: [0, 1].map(|n| random.hash_one(n)),
            state: Mutex::new(State {
                committees,
                current,
                members: HashMap::default(),
                by_bytes: BTreeSet::new(),
                bytes: 0,
                hits: 0,
                answered: 0,
            }),
        }
    }

    /// Prepares a search; `None` for a vote that is never cached: by no member of the committees,
    /// with a wrong length, or pre-hashed, whose rules may differ.
    fn lookup<'a>(&self, committees: &'a [Committee<P>], vote: &'a Vote<'_>) -> Option<Lookup<'a>> {
        if self.max_bytes == 0
            || vote.signature.len() != P::SIG_LEN
            || matches!(vote.message, Message::PreHashed { .. })
        {
            return None;
        }
        let mut committees = committees.iter();
        let (tr, context) = committees.find_map(|committee| {
            let key = committee.key(vote.member)?;
            Some((key.tr(), committee.framed_context()))
        })?;
        Some(Lookup {
            member: member(tr),
            hash: self.hash(vote.signature.first_chunk()?),
            tr,
            context,
            message: &vote.message,
            signature: vote.signature,
        })
    }

    /// Hashes the first 16 bytes of a challenge, which is a hash of everything that is signed: a
    /// multiplication with secret keys spreads challenges that a member has searched for.
    fn hash(&self, challenge: &[u8; 16]) -> u64 {
        let both = u128::from_le_bytes(*challenge);
        let [low, high] = [
            both as u64 ^ self.keys[0],
            (both >> 64) as u64 ^ self.keys[1],
        ];
        let product = u128::from(low) * u128::from(high);
        product as u64 ^ (product >> 64) as u64
    }

    /// Returns whether the vote is cached as one of a member of the service's committees. Counts a
    /// hit.
    pub(super) fn answer(&self, vote: &Vote<'_>) -> bool {
        let state = &mut *self.lock();
        let Some(lookup) = self.lookup(&state.committees, vote) else {
            return false;
        };
        let hit = State::<P>::find(&mut state.members, &lookup, true);
        state.hits += u64::from(hit);
        state.answered += u64::from(hit);
        hit
    }

    /// Returns whether the vote is cached. Counts a hit.
    pub(super) fn get(&self, committees: &[Committee<P>], vote: &Vote<'_>, source: Source) -> bool {
        let Some(lookup) = self.lookup(committees, vote) else {
            return false;
        };
        let state = &mut *self.lock();
        let hit = State::<P>::find(&mut state.members, &lookup, source.is_recent());
        state.hits += u64::from(hit);
        hit
    }

    /// Returns whether the vote is cached. Changes nothing.
    pub(super) fn contains(&self, committees: &[Committee<P>], vote: &Vote<'_>) -> bool {
        let Some(lookup) = self.lookup(committees, vote) else {
            return false;
        };
        State::<P>::find(&mut self.lock().members, &lookup, false)
    }

    /// Caches a valid vote of a member of the service's committees.
    pub(super) fn insert(&self, committees: &[Committee<P>], vote: &Vote<'_>, source: Source) {
        let Some(lookup) = self.lookup(committees, vote) else {
            return;
        };
        let mut len = 0;
        lookup.pieces(|piece| len += piece.len());
        if ENTRY_BYTES + len > self.max_bytes / MAX_SHARE {
            return;
        }
        let mut bytes = Vec::with_capacity(len);
        lookup.pieces(|piece| bytes.extend_from_slice(piece));
        let entry = Entry(bytes.into());
        // Freed without the lock.
        let mut evicted = Vec::new();
        let mut state = self.lock();
        if !state.current.contains(&lookup.member) {
            return;
        }
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
        if !source.is_recent() {
            share.votes.demote(&lookup.hash);
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

    /// Replaces the committees, and drops votes of members that are in none of them.
    pub(super) fn retain(&self, committees: &Arc<[Committee<P>]>) {
        let current = members(committees);
        let mut state = self.lock();
        state.committees = Arc::clone(committees);
        state.current = current;
        let shares = state.members.keys().copied();
        let gone: Vec<u64> = shares
            .filter(|member| !state.current.contains(member))
            .collect();
        for member in gone {
            if let Some(share) = state.members.remove(&member) {
                state.resize(member, share.bytes, 0);
            }
        }
    }

    pub(super) fn stats(&self) -> CacheStats {
        let state = self.lock();
        CacheStats {
            entries: state.members.values().map(|share| share.votes.len()).sum(),
            bytes: state.bytes,
            hits: state.hits,
            answered: state.answered,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Members = HashMap<u64, Share, BuildHasherDefault<Identity>>;

impl<P: ParameterSet> State<P> {
    /// Returns whether the vote is cached. `used` tells that it is the most recently used one from
    /// now on.
    fn find(members: &mut Members, lookup: &Lookup<'_>, used: bool) -> bool {
        let Some(share) = members.get_mut(&lookup.member) else {
            return false;
        };
        let entry = share.votes.peek(&lookup.hash);
        let found = entry.is_some_and(|entry| lookup.equals(entry));
        if found && used {
            share.votes.promote(&lookup.hash);
        }
        found
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

/// Returns the keys of the shares of all members.
fn members<P: ParameterSet>(committees: &[Committee<P>]) -> HashSet<u64> {
    let keys = committees.iter().flat_map(|committee| {
        let ids = committee.members();
        ids.filter_map(|member| committee.key(member))
    });
    keys.map(|key| member(key.tr())).collect()
}

/// Returns the key of a member's share. `tr` is a hash, so members have different ones.
fn member(tr: &[u8; 64]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *tr;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
