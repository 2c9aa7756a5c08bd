//! The program that the gate of faults runs: `signed SET FORM [unchecked]` signs in a part that is
//! traced, and prints what was released. `MLDSA_BACKEND` chooses the backend.

use std::io::{self, Write};

use mldsa_core::no_alloc::{PreparedSigningKeyStorage, SignInto};
use mldsa_core::{
    BatchSigner, Context, ParameterSet, PreHash, PreHashed, Randomness, Set, SignJob, SigningKey,
    with_set,
};
use mldsa_gates::ptrace_step::{pause, wait_for_tracer};
use mldsa_gates::signed::{DIGEST, MESSAGES, SEED};
use mldsa_lowmem::{
    Balanced, CacheMatrix, CacheW0, ExpandedSigningKey, Minimal, MlDsaSigner, NoChecks, PrivateKey,
    Tier, Workspace,
};

const RND: Randomness<'_> = Randomness::Deterministic;
const CONTEXT: Context<'_> = Context::EMPTY;
/// A process that a fault lets run for ever is ended.
const SECONDS: u64 = 20;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (set, form) = (arguments.next(), arguments.next());
    let set: Option<Set> = set.and_then(|set| set.parse().ok());
    let (Some(set), Some(form)) = (set, form) else {
        eprintln!("to be run by: cargo run -p mldsa-gates -- faults");
        std::process::exit(2);
    };
    let is_checked = arguments.next().is_none();
    let limit = nix::sys::resource::Resource::RLIMIT_CPU;
    nix::sys::resource::setrlimit(limit, SECONDS, SECONDS)?;
    with_set!(set, P => sign::<P>(&form, is_checked))
}

fn sign<P: ParameterSet>(form: &str, is_checked: bool) -> io::Result<()>
where
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
    CacheW0: Tier<P>,
{
    let mut key = SigningKey::<P>::from_seed(&SEED);
    key.set_self_verification(is_checked);
    let prepared = key.prepare();
    let mut memory = Box::new(PreparedSigningKeyStorage::new());
    let in_place = key.prepare_in(&mut memory);
    let digest = PreHashed::<P>::new(PreHash::Sha2_512, &DIGEST).map_err(io::Error::other)?;
    let mut out = vec![0; P::SIG_LEN];
    let bytes = key.expanded().as_ref();
    let packed = ExpandedSigningKey::<P>::from_trusted_bytes(bytes)
        .and_then(|packed| packed.with_public_key(key.verifying_key().as_ref()))
        .map_err(io::Error::other)?;
    let seed = mldsa_lowmem::SigningKey::<P>::from_seed(&SEED);
    let mut signer = BatchSigner::new();
    let jobs = MESSAGES.map(|text| SignJob::new(prepared.as_prepared_ref(), text, CONTEXT, RND));
    // With the address of each: the tracer knows what its fault has changed behind the checks.
    let mut batch: [Option<(usize, Vec<u8>)>; 3] = [const { None }; 3];
    wait_for_tracer()?;
    pause()?;
    let released = match form {
        "unprepared" => key.sign_into(MESSAGES[0], CONTEXT, RND, &mut out).is_ok(),
        "prepared" => (prepared.sign_into(MESSAGES[0], CONTEXT, RND, &mut out)).is_ok(),
        "prepared-in" => (in_place.sign_into(MESSAGES[0], CONTEXT, RND, &mut out)).is_ok(),
        "digest" => (prepared.sign_prehashed_into(&digest, CONTEXT, RND, &mut out)).is_ok(),
        "batch" => {
            signer.sign(jobs, |n, signature| {
                // The copy is the caller's.
                let _ = pause();
                let place = |bytes: &[u8]| (bytes.as_ptr().addr(), bytes.to_vec());
                batch[n] = signature.ok().map(|signature| place(signature.as_ref()));
                let _ = pause();
            });
            false
        }
        "minimal" => lowmem(
            &packed,
            &mut Box::new(Workspace::<P, Minimal>::new()),
            is_checked,
            &mut out,
        ),
        "cache-w0" => lowmem(
            &packed,
            &mut Box::new(Workspace::<P, CacheW0>::new()),
            is_checked,
            &mut out,
        ),
        "balanced" => lowmem(
            &seed,
            &mut Box::new(Workspace::<P, Balanced>::new()),
            is_checked,
            &mut out,
        ),
        "cache-matrix" => lowmem(
            &packed,
            &mut Box::new(Workspace::<P, CacheMatrix>::new()),
            is_checked,
            &mut out,
        ),
        _ => return Err(io::Error::other("no such form")),
    };
    pause()?;
    if form != "batch" {
        batch = [released.then(|| (out.as_ptr().addr(), out)), None, None];
    }
    for signature in batch {
        match signature {
            Some((address, bytes)) => println!("{address} {}", hex::encode(bytes)),
            None => println!("-"),
        }
    }
    // A fault in what the caller passes is none of signing.
    let digest = (core::ptr::from_ref(&digest).addr(), size_of_val(&digest));
    let texts = MESSAGES.into_iter().chain([&DIGEST[..]]);
    let inputs = texts.map(|text| (text.as_ptr().addr(), text.len()));
    for (address, len) in inputs.chain([digest]) {
        println!("input {address} {len}");
    }
    io::stdout().flush()
}

fn lowmem<P: ParameterSet, K: PrivateKey<P>, T: Tier<P>>(
    key: &K,
    workspace: &mut Workspace<P, T>,
    is_checked: bool,
    out: &mut [u8],
) -> bool {
    let mut signer = MlDsaSigner::new(key, workspace);
    let signed = match is_checked {
        true => signer.sign_into(MESSAGES[0], CONTEXT, RND, out),
        false => signer
            .with_checks::<NoChecks>()
            .sign_into(MESSAGES[0], CONTEXT, RND, out),
    };
    signed.is_ok()
}
