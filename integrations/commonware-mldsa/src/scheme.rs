//! The scheme that the engine is given.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use commonware_consensus::simplex::types::Subject;
use commonware_cryptography::{
    Digest,
    certificate::{
        self, AssemblyError, Attestation, Membership, Signers, Subject as _, Verification,
        verify_then_assemble,
    },
    ed25519::PublicKey as Identity,
};
use commonware_parallel::{Sequential, Strategy};
use commonware_utils::{
    N3f1, Participant,
    iter::NonEmpty,
    ordered::{Quorum as _, Set},
};
use mldsa_core::{ParameterSet, PreparedSigningKey, SigningKey};
use rand_core::CryptoRng;
use thiserror::Error;

use crate::{Certificate, Committee, Operation, Prepared, Signature, Vote, VoteBackend};

/// A signing key that belongs to nobody in the committee.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the signing key belongs to no member of the committee")]
pub struct NotAMember;

/// The scheme of one validator, or of an observer without a key, in one epoch.
pub struct Scheme<P: ParameterSet, V = Prepared> {
    committee: Arc<Committee<P>>,
    signer: Option<(Participant, Arc<PreparedSigningKey<P>>)>,
    backend: V,
}

impl<P: ParameterSet> Scheme<P> {
    /// The scheme of the member whose key this is.
    ///
    /// # Errors
    /// [`NotAMember`].
    pub fn signer(committee: Arc<Committee<P>>, key: &SigningKey<P>) -> Result<Self, NotAMember> {
        Self::observer(committee).with_key(key)
    }

    /// A scheme that verifies and signs nothing.
    #[must_use]
    pub fn observer(committee: Arc<Committee<P>>) -> Self {
        Self {
            committee,
            signer: None,
            backend: Prepared,
        }
    }
}

impl<P: ParameterSet, V> Scheme<P, V> {
    /// The same scheme with the key of a member.
    ///
    /// # Errors
    /// [`NotAMember`].
    pub fn with_key(self, key: &SigningKey<P>) -> Result<Self, NotAMember> {
        let public = key.verifying_key().as_ref();
        let signer = self.committee.keys().signer_of(public).ok_or(NotAMember)?;
        let signer = (Participant::new(signer.index()), Arc::new(key.prepare()));
        Ok(Self {
            signer: Some(signer),
            ..self
        })
    }

    /// The same scheme, signing and verifying another way.
    #[must_use]
    pub fn with_backend<W: VoteBackend<P>>(self, backend: W) -> Scheme<P, W> {
        Scheme {
            committee: self.committee,
            signer: self.signer,
            backend,
        }
    }

    /// Whose votes it verifies.
    #[must_use]
    pub fn committee(&self) -> &Arc<Committee<P>> {
        &self.committee
    }
}

impl<P: ParameterSet, V: VoteBackend<P>> Scheme<P, V> {
    /// One verdict a certificate, all of them one batch.
    fn judge<D: Digest>(
        &self,
        certificates: &[(Subject<'_, D>, &Certificate<P>)],
        strategy: &impl Strategy,
    ) -> Vec<bool> {
        self.backend.instrument(Operation::VerifyCertificates, || {
            let messages: Vec<Bytes> = certificates.iter().map(|(s, _)| s.message()).collect();
            let mut votes = Vec::new();
            let mut places = Vec::with_capacity(certificates.len());
            for ((subject, certificate), message) in certificates.iter().zip(&messages) {
                let start = votes.len();
                let sound = self.list(subject, message, certificate, &mut votes);
                places.push(sound.map(|()| start..votes.len()));
            }
            let backend = &self.backend;
            let verdicts = backend.verify(
                &self.committee,
                Operation::VerifyCertificates,
                &votes,
                strategy,
            );
            let valid = |votes: &[bool]| votes.iter().all(|valid| *valid);
            let verdict = |place: Option<_>| place.and_then(|place| verdicts.get(place).map(valid));
            let places = places.into_iter();
            places
                .map(|place| verdict(place).unwrap_or(false))
                .collect()
        })
    }

    /// Adds the votes of a certificate to `votes`; `None`, and none of them, if they are not
    /// those of a quorum of this committee.
    fn list<'a, D: Digest>(
        &'a self,
        subject: &Subject<'_, D>,
        message: &'a [u8],
        certificate: &'a Certificate<P>,
        votes: &mut Vec<Vote<'a>>,
    ) -> Option<()> {
        let Certificate {
            signers,
            signatures,
        } = certificate;
        let participants = self.committee.participants();
        let quorum = usize::try_from(participants.quorum::<N3f1>()).ok()?;
        if signers.len() != participants.len()
            || signers.count() != signatures.len()
            || signatures.len() < quorum
            || signatures.iter().any(|signature| signature.get().is_none())
        {
            return None;
        }
        let context = self.committee.context(subject);
        votes.extend(signers.iter().zip(signatures).map(|(signer, signature)| {
            let signature = signature.get().map_or(&[][..], AsRef::as_ref);
            Vote {
                signer,
                context,
                message,
                signature,
            }
        }));
        Some(())
    }

    /// The attestation as a vote on what `message` encodes.
    fn vote<'a, D: Digest>(
        &'a self,
        subject: &Subject<'_, D>,
        message: &'a [u8],
        attestation: &'a Attestation<Self>,
    ) -> Vote<'a> {
        Vote {
            signer: attestation.signer,
            context: self.committee.context(subject),
            message,
            signature: attestation.signature.get().map_or(&[], AsRef::as_ref),
        }
    }
}

impl<P: ParameterSet, V: VoteBackend<P>> certificate::Verifier for Scheme<P, V> {
    type Subject<'a, D: Digest> = Subject<'a, D>;
    type Faults = N3f1;
    type PublicKey = Identity;
    type Certificate = Certificate<P>;

    fn verify_certificate<R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        certificate: &Certificate<P>,
        strategy: &impl Strategy,
    ) -> bool {
        self.judge(&[(subject, certificate)], strategy) == [true]
    }

    fn verify_certificates<'a, R, D, I>(
        &self,
        _: &mut R,
        certificates: NonEmpty<I>,
        strategy: &impl Strategy,
    ) -> bool
    where
        R: CryptoRng,
        D: Digest,
        I: Iterator<Item = (Subject<'a, D>, &'a Certificate<P>)>,
    {
        let certificates: Vec<_> = certificates.into_iter().collect();
        let mut verdicts = self.judge(&certificates, strategy).into_iter();
        verdicts.all(|valid| valid)
    }

    /// No halving: each vote has its own verdict already.
    fn verify_certificates_bisect<'a, R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        certificates: &[(Subject<'a, D>, &'a Certificate<P>)],
        strategy: &impl Strategy,
    ) -> Vec<bool>
    where
        Subject<'a, D>: Copy,
    {
        self.judge(certificates, strategy)
    }

    fn is_batchable() -> bool {
        true
    }

    fn max_certificate_size(participants: u32) -> usize {
        Certificate::<P>::max_size(participants)
    }

    fn certificate_codec_config(&self) -> usize {
        self.committee.participants().len()
    }

    fn certificate_codec_config_unbounded() -> usize {
        u32::MAX as usize
    }
}

impl<P: ParameterSet, V: VoteBackend<P>> certificate::Scheme for Scheme<P, V> {
    type Signature = Signature<P>;

    fn me(&self) -> Option<Membership> {
        self.signer.as_ref().map(|(me, _)| Membership::Signer(*me))
    }

    fn participants(&self) -> &Set<Identity> {
        self.committee.participants()
    }

    /// Deterministic, and verified before it leaves: the crate's documentation says why.
    fn sign<D: Digest>(&self, subject: Subject<'_, D>) -> Option<Attestation<Self>> {
        let (signer, key) = self.signer.as_ref()?;
        let (context, message) = (self.committee.context(&subject), subject.message());
        let signature = self.backend.instrument(Operation::Sign, || {
            let signature = self.backend.sign(key, context, &message)?;
            let vote = Vote {
                signer: *signer,
                context,
                message: &message,
                signature: signature.as_ref(),
            };
            let (committee, backend) = (&self.committee, &self.backend);
            let sound = backend.verify(committee, Operation::Sign, &[vote], &Sequential);
            (sound == [true]).then_some(signature)
        })?;
        Some(Attestation {
            signer: *signer,
            signature: signature.into(),
        })
    }

    fn verify_attestation<R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        attestation: &Attestation<Self>,
        strategy: &impl Strategy,
    ) -> bool {
        self.backend.instrument(Operation::VerifyVotes, || {
            let message = subject.message();
            let vote = self.vote(&subject, &message, attestation);
            let backend = &self.backend;
            backend.verify(&self.committee, Operation::VerifyVotes, &[vote], strategy) == [true]
        })
    }

    fn verify_attestations<R, D, I>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        attestations: I,
        strategy: &impl Strategy,
    ) -> Verification<Self>
    where
        R: CryptoRng,
        D: Digest,
        I: IntoIterator<Item = Attestation<Self>>,
        I::IntoIter: Send,
    {
        self.backend.instrument(Operation::VerifyVotes, || {
            let message = subject.message();
            let attestations: Vec<_> = attestations.into_iter().collect();
            let votes: Vec<Vote<'_>> = attestations
                .iter()
                .map(|attestation| self.vote(&subject, &message, attestation))
                .collect();
            let backend = &self.backend;
            let verdicts =
                backend.verify(&self.committee, Operation::VerifyVotes, &votes, strategy);
            drop(votes);
            if verdicts.iter().all(|valid| *valid) {
                return Verification::new(attestations, Vec::new());
            }
            let (mut verified, mut invalid) = (Vec::new(), Vec::new());
            for (attestation, valid) in attestations.into_iter().zip(verdicts) {
                if valid {
                    verified.push(attestation);
                } else {
                    invalid.push(attestation.signer);
                }
            }
            Verification::new(verified, invalid)
        })
    }

    fn optimistic_assemble<'a, R, D, I, J>(
        &self,
        rng: &mut R,
        subject: Subject<'_, D>,
        pending: I,
        verified: J,
        strategy: &impl Strategy,
    ) -> Result<Certificate<P>, Verification<Self>>
    where
        R: CryptoRng,
        D: Digest,
        I: IntoIterator<Item = Attestation<Self>>,
        I::IntoIter: ExactSizeIterator + Send,
        J: IntoIterator<Item = &'a Attestation<Self>>,
        J::IntoIter: Send,
    {
        // A batch has verdicts for each vote: assembling first would verify twice on failure.
        verify_then_assemble::<Self, _, D, _, _>(self, rng, subject, pending, verified, strategy)
    }

    fn assemble<I>(
        &self,
        attestations: NonEmpty<I>,
        _: &impl Strategy,
    ) -> Result<Certificate<P>, AssemblyError>
    where
        I: Iterator<Item = Attestation<Self>> + Send,
    {
        let mut attestations: Vec<_> = attestations.into_iter().collect();
        attestations.sort_by_key(|attestation| attestation.signer);
        let participants = self.committee.participants();
        let chosen = attestations.iter().map(|attestation| attestation.signer);
        let signers = Signers::try_from((participants, chosen))?;
        let malformed = |attestation: &&Attestation<Self>| attestation.signature.get().is_none();
        if let Some(attestation) = attestations.iter().find(malformed) {
            return Err(AssemblyError::MalformedSignature(attestation.signer));
        }
        let quorum = participants.quorum::<N3f1>();
        match u32::try_from(signers.count()) {
            Ok(found) if found < quorum => {
                Err(AssemblyError::InsufficientAttestations(quorum, found))
            }
            _ => Ok(Certificate {
                signers,
                signatures: attestations.into_iter().map(|a| a.signature).collect(),
            }),
        }
    }

    fn is_attributable() -> bool {
        true
    }
}

impl<P: ParameterSet, V: Clone> Clone for Scheme<P, V> {
    fn clone(&self) -> Self {
        Self {
            committee: self.committee.clone(),
            signer: self.signer.clone(),
            backend: self.backend.clone(),
        }
    }
}

impl<P: ParameterSet, V> fmt::Debug for Scheme<P, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signer = self.signer.as_ref().map(|(me, _)| me);
        write!(f, "Scheme({:?}, {signer:?})", self.committee)
    }
}
