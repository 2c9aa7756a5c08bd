//! Three attacks on summed ML-DSA signatures, carried out, and the interface of
//! this crate refusing each of them.
//!
//! `cargo run --release -p mladsa-aggregate --features transparent-commitments
//! --example aggregate_attacks`

use core::error::Error;
use std::sync::Arc;
use std::time::Instant;

use mladsa_aggregate::base::{ConsumedLabels, Gate};
use mladsa_aggregate::*;
use mldsa_core::hazmat::interval::{CentredInterval, INTERVAL_POLY_LEN};
use mldsa_core::hazmat::linear::{self, ResponseHat};
use mldsa_core::hazmat::ntt::{inv_ntt, ntt};
use mldsa_core::hazmat::pack::{FULL_POLY_LEN, unpack_full, unpack_signed};
use mldsa_core::hazmat::sample::Challenge as Ball;
use mldsa_core::hazmat::{Element, N, NttPoly, Params, Poly, Q, Shake256, keygen_from_rho_p};
use mldsa_core::{
    Backend, Context, Hedge, MlDsa87, MuBuilder, ParameterSet, SigningKey, VerifyingKey,
};

const P: &Params = &MlDsa87::PARAMS;
const K: usize = MlDsa87::K;
const L: usize = MlDsa87::L;
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
    let gate = Gate::new(&registry, 1, BaseLabel::new(b"slot 1")?);
    let payload = b"pay 10 to Alice";
    let label = gate.label(CTX, payload, 0)?;
    let decision = Decision {
        ctx: CTX,
        label: &label,
        kind: Kind::Consensus,
        payload,
    };
    let mut public_keys = Vec::new();
    for member in &members {
        let signed = member.sign_content_key(&registry, &label, Hedge::Deterministic, &[1; 64])?;
        public_keys.push(gate.authenticate(member.id(), &label, &signed)?);
    }
    let round = gate.round(&decision, public_keys.clone())?;
    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    let mut seen = Vec::new();
    for member in &members {
        let mut guard = InMemoryGuardForTests::new(member.seed());
        let (wait, commitment) = member.commit(&round, &mut guard)?;
        seen.push(commitment.as_bytes().to_vec());
        set.add(member.id(), commitment)?;
        pending.push((wait, guard));
    }
    let challenge = set.challenge()?;
    let mut responses = Vec::new();
    for (wait, mut guard) in pending {
        responses.push(wait.respond(&challenge, &mut guard)?);
    }

    // From here on only what was published: t, w, z of each member and c_tilde.
    let start = Instant::now();
    let a_hat = matrix();
    let c_hat = challenge_of(challenge.c_tilde());
    let (mut s1_sum, mut t_sum) = (polys(L), polys(K));
    for ((public_key, w), response) in public_keys.iter().zip(&seen).zip(&responses) {
        let t = read_vec(public_key.public_key().as_bytes());
        let s2 = s2_from(&a_hat, &c_hat, &t, &read_vec(w), &read_response(response));
        let s1 = solve(&a_hat, &t, &s2);
        assert_small(&s1, &s2);
        assert!(is_key(&a_hat, &s1, &s2, &t));
        linear::add_integers(&mut s1_sum, &s1);
        linear::add(&mut t_sum, &t);
    }
    println!(
        "   s1 and s2 of {MEMBERS} members, all {} coefficients of each, in {:?}",
        N * (L + K),
        start.elapsed()
    );

    let forged_message = b"pay 10000 to Mallory";
    let (signature, tries) = forge(&a_hat, &s1_sum, &t_sum, forged_message)?;
    let key = round.key();
    key.verify(forged_message, Context::new(CTX)?, &signature)?;
    println!("   another message under the same aggregate key: valid after {tries} tries");

    // What stands against it: off unless switched on, a label for one message,
    // and verifiers that take one message for each label.
    let other = Decision {
        payload: forged_message,
        ..decision
    };
    let refused = gate.round(&other, public_keys.clone()).map(|_| ());
    println!(
        "   gate, the same label for that message: {}",
        expect(refused, mladsa_aggregate::Error::ModeRefused)
    );
    let mut combiner = Combiner::new(&challenge);
    for (member, response) in members.iter().zip(responses) {
        combiner.add(member.id(), response)?;
    }
    let aggregate = match combiner.finish() {
        Ok(aggregate) => aggregate,
        Err(_) => gate.aggregate_one_party(&members, CTX, Kind::Consensus, payload)?,
    };
    let (_, pinned) = pinned(&members, &registry)?;
    let refused = aggregate.verify(&pinned, &public_keys).map(|_| ());
    println!(
        "   a verifier that did not ask for base mode: {}",
        expect(refused, mladsa_aggregate::Error::ModeRefused)
    );
    let mut consumed = ConsumedLabels::default();
    if aggregate.label() == &label {
        gate.verify(&aggregate, &public_keys, &mut consumed)?;
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
    let (trees, pinned) = pinned(&members, &registry)?;
    let label = BaseLabel::new(b"slot 1")?.attempt(0)?;
    let mut public_keys = Vec::new();
    for (member, tree) in members.iter().zip(&trees) {
        let opening = member.open(&pinned, tree, &label)?;
        public_keys.push(pinned.authenticate(member.id(), &label, &opening)?);
    }
    let decision = Decision {
        ctx: CTX,
        label: &label,
        kind: Kind::Decision,
        payload: b"block 77",
    };
    let round = Round::new(&pinned, &decision, public_keys.clone())?;
    let victim = &members[0];
    let mut commitments = Vec::new();
    for member in &members {
        let mut guard = InMemoryGuardForTests::new(member.seed());
        commitments.push(member.commit(&round, &mut guard)?.1);
    }
    let challenge_with = |last: &Commitment| {
        let mut set = CommitmentSet::new(&round);
        for (member, commitment) in members.iter().zip(&commitments[..MEMBERS - 1]) {
            set.add(member.id(), commitment.clone())?;
        }
        set.add(members[MEMBERS - 1].id(), last.clone())?;
        set.challenge()
    };
    let mut other = commitments[MEMBERS - 1].as_bytes().to_vec();
    other[0] ^= 1;
    let first = challenge_with(&commitments[MEMBERS - 1])?;
    let second = challenge_with(&Commitment::from_bytes(&round, &other)?)?;

    // A signer whose guard was lost, or restored from a backup, in between.
    let answer = |challenge: &Challenge<'_>| {
        let mut forgetful = InMemoryGuardForTests::new(victim.seed());
        let (pending, _) = victim.commit(&round, &mut forgetful)?;
        pending.respond(challenge, &mut forgetful)
    };
    let (z1, z2) = (
        read_response(&answer(&first)?),
        read_response(&answer(&second)?),
    );
    let (c1, c2) = (
        challenge_of(first.c_tilde()),
        challenge_of(second.c_tilde()),
    );
    let a_hat = matrix();
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

    let mut guard = InMemoryGuardForTests::new(victim.seed());
    let (pending, _) = victim.commit(&round, &mut guard)?;
    pending.respond(&first, &mut guard)?;
    let refused = victim
        .resume(&round, &mut guard)?
        .respond(&second, &mut guard);
    println!(
        "   a signer with its guard: {}",
        expect(
            refused.map(|_| ()),
            mladsa_aggregate::Error::OneTimeViolation
        )
    );
    Ok(())
}

/// Who chooses its key after it has seen the others' cancels them.
fn a_rogue_key_signs_for_all() -> Result<(), Box<dyn Error>> {
    println!("3. A registered member that publishes its key last");
    let members = members();
    let registry = registry(&members)?;
    let (trees, pinned) = pinned(&members, &registry)?;
    let label = BaseLabel::new(b"slot 1")?.attempt(0)?;
    let honest = &members[..MEMBERS - 1];
    let rogue = &members[MEMBERS - 1];
    let mut t_others = polys(K);
    for (member, tree) in honest.iter().zip(&trees) {
        let opening = member.open(&pinned, tree, &label)?;
        linear::add(&mut t_others, &read_vec(opening.public_key().as_bytes()));
    }
    // A key of its own, and the one that the others' keys vanish in.
    let a_hat = matrix();
    let mut s = polys(L + K);
    linear::expand_s(Backend::detect(), P, &[9; 64], &mut s);
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
    linear::add(&mut t_sum, &t_others);
    linear::add(&mut t_sum, &t_rogue);
    let mut cohort_key = [0; MlDsa87::PK_LEN];
    linear::pk_encode(RHO, &t_sum, &mut cohort_key);

    let (mut pk, mut sk) = ([0; MlDsa87::PK_LEN], [0; MlDsa87::SK_LEN]);
    keygen_from_rho_p::<MlDsa87>(Backend::detect(), RHO, &[9; 64], &[8; 32], &mut pk, &mut sk);
    let signature = SigningKey::<MlDsa87>::from_expanded(&sk)?.sign(
        b"anything",
        Context::new(CTX)?,
        Hedge::Deterministic,
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
    let mut opening = rogue.open(&pinned, tree, &label)?.to_bytes();
    opening[..public_key.len()].copy_from_slice(&public_key);
    let opening = Opening::from_bytes(&opening)?;
    let refused = pinned
        .authenticate(rogue.id(), &label, &opening)
        .map(|_| ());
    println!(
        "   its opening against the pinned root: {}",
        expect(refused, mladsa_aggregate::Error::BadPath)
    );
    // Nor can it prove that it knows the key.
    let matrix = registry.matrix();
    let own_proof = rogue.prove_content_key(matrix, &label, &[3; 64])?;
    let public_key = ContentPublicKey::from_bytes(&public_key)?;
    let refused = verify_content_key(matrix, rogue.id(), &label, &public_key, own_proof.as_ref());
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
        .map(|member| member.register(Hedge::Deterministic))
        .collect();
    Registry::new(RHO, entries?)
}

fn pinned(
    members: &[Member],
    registry: &Arc<Registry>,
) -> Result<(Vec<EpochTree>, PinnedRoots), mladsa_aggregate::Error> {
    let plan = EpochPlan::new(1, vec![BaseLabel::new(b"slot 1")?])?;
    let trees: Result<Vec<_>, _> = members
        .iter()
        .map(|member| member.epoch_tree(registry.matrix(), &plan))
        .collect();
    let trees = trees?;
    let roots: Result<Vec<_>, _> = members
        .iter()
        .zip(&trees)
        .map(|(member, tree)| member.announce(tree, Hedge::Deterministic))
        .collect();
    let mut store = InMemoryRootsForTests::default();
    let pinned = PinnedRoots::pin(&mut store, registry, &plan, &roots?)?;
    Ok((trees, pinned))
}

/// A message signed as FIPS 204 does, with the sums of recovered secrets. `t_sum`
/// stands for s2: the hint comes from public data.
fn forge(
    a_hat: &[NttPoly],
    s1: &[Poly],
    t: &[Poly],
    message: &[u8],
) -> Result<([u8; MlDsa87::SIG_LEN], usize), Box<dyn Error>> {
    let backend = Backend::detect();
    let mut pk = [0; MlDsa87::PK_LEN];
    linear::pk_encode(RHO, t, &mut pk);
    let key = VerifyingKey::<MlDsa87>::from_bytes(&pk)?;
    let mut mu = MuBuilder::from_tr(key.tr(), Context::new(CTX)?);
    mu.update(message);
    let mu = mu.finish();
    let mut s1_hat = ntt_polys(L);
    linear::ntt(backend, s1, &mut s1_hat);
    for attempt in 1..100u8 {
        let mut y = polys(L);
        for (i, y) in (0u8..).zip(&mut y) {
            let mut bytes = [0; INTERVAL_POLY_LEN];
            Shake256::digest(backend.permutation(), &[b"mask", &[attempt, i]], &mut bytes);
            CentredInterval::new(1 << 18).sample(&bytes, y);
        }
        let mut w = product(a_hat, &y, &polys(K));
        let mut c_tilde = [0; 64];
        linear::commitment_hash(backend, P, &mu, &mut w, &mut c_tilde);
        let mut c_hat = NttPoly::ZERO;
        linear::challenge(backend, P, &c_tilde, &mut c_hat);
        linear::respond(backend, &c_hat, &s1_hat, &mut y);
        let mut z_hat = ntt_polys(L);
        let z = ResponseHat {
            z: &y,
            z_hat: &mut z_hat,
        };
        let mut signature = [0; MlDsa87::SIG_LEN];
        let done = linear::combine::<MlDsa87>(backend, a_hat, &pk, &c_tilde, &w, z, &mut signature);
        if done.is_ok() {
            return Ok((signature, usize::from(attempt)));
        }
    }
    Err("no signature in 99 tries".into())
}

/// `s2 = t - (A z - w) / c`, slot by slot of the transform.
fn s2_from(a_hat: &[NttPoly], c_hat: &NttPoly, t: &[Poly], w: &[Poly], z: &[Poly]) -> Vec<Poly> {
    let az = product(a_hat, z, &polys(K));
    t.iter()
        .zip(w)
        .zip(&az)
        .map(|((t, w), az)| {
            let difference = Poly(core::array::from_fn(|n| az.0[n] - w.0[n]));
            let (t_hat, d_hat) = (transform(t), transform(&difference));
            inverse(&NttPoly(core::array::from_fn(|n| {
                let quotient = mul(d_hat.0[n], invert(c_hat.0[n]));
                reduce(i64::from(t_hat.0[n]) - i64::from(quotient))
            })))
        })
        .collect()
}

/// s1 from `A s1 = t - s2`: 256 systems of 8 equations in 7 unknowns.
fn solve(a_hat: &[NttPoly], t: &[Poly], s2: &[Poly]) -> Vec<Poly> {
    let right: Vec<NttPoly> = t
        .iter()
        .zip(s2)
        .map(|(t, s2)| transform(&Poly(core::array::from_fn(|n| t.0[n] - s2.0[n]))))
        .collect();
    let mut s1_hat = ntt_polys(L);
    for n in 0..N {
        let mut rows: Vec<[i32; L + 1]> = (0..K)
            .map(|i| {
                core::array::from_fn(|j| {
                    if j < L {
                        a_hat[i * L + j].0[n]
                    } else {
                        right[i].0[n]
                    }
                })
            })
            .collect();
        for j in 0..L {
            let pivot = (j..K).find(|&i| rows[i][j] != 0).expect("A has full rank");
            rows.swap(j, pivot);
            let scale = invert(rows[j][j]);
            rows[j] = rows[j].map(|a| mul(a, scale));
            let row = rows[j];
            for (i, other) in rows.iter_mut().enumerate() {
                let factor = other[j];
                if i != j {
                    for (a, &b) in other.iter_mut().zip(&row) {
                        *a = reduce(i64::from(*a) - i64::from(mul(factor, b)));
                    }
                }
            }
        }
        for (s1_hat, row) in s1_hat.iter_mut().zip(&rows) {
            s1_hat.0[n] = row[L];
        }
    }
    s1_hat.iter().map(inverse).collect()
}

/// `t - A s1`, centred.
fn rest(a_hat: &[NttPoly], s1: &[Poly], t: &[Poly]) -> Vec<Poly> {
    product(a_hat, s1, &polys(K))
        .iter()
        .zip(t)
        .map(|(a, t)| Poly(core::array::from_fn(|n| centre(t.0[n] - a.0[n]))))
        .collect()
}

fn is_key(a_hat: &[NttPoly], s1: &[Poly], s2: &[Poly], t: &[Poly]) -> bool {
    rest(a_hat, s1, t).iter().zip(s2).all(|(a, b)| a.0 == b.0)
}

fn assert_small(s1: &[Poly], s2: &[Poly]) {
    assert!(linear::norm(s1) <= 2 && linear::norm(s2) <= 2);
}

/// `A x + add`.
fn product(a_hat: &[NttPoly], x: &[Poly], add: &[Poly]) -> Vec<Poly> {
    let mut x_hat = ntt_polys(L);
    linear::ntt(Backend::detect(), x, &mut x_hat);
    let mut out = polys(K);
    linear::full_t(Backend::detect(), a_hat, &x_hat, add, &mut out);
    out
}

fn matrix() -> Vec<NttPoly> {
    let mut a_hat = ntt_polys(K * L);
    linear::expand_a(Backend::detect(), P, RHO, &mut a_hat);
    a_hat
}

fn challenge_of(c_tilde: &[u8; 64]) -> NttPoly {
    let mut c = Poly::ZERO;
    Ball::sample_in_ball(Backend::PORTABLE.permutation(), P.tau, c_tilde).to_poly(&mut c);
    transform(&c)
}

/// The plain transform, reduced.
fn transform(a: &Poly) -> NttPoly {
    let mut out = NttPoly::ZERO;
    ntt(a, &mut out);
    out.0 = out.0.map(|a| a.rem_euclid(Q));
    out
}

/// The plain inverse, centred: without the factor 2^32 of the core's products.
fn inverse(a: &NttPoly) -> Poly {
    let scale = invert(reduce(1 << 32));
    let mut out = Poly::ZERO;
    inv_ntt(&NttPoly(a.0.map(|a| mul(a, scale))), &mut out);
    out.0 = out.0.map(centre);
    out
}

fn reduce(a: i64) -> i32 {
    a.rem_euclid(i64::from(Q)) as i32
}

fn mul(a: i32, b: i32) -> i32 {
    reduce(i64::from(a) * i64::from(b))
}

fn invert(a: i32) -> i32 {
    let (mut power, mut base, mut exponent) = (1, a, Q - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = mul(power, base);
        }
        base = mul(base, base);
        exponent >>= 1;
    }
    power
}

fn centre(a: i32) -> i32 {
    let a = a.rem_euclid(Q);
    if a > Q / 2 { a - Q } else { a }
}

fn polys(len: usize) -> Vec<Poly> {
    (0..len).map(|_| Poly::ZERO).collect()
}

fn ntt_polys(len: usize) -> Vec<NttPoly> {
    (0..len).map(|_| NttPoly::ZERO).collect()
}

fn read_vec(bytes: &[u8]) -> Vec<Poly> {
    let mut out = polys(K);
    for (bytes, poly) in bytes.as_chunks::<FULL_POLY_LEN>().0.iter().zip(&mut out) {
        unpack_full(bytes, &mut poly.0);
    }
    out
}

fn write_vec(polys: &[Poly]) -> Vec<u8> {
    polys
        .iter()
        .flat_map(|poly| {
            poly.0
                .iter()
                .flat_map(|a| [*a as u8, (a >> 8) as u8, (a >> 16) as u8])
        })
        .collect()
}

fn read_response(response: &Response) -> Vec<Poly> {
    let mut out = polys(L);
    for (bytes, poly) in response.as_bytes().chunks(384).zip(&mut out) {
        unpack_signed::<12>(bytes, poly);
    }
    out
}

#[test]
fn every_attack_works_and_is_refused() -> Result<(), Box<dyn Error>> {
    main()
}
