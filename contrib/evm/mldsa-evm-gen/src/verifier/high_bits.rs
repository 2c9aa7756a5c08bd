//! Algorithm 37 HighBits of the product, packed.

use mldsa_core::internals::Q;

use crate::asm::{Asm, Op};
use crate::lanes::{Layout, Q256, literal, ones};
use crate::ntt;

use super::Verifier;

impl Verifier<'_> {
    /// Address of the packed coefficients of w1 before the hints: words of 192 bits
    /// for 44 (over the tables), lanes of 64 bits for the others.
    pub(super) fn packed(&self) -> (usize, usize) {
        if self.layout.w1_bits() == 6 {
            (self.map.table, 32)
        } else {
            (self.map.w1(), 16)
        }
    }

    pub(super) fn pack(&self) -> String {
        let layout = self.layout;
        let (packed, per_word) = self.packed();
        (0..layout.inverse_groups())
            .map(|group| {
                format!(
                    "high({}, {})\n",
                    self.map.w + 8192 * group,
                    packed + 32 * (256 / per_word) * layout.inverse.count * group
                )
            })
            .collect()
    }

    /// `high(w, to)`: algorithm 37 HighBits of all lanes and their packing.
    pub(super) fn high(&self) -> String {
        let layout = self.layout;
        let lanes = layout.inverse;
        let bits = layout.w1_bits();
        let (_, per_word) = self.packed();
        let count = if bits == 6 { 8 } else { 16 };
        let rows_out = |source: &str, row: usize| {
            format!(
                "and(shr({}, {source}), {})",
                lanes.width * row,
                literal(ones(bits * count))
            )
        };
        let row_at = |row: usize| 32 * (256 / per_word) * row;
        let body = if bits == 6 {
            let zero: String = (0..lanes.count)
                .map(|row| format!("let a{row} := 0 "))
                .collect();
            let collect: String = (0..lanes.count)
                .map(|row| format!("a{row} := or(a{row}, shl(n, {}))\n", rows_out("v", row)))
                .collect();
            let store: String = (0..lanes.count)
                .map(|row| format!("mstore(add(to, {}), a{row})\n", row_at(row)))
                .collect();
            format!(
                "{zero}
        for {{ let n := 0 }} lt(n, 192) {{ n := add(n, 48) }} {{
            let v := {}
            {collect}w := add(w, 256)
        }}
        {store}",
                self.high_kernel(count)
            )
        } else {
            let store: String = (0..lanes.count)
                .map(|row| format!("mstore(add(to, {}), {})\n", row_at(row), rows_out("v", row)))
                .collect();
            format!(
                "let v := {}
        {store}w := add(w, 512)",
                self.high_kernel(count)
            )
        };
        format!(
            "function high(w, to) {{
    for {{ let e := add(w, 8192) }} lt(w, e) {{}} {{
        {body}
        to := add(to, 32)
    }}
}}"
        )
    }

    /// HighBits of `count` words, packed: with v below 2^31 in every lane, v is folded
    /// below 2^24, `t = (v >= q)`, and HighBits is `(v - t + gamma2 - 1) / (2 gamma2)`
    /// modulo its number of values, since q - 1 is a multiple of 2 gamma2.
    fn high_kernel(&self, count: usize) -> String {
        let layout = self.layout;
        let lanes = layout.inverse;
        let Division { factor, shift } = division(layout);
        let values = layout.w1_values();
        let bits = layout.w1_bits();
        let mut constants = vec![
            ("fold", HIGH_FOLD),
            ("carry", (1 << 24) - Q as u64),
            ("one", 1),
            ("round", layout.p.gamma2 as u64 - 1),
            ("mask", (1 << bits) - 1),
        ];
        if values == 44 {
            constants.push(("wrap", 64 - values));
        }
        let mut a = Asm::new(["w"].into_iter().chain(constants.iter().map(|c| c.0)));
        for n in 0..count {
            a.dup_add("w", 32 * n).op(&[Op::Mload]);
            a.dup_top()
                .push(23)
                .op(&[Op::Shr])
                .dup("fold")
                .op(&[Op::And]);
            a.push(Q256).op(&[Op::Mul]).swap(1).op(&[Op::Sub]);
            a.dup_top()
                .dup("carry")
                .op(&[Op::Add])
                .push(24)
                .op(&[Op::Shr]);
            a.dup("one").op(&[Op::And]).swap(1).op(&[Op::Sub]);
            a.dup("round").op(&[Op::Add]).push(factor).op(&[Op::Mul]);
            a.push(shift).op(&[Op::Shr]).dup("mask").op(&[Op::And]);
            if values == 44 {
                a.dup_top()
                    .dup("wrap")
                    .op(&[Op::Add])
                    .push(6)
                    .op(&[Op::Shr]);
                a.dup("one").op(&[Op::And]).push(values).op(&[Op::Mul]);
                a.swap(1).op(&[Op::Sub]);
            }
            if n > 0 {
                a.push(bits * n).op(&[Op::Shl, Op::Or]);
            }
        }
        a.swap(constants.len() + 1).pop(constants.len() + 1);
        let arguments: Vec<String> = ["w".to_owned()]
            .into_iter()
            .chain(
                constants
                    .iter()
                    .map(|&(_, value)| literal(ntt::word(lanes, value))),
            )
            .collect();
        a.verbatim(&arguments)
    }
}

/// Bits above the 23rd that HighBits folds.
pub const HIGH_FOLD: u64 = 0x1ff;

/// Division by 2 gamma2 as a product and a shift.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// `ceil(2^shift / (2 gamma2))`.
    pub factor: u64,
    /// Bits to drop.
    pub shift: usize,
}

/// The division of a set.
pub fn division(layout: &Layout) -> Division {
    let shift = 46;
    let range = 2 * layout.p.gamma2 as u64;
    Division {
        factor: (1u64 << shift).div_ceil(range),
        shift,
    }
}
