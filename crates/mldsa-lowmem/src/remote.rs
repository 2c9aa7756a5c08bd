//! Verification of a key and a signature that lie in memory which is not trusted
//! to stay the same: an external chip, a shared mailbox.
//!
//! Row i of w needs all of z, so z is read k times. A chip that serves another z
//! the second time would have each row verified against a z of its choice, which
//! is a forgery. So every read of z is checked for its norm and hashed, the hash
//! of every pass must equal that of the first, and the key must hash to the `tr`
//! that `mu` was made with. Everything here is public data.

use mldsa_core::internals::hint::Hint;
use mldsa_core::internals::row_steps::{absorb_w1_row, response_row_reaches};
use mldsa_core::internals::sparse::SparseChallenge;
use mldsa_core::internals::window::finish_row;
use mldsa_core::internals::{CRH_LEN, CommitmentHash, N, Params, SEED_LEN, Shake256, T1_POLY_LEN};
use mldsa_core::{Mu, ParameterSet, VerifyError};

use crate::error::SourceError;
use crate::matrix::mask_entry_sampled;
use crate::packed::KECCAK;
use crate::source::Source;
use crate::verify::compare;

/// `tr = H(pk, 64)` of a key in a source.
///
/// # Errors
/// [`SourceError::KeyLength`], [`SourceError::Source`].
#[inline(never)]
pub fn tr_from<P: ParameterSet, K: Source>(
    pk: &mut K,
) -> Result<[u8; CRH_LEN], SourceError<K::Error>> {
    if pk.size() != P::PK_LEN {
        return Err(SourceError::KeyLength);
    }
    let mut hash = Shake256::new(KECCAK);
    let mut piece = [0; 32];
    for at in (0..P::PK_LEN).step_by(piece.len()) {
        pk.read(at, &mut piece).map_err(SourceError::Source)?;
        hash.absorb(&piece);
    }
    Ok(digest(&mut hash))
}

fn digest(hash: &mut Shake256) -> [u8; CRH_LEN] {
    let mut out = [0; CRH_LEN];
    hash.finish();
    hash.squeeze(&mut out);
    out
}

/// Verifies a signature over `mu`, key and signature each read from a source: no
/// buffer for either. `tr` is the hash of the key that `mu` was made with, from a
/// trusted place or from [`tr_from`]; the key that is read must have it.
///
/// The z part of the signature is read once per row of A.
///
/// # Errors
/// Every [`SourceError`]. An error is never a statement about the signature
/// unless it is [`SourceError::Invalid`].
#[inline(never)]
pub fn verify_mu_from<P: ParameterSet, E>(
    pk: &mut dyn Source<Error = E>,
    tr: &[u8; CRH_LEN],
    mu: &Mu,
    signature: &mut dyn Source<Error = E>,
) -> Result<(), SourceError<E>> {
    let p = &P::PARAMS;
    if pk.size() != P::PK_LEN {
        return Err(SourceError::KeyLength);
    }
    if signature.size() != P::SIG_LEN {
        return Err(VerifyError::SignatureLength.into());
    }
    // At most 75 + 8 or 80 + 4 bytes.
    let mut hint = [0; 84];
    let hint = &mut hint[..p.omega + p.k];
    let read = SourceError::Source;
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

    let mut hash = CommitmentHash::new(KECCAK, mu);
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
    if digest(&mut key_hash) != *tr {
        return Err(SourceError::Changed);
    }
    Ok(compare(&mut hash, c_tilde)?)
}

/// Row `i` of `A z` to `acc`. Reads all of z, whose hash is stored in `first_pass`
/// in row 0 and compared with it in the other rows.
#[inline(never)]
fn row_of_w<E>(
    p: &Params,
    rho: &[u8; SEED_LEN],
    i: usize,
    signature: &mut dyn Source<Error = E>,
    first_pass: &mut [u8; CRH_LEN],
    acc: &mut [i32; N],
) -> Result<(), SourceError<E>> {
    acc.fill(0);
    let mut pass = Shake256::new(KECCAK);
    let mut z = [0; 640];
    let z = &mut z[..p.z_poly_len()];
    for j in 0..p.l {
        signature
            .read(p.c_tilde_len + j * z.len(), z)
            .map_err(SourceError::Source)?;
        if response_row_reaches(p, z) {
            return Err(if i == 0 {
                VerifyError::ResponseNorm.into()
            } else {
                SourceError::Changed
            });
        }
        pass.absorb(z);
        mask_entry_sampled(p, rho, i, j, z, acc);
    }
    let pass = digest(&mut pass);
    if i == 0 {
        *first_pass = pass;
    } else if pass != *first_pass {
        return Err(SourceError::Changed);
    }
    finish_row(acc);
    Ok(())
}

/// Subtracts `c t1` from the row of w in `acc` and absorbs its high bits; reads
/// row `i` of t1. The challenge is sampled for each row: kept, it would lie under
/// the deepest call.
#[inline(never)]
#[allow(clippy::too_many_arguments)]
fn absorb_row<E>(
    p: &Params,
    i: usize,
    pk: &mut dyn Source<Error = E>,
    c_tilde: &[u8],
    hint: &[u8],
    acc: &mut [i32; N],
    key_hash: &mut Shake256,
    hash: &mut CommitmentHash,
) -> Result<(), SourceError<E>> {
    let mut t1 = [0; T1_POLY_LEN];
    pk.read(SEED_LEN + i * T1_POLY_LEN, &mut t1)
        .map_err(SourceError::Source)?;
    key_hash.absorb(&t1);
    let c = SparseChallenge::sample_in_ball_vartime(KECCAK, p.tau, c_tilde);
    absorb_w1_row(p, &c, &t1, hint, acc, hash);
    Ok(())
}
