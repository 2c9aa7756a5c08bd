//! Cost of verification in units that do not depend on the machine: for systems that
//! charge for key decoding, signature decoding and verification separately.
//!
//! Every unit is one call:
//!
//! | unit | call | cost |
//! | --- | --- | --- |
//! | decode a key | [`VerifyingKey::from_bytes`](crate::VerifyingKey::from_bytes) | [`Operations::decode_key`] |
//! | expand a key | [`VerifyingKey::prepare_in`](crate::VerifyingKey::prepare_in) | [`Operations::expand_key`] |
//! | decode a signature | [`Signature::from_bytes`](crate::Signature::from_bytes) | [`Operations::decode_signature`] |
//! | hash a message | [`MuBuilder`](crate::MuBuilder) | [`Operations::hash_message`] |
//! | verify | [`PreparedVerifyingKeyRef::verify_mu`](crate::no_alloc::PreparedVerifyingKeyRef::verify_mu) | [`Operations::verify_core`] |
//!
//! `VerifyingKey::verify_with_context` costs `hash_message`, `expand_key` and `verify_core` together.
//! A signature that is rejected never costs more than one that is accepted. The
//! counts are exact but for rejection sampling: an expanded entry of A takes at
//! least five Keccak permutations of its own and a challenge at least one (which
//! is the count given), each more only with small probability.

use core::ops::Add;

use crate::params::{CRH_LEN, ParameterSet};

/// Numbers of the operations that dominate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Operations {
    /// Keccak permutations, those inside `expanded` not counted.
    pub keccak: u64,
    /// Entries of A expanded from `rho` (algorithm 30).
    pub expanded: u64,
    /// Transforms of one polynomial.
    pub ntt: u64,
    /// Inverse transforms of one polynomial.
    pub inv_ntt: u64,
    /// Products of two transformed polynomials.
    pub products: u64,
    /// Polynomials unpacked with a range check.
    pub unpacked: u64,
}

impl Operations {
    pub(crate) const NONE: Self = Self {
        keccak: 0,
        expanded: 0,
        ntt: 0,
        inv_ntt: 0,
        products: 0,
        unpacked: 0,
    };

    /// Decoding a public key: `tr`, the hash of its bytes.
    #[must_use]
    pub const fn decode_key<P: ParameterSet>() -> Self {
        Self {
            keccak: shake256(P::PK_LEN as u64),
            ..Self::NONE
        }
    }

    /// Expanding a public key: A, and t1 transformed.
    #[must_use]
    pub const fn expand_key<P: ParameterSet>() -> Self {
        Self {
            expanded: (P::K * P::L) as u64,
            ntt: P::K as u64,
            ..Self::NONE
        }
    }

    /// Decoding a signature: length, hint, norm of z. Neither key nor message.
    #[must_use]
    pub const fn decode_signature<P: ParameterSet>() -> Self {
        Self {
            unpacked: P::L as u64,
            ..Self::NONE
        }
    }

    /// `mu` of a message of `message_len` bytes under a context of `ctx_len`.
    #[must_use]
    pub const fn hash_message(message_len: u64, ctx_len: u8) -> Self {
        let prefix = CRH_LEN as u64 + 2 + ctx_len as u64;
        Self {
            keccak: shake256(message_len.saturating_add(prefix)),
            ..Self::NONE
        }
    }

    /// Verification of `mu` under a prepared key, its own decoding of the signature
    /// included.
    #[must_use]
    pub const fn verify_core<P: ParameterSet>() -> Self {
        let w1_len = (P::K * P::PARAMS.w1_poly_len()) as u64;
        Self {
            // SampleInBall, and the commitment hash over mu and w1.
            keccak: 1 + shake256(CRH_LEN as u64 + w1_len),
            expanded: 0,
            ntt: P::L as u64 + 1,
            inv_ntt: P::K as u64,
            products: (P::K * (P::L + 1)) as u64,
            unpacked: P::L as u64,
        }
    }
}

impl Add for Operations {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            keccak: self.keccak.saturating_add(other.keccak),
            expanded: self.expanded.saturating_add(other.expanded),
            ntt: self.ntt.saturating_add(other.ntt),
            inv_ntt: self.inv_ntt.saturating_add(other.inv_ntt),
            products: self.products.saturating_add(other.products),
            unpacked: self.unpacked.saturating_add(other.unpacked),
        }
    }
}

/// Permutations that SHAKE256 takes from `len` bytes to at most 136.
const fn shake256(len: u64) -> u64 {
    len / 136 + 1
}

#[cfg(test)]
#[cfg(all(feature = "simd", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod tests {
    use super::*;
    use crate::backend::counting::count;
    use crate::hash::transcript::{Context, MuBuilder, Randomness, tr};
    use crate::keys::no_alloc::PreparedVerifyingKeyStorage;
    use crate::keys::{Signature, SigningKey, VerifyingKey};
    use crate::params::{MlDsa44, MlDsa65, MlDsa87};
    use std::boxed::Box;

    fn check<P: ParameterSet>() {
        let key = SigningKey::<P>::from_seed(&[3; 32]);
        let message = [0x42; 300];
        let ctx = Context::new(b"cost").unwrap();
        let signature = key
            .sign_with_context(&message, ctx, Randomness::Deterministic)
            .unwrap();
        let encoded = key.verifying_key().as_bytes();

        let (_, found) = count(|backend| tr(backend.permutation(), encoded.as_ref()));
        assert_eq!(found, Operations::decode_key::<P>());

        let (_, found) = count(|backend| {
            let mut memory = Box::new(PreparedVerifyingKeyStorage::<P>::ZERO);
            let vk = VerifyingKey::<P>::from_bytes(encoded.as_ref()).unwrap();
            let _ = vk.with_backend(backend).prepare_in(&mut memory);
        });
        assert_eq!(found, Operations::expand_key::<P>());

        let (mu, found) = count(|backend| {
            let mut mu = MuBuilder::start(backend.permutation(), key.verifying_key().tr(), 0, ctx);
            mu.update(&message);
            mu.finish()
        });
        assert_eq!(found, Operations::hash_message(300, 4));

        let mut memory = Box::new(PreparedVerifyingKeyStorage::<P>::ZERO);
        let (verdict, found) = count(|backend| {
            let vk = key.verifying_key().clone().with_backend(backend);
            let prepared = vk.prepare_in(&mut memory);
            prepared.verify_mu(&mu, &signature)
        });
        assert_eq!(verdict, Ok(()));
        assert_eq!(
            found,
            Operations::expand_key::<P>() + Operations::verify_core::<P>()
        );

        // Decoding alone needs no kernel.
        let (_, found) = count(|_| Signature::<P>::from_bytes(signature.as_ref()).unwrap());
        assert_eq!(found, Operations::NONE);

        // A rejection costs no more.
        for place in [0, P::C_TILDE_LEN, P::SIG_LEN - 1] {
            let mut bad = signature.as_ref().to_vec();
            bad[place] ^= 0xff;
            let vk = key.verifying_key();
            let (verdict, found) = count(|backend| {
                let vk = vk.clone().with_backend(backend);
                vk.verify_mu(&mu, &bad)
            });
            assert!(verdict.is_err());
            let accepted = Operations::expand_key::<P>() + Operations::verify_core::<P>();
            assert!(found.keccak <= accepted.keccak && found.products <= accepted.products);
        }
    }

    #[test]
    fn counts_are_those_of_the_kernels() {
        check::<MlDsa44>();
        check::<MlDsa65>();
        check::<MlDsa87>();
    }
}
