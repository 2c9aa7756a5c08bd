//! Members that attack on the vote channel instead of voting.

use bytes::Bytes;
use commonware_codec::{DecodeExt as _, Encode as _, types::lazy::Lazy};
use commonware_consensus::simplex::types::{Finalize, Notarize, Vote};
use commonware_consensus::types::Round;
use commonware_cryptography::{
    certificate::Attestation, ed25519::PublicKey as Identity, sha256::Digest,
};
use commonware_mldsa::Scheme;
use commonware_p2p::{Receiver, Recipients, Sender};
use commonware_utils::Participant;
use mldsa_core::ParameterSet;

use crate::measured::Measured;

type Signed<P> = Scheme<P, Measured>;

/// Messages of a flood, for each block that is proposed.
const FLOOD: u8 = 64;

/// What a hostile member does whenever it hears a vote for a new block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attack {
    /// Its signature of one kind of vote in a vote of another kind.
    CrossContext,
    /// Many votes in its own name, with as many wrong signatures.
    Flood,
    /// Its vote without the last byte to every other member, and with one more to the rest.
    Malformed,
    /// A vote in the name of nobody.
    UnknownSigner,
    /// The votes of others as its own messages.
    Replay,
    /// A vote of the epoch before, by somebody who was a member then.
    Stale,
}

impl Attack {
    /// The attack of the `n`-th hostile member of a committee.
    pub(crate) fn of(n: usize) -> Self {
        const ALL: [Attack; 5] = [
            Attack::CrossContext,
            Attack::Flood,
            Attack::Malformed,
            Attack::UnknownSigner,
            Attack::Replay,
        ];
        ALL[n % ALL.len()]
    }

    /// Attacks `victims` for as long as it hears them.
    pub(crate) async fn run<P: ParameterSet>(
        self,
        scheme: Signed<P>,
        victims: Vec<Identity>,
        mut sender: impl Sender<PublicKey = Identity>,
        mut receiver: impl Receiver<PublicKey = Identity>,
    ) {
        let mut last = None;
        while let Ok((_, message)) = receiver.recv().await {
            let Ok(vote) = Vote::<Signed<P>, Digest>::decode(message) else {
                continue;
            };
            let Vote::Notarize(heard) = vote else {
                continue;
            };
            if last.replace(heard.proposal.round) == Some(heard.proposal.round) {
                continue;
            }
            let mut proposal = heard.proposal.clone();
            if let (Self::Stale, Some(before)) = (self, proposal.round.epoch().previous()) {
                proposal.round = Round::new(before, proposal.round.view());
            }
            let Some(own) = Notarize::sign(&scheme, proposal) else {
                return;
            };
            for (n, message) in self.messages(&heard, own).into_iter().enumerate() {
                let to = match self {
                    Self::Malformed => victims.iter().skip(n % 2).step_by(2).cloned().collect(),
                    _ => victims.clone(),
                };
                sender.send(Recipients::Some(to), message, true);
            }
        }
    }

    fn messages<P: ParameterSet>(
        self,
        heard: &Notarize<Signed<P>, Digest>,
        mut own: Notarize<Signed<P>, Digest>,
    ) -> Vec<Bytes> {
        let vote = |notarize| Vote::<Signed<P>, Digest>::Notarize(notarize).encode();
        match self {
            Self::CrossContext => {
                let finalize = Finalize {
                    proposal: own.proposal,
                    attestation: own.attestation,
                };
                vec![Vote::<Signed<P>, Digest>::Finalize(finalize).encode()]
            }
            Self::Flood => (1..=FLOOD)
                .map(|n| {
                    let mut flood = own.clone();
                    flood.attestation = spoilt(&own.attestation, n);
                    vote(flood)
                })
                .collect(),
            Self::Malformed => {
                let whole = vote(own);
                let short = whole.slice(..whole.len() - 1);
                vec![short, [&whole[..], &[0]].concat().into()]
            }
            Self::UnknownSigner => {
                own.attestation.signer = Participant::new(u32::MAX);
                vec![vote(own)]
            }
            Self::Replay => vec![vote(heard.clone())],
            Self::Stale => vec![vote(own)],
        }
    }
}

/// The vote with another challenge: well formed, and wrong.
fn spoilt<P: ParameterSet>(vote: &Attestation<Signed<P>>, change: u8) -> Attestation<Signed<P>> {
    let mut bytes = vote.signature.encode().to_vec();
    if let Some(first) = bytes.first_mut() {
        *first ^= change;
    }
    Attestation {
        signer: vote.signer,
        signature: Lazy::deferred(&mut Bytes::from(bytes), ()),
    }
}
