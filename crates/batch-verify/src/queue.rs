//! For code that collects signatures one at a time.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use mldsa_core::{Context, Mu, ParameterSet, PreHash};

use crate::{BatchVerifier, Item, Message, Outcome, Signer, SignerId, Summary};

/// Collects signatures, then verifies them together. Copies what it is given,
/// into memory that serves again in the next round.
///
/// ```
/// use std::sync::Arc;
/// use batch_verify::{BatchQueue, BatchVerifier, Outcome, QueueLimits};
/// use mldsa_core::{Context, Randomness, MlDsa44, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let signature = key.sign(b"vertex", Context::EMPTY, Randomness::Deterministic)?;
/// let verifier = Arc::new(BatchVerifier::<MlDsa44>::builder().build()?);
///
/// let mut queue = BatchQueue::new(verifier, QueueLimits::default());
/// let public_key = key.verifying_key().as_bytes().as_slice();
/// queue.add_signature(public_key, b"vertex", signature.as_ref())?;
/// let report = queue.verify_batch_parallel();
/// assert_eq!(report.outcomes(), [Outcome::Valid]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BatchQueue<P: ParameterSet> {
    verifier: Arc<BatchVerifier<P>>,
    limits: QueueLimits,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    outcomes: Vec<Outcome>,
}

/// How much a [`BatchQueue`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Signatures.
    pub items: usize,
    /// Bytes of keys, contexts, messages and signatures.
    pub bytes: usize,
}

impl Default for QueueLimits {
    /// 4096 signatures, 64 MiB.
    fn default() -> Self {
        Self {
            items: 4096,
            bytes: 64 << 20,
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    signer: Owner,
    /// Where it begins, and its length.
    context: Option<(usize, u8)>,
    message: Copied,
    signature: Range<usize>,
}

#[derive(Clone, Debug)]
enum Owner {
    Id(SignerId),
    Key(Range<usize>),
}

#[derive(Clone, Debug)]
enum Copied {
    Bytes(Range<usize>),
    Mu(Mu),
    PreHashed(PreHash, Range<usize>),
}

impl Entry {
    fn item<'q>(&'q self, bytes: &'q [u8]) -> Item<'q> {
        let signer = match &self.signer {
            Owner::Id(id) => Signer::Id(*id),
            Owner::Key(key) => Signer::Key(&bytes[key.clone()]),
        };
        let message = match &self.message {
            Copied::Bytes(message) => Message::Bytes(&bytes[message.clone()]),
            Copied::Mu(mu) => Message::Mu(mu),
            Copied::PreHashed(hash, digest) => Message::PreHashed {
                hash: *hash,
                digest: &bytes[digest.clone()],
            },
        };
        let item = Item::new(signer, message, &bytes[self.signature.clone()]);
        match self.context {
            Some((start, len)) => {
                // The length of a byte is never too long.
                let context = Context::new(&bytes[start..start + usize::from(len)]);
                item.with_context(context.unwrap_or(Context::EMPTY))
            }
            None => item,
        }
    }
}

impl<P: ParameterSet> BatchQueue<P> {
    /// An empty queue in front of `verifier`.
    #[must_use]
    pub fn new(verifier: Arc<BatchVerifier<P>>, limits: QueueLimits) -> Self {
        Self {
            verifier,
            limits,
            bytes: Vec::new(),
            entries: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    /// Adds a signature over `message` under the verifier's context; returns its
    /// index in the next report.
    ///
    /// # Errors
    /// [`QueueFull`] if a limit would be passed; the queue is unchanged.
    pub fn add_signature<'a>(
        &mut self,
        signer: impl Into<Signer<'a>>,
        message: &'a [u8],
        signature: &'a [u8],
    ) -> Result<usize, QueueFull> {
        self.add(Item::new(signer, message, signature))
    }

    /// Adds an item of any form, under its own context if it has one; returns its
    /// index in the next report.
    ///
    /// # Errors
    /// [`QueueFull`] if a limit would be passed; the queue is unchanged.
    pub fn add(&mut self, item: Item<'_>) -> Result<usize, QueueFull> {
        let key: &[u8] = match &item.signer {
            Signer::Key(key) => key,
            Signer::Id(_) => &[],
        };
        // One byte more than well formed shows that the length is wrong.
        let key = &key[..key.len().min(P::PK_LEN + 1)];
        let signature = &item.signature[..item.signature.len().min(P::SIG_LEN + 1)];
        let context = item.context.map(|context| context.as_bytes());
        let context_len = u8::try_from(context.map_or(0, <[u8]>::len)).map_err(|_| QueueFull)?;
        let bytes = match item.message {
            Message::Bytes(message) => message,
            Message::PreHashed { hash, digest } => {
                &digest[..digest.len().min(hash.digest_len() + 1)]
            }
            Message::Parts(_) | Message::Mu(_) => &[],
        };
        let pieces = match item.message {
            Message::Parts(parts) => parts,
            _ => &[bytes],
        };
        let index = self.entries.len();
        let free = self.limits.bytes.saturating_sub(self.bytes.len());
        let lens = [key.len(), signature.len(), context_len.into()];
        let mut lens = lens
            .into_iter()
            .chain(pieces.iter().map(|piece| piece.len()));
        let left = lens.try_fold(free, |free, len| free.checked_sub(len));
        if index >= self.limits.items || left.is_none() {
            return Err(QueueFull);
        }
        let message = self.copy(pieces);
        let entry = Entry {
            signer: match item.signer {
                Signer::Id(id) => Owner::Id(id),
                Signer::Key(_) => Owner::Key(self.copy(&[key])),
            },
            context: context.map(|context| (self.copy(&[context]).start, context_len)),
            message: match item.message {
                Message::Bytes(_) | Message::Parts(_) => Copied::Bytes(message),
                Message::Mu(mu) => Copied::Mu(*mu),
                Message::PreHashed { hash, .. } => Copied::PreHashed(hash, message),
            },
            signature: self.copy(&[signature]),
        };
        self.entries.push(entry);
        Ok(index)
    }

    fn copy(&mut self, pieces: &[&[u8]]) -> Range<usize> {
        let start = self.bytes.len();
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        start..self.bytes.len()
    }

    /// How many signatures wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Verifies what waits, in the verifier's mode and on its threads, and
    /// empties the queue.
    pub fn verify_batch_parallel(&mut self) -> QueueReport<'_> {
        let Self {
            verifier,
            bytes,
            entries,
            outcomes,
            ..
        } = self;
        outcomes.clear();
        outcomes.resize(entries.len(), Outcome::Skipped);
        let shown = &bytes[..];
        let summary = verifier
            .verify_by_into(entries, |_, entry| entry.item(shown), outcomes)
            // There is one place per entry.
            .unwrap_or_default();
        entries.clear();
        bytes.clear();
        QueueReport { outcomes, summary }
    }
}

/// The verdicts on what was collected, in the order of collection.
#[derive(Clone, Copy, Debug)]
pub struct QueueReport<'q> {
    outcomes: &'q [Outcome],
    summary: Summary,
}

impl QueueReport<'_> {
    /// One outcome per signature.
    #[must_use]
    pub fn outcomes(&self) -> &[Outcome] {
        self.outcomes
    }

    /// Counts, and how the batch was done.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether there is at least one signature and every one is valid.
    #[must_use]
    pub fn all_valid(&self) -> bool {
        self.summary.all_valid()
    }
}

/// The queue holds as much as its limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

impl fmt::Display for QueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue is full")
    }
}

impl core::error::Error for QueueFull {}
