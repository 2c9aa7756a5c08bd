//! Signing: attempts as passes over rows, with y in the z slots of the signature buffer.

use core::marker::PhantomData;
use core::ops::ControlFlow;

use mldsa_core::Mu;
use mldsa_core::internals::hint::{HINT_ROW_LEN, hint_bit_pack_vartime, weight};
use mldsa_core::internals::pack::{low_part_bits, pack_low, unpack_low, unpack_z_part};
use mldsa_core::internals::row_steps::{
    absorb_high_bits, hint_row, is_mask_row, low_row, r0_row_reaches, z_row_reaches, z_row_write,
};
use mldsa_core::internals::sample::{expand_mask_packed, expand_mask_poly};
use mldsa_core::internals::sparse::SparseChallenge;
use mldsa_core::internals::window::{
    COMPACT_LEN, expand_compact, finish_row, load_compact, multiply_accumulate_two, ntt_in_place,
    store_compact,
};
use mldsa_core::internals::{
    CRH_LEN, CommitmentHash, MAX_SIGN_ATTEMPTS, N, Params, SEED_LEN, declassify,
    declassify_in_place, is_commitment, signature_parts_mut,
};

use crate::checks::Checks;
use crate::error::SignError;
use crate::matrix::{Matrix, mask_row};
use crate::packed::{KECCAK, packed_row, packed_row_mut, wiped};
use crate::signing_secrets::SigningSecrets;
use crate::tier::Keeps;

#[cfg(all(
    test,
    feature = "ml-dsa-44",
    feature = "ml-dsa-65",
    feature = "ml-dsa-87"
))]
mod tests;

/// Report of signing to the progress function. All of it is public: attempts and rows
/// are visible in the running time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// The attempt of this number, from 0, begins.
    Attempt(u16),
    /// A pass reaches this row of A, or this column where two attempts share a pass.
    Row(usize),
    /// The attempt was rejected (FIPS 204 algorithm 7 lines 23 and 28).
    Rejected,
}

/// A function that is given every report, with the memory of the caller in which signing works:
/// the parts `c_tilde`, z and hint of the signature, and the workspace. Tests write to it.
pub(crate) type Watch<'a> = dyn FnMut(Progress, [&mut [u8]; 4]) -> ControlFlow<()> + 'a;

/// Reason why an attempt gave no signature.
pub(crate) enum AttemptError {
    Rejected,
    Failed(SignError),
}

impl From<SignError> for AttemptError {
    fn from(error: SignError) -> Self {
        Self::Failed(error)
    }
}

pub(crate) struct SignInputs<'a> {
    pub(crate) mu: &'a Mu,
    pub(crate) rnd: &'a [u8; SEED_LEN],
}

/// Memory of one signature, in the frame of the caller, which knows its size.
pub(crate) struct Memory<'a> {
    pub(crate) workspace: &'a mut [u8],
    /// One polynomial: a row of w, then what signing makes of it.
    pub(crate) acc: &'a mut [i32; N],
    /// Bits of the hint, a row of w each.
    pub(crate) hints: &'a mut [[u8; HINT_ROW_LEN]],
}

/// State that the passes over the rows of one attempt share. Sets are data, so that the code is
/// compiled once for all.
struct Pass<'a, 'w, S, T: Keeps, C: Checks> {
    p: &'a Params,
    key: &'a S,
    request: &'a SignInputs<'a>,
    attempt: u16,
    workspace: &'a mut [u8],
    acc: &'a mut [i32; N],
    hints: &'a mut [[u8; HINT_ROW_LEN]],
    watch: &'a mut Watch<'w>,
    // The parts of the signature.
    c_tilde: &'a mut [u8],
    /// The packed rows of y until [`Self::write_z`] adds c s1.
    z: &'a mut [u8],
    hint: &'a mut [u8],
    types: PhantomData<(T, C)>,
}

/// Algorithm 7 from `mu` on, in `out`, `SIG_LEN` bytes: secret until it returns
/// `Ok`; the caller wipes it otherwise.
///
/// The checks run in the order z, r0, c t0, weight, row by row. An attempt is
/// accepted if all pass, so the order changes no signature.
#[inline(never)]
pub(crate) fn sign_internal<S: SigningSecrets, T: Keeps, C: Checks>(
    p: &Params,
    key: &S,
    request: &SignInputs<'_>,
    memory: Memory<'_>,
    watch: &mut Watch<'_>,
    out: &mut [u8],
) -> Result<(), SignError> {
    let (c_tilde, z, hint) = signature_parts_mut(p, out).ok_or(SignError::BufferLength)?;
    let mut pass = Pass::<S, T, C> {
        p,
        key,
        request,
        attempt: 0,
        workspace: memory.workspace,
        acc: memory.acc,
        hints: memory.hints,
        watch,
        c_tilde,
        z,
        hint,
        types: PhantomData,
    };
    if T::MATRIX {
        pass.expand_matrix()?;
    }
    let mut rho_pp = wiped::<[u8; CRH_LEN]>();
    mask_seed(key, request, rho_pp.expose_mut());
    for attempt in 0..MAX_SIGN_ATTEMPTS {
        pass.attempt = attempt;
        pass.report(Progress::Attempt(attempt))?;
        pass.mask(rho_pp.expose())?;
        pass.commit()?;
        match pass.respond() {
            Ok(()) => return Ok(()),
            Err(AttemptError::Failed(error)) => return Err(error),
            Err(AttemptError::Rejected) => pass.report(Progress::Rejected)?,
        }
    }
    Err(SignError::AttemptsExhausted)
}

/// Line 7: `rho_pp`, the seed of the masks.
fn mask_seed<S: SigningSecrets>(key: &S, request: &SignInputs<'_>, rho_pp: &mut [u8; CRH_LEN]) {
    mldsa_core::internals::rho_pp(KECCAK, key.k_seed(), request.rnd, request.mu, rho_pp);
}

/// Slot of the low part of row `i` of w, in the tiers that store it.
fn low_slot<'a, T: Keeps>(
    p: &Params,
    workspace: &'a mut [u8],
    attempt: u16,
    i: usize,
) -> &'a mut [u8] {
    let len = 32 * low_part_bits(p.gamma2);
    if T::PAIR {
        let row = w_slot(workspace, attempt, i);
        row.get_mut(..len).unwrap_or(&mut [])
    } else {
        packed_row_mut(workspace, i, len)
    }
}

/// Slot of row `i` of w if two attempts share an expansion of A.
fn w_slot(bytes: &mut [u8], attempt: u16, i: usize) -> &mut [u8] {
    packed_row_mut(bytes, 2 * i + usize::from(attempt % 2), COMPACT_LEN)
}

impl<S: SigningSecrets, T: Keeps, C: Checks> Pass<'_, '_, S, T, C> {
    // The slices are in a frame of their own, which ends before a pass goes deeper.
    #[inline(never)]
    fn report(&mut self, progress: Progress) -> Result<(), SignError> {
        let workspace = &mut *self.workspace;
        let memory = [&mut *self.c_tilde, &mut *self.z, &mut *self.hint, workspace];
        match (self.watch)(progress, memory) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SignError::Stopped),
        }
    }

    /// Algorithm 32 into the workspace of a tier that keeps A.
    #[inline(never)]
    fn expand_matrix(&mut self) -> Result<(), SignError> {
        let p = self.p;
        for n in 0..p.k * p.l {
            if n % p.l == 0 {
                self.report(Progress::Row(n / p.l))?;
            }
            let entry = packed_row_mut(self.workspace, n, COMPACT_LEN);
            expand_compact(KECCAK, self.key.rho(), n / p.l, n % p.l, entry);
        }
        Ok(())
    }

    /// Line 11: y, and `A y` of both attempts in the tiers that process attempts in pairs.
    fn mask(&mut self, rho_pp: &[u8; CRH_LEN]) -> Result<(), SignError> {
        let p = self.p;
        let kappa = self.attempt * p.l as u16;
        if T::PAIR && self.attempt.is_multiple_of(2) {
            return self.commit_pair(rho_pp, kappa);
        }
        for j in 0..p.l {
            let y = packed_row_mut(self.z, j, p.z_poly_len());
            expand_mask_packed(KECCAK, rho_pp, kappa + j as u16, y);
        }
        Ok(())
    }

    /// `A y` of two attempts, transformed, column by column from one expansion of A.
    /// `acc` holds the first mask; the second is stored after the rows.
    #[inline(never)]
    fn commit_pair(&mut self, rho_pp: &[u8; CRH_LEN], kappa: u16) -> Result<(), SignError> {
        let p = self.p;
        let rows = 2 * p.k * COMPACT_LEN;
        self.workspace[..rows].fill(0);
        for j in 0..p.l {
            self.report(Progress::Row(j))?;
            let (rows, mask) = self.workspace.split_at_mut(rows);
            let kappa = kappa + j as u16;
            let next = kappa + p.l as u16;
            expand_mask_poly(KECCAK, rho_pp, next, p.gamma1_bits, self.acc);
            ntt_in_place(self.acc);
            store_compact(self.acc, mask);
            let y = packed_row_mut(self.z, j, p.z_poly_len());
            expand_mask_packed(KECCAK, rho_pp, kappa, y);
            unpack_row(p, y, self.acc);
            ntt_in_place(self.acc);
            for (i, pair) in rows.chunks_exact_mut(2 * COMPACT_LEN).enumerate() {
                let (first, second) = pair.split_at_mut(COMPACT_LEN);
                let masks = (&*self.acc, &*mask);
                multiply_accumulate_two(KECCAK, self.key.rho(), (i, j), masks, first, second);
            }
        }
        Ok(())
    }

    /// Lines 12 to 15: w = A y row by row, and the hash of its high bits.
    #[inline(never)]
    fn commit(&mut self) -> Result<(), SignError> {
        let p = self.p;
        let mut hash = CommitmentHash::empty(KECCAK);
        hash.absorb_mu(self.request.mu);
        for i in 0..p.k {
            self.report(Progress::Row(i))?;
            if T::PAIR {
                let w = w_slot(self.workspace, self.attempt, i);
                load_compact(w, self.acc);
                finish_row(self.acc);
            } else {
                self.row_of_w(i);
            }
            absorb_high_bits(p.gamma2, self.acc, &mut hash);
            if T::LOW {
                low_row(p.gamma2, self.acc);
                self.store_low(i);
            }
        }
        hash.finish(self.c_tilde);
        // A hash of w1 and mu, which reveals nothing about the mask.
        declassify_in_place(self.c_tilde, "c_tilde of an attempt");
        Ok(())
    }

    /// Lines 16 to 30. Turns y into z and writes the hint, or returns why the attempt is rejected.
    #[inline(never)]
    fn respond(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        let mut c = SparseChallenge::empty();
        c.sample_in_ball_vartime(KECCAK, p.tau, self.c_tilde);
        self.check_z(&c)?;
        if T::LOW {
            self.check_kept_rows(&c)?;
        } else {
            self.second_pass(&c)?;
        }
        if S::COMPUTES_T0 || T::LOW {
            self.third_pass(&c)?;
        }
        let ones = weight(self.hints.as_flattened());
        if declassify(ones as usize > p.omega, "hint weight verdict") {
            return Err(AttemptError::Rejected);
        }
        self.write_z(&c)?;
        declassify_in_place(self.z, "the finished signature");
        let hints = self.hints.as_flattened_mut();
        declassify_in_place(hints, "the finished signature");
        hint_bit_pack_vartime(hints, p.omega, self.hint);
        Ok(())
    }

    #[inline(never)]
    fn check_z(&self, c: &SparseChallenge) -> Result<(), AttemptError> {
        let p = self.p;
        let mut row = wiped::<S::Row>();
        for j in 0..p.l {
            let y = packed_row(self.z, j, p.z_poly_len());
            let s1 = self.key.row(p, j, row.expose_mut());
            if z_row_reaches(p, c, s1, y) {
                return Err(AttemptError::Rejected);
            }
        }
        Ok(())
    }

    /// Lines 18 and 20: z in the place of y.
    ///
    /// With self-verification every row of y is derived again, from K on, and compared with the
    /// row that the commitment was made of. A row that was overwritten before the commitment
    /// passes all other checks, because they use it too, and a z made of zeros is c s1.
    #[inline(never)]
    fn write_z(&mut self, c: &SparseChallenge) -> Result<(), SignError> {
        let p = self.p;
        let mut row = wiped::<S::Row>();
        let mut rho_pp = wiped::<[u8; CRH_LEN]>();
        if C::RECOMPUTES {
            mask_seed(self.key, self.request, rho_pp.expose_mut());
        }
        let kappa = self.attempt * p.l as u16;
        for j in 0..p.l {
            let y = packed_row_mut(self.z, j, p.z_poly_len());
            if C::RECOMPUTES {
                let kappa = kappa + j as u16;
                expand_mask_poly(KECCAK, rho_pp.expose(), kappa, p.gamma1_bits, self.acc);
                if !is_mask_row(p, y, self.acc) {
                    return Err(SignError::SelfVerification);
                }
            } else {
                unpack_row(p, y, self.acc);
            }
            let s1 = self.key.row(p, j, row.expose_mut());
            z_row_write(p, c, s1, self.acc, y);
        }
        Ok(())
    }

    /// Computes the rows of w again: the r0 check, and the hints if t0 is stored.
    #[inline(never)]
    fn second_pass(&mut self, c: &SparseChallenge) -> Result<(), AttemptError> {
        let p = self.p;
        let mut hash = C::RECOMPUTES.then(|| CommitmentHash::empty(KECCAK));
        if let Some(hash) = &mut hash {
            hash.absorb_mu(self.request.mu);
        }
        for i in 0..p.k {
            self.report(Progress::Row(i))?;
            self.row_of_w(i);
            if let Some(hash) = &mut hash {
                absorb_high_bits(p.gamma2, self.acc, hash);
            }
            low_row(p.gamma2, self.acc);
            if self.subtract_cs2(c, i) {
                return Err(AttemptError::Rejected);
            }
            if !S::COMPUTES_T0 {
                let mut t0 = wiped::<S::T0>();
                let t0 = self.key.t0(p, i, self.acc, t0.expose_mut());
                if hint_row(p, c, t0, self.acc, &mut self.hints[i]) {
                    return Err(AttemptError::Rejected);
                }
            }
        }
        // Equal to the first hash unless there was a fault.
        if hash
            .as_mut()
            .is_none_or(|hash| is_commitment(hash, self.c_tilde))
        {
            Ok(())
        } else {
            Err(SignError::SelfVerification.into())
        }
    }

    /// The second pass if the first has stored the low parts of w: all r0 verdicts.
    #[inline(never)]
    fn check_kept_rows(&mut self, c: &SparseChallenge) -> Result<(), AttemptError> {
        for i in 0..self.p.k {
            self.load_low(i);
            if self.subtract_cs2(c, i) {
                return Err(AttemptError::Rejected);
            }
            self.store_low(i);
        }
        Ok(())
    }

    /// The hints, if the second pass could not compute them: with stored low parts it is
    /// cheaper to form all r0 verdicts first, and a computed t0 needs `acc`.
    #[inline(never)]
    fn third_pass(&mut self, c: &SparseChallenge) -> Result<(), AttemptError> {
        let p = self.p;
        let mut t0 = wiped::<S::T0>();
        for i in 0..p.k {
            if S::COMPUTES_T0 || !T::LOW {
                self.report(Progress::Row(i))?;
            }
            let t0 = self.key.t0(p, i, self.acc, t0.expose_mut());
            if T::LOW {
                self.load_low(i);
            } else {
                self.row_of_w(i);
                low_row(p.gamma2, self.acc);
                self.subtract_cs2(c, i);
            }
            if hint_row(p, c, t0, self.acc, &mut self.hints[i]) {
                return Err(AttemptError::Rejected);
            }
        }
        Ok(())
    }

    /// Row `i` of w = A y to `acc`, from A.
    #[inline(always)]
    fn row_of_w(&mut self, i: usize) {
        let a = if T::MATRIX {
            Matrix::Compact(self.workspace)
        } else {
            Matrix::Sampled(self.key.rho())
        };
        mask_row(self.p, &a, i, self.z, self.acc);
    }

    /// Stores row `i` from `acc`: the low part w0 of w after the first pass, w0 - c s2
    /// after the second.
    #[inline(always)]
    fn store_low(&mut self, i: usize) {
        let slot = low_slot::<T>(self.p, self.workspace, self.attempt, i);
        pack_low(self.p.gamma2, self.acc, slot);
    }

    /// Loads the row that [`Self::store_low`] stored.
    #[inline(always)]
    fn load_low(&mut self, i: usize) {
        let slot = low_slot::<T>(self.p, self.workspace, self.attempt, i);
        unpack_low(self.p.gamma2, slot, self.acc);
    }

    /// Replaces w0 in `acc` by w0 - c s2; returns whether the row fails the r0 check.
    #[inline(never)]
    fn subtract_cs2(&mut self, c: &SparseChallenge, i: usize) -> bool {
        let p = self.p;
        let mut row = wiped::<S::Row>();
        let s2 = self.key.row(p, p.l + i, row.expose_mut());
        r0_row_reaches(p, c, s2, self.acc)
    }
}

#[inline(never)]
fn unpack_row(p: &Params, y: &[u8], acc: &mut [i32; N]) {
    unpack_z_part(p.gamma1_bits, y, acc);
}
