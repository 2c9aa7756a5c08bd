//! Concurrent writes to the signature buffer while signing runs: a DMA channel, another
//! core, a fault of the memory. A bit of y changes between the two passes, so that the second
//! sees another w than the one that was committed to. Or y is zero from the commitment on, so
//! that a valid signature would hold c s1.

use core::ops::ControlFlow;
use core::ptr::{read_volatile, write_volatile};

use boards::println;
use mldsa_lowmem::{
    AllChecks, Checks, ExpandedSigningKey, Minimal, MlDsaSigner, Mu, NoChecks, ParameterSet,
    Progress, Randomness, SignError, Workspace,
};

use crate::{Bench, Input, miss};

/// Self-verification has to detect the fault. Without it a changed bit gives a signature that is
/// not valid, and a zeroed y one that is.
pub fn run<P: ParameterSet>(bench: &mut Bench<P>) {
    bench.prepare(&Input::new(0));
    for (zeroed, self_verification) in [(false, true), (false, false), (true, true), (true, false)]
    {
        let mu = Mu::from_bytes([7; 64]);
        let outcome = match self_verification {
            true => sign_disturbed::<P, AllChecks>(bench, &mu, zeroed),
            false => sign_disturbed::<P, NoChecks>(bench, &mu, zeroed),
        };
        let expected = match self_verification {
            true => Err(SignError::SelfVerification),
            false => Ok(()),
        };
        let kept = outcome == expected
            && match outcome {
                Ok(()) => {
                    let verdict = mldsa_core::internals::verify_mu_encoded::<P>(
                        &bench.pk,
                        &mu,
                        bench.signature.as_ref(),
                    );
                    verdict.is_ok() == zeroed
                }
                Err(_) => bench.signature.as_ref().iter().all(|&byte| byte == 0),
            };
        if !kept {
            miss();
        }
        println!(
            "{{\"fault\":\"{}\",\"set\":\"{}\",\
             \"self_verification\":{},\"outcome\":\"{:?}\",\"kept\":{}}}",
            match zeroed {
                true => "y zeroed before the commitment",
                false => "y changed between the passes",
            },
            P::NAME,
            self_verification,
            outcome,
            kept
        );
    }
}

#[inline(never)]
fn sign_disturbed<P: ParameterSet, C: Checks>(
    bench: &mut Bench<P>,
    mu: &Mu,
    zeroed: bool,
) -> Result<(), SignError> {
    let y = bench.signature.as_ref()[P::C_TILDE_LEN..].as_ptr() as usize as *mut u8;
    let mut rows = 0;
    let mut watch = |progress| {
        match progress {
            Progress::Attempt(_) => rows = 0,
            Progress::Row(_) => rows += 1,
            _ => {}
        }
        if zeroed && rows == 1 {
            // The first row of the commitment. A packed coefficient 0 is gamma1, in 18 or 20 bits.
            let bits = if P::LAMBDA == 128 { 18 } else { 20 };
            for n in 0..256 * P::L {
                let top = bits * n + bits - 1;
                for bit in bits * n..bits * (n + 1) {
                    // SAFETY: memory of this program, `bits` for each of 256 l coefficients. It is
                    // lent to the signer, as it would be when another device writes to it.
                    unsafe {
                        let byte = y.add(bit / 8);
                        let rest = read_volatile(byte) & !(1 << (bit % 8));
                        write_volatile(byte, rest | u8::from(bit == top) << (bit % 8));
                    }
                }
            }
        }
        // The first row of the second pass.
        if !zeroed && rows == P::K + 1 {
            rows += 1;
            // SAFETY: as above.
            unsafe { write_volatile(y, read_volatile(y) ^ 1) };
        }
        ControlFlow::Continue(())
    };
    let key = ExpandedSigningKey::<P>::from_trusted_bytes(bench.sk.as_ref()).expect("a key");
    let key = key.with_public_key(bench.pk.as_ref()).expect("a key");
    let mut workspace = Workspace::<P, Minimal>::new();
    MlDsaSigner::new(&key, &mut workspace)
        .with_checks::<C>()
        .with_progress(&mut watch)
        .sign_mu_into(mu, Randomness::Deterministic, bench.signature.as_mut())
}
