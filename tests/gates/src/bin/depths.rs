//! The program of the stack gate: prints the stack depth of every operation on every
//! backend of this CPU, one line each, and runs it once more on a thread of 128 KiB.
//! Arguments: the signatures of each tier of the low-memory signer, and `lowmem`
//! to run nothing else, or `small` for threads of 128 KiB on every backend in a debug build too.

use core::hint::black_box;

use batch_verify::{BatchVerifier, Committee, CommitteeVerifier, Item, KeyStorage, Threads, Vote};
use mldsa_core::internals::{self, JobMessage, Verification, Zeroed, keygen_many, verify_lanes};
use mldsa_core::no_alloc::SignInto;
use mldsa_core::{
    Backend, BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, Randomness, SignJob,
    SigningKey, VerifyError, VerifyingKey, no_alloc::PreparedVerifyingKeyStorage,
};
use mldsa_gates::{cases, lowmem, stack_watermark};
use mldsa_lowmem::{Balanced, CacheMatrix, CacheW0, Tier};

const SMALL: usize = 128 * 1024;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let signatures = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(200);
    small::<MlDsa44>(signatures);
    small::<MlDsa65>(signatures);
    small::<MlDsa87>(signatures);
    // Planted: frames of 3,000 and 100,000 bytes have to be seen.
    let depth = stack_watermark::depth_of(SMALL, || {
        black_box([1u8; 3_000]);
    });
    println!("planted small\t{depth}");
    let form = arguments.next();
    if form.as_deref() == Some("lowmem") {
        return;
    }
    let all_small = !cfg!(debug_assertions) || form.as_deref() == Some("small");
    for backend in Backend::available() {
        let small = all_small || backend == Backend::PORTABLE;
        operations::<MlDsa44>(backend, small);
        operations::<MlDsa65>(backend, small);
        operations::<MlDsa87>(backend, small);
    }
    let (stack, _) = stack_watermark::run(8 * SMALL, || {
        black_box([1u8; 100_000]);
    });
    println!(
        "planted\t{}",
        stack.depth() - stack_watermark::empty_depth()
    );
}

fn operations<P: ParameterSet>(backend: Backend, small: bool)
where
    P::VerifyMatrix<internals::NttPoly>: Send,
{
    let measure = |name: &str, operation: &mut (dyn FnMut() + Send)| {
        measure(
            &format!("{} {} {name}", P::NAME, backend.name()),
            small,
            operation,
        );
    };
    let case = cases::rejected(P::NAME)[0];
    let mut key = SigningKey::<P>::from_seed(&case.seed).with_backend(backend);
    // Verification has rows of its own, and follows signing on the stack.
    key.set_self_verification(false);
    let vk = key.verifying_key();
    let (mut pk, mut sk) = (vk.as_bytes().clone(), key.expanded().clone());
    let mut out = P::SignatureBytes::zeroed();
    let mut memory = Box::new(PreparedVerifyingKeyStorage::<P>::ZERO);
    measure("keygen", &mut || {
        internals::keygen_internal::<P>(backend, &case.seed, &mut pk, &mut sk);
    });
    measure("import", &mut || {
        let checked = internals::check_expanded::<P>(backend, sk.as_ref(), &mut pk);
        assert_eq!(checked, Ok(()));
    });
    measure("sign", &mut || {
        let signed = key.sign_mu_into(&case.mu, Randomness::Deterministic, out.as_mut());
        assert_eq!(signed, Ok(()));
    });
    let (ctx, message) = (Context::EMPTY, &[7; 300]);
    let signature = key
        .sign_with_context(message, ctx, Randomness::Deterministic)
        .expect("signs");
    measure("verify", &mut || {
        assert_eq!(vk.verify_mu(&case.mu, &out), Ok(()));
        assert_eq!(vk.verify_with_context(message, ctx, &signature), Ok(()));
    });
    measure("prepare verifying key", &mut || {
        black_box(vk.prepare_in(&mut memory));
    });
    let prepared_vk = vk.prepare();
    measure("verify prepared", &mut || {
        assert_eq!(prepared_vk.verify_mu(&case.mu, &out), Ok(()));
        assert_eq!(
            prepared_vk.verify_with_context(message, ctx, &signature),
            Ok(())
        );
    });
    // More than the widest lanes; encoded keys, so that every hash is needed.
    let message = JobMessage::Pure(ctx, message);
    let signed = signature.as_ref();
    let encoded = Verification::<P>::encoded(backend, vk.as_bytes(), message, signed);
    let expanded = Verification::prepared(prepared_vk.as_prepared_ref(), message, signed);
    let lanes = |item: Verification<'_, P>, results: &mut [Result<(), VerifyError>]| {
        results.fill(Err(VerifyError::ChallengeMismatch));
        verify_lanes(|_| item, results);
        assert!(results.iter().all(Result::is_ok));
    };
    let mut results = [Ok(()); 9];
    measure("verify lanes", &mut || {
        lanes(encoded, &mut results);
        lanes(encoded, &mut results[..1]);
    });
    measure("verify lanes prepared", &mut || {
        lanes(expanded, &mut results);
    });
    batches::<P>(backend, vk, signature.as_ref(), &measure);
    measure("prepare signing key", &mut || {
        black_box(key.prepare());
    });
    let prepared = key.prepare();
    measure("sign prepared", &mut || {
        let signed = prepared.sign_mu_into(&case.mu, Randomness::Deterministic, out.as_mut());
        assert_eq!(signed, Ok(()));
    });
    let mut signer = BatchSigner::new().with_backend(backend);
    measure("sign many", &mut || {
        let job = SignJob::mu(
            prepared.as_prepared_ref(),
            case.mu,
            Randomness::Deterministic,
        );
        signer.sign([job; 9], |_, signature| assert!(signature.is_ok()));
    });
    let mut keys = vec![(P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed()); 9];
    let places = keys.iter_mut().map(|(pk, sk)| (&case.seed, pk, sk));
    let mut places: Vec<_> = places.collect();
    measure("keygen many", &mut || {
        keygen_many::<P>(backend, &mut places)
    });
}

/// Batches on the calling thread: members whose keys are expanded, as they are
/// stored, and not, and signers outside the set.
fn batches<P: ParameterSet>(
    backend: Backend,
    vk: &VerifyingKey<P>,
    signature: &[u8],
    measure: &dyn Fn(&str, &mut (dyn FnMut() + Send)),
) {
    let message = &[7; 300];
    let public_key = vk.as_bytes().as_ref();
    let committees = [KeyStorage::Wide, KeyStorage::Packed, KeyStorage::Compact].map(|storage| {
        let builder = Committee::<P>::builder(b"")
            .key_storage(storage)
            .backend(backend);
        builder.build([(public_key, 1)]).expect("a key")
    });
    let members = committees.map(|committee| {
        let member = committee.member(0).expect("a member");
        let builder = CommitteeVerifier::builder().threads(Threads::Inline);
        (member, builder.build(committee).expect("a verifier"))
    });
    let strangers = BatchVerifier::<P>::builder().backend(backend);
    let strangers = strangers.threads(Threads::Inline).build();
    let strangers = strangers.expect("a verifier");
    // The lists of the caller are not on the stack that is measured.
    let votes = members
        .each_ref()
        .map(|(member, _)| vec![Vote::new(*member, message, signature); 18]);
    let items = vec![Item::new(public_key, message, Context::EMPTY, signature); 18];
    measure("verify batch", &mut || {
        for ((_, verifier), votes) in members.iter().zip(&votes) {
            assert!(verifier.verify_batch(votes.iter().copied()).all_valid());
        }
        assert!(strangers.verify_batch(items.iter().copied()).all_valid());
    });
}

/// The low-memory signer: the deepest of all inputs, workspaces not counted.
fn small<P: ParameterSet>(signatures: u32)
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    for operation in lowmem::operations::<P>(signatures) {
        let depth = stack_watermark::depth_of(SMALL, operation.run);
        println!("{}\t{depth}", operation.name);
    }
}

/// Measures an operation, and runs it on a thread of 128 KiB if that is promised: for portable code,
/// and for all backends where the compiler optimises the core.
fn measure(name: &str, small: bool, mut operation: &mut (dyn FnMut() + Send)) {
    let (stack, panicked) = stack_watermark::run(8 * SMALL, &mut operation);
    assert!(!panicked);
    let depth = stack.depth() - stack_watermark::empty_depth();
    println!("{name}\t{depth}");
    if !small {
        return;
    }
    let ended = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(SMALL);
        thread
            .spawn_scoped(scope, operation)
            .map(|thread| thread.join().is_ok())
    });
    assert!(matches!(ended, Ok(true)), "a thread of 128 KiB");
}
