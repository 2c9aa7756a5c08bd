//! Weights of several subjects.

use mldsa_core::ParameterSet;

use super::QuorumError;
use crate::batch::{Duplicates, Mode, Request};
use crate::{
    Attestation, Committee, CommitteeVerifier, Duplicate, MemberId, Message, RejectReason, Verdict,
    Vote,
};

/// Verified weights of several subjects. No decision: compare the weight that the protocol
/// names with [`Committee::required_weight`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Tally {
    /// For each subject, the weight of the members with a valid vote for it.
    pub weights: Vec<u128>,
    /// For each subject, these members, by index.
    pub members: Vec<Vec<MemberId>>,
    /// Weight of the members with a valid vote for any subject, each counted once: less than
    /// the sum of `weights` if a member voted for several.
    pub distinct: u128,
    /// Votes that are not valid, by increasing index.
    pub rejected: Vec<(usize, RejectReason)>,
    /// Votes that equal an earlier one in subject, member and signature.
    pub duplicates: Vec<Duplicate>,
    /// Pairs of valid votes of one member for different subjects: the first vote, and each
    /// later one. Whether that is an offence depends on the protocol; see
    /// [`Equivocation`](crate::Equivocation).
    pub conflicts: Vec<(usize, usize)>,
}

impl<P: ParameterSet> CommitteeVerifier<P> {
    /// Verified weight of each of several subjects, for rules that add weights up across
    /// them, such as a round certificate. Every vote is verified, and a member counts once for
    /// each subject. A vote names its subject by the index in the list.
    ///
    /// # Errors
    /// [`QuorumError::UnknownSubject`].
    pub fn tally<'a>(
        &self,
        subjects: &[Message<'a>],
        votes: &[(usize, Attestation<'a>)],
    ) -> Result<Tally, QuorumError> {
        tally(self.committee(), subjects, votes, |votes| {
            let request = Request {
                mode: Mode::Full,
                duplicates: Duplicates::Once,
                ..self.engine.request()
            };
            self.report(request, votes.iter().copied()).verdicts
        })
    }
}

/// [`CommitteeVerifier::tally`] with any way to verify.
pub(crate) fn tally<'a, P: ParameterSet>(
    committee: &Committee<P>,
    subjects: &[Message<'a>],
    votes: &[(usize, Attestation<'a>)],
    verify: impl FnOnce(&[Vote<'a>]) -> Vec<Verdict>,
) -> Result<Tally, QuorumError> {
    if let Some(vote) = votes.iter().position(|vote| vote.0 >= subjects.len()) {
        return Err(QuorumError::UnknownSubject { vote });
    }
    let item = |(subject, vote): &(usize, Attestation<'a>)| vote.vote(subjects[*subject]);
    let items: Vec<Vote<'a>> = votes.iter().map(item).collect();
    let verdicts = verify(&items);
    let mut members = vec![Vec::new(); subjects.len()];
    let mut first: Vec<Option<usize>> = vec![None; committee.len()];
    let (mut distinct, mut rejected, mut conflicts) = (0, Vec::new(), Vec::new());
    for (index, (subject, vote)) in votes.iter().enumerate() {
        // A vote of another committee that the verifier also answers for does not count here.
        let verdict = match verdicts.get(index) {
            Some(verdict) if committee.contains(vote.member) => *verdict,
            _ => Verdict::Rejected(RejectReason::UnknownMember),
        };
        if let Err(reason) = verdict.check() {
            rejected.push((index, reason));
            continue;
        }
        members[*subject].push(vote.member);
        let first = &mut first[vote.member.index() as usize];
        match *first {
            None => {
                *first = Some(index);
                distinct += committee.weight_at(vote.member.index());
            }
            Some(first) if votes[first].0 != *subject => conflicts.push((first, index)),
            Some(_) => {}
        }
    }
    let once = |members: &mut Vec<MemberId>| -> u128 {
        members.sort_unstable();
        members.dedup();
        let weights = members
            .iter()
            .map(|member| committee.weight_at(member.index()));
        weights.sum()
    };
    Ok(Tally {
        weights: members.iter_mut().map(once).collect(),
        members,
        distinct,
        rejected,
        duplicates: duplicates(votes),
        conflicts,
    })
}

fn duplicates(votes: &[(usize, Attestation<'_>)]) -> Vec<Duplicate> {
    let content = |index: usize| {
        let (subject, vote) = &votes[index];
        (*subject, vote.member, vote.signature)
    };
    let mut order: Vec<usize> = (0..votes.len()).collect();
    order.sort_unstable_by(|&a, &b| content(a).cmp(&content(b)).then(a.cmp(&b)));
    let runs = order.chunk_by(|&a, &b| content(a) == content(b));
    let mut duplicates: Vec<Duplicate> = runs
        .flat_map(|run| {
            let first = run[0];
            run[1..]
                .iter()
                .map(move |&index| Duplicate { index, first })
        })
        .collect();
    duplicates.sort_unstable_by_key(|duplicate| duplicate.index);
    duplicates
}
