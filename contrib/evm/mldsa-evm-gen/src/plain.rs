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
            ("CONSTANTTABLE", &table(&round_constants(), constants)),
            ("ZETATABLE", &table(&zetas(), zeta)),
            ("PKLEN", &p.pk_len()),
            ("SIGLEN", &p.sig_len()),
            ("CLEN", &p.c_tilde_len),
            ("ZLEN", &p.z_poly_len()),
            ("ZBITS", &(p.gamma1_bits + 1)),
            ("BETA", &p.beta()),
            ("GAMMA1", &p.gamma1()),
            ("GAMMA2", &p.gamma2),
            ("VALUES", &layout.w1_values()),
            ("HASHED", &hashed),
            ("FIRST", &(256 - p.tau)),
            ("OMEGA", &p.omega),
            ("W1LEN", &p.w1_poly_len()),
            ("W1BITS", &layout.w1_bits()),
            // t1 is used up when an entry is expanded.
            ("SEED", &t1),
            ("T1", &t1),
            ("ROW", &row),
            ("ENTRY", &entry),
            ("ZETAS", &zeta),
            ("CONSTANTS", &constants),
            ("STATE", &state),
            ("FAIL", &FAIL),
            ("Q", &Q),
            ("K", &p.k),
            ("L", &p.l),
            ("Z", &poly(0)),
            ("C", &c),
        ],
    );
    object(&format!("Plain{}", layout.name), &[], &code)
}
