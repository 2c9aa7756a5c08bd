//! Key generation, signing in the tiers that a part with 16 kB of RAM has room for with all
//! checks, and verification, each with stack and instructions measured; the results must
//! equal those of the host. On a BBC micro:bit (Cortex-M0) or a SiFive FE310 (RV32).
#![no_std]
#![no_main]

use core::convert::Infallible;

use boards::{Meter, Use, exit, flash, println, statics};
#[cfg(target_arch = "arm")]
use cortex_m_rt::entry;
use mldsa_lowmem::{
    CacheW0, Context, Minimal, MlDsa44, MlDsa65, MlDsa87, MlDsaSigner, Operation, ParameterSet,
    Randomness, SigningKey, Tier, VerifyError, VerifyingKey, Workspace, ram,
};
#[cfg(target_arch = "riscv32")]
use riscv_rt::entry;

mod inputs {
    include!("../inputs.rs");
}
use inputs::{MESSAGE, RND, SEED};

/// A part and what the demonstration may use of it.
struct Part {
    /// For the report.
    name: &'static str,
    /// Bytes of flash and RAM that it has.
    sizes: [usize; 2],
    /// Its meter.
    meter: Meter,
}

/// Millions of instructions for a key from its seed, for a signature from the seed in tier `Minimal` and, if the part has
/// RAM for workspace, key and signature, in tier `CacheW0`, and for its verification. For ML-DSA-44, 65 and 87.
#[cfg(target_arch = "arm")]
const LIMITS: [(u64, u64, Option<u64>, u64); 3] = [
    (7, 42, Some(30), 7),
    (13, 102, Some(78), 12),
    (23, 133, None, 21),
];
#[cfg(target_arch = "riscv32")]
const LIMITS: [(u64, u64, Option<u64>, u64); 3] = [
    (4, 22, Some(16), 4),
    (7, 53, Some(41), 6),
    (13, 69, None, 11),
];

/// The largest public key and signature.
static mut BUFFERS: ([u8; MlDsa87::PK_LEN], [u8; MlDsa87::SIG_LEN]) =
    ([0; MlDsa87::PK_LEN], [0; MlDsa87::SIG_LEN]);

/// Demonstrates every parameter set, and ends the program: with failure if a result or a limit is missed.
#[entry]
fn main() -> ! {
    #[cfg(target_arch = "arm")]
    let part = Part {
        name: "micro:bit",
        sizes: [256 * 1024, 16 * 1024],
        meter: Meter::microbit(),
    };
    #[cfg(target_arch = "riscv32")]
    let part = Part {
        name: "FE310",
        sizes: [12 * 1024 * 1024, 16 * 1024],
        meter: Meter::fe310(),
    };
    // SAFETY: the runtime calls this function once, and nothing else uses the buffers.
    let (pk, signature) = unsafe { &mut *(&raw mut BUFFERS) };
    let mut kept = true;
    macro_rules! demonstrate {
        ($set:ident, $name:literal, $limits:literal) => {
            kept &= demonstrate::<$set>(
                &part,
                LIMITS[$limits],
                &mut pk[..$set::PK_LEN],
                &mut signature[..$set::SIG_LEN],
                include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".pk")),
                include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".sig")),
            );
        };
    }
    demonstrate!(MlDsa44, "ML-DSA-44", 0);
    demonstrate!(MlDsa65, "ML-DSA-65", 1);
    demonstrate!(MlDsa87, "ML-DSA-87", 2);
    let ram = statics() + part.meter.deepest();
    println!(
        "{{\"part\":\"{}\",\"flash\":{},\"of\":{},\"static_ram\":{},\"ram\":{},\"of\":{}}}",
        part.name,
        flash(),
        part.sizes[0],
        statics(),
        ram,
        part.sizes[1]
    );
    kept &= flash() <= part.sizes[0] && ram <= part.sizes[1];
    exit(i32::from(!kept))
}

#[inline(never)]
fn demonstrate<P: ParameterSet>(
    part: &Part,
    (keygen, minimal, cache_w0, verification): (u64, u64, Option<u64>, u64),
    pk: &mut [u8],
    signature: &mut [u8],
    expected_pk: &[u8],
    expected_signature: &[u8],
) -> bool
where
    CacheW0: Tier<P>,
{
    let report = |op, used: Use, stack: usize, millions: u64, right: bool| {
        let kept = used.stack <= stack && used.instructions <= 1_000_000 * millions;
        println!(
            "{{\"part\":\"{}\",\"op\":\"{}\",\"set\":\"{}\",\"stack\":{},\"stack_limit\":{},\
             \"instructions\":{},\"instructions_limit\":{},\"as_the_host\":{},\"kept\":{}}}",
            part.name,
            op,
            P::NAME,
            used.stack,
            stack,
            used.instructions,
            1_000_000 * millions,
            right,
            kept
        );
        kept && right
    };
    let meter = &part.meter;

    // The private key is the seed: 32 bytes of flash.
    let mut tr = [0; 64];
    let used = meter.measure(|| {
        let mut write = |at: usize, bytes: &[u8]| {
            pk[at..][..bytes.len()].copy_from_slice(bytes);
            Ok::<(), Infallible>(())
        };
        let Ok(hash) = SigningKey::<P>::keygen_to_writers(&SEED, &mut write, None);
        tr = hash;
    });
    let mut kept = report(
        "keygen",
        used,
        ram::<P, Minimal>(Operation::KeygenToWriters),
        keygen,
        *pk == *expected_pk,
    );

    let used = meter.measure(|| sign::<P, Minimal>(&tr, signature));
    let same = *signature == *expected_signature;
    kept &= report(
        "sign, Minimal, self-verified",
        used,
        ram::<P, Minimal>(Operation::SignFromSeed),
        minimal,
        same,
    );

    if let Some(millions) = cache_w0 {
        signature.fill(0);
        let used = meter.measure(|| sign::<P, CacheW0>(&tr, signature));
        let same = *signature == *expected_signature;
        kept &= report(
            "sign, CacheW0, self-verified",
            used,
            ram::<P, CacheW0>(Operation::SignFromSeed),
            millions,
            same,
        );
    }

    let mut verdict = Ok(());
    let used = meter.measure(|| verdict = verify::<P>(pk, signature));
    kept &= report(
        "verify",
        used,
        ram::<P, Minimal>(Operation::Verify),
        verification,
        verdict.is_ok(),
    );

    // The last bit of z.
    signature[P::SIG_LEN - P::PARAMS.omega - P::K - 1] ^= 0x80;
    let refused = verify::<P>(pk, signature).is_err();
    println!(
        "{{\"part\":\"{}\",\"op\":\"verify a bit flipped\",\"set\":\"{}\",\"refused\":{}}}",
        part.name,
        P::NAME,
        refused
    );
    kept && refused
}

fn sign<P: ParameterSet, T: Tier<P>>(tr: &[u8; 64], signature: &mut [u8]) {
    let key = SigningKey::<P>::from_seed_and_tr(&SEED, tr);
    let mut workspace = Workspace::<P, T>::new();
    MlDsaSigner::new(&key, &mut workspace)
        .sign_into(MESSAGE, Context::EMPTY, Randomness::Hedged(&RND), signature)
        .expect("a signature");
}

fn verify<P: ParameterSet>(pk: &[u8], signature: &[u8]) -> Result<(), VerifyError> {
    VerifyingKey::<P>::from_bytes(pk)
        .expect("a key of the right length")
        .verify_with_context(MESSAGE, Context::EMPTY, signature)
}
