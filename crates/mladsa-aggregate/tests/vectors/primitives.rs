//! Hashes, keys, nonces, offsets, labels, trees and registrations.

use alloc::string::String;
use alloc::vec::Vec;

use mldsa_core::Backend;
use mldsa_core::internals::pack::{pack_signed, w1_encode};
use mldsa_core::internals::vectors;
use mldsa_core::internals::{Poly, Sponge, shake256_lanes};

use crate::committee::merkle::{Levels, Node, leaf, verify_path};
use crate::committee::tree::leaf_parts;
use crate::journal::record::task_key;
use crate::keys::matrix::{K, L, Matrix, P, vector};
use crate::keys::nonce::{SIGMA_BASE, derive_nonce, derive_nonce_bound, derive_offset};
use crate::keys::one_time_key::OneTimePublicKey;
use crate::round::definition::offset_width;
use crate::wire::framing::{absorb_lp, hash_lp, lp};
use crate::wire::signer_set::SignerSet;

use super::*;

#[test]
pub(super) fn primitives() {
    let file = load("primitives.json");
    let matrix = Matrix::expand(&array(file.bytes("rho")));
    let seed = MasterSeed::from_bytes(&array(file.bytes("master_seed")));
    let content = file.text("content").as_bytes();
    let label = &Label::new(content);

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

    let a: Vec<Poly> = matrix.a_hat.iter().map(|a| Poly(a.0)).collect();
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
pub(super) fn labels_and_trees() {
    let file = load("primitives.json");
    let rho = array(file.bytes("rho"));
    let seed = MasterSeed::from_bytes(&array(file.bytes("master_seed")));

    // The formula of `Epoch::slot_label`, which has committee 0.
    let slot = &file["labels"]["slot"];
    let label = |committee: u32| -> [u8; 32] {
        let (epoch, slot) = (slot.number("epoch"), slot.number("slot"));
        let ctx = file["labels"]["slot"].text("ctx").as_bytes();
        let parts: [&[u8]; 5] = [
            b"F.label",
            ctx,
            &epoch.to_be_bytes(),
            &slot.to_be_bytes(),
            &committee.to_be_bytes(),
        ];
        hash_lp(&[], &parts)
    };
    assert_eq!(
        label(slot.number("committee") as u32).to_vec(),
        slot.bytes("out")
    );
    let epoch = Epoch::new(slot.text("ctx").as_bytes(), slot.number("epoch"), 10, 1).unwrap();
    assert_eq!(
        epoch.slot_label(slot.number("slot") as u32).as_bytes(),
        label(0)
    );

    let onetime = &file["onetime"];
    let key = task_key(&seed.fingerprint(), &onetime.bytes("content_hex"));
    assert_eq!(
        seed.fingerprint().to_vec(),
        onetime.bytes("seed_fingerprint")
    );
    assert_eq!(key.to_vec(), onetime.bytes("key"));

    let tree = &file["epoch_tree"];
    let id = MemberName::new(file["registration"].text("id").as_bytes()).unwrap();
    let (matrix, seed) = (
        Matrix::expand(&rho),
        MasterSeed::from_bytes(&array(tree.bytes("seed"))),
    );
    let contents = tree.list("contents_hex").iter();
    let leaves: Vec<Node> = contents
        .map(|content| {
            let label = Label::new(&hex::decode(content.as_str().unwrap()).unwrap());
            let public_key = OneTimePublicKey::derive(&matrix, &seed, &label);
            leaf(&leaf_parts(&id, &label, &public_key))
        })
        .collect();
    let hex_list = |name: &str| -> Vec<String> {
        let list = tree.list(name).iter();
        list.map(|node| node.as_str().unwrap().into()).collect()
    };
    assert_eq!(
        leaves.iter().map(hex::encode).collect::<Vec<_>>(),
        hex_list("leaves")
    );
    let levels = Levels::new(&leaves).unwrap();
    let root = *levels.root();
    assert_eq!(root.to_vec(), tree.bytes("root"));
    let index = tree.number("path_index") as usize;
    let path = levels.path(index).unwrap();
    assert_eq!(
        path.iter().map(hex::encode).collect::<Vec<_>>(),
        hex_list("path")
    );
    assert!(verify_path(&leaves[index], index as u32, &path, 2, &root));
}
