//! One operation of one parameter set and nothing else, for the linker to say how
//! much code it takes: `sizes.sh`. Never run.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

#[cfg(feature = "operation")]
mod operation {
    use core::hint::black_box;

    use mldsa_lowmem::*;

    #[cfg(feature = "ml-dsa-44")]
    type P = MlDsa44;
    #[cfg(feature = "ml-dsa-65")]
    type P = MlDsa65;
    #[cfg(feature = "ml-dsa-87")]
    type P = MlDsa87;

    /// Memory that the linker knows nothing of.
    fn bytes<'a>() -> &'a mut [u8] {
        black_box(&mut [])
    }

    #[cfg(feature = "keygen")]
    pub(crate) fn run() {
        if let (Ok(pk), Ok(sk)) = (bytes().try_into(), bytes().try_into()) {
            SigningKey::<P>::keygen_into(black_box(&[0; 32]), pk, sk);
        }
    }

    #[cfg(feature = "verify")]
    pub(crate) fn run() {
        let verdict = VerifyingKey::<P>::from_bytes(bytes())
            .map(|pk| pk.verify_with_context(bytes(), Context::EMPTY, bytes()));
        let _ = black_box(verdict);
    }

    #[cfg(feature = "minimal")]
    type T = Minimal;
    #[cfg(feature = "cache-w0")]
    type T = CacheW0;
    #[cfg(feature = "balanced")]
    type T = Balanced;
    #[cfg(feature = "cache-matrix")]
    type T = CacheMatrix;

    /// Signing from the expanded key, every check included.
    #[cfg(not(any(feature = "keygen", feature = "verify")))]
    pub(crate) fn run() {
        let key = ExpandedSigningKey::<P>::from_trusted_bytes(bytes())
            .and_then(|key| key.with_public_key(bytes()));
        let mut workspace = Workspace::<P, T>::new();
        if let Ok(key) = key {
            let mut signer = MlDsaSigner::new(&key, &mut workspace);
            let hedge = Randomness::Hedged(black_box(&[0; 32]));
            let signed = signer.sign_into(bytes(), Context::EMPTY, hedge, bytes());
            let _ = black_box(signed.is_ok());
        }
    }
}

/// Entry point of the program.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    #[cfg(feature = "operation")]
    operation::run();
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
