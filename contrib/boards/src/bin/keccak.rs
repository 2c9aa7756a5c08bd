//! Keccak-f[1600] of the device in place of the library's: a mock of hardware that counts. Keys, signatures and
//! verdicts are those of the host. Built with `--cfg mldsa_hardware_keccak`, as `.ci/steps.sh` does.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};

use boards::{exit, println};
use cortex_m_rt::entry;
use mldsa_core::internals::keccak::keccak_f1600_compact;
use mldsa_lowmem::{
    Context, KeccakF1600, Minimal, MlDsa44, MlDsa65, MlDsa87, MlDsaSigner, ParameterSet,
    PrivateKey, Randomness, SigningKey, VerifyingKey, Workspace,
};

mod inputs {
    include!("../inputs.rs");
}

static PERMUTATIONS: AtomicU32 = AtomicU32::new(0);

struct Mock;

impl KeccakF1600 for Mock {
    fn permute(state: &mut [u64; 25]) {
        // The one core has no other thread.
        PERMUTATIONS.store(PERMUTATIONS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        keccak_f1600_compact(state);
    }
}

mldsa_core::hardware_keccak!(Mock);

/// Devices that do not work: one without a clock, and one with another order of bytes.
struct Idle;

impl KeccakF1600 for Idle {
    fn permute(_: &mut [u64; 25]) {}
}

struct Swapped;

impl KeccakF1600 for Swapped {
    fn permute(state: &mut [u64; 25]) {
        keccak_f1600_compact(state);
        *state = state.map(u64::swap_bytes);
    }
}

/// Runs the three operations, and prints the permutations of each. Returns whether results are those of the host, and
/// verification has at least the five permutations of each polynomial of A.
fn run<P: ParameterSet>(pk: &[u8], expected: &[u8], signature: &mut [u8]) -> bool {
    let count = || {
        let count = PERMUTATIONS.load(Ordering::Relaxed);
        PERMUTATIONS.store(0, Ordering::Relaxed);
        count
    };
    count();
    let key = SigningKey::<P>::from_seed(&inputs::SEED);
    let keygen = count();
    let signed = MlDsaSigner::new(&key, &mut Workspace::<P, Minimal>::new()).sign_into(
        inputs::MESSAGE,
        Context::EMPTY,
        Randomness::Hedged(&inputs::RND),
        signature,
    );
    let sign = count();
    let verified = VerifyingKey::<P>::from_bytes(pk).map(|key| {
        (
            key.tr(),
            key.verify_with_context(inputs::MESSAGE, Context::EMPTY, signature),
        )
    });
    let verify = count();
    let right = signed.is_ok() && *signature == *expected && verified == Ok((*key.tr(), Ok(())));
    println!(
        "{{\"set\":\"{}\",\"keygen\":{},\"sign\":{},\"verify\":{},\"as_the_host\":{}}}",
        P::NAME,
        keygen,
        sign,
        verify,
        right
    );
    right && verify as usize > 5 * P::K * P::L
}

#[entry]
fn main() -> ! {
    let mut signature = [0; MlDsa87::SIG_LEN];
    let mut kept = Mock::works() && !Idle::works() && !Swapped::works();
    macro_rules! run {
        ($set:ident, $name:literal) => {
            kept &= run::<$set>(
                include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".pk")),
                include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".sig")),
                &mut signature[..$set::SIG_LEN],
            );
        };
    }
    run!(MlDsa44, "ML-DSA-44");
    run!(MlDsa65, "ML-DSA-65");
    run!(MlDsa87, "ML-DSA-87");
    exit(i32::from(!kept))
}
