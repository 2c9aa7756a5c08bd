//! Known answers: every file of `tests/kat/ml-adsa`, which are the published digests and vectors of
//! this project. A module of the library, because the vectors need a plain label and a width above
//! the rule, which the public interface does not admit.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::path::Path;

use mldsa_core::hazmat::pack::{pack_signed, w1_encode};
use mldsa_core::hazmat::vectors;
use mldsa_core::hazmat::{Poly, Sponge, shake256_lanes};
use mldsa_core::{Backend, MlDsa87, Randomness, VerifyingKey};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::epoch::merkle::{Levels, Node, leaf, verify_path};
use crate::epoch::message::Subject;
use crate::epoch::tree::leaf_parts;
use crate::errors::RoundError;
use crate::journal::record::task_key;
use crate::keys::matrix::{K, L, Matrix, P, encode_key, vector};
use crate::keys::nonce::{SIGMA_BASE, derive_nonce, derive_nonce_bound, derive_offset};
use crate::keys::one_time_key::{OneTimeKey, OneTimePublicKey, pack_vec};
use crate::keys::scope::{EpochLabel, Scope};
use crate::round::combine::Response;
use crate::round::commitment::Commitment;
use crate::round::definition::{CommitmentMode, Setting, offset_width};
use crate::steps::*;
use crate::wire::framing::{absorb_lp, hash_lp, lp};
use crate::wire::signer_set::SignerSet;
use crate::*;

#[path = "../peer/mod.rs"]
mod peer;

fn load(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kat/ml-adsa");
    serde_json::from_slice(&std::fs::read(path.join(name)).unwrap()).unwrap()
}

trait Fields {
    fn text(&self, name: &str) -> &str;
    fn bytes(&self, name: &str) -> Vec<u8>;
    fn number(&self, name: &str) -> u64;
    fn list(&self, name: &str) -> &[Value];
    fn is_digest_of(&self, name: &str, bytes: &[u8]);
}

impl Fields for Value {
    fn text(&self, name: &str) -> &str {
        self[name]
            .as_str()
            .unwrap_or_else(|| panic!("field {name}"))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        hex::decode(self.text(name)).unwrap()
    }

    fn number(&self, name: &str) -> u64 {
        self[name]
            .as_u64()
            .unwrap_or_else(|| panic!("field {name}"))
    }

    fn list(&self, name: &str) -> &[Value] {
        self[name]
            .as_array()
            .unwrap_or_else(|| panic!("field {name}"))
    }

    fn is_digest_of(&self, name: &str, bytes: &[u8]) {
        assert_eq!(
            hex::encode(Sha256::digest(bytes)),
            self.text(name),
            "{name}"
        );
    }
}

/// A label without its scope, as in the published digests.
fn published(label: &[u8]) -> EpochLabel {
    Scope::Published.label(label)
}

fn array<const N: usize>(bytes: Vec<u8>) -> [u8; N] {
    bytes.try_into().unwrap()
}

/// The encoding `vec` of polynomials, which may be unreduced.
fn vec(polys: &[Poly]) -> Vec<u8> {
    let mut reduced = vector(polys.len());
    vectors::add(&mut reduced, polys);
    let mut bytes = alloc::vec![0; 768 * polys.len()];
    pack_vec(&reduced, &mut bytes);
    bytes
}

fn secrets(seed: &MasterSeed, content: &EpochLabel) -> alloc::boxed::Box<[Poly]> {
    let mut s = vector(L + K);
    let r = OneTimeKey::seed(seed, content);
    vectors::expand_s(Backend::detect(), P, r.expose(), &mut s);
    s
}

fn first8(value: &Value) -> Vec<i32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_i64().unwrap() as i32)
        .collect()
}

/// The other tests use the fastest backend of the CPU.
#[test]
fn all_backends_reproduce_all_vectors() {
    for backend in Backend::available() {
        mldsa_core::internals::set_default_backend(backend);
        primitives();
        labels_trees_and_registration();
        published_digests();
        offset_aggregates();
        epoch_aggregates();
        #[cfg(feature = "insecure-open-commitments")]
        {
            open_aggregates();
            rotation();
        }
    }
}

#[test]
fn primitives() {
    let file = load("primitives.json");
    let matrix = Matrix::expand(&array(file.bytes("rho")));
    let seed = MasterSeed::from_bytes(&array(file.bytes("master_seed")));
    let content = file.text("content").as_bytes();
    let label = &published(content);

    let parts: Vec<Vec<u8>> = file["lp"]
        .list("parts_hex")
        .iter()
        .map(|part| hex::decode(part.as_str().unwrap()).unwrap())
        .collect();
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    assert_eq!(lp(&parts), file["lp"].bytes("out"));
    let mut streamed = [0; 32];
    let mut sponge = Sponge::<136>::new(Backend::detect().permutation());
    absorb_lp(&mut sponge, &parts);
    sponge.finish();
    sponge.squeeze(&mut streamed);
    let mut whole = [0; 32];
    Sponge::<136>::digest(Backend::detect().permutation(), &[&lp(&parts)], &mut whole);
    assert_eq!(streamed, whole);

    let mut out = [0; 64];
    let framed = lp(&[file["prf"].text("label").as_bytes(), content]);
    shake256_lanes(Backend::detect(), [seed.prf(&framed, &mut out)]);
    assert_eq!(out.to_vec(), file["prf"].bytes("out64"));

    let a: Vec<Poly> = matrix.a_hat().iter().map(|a| Poly(a.0)).collect();
    file.is_digest_of("expand_a_sha256", &vec(&a));

    let key = OneTimeKey::derive(&matrix, &seed, label);
    let s = secrets(&seed, label);
    let expected = &file["content_key"];
    expected.is_digest_of("s1_sha256", &vec(&s[..L]));
    expected.is_digest_of("s2_sha256", &vec(&s[L..]));
    expected.is_digest_of("s1_s2_sha256", &vec(&s));
    expected.is_digest_of("t_sha256", key.public_key.as_bytes());
    assert_eq!(s[0].0[..8], first8(&expected["s1_0_first8"]));
    let mut t = vector(K);
    key.public_key.unpack(&mut t);
    assert_eq!(t[0].0[..8], first8(&expected["t_0_first8"]));

    let expected = &file["nonce"];
    assert_eq!(expected.number("sigma"), u64::from(SIGMA_BASE));
    let y = derive_nonce(&seed, label, SIGMA_BASE);
    expected.is_digest_of("sha256", &vec(y.expose()));
    assert_eq!(y.expose()[0].0[..8], first8(&expected["first8"]));
    let mut w = vector(K);
    matrix.apply(y.expose(), &mut w);
    expected.is_digest_of("w_sha256", &vec(&w));

    let expected = &file["nonce_mb"];
    let sigma = expected.number("sigma") as u32;
    let y = derive_nonce_bound(&seed, label, &expected.bytes("bound"), sigma);
    expected.is_digest_of("sha256", &vec(y.expose()));
    assert_eq!(y.expose()[0].0[..8], first8(&expected["first8"]));

    let expected = &file["offset"];
    let width = expected.number("R") as u32;
    let mut q = derive_offset(&seed, label, &expected.bytes("bound"), width);
    expected.is_digest_of("sha256", &vec(q.expose()));
    assert_eq!(q.expose()[0].0[..8], first8(&expected["first8"]));

    let mut hi = vector(K);
    vectors::split_commitment(P, &w, &mut hi, q.expose_mut());
    let (mut hi_wire, mut q_wire) = (alloc::vec![0; K * 128], alloc::vec![0; K * 640]);
    for (hi, bytes) in hi.iter().zip(hi_wire.chunks_mut(128)) {
        w1_encode(P.gamma2, hi, bytes, |a| a);
    }
    for (q, bytes) in q.expose().iter().zip(q_wire.chunks_mut(640)) {
        pack_signed::<20>(q, bytes);
    }
    file["offset_parts"].is_digest_of("hi_sha256", &hi_wire);
    file["offset_parts"].is_digest_of("q_sha256", &q_wire);

    for case in file.list("bits") {
        let n = case.number("n") as usize;
        let set: Vec<usize> = case
            .list("set")
            .iter()
            .map(|v| v.as_u64().unwrap() as usize)
            .collect();
        let bits = SignerSet::new(n, &set).unwrap();
        assert_eq!(bits.as_bytes(), case.bytes("hex"));
        assert_eq!(SignerSet::from_bytes(&case.bytes("hex"), n), Ok(bits));
    }
    for case in file.list("default_R") {
        let width = offset_width(case.number("n") as usize);
        assert_eq!(width.map(u64::from), case["R"].as_u64());
    }
}

#[test]
fn labels_trees_and_registration() {
    let file = load("primitives.json");
    let rho = array(file.bytes("rho"));
    let seed = MasterSeed::from_bytes(&array(file.bytes("master_seed")));

    let slot = &file["labels"]["slot"];
    let label = TaskId::for_slot(
        slot.text("ctx").as_bytes(),
        slot.number("epoch"),
        slot.number("slot"),
        slot.number("committee") as u32,
    );
    assert_eq!(label.as_bytes(), slot.bytes("out"));
    let bound = &file["labels"]["bound"];
    let label = TaskId::new(bound.text("base").as_bytes()).unwrap().bound(
        bound.text("ctx").as_bytes(),
        bound.text("payload").as_bytes(),
        &array(bound.bytes("reg_root")),
        bound.number("epoch"),
    );
    assert_eq!(label.as_bytes(), bound.bytes("out"));

    let onetime = &file["onetime"];
    let label = AttemptId::from_bytes(&onetime.bytes("content_hex")).unwrap();
    let key = task_key(&seed.fingerprint(), label.as_bytes());
    assert_eq!(
        seed.fingerprint().to_vec(),
        onetime.bytes("seed_fingerprint")
    );
    assert_eq!(key.to_vec(), onetime.bytes("key"));

    let registration = &file["registration"];
    let tree = &file["epoch_tree"];
    let member = Member::new(
        MemberId::new(registration.text("id").as_bytes()).unwrap(),
        MasterSeed::from_bytes(&array(tree.bytes("seed"))),
        &array(registration.bytes("xi")),
    );
    let entry = member.register(Randomness::Deterministic).unwrap();
    let regpk = member.registration_key.verifying_key();
    registration.is_digest_of("regpk_sha256", regpk.as_bytes());
    let message: [u8; 64] = hash_lp(&[], &[b"F.pop", member.id.as_bytes(), regpk.as_bytes()]);
    assert_eq!(message.to_vec(), registration.bytes("pop_msg"));
    let proof = &entry.to_bytes()[entry.to_bytes().len() - 4627..];
    registration.is_digest_of("pop_deterministic_sha256", proof);
    let registry = Registry::new(&rho, [entry]).unwrap();
    assert_eq!(registry.root().to_vec(), registration.bytes("reg_leaf"));

    let labels: Vec<AttemptId> = tree
        .list("contents_hex")
        .iter()
        .map(|c| AttemptId::from_bytes(&hex::decode(c.as_str().unwrap()).unwrap()).unwrap())
        .collect();
    let epoch_labels: Vec<EpochLabel> = labels
        .iter()
        .map(|label| published(label.as_bytes()))
        .collect();
    let public_keys: Vec<OneTimePublicKey> = epoch_labels
        .iter()
        .map(|label| OneTimeKey::derive(registry.matrix(), &member.seed, label).public_key)
        .collect();
    let leaves: Vec<Node> = epoch_labels
        .iter()
        .zip(&public_keys)
        .map(|(label, public_key)| leaf(&leaf_parts(&member.id, label, public_key)))
        .collect();
    let expected: Vec<String> = tree
        .list("leaves")
        .iter()
        .map(|leaf| leaf.as_str().unwrap().into())
        .collect();
    assert_eq!(leaves.iter().map(hex::encode).collect::<Vec<_>>(), expected);
    let levels = Levels::new(&leaves).unwrap();
    let kt_root = *levels.root();
    assert_eq!(kt_root.to_vec(), tree.bytes("root"));
    let epoch = tree.number("epoch").to_be_bytes();
    let message: [u8; 64] = hash_lp(&[], &[b"F.kt", &epoch, &kt_root]);
    assert_eq!(message.to_vec(), tree.bytes("msg"));
    let signature = member
        .sign(b"F.kt", &message, Randomness::Deterministic)
        .unwrap();
    tree.is_digest_of("sig_deterministic_sha256", signature.as_ref());
    let index = tree.number("path_index") as usize;
    let path = levels.path(index).unwrap();
    let expected: Vec<String> = tree
        .list("path")
        .iter()
        .map(|leaf| leaf.as_str().unwrap().into())
        .collect();
    assert_eq!(path.iter().map(hex::encode).collect::<Vec<_>>(), expected);
    assert!(verify_path(
        &leaves[index],
        index as u32,
        &path,
        2,
        &kt_root
    ));

    let proof = &file["content_proof"];
    let label = AttemptId::from_bytes(&proof.bytes("content_hex")).unwrap();
    assert_eq!(label, labels[2]);
    let message = crate::epoch::proof::message(&member.id, &epoch_labels[2], &public_keys[2]);
    assert_eq!(message.to_vec(), proof.bytes("cpop_msg"));
    #[cfg(feature = "insecure-open-commitments")]
    {
        let message =
            crate::open_commitments::scope::message(&member.id, &epoch_labels[2], &public_keys[2]);
        assert_eq!(message.to_vec(), proof.bytes("ck_msg"));
    }
    let matrix = registry.matrix();
    let label = &epoch_labels[2];
    let proof = member.prove(matrix, label, &[7; 64]).unwrap();
    let verify = |public_key, proof: &[u8]| {
        crate::epoch::proof::verify(matrix, &member.id, label, public_key, proof)
    };
    assert_eq!(verify(&public_keys[2], proof.as_ref()), Ok(()));
    assert_eq!(
        verify(&public_keys[1], proof.as_ref()),
        Err(RoundError::InvalidKeyProof)
    );
    let mut bad = *proof.as_bytes();
    bad[2000] ^= 1;
    assert_eq!(
        verify(&public_keys[2], &bad),
        Err(RoundError::InvalidKeyProof)
    );
}

#[test]
fn published_digests() {
    let file = load("kat-published.json");
    let expected = &file["reproduced"];
    let inputs = &file["inputs_n1_pk"];
    let matrix = Matrix::expand(&array(inputs.bytes("rho")));
    let key_of = |seeds: &[MasterSeed], content: &[u8]| {
        let (mut sum, mut t) = (vector(K), vector(K));
        for seed in seeds {
            OneTimeKey::derive(&matrix, seed, &published(content))
                .public_key
                .unpack(&mut t);
            vectors::add(&mut sum, &t);
        }
        *encode_key(&matrix, &sum).unwrap().as_bytes()
    };

    let seed = MasterSeed::from_bytes(b"ml-adsa-kat-master-seed-00000000");
    let label = &published(b"kat/content/0");
    expected.is_digest_of("expand_s", &vec(&secrets(&seed, label)));
    let public_key = OneTimeKey::derive(&matrix, &seed, label).public_key;
    expected.is_digest_of("content_key_t", public_key.as_bytes());
    let y = derive_nonce(&seed, label, SIGMA_BASE);
    expected.is_digest_of("derive_nonce", &vec(y.expose()));
    // The digest of a Merkle root is a test of `merkle`.

    let seed = MasterSeed::from_bytes(&array(inputs.bytes("member0_master_seed")));
    let pk = key_of(&[seed], &inputs.bytes("content_with_attempt_hex"));
    assert_eq!(pk.to_vec(), inputs.bytes("pk"));
    expected.is_digest_of("n1_pk", &pk);

    let inputs = &file["inputs_rot_pk"];
    let seeds: Vec<MasterSeed> = inputs
        .list("member_master_seeds")
        .iter()
        .map(|seed| MasterSeed::from_bytes(&array(hex::decode(seed.as_str().unwrap()).unwrap())))
        .collect();
    for (j, content) in inputs.list("contents").iter().enumerate() {
        let content = [content.as_str().unwrap().as_bytes(), &[0]].concat();
        let digests = match j {
            0 | 4 => expected,
            _ => &file["computed_but_not_listed_publicly"],
        };
        digests.is_digest_of(&alloc::format!("rot{j}_pk"), &key_of(&seeds, &content));
    }
}

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
    let registry = Registry::new(&rho, entries).unwrap();
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
        let ours = key.verify(message, ctx, signature).is_ok();
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
        let public_key =
            OneTimeKey::derive(registry.matrix(), &member.seed, &epoch_label).public_key;
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
    };
    assert_eq!(file.number("sigma"), mode.sigma() as u64);
    let round = Round::assemble(setting, &task, public_keys.collect())?;

    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    for (member, journal) in members.iter().zip(&mut *journals) {
        journal.acknowledge(epoch, &source, &source)?;
        let (wait, message) = member.commit(&round, journal)?;
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
                let digest = commitments[i].digest(&round);
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
fn open_aggregates() {
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
fn rotation() {
    let file = load("rotation-n4.json");
    let rounds = file.list("contents");
    assert_eq!(rounds.len(), 3);
    for round in rounds {
        aggregate(round);
    }
}

/// The derivation in use; the file was made by `model.py`, which shares no code with this crate.
#[test]
fn epoch_aggregates() {
    let files = load("epoch-n2.json");
    for file in files.as_array().unwrap() {
        aggregate(file);
    }
}

#[test]
fn offset_aggregates() {
    aggregate(&load("offset-n4.json"));
    aggregate(&load("offset-n4-retry.json"));
}
