//! Signing in caller memory.

use core::fmt;
use core::ops::ControlFlow;

#[cfg(feature = "hash-ml-dsa")]
use mldsa_core::PreHashed;
use mldsa_core::internals::{CRH_LEN, N, Wipe, randomness_bytes};
use mldsa_core::{Context, Mu, MuBuilder, ParameterSet, Randomness};

use crate::attempt::{Progress, SignInputs, Watch, sign_internal};
use crate::error::SignError;
use crate::key::PrivateKey;
use crate::packed::wiped;
use crate::signing_secrets::SigningSecrets;
use crate::tier::{Tier, Workspace};
use crate::verify::{message_mu, self_verify};

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
/// - the signature verifies under the public key whose hash is the `tr` of the key.
///
/// It costs one verification, a key generation if the public key is not at hand, and 22, 27
/// or 37 permutations of Keccak. It does not detect a damaged K before the first use, which
/// only a comparison with another copy does, nor an attempt that should have been rejected
/// and was not because the workspace of a tier that stores w0 was written to. Faults of
/// reads and writes that repeat identically in both computations pass too.
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
pub struct MlDsaSigner<'a, P: ParameterSet, K: PrivateKey<P>, T: Tier<P>> {
    key: &'a K,
    workspace: &'a mut Workspace<P, T>,
    self_verification: bool,
    progress: Option<&'a mut dyn FnMut(Progress) -> ControlFlow<()>>,
}

impl<'a, P: ParameterSet, K: PrivateKey<P>, T: Tier<P>> MlDsaSigner<'a, P, K, T> {
    /// Joins a key with the memory of a tier. Self-verification is enabled.
    pub fn new(key: &'a K, workspace: &'a mut Workspace<P, T>) -> Self {
        Self {
            key,
            workspace,
            self_verification: true,
            progress: None,
        }
    }

    /// Enables or disables self-verification, which is enabled by default. Without it nothing
    /// is covered: a key with a damaged `tr` gives signatures that do not verify.
    pub fn set_self_verification(&mut self, enabled: bool) -> &mut Self {
        self.self_verification = enabled;
        self
    }

    /// Calls `progress` at every attempt and row, for a watchdog or a scheduler. Signing
    /// continues when it returns [`ControlFlow::Continue`], and ends with
    /// [`SignError::Stopped`] at [`ControlFlow::Break`].
    ///
    /// All working memory is wiped if `progress` unwinds; a panic that halts or resets
    /// the device wipes nothing.
    pub fn set_progress(
        &mut self,
        progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> &mut Self {
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
        let mu = message_mu(self.key.tr(), ctx, message);
        self.sign_mu_into(&mu, randomness, signature)
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
        self.sign_mu_into(&digest.mu(self.key.tr(), ctx), randomness, signature)
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
            self_verification: self.self_verification,
        };
        let (public_key, tr) = (self.key.public_key(), self.key.tr());
        let progress = &mut self.progress;
        sign_with(
            self.key.secrets(),
            self.workspace,
            &request,
            (public_key, tr),
            &mut |at, _| match progress {
                Some(progress) => progress(at),
                None => ControlFlow::Continue(()),
            },
            signature,
        )
    }
}

impl<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>> fmt::Debug for MlDsaSigner<'_, P, K, T> {
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

/// Signs, and verifies with the public key, if it is known, and its `tr`. Both use
/// the same accumulator.
#[inline(never)]
fn sign_with<P: ParameterSet, S: SigningSecrets, T: Tier<P>>(
    secrets: &S,
    workspace: &mut Workspace<P, T>,
    request: &SignInputs<'_>,
    (public_key, tr): (Option<&[u8]>, &[u8; CRH_LEN]),
    watch: &mut Watch<'_>,
    signature: &mut [u8],
) -> Result<(), SignError> {
    if signature.len() != P::SIG_LEN {
        return Err(SignError::BufferLength);
    }
    let out = Unfinished(signature);
    let mut acc = wiped::<[i32; N]>();
    let acc = acc.expose_mut();
    let in_use = InUse(workspace);
    sign_internal(secrets, request, in_use.0, acc, watch, out.0)?;
    drop(in_use);
    let (p, mu) = (&P::PARAMS, request.mu);
    if request.self_verification && !self_verify(p, secrets, public_key, tr, mu, out.0, acc) {
        return Err(SignError::SelfVerification);
    }
    out.release();
    Ok(())
}
