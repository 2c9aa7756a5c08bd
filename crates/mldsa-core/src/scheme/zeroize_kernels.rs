//! Zeroization of registers and stack frames that kernels used.

use crate::backend::Backend;

/// Overwrites, when dropped, vector registers and the `FRAMES` bytes of stack below a frame
/// that computes on secrets: kernels leave spills and copies there that no destructor can
/// name. Declared first, so that it is dropped last, on return and on unwinding. `FRAMES` is
/// the most that the frames below take in optimised builds; in unoptimised ones the entries
/// of the kernel table overwrite their own frames.
pub(crate) struct ZeroizeKernelState<const FRAMES: usize>(pub(crate) Backend);

impl<const FRAMES: usize> Drop for ZeroizeKernelState<FRAMES> {
    fn drop(&mut self) {
        (self.0.kernels().clear_registers)();
        zeroize::zeroize_stack::<FRAMES>();
    }
}

#[cfg(test)]
#[cfg(mldsa_simd)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod tests {
    use crate::backend::counting::count_wipes;
    use crate::error::{KeyError, SignError};
    use crate::hash::transcript::Mu;
    use crate::memory::array::Zeroed;
    use crate::params::{MlDsa44, MlDsa65, MlDsa87, ParameterSet};
    use crate::scheme::keygen::{check_expanded, keygen_internal};
    use crate::scheme::sign::sign_expanded;

    /// Calls that overwrite registers and frames are counted. The content of memory depends on the
    /// compiler: `tests/gates/tests/wiping.rs` searches it.
    #[test]
    fn early_returns_overwrite_frames() {
        fn check<P: ParameterSet>() {
            let (mut pk, mut sk) = (P::PublicKeyBytes::zeroed(), P::SecretKeyBytes::zeroed());
            keygen_internal::<P>(crate::Backend::PORTABLE, &[5; 32], &mut pk, &mut sk);
            let mut inconsistent = sk.clone();
            inconsistent.as_mut()[P::SK_LEN - 1] ^= 0x80;
            // The first code word of s1.
            sk.as_mut()[128] |= 0x0f;
            let mut out = P::SignatureBytes::zeroed();
            let (result, wipes) = count_wipes(|backend| {
                let (out, mu) = (out.as_mut(), Mu::from_bytes([6; 64]));
                sign_expanded::<P>(backend, sk.as_ref(), &mu, &[0; 32], None, out, &mut |_| {})
            });
            assert_eq!((result, wipes), (Err(SignError::Key), 1));
            let mut import = |sk: &P::SecretKeyBytes| {
                count_wipes(|backend| check_expanded::<P>(backend, sk.as_ref(), &mut pk))
            };
            assert_eq!(import(&sk), (Err(KeyError::SecretRange), 1));
            // One more in the computation of the public key.
            assert_eq!(import(&inconsistent), (Err(KeyError::Inconsistent), 2));
        }
        check::<MlDsa44>();
        check::<MlDsa65>();
        check::<MlDsa87>();
    }
}
