//! The public calls that sign.

use core::fmt;
use core::marker::PhantomData;
use core::ops::ControlFlow;

#[cfg(feature = "hash-ml-dsa")]
use mldsa_core::PreHashed;
use mldsa_core::internals::{
    CRH_LEN, ExpandedSeed, N, SEED_LEN, Wipe, Zeroed, expand_seed, randomness_bytes,
};
use mldsa_core::{Context, Mu, MuBuilder, ParameterSet, Randomness};

use crate::attempt::{Progress, Request, Watch, sign_internal};
use crate::error::{SignError, SinkError};
use crate::key::PrivateKey;
use crate::packed::{KECCAK, wiped};
use crate::signing_secrets::SigningSecrets;
use crate::source::Sink;
use crate::tier::{Tier, Workspace};
use crate::verify::message_mu;
use crate::verify::self_verify;

/// A caller's buffer as the place where a signature is worked out: secret until
/// signing succeeds, and wiped on drop otherwise.
///
/// While signing runs, the buffer holds the mask y. Whoever can *read* it then
/// learns the private key from the finished signature; whoever can *write* it,
/// too: y zeroed between challenge and response turns z into c s1. So the memory
/// must belong to this call alone. Where it cannot (a mailbox, memory that DMA or
/// another core reaches), work in an [`OwnOutput`] and copy the result.
pub struct Output<'a, P: ParameterSet> {
    bytes: Option<&'a mut [u8]>,
    set: PhantomData<P>,
}

impl<'a, P: ParameterSet> Output<'a, P> {
    /// Takes a buffer of exactly `SIG_LEN` bytes.
    ///
    /// # Errors
    /// [`SignError::BufferLength`]; the buffer is left as it is.
    pub fn in_place(bytes: &'a mut [u8]) -> Result<Self, SignError> {
        if bytes.len() != P::SIG_LEN {
            return Err(SignError::BufferLength);
        }
        Ok(Self {
            bytes: Some(bytes),
            set: PhantomData,
        })
    }

    fn working(&mut self) -> &mut [u8] {
        self.bytes.as_deref_mut().unwrap_or_default()
    }

    fn release(mut self) -> &'a mut [u8] {
        self.bytes.take().unwrap_or_default()
    }
}

impl<P: ParameterSet> Drop for Output<'_, P> {
    fn drop(&mut self) {
        self.working().wipe();
    }
}

impl<P: ParameterSet> fmt::Debug for Output<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output({})", P::NAME)
    }
}

/// A signature buffer of its own, `SIG_LEN` bytes, for callers whose output
/// memory others can reach. Wiped on drop.
pub struct OwnOutput<P: ParameterSet>(P::SignatureBytes);

impl<P: ParameterSet> OwnOutput<P> {
    /// Zeros, as a constant: can initialise a static.
    pub const ZERO: Self = Self(<P::SignatureBytes as Zeroed>::ZEROED);

    /// Zeros.
    #[inline]
    pub fn new() -> Self {
        Self(P::SignatureBytes::zeroed())
    }

    /// The handle to sign with.
    pub fn output(&mut self) -> Output<'_, P> {
        Output {
            bytes: Some(self.0.as_mut()),
            set: PhantomData,
        }
    }
}

impl<P: ParameterSet> Default for OwnOutput<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: ParameterSet> Drop for OwnOutput<P> {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

impl<P: ParameterSet> fmt::Debug for OwnOutput<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnOutput({})", P::NAME)
    }
}

/// A private key with the memory of a tier, ready to sign.
///
/// ```
/// use mldsa_lowmem::{Context, ExpandedKey, Floor, Randomness, MlDsa87, Output, Signer, Workspace};
/// # let (mut pk, mut sk) = ([0; 2592], [0; 4896]);
/// # mldsa_lowmem::keygen_from_seed::<MlDsa87>(&[7; 32], &mut pk, &mut sk);
/// let key = ExpandedKey::<MlDsa87>::new(&sk)?;
/// let mut workspace = Workspace::<MlDsa87, Floor>::new();
/// let mut buffer = [0; 4627];
/// let signature = Signer::new(&key, &mut workspace).sign(
///     b"message",
///     Context::EMPTY,
///     Randomness::Hedged(&[1; 32]),
///     Output::in_place(&mut buffer)?,
/// )?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Signer<'a, P: ParameterSet, K: PrivateKey<P>, T: Tier<P>> {
    key: &'a K,
    workspace: &'a mut Workspace<P, T>,
    self_verification: bool,
    recheck: bool,
    watch: Watch<'a>,
}

impl<'a, P: ParameterSet, K: PrivateKey<P>, T: Tier<P>> Signer<'a, P, K, T> {
    /// Both fault checks are on.
    pub fn new(key: &'a K, workspace: &'a mut Workspace<P, T>) -> Self {
        Self {
            key,
            workspace,
            self_verification: true,
            recheck: true,
            watch: None,
        }
    }

    /// Whether every signature is verified before it is released, against faults
    /// and writes to its buffer. On by default; costs one verification, and a key
    /// generation where the public key is not at hand.
    ///
    /// The check also hashes the public key, 10, 15 or 20 permutations of Keccak, and
    /// compares the hash with the key's `tr`, also where `mu` was computed elsewhere.
    /// So a signature is released only if it verifies under the public key whose hash
    /// is `tr`. K, which only selects the mask, is not covered. Without the check
    /// nothing is: a key with a damaged `tr` gives signatures that do not verify.
    #[must_use]
    pub fn self_verification(mut self, on: bool) -> Self {
        self.self_verification = on;
        self
    }

    /// Whether the second pass hashes w1 again and compares: a fault between the
    /// passes could otherwise slip a w past the r0 check that is not the one
    /// committed to. On by default; without effect in tiers that keep w0.
    #[must_use]
    pub fn recheck(mut self, on: bool) -> Self {
        self.recheck = on;
        self
    }

    /// Calls `watch` at every attempt and row, for a watchdog or a scheduler;
    /// signing goes on where it was when it returns, and stops with
    /// [`SignError::Stopped`] at [`ControlFlow::Break`].
    ///
    /// All working memory is wiped if `watch` unwinds; a panic that halts or resets
    /// the device instead wipes nothing.
    #[must_use]
    pub fn watched(mut self, watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Signs `message` (FIPS 204 algorithm 2).
    ///
    /// # Errors
    /// Every [`SignError`]; `out` is wiped.
    pub fn sign<'o>(
        &mut self,
        message: &[u8],
        ctx: Context<'_>,
        hedge: Randomness<'_>,
        out: Output<'o, P>,
    ) -> Result<&'o mut [u8], SignError> {
        let mu = message_mu(self.key.tr(), ctx, message);
        self.sign_mu(&mu, hedge, out)
    }

    /// Starts a message that arrives in pieces.
    pub fn sign_init(&self, ctx: Context<'_>) -> MuBuilder {
        MuBuilder::from_tr(self.key.tr(), ctx)
    }

    /// Ends a message that was begun with [`Self::sign_init`] and fed with
    /// [`MuBuilder::update`], and signs it.
    ///
    /// # Errors
    /// Every [`SignError`]; `out` is wiped.
    pub fn sign_final<'o>(
        &mut self,
        message: MuBuilder,
        hedge: Randomness<'_>,
        out: Output<'o, P>,
    ) -> Result<&'o mut [u8], SignError> {
        self.sign_mu(&message.finish(), hedge, out)
    }

    /// Signs a digest (FIPS 204 algorithm 4, HashML-DSA).
    ///
    /// # Errors
    /// Every [`SignError`]; `out` is wiped.
    #[cfg(feature = "hash-ml-dsa")]
    pub fn sign_prehashed<'o>(
        &mut self,
        digest: &PreHashed<'_, P>,
        ctx: Context<'_>,
        hedge: Randomness<'_>,
        out: Output<'o, P>,
    ) -> Result<&'o mut [u8], SignError> {
        self.sign_mu(&digest.mu(self.key.tr(), ctx), hedge, out)
    }

    /// Signs an externally computed message representative.
    ///
    /// # Errors
    /// Every [`SignError`]; `out` is wiped.
    pub fn sign_mu<'o>(
        &mut self,
        mu: &Mu,
        hedge: Randomness<'_>,
        mut out: Output<'o, P>,
    ) -> Result<&'o mut [u8], SignError> {
        self.sign_in(mu, hedge, &mut out)?;
        Ok(out.release())
    }

    fn sign_in(
        &mut self,
        mu: &Mu,
        hedge: Randomness<'_>,
        out: &mut Output<'_, P>,
    ) -> Result<(), SignError> {
        let checks = Checks {
            self_verification: self.self_verification,
            recheck: self.recheck,
            public_key: self.key.public_key(),
            tr: Some(self.key.tr()),
        };
        sign_with(
            self.key.secrets(),
            self.workspace,
            mu,
            randomness_bytes(&hedge),
            &checks,
            &mut self.watch,
            out.working(),
        )
    }

    /// Signs into `own` and writes the finished signature to `sink`; `own` is wiped
    /// in any case.
    ///
    /// # Errors
    /// Every [`SinkError`]. After [`SinkError::Sink`], try again
    /// with the same `hedge`: the signature will be the same.
    pub fn sign_mu_to<S: Sink>(
        &mut self,
        mu: &Mu,
        hedge: Randomness<'_>,
        own: &mut OwnOutput<P>,
        sink: &mut S,
    ) -> Result<(), SinkError<S::Error>> {
        let mut out = own.output();
        self.sign_in(mu, hedge, &mut out)?;
        sink.write(0, out.working()).map_err(SinkError::Sink)
    }
}

impl<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>> fmt::Debug for Signer<'_, P, K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({}, ..)", P::NAME)
    }
}

/// The fault checks of a signature.
struct Checks<'a> {
    self_verification: bool,
    recheck: bool,
    public_key: Option<&'a [u8]>,
    tr: Option<&'a [u8; CRH_LEN]>,
}

/// A workspace while it holds secrets. Wiped on every way out, unwinding of the
/// progress function included: one in a static is never dropped itself.
struct InUse<'a, P: ParameterSet, T: Tier<P>>(&'a mut Workspace<P, T>);

impl<P: ParameterSet, T: Tier<P>> Drop for InUse<'_, P, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.wipe();
    }
}

/// Signs and verifies. The accumulator is shared by both.
#[inline(never)]
fn sign_with<P: ParameterSet, S: SigningSecrets, T: Tier<P>>(
    secrets: &S,
    workspace: &mut Workspace<P, T>,
    mu: &Mu,
    rnd: &[u8; SEED_LEN],
    checks: &Checks<'_>,
    watch: &mut Watch<'_>,
    out: &mut [u8],
) -> Result<(), SignError> {
    let mut acc = wiped::<[i32; N]>();
    let acc = acc.expose_mut();
    let in_use = InUse(workspace);
    let request = Request {
        mu,
        rnd,
        recheck: checks.recheck,
    };
    sign_internal(secrets, &request, in_use.0, acc, watch, out)?;
    drop(in_use);
    let Checks { public_key, tr, .. } = *checks;
    if checks.self_verification && !self_verify(&P::PARAMS, secrets, public_key, tr, mu, out, acc) {
        return Err(SignError::SelfVerification);
    }
    Ok(())
}

/// Key generation and signature in one: signs `mu` with the key of the seed `xi`,
/// which is stored nowhere. `rnd` is fresh, or 32 zero bytes. The signature is
/// verified before it is released.
///
/// # Errors
/// Every [`SignError`]; `out` is wiped.
pub fn sign_mu_deterministic_from_seed<'o, P: ParameterSet, T: Tier<P>>(
    xi: &[u8; SEED_LEN],
    mu: &Mu,
    rnd: &[u8; SEED_LEN],
    workspace: &mut Workspace<P, T>,
    mut out: Output<'o, P>,
) -> Result<&'o mut [u8], SignError> {
    let mut seed = ExpandedSeed::zeroed();
    expand_seed(KECCAK, &P::PARAMS, xi, &mut seed);
    let checks = Checks {
        self_verification: true,
        recheck: true,
        public_key: None,
        tr: None,
    };
    sign_with(&seed, workspace, mu, rnd, &checks, &mut None, out.working())?;
    Ok(out.release())
}

#[cfg(all(
    test,
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
mod tests {
    extern crate std;

    use core::panic::AssertUnwindSafe;
    use std::boxed::Box;
    use std::panic::{catch_unwind, resume_unwind};
    use std::vec::Vec;

    use mldsa_core::internals::window::{COMPACT_LEN, expand_compact};
    use mldsa_core::{MlDsa44, MlDsa65, MlDsa87};

    use super::*;
    use crate::error::SignError;
    use crate::key::{ExpandedKey, OpenedKey};
    use crate::keygen::keygen_from_seed;
    use crate::secrets::Secrets;
    use crate::tier::{Balanced, Cached, Floor, KeepW0, Keeps};

    const XI: [u8; SEED_LEN] = [9; SEED_LEN];
    const STAINED: u8 = 0xa5;

    /// How a progress function leaves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Exit {
        Stop,
        Panic,
    }

    /// Signs until report `at` and leaves there by `exit`; whether it got that far.
    fn leaves<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>>(
        key: &K,
        workspace: &mut Workspace<P, T>,
        out: &mut [u8],
        at: usize,
        exit: Exit,
    ) -> bool {
        let mut seen = 0;
        let mut watch = |_| {
            seen += 1;
            match exit {
                _ if seen <= at => ControlFlow::Continue(()),
                Exit::Stop => ControlFlow::Break(()),
                // Without the message of a panic.
                Exit::Panic => resume_unwind(Box::new(())),
            }
        };
        let signed = catch_unwind(AssertUnwindSafe(|| {
            let out = Output::in_place(out).expect("length");
            Signer::new(key, workspace)
                .self_verification(false)
                .watched(&mut watch)
                .sign_mu(&Mu::from_bytes([4; 64]), Randomness::Deterministic, out)
                .map(drop)
        }));
        match signed {
            Ok(Ok(())) => false,
            Ok(Err(error)) => {
                assert_eq!((error, exit), (SignError::Stopped, Exit::Stop));
                true
            }
            Err(_) => {
                assert_eq!(exit, Exit::Panic);
                true
            }
        }
    }

    /// A workspace that outlives the call, as a static does, holds no secret after
    /// an exit at any report: zeros, or the public A.
    fn nothing_stays<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>>(key: &K) {
        let p = &P::PARAMS;
        let mut a = Vec::new();
        if T::KEEPS == Keeps::Matrix {
            a.resize(Workspace::<P, T>::LEN, 0);
            for (n, entry) in a.chunks_exact_mut(COMPACT_LEN).enumerate() {
                expand_compact(KECCAK, key.secrets().rho(), n / p.l, n % p.l, entry);
            }
        }
        for exit in [Exit::Stop, Exit::Panic] {
            let mut at = 0;
            loop {
                let mut workspace = Workspace::<P, T>::new();
                let mut out = P::SignatureBytes::zeroed();
                out.as_mut().fill(STAINED);
                let left = leaves(key, &mut workspace, out.as_mut(), at, exit);
                let entries = workspace.bytes.as_ref().chunks(COMPACT_LEN);
                for (n, entry) in entries.enumerate() {
                    assert!(
                        entry.iter().all(|&byte| byte == 0)
                            || a.chunks(COMPACT_LEN).nth(n) == Some(entry),
                        "{} {:?} at report {at}: the workspace holds a secret",
                        P::NAME,
                        T::KEEPS,
                    );
                }
                if !left {
                    break;
                }
                assert!(out.as_ref().iter().all(|&byte| byte == 0), "{exit:?} {at}");
                at += 1;
            }
            assert!(at > p.k, "only {at} reports");
        }
    }

    fn every_tier<P: ParameterSet>()
    where
        KeepW0: Tier<P>,
        Balanced: Tier<P>,
        Cached: Tier<P>,
    {
        let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
        keygen_from_seed::<P>(&XI, &mut pk, &mut sk);
        let expanded = ExpandedKey::<P>::new(sk.as_ref()).expect("a key");
        nothing_stays::<P, _, Floor>(&expanded);
        nothing_stays::<P, _, KeepW0>(&expanded);
        nothing_stays::<P, _, Balanced>(&expanded);
        nothing_stays::<P, _, Cached>(&expanded);
        let opened = OpenedKey::<P>::from_seed(&XI);
        nothing_stays::<P, _, Floor>(&opened);
        nothing_stays::<P, _, KeepW0>(&opened);
        nothing_stays::<P, _, Balanced>(&opened);
        nothing_stays::<P, _, Cached>(&opened);
    }

    #[test]
    fn no_exit_leaves_a_secret_in_a_workspace_44() {
        every_tier::<MlDsa44>();
    }

    #[test]
    fn no_exit_leaves_a_secret_in_a_workspace_65() {
        every_tier::<MlDsa65>();
    }

    #[test]
    fn no_exit_leaves_a_secret_in_a_workspace_87() {
        every_tier::<MlDsa87>();
    }
    /// The buffer of a static outlives a sink that fails or panics.
    #[test]
    fn no_exit_of_a_sink_leaves_a_signature_behind() {
        struct Leaves(Exit);
        impl Sink for Leaves {
            type Error = ();
            fn write(&mut self, _: usize, _: &[u8]) -> Result<(), ()> {
                match self.0 {
                    Exit::Stop => Err(()),
                    Exit::Panic => resume_unwind(Box::new(())),
                }
            }
        }
        let key = OpenedKey::<MlDsa44>::from_seed(&XI);
        let mut workspace = Workspace::<MlDsa44, Floor>::new();
        let mut own = OwnOutput::new();
        for exit in [Exit::Stop, Exit::Panic] {
            let mu = Mu::from_bytes([4; 64]);
            let left = catch_unwind(AssertUnwindSafe(|| {
                let mut signer = Signer::new(&key, &mut workspace);
                signer.sign_mu_to(&mu, Randomness::Deterministic, &mut own, &mut Leaves(exit))
            }));
            match exit {
                Exit::Stop => assert_eq!(left.ok(), Some(Err(SinkError::Sink(())))),
                Exit::Panic => assert!(left.is_err()),
            }
            assert!(own.0.iter().all(|&byte| byte == 0), "{exit:?}");
        }
    }
}
