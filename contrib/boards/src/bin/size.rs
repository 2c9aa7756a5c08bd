//! Operations of some parameter sets and nothing else, for the linker to say how much code they
//! take: `sizes.sh`. Never run.
#![no_std]
#![no_main]
#![cfg_attr(not(feature = "operation"), allow(unused_imports))]

use core::hint::black_box;
use core::panic::PanicInfo;

use mldsa_lowmem::*;

/// Returns memory that the linker knows nothing of.
#[cfg(feature = "operation")]
fn bytes<'a>() -> &'a mut [u8] {
    black_box(&mut [])
}

#[cfg(feature = "operation")]
#[inline(never)]
fn run<P: ParameterSet>()
where
    for<'a> &'a mut P::PublicKeyBytes: TryFrom<&'a mut [u8]>,
    for<'a> &'a mut P::SecretKeyBytes: TryFrom<&'a mut [u8]>,
{
    #[cfg(feature = "keygen")]
    if let (Ok(pk), Ok(sk)) = (bytes().try_into(), bytes().try_into()) {
        SigningKey::<P>::keygen_into(black_box(&[0; 32]), pk, sk);
    }
    #[cfg(feature = "verify")]
    {
        if let Ok(key) = &VerifyingKey::<P>::from_bytes(bytes()) {
            let _ = black_box(key.verify_with_context(bytes(), Context::EMPTY, bytes()));
        }
    }
    #[cfg(all(feature = "sign", not(feature = "checks")))]
    if let Ok(key) = &ExpandedSigningKey::<P>::from_trusted_bytes(bytes()) {
        sign::<P, _, NoChecks>(key);
    }
    #[cfg(all(feature = "sign", feature = "checks"))]
    if let Ok(key) = &ExpandedSigningKey::<P>::from_trusted_bytes(bytes())
        .and_then(|key| key.with_public_key(bytes()))
    {
        sign::<P, _, AllChecks>(key);
    }
}

#[cfg(feature = "sign")]
fn sign<P: ParameterSet, K: PrivateKey<P>, C: Checks>(key: &K) {
    let mut workspace = Workspace::<P, Minimal>::new();
    let hedge = Randomness::Hedged(black_box(&[0; 32]));
    let signed = MlDsaSigner::new(key, &mut workspace)
        .with_checks::<C>()
        .sign_into(bytes(), Context::EMPTY, hedge, bytes());
    let _ = black_box(signed.is_ok());
}

/// Entry point of the program.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    #[cfg(all(feature = "operation", feature = "ml-dsa-44"))]
    run::<MlDsa44>();
    #[cfg(all(feature = "operation", feature = "ml-dsa-65"))]
    run::<MlDsa65>();
    #[cfg(all(feature = "operation", feature = "ml-dsa-87"))]
    run::<MlDsa87>();
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
