//! Concurrent writes to the signature buffer while signing runs: a DMA channel, another
//! core, a fault of the memory. A bit of y changes between the two passes,
//! so that the second sees another w than the one that was committed to.

use core::ops::ControlFlow;
use core::ptr::{read_volatile, write_volatile};

use board_meter::println;
use mldsa_core::VerifyingKey;
use mldsa_lowmem::{
    ExpandedSigningKey, Minimal, MlDsaSigner, Mu, ParameterSet, Progress, Randomness, SignError,
    Workspace,
};

use crate::{Bench, Input, miss};

/// Each check alone has to detect the fault; without them the signature is bad.
pub fn run<P: ParameterSet>(bench: &mut Bench<P>) {
    bench.prepare(&Input::new(0));
    for (commitment_check, self_verification, expected) in [
        (true, false, Err(SignError::CommitmentChanged)),
        (false, true, Err(SignError::SelfVerification)),
        (false, false, Ok(())),
    ] {
        let mu = Mu::from_bytes([7; 64]);
        let outcome = sign_disturbed(bench, &mu, commitment_check, self_verification);
        let kept = outcome == expected
            && match outcome {
                Ok(()) => {
                    VerifyingKey::<P>::verify_mu_encoded(&bench.pk, &mu, &bench.signature).is_err()
                }
                Err(_) => bench.signature.as_ref().iter().all(|&byte| byte == 0),
            };
        if !kept {
            miss();
        }
        println!(
            "{{\"fault\":\"y changed between the passes\",\"set\":\"{}\",\"commitment_check\":{},\
             \"self_verification\":{},\"outcome\":\"{:?}\",\"kept\":{}}}",
            P::NAME,
            commitment_check,
            self_verification,
            outcome,
            kept
        );
    }
}

#[inline(never)]
fn sign_disturbed<P: ParameterSet>(
    bench: &mut Bench<P>,
    mu: &Mu,
    commitment_check: bool,
    self_verification: bool,
) -> Result<(), SignError> {
    let y = bench.signature.as_ref()[P::C_TILDE_LEN..].as_ptr() as usize as *mut u8;
    let mut rows = 0;
    let mut watch = |progress| {
        match progress {
            Progress::Attempt(_) => rows = 0,
            Progress::Row(_) => rows += 1,
            _ => {}
        }
        // The first row of the second pass.
        if rows == P::K + 1 {
            rows += 1;
            // SAFETY: memory of this program. It is lent to the signer, as it would be when a
            // fault changes it.
            unsafe { write_volatile(y, read_volatile(y) ^ 1) };
        }
        ControlFlow::Continue(())
    };
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(bench.sk.as_ref()).expect("a key");
    let key = key.with_public_key(bench.pk.as_ref()).expect("a key");
    let mut workspace = Workspace::<P, Minimal>::new();
    MlDsaSigner::new(&key, &mut workspace)
        .with_commitment_check(commitment_check)
        .with_self_verification(self_verification)
        .with_progress(&mut watch)
        .sign_mu_into(mu, Randomness::Deterministic, bench.signature.as_mut())
}
