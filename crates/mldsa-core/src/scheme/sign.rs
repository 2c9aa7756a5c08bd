//! Signing: one attempt as commitment, challenge and response, repeated until
//! one is accepted.

mod mask_groups;

use crate::backend::Backend;
use crate::backend::kernels::MaskSeed;
use crate::coding::encode::{SecretKeyParts, signature_parts_mut};
use crate::coding::hint::{HINT_ROW_LEN, hint_bit_pack_vartime, weight};
use crate::error::SignError;
use crate::hash::transcript::{self, CommitmentHash, Mu};
use crate::lanes::job::JobKey;
use crate::memory::array::{Wipe, Zeroed};
use crate::memory::ct::{difference, is_zero};
use crate::memory::secret::{Secret, declassify, declassify_in_place};
use crate::params::{CRH_LEN, MAX_SIGN_ATTEMPTS, ParameterSet, Params, SEED_LEN, T0_POLY_LEN};
use crate::ring::poly::{NttPoly, Poly};
use crate::sample::Challenge;
use crate::scheme::keygen::{check_secret_range, unpack_ntt};
use crate::scheme::seal::{Seal, variation};
use crate::scheme::sign::mask_groups::MaskGroups;
use crate::scheme::verify::release;
use crate::scheme::zeroize_kernels::ZeroizeKernelState;

/// Reason for the rejection of an attempt: algorithm 7 lines 23 and 28. Public, as the
/// number of attempts is. An attempt that line 23 rejects for both of its conditions counts as
/// [`R0`](Self::R0), which is checked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptRejection {
    /// ||z|| >= gamma1 - beta.
    Z,
    /// ||LowBits(w - c s2)|| >= gamma2 - beta.
    R0,
    /// ||c t0|| >= gamma2; possible in ML-DSA-44 only.
    Ct0,
    /// More than omega hints.
    HintWeight,
}

/// Upper bound of the frames below an attempt, in bytes. Code that is optimised for size keeps more
/// in its frames.
const KERNEL_FRAMES: usize = if cfg!(any(mldsa_opt_level = "s", mldsa_opt_level = "z")) {
    8_192
} else {
    4_096
};

/// Parts of a private key for signing, transformed.
#[derive(Clone, Copy)]
pub(crate) struct SigningMaterial<'a> {
    pub k_seed: &'a [u8; SEED_LEN],
    /// k l entries, row after row.
    pub a_hat: &'a [NttPoly],
    /// l rows.
    pub s1: Rows<'a>,
    pub s2_hat: &'a [NttPoly],
    /// k rows.
    pub t0: Rows<'a>,
    /// Compared when masks are checked.
    pub seal: Option<Seal<'a>>,
}

/// Rows of s1 or t0. Few attempts pass the checks before those that need them, so a key that is
/// used once transforms each row on demand, which saves memory.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// As they are encoded.
    Packed(&'a [u8]),
    /// Transformed.
    Transformed(&'a [NttPoly]),
}

/// What is checked before a signature is released.
#[derive(Clone, Copy)]
pub(crate) struct SelfVerification<'a> {
    /// The key that the signature is verified with.
    pub key: JobKey<'a>,
    pub seal: Option<Seal<'a>>,
}

/// Signs from an expanded private key, and verifies the signature if there is a key for it.
///
/// # Errors
/// [`SignError::BufferLength`], [`SignError::Key`] for s1 or s2 out of range, and
/// those of [`sign_internal`] and [`release`].
pub(crate) fn sign_expanded<P: ParameterSet>(
    backend: Backend,
    sk: &[u8],
    mu: &Mu,
    rnd: &[u8; SEED_LEN],
    check: Option<SelfVerification<'_>>,
    out: &mut [u8],
    observe: &mut dyn FnMut(AttemptRejection),
) -> Result<(), SignError> {
    let mut a_hat = <P::Matrix<NttPoly>>::zeroed();
    let a_hat = a_hat.as_mut();
    sign_expanded_in::<P>(backend, sk, (mu, rnd), check, out, observe, a_hat)
}

/// [`sign_expanded`] with memory of the caller for the k l entries of the matrix.
///
/// # Errors
/// As [`sign_expanded`].
#[inline(always)]
pub(crate) fn sign_expanded_in<P: ParameterSet>(
    backend: Backend,
    sk: &[u8],
    (mu, rnd): (&Mu, &[u8; SEED_LEN]),
    check: Option<SelfVerification<'_>>,
    out: &mut [u8],
    observe: &mut dyn FnMut(AttemptRejection),
    a_hat: &mut [NttPoly],
) -> Result<(), SignError> {
    let p = &P::PARAMS;
    if out.len() != p.sig_len() {
        return Err(SignError::BufferLength);
    }
    let parts = SecretKeyParts::parse(p, sk).map_err(|_| SignError::Key)?;
    check_secret_range(p, &parts).map_err(|_| {
        drop(ZeroizeKernelState::<3_072>(backend));
        SignError::Key
    })?;
    let mut s2_hat = Secret::<P::Rows<NttPoly>>::zeroed();
    let s2_hat = s2_hat.expose_mut().as_mut();
    unpack_ntt(backend, p, parts.s2, s2_hat);
    (backend.kernels().expand_a)(parts.rho, p.l, 0, a_hat);
    let material = SigningMaterial {
        k_seed: parts.k_seed,
        a_hat,
        s1: Rows::Packed(parts.s1),
        s2_hat,
        t0: Rows::Packed(parts.t0),
        seal: check.and_then(|check| check.seal),
    };
    sign_internal::<P>(backend, &material, (mu, rnd), check.is_some(), out, observe)?;
    release::<P>(backend, check.map(|check| check.key), Some(a_hat), mu, out)
}

/// Algorithm 7 ML-DSA.Sign_internal, from `mu` on. `out` is written only by an
/// accepted attempt.
///
/// Constant time except for the values listed in `docs/constant-time.md`.
///
/// # Errors
/// [`SignError::BufferLength`], [`SignError::AttemptsExhausted`]; with `check_masks`
/// [`SignError::SelfVerification`] if z is not made of the masks of the attempt.
pub(crate) fn sign_internal<P: ParameterSet>(
    backend: Backend,
    key: &SigningMaterial<'_>,
    (mu, rnd): (&Mu, &[u8; SEED_LEN]),
    check_masks: bool,
    out: &mut [u8],
    observe: &mut dyn FnMut(AttemptRejection),
) -> Result<(), SignError> {
    let _zeroize = ZeroizeKernelState::<KERNEL_FRAMES>(backend);
    let p = &P::PARAMS;
    if out.len() != p.sig_len() {
        return Err(SignError::BufferLength);
    }
    let mut rho_pp = Secret::<[u8; CRH_LEN]>::zeroed();
    transcript::rho_pp(
        backend.permutation(),
        key.k_seed,
        rnd,
        mu,
        rho_pp.expose_mut(),
    );
    let mut y_hat = Secret::<P::Cols<NttPoly>>::zeroed();
    let mut w = Secret::<P::Rows<Poly>>::zeroed();
    let mut c_hat = NttPoly::zeroed();
    let mut rows = Secret::<P::MaskRows>::zeroed();
    let rows = rows.expose_mut().as_mut();
    let mut hints = Secret::<[u8; 8 * HINT_ROW_LEN]>::zeroed();
    let hints = &mut hints.expose_mut()[..p.k * HINT_ROW_LEN];

    for attempt in 0..MAX_SIGN_ATTEMPTS {
        let (y_hat, w) = (y_hat.expose_mut().as_mut(), w.expose_mut().as_mut());
        next_masks(backend, p, rho_pp.expose(), attempt, rows, y_hat);
        let mut c_tilde = [0; CRH_LEN];
        let c_tilde = &mut c_tilde[..p.c_tilde_len];
        commit(backend, p, key.a_hat, y_hat, mu, w, c_tilde);
        challenge(backend, p, c_tilde, &mut c_hat);
        let z = &mut rows[..p.l * p.z_poly_len()];
        let response = respond(backend, p, key, &c_hat, y_hat, w, z, hints);
        match response {
            Ok(()) => {
                let inputs = (mu, rnd, attempt);
                if check_masks && !is_response_of_masks(backend, p, key, inputs, &c_hat, z, out) {
                    out.wipe();
                    return Err(SignError::SelfVerification);
                }
                encode(p, c_tilde, z, hints, out);
                return Ok(());
            }
            Err(rejection) => observe(rejection),
        }
    }
    Err(SignError::AttemptsExhausted)
}

/// Lines 11 and 12: the masks of an attempt, transformed. `rows` has memory for packed rows, of
/// which the first l may be overwritten when this returns: by z.
#[inline(never)]
fn next_masks(
    backend: Backend,
    p: &Params,
    rho_pp: &[u8; CRH_LEN],
    attempt: u16,
    rows: &mut [u8],
    y_hat: &mut [NttPoly],
) {
    let (kernels, len) = (backend.kernels(), p.z_poly_len());
    let groups = MaskGroups::choose(p.l, kernels.mask_lanes, |count| count * len <= rows.len());
    let group = &mut rows[groups.first_row * len..][..groups.masks * len];
    let kappa = attempt * p.l as u16;
    for (y_hat, n) in y_hat.iter_mut().zip(kappa..) {
        let place = groups.place(n, kappa);
        if place == 0 {
            (kernels.expand_masks)(&mask_seeds(rho_pp, n)[..groups.masks], len, group);
        }
        (kernels.unpack_mask_ntt)(p.gamma1_bits, &group[place * len..][..len], y_hat);
    }
}

/// The seeds of masks `n` to `n + 7`.
fn mask_seeds(rho_pp: &[u8; CRH_LEN], n: u16) -> [MaskSeed<'_>; 8] {
    [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| (rho_pp, n + lane))
}

/// Lines 12 to 15: w = A y and the hash of its high bits.
#[inline(never)]
fn commit(
    backend: Backend,
    p: &Params,
    a_hat: &[NttPoly],
    y_hat: &[NttPoly],
    mu: &Mu,
    w: &mut [Poly],
    c_tilde: &mut [u8],
) {
    let mut hash = CommitmentHash::new(backend.permutation(), mu);
    commit_rows(backend, p, a_hat, y_hat, w, |w1| hash.absorb_w1(w1));
    hash.finish(c_tilde);
}

/// Lines 12 to 14: w = A y. Every packed row of w1 is given to `row`.
#[inline(always)]
pub(super) fn commit_rows(
    backend: Backend,
    p: &Params,
    a_hat: &[NttPoly],
    y_hat: &[NttPoly],
    w: &mut [Poly],
    mut row: impl FnMut(&[u8]),
) {
    let kernels = backend.kernels();
    let mut w1 = Secret::<[u8; 192]>::zeroed();
    let w1 = &mut w1.expose_mut()[..p.w1_poly_len()];
    for (a_row, w) in a_hat.chunks_exact(p.l).zip(w) {
        (kernels.commit_row)(p.gamma2, a_row, y_hat, w, w1);
        row(w1);
    }
}

/// Lines 16 and 17: the challenge, in NTT form.
fn challenge(backend: Backend, p: &Params, c_tilde: &mut [u8], c_hat: &mut NttPoly) {
    declassify_challenge(c_tilde);
    let c = Challenge::sample_in_ball_vartime(backend.permutation(), p.tau, c_tilde);
    transform_challenge(backend, &c, c_hat);
}

/// A hash of w1 and mu: it reveals nothing of the mask.
pub(super) fn declassify_challenge(c_tilde: &mut [u8]) {
    declassify_in_place(c_tilde, "c_tilde of an attempt");
}

/// Line 17.
pub(super) fn transform_challenge(backend: Backend, c: &Challenge, c_hat: &mut NttPoly) {
    let mut poly = Poly::zeroed();
    c.to_poly(&mut poly);
    (backend.kernels().ntt)(&poly, c_hat);
}

/// Lines 18 to 30: z in `z` and the hint bitmaps in `hints`, or the rejection of the attempt.
/// `y_hat` and `w` are overwritten. The low bits come first: they reject more often than z
/// (0.57 / 0.68 / 0.61 of the attempts against 0.46 / 0.38 / 0.34).
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the variables of the algorithm")]
pub(super) fn respond(
    backend: Backend,
    p: &Params,
    key: &SigningMaterial<'_>,
    c_hat: &NttPoly,
    y_hat: &mut [NttPoly],
    w: &mut [Poly],
    z: &mut [u8],
    hints: &mut [u8],
) -> Result<(), AttemptRejection> {
    respond_low_bits(backend, p, key, c_hat, w)?;
    respond_z(backend, p, key, c_hat, y_hat, z)?;
    respond_hints(backend, p, key, c_hat, w, &mut y_hat[0], hints)
}

/// Lines 18 to 21 and the first half of 23: z = y + c s1, packed, or its
/// rejection. Rows are left early; coefficients never are.
#[inline(never)]
fn respond_z(
    backend: Backend,
    p: &Params,
    key: &SigningMaterial<'_>,
    c_hat: &NttPoly,
    y_hat: &[NttPoly],
    out: &mut [u8],
) -> Result<(), AttemptRejection> {
    let rows = out.chunks_exact_mut(p.z_poly_len());
    for (i, (y_hat, out)) in y_hat.iter().zip(rows).enumerate() {
        let within = respond_row(backend, p, (key.s1, i), c_hat, y_hat, out);
        if declassify(!within, "z verdict of a row") {
            return Err(AttemptRejection::Z);
        }
    }
    Ok(())
}

/// Row `i` of z = y + c s1, packed. Returns whether it is within its bound, which is secret.
#[inline(always)]
fn respond_row(
    backend: Backend,
    p: &Params,
    (s1, i): (Rows<'_>, usize),
    c_hat: &NttPoly,
    y_hat: &NttPoly,
    out: &mut [u8],
) -> bool {
    match s1 {
        Rows::Transformed(rows) => {
            let bound = p.gamma1() - p.beta();
            let kernel = backend.kernels().respond_row;
            kernel(p.gamma1_bits, bound, c_hat, &rows[i], y_hat, out)
        }
        Rows::Packed(rows) => {
            let len = p.eta_poly_len();
            respond_packed_row(backend, p, &rows[i * len..][..len], c_hat, y_hat, out)
        }
    }
}

/// [`respond_row`] with a packed row of s1. Not inlined: only a key that is used once needs this
/// frame.
#[inline(never)]
fn respond_packed_row(
    backend: Backend,
    p: &Params,
    s1: &[u8],
    c_hat: &NttPoly,
    y_hat: &NttPoly,
    out: &mut [u8],
) -> bool {
    let mut s1_hat = Secret::<[NttPoly; 1]>::zeroed();
    unpack_ntt(backend, p, s1, s1_hat.expose_mut());
    let rows = Rows::Transformed(s1_hat.expose());
    respond_row(backend, p, (rows, 0), c_hat, y_hat, out)
}

/// Line 22 and the second half of 23: w - c s2 in the place of w, or its rejection.
#[inline(never)]
fn respond_low_bits(
    backend: Backend,
    p: &Params,
    key: &SigningMaterial<'_>,
    c_hat: &NttPoly,
    w: &mut [Poly],
) -> Result<(), AttemptRejection> {
    let kernels = backend.kernels();
    for (w, s2_hat) in w.iter_mut().zip(key.s2_hat) {
        let within = (kernels.low_bits_row)(p.gamma2, p.gamma2 - p.beta(), c_hat, s2_hat, w);
        if declassify(!within, "r0 verdict of a row") {
            return Err(AttemptRejection::R0);
        }
    }
    Ok(())
}

/// Lines 25 to 30: the hint bitmaps, left in `hints`, or a rejection. `t0_hat` is memory
/// for a row of t0.
#[inline(never)]
fn respond_hints(
    backend: Backend,
    p: &Params,
    key: &SigningMaterial<'_>,
    c_hat: &NttPoly,
    w_minus_cs2: &[Poly],
    t0_hat: &mut NttPoly,
    hints: &mut [u8],
) -> Result<(), AttemptRejection> {
    let kernels = backend.kernels();
    let (bitmaps, _) = hints.as_chunks_mut::<HINT_ROW_LEN>();
    for (i, (w_minus_cs2, bitmap)) in w_minus_cs2.iter().zip(bitmaps).enumerate() {
        let t0_hat: &NttPoly = match key.t0 {
            Rows::Transformed(rows) => &rows[i],
            Rows::Packed(rows) => {
                (kernels.unpack_t0_ntt)(&rows[i * T0_POLY_LEN..][..T0_POLY_LEN], t0_hat);
                &*t0_hat
            }
        };
        let within = (kernels.hint_row)(p.gamma2, c_hat, t0_hat, w_minus_cs2, bitmap);
        if declassify(!within, "ct0 verdict of a row") {
            return Err(AttemptRejection::Ct0);
        }
    }
    if declassify(weight(hints) as usize > p.omega, "hint weight verdict") {
        return Err(AttemptRejection::HintWeight);
    }
    Ok(())
}

/// Whether `z` is y + c s1 for the masks y that K, `rnd`, `mu` and the number of the attempt
/// give, all derived a second time, and whether K is that of the key. Masks that a fault set to
/// zero would make z = c s1, in a signature that is valid because the commitment was made of them
/// too; masks of a K that a fault set to zeros can be computed by anyone.
///
/// Works in the place of z in `out`, which has `SIG_LEN` bytes.
#[inline(never)]
pub(super) fn is_response_of_masks(
    backend: Backend,
    p: &Params,
    key: &SigningMaterial<'_>,
    (mu, rnd, attempt): (&Mu, &[u8; SEED_LEN], u16),
    c_hat: &NttPoly,
    z: &[u8],
    out: &mut [u8],
) -> bool {
    let _zeroize = ZeroizeKernelState::<KERNEL_FRAMES>(backend);
    let Some((_, again, _)) = signature_parts_mut(p, out) else {
        return false;
    };
    let (kernels, len) = (backend.kernels(), p.z_poly_len());
    let mut rho_pp = Secret::<[u8; CRH_LEN]>::zeroed();
    transcript::rho_pp(
        backend.permutation(),
        key.k_seed,
        rnd,
        mu,
        rho_pp.expose_mut(),
    );
    let seeds = mask_seeds(rho_pp.expose(), attempt * p.l as u16);
    (kernels.expand_masks)(&seeds[..p.l], len, again);
    let mut y_hat = Secret::<NttPoly>::zeroed();
    let y_hat = y_hat.expose_mut();
    let mut bits = 0;
    let rows = again.chunks_exact_mut(len).zip(z.chunks_exact(len));
    for (i, (again, z)) in rows.enumerate() {
        (kernels.unpack_mask_ntt)(p.gamma1_bits, again, y_hat);
        // A row out of bounds differs from z.
        let _ = respond_row(backend, p, (key.s1, i), c_hat, y_hat, again);
        bits |= difference(again, z);
    }
    bits |= key.seal.map_or(0, |seal| seal.difference(key.k_seed));
    let k_varies = !is_zero(variation(key.k_seed));
    declassify(is_zero(bits) & k_varies, "verdict of a self-verification")
}

/// Line 33: the signature of an accepted attempt. Bounds: `out` has `SIG_LEN` bytes.
pub(super) fn encode(p: &Params, c_tilde: &[u8], z: &mut [u8], hints: &mut [u8], out: &mut [u8]) {
    declassify_in_place(z, "the finished signature");
    declassify_in_place(hints, "the finished signature");
    if let Some((c_tilde_out, z_out, h_out)) = signature_parts_mut(p, out) {
        c_tilde_out.copy_from_slice(c_tilde);
        z_out.copy_from_slice(z);
        hint_bit_pack_vartime(hints, p.omega, h_out);
    }
}

#[cfg(test)]
#[cfg(all(feature = "ml-dsa-44", feature = "ml-dsa-65", feature = "ml-dsa-87"))]
mod tests;
