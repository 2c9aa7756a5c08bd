//! Sizes that callers plan with, and types that cross threads.

use core::mem::size_of;

use mldsa_core::{
    Context, MlDsa44, MlDsa65, MlDsa87, Mu, MuBuilder, ParameterSet, PreparedSigningKey,
    PreparedVerifyingKey, Randomness, Signature, SigningKey, VerifyError, VerifyingKey,
    no_alloc::PreparedVerifyingKeyRef, no_alloc::PreparedVerifyingKeyStorage,
};
use zeroize::ZeroizeOnDrop;

fn crosses_threads<T: Send + Sync + Unpin + core::panic::UnwindSafe>() {}

fn wiped<T: ZeroizeOnDrop>() {}

fn of<P: ParameterSet + Unpin + core::panic::UnwindSafe + core::panic::RefUnwindSafe>() {
    fn threads<T: Send + Sync>() {}
    threads::<SigningKey<P>>();
    threads::<PreparedSigningKey<P>>();
    threads::<VerifyingKey<P>>();
    threads::<PreparedVerifyingKey<P>>();
    threads::<PreparedVerifyingKeyRef<'static, P>>();
    threads::<PreparedVerifyingKeyStorage<P>>();
    threads::<Signature<P>>();
    wiped::<SigningKey<P>>();
    wiped::<PreparedSigningKey<P>>();

    // A signature is its bytes; a public key is its bytes, tr and a backend.
    assert_eq!(size_of::<Signature<P>>(), P::SIG_LEN);
    assert_eq!(
        size_of::<VerifyingKey<P>>(),
        P::PK_LEN + 64 + size_of::<usize>()
    );
    // And a checksum.
    let keys = 32 + P::SK_LEN + 8 + size_of::<VerifyingKey<P>>();
    assert!((keys..keys + 16).contains(&size_of::<SigningKey<P>>()));
    assert_eq!(
        size_of::<PreparedVerifyingKeyStorage<P>>(),
        P::K * (P::L + 1) * 1024
    );
    assert_eq!(
        PreparedVerifyingKeyStorage::<P>::LEN,
        size_of::<PreparedVerifyingKeyStorage<P>>()
    );
    assert!(size_of::<PreparedVerifyingKey<P>>() <= 96);
    assert!(size_of::<Option<VerifyingKey<P>>>() == size_of::<VerifyingKey<P>>());
}

#[test]
fn sizes_and_threads() {
    of::<MlDsa44>();
    of::<MlDsa65>();
    of::<MlDsa87>();
    crosses_threads::<Mu>();
    crosses_threads::<MuBuilder>();
    crosses_threads::<Context<'static>>();
    crosses_threads::<Randomness<'static>>();
    crosses_threads::<VerifyError>();
    assert_eq!(size_of::<Mu>(), 64);
    assert!(size_of::<MuBuilder>() <= 224);
    assert_eq!(size_of::<VerifyError>(), 1);
}
