//! One validator: the engine's core and the handler of its effects.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use arc_malachitebft_core_consensus::{
    Effect, Error, Input, LivenessMsg, LocallyProposedValue, Params, PeerId, ProposedValue,
    Resumable, Resume, SignedConsensusMsg, State, ThresholdParams, VoteExtensionError, process,
};
use arc_malachitebft_core_types::{
    CommitCertificate, ExtendedCommitCertificate, Round, SignedMessage, Timeout, TimeoutKind,
    Validity, ValueOrigin, ValuePayload, ValueResponse, VoteExtensionPolicy,
};
use batch_verify::RejectReason;
use mldsa_core::{Context, ParameterSet, PreparedSigningKey, Randomness};

use crate::admission::VoteAdmission;
use crate::chain::{Address, Chain, Height, Value};
use crate::message::{Message, of_consensus, proposal_bytes, vote_bytes};
use crate::scheme::{CONTEXT, Signature};

/// Capacity of the engine's queues for later heights.
const QUEUE: usize = 4096;

/// Validator. It runs only inside of [`turn`](Self::turn).
pub(crate) struct Validator<P: ParameterSet> {
    state: State<Chain<P>>,
    inbox: Vec<(usize, Message<P>)>,
    host: Host<P>,
}

/// Host of the core: network, clock, keys, decisions.
struct Host<P: ParameterSet> {
    address: Address,
    key: PreparedSigningKey<P>,
    admission: VoteAdmission<P>,
    inputs: VecDeque<Input<Chain<P>>>,
    outbox: Vec<Message<P>>,
    timeouts: Vec<Timeout>,
    decided: Vec<CommitCertificate<Chain<P>>>,
    counts: Counts,
}

/// Certificates, catch-up and engine errors of a validator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commit, polka and round certificates verified.
    pub certificates: [u64; 3],
    /// Certificates rejected.
    pub rejected: u64,
    /// Missed heights decided from commit certificates.
    pub synced: u64,
    /// Heights with evidence of equivocation.
    pub equivocations: u64,
    /// Inputs rejected by the core with an error.
    pub errors: u64,
}

impl<P: ParameterSet> Validator<P> {
    /// Validator at the first height.
    pub(crate) fn new(
        address: Address,
        key: PreparedSigningKey<P>,
        admission: VoteAdmission<P>,
    ) -> Self {
        let params = Params {
            address,
            threshold_params: ThresholdParams::default(),
            value_payload: ValuePayload::ProposalOnly,
            enabled: true,
        };
        let first = Height(1);
        let set = admission.epochs.at(first).set.clone();
        let mut host = Host {
            address,
            key,
            admission,
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

    /// Adds an arrived message.
    pub(crate) fn deliver(&mut self, peer: usize, message: Message<P>) {
        self.inbox.push((peer, message));
    }

    /// Processes all messages and inputs, and returns the messages to broadcast; `None` if there
    /// was nothing to process.
    pub(crate) fn turn(&mut self) -> Option<Vec<Message<P>>> {
        let Host { inputs, outbox, .. } = &self.host;
        if self.inbox.is_empty() && inputs.is_empty() && outbox.is_empty() {
            return None;
        }
        let arrived = mem::take(&mut self.inbox);
        let height = self.state.height();
        for message in self.host.admission.admit(height, arrived) {
            match message {
                Message::Consensus(SignedConsensusMsg::Vote(vote))
                | Message::Liveness(LivenessMsg::Vote(vote)) => self.take(Input::Vote(vote)),
                // Without proposal parts the core stores the value with the proposal.
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

    /// Whether a timeout of a consensus step is scheduled.
    pub(crate) fn has_step_timeout(&self) -> bool {
        self.host.timeouts.iter().any(is_step)
    }

    /// Lets timeouts elapse: those of steps, or those of rebroadcasts.
    pub(crate) fn elapse(&mut self, steps: bool) {
        let timeouts = mem::take(&mut self.host.timeouts);
        let elapsed = |timeout: &Timeout| is_step(timeout) == steps;
        let (elapsed, others) = timeouts.into_iter().partition::<Vec<_>, _>(elapsed);
        self.host.timeouts = others;
        let inputs = elapsed.into_iter().map(Input::TimeoutElapsed);
        self.host.inputs.extend(inputs);
    }

    /// Discards the arrived messages.
    pub(crate) fn clear_inbox(&mut self) {
        self.inbox.clear();
    }

    /// Receives the value of a missed height with its commit certificate.
    pub(crate) fn sync(&mut self, certificate: ExtendedCommitCertificate<Chain<P>>) {
        // The core only echoes the peer: an empty multihash serves.
        let peer = PeerId::from_bytes(&[0, 0]).expect("an empty multihash");
        let value = certificate.value_id.0.to_le_bytes().to_vec().into();
        let response = ValueResponse::new(peer, value, certificate);
        self.take(Input::SyncValueResponse(response));
    }

    /// Commit certificates, in order of height.
    pub(crate) fn decided(&self) -> &[CommitCertificate<Chain<P>>] {
        &self.host.decided
    }

    /// Messages rejected on arrival, by sender and reason.
    pub(crate) fn rejected(&self) -> &BTreeMap<(usize, RejectReason), u64> {
        &self.host.admission.rejected
    }

    /// Signatures verified, without those found in the verdict cache.
    pub(crate) fn verified(&self) -> u64 {
        self.host.admission.service.stats().verified
    }

    pub(crate) fn counts(&self) -> Counts {
        self.host.counts
    }

    /// Passes an input to the core. After an error the core accepts further inputs.
    fn take(&mut self, input: Input<Chain<P>>) {
        let failed = self.step(input).is_err();
        self.host.counts.errors += u64::from(failed);
    }

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
        let set = self.admission.epochs.at(height).set.clone();
        let policy = VoteExtensionPolicy::Disabled;
        let start = Input::StartHeight(height, set, false, None, policy);
        self.inputs.push_back(start);
    }

    fn answer(&mut self, effect: Effect<Chain<P>>) -> Resume<Chain<P>> {
        match effect {
            // Own votes are not in the verdict cache and are verified here.
            Effect::VerifySignature(message, _, r) => {
                let SignedMessage { message, signature } = message;
                let signed = of_consensus::<P>(&message, &signature);
                r.resume_with(self.admission.is_valid(&signed))
            }
            Effect::VerifyCommitCertificate(certificate, _, thresholds, r) => {
                let verdict = self.admission.commit(&certificate, thresholds);
                r.resume_with(self.counts.count(0, verdict))
            }
            Effect::VerifyExtendedCommitCertificate(certificate, _, thresholds, _, r) => {
                let verdict = self.admission.extended_commit(&certificate, thresholds);
                r.resume_with(self.counts.count(0, verdict))
            }
            Effect::VerifyPolkaCertificate(certificate, _, thresholds, r) => {
                let verdict = self.admission.polka(&certificate, thresholds);
                r.resume_with(self.counts.count(1, verdict))
            }
            Effect::VerifyRoundCertificate(certificate, _, thresholds, r) => {
                let verdict = self.admission.round(&certificate, thresholds);
                r.resume_with(self.counts.count(2, verdict))
            }
            Effect::SignVote(vote, r) => {
                let bytes = vote_bytes(vote.kind, vote.height, vote.round, vote.value);
                r.resume_with(SignedMessage::new(vote, self.sign(&bytes)))
            }
            Effect::SignProposal(proposal, r) => {
                let signature = self.sign(&proposal_bytes(&proposal));
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
            // Not called, because extensions are disabled.
            Effect::ExtendVote(.., r) => r.resume_with(None),
            Effect::VerifyVoteExtension(.., r) => {
                r.resume_with(Err(VoteExtensionError::InvalidVoteExtension))
            }
            // Values are part of the proposals, there is no log, and rejected values are counted
            // above.
            Effect::RestreamProposal(.., r)
            | Effect::StartRound(.., r)
            | Effect::WalAppend(.., r)
            | Effect::CertRejectedSyncValue(.., r) => r.resume_with(()),
        }
    }

    /// Signs deterministically: a vote signed again, after a restart for example, has the same bytes
    /// and cannot be taken for equivocation.
    fn sign(&self, bytes: &[u8]) -> Signature {
        let context = Context::new(CONTEXT).expect("a short context");
        let signature = (self.key).sign_with_context(bytes, context, Randomness::Deterministic);
        // FIPS 204 allows an error after 821 rejected attempts; its probability is below 2^-256.
        signature.expect("signing ends").as_ref().into()
    }

    fn send(&mut self, message: Message<P>) {
        self.outbox.push(message);
    }

    fn synced(&mut self, response: &ValueResponse<Chain<P>>, proposer: Address) {
        self.counts.synced += 1;
        let certificate = &response.certificate;
        // The bytes come from the peer; the certificate names the decided value.
        let validity = match response.value_bytes[..] == certificate.value_id.0.to_le_bytes() {
            true => Validity::Valid,
            false => Validity::Invalid,
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
    fn count<E>(&mut self, kind: usize, verdict: Result<(), E>) -> Result<(), E> {
        self.certificates[kind] += 1;
        self.rejected += u64::from(verdict.is_err());
        verdict
    }
}

fn is_step(timeout: &Timeout) -> bool {
    timeout.kind != TimeoutKind::Rebroadcast
}
