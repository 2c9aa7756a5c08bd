//! Verification row by row. All data is public, except the secrets from which
//! self-verification computes t1 if it has no public key.

use core::fmt;
use core::marker::PhantomData;

#[cfg(feature = "hash-ml-dsa")]
use mldsa_core::PreHashed;
use mldsa_core::internals::ct::{difference, is_zero};
use mldsa_core::internals::row_steps::{absorb_w1_row, response_row_reaches};
use mldsa_core::internals::sparse::SparseChallenge;
use mldsa_core::internals::{
    Array, CRH_LEN, CommitmentHash, N, Params, PublicKeyParts, SEED_LEN, Shake256, SignatureParts,
    T1_POLY_LEN, Zeroed, declassify, is_commitment, message_mu,
};
use mldsa_core::{Context, KeyError, Mu, MuBuilder, ParameterSet, VerifyError};

use crate::matrix::{Matrix, mask_row, public_row};
use crate::packed::{KECCAK, packed_row, wiped};
use crate::secrets::Secrets;

/// A public key that is read in place. The memory must not change while the key is in use.
///
/// ```
/// use mldsa_lowmem::{Context, MlDsa44, VerifyingKey};
/// # use mldsa_lowmem::{ExpandedSigningKey, MlDsaSigner, Minimal, Randomness, Workspace};
///
/// let (mut pk, mut sk) = ([0; 1312], [0; 2560]);
/// mldsa_lowmem::SigningKey::<MlDsa44>::keygen_into(&[7; 32], &mut pk, &mut sk);
/// # let signing = ExpandedSigningKey::<MlDsa44>::from_trusted_bytes(&sk)?;
/// # let mut workspace = Workspace::<MlDsa44, Minimal>::new();
/// # let mut signature = [0; 2420];
/// # MlDsaSigner::new(&signing, &mut workspace).sign_into(
/// #     b"new firmware", Context::EMPTY, Randomness::Deterministic, &mut signature)?;
/// let key = VerifyingKey::<MlDsa44>::from_bytes(&pk)?;
/// key.verify_with_context(b"new firmware", Context::EMPTY, &signature)?;
///
/// // The same message in pieces, as it arrives.
/// let mut mu = key.mu_builder(Context::EMPTY);
/// mu.update(b"new ");
/// mu.update(b"firmware");
/// key.verify_mu(&mu.finish(), &signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct VerifyingKey<'a, P: ParameterSet> {
    encoded: &'a [u8],
    parts: PublicKeyParts<'a>,
    set: PhantomData<P>,
}

impl<'a, P: ParameterSet> VerifyingKey<'a, P> {
    /// Reads an encoded key of `PK_LEN` bytes; all of them are valid.
    ///
    /// # Errors
    /// [`KeyError::Length`].
    pub fn from_bytes(encoded: &'a [u8]) -> Result<Self, KeyError> {
        Ok(Self {
            encoded,
            parts: PublicKeyParts::parse(&P::PARAMS, encoded)?,
            set: PhantomData,
        })
    }

    /// Computes `tr = H(pk, 64)`, which starts every `mu`.
    pub fn tr(&self) -> [u8; CRH_LEN] {
        let mut tr = [0; CRH_LEN];
        tr_of(self.encoded, &mut tr);
        tr
    }

    /// Verifies a signature over `message` (FIPS 204 algorithm 3).
    ///
    /// # Errors
    /// Every [`VerifyError`], in the order of its variants. Never panics.
    pub fn verify_with_context(
        &self,
        message: &[u8],
        ctx: Context<'_>,
        signature: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<(), VerifyError> {
        let mut mu = Mu::from_bytes([0; CRH_LEN]);
        self.mu(ctx, message, &mut mu);
        self.verify_mu(&mu, signature)
    }

    /// Computes `mu` under this key. A frame of its own, which holds `tr`.
    #[inline(never)]
    fn mu(&self, ctx: Context<'_>, message: &[u8], mu: &mut Mu) {
        let mut tr = [0; CRH_LEN];
        tr_of(self.encoded, &mut tr);
        message_mu(KECCAK, &tr, ctx, message, mu);
    }

    /// Starts a builder of `mu` for a message that arrives in pieces; [`Self::verify_mu`]
    /// verifies a signature over the finished `mu`.
    pub fn mu_builder(&self, ctx: Context<'_>) -> MuBuilder {
        MuBuilder::from_tr(&self.tr(), ctx)
    }

    /// Verifies a HashML-DSA signature over a digest (FIPS 204 algorithm 5).
    ///
    /// # Errors
    /// Every [`VerifyError`], in the order of its variants. Never panics.
    #[cfg(feature = "hash-ml-dsa")]
    pub fn verify_prehashed(
        &self,
        digest: &PreHashed<'_, P>,
        ctx: Context<'_>,
        signature: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<(), VerifyError> {
        self.verify_mu(&self.prehashed_mu(digest, ctx), signature)
    }

    /// As [`Self::mu`].
    #[cfg(feature = "hash-ml-dsa")]
    #[inline(never)]
    fn prehashed_mu(&self, digest: &PreHashed<'_, P>, ctx: Context<'_>) -> Mu {
        digest.mu(&self.tr(), ctx)
    }

    /// Verifies a signature over an externally computed `mu`.
    ///
    /// # Errors
    /// Every [`VerifyError`], in the order of its variants. Never panics.
    pub fn verify_mu(
        &self,
        mu: &Mu,
        signature: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<(), VerifyError> {
        verify_encoded(&P::PARAMS, &self.parts, mu, signature.as_ref())
    }
}

/// [`VerifyingKey::verify_mu`] of every set.
#[inline(never)]
fn verify_encoded(
    p: &Params,
    key: &PublicKeyParts<'_>,
    mu: &Mu,
    signature: &[u8],
) -> Result<(), VerifyError> {
    // In place: moved parts are a call to copy memory.
    match &SignatureParts::parse(p, signature) {
        Ok(parts) => {
            let (mut acc, mut t1) = (Zeroed::zeroed(), Stored(key.t1));
            verify_internal(p, key.rho, &mut t1, mu, parts, &mut acc)
        }
        Err(error) => Err(*error),
    }
}

impl<P: ParameterSet> fmt::Debug for VerifyingKey<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({})", P::NAME)
    }
}

/// Computes `tr` of an encoded key. A frame of its own, so that it ends before verification starts.
#[inline(never)]
fn tr_of(pk: &[u8], tr: &mut [u8; CRH_LEN]) {
    Shake256::digest(KECCAK, &[pk], tr);
}

trait T1 {
    /// Buffer for one row, of length 0 if the rows are in memory.
    type Buffer: Array<u8>;

    fn t1<'a>(
        &'a mut self,
        p: &Params,
        i: usize,
        acc: &mut [i32; N],
        buffer: &'a mut Self::Buffer,
    ) -> &'a [u8];
}

struct Stored<'a>(&'a [u8]);

impl T1 for Stored<'_> {
    type Buffer = [u8; 0];

    fn t1<'a>(
        &'a mut self,
        _: &Params,
        i: usize,
        _: &mut [i32; N],
        _: &'a mut [u8; 0],
    ) -> &'a [u8] {
        packed_row(self.0, i, T1_POLY_LEN)
    }
}

/// Rows computed from the secrets, and the hash of the public key that they form.
struct Computed<'a, S> {
    secrets: &'a S,
    key_hash: Shake256,
}

impl<S: Secrets> T1 for Computed<'_, S> {
    type Buffer = [u8; T1_POLY_LEN];

    fn t1<'a>(
        &'a mut self,
        p: &Params,
        i: usize,
        acc: &mut [i32; N],
        buffer: &'a mut [u8; T1_POLY_LEN],
    ) -> &'a [u8] {
        public_row(p, self.secrets, i, acc, buffer, &mut []);
        self.key_hash.absorb(buffer);
        buffer
    }
}

/// A fresh signature, which a signer verifies under its own key.
pub(crate) struct Fresh<'a> {
    pub(crate) mu: &'a Mu,
    pub(crate) signature: &'a [u8],
    /// Hash of the public key, which is compared: a damaged `tr` gives another `mu`, whose signature
    /// verifies under this `mu` only.
    pub(crate) tr: &'a [u8; CRH_LEN],
}

// Both verdicts are always formed; the comparison has no early exit. Two functions, because only
// the frame of the second holds the state of a hash.

/// Returns whether `fresh` passes its checks under an encoded public key.
#[inline(never)]
pub(crate) fn verify_given(p: &Params, pk: &[u8], fresh: &Fresh<'_>, acc: &mut [i32; N]) -> bool {
    let (Ok(parts), Ok(key)) = (
        SignatureParts::parse(p, fresh.signature),
        PublicKeyParts::parse(p, pk),
    ) else {
        return false;
    };
    let mut tr = [0; CRH_LEN];
    tr_of(pk, &mut tr);
    let same_tr = is_zero(difference(fresh.tr, &tr));
    let t1 = &mut Stored(key.t1);
    let verdict = verify_internal(p, key.rho, t1, fresh.mu, &parts, acc).is_ok();
    declassify(verdict & same_tr, "verdict of a self-verification")
}

/// Returns the same under the public key that is computed from the secrets.
#[inline(never)]
pub(crate) fn verify_computed<S: Secrets>(
    p: &Params,
    secrets: &S,
    fresh: &Fresh<'_>,
    acc: &mut [i32; N],
) -> bool {
    let Ok(parts) = SignatureParts::parse(p, fresh.signature) else {
        return false;
    };
    let key_hash = Shake256::new(KECCAK);
    let mut t1 = Computed { secrets, key_hash };
    t1.key_hash.absorb(secrets.rho());
    let verdict = verify_internal(p, secrets.rho(), &mut t1, fresh.mu, &parts, acc).is_ok();
    let same_tr = is_digest(&mut t1.key_hash, fresh.tr);
    declassify(verdict & same_tr, "verdict of a self-verification")
}

/// Whether `hash` ends as `expected`; no early exit.
#[inline(never)]
pub(crate) fn is_digest(hash: &mut Shake256, expected: &[u8; CRH_LEN]) -> bool {
    let mut digest: [u8; CRH_LEN] = Zeroed::zeroed();
    hash.finish();
    hash.squeeze(&mut digest);
    is_zero(difference(expected, &digest))
}

/// Algorithm 8 from `mu` on, for a signature whose length and hint are checked.
#[inline(never)]
fn verify_internal<T: T1>(
    p: &Params,
    rho: &[u8; SEED_LEN],
    t1: &mut T,
    mu: &Mu,
    parts: &SignatureParts<'_>,
    acc: &mut [i32; N],
) -> Result<(), VerifyError> {
    let mut rows = (0..p.l).map(|j| packed_row(parts.z, j, p.z_poly_len()));
    if rows.any(|z| response_row_reaches(p, z)) {
        return Err(VerifyError::ResponseNorm);
    }
    let mut c = SparseChallenge::empty();
    c.sample_in_ball_vartime(KECCAK, p.tau, parts.c_tilde);
    let mut hash = CommitmentHash::empty(KECCAK);
    hash.absorb_mu(mu);
    let mut buffer = wiped::<T::Buffer>();
    for i in 0..p.k {
        let t1 = t1.t1(p, i, acc, buffer.expose_mut());
        mask_row(p, &Matrix::Sampled(rho), i, parts.z, acc);
        absorb_w1_row(p, &c, t1, parts.hint.row(i), acc, &mut hash);
    }
    compare(&mut hash, parts.c_tilde)
}

/// The last check: the commitment hashes to `c_tilde`.
#[inline(never)]
pub(crate) fn compare(hash: &mut CommitmentHash, c_tilde: &[u8]) -> Result<(), VerifyError> {
    if is_commitment(hash, c_tilde) {
        Ok(())
    } else {
        Err(VerifyError::ChallengeMismatch)
    }
}
