//! The steps of key generation, row by row.

use mldsa_core::internals::sample::rej_bounded_packed;
use mldsa_core::internals::{
    Array, CRH_LEN, ExpandedSeed, N, Params, SEED_LEN, SecretKeyPartsMut, Shake256, T0_POLY_LEN,
    T1_POLY_LEN, Zeroed, expand_seed,
};

use crate::matrix::public_row;
use crate::packed::{KECCAK, copy, packed_row_mut, wiped};
use crate::secrets::Secrets;

/// Lines 1 to 4 of algorithm 6: `rho`, and all of a private key except t0 and `tr`.
#[inline(never)]
pub(crate) fn sample_secrets(
    p: &Params,
    xi: &[u8; SEED_LEN],
    parts: &mut SecretKeyPartsMut<'_>,
    rho: &mut [u8; SEED_LEN],
) {
    let mut seed = ExpandedSeed::zeroed();
    expand_seed(KECCAK, p, xi, &mut seed);
    copy(rho, &seed.rho);
    copy(parts.rho, rho);
    copy(parts.k_seed, seed.k_seed.expose());
    let len = p.eta_poly_len();
    for n in 0..p.l + p.k {
        let slot = match n.checked_sub(p.l) {
            None => packed_row_mut(parts.s1, n, len),
            Some(n) => packed_row_mut(parts.s2, n, len),
        };
        rej_bounded_packed(KECCAK, p.eta, seed.rho_p.expose(), n as u16, slot);
    }
}

/// Buffers for a row of t0: computed, or skipped.
pub(crate) type WithT0 = [u8; T0_POLY_LEN];
pub(crate) type WithoutT0 = [u8; 0];

/// Calls `row` with the packed rows of t1 and t0 of a key that is not stored, and
/// returns `tr`. The first error of `row` ends the loop.
#[inline(never)]
pub(crate) fn for_each_public_row<T0: Array<u8>, S: Secrets, E>(
    p: &Params,
    secrets: &S,
    mut row: impl FnMut(usize, &[u8; T1_POLY_LEN], &[u8]) -> Result<(), E>,
) -> Result<[u8; CRH_LEN], E> {
    let mut hash = Shake256::new(KECCAK);
    hash.absorb(secrets.rho());
    let mut acc = wiped::<[i32; N]>();
    let mut t1: [u8; T1_POLY_LEN] = Zeroed::zeroed();
    let mut t0 = wiped::<T0>();
    let t0 = t0.expose_mut().as_mut();
    for i in 0..p.k {
        public_row(p, secrets, i, acc.expose_mut(), &mut t1, t0);
        hash.absorb(&t1);
        row(i, &t1, t0)?;
    }
    hash.finish();
    let mut tr: [u8; CRH_LEN] = Zeroed::zeroed();
    hash.squeeze(&mut tr);
    Ok(tr)
}
