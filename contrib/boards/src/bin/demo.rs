//! Key generation, signing in the tiers that such a part has room for with all
//! checks, and verification, each with stack and instructions measured; the results must
//! equal those of the host.

use core::convert::Infallible;

use mldsa_lowmem::{
    CacheW0, Context, Minimal, MlDsaSigner, ParameterSet, Randomness, SigningKey, Tier,
    VerifyError, VerifyingKey, Workspace,
};

use crate::meter::{Meter, Use, flash, statics};
use crate::{exit, println};

mod inputs {
    include!("inputs.rs");
}
use inputs::{MESSAGE, RND, SEED};

/// A part and what the demonstration may use of it.
pub struct Part {
    /// For the report.
    pub name: &'static str,
    /// Bytes of flash and RAM that it has.
    pub sizes: [usize; 2],
    /// Its meter.
    pub meter: Meter,
    /// Limits for ML-DSA-44, 65 and 87.
    pub limits: [Limits; 3],
}

/// Bytes of stack and millions of instructions.
pub struct Limits {
    /// For a key from its seed.
    pub keygen: (usize, u64),
    /// For a signature from the seed in tier `Minimal`, workspace included.
    pub minimal: (usize, u64),
    /// The same in tier `CacheW0`, if the part has RAM for workspace, key and signature.
    pub cache_w0: Option<(usize, u64)>,
    /// For its verification.
    pub verify: (usize, u64),
}

/// The largest public key and signature.
static mut BUFFERS: ([u8; PK_LEN], [u8; SIG_LEN]) = ([0; PK_LEN], [0; SIG_LEN]);

const fn largest(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

macro_rules! sets {
    ($(($feature:literal, $set:ident, $name:literal, $limits:literal)),*) => {
        const PK_LEN: usize = {
            let len = 0;
            $(#[cfg(feature = $feature)]
            let len = largest(len, mldsa_lowmem::$set::PK_LEN);)*
            len
        };
        const SIG_LEN: usize = {
            let len = 0;
            $(#[cfg(feature = $feature)]
            let len = largest(len, mldsa_lowmem::$set::SIG_LEN);)*
            len
        };

        /// Runs it with every parameter set that is built in, and ends the
        /// program: with failure if a result or a limit is missed.
        pub fn run(part: &Part) -> ! {
            // SAFETY: this function is called once, by `main`, and does not return.
            let (pk, signature) = unsafe { &mut *(&raw mut BUFFERS) };
            let mut kept = true;
            $(#[cfg(feature = $feature)]
            {
                kept &= demonstrate::<mldsa_lowmem::$set>(
                    part,
                    &part.limits[$limits],
                    &mut pk[..mldsa_lowmem::$set::PK_LEN],
                    &mut signature[..mldsa_lowmem::$set::SIG_LEN],
                    include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".pk")),
                    include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".sig")),
                );
            })*
            let ram = statics() + part.meter.deepest();
            println!(
                "{{\"part\":\"{}\",\"flash\":{},\"of\":{},\"static_ram\":{},\"ram\":{},\"of\":{}}}",
                part.name, flash(), part.sizes[0], statics(), ram, part.sizes[1]
            );
            kept &= flash() <= part.sizes[0] && ram <= part.sizes[1];
            exit(i32::from(!kept))
        }
    };
}
sets!(
    ("ml-dsa-44", MlDsa44, "ML-DSA-44", 0),
    ("ml-dsa-65", MlDsa65, "ML-DSA-65", 1),
    ("ml-dsa-87", MlDsa87, "ML-DSA-87", 2)
);

#[inline(never)]
fn demonstrate<P: ParameterSet>(
    part: &Part,
    limits: &Limits,
    pk: &mut [u8],
    signature: &mut [u8],
    expected_pk: &[u8],
    expected_signature: &[u8],
) -> bool
where
    CacheW0: Tier<P>,
{
    let report = |op, used: Use, (stack, millions): (usize, u64), right: bool| {
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
    let mut kept = report("keygen", used, limits.keygen, *pk == *expected_pk);

    let used = meter.measure(|| sign::<P, Minimal>(&tr, signature));
    let same = *signature == *expected_signature;
    kept &= report("sign, Minimal, self-verified", used, limits.minimal, same);

    if let Some(limits) = limits.cache_w0 {
        signature.fill(0);
        let used = meter.measure(|| sign::<P, CacheW0>(&tr, signature));
        let same = *signature == *expected_signature;
        kept &= report("sign, CacheW0, self-verified", used, limits, same);
    }

    let mut verdict = Ok(());
    let used = meter.measure(|| verdict = verify::<P>(pk, signature));
    kept &= report("verify", used, limits.verify, verdict.is_ok());

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
