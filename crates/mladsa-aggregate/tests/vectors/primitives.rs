//! Hashes, keys, nonces, offsets, labels, trees and registrations.

use alloc::string::String;
use alloc::vec::Vec;

use mldsa_core::internals::pack::{pack_signed, w1_encode};
use mldsa_core::internals::vectors;
use mldsa_core::internals::{Poly, Sponge, shake256_lanes};
use mldsa_core::{Backend, Randomness};

use crate::epoch::merkle::{Levels, Node, leaf, verify_path};
use crate::epoch::tree::leaf_parts;
use crate::errors::RoundError;
use crate::journal::record::task_key;
use crate::keys::matrix::{K, L, Matrix, P, vector};
use crate::keys::nonce::{SIGMA_BASE, derive_nonce, derive_nonce_bound, derive_offset};
use crate::keys::one_time_key::OneTimePublicKey;
use crate::keys::scope::EpochLabel;
use crate::round::definition::offset_width;
use crate::wire::framing::{absorb_lp, hash_lp, lp};
use crate::wire::signer_set::SignerSet;
use crate::*;

use super::*;

#[test]
pub(super) fn primitives() {
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

    let public_key = OneTimePublicKey::derive(&matrix, &seed, label);
    let s = secrets(&seed, label);
    let expected = &file["content_key"];
    expected.is_digest_of("s1_sha256", &vec(&s[..L]));
    expected.is_digest_of("s2_sha256", &vec(&s[L..]));
    expected.is_digest_of("s1_s2_sha256", &vec(&s));
    expected.is_digest_of("t_sha256", public_key.as_bytes());
    assert_eq!(s[0].0[..8], first8(&expected["s1_0_first8"]));
    let mut t = vector(K);
    public_key.unpack(&mut t);
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
pub(super) fn labels_trees_and_registration() {
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
    let registry = Registry::new(&rho, [entry], &Threshold::TwoThirds).unwrap();
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
        .map(|label| OneTimePublicKey::derive(registry.matrix(), &member.seed, label))
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
