//! Signing: attempts as passes over rows, with y in the z slots of the output.

use core::ops::ControlFlow;

use mldsa_core::hazmat::hint::{HINT_ROW_LEN, hint_bit_pack_vartime, weight};
use mldsa_core::hazmat::pack::{low_part_bits, pack_low, unpack_low, unpack_z_part};
use mldsa_core::hazmat::row::{
    absorb_high_bits, hint_row, low_row, r0_row_reaches, z_row_reaches, z_row_write,
};
use mldsa_core::hazmat::sample::{expand_mask_packed, expand_mask_poly};
use mldsa_core::hazmat::sparse::SparseChallenge;
use mldsa_core::hazmat::window::{
    COMPACT_LEN, expand_compact, finish_row, load_compact, multiply_accumulate_two, ntt_in_place,
    store_compact,
};
use mldsa_core::hazmat::{
    CRH_LEN, CommitmentHash, MAX_SIGN_ATTEMPTS, N, Params, Rejection, SEED_LEN, declassify,
    declassify_in_place, signature_parts_mut,
};
use mldsa_core::{Mu, ParameterSet};

use crate::error::SignError;
use crate::matrix::{KECCAK, Matrix, mask_row};
use crate::secrets::{SigningSecrets, room, slot_mut};
use crate::tier::{Keeps, Tier, Workspace};

/// What signing reports to the caller's progress function. All of it is public:
/// attempts and rows are visible in the running time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The attempt of this number, from 0, begins.
    Attempt(u16),
    /// A pass reaches this row of A, or this column where two attempts share a
    /// pass.
    Row(usize),
    /// The attempt was rejected.
    Rejected(Rejection),
}

/// The caller's progress function, if there is one.
pub(crate) type Watch<'a> = Option<&'a mut dyn FnMut(Progress) -> ControlFlow<()>>;

fn report(watch: &mut Watch<'_>, progress: Progress) -> Result<(), SignError> {
    match watch.as_mut().map(|watch| watch(progress)) {
        Some(ControlFlow::Break(())) => Err(SignError::Stopped),
        _ => Ok(()),
    }
}

/// Why an attempt gave no signature.
enum Miss {
    Rejected(Rejection),
    Failed(SignError),
}

impl From<SignError> for Miss {
    fn from(error: SignError) -> Self {
        Self::Failed(error)
    }
}

impl From<Rejection> for Miss {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// What stays the same over all attempts.
struct Job<'a, S> {
    p: &'a Params,
    key: &'a S,
    mu: &'a Mu,
    /// Whether the second pass hashes w1 again.
    recheck: bool,
}

/// The places of a signature, which attempts work in.
struct Slots<'a> {
    c_tilde: &'a mut [u8],
    z: &'a mut [u8],
    hint: &'a mut [u8],
}

/// Algorithm 7 from `mu` on, in `out`, `SIG_LEN` bytes: secret until it returns
/// `Ok`; the caller wipes it otherwise.
///
/// The checks run in the order z, r0, c t0, weight, row by row. An attempt is
/// accepted if all pass, so the order changes no signature.
#[inline(never)]
pub(crate) fn sign_internal<P: ParameterSet, S: SigningSecrets, T: Tier<P>>(
    key: &S,
    workspace: &mut Workspace<P, T>,
    mu: &Mu,
    rnd: &[u8; SEED_LEN],
    recheck: bool,
    watch: &mut Watch<'_>,
    acc: &mut [i32; N],
    out: &mut [u8],
) -> Result<(), SignError> {
    let p = &P::PARAMS;
    let (c_tilde, z, hint) = signature_parts_mut(p, out).ok_or(SignError::BufferLength)?;
    let mut slots = Slots { c_tilde, z, hint };
    let job = Job {
        p,
        key,
        mu,
        recheck,
    };
    if T::KEEPS == Keeps::Matrix {
        expand_matrix(p, key.rho(), workspace.bytes.as_mut(), watch)?;
    }
    let mut rho_pp = mldsa_core::hazmat::Secret::<[u8; CRH_LEN]>::zeroed();
    mldsa_core::hazmat::rho_pp(KECCAK, key.k_seed(), rnd, mu, rho_pp.expose_mut());
    for attempt in 0..MAX_SIGN_ATTEMPTS {
        report(watch, Progress::Attempt(attempt))?;
        let kappa = attempt * p.l as u16;
        if T::KEEPS == Keeps::Pair && attempt % 2 == 0 {
            commit_pair(&job, rho_pp.expose(), kappa, workspace, slots.z, acc, watch)?;
        } else {
            for (j, slot) in (0..).zip(slots.z.chunks_exact_mut(p.z_poly_len())) {
                expand_mask_packed(KECCAK, rho_pp.expose(), kappa + j, slot);
            }
        }
        commit::<P, S, T>(&job, attempt, workspace, &mut slots, acc, watch)?;
        match respond::<P, S, T>(&job, attempt, workspace, &mut slots, acc, watch) {
            Ok(()) => return Ok(()),
            Err(Miss::Failed(error)) => return Err(error),
            Err(Miss::Rejected(rejection)) => report(watch, Progress::Rejected(rejection))?,
        }
    }
    Err(SignError::AttemptsExhausted)
}

/// Algorithm 32 into the workspace of a caching tier.
#[inline(never)]
fn expand_matrix(
    p: &Params,
    rho: &[u8; SEED_LEN],
    entries: &mut [u8],
    watch: &mut Watch<'_>,
) -> Result<(), SignError> {
    for (n, entry) in entries.chunks_exact_mut(COMPACT_LEN).enumerate() {
        if n % p.l == 0 {
            report(watch, Progress::Row(n / p.l))?;
        }
        expand_compact(KECCAK, rho, n / p.l, n % p.l, entry);
    }
    Ok(())
}

fn matrix<'a, P: ParameterSet, T: Tier<P>>(
    rho: &'a [u8; SEED_LEN],
    workspace: &'a Workspace<P, T>,
) -> Matrix<'a> {
    if T::KEEPS == Keeps::Matrix {
        Matrix::Compact(workspace.bytes.as_ref())
    } else {
        Matrix::Sampled(rho)
    }
}

/// The place of the low part of row `i` of w, in the tiers that keep it.
fn low_slot<P: ParameterSet, T: Tier<P>>(
    workspace: &mut Workspace<P, T>,
    attempt: u16,
    i: usize,
) -> &mut [u8] {
    let len = 32 * low_part_bits(P::PARAMS.gamma2);
    let bytes = workspace.bytes.as_mut();
    if T::KEEPS == Keeps::Pair {
        let pair = pair_slot(bytes, attempt, i);
        pair.get_mut(..len).unwrap_or(&mut [])
    } else {
        slot_mut(bytes, i, len)
    }
}

fn pair_slot(bytes: &mut [u8], attempt: u16, i: usize) -> &mut [u8] {
    slot_mut(bytes, 2 * i + usize::from(attempt % 2), COMPACT_LEN)
}

/// `A y` of two attempts, transformed, column by column from one expansion of A.
/// `acc` serves as the first mask; the second lies behind the rows.
#[inline(never)]
fn commit_pair<P: ParameterSet, S: SigningSecrets, T: Tier<P>>(
    job: &Job<'_, S>,
    rho_pp: &[u8; CRH_LEN],
    kappa: u16,
    workspace: &mut Workspace<P, T>,
    z: &mut [u8],
    acc: &mut [i32; N],
    watch: &mut Watch<'_>,
) -> Result<(), SignError> {
    let p = job.p;
    let (rows, mask) = workspace.bytes.as_mut().split_at_mut(2 * p.k * COMPACT_LEN);
    rows.fill(0);
    for (j, y) in z.chunks_exact_mut(p.z_poly_len()).enumerate() {
        report(watch, Progress::Row(j))?;
        let kappa = kappa + j as u16;
        expand_mask_poly(KECCAK, rho_pp, kappa + p.l as u16, p.gamma1_bits, acc);
        ntt_in_place(acc);
        store_compact(acc, mask);
        expand_mask_packed(KECCAK, rho_pp, kappa, y);
        unpack_row(p, y, acc);
        ntt_in_place(acc);
        for (i, pair) in rows.chunks_exact_mut(2 * COMPACT_LEN).enumerate() {
            let (first, second) = pair.split_at_mut(COMPACT_LEN);
            multiply_accumulate_two(KECCAK, job.key.rho(), (i, j), (acc, mask), first, second);
        }
    }
    Ok(())
}

#[inline(never)]
fn unpack_row(p: &Params, y: &[u8], acc: &mut [i32; N]) {
    unpack_z_part(p.gamma1_bits, y, acc);
}

/// Lines 12 to 15: w = A y row by row, and the hash of its high bits.
#[inline(never)]
fn commit<P: ParameterSet, S: SigningSecrets, T: Tier<P>>(
    job: &Job<'_, S>,
    attempt: u16,
    workspace: &mut Workspace<P, T>,
    slots: &mut Slots<'_>,
    acc: &mut [i32; N],
    watch: &mut Watch<'_>,
) -> Result<(), SignError> {
    let p = job.p;
    let mut hash = CommitmentHash::new(KECCAK, job.mu);
    for i in 0..p.k {
        report(watch, Progress::Row(i))?;
        if T::KEEPS == Keeps::Pair {
            load_compact(pair_slot(workspace.bytes.as_mut(), attempt, i), acc);
            finish_row(acc);
        } else {
            mask_row(p, &matrix(job.key.rho(), workspace), i, slots.z, acc);
        }
        absorb_high_bits(p.gamma2, acc, &mut hash);
        if T::KEEPS.low() {
            low_row(p.gamma2, acc);
            pack_low(p.gamma2, acc, low_slot(workspace, attempt, i));
        }
    }
    hash.finish(slots.c_tilde);
    // A hash of w1 and mu: it reveals nothing of the mask.
    declassify_in_place(slots.c_tilde, "c_tilde of an attempt");
    Ok(())
}

/// Lines 16 to 30. Turns y into z and writes the hint, or says why not.
#[inline(never)]
fn respond<P: ParameterSet, S: SigningSecrets, T: Tier<P>>(
    job: &Job<'_, S>,
    attempt: u16,
    workspace: &mut Workspace<P, T>,
    slots: &mut Slots<'_>,
    acc: &mut [i32; N],
    watch: &mut Watch<'_>,
) -> Result<(), Miss> {
    let p = job.p;
    let c = SparseChallenge::sample_in_ball_vartime(KECCAK, p.tau, slots.c_tilde);
    check_z(job, &c, slots.z)?;
    let mut hints = room::<P::Rows<[u8; HINT_ROW_LEN]>>();
    let hints = hints.expose_mut().as_mut();
    second_pass::<P, S, T>(job, &c, attempt, workspace, slots, acc, hints, watch)?;
    if S::COMPUTES_T0 || T::KEEPS.low() {
        third_pass::<P, S, T>(job, &c, attempt, workspace, slots.z, acc, hints, watch)?;
    }
    let ones = weight(hints.as_flattened());
    if declassify(ones as usize > p.omega, "hint weight verdict") {
        return Err(Rejection::HintWeight.into());
    }
    write_z(job, &c, slots.z);
    declassify_in_place(slots.z, "the finished signature");
    declassify_in_place(hints.as_flattened_mut(), "the finished signature");
    hint_bit_pack_vartime(hints.as_flattened(), p.omega, slots.hint);
    Ok(())
}

#[inline(never)]
fn check_z<S: SigningSecrets>(
    job: &Job<'_, S>,
    c: &SparseChallenge,
    y: &[u8],
) -> Result<(), Rejection> {
    let p = job.p;
    let mut row = room::<S::Row>();
    for (j, y) in y.chunks_exact(p.z_poly_len()).enumerate() {
        let s1 = job.key.row(p, j, row.expose_mut());
        if z_row_reaches(p, c, s1, y) {
            return Err(Rejection::Z);
        }
    }
    Ok(())
}

#[inline(never)]
fn write_z<S: SigningSecrets>(job: &Job<'_, S>, c: &SparseChallenge, y: &mut [u8]) {
    let p = job.p;
    let mut row = room::<S::Row>();
    for (j, y) in y.chunks_exact_mut(p.z_poly_len()).enumerate() {
        let s1 = job.key.row(p, j, row.expose_mut());
        z_row_write(p, c, s1, y);
    }
}

/// Rows of w again: the r0 check, and where t0 is at hand the hints.
#[inline(never)]
fn second_pass<P: ParameterSet, S: SigningSecrets, T: Tier<P>>(
    job: &Job<'_, S>,
    c: &SparseChallenge,
    attempt: u16,
    workspace: &mut Workspace<P, T>,
    slots: &mut Slots<'_>,
    acc: &mut [i32; N],
    hints: &mut [[u8; HINT_ROW_LEN]],
    watch: &mut Watch<'_>,
) -> Result<(), Miss> {
    let p = job.p;
    let mut hash = (job.recheck && !T::KEEPS.low()).then(|| CommitmentHash::new(KECCAK, job.mu));
    for (i, hints) in hints.iter_mut().enumerate() {
        if T::KEEPS.low() {
            unpack_low(p.gamma2, low_slot(workspace, attempt, i), acc);
        } else {
            report(watch, Progress::Row(i))?;
            mask_row(p, &matrix(job.key.rho(), workspace), i, slots.z, acc);
            if let Some(hash) = &mut hash {
                absorb_high_bits(p.gamma2, acc, hash);
            }
            low_row(p.gamma2, acc);
        }
        if subtract_cs2(job, c, i, acc) {
            return Err(Rejection::R0.into());
        }
        if T::KEEPS.low() {
            pack_low(p.gamma2, acc, low_slot(workspace, attempt, i));
        } else if !S::COMPUTES_T0 {
            let mut t0 = room::<S::T0>();
            let t0 = job.key.t0(p, i, acc, t0.expose_mut());
            if hint_row(p, c, t0, acc, hints) {
                return Err(Rejection::Ct0.into());
            }
        }
    }
    match &mut hash {
        Some(hash) => compare(hash, slots.c_tilde),
        None => Ok(()),
    }
}

/// Subtracts row `i` of c s2 from the low part in `acc`; whether that fails r0.
#[inline(never)]
fn subtract_cs2<S: SigningSecrets>(
    job: &Job<'_, S>,
    c: &SparseChallenge,
    i: usize,
    acc: &mut [i32; N],
) -> bool {
    let mut row = room::<S::Row>();
    let s2 = job.key.row(job.p, job.p.l + i, row.expose_mut());
    r0_row_reaches(job.p, c, s2, acc)
}

#[inline(never)]
fn compare(hash: &mut CommitmentHash, c_tilde: &[u8]) -> Result<(), Miss> {
    let mut again = [0; CRH_LEN];
    let again = &mut again[..c_tilde.len()];
    hash.finish(again);
    // The same hash as before, but for a fault.
    declassify_in_place(again, "c_tilde of an attempt");
    if again == c_tilde {
        Ok(())
    } else {
        Err(SignError::CommitmentChanged.into())
    }
}

/// The hints, where the second pass could not make them: with low parts kept it
/// pays to see all r0 verdicts first, and a computed t0 needs `acc` for itself.
#[inline(never)]
fn third_pass<P: ParameterSet, S: SigningSecrets, T: Tier<P>>(
    job: &Job<'_, S>,
    c: &SparseChallenge,
    attempt: u16,
    workspace: &mut Workspace<P, T>,
    z: &[u8],
    acc: &mut [i32; N],
    hints: &mut [[u8; HINT_ROW_LEN]],
    watch: &mut Watch<'_>,
) -> Result<(), Miss> {
    let p = job.p;
    let mut t0 = room::<S::T0>();
    for (i, hints) in hints.iter_mut().enumerate() {
        if S::COMPUTES_T0 || !T::KEEPS.low() {
            report(watch, Progress::Row(i))?;
        }
        let t0 = job.key.t0(p, i, acc, t0.expose_mut());
        if T::KEEPS.low() {
            unpack_low(p.gamma2, low_slot(workspace, attempt, i), acc);
        } else {
            mask_row(p, &matrix(job.key.rho(), workspace), i, z, acc);
            low_row(p.gamma2, acc);
            subtract_cs2(job, c, i, acc);
        }
        if hint_row(p, c, t0, acc, hints) {
            return Err(Rejection::Ct0.into());
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "ml-dsa-44"))]
mod tests {
    use mldsa_core::MlDsa44;
    use mldsa_core::hazmat::SecretKeyParts;

    use super::*;
    use crate::keygen::keygen_from_seed;
    use crate::tier::Floor;

    /// One attempt in which a bit of y changes between the two passes, or none.
    fn attempt(rho_pp: u8, recheck: bool, disturbed: Option<usize>) -> Result<(), Miss> {
        let p = &MlDsa44::PARAMS;
        let (mut pk, mut sk) = ([0; MlDsa44::PK_LEN], [0; MlDsa44::SK_LEN]);
        keygen_from_seed::<MlDsa44>(&[5; 32], &mut pk, &mut sk);
        let key = SecretKeyParts::parse(p, &sk).expect("a key");
        let mut workspace = Workspace::<MlDsa44, Floor>::new();
        let mut out = [0; MlDsa44::SIG_LEN];
        let (c_tilde, z, hint) = signature_parts_mut(p, &mut out).expect("a buffer");
        let mut slots = Slots { c_tilde, z, hint };
        let mu = Mu::from_bytes([1; 64]);
        let job = Job {
            p,
            key: &key,
            mu: &mu,
            recheck,
        };
        for (j, slot) in (0..).zip(slots.z.chunks_exact_mut(p.z_poly_len())) {
            expand_mask_packed(KECCAK, &[rho_pp; CRH_LEN], j, slot);
        }
        let (mut acc, mut watch) = ([0; N], None);
        let (workspace, slots) = (&mut workspace, &mut slots);
        commit(&job, 0, workspace, slots, &mut acc, &mut watch)?;
        if let Some(bit) = disturbed {
            slots.z[bit / 8] ^= 1 << (bit % 8);
        }
        respond(&job, 0, workspace, slots, &mut acc, &mut watch)
    }

    #[test]
    fn a_mask_that_changes_between_the_passes_is_noticed() {
        let (mut noticed, mut released) = (0, 0);
        for rho_pp in 0..40 {
            if attempt(rho_pp, true, None).is_err() {
                continue;
            }
            let bit = usize::from(rho_pp) * 18;
            match attempt(rho_pp, true, Some(bit)) {
                Err(Miss::Failed(SignError::CommitmentChanged)) => noticed += 1,
                Err(Miss::Rejected(_)) => {}
                _ => panic!("signed with a mask that was not committed to"),
            }
            // What the second hash is for.
            released += i32::from(attempt(rho_pp, false, Some(bit)).is_ok());
        }
        assert!(noticed > 0 && released > 0, "{noticed}, {released}");
    }
}
