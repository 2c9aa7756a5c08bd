//! The two precompiles of EIP-8051, ML-DSA-44 with an expanded key in the input.
//!
//! The draft contradicts FIPS 204, its own vectors and itself. Decisions of this module:
//!
//! | question | decision | reason |
//! | --- | --- | --- |
//! | `tr` has 32 bytes in the text, 64 in FIPS 204 | 64, so a key has 20,544 bytes and an input 22,996 | the vectors of both variants verify with 64 only |
//! | `mu = H(tr, M)` in the text, `H(tr, 00 00 M)` in FIPS 204 ("pure", empty context) | with the two bytes | the vectors of both variants verify with them only |
//! | is t1 times 2^13? | in [`Variant::Eth`] only | text of both algorithms |
//! | is t1 in NTT form in [`Variant::Nist`]? | yes | the text of the key format; the comment in the algorithm says no |
//! | error, or zero, for a wrong length and a coefficient that is not below q | zero, and the gas | "if the algorithm process fails, it returns 0" |
//!
//! So [`Variant::Nist`] accepts what FIPS 204 accepts, with an empty context.
//!
//! The caller controls the whole expanded key. A user of an expanded key from another
//! party must check that the matrix is ExpandA of the key's `rho`: with a chosen matrix
//! signatures can be forged.

use mldsa_core::internals::rounding::use_hint_vartime;
use mldsa_core::internals::sample::Challenge;
use mldsa_core::internals::{
    CRH_LEN, D, N, NttPoly, Params, Poly, Q, SignatureParts, Sponge, Zeroed, ntt, pack,
};
use mldsa_core::{Backend, MlDsa44, ParameterSet};

use crate::{PrecompileOutput, charged};

#[cfg(test)]
mod tests;

const P: Params = MlDsa44::PARAMS;
const K: usize = 4;
const L: usize = 4;
const POLY_LEN: usize = 4 * N;
/// Bytes of A in NTT form.
const MATRIX_LEN: usize = K * L * POLY_LEN;
/// Bytes of w1, packed.
const W1_LEN: usize = K * P.w1_poly_len();
/// Bytes of `c_tilde`.
const C_TILDE_LEN: usize = P.c_tilde_len;

/// Bytes of the message.
const MESSAGE_LEN: usize = 32;
/// Bytes of an expanded key: A, `tr`, t1.
const KEY_LEN: usize = MATRIX_LEN + CRH_LEN + K * POLY_LEN;
/// Bytes of an input: message, signature, expanded key.
const INPUT_LEN: usize = MESSAGE_LEN + MlDsa44::SIG_LEN + KEY_LEN;

/// One of the two precompiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// `VERIFY_MLDSA`: SHAKE256.
    Nist,
    /// `VERIFY_MLDSA_ETH`: Keccak-256 in counter mode.
    Eth,
}

impl Variant {
    /// Gas of either precompile.
    pub const GAS: u64 = 4_500;

    /// Executes the precompile: verifies a signature under an expanded key. `None` means out of
    /// gas: `gas_limit` is below [`Self::GAS`].
    pub fn execute(self, input: &[u8], gas_limit: u64) -> Option<PrecompileOutput> {
        charged(Self::GAS, gas_limit, || {
            if input.len() != INPUT_LEN {
                return false;
            }
            let (message, rest) = input.split_at(MESSAGE_LEN);
            let (signature, key) = rest.split_at(MlDsa44::SIG_LEN);
            verify(self, key, message, signature)
        })
    }
}

/// Verifies as [`Variant::execute`] does, for a message of any length, as in the vectors of the
/// proposal.
fn verify(variant: Variant, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    verified(variant, key, message, signature).is_some()
}

fn verified(variant: Variant, key: &[u8], message: &[u8], signature: &[u8]) -> Option<()> {
    let (matrix, rest) = key.split_at_checked(MATRIX_LEN)?;
    let (tr, t1) = rest.split_at_checked(CRH_LEN)?;
    if t1.len() != K * POLY_LEN {
        return None;
    }
    let signature = SignatureParts::parse(&P, signature).ok()?;

    // z, then c: the columns of A, then of -t1 2^13.
    let mut columns = [const { NttPoly([0; N]) }; L + 1];
    let mut poly = Poly::zeroed();
    for (z, column) in signature.z.chunks_exact(P.z_poly_len()).zip(&mut columns) {
        pack::unpack_z(P.gamma1_bits, z, &mut poly);
        if poly.norm_reaches(P.gamma1() - P.beta()) {
            return None;
        }
        ntt::ntt(&poly, column);
    }
    let mut xof = Xof::new(variant, &[signature.c_tilde]);
    Challenge::from_stream(P.tau, || xof.byte()).to_poly(&mut poly);
    ntt::ntt(&poly, &mut columns[L]);

    let mut w1 = [0; W1_LEN];
    let mut entries = [const { NttPoly([0; N]) }; L + 1];
    let mut row = NttPoly::zeroed();
    let rows = matrix
        .chunks_exact(L * POLY_LEN)
        .zip(t1.chunks_exact(POLY_LEN));
    for (i, ((a, t1), w1)) in rows.zip(w1.chunks_exact_mut(P.w1_poly_len())).enumerate() {
        let polys = a.chunks_exact(POLY_LEN).chain([t1]);
        for (bytes, entry) in polys.zip(&mut entries) {
            read(bytes, entry)?;
        }
        let scale = match variant {
            Variant::Nist => 1 << D,
            Variant::Eth => 1,
        };
        for t in &mut entries[L].0 {
            *t = (-i64::from(*t) * scale % i64::from(Q)) as i32;
        }
        ntt::row_product(&entries, &columns, &mut row);
        ntt::inv_ntt(&row, &mut poly);
        let mut hint = [false; N];
        for &n in signature.hint.row(i) {
            hint[usize::from(n)] = true;
        }
        for (w, hint) in poly.0.iter_mut().zip(hint) {
            *w = use_hint_vartime(P.gamma2, i32::from(hint), w.rem_euclid(Q));
        }
        pack::w1_encode(P.gamma2, &poly, w1, |w1| w1);
    }

    let mut mu = [0; CRH_LEN];
    // Pure, and a context of no bytes.
    Xof::new(variant, &[tr, &[0, 0], message]).fill(&mut mu);
    let mut c_tilde = [0; C_TILDE_LEN];
    Xof::new(variant, &[&mu, &w1]).fill(&mut c_tilde);
    (signature.c_tilde == c_tilde).then_some(())
}

/// Reads big-endian coefficients below q; `None` if one is not.
fn read(bytes: &[u8], out: &mut NttPoly) -> Option<()> {
    let (words, _) = bytes.as_chunks::<4>();
    for (word, a) in words.iter().zip(&mut out.0) {
        *a = i32::try_from(u32::from_be_bytes(*word)).ok()?;
        if *a >= Q {
            return None;
        }
    }
    Some(())
}

/// The extendable-output function of a variant.
// One on the stack at a time.
#[allow(clippy::large_enum_variant)]
enum Xof {
    Shake(Sponge<136>),
    Counter {
        state: [u8; 32],
        counter: u64,
        block: [u8; 32],
        /// Bytes of `block` handed out.
        used: usize,
    },
}

impl Xof {
    fn new(variant: Variant, parts: &[&[u8]]) -> Self {
        match variant {
            Variant::Nist => {
                let mut sponge = Sponge::new(Backend::detect().permutation());
                parts.iter().for_each(|part| sponge.absorb(part));
                sponge.finish();
                Self::Shake(sponge)
            }
            Variant::Eth => Self::Counter {
                state: keccak256(parts),
                counter: 0,
                block: [0; 32],
                used: 32,
            },
        }
    }

    fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.fill(&mut byte);
        byte[0]
    }

    fn fill(&mut self, out: &mut [u8]) {
        match self {
            Self::Shake(sponge) => sponge.squeeze(out),
            Self::Counter {
                state,
                counter,
                block,
                used,
            } => {
                for byte in out {
                    if *used == block.len() {
                        *block = keccak256(&[state, &counter.to_be_bytes()]);
                        *counter += 1;
                        *used = 0;
                    }
                    *byte = block[*used];
                    *used += 1;
                }
            }
        }
    }
}

fn keccak256(parts: &[&[u8]]) -> [u8; 32] {
    let mut out = [0; 32];
    let mut sponge = Sponge::<136>::new(Backend::detect().permutation());
    parts.iter().for_each(|part| sponge.absorb(part));
    sponge.finish_with(0x01);
    sponge.squeeze(&mut out);
    out
}
