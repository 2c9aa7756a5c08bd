//! Fuzz test: one validator signs and sends arbitrary messages.

use arc_malachitebft_core_types::{
    CommitCertificate, CommitSignature, Context as _, PolkaCertificate, PolkaSignature,
    RoundCertificate, RoundCertificateType, RoundSignature,
};
use mldsa_core::MlDsa44;

use super::*;
use crate::chain::{Height, Proposal};
use crate::message::proposal_bytes;
use crate::scheme::CONTEXT;

type Chain44 = Chain<MlDsa44>;

/// Generator of arbitrary messages with a fixed seed.
struct Fuzzer<'a> {
    signer: &'a Signer<MlDsa44>,
    state: u64,
}

impl Fuzzer<'_> {
    fn random(&mut self, sides: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(11);
        (self.state >> 33) % sides
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.random(all.len() as u64) as usize].clone()
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
        let rounds = if self.random(4) == 0 { far } else { near };
        self.one_of(&rounds)
    }

    fn height(&mut self, now: u64) -> Height {
        let all = [now, now, now, now + 1, now.saturating_sub(1), 0, u64::MAX];
        Height(self.one_of(&all))
    }

    /// Values of honest proposers, among others.
    fn value(&mut self, height: Height) -> Value {
        let own = Value(height.0 << 32 | self.random(4));
        self.one_of(&[own, own, Value(0), Value(u64::MAX)])
    }

    fn by(&mut self) -> Address {
        Address(self.one_of(&[3, 3, 3, 0, 1, 2, 4, u32::MAX]))
    }

    fn kind(&mut self) -> VoteType {
        self.one_of(&[VoteType::Prevote, VoteType::Precommit])
    }

    fn sign(&mut self, bytes: &[u8]) -> Signature {
        let signature = self.signer.sign(CONTEXT, bytes);
        match self.random(6) {
            0 => flip_bit(&signature).into(),
            1 => Signature::from(&signature[..self.random(100) as usize]),
            _ => signature.into(),
        }
    }

    /// Up to five votes, some with wrong signers or signatures.
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
            .split_off(self.random(6) as usize)
    }

    fn message(&mut self, now: u64) -> Message<MlDsa44> {
        let (height, round) = (self.height(now), self.round());
        let (value, kind) = (self.value(height), self.kind());
        let value_id = self.one_of(&[NilOrVal::Nil, NilOrVal::Val(value)]);
        let cert_type = [RoundCertificateType::Skip, RoundCertificateType::Precommit];
        match self.random(5) {
            0 | 1 => {
                let (chain, by) = (Chain44::default(), self.by());
                let vote = match kind {
                    VoteType::Prevote => chain.new_prevote(height, round, value_id, by),
                    VoteType::Precommit => chain.new_precommit(height, round, value_id, by),
                };
                let signature = self.sign(&vote_bytes(kind, height, round, value_id));
                let vote = SignedMessage::new(vote, signature);
                match self.random(2) {
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

    /// Commit certificate of a missed height.
    fn decision(&mut self, now: u64) -> ExtendedCommitCertificate<Chain44> {
        let (height, round, kind) = (self.height(now), self.round(), self.kind());
        let value = self.value(height);
        let votes = self.votes(height, round, kind, NilOrVal::Val(value));
        let signed = |(address, signature)| CommitSignature { address, signature };
        let certificate = CommitCertificate {
            height,
            round,
            value_id: value,
            commit_signatures: votes.into_iter().map(signed).collect(),
        };
        let none = VoteExtensions::new(Vec::new());
        ExtendedCommitCertificate::from_commit_certificate_and_extensions(certificate, none)
    }
}

/// One of four validators sends arbitrary messages: the others keep deciding the same values.
#[test]
fn arbitrary_messages_do_not_stop_the_others() {
    let strategies = [Strategy::Batched, Strategy::PerVote];
    for (seed, strategy) in (0..).zip(strategies) {
        let plan = Plan {
            validators: 4,
            heights: 30,
            ..Plan::default()
        };
        let mut network = Network::<MlDsa44>::new(plan, strategy).unwrap();
        let signer = &network.signers[3].clone();
        let mut fuzzer = Fuzzer {
            signer,
            state: seed,
        };
        let mut turns = 0;
        while network.decided_by_all() < plan.heights {
            for to in 0..3 {
                let now = network.validators[to].decided().len() as u64 + 1;
                for _ in 0..8 {
                    let message = fuzzer.message(now);
                    network.deliver(3, to, message);
                }
                let decision = fuzzer.decision(now);
                network.validators[to].sync(decision);
            }
            network.turns();
            turns += 1;
            if turns % 8 == 0 {
                network.elapse();
            }
            assert!(turns < 2000, "{} makes no progress", strategy.name());
        }
        network.agreed().unwrap();
        for counts in network.validators[..3].iter().map(Validator::counts) {
            assert!(counts.rejected > 50, "{counts:?}");
            assert_eq!(counts.errors, 0);
        }
    }
}
