//! Base mode: the gate, and the one-party form.
#![allow(clippy::unwrap_used, reason = "a test")]
#![cfg(feature = "transparent-commitments")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;
mod peers;

use committee::*;
use mladsa_aggregate::base::{ConsumedLabels, Gate};
use mladsa_aggregate::*;
use mldsa_core::Hedge;

fn gate(registry: &std::sync::Arc<Registry>) -> Gate {
    Gate::new(registry, EPOCH, base("slot 1"))
}

/// Everybody's authenticated key for the attempt.
fn public_keys(
    gate: &Gate,
    registry: &Registry,
    members: &[Member],
    label: &ContentLabel,
) -> Vec<AuthenticatedKey> {
    members
        .iter()
        .map(|member| {
            let signed = member
                .sign_content_key(registry, label, Hedge::Deterministic, &[3; 64])
                .unwrap();
            gate.authenticate(member.id(), label, &signed).unwrap()
        })
        .collect()
}

#[test]
fn the_gate_admits_one_message_for_each_label() {
    let members: Vec<Member> = (0..4).map(member).collect();
    let registry = registry(&members);
    let gate = gate(&registry);
    let one_party = |payload| {
        gate.aggregate_one_party(&members, b"TEST", Kind::Decision, payload)
            .unwrap()
    };
    let aggregate = one_party(b"first");
    let shares_of =
        |aggregate: &Aggregate| public_keys(&gate, &registry, &members, aggregate.label());
    let known = shares_of(&aggregate);
    let mut consumed = ConsumedLabels::default();
    let round = gate.verify(&aggregate, &known, &mut consumed).unwrap();
    gate.verify(&aggregate, &known, &mut consumed).unwrap();
    let (pk, signature) = (round.key().as_bytes(), aggregate.signature().as_ref());
    peers::check(pk, round.message(), round.ctx(), signature);

    // The interactive form gives the same bytes.
    let decision = Decision {
        ctx: b"TEST",
        label: aggregate.label(),
        kind: Kind::Decision,
        payload: b"first",
    };
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    let mut guards: Vec<_> = members
        .iter()
        .map(|m| InMemoryGuardForTests::new(m.seed()))
        .collect();
    for (member, guard) in members.iter().zip(&mut guards) {
        let (wait, commitment) = member.commit(&round, guard).unwrap();
        set.add(
            member.id(),
            Commitment::from_bytes(&round, commitment.as_bytes()).unwrap(),
        )
        .unwrap();
        pending.push(wait);
    }
    let challenge = set.challenge().unwrap();
    let mut combiner = Combiner::new(&challenge);
    for ((member, wait), guard) in members.iter().zip(pending).zip(&mut guards) {
        combiner
            .add(member.id(), wait.respond(&challenge, guard).unwrap())
            .unwrap();
    }
    assert_eq!(combiner.finish().unwrap(), aggregate);
    // A coefficient of w that is not reduced.
    let unreduced = [0xff; COMMITMENT_LEN];
    assert_eq!(
        Commitment::from_bytes(&round, &unreduced),
        Err(Error::OutOfRange)
    );

    // A second message under the same base label.
    let second = one_party(b"second");
    let refused = gate.verify(&second, &shares_of(&second), &mut consumed);
    assert_eq!(refused.unwrap_err(), Error::ModeRefused);
    // The label of the first message does not serve another payload: neither for
    // a round nor in an object.
    let other = Decision {
        payload: b"second",
        ..decision
    };
    assert_eq!(
        gate.round(&other, known.clone()).unwrap_err(),
        Error::ModeRefused
    );
    let mut bytes = aggregate.to_bytes();
    let at = bytes
        .windows(5)
        .position(|window| window == b"first")
        .unwrap();
    bytes[at] ^= 1;
    let changed = Aggregate::from_bytes(&bytes).unwrap();
    let refused = gate.verify(&changed, &known, &mut ConsumedLabels::default());
    assert_eq!(refused.unwrap_err(), Error::ModeRefused);
    // A label that says nothing of the message.
    let label = base("slot 1").attempt(0).unwrap();
    let plain = Decision {
        label: &label,
        ..decision
    };
    assert_eq!(
        gate.round(&plain, known.clone()).unwrap_err(),
        Error::ModeRefused
    );
    // Who does not ask for base mode does not get it.
    let committee = Committee::new(4, &["x"]);
    assert_eq!(
        aggregate.verify(&committee.pinned, &known).unwrap_err(),
        Error::ModeRefused
    );
    let (offset, _) = { committee }.sign(&[0, 1, 2, 3], "x", b"first");
    assert_eq!(
        gate.verify(&offset, &known, &mut consumed).unwrap_err(),
        Error::ModeRefused
    );
}

#[test]
fn keys_are_signed_twice() {
    let members: Vec<Member> = (0..2).map(member).collect();
    let registry = registry(&members);
    let gate = gate(&registry);
    let label = gate.label(b"TEST", b"payload", 0).unwrap();
    let signed = members[0]
        .sign_content_key(&registry, &label, Hedge::Deterministic, &[3; 64])
        .unwrap();
    assert!(gate.authenticate(&id(0), &label, &signed).is_ok());
    let other = gate.label(b"TEST", b"other", 0).unwrap();
    for (id, label) in [(id(1), &label), (id(0), &other)] {
        assert_eq!(
            gate.authenticate(&id, label, &signed).unwrap_err(),
            Error::BadKeyProof
        );
    }
}

#[test]
fn one_party_aggregates_of_every_size_verify() {
    for n in [1, 2, 3, 16, 64, 128, 1024] {
        let members: Vec<Member> = (0..n).map(member).collect();
        let registry = registry(&members);
        let gate = gate(&registry);
        let aggregate = gate
            .aggregate_one_party(&members, b"TEST", Kind::Consensus, b"payload")
            .unwrap();
        let known = public_keys(&gate, &registry, &members, aggregate.label());
        let round = gate
            .verify(&aggregate, &known, &mut ConsumedLabels::default())
            .unwrap();
        let (pk, signature) = (round.key().as_bytes(), aggregate.signature().as_ref());
        peers::check(pk, b"payload", b"TEST", signature);
        println!(
            "n = {n}: attempts {}, hints {}",
            aggregate.label().attempt() + 1,
            aggregate.hint_weight()
        );
    }
}
