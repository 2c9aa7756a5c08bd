//! The steps: entries of rows, their ends, and rows of y and z.

use core::marker::PhantomData;

use mldsa_core::internals::hint::{hint_bit_pack_vartime, weight};
use mldsa_core::internals::pack::{low_part_bits, pack_low, unpack_low};
use mldsa_core::internals::row_steps::{
    absorb_high_bits, absorb_w1_row, hint_row, is_mask_row, low_row, r0_row_reaches,
    response_row_reaches, z_row_reaches, z_row_write,
};
use mldsa_core::internals::sample::{expand_mask_packed, expand_mask_poly};
use mldsa_core::internals::sparse::SparseChallenge;
use mldsa_core::internals::window::{COMPACT_LEN, expand_compact, finish_row};
use mldsa_core::internals::{
    CRH_LEN, CommitmentHash, MAX_SIGN_ATTEMPTS, N, Params, SEED_LEN, Shake256, SignatureParts,
    T1_POLY_LEN, Wipe, Zeroed, declassify, declassify_in_place, is_commitment, signature_parts_mut,
};

use super::{Kept, Phase, Place, Shared, Slice, VERIFIED};
use crate::attempt::AttemptError;
use crate::error::SignError;
use crate::matrix::{Matrix, mask_entry, public_entry, public_row_end};
use crate::packed::{KECCAK, packed_row, packed_row_mut, wiped};
use crate::secrets::Secrets;
use crate::signing_secrets::SigningSecrets;
use crate::tier::Keeps;
use crate::verify::is_digest;

/// The steps, compiled for each form of a key and tier, not for each set.
pub(super) struct Steps<'a, S: SigningSecrets, T> {
    pub(super) p: &'a Params,
    pub(super) secrets: &'a S,
    pub(super) public_key: Option<&'a [u8]>,
    pub(super) tr: &'a [u8; CRH_LEN],
    pub(super) workspace: &'a mut [u8],
    pub(super) memory: &'a mut Shared<S::T0>,
    pub(super) out: &'a mut [u8],
    pub(super) at: &'a mut Place,
    pub(super) keeps: PhantomData<T>,
}

impl<S: SigningSecrets, T: Keeps> Steps<'_, S, T> {
    #[inline(never)]
    pub(super) fn step(&mut self) -> Result<Slice, SignError> {
        let outcome = match self.at.phase {
            Phase::Finished if self.at.is_finished() => return Ok(Slice::Finished),
            Phase::Finished => Err(SignError::SelfVerification.into()),
            Phase::Failed(error) => return Err(error),
            Phase::Matrix => self.expand_entry(),
            Phase::Mask => self.mask_row(),
            Phase::Commit => self.commit(),
            Phase::CheckZ => self.check_z(),
            Phase::Respond => self.respond(),
            Phase::Write => self.write_z(),
            Phase::Verify => self.verify(),
        };
        let error = match outcome {
            Ok(()) if self.at.is_finished() => return Ok(Slice::Finished),
            Ok(()) => return Ok(Slice::Working),
            Err(AttemptError::Rejected) if self.at.attempt + 1 < MAX_SIGN_ATTEMPTS => {
                self.at.attempt += 1;
                self.begin(Phase::Mask);
                return Ok(Slice::Rejected);
            }
            Err(AttemptError::Rejected) => SignError::AttemptsExhausted,
            Err(AttemptError::Failed(error)) => error,
        };
        self.at.phase = Phase::Failed(error);
        self.out.wipe();
        Err(error)
    }

    fn is_first(&self) -> bool {
        self.at.i == 0 && self.at.j == 0
    }

    fn begin(&mut self, phase: Phase) {
        self.at.phase = phase;
        self.at.i = 0;
        self.at.j = 0;
    }

    /// Goes to the next of `width` steps in each of `height` rows, then to `phase`.
    fn advance(&mut self, width: usize, height: usize, phase: Phase) {
        self.at.j += 1;
        if self.at.j == width {
            self.at.j = 0;
            self.at.i += 1;
        }
        if self.at.i == height {
            self.begin(phase);
        }
    }

    fn kappa(&self) -> u16 {
        self.at.attempt * self.p.l as u16 + self.at.j as u16
    }

    fn mask_seed(&self, rho_pp: &mut [u8; CRH_LEN]) {
        let (memory, k_seed) = (&*self.memory, self.secrets.k_seed());
        mldsa_core::internals::rho_pp(KECCAK, k_seed, &memory.rnd, &memory.mu, rho_pp);
    }

    fn challenge(&self) -> SparseChallenge {
        let p = self.p;
        let mut c = SparseChallenge::empty();
        c.sample_in_ball_vartime(KECCAK, p.tau, &self.out[..p.c_tilde_len]);
        c
    }

    /// Returns the rows of y, then z.
    fn z(&mut self) -> &mut [u8] {
        signature_parts_mut(self.p, self.out).map_or(&mut [], |(_, z, _)| z)
    }

    /// Algorithm 32, one entry.
    #[inline(never)]
    fn expand_entry(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        let entry = packed_row_mut(self.workspace, self.at.i * p.l + self.at.j, COMPACT_LEN);
        expand_compact(KECCAK, self.secrets.rho(), self.at.i, self.at.j, entry);
        self.advance(p.l, p.k, Phase::Mask);
        Ok(())
    }

    #[inline(never)]
    fn mask_row(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        let mut rho_pp = wiped::<[u8; CRH_LEN]>();
        self.mask_seed(rho_pp.expose_mut());
        let (j, kappa) = (self.at.j, self.kappa());
        let y = packed_row_mut(self.z(), j, p.z_poly_len());
        expand_mask_packed(KECCAK, rho_pp.expose(), kappa, y);
        self.advance(p.l, 1, Phase::Commit);
        Ok(())
    }

    // Frames of their own, which hold a state and end before an entry is added.

    #[inline(never)]
    fn start_hash(&mut self) {
        self.memory.hash = Some(CommitmentHash::new(KECCAK, &self.memory.mu));
    }

    #[inline(never)]
    fn start_hints(&mut self) {
        self.memory.kept = Kept::Hints(Zeroed::ZEROED);
    }

    #[inline(never)]
    fn start_key_hash(&mut self) {
        let mut key_hash = Shake256::new(KECCAK);
        let rho = self.public_key.map(|pk| &pk[..SEED_LEN]);
        key_hash.absorb(rho.unwrap_or(self.secrets.rho()));
        self.memory.kept = Kept::KeyHash(key_hash);
    }

    /// Adds entry `j` of row `i` of A y to the accumulator, which entry 0 clears; after the last
    /// one the row is complete.
    #[inline(never)]
    fn entry_of_w(&mut self, j: usize, sampled: bool) {
        let p = self.p;
        let rho = self.secrets.rho();
        let memory = &mut *self.memory;
        let a = if T::MATRIX && !sampled {
            Matrix::Compact(self.workspace)
        } else {
            Matrix::Sampled(rho)
        };
        if j == 0 {
            memory.acc.fill(0);
        }
        let z = &self.out[p.c_tilde_len..];
        mask_entry(p, &a, self.at.i, j, z, &mut memory.acc);
        if j + 1 == p.l {
            finish_row(&mut memory.acc);
        }
    }

    /// Adds entry `j` of row `i` of A s1 to the accumulator; step l gives the packed row of t1
    /// or t0.
    #[inline(never)]
    fn entry_of_t(&mut self, j: usize, wants_t1: bool) {
        let p = self.p;
        let memory = &mut *self.memory;
        let secrets = self.secrets;
        if j == 0 {
            memory.acc.fill(0);
        }
        if j < p.l {
            return public_entry(p, secrets, self.at.i, j, &mut memory.acc);
        }
        let row = memory.row.as_mut();
        let (t1, t0) = if wants_t1 {
            (row.get_mut(..T1_POLY_LEN).unwrap_or_default(), &mut [][..])
        } else {
            (&mut [][..], row)
        };
        public_row_end(p, secrets, self.at.i, &mut memory.acc, t1, t0);
    }

    #[inline(never)]
    fn commit(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        if self.is_first() {
            self.start_hash();
        }
        if self.at.j < p.l {
            self.entry_of_w(self.at.j, false);
        } else {
            let memory = &mut *self.memory;
            let Some(hash) = &mut memory.hash else {
                return Err(SignError::SelfVerification.into());
            };
            absorb_high_bits(p.gamma2, &memory.acc, hash);
            if self.at.i + 1 == p.k {
                let c_tilde = &mut self.out[..p.c_tilde_len];
                hash.finish(c_tilde);
                // A hash of w1 and mu, which reveals nothing about the mask.
                declassify_in_place(c_tilde, "c_tilde of an attempt");
            }
            if T::LOW {
                low_row(p.gamma2, &mut memory.acc);
                let slot = low_slot(p, self.workspace, self.at.i);
                pack_low(p.gamma2, &memory.acc, slot);
            }
        }
        self.advance(p.l + 1, p.k, Phase::CheckZ);
        Ok(())
    }

    #[inline(never)]
    fn check_z(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        let c = self.challenge();
        let mut row = wiped::<S::Row>();
        let s1 = self.secrets.row(p, self.at.j, row.expose_mut());
        let y = packed_row(&self.out[p.c_tilde_len..], self.at.j, p.z_poly_len());
        if z_row_reaches(p, &c, s1, y) {
            return Err(AttemptError::Rejected);
        }
        self.advance(p.l, 1, Phase::Respond);
        Ok(())
    }

    /// A row of t0 if it is not stored, then the row of w if its low part is not stored, then the
    /// checks of the row.
    #[inline(never)]
    fn respond(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        if self.is_first() {
            self.start_hash();
            self.start_hints();
        }
        let of_t0 = if S::COMPUTES_T0 { p.l + 1 } else { 0 };
        let of_w = if T::LOW { 0 } else { p.l };
        if self.at.j < of_t0 {
            self.entry_of_t(self.at.j, false);
        } else if self.at.j < of_t0 + of_w {
            self.entry_of_w(self.at.j - of_t0, false);
        } else {
            self.check_row()?;
            if self.at.i + 1 == p.k {
                self.check_attempt()?;
            }
        }
        self.advance(of_t0 + of_w + 1, p.k, Phase::Write);
        Ok(())
    }

    #[inline(never)]
    fn check_row(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        let i = self.at.i;
        let c = self.challenge();
        let memory = &mut *self.memory;
        let secrets = self.secrets;
        if T::LOW {
            let slot = low_slot(p, self.workspace, i);
            unpack_low(p.gamma2, slot, &mut memory.acc);
        } else {
            let Some(hash) = &mut memory.hash else {
                return Err(SignError::SelfVerification.into());
            };
            absorb_high_bits(p.gamma2, &memory.acc, hash);
            low_row(p.gamma2, &mut memory.acc);
        }
        if subtract_cs2(p, secrets, &c, i, &mut memory.acc) {
            return Err(AttemptError::Rejected);
        }
        let Kept::Hints(hints) = &mut memory.kept else {
            return Err(SignError::SelfVerification.into());
        };
        let t0 = if S::COMPUTES_T0 {
            memory.row.as_ref()
        } else {
            secrets.t0(p, i, &mut memory.acc, &mut memory.row)
        };
        let hints = &mut hints[i];
        if hint_row(p, &c, t0, &memory.acc, hints) {
            return Err(AttemptError::Rejected);
        }
        Ok(())
    }

    /// What concerns all rows: w1 of the second pass, and the weight of the hint.
    #[inline(never)]
    fn check_attempt(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        if !T::LOW {
            let c_tilde = &self.out[..p.c_tilde_len];
            let hash = self.memory.hash.as_mut();
            // Equal to the first hash unless there was a fault.
            if !hash.is_some_and(|hash| is_commitment(hash, c_tilde)) {
                return Err(SignError::SelfVerification.into());
            }
        }
        let Kept::Hints(hints) = &self.memory.kept else {
            return Err(SignError::SelfVerification.into());
        };
        let ones = weight(hints[..p.k].as_flattened());
        if declassify(ones as usize > p.omega, "hint weight verdict") {
            return Err(AttemptError::Rejected);
        }
        Ok(())
    }

    /// A row of z; the row of y is derived again, from K on, and compared.
    #[inline(never)]
    fn write_z(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        let mut rho_pp = wiped::<[u8; CRH_LEN]>();
        self.mask_seed(rho_pp.expose_mut());
        let (j, kappa) = (self.at.j, self.kappa());
        let acc = &mut self.memory.acc;
        expand_mask_poly(KECCAK, rho_pp.expose(), kappa, p.gamma1_bits, acc);
        let c = self.challenge();
        let acc = &self.memory.acc;
        let z = packed_row_mut(&mut self.out[p.c_tilde_len..], j, p.z_poly_len());
        if !is_mask_row(p, z, acc) {
            return Err(SignError::SelfVerification.into());
        }
        let mut row = wiped::<S::Row>();
        let s1 = self.secrets.row(p, j, row.expose_mut());
        z_row_write(p, &c, s1, acc, z);
        if j + 1 == p.l {
            let parts = signature_parts_mut(p, self.out);
            if let (Some((_, z, hint)), Kept::Hints(hints)) = (parts, &mut self.memory.kept) {
                let hints = hints[..p.k].as_flattened_mut();
                declassify_in_place(z, "the finished signature");
                declassify_in_place(hints, "the finished signature");
                hint_bit_pack_vartime(hints, p.omega, hint);
            }
        }
        self.advance(p.l, 1, Phase::Verify);
        Ok(())
    }

    /// Algorithm 8 on the signature. A row of t1 if there is no public key, then a row of A z, then
    /// their difference.
    #[inline(never)]
    fn verify(&mut self) -> Result<(), AttemptError> {
        let p = self.p;
        let failed = Err(SignError::SelfVerification.into());
        let of_t1 = if self.public_key.is_some() {
            0
        } else {
            p.l + 1
        };
        if self.is_first() {
            self.start_hash();
            self.start_key_hash();
        }
        if self.at.j < of_t1 {
            self.entry_of_t(self.at.j, true);
        } else if self.at.j < of_t1 + p.l {
            let j = self.at.j - of_t1;
            let z = packed_row(&self.out[p.c_tilde_len..], j, p.z_poly_len());
            let reaches = self.at.i == 0 && response_row_reaches(p, z);
            if declassify(reaches, "verdict of a self-verification") {
                return failed;
            }
            self.entry_of_w(j, true);
        } else {
            let last = self.at.i + 1 == p.k;
            let verdict = self.verify_row(last);
            if !declassify(verdict, "verdict of a self-verification") {
                return failed;
            }
            if last {
                self.at.verified = VERIFIED;
            }
        }
        self.advance(of_t1 + p.l + 1, p.k, Phase::Finished);
        Ok(())
    }

    /// Ends a row; the last one has the verdict over signature and public key.
    #[inline(never)]
    fn verify_row(&mut self, last: bool) -> bool {
        let p = self.p;
        let c = self.challenge();
        let memory = &mut *self.memory;
        let (Some(hash), Kept::KeyHash(key_hash)) = (&mut memory.hash, &mut memory.kept) else {
            return false;
        };
        let Ok(parts) = SignatureParts::parse(p, self.out) else {
            return false;
        };
        let t1 = match self.public_key {
            Some(pk) => packed_row(&pk[SEED_LEN..], self.at.i, T1_POLY_LEN),
            None => packed_row(memory.row.as_ref(), 0, T1_POLY_LEN),
        };
        key_hash.absorb(t1);
        let hint = parts.hint.row(self.at.i);
        absorb_w1_row(p, &c, t1, hint, &mut memory.acc, hash);
        if !last {
            return true;
        }
        is_digest(key_hash, self.tr) & is_commitment(hash, parts.c_tilde)
    }
}

/// Slot of the low part of row `i` of w.
fn low_slot<'a>(p: &Params, workspace: &'a mut [u8], i: usize) -> &'a mut [u8] {
    packed_row_mut(workspace, i, 32 * low_part_bits(p.gamma2))
}

/// Replaces w0 in `acc` by w0 - c s2; returns whether the row fails the r0 check.
#[inline(never)]
fn subtract_cs2<S: Secrets>(
    p: &Params,
    secrets: &S,
    c: &SparseChallenge,
    i: usize,
    acc: &mut [i32; N],
) -> bool {
    let mut row = wiped::<S::Row>();
    let s2 = secrets.row(p, p.l + i, row.expose_mut());
    r0_row_reaches(p, c, s2, acc)
}
