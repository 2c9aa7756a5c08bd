//! Traces of secrets in dead memory. Every operation runs on a stack that is read after
//! its thread has ended and with a heap whose freed blocks are read before they
//! go; both are searched for the secrets that the operation had in its hands, in
//! every form that it computed, on every backend of this CPU. Promised: named buffers are wiped, after success,
//! error and unwinding. Not promised: registers that the compiler spilled, and
//! copies that it made of a value on the move; `zeroize_stack` removes those too.

#![allow(clippy::unwrap_used, reason = "a test")]

use core::hint::black_box;
use std::collections::HashMap;
use std::sync::Arc;

use mldsa_core::internals::{
    self, ExpandedSeed, NttPoly, Params, Poly, SecretKeyParts, Zeroed, expand_seed, ntt, pack,
    sample,
};
use mldsa_core::no_alloc::SignInto;
use mldsa_core::{
    Backend, BatchSigner, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, Randomness, SignError,
    SignJob, SigningKey, no_alloc::PreparedSigningKeyStorage, no_alloc::SigningKeyStorage,
    zeroize_stack,
};
use mldsa_gates::cases::{self, Case};
use mldsa_gates::{heap_scan, stack_watermark};

#[global_allocator]
static HEAP: heap_scan::Heap = heap_scan::Heap;

/// Stack of the threads, and the part of it that the wrapper overwrites.
const STACK: usize = 2 << 20;
const SCRUBBED: usize = 1 << 20;

/// Secrets by name, in pieces of [`PIECE`] bytes at every place, which are long
/// enough never to occur by chance.
#[derive(Default)]
struct Secrets {
    pieces: HashMap<[u8; PIECE], &'static str>,
    // One bit for each value of `slot`: most memory needs no look at the map.
    filter: Vec<bool>,
}

const PIECE: usize = 16;

/// 20 bits of the first eight bytes.
fn slot(piece: &[u8]) -> usize {
    let word = piece
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as usize
}

impl Secrets {
    fn add(&mut self, name: &'static str, bytes: &[u8]) {
        self.filter.resize(1 << 20, false);
        for piece in bytes.windows(PIECE) {
            self.filter[slot(piece)] = true;
            self.pieces.insert(piece.try_into().unwrap(), name);
        }
    }

    fn add_poly(&mut self, name: &'static str, coefficients: &[i32]) {
        let bytes: Vec<u8> = coefficients.iter().flat_map(|a| a.to_le_bytes()).collect();
        self.add(name, &bytes);
    }

    /// Everything that key generation and signing of a case compute. In a thread
    /// of its own: vector registers are inherited by the next thread, and were
    /// seen to end up on its stack.
    fn of<P: ParameterSet>(case: Case, key: &SigningKey<P>) -> Self {
        std::thread::scope(|scope| scope.spawn(|| Self::compute(case, key)).join().unwrap())
    }

    fn compute<P: ParameterSet>(case: Case, key: &SigningKey<P>) -> Self {
        let p = &P::PARAMS;
        let backend = Backend::PORTABLE;
        let mut secrets = Self::default();
        secrets.add("xi", &case.seed);
        let mut seed = ExpandedSeed::zeroed();
        expand_seed(backend.permutation(), p, &case.seed, &mut seed);
        secrets.add("rho'", seed.rho_p.expose());
        secrets.add("K", seed.k_seed.expose());
        let parts = SecretKeyParts::parse(p, key.expanded().as_ref()).unwrap();
        secrets.add("s1 packed", parts.s1);
        secrets.add("s2 packed", parts.s2);
        secrets.add("t0 packed", parts.t0);
        for packed in parts
            .s1
            .chunks(p.eta_poly_len())
            .chain(parts.s2.chunks(p.eta_poly_len()))
        {
            let mut s = Poly::zeroed();
            pack::unpack_eta(p.eta, packed, &mut s);
            secrets.add_ntt("s1 or s2 transformed", &s);
        }
        for packed in parts.t0.chunks(internals::T0_POLY_LEN) {
            let mut t0 = Poly::zeroed();
            pack::unpack_t0(packed, &mut t0);
            secrets.add_poly("t0", &t0.0);
            secrets.add_ntt("t0 transformed", &t0);
        }
        let mut rho_pp = [0; 64];
        internals::rho_pp(
            backend.permutation(),
            parts.k_seed,
            &[0; 32],
            &case.mu,
            &mut rho_pp,
        );
        secrets.add("rho''", &rho_pp);
        secrets.add_masks(p, &rho_pp, 1 + case.rejections.iter().sum::<usize>());
        secrets
    }

    fn add_ntt(&mut self, name: &'static str, poly: &Poly) {
        let mut transformed = NttPoly::zeroed();
        ntt::ntt(poly, &mut transformed);
        self.add_poly(name, &transformed.0);
    }

    fn add_masks(&mut self, p: &Params, rho_pp: &[u8; 64], attempts: usize) {
        for kappa in 0..(attempts * p.l) as u16 {
            let mut packed = vec![0; p.z_poly_len()];
            sample::expand_mask_packed(Backend::PORTABLE.permutation(), rho_pp, kappa, &mut packed);
            self.add("y packed", &packed);
            let mut y = Poly::zeroed();
            pack::unpack_z(p.gamma1_bits, &packed, &mut y);
            self.add_poly("y", &y.0);
            self.add_ntt("y transformed", &y);
        }
    }

    /// The names of the secrets of which a piece is in `memory`.
    fn found_in(&self, memory: &[u8]) -> Vec<&'static str> {
        let mut found = Vec::new();
        for piece in memory.windows(PIECE) {
            if self.filter[slot(piece)] {
                found.extend(
                    self.pieces
                        .get(piece)
                        .copied()
                        .filter(|name| !found.contains(name)),
                );
            }
        }
        found
    }

    /// Runs `operation`, which must panic exactly if `panics`, and returns what
    /// it left.
    fn left_by(&self, panics: bool, operation: impl FnOnce() + Send) -> Vec<&'static str> {
        let (heap, (stack, panicked)) =
            heap_scan::collect(|| stack_watermark::run(STACK, operation));
        assert_eq!(panicked, panics);
        assert!(
            stack.depth() < STACK - SCRUBBED / 2,
            "the stack of the test is too small"
        );
        let mut found = self.found_in(stack.bytes());
        for block in heap {
            found.extend(self.found_in(&block));
        }
        found
    }
}

/// The operations of one set: name, whether it unwinds, and what it does.
type Operation<'a> = (&'static str, bool, Box<dyn Fn() + Send + Sync + 'a>);

fn operations<'a, P: ParameterSet>(case: Case, key: &'a SigningKey<P>) -> Vec<Operation<'a>> {
    let backend = key.verifying_key().backend();
    let mut inconsistent = key.expanded().clone();
    inconsistent.as_mut()[P::SK_LEN - 1] ^= 0x80;
    let mut out_of_range = key.expanded().clone();
    out_of_range.as_mut()[128 + 96 * (P::K + P::L) - 1] = 0xff;
    let out_of_range_to_sign = out_of_range.clone();
    let import = move |sk: &[u8]| {
        let mut pk = P::PublicKeyBytes::zeroed();
        internals::check_expanded::<P>(backend, sk, &mut pk).is_ok()
    };
    let prepared = Arc::new(key.prepare());
    // More than there are places, so that some wait.
    let many = {
        let prepared = Arc::clone(&prepared);
        move |limit: usize, done: &mut dyn FnMut()| {
            let jobs = (0..20).map(|n| {
                assert_ne!(n, limit, "unwinding, as the test wants it");
                SignJob::mu(
                    prepared.as_prepared_ref(),
                    case.mu,
                    Randomness::Deterministic,
                )
            });
            let mut signer = BatchSigner::new().with_backend(backend);
            signer.sign(jobs, |_, signature| {
                assert!(signature.is_ok());
                done();
            });
        }
    };
    let (unwinding_source, unwinding_end) = (many.clone(), many.clone());
    vec![
        (
            "key generation into buffers",
            false,
            Box::new(move || {
                let mut pk = P::PublicKeyBytes::zeroed();
                let mut sk = Box::new(P::SecretKeyBytes::zeroed());
                internals::keygen_internal::<P>(backend, &case.seed, &mut pk, &mut sk);
                // The caller's own buffer.
                internals::Wipe::wipe(&mut *sk);
            }),
        ),
        (
            "import",
            false,
            Box::new(move || assert!(import(key.expanded().as_ref()))),
        ),
        (
            "import that ends in an error",
            false,
            Box::new(move || {
                assert!(!import(inconsistent.as_ref()));
                assert!(!import(out_of_range.as_ref()));
            }),
        ),
        (
            "a key in memory of the caller",
            false,
            Box::new(move || {
                let mut storage = Box::new(SigningKeyStorage::<P>::new());
                let mut out = P::SignatureBytes::zeroed();
                let made = SigningKey::from_seed_in(&case.seed, &mut storage);
                let signed = made.sign_mu_into(&case.mu, Randomness::Deterministic, out.as_mut());
                assert_eq!(signed, Ok(()));
                let sk = key.expanded().as_ref();
                let imported = SigningKey::from_expanded_bytes_in(sk, &mut storage);
                assert!(imported.is_ok_and(|imported| imported == key));
            }),
        ),
        (
            "signing with a key that is out of range",
            false,
            Box::new(move || {
                let mut out = P::SignatureBytes::zeroed();
                let sk = &out_of_range_to_sign;
                let signed = internals::sign_mu_encoded::<P>(
                    sk,
                    &case.mu,
                    Randomness::Deterministic,
                    &mut out,
                    &mut |_| {},
                );
                assert_eq!(signed, Err(SignError::Key));
            }),
        ),
        (
            "signing",
            false,
            Box::new(move || {
                let mut out = P::SignatureBytes::zeroed();
                let signed = key.sign_mu_into(&case.mu, Randomness::Deterministic, out.as_mut());
                assert_eq!(signed, Ok(()));
            }),
        ),
        (
            "signing that unwinds",
            true,
            Box::new(move || {
                let mut out = P::SignatureBytes::zeroed();
                let mut left = case.rejections.iter().sum::<usize>();
                let mut observe = |_| {
                    left -= 1;
                    assert_ne!(left, 0, "unwinding, as the test wants it");
                };
                let out = out.as_mut();
                let _ = internals::sign_mu_observed(
                    key,
                    &case.mu,
                    Randomness::Deterministic,
                    out,
                    &mut observe,
                );
            }),
        ),
        (
            "key generation for many",
            false,
            Box::new(move || {
                let mut keys = vec![(P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed()); 9];
                let places = keys.iter_mut().map(|(pk, sk)| (&case.seed, pk, sk));
                let mut places: Vec<_> = places.collect();
                internals::keygen_many::<P>(backend, &mut places);
                // The caller's own buffers.
                for (_, sk) in &mut keys {
                    internals::Wipe::wipe(sk);
                }
            }),
        ),
        (
            "signing many messages",
            false,
            Box::new(move || many(20, &mut || {})),
        ),
        (
            "signing many messages of a source that unwinds",
            true,
            Box::new(move || unwinding_source(17, &mut || {})),
        ),
        (
            "signing many messages for one who unwinds",
            true,
            Box::new(move || unwinding_end(20, &mut || panic!("unwinding, as the test wants it"))),
        ),
        (
            "preparing a key in memory of the caller",
            false,
            Box::new(move || {
                let mut memory = Box::new(PreparedSigningKeyStorage::new());
                let mut out = P::SignatureBytes::zeroed();
                let prepared = key.prepare_in(&mut memory);
                let signed =
                    prepared.sign_mu_into(&case.mu, Randomness::Deterministic, out.as_mut());
                assert_eq!(signed, Ok(()));
            }),
        ),
        (
            "preparing and dropping a key",
            false,
            Box::new(move || drop(black_box(key.prepare()))),
        ),
        (
            "signing with a prepared key",
            false,
            Box::new(move || {
                let mut out = P::SignatureBytes::zeroed();
                let signed =
                    prepared.sign_mu_into(&case.mu, Randomness::Deterministic, out.as_mut());
                assert_eq!(signed, Ok(()));
            }),
        ),
    ]
}

/// A key as a value: made, used and dropped on the stack.
fn owned<P: ParameterSet>(case: Case, sk: &[u8]) {
    let key = black_box(SigningKey::<P>::from_seed(&case.seed));
    let imported = black_box(SigningKey::<P>::from_expanded_bytes(sk).unwrap());
    assert!(key == imported);
    let mut out = P::SignatureBytes::zeroed();
    key.sign_mu_into(&case.mu, Randomness::Deterministic, out.as_mut())
        .unwrap();
}

/// All secrets that are found and should not be.
fn left_on<P: ParameterSet>() -> Vec<String> {
    let backend = Backend::detect();
    let set = format!("{} {}", backend.name(), P::NAME);
    let mut left = Vec::new();
    for case in cases::rejected(P::NAME) {
        let mut key = SigningKey::<P>::from_seed(&case.seed);
        // Verification would overwrite what signing leaves on the stack.
        key.set_self_verification(false);
        assert_eq!(key.verifying_key().backend(), backend);
        let secrets = Secrets::of(case, &key);
        for (name, panics, operation) in operations(case, &key) {
            let plain = secrets.left_by(panics, &operation);
            let scrubbed = secrets.left_by(panics, || zeroize_stack::<SCRUBBED, _>(&operation));
            println!("{set} {name}: {plain:?}, scrubbed {scrubbed:?}");
            for found in [plain, scrubbed] {
                left.extend((!found.is_empty()).then(|| format!("{set} {name}: {found:?}")));
            }
        }
        let sk = key.expanded().as_ref();
        let plain = secrets.left_by(false, || owned::<P>(case, sk));
        let scrubbed = secrets.left_by(false, || {
            zeroize_stack::<SCRUBBED, _>(|| owned::<P>(case, sk))
        });
        println!("{set} keys as values: {plain:?}, scrubbed {scrubbed:?}");
        if !scrubbed.is_empty() {
            left.push(format!("{set} keys as values, scrubbed: {scrubbed:?}"));
        }
    }
    left
}

/// glibc's variable for binding every symbol at the start, as musl always does. Where the
/// loader binds a function of libc or libgcc at its first call, it saves the vector registers
/// on the caller's stack. Registers are not promised to be clean, and which pieces of a copy they
/// hold depends on the `memcpy` that libc chose for the CPU.
const BIND_NOW: (&str, &str) = ("LD_BIND_NOW", "1");

#[test]
fn secrets_are_gone_from_stack_and_heap() {
    if mldsa_gates::ran_on_every_backend(&[BIND_NOW]) {
        return;
    }
    // One test after the other: the heap is shared.
    planted_leftovers_are_found();
    let mut left = left_on::<MlDsa44>();
    left.extend(left_on::<MlDsa65>());
    left.extend(left_on::<MlDsa87>());
    assert!(left.is_empty(), "{}", left.join("\n"));
}

/// Negative control: buffers that are not wiped, on the stack, on the heap and past an unwinding.
fn planted_leftovers_are_found() {
    let case = cases::rejected(MlDsa44::NAME)[0];
    let key = SigningKey::<MlDsa44>::from_seed(&case.seed);
    let secrets = Secrets::of(case, &key);
    // Deep enough that the end of the thread does not write over it.
    #[inline(never)]
    fn copy(bytes: &[u8]) -> u8 {
        let mut copies = [[0u8; 32]; 1024];
        black_box(&mut copies)[0].copy_from_slice(bytes);
        black_box(&copies)[0][7]
    }
    let on_stack = secrets.left_by(false, || {
        black_box(copy(&case.seed));
    });
    assert_eq!(on_stack, ["xi"]);
    let on_heap = secrets.left_by(false, || drop(black_box(case.seed.to_vec())));
    assert_eq!(on_heap, ["xi"]);
    let unwound = secrets.left_by(true, || {
        black_box(copy(&key.expanded()[32..64]));
        panic!("unwinding, as the test wants it");
    });
    assert_eq!(unwound, ["K"]);
    let scrubbed = secrets.left_by(true, || {
        zeroize_stack::<SCRUBBED, _>(|| {
            black_box(copy(&key.expanded()[32..64]));
            panic!("unwinding, as the test wants it");
        });
    });
    assert_eq!(scrubbed, [""; 0]);
    let mu = *key.verifying_key().tr();
    assert_eq!(
        secrets.found_in(Mu::from_bytes(mu).as_bytes()),
        [""; 0],
        "public data"
    );
}
