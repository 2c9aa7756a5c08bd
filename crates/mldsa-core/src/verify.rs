//! Verification. Everything here is public data.

use crate::array::Zeroed;
use crate::backend::{Backend, Kernels};
use crate::encode::{PublicKeyParts, SignatureParts};
use crate::error::VerifyError;
use crate::field::canonical;
use crate::job::{Job, JobKey, JobMessage, VerifyRows};
use crate::pack;
use crate::params::{CRH_LEN, ParameterSet, Params, T1_POLY_LEN};
use crate::poly::{NttPoly, Poly};
use crate::sample::Challenge;
use crate::transcript::{CommitmentHash, Mu, mu_from_parts, mu_head, tr};

/// Verifies jobs `0..results.len()` and writes every result.
pub(crate) fn verify_jobs<'a, P: ParameterSet>(
    backend: Backend,
    job: &dyn Fn(usize) -> Job<'a>,
    results: &mut [Result<(), VerifyError>],
) {
    if let Some(verify) = backend.kernels().verify {
        return verify(&P::PARAMS, job, results);
    }
    for (n, result) in results.iter_mut().enumerate() {
        *result = verify_job::<P>(backend, &job(n));
    }
}

/// Verifies one job.
pub(crate) fn verify_one<P: ParameterSet>(
    backend: Backend,
    job: Job<'_>,
) -> Result<(), VerifyError> {
    let mut result = [Ok(())];
    verify_jobs::<P>(backend, &|_| job, &mut result);
    let [result] = result;
    result
}

/// Algorithm 8 ML-DSA.Verify_internal: one job, with the plain body.
fn verify_job<P: ParameterSet>(backend: Backend, job: &Job<'_>) -> Result<(), VerifyError> {
    let (rows, parts) = job.parse(&P::PARAMS)?;
    let mu = match job.message {
        JobMessage::Mu(mu) => Mu::from_bytes(*mu),
        JobMessage::Pure(ctx, message) => {
            let tr = match job.key {
                JobKey::Prepared(_, tr) | JobKey::Cold(_, Some(tr)) => *tr,
                JobKey::Cold(encoded, None) => tr(backend, encoded),
            };
            mu_from_parts(backend, &[&mu_head(&tr, 0, ctx), ctx, message])
        }
    };
    let mut hash = CommitmentHash::new(backend, &mu);
    let c = Challenge::sample_in_ball(backend, P::PARAMS.tau, parts.c_tilde);
    let (mut row, mut vector) = (
        <P::VerifyRow<NttPoly>>::zeroed(),
        <P::VerifyRow<NttPoly>>::zeroed(),
    );
    let memory = [row.as_mut(), vector.as_mut()];
    if !commitment(backend, &P::PARAMS, &rows, &parts, &c, memory, &mut |w1| {
        hash.absorb_w1(w1)
    }) {
        return Err(VerifyError::ResponseNorm);
    }
    let mut c_tilde = [0; CRH_LEN];
    let c_tilde = &mut c_tilde[..parts.c_tilde.len()];
    hash.finish(c_tilde);
    if c_tilde == parts.c_tilde {
        Ok(())
    } else {
        Err(VerifyError::ChallengeMismatch)
    }
}

/// Lines 9 and 10 of algorithm 8: the packed rows of the commitment that `parts`
/// claims, one after the other to `w1`. False if a coefficient of z is too large.
/// `memory` is twice l + 1 polynomials.
pub(crate) fn commitment(
    backend: Backend,
    p: &Params,
    rows: &VerifyRows<'_>,
    parts: &SignatureParts<'_>,
    c: &Challenge,
    memory: [&mut [NttPoly]; 2],
    w1: &mut dyn FnMut(&[u8]),
) -> bool {
    let kernels = backend.kernels();
    let [row_buffer, z_c_hat] = memory;
    let (z_hat, c_hat) = z_c_hat.split_at_mut(p.l);
    for (z_hat, bytes) in z_hat.iter_mut().zip(parts.z.chunks_exact(p.z_poly_len())) {
        if !(kernels.unpack_z_ntt)(p.gamma1_bits, p.gamma1() - p.beta(), bytes, z_hat) {
            return false;
        }
    }
    let mut c_poly = Poly::zeroed();
    c.to_poly(&mut c_poly);
    (kernels.ntt)(&c_poly, &mut c_hat[0]);
    let mut w_hat = NttPoly::zeroed();
    let mut packed = [0; 192];
    let packed = &mut packed[..p.w1_poly_len()];
    for i in 0..p.k {
        let row = match rows {
            VerifyRows::Cold(pk) => {
                verify_row(backend, p, pk, i, row_buffer);
                &*row_buffer
            }
            VerifyRows::Prepared(all) => &all[i * (p.l + 1)..][..p.l + 1],
        };
        (kernels.row_product)(row, z_c_hat, &mut w_hat);
        (kernels.inv_ntt_use_hint)(p.gamma2, &w_hat, parts.hint.row(i), packed);
        w1(packed);
    }
    true
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
    t1_column(
        backend.kernels(),
        &pk.t1[i * T1_POLY_LEN..][..T1_POLY_LEN],
        t1_hat,
    );
}

/// NTT(-t1[i] 2^13) from the 320 packed bytes of t1[i]; 0 <= out < q.
pub(crate) fn t1_column(kernels: &Kernels, bytes: &[u8], out: &mut NttPoly) {
    let mut t1 = Poly::zeroed();
    pack::unpack_t1_2d(bytes, &mut t1);
    (kernels.ntt)(&t1, out);
    for a in &mut out.0 {
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
