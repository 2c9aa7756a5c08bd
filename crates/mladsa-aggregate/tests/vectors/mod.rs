//! Every file of `tests/kat/ml-adsa`: the published digests and this project's
//! own vectors. Here, because vectors need what the public interface refuses: a
//! plain label in base mode and a width above the rule.

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

use crate::epoch::merkle::{Levels, leaf, verify_path};
use crate::epoch::message::Subject;
use crate::epoch::tree::leaf_parts;
use crate::guard::journal::onetime_key;
use crate::keys::content_key::{ContentKey, ContentPublicKey, pack_vec};
use crate::keys::matrix::{K, L, P, encode_key, vector};
use crate::keys::nonce::{SIGMA_BASE, derive_nonce, derive_nonce_bound, derive_offset};
use crate::keys::scope::{EpochLabel, Scope};
use crate::wire::framing::{absorb_lp, hash_lp, lp};
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

/// A label as the published digests take it: alone.
fn published(label: &[u8]) -> EpochLabel {
    Scope::Published.label(label)
}

fn array<const N: usize>(bytes: Vec<u8>) -> [u8; N] {
    bytes.try_into().unwrap()
}

/// `vec` of polynomials with any representatives.
fn vec(polys: &[Poly]) -> Vec<u8> {
    let mut reduced = vector(polys.len());
    vectors::add(&mut reduced, polys);
    let mut bytes = alloc::vec![0; 768 * polys.len()];
    pack_vec(&reduced, &mut bytes);
    bytes
}

fn secrets(seed: &MasterSeed, content: &EpochLabel) -> alloc::boxed::Box<[Poly]> {
    let mut s = vector(L + K);
    let r = ContentKey::seed(seed, content);
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

/// The tests below pass on the fastest backend of the CPU; here on all of them.
#[test]
fn every_backend_reproduces_every_vector() {
    for backend in Backend::available() {
        mldsa_core::internals::set_default_backend(backend);
        primitives();
        labels_trees_and_registration();
        published_digests();
        offset_aggregates();
        epoch_aggregates();
        #[cfg(feature = "transparent-commitments")]
        {
            base_mode_aggregates();
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

    let key = ContentKey::derive(&matrix, &seed, label);
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
        let bits = SignerBits::new(n, &set).unwrap();
        assert_eq!(bits.as_bytes(), case.bytes("hex"));
        assert_eq!(SignerBits::from_bytes(&case.bytes("hex"), n), Ok(bits));
    }
    for case in file.list("default_R") {
        let width = offset_width(case.number("n") as usize).ok();
        assert_eq!(width.map(u64::from), case["R"].as_u64());
    }
}

#[test]
fn labels_trees_and_registration() {
    let file = load("primitives.json");
    let rho = array(file.bytes("rho"));
    let seed = MasterSeed::from_bytes(&array(file.bytes("master_seed")));

    let slot = &file["labels"]["slot"];
    let label = BaseLabel::slot(
        slot.text("ctx").as_bytes(),
        slot.number("epoch"),
        slot.number("slot"),
        slot.number("committee") as u32,
    );
    assert_eq!(label.as_bytes(), slot.bytes("out"));
    let bound = &file["labels"]["bound"];
    let label = BaseLabel::new(bound.text("base").as_bytes())
        .unwrap()
        .bound(
            bound.text("ctx").as_bytes(),
            bound.text("payload").as_bytes(),
            &array(bound.bytes("reg_root")),
            bound.number("epoch"),
        );
    assert_eq!(label.as_bytes(), bound.bytes("out"));

    let onetime = &file["onetime"];
    let label = ContentLabel::from_bytes(&onetime.bytes("content_hex")).unwrap();
    let key = onetime_key(&seed.fingerprint(), label.as_bytes());
    assert_eq!(
        seed.fingerprint().as_bytes().to_vec(),
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
    registration.is_digest_of(
        "pop_deterministic_sha256",
        entry.proof_of_possession().as_ref(),
    );
    let registry = Registry::new(&rho, [entry]).unwrap();
    assert_eq!(registry.root().to_vec(), registration.bytes("reg_leaf"));

    let labels: Vec<ContentLabel> = tree
        .list("contents_hex")
        .iter()
        .map(|c| ContentLabel::from_bytes(&hex::decode(c.as_str().unwrap()).unwrap()).unwrap())
        .collect();
    let epoch_labels: Vec<EpochLabel> = labels
        .iter()
        .map(|label| published(label.as_bytes()))
        .collect();
    let public_keys: Vec<ContentPublicKey> = epoch_labels
        .iter()
        .map(|label| ContentKey::derive(registry.matrix(), &member.seed, label).public_key)
        .collect();
    let leaves: Vec<Hash> = epoch_labels
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
    let label = ContentLabel::from_bytes(&proof.bytes("content_hex")).unwrap();
    assert_eq!(label, labels[2]);
    let message = crate::epoch::proof::message(&member.id, &epoch_labels[2], &public_keys[2]);
    assert_eq!(message.to_vec(), proof.bytes("cpop_msg"));
    #[cfg(feature = "transparent-commitments")]
    {
        let message = crate::base::gate::message(&member.id, &epoch_labels[2], &public_keys[2]);
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
        Err(Error::BadKeyProof)
    );
    let mut bad = *proof.as_bytes();
    bad[2000] ^= 1;
    assert_eq!(verify(&public_keys[2], &bad), Err(Error::BadKeyProof));
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
            ContentKey::derive(&matrix, seed, &published(content))
                .public_key
                .unpack(&mut t);
            vectors::add(&mut sum, &t);
        }
        *encode_key(&matrix, &sum).unwrap().as_bytes()
    };

    let seed = MasterSeed::from_bytes(b"ml-adsa-kat-master-seed-00000000");
    let label = &published(b"kat/content/0");
    expected.is_digest_of("expand_s", &vec(&secrets(&seed, label)));
    let public_key = ContentKey::derive(&matrix, &seed, label).public_key;
    expected.is_digest_of("content_key_t", public_key.as_bytes());
    let y = derive_nonce(&seed, label, SIGMA_BASE);
    expected.is_digest_of("derive_nonce", &vec(y.expose()));
    // merkle_root3 is a test of the room that owns trees.

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

/// One committee of a file, through the interface of the signers.
fn aggregate(file: &Value) {
    let mode = match file.text("mode") {
        "base" => Mode::Base,
        _ => Mode::Offset,
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

    let base = BaseLabel::new(file.text("content").as_bytes()).unwrap();
    let mut label = base.attempt(0).unwrap();
    let mut guards: Vec<Guard> = members
        .iter()
        .map(|member| Guard::in_memory_for_tests(&member.seed).unwrap())
        .collect();
    let failed = file.list("failed_attempts");
    for failure in failed {
        assert_eq!(failure[1], "weight");
        let result = run(file, mode, &registry, &members, &mut guards, &label);
        assert_eq!(result.unwrap_err(), Error::Retry(CombineError::Weight));
        label = label.next().unwrap();
    }
    assert_eq!(u64::from(label.attempt()), file.number("attempt"));
    assert_eq!(label.as_bytes(), file.bytes("content_with_attempt_hex"));
    let aggregate = run(file, mode, &registry, &members, &mut guards, &label).unwrap();

    let signature = aggregate.signature().as_bytes();
    assert_eq!(signature.to_vec(), file.bytes("sig"));
    file.is_digest_of("sig_sha256", signature);
    assert_eq!(
        u64::from(aggregate.hint_weight()),
        file.number("hint_weight")
    );
    let object = aggregate.to_bytes();
    // The object has another magic than the one of the old derivation.
    let mut published = object.clone();
    if file.get("derivation").is_none() {
        published[7] = b'1';
    }
    file.is_digest_of("object_sha256", &published);
    assert_eq!(Aggregate::from_bytes(&object), Ok(aggregate.clone()));

    let (pk, message, ctx) = (
        file.bytes("pk"),
        file.bytes("msg"),
        // In consensus mode the participants' root stands behind the domain.
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

/// One attempt, with everything that the file tells of it if it succeeded.
fn run(
    file: &Value,
    mode: Mode,
    registry: &Arc<Registry>,
    members: &[Member],
    guards: &mut [Guard],
    label: &ContentLabel,
) -> Result<Aggregate, Error> {
    let source = [0; 32];
    let scope = match file.get("derivation") {
        None => Scope::Published,
        Some(_) => registry.scope(file.number("epoch")),
    };
    let epoch_label = scope.label(label.as_bytes());
    let public_keys = members.iter().map(|member| {
        let public_key =
            ContentKey::derive(registry.matrix(), &member.seed, &epoch_label).public_key;
        AuthenticatedKey {
            id: member.id,
            label: label.clone(),
            leaf: leaf(&leaf_parts(&member.id, &epoch_label, &public_key)),
            public_key,
            source,
        }
    });
    let base = BaseLabel::new(label.base())?;
    let decision = Decision {
        ctx: file.text("ctx").as_bytes(),
        label: &base,
        kind: match file.get("kind") {
            Some(_) => Kind::Consensus,
            None => Kind::Decision,
        },
        payload: file.text("payload").as_bytes(),
    };
    let epoch = file.number("epoch");
    let parts = crate::round::cohort::Parts {
        registry,
        scope,
        subject: Subject {
            epoch,
            roots: source,
            label: label.clone(),
        },
        mode,
        width: file["R"].as_u64().map(|width| width as u32),
    };
    assert_eq!(file.number("sigma"), mode.sigma() as u64);
    let round = Round::assemble(parts, &decision, public_keys)?;

    let mut set = CommitmentSet::new(&round);
    let mut pending = Vec::new();
    for (member, guard) in members.iter().zip(&mut *guards) {
        guard.agree(epoch, &source, &source)?;
        let (wait, message) = member.commit(&round, guard)?;
        set.add(&Message::receive(&message.to_bytes(), registry)?)?;
        pending.push((wait, Commitment::from_bytes(&round, message.body())?));
    }
    let challenge = set.challenge()?;
    let mut responses = Vec::new();
    let mut commitments = Vec::new();
    let mut combiner = Combiner::new(&challenge);
    for ((wait, commitment), (member, guard)) in
        pending.into_iter().zip(members.iter().zip(&mut *guards))
    {
        let message = member.respond(wait, &challenge, guard)?;
        combiner.add(&message)?;
        responses.push(Response::from_bytes(&round, message.body())?);
        commitments.push(commitment);
    }
    let aggregate = combiner.finish();
    if aggregate.is_err() {
        for guard in guards {
            guard.retire(&round.attempt(guard))?;
        }
    }
    let aggregate = aggregate?;

    assert_eq!(label.as_bytes(), file.bytes("content_with_attempt_hex"));
    assert_eq!(round.part_root().to_vec(), file.bytes("part_root"));
    assert_eq!(round.message(), file.bytes("msg"));
    assert_eq!(round.mu().as_bytes().to_vec(), file.bytes("mu"));
    assert_eq!(round.key().as_bytes().to_vec(), file.bytes("pk"));
    file.is_digest_of("pk_sha256", round.key().as_bytes());
    assert_eq!(round.bits.as_bytes(), file.bytes("bits"));
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
        let content = &round.content;
        let mu = round.mu().as_bytes();
        expected.is_digest_of("regpk_sha256", registry.key(&member.id)?.as_bytes());
        expected.is_digest_of("t_sha256", round.members[i].public_key.as_bytes());
        assert_eq!(round.members[i].leaf.to_vec(), expected.bytes("kt_leaf"));
        expected.is_digest_of("s1_s2_sha256", &vec(&secrets(&member.seed, content)));
        let y = match mode {
            Mode::Base => derive_nonce(&member.seed, content, SIGMA_BASE),
            Mode::Offset => derive_nonce_bound(&member.seed, content, mu, mode.sigma() as u32),
        };
        if expected.get("guard_key").is_some() {
            assert_eq!(round.content.as_bytes(), file.bytes("epoch_label"));
            let guard = Guard::in_memory_for_tests(&member.seed)?;
            let key = round.attempt(&guard).key;
            assert_eq!(key.to_vec(), expected.bytes("guard_key"));
        }
        expected.is_digest_of("y_sha256", &vec(y.expose()));
        let mut w = vector(K);
        registry.matrix().apply(y.expose(), &mut w);
        expected.is_digest_of("w_sha256", &vec(&w));
        match mode {
            Mode::Base => expected.is_digest_of("w_sha256", commitments[i].as_bytes()),
            Mode::Offset => {
                let offset = derive_offset(&member.seed, content, mu, round.width);
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

#[cfg(feature = "transparent-commitments")]
#[test]
fn base_mode_aggregates() {
    for name in [
        "aggregate-n1.json",
        "aggregate-n4.json",
        "aggregate-n16.json",
    ] {
        aggregate(&load(name));
    }
}

#[cfg(feature = "transparent-commitments")]
#[test]
fn rotation() {
    let file = load("rotation-n4.json");
    let rounds = file.list("contents");
    assert_eq!(rounds.len(), 3);
    for round in rounds {
        aggregate(round);
    }
}

/// What users run: made by `model.py`, which shares nothing with this crate.
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
