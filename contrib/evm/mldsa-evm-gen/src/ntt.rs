//! The two transforms on words of lanes: which butterflies, with which multiples of
//! q, and the EVM code and the bounds that follow from them.
//!
//! Each direction has three stages of 3, 3 and 2 layers, which keep 8, 8 and 4 words
//! on the stack. Products by zeta are Shoup's: with `z' = floor(zeta 2^s / q)`,
//! `r = y zeta - floor(y z' / 2^s) q` is in `[0, q (1 + y / 2^s)]`.

use mldsa_core::internals::{N, Q};
use ruint::aliases::U256;

use crate::asm::{Asm, Op};
use crate::lanes::{Lanes, Layout, Q256, literal, ones, repeat};

const Q64: u64 = Q as u64;
/// Pairs of a table of zetas.
pub const ZETAS: usize = 248;
/// Bytes between the quotients of a table and its zetas.
pub const ZETA_OFFSET: usize = 32 * ZETAS;
/// Bytes of a table in memory.
pub const TABLE_LEN: usize = 2 * ZETA_OFFSET;
/// Offset of the part of the third stage in a table.
const THIRD: usize = 8 * 7;

/// The zetas of FIPS 204 in bit-reversed order.
pub fn zetas() -> [u64; N] {
    core::array::from_fn(|i| {
        let mut power = (i as u8).reverse_bits();
        let (mut base, mut zeta) = (1753u64, 1);
        while power > 0 {
            if power & 1 == 1 {
                zeta = zeta * base % Q64;
            }
            base = base * base % Q64;
            power >>= 1;
        }
        zeta
    })
}

/// Shoup's quotient of a zeta.
pub fn quotient(zeta: u64, bits: usize) -> u64 {
    (zeta << bits) / Q64
}

/// The zetas that the tables hold, in the order in which the second and third stage
/// need them.
pub fn table_zetas() -> Vec<u64> {
    let zetas = zetas();
    let second = (0..8).flat_map(|b| {
        [
            8 + b,
            16 + 2 * b,
            17 + 2 * b,
            32 + 4 * b,
            33 + 4 * b,
            34 + 4 * b,
            35 + 4 * b,
        ]
    });
    let third = (0..64).flat_map(|b| [64 + b, 128 + 2 * b, 129 + 2 * b]);
    second.chain(third).map(|i| zetas[i]).collect()
}

/// Source of a factor.
#[derive(Clone, Copy, Debug)]
pub enum Zeta {
    /// Entry of the array of FIPS 204, written into the code.
    Constant(usize),
    /// Entry at this offset from the table pointer.
    Table(usize),
}

/// One step of a kernel on its words.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Every lane of x below 2^31 to below 2^23 + 2^21.
    Fold(usize),
    /// Cooley and Tukey: `r = zeta y`, `(x, y) = (x + r, x - r + bias)`.
    Forward(usize, usize, Zeta),
    /// Gentleman and Sande: `(x, y) = (x + y, zeta (y - x + bias))`.
    Inverse(usize, usize, Zeta),
}

/// A kernel: words that it loads, and what it does with them.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Words on the stack.
    pub words: usize,
    /// Bytes between them in memory.
    pub stride: usize,
    /// Operation on them.
    pub steps: Vec<Step>,
    /// Multiple of q that keeps differences non-negative; zero for none.
    pub bias: u64,
    lanes: Lanes,
}

/// The layers of a kernel of `words` words: pairs, and the number of the zeta within
/// the kernel, which counts 1, 2 3, 4 5 6 7 from the widest layer down.
fn pairs(words: usize) -> Vec<(usize, usize, usize)> {
    let mut list = Vec::new();
    let mut distance = words / 2;
    while distance > 0 {
        let blocks = words / (2 * distance);
        for block in 0..blocks {
            for i in 0..distance {
                let x = 2 * distance * block + i;
                list.push((x, x + distance, blocks + block));
            }
        }
        distance /= 2;
    }
    list
}

/// The kernels of the forward transform by stage.
pub fn forward(layout: &Layout) -> [Kernel; 3] {
    let kernel = |stage: usize, bias| {
        let (words, stride) = [(8, 1024), (8, 128), (4, 32)][stage];
        let mut steps = Vec::new();
        if layout.tight && stage > 0 {
            steps.extend((0..words).map(Step::Fold));
        }
        steps.extend(pairs(words).into_iter().map(|(x, y, n)| {
            let zeta = if stage == 0 {
                Zeta::Constant(n)
            } else {
                Zeta::Table(n - 1)
            };
            Step::Forward(x, y, zeta)
        }));
        Kernel {
            words,
            stride,
            steps,
            bias: if layout.tight { bias } else { 0 },
            lanes: layout.forward,
        }
    };
    [kernel(0, 3), kernel(1, 3), kernel(2, 2)]
}

/// The kernels of the inverse transform in the order in which they run: third stage,
/// second, first. Blocks take their zetas from the end of a layer, so a kernel's
/// numbers are mirrored within the layer.
pub fn inverse(layout: &Layout) -> [Kernel; 3] {
    let kernel = |stage: usize| {
        let (words, stride) = [(8, 1024), (8, 128), (4, 32)][stage];
        let mut list = pairs(words);
        list.reverse();
        let steps = list.into_iter().map(|(x, y, n)| {
            let blocks = 1 << n.ilog2();
            let mirrored = 3 * blocks - 1 - n;
            let zeta = if stage == 0 {
                Zeta::Constant(mirrored)
            } else {
                Zeta::Table(mirrored - 1)
            };
            Step::Inverse(x, y, zeta)
        });
        Kernel {
            words,
            stride,
            steps: steps.collect(),
            bias: 128,
            lanes: layout.inverse,
        }
    };
    [kernel(2), kernel(1), kernel(0)]
}

impl Kernel {
    fn uses_table(&self) -> bool {
        self.steps.iter().any(|step| {
            matches!(
                step,
                Step::Forward(_, _, Zeta::Table(_)) | Step::Inverse(_, _, Zeta::Table(_))
            )
        })
    }

    /// The Yul call on the words at `base`, with the zetas at `table`.
    pub fn call(&self, base: &str, table: &str) -> String {
        let Lanes {
            count,
            width,
            quotient,
            ..
        } = self.lanes;
        let mut inputs = vec!["base"];
        let mut arguments = vec![base.to_owned()];
        if self.uses_table() {
            inputs.push("table");
            arguments.push(table.to_owned());
        }
        inputs.push("mask");
        arguments.push(literal(repeat(ones(quotient), count, width)));
        if self.bias > 0 {
            inputs.push("bias");
            arguments.push(literal(repeat(self.bias * Q64, count, width)));
        }
        let mut a = Asm::new(inputs.iter().copied());
        for word in 0..self.words {
            a.dup_add("base", word * self.stride);
            a.op(&[Op::Mload]).name(format!("x{word}"));
            // Folds come first, and on the word just loaded they are free of swaps.
            if self
                .steps
                .iter()
                .any(|step| matches!(step, Step::Fold(x) if *x == word))
            {
                self.fold(&mut a);
                a.name(format!("x{word}"));
            }
        }
        for step in &self.steps {
            match *step {
                Step::Fold(_) => {}
                Step::Forward(x, y, zeta) => {
                    let (x, y) = (format!("x{x}"), format!("x{y}"));
                    a.dup(&y);
                    self.multiply(&mut a, zeta);
                    a.dup_top().dup(&x).op(&[Op::Add]).swap_into(&x);
                    if self.bias > 0 {
                        a.dup("bias").op(&[Op::Add]);
                    }
                    a.op(&[Op::Sub]).swap_into(&y).pop(1);
                }
                Step::Inverse(x, y, zeta) => {
                    let (x, y) = (format!("x{x}"), format!("x{y}"));
                    a.dup(&x).dup(&y).op(&[Op::Sub]).dup("bias").op(&[Op::Add]);
                    a.dup(&y).dup(&x).op(&[Op::Add]).swap_into(&x).pop(1);
                    self.multiply(&mut a, zeta);
                    a.swap_into(&y).pop(1);
                }
            }
        }
        for word in (0..self.words).rev() {
            a.dup_add("base", word * self.stride).op(&[Op::Mstore]);
        }
        a.pop(inputs.len());
        a.verbatim(&arguments)
    }

    /// The top times zeta.
    fn multiply(&self, a: &mut Asm, zeta: Zeta) {
        let factor = |a: &mut Asm, quotients: bool| match zeta {
            Zeta::Constant(n) => {
                let zeta = zetas()[n];
                a.push(if quotients {
                    quotient(zeta, self.lanes.shoup)
                } else {
                    zeta
                });
            }
            Zeta::Table(n) => {
                let offset = 32 * n + if quotients { 0 } else { ZETA_OFFSET };
                a.dup_add("table", offset).op(&[Op::Mload]);
            }
        };
        a.dup_top();
        factor(a, true);
        a.op(&[Op::Mul]).push(self.lanes.shoup).op(&[Op::Shr]);
        a.dup("mask").op(&[Op::And]).push(Q256).op(&[Op::Mul]);
        a.swap(1);
        factor(a, false);
        a.op(&[Op::Mul, Op::Sub]);
    }

    /// The top modulo 2^23, plus what the bits above are modulo q.
    fn fold(&self, a: &mut Asm) {
        let Lanes { count, width, .. } = self.lanes;
        a.dup_top().push(23).op(&[Op::Shr]);
        a.push(repeat(FOLD_MASK, count, width)).op(&[Op::And]);
        a.push(Q256).op(&[Op::Mul]).swap(1).op(&[Op::Sub]);
    }

    /// The range of every word after the kernel, from its range before, having
    /// checked that no lane overflows or is negative on the way.
    pub fn bounds(&self, before: &[Range]) -> Result<Vec<Range>, String> {
        let Lanes {
            width,
            shoup,
            quotient: kept,
            ..
        } = self.lanes;
        let mut words = before.to_vec();
        let bias = u128::from(self.bias * Q64);
        let q = u128::from(Q64);
        let fits = |value: u128, what: &str| {
            let limit = 1u128 << width;
            if value < limit {
                Ok(value)
            } else {
                Err(format!("{what}: {value} of {limit}"))
            }
        };
        // Every zeta and quotient is at most that of q - 1.
        let product = |y: u128| {
            let quotient = fits(y * u128::from(quotient(Q64 - 1, shoup)), "y z'")? >> shoup;
            if quotient >> kept != 0 || kept + shoup > width {
                return Err(format!("quotient {quotient} of {kept} bits"));
            }
            fits(y * (q - 1), "y zeta")?;
            Ok(q + ((y * q) >> shoup))
        };
        for step in &self.steps {
            match *step {
                Step::Fold(x) => {
                    let high = words[x].high;
                    if high >> 23 > u128::from(FOLD_MASK) {
                        return Err(format!("fold of {high}"));
                    }
                    words[x] = Range {
                        low: 0,
                        high: (1 << 23) - 1 + (high >> 23) * ((1 << 23) - q),
                    };
                }
                Step::Forward(x, y, _) => {
                    let r = product(words[y].high)?;
                    let low = words[x].low + bias;
                    words[y] = Range {
                        low: low.checked_sub(r).ok_or("x - r below zero")?,
                        high: fits(words[x].high + bias, "x - r")?,
                    };
                    words[x].high = fits(words[x].high + r, "x + r")?;
                }
                Step::Inverse(x, y, _) => {
                    let difference = words[y].low + bias;
                    difference
                        .checked_sub(words[x].high)
                        .ok_or("y - x below zero")?;
                    let r = product(fits(words[y].high + bias - words[x].low, "y - x")?)?;
                    words[x] = Range {
                        low: words[x].low + words[y].low,
                        high: fits(words[x].high + words[y].high, "x + y")?,
                    };
                    words[y] = Range { low: 0, high: r };
                }
            }
        }
        Ok(words)
    }
}

/// Values of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Smallest.
    pub low: u128,
    /// Largest.
    pub high: u128,
}

/// Bits above the 23rd that a fold takes.
const FOLD_MASK: u64 = 0xff;

/// The Yul functions `ntt(base)` and `intt(base)` on 256 words, with the table at
/// `table` in memory.
pub fn functions(layout: &Layout, table: usize) -> String {
    let forward = forward_function(layout, table);
    format!("{forward}\n{}", inverse_function(layout, table))
}

/// The Yul function `ntt(base)` alone.
pub fn forward_function(layout: &Layout, table: usize) -> String {
    let [first, second, third] = forward(layout);
    let third_table = table + 32 * THIRD;
    format!(
        "function ntt(base) {{
    for {{ let e := add(base, 1024) let x := base }} lt(x, e) {{ x := add(x, 32) }} {{ {} }}
    let t := {table}
    for {{ let e := add(base, 8192) let x := base }} lt(x, e) {{ x := add(x, 1024) }} {{
        for {{ let y := x let f := add(x, 128) }} lt(y, f) {{ y := add(y, 32) }} {{ {} }}
        t := add(t, 224)
    }}
    t := {third_table}
    for {{ let e := add(base, 8192) let x := base }} lt(x, e) {{ x := add(x, 128) }} {{
        {}
        t := add(t, 96)
    }}
}}",
        first.call("x", ""),
        second.call("y", "t"),
        third.call("x", "t"),
    )
}

/// The Yul function `intt(base)` alone.
fn inverse_function(layout: &Layout, table: usize) -> String {
    let [third, second, first] = inverse(layout);
    let third_end = table + 32 * (THIRD + 63 * 3);
    let second_end = table + 32 * 7 * 7;
    format!(
        "function intt(base) {{
    let t := {third_end}
    for {{ let e := add(base, 8192) let x := base }} lt(x, e) {{ x := add(x, 128) }} {{
        {}
        t := sub(t, 96)
    }}
    t := {second_end}
    for {{ let e := add(base, 8192) let x := base }} lt(x, e) {{ x := add(x, 1024) }} {{
        for {{ let y := x let f := add(x, 128) }} lt(y, f) {{ y := add(y, 32) }} {{ {} }}
        t := sub(t, 224)
    }}
    for {{ let e := add(base, 1024) let x := base }} lt(x, e) {{ x := add(x, 32) }} {{ {} }}
}}",
        third.call("x", "t"),
        second.call("y", "t"),
        first.call("x", ""),
    )
}

/// The word of which every lane holds `value`.
pub fn word(lanes: Lanes, value: u64) -> U256 {
    repeat(value, lanes.count, lanes.width)
}
