//! One validator: the engine's core and what answers its effects.

use std::collections::VecDeque;
use std::mem;

use arc_malachitebft_core_consensus::{
    Effect, Error, Input, LivenessMsg, LocallyProposedValue, Params, PeerId, ProposedValue,
    Resumable, Resume, SignedConsensusMsg, State, ThresholdParams, VoteExtensionError, process,
};
use arc_malachitebft_core_types::{
    CommitCertificate, ExtendedCommitCertificate, Round, SignedMessage, Timeout, TimeoutKind,
    Validity, ValueOrigin, ValuePayload, ValueResponse, VoteExtensionPolicy,
};
use mldsa_core::ParameterSet;

use crate::admission::VoteAdmission;
use crate::chain::{Address, Chain, Height, ValidatorSet, Value};
use crate::message::{Message, of_consensus, proposal_bytes, vote_bytes};
use crate::scheme::Signer;

/// Messages that the engine keeps for later heights.
const QUEUE: usize = 4096;

/// A validator. It does nothing by itself: [`turn`](Self::turn) takes in what has arrived.
pub(crate) struct Validator<P: ParameterSet> {
    state: State<Chain<P>>,
    inbox: Vec<(u64, Message<P>)>,
    host: Host<P>,
}

/// Everything outside of the engine.
struct Host<P: ParameterSet> {
    address: Address,
    set: ValidatorSet<P>,
    signer: Signer<P>,
    door: VoteAdmission,
    inputs: VecDeque<Input<Chain<P>>>,
    outbox: Vec<Message<P>>,
    timeouts: Vec<Timeout>,
    decided: Vec<CommitCertificate<Chain<P>>>,
    counts: Counts,
}

/// What a validator has seen besides votes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commit, polka and round certificates that were verified.
    pub certificates: [u64; 3],
    /// Certificates that were refused.
    pub refused: u64,
    /// Values of heights that it had missed, taken from others.
    pub synced: u64,
    /// Heights with somebody who has signed two things at one place.
    pub equivocations: u64,
    /// Inputs that the core has refused with an error.
    pub errors: u64,
}

impl<P: ParameterSet> Validator<P> {
    /// A validator that starts with the first height.
    #[must_use]
    pub(crate) fn new(
        address: Address,
        set: ValidatorSet<P>,
        signer: Signer<P>,
        door: VoteAdmission,
    ) -> Self {
        let params = Params {
            address,
            threshold_params: ThresholdParams::default(),
            value_payload: ValuePayload::ProposalOnly,
            enabled: true,
        };
        let first = Height(1);
        let mut host = Host {
            address,
            set: set.clone(),
            signer,
            door,
            inputs: VecDeque::new(),
            outbox: Vec::new(),
            timeouts: Vec::new(),
            decided: Vec::new(),
            counts: Counts::default(),
        };
        host.start(first);
        Self {
            state: State::new(Chain::default(), first, set, params, QUEUE, QUEUE),
            inbox: Vec::new(),
            host,
        }
    }

    /// Something has arrived.
    pub(crate) fn deliver(&mut self, peer: u64, message: Message<P>) {
        self.inbox.push((peer, message));
    }

    /// Handles everything there is, and returns what is to be sent to everybody; `None` if there
    /// was nothing to do.
    pub(crate) fn turn(&mut self) -> Option<Vec<Message<P>>> {
        let Host { inputs, outbox, .. } = &self.host;
        if self.inbox.is_empty() && inputs.is_empty() && outbox.is_empty() {
            return None;
        }
        let arrived = mem::take(&mut self.inbox);
        let height = self.state.height();
        for message in self.host.door.admit(height, arrived) {
            match message {
                Message::Consensus(SignedConsensusMsg::Vote(vote))
                | Message::Liveness(LivenessMsg::Vote(vote)) => self.take(Input::Vote(vote)),
                // The core stores the value with the proposal where there are no parts.
                Message::Consensus(SignedConsensusMsg::Proposal(proposal)) => {
                    self.take(Input::Proposal(proposal));
                }
                Message::Liveness(LivenessMsg::PolkaCertificate(certificate)) => {
                    self.take(Input::PolkaCertificate(certificate));
                }
                Message::Liveness(LivenessMsg::SkipRoundCertificate(certificate)) => {
                    self.take(Input::RoundCertificate(certificate));
                }
            }
        }
        while let Some(input) = self.host.inputs.pop_front() {
            self.take(input);
        }
        Some(mem::take(&mut self.host.outbox))
    }

    /// Whether a step of it ends when its time is over.
    pub(crate) fn waits(&self) -> bool {
        self.host.timeouts.iter().any(ends_a_step)
    }

    /// Time passes: the steps end, or else what was said is said again.
    pub(crate) fn elapse(&mut self, steps: bool) {
        let timeouts = mem::take(&mut self.host.timeouts);
        let over = |timeout: &Timeout| ends_a_step(timeout) == steps;
        let (elapsed, others) = timeouts.into_iter().partition::<Vec<_>, _>(over);
        self.host.timeouts = others;
        let inputs = elapsed.into_iter().map(Input::TimeoutElapsed);
        self.host.inputs.extend(inputs);
    }

    /// Forgets what has arrived, and returns it: it was offline.
    pub(crate) fn sleep(&mut self) -> Vec<(u64, Message<P>)> {
        mem::take(&mut self.inbox)
    }

    /// Has a height that was missed from somebody else, with the certificate to believe it.
    pub(crate) fn sync(&mut self, certificate: ExtendedCommitCertificate<Chain<P>>) {
        // No network, no peers: this one has the identity of nobody.
        let peer = PeerId::from_bytes(&[0, 0]).expect("an empty identity");
        let value = certificate.value_id.0.to_le_bytes().to_vec().into();
        let response = ValueResponse::new(peer, value, certificate);
        self.take(Input::SyncValueResponse(response));
    }

    /// What was decided, in order.
    #[must_use]
    pub(crate) fn decided(&self) -> &[CommitCertificate<Chain<P>>] {
        &self.host.decided
    }

    /// What its door has refused.
    #[must_use]
    pub(crate) fn door(&self) -> &VoteAdmission {
        &self.host.door
    }

    /// What it has seen.
    #[must_use]
    pub(crate) fn counts(&self) -> Counts {
        self.host.counts
    }

    /// Takes an input. An error is the core's refusal of it: the state is what it was, or what
    /// follows from the part that was taken, and the next input is taken as ever.
    fn take(&mut self, input: Input<Chain<P>>) {
        let refused = self.step(input).is_err();
        self.host.counts.errors += u64::from(refused);
    }

    /// # Errors
    /// Why the core does not take the input.
    fn step(&mut self, input: Input<Chain<P>>) -> Result<(), Error<Chain<P>>> {
        let Self { state, host, .. } = self;
        process!(
            input: input,
            state: state,
            metrics: &(),
            with: effect => Ok::<_, Error<Chain<P>>>(host.answer(effect))
        )
    }
}

impl<P: ParameterSet> Host<P> {
    fn start(&mut self, height: Height) {
        let (set, policy) = (self.set.clone(), VoteExtensionPolicy::Disabled);
        let start = Input::StartHeight(height, set, false, None, policy);
        self.inputs.push_back(start);
    }

    fn answer(&mut self, effect: Effect<Chain<P>>) -> Resume<Chain<P>> {
        match effect {
            // Also for own votes, which no memory knows.
            Effect::VerifySignature(message, _, r) => {
                let SignedMessage { message, signature } = message;
                let (kind, signed) = of_consensus::<P>(&message, &signature);
                r.resume_with(self.door.verify(kind, &signed))
            }
            Effect::VerifyCommitCertificate(certificate, _, thresholds, r) => {
                let verdict = self.door.commit(&certificate, thresholds);
                self.counts.count(0, verdict.is_ok());
                r.resume_with(verdict)
            }
            Effect::VerifyExtendedCommitCertificate(certificate, _, thresholds, _, r) => {
                let verdict = self.door.extended_commit(&certificate, thresholds);
                self.counts.count(0, verdict.is_ok());
                r.resume_with(verdict)
            }
            Effect::VerifyPolkaCertificate(certificate, _, thresholds, r) => {
                let verdict = self.door.polka(&certificate, thresholds);
                self.counts.count(1, verdict.is_ok());
                r.resume_with(verdict)
            }
            Effect::VerifyRoundCertificate(certificate, _, thresholds, r) => {
                let verdict = self.door.round(&certificate, thresholds);
                self.counts.count(2, verdict.is_ok());
                r.resume_with(verdict)
            }
            Effect::SignVote(vote, r) => {
                let bytes = vote_bytes(vote.kind, vote.height, vote.round, vote.value);
                r.resume_with(SignedMessage::new(vote, self.signer.sign(&bytes)))
            }
            Effect::SignProposal(proposal, r) => {
                let signature = self.signer.sign(&proposal_bytes(&proposal));
                r.resume_with(SignedMessage::new(proposal, signature))
            }
            Effect::PublishConsensusMsg(message, r) => {
                self.send(Message::Consensus(message));
                r.resume_with(())
            }
            Effect::PublishLivenessMsg(message, r) => {
                self.send(Message::Liveness(message));
                r.resume_with(())
            }
            Effect::RepublishVote(vote, r) => {
                self.send(Message::Liveness(LivenessMsg::Vote(vote)));
                r.resume_with(())
            }
            Effect::RepublishRoundCertificate(certificate, r) => {
                let message = LivenessMsg::SkipRoundCertificate(certificate);
                self.send(Message::Liveness(message));
                r.resume_with(())
            }
            Effect::GetValue(height, round, _, r) => {
                let value = Value(height.0 << 32 | u64::from(self.address.0));
                let value = LocallyProposedValue::new(height, round, value);
                self.inputs.push_back(Input::Propose(value));
                r.resume_with(())
            }
            Effect::CertVerifiedSyncValue(response, proposer, r) => {
                self.synced(&response, proposer);
                r.resume_with(())
            }
            Effect::ScheduleTimeout(timeout, r) => {
                self.timeouts.retain(|other| *other != timeout);
                self.timeouts.push(timeout);
                r.resume_with(())
            }
            Effect::CancelTimeout(timeout, r) => {
                self.timeouts.retain(|other| *other != timeout);
                r.resume_with(())
            }
            Effect::CancelAllTimeouts(r) => {
                self.timeouts.clear();
                r.resume_with(())
            }
            Effect::Decide(certificate, _, r) => {
                self.decided.push(certificate);
                r.resume_with(())
            }
            Effect::Finalize(certificate, _, evidence, r) => {
                self.counts.equivocations += u64::from(!evidence.is_empty());
                self.start(Height(certificate.height.0 + 1));
                r.resume_with(())
            }
            // Extensions are disabled, and so these are for nobody.
            Effect::ExtendVote(.., r) => r.resume_with(None),
            Effect::VerifyVoteExtension(.., r) => {
                r.resume_with(Err(VoteExtensionError::InvalidVoteExtension))
            }
            // Values are in the proposals, nothing is logged, and nobody is blamed for what was
            // counted.
            Effect::RestreamProposal(.., r)
            | Effect::StartRound(.., r)
            | Effect::WalAppend(.., r)
            | Effect::CertRejectedSyncValue(.., r) => r.resume_with(()),
        }
    }

    fn send(&mut self, message: Message<P>) {
        self.outbox.push(message);
    }

    fn synced(&mut self, response: &ValueResponse<Chain<P>>, proposer: Address) {
        self.counts.synced += 1;
        let certificate = &response.certificate;
        // The bytes are the peer's; the certificate says which value they have to be.
        let validity = if response.value_bytes[..] == certificate.value_id.0.to_le_bytes() {
            Validity::Valid
        } else {
            Validity::Invalid
        };
        let value = ProposedValue {
            height: certificate.height,
            round: certificate.round,
            valid_round: Round::Nil,
            proposer,
            value: certificate.value_id,
            validity,
        };
        let input = Input::ProposedValue(value, ValueOrigin::Sync);
        self.inputs.push_back(input);
    }
}

impl Counts {
    fn count(&mut self, kind: usize, valid: bool) {
        self.certificates[kind] += 1;
        self.refused += u64::from(!valid);
    }
}

fn ends_a_step(timeout: &Timeout) -> bool {
    timeout.kind != TimeoutKind::Rebroadcast
}
