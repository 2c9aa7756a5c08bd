//! Signing scheme for the engine.

use std::fmt;
use std::ops::Range;
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
use commonware_parallel::Strategy;
use commonware_utils::{
    N3f1, Participant,
    iter::NonEmpty,
    ordered::{Quorum as _, Set},
};
use mldsa_core::{Context, ParameterSet, PreparedSigningKey, Randomness, SigningKey};
use rand_core::CryptoRng;
use thiserror::Error;

use crate::validators::Vote;
use crate::{Certificate, Signature, Validators};

/// The signing key belongs to no member of the committee.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the signing key belongs to no member of the committee")]
pub struct NotAMember;

/// Scheme of one validator, or of an observer without a key, in one epoch.
#[derive(Clone)]
pub struct Scheme<P: ParameterSet> {
    validators: Arc<Validators<P>>,
    signer: Option<(Participant, Arc<PreparedSigningKey<P>>)>,
}

impl<P: ParameterSet> Scheme<P> {
    /// Scheme of the member with this key.
    ///
    /// # Errors
    /// [`NotAMember`].
    pub fn signer(validators: Arc<Validators<P>>, key: &SigningKey<P>) -> Result<Self, NotAMember> {
        let public = key.verifying_key().as_ref();
        let member = validators.member_of(public).ok_or(NotAMember)?;
        let signer = (Participant::new(member.index()), Arc::new(key.prepare()));
        Ok(Self {
            validators,
            signer: Some(signer),
        })
    }

    /// Returns a scheme that verifies and does not sign.
    #[must_use]
    pub fn observer(validators: Arc<Validators<P>>) -> Self {
        Self {
            validators,
            signer: None,
        }
    }

    /// Validators whose votes the scheme verifies.
    #[must_use]
    pub fn validators(&self) -> &Arc<Validators<P>> {
        &self.validators
    }

    /// Verifies all certificates in one batch and returns one verdict per certificate.
    fn verify_all<D: Digest>(
        &self,
        certificates: &[(Subject<'_, D>, &Certificate<P>)],
        strategy: &impl Strategy,
    ) -> Vec<bool> {
        let messages: Vec<Bytes> = certificates.iter().map(|(s, _)| s.message()).collect();
        let mut votes = Vec::new();
        let mut ranges = Vec::with_capacity(certificates.len());
        for ((subject, certificate), message) in certificates.iter().zip(&messages) {
            let start = votes.len();
            let listed = self.list(subject, message, certificate, &mut votes);
            ranges.push(listed.map(|()| start..votes.len()));
        }
        let verdicts = self.validators.verify(&votes, strategy);
        let valid = |range: Option<Range<usize>>| {
            let verdicts = range.and_then(|range| verdicts.get(range));
            verdicts.is_some_and(|verdicts| verdicts.iter().all(|valid| *valid))
        };
        ranges.into_iter().map(valid).collect()
    }

    /// Appends the votes of a certificate to `votes`. `None`, without appending any, if they are
    /// not a quorum of the validators.
    fn list<'a, D: Digest>(
        &'a self,
        subject: &Subject<'_, D>,
        message: &'a [u8],
        certificate: &'a Certificate<P>,
        votes: &mut Vec<Vote<'a, P>>,
    ) -> Option<()> {
        let Certificate {
            signers,
            signatures,
        } = certificate;
        let participants = self.validators.participants();
        let quorum = usize::try_from(participants.quorum::<N3f1>()).ok()?;
        if signers.len() != participants.len()
            || signers.count() != signatures.len()
            || signatures.len() < quorum
            || signatures.iter().any(|signature| signature.get().is_none())
        {
            return None;
        }
        let committee = self.validators.committee(subject);
        votes.extend(signers.iter().zip(signatures).map(|(signer, signature)| {
            let signature = signature.get().map_or(&[][..], AsRef::as_ref);
            Vote {
                committee,
                signer,
                message,
                signature,
            }
        }));
        Some(())
    }

    /// The attestation as a vote for `message`.
    fn vote<'a, D: Digest>(
        &'a self,
        subject: &Subject<'_, D>,
        message: &'a [u8],
        attestation: &'a Attestation<Self>,
    ) -> Vote<'a, P> {
        Vote {
            committee: self.validators.committee(subject),
            signer: attestation.signer,
            message,
            signature: attestation.signature.get().map_or(&[], AsRef::as_ref),
        }
    }
}

impl<P: ParameterSet> certificate::Verifier for Scheme<P> {
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
        self.verify_all(&[(subject, certificate)], strategy) == [true]
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
        let mut verdicts = self.verify_all(&certificates, strategy).into_iter();
        verdicts.all(|valid| valid)
    }

    /// Without bisection, because each vote has its own verdict.
    fn verify_certificates_bisect<'a, R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        certificates: &[(Subject<'a, D>, &'a Certificate<P>)],
        strategy: &impl Strategy,
    ) -> Vec<bool>
    where
        Subject<'a, D>: Copy,
    {
        self.verify_all(certificates, strategy)
    }

    fn is_batchable() -> bool {
        true
    }

    fn max_certificate_size(participants: u32) -> usize {
        Certificate::<P>::max_size(participants)
    }

    fn certificate_codec_config(&self) -> usize {
        self.validators.participants().len()
    }

    fn certificate_codec_config_unbounded() -> usize {
        u32::MAX as usize
    }
}

impl<P: ParameterSet> certificate::Scheme for Scheme<P> {
    type Signature = Signature<P>;

    fn me(&self) -> Option<Membership> {
        self.signer.as_ref().map(|(me, _)| Membership::Signer(*me))
    }

    fn participants(&self) -> &Set<Identity> {
        self.validators.participants()
    }

    /// Signs deterministically; see the crate documentation.
    fn sign<D: Digest>(&self, subject: Subject<'_, D>) -> Option<Attestation<Self>> {
        let (signer, key) = self.signer.as_ref()?;
        let context = Context::new(self.validators.committee(&subject).context()).ok()?;
        let signature =
            key.sign_with_context(&subject.message(), context, Randomness::Deterministic);
        Some(Attestation {
            signer: *signer,
            signature: Signature::from(signature.ok()?).into(),
        })
    }

    fn verify_attestation<R: CryptoRng, D: Digest>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        attestation: &Attestation<Self>,
        _: &impl Strategy,
    ) -> bool {
        let message = subject.message();
        self.vote(&subject, &message, attestation).is_valid()
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
        let message = subject.message();
        let attestations: Vec<_> = attestations.into_iter().collect();
        let votes = attestations.iter();
        let votes: Vec<_> = votes.map(|a| self.vote(&subject, &message, a)).collect();
        let verdicts = self.validators.verify(&votes, strategy);
        let (mut verified, mut invalid) = (Vec::new(), Vec::new());
        for (attestation, valid) in attestations.into_iter().zip(verdicts) {
            if valid {
                verified.push(attestation);
            } else {
                invalid.push(attestation.signer);
            }
        }
        Verification::new(verified, invalid)
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
        // A batch has one verdict per vote; assembling first would verify twice after a failure.
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
        let participants = self.validators.participants();
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

impl<P: ParameterSet> fmt::Debug for Scheme<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signer = self.signer.as_ref().map(|(me, _)| me);
        write!(f, "Scheme({:?}, {signer:?})", self.validators)
    }
}
