//! Verification. Everything here is public data.

use crate::array::Zeroed;
use crate::backend::Backend;
use crate::encode::{PublicKeyParts, SignatureParts};
use crate::error::VerifyError;
use crate::field::canonical;
use crate::pack;
use crate::params::{CRH_LEN, ParameterSet, Params, T1_POLY_LEN};
use crate::poly::{NttPoly, Poly};
use crate::sample::Challenge;
use crate::transcript::{CommitmentHash, Mu};

/// Where the rows (A[i], -t1[i] 2^13) in NTT form come from.
pub enum VerifyRows<'a> {
    /// Expanded from the encoded key, one row at a time.
    Cold(PublicKeyParts<'a>),
    /// Expanded before, k (l + 1) polynomials.
    Prepared(&'a [NttPoly]),
}

/// Algorithm 8 ML-DSA.Verify_internal, from `mu` on.
///
/// # Errors
/// Every [`VerifyError`], in the order of its variants.
pub fn verify_internal<P: ParameterSet>(
    backend: Backend,
    rows: &VerifyRows<'_>,
    mu: &Mu,
    signature: &[u8],
) -> Result<(), VerifyError> {
    let p = &P::PARAMS;
    let kernels = backend.kernels();
    let parts = SignatureParts::parse(p, signature)?;
    let mut z_c_hat = <P::VerifyRow<NttPoly>>::zeroed();
    let (z_hat, c_hat) = z_c_hat.as_mut().split_at_mut(p.l);
    for (z_hat, bytes) in z_hat.iter_mut().zip(parts.z.chunks_exact(p.z_poly_len())) {
        if !(kernels.unpack_z_ntt)(p.gamma1_bits, p.gamma1() - p.beta(), bytes, z_hat) {
            return Err(VerifyError::ResponseNorm);
        }
    }
    let mut c = Poly::zeroed();
    Challenge::sample_in_ball(backend, p.tau, parts.c_tilde).to_poly(&mut c);
    (kernels.ntt)(&c, &mut c_hat[0]);

    let mut hash = CommitmentHash::new(backend, mu);
    let mut row_buffer = <P::VerifyRow<NttPoly>>::zeroed();
    let mut w_hat = NttPoly::zeroed();
    let mut w1 = [0; 192];
    let w1 = &mut w1[..p.w1_poly_len()];
    for i in 0..p.k {
        let row = match rows {
            VerifyRows::Cold(pk) => {
                verify_row(backend, p, pk, i, row_buffer.as_mut());
                row_buffer.as_ref()
            }
            VerifyRows::Prepared(all) => &all[i * (p.l + 1)..][..p.l + 1],
        };
        (kernels.row_product)(row, z_c_hat.as_ref(), &mut w_hat);
        (kernels.inv_ntt_use_hint)(p.gamma2, &w_hat, parts.hint.row(i), w1);
        hash.absorb_w1(w1);
    }
    let mut c_tilde = [0; CRH_LEN];
    let c_tilde = &mut c_tilde[..p.c_tilde_len];
    hash.finish(c_tilde);
    if c_tilde == parts.c_tilde {
        Ok(())
    } else {
        Err(VerifyError::ChallengeMismatch)
    }
}

/// Row `i` of A, and behind it NTT(-t1[i] 2^13), so that one product of l + 1
/// terms gives `A z - c t1 2^13`. `out` has l + 1 entries; 0 <= out < q.
pub fn verify_row(
    backend: Backend,
    p: &Params,
    pk: &PublicKeyParts<'_>,
    i: usize,
    out: &mut [NttPoly],
) {
    let Some((t1_hat, a_row)) = out.split_last_mut() else {
        return;
    };
    (backend.kernels().expand_a)(pk.rho, p.l, i * p.l, a_row);
    let mut t1 = Poly::zeroed();
    pack::unpack_t1_2d(&pk.t1[i * T1_POLY_LEN..][..T1_POLY_LEN], &mut t1);
    (backend.kernels().ntt)(&t1, t1_hat);
    for a in &mut t1_hat.0 {
        *a = canonical(-*a);
    }
}

/// The checks of algorithm 27 and of line 13 of algorithm 8 that need neither
/// key nor message: length, hint form, norm of z.
///
/// # Errors
/// [`VerifyError::SignatureLength`], [`VerifyError::HintEncoding`],
/// [`VerifyError::ResponseNorm`].
pub fn check_signature(p: &Params, signature: &[u8]) -> Result<(), VerifyError> {
    let parts = SignatureParts::parse(p, signature)?;
    let mut z = Poly::zeroed();
    for bytes in parts.z.chunks_exact(p.z_poly_len()) {
        pack::unpack_z(p.gamma1_bits, bytes, &mut z);
        if z.norm_reaches(p.gamma1() - p.beta()) {
            return Err(VerifyError::ResponseNorm);
        }
    }
    Ok(())
}
