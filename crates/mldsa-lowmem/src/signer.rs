//! Signing in caller memory.

use core::fmt;
use core::marker::PhantomData;
use core::ops::ControlFlow;

#[cfg(feature = "hash-ml-dsa")]
use mldsa_core::PreHashed;
use mldsa_core::internals::hint::HINT_ROW_LEN;
use mldsa_core::internals::{CRH_LEN, N, Wipe, message_mu, randomness_bytes};
use mldsa_core::{Context, Mu, MuBuilder, ParameterSet, Randomness};

use crate::attempt::{Memory, Progress, SignInputs, Watch, sign_internal};
use crate::checks::{AllChecks, Checks};
use crate::error::SignError;
use crate::key::PrivateKey;
use crate::packed::{KECCAK, wiped};
use crate::tier::{Tier, Workspace};
use crate::verify::Fresh;

#[cfg(all(
    test,
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
mod tests;

/// A private key with the memory of a tier, ready to sign.
///
/// # The signature buffer
///
/// Every method takes a buffer of exactly `SIG_LEN` bytes and computes the signature in it. **While
/// signing runs, the buffer holds the mask y.** A process or device that can read it then computes
/// the private key from the finished signature. So the memory must belong to this call alone. Where
/// it cannot (a mailbox, memory that DMA or another core can access), sign in an array on the stack
/// and copy the result. The buffer is wiped when signing fails or the progress function unwinds.
///
/// # Self-verification
///
/// By default a signature is released only if all of these hold:
///
/// - every row of y in the buffer is the one that K, `rnd` and `mu` give, derived a second
///   time, so that writes to y and loops that end early release no z with a known y;
/// - the second pass over the rows of w hashes to the `c_tilde` of the first, in the tiers
///   that make one;
/// - the message or digest, where it is at hand, hashes to the same `mu` again;
/// - the signature verifies under the public key whose hash is the `tr` of the key.
///
/// It costs one verification, a key generation if the public key is not at hand
/// ([`ExpandedKeyPair`](crate::ExpandedKeyPair) has it), a second hash of the message, and 22, 27 or
/// 37 permutations of Keccak. It does not detect a damaged K before the first use, which only a
/// comparison with another copy does, nor an attempt that should have been rejected and was not,
/// because of a fault in the check of low bits or because the workspace of a tier that stores w0 was
/// written to. Faults of reads and writes that repeat identically in both computations pass too.
///
/// ```
/// use mldsa_lowmem::{Context, ExpandedSigningKey, Minimal, MlDsa87, MlDsaSigner, Randomness, Workspace};
/// # let (mut pk, mut sk) = ([0; 2592], [0; 4896]);
/// # mldsa_lowmem::SigningKey::<MlDsa87>::keygen_into(&[7; 32], &mut pk, &mut sk);
/// let key = ExpandedSigningKey::<MlDsa87>::from_trusted_bytes(&sk)?;
/// let mut workspace = Workspace::<MlDsa87, Minimal>::new();
/// let mut signature = [0; 4627];
/// MlDsaSigner::new(&key, &mut workspace).sign_into(
///     b"message",
///     Context::EMPTY,
///     Randomness::Hedged(&[1; 32]),
///     &mut signature,
/// )?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[must_use]
pub struct MlDsaSigner<'a, P: ParameterSet, K: PrivateKey<P>, T: Tier<P>, C: Checks = AllChecks> {
    key: &'a K,
    workspace: &'a mut Workspace<P, T>,
    progress: Option<&'a mut dyn FnMut(Progress) -> ControlFlow<()>>,
    checks: PhantomData<C>,
}

impl<'a, P: ParameterSet, K: PrivateKey<P>, T: Tier<P>> MlDsaSigner<'a, P, K, T> {
    /// Joins a key with the memory of a tier. Self-verification is enabled.
    pub fn new(key: &'a K, workspace: &'a mut Workspace<P, T>) -> Self {
        Self {
            key,
            workspace,
            progress: None,
            checks: PhantomData,
        }
    }
}

impl<'a, P: ParameterSet, K: PrivateKey<P>, T: Tier<P>, C: Checks> MlDsaSigner<'a, P, K, T, C> {
    /// Selects the parts of self-verification; the code of the others is not linked.
    pub fn with_checks<D: Checks>(self) -> MlDsaSigner<'a, P, K, T, D> {
        MlDsaSigner {
            key: self.key,
            workspace: self.workspace,
            progress: self.progress,
            checks: PhantomData,
        }
    }

    /// Calls `progress` at every attempt and row, for a watchdog or a scheduler. Signing
    /// continues when it returns [`ControlFlow::Continue`], and ends with
    /// [`SignError::Stopped`] at [`ControlFlow::Break`].
    ///
    /// All working memory is wiped if `progress` unwinds; a panic that halts or resets
    /// the device wipes nothing.
    pub fn with_progress(
        mut self,
        progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Signs `message` (FIPS 204 algorithm 2) into `signature`.
    ///
    /// # Errors
    /// Every [`SignError`].
    pub fn sign_into(
        &mut self,
        message: &[u8],
        ctx: Context<'_>,
        randomness: Randomness<'_>,
        signature: &mut [u8],
    ) -> Result<(), SignError> {
        let tr = self.key.tr();
        let hash = |mu: &mut Mu| message_mu(KECCAK, tr, ctx, message, mu);
        self.sign_hashed(&hash, randomness, signature)
    }

    /// Signs what `hash` computes, twice with recomputation: a fault in `mu` makes a signature of
    /// another message.
    fn sign_hashed(
        &mut self,
        hash: &dyn Fn(&mut Mu),
        randomness: Randomness<'_>,
        signature: &mut [u8],
    ) -> Result<(), SignError> {
        let mut mu = Mu::from_bytes([0; CRH_LEN]);
        hash(&mut mu);
        self.sign_mu_into(&mu, randomness, signature)?;
        if C::RECOMPUTES {
            let mut again = Mu::from_bytes([0; CRH_LEN]);
            hash(&mut again);
            if again != mu {
                signature.wipe();
                return Err(SignError::SelfVerification);
            }
        }
        Ok(())
    }

    /// Returns a builder of `mu` for a message that arrives in pieces; [`Self::sign_mu_into`] signs
    /// the finished `mu`.
    pub fn mu_builder(&self, ctx: Context<'_>) -> MuBuilder {
        MuBuilder::from_tr(self.key.tr(), ctx)
    }

    /// Signs a digest (FIPS 204 algorithm 4, HashML-DSA) into `signature`.
    ///
    /// # Errors
    /// Every [`SignError`].
    #[cfg(feature = "hash-ml-dsa")]
    pub fn sign_prehashed_into(
        &mut self,
        digest: &PreHashed<'_, P>,
        ctx: Context<'_>,
        randomness: Randomness<'_>,
        signature: &mut [u8],
    ) -> Result<(), SignError> {
        let tr = self.key.tr();
        let hash = |mu: &mut Mu| *mu = digest.mu(tr, ctx);
        self.sign_hashed(&hash, randomness, signature)
    }

    /// Signs an externally computed message representative into `signature`.
    ///
    /// # Errors
    /// Every [`SignError`].
    pub fn sign_mu_into(
        &mut self,
        mu: &Mu,
        randomness: Randomness<'_>,
        signature: &mut [u8],
    ) -> Result<(), SignError> {
        let request = SignInputs {
            mu,
            rnd: randomness_bytes(&randomness),
        };
        let progress = &mut self.progress;
        sign_with::<P, K, T, C>(
            self.key,
            self.workspace,
            &request,
            &mut |at, _| match progress {
                Some(progress) => progress(at),
                None => ControlFlow::Continue(()),
            },
            signature,
        )
    }
}

impl<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>, C: Checks> fmt::Debug
    for MlDsaSigner<'_, P, K, T, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MlDsaSigner({}, ..)", P::NAME)
    }
}

/// A workspace while it holds secrets: wiped on every exit, unwinding of the progress
/// function included. A workspace in a static is never dropped itself.
struct InUse<'a, P: ParameterSet, T: Tier<P>>(&'a mut Workspace<P, T>);

impl<P: ParameterSet, T: Tier<P>> Drop for InUse<'_, P, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.wipe();
    }
}

/// A signature buffer while it holds secrets: wiped on every exit except [`Self::release`].
struct Unfinished<'a>(&'a mut [u8]);

impl Unfinished<'_> {
    fn release(mut self) {
        self.0 = &mut [];
    }
}

impl Drop for Unfinished<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.wipe();
    }
}

/// Signs and verifies. Both use the same accumulator.
#[inline(never)]
fn sign_with<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>, C: Checks>(
    key: &K,
    workspace: &mut Workspace<P, T>,
    request: &SignInputs<'_>,
    watch: &mut Watch<'_>,
    signature: &mut [u8],
) -> Result<(), SignError> {
    if signature.len() != P::SIG_LEN {
        return Err(SignError::BufferLength);
    }
    let out = Unfinished(signature);
    let mut acc = wiped::<[i32; N]>();
    let acc = acc.expose_mut();
    let mut hints = wiped::<P::Rows<[u8; HINT_ROW_LEN]>>();
    let in_use = InUse(workspace);
    let memory = Memory {
        workspace: in_use.0.bytes.as_mut(),
        acc,
        hints: hints.expose_mut().as_mut(),
    };
    let (p, secrets) = (&P::PARAMS, key.secrets());
    sign_internal::<_, T::Keeps, C>(p, secrets, request, memory, watch, out.0)?;
    drop(in_use);
    if C::VERIFIES {
        let fresh = Fresh {
            mu: request.mu,
            signature: out.0,
            tr: key.tr(),
        };
        if !key.verifies(p, &fresh, acc) {
            return Err(SignError::SelfVerification);
        }
    }
    out.release();
    Ok(())
}
