//! Valid signatures that are remembered, in bounded memory.

use core::hash::{BuildHasher, BuildHasherDefault, Hasher};
use core::mem::size_of;
use core::sync::atomic::{AtomicU64, Ordering};
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use mldsa_core::ParameterSet;

use crate::judge::Judge;
use crate::{Item, Message, Signer};

/// Positive verdicts under the keys of members, the least recently used leaving
/// first. What was refused is never remembered.
///
/// A hit is an item that equals a verified one in every byte: the hash of the
/// signer's key (`tr`), context, message, form and signature. That decides the
/// message representative `mu` too, without the price of hashing it.
pub(crate) struct Memory {
    max_bytes: usize,
    /// Of one item: it would push out many.
    max_item: usize,
    hasher: RandomState,
    misses: AtomicU64,
    state: Mutex<State>,
}

struct State {
    verified: LruCache<u64, Verified, BuildHasherDefault<Hashed>>,
    bytes: usize,
    hits: u64,
}

/// A valid item: what was signed, and the signature, which is most of it and not copied if
/// its owner can give it away.
struct Verified {
    /// `tr`, form, length of the context, context, message: all but the signature that
    /// makes an item what it is.
    signed: Vec<u8>,
    signature: Vec<u8>,
}

impl Verified {
    /// What it takes, with its place in the table.
    const fn bytes(&self) -> usize {
        Self::bytes_of(self.signed.len(), self.signature.len())
    }

    const fn bytes_of(signed: usize, signature: usize) -> usize {
        size_of::<(u64, Self)>() + signed + signature + 64
    }

    /// Whether it is this item.
    fn is(&self, sought: &Sought<'_>, item: &Item<'_>) -> bool {
        let mut left = Some(&*self.signed);
        sought.pieces(item, |piece| {
            left = left.and_then(|left| left.strip_prefix(piece));
        });
        left.is_some_and(<[u8]>::is_empty) && self.signature == item.signature
    }
}

/// For keys that are hashes already, of a hasher that nobody outside knows.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
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

/// What the memory of verdicts holds and how often it helped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Verdicts held.
    pub items: usize,
    /// Bytes held.
    pub bytes: usize,
    /// Questions answered from memory.
    pub hits: u64,
    /// Questions about items of which nothing was remembered.
    pub misses: u64,
}

/// What an item is found by, under the keys of one verifier.
pub(crate) struct Sought<'a> {
    pub(crate) hash: u64,
    tr: &'a [u8; 64],
    context: &'a [u8],
}

/// An item that is about to be remembered, but for its signature.
pub(crate) struct Signed {
    hash: u64,
    bytes: Vec<u8>,
}

impl Sought<'_> {
    /// All but the signature that makes an item what it is, in the order of [`Verified`].
    fn pieces(&self, item: &Item<'_>, mut act: impl FnMut(&[u8])) {
        act(self.tr);
        // At most 255.
        act(&[form(item), self.context.len() as u8]);
        act(self.context);
        match item.message {
            Message::Bytes(message) => act(message),
            Message::Parts(parts) => parts.iter().for_each(|part| act(part)),
            Message::Mu(mu) => act(mu.as_bytes()),
            Message::PreHashed { digest, .. } => act(digest),
        }
    }
}

/// What is remembered of an item that somebody is about to verify.
pub(crate) enum Recalled<'a> {
    /// It is valid.
    Valid,
    /// Nothing. What it will be found by, unless it is not kept.
    Nothing(Option<Sought<'a>>),
}

impl Memory {
    pub(crate) fn new(max_bytes: usize, max_item: usize) -> Self {
        Self {
            max_bytes,
            max_item,
            hasher: RandomState::new(),
            misses: AtomicU64::new(0),
            state: Mutex::new(State {
                verified: LruCache::unbounded_with_hasher(BuildHasherDefault::new()),
                bytes: 0,
                hits: 0,
            }),
        }
    }

    /// `None` for an item that is not kept: malformed, or by nobody in the set.
    pub(crate) fn sought<'a, P: ParameterSet>(
        &self,
        judge: &'a Judge<P>,
        item: &Item<'a>,
    ) -> Option<Sought<'a>> {
        self.sought_again(judge, item, None)
    }

    /// The same for an item whose hash is known.
    pub(crate) fn sought_again<'a, P: ParameterSet>(
        &self,
        judge: &'a Judge<P>,
        item: &Item<'a>,
        hash: Option<u64>,
    ) -> Option<Sought<'a>> {
        if self.max_bytes == 0 {
            return None;
        }
        // Also what this verifier's rules refuse, whatever was valid under others.
        judge.screen(item, None).ok()?;
        let member = match item.signer {
            Signer::Id(id) => id,
            Signer::Key(key) => judge.member_of(key, None)?,
        };
        let tr = judge.keys.as_ref()?.key(member)?.tr();
        let context = judge.context(item).ok()?.as_bytes();
        let hash = hash.unwrap_or_else(|| {
            let mut hasher = self.hasher.build_hasher();
            hasher.write_u8(form(item));
            // The challenge, a hash of everything else: who can make two valid items with
            // the same one has them in one place.
            hasher.write(&item.signature[..item.signature.len().min(64)]);
            hasher.finish()
        });
        Some(Sought { hash, tr, context })
    }

    /// What is remembered of an item that is verified at once if that is nothing.
    pub(crate) fn recall<'a, P: ParameterSet>(
        &self,
        judge: &'a Judge<P>,
        item: &Item<'a>,
    ) -> Recalled<'a> {
        let sought = self.sought(judge, item);
        match &sought {
            Some(sought) if self.knows(sought, item) => return Recalled::Valid,
            Some(_) => self.missed(),
            None => {}
        }
        Recalled::Nothing(sought)
    }

    /// Whether the item was verified before, to be asked by nobody but who else would
    /// verify it: that it is known is counted, and it stays longer.
    pub(crate) fn knows(&self, sought: &Sought<'_>, item: &Item<'_>) -> bool {
        let mut state = self.lock();
        let verified = state.verified.get(&sought.hash);
        let known = verified.is_some_and(|verified| verified.is(sought, item));
        state.hits += u64::from(known);
        known
    }

    /// An item that is not known is verified: to be told once, however often it was
    /// asked whether it is.
    pub(crate) fn missed(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// The same for whoever just wants to know.
    pub(crate) fn holds(&self, sought: &Sought<'_>, item: &Item<'_>) -> bool {
        let state = self.lock();
        let verified = state.verified.peek(&sought.hash);
        verified.is_some_and(|verified| verified.is(sought, item))
    }

    /// What [`put`](Self::put) takes beside the signature; `None` for an item that there is
    /// no room for.
    pub(crate) fn signed(&self, sought: &Sought<'_>, item: &Item<'_>) -> Option<Signed> {
        let mut len = 0;
        sought.pieces(item, |piece| len += piece.len());
        if Verified::bytes_of(len, item.signature.len()) > self.max_bytes {
            return None;
        }
        let mut bytes = Vec::with_capacity(len);
        sought.pieces(item, |piece| bytes.extend_from_slice(piece));
        let hash = sought.hash;
        Some(Signed { hash, bytes })
    }

    /// Remembers an item that is valid under the keys and rules of the judge that it was
    /// sought with.
    pub(crate) fn put(&self, signed: Signed, signature: Vec<u8>) {
        let hash = signed.hash;
        let verified = Verified {
            signed: signed.bytes,
            signature,
        };
        let bytes = verified.bytes();
        // Freed without the lock.
        let mut gone = Vec::new();
        let mut state = self.lock();
        state.bytes += bytes;
        gone.extend(state.verified.put(hash, verified));
        state.bytes -= gone.iter().map(Verified::bytes).sum::<usize>();
        while state.bytes > self.max_bytes
            && let Some((_, oldest)) = state.verified.pop_lru()
        {
            state.bytes -= oldest.bytes();
            gone.push(oldest);
        }
    }

    /// The same for an item of the caller's, which may be of any length.
    pub(crate) fn keep(&self, sought: &Sought<'_>, item: &Item<'_>) {
        if item.bytes() <= self.max_item
            && let Some(signed) = self.signed(sought, item)
        {
            self.put(signed, item.signature.to_vec());
        }
    }

    pub(crate) fn stats(&self) -> MemoryStats {
        let state = self.lock();
        MemoryStats {
            items: state.verified.len(),
            bytes: state.bytes,
            hits: state.hits,
            misses: self.misses.load(Ordering::Relaxed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same for a message in one piece and in several.
fn form(item: &Item<'_>) -> u8 {
    match item.message {
        Message::Bytes(_) | Message::Parts(_) => 0,
        Message::Mu(_) => 1,
        Message::PreHashed { hash, .. } => 2 + hash as u8,
    }
}
