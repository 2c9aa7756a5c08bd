//! Quorums and equivocation, against a naive model.

use batch_verify::{
    Committee, CommitteeVerifier, EquivocationError, MemberId, QuorumError, QuorumReport,
    QuorumRule, RejectReason, Source, Threads, Threshold,
};
use mldsa_core::{MlDsa44, Randomness};
use proptest::prelude::*;
use std::sync::LazyLock;

use crate::fixture::{CONTEXT, KEYS, attestation, context, public, service, sign};

use QuorumRule::{AnyValid, Certificate, CertificateWithDuplicates};

const BLOCK: &[u8] = b"block 9";

fn weighted(weights: &[u64]) -> Committee<MlDsa44> {
    with_threshold(weights, Threshold::TWO_THIRDS)
}

fn with_threshold(weights: &[u64], threshold: Threshold) -> Committee<MlDsa44> {
    let members = KEYS
        .iter()
        .zip(weights)
        .map(|(key, weight)| (public(key), *weight));
    let builder = Committee::builder(CONTEXT).threshold(threshold);
    builder.threads(Threads::Inline).build(members).unwrap()
}

fn verifiers(committee: &Committee<MlDsa44>) -> Vec<CommitteeVerifier<MlDsa44>> {
    let threads = [
        Threads::Inline,
        Threads::Dedicated(2),
        Threads::Dedicated(8),
    ];
    let build = |threads| {
        CommitteeVerifier::builder()
            .threads(threads)
            .inline_below(0)
    };
    threads
        .map(|threads| build(threads).build(committee.clone()).unwrap())
        .into()
}

static GOOD: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| KEYS.iter().map(|key| sign(key, BLOCK)).collect());
static OTHER: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| KEYS.iter().map(|key| sign(key, b"block 8")).collect());
/// Valid, with other bytes.
static HEDGED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let hedge = |key: &mldsa_core::SigningKey<MlDsa44>| {
        let signature = key.sign_with_context(BLOCK, context(), Randomness::Hedged(&[5; 32]));
        signature.unwrap().as_ref().to_vec()
    };
    KEYS.iter().map(hedge).collect()
});

/// A vote of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pick {
    /// Of the committee, or beyond it.
    member: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Good,
    Hedged,
    OtherBlock,
    TooShort,
    TooLong,
    Malformed,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Good,
        Self::Hedged,
        Self::OtherBlock,
        Self::TooShort,
        Self::TooLong,
        Self::Malformed,
    ];

    fn reason(self) -> Option<RejectReason> {
        match self {
            Self::Good | Self::Hedged => None,
            Self::OtherBlock => Some(RejectReason::ChallengeMismatch),
            Self::TooShort | Self::TooLong => Some(RejectReason::SignatureLength),
            Self::Malformed => Some(RejectReason::HintEncoding),
        }
    }

    fn signature(self, member: usize) -> &'static [u8] {
        static LONG: [u8; (256 << 10) + 1] = [0; (256 << 10) + 1];
        static MALFORMED: [u8; 2420] = [0xff; 2420];
        match self {
            Self::Good => &GOOD[member],
            Self::Hedged => &HEDGED[member],
            Self::OtherBlock => &OTHER[member],
            Self::TooShort => &GOOD[member][1..],
            Self::TooLong => &LONG,
            Self::Malformed => &MALFORMED,
        }
    }
}

/// The answer by the documentation: weight, votes that carry it, and votes that were considered.
fn model(
    weights: &[u64],
    picks: &[Pick],
    rule: QuorumRule,
    needed: u128,
) -> Result<(u128, Vec<usize>, usize), QuorumError> {
    let is_member = |pick: &Pick| pick.member < weights.len();
    let insufficient = |claimed, verified| QuorumError::Insufficient {
        needed,
        claimed,
        verified,
    };
    // Weight of the members with a vote in a list, each counted once.
    let weight = |picks: &mut dyn Iterator<Item = &Pick>| -> u128 {
        let mut members: Vec<usize> = picks.map(|pick| pick.member).collect();
        members.sort_unstable();
        members.dedup();
        members
            .iter()
            .map(|&member| u128::from(weights[member]))
            .sum()
    };
    if rule == AnyValid {
        let usable = |pick: &&Pick| {
            is_member(pick) && pick.kind.reason() != Some(RejectReason::SignatureLength)
        };
        let valid = |pick: &&Pick| is_member(pick) && pick.kind.reason().is_none();
        let claimed = weight(&mut picks.iter().filter(usable));
        for examined in 0..=picks.len() {
            let (before, after) = picks.split_at(examined);
            let verified = weight(&mut before.iter().filter(valid));
            if verified >= needed {
                let carries = |&n: &usize| {
                    let first = |pick: &Pick| pick.member == picks[n].member && valid(&pick);
                    picks.iter().position(first) == Some(n)
                };
                return Ok((verified, (0..examined).filter(carries).collect(), examined));
            }
            let hoped = before
                .iter()
                .filter(valid)
                .chain(after.iter().filter(usable));
            if weight(&mut { hoped }) < needed {
                return Err(insufficient(claimed, verified));
            }
        }
    }
    if let Some(vote) = picks.iter().position(|pick| !is_member(pick)) {
        return Err(QuorumError::UnknownMember { vote });
    }
    let mut carried = Vec::new();
    for (second, pick) in picks.iter().enumerate() {
        let mut earlier = picks[..second].iter();
        let Some(first) = earlier.position(|earlier| earlier.member == pick.member) else {
            carried.push(second);
            continue;
        };
        if pick.kind.signature(pick.member) != picks[first].kind.signature(pick.member) {
            return Err(QuorumError::ConflictingClaims { first, second });
        }
        if rule == Certificate {
            return Err(QuorumError::Duplicate { first, second });
        }
    }
    let claimed = weight(&mut picks.iter());
    if claimed < needed {
        return Err(insufficient(claimed, 0));
    }
    let rejected = picks.iter().enumerate().find_map(|(vote, pick)| {
        let reason = pick.kind.reason()?;
        Some(QuorumError::Rejected { vote, reason })
    });
    rejected.map_or(Ok((claimed, carried, picks.len())), Err)
}

/// Whether an answer is that of the model, and its votes make a certificate.
fn check(
    committee: &Committee<MlDsa44>,
    votes: &[(MemberId, &[u8])],
    found: &Result<QuorumReport, QuorumError>,
    expected: &Result<(u128, Vec<usize>, usize), QuorumError>,
) {
    let parts = |report: &QuorumReport| {
        (
            report.weight(),
            report.carried_by().to_vec(),
            report.examined(),
        )
    };
    assert_eq!(found.as_ref().map(parts).map_err(|error| *error), *expected);
    if let Ok(report) = found {
        // Verified again by the strictest rule.
        let carried: Vec<_> = report.carried_by().iter().map(|&n| votes[n]).collect();
        let verifier = committee.verifier();
        let again = verifier.verify_quorum(BLOCK, &carried, Certificate);
        assert_eq!(again.unwrap().weight(), report.weight());
    }
}

fn pick() -> impl Strategy<Value = Pick> {
    (0_usize..9, prop_oneof![6 => Just(0_usize), 1 => 0_usize..6]).prop_map(|(member, kind)| Pick {
        member,
        kind: Kind::ALL[kind],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Random lists through every rule, threshold and entry point.
    #[test]
    fn quorums_equal_the_model(
        weights in proptest::collection::vec(
            prop_oneof![4 => 1_u64..4, 1 => Just(u64::MAX)], 1..8),
        picks in proptest::collection::vec(pick(), 0..14),
    ) {
        for threshold in [Threshold::TWO_THIRDS, Threshold::MAJORITY, Threshold::ONE_THIRD] {
            let committee = with_threshold(&weights, threshold);
            // Ids beyond the committee are those of another epoch.
            let other = weighted(&[1; 9]);
            let id = |member: usize| -> MemberId {
                committee.member(member as u32).or(other.member(member as u32)).unwrap()
            };
            let vote = |pick: &Pick| attestation(id(pick.member), pick.kind.signature(pick.member));
            let votes: Vec<(MemberId, &[u8])> = picks.iter().map(vote).collect();
            let service = service();
            for rule in [Certificate, CertificateWithDuplicates, AnyValid] {
                let expected = model(&weights, &picks, rule, committee.required_weight());
                for verifier in verifiers(&committee) {
                    check(&committee, &votes, &verifier.verify_quorum(BLOCK, &votes, rule), &expected);
                }
                // Twice: the second time from the cache.
                for _ in 0..2 {
                    let found = service.verify_quorum(&committee, BLOCK, &votes, rule);
                    check(&committee, &votes, &found, &expected);
                }
                let owned = votes.iter().map(|(member, signature)| (*member, Box::from(*signature)));
                let pending = service.submit_quorum(Source::own(), &committee, BLOCK, owned.collect(), rule);
                check(&committee, &votes, &pending.unwrap().wait(), &expected);
            }
        }
    }

}

/// The threshold of a verifier counts, in place of its committee's.
#[test]
fn a_verifier_has_another_threshold() {
    let committee = weighted(&[1; 4]);
    let votes = [0, 1].map(|n| attestation(committee.member(n).unwrap(), &GOOD[n as usize]));
    let count = |verifier: &CommitteeVerifier<_>| {
        let report = verifier.verify_quorum(BLOCK, &votes, Certificate);
        report.map(|report| report.weight())
    };
    let verifier = committee.verifier();
    let third = verifier.with_threshold(Threshold::ONE_THIRD);
    assert_eq!((count(&third), third.committee()), (Ok(2), &committee));
    assert!(count(&verifier).is_err() && count(&third.for_committee(committee.clone())).is_err());
    assert_eq!(count(&third.with_committee(weighted(&[2; 4]))), Ok(2));
}

#[test]
fn equivocation_needs_two_valid_signatures_over_two_messages_for_one_slot() {
    let committee = weighted(&[1; 4]);
    let member = committee.member(2).unwrap();
    let (block, other): (&[u8], &[u8]) = (BLOCK, b"block 8");
    // The protocol's slot: the kind of message.
    let slot = |message: &[u8]| message.starts_with(b"block").then_some([0]);
    let prove = |first, second| committee.equivocation(member, slot, first, second);
    let evidence = prove((block, &GOOD[2]), (other, &OTHER[2])).unwrap();
    assert_eq!(evidence.member(), member);
    assert_eq!(evidence.slot(), [0]);
    // A third party checks it with its own committee.
    let theirs = weighted(&[1; 4]);
    let [first, second] = evidence.votes();
    assert_eq!(
        theirs
            .equivocation(evidence.member(), slot, first, second)
            .unwrap(),
        evidence
    );
    // `Ok` convicts, always. A hedged second signature of one message is no equivocation.
    let hedged = prove((block, &GOOD[2]), (block, &HEDGED[2]));
    assert_eq!(hedged, Err(EquivocationError::EqualMessages));
    // Votes for two heights, and a message without a slot, are none.
    let height = |message: &[u8]| message.last().copied().map(|height| [height]);
    let heights = committee.equivocation(member, height, (block, &GOOD[2]), (other, &OTHER[2]));
    assert_eq!(heights, Err(EquivocationError::OtherSlot));
    let none = committee.equivocation(
        member,
        |_| None::<[u8; 0]>,
        (block, &GOOD[2]),
        (other, &OTHER[2]),
    );
    assert_eq!(none, Err(EquivocationError::NoSlot { vote: 0 }));
    // A signature by another member, or over another message.
    for forged in [&GOOD[1], &GOOD[2]] {
        let forged = prove((block, &GOOD[2]), (other, forged));
        let (vote, reason) = (1, RejectReason::ChallengeMismatch);
        assert_eq!(forged, Err(EquivocationError::Rejected { vote, reason }));
    }
    let next = weighted(&[2; 4]);
    let foreign = next.equivocation(member, slot, first, second);
    let (vote, reason) = (0, RejectReason::UnknownMember);
    assert_eq!(foreign, Err(EquivocationError::Rejected { vote, reason }));
}
