//! Key generation for many seeds: keys are made one after the other, and what is hashed
//! once for each key runs in lanes, the seed and `tr`. Each key gets the bytes that it
//! gets alone.

use crate::backend::matrix::MatrixRows;
use crate::backend::{Backend, shake256_lanes};
use crate::coding::encode::SecretKeyPartsMut;
use crate::hash::transcript::{EXPANDED_SEED_LEN, seed_suffix, split_expanded_seed};
use crate::hash::xof::LaneHash;
use crate::memory::secret::Secret;
use crate::params::{ParameterSet, SEED_LEN, T0_POLY_LEN};
use crate::ring::poly::NttPoly;
use crate::scheme::keygen::{public_rows, sample_secrets};
use crate::scheme::zeroize_kernels::ZeroizeKernelState;

/// Keys that are made together: the lanes of the widest backend.
pub(crate) const MAX_KEYS: usize = 8;

/// A seed, and where its public and its private key go.
pub(crate) type NewKey<'a, P> = (
    &'a [u8; SEED_LEN],
    &'a mut <P as ParameterSet>::PublicKeyBytes,
    &'a mut <P as ParameterSet>::SecretKeyBytes,
);

/// Computes algorithm 6 for any number of keys. Constant time as for one.
pub fn keygen_many<P: ParameterSet>(backend: Backend, keys: &mut [NewKey<'_, P>]) {
    for keys in keys.chunks_mut(MAX_KEYS) {
        keygen_group::<P>(backend, keys);
    }
}

/// At most [`MAX_KEYS`] keys.
#[inline(never)]
fn keygen_group<P: ParameterSet>(backend: Backend, keys: &mut [NewKey<'_, P>]) {
    let _zeroize = ZeroizeKernelState::<32_768>(backend);
    let p = &P::PARAMS;
    let mut seeds = Secret::<[[u8; EXPANDED_SEED_LEN]; MAX_KEYS]>::zeroed();
    let seeds = seeds.expose_mut();
    let suffix = seed_suffix(p);
    let hashes = keys
        .iter()
        .zip(&mut *seeds)
        .map(|((xi, ..), seed)| LaneHash {
            input: [*xi, &suffix],
            output: seed,
        });
    shake256_lanes(backend, hashes);
    for ((_, pk, sk), seed) in keys.iter_mut().zip(&mut *seeds) {
        let (rho, rho_p, k_seed) = split_expanded_seed(seed);
        let mut parts = SecretKeyPartsMut::new(p, sk.as_mut());
        parts.rho.copy_from_slice(rho);
        parts.k_seed.copy_from_slice(k_seed);
        sample_secrets::<P>(backend, rho_p, parts.s1, parts.s2);
        public_key::<P>(backend, rho, pk.as_mut(), &mut parts);
    }
    let hashes = keys.iter_mut().map(|(_, pk, sk)| LaneHash {
        input: [(**pk).as_ref(), &[]],
        output: SecretKeyPartsMut::new(p, sk.as_mut()).tr,
    });
    shake256_lanes(backend, hashes);
}

/// Lines 3 and 5 to 8 for one key. A function of its own, whose frame is released before the
/// lanes hash.
#[inline(never)]
fn public_key<P: ParameterSet>(
    backend: Backend,
    rho: &[u8; SEED_LEN],
    pk: &mut [u8],
    parts: &mut SecretKeyPartsMut<'_>,
) {
    let t0 = &mut *parts.t0;
    let next_row = |a: &mut MatrixRows<'_, 8>, row: &mut [NttPoly], _: &[u8]| a.next_row(row);
    public_rows::<P>(backend, rho, parts.s1, parts.s2, pk, next_row, |i, row| {
        t0[i * T0_POLY_LEN..][..T0_POLY_LEN].copy_from_slice(row);
    });
}
