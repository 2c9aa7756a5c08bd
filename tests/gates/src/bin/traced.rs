//! The program that the trace gate runs on the host: one operation of `mldsa-core` on the
//! input in a file, between two stops (`traced run ...`); and, built with
//! `--cfg mldsa_ct_check`, the search for inputs whose public events agree
//! (`traced search ...`).

use std::process::ExitCode;

use mldsa_core::internals::{self, SecretKeyParts, Shake256, Zeroed};
use mldsa_core::no_alloc::SignInto;
use mldsa_core::{
    Backend, BatchSigner, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Randomness, SignJob,
    SigningKey,
};

#[path = "../../device/src/operations.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "made for a crate of its own"
)]
mod operations;

use operations::HEADER_LEN;

/// `rho` of every key, so that traces of A agree.
const RHO: [u8; 32] = [7; 32];

/// Keys or messages of a batch: one more than the widest backend has lanes, so that one
/// waits until another is done.
const BATCH: usize = 9;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &arguments[..] {
        ["run", operation, place, input] => {
            let stop = || mldsa_gates::ptrace_step::pause().expect("a signal");
            let ready = mldsa_gates::ptrace_step::wait_for_tracer().ok();
            ready.and_then(|()| run(operation, place, input, stop))
        }
        ["marked", operation, place, input] => run(operation, place, input, boundary),
        #[cfg(mldsa_ct_check)]
        ["search", change, operation, place, first, second] => {
            search::search(change, operation, place, [first, second])
        }
        _ => None,
    };
    if done.is_none() {
        eprintln!("to be built and run by: cargo run -p mldsa-gates -- trace");
    }
    ExitCode::from(if done.is_some() { 0 } else { 2 })
}

/// Begins or ends a part for a tracer that records addresses and nothing else.
#[inline(never)]
fn boundary() {
    core::hint::black_box(());
}

/// Runs `operation` on the file `input`, the part that counts between two `stop`s, and
/// writes the digest of its result to a file next to it.
fn run(operation: &str, place: &str, input: &str, stop: impl Fn()) -> Option<()> {
    let bytes = std::fs::read(input).ok()?;
    let (_, backend) = place.split_once('/')?;
    let backend = Backend::available().find(|known| known.name() == backend)?;
    let mut digest = [0; 32];
    let stops = |work: &mut dyn FnMut()| {
        stop();
        work();
        stop();
    };
    perform(operation, backend, &bytes, &mut digest, stops)?;
    let output = std::path::Path::new(input).with_extension("digest");
    std::fs::write(output, hex::encode(digest)).ok()
}

/// By the set that the input names; `watched` is called with the part that counts.
fn perform(
    operation: &str,
    backend: Backend,
    bytes: &[u8],
    digest: &mut [u8; 32],
    watched: impl Fn(&mut dyn FnMut()),
) -> Option<()> {
    match bytes.first()? {
        44 => core_operation::<MlDsa44>(operation, backend, bytes, digest, watched),
        65 => core_operation::<MlDsa65>(operation, backend, bytes, digest, watched),
        _ => core_operation::<MlDsa87>(operation, backend, bytes, digest, watched),
    }
}

fn core_operation<P: ParameterSet>(
    operation: &str,
    backend: Backend,
    bytes: &[u8],
    digest: &mut [u8; 32],
    watched: impl Fn(&mut dyn FnMut()),
) -> Option<()> {
    let (header, rest) = bytes.split_at_checked(HEADER_LEN)?;
    let (sk, mus) = rest.split_at_checked(P::SK_LEN)?;
    let mu = Mu::from_bytes(*header[35..].first_chunk()?);
    let mut out = P::SignatureBytes::zeroed();
    let hash = |parts: &[&[u8]], out: &mut [u8]| {
        Shake256::digest(Backend::PORTABLE.permutation(), parts, out);
    };
    let key = || {
        let key = SigningKey::<P>::from_expanded_bytes(sk).ok()?;
        let mut key = key.with_backend(backend);
        // Signatures of two keys differ, and so do the traces of their verification.
        key.set_self_verification(false);
        Some(key)
    };
    match operation {
        "keygen" => {
            let k_seed = SecretKeyParts::parse(&P::PARAMS, sk).ok()?.k_seed;
            let mut rho_p = [0; 64];
            hash(&[k_seed], &mut rho_p);
            let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
            watched(&mut || {
                internals::keygen_from_rho_p::<P>(backend, &RHO, &rho_p, k_seed, &mut pk, &mut sk);
            });
            hash(&[sk.as_ref()], digest);
        }
        "import" | "import-refused" => {
            let mut pk = P::PublicKeyBytes::zeroed();
            watched(&mut || {
                digest[0] = u8::from(internals::check_expanded::<P>(backend, sk, &mut pk).is_ok());
            });
        }
        "sign" => {
            let key = key()?;
            watched(&mut || {
                let signed = key.sign_mu_into(&mu, Randomness::Deterministic, out.as_mut());
                signed.expect("a signature");
            });
            hash(&[out.as_ref()], digest);
        }
        "sign-prepared" => {
            let key = key()?;
            watched(&mut || {
                let signed =
                    key.prepare()
                        .sign_mu_into(&mu, Randomness::Deterministic, out.as_mut());
                signed.expect("a signature");
            });
            hash(&[out.as_ref()], digest);
        }
        "keygen-batch" => {
            let xis: [[u8; 32]; BATCH] = core::array::from_fn(|n| {
                let mut xi = *header[3..].first_chunk().expect("longer");
                xi[31] ^= n as u8;
                xi
            });
            let mut pks = [const { P::PublicKeyBytes::ZEROED }; BATCH];
            let mut sks = [const { P::SecretKeyBytes::ZEROED }; BATCH];
            let keys = xis.iter().zip(&mut pks).zip(&mut sks);
            let mut keys: Vec<_> = keys.map(|((xi, pk), sk)| (xi, pk, sk)).collect();
            watched(&mut || internals::keygen_many::<P>(backend, &mut keys));
            let sks = sks.each_ref().map(|sk| sk.as_ref());
            hash(&sks, digest);
        }
        "sign-batch" => {
            let key = key()?.prepare();
            let (mus, _) = mus.as_chunks();
            let mut signatures =
                core::array::from_fn::<_, BATCH, _>(|_| P::SignatureBytes::zeroed());
            let mut signer = BatchSigner::new().with_backend(backend);
            watched(&mut || {
                let job = |&mu| {
                    SignJob::mu(
                        key.as_prepared_ref(),
                        Mu::from_bytes(mu),
                        Randomness::Deterministic,
                    )
                };
                signer.sign(mus.iter().map(job), |n, signature| {
                    let signature = signature.expect("a signature");
                    signatures[n].as_mut().copy_from_slice(signature.as_ref());
                });
            });
            let signatures: Vec<_> = signatures.iter().map(|s| s.as_ref()).collect();
            hash(&signatures, digest);
        }
        _ => {
            let planted = operations::Operation::named(operation)?;
            let input = operations::Input::<P>::new(planted, header, sk)?;
            watched(&mut || operations::perform::<P, mldsa_lowmem::Minimal>(&input, digest));
        }
    }
    Some(())
}

#[cfg(mldsa_ct_check)]
mod search {
    use std::sync::Mutex;

    use super::*;
    use mldsa_core::internals::ct_check;
    use mldsa_lowmem::{Balanced, CacheMatrix, CacheW0, Minimal, Tier};
    use operations::{Input, Operation};

    /// Declassified values: the reason, and of verdicts the value.
    type Events = Vec<(&'static str, Option<u8>)>;
    static EVENTS: Mutex<Events> = Mutex::new(Vec::new());

    /// Candidates before the search gives up: a fault of the gate.
    const TRIES: u32 = 100_000;

    #[allow(unsafe_code, reason = "the hook hands out a place")]
    fn hook(place: *mut u8, _: usize, why: &'static str) {
        // Which half-bytes were rejected never agrees: that code is left out.
        if why.starts_with("ExpandS") {
            return;
        }
        // SAFETY: verdicts are one byte, which `declassify` lends.
        let value = why.contains("verdict").then(|| unsafe { *place });
        if let Ok(mut events) = EVENTS.lock() {
            events.push((why, value));
        }
    }

    /// Finds two inputs that differ in `change` and nothing else that is secret,
    /// writes them to `files` and prints the digests of their results.
    pub(super) fn search(
        change: &str,
        operation: &str,
        place: &str,
        files: [&str; 2],
    ) -> Option<()> {
        let _ = ct_check::HOOK.set(hook);
        let (set, place) = place.split_once('/')?;
        match set {
            "ml-dsa-44" => pair::<MlDsa44>(44, change, operation, place, files),
            "ml-dsa-65" => pair::<MlDsa65>(65, change, operation, place, files),
            _ => pair::<MlDsa87>(87, change, operation, place, files),
        }
    }

    fn pair<P: ParameterSet>(
        set: u8,
        change: &str,
        operation: &str,
        place: &str,
        files: [&str; 2],
    ) -> Option<()>
    where
        CacheW0: Tier<P>,
        Balanced: Tier<P>,
        CacheMatrix: Tier<P>,
    {
        let signs = operation.starts_with("sign");
        let tier = ["minimal", "cache-w0", "balanced", "cache-matrix"]
            .iter()
            .position(|&name| name == place);
        let number = Operation::named(operation).map_or(0, |operation| operation as u8);
        let events = |input: &[u8]| {
            let mut digest = [0; 32];
            EVENTS.lock().ok()?.clear();
            match tier {
                None => {
                    let backend = Backend::available().find(|known| known.name() == place)?;
                    perform(operation, backend, input, &mut digest, |work| work())?;
                }
                Some(tier) => {
                    let (header, sk) = input.split_at(HEADER_LEN);
                    let operation = Operation::named(operation)?;
                    let input = Input::<P>::new(operation, header, sk)?;
                    match tier {
                        0 => operations::perform::<P, Minimal>(&input, &mut digest),
                        1 => operations::perform::<P, CacheW0>(&input, &mut digest),
                        2 => operations::perform::<P, Balanced>(&input, &mut digest),
                        _ => operations::perform::<P, CacheMatrix>(&input, &mut digest),
                    }
                }
            }
            Some((EVENTS.lock().ok()?.clone(), digest))
        };
        let input = |secrets: u32, k_seed: u32| {
            let mut rho_p = [0; 64];
            rho_p[..4].copy_from_slice(&secrets.to_le_bytes());
            let mut k = [1; 32];
            k[..4].copy_from_slice(&k_seed.to_le_bytes());
            let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
            let backend = Backend::PORTABLE;
            internals::keygen_from_rho_p::<P>(backend, &RHO, &rho_p, &k, &mut pk, &mut sk);
            if operation == "import-refused" {
                // In t0: at its end, or where the secrets say.
                let from_end = secrets as usize * 77 % (P::SK_LEN / 2);
                sk.as_mut()[P::SK_LEN - 1 - from_end] ^= 1;
            }
            let header = [&[set, tier.unwrap_or(0) as u8, number], &k[..], &[9; 64]].concat();
            [&header, sk.as_ref()].concat()
        };
        let rejected = |events: &Events, why| {
            let rejected = events.iter().filter(|&&event| event == (why, Some(1)));
            rejected.count()
        };
        // Attempts rejected for z and for r0, and the last one accepted.
        let rejections = |events: &Events| {
            let accepted = events
                .last()
                .is_some_and(|(why, _)| *why == "the finished signature");
            let other =
                rejected(events, "ct0 verdict of a row") + rejected(events, "hint weight verdict");
            let of_rows = ["z verdict of a row", "r0 verdict of a row"];
            (accepted && other == 0).then(|| of_rows.map(|why| rejected(events, why)))
        };
        let inputs = if operation == "sign-batch" {
            // Every third message is signed at once, and of each key others are.
            let wanted = |n: usize, events: &Events| {
                rejections(events) == Some([[0, 0], [1, 0], [0, 1]][n % 3])
            };
            let (first, known) = with_messages(&input(0, 0), &events, wanted)?;
            let (second, _) =
                with_messages(&input(1, 1), &events, |n, events| *events == known[n])?;
            [first, second]
        } else {
            let wanted = |events: &Events| !signs || rejections(events) == Some([1, 1]);
            let (n, first, known) = (0..TRIES).find_map(|n| {
                let first = input(0, n);
                let (found, _) = events(&first)?;
                wanted(&found).then_some((n, first, found))
            })?;
            let second = (1..TRIES).find_map(|m| {
                let second = match change {
                    "mask" => input(0, n + m),
                    "secrets" => input(m, n),
                    _ => input(m, n + m),
                };
                (events(&second)?.0 == known).then_some(second)
            })?;
            [first, second]
        };
        let [(known, digest), (agrees, other)] = [events(&inputs[0])?, events(&inputs[1])?];
        if known != agrees {
            return None;
        }
        for (file, input) in files.into_iter().zip(inputs) {
            std::fs::write(file, input).ok()?;
        }
        println!("{}\n{}", hex::encode(digest), hex::encode(other));
        Some(())
    }

    /// The input `key` with [`BATCH`] messages, of which number n has events that are
    /// `wanted`, and those events.
    fn with_messages(
        key: &[u8],
        events: impl Fn(&[u8]) -> Option<(Events, [u8; 32])>,
        wanted: impl Fn(usize, &Events) -> bool,
    ) -> Option<(Vec<u8>, Vec<Events>)> {
        let (mut all, mut known) = (key.to_vec(), Vec::new());
        for n in 0..BATCH {
            let (mu, found) = (0..TRIES).find_map(|m| {
                let mut mu = [n as u8; 64];
                mu[..4].copy_from_slice(&m.to_le_bytes());
                let (found, _) = events(&[key, &mu].concat())?;
                wanted(n, &found).then_some((mu, found))
            })?;
            all.extend(mu);
            known.push(found);
        }
        Some((all, known))
    }
}
