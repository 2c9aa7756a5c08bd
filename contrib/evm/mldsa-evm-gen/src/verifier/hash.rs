//! The hints, and the hash of w1 that decides.

use mldsa_core::internals::Q;
use ruint::aliases::U256;

use crate::lanes::{literal, ones};
use crate::yul::{RATE, fill, memory};

use super::Verifier;

impl Verifier<'_> {
    /// Algorithm 21 HintBitUnpack and algorithm 40 UseHint, coefficient by
    /// coefficient, of which there are at most omega.
    pub(super) fn hints(&self) -> String {
        let layout = self.layout;
        let p = &layout.p;
        let hint = self.signature() + p.c_tilde_len + p.l * p.z_poly_len();
        let (packed, per_word) = self.packed();
        fill(
            include_str!("../../templates/hints.yul").trim_end(),
            &[
                ("COUNTS", &(hint + p.omega)),
                ("OMEGA", &p.omega),
                ("HINT", &hint),
                ("K", &p.k),
                ("WIDTH", &layout.inverse.width),
                ("W", &self.map.w),
                ("ROWLEN", &(32 * 256 / per_word)),
                ("ROWS", &layout.inverse.count),
                ("PACKED", &packed),
                ("Q", &Q),
                ("ROUND", &(p.gamma2 - 1)),
                ("RANGE", &(2 * p.gamma2)),
                ("VALUES", &layout.w1_values()),
                ("LESS", &(layout.w1_values() - 1)),
                ("LOG", &per_word.ilog2()),
                ("BITS", &layout.w1_bits()),
                ("INDEX", &(per_word - 1)),
            ],
        )
    }

    /// Line 12 of algorithm 8: H(mu || w1) against `c_tilde`.
    pub(super) fn final_hash(&self) -> String {
        let layout = self.layout;
        let p = &layout.p;
        let lanes = 8 + p.k * layout.w1_lanes();
        let blocks = lanes / RATE + 1;
        let mut text = String::new();
        if layout.w1_bits() == 6 {
            text.push_str(&fill(
                "{
    let d := $TO
    for { let t := $PACKED } lt(t, $END) { t := add(t, 32) } {
        let v := mload(t)
        mstore(d, and(v, $WORD))
        mstore(add(d, 32), and(shr(64, v), $WORD))
        mstore(add(d, 64), shr(128, v))
        d := add(d, 96)
    }
}\n",
                &[
                    ("TO", &self.map.w1()),
                    ("PACKED", &self.map.table),
                    ("END", &(self.map.table + 32 * 8 * p.k)),
                    ("WORD", &literal(ones(64))),
                ],
            ));
        }
        text.push_str(&fill(
            "mstore($PAD, 0x1f)
mstore($LASTLANE, or(mload($LASTLANE), $TOP))
empty()
for { let s := $MU } lt(s, $END) { s := add(s, $RATELEN) } { absorb(s) }
squeeze($BLOCK)
let different := 0
calldatacopy($DATA, $SIGNATURE, $CLEN)
lanes($DATA, $OURS, $CHUNKS)
for { let i := 0 } lt(i, $LANES) { i := add(i, 32) } {
    different := or(different, xor(mload(add($BLOCK, i)), mload(add($OURS, i))))
}",
            &[
                ("PAD", &(self.map.mu + 32 * lanes)),
                ("LASTLANE", &(self.map.mu + 32 * (blocks * RATE - 1))),
                ("TOP", &literal(U256::ONE << 63)),
                ("MU", &self.map.mu),
                ("END", &(self.map.mu + 32 * RATE * blocks)),
                ("RATELEN", &(32 * RATE)),
                ("BLOCK", &memory::BLOCK),
                ("CHUNKS", &p.c_tilde_len.div_ceil(32)),
                ("DATA", &self.map.data),
                ("SIGNATURE", &self.signature()),
                ("CLEN", &p.c_tilde_len),
                ("OURS", &self.map.z),
                ("LANES", &(4 * p.c_tilde_len)),
            ],
        ));
        text
    }
}
