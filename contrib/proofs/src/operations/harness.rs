//! Operations that are linked into this program: key generation, import, signing. It prints where
//! they are and what their arguments depend on, for the process that checks them.

use core::cell::Cell;
use core::hint::black_box;

use mldsa_core::internals::{self, SEED_LEN, T0_POLY_LEN};
use mldsa_core::no_alloc::{BatchSignerScratch, PreparedSigningKeyStorage};
use mldsa_core::{
    Backend, BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Randomness,
    SignJob, SigningKey,
};

use super::leaks::{leak, leaks};
use crate::terms::secret::{ALL, K, OTHER, S, T0};

/// The place from which distances are counted.
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

/// What a batch works on.
#[repr(C)]
pub(super) struct BatchMemory<P: ParameterSet> {
    /// Number of calls for a job, plus 256 << n for each job n that is finished.
    progress: Cell<u64>,
    key: PreparedSigningKeyStorage<P>,
    signer: BatchSignerScratch<P>,
    leak: [u8; 2],
}

/// Signs a message and a message representative. With `LEAK` not constant time: the place of a
/// write depends on the key once the second one is finished.
#[inline(never)]
pub(super) fn sign_batch<P: ParameterSet, const LEAK: bool>(
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

/// Length of a part of an argument, and the inputs that it depends on.
type Part = (usize, u8);
/// The address of an argument is a multiple of the first number.
pub(super) type Place = (usize, Vec<Part>);

/// One operation: its name, the distance of its function from `operations_anchor`, the arguments
/// after the backend, all of which are references, and the number l of the set.
pub(super) type Operation = (String, usize, Vec<Place>, usize);

/// A value that depends on these inputs.
pub(super) fn value<T>(inputs: u8) -> Place {
    (align_of::<T>(), vec![(size_of::<T>(), inputs)])
}

/// A private key: rho, K, tr, s1 and s2, t0.
fn private_key<P: ParameterSet>() -> Place {
    let t0 = P::K * T0_POLY_LEN;
    let secrets = P::SK_LEN - 128 - t0;
    let parts = vec![
        (SEED_LEN, 0),
        (SEED_LEN, K),
        (64, 0),
        (secrets, S),
        (t0, T0),
    ];
    (align_of::<P::SecretKeyBytes>(), parts)
}

pub(super) fn operation(
    set: &str,
    l: usize,
    (name, function, arguments): (&str, usize, Vec<Place>),
) -> Operation {
    let anchor = black_box(operations_anchor as *const () as usize);
    let distance = black_box(function).wrapping_sub(anchor);
    (format!("{set} {name}"), distance, arguments, l)
}

pub(super) fn batch_arguments<P: ParameterSet>() -> Vec<Place> {
    vec![
        private_key::<P>(),
        value::<Mu>(OTHER),
        value::<[[u8; SEED_LEN]; JOBS]>(OTHER),
        value::<BatchMemory<P>>(ALL),
    ]
}

fn of_set<P: ParameterSet>(l: usize) -> [Operation; 6] {
    let key = private_key::<P>;
    let (public, xi) = (
        value::<P::PublicKeyBytes>(ALL),
        value::<[u8; SEED_LEN]>(OTHER),
    );
    let signing = || {
        let randomness = value::<[u8; SEED_LEN]>(OTHER);
        vec![
            key(),
            value::<Mu>(OTHER),
            randomness,
            value::<P::SignatureBytes>(ALL),
        ]
    };
    let mut prepared = signing();
    prepared.push(value::<PreparedSigningKeyStorage<P>>(ALL));
    let many = vec![
        value::<[[u8; SEED_LEN]; KEYS]>(OTHER),
        value::<[P::PublicKeyBytes; KEYS]>(ALL),
        value::<[P::SecretKeyBytes; KEYS]>(ALL),
    ];
    let secret = value::<P::SecretKeyBytes>(ALL);
    [
        (
            "keygen",
            keygen::<P> as *const () as usize,
            vec![xi, public.clone(), secret],
        ),
        (
            "keygen of nine",
            keygen_many::<P> as *const () as usize,
            many,
        ),
        (
            "import",
            import::<P> as *const () as usize,
            vec![key(), public],
        ),
        ("sign", sign::<P> as *const () as usize, signing()),
        (
            "sign with a prepared key",
            sign_prepared::<P> as *const () as usize,
            prepared,
        ),
        (
            "sign a batch of two jobs",
            sign_batch::<P, false> as *const () as usize,
            batch_arguments::<P>(),
        ),
    ]
    .map(|of| operation(P::NAME, l, of))
}

/// Prints the operations of this process, for the one that proves them.
pub(crate) fn print() -> Result<(), String> {
    let sets = of_set::<MlDsa44>(4)
        .into_iter()
        .chain(of_set::<MlDsa65>(5))
        .chain(of_set::<MlDsa87>(7));
    let all: Vec<Operation> = sets.chain(leaks()).chain([leak()]).collect();
    serde_json::to_writer(std::io::stdout(), &all).map_err(|e| e.to_string())
}
