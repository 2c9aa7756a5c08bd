//! Nonces and offsets: uniform values from the PRF. They are deterministic, so that a
//! commitment repeated after a crash is byte for byte the same.

use alloc::boxed::Box;
use alloc::vec::Vec;

use mldsa_core::Backend;
use mldsa_core::internals::interval::{CentredInterval, INTERVAL_POLY_LEN};
#[cfg(feature = "insecure-open-commitments")]
use mldsa_core::internals::vectors;
use mldsa_core::internals::{Poly, Secret, shake256_lanes};

use crate::keys::label::Label;
use crate::keys::matrix::{K, L, vector};
use crate::keys::seed::{KEYS_TOGETHER, MasterSeed};
use crate::wire::framing::lp;

/// Half-width of a nonce with open commitments: 12 beta.
#[cfg(any(test, feature = "insecure-open-commitments"))]
pub(crate) const SIGMA_BASE: u32 = 1440;
/// Half-width of a nonce with offset commitments: 3 beta.
pub const SIGMA_OFFSET: u32 = 360;

/// Computes DeriveNonce: l polynomials in [-sigma, sigma], for open commitments.
#[cfg(any(test, feature = "insecure-open-commitments"))]
pub(crate) fn derive_nonce(seed: &MasterSeed, content: &Label, sigma: u32) -> Secret<Box<[Poly]>> {
    sample(seed, b"F.nonce", content.as_bytes(), sigma, L)
}

/// Adds the sum of DeriveNonce over all `seeds` to `y`.
#[cfg(feature = "insecure-open-commitments")]
pub(crate) fn add_nonces(seeds: &[&MasterSeed], content: &Label, sigma: u32, y: &mut [Poly]) {
    let mask = Mask::new(b"F.nonce", content.as_bytes(), sigma, L);
    let mut nonces = Secret::new(vector(L * KEYS_TOGETHER.min(seeds.len())));
    for group in seeds.chunks(KEYS_TOGETHER) {
        let (nonces, _) = nonces.expose_mut().split_at_mut(L * group.len());
        mask.sample(group, nonces);
        for nonce in nonces.chunks(L) {
            vectors::add_integers(y, nonce);
        }
    }
}

/// Computes DeriveNonceMB: l polynomials in [-sigma, sigma], which also depend on `mu`.
pub(crate) fn derive_nonce_bound(
    seed: &MasterSeed,
    content: &Label,
    mu: &[u8],
    sigma: u32,
) -> Secret<Box<[Poly]>> {
    sample(
        seed,
        b"F.nonce.mb",
        &lp(&[content.as_bytes(), mu]),
        sigma,
        L,
    )
}

/// Computes DeriveOffset: k polynomials in [-width, width], which hide the low bits of w.
pub(crate) fn derive_offset(
    seed: &MasterSeed,
    content: &Label,
    mu: &[u8],
    width: u32,
) -> Secret<Box<[Poly]>> {
    let bound = lp(&[content.as_bytes(), mu, &width.to_be_bytes()]);
    sample(seed, b"F.offset", &bound, width, K)
}

fn sample(
    seed: &MasterSeed,
    label: &[u8],
    content: &[u8],
    half_width: u32,
    polys: usize,
) -> Secret<Box<[Poly]>> {
    let mut out = Secret::new(vector(polys));
    Mask::new(label, content, half_width, polys).sample(&[seed], out.expose_mut());
    out
}

/// Parameters of one kind of mask of one attempt, the same for all seeds.
struct Mask {
    interval: CentredInterval,
    // `lp(label, content || LE16(i))` of every polynomial i
    framed: Vec<u8>,
    polys: usize,
}

impl Mask {
    fn new(label: &[u8], content: &[u8], half_width: u32, polys: usize) -> Self {
        let of_poly = |i: u16| lp(&[label, &[content, &i.to_le_bytes()].concat()]);
        Self {
            interval: CentredInterval::new(half_width),
            framed: (0..).take(polys).flat_map(of_poly).collect(),
            polys,
        }
    }

    /// Computes the concatenated masks of `seeds`, hashed in lanes. Constant time in the seeds.
    fn sample(&self, seeds: &[&MasterSeed], out: &mut [Poly]) {
        let framed = self.framed.chunks_exact(self.framed.len() / self.polys);
        let mut inputs = seeds
            .iter()
            .flat_map(|seed| framed.clone().map(move |framed| (*seed, framed)));
        let mut streams = Secret::<[[u8; INTERVAL_POLY_LEN]; KEYS_TOGETHER]>::zeroed();
        for out in out.chunks_mut(KEYS_TOGETHER) {
            let streams = streams.expose_mut();
            let places = streams.iter_mut().take(out.len());
            let hashes = places.zip(&mut inputs);
            shake256_lanes(
                Backend::detect(),
                hashes.map(|(stream, (seed, framed))| seed.prf(framed, stream)),
            );
            for (stream, out) in streams.iter().zip(out) {
                self.interval.sample(stream, out);
            }
        }
    }
}
