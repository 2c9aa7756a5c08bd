//! Signing many messages at once, under one key or several.

use core::fmt;

use crate::backend::Backend;
use crate::error::SignError;
#[cfg(feature = "hash-ml-dsa")]
use crate::hash::prehash::PreHashed;
use crate::hash::transcript::{Context, Hedge, Mu};
#[cfg(feature = "alloc")]
use crate::keys::prepared_signing::PreparedSigningKey;
use crate::keys::prepared_signing::PreparedSigningKeyRef;
#[cfg(feature = "alloc")]
use crate::keys::signature::Signature;
#[cfg(feature = "alloc")]
use crate::memory::array::Zeroed;
use crate::params::ParameterSet;
use crate::scheme::sign_many::{MAX_SLOTS, Request, Slot, ToSign, sign_many};

/// One signature that a [`BatchSigner`] is to make: under which key, of what, with
/// which randomness.
#[derive(Clone, Copy)]
pub struct SignJob<'a, P: ParameterSet> {
    key: PreparedSigningKeyRef<'a, P>,
    message: ToSign<'a>,
    hedge: Hedge<'a>,
}

impl<'a, P: ParameterSet> SignJob<'a, P> {
    /// Signs `message`, as [`SigningKey::sign`](crate::SigningKey::sign) does (FIPS 204
    /// algorithm 2).
    pub fn new(
        key: PreparedSigningKeyRef<'a, P>,
        message: &'a [u8],
        ctx: Context<'a>,
        hedge: Hedge<'a>,
    ) -> Self {
        let message = ToSign::Pure(ctx, message);
        Self {
            key,
            message,
            hedge,
        }
    }

    /// Signs a digest (FIPS 204 algorithm 4, HashML-DSA).
    #[cfg(feature = "hash-ml-dsa")]
    pub fn prehashed(
        key: PreparedSigningKeyRef<'a, P>,
        digest: &PreHashed<'_, P>,
        ctx: Context<'_>,
        hedge: Hedge<'a>,
    ) -> Self {
        let verifying_key = key.verifying_key();
        let keccak = verifying_key.backend().permutation();
        Self::mu(key, digest.mu_on(keccak, verifying_key.tr(), ctx), hedge)
    }

    /// Signs an externally computed message representative.
    pub fn mu(key: PreparedSigningKeyRef<'a, P>, mu: Mu, hedge: Hedge<'a>) -> Self {
        let message = ToSign::Mu(mu);
        Self {
            key,
            message,
            hedge,
        }
    }
}

impl<P: ParameterSet> fmt::Debug for SignJob<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignJob({}, ..)", P::NAME)
    }
}

/// Memory of a [`BatchSigner`]: 74, 98 or 130 KiB, for eight attempts at a time. Zeros
/// whenever nothing is being signed.
pub struct BatchMemory<P: ParameterSet>([Slot<P>; MAX_SLOTS]);

impl<P: ParameterSet> BatchMemory<P> {
    /// Zeros, as a constant: can initialise a static.
    pub const ZERO: Self = Self([const { Slot::ZERO }; MAX_SLOTS]);
    /// Bytes: 75776, 100352 or 133120.
    pub const LEN: usize = size_of::<Self>();
}

impl<P: ParameterSet> fmt::Debug for BatchMemory<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchMemory({})", P::NAME)
    }
}

/// Signs many messages, several at a time: as many as the backend has lanes, each of
/// which takes the next message as soon as its own is signed. With AVX-512 these are
/// eight, with AVX2 four; the portable backend gains nothing over one after the other.
///
/// Every signature has the bytes that [`SigningKey::sign`] gives it, on every backend.
/// Constant time as that: which attempts are rejected is public, and nothing else.
///
/// ```
/// use mldsa_core::{
///     BatchMemory, BatchSigner, Context, Hedge, MlDsa44, PreparedSigningMemory, SignJob,
///     SigningKey,
/// };
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let mut memory = PreparedSigningMemory::new();
/// let prepared = key.prepare_in(&mut memory);
/// let job = |message| SignJob::new(prepared, message, Context::EMPTY, Hedge::Deterministic);
///
/// let mut memory = BatchMemory::ZERO;
/// let mut signatures = [[0; 2420]; 2];
/// let jobs = [&b"one"[..], b"two"].map(job);
/// BatchSigner::new_in(&mut memory).sign(jobs, |n, signature| {
///     signatures[n] = *signature.expect("no fault");
/// });
/// let two = key.sign(b"two", Context::EMPTY, Hedge::Deterministic)?;
/// assert_eq!(signatures[1], two.as_ref());
/// # Ok::<(), mldsa_core::SignError>(())
/// ```
///
/// [`SigningKey::sign`]: crate::SigningKey::sign
pub struct BatchSigner<'m, P: ParameterSet> {
    slots: Slots<'m, P>,
    backend: Backend,
}

enum Slots<'m, P: ParameterSet> {
    Borrowed(&'m mut [Slot<P>]),
    #[cfg(feature = "alloc")]
    Owned(alloc::vec::Vec<Slot<P>>),
}

impl<'m, P: ParameterSet> BatchSigner<'m, P> {
    /// A signer that works in caller memory.
    pub fn new_in(memory: &'m mut BatchMemory<P>) -> Self {
        Self {
            slots: Slots::Borrowed(&mut memory.0),
            backend: Backend::detect(),
        }
    }

    /// A signer with memory of its own on the heap, at most
    /// [`BatchMemory::LEN`] bytes.
    #[cfg(feature = "alloc")]
    pub fn new() -> Self {
        let mut slots = alloc::vec::Vec::with_capacity(MAX_SLOTS);
        slots.resize_with(MAX_SLOTS, || Slot::ZERO);
        Self {
            slots: Slots::Owned(slots),
            backend: Backend::detect(),
        }
    }

    /// The same on a chosen backend, whatever those of the keys are. Signatures do not
    /// change.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Makes the signatures of all `jobs`. `done` is given the number of a job, counted
    /// from 0, with its signature, as soon as it is there: in the order in which they
    /// are finished, which is another than that of the jobs.
    ///
    /// Jobs are taken from the iterator as lanes become free, at most 16 ahead of those
    /// that are finished, so that their number is not limited. A job that fails does
    /// not touch the others. The memory is wiped when the call ends, also if `jobs` or
    /// `done` panics.
    ///
    /// Stack: row sign in a batch of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// `done` is given [`SignError::AttemptsExhausted`] or
    /// [`SignError::SelfVerification`] instead of a signature.
    pub fn sign<'a>(
        &mut self,
        jobs: impl IntoIterator<Item = SignJob<'a, P>>,
        mut done: impl FnMut(usize, Result<&P::SignatureBytes, SignError>),
    ) {
        let slots = match &mut self.slots {
            Slots::Borrowed(slots) => &mut **slots,
            #[cfg(feature = "alloc")]
            Slots::Owned(slots) => slots,
        };
        let mut requests = jobs.into_iter().enumerate().map(|(n, job)| {
            let SignJob {
                key,
                message,
                hedge,
            } = job;
            let request = Request {
                key: key.material,
                tr: key.verifying_key.tr(),
                message,
                hedge,
            };
            (request, (n, key))
        });
        sign_many::<P, (usize, PreparedSigningKeyRef<'a, P>)>(
            self.backend,
            slots,
            &mut requests,
            &mut |(n, key), mu, result| {
                let released = result.and_then(|signature| {
                    let verify = key.self_verification;
                    key.verifying_key.release(verify, mu, signature.as_mut())?;
                    Ok(&*signature)
                });
                done(n, released);
            },
        );
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> Default for BatchSigner<'_, P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: ParameterSet> fmt::Debug for BatchSigner<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchSigner({}, {:?})", P::NAME, self.backend)
    }
}

#[cfg(feature = "alloc")]
impl<P: ParameterSet> PreparedSigningKey<P> {
    /// The signatures of all `messages`, each as [`Self::sign`] makes it, in their
    /// order; several at a time, as a [`BatchSigner`] does it.
    ///
    /// Memory: that of a [`BatchSigner`], and the signatures. Stack: row sign in a batch
    /// of the [crate's table](crate#stack).
    ///
    /// # Errors
    /// The first error of any message, as of [`Self::sign`]; no signature is returned
    /// then.
    pub fn sign_many<'a>(
        &'a self,
        messages: impl IntoIterator<Item = (&'a [u8], Hedge<'a>)>,
        ctx: Context<'a>,
    ) -> Result<alloc::vec::Vec<Signature<P>>, SignError> {
        let key = self.as_prepared_ref();
        let mut signatures = alloc::vec::Vec::<Signature<P>>::new();
        let mut failed = None;
        let jobs = messages
            .into_iter()
            .map(|(message, hedge)| SignJob::new(key, message, ctx, hedge));
        BatchSigner::new()
            .with_backend(key.verifying_key.backend())
            .sign(jobs, |n, result| match result {
                Ok(signature) => {
                    if signatures.len() <= n {
                        signatures.resize_with(n + 1, || Signature(P::SignatureBytes::zeroed()));
                    }
                    signatures[n].0.as_mut().copy_from_slice(signature.as_ref());
                }
                Err(error) => failed = failed.or(Some(error)),
            });
        failed.map_or(Ok(signatures), Err)
    }
}
