//! Verification of a key and a signature in external memory, which can change between
//! two reads: an external chip, a shared mailbox.
//!
//! Row i of w needs all of z, so z is read k times. A chip that returns another z at
//! the second read could satisfy each row with a different z, which is a forgery
//! (time of check to time of use). So the norm of z is checked at every read, the hash
//! of every pass over z must equal that of the first pass, and the key must hash to the
//! `tr` that `mu` was computed with. All data is public.

use mldsa_core::internals::hint::Hint;
use mldsa_core::internals::row_steps::{absorb_w1_row, response_row_reaches};
use mldsa_core::internals::sparse::SparseChallenge;
use mldsa_core::internals::window::finish_row;
use mldsa_core::internals::{CRH_LEN, CommitmentHash, N, Params, SEED_LEN, Shake256, T1_POLY_LEN};
use mldsa_core::{Mu, ParameterSet, VerifyError};

use crate::error::ReaderError;
use crate::io::Reader;
use crate::matrix::{Row, entry_sampled};
use crate::packed::KECCAK;
use crate::verify::{VerifyingKey, compare, is_digest};

impl<P: ParameterSet> VerifyingKey<'_, P> {
    /// Computes `tr = H(pk, 64)` of a key in external memory.
    ///
    /// # Errors
    /// [`ReaderError::KeyLength`], [`ReaderError::Read`].
    #[inline(never)]
    pub fn tr_from<K: Reader>(pk: &mut K) -> Result<[u8; CRH_LEN], ReaderError<K::Error>> {
        if pk.size() != P::PK_LEN {
            return Err(ReaderError::KeyLength);
        }
        let mut hash = Shake256::new(KECCAK);
        let mut piece = [0; 32];
        for at in (0..P::PK_LEN).step_by(piece.len()) {
            pk.read(at, &mut piece).map_err(ReaderError::Read)?;
            hash.absorb(&piece);
        }
        let mut tr = [0; CRH_LEN];
        digest(&mut hash, &mut tr);
        Ok(tr)
    }

    /// Verifies a signature over `mu`; key and signature are read from external memory in
    /// pieces of at most 640 bytes. `tr` is the hash of the key that `mu` was computed with,
    /// from trusted memory or from [`Self::tr_from`]; the key that is read must have it.
    ///
    /// The z part of the signature is read once per row of A. It takes 1.2 kB of stack more
    /// than [`Self::verify_mu`].
    ///
    /// # Errors
    /// Every [`ReaderError`]. Only [`ReaderError::Invalid`] is a verdict on the signature.
    #[inline(never)]
    pub fn verify_mu_from<E>(
        pk: &mut dyn Reader<Error = E>,
        tr: &[u8; CRH_LEN],
        mu: &Mu,
        signature: &mut dyn Reader<Error = E>,
    ) -> Result<(), ReaderError<E>> {
        let p = &P::PARAMS;
        if pk.size() != P::PK_LEN {
            return Err(ReaderError::KeyLength);
        }
        if signature.size() != P::SIG_LEN {
            return Err(VerifyError::SignatureLength.into());
        }
        // At most 75 + 8 or 80 + 4 bytes.
        let mut hint = [0; 84];
        let hint = &mut hint[..p.omega + p.k];
        let read = ReaderError::Read;
        signature
            .read(p.c_tilde_len + p.l * p.z_poly_len(), hint)
            .map_err(read)?;
        let hint = Hint::hint_bit_unpack_vartime(hint, p.omega)?;
        let mut c_tilde = [0; CRH_LEN];
        let c_tilde = &mut c_tilde[..p.c_tilde_len];
        signature.read(0, c_tilde).map_err(read)?;

        let mut key_hash = Shake256::new(KECCAK);
        let mut rho = [0; SEED_LEN];
        pk.read(0, &mut rho).map_err(read)?;
        key_hash.absorb(&rho);

        let mut hash = CommitmentHash::empty(KECCAK);
        hash.absorb_mu(mu);
        let mut acc = [0; N];
        let mut first_pass = [0; CRH_LEN];
        for i in 0..p.k {
            row_of_w(p, &rho, i, signature, &mut first_pass, &mut acc)?;
            let c_tilde = &*c_tilde;
            absorb_row(
                p,
                i,
                pk,
                c_tilde,
                hint.row(i),
                &mut acc,
                &mut key_hash,
                &mut hash,
            )?;
        }
        if !is_digest(&mut key_hash, tr) {
            return Err(ReaderError::Changed);
        }
        Ok(compare(&mut hash, c_tilde)?)
    }
}

fn digest(hash: &mut Shake256, out: &mut [u8; CRH_LEN]) {
    hash.finish();
    hash.squeeze(out);
}

/// Computes row `i` of `A z` in `acc`. Reads all of z: in row 0 its hash is stored in
/// `first_pass`, in the other rows it is compared with `first_pass`.
#[inline(never)]
fn row_of_w<E>(
    p: &Params,
    rho: &[u8; SEED_LEN],
    i: usize,
    signature: &mut dyn Reader<Error = E>,
    first_pass: &mut [u8; CRH_LEN],
    acc: &mut [i32; N],
) -> Result<(), ReaderError<E>> {
    acc.fill(0);
    let mut pass = Shake256::new(KECCAK);
    let mut z = [0; 640];
    let z = &mut z[..p.z_poly_len()];
    for j in 0..p.l {
        signature
            .read(p.c_tilde_len + j * z.len(), z)
            .map_err(ReaderError::Read)?;
        if response_row_reaches(p, z) {
            return Err(if i == 0 {
                VerifyError::ResponseNorm.into()
            } else {
                ReaderError::Changed
            });
        }
        pass.absorb(z);
        entry_sampled(rho, i, j, Row::mask(p, z), acc);
    }
    if i == 0 {
        digest(&mut pass, first_pass);
    } else if !is_digest(&mut pass, first_pass) {
        return Err(ReaderError::Changed);
    }
    finish_row(acc);
    Ok(())
}

/// Reads row `i` of t1, subtracts `c t1` from the row of w in `acc` and absorbs its high bits. The
/// challenge is sampled for each row, so that it is not on the stack during the deepest call.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
fn absorb_row<E>(
    p: &Params,
    i: usize,
    pk: &mut dyn Reader<Error = E>,
    c_tilde: &[u8],
    hint: &[u8],
    acc: &mut [i32; N],
    key_hash: &mut Shake256,
    hash: &mut CommitmentHash,
) -> Result<(), ReaderError<E>> {
    let mut t1 = [0; T1_POLY_LEN];
    pk.read(SEED_LEN + i * T1_POLY_LEN, &mut t1)
        .map_err(ReaderError::Read)?;
    key_hash.absorb(&t1);
    let mut c = SparseChallenge::empty();
    c.sample_in_ball_vartime(KECCAK, p.tau, c_tilde);
    absorb_w1_row(p, &c, &t1, hint, acc, hash);
    Ok(())
}
