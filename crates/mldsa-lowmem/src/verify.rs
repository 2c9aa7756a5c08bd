//! Verification row by row. Everything here is public data, but for the secrets
//! that self-verification computes t1 from where no public key is at hand.

use core::fmt;
use core::marker::PhantomData;

#[cfg(feature = "hash-ml-dsa")]
use mldsa_core::PreHashed;
use mldsa_core::internals::row_steps::{absorb_w1_row, response_row_reaches};
use mldsa_core::internals::sparse::SparseChallenge;
use mldsa_core::internals::{
    Array, CRH_LEN, CommitmentHash, N, Params, PublicKeyParts, SEED_LEN, SignatureParts,
    T1_POLY_LEN, tr,
};
use mldsa_core::{Context, KeyError, Mu, MuBuilder, ParameterSet, VerifyError};

use crate::matrix::{Matrix, mask_row, public_row};
use crate::packed::{KECCAK, packed_row, wiped};
use crate::secrets::Secrets;

/// A public key where it lies. The memory must not change while the key is in
/// use.
///
/// ```
/// use mldsa_lowmem::{Context, MlDsa44, PublicKey, keygen_from_seed};
/// # use mldsa_lowmem::{ExpandedKey, Floor, Randomness, Output, Signer, Workspace};
///
/// let (mut pk, mut sk) = ([0; 1312], [0; 2560]);
/// keygen_from_seed::<MlDsa44>(&[7; 32], &mut pk, &mut sk);
/// # let signing = ExpandedKey::<MlDsa44>::new(&sk)?;
/// # let mut workspace = Workspace::<MlDsa44, Floor>::new();
/// # let mut signature = [0; 2420];
/// # let output = Output::in_place(&mut signature)?;
/// # Signer::new(&signing, &mut workspace).sign(b"new firmware", Context::EMPTY, Randomness::Deterministic, output)?;
/// let key = PublicKey::<MlDsa44>::from_bytes(&pk)?;
/// key.verify(b"new firmware", Context::EMPTY, &signature)?;
///
/// // The same piece by piece, as a message arrives.
/// let mut verifier = key.verify_init(Context::EMPTY);
/// verifier.update(b"new ");
/// verifier.update(b"firmware");
/// verifier.finish(&signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct PublicKey<'a, P: ParameterSet> {
    encoded: &'a [u8],
    parts: PublicKeyParts<'a>,
    set: PhantomData<P>,
}

impl<'a, P: ParameterSet> PublicKey<'a, P> {
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

    /// `tr = H(pk, 64)`, which starts every `mu`.
    #[inline(never)]
    pub fn tr(&self) -> [u8; CRH_LEN] {
        tr(KECCAK, self.encoded)
    }

    /// Verifies a signature over `message` (FIPS 204 algorithm 3).
    ///
    /// # Errors
    /// Every [`VerifyError`], in the order of its variants. Never panics.
    pub fn verify(
        &self,
        message: &[u8],
        ctx: Context<'_>,
        signature: &[u8],
    ) -> Result<(), VerifyError> {
        self.verify_mu(&self.mu(ctx, message), signature)
    }

    /// `mu` under this key. A frame of its own, with `tr` in it.
    #[inline(never)]
    fn mu(&self, ctx: Context<'_>, message: &[u8]) -> Mu {
        message_mu(&self.tr(), ctx, message)
    }

    /// Starts the verification of a message that arrives in pieces.
    pub fn verify_init(&self, ctx: Context<'_>) -> Verifier<'a, P> {
        Verifier {
            key: *self,
            mu: MuBuilder::from_tr(&self.tr(), ctx),
        }
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
        signature: &[u8],
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
    #[inline(never)]
    pub fn verify_mu(&self, mu: &Mu, signature: &[u8]) -> Result<(), VerifyError> {
        let p = &P::PARAMS;
        let parts = SignatureParts::parse(p, signature)?;
        let mut acc = [0; N];
        verify_internal(
            p,
            self.parts.rho,
            &Stored(self.parts.t1),
            mu,
            &parts,
            &mut acc,
        )
    }
}

impl<P: ParameterSet> fmt::Debug for PublicKey<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", P::NAME)
    }
}

/// Verification of a message that arrives in pieces; never holds it.
#[derive(Debug)]
pub struct Verifier<'a, P: ParameterSet> {
    key: PublicKey<'a, P>,
    mu: MuBuilder,
}

impl<P: ParameterSet> Verifier<'_, P> {
    /// Absorbs the next piece of the message.
    pub fn update(&mut self, message: &[u8]) {
        self.mu.update(message);
    }

    /// Ends the message and verifies.
    ///
    /// # Errors
    /// Every [`VerifyError`], in the order of its variants. Never panics.
    pub fn finish(self, signature: &[u8]) -> Result<(), VerifyError> {
        let Self { key, mu } = self;
        key.verify_mu(&mu.finish(), signature)
    }
}

/// `mu` of a message in one piece. A frame of its own, gone before the work begins.
#[inline(never)]
pub(crate) fn message_mu(tr: &[u8; CRH_LEN], ctx: Context<'_>, message: &[u8]) -> Mu {
    let mut mu = MuBuilder::from_tr(tr, ctx);
    mu.update(message);
    mu.finish()
}

/// Where packed rows of t1 come from.
trait T1 {
    /// The buffer for one row, of length 0 where rows lie in memory.
    type Buffer: Array<u8>;

    fn t1<'a>(
        &'a self,
        p: &Params,
        i: usize,
        acc: &mut [i32; N],
        buffer: &'a mut Self::Buffer,
    ) -> &'a [u8];
}

struct Stored<'a>(&'a [u8]);

impl T1 for Stored<'_> {
    type Buffer = [u8; 0];

    fn t1<'a>(&'a self, _: &Params, i: usize, _: &mut [i32; N], _: &'a mut [u8; 0]) -> &'a [u8] {
        packed_row(self.0, i, T1_POLY_LEN)
    }
}

struct Computed<'a, S>(&'a S);

impl<S: Secrets> T1 for Computed<'_, S> {
    type Buffer = [u8; T1_POLY_LEN];

    fn t1<'a>(
        &'a self,
        p: &Params,
        i: usize,
        acc: &mut [i32; N],
        buffer: &'a mut [u8; T1_POLY_LEN],
    ) -> &'a [u8] {
        public_row(p, self.0, i, acc, buffer, &mut []);
        buffer
    }
}

/// Verifies a fresh signature under the key that made it.
pub(crate) fn self_verify<S: Secrets>(
    p: &Params,
    secrets: &S,
    public_key: Option<&[u8]>,
    mu: &Mu,
    signature: &[u8],
    acc: &mut [i32; N],
) -> bool {
    let Ok(parts) = SignatureParts::parse(p, signature) else {
        return false;
    };
    match public_key.map(|pk| PublicKeyParts::parse(p, pk)) {
        Some(Ok(pk)) => verify_internal(p, pk.rho, &Stored(pk.t1), mu, &parts, acc).is_ok(),
        Some(Err(_)) => false,
        None => verify_internal(p, secrets.rho(), &Computed(secrets), mu, &parts, acc).is_ok(),
    }
}

/// Algorithm 8 from `mu` on, for a signature whose length and hint are checked.
#[inline(never)]
fn verify_internal<T: T1>(
    p: &Params,
    rho: &[u8; SEED_LEN],
    t1: &T,
    mu: &Mu,
    parts: &SignatureParts<'_>,
    acc: &mut [i32; N],
) -> Result<(), VerifyError> {
    let mut rows = parts.z.chunks_exact(p.z_poly_len());
    if rows.any(|z| response_row_reaches(p, z)) {
        return Err(VerifyError::ResponseNorm);
    }
    let c = SparseChallenge::sample_in_ball_vartime(KECCAK, p.tau, parts.c_tilde);
    let mut hash = CommitmentHash::new(KECCAK, mu);
    let mut buffer = wiped::<T::Buffer>();
    for i in 0..p.k {
        let t1 = t1.t1(p, i, acc, buffer.expose_mut());
        mask_row(p, &Matrix::Sampled(rho), i, parts.z, acc);
        absorb_w1_row(p, &c, t1, parts.hint.row(i), acc, &mut hash);
    }
    compare(&mut hash, parts.c_tilde)
}

/// The last check: whether the commitment hashes to `c_tilde`.
#[inline(never)]
pub(crate) fn compare(hash: &mut CommitmentHash, c_tilde: &[u8]) -> Result<(), VerifyError> {
    let mut again = [0; CRH_LEN];
    let again = &mut again[..c_tilde.len()];
    hash.finish(again);
    if again == c_tilde {
        Ok(())
    } else {
        Err(VerifyError::ChallengeMismatch)
    }
}
