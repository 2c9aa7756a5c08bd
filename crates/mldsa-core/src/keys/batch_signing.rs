//! Signing many messages at once, under one key or several.

use core::fmt;

use crate::backend::Backend;
use crate::error::SignError;
#[cfg(feature = "hash-ml-dsa")]
use crate::hash::prehash::PreHashed;
use crate::hash::transcript::{Context, Mu, Randomness};
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
    randomness: Randomness<'a>,
}

impl<'a, P: ParameterSet> SignJob<'a, P> {
    /// Signs `message`, as [`SigningKey::sign_with_context`](crate::SigningKey::sign_with_context) does (FIPS 204
    /// algorithm 2).
    #[must_use]
    pub fn new(
        key: PreparedSigningKeyRef<'a, P>,
        message: &'a [u8],
        ctx: Context<'a>,
        randomness: Randomness<'a>,
    ) -> Self {
        let message = ToSign::Pure(ctx, message);
        Self {
            key,
            message,
            randomness,
        }
    }

    /// Signs a digest (FIPS 204 algorithm 4, HashML-DSA).
    #[cfg(feature = "hash-ml-dsa")]
    #[must_use]
    pub fn prehashed(
        key: PreparedSigningKeyRef<'a, P>,
        digest: &PreHashed<'_, P>,
        ctx: Context<'_>,
        randomness: Randomness<'a>,
    ) -> Self {
        let verifying_key = key.verifying_key();
        let keccak = verifying_key.backend().permutation();
        Self::mu(
            key,
            digest.mu_on(keccak, verifying_key.tr(), ctx),
            randomness,
        )
    }

    /// Signs an externally computed message representative.
    #[must_use]
    pub fn mu(key: PreparedSigningKeyRef<'a, P>, mu: Mu, randomness: Randomness<'a>) -> Self {
        let message = ToSign::Mu(mu);
        Self {
            key,
            message,
            randomness,
        }
    }
}

impl<P: ParameterSet> fmt::Debug for SignJob<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignJob({}, ..)", P::NAME)
    }
}

/// Memory of a [`BatchSigner`]: 93, 124 or 166 KiB, for eight attempts at a time and the
/// signatures that they become. Zeros whenever nothing is being signed.
pub struct BatchSignerScratch<P: ParameterSet>([Slot<P>; MAX_SLOTS]);

impl<P: ParameterSet> BatchSignerScratch<P> {
    /// Zeros, as a constant: can initialise a static.
    pub const ZERO: Self = Self([const { Slot::ZERO }; MAX_SLOTS]);
    /// Bytes: 94720, 126464 or 169984.
    pub const LEN: usize = size_of::<Self>();
}

impl<P: ParameterSet> fmt::Debug for BatchSignerScratch<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BatchSignerScratch({})", P::NAME)
    }
}

/// Signs many messages, several at a time: as many as the backend has lanes, each of
/// which takes the next message as soon as its own is signed. With AVX-512 these are
/// eight, with AVX2 four; the portable backend gains nothing over one after the other.
///
/// Every signature has the bytes that [`SigningKey::sign_with_context`] gives it, on every backend.
/// Constant time as that: which attempts are rejected is public, and nothing else.
///
/// Self-verification does not detect a fault in the number of a job, which gives its signature under
/// the number of another.
///
/// ```
/// use mldsa_core::no_alloc::{BatchSignerScratch, PreparedSigningKeyStorage};
/// use mldsa_core::{BatchSigner, Context, MlDsa44, Randomness, SignJob, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let mut memory = PreparedSigningKeyStorage::new();
/// let prepared = key.prepare_in(&mut memory);
/// let job = |message| SignJob::new(prepared, message, Context::EMPTY, Randomness::Deterministic);
///
/// let mut memory = BatchSignerScratch::ZERO;
/// let mut signatures = [[0; 2420]; 2];
/// let jobs = [&b"one"[..], b"two"].map(job);
/// BatchSigner::new_in(&mut memory).sign(jobs, |n, signature| {
///     signatures[n] = *signature.expect("no fault");
/// });
/// let two = key.sign_with_context(b"two", Context::EMPTY, Randomness::Deterministic)?;
/// assert_eq!(signatures[1], two.as_ref());
/// # Ok::<(), mldsa_core::SignError>(())
/// ```
///
/// [`SigningKey::sign_with_context`]: crate::SigningKey::sign_with_context
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
    /// Creates a signer that works in caller memory.
    pub fn new_in(memory: &'m mut BatchSignerScratch<P>) -> Self {
        Self {
            slots: Slots::Borrowed(&mut memory.0),
            backend: Backend::detect(),
        }
    }

    /// Creates a signer with memory of its own on the heap, at most
    /// [`BatchSignerScratch::LEN`] bytes.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn new() -> Self {
        let mut slots = alloc::vec::Vec::with_capacity(MAX_SLOTS);
        slots.resize_with(MAX_SLOTS, || Slot::ZERO);
        Self {
            slots: Slots::Owned(slots),
            backend: Backend::detect(),
        }
    }

    /// Selects a chosen backend, whatever those of the keys are. Signatures do not
    /// change.
    #[must_use]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    /// Makes the signatures of all `jobs`. `done` is given the number of a job, counted
    /// from 0, with its signature, as soon as it is there: in the order in which they
    /// are finished, which is another than that of the jobs.
    ///
    /// Jobs are taken from the iterator as lanes become free, at most 24 ahead of those
    /// that are finished, so that their number is not limited. A job that fails does
    /// not touch the others. The memory is wiped when the call ends, also if `jobs` or
    /// `done` panics.
    ///
    /// Signatures of keys with [self-verification] are verified in lanes, as many at a
    /// time as the backend signs at a time, and only valid ones are released. `done`
    /// receives them in these groups. Verification expands A once more for
    /// each signature: `docs/keys.md` has the measured share.
    ///
    /// [self-verification]: crate::SigningKey::set_self_verification
    ///
    /// # Errors
    /// `done` is given [`SignError::AttemptsExhausted`] or
    /// [`SignError::SelfVerification`] instead of a signature; a signature that does not
    /// verify is wiped.
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
                randomness,
            } = job;
            let request = Request {
                key: key.material,
                tr: key.verifying_key.tr(),
                message,
                randomness,
                verify_with: key.verify_with(self.backend),
            };
            (request, n)
        });
        sign_many::<P, usize>(self.backend, slots, &mut requests, &mut done);
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
    /// Makes the signatures of all `messages`, each as [`Self::sign_with_context`] makes it, in
    /// their order; several at a time, as a [`BatchSigner`] does it.
    ///
    /// Memory: that of a [`BatchSigner`], and the signatures.
    ///
    /// # Errors
    /// The first error of any message, as of [`Self::sign_with_context`]; no signature is returned
    /// then.
    pub fn sign_many<'a>(
        &'a self,
        messages: impl IntoIterator<Item = (&'a [u8], Randomness<'a>)>,
        ctx: Context<'a>,
    ) -> Result<alloc::vec::Vec<Signature<P>>, SignError> {
        let key = self.as_prepared_ref();
        let mut signatures = alloc::vec::Vec::<Signature<P>>::new();
        let mut failed = None;
        let jobs = messages
            .into_iter()
            .map(|(message, randomness)| SignJob::new(key, message, ctx, randomness));
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

#[cfg(test)]
#[cfg(feature = "alloc")]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod tests {
    use super::*;
    use crate::keys::sign_into::{SignInto, signature};
    use crate::keys::signing::SigningKey;
    use crate::params::{MlDsa44, MlDsa65, MlDsa87, Q};
    use crate::random::Random;
    use crate::ring::poly::NttPoly;
    use crate::scheme::sign::Rows;
    use crate::scheme::verify::release;
    use std::vec;

    /// Signatures that do not verify are withheld, wherever they are in a batch and
    /// whatever the settings of the other keys of the batch.
    fn only_valid_signatures_are_released<P: ParameterSet>() {
        let mut key = SigningKey::<P>::from_seed(&[1; 32]);
        let checked = key.prepare();
        key.set_self_verification(false);
        let plain = key.prepare();
        let other = SigningKey::<P>::from_seed(&[2; 32]).prepare();
        // The fault: the public key is not that of the private key.
        let faulty = PreparedSigningKeyRef {
            verifying_key: other.verifying_key(),
            verify_with: other.as_prepared_ref().verify_with,
            ..checked.as_prepared_ref()
        };
        let mus: vec::Vec<_> = (0..40).map(|n| Mu::from_bytes([n; 64])).collect();
        for backend in Backend::available() {
            let mut signer = BatchSigner::new().with_backend(backend);
            for count in [1, 2, 7, 8, 9, 40] {
                for step in [1, 3, 8] {
                    let form = |n: usize| match n % 5 {
                        _ if n.is_multiple_of(step) => faulty,
                        4 => plain.as_prepared_ref(),
                        _ => checked.as_prepared_ref(),
                    };
                    let jobs =
                        (0..count).map(|n| SignJob::mu(form(n), mus[n], Randomness::Deterministic));
                    let mut seen = vec![0; count];
                    signer.sign(jobs, |n, result| {
                        seen[n] += 1;
                        assert_eq!(
                            result.map(|signature| checked
                                .verifying_key()
                                .verify_mu(&mus[n], &signature)),
                            match n.is_multiple_of(step) {
                                true => Err(SignError::SelfVerification),
                                false => Ok(Ok(())),
                            }
                        );
                    });
                    assert_eq!(seen, vec![1; count], "{backend:?}");
                }
            }
        }
    }

    /// A fault in the memory of A makes wrong signatures, none of which is released, not even where
    /// the same A verifies them.
    fn faults_in_the_matrix_are_found<P: ParameterSet>() {
        let mut key = SigningKey::<P>::from_seed(&[1; 32]);
        let prepared = key.prepare();
        key.set_self_verification(false);
        let plain = key.prepare();
        let mu = Mu::from_bytes([7; 64]);
        for n in 0..P::K * P::L {
            let mut faulty = prepared.as_prepared_ref();
            let mut a_hat = <P::Matrix<NttPoly>>::zeroed();
            for (to, from) in a_hat.as_mut().iter_mut().zip(faulty.material.a_hat) {
                to.0 = from.0;
            }
            a_hat.as_mut()[n].0[n] ^= 1;
            faulty.material.a_hat = a_hat.as_ref();
            let result =
                signature::<P>(|out| faulty.sign_mu_into(&mu, Randomness::Deterministic, out));
            assert_eq!(result.map(drop), Err(SignError::SelfVerification));
            let mut released = plain.as_prepared_ref();
            released.material.a_hat = a_hat.as_ref();
            let mut out = P::SignatureBytes::zeroed();
            let signed = released.sign_mu_into(&mu, Randomness::Deterministic, out.as_mut());
            assert_eq!(signed, Ok(()));
            for backend in Backend::available() {
                let (key, mut out) = (key.verifying_key().job_key(), out.clone());
                let result =
                    release::<P>(backend, Some(key), Some(a_hat.as_ref()), &mu, out.as_mut());
                assert_eq!(result, Err(SignError::SelfVerification), "{backend:?} {n}");
                assert!(out.as_ref().iter().all(|byte| *byte == 0));
            }
        }
    }

    /// A job of which every attempt is rejected: c t0 is too large.
    fn without_end<'a, P: ParameterSet>(
        key: &'a PreparedSigningKey<P>,
        t0_hat: &'a [NttPoly],
    ) -> SignJob<'a, P> {
        let mut key = key.as_prepared_ref();
        key.material.t0 = Rows::Transformed(t0_hat);
        SignJob::mu(key, Mu::from_bytes([0; 64]), Randomness::Deterministic)
    }

    /// A message whose attempts are all rejected ends with an error, wherever it is in a batch,
    /// and the others are signed.
    fn the_limit_of_attempts_ends_one_message<P: ParameterSet>() {
        let mut key = SigningKey::<P>::from_seed(&[1; 32]);
        let checked = key.prepare();
        key.set_self_verification(false);
        let plain = key.prepare();
        let mut random = Random::new(11);
        let t0_hat: vec::Vec<_> = (0..P::K).map(|_| NttPoly(random.poly(Q / 2))).collect();
        let mus: vec::Vec<_> = (0..12).map(|n| Mu::from_bytes([n; 64])).collect();
        let alone = mus.iter().map(|mu| {
            let signature = plain.sign_mu(mu, Randomness::Deterministic);
            signature.map(|signature| signature.as_bytes().clone())
        });
        let alone: vec::Vec<_> = alone.collect();
        for backend in Backend::available() {
            let mut signer = BatchSigner::new().with_backend(backend);
            for (count, places) in [(1, &[0][..]), (9, &[0, 8]), (12, &[3, 4])] {
                let jobs = (0..count).map(|n| {
                    let key = [&plain, &checked][n % 2];
                    match places.contains(&n) {
                        true => without_end(key, &t0_hat),
                        false => {
                            SignJob::mu(key.as_prepared_ref(), mus[n], Randomness::Deterministic)
                        }
                    }
                });
                let mut seen = vec![0; count];
                signer.sign(jobs, |n, result| {
                    seen[n] += 1;
                    let expected = match places.contains(&n) {
                        true => Err(SignError::AttemptsExhausted),
                        false => alone[n].clone(),
                    };
                    assert!(result.cloned() == expected, "{backend:?} {count} {n}");
                });
                assert_eq!(seen, vec![1; count], "{backend:?}");
            }
        }
    }

    #[test]
    fn the_limit_of_attempts_ends_one_message_in_every_set() {
        the_limit_of_attempts_ends_one_message::<MlDsa44>();
        the_limit_of_attempts_ends_one_message::<MlDsa65>();
        the_limit_of_attempts_ends_one_message::<MlDsa87>();
    }

    #[test]
    fn only_valid_signatures_are_released_in_every_set() {
        only_valid_signatures_are_released::<MlDsa44>();
        only_valid_signatures_are_released::<MlDsa65>();
        only_valid_signatures_are_released::<MlDsa87>();
    }

    #[test]
    fn faults_in_the_matrix_are_found_in_every_set() {
        faults_in_the_matrix_are_found::<MlDsa44>();
        faults_in_the_matrix_are_found::<MlDsa65>();
        faults_in_the_matrix_are_found::<MlDsa87>();
    }
}
