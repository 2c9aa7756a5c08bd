//! Faults between the two passes of an attempt.

use mldsa_core::MlDsa44;
use mldsa_core::internals::SecretKeyParts;

use super::*;
use crate::keygen::keygen_from_seed;
use crate::tier::Minimal;

/// Runs one attempt; bit `disturbed` of y changes between the two passes.
fn attempt(
    rho_pp: u8,
    commitment_check: bool,
    disturbed: Option<usize>,
) -> Result<(), AttemptError> {
    let p = &MlDsa44::PARAMS;
    let (mut pk, mut sk) = ([0; MlDsa44::PK_LEN], [0; MlDsa44::SK_LEN]);
    keygen_from_seed::<MlDsa44>(&[5; 32], &mut pk, &mut sk);
    let key = SecretKeyParts::parse(p, &sk).expect("a key");
    let mut workspace = Workspace::<MlDsa44, Minimal>::new();
    let mut out = [0; MlDsa44::SIG_LEN];
    let (c_tilde, z, hint) = signature_parts_mut(p, &mut out).expect("a buffer");
    let request = Request {
        mu: &Mu::from_bytes([1; 64]),
        rnd: &[0; SEED_LEN],
        commitment_check,
    };
    let mut pass = Pass {
        key: &key,
        request: &request,
        attempt: 0,
        workspace: &mut workspace,
        acc: &mut [0; N],
        watch: &mut None,
        c_tilde,
        z,
        hint,
    };
    pass.mask(&[rho_pp; CRH_LEN])?;
    pass.commit()?;
    if let Some(bit) = disturbed {
        pass.z[bit / 8] ^= 1 << (bit % 8);
    }
    pass.respond()
}

#[test]
fn mask_change_between_passes_is_detected() {
    let (mut detected, mut released) = (0, 0);
    for rho_pp in 0..40 {
        if attempt(rho_pp, true, None).is_err() {
            continue;
        }
        let bit = usize::from(rho_pp) * 18;
        match attempt(rho_pp, true, Some(bit)) {
            Err(AttemptError::Failed(SignError::CommitmentChanged)) => detected += 1,
            Err(AttemptError::Rejected(_)) => {}
            _ => panic!("signed with a mask that was not committed to"),
        }
        // Without the second hash some of these attempts succeed.
        released += i32::from(attempt(rho_pp, false, Some(bit)).is_ok());
    }
    assert!(detected > 0 && released > 0, "{detected}, {released}");
}
