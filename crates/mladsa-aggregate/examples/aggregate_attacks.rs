//! Three attacks on summed ML-DSA signatures, carried out, and the interface of
//! this crate refusing each of them.
//!
//! `cargo run --release -p mladsa-aggregate --features transparent-commitments
//! --example aggregate_attacks`

use core::error::Error;
use std::sync::Arc;
use std::time::Instant;

use algebra::*;
use mladsa_aggregate::base::Gate;
use mladsa_aggregate::*;
use mldsa_core::hazmat::interval::{CentredInterval, INTERVAL_POLY_LEN};
use mldsa_core::hazmat::vectors::{self, ResponseHat};
use mldsa_core::hazmat::{Element, N, NttPoly, Poly, Q, Shake256, keygen_from_rho_p};
use mldsa_core::{
    Backend, Context, MlDsa87, MuBuilder, ParameterSet, Randomness, SigningKey, VerifyingKey,
};

#[path = "../tests/algebra/mod.rs"]
mod algebra;

const RHO: &[u8; 32] = b"rho of the committee in the demo";
const CTX: &[u8] = b"DEMO";
const MEMBERS: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    base_mode_leaks_the_key()?;
    a_repeated_decision_leaks_the_key()?;
    a_rogue_key_signs_for_all()?;
    Ok(())
}

/// Everything that an observer of a round of base mode sees gives the keys of the
/// whole cohort, and with them any message under the same aggregate key.
fn base_mode_leaks_the_key() -> Result<(), Box<dyn Error>> {
    println!("1. Base mode: an observer of one round");
    let members = members();
    let registry = registry(&members)?;
    let slot = BaseLabel::new(b"slot 1")?;
    let gate = Gate::new(&registry, 1, slot.clone());
    let payload = b"pay 10 to Alice";
    let decision = Decision {
        ctx: CTX,
        label: &slot,
        kind: Kind::Consensus,
        payload,
    };
    let label = gate.label(&decision, 0)?;
    let mut public_keys = Vec::new();
    let mut guards = Vec::new();
    for member in &members {
        let mut guard = Guard::in_memory_for_tests(member.seed())?;
        let hedge = Randomness::Deterministic;
        let signed = member.sign_content_key(&gate, &label, &mut guard, hedge, &[1; 64])?;
        public_keys.push(gate.authenticate(member.id(), &label, &signed)?);
        guards.push(guard);
    }
    let round = gate.round(&decision, 0, public_keys.clone())?;
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    let mut seen = Vec::new();
    for (member, guard) in members.iter().zip(&mut guards) {
        let (wait, commitment) = member.commit(&round, guard)?;
        seen.push(commitment.body().to_vec());
        set.add(&commitment)?;
        pending.push(wait);
    }
    let challenge = set.challenge()?;
    let mut responses = Vec::new();
    for ((member, wait), guard) in members.iter().zip(pending).zip(&mut guards) {
        responses.push(member.respond(wait, &challenge, guard)?);
    }

    // From here on only what was published: t, w, z of each member and c_tilde.
    let start = Instant::now();
    let a_hat = matrix(RHO);
    let c_hat = challenge_of(challenge.c_tilde());
    let (mut s1_sum, mut t_sum) = (polys(L), polys(K));
    for ((public_key, w), response) in public_keys.iter().zip(&seen).zip(&responses) {
        let t = read_vec(public_key.public_key().as_bytes());
        let s2 = s2_from(&a_hat, &c_hat, &t, &read_vec(w), &read_response(response));
        let s1 = solve(&a_hat, &t, &s2);
        assert_small(&s1, &s2);
        assert!(is_key(&a_hat, &s1, &s2, &t));
        vectors::add_integers(&mut s1_sum, &s1);
        vectors::add(&mut t_sum, &t);
    }
    println!(
        "   s1 and s2 of {MEMBERS} members, all {} coefficients of each, in {:?}",
        N * (L + K),
        start.elapsed()
    );

    let forged_message = b"pay 10000 to Mallory";
    let (signature, tries) = forge(&a_hat, &s1_sum, &t_sum, forged_message, round.ctx())?;
    let key = round.key();
    key.verify(forged_message, Context::new(round.ctx())?, &signature)?;
    println!("   another message under the same aggregate key: valid after {tries} tries");

    // What stands against it: off unless switched on, a label for one message,
    // and verifiers that take one message for each label.
    let other = Decision {
        payload: forged_message,
        ..decision
    };
    let refused = gate.round(&other, 0, public_keys.clone()).map(|_| ());
    println!(
        "   gate, the same keys for that message: {}",
        expect(refused, mladsa_aggregate::Error::CohortMismatch)
    );
    let mut combiner = Combiner::new(&challenge);
    for response in &responses {
        combiner.add(response)?;
    }
    let aggregate = match combiner.finish() {
        Ok(aggregate) => aggregate,
        Err(_) => gate.aggregate_one_party(&members, &decision)?,
    };
    let policy = Policy::two_thirds(&registry);
    let (_, agreed, _) = agreed(&members, &registry)?;
    let refused = aggregate.verify_expecting(&agreed, &public_keys, &decision, &policy);
    println!(
        "   a verifier that did not ask for base mode: {}",
        expect(refused.map(|_| ()), mladsa_aggregate::Error::ModeRefused)
    );
    if aggregate.label() == &label {
        let mut consumed = InMemoryPinsForTests::default();
        gate.verify(&aggregate, &public_keys, &decision, &policy, &mut consumed)?;
    }
    Ok(())
}

/// The nonce is fixed by the content, the challenge by everybody's commitments:
/// asked twice, with one commitment changed, a member without memory answers twice
/// with one nonce.
fn a_repeated_decision_leaks_the_key() -> Result<(), Box<dyn Error>> {
    println!("2. Offset mode: the same decision twice, one commitment changed");
    let members = members();
    let registry = registry(&members)?;
    let (trees, agreed, mut guards) = agreed(&members, &registry)?;
    let slot = BaseLabel::new(b"slot 1")?;
    let label = slot.attempt(0)?;
    let mut public_keys = Vec::new();
    for ((member, tree), guard) in members.iter().zip(&trees).zip(&guards) {
        let opening = member.open(&agreed, tree, &label, guard)?;
        public_keys.push(agreed.authenticate(&opening)?);
    }
    let decision = Decision {
        ctx: CTX,
        label: &slot,
        kind: Kind::Decision,
        payload: b"block 77",
    };
    let round = Round::new(&agreed, &decision, 0, public_keys.clone())?;
    let victim = &members[0];
    let mut commitments = Vec::new();
    for (member, guard) in members.iter().zip(&mut guards) {
        commitments.push(member.commit(&round, guard)?.1);
    }
    let mallory = members[MEMBERS - 1].id();
    let challenge_with = |last: &Message| {
        let mut set = CommitmentSet::new(&round);
        for commitment in &commitments[..MEMBERS - 1] {
            set.add(commitment)?;
        }
        set.add(last)?;
        set.challenge()
    };
    let other = second_commitment(&commitments[MEMBERS - 1], &agreed)?;
    let first = challenge_with(&commitments[MEMBERS - 1])?;
    let second = challenge_with(&other)?;

    // A signer whose guard was lost, or restored from a backup, in between.
    let answer = |challenge: &Challenge| {
        let mut forgetful = Guard::in_memory_for_tests(victim.seed())?;
        victim.acknowledge(agreed.pinned(), &mut forgetful, Randomness::Deterministic)?;
        let (pending, _) = victim.commit(&round, &mut forgetful)?;
        victim.respond(pending, challenge, &mut forgetful)
    };
    let (z1, z2) = (
        read_response(&answer(&first)?),
        read_response(&answer(&second)?),
    );
    let (c1, c2) = (
        challenge_of(first.c_tilde()),
        challenge_of(second.c_tilde()),
    );
    let a_hat = matrix(RHO);
    let s1: Vec<Poly> = z1
        .iter()
        .zip(&z2)
        .map(|(z1, z2)| {
            let difference = Poly(core::array::from_fn(|n| z1.0[n] - z2.0[n]));
            let z_hat = transform(&difference);
            inverse(&NttPoly(core::array::from_fn(|n| {
                let c = reduce(i64::from(c1.0[n]) - i64::from(c2.0[n]));
                mul(z_hat.0[n], invert(c))
            })))
        })
        .collect();
    let t = read_vec(public_keys[0].public_key().as_bytes());
    let s2 = rest(&a_hat, &s1, &t);
    assert_small(&s1, &s2);
    println!("   s1 = (z - z') / (c - c'): the whole key from two responses");

    let guard = &mut guards[0];
    let pending = victim.resume(&round, guard)?;
    victim.respond(pending, &first, guard)?;
    let pending = victim.resume(&round, guard)?;
    let refused = victim.respond(pending, &second, guard).map(|_| ());
    println!(
        "   a signer with its guard: {}",
        expect(refused, mladsa_aggregate::Error::OneTimeViolation)
    );
    let evidence = Equivocation::new(&commitments[MEMBERS - 1], &other).ok_or("no evidence")?;
    let evidence = Equivocation::from_bytes(&evidence.to_bytes(), &registry)?;
    assert_eq!(evidence.id(), mallory);
    println!("   the two signed commitments name {}", evidence.id());
    Ok(())
}

/// Who chooses its key after it has seen the others' cancels them.
fn a_rogue_key_signs_for_all() -> Result<(), Box<dyn Error>> {
    println!("3. A registered member that publishes its key last");
    let members = members();
    let registry = registry(&members)?;
    let (trees, agreed, guards) = agreed(&members, &registry)?;
    let label = BaseLabel::new(b"slot 1")?.attempt(0)?;
    let honest = &members[..MEMBERS - 1];
    let rogue = &members[MEMBERS - 1];
    let mut t_others = polys(K);
    for ((member, tree), guard) in honest.iter().zip(&trees).zip(&guards) {
        let opening = member.open(&agreed, tree, &label, guard)?;
        let t = &opening.body()[..CONTENT_PUBLIC_KEY_LEN];
        vectors::add(&mut t_others, &read_vec(t));
    }
    // A key of its own, and the one that the others' keys vanish in.
    let a_hat = matrix(RHO);
    let mut s = polys(L + K);
    vectors::expand_s(Backend::detect(), P, &[9; 64], &mut s);
    let t_own = product(&a_hat, &s[..L], &s[L..]);
    let t_rogue: Vec<Poly> = t_own
        .iter()
        .zip(&t_others)
        .map(|(own, others)| {
            Poly(core::array::from_fn(|n| {
                (own.0[n] - others.0[n]).rem_euclid(Q)
            }))
        })
        .collect();
    let mut t_sum = polys(K);
    vectors::add(&mut t_sum, &t_others);
    vectors::add(&mut t_sum, &t_rogue);
    let mut cohort_key = [0; MlDsa87::PK_LEN];
    vectors::pk_encode(RHO, &t_sum, &mut cohort_key);

    let (mut pk, mut sk) = ([0; MlDsa87::PK_LEN], [0; MlDsa87::SK_LEN]);
    keygen_from_rho_p::<MlDsa87>(Backend::detect(), RHO, &[9; 64], &[8; 32], &mut pk, &mut sk);
    let signature = SigningKey::<MlDsa87>::from_expanded_bytes(&sk)?.sign(
        b"anything",
        Context::new(CTX)?,
        Randomness::Deterministic,
    )?;
    VerifyingKey::<MlDsa87>::from_bytes(&cohort_key)?.verify(
        b"anything",
        Context::new(CTX)?,
        signature.as_ref(),
    )?;
    println!("   it alone signs under the key of all {MEMBERS}");

    // Its root was pinned before it saw anything, so it does not open.
    let public_key = write_vec(&t_rogue);
    let tree = &trees[MEMBERS - 1];
    let own = rogue.open(&agreed, tree, &label, &guards[MEMBERS - 1])?;
    let mut body = own.body().to_vec();
    body[..public_key.len()].copy_from_slice(&public_key);
    let claim = signed(&own, &body, &agreed)?;
    let refused = agreed.authenticate(&claim).map(|_| ());
    println!(
        "   its opening against the agreed root: {}",
        expect(refused, mladsa_aggregate::Error::BadPath)
    );
    // Nor can it prove that it knows the key.
    let own_proof = rogue.prove_content_key(&registry, 1, &label, &[3; 64])?;
    let public_key = ContentPublicKey::from_bytes(&public_key)?;
    let proof = own_proof.as_ref();
    let refused = verify_content_key(&registry, 1, rogue.id(), &label, &public_key, proof);
    println!(
        "   its proof of the content key: {}",
        expect(refused, mladsa_aggregate::Error::BadKeyProof)
    );
    Ok(())
}

/// The refusal that has to come.
fn expect(result: Result<(), mladsa_aggregate::Error>, error: mladsa_aggregate::Error) -> String {
    assert_eq!(result, Err(error));
    format!("refused ({error})")
}

fn members() -> Vec<Member> {
    (0..MEMBERS as u8)
        .map(|n| {
            let id = MemberId::new(&[b'm', b'0' + n]).expect("two bytes");
            Member::new(id, MasterSeed::from_bytes(&[n; 32]), &[n + 100; 32])
        })
        .collect()
}

fn registry(members: &[Member]) -> Result<Arc<Registry>, mladsa_aggregate::Error> {
    let entries: Result<Vec<_>, _> = members
        .iter()
        .map(|member| member.register(Randomness::Deterministic))
        .collect();
    Registry::new(RHO, entries?)
}

type Agreed = (Vec<EpochTree>, AgreedRoots, Vec<Guard>);

fn agreed(members: &[Member], registry: &Arc<Registry>) -> Result<Agreed, Box<dyn Error>> {
    let plan = EpochPlan::new(1, vec![BaseLabel::new(b"slot 1")?])?;
    let (mut trees, mut roots, mut guards) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        let mut guard = Guard::in_memory_for_tests(member.seed())?;
        let tree = member.epoch_tree(registry, &plan)?;
        roots.push(member.announce(&tree, &mut guard, Randomness::Deterministic)?);
        trees.push(tree);
        guards.push(guard);
    }
    let mut pins = InMemoryPinsForTests::default();
    let pinned = PinnedRoots::pin(&mut pins, registry, &plan, &roots)?;
    let mut words = Vec::new();
    for (member, guard) in members.iter().zip(&mut guards) {
        words.push(member.acknowledge(&pinned, guard, Randomness::Deterministic)?);
    }
    let agreed = AgreedRoots::new(&pinned, &words)?;
    Ok((trees, agreed, guards))
}

/// Another commitment of the same member, signed with its registration key.
fn second_commitment(message: &Message, agreed: &AgreedRoots) -> Result<Message, Box<dyn Error>> {
    let mut body = message.body().to_vec();
    body[0] ^= 1;
    signed(message, &body, agreed)
}

/// A message with another body, as a member with code of its own signs it.
fn signed(message: &Message, body: &[u8], agreed: &AgreedRoots) -> Result<Message, Box<dyn Error>> {
    let mut bytes = message.to_bytes();
    let end = bytes.len() - MlDsa87::SIG_LEN;
    bytes.truncate(end);
    bytes[end - body.len()..].copy_from_slice(body);
    let mut framed = Vec::new();
    for part in [&b"F.msg"[..], &bytes] {
        framed.extend(u32::try_from(part.len())?.to_be_bytes());
        framed.extend(part);
    }
    let mut digest = [0; 64];
    Shake256::digest(Backend::detect().permutation(), &[&framed], &mut digest);
    let number = message.id().as_bytes()[1] - b'0';
    let key = SigningKey::<MlDsa87>::from_seed(&[number + 100; 32]);
    let signature = key.sign(&digest, Context::new(b"F.msg")?, Randomness::Deterministic)?;
    bytes.extend(signature.as_ref());
    Ok(agreed.receive(&bytes)?)
}

/// A message signed as FIPS 204 does, with the sums of recovered secrets. `t_sum`
/// stands for s2: the hint comes from public data.
fn forge(
    a_hat: &[NttPoly],
    s1: &[Poly],
    t: &[Poly],
    message: &[u8],
    ctx: &[u8],
) -> Result<([u8; MlDsa87::SIG_LEN], usize), Box<dyn Error>> {
    let backend = Backend::detect();
    let mut pk = [0; MlDsa87::PK_LEN];
    vectors::pk_encode(RHO, t, &mut pk);
    let key = VerifyingKey::<MlDsa87>::from_bytes(&pk)?;
    let mut mu = MuBuilder::from_tr(key.tr(), Context::new(ctx)?);
    mu.update(message);
    let mu = mu.finish();
    let mut s1_hat = ntt_polys(L);
    vectors::ntt(backend, s1, &mut s1_hat);
    for attempt in 1..100u8 {
        let mut y = polys(L);
        for (i, y) in (0u8..).zip(&mut y) {
            let mut bytes = [0; INTERVAL_POLY_LEN];
            Shake256::digest(backend.permutation(), &[b"mask", &[attempt, i]], &mut bytes);
            CentredInterval::new(1 << 18).sample(&bytes, y);
        }
        let mut w = product(a_hat, &y, &polys(K));
        let mut c_tilde = [0; 64];
        vectors::commitment_hash(backend, P, &mu, &mut w, &mut c_tilde);
        let mut c_hat = NttPoly::ZERO;
        vectors::challenge(backend, P, &c_tilde, &mut c_hat);
        vectors::respond(backend, &c_hat, &s1_hat, &mut y);
        let mut z_hat = ntt_polys(L);
        let z = ResponseHat {
            z: &y,
            z_hat: &mut z_hat,
        };
        let mut signature = [0; MlDsa87::SIG_LEN];
        let done =
            vectors::combine::<MlDsa87>(backend, a_hat, &pk, &c_tilde, &w, z, &mut signature);
        if done.is_ok() {
            return Ok((signature, usize::from(attempt)));
        }
    }
    Err("no signature in 99 tries".into())
}

#[test]
fn every_attack_works_and_is_refused() -> Result<(), Box<dyn Error>> {
    main()
}
