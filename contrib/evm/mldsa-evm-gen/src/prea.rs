//! PreA: a public key with its matrix in the order in which FIPS 204 names it, for
//! exchange between implementations. Version 1:
//!
//! | bytes | content |
//! | --- | --- |
//! | 13 | `MLDSA-PREA/v1` |
//! | 1 | 44, 65 or 87 |
//! | 32 | rho |
//! | 64 | `tr` |
//! | 4 · 256 · k · l | A in NTT form, row after row, coefficients as 32 bits, big endian, below q |
//! | 4 · 256 · k | t1 2^13 in NTT form, the same way |
//!
//! `CommitA` binds the words that are multiplied, not this form: Keccak-256 of tag,
//! set, rho, `tr` and the hashes of the word groups ([`ExpandedKey::commitment`]). A
//! commitment determines the matrix. That it is ExpandA(rho) is another statement,
//! which the registry proves, and which [`ExpandedKey::is_expanded_from`] checks off chain.

use mldsa_core::internals::{
    CRH_LEN, CommitmentHash, NttPoly, Poly, Q, SignatureParts, Zeroed, ntt, pack, rounding, sample,
};
use mldsa_core::{Backend, Context, MuBuilder};

use crate::key::{COMMITMENT_TAG, ExpandedKey};
use crate::lanes::Layout;

const POLY_LEN: usize = 4 * 256;
const HEAD_LEN: usize = COMMITMENT_TAG.len() + 1 + 32 + CRH_LEN;

/// Bytes of the form for a set.
pub fn packed_len(layout: &Layout) -> usize {
    HEAD_LEN + layout.p.k * layout.columns() * POLY_LEN
}

/// Writes the form.
pub fn pack_key(key: &ExpandedKey) -> Vec<u8> {
    let l = key.layout.p.l;
    let mut out = [&COMMITMENT_TAG[..], &[key.layout.name], &key.rho, &key.tr].concat();
    let a = key
        .rows
        .iter()
        .flat_map(|row| row[..l].iter().flatten().copied());
    // Words carry -t1 2^13.
    let t = key
        .rows
        .iter()
        .flat_map(|row| row[l].iter().map(|&t| (Q - t) % Q));
    a.chain(t).for_each(|a| out.extend(a.to_be_bytes()));
    out
}

/// Reads the form; `None` for another tag, an unknown set, another length, or a
/// coefficient that is not below q.
pub fn unpack_key(bytes: &[u8]) -> Option<ExpandedKey> {
    let rest = bytes.strip_prefix(COMMITMENT_TAG)?;
    let (&[set], rest) = rest.split_first_chunk()?;
    let layout = Layout::all()
        .into_iter()
        .find(|layout| layout.name == set)?;
    if bytes.len() != packed_len(&layout) {
        return None;
    }
    let (&rho, rest) = rest.split_first_chunk()?;
    let (&tr, rest) = rest.split_first_chunk()?;
    let mut polys = Vec::new();
    for poly in rest.chunks_exact(POLY_LEN) {
        let mut coefficients = [0; 256];
        for (bytes, a) in poly.as_chunks::<4>().0.iter().zip(&mut coefficients) {
            *a = i32::try_from(u32::from_be_bytes(*bytes))
                .ok()
                .filter(|&a| a < Q)?;
        }
        polys.push(coefficients);
    }
    let (a, t) = polys.split_at(layout.p.k * layout.p.l);
    let rows = a
        .chunks_exact(layout.p.l)
        .zip(t)
        .map(|(row, t)| {
            let minus_t = t.map(|t| (Q - t) % Q);
            row.iter().copied().chain([minus_t]).collect()
        })
        .collect();
    Some(ExpandedKey {
        layout,
        rho,
        tr,
        rows,
    })
}

impl ExpandedKey {
    /// Whether this is the expansion of the encoded key.
    pub fn is_expanded_from(&self, pk: &[u8]) -> bool {
        Self::new(self.layout, pk)
            .is_ok_and(|key| (key.rho, key.tr) == (self.rho, self.tr) && key.rows == self.rows)
    }

    /// Algorithm 3 with this matrix and this `tr`, whatever they are.
    pub fn verify(&self, ctx: &[u8], message: &[u8], signature: &[u8]) -> bool {
        self.verified(ctx, message, signature).is_some()
    }

    fn verified(&self, ctx: &[u8], message: &[u8], signature: &[u8]) -> Option<()> {
        let p = &self.layout.p;
        let mut mu = MuBuilder::from_tr(&self.tr, Context::new(ctx).ok()?);
        mu.update(message);
        let parts = SignatureParts::parse(p, signature).ok()?;
        let mut columns: Vec<NttPoly> = (0..=p.l).map(|_| NttPoly::zeroed()).collect();
        let mut poly = Poly::zeroed();
        for (z, column) in parts.z.chunks_exact(p.z_poly_len()).zip(&mut columns) {
            pack::unpack_z(p.gamma1_bits, z, &mut poly);
            if poly.norm_reaches(p.gamma1() - p.beta()) {
                return None;
            }
            ntt::ntt(&poly, column);
        }
        let keccak = Backend::detect().permutation();
        sample::Challenge::sample_in_ball_vartime(keccak, p.tau, parts.c_tilde).to_poly(&mut poly);
        ntt::ntt(&poly, &mut columns[p.l]);
        let mut hash = CommitmentHash::new(keccak, &mu.finish());
        let mut product = NttPoly::zeroed();
        let mut w1 = vec![0; p.w1_poly_len()];
        for (i, row) in self.rows.iter().enumerate() {
            let entries: Vec<NttPoly> = row.iter().map(|a| NttPoly(*a)).collect();
            ntt::row_product(&entries, &columns, &mut product);
            ntt::inv_ntt(&product, &mut poly);
            let mut hinted = [false; 256];
            for &n in parts.hint.row(i) {
                hinted[usize::from(n)] = true;
            }
            for (w, hinted) in poly.0.iter_mut().zip(hinted) {
                *w = rounding::use_hint_vartime(p.gamma2, i32::from(hinted), w.rem_euclid(Q));
            }
            pack::w1_encode(p.gamma2, &poly, &mut w1, |w1| w1);
            hash.absorb_w1(&w1);
        }
        let mut c_tilde = vec![0; p.c_tilde_len];
        hash.finish(&mut c_tilde);
        (parts.c_tilde == c_tilde).then_some(())
    }
}
