//! Network messages and signed bytes.

use arc_malachitebft_core_consensus::{ConsensusMsg, LivenessMsg, SignedConsensusMsg};
use arc_malachitebft_core_types::{NilOrVal, Round, VoteType};
use mldsa_core::ParameterSet;

use crate::chain::{Address, Chain, Height, Proposal, Value, Vote};
use crate::scheme::Signature;

/// Network message.
#[derive(Clone, Debug)]
pub(crate) enum Message<P: ParameterSet> {
    /// Vote or proposal.
    Consensus(SignedConsensusMsg<Chain<P>>),
    /// Repeated vote, or certificate.
    Liveness(LivenessMsg<Chain<P>>),
}

/// Claimed signer, signed bytes and signature.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) by: Address,
    /// Height; also part of the bytes.
    pub(crate) height: Height,
    pub(crate) bytes: Vec<u8>,
    pub(crate) signature: Signature,
}

impl Signed {
    pub(crate) fn new(by: Address, height: Height, bytes: Vec<u8>, signature: &Signature) -> Self {
        Self {
            by,
            height,
            bytes,
            signature: signature.clone(),
        }
    }
}

impl<P: ParameterSet> Message<P> {
    /// Returns the signature of a vote or proposal; `None` for a certificate, which the engine verifies as a whole.
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

    /// Height of the message.
    pub(crate) fn height(&self) -> Height {
        match self {
            Self::Consensus(message) => message.height(),
            Self::Liveness(LivenessMsg::Vote(vote)) => vote.message.height,
            Self::Liveness(LivenessMsg::PolkaCertificate(certificate)) => certificate.height,
            Self::Liveness(LivenessMsg::SkipRoundCertificate(certificate)) => certificate.height,
        }
    }
}

/// Signature that the engine passes for verification.
pub(crate) fn of_consensus<P: ParameterSet>(
    message: &ConsensusMsg<Chain<P>>,
    signature: &Signature,
) -> Signed {
    match message {
        ConsensusMsg::Vote(vote) => of_vote(vote, signature),
        ConsensusMsg::Proposal(proposal) => of_proposal(proposal, signature),
    }
}

fn of_vote(vote: &Vote, signature: &Signature) -> Signed {
    let bytes = vote_bytes(vote.kind, vote.height, vote.round, vote.value);
    Signed::new(vote.by, vote.height, bytes, signature)
}

fn of_proposal(proposal: &Proposal, signature: &Signature) -> Signed {
    let bytes = proposal_bytes(proposal);
    Signed::new(proposal.by, proposal.height, bytes, signature)
}

/// Signed bytes of a vote. They do not contain the voter, because ML-DSA signatures are bound to
/// the key; so all votes for one value have one message.
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

/// Signed bytes of a proposal. The first byte differs from that of every vote.
pub(crate) fn proposal_bytes(proposal: &Proposal) -> Vec<u8> {
    let mut bytes = vec![3];
    bytes.extend(proposal.height.0.to_le_bytes());
    bytes.extend(proposal.round.as_i64().to_le_bytes());
    bytes.extend(proposal.value.0.to_le_bytes());
    bytes.extend(proposal.pol_round.as_i64().to_le_bytes());
    bytes
}
