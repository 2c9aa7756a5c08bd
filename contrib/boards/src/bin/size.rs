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

    #[cfg(feature = "keygen")]
    pub(crate) fn run() {
        let (mut pk, mut sk) = ([0; P::PK_LEN], [0; P::SK_LEN]);
        mldsa_lowmem::SigningKey::<P>::keygen_into(black_box(&[0; 32]), &mut pk, &mut sk);
        black_box((&pk, &sk));
    }

    #[cfg(feature = "verify")]
    pub(crate) fn run() {
        let (pk, signature) = (black_box([0; P::PK_LEN]), black_box([0; P::SIG_LEN]));
        let verdict = VerifyingKey::<P>::from_bytes(&pk)
            .map(|pk| pk.verify_with_context(black_box(b"message"), Context::EMPTY, &signature));
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
        let sk = black_box([0; P::SK_LEN]);
        let pk = black_box([0; P::PK_LEN]);
        let mut buffer = [0; P::SIG_LEN];
        let key = ExpandedSigningKey::<P>::from_trusted_bytes(&sk)
            .and_then(|key| key.with_public_key(&pk));
        let mut workspace = Workspace::<P, T>::new();
        if let Ok(key) = key {
            let mut signer = MlDsaSigner::new(&key, &mut workspace);
            let hedge = Randomness::Hedged(black_box(&[0; 32]));
            let signed =
                signer.sign_into(black_box(b"message"), Context::EMPTY, hedge, &mut buffer);
            let _ = black_box(signed.is_ok());
        }
        black_box(&buffer);
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
