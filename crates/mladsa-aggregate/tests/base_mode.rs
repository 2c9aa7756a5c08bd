//! Base mode: the gate, and the one-party form.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "shared with the other tests")]
mod committee;
mod peer;

use committee::*;
use mladsa_aggregate::base::Gate;
use mladsa_aggregate::*;
use mldsa_core::Randomness;

fn gate(registry: &std::sync::Arc<Registry>) -> Gate {
    Gate::new(registry, EPOCH, base("slot 1"))
}

/// Everybody's authenticated key for the attempt.
fn public_keys(gate: &Gate, members: &[Member], label: &ContentLabel) -> Vec<AuthenticatedKey> {
    members
        .iter()
        .map(|member| {
            let signed = member
                .sign_content_key(
                    gate,
                    label,
                    &mut guard(member),
                    Randomness::Deterministic,
                    &[3; 64],
                )
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
    let slot = base("slot 1");
    let (first, second) = (decision(&slot, b"first"), decision(&slot, b"second"));
    let one_party = |decision| gate.aggregate_one_party(&members, decision).unwrap();
    let aggregate = one_party(&first);
    let public_keys_of = |aggregate: &Aggregate| public_keys(&gate, &members, aggregate.label());
    let known = public_keys_of(&aggregate);
    let mut consumed = InMemoryPinsForTests::default();
    let policy = Policy::two_thirds(&registry);
    let mut verify = |aggregate: &Aggregate, known: &[AuthenticatedKey], decision| {
        gate.verify(aggregate, known, decision, &policy, &mut consumed)
    };
    let round = verify(&aggregate, &known, &first).unwrap();
    verify(&aggregate, &known, &first).unwrap();
    let (pk, signature) = (round.key().as_bytes(), aggregate.signature().as_ref());
    peer::check(pk, round.message(), round.ctx(), signature);

    // The interactive form gives the same bytes.
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    let mut guards: Vec<Guard> = members.iter().map(guard).collect();
    for (member, guard) in members.iter().zip(&mut guards) {
        // Base mode has no list of roots: what it has instead is bound with the key.
        assert_eq!(
            member.commit(&round, guard).unwrap_err(),
            Error::RootsNotAgreed
        );
        let label = round.label();
        member
            .sign_content_key(&gate, label, guard, Randomness::Deterministic, &[3; 64])
            .unwrap();
        let (wait, message) = member.commit(&round, guard).unwrap();
        set.add(&gate.receive(&message.to_bytes()).unwrap())
            .unwrap();
        pending.push(wait);
    }
    let challenge = set.challenge().unwrap();
    let mut combiner = Combiner::new(&challenge);
    for ((member, wait), guard) in members.iter().zip(pending).zip(&mut guards) {
        let message = member.respond(wait, &challenge, guard).unwrap();
        combiner.add(&message).unwrap();
    }
    assert_eq!(combiner.finish().unwrap(), aggregate);
    // A coefficient of w that is not reduced.
    let unreduced = [0xff; COMMITMENT_LEN];
    assert_eq!(
        Commitment::from_bytes(&round, &unreduced),
        Err(Error::OutOfRange)
    );

    // A second message under the same base label.
    let other = one_party(&second);
    let refused = verify(&other, &public_keys_of(&other), &second);
    assert_eq!(refused.unwrap_err(), Error::ModeRefused);
    // The keys of the first message do not serve another payload: neither for a
    // round nor in an object.
    let refused = gate.round(&second, aggregate.label().attempt(), known.clone());
    assert_eq!(refused.unwrap_err(), Error::CohortMismatch);
    let mut bytes = aggregate.to_bytes();
    let at = bytes
        .windows(5)
        .position(|window| window == b"first")
        .unwrap();
    bytes[at] ^= 1;
    let changed = Aggregate::from_bytes(&bytes).unwrap();
    let refused = verify(&changed, &known, &first);
    assert_eq!(refused.unwrap_err(), Error::UnexpectedDecision);
    // Another label than the gate's.
    let elsewhere = base("slot 2");
    let refused = gate.round(&decision(&elsewhere, b"first"), 0, known.clone());
    assert_eq!(refused.unwrap_err(), Error::ModeRefused);
    // Who does not ask for base mode does not get it.
    let mut committee = Committee::new(4, &["x"]);
    let refused = committee.verify(&aggregate, &known, &slot, b"first");
    assert_eq!(refused.unwrap_err(), Error::ModeRefused);
    let (offset, _) = committee.sign(&[0, 1, 2, 3], "x", b"first");
    let refused = verify(&offset, &known, &first);
    assert_eq!(refused.unwrap_err(), Error::ModeRefused);
}

#[test]
fn keys_are_signed_twice() {
    let members: Vec<Member> = (0..2).map(member).collect();
    let registry = registry(&members);
    let gate = gate(&registry);
    let label = gate
        .label(&decision(&base("slot 1"), b"payload"), 0)
        .unwrap();
    let signed = members[0]
        .sign_content_key(
            &gate,
            &label,
            &mut guard(&members[0]),
            Randomness::Deterministic,
            &[3; 64],
        )
        .unwrap();
    assert!(gate.authenticate(&id(0), &label, &signed).is_ok());
    let other = gate.label(&decision(&base("slot 1"), b"other"), 0).unwrap();
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
        let slot = base("slot 1");
        let decision = Decision {
            kind: Kind::Consensus,
            ..decision(&slot, b"payload")
        };
        let aggregate = gate.aggregate_one_party(&members, &decision).unwrap();
        let known = public_keys(&gate, &members, aggregate.label());
        let policy = Policy::two_thirds(&registry);
        let mut consumed = InMemoryPinsForTests::default();
        let round = gate.verify(&aggregate, &known, &decision, &policy, &mut consumed);
        let round = round.unwrap();
        let (pk, signature) = (round.key().as_bytes(), aggregate.signature().as_ref());
        peer::check(pk, b"payload", round.ctx(), signature);
        println!(
            "n = {n}: attempts {}, hints {}",
            aggregate.label().attempt() + 1,
            aggregate.hint_weight()
        );
    }
}
