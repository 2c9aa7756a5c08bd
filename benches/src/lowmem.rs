//! Operations of `mldsa-lowmem`, signing in every memory tier: from the expanded key, with the
//! workspace on the stack, without fault checks, which the other implementations do not have.

use std::rc::Rc;

use mldsa_core::hazmat::{Secret, Zeroed};
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness};
use mldsa_lowmem::{
<<<<<<< HEAD
    Balanced, CacheMatrix, CacheW0, ExpandedKey, Minimal, MlDsaSigner, PublicKey, SeedKey, Tier,
    Workspace, keygen_from_seed,
=======
    Balanced, Cached, ExpandedKey, Floor, KeepW0, Output, PublicKey, Signer, Tier, Workspace,
    keygen_from_seed,
>>>>>>> main
};

use crate::inputs::{Case, Key};
use crate::{Contender, Inputs, Op, Set};

const PEER: &str = "mldsa-lowmem";

/// Key generation, verification, and signing in every tier.
#[must_use]
pub fn lowmem_contenders(inputs: &Rc<Inputs>) -> Vec<Contender> {
    match inputs.set {
        Set::MlDsa44 => of::<MlDsa44>(inputs),
        Set::MlDsa65 => of::<MlDsa65>(inputs),
        Set::MlDsa87 => of::<MlDsa87>(inputs),
    }
}

<<<<<<< HEAD
/// Loaded keys. All but the opened one are the encoding, which stays where it is, and
/// what points to it.
pub(crate) fn loaded(inputs: &Inputs) -> Vec<Loaded> {
    fn of<P: ParameterSet>(key: &Key) -> Vec<Loaded> {
        let opened = held(|| SeedKey::<P>::from_seed(&key.seed));
        let private = held(|| ExpandedKey::<P>::new(&key.private).expect("a key"));
        let public = held(|| PublicKey::<P>::from_bytes(&key.public).expect("a key"));
        vec![
            Loaded::new(PEER, "private, opened", &key.seed, opened),
            Loaded::new(
                PEER,
                "private, expanded",
                &key.private,
                key.private.len() + private,
            ),
            Loaded::new(PEER, "public", &key.public, key.public.len() + public),
        ]
    }
    let key = &inputs.keys[0];
    match inputs.set {
        Set::MlDsa44 => of::<MlDsa44>(key),
        Set::MlDsa65 => of::<MlDsa65>(key),
        Set::MlDsa87 => of::<MlDsa87>(key),
    }
}

=======
>>>>>>> main
fn of<P: ParameterSet>(inputs: &Rc<Inputs>) -> Vec<Contender>
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let mut pk = Box::new(P::PublicKeyBytes::zeroed());
    let mut sk = Box::new(Secret::<P::SecretKeyBytes>::zeroed());
    keygen_from_seed::<P>(&inputs.keys[0].seed, &mut pk, sk.expose_mut());
    assert_eq!(pk.as_ref().as_ref(), inputs.keys[0].public, "{PEER} keygen");
    let keygen = {
        let inputs = Rc::clone(inputs);
        move |i| keygen_from_seed::<P>(&inputs.key(i).seed, &mut pk, sk.expose_mut())
    };
    let verify = |key: &Key, case: &Case| {
        let key = PublicKey::<P>::from_bytes(&key.public).expect("an encoding");
        key.verify(&case.message, Context::EMPTY, &case.signature)
            .is_ok()
    };
    vec![
        Contender::new(Op::Keygen, PEER, keygen),
        sign::<P, Minimal>(inputs, "minimal"),
        sign::<P, CacheW0>(inputs, "cache-w0"),
        sign::<P, Balanced>(inputs, "balanced"),
<<<<<<< HEAD
        sign::<P, CacheMatrix>(inputs, "cache-matrix"),
        Contender::new(Op::VerifyCold, PEER, verify),
=======
        sign::<P, Cached>(inputs, "cached"),
        Contender::verifier(Op::VerifyCold, PEER, inputs, verify),
>>>>>>> main
    ]
}

fn sign<P: ParameterSet, T: Tier<P>>(inputs: &Rc<Inputs>, tier: &'static str) -> Contender {
    let inputs = Rc::clone(inputs);
    let mut out = Box::new(P::SignatureBytes::zeroed());
    let mut sign = move |i| {
        let (key, case) = inputs.case(i);
        let key = ExpandedKey::<P>::new(&key.private).expect("a key");
        let mut workspace = Workspace::<P, T>::new();
        let out: &mut [u8] = out.as_mut().as_mut();
        let signed = MlDsaSigner::new(&key, &mut workspace)
            .with_self_verification(false)
            .with_commitment_check(false)
            .sign(
                &case.message,
                Context::EMPTY,
                Randomness::Deterministic,
                out,
            );
<<<<<<< HEAD
        // Of the same bytes for all: the inputs come from another signer.
        assert_eq!(signed.map(|()| &*out), Ok(&case.signature[..]));
=======
        assert_eq!(signature.expect("signing"), case.signature);
>>>>>>> main
    };
    sign(0);
    Contender::new(Op::Sign, PEER, sign).backend(tier)
}
