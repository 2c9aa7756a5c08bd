//! A validator that signs and sends anything.

use arc_malachitebft_core_types::{
    CommitSignature, NilOrVal, PolkaCertificate, PolkaSignature, RoundCertificate,
    RoundCertificateType, RoundSignature,
};
use mldsa_core::MlDsa44;

use super::*;
use crate::chain::{Height, Proposal};
use crate::message::{proposal_bytes, vote_bytes};
use crate::scheme::Signature;

type Chain44 = Chain<MlDsa44>;

/// A validator who signs and sends anything.
struct Hostile<'a> {
    signer: &'a Signer<MlDsa44>,
    state: u64,
}

impl Hostile<'_> {
    fn dice(&mut self, sides: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(11);
        (self.state >> 33) % sides
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.dice(all.len() as u64) as usize].clone()
    }

    fn round(&mut self) -> Round {
        let far = [7, 99, 100, 101, u32::MAX].map(Round::new);
        let near = [
            Round::Nil,
            Round::ZERO,
            Round::ZERO,
            Round::new(1),
            Round::new(2),
        ];
        let rounds = if self.dice(4) == 0 { far } else { near };
        self.one_of(&rounds)
    }

    fn height(&mut self, now: u64) -> Height {
        let all = [now, now, now, now + 1, now.saturating_sub(1), 0, u64::MAX];
        Height(self.one_of(&all))
    }

    /// Also what honest proposers propose.
    fn value(&mut self, height: Height) -> Value {
        let own = Value(height.0 << 32 | self.dice(4));
        self.one_of(&[own, own, Value(0), Value(u64::MAX)])
    }

    fn by(&mut self) -> Address {
        Address(self.one_of(&[3, 3, 3, 0, 1, 2, 4, u32::MAX]))
    }

    fn kind(&mut self) -> VoteType {
        self.one_of(&[VoteType::Prevote, VoteType::Precommit])
    }

    fn sign(&mut self, bytes: &[u8]) -> Signature {
        let signature = self.signer.sign(bytes);
        match self.dice(6) {
            0 => corrupted(signature.as_ref()),
            1 => Signature::from(&signature.as_ref()[..self.dice(100) as usize]),
            _ => signature,
        }
    }

    /// Who, what kind, for what, signed or not.
    fn votes(
        &mut self,
        height: Height,
        round: Round,
        kind: VoteType,
        value: NilOrVal<Value>,
    ) -> Vec<(Address, Signature)> {
        let bytes = vote_bytes(kind, height, round, value);
        let vote = |_| (self.by(), self.sign(&bytes));
        (0..5)
            .map(vote)
            .collect::<Vec<_>>()
            .split_off(self.dice(6) as usize)
    }

    fn message(&mut self, now: u64) -> Message<MlDsa44> {
        let (height, round) = (self.height(now), self.round());
        let (value, kind) = (self.value(height), self.kind());
        let value_id = self.one_of(&[NilOrVal::Nil, NilOrVal::Val(value)]);
        let cert_type = [RoundCertificateType::Skip, RoundCertificateType::Precommit];
        match self.dice(5) {
            0 | 1 => {
                let (chain, by) = (Chain44::default(), self.by());
                use arc_malachitebft_core_types::Context as _;
                let vote = match kind {
                    VoteType::Prevote => chain.new_prevote(height, round, value_id, by),
                    VoteType::Precommit => chain.new_precommit(height, round, value_id, by),
                };
                let signature = self.sign(&vote_bytes(kind, height, round, value_id));
                let vote = SignedMessage::new(vote, signature);
                match self.dice(2) {
                    0 => Message::Consensus(SignedConsensusMsg::Vote(vote)),
                    _ => Message::Liveness(LivenessMsg::Vote(vote)),
                }
            }
            2 => {
                let (pol_round, by) = (self.round(), self.by());
                let proposal = Proposal {
                    height,
                    round,
                    value,
                    pol_round,
                    by,
                };
                let signature = self.sign(&proposal_bytes(&proposal));
                let proposal = SignedMessage::new(proposal, signature);
                Message::Consensus(SignedConsensusMsg::Proposal(proposal))
            }
            3 => {
                let votes = self.votes(height, round, kind, NilOrVal::Val(value));
                let signed = |(address, signature)| PolkaSignature { address, signature };
                let polka_signatures = votes.into_iter().map(signed).collect();
                Message::Liveness(LivenessMsg::PolkaCertificate(PolkaCertificate {
                    height,
                    round,
                    value_id: value,
                    polka_signatures,
                }))
            }
            _ => {
                let votes = self.votes(height, round, kind, value_id);
                let signed = |(address, signature)| RoundSignature {
                    vote_type: kind,
                    value_id,
                    address,
                    signature,
                };
                Message::Liveness(LivenessMsg::SkipRoundCertificate(RoundCertificate {
                    height,
                    round,
                    cert_type: self.one_of(&cert_type),
                    round_signatures: votes.into_iter().map(signed).collect(),
                }))
            }
        }
    }

    /// What a validator is told that it has missed.
    fn decision(&mut self, now: u64) -> ExtendedCommitCertificate<Chain44> {
        let (height, round, kind) = (self.height(now), self.round(), self.kind());
        let value = self.value(height);
        let votes = self.votes(height, round, kind, NilOrVal::Val(value));
        let signed = |(address, signature)| CommitSignature { address, signature };
        let certificate = arc_malachitebft_core_types::CommitCertificate {
            height,
            round,
            value_id: value,
            commit_signatures: votes.into_iter().map(signed).collect(),
        };
        let none = VoteExtensions::new(Vec::new());
        ExtendedCommitCertificate::from_commit_certificate_and_extensions(certificate, none)
    }
}

/// One validator of four signs anything: nobody stops, and all decide the same.
#[test]
fn what_a_hostile_validator_sends_stops_nobody() {
    for (seed, way) in [Mode::Batched, Mode::Intake, Mode::PerVote]
        .into_iter()
        .enumerate()
    {
        let plan = Plan {
            validators: 4,
            heights: 30,
            byzantine: 0,
            forgeries_per_vote: 0,
            drop_quorum: 0,
            offline: 0,
        };
        let mut network = Network::<MlDsa44>::new(plan, way);
        let keys = Network::<MlDsa44>::new(plan, way).elsewhere;
        let (signer, state) = (&keys[3], seed as u64);
        let mut hostile = Hostile { signer, state };
        let mut turns = 0;
        while network.least() < plan.heights {
            for to in 0..3 {
                let now = network.validators[to].decided().len() as u64 + 1;
                for _ in 0..8 {
                    let message = hostile.message(now);
                    network.deliver(3, to, message);
                }
                let decision = hostile.decision(now);
                network.validators[to].sync(decision);
            }
            network.everybody();
            turns += 1;
            if turns % 8 == 0 {
                let steps = network.validators.iter().any(Validator::waits);
                network.validators.iter_mut().for_each(|v| v.elapse(steps));
            }
            assert!(turns < 2000, "{} decides no more", way.name());
        }
        network.agreed().unwrap();
        // Certificates came and were refused, and nothing has led the core astray.
        for counts in network.validators[..3].iter().map(Validator::counts) {
            assert!(counts.refused > 50, "{counts:?}");
            assert_eq!(counts.errors, 0);
        }
    }
}
