//! What validators send, and the bytes that they sign.

use arc_malachitebft_core_consensus::{ConsensusMsg, LivenessMsg, SignedConsensusMsg};
use arc_malachitebft_core_types::{NilOrVal, Round, VoteType};
use measure::Kind;
use mldsa_core::ParameterSet;

use crate::chain::{Address, Chain, Height, Proposal, Value, Vote};
use crate::scheme::Signature;

/// What goes over the network.
#[derive(Clone, Debug)]
pub enum Message<P: ParameterSet> {
    /// A vote or proposal.
    Consensus(SignedConsensusMsg<Chain<P>>),
    /// A vote once more, or a certificate.
    Liveness(LivenessMsg<Chain<P>>),
}

/// One signature and what it is to be for.
#[derive(Clone, Debug)]
pub struct Signed {
    /// Who is said to have signed.
    pub by: Address,
    /// What was signed.
    pub bytes: Vec<u8>,
    /// The signature.
    pub signature: Signature,
}

impl<P: ParameterSet> Message<P> {
    /// What a vote or a proposal signs; `None` for a certificate, which the engine asks about as
    /// a whole.
    #[must_use]
    pub fn signed(&self) -> Option<(Kind, Signed)> {
        match self {
            Self::Consensus(SignedConsensusMsg::Vote(vote))
            | Self::Liveness(LivenessMsg::Vote(vote)) => {
                Some((Kind::Vote, of_vote(&vote.message, &vote.signature)))
            }
            Self::Consensus(SignedConsensusMsg::Proposal(proposal)) => {
                let signed = of_proposal(&proposal.message, &proposal.signature);
                Some((Kind::Proposal, signed))
            }
            Self::Liveness(_) => None,
        }
    }

    /// The height it is for.
    #[must_use]
    pub fn height(&self) -> Height {
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
    Signed {
        by: vote.by,
        bytes: vote_bytes(vote.kind, vote.height, vote.round, vote.value),
        signature: signature.clone(),
    }
}

fn of_proposal(proposal: &Proposal, signature: &Signature) -> Signed {
    Signed {
        by: proposal.by,
        bytes: proposal_bytes(proposal),
        signature: signature.clone(),
    }
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
