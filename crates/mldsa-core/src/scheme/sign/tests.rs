//! Tests of the check of masks.

#[cfg(mldsa_simd)]
#[cfg(feature = "alloc")]
mod faults;

use super::*;
use crate::hash::transcript::Randomness;
use crate::keys::SigningKey;
use crate::keys::no_alloc::{PreparedSigningKeyStorage, SignInto};
use crate::params::{MlDsa44, MlDsa65, MlDsa87};
use std::boxed::Box;

/// Masks of zeros give a z within the bounds, c s1, which the masks of the attempt do not.
/// So do the masks of another attempt, and z with one row of zero masks.
fn response_of_other_masks_is_recognised<P: ParameterSet>() {
    let p = &P::PARAMS;
    for backend in Backend::available() {
        let key = SigningKey::<P>::from_seed(&[3; 32]).with_backend(backend);
        let mut memory = Box::new(PreparedSigningKeyStorage::new());
        let material = &key.prepare_in(&mut memory).material;
        let (mu, rnd) = (&Mu::from_bytes([1; 64]), &[0; SEED_LEN]);
        let (mut attempt, mut out) = (0, P::SignatureBytes::zeroed());
        let observe = &mut |_| attempt += 1;
        let signed = key.sign_mu_observed(mu, Randomness::Deterministic, out.as_mut(), observe);
        assert_eq!(signed, Ok(()));
        let mut c_tilde = [0; CRH_LEN];
        let c_tilde = &mut c_tilde[..p.c_tilde_len];
        c_tilde.copy_from_slice(&out.as_ref()[..p.c_tilde_len]);
        let mut c_hat = NttPoly::zeroed();
        challenge(backend, p, c_tilde, &mut c_hat);
        let rows = p.c_tilde_len..p.c_tilde_len + p.l * p.z_poly_len();
        let mut again = P::SignatureBytes::zeroed();
        let mut check = |attempt, z: &[u8]| {
            let inputs = (mu, rnd, attempt);
            is_response_of_masks(backend, p, material, inputs, &c_hat, z, again.as_mut())
        };
        let Rows::Transformed(s1_hat) = material.s1 else {
            panic!("a prepared key has transformed rows");
        };
        let z = &mut out.as_mut()[rows];
        assert!(check(attempt, z));
        assert!(!check(attempt + 1, z));
        for row in (0..p.l).rev() {
            let z_row = &mut z[row * p.z_poly_len()..][..p.z_poly_len()];
            let (s1_hat, zero) = (&s1_hat[row], NttPoly::zeroed());
            let bound = p.gamma1() - p.beta();
            let respond = backend.kernels().respond_row;
            assert!(respond(p.gamma1_bits, bound, &c_hat, s1_hat, &zero, z_row));
            assert!(!check(attempt, z), "{backend:?} {row}");
        }
    }
}

#[test]
fn response_of_other_masks_is_recognised_in_every_set() {
    response_of_other_masks_is_recognised::<MlDsa44>();
    response_of_other_masks_is_recognised::<MlDsa65>();
    response_of_other_masks_is_recognised::<MlDsa87>();
}
