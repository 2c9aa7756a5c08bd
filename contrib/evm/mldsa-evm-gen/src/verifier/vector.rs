//! The vector of the product: the polynomials of z, and the challenge.

use mldsa_core::internals::Q;
use ruint::aliases::U256;

use crate::asm::{Asm, Op};
use crate::lanes::{literal, ones};
use crate::ntt;
use crate::yul::{fill, memory};

use super::Verifier;

impl Verifier<'_> {
    /// z into its lanes, with the bias, and its norm: algorithm 19 and line 13 of
    /// algorithm 8.
    pub(super) fn decode(&self) -> String {
        let layout = self.layout;
        let p = &layout.p;
        let bits = p.gamma1_bits as usize + 1;
        let (gamma1, beta) = (p.gamma1() as u64, p.beta() as u64);
        let bias = layout.start_bias * Q as u64;
        let mut text = String::from("let norms := not(0)\n");
        for group in 0..layout.forward_groups() {
            let polys: Vec<usize> = (0..p.l)
                .filter(|&column| layout.vector_place(column).0 == group)
                .collect();
            let shift = |poly: usize| layout.vector_place(poly).1;
            let each = polys
                .iter()
                .fold(U256::ZERO, |word, &poly| word | (U256::ONE << shift(poly)));
            // f = gamma1 - z; a bit above it, the guard, shows beta < f and
            // f < 2 gamma1 - beta.
            let guard = 1u64 << (bits + 1);
            let low = each * U256::from(guard - beta - 1);
            let high = each * U256::from(guard + 2 * gamma1 - beta - 1);
            let base = ntt::word(layout.forward, bias) + each * U256::from(gamma1);

            let chunk = |count: usize, target: &str| {
                let values = polys.iter().map(|poly| format!("v{poly}"));
                let masks = polys.iter().map(|poly| format!("m{poly}"));
                let rest = ["low", "high", "base", "norms"].map(String::from);
                let inputs: Vec<String> = [String::from("target")]
                    .into_iter()
                    .chain(values)
                    .chain(masks)
                    .chain(rest)
                    .collect();
                let mut a = Asm::new(inputs.clone());
                for i in 0..count {
                    for (n, &poly) in polys.iter().enumerate() {
                        a.dup(&format!("v{poly}")).shift(bits * i, shift(poly));
                        a.dup(&format!("m{poly}")).op(&[Op::And]);
                        if n > 0 {
                            a.op(&[Op::Or]);
                        }
                    }
                    a.name("f");
                    a.dup("f").dup("low").op(&[Op::Add]);
                    a.dup("f").dup("high").op(&[Op::Sub, Op::And]);
                    a.dup("norms").op(&[Op::And]).swap_into("norms").pop(1);
                    a.dup("base").op(&[Op::Sub]).dup_add("target", 32 * i);
                    a.op(&[Op::Mstore]);
                }
                a.pop(inputs.len() - 1);
                let loads = polys
                    .iter()
                    .map(|&poly| format!("bswap(calldataload(add(s, {})))", poly * p.z_poly_len()));
                let masks = polys.iter().map(|&poly| literal(ones(bits) << shift(poly)));
                let arguments: Vec<String> = [target.to_owned()]
                    .into_iter()
                    .chain(loads)
                    .chain(masks)
                    .chain([low, high, base].map(literal))
                    .chain([String::from("norms")])
                    .collect();
                a.verbatim(&arguments)
            };
            let start = self.map.z + 8192 * group;
            text.push_str(&fill(
                "{
    let s := $FROM
    for { let d := $START } lt(d, $LAST) { d := add(d, 384) } {
        norms := $TWELVE
        s := add(s, $STEP)
    }
    norms := $FOUR
}
if iszero(eq(and(norms, $GUARDS), $GUARDS)) { fail() }
norms := not(0)\n",
                &[
                    ("FROM", &(self.signature() + p.c_tilde_len)),
                    ("STEP", &(12 * bits / 8)),
                    ("START", &start),
                    ("LAST", &(start + 252 * 32)),
                    ("TWELVE", &chunk(12, "d")),
                    ("FOUR", &chunk(4, &(start + 252 * 32).to_string())),
                    ("GUARDS", &literal(each * U256::from(guard))),
                ],
            ));
        }
        text
    }

    /// Algorithm 29 SampleInBall into the lane of c, which is the lowest of the last
    /// group.
    pub(super) fn challenge(&self) -> String {
        let p = &self.layout.p;
        let group = self.layout.forward_groups() - 1;
        fill(
            include_str!("../../templates/challenge.yul").trim_end(),
            &[
                ("DATA", &self.map.data),
                ("SIGNATURE", &self.signature()),
                ("CLEN", &p.c_tilde_len),
                ("BLOCK", &memory::BLOCK),
                ("SECOND", &(memory::BLOCK + 32)),
                ("FIRST", &(256 - p.tau)),
                ("Z", &(self.map.z + 8192 * group)),
                ("LANE", &literal(ones(self.layout.forward.width))),
                (
                    "BIAS",
                    &literal(U256::from(self.layout.start_bias * Q as u64)),
                ),
            ],
        )
    }
}
