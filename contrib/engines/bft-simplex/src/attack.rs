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

use crate::metered::Metered;

type Signed<P> = Scheme<P, Metered>;

/// Votes of a flood for each proposed block.
const FLOOD: u8 = 64;

/// Reaction of an attacker to the first vote for a new block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attack {
    /// Signature of one kind of vote in a vote of another kind.
    CrossContext,
    /// Many votes in its own name, each with a different wrong signature.
    Flood,
    /// Vote without its last byte to every second member, with an extra byte to the others.
    Malformed,
    /// Vote in the name of an index outside the committee.
    UnknownSigner,
    /// Votes of other members as its own messages.
    Replay,
    /// Vote of the previous epoch by a former member.
    Stale,
}

impl Attack {
    /// Attack of the `n`-th attacker.
    pub(crate) fn nth(n: usize) -> Self {
        const ALL: [Attack; 5] = [
            Attack::CrossContext,
            Attack::Flood,
            Attack::Malformed,
            Attack::UnknownSigner,
            Attack::Replay,
        ];
        ALL[n % ALL.len()]
    }

    /// Attacks `victims` once per block until the channel closes.
    pub(crate) async fn run<P: ParameterSet>(
        self,
        scheme: Signed<P>,
        victims: Vec<Identity>,
        mut sender: impl Sender<PublicKey = Identity>,
        mut receiver: impl Receiver<PublicKey = Identity>,
    ) {
        let mut last = None;
        while let Ok((_, message)) = receiver.recv().await {
            let vote = Vote::<Signed<P>, Digest>::decode(message);
            let Ok(Vote::Notarize(heard)) = vote else {
                continue;
            };
            if last.replace(heard.proposal.round) == Some(heard.proposal.round) {
                continue;
            }
            let mut proposal = heard.proposal.clone();
            if let (Self::Stale, Some(previous)) = (self, proposal.round.epoch().previous()) {
                proposal.round = Round::new(previous, proposal.round.view());
            }
            let Some(own) = Notarize::sign(&scheme, proposal) else {
                return;
            };
            for (n, message) in self.messages(heard, own).into_iter().enumerate() {
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
        heard: Notarize<Signed<P>, Digest>,
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
                .map(|change| {
                    let mut flood = own.clone();
                    flood.attestation = changed(&own.attestation, change);
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
            Self::Replay => vec![vote(heard)],
            Self::Stale => vec![vote(own)],
        }
    }
}

/// The vote with another challenge: well formed and invalid.
fn changed<P: ParameterSet>(vote: &Attestation<Signed<P>>, change: u8) -> Attestation<Signed<P>> {
    let mut bytes = vote.signature.encode().to_vec();
    if let Some(first) = bytes.first_mut() {
        *first ^= change;
    }
    Attestation {
        signer: vote.signer,
        signature: Lazy::deferred(&mut Bytes::from(bytes), ()),
    }
}
