//! For code that collects signatures one at a time.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use mldsa_core::ParameterSet;

use crate::{BatchVerifier, Item, Outcome, Signer, SignerId, Summary};

/// Collects signatures, then verifies them together. Copies what it is given,
/// into memory that serves again in the next round.
///
/// ```
/// use std::sync::Arc;
/// use batch_verify::{BatchQueue, BatchVerifier, Outcome, QueueLimits};
/// use mldsa_core::{Context, Hedge, MlDsa44, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let signature = key.sign(b"vertex", Context::EMPTY, Hedge::Deterministic)?;
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
    /// Bytes of keys, messages and signatures.
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
    message: Range<usize>,
    signature: Range<usize>,
}

#[derive(Clone, Debug)]
enum Owner {
    Id(SignerId),
    Key(Range<usize>),
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
        message: &[u8],
        signature: &[u8],
    ) -> Result<usize, QueueFull> {
        let signer = signer.into();
        let key: &[u8] = match &signer {
            Signer::Key(key) => key,
            Signer::Id(_) => &[],
        };
        // One byte more than well formed shows that the length is wrong.
        let key = &key[..key.len().min(P::PK_LEN + 1)];
        let signature = &signature[..signature.len().min(P::SIG_LEN + 1)];
        let index = self.entries.len();
        let room = self.limits.bytes.saturating_sub(self.bytes.len());
        let fits = message.len() <= room && key.len() + signature.len() <= room - message.len();
        if index >= self.limits.items || !fits {
            return Err(QueueFull);
        }
        let entry = Entry {
            signer: match signer {
                Signer::Id(id) => Owner::Id(id),
                Signer::Key(_) => Owner::Key(self.copy(key)),
            },
            message: self.copy(message),
            signature: self.copy(signature),
        };
        self.entries.push(entry);
        Ok(index)
    }

    fn copy(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
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
        let show = |_: usize, entry: &'_ Entry| {
            let signer = match &entry.signer {
                Owner::Id(id) => Signer::Id(*id),
                Owner::Key(key) => Signer::Key(&bytes[key.clone()]),
            };
            let signature = &bytes[entry.signature.clone()];
            Item::new(signer, &bytes[entry.message.clone()], signature)
        };
        let summary = verifier.run_into(entries, &show, outcomes);
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
