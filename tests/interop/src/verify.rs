//! Target `verify`: one verdict whatever the way, and none but the signature
//! itself is accepted.

use mldsa_core::{
    Backend, Context, MuBuilder, ParameterSet, Randomness, Signature, SigningKey, VerifyError,
    no_alloc::PreparedVerifyingKeyStorage,
};

use crate::{damage, set, split};

/// The first byte chooses the set, the second the length of the message, the
/// rest damages signature, message and context.
pub fn verify(data: &[u8]) {
    let (choice, data) = split(data);
    let (len, data) = split(data);
    mldsa_core::with_set!(set(choice), P => run::<P>(usize::from(len), data));
}

fn run<P: ParameterSet>(len: usize, data: &[u8]) {
    let key = SigningKey::<P>::from_seed(&[7; 32]);
    let vk = key.verifying_key();
    // One buffer, so that damage reaches all three and can move between them.
    let mut all = vec![0x5a; len];
    let ctx = Context::new(&all[..len / 2]).expect("short");
    let good = key
        .sign_with_context(&all[len / 2..], ctx, Randomness::Deterministic)
        .expect("signs");
    all.extend_from_slice(good.as_ref());
    let changed = damage(&mut all, data);
    let (text, signature) = all.split_at(len);
    let (ctx, message) = text.split_at(len / 2);
    let ctx = Context::new(ctx).expect("short");

    let verdict = vk.verify_with_context(message, ctx, signature);
    assert_eq!(verdict.is_ok(), !changed);

    let mut mu = MuBuilder::from_tr(vk.tr(), ctx);
    message.chunks(3).for_each(|piece| mu.update(piece));
    let mu = mu.finish();
    assert_eq!(vk.verify_mu(&mu, signature), verdict);
    assert_eq!(
        mldsa_core::internals::verify_mu_encoded::<P>(vk.as_bytes(), &mu, signature),
        verdict
    );
    let prepared = vk.prepare();
    assert_eq!(
        prepared.verify_with_context(message, ctx, signature),
        verdict
    );
    let mut memory = Box::new(PreparedVerifyingKeyStorage::<P>::ZERO);
    assert_eq!(
        vk.prepare_in(&mut memory).verify_mu(&mu, signature),
        verdict
    );
    for backend in Backend::available() {
        assert_eq!(
            vk.clone().with_backend(backend).verify_mu(&mu, signature),
            verdict
        );
    }
    // The decoder rejects exactly what verification rejects before the hash.
    match (Signature::<P>::from_bytes(signature), verdict) {
        (Ok(signature), Ok(()) | Err(VerifyError::ChallengeMismatch)) => {
            assert!(
                vk.verify_with_context(message, ctx, &signature.as_ref()[1..])
                    .is_err()
            );
        }
        (Err(early), Err(late)) => assert_eq!(early, late),
        (early, late) => panic!("{early:?} but {late:?}"),
    }
}
