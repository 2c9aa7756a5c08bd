//! What validators send, and the bytes that they sign.

use arc_malachitebft_core_consensus::{ConsensusMsg, LivenessMsg, SignedConsensusMsg};
use arc_malachitebft_core_types::{NilOrVal, Round, VoteType};
use batch_verify::Item;
use harness::Kind;
use mldsa_core::ParameterSet;

use crate::chain::{Address, Chain, Height, Proposal, Value, Vote};
use crate::scheme::Signature;

/// What goes over the network.
#[derive(Clone, Debug)]
pub(crate) enum Message<P: ParameterSet> {
    /// A vote or proposal.
    Consensus(SignedConsensusMsg<Chain<P>>),
    /// A vote once more, or a certificate.
    Liveness(LivenessMsg<Chain<P>>),
}

/// What is said to have been signed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    /// By whom.
    pub(crate) by: Address,
    /// For which height; it is in the bytes, too.
    pub(crate) height: Height,
    /// The message.
    pub(crate) bytes: Vec<u8>,
}

/// One signature and what it is to be for.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) claim: Claim,
    pub(crate) signature: Signature,
}

impl Signed {
    pub(crate) fn new(by: Address, height: Height, bytes: Vec<u8>, signature: &Signature) -> Self {
        Self {
            claim: Claim { by, height, bytes },
            signature: signature.clone(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.claim.bytes.len() + self.signature.as_ref().len()
    }

    pub(crate) fn as_item(&self) -> Item<'_> {
        Item::new(
            self.claim.by.0,
            &self.claim.bytes[..],
            self.signature.as_ref(),
        )
    }

    pub(crate) fn as_vote(&self) -> batch_verify::Vote<'_> {
        batch_verify::Vote::new(self.claim.by.0, self.signature.as_ref())
    }
}

impl<P: ParameterSet> Message<P> {
    /// Vote or proposal; `None` for a certificate, which the engine asks about as a whole.
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Consensus(SignedConsensusMsg::Vote(_)) | Self::Liveness(LivenessMsg::Vote(_)) => {
                Some(Kind::Vote)
            }
            Self::Consensus(SignedConsensusMsg::Proposal(_)) => Some(Kind::Proposal),
            Self::Liveness(_) => None,
        }
    }

    /// What a vote or a proposal signs.
    pub(crate) fn signed(&self) -> Option<Signed> {
        match self {
            Self::Consensus(SignedConsensusMsg::Vote(vote))
            | Self::Liveness(LivenessMsg::Vote(vote)) => {
                Some(of_vote(&vote.message, &vote.signature))
            }
            Self::Consensus(SignedConsensusMsg::Proposal(proposal)) => {
                Some(of_proposal(&proposal.message, &proposal.signature))
            }
            Self::Liveness(_) => None,
        }
    }

    /// The height it is for.
    #[must_use]
    pub(crate) fn height(&self) -> Height {
        match self {
            Self::Consensus(message) => message.height(),
            Self::Liveness(LivenessMsg::Vote(vote)) => vote.message.height,
            Self::Liveness(LivenessMsg::PolkaCertificate(certificate)) => certificate.height,
            Self::Liveness(LivenessMsg::SkipRoundCertificate(certificate)) => certificate.height,
        }
    }
}

/// What the engine asks about.
#[must_use]
pub(crate) fn of_consensus<P: ParameterSet>(
    message: &ConsensusMsg<Chain<P>>,
    signature: &Signature,
) -> (Kind, Signed) {
    match message {
        ConsensusMsg::Vote(vote) => (Kind::Vote, of_vote(vote, signature)),
        ConsensusMsg::Proposal(proposal) => (Kind::Proposal, of_proposal(proposal, signature)),
    }
}

fn of_vote<P: ParameterSet>(vote: &Vote<P>, signature: &Signature) -> Signed {
    let bytes = vote_bytes(vote.kind, vote.height, vote.round, vote.value);
    Signed::new(vote.by, vote.height, bytes, signature)
}

fn of_proposal(proposal: &Proposal, signature: &Signature) -> Signed {
    let bytes = proposal_bytes(proposal);
    Signed::new(proposal.by, proposal.height, bytes, signature)
}

/// What a vote signs. The voter is not in it: ML-DSA hashes the key into everything it signs,
/// and so all votes for one value are one message, the subject of a quorum.
#[must_use]
pub(crate) fn vote_bytes(
    kind: VoteType,
    height: Height,
    round: Round,
    value: NilOrVal<Value>,
) -> Vec<u8> {
    let tag = match kind {
        VoteType::Prevote => 1,
        VoteType::Precommit => 2,
    };
    let mut bytes = vec![tag];
    bytes.extend(height.0.to_le_bytes());
    bytes.extend(round.as_i64().to_le_bytes());
    if let NilOrVal::Val(value) = value {
        bytes.extend(value.0.to_le_bytes());
    }
    bytes
}

/// What a proposal signs; no vote begins with the same byte.
#[must_use]
pub(crate) fn proposal_bytes(proposal: &Proposal) -> Vec<u8> {
    let mut bytes = vec![3];
    bytes.extend(proposal.height.0.to_le_bytes());
    bytes.extend(proposal.round.as_i64().to_le_bytes());
    bytes.extend(proposal.value.0.to_le_bytes());
    bytes.extend(proposal.pol_round.as_i64().to_le_bytes());
    bytes
}
