//! Signing in slices: a state machine whose steps are entries and ends of rows.

use core::fmt;
use core::marker::PhantomData;

use mldsa_core::internals::ct::{difference, is_zero};
use mldsa_core::internals::hint::HINT_ROW_LEN;
use mldsa_core::internals::{
    Array, CRH_LEN, CommitmentHash, MAX_SIGN_ATTEMPTS, N, SEED_LEN, Shake256, Wipe, Zeroed,
    declassify, declassify_in_place, randomness_bytes,
};
use mldsa_core::{Mu, ParameterSet, Randomness};

use self::steps::Steps;
use crate::error::SignError;
use crate::key::{ExpandedKeyPair, PrivateKey, SecretsOf, SigningKey};
use crate::packed::{KECCAK, wiped};
use crate::signing_secrets::SigningSecrets;
use crate::tier::{Keeps, Tier, Workspace};

mod steps;
#[cfg(all(
    test,
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
mod tests;

/// Bytes of a saved state.
pub const STATE_LEN: usize = HEAD_LEN + TAG_LEN;

/// Bytes before the tag: format, set, tier, 0, the attempt in two bytes, `rnd`.
const HEAD_LEN: usize = 6 + SEED_LEN;
const TAG_LEN: usize = 32;
const FORMAT: u8 = 1;
/// No other input of H in the scheme begins with these bytes, except with negligible probability:
/// they begin with `tr`, K, a seed or a hash.
const LABEL: &[u8] = b"mldsa-lowmem saved state";

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// There is more to do.
    Working,
    /// The attempt was rejected, and another one follows. [`SlicedSigner::state`] has changed: what
    /// was done up to here is not repeated after a reset if the new one is saved.
    Rejected,
    /// The buffer holds the signature.
    Finished,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A into the workspace, in the tiers that keep it.
    Matrix,
    /// Line 11 of algorithm 7: y.
    Mask,
    /// Lines 12 to 15: w and `c_tilde`.
    Commit,
    /// The norm of z.
    CheckZ,
    /// The other checks and the hint, row by row.
    Respond,
    /// z in the place of y.
    Write,
    /// Verification of the signature.
    Verify,
    Finished,
    Failed(SignError),
}

/// What the checks of an attempt leave, then what verification needs.
enum Kept {
    Hints([[u8; HINT_ROW_LEN]; 8]),
    KeyHash(Shake256),
}

type RowBuffer<K> = <<K as SecretsOf>::Secrets as SigningSecrets>::T0;

/// A private key that signs in slices: one made from a seed, or an expanded one with its public key.
#[allow(private_bounds, reason = "rows of secrets stay inside this crate")]
pub trait SlicedKey<P: ParameterSet>: PrivateKey<P> + PublicKeyOf {}

impl<P: ParameterSet> SlicedKey<P> for SigningKey<P> {}
impl<P: ParameterSet> SlicedKey<P> for ExpandedKeyPair<'_, P> {}

pub(crate) trait PublicKeyOf {
    /// Returns the encoded public key, if it is not computed.
    fn public_key(&self) -> Option<&[u8]>;
}

impl<P: ParameterSet> PublicKeyOf for SigningKey<P> {
    fn public_key(&self) -> Option<&[u8]> {
        None
    }
}

impl<P: ParameterSet> PublicKeyOf for ExpandedKeyPair<'_, P> {
    fn public_key(&self) -> Option<&[u8]> {
        Some(self.pk)
    }
}

/// What steps share, with a buffer for a row of t0 or t1.
struct Shared<R> {
    acc: [i32; N],
    hash: Option<CommitmentHash>,
    kept: Kept,
    row: R,
    mu: Mu,
    rnd: [u8; SEED_LEN],
}

impl<R: Array<u8>> Shared<R> {
    fn wipe(&mut self) {
        self.acc.wipe();
        // A sponge is wiped when it is dropped.
        self.hash = None;
        if let Kept::Hints(hints) = &mut self.kept {
            hints.wipe();
        }
        self.kept = Kept::Hints(Zeroed::ZEROED);
        self.row.wipe();
    }
}

/// Memory of a [`SlicedSigner`]: a static or a local variable. It includes the workspace of the
/// tier, and a row of 416 bytes for keys that are made from a seed. Wiped after every signature (but
/// for `rnd` and `mu`), when a signer is dropped, and on drop, except A, which is public.
pub struct SliceMemory<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> {
    workspace: Workspace<P, T>,
    shared: Shared<RowBuffer<K>>,
}

impl<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> SliceMemory<P, K, T> {
    /// Zeroed memory as a constant, to initialise a static.
    pub const ZERO: Self = Self {
        workspace: Workspace::ZERO,
        shared: Shared {
            acc: [0; N],
            hash: None,
            kept: Kept::Hints(Zeroed::ZEROED),
            row: <RowBuffer<K> as Zeroed>::ZEROED,
            mu: Mu::from_bytes([0; CRH_LEN]),
            rnd: [0; SEED_LEN],
        },
    };
    /// Size in bytes.
    pub const LEN: usize = size_of::<Self>();

    fn wipe(&mut self) {
        self.workspace.wipe();
        self.shared.wipe();
    }

    /// Wipes what [`SlicedSigner::state`] needs, too.
    fn wipe_all(&mut self) {
        self.wipe();
        self.shared.rnd.wipe();
        self.shared.mu = Mu::from_bytes([0; CRH_LEN]);
        // The last write is not optimised away.
        core::hint::black_box(&mut self.shared.mu);
    }
}

impl<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> Drop for SliceMemory<P, K, T> {
    fn drop(&mut self) {
        self.wipe_all();
    }
}

impl<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> fmt::Debug for SliceMemory<P, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SliceMemory({}, {} bytes)", P::NAME, Self::LEN)
    }
}

/// Place in a signature.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    attempt: u16,
    phase: Phase,
    /// Row, and step in the row.
    i: usize,
    j: usize,
    /// [`VERIFIED`] after the last check. A fault in `phase` alone releases nothing.
    verified: u32,
}

const VERIFIED: u32 = 0x5ac3_96d2;

impl Place {
    fn is_finished(&self) -> bool {
        self.phase == Phase::Finished && self.verified == VERIFIED
    }
}

/// A signature that is made in steps of at most [`Self::MAX_PERMUTATIONS`] permutations of Keccak,
/// between which the program does other work, and that survives a reset.
///
/// The bytes are those of [`MlDsaSigner`](crate::MlDsaSigner), and its section on the signature
/// buffer holds here: the buffer contains the mask y between steps. Buffer and memory are wiped
/// after an error and when the signer is dropped. Self-verification is always on; it needs the
/// public key beside an expanded key. What others write to the buffer while the last steps verify
/// it may damage the signature, which alone is in it then. `mu` is kept in the memory: whoever changes
/// it there gets a signature of the changed one. [`Balanced`](crate::Balanced) of ML-DSA-65 and 87 works
/// as [`CacheW0`](crate::CacheW0).
///
/// # The saved state
///
/// [`Self::state`] is a format number, the set, the tier, the number of the attempt, `rnd`, and a
/// tag: a MAC of these bytes and `mu`, under a key derived from K and `tr`. [`Self::resume`] accepts
/// it with the same key and `mu` only. The state changes when an attempt is rejected. Work since
/// then, at most one attempt, is repeated after a reset.
///
/// - *Who reads the state* learns `rnd` and how many attempts were rejected. With `rnd`, faults in
///   this signature are as useful as in deterministic signing; K stays unknown.
///   Erase the state after [`Slice::Finished`], and begin with a fresh `rnd` after an error.
/// - *Who alters it* gets [`SignError::State`].
/// - *Who brings back an older state* makes the device repeat the work, with the same bytes at the
///   end. The only inputs of an attempt are the key, `rnd`, `mu` and the number of the attempt. The
///   tag binds all of them, and the mask of an attempt, its commitment and so its challenge follow
///   from them. So there are no two challenges for one mask. But measurements and faults can be
///   repeated with one mask, without knowing `rnd`. A device that must not release an old
///   signature again keeps a counter of its own.
///
/// ```
/// use mldsa_lowmem::{Minimal, MlDsa44, Mu, Randomness, SigningKey, Slice, SliceMemory, SlicedSigner};
///
/// let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
/// let mu = Mu::from_bytes([1; 64]);
/// let mut memory = SliceMemory::<_, _, Minimal>::ZERO;
/// let mut signature = [0; 2420];
/// let rnd = Randomness::Hedged(&[2; 32]);
/// let mut signer = SlicedSigner::new(&key, &mut memory, &mu, rnd, &mut signature)?;
/// let mut saved = signer.state();
/// for _ in 0..100 {
///     if signer.step()? == Slice::Rejected {
///         saved = signer.state();
///     }
/// }
/// drop(signer); // The supply fails. After it:
/// let mut signer = SlicedSigner::resume(&key, &mut memory, &mu, &saved, &mut signature)?;
/// while signer.step()? != Slice::Finished {}
/// # Ok::<(), mldsa_lowmem::SignError>(())
/// ```
#[must_use]
pub struct SlicedSigner<'a, P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> {
    key: &'a K,
    memory: &'a mut SliceMemory<P, K, T>,
    out: &'a mut [u8],
    at: Place,
}

impl<'a, P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> SlicedSigner<'a, P, K, T> {
    /// The largest number of permutations in a step, in [`Self::resume`] and in [`Self::state`]. With
    /// an expanded key it is 7. Rejection sampling exceeds it with a probability below 2^-100.
    pub const MAX_PERMUTATIONS: usize = 10;

    /// Starts a signature of `mu`; makes no permutation.
    ///
    /// # Errors
    /// [`SignError::BufferLength`].
    pub fn new(
        key: &'a K,
        memory: &'a mut SliceMemory<P, K, T>,
        mu: &Mu,
        randomness: Randomness<'_>,
        signature: &'a mut [u8],
    ) -> Result<Self, SignError> {
        if signature.len() != P::SIG_LEN {
            return Err(SignError::BufferLength);
        }
        memory.wipe();
        memory.shared.mu = *mu;
        memory.shared.rnd = *randomness_bytes(&randomness);
        let phase = if T::Keeps::MATRIX {
            Phase::Matrix
        } else {
            Phase::Mask
        };
        let at = Place {
            attempt: 0,
            phase,
            i: 0,
            j: 0,
            verified: 0,
        };
        Ok(Self {
            key,
            memory,
            out: signature,
            at,
        })
    }

    /// Continues the signature of `mu` whose state was saved, from the beginning of its attempt.
    ///
    /// # Errors
    /// [`SignError::State`] if `state` is not one of this key, tier and `mu`; those of [`Self::new`].
    pub fn resume(
        key: &'a K,
        memory: &'a mut SliceMemory<P, K, T>,
        mu: &Mu,
        state: &[u8],
        signature: &'a mut [u8],
    ) -> Result<Self, SignError> {
        let Some((head, tag)) = state.split_first_chunk::<HEAD_LEN>() else {
            return Err(SignError::State);
        };
        let mut expected = wiped::<[u8; TAG_LEN]>();
        seal::<P, K>(key, mu, head, expected.expose_mut());
        let same_tag = is_zero(difference(tag, expected.expose())) & (tag.len() == TAG_LEN);
        if !declassify(same_tag, "verdict over a saved state") {
            return Err(SignError::State);
        }
        let [_, _, _, _, low, high, rnd @ ..] = head;
        let attempt = u16::from_le_bytes([*low, *high]);
        if *head != head_of::<P, T>(attempt, rnd) || attempt >= MAX_SIGN_ATTEMPTS {
            return Err(SignError::State);
        }
        let mut signer = Self::new(key, memory, mu, Randomness::Hedged(rnd), signature)?;
        signer.at.attempt = attempt;
        Ok(signer)
    }

    /// Returns the state from which [`Self::resume`] continues.
    #[must_use]
    pub fn state(&self) -> [u8; STATE_LEN] {
        let head = head_of::<P, T>(self.at.attempt, &self.memory.shared.rnd);
        let mut state = [0; STATE_LEN];
        let (start, tag) = state.split_at_mut(HEAD_LEN);
        start.copy_from_slice(&head);
        if let Ok(tag) = tag.try_into() {
            seal::<P, K>(self.key, &self.memory.shared.mu, &head, tag);
        }
        // A MAC, which reveals nothing about its key.
        declassify_in_place(&mut state, "tag of a saved state");
        state
    }

    /// Does the next step.
    ///
    /// # Errors
    /// [`SignError::AttemptsExhausted`], [`SignError::SelfVerification`]. Every later call returns
    /// the same error.
    pub fn step(&mut self) -> Result<Slice, SignError> {
        let mut steps = Steps::<_, T::Keeps> {
            p: &P::PARAMS,
            secrets: self.key.secrets(),
            public_key: self.key.public_key(),
            tr: self.key.tr(),
            workspace: self.memory.workspace.bytes.as_mut(),
            memory: &mut self.memory.shared,
            out: self.out,
            at: &mut self.at,
            keeps: PhantomData,
        };
        let slice = steps.step();
        if matches!(slice, Err(_) | Ok(Slice::Finished)) {
            self.memory.wipe();
        }
        slice
    }
}

impl<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> Drop for SlicedSigner<'_, P, K, T> {
    fn drop(&mut self) {
        if !self.at.is_finished() {
            self.out.wipe();
        }
        self.memory.wipe_all();
    }
}

impl<P: ParameterSet, K: SlicedKey<P>, T: Tier<P>> fmt::Debug for SlicedSigner<'_, P, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlicedSigner({}, ..)", P::NAME)
    }
}

fn head_of<P: ParameterSet, T: Tier<P>>(attempt: u16, rnd: &[u8; SEED_LEN]) -> [u8; HEAD_LEN] {
    let mut head = [0; HEAD_LEN];
    let [low, high] = attempt.to_le_bytes();
    let tier = u8::from(T::Keeps::MATRIX) | u8::from(T::Keeps::LOW) << 1;
    head[..6].copy_from_slice(&[FORMAT, P::CATEGORY, tier, 0, low, high]);
    head[6..].copy_from_slice(rnd);
    head
}

/// The tag of the other bytes of a state and of `mu`, under a key derived from the private key: two
/// permutations.
#[inline(never)]
fn seal<P: ParameterSet, K: PrivateKey<P>>(
    key: &K,
    mu: &Mu,
    head: &[u8; HEAD_LEN],
    tag: &mut [u8; TAG_LEN],
) {
    let mut mac_key = wiped::<[u8; 32]>();
    let parts: [&[u8]; 3] = [LABEL, key.secrets().k_seed(), key.tr()];
    Shake256::digest(KECCAK, &parts, mac_key.expose_mut());
    Shake256::digest(KECCAK, &[mac_key.expose(), head, mu.as_bytes()], tag);
}
