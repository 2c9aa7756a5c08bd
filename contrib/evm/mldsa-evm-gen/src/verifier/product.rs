//! The matrix words and their product with the vector.

use crate::asm::{Asm, Op};
use crate::key;
use crate::lanes::{Q256, literal, ones, repeat};
use crate::yul::fill;

use super::{Verifier, Words};

impl Verifier<'_> {
    /// The matrix words of an inverse group to memory.
    pub(super) fn load_words(&self, group: usize) -> String {
        let len = self.layout.group_len();
        match self.words {
            Words::Calldata => {
                format!(
                    "calldatacopy({}, {}, {len})\n",
                    self.map.data,
                    64 + group * len
                )
            }
            Words::Code => key::segments(self.layout)
                .into_iter()
                .filter(|segment| segment.group == group)
                .map(|segment| {
                    format!(
                        "extcodecopy(part{}, {}, {}, {})\n",
                        segment.part,
                        self.map.data + segment.to,
                        segment.from,
                        segment.len
                    )
                })
                .collect(),
        }
    }

    /// `product(w)`: the rows of a group times z and c, each lane below q.
    pub(super) fn product(&self) -> String {
        let layout = self.layout;
        let steps = layout.steps;
        let halves = 256 / steps;
        let mut a = Asm::new(["z", "a", "w", "mask"]);
        let slots = layout.slots();
        let mut loaded = 0;
        for half in 0..halves {
            for group in 0..layout.forward_groups() {
                let offset = 8192 * group + 32 * steps * half;
                a.dup_add("z", offset)
                    .op(&[Op::Mload])
                    .name(format!("z{group}"));
                loaded += 1;
            }
            for row in 0..layout.inverse.count {
                a.push(Q256);
                let mut terms = 0;
                for (word, word_slots) in slots.iter().enumerate() {
                    for (slot, &(r, group, h)) in word_slots.iter().enumerate() {
                        if (r, h) != (row, half) {
                            continue;
                        }
                        a.dup_add("a", 32 * word).op(&[Op::Mload]);
                        a.shift(layout.spacing * slot, 0);
                        a.dup("mask").op(&[Op::And]);
                        a.dup(&format!("z{group}")).op(&[Op::Mul]);
                        if terms > 0 {
                            a.op(&[Op::Add]);
                        }
                        terms += 1;
                    }
                }
                a.push(layout.sum_shift()).op(&[Op::Shr, Op::Mod]);
                if row > 0 {
                    a.push(layout.inverse.width * row).op(&[Op::Shl, Op::Or]);
                }
            }
            a.dup_add("w", 32 * steps * half).op(&[Op::Mstore]);
        }
        a.pop(loaded + 4);
        let mask = repeat(ones(23), layout.forward.count, layout.forward.width) << layout.lift();
        let call = a.verbatim(
            &["z", "a", "w"]
                .map(String::from)
                .into_iter()
                .chain([literal(mask)])
                .collect::<Vec<_>>(),
        );
        fill(
            "function product(w) {
    let a := $DATA
    for { let z := $Z } lt(z, $END) { z := add(z, 32) } {
        $CALL
        a := add(a, $STRIDE)
        w := add(w, 32)
    }
}",
            &[
                ("DATA", &self.map.data),
                ("Z", &self.map.z),
                ("END", &(self.map.z + 32 * steps)),
                ("CALL", &call),
                ("STRIDE", &(32 * layout.words)),
            ],
        )
    }
}
