//! `mldsa-lowmem` as an implementation of the suite traits.

use core::marker::PhantomData;

use mldsa_core::internals::Zeroed;
use mldsa_core::{Backend, ParameterSet};
use mldsa_kat::scheme::{KeyPair, Message, PrivateKey, Reason, Scheme, Verifier};
use mldsa_kat::set::Set;
use mldsa_lowmem::{
    ExpandedSigningKey, MlDsaSigner, PrivateKey as LowmemKey, SigningKey, Tier, VerifyingKey,
    Workspace,
};

use super::{context, hedge, key_reason, mu_of, pair, prehashed, seed, verify_reason};

/// A tier of `mldsa-lowmem`.
pub(super) struct Lowmem<P, T>(pub(super) &'static str, pub(super) PhantomData<(P, T)>);

impl<P: ParameterSet, T> Verifier for Lowmem<P, T> {
    named!(self => format!("lowmem {} {}", self.0, P::NAME));

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        let key = VerifyingKey::<P>::from_bytes(pk).map_err(key_reason)?;
        verify_with!(key, Backend::PORTABLE, &key.tr(), message, sig)
    }
}

impl<P: ParameterSet, T: Tier<P>> Scheme for Lowmem<P, T> {
    fn load(&self, key: PrivateKey<'_>) -> Result<KeyPair, Reason> {
        let mut pk = P::PublicKeyBytes::zeroed();
        match key {
            PrivateKey::Seed(xi) => {
                let mut sk = P::SecretKeyBytes::zeroed();
                mldsa_lowmem::SigningKey::<P>::keygen_into(seed(xi)?, &mut pk, &mut sk);
                Ok(pair(pk, sk))
            }
            PrivateKey::Expanded(sk) => {
                let key = ExpandedSigningKey::<P>::from_expanded_bytes(sk).map_err(key_reason)?;
                key.write_public_key(&mut pk);
                Ok(pair(pk, sk))
            }
        }
    }

    fn sign(
        &self,
        key: PrivateKey<'_>,
        message: Message<'_>,
        rnd: Option<&[u8; 32]>,
    ) -> Result<Vec<u8>, Reason> {
        match key {
            PrivateKey::Seed(xi) => {
                sign_lowmem::<P, _, T>(&SigningKey::from_seed(seed(xi)?), message, rnd)
            }
            PrivateKey::Expanded(sk) => {
                let key = ExpandedSigningKey::<P>::from_expanded_bytes(sk).map_err(key_reason)?;
                sign_lowmem::<P, _, T>(&key, message, rnd)
            }
        }
    }

    fn mu(&self, pk: &[u8], message: Message<'_>) -> Result<[u8; 64], Reason> {
        let key = VerifyingKey::<P>::from_bytes(pk).map_err(key_reason)?;
        mu_of::<P>(Backend::PORTABLE, &key.tr(), message).map(|mu| *mu.as_bytes())
    }
}

fn sign_lowmem<P: ParameterSet, K: LowmemKey<P>, T: Tier<P>>(
    key: &K,
    message: Message<'_>,
    rnd: Option<&[u8; 32]>,
) -> Result<Vec<u8>, Reason> {
    let mut workspace = Workspace::<P, T>::new();
    let mut signature = vec![0; P::SIG_LEN];
    let mut signer = MlDsaSigner::new(key, &mut workspace);
    let (hedge, out) = (hedge(rnd), &mut signature);
    match message {
        Message::Pure { ctx, msg } => signer.sign_into(msg, context(ctx)?, hedge, out),
        Message::PreHashed { ctx, hash, digest } => {
            signer.sign_prehashed_into(&prehashed(hash, digest)?, context(ctx)?, hedge, out)
        }
        other => {
            let mu = mu_of::<P>(Backend::PORTABLE, key.tr(), other)?;
            signer.sign_mu_into(&mu, hedge, out)
        }
    }
    .map_err(|_| Reason::Other)?;
    Ok(signature)
}
