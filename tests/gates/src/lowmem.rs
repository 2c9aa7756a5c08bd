//! Every operation of the low-memory signer, on inputs enough to see its deepest
//! call: what the gates of stack and heap run.

use core::convert::Infallible;
use core::hint::black_box;

use mldsa_core::internals::Zeroed;
use mldsa_core::{Backend, Context, Mu, MuBuilder, ParameterSet, Randomness, internals};
use mldsa_lowmem::{
    Balanced, CacheMatrix, CacheW0, ExpandedSigningKey, Minimal, MlDsaSigner, Reader, SigningKey,
    Tier, VerifyingKey, Workspace,
};

use crate::cases;

/// An operation on all inputs.
#[allow(missing_debug_implementations, reason = "a closure")]
pub struct Operation {
    /// Set, operation, tier.
    pub name: String,
    /// Runs it; panics if a result is wrong.
    pub run: Box<dyn FnMut() + Send>,
}

/// A key pair, what to sign, and a signature.
struct Input<P: ParameterSet> {
    xi: [u8; 32],
    pk: P::PublicKeyBytes,
    sk: P::SecretKeyBytes,
    mu: Mu,
    signature: P::SignatureBytes,
}

impl<P: ParameterSet> Input<P> {
    fn new(xi: [u8; 32], mu: impl FnOnce(&[u8; 64]) -> Mu) -> Self {
        let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
        internals::keygen_internal::<P>(Backend::PORTABLE, &xi, &mut pk, &mut sk);
        let mu = mu(&internals::tr(Backend::PORTABLE.permutation(), pk.as_ref()));
        let mut signature = P::SignatureBytes::zeroed();
        let signed = internals::sign_mu_encoded::<P>(
            &sk,
            &mu,
            Randomness::Deterministic,
            &mut signature,
            &mut |_| {},
        );
        assert_eq!(signed, Ok(()));
        Self {
            xi,
            pk,
            sk,
            mu,
            signature,
        }
    }

    fn all(signatures: u32) -> Vec<Self> {
        let known = cases::rejected(P::NAME).map(|case| Self::new(case.seed, |_| case.mu));
        let message = |n: u32| {
            move |tr: &[u8; 64]| {
                let mut mu = MuBuilder::from_tr(tr, Context::EMPTY);
                mu.update(&n.to_le_bytes());
                mu.finish()
            }
        };
        let many = (0..signatures).map(|n| Self::new([n as u8; 32], message(n)));
        known.into_iter().chain(many).collect()
    }
}

/// A slice read as an external memory is read.
struct External<'a>(&'a [u8]);

impl Reader for External<'_> {
    type Error = Infallible;

    fn size(&self) -> usize {
        self.0.len()
    }

    fn read(&mut self, offset: usize, out: &mut [u8]) -> Result<(), Infallible> {
        out.copy_from_slice(&self.0[offset..][..out.len()]);
        Ok(())
    }
}

/// Key generation, verification, verification from readers, and signing in every tier with all checks, from the
/// expanded key and from the seed: `signatures` messages under as many keys, and
/// the known ones whose attempts are rejected for every reason.
#[must_use]
pub fn operations<P: ParameterSet>(signatures: u32) -> Vec<Operation>
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let operation = |name: &str, run: Box<dyn FnMut() + Send>| Operation {
        name: format!("{} lowmem {name}", P::NAME),
        run,
    };
    let inputs: &'static [Input<P>] = Vec::leak(Input::all(signatures));
    let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
    let keygen = move || {
        // Always the same work.
        let input = &inputs[0];
        mldsa_lowmem::SigningKey::<P>::keygen_into(&input.xi, &mut pk, &mut sk);
        assert!(pk == input.pk && sk == input.sk);
    };
    let verify = move || {
        for input in inputs {
            let pk = VerifyingKey::<P>::from_bytes(input.pk.as_ref());
            let verdict = pk.map(|pk| pk.verify_mu(&input.mu, &input.signature));
            assert_eq!(verdict, Ok(Ok(())));
        }
    };
    let verify_from = move || {
        for input in inputs {
            let pk = &mut External(input.pk.as_ref());
            let tr = VerifyingKey::<P>::tr_from(pk).expect("a key of the right length");
            let signature = &mut External(input.signature.as_ref());
            assert_eq!(
                VerifyingKey::<P>::verify_mu_from(pk, &tr, &input.mu, signature),
                Ok(())
            );
        }
    };
    let mut all = vec![
        operation("keygen", Box::new(keygen)),
        operation("verify", Box::new(verify)),
        operation("verify from readers", Box::new(verify_from)),
    ];
    all.extend(signing::<P, Minimal>(inputs).map(|run| operation("sign minimal", run)));
    all.extend(signing::<P, CacheW0>(inputs).map(|run| operation("sign cache-w0", run)));
    all.extend(signing::<P, Balanced>(inputs).map(|run| operation("sign balanced", run)));
    all.extend(signing::<P, CacheMatrix>(inputs).map(|run| operation("sign cache-matrix", run)));
    for (n, operation) in all[3..].iter_mut().enumerate() {
        operation.name += ["", " from seed"][n % 2];
    }
    all
}

fn signing<P: ParameterSet, T: Tier<P>>(
    inputs: &'static [Input<P>],
) -> [Box<dyn FnMut() + Send>; 2] {
    let mut workspace = Box::new(Workspace::<P, T>::new());
    let mut signature = Box::new(P::SignatureBytes::zeroed());
    let expanded = move || {
        for input in inputs {
            let key = ExpandedSigningKey::<P>::from_trusted_bytes(input.sk.as_ref())
                .and_then(|key| key.with_public_key(input.pk.as_ref()))
                .expect("a key");
            let out = signature.as_mut().as_mut();
            let signed = MlDsaSigner::new(&key, &mut workspace).sign_mu_into(
                &input.mu,
                Randomness::Deterministic,
                out,
            );
            assert!(signed.is_ok() && *signature == input.signature);
        }
    };
    let mut workspace = Box::new(Workspace::<P, T>::new());
    let mut signature = Box::new(P::SignatureBytes::zeroed());
    let keys: Vec<SigningKey<P>> = inputs
        .iter()
        .map(|input| SigningKey::from_seed(&input.xi))
        .collect();
    let seed = move || {
        for (input, key) in inputs.iter().zip(black_box(&keys)) {
            let out = signature.as_mut().as_mut();
            let signed = MlDsaSigner::new(key, &mut workspace).sign_mu_into(
                &input.mu,
                Randomness::Deterministic,
                out,
            );
            assert!(signed.is_ok() && *signature == input.signature);
        }
    };
    [Box::new(expanded), Box::new(seed)]
}
