//! Operations of `mldsa-lowmem`, signing in every memory tier: from the expanded key, with the
//! workspace on the stack, without fault checks, which the other implementations do not have.

use std::rc::Rc;

use mldsa_core::internals::{Secret, Zeroed};
use mldsa_core::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness};
use mldsa_lowmem::{
    Balanced, CacheMatrix, CacheW0, ExpandedSigningKey, Minimal, MlDsaSigner, NoChecks, Tier,
    VerifyingKey, Workspace,
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

fn of<P: ParameterSet>(inputs: &Rc<Inputs>) -> Vec<Contender>
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    let mut pk = Box::new(P::PublicKeyBytes::zeroed());
    let mut sk = Box::new(Secret::<P::SecretKeyBytes>::zeroed());
    mldsa_lowmem::SigningKey::<P>::keygen_into(&inputs.keys[0].seed, &mut pk, sk.expose_mut());
    assert_eq!(pk.as_ref().as_ref(), inputs.keys[0].public, "{PEER} keygen");
    let keygen = {
        let inputs = Rc::clone(inputs);
        move |i| {
            mldsa_lowmem::SigningKey::<P>::keygen_into(
                &inputs.key(i).seed,
                &mut pk,
                sk.expose_mut(),
            )
        }
    };
    let verify = |key: &Key, case: &Case| {
        let key = VerifyingKey::<P>::from_bytes(&key.public).expect("an encoding");
        key.verify_with_context(&case.message, Context::EMPTY, &case.signature)
            .is_ok()
    };
    vec![
        Contender::new(Op::Keygen, PEER, keygen),
        sign::<P, Minimal>(inputs, "minimal"),
        sign::<P, CacheW0>(inputs, "cache-w0"),
        sign::<P, Balanced>(inputs, "balanced"),
        sign::<P, CacheMatrix>(inputs, "cache-matrix"),
        Contender::verifier(Op::VerifyCold, PEER, inputs, verify),
    ]
}

fn sign<P: ParameterSet, T: Tier<P>>(inputs: &Rc<Inputs>, tier: &'static str) -> Contender {
    let inputs = Rc::clone(inputs);
    let mut out = Box::new(P::SignatureBytes::zeroed());
    let mut sign = move |i| {
        let (key, case) = inputs.case(i);
        let key = ExpandedSigningKey::<P>::from_trusted_bytes(&key.private).expect("a key");
        let mut workspace = Workspace::<P, T>::new();
        let out: &mut [u8] = out.as_mut().as_mut();
        let signed = MlDsaSigner::new(&key, &mut workspace)
            .with_checks::<NoChecks>()
            .sign_into(
                &case.message,
                Context::EMPTY,
                Randomness::Deterministic,
                out,
            );
        assert_eq!(signed.map(|()| &*out), Ok(&case.signature[..]));
    };
    sign(0);
    Contender::new(Op::Sign, PEER, sign).backend(tier)
}
