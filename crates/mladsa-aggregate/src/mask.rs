//! Nonces and offsets: uniform values from the PRF, the same ones whenever the
//! same content is asked for, so that a commitment repeated after a crash is the
//! same commitment.

use alloc::boxed::Box;

use mldsa_core::hazmat::interval::{CentredInterval, INTERVAL_POLY_LEN};
use mldsa_core::hazmat::{Poly, Secret};

use crate::encoding::lp;
use crate::matrix::{K, L, vector};
use crate::seed::MasterSeed;

/// Half-width of a nonce in base mode: 12 beta.
#[cfg(any(test, feature = "transparent-commitments"))]
pub(crate) const SIGMA_BASE: u32 = 1440;
/// Half-width of a nonce in offset mode: 3 beta.
pub(crate) const SIGMA_OFFSET: u32 = 360;

/// DeriveNonce: the mask of base mode, l polynomials in [-sigma, sigma].
#[cfg(any(test, feature = "transparent-commitments"))]
pub(crate) fn derive_nonce(seed: &MasterSeed, content: &[u8], sigma: u32) -> Secret<Box<[Poly]>> {
    sample(seed, b"F.nonce", content, sigma, L)
}

/// DeriveNonceMB: the mask of offset mode, which also depends on `mu`.
pub(crate) fn derive_nonce_bound(
    seed: &MasterSeed,
    content: &[u8],
    mu: &[u8],
    sigma: u32,
) -> Secret<Box<[Poly]>> {
    sample(seed, b"F.nonce.mb", &lp(&[content, mu]), sigma, L)
}

/// DeriveOffset: what hides the low bits of w, k polynomials in
/// [-width, width].
pub(crate) fn derive_offset(
    seed: &MasterSeed,
    content: &[u8],
    mu: &[u8],
    width: u32,
) -> Secret<Box<[Poly]>> {
    let bound = lp(&[content, mu, &width.to_be_bytes()]);
    sample(seed, b"F.offset", &bound, width, K)
}

fn sample(
    seed: &MasterSeed,
    label: &[u8],
    content: &[u8],
    half_width: u32,
    polys: usize,
) -> Secret<Box<[Poly]>> {
    let interval = CentredInterval::new(half_width);
    let mut out = Secret::new(vector(polys));
    let mut stream = Secret::<[u8; INTERVAL_POLY_LEN]>::zeroed();
    for (i, poly) in (0u16..).zip(out.expose_mut()) {
        seed.prf(label, &[content, &i.to_le_bytes()], stream.expose_mut());
        interval.sample(stream.expose(), poly);
    }
    out
}
