//! `BatchVerifier` as an implementation of the suite traits.

use core::marker::PhantomData;

use batch_verify::{
    BatchVerifier, Duplicates, Item, KeyPolicy, KeySet, Outcome, Reason, Signer, SignerId, Threads,
};
use mldsa_core::{Backend, ParameterSet, PreHash};
use mldsa_kat::scheme::{Message, Refusal, Verifier};
use mldsa_kat::set::Set;

use super::{context, mu_of, name, verifying_key};

/// `BatchVerifier`, the item three times in one batch.
pub(super) struct Batch<P>(
    pub(super) Backend,
    pub(super) BatchKeys,
    pub(super) PhantomData<P>,
);

/// The source of the keys of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) enum BatchKeys {
    Policy(KeyPolicy),
    InItem,
}

impl<P: ParameterSet> Verifier for Batch<P> {
    fn name(&self) -> String {
        name::<P>(&format!("batch {:?}", self.1), self.0)
    }

    fn set(&self) -> &'static Set {
        Set::named(P::NAME)
    }

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Refusal> {
        let mut builder = BatchVerifier::<P>::builder()
            .threads(Threads::Inline)
            .duplicates(Duplicates::Verify)
            .allow_weak_prehash(true)
            .backend(self.0);
        let signer = match self.1 {
            BatchKeys::InItem => Signer::Key(pk),
            BatchKeys::Policy(policy) => {
                let keys = KeySet::builder().policy(policy).backend(self.0).build([pk]);
                builder = builder.keys(keys.map_err(|_| Refusal::KeyLength)?);
                Signer::Id(SignerId::new(0))
            }
        };
        let verifier = builder.build().map_err(|_| Refusal::Other)?;
        let mu;
        let (message, ctx) = match message {
            Message::Pure { ctx, msg } => (batch_verify::Message::Bytes(msg), ctx),
            Message::PreHashed { ctx, hash, digest } => {
                let hash = PreHash::from_name(hash.name).ok_or(Refusal::Unsupported)?;
                (batch_verify::Message::PreHashed { hash, digest }, ctx)
            }
            other => {
                let key = verifying_key::<P>(self.0, pk)?;
                mu = mu_of::<P>(self.0, key.tr(), other)?;
                (batch_verify::Message::Mu(&mu), &[][..])
            }
        };
        let ctx = context(ctx).or_else(|refusal| {
            // The other forms name a key of a wrong length first.
            verifying_key::<P>(self.0, pk).and(Err(refusal))
        })?;
        let item = Item::new(signer, message, sig).with_context(ctx);
        let report = verifier.verify(&[item; 3]);
        let [first, second, third] = report.outcomes() else {
            return Err(Refusal::Other);
        };
        if first != second || second != third {
            return Err(Refusal::Other);
        }
        match first {
            Outcome::Valid => Ok(()),
            Outcome::Skipped => Err(Refusal::Other),
            Outcome::Invalid(reason) => Err(match reason {
                Reason::PublicKeyLength => Refusal::KeyLength,
                Reason::DigestLength => Refusal::Digest,
                Reason::SignatureLength => Refusal::SignatureLength,
                Reason::HintEncoding => Refusal::HintEncoding,
                Reason::ResponseNorm => Refusal::ResponseNorm,
                Reason::ChallengeMismatch => Refusal::ChallengeMismatch,
                _ => Refusal::Other,
            }),
        }
    }
}
