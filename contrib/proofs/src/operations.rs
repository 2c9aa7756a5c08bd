//! Constant time of whole operations on the linked program: key generation, import, signing.
//!
//! The executor runs an operation with all inputs unknown. A bit is 0, 1, unknown and public, or
//! unknown; regions have addresses. A branch on a public bit is taken both ways, and so is one on
//! another unknown bit if its function is listed. Else the run stops, as it does for an address, a
//! mask of a memory access, a length, a shift or a division. So what is executed depends on what
//! is declassified in the list only.
//!
//! Attempts of signing: states at certain places that agree in what is public (`paths::Place`) are
//! joined, and the joined ones run again, until no state grows.

mod paths;

use core::cell::Cell;
use core::hint::black_box;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use mldsa_core::internals::{self, SEED_LEN};
use mldsa_core::no_alloc::{BatchSignerScratch, PreparedSigningKeyStorage};
use mldsa_core::{
    Backend, BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Randomness,
    SignJob, SigningKey,
};

use crate::image::Image;
use crate::places::{AARCH64_BACKENDS, BACKENDS, Program};
use crate::terms::{ANY, Lit, PUBLIC};
use crate::{aarch64, parallel};
use paths::Run;

enum What {
    /// Not executed: writes unknown bits to the memory that an argument points to, or to the place
    /// of a large result.
    Unknown(Lit, Option<usize>, Length),
    /// Executed, and its result is declassified.
    Verdict,
    /// Left out of the table.
    Absent,
    /// Not executed: answers with the backend of the operation.
    Choice,
    /// Has one branch on what is not declassified elsewhere.
    Branch,
    /// States are joined only if they took the same ways at its branches on unknown bits.
    Decisions,
}

enum Length {
    Fixed(usize),
    /// An argument, and its unit.
    Argument(usize, usize),
}

/// Functions that handle what is declassified: a part of the name (an entry of the kernel table, or
/// a function), how they are handled, and why they may.
#[rustfmt::skip] // One line for each entry.
const LISTED: [(&str, What, &str); 15] = [
    ("7Backend6detect|backend..Backend$u20$as$u20$core..default", What::Choice, "what the CPU has"),
    ("expand_a", What::Unknown(PUBLIC, Some(3), Length::Argument(4, 1024)), "A and rho are public"),
    ("expand_a_interleaved", What::Absent, "A and the public key are public: tr is hashed after A"),
    ("expand_s", What::Unknown(ANY, Some(3), Length::Argument(4, 1024)), "which half-bytes ExpandS rejects; the rest of it is not covered here"),
    ("sample_in_ball_vartime", What::Unknown(PUBLIC, None, Length::Fixed(256)), "the challenge of an attempt"),
    ("from_block", What::Unknown(PUBLIC, None, Length::Fixed(257)), "the challenge of an attempt in a batch"),
    ("hint_bit_pack_vartime", What::Unknown(PUBLIC, Some(3), Length::Argument(4, 1)), "the hints of a finished signature"),
    ("check_expanded", What::Branch, "the verdict on the ranges of an import"),
    ("from_expanded_bytes", What::Branch, "the verdict of an import"),
    // Some compilers inline `sign_expanded` into its callers.
    ("sign_expanded|sign_mu_observed|mldsa_proofs10operations4sign", What::Branch, "the verdict on the range of s1 and s2"),
    ("low_bits_row", What::Verdict, "the r0 verdict of a row"),
    ("respond_row", What::Verdict, "the z verdict of a row"),
    ("hint_row", What::Verdict, "the ct0 verdict of a row"),
    ("respond_hints", What::Verdict, "the verdict on the weight of the hints"),
    ("9sign_many9sign_many17", What::Decisions, "the number of attempts, which is public"),
];

const PLANTED: &str = "portable: planted";

/// The command that prints the operations.
pub(crate) const LIST: &str = "list-operations";

/// The function that begins an attempt of a single signature.
const ATTEMPT: &str = "next_masks";
/// The function that begins the response of an attempt.
const RESPONSE: &str = "respond_low_bits";
/// The responses to all attempts of a batch that run at once.
const ROUND: &str = "T$GT$7respond17";

#[inline(never)]
fn operations_anchor() {
    black_box(());
}

#[inline(never)]
fn keygen<P: ParameterSet>(
    backend: Backend,
    xi: &[u8; SEED_LEN],
    pk: &mut P::PublicKeyBytes,
    sk: &mut P::SecretKeyBytes,
) {
    internals::keygen_internal::<P>(backend, xi, pk, sk);
}

/// A whole group and the rest of another.
const KEYS: usize = 9;

#[inline(never)]
fn keygen_many<P: ParameterSet>(
    backend: Backend,
    xi: &[[u8; SEED_LEN]; KEYS],
    pk: &mut [P::PublicKeyBytes; KEYS],
    sk: &mut [P::SecretKeyBytes; KEYS],
) {
    let mut all = xi.iter().zip(pk).zip(sk);
    let mut keys: [_; KEYS] = core::array::from_fn(|_| match all.next() {
        Some(((xi, pk), sk)) => (xi, pk, sk),
        None => unreachable!(),
    });
    internals::keygen_many::<P>(backend, &mut keys);
}

#[inline(never)]
fn import<P: ParameterSet>(
    backend: Backend,
    sk: &P::SecretKeyBytes,
    pk: &mut P::PublicKeyBytes,
) -> bool {
    internals::check_expanded::<P>(backend, sk.as_ref(), pk).is_ok()
}

#[inline(never)]
fn sign<P: ParameterSet>(
    backend: Backend,
    sk: &P::SecretKeyBytes,
    mu: &Mu,
    rnd: &[u8; SEED_LEN],
    out: &mut P::SignatureBytes,
) -> bool {
    let Ok(key) = SigningKey::<P>::from_expanded_bytes(sk.as_ref()) else {
        return false;
    };
    let mut key = key.with_backend(backend);
    key.set_self_verification(false);
    let rnd = Randomness::Hedged(rnd);
    internals::sign_mu_observed(&key, mu, rnd, out.as_mut(), &mut |_| {}).is_ok()
}

#[inline(never)]
fn sign_prepared<P: ParameterSet>(
    backend: Backend,
    sk: &P::SecretKeyBytes,
    mu: &Mu,
    rnd: &[u8; SEED_LEN],
    out: &mut P::SignatureBytes,
    memory: &mut PreparedSigningKeyStorage<P>,
) -> bool {
    use mldsa_core::no_alloc::SignInto as _;
    let Ok(key) = SigningKey::<P>::from_expanded_bytes(sk.as_ref()) else {
        return false;
    };
    let mut key = key.with_backend(backend);
    key.set_self_verification(false);
    let (key, rnd) = (key.prepare_in(memory), Randomness::Hedged(rnd));
    key.sign_mu_into(mu, rnd, out.as_mut()).is_ok()
}

/// One is finished before the other.
const JOBS: usize = 2;

#[repr(C)]
struct BatchMemory<P: ParameterSet> {
    /// Number of calls for a job, plus 256 << n for each job n that is finished.
    progress: Cell<u64>,
    key: PreparedSigningKeyStorage<P>,
    signer: BatchSignerScratch<P>,
    leak: [u8; 2],
}

/// Signs a message and a message representative. With `LEAK` not constant time: the place of a
/// write depends on the key once the second one is finished.
#[inline(never)]
fn sign_batch<P: ParameterSet, const LEAK: bool>(
    backend: Backend,
    sk: &P::SecretKeyBytes,
    mu: &Mu,
    rnd: &[[u8; SEED_LEN]; JOBS],
    memory: &mut BatchMemory<P>,
) -> bool {
    let Ok(key) = SigningKey::<P>::from_expanded_bytes(sk.as_ref()) else {
        return false;
    };
    let mut key = key.with_backend(backend);
    key.set_self_verification(false);
    let key = key.prepare_in(&mut memory.key);
    let progress = &memory.progress;
    progress.set(0);
    let [first, second] = rnd.each_ref().map(Randomness::Hedged);
    let mut jobs = [
        SignJob::new(key, mu.as_bytes(), Context::EMPTY, first),
        SignJob::mu(key, *mu, second),
    ]
    .into_iter();
    let jobs = core::iter::from_fn(|| {
        progress.set(progress.get() + 1);
        jobs.next()
    });
    let mut signer = BatchSigner::new_in(&mut memory.signer).with_backend(backend);
    signer.sign(jobs, |n, _| {
        progress.set(progress.get() + (256 << n));
        if LEAK && n == 1 {
            memory.leak[usize::from(sk.as_ref()[40] & 1)] = 1;
        }
    });
    true
}

/// Functions that are not constant time, each in another way.
fn leaks() -> [Operation; 5] {
    #[inline(never)]
    fn branch(_: Backend, secret: &[u8; SEED_LEN], out: &mut [u8; SEED_LEN]) {
        if secret[3] > 7 {
            internals::Shake256::digest(Backend::PORTABLE.permutation(), &[secret], out);
        }
    }
    #[inline(never)]
    fn index(_: Backend, secret: &[u8; SEED_LEN], out: &mut [u8; SEED_LEN]) {
        out[usize::from(secret[3] & 31)] = 1;
    }
    #[inline(never)]
    fn division(_: Backend, secret: &[u8; SEED_LEN], out: &mut [u8; SEED_LEN]) {
        out[0] = secret[3] / (secret[4] | 1);
    }
    #[inline(never)]
    fn early_end(_: Backend, secret: &[u8; SEED_LEN], out: &mut [u8; SEED_LEN]) {
        out[0] = secret.iter().position(|&byte| byte == 7).unwrap_or(32) as u8;
    }
    // With the name of a function that has branches on what is public.
    #[inline(never)]
    fn sign_many(_: Backend, secret: &[u8; SEED_LEN], out: &mut [u8; SEED_LEN]) {
        #[inline(never)]
        fn sign_many(secret: &[u8; SEED_LEN], out: &mut [u8; SEED_LEN]) {
            if secret[3] > 7 {
                internals::Shake256::digest(Backend::PORTABLE.permutation(), &[secret], out);
            }
        }
        sign_many(secret, out);
    }
    const LENS: &[usize] = &[SEED_LEN; 2];
    [
        ("branch", branch as *const () as usize, LENS),
        ("index", index as *const () as usize, LENS),
        ("division", division as *const () as usize, LENS),
        ("early end", early_end as *const () as usize, LENS),
        (
            "branch of a listed function",
            sign_many as *const () as usize,
            LENS,
        ),
    ]
    .map(|of| operation("planted", 1, of))
}

/// One operation: its name, the distance of its function from `operations_anchor`, the lengths of
/// the arguments after the backend, all of which are references, and the number l of the set.
type Operation = (String, usize, Vec<usize>, usize);

fn operation(set: &str, l: usize, (name, function, lens): (&str, usize, &[usize])) -> Operation {
    let anchor = black_box(operations_anchor as *const () as usize);
    let distance = black_box(function).wrapping_sub(anchor);
    (format!("{set} {name}"), distance, lens.to_vec(), l)
}

fn batch_lens<P: ParameterSet>() -> [usize; 4] {
    [P::SK_LEN, 64, JOBS * SEED_LEN, size_of::<BatchMemory<P>>()]
}

fn of_set<P: ParameterSet>(l: usize) -> [Operation; 6] {
    let (pk, sk, signature) = (P::PK_LEN, P::SK_LEN, P::SIG_LEN);
    let keygen = keygen::<P> as *const () as usize;
    let many = keygen_many::<P> as *const () as usize;
    let import = import::<P> as *const () as usize;
    let sign = sign::<P> as *const () as usize;
    let prepared = sign_prepared::<P> as *const () as usize;
    let batch = sign_batch::<P, false> as *const () as usize;
    let lens = [
        sk,
        64,
        SEED_LEN,
        signature,
        size_of::<PreparedSigningKeyStorage<P>>(),
    ];
    [
        ("keygen", keygen, &[SEED_LEN, pk, sk][..]),
        (
            "keygen of nine",
            many,
            &[SEED_LEN, pk, sk].map(|len| KEYS * len),
        ),
        ("import", import, &[sk, pk]),
        ("sign", sign, &lens[..4]),
        ("sign with a prepared key", prepared, &lens),
        ("sign a batch of two jobs", batch, &batch_lens::<P>()),
    ]
    .map(|of| operation(P::NAME, l, of))
}

/// Results of a run.
struct Found {
    executed: usize,
    /// Joined states, and how often one was executed.
    states: usize,
    runs: usize,
    /// By number in the list: addresses of branches, or calls.
    used: BTreeMap<usize, BTreeSet<u64>>,
    met: BTreeMap<Vec<u8>, u64>,
}

/// Prints the operations of this process, for the one that proves them.
pub(crate) fn print() -> Result<(), String> {
    let sets = of_set::<MlDsa44>(4)
        .into_iter()
        .chain(of_set::<MlDsa65>(5))
        .chain(of_set::<MlDsa87>(7));
    let leak = sign_batch::<MlDsa44, true> as *const () as usize;
    let leak = ("leak in a batch", leak, &batch_lens::<MlDsa44>()[..]);
    let leaks = leaks().into_iter().chain([operation("planted", 4, leak)]);
    let all: Vec<Operation> = sets.chain(leaks).collect();
    serde_json::to_writer(std::io::stdout(), &all).map_err(|e| e.to_string())
}

/// The operations of a program, each with the address of its function.
fn of_program(Program { path, image, .. }: &Program) -> Result<Vec<Operation>, String> {
    let [anchor] = image.functions("operations_anchor")[..] else {
        return Err("the operations have no place in this program".into());
    };
    let mut command = if image.is_aarch64() {
        aarch64::emulator(path)
    } else {
        Command::new(path)
    };
    let output = command.arg(LIST).output().map_err(|e| e.to_string())?;
    let all: Vec<Operation> = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let placed = all.into_iter().map(|(name, distance, lens, l)| {
        let address = distance.wrapping_add(anchor as usize);
        let is_function = image.names.contains_key(&(address as u64));
        let placed = is_function.then_some((name, address, lens, l));
        placed.ok_or_else(|| format!("no function begins at {address:#x}"))
    });
    placed.collect()
}

/// Names and addresses of functions that are not constant time, but for the batch.
pub(crate) fn planted(program: &Program) -> Result<Vec<(String, u64)>, String> {
    let all = of_program(program)?.into_iter();
    let leaks = all.filter(|(name, ..)| name.starts_with("planted") && !name.contains("batch"));
    Ok(leaks.map(|(name, at, ..)| (name, at as u64)).collect())
}

/// Backends of the tables in a program.
fn backends(image: &Image) -> Vec<&'static str> {
    if image.is_aarch64() {
        [&["portable"][..], &AARCH64_BACKENDS].concat()
    } else {
        BACKENDS.to_vec()
    }
}

/// A backend, and the program with what is assumed about the core.
struct Case {
    name: String,
    backend: &'static str,
    image: Image,
}

fn cases(image: &Image) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for backend in backends(image) {
        let is_portable = backend == "portable";
        let answers = if image.is_aarch64() && !is_portable {
            aarch64::answers(image)?
        } else {
            vec![("", image.clone())]
        };
        cases.extend(answers.into_iter().map(|(answer, image)| {
            let name = if answer.is_empty() {
                backend.to_owned()
            } else {
                format!("{backend}, {answer}")
            };
            Case {
                name,
                backend,
                image,
            }
        }));
    }
    Ok(cases)
}

/// Runs the operations whose names contain a text; the forms of instructions that they meet.
pub(crate) fn run(program: &Program, text: &str) -> Result<(bool, BTreeMap<Vec<u8>, u64>), String> {
    let image = &program.image;
    let (operations, cases) = (of_program(program)?, cases(image)?);
    let all: Vec<_> = operations
        .iter()
        .flat_map(|o| {
            cases
                .iter()
                .map(move |case| (format!("{}: {}", case.name, o.0), case, o))
        })
        .filter(|(name, ..)| name.contains(PLANTED) || !name.contains("planted"))
        .filter(|(name, ..)| name.contains(text) || name.contains(PLANTED))
        .collect();
    let results = parallel::map(all.len(), |n| {
        let (name, case, (_, entry, lens, l)) = &all[n];
        let attempt = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            Run::new(case, *l)?.operation(*entry as u64, lens)
        }));
        let result = attempt.unwrap_or_else(|_| Err("the domain gave up".into()));
        match &result {
            Err(text) if name.contains(PLANTED) => println!("{name}: refused, {text}"),
            Ok(found) => println!(
                "{name}: proved, {} instructions, {} runs of {} states",
                found.executed, found.runs, found.states
            ),
            Err(text) => println!("{name}: open, {text}"),
        }
        result
    })?;
    let mut used: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    let mut met = BTreeMap::new();
    let (mut proved, mut refused, mut leaks) = (0, 0, 0);
    for ((name, ..), found) in all.iter().zip(results) {
        let is_planted = name.contains(PLANTED);
        leaks += usize::from(is_planted);
        let Ok(found) = found else {
            refused += usize::from(is_planted);
            continue;
        };
        proved += usize::from(!is_planted);
        for (n, places) in found.used {
            used.entry(n).or_default().extend(places);
        }
        met.extend(found.met);
    }
    let count = all.len() - leaks;
    println!(
        "operations proved to be constant time: {proved} of {count}; {refused} of {leaks} leaks refused"
    );
    let mut is_good = proved == count && refused == leaks;
    for (n, (part, what, reason)) in LISTED.iter().enumerate() {
        let places = used.get(&n).map_or(0, BTreeSet::len);
        println!("declassified, {part}: {reason}; {places} places");
        // Only a complete run can tell that an entry is of no use. Tables for AArch64 have none
        // that is left out.
        is_good &=
            places > 0 || !text.is_empty() || image.is_aarch64() && matches!(what, What::Absent);
    }
    Ok((is_good, met))
}
