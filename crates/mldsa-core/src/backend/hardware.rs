//! Keccak-f[1600] of the device: a function of the program, which the linker finds, so that calls are direct. SIMD
//! backends permute with code of their own.

#![allow(unsafe_code)]

/// Keccak-f[1600] of a device, or of a test, for [`hardware_keccak`](crate::hardware_keccak).
pub trait KeccakF1600 {
    /// Permutes a state whose word `x + 5 y` is lane (x, y) of FIPS 202 section 3. The state is secret: the permutation
    /// takes the same time for every state, and leaves no copy of it.
    fn permute(state: &mut [u64; 25]);

    /// Returns whether two permutations of zero are those of FIPS 202. Call it before the first key: with a device that
    /// does nothing, a public key contains the seed.
    fn works() -> bool {
        let mut state = [0; 25];
        Self::permute(&mut state);
        let first = state;
        Self::permute(&mut state);
        [first[0], first[24], state[0], state[24]] == KNOWN
    }
}

const KNOWN: [u64; 4] = [
    0xf125_8f79_40e1_dde7,
    0xeaf1_ff7b_5cec_a249,
    0x2d5c_954d_f96e_cb3c,
    0x20d0_6cd2_6a8f_bf5c,
];

// SAFETY: the macro exports the function with this signature; a second one does not link.
unsafe extern "Rust" {
    safe fn mldsa_hardware_keccak(state: &mut [u64; 25]);
}

pub(crate) fn permute(state: &mut [u64; 25]) {
    mldsa_hardware_keccak(state);
}

/// Names the [`KeccakF1600`] of a program, once. Programs that are built with the flag
/// `--cfg mldsa_hardware_keccak` do not link without it.
#[macro_export]
macro_rules! hardware_keccak {
    ($type:ty) => {
        const _: () = {
            #[unsafe(no_mangle)]
            fn mldsa_hardware_keccak(state: &mut [u64; 25]) {
                <$type as $crate::KeccakF1600>::permute(state)
            }
        };
    };
}
