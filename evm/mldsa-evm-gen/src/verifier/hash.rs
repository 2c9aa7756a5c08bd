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
                ("COUNTS", (hint + p.omega).to_string()),
                ("OMEGA", p.omega.to_string()),
                ("HINT", hint.to_string()),
                ("K", p.k.to_string()),
                ("WIDTH", layout.inverse.width.to_string()),
                ("W", self.map.w.to_string()),
                ("ROWLEN", (32 * 256 / per_word).to_string()),
                ("ROWS", layout.inverse.count.to_string()),
                ("PACKED", packed.to_string()),
                ("Q", Q.to_string()),
                ("ROUND", (p.gamma2 - 1).to_string()),
                ("RANGE", (2 * p.gamma2).to_string()),
                ("VALUES", layout.w1_values().to_string()),
                ("LESS", (layout.w1_values() - 1).to_string()),
                ("LOG", per_word.ilog2().to_string()),
                ("BITS", layout.w1_bits().to_string()),
                ("INDEX", (per_word - 1).to_string()),
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
                    ("TO", self.map.w1().to_string()),
                    ("PACKED", self.map.table.to_string()),
                    ("END", (self.map.table + 32 * 8 * p.k).to_string()),
                    ("WORD", literal(ones(64))),
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
                ("PAD", (self.map.mu + 32 * lanes).to_string()),
                (
                    "LASTLANE",
                    (self.map.mu + 32 * (blocks * RATE - 1)).to_string(),
                ),
                ("TOP", literal(U256::ONE << 63)),
                ("MU", self.map.mu.to_string()),
                ("END", (self.map.mu + 32 * RATE * blocks).to_string()),
                ("RATELEN", (32 * RATE).to_string()),
                ("BLOCK", memory::BLOCK.to_string()),
                ("CHUNKS", p.c_tilde_len.div_ceil(32).to_string()),
                ("DATA", self.map.data.to_string()),
                ("SIGNATURE", self.signature().to_string()),
                ("CLEN", p.c_tilde_len.to_string()),
                ("OURS", self.map.z.to_string()),
                ("LANES", (4 * p.c_tilde_len).to_string()),
            ],
        ));
        text
    }
}
