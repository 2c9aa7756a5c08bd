//! Votes, forged or not, and executors of several moods.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use batch_verify::{
    BatchVerifier, Executor, Item, KeySet, Outcome, OwnedItem, Reason, SignerId, Threads,
};
use mldsa_core::{Context, MlDsa44, Randomness, SigningKey};

pub(crate) const CONTEXT: &[u8] = b"intake/v1";
pub(crate) const MEMBERS: usize = 6;

pub(crate) static KEYS: LazyLock<Vec<SigningKey<MlDsa44>>> = LazyLock::new(|| {
    (0..MEMBERS as u8)
        .map(|n| SigningKey::from_seed(&[n; 32]))
        .collect()
});

pub(crate) fn set(order: impl IntoIterator<Item = usize>) -> KeySet<MlDsa44> {
    let keys = order.into_iter();
    KeySet::from_public_keys(keys.map(|n| KEYS[n].verifying_key().as_bytes().as_slice())).unwrap()
}

pub(crate) fn verifier(threads: Threads) -> BatchVerifier<MlDsa44> {
    BatchVerifier::builder()
        .keys(set(0..MEMBERS))
        .context(CONTEXT)
        .threads(threads)
        .build()
        .unwrap()
}

/// Vote n is by member n % 6, on message n; every seventh is forged.
pub(crate) static VOTES: LazyLock<Vec<OwnedItem>> = LazyLock::new(|| {
    let context = Context::new(CONTEXT).unwrap();
    (0..60usize)
        .map(|n| {
            let message = n.to_le_bytes();
            let key = &KEYS[n % MEMBERS];
            let signature = key
                .sign(&message, context, Randomness::Deterministic)
                .unwrap();
            let mut signature = signature.as_ref().to_vec();
            signature[3] ^= u8::from(forged(n));
            let signer = SignerId::new((n % MEMBERS) as u32);
            OwnedItem::from(Item::new(signer, &message, &signature))
        })
        .collect()
});

pub(crate) fn forged(n: usize) -> bool {
    n % 7 == 3
}

pub(crate) fn expected(n: usize) -> Outcome {
    if forged(n) {
        Outcome::Invalid(Reason::ChallengeMismatch)
    } else {
        Outcome::Valid
    }
}

/// An executor that does nothing before it is told to, and drops what it is told to.
#[derive(Default)]
pub(crate) struct Held(Mutex<Vec<Box<dyn FnOnce() + Send>>>);

impl Held {
    pub(crate) fn release(&self) {
        let jobs = core::mem::take(&mut *self.0.lock().unwrap());
        jobs.into_iter().for_each(|job| job());
    }

    pub(crate) fn drop_all(&self) {
        let jobs = core::mem::take(&mut *self.0.lock().unwrap());
        drop(jobs);
    }
}

impl Executor for Held {
    fn workers(&self) -> usize {
        2
    }

    fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {}

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        self.0.lock().unwrap().push(work);
    }

    fn is_worker(&self) -> bool {
        false
    }
}

pub(crate) fn held() -> (Arc<Held>, Threads) {
    let held = Arc::new(Held::default());
    let threads = Threads::Executor(Arc::clone(&held) as Arc<dyn Executor>);
    (held, threads)
}

/// Runs, delays or drops work at random.
pub(crate) struct Moody {
    state: AtomicUsize,
    pool: rayon::ThreadPool,
    pub(crate) drops: bool,
}

impl Moody {
    pub(crate) fn new(seed: usize, drops: bool) -> Self {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        Self {
            state: AtomicUsize::new(seed),
            pool: pool.unwrap(),
            drops,
        }
    }
}

impl Moody {
    pub(crate) fn dice(&self, sides: usize) -> usize {
        let state = self
            .state
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let state = (state ^ state >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (state ^ state >> 27) % sides
    }
}

impl Executor for Moody {
    fn workers(&self) -> usize {
        3
    }

    fn run(&self, tasks: usize, task: &(dyn Fn(usize) + Sync)) {
        if self.dice(3) > 0 {
            self.pool.scope(|scope| {
                for n in (0..tasks).filter(|_| self.dice(4) > 0) {
                    scope.spawn(move |_| task(n));
                }
            });
        }
    }

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        match self.dice(5) {
            0 if self.drops => drop(work),
            1 => drop(std::thread::spawn(work)),
            2 => work(),
            _ => self.pool.spawn(work),
        }
    }

    fn is_worker(&self) -> bool {
        self.pool.current_thread_index().is_some()
    }
}
