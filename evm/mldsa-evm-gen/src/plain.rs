//! FIPS 204 verification from the encoded key in plain Yul, one coefficient a word, algorithm by
//! algorithm, for tests of the fast contracts. It takes hundreds of millions of gas.

use mldsa_core::internals::Q;

use crate::keccak::round_constants;
use crate::lanes::{Layout, literal};
use crate::ntt::zetas;
use crate::yul::{FAIL, fill, object};

/// The contract: encoded key, signature, length of the context, context, message.
pub fn contract(layout: &Layout) -> String {
    let p = &layout.p;
    let table = |words: &[u64], at: usize| -> String {
        words
            .iter()
            .enumerate()
            .map(|(i, &word)| {
                format!(
                    "mstore({}, {})\n",
                    at + 32 * i,
                    literal(ruint::aliases::U256::from(word))
                )
            })
            .collect()
    };
    let (state, constants, zeta) = (0x100, 0x800, 0x1000);
    let poly = |n: usize| 0x4000 + 8192 * n;
    // z, c, one entry of A, a row, t1.
    let (c, entry, row, t1) = (poly(p.l), poly(p.l + 1), poly(p.l + 2), poly(p.l + 3));
    // mu and w1, then a message of any length.
    let hashed = poly(p.l + 4);
    let code = fill(
        include_str!("../templates/plain.yul").trim_end(),
        &[
            ("CONSTANTTABLE", table(&round_constants(), constants)),
            ("ZETATABLE", table(&zetas(), zeta)),
            ("PKLEN", p.pk_len().to_string()),
            ("SIGLEN", p.sig_len().to_string()),
            ("CLEN", p.c_tilde_len.to_string()),
            ("ZLEN", p.z_poly_len().to_string()),
            ("ZBITS", (p.gamma1_bits + 1).to_string()),
            ("BETA", p.beta().to_string()),
            ("GAMMA1", p.gamma1().to_string()),
            ("GAMMA2", p.gamma2.to_string()),
            ("VALUES", layout.w1_values().to_string()),
            ("HASHED", hashed.to_string()),
            ("FIRST", (256 - p.tau).to_string()),
            ("OMEGA", p.omega.to_string()),
            ("W1LEN", p.w1_poly_len().to_string()),
            ("W1BITS", layout.w1_bits().to_string()),
            // t1 is used up when an entry is expanded.
            ("SEED", t1.to_string()),
            ("T1", t1.to_string()),
            ("ROW", row.to_string()),
            ("ENTRY", entry.to_string()),
            ("ZETAS", zeta.to_string()),
            ("CONSTANTS", constants.to_string()),
            ("STATE", state.to_string()),
            ("FAIL", FAIL.to_owned()),
            ("Q", Q.to_string()),
            ("K", p.k.to_string()),
            ("L", p.l.to_string()),
            ("Z", poly(0).to_string()),
            ("C", c.to_string()),
        ],
    );
    object(&format!("Plain{}", layout.name), &[], &code)
}
