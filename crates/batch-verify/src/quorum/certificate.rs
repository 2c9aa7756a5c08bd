//! Certificates: the votes of a quorum in canonical bytes.

use core::fmt;
use core::marker::PhantomData;

use mldsa_core::ParameterSet;

use super::{QuorumError, QuorumReport, QuorumRule};
use crate::{Committee, CommitteeVerifier, MemberId, Message};

/// The signatures of a quorum over one message, to be stored or sent: epoch, digest of the
/// committee, and for each signer its index and signature. The message is not part of it.
///
/// The encoding is canonical, so that equal certificates have equal bytes: epoch (8 bytes), digest
/// (32), number of signers (4), their indices in ascending order (4 each), their signatures
/// (`P::SIG_LEN` each). Integers are little-endian.
///
/// A value is well formed, and nothing more is known about it before [`verify`](Self::verify).
///
/// ```
/// use batch_verify::{Certificate, Committee, Context, MlDsa44, Randomness, SigningKey};
///
/// let keys: Vec<_> = (0..4).map(|i| SigningKey::<MlDsa44>::from_seed(&[i; 32])).collect();
/// let context = Context::new(b"mychain/v1/vote")?;
/// let members = keys.iter().map(|key| (key.verifying_key(), 1));
/// let committee = Committee::<MlDsa44>::builder(context).epoch(7).build(members)?;
/// let sign = |key: &SigningKey<_>| {
///     key.sign_with_context(b"block 9", context, Randomness::Deterministic)
/// };
/// let signatures: Result<Vec<_>, _> = keys.iter().map(sign).collect();
///
/// let votes = committee.members().zip(signatures?).take(3);
/// let bytes = Certificate::new(&committee, votes)?.to_bytes();
///
/// // Elsewhere, with the committee of that epoch.
/// let received = Certificate::<MlDsa44>::from_bytes(&bytes)?;
/// assert_eq!(received.epoch(), 7);
/// assert_eq!(received.verify(&committee.verifier(), b"block 9")?.weight(), 3);
/// assert!(received.verify(&committee.verifier(), b"block 8").is_err());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Certificate<P: ParameterSet> {
    epoch: u64,
    committee: [u8; 32],
    /// Ascending.
    indices: Vec<u32>,
    /// One for each index.
    signatures: Vec<u8>,
    set: PhantomData<fn() -> P>,
}

/// Bytes before the indices.
const HEAD: usize = 8 + 32 + 4;

/// Reason why there is no certificate, or why it is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateError {
    /// The bytes are not the encoding of a certificate.
    Encoding,
    /// A signature does not have `P::SIG_LEN` bytes.
    SignatureLength,
    /// The certificate, or one of its votes, is of another committee.
    OtherCommittee,
    /// A member has two votes.
    Duplicate,
    /// The votes are no quorum.
    Quorum(QuorumError),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encoding => "the bytes are no certificate",
            Self::SignatureLength => "a signature of the certificate has the wrong length",
            Self::OtherCommittee => "the certificate is of another committee",
            Self::Duplicate => "a member has two votes in the certificate",
            Self::Quorum(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for CertificateError {}

impl<P: ParameterSet> Certificate<P> {
    /// Makes a certificate of votes, pairs of member and signature, without verifying them. After
    /// a count under [`QuorumRule::AnyValid`], pass the votes that
    /// [`carried_by`](QuorumReport::carried_by) names.
    ///
    /// # Errors
    /// [`CertificateError::OtherCommittee`], [`CertificateError::SignatureLength`],
    /// [`CertificateError::Duplicate`].
    pub fn new<S: AsRef<[u8]>>(
        committee: &Committee<P>,
        votes: impl IntoIterator<Item = (MemberId, S)>,
    ) -> Result<Self, CertificateError> {
        let mut votes: Vec<(MemberId, S)> = votes.into_iter().collect();
        votes.sort_by_key(|(member, _)| member.index());
        let (mut indices, mut signatures) = (Vec::new(), Vec::new());
        for (member, signature) in &votes {
            if !committee.contains(*member) {
                return Err(CertificateError::OtherCommittee);
            }
            if signature.as_ref().len() != P::SIG_LEN {
                return Err(CertificateError::SignatureLength);
            }
            if indices.last() == Some(&member.index()) {
                return Err(CertificateError::Duplicate);
            }
            indices.push(member.index());
            signatures.extend_from_slice(signature.as_ref());
        }
        Ok(Self {
            epoch: committee.epoch(),
            committee: committee.digest(),
            indices,
            signatures,
            set: PhantomData,
        })
    }

    /// Decodes a certificate. Takes memory for the signers that are there, not for those that the
    /// bytes announce.
    ///
    /// # Errors
    /// [`CertificateError::Encoding`] for everything that [`to_bytes`](Self::to_bytes) does not
    /// write: a wrong length, indices that do not ascend.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CertificateError> {
        let decoded = || {
            let (epoch, rest) = bytes.split_first_chunk()?;
            let (committee, rest) = rest.split_first_chunk()?;
            let (count, rest) = rest.split_first_chunk()?;
            let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
            let of_indices = count.checked_mul(4)?;
            let (indices, signatures) = rest.split_at_checked(of_indices)?;
            if signatures.len() != count.checked_mul(P::SIG_LEN)? {
                return None;
            }
            let (indices, _) = indices.as_chunks();
            let indices: Vec<u32> = indices
                .iter()
                .map(|index| u32::from_le_bytes(*index))
                .collect();
            indices.is_sorted_by(|one, next| one < next).then(|| Self {
                epoch: u64::from_le_bytes(*epoch),
                committee: *committee,
                indices,
                signatures: signatures.to_vec(),
                set: PhantomData,
            })
        };
        decoded().ok_or(CertificateError::Encoding)
    }

    /// Returns the encoding.
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.indices.len();
        let mut bytes = Vec::with_capacity(Self::encoded_len(count));
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&self.committee);
        // Indices are below 2^31.
        bytes.extend_from_slice(&(count as u32).to_le_bytes());
        for index in &self.indices {
            bytes.extend_from_slice(&index.to_le_bytes());
        }
        bytes.extend_from_slice(&self.signatures);
        bytes
    }

    /// Returns the length in bytes of a certificate of so many signers. With
    /// [`Committee::len`], the most that a node has to read.
    pub const fn encoded_len(signers: usize) -> usize {
        HEAD.saturating_add(signers.saturating_mul(4 + P::SIG_LEN))
    }

    /// Returns the epoch whose committee verifies the certificate.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns [`Committee::digest`] of that committee.
    pub fn committee_digest(&self) -> [u8; 32] {
        self.committee
    }

    /// Returns the number of signers.
    pub fn signers(&self) -> usize {
        self.indices.len()
    }

    /// Returns the votes, as [`VerificationService::verify_quorum`] takes them.
    ///
    /// [`VerificationService::verify_quorum`]: crate::VerificationService::verify_quorum
    ///
    /// # Errors
    /// [`CertificateError::OtherCommittee`].
    pub fn votes(
        &self,
        committee: &Committee<P>,
    ) -> Result<Vec<(MemberId, &[u8])>, CertificateError> {
        if committee.digest() != self.committee || committee.epoch() != self.epoch {
            return Err(CertificateError::OtherCommittee);
        }
        let signatures = self.signatures.chunks_exact(P::SIG_LEN);
        let votes = self
            .indices
            .iter()
            .zip(signatures)
            .map(|(&index, signature)| {
                let member = committee.member(index);
                Ok((member.ok_or(CertificateError::OtherCommittee)?, signature))
            });
        votes.collect()
    }

    /// Verifies that every signature is valid for `message` and that they reach the threshold
    /// of the verifier ([`QuorumRule::Certificate`]): that of its committee, unless
    /// [`with_threshold`](CommitteeVerifier::with_threshold) has changed it.
    ///
    /// # Errors
    /// [`CertificateError::OtherCommittee`], [`CertificateError::Quorum`].
    pub fn verify<'a>(
        &'a self,
        verifier: &CommitteeVerifier<P>,
        message: impl Into<Message<'a>>,
    ) -> Result<QuorumReport, CertificateError> {
        let votes = self.votes(verifier.committee())?;
        let answer = verifier.verify_quorum(message, &votes, QuorumRule::Certificate);
        answer.map_err(CertificateError::Quorum)
    }
}

impl<P: ParameterSet> fmt::Debug for Certificate<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("set", &P::NAME)
            .field("epoch", &self.epoch)
            .field("indices", &self.indices)
            .finish_non_exhaustive()
    }
}
