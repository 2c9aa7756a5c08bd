//! Entry points that `cargo run -p mldsa-gates -- branches` compiles for every target. Generic
//! functions are compiled only for named types, and this crate names them.

#![no_std]
#![allow(missing_docs)]

use mldsa_core::internals::{self, AttemptRejection};
use mldsa_core::{Backend, Mu, ParameterSet, Randomness, SigningKey};
use mldsa_lowmem::{ExpandedSigningKey, MlDsaSigner, SigningKey as SeedKey, Tier, Workspace};

/// Functions with branches on secrets, as they are written by mistake: each has to
/// be found on every target.
pub mod planted;

macro_rules! set {
    ($module:ident, $set:ty) => {
        pub mod $module {
            use super::*;

            type Set = $set;
            type Pk = <Set as ParameterSet>::PublicKeyBytes;
            type Sk = <Set as ParameterSet>::SecretKeyBytes;

            #[inline(never)]
            pub fn keygen(xi: &[u8; 32], pk: &mut Pk, sk: &mut Sk) {
                internals::keygen_internal::<Set>(Backend::PORTABLE, xi, pk, sk);
            }

            #[inline(never)]
            pub fn key(xi: &[u8; 32]) -> SeedKey<Set> {
                SeedKey::from_seed(xi)
            }

            #[inline(never)]
            pub fn import(sk: &[u8], pk: &mut Pk) -> bool {
                internals::check_expanded::<Set>(Backend::PORTABLE, sk, pk).is_ok()
            }

            #[inline(never)]
            pub fn sign(
                key: &SigningKey<Set>,
                mu: &Mu,
                hedge: Randomness<'_>,
                out: &mut [u8],
                observe: &mut dyn FnMut(AttemptRejection),
            ) -> bool {
                internals::sign_mu_observed(key, mu, hedge, out, observe).is_ok()
            }

            #[inline(never)]
            pub fn lowmem_keygen(xi: &[u8; 32], pk: &mut Pk, sk: &mut Sk) {
                mldsa_lowmem::SigningKey::<Set>::keygen_into(xi, pk, sk);
            }

            #[inline(never)]
            pub fn lowmem_keygen_to(
                xi: &[u8; 32],
                pk: &mut dyn FnMut(usize, &[u8]) -> Result<(), ()>,
                sk: Option<&mut dyn FnMut(usize, &[u8]) -> Result<(), ()>>,
            ) -> bool {
                SeedKey::<Set>::keygen_to_writers::<()>(xi, pk, sk).is_ok()
            }

            #[inline(never)]
            pub fn lowmem_import(sk: &[u8]) -> bool {
                ExpandedSigningKey::<Set>::from_expanded_bytes(sk).is_ok()
            }

            #[inline(never)]
            pub fn lowmem_open(xi: &[u8; 32]) -> SeedKey<Set> {
                SeedKey::from_seed(xi)
            }

            tier!(Minimal: minimal, minimal_expanded);
            tier!(CacheW0: cache_w0, cache_w0_expanded);
            tier!(Balanced: balanced, balanced_expanded);
            tier!(CacheMatrix: cache_matrix, cache_matrix_expanded);
        }
    };
}

macro_rules! tier {
    ($tier:ident: $seed:ident, $expanded:ident) => {
        tier!($tier, $seed(SeedKey<Set>));
        tier!($tier, $expanded(ExpandedSigningKey<'_, Set>));
    };
    ($tier:ident, $sign:ident($key:ty)) => {
        #[inline(never)]
        pub fn $sign(
            key: &$key,
            workspace: &mut Workspace<Set, mldsa_lowmem::$tier>,
            mu: &Mu,
            hedge: Randomness<'_>,
            out: &mut [u8],
        ) -> bool {
            lowmem_sign(key, workspace, mu, hedge, out)
        }
    };
}

#[inline(always)]
fn lowmem_sign<P: ParameterSet, T: Tier<P>, K: mldsa_lowmem::PrivateKey<P>>(
    key: &K,
    workspace: &mut Workspace<P, T>,
    mu: &Mu,
    hedge: Randomness<'_>,
    out: &mut [u8],
) -> bool {
    MlDsaSigner::new(key, workspace)
        .sign_mu_into(mu, hedge, out)
        .is_ok()
}

set!(ml_dsa_44, mldsa_core::MlDsa44);
set!(ml_dsa_65, mldsa_core::MlDsa65);
set!(ml_dsa_87, mldsa_core::MlDsa87);

#[cfg(feature = "aggregate")]
pub use mladsa_aggregate as aggregate;
