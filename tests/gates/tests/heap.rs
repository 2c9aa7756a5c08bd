//! The heap: no block at all for the forms that promise it, and what the others
//! take, counted by dhat, on every backend of this CPU.

use mldsa_core::internals::{keygen_internal, keygen_many, sign_mu_encoded};
use mldsa_core::no_alloc::SignInto;

use mldsa_core::{
    Backend, BatchSigner, Context, MlDsa44, MlDsa65, MlDsa87, MuBuilder, ParameterSet, PreHash,
    PreHashed, Randomness, SignJob, SigningKey, VerifyingKey, no_alloc::BatchSignerScratch,
    no_alloc::PreparedSigningKeyStorage, no_alloc::PreparedVerifyingKeyStorage,
};

use mldsa_gates::lowmem;
use mldsa_lowmem::{Balanced, CacheMatrix, CacheW0, Tier};

#[global_allocator]
static HEAP: dhat::Alloc = dhat::Alloc;

/// Blocks and bytes that `operation` allocated.
fn allocated(operation: impl FnOnce()) -> (u64, u64) {
    let before = dhat::HeapStats::get();
    operation();
    let after = dhat::HeapStats::get();
    (
        after.total_blocks - before.total_blocks,
        after.total_bytes - before.total_bytes,
    )
}

fn check<P: ParameterSet>(backend: Backend) {
    let (ctx, hedge) = (Context::EMPTY, Randomness::Hedged(&[3; 32]));
    let key = SigningKey::<P>::from_seed(&[7; 32]);
    let vk = key.verifying_key();
    assert_eq!(vk.backend(), backend);
    let digest = PreHashed::<P>::new(PreHash::Sha2_512, &[8; 64]).expect("64 bytes");
    let signature = key
        .sign_with_context(b"message", ctx, hedge)
        .expect("signs");
    let mut memory = Box::new(PreparedVerifyingKeyStorage::<P>::ZERO);
    let (mut pk, mut sk) = (vk.as_bytes().clone(), key.expanded().clone());
    let mut out = signature.as_bytes().clone();

    let none = (0, 0);
    let keygen = allocated(|| keygen_internal::<P>(backend, &[7; 32], &mut pk, &mut sk));
    assert_eq!(keygen, none);
    let objects = allocated(|| {
        let key = SigningKey::<P>::from_seed(&[7; 32]);
        assert!(SigningKey::<P>::from_expanded_bytes(key.expanded().as_ref()).is_ok());
        assert!(VerifyingKey::<P>::from_bytes(pk.as_ref()).is_ok());
    });
    assert_eq!(objects, none);
    let sign = allocated(|| {
        assert!(key.sign_into(b"message", ctx, hedge, out.as_mut()).is_ok());
        assert!(key.sign_with_context(b"message", ctx, hedge).is_ok());
        assert!(
            key.sign_prehashed_into(&digest, ctx, hedge, out.as_mut())
                .is_ok()
        );
        let mut mu = MuBuilder::from_tr(vk.tr(), ctx);
        mu.update(b"message");
        assert!(sign_mu_encoded::<P>(&sk, &mu.finish(), hedge, &mut out, &mut |_| {}).is_ok());
    });
    assert_eq!(sign, none);
    let mut memory_to_sign = Box::new(PreparedSigningKeyStorage::new());
    let mut batch = Box::new(BatchSignerScratch::ZERO);
    let many = allocated(|| {
        let prepared = key.prepare_in(&mut memory_to_sign);
        let out = out.as_mut();
        assert!(prepared.sign_into(b"message", ctx, hedge, out).is_ok());
        let job = SignJob::new(prepared, b"message", ctx, hedge);
        BatchSigner::new_in(&mut batch).sign([job; 20], |_, out| assert!(out.is_ok()));
        keygen_many::<P>(backend, &mut [(&[7; 32], &mut pk, &mut sk)]);
    });
    assert_eq!(many, none);
    let verify = allocated(|| {
        assert!(vk.verify_with_context(b"message", ctx, &signature).is_ok());
        let prepared = vk.prepare_in(&mut memory);
        assert!(
            prepared
                .verify_with_context(b"message", ctx, &signature)
                .is_ok()
        );
    });
    assert_eq!(verify, none);

    // Prepared keys allocate, and using them does not: also what shows that the
    // counter counts.
    let mut prepared = None;
    let prepare = allocated(|| prepared = Some((key.prepare(), vk.prepare())));
    assert!(prepare.0 >= 2 && prepare.1 >= 1024 * (2 * P::K * P::L) as u64);
    let (prepared, prepared_vk) = prepared.expect("made");
    println!(
        "{}: prepared keys take {} bytes in {} blocks",
        P::NAME,
        prepare.1,
        prepare.0
    );
    let used = allocated(|| {
        assert!(
            prepared
                .sign_into(b"message", ctx, hedge, out.as_mut())
                .is_ok()
        );
        assert!(
            prepared_vk
                .verify_with_context(b"message", ctx, &out)
                .is_ok()
        );
    });
    assert_eq!(used, none);
}

/// No tier of the low-memory signer, nor its key generation or verification,
/// allocates on any of many inputs.
fn check_small<P: ParameterSet>()
where
    CacheW0: Tier<P>,
    Balanced: Tier<P>,
    CacheMatrix: Tier<P>,
{
    for mut operation in lowmem::operations::<P>(200) {
        assert_eq!(allocated(&mut operation.run), (0, 0), "{}", operation.name);
    }
}

fn main() {
    if mldsa_gates::ran_on_every_backend(&[]) {
        return;
    }
    let _profiler = dhat::Profiler::builder().testing().build();
    let backend = Backend::detect();
    check::<MlDsa44>(backend);
    check::<MlDsa65>(backend);
    check::<MlDsa87>(backend);
    check_small::<MlDsa44>();
    check_small::<MlDsa65>();
    check_small::<MlDsa87>();
    println!("no block where none is promised");
}
