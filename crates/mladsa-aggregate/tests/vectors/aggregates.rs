//! Aggregates with all intermediate values.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mldsa_core::internals::pack::w1_encode;
use mldsa_core::internals::vectors;
use mldsa_core::{MlDsa87, Randomness, VerifyingKey};
use serde_json::Value;

use crate::epoch::merkle::leaf;
use crate::epoch::message::Subject;
use crate::epoch::tree::leaf_parts;
use crate::errors::RoundError;
use crate::keys::matrix::{K, L, P, vector};
use crate::keys::nonce::{SIGMA_BASE, derive_nonce, derive_nonce_bound, derive_offset};
use crate::keys::one_time_key::OneTimePublicKey;
use crate::keys::scope::Scope;
use crate::round::combine::Response;
use crate::round::commitment::Commitment;
use crate::round::definition::{CommitmentMode, Setting};
use crate::wire::framing::hash_lp;
use crate::*;

use super::*;

/// Signs with the committee of a file, by the signer steps.
fn aggregate(file: &Value) {
    let mode = match file.text("mode") {
        "base" => CommitmentMode::Open,
        _ => CommitmentMode::Offset,
    };
    let rho = array(file.bytes("rho"));
    let members: Vec<Member> = file
        .list("members")
        .iter()
        .map(|member| {
            Member::new(
                MemberId::new(member.text("id").as_bytes()).unwrap(),
                MasterSeed::from_bytes(&array(member.bytes("seed"))),
                &array(member.bytes("xi")),
            )
        })
        .collect();
    let entries = members
        .iter()
        .map(|member| member.register(Randomness::Deterministic).unwrap());
    let registry = Registry::new(&rho, entries, &Threshold::TwoThirds).unwrap();
    assert_eq!(registry.root().to_vec(), file.bytes("reg_root"));

    let id = TaskId::new(file.text("content").as_bytes()).unwrap();
    let mut attempt = id.attempt(0).unwrap();
    let mut journals: Vec<OneTimeKeyJournal> = members
        .iter()
        .map(|member| OneTimeKeyJournal::in_memory(&member.seed).unwrap())
        .collect();
    let failed = file.list("failed_attempts");
    for failure in failed {
        assert_eq!(failure[1], "weight");
        let result = run(file, mode, &registry, &members, &mut journals, &attempt);
        assert_eq!(result.unwrap_err(), RoundError::TooManyHints);
        attempt = attempt.next().unwrap();
    }
    assert_eq!(u64::from(attempt.attempt()), file.number("attempt"));
    assert_eq!(attempt.as_bytes(), file.bytes("content_with_attempt_hex"));
    let aggregate = run(file, mode, &registry, &members, &mut journals, &attempt).unwrap();

    let signature = aggregate.signature().as_bytes();
    assert_eq!(signature.to_vec(), file.bytes("sig"));
    file.is_digest_of("sig_sha256", signature);
    assert_eq!(
        u64::from(aggregate.hint_weight()),
        file.number("hint_weight")
    );
    let object = aggregate.to_bytes();
    // Objects of the earlier derivation have another magic.
    let mut published = object.clone();
    if file.get("derivation").is_none() {
        published[7] = b'1';
    }
    file.is_digest_of("object_sha256", &published);
    assert_eq!(Aggregate::from_bytes(&object), Ok(aggregate.clone()));

    let (pk, message, ctx) = (
        file.bytes("pk"),
        file.bytes("msg"),
        // The context of a consensus task ends with the participants' root.
        match file.get("fips_ctx") {
            Some(_) => file.bytes("fips_ctx"),
            None => file.text("ctx").into(),
        },
    );
    let ctx = &ctx;
    peer::check(&pk, &message, ctx, signature);
    let key = VerifyingKey::<MlDsa87>::from_bytes(&pk).unwrap();
    let verify = |message: &[u8], ctx: &[u8], signature: &[u8]| {
        let ctx = mldsa_core::Context::new(ctx).unwrap();
        let ours = key.verify_with_context(message, ctx, signature).is_ok();
        assert_eq!(ours, peer::verify(&pk, message, ctx.as_bytes(), signature));
        ours
    };
    assert!(verify(&message, ctx, signature));
    assert!(!verify(&message, b"QRM", signature));
    let mut changed = message.clone();
    changed[4] ^= 1;
    assert!(!verify(&changed, ctx, signature));
    for at in [0, 63, 64, 2000, 4543, 4626] {
        let mut changed = *signature;
        changed[at] ^= 1;
        assert!(!verify(&message, ctx, &changed), "byte {at}");
    }
}

/// One attempt. If it succeeds, all intermediate values of the file are compared.
fn run(
    file: &Value,
    mode: CommitmentMode,
    registry: &Arc<Registry>,
    members: &[Member],
    journals: &mut [OneTimeKeyJournal],
    attempt: &AttemptId,
) -> Result<Aggregate, RoundError> {
    let source = [0; 32];
    let scope = match file.get("derivation") {
        None => Scope::Published,
        Some(_) => registry.scope(file.number("epoch")),
    };
    let epoch_label = scope.label(attempt.as_bytes());
    let public_keys = members.iter().map(|member| {
        let public_key = OneTimePublicKey::derive(registry.matrix(), &member.seed, &epoch_label);
        AuthenticatedKey {
            id: member.id,
            attempt: attempt.clone(),
            leaf: leaf(&leaf_parts(&member.id, &epoch_label, &public_key)),
            public_key,
            source,
        }
    });
    let id = TaskId::new(attempt.task())?;
    let (domain, payload) = (file.text("ctx").as_bytes(), file.text("payload").as_bytes());
    let task = match file.get("kind") {
        Some(_) => SigningTask::consensus(id, domain, payload)?,
        None => SigningTask::decision(id, domain, payload)?,
    };
    let epoch = file.number("epoch");
    let setting = Setting {
        registry,
        scope,
        subject: Subject {
            epoch,
            roots: source,
            attempt: attempt.clone(),
        },
        mode,
        width: file["R"].as_u64().map(|width| width as u32),
        t: None,
    };
    assert_eq!(file.number("sigma"), mode.sigma() as u64);
    let round = Round::assemble(setting, &task, public_keys.collect())?;

    let mut set = CommitmentSet::new(&round);
    let mut waiting = Vec::new();
    for (member, journal) in members.iter().zip(&mut *journals) {
        journal.acknowledge(epoch, &source, &source)?;
        let (wait, hash) = member.commit(&round, journal)?;
        set.add(&SignedMessage::receive(&hash.to_bytes(), registry)?)?;
        waiting.push(wait);
    }
    let mut pending = Vec::new();
    for (wait, (member, journal)) in waiting.into_iter().zip(members.iter().zip(&mut *journals)) {
        let message = member.reveal(&wait, &set, journal)?;
        set.add(&SignedMessage::receive(&message.to_bytes(), registry)?)?;
        pending.push((wait, Commitment::from_bytes(&round, message.body())?));
    }
    let challenge = set.challenge()?;
    let mut responses = Vec::new();
    let mut commitments = Vec::new();
    let mut combiner = Combiner::new(&challenge);
    for ((wait, commitment), (member, journal)) in
        pending.into_iter().zip(members.iter().zip(&mut *journals))
    {
        let message = member.respond(wait, &challenge, journal)?;
        combiner.add(&message)?;
        responses.push(Response::from_bytes(&round, message.body())?);
        commitments.push(commitment);
    }
    let aggregate = combiner.finish();
    if aggregate.is_err() {
        for journal in journals {
            journal.retire(&round.attempt(journal))?;
        }
    }
    let aggregate = aggregate?;

    assert_eq!(attempt.as_bytes(), file.bytes("content_with_attempt_hex"));
    assert_eq!(round.participants_root().to_vec(), file.bytes("part_root"));
    assert_eq!(round.message(), file.bytes("msg"));
    assert_eq!(round.mu().as_bytes().to_vec(), file.bytes("mu"));
    assert_eq!(round.aggregate_key().as_bytes().to_vec(), file.bytes("pk"));
    file.is_digest_of("pk_sha256", round.aggregate_key().as_bytes());
    assert_eq!(round.signer_set().as_bytes(), file.bytes("bits"));
    assert_eq!(challenge.c_tilde().to_vec(), file.bytes("c_tilde"));
    let mut w1 = Vec::new();
    for row in &challenge.w1 {
        let mut packed = [0; 128];
        w1_encode(P.gamma2, row, &mut packed, |a| a);
        w1.extend(packed);
    }
    file.is_digest_of("w1_sha256", &w1);
    let mut sum = vector(L);
    for (i, (member, expected)) in members.iter().zip(file.list("members")).enumerate() {
        let content = round.attempt_label();
        let mu = round.mu().as_bytes();
        expected.is_digest_of("regpk_sha256", registry.key(&member.id).unwrap().as_bytes());
        let key = round.key(i).unwrap();
        expected.is_digest_of("t_sha256", key.public_key.as_bytes());
        assert_eq!(key.leaf.to_vec(), expected.bytes("kt_leaf"));
        expected.is_digest_of("s1_s2_sha256", &vec(&secrets(&member.seed, content)));
        let y = match mode {
            CommitmentMode::Open => derive_nonce(&member.seed, content, SIGMA_BASE),
            CommitmentMode::Offset => {
                derive_nonce_bound(&member.seed, content, mu, mode.sigma() as u32)
            }
        };
        if expected.get("guard_key").is_some() {
            assert_eq!(content.as_bytes(), file.bytes("epoch_label"));
            let journal = OneTimeKeyJournal::in_memory(&member.seed)?;
            let key = round.attempt(&journal).key;
            assert_eq!(key.to_vec(), expected.bytes("guard_key"));
        }
        expected.is_digest_of("y_sha256", &vec(y.expose()));
        let mut w = vector(K);
        registry.matrix().apply(y.expose(), &mut w);
        expected.is_digest_of("w_sha256", &vec(&w));
        match mode {
            CommitmentMode::Open => expected.is_digest_of("w_sha256", commitments[i].as_bytes()),
            CommitmentMode::Offset => {
                let offset = derive_offset(&member.seed, content, mu, round.width());
                expected.is_digest_of("r_sha256", &vec(offset.expose()));
                let (hi, q) = commitments[i].as_bytes().split_at(1024);
                expected.is_digest_of("hi_wire_sha256", hi);
                expected.is_digest_of("q_wire_sha256", q);
                let width = round.width().to_be_bytes();
                let parts = [&b"offset"[..], mu, &width, commitments[i].as_bytes()];
                let digest: [u8; 32] = hash_lp(&[], &parts);
                assert_eq!(digest.to_vec(), expected.bytes("commitment_digest"));
            }
        }
        let mut z = vector(L);
        responses[i].unpack(&mut z);
        expected.is_digest_of("z_sha256", &vec(&z));
        expected.is_digest_of("z_wire_sha256", responses[i].as_bytes());
        vectors::add_integers(&mut sum, &z);
    }
    assert_eq!(vectors::norm(&sum) as u64, file.number("z_inf"));
    Ok(aggregate)
}

#[cfg(feature = "insecure-open-commitments")]
#[test]
pub(super) fn open_aggregates() {
    for name in [
        "aggregate-n1.json",
        "aggregate-n4.json",
        "aggregate-n16.json",
    ] {
        aggregate(&load(name));
    }
}

#[cfg(feature = "insecure-open-commitments")]
#[test]
pub(super) fn rotation() {
    let file = load("rotation-n4.json");
    let rounds = file.list("contents");
    assert_eq!(rounds.len(), 3);
    for round in rounds {
        aggregate(round);
    }
}

/// The derivation in use; the file was made by `model.py`, which shares no code with this crate.
#[test]
pub(super) fn epoch_aggregates() {
    let files = load("epoch-n2.json");
    for file in files.as_array().unwrap() {
        aggregate(file);
    }
}

#[test]
pub(super) fn offset_aggregates() {
    aggregate(&load("offset-n4.json"));
    aggregate(&load("offset-n4-retry.json"));
}
