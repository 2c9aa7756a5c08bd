//! Every use of H in the scheme: what is hashed, in which order, with which
//! domain bytes. The prefixes 0x00 and 0x01 appear here only.

use core::fmt;

use crate::error::{MessageError, SignError};
use crate::hash::keccak::Permutation;
use crate::hash::xof::Shake256;
use crate::memory::array::Zeroed;
use crate::memory::ct::{difference, is_zero};
use crate::memory::secret::{Secret, declassify, declassify_in_place};
use crate::params::{CRH_LEN, Params, SEED_LEN};

/// A context string of at most 255 bytes, checked once. Public data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'a>(&'a [u8]);

impl<'a> Context<'a> {
    /// The empty context, the default of FIPS 204.
    pub const EMPTY: Self = Self(&[]);

    /// Checks the length.
    ///
    /// # Errors
    /// [`MessageError::ContextLength`] above 255 bytes: an error when signing, a
    /// rejection when verifying.
    pub const fn new(bytes: &'a [u8]) -> Result<Self, MessageError> {
        if bytes.len() > 255 {
            return Err(MessageError::ContextLength);
        }
        Ok(Self(bytes))
    }

    /// Reads a context of at most 255 bytes after its length in one byte, as `mu` hashes it.
    #[cfg(feature = "unstable-internals")]
    pub(crate) fn framed(frame: &'a [u8; 256]) -> Self {
        let [len, rest @ ..] = frame;
        Self(&rest[..usize::from(*len)])
    }

    /// Returns the bytes, 0 to 255.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl AsRef<[u8]> for Context<'_> {
    /// The bytes, 0 to 255.
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

/// The message representative `mu`, 64 bytes: what is signed. Made by
/// [`MuBuilder`], possibly on another machine that holds only the public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mu([u8; CRH_LEN]);

impl Mu {
    /// Takes an externally computed `mu`. It must come from a party trusted to
    /// have hashed the intended message under the intended key and context.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; CRH_LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the 64 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; CRH_LEN] {
        &self.0
    }
}

impl fmt::Debug for Mu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mu(..)")
    }
}

/// Length of the part before the context in the input of `mu`.
pub(crate) const MU_HEAD_LEN: usize = CRH_LEN + 2;

/// `tr`, the domain byte and the length of the context, which is at most 255.
pub(crate) fn mu_head(tr: &[u8; CRH_LEN], domain: u8, ctx: Context<'_>) -> [u8; MU_HEAD_LEN] {
    let mut head = [domain; MU_HEAD_LEN];
    head[..CRH_LEN].copy_from_slice(tr);
    head[CRH_LEN + 1] = ctx.0.len() as u8;
    head
}

/// Maximum length of the part before the message in the input of `mu`.
pub(crate) const MU_PREFIX_LEN: usize = MU_HEAD_LEN + 255;

/// The input of a pure `mu` before the message.
pub(crate) fn mu_prefix<'p>(
    tr: &[u8; CRH_LEN],
    ctx: Context<'_>,
    prefix: &'p mut [u8; MU_PREFIX_LEN],
) -> &'p [u8] {
    let len = MU_HEAD_LEN + ctx.0.len();
    prefix[..MU_HEAD_LEN].copy_from_slice(&mu_head(tr, 0, ctx));
    prefix[MU_HEAD_LEN..len].copy_from_slice(ctx.0);
    &prefix[..len]
}

/// Streams a message into `mu = H(tr || M', 64)`: the message is never held.
/// 224 bytes of state, wiped on drop.
///
/// ```
/// use mldsa_core::{Context, Randomness, MlDsa44, MuBuilder, SigningKey};
///
/// let key = SigningKey::<MlDsa44>::generate()?;
/// // The public key is enough here.
/// let mut mu = MuBuilder::from_tr(key.verifying_key().tr(), Context::EMPTY);
/// mu.update(b"a long ");
/// mu.update(b"message");
/// let signature = key.sign_mu(&mu.finish(), Randomness::Deterministic)?;
/// key.verifying_key().verify_with_context(b"a long message", Context::EMPTY, &signature)?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MuBuilder(Shake256);

impl MuBuilder {
    #[inline(always)]
    pub(crate) fn start(
        keccak: Permutation,
        tr: &[u8; CRH_LEN],
        domain: u8,
        ctx: Context<'_>,
    ) -> Self {
        let mut mu = Self(Shake256::new(keccak));
        mu.absorb_head(tr, domain, ctx);
        mu
    }

    #[inline(never)]
    fn absorb_head(&mut self, tr: &[u8; CRH_LEN], domain: u8, ctx: Context<'_>) {
        self.0.absorb(tr);
        self.0.absorb(&[domain, ctx.0.len() as u8]);
        self.0.absorb(ctx.0);
    }

    /// Absorbs the next piece of the message.
    pub fn update(&mut self, message: &[u8]) {
        self.0.absorb(message);
    }

    /// Ends the message.
    #[inline(always)]
    #[must_use]
    pub fn finish(mut self) -> Mu {
        let mut mu = [0; CRH_LEN];
        self.0.finish();
        self.0.squeeze(&mut mu);
        Mu(mu)
    }
}

/// Computes `mu` of a message in one piece, in place. A frame of its own.
#[cfg(feature = "unstable-internals")]
#[inline(never)]
pub fn message_mu(
    keccak: Permutation,
    tr: &[u8; CRH_LEN],
    ctx: Context<'_>,
    message: &[u8],
    mu: &mut Mu,
) {
    let mut hash = MuBuilder(Shake256::new(keccak));
    hash.absorb_head(tr, 0, ctx);
    hash.0.absorb(message);
    hash.0.finish();
    hash.0.squeeze(&mut mu.0);
}

/// Computes `mu = H(tr || M', 64)` for an M' that the caller formatted: the message of
/// the internal interfaces, algorithms 7 and 8.
#[cfg(feature = "unstable-internals")]
#[must_use]
pub fn mu_from_m_prime(keccak: Permutation, tr: &[u8; CRH_LEN], m_prime: &[&[u8]]) -> Mu {
    let mut hash = Shake256::new(keccak);
    hash.absorb(tr);
    for part in m_prime {
        hash.absorb(part);
    }
    MuBuilder(hash).finish()
}

/// Computes `tr = H(pk, 64)`.
#[must_use]
pub fn tr(keccak: Permutation, pk: &[u8]) -> [u8; CRH_LEN] {
    let mut tr: [u8; CRH_LEN] = Zeroed::zeroed();
    Shake256::digest(keccak, &[pk], &mut tr);
    tr
}

/// Result of algorithm 6 line 1, the expansion of the seed.
#[derive(Debug)]
pub struct ExpandedSeed {
    /// Seed of A; public.
    pub rho: [u8; SEED_LEN],
    /// Seed of s1 and s2.
    pub rho_p: Secret<[u8; 64]>,
    /// K, the seed of the masks.
    pub k_seed: Secret<[u8; SEED_LEN]>,
}

impl ExpandedSeed {
    /// Creates zeros, for [`expand_seed`] to fill in place.
    #[inline(always)]
    #[must_use]
    pub fn zeroed() -> Self {
        Self {
            rho: [0; SEED_LEN],
            rho_p: Secret::zeroed(),
            k_seed: Secret::zeroed(),
        }
    }
}

/// Computes `(rho, rho_p, K) = H(xi || k || l, 128)`. In place: a value on the move leaves a copy.
pub fn expand_seed(keccak: Permutation, p: &Params, xi: &[u8; SEED_LEN], seed: &mut ExpandedSeed) {
    let mut hash = Shake256::new(keccak);
    hash.absorb(xi);
    hash.absorb(&seed_suffix(p));
    hash.finish();
    hash.squeeze(&mut seed.rho);
    // Part of both keys; everything sampled from it is public.
    declassify_in_place(&mut seed.rho, "rho is public");
    hash.squeeze(seed.rho_p.expose_mut());
    hash.squeeze(seed.k_seed.expose_mut());
}

/// The part after `xi` in the input of [`expand_seed`].
pub(crate) fn seed_suffix(p: &Params) -> [u8; 2] {
    [p.k as u8, p.l as u8]
}

/// Bytes of `rho || rho_p || K`.
#[cfg(any(feature = "alloc", feature = "unstable-internals"))]
pub(crate) const EXPANDED_SEED_LEN: usize = SEED_LEN + 64 + SEED_LEN;

/// `rho`, `rho_p` and `K` of what [`expand_seed`] squeezes.
#[cfg(any(feature = "alloc", feature = "unstable-internals"))]
pub(crate) fn split_expanded_seed(
    bytes: &mut [u8; EXPANDED_SEED_LEN],
) -> (&[u8; SEED_LEN], &[u8; 64], &[u8; SEED_LEN]) {
    // Part of both keys; everything sampled from it is public.
    declassify_in_place(&mut bytes[..SEED_LEN], "rho is public");
    let (quarters, _) = bytes.as_chunks::<SEED_LEN>();
    let (rho_p, _) = bytes[SEED_LEN..].as_chunks::<64>();
    (&quarters[0], &rho_p[0], &quarters[3])
}

/// Computes `rho_pp = H(K || rnd || mu, 64)`, the seed of the masks.
#[inline(never)]
pub fn rho_pp(
    keccak: Permutation,
    k_seed: &[u8; SEED_LEN],
    rnd: &[u8; SEED_LEN],
    mu: &Mu,
    out: &mut [u8; 64],
) {
    Shake256::digest(keccak, &[k_seed, rnd, &mu.0], out);
}

/// Bytes of `K || rnd`.
pub(crate) const RHO_PP_PREFIX_LEN: usize = 2 * SEED_LEN;

/// The input of [`rho_pp`] before `mu`.
pub(crate) fn rho_pp_prefix<'p>(
    k_seed: &[u8; SEED_LEN],
    rnd: &[u8; SEED_LEN],
    prefix: &'p mut [u8; RHO_PP_PREFIX_LEN],
) -> &'p [u8] {
    prefix[..SEED_LEN].copy_from_slice(k_seed);
    prefix[SEED_LEN..].copy_from_slice(rnd);
    prefix
}

/// `c_tilde = H(mu || w1Encode(w1), lambda / 4)`, fed row by row.
#[derive(Clone, Debug)]
pub struct CommitmentHash(Shake256);

impl CommitmentHash {
    /// Starts with `mu`. Out of line, so that the caller's frame holds one state.
    #[inline(never)]
    #[must_use]
    pub fn new(keccak: Permutation, mu: &Mu) -> Self {
        let mut hash = Self::empty(keccak);
        hash.absorb_mu(mu);
        hash
    }

    /// Creates a state that [`Self::absorb_mu`] starts, in place.
    #[inline(always)]
    #[must_use]
    pub fn empty(keccak: Permutation) -> Self {
        Self(Shake256::new(keccak))
    }

    /// Absorbs `mu`, the first input.
    pub fn absorb_mu(&mut self, mu: &Mu) {
        self.0.absorb(&mu.0);
    }

    /// Absorbs the next packed row (or part of a row) of w1.
    pub fn absorb_w1(&mut self, row: &[u8]) {
        self.0.absorb(row);
    }

    /// Fills all of `c_tilde`; the last call. By reference, so that the state is not
    /// copied.
    pub fn finish(&mut self, c_tilde: &mut [u8]) {
        self.0.finish();
        self.0.squeeze(c_tilde);
    }
}

/// Ends a hash and returns whether it is `c_tilde`.
#[cfg(feature = "unstable-internals")]
#[inline(never)]
#[must_use]
pub fn is_commitment(hash: &mut CommitmentHash, c_tilde: &[u8]) -> bool {
    let mut again: [u8; CRH_LEN] = Zeroed::zeroed();
    hash.finish(&mut again);
    let same = is_zero(difference(&again, c_tilde)) & (c_tilde.len() <= CRH_LEN);
    declassify(same, "c_tilde of an attempt")
}

/// The `rnd` of algorithm 2: fresh bytes, or zeros for deterministic signing.
#[derive(Clone, Copy)]
pub enum Randomness<'a> {
    /// 32 zero bytes. Exposed to fault attacks: prefer fresh bytes where there
    /// is a generator.
    Deterministic,
    /// 32 fresh random bytes; [`Self::hedged`] refuses zeros.
    Hedged(&'a [u8; SEED_LEN]),
}

impl<'a> Randomness<'a> {
    /// Takes 32 bytes that a generator has just returned.
    ///
    /// # Errors
    /// [`SignError::ZeroRandomness`] for zeros: the generator does not work.
    pub fn hedged(rnd: &'a [u8; SEED_LEN]) -> Result<Self, SignError> {
        let is_zero = is_zero(difference(rnd, &[0; SEED_LEN]));
        if declassify(is_zero, "verdict over a generated seed") {
            return Err(SignError::ZeroRandomness);
        }
        Ok(Self::Hedged(rnd))
    }

    pub(crate) fn rnd(&self) -> &[u8; SEED_LEN] {
        match self {
            Self::Deterministic => &[0; SEED_LEN],
            Self::Hedged(rnd) => rnd,
        }
    }
}

impl fmt::Debug for Randomness<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deterministic => "Deterministic",
            Self::Hedged(_) => "Hedged(..)",
        })
    }
}
