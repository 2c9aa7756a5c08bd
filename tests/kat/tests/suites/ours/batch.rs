//! `BatchVerifier` as an implementation of the suite traits.

use core::marker::PhantomData;

use batch_verify::{
    BatchVerifier, Committee, CommitteeVerifier, Item, KeyStorage, RejectReason, Threads, Vote,
};
use mldsa_core::{Backend, ParameterSet, PreHash};
use mldsa_kat::scheme::{Message, Reason, Verifier};
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
    /// A committee; message representatives are verified with the key in the item.
    Committee(KeyStorage),
    InItem,
}

impl<P: ParameterSet> Verifier for Batch<P> {
    named!(self => name::<P>(&format!("batch {:?}", self.1), self.0));

    fn verify(&self, pk: &[u8], message: Message<'_>, sig: &[u8]) -> Result<(), Reason> {
        let (message, ctx) = match message {
            Message::Pure { ctx, msg } => (Ok(batch_verify::Message::Bytes(msg)), ctx),
            Message::PreHashed { ctx, hash, digest } => {
                let hash = hash
                    .name
                    .parse::<PreHash>()
                    .ok()
                    .ok_or(Reason::Unsupported)?;
                (Ok(batch_verify::Message::PreHashed { hash, digest }), ctx)
            }
            other => {
                let key = verifying_key::<P>(self.0, pk)?;
                (Err(mu_of::<P>(self.0, key.tr(), other)?), &[][..])
            }
        };
        let context = context(ctx).or_else(|reason| {
            // The other forms name a key of a wrong length first.
            verifying_key::<P>(self.0, pk).and(Err(reason))
        })?;
        let report = match (self.1, message) {
            (BatchKeys::Committee(storage), Ok(message)) => {
                let committee = Committee::<P>::builder(ctx)
                    .key_storage(storage)
                    .backend(self.0);
                let committee = committee.threads(Threads::Inline).build([(pk, 1)]);
                let committee = committee.map_err(|_| Reason::KeyLength)?;
                let member = committee.member(0).ok_or(Reason::Other)?;
                let verifier = CommitteeVerifier::builder()
                    .threads(Threads::Inline)
                    .allow_weak_prehash(true)
                    .build(committee)
                    .map_err(|_| Reason::Other)?;
                verifier.verify_batch([Vote::new(member, message, sig); 3])
            }
            (_, message) => {
                let verifier = BatchVerifier::<P>::builder()
                    .threads(Threads::Inline)
                    .allow_weak_prehash(true)
                    .backend(self.0)
                    .build()
                    .map_err(|_| Reason::Other)?;
                let item = match &message {
                    Ok(message) => Item::new(pk, *message, context, sig),
                    Err(mu) => Item::from_mu(pk, mu, sig),
                };
                verifier.verify_batch([item; 3])
            }
        };
        let [first, second, third] = report.verdicts() else {
            return Err(Reason::Other);
        };
        if first != second || second != third {
            return Err(Reason::Other);
        }
        match first {
            Ok(()) => Ok(()),
            Err(RejectReason::NotVerified) => Err(Reason::Other),
            Err(reason) => Err(match reason {
                RejectReason::PublicKeyLength => Reason::KeyLength,
                RejectReason::DigestLength => Reason::Digest,
                RejectReason::SignatureLength => Reason::SignatureLength,
                RejectReason::HintEncoding => Reason::HintEncoding,
                RejectReason::ResponseNorm => Reason::ResponseNorm,
                RejectReason::ChallengeMismatch => Reason::ChallengeMismatch,
                _ => Reason::Other,
            }),
        }
    }
}
