//! The operations of random programs, each with what it is on integers.

use super::{Known, Program, mask};
use crate::reference::Q;
use crate::terms::{Compare, Extreme, Lit};

type Step = fn(&mut Program);

pub(super) const STEPS: [Step; 22] = [
    Program::constant_step,
    Program::sum,
    Program::sum,
    Program::low_product,
    Program::whole_product,
    Program::part,
    Program::extension,
    Program::shift,
    Program::complement,
    Program::gates,
    Program::magnitude,
    Program::extreme,
    Program::comparison,
    Program::one_bit,
    Program::choice,
    Program::repetition,
    Program::saturation,
    Program::mixture,
    Program::montgomery,
    Program::quotient,
    Program::correction,
    Program::remainder,
];

impl Program {
    fn constant_step(&mut self) {
        let width = self.width();
        let known = self.edge(width);
        self.words.push(known);
    }

    fn added(&mut self, a: &Known, b: &Known) -> Known {
        let id = self.terms.add(a.id, b.id);
        self.push(id, a.width, |n| a.values[n].wrapping_add(b.values[n]))
    }

    fn subtracted(&mut self, a: &Known, b: &Known) -> Known {
        let id = self.terms.sub(a.id, b.id);
        self.push(id, a.width, |n| a.values[n].wrapping_sub(b.values[n]))
    }

    fn multiplied(&mut self, a: &Known, b: &Known) -> Known {
        let id = self.terms.mul(a.id, b.id);
        self.push(id, a.width, |n| a.values[n].wrapping_mul(b.values[n]))
    }

    fn wide(&mut self, a: &Known, b: &Known, is_signed: bool) -> Known {
        let id = self.terms.wide(a.id, b.id, is_signed);
        let read = |known: &Known, n: usize| match is_signed {
            true => known.signed(n),
            false => known.values[n].into(),
        };
        self.push(id, 2 * a.width, |n| (read(a, n) * read(b, n)) as u64)
    }

    fn sliced(&mut self, a: &Known, from: u8, width: u8) -> Known {
        let id = self.terms.slice(a.id, from, width);
        self.push(id, width, |n| a.values[n] >> from)
    }

    fn sum(&mut self) {
        let a = self.word();
        let b = self.other(a.width);
        match self.below(3) {
            0 => self.added(&a, &b),
            1 => self.subtracted(&a, &b),
            _ => self.subtracted(&b, &a),
        };
    }

    fn low_product(&mut self) {
        let a = self.word();
        let b = self.other(a.width);
        self.multiplied(&a, &b);
    }

    fn whole_product(&mut self) {
        let a = self.word();
        if a.width <= 32 {
            let (b, is_signed) = (self.other(a.width), self.chance(2));
            self.wide(&a, &b, is_signed);
        }
    }

    fn part(&mut self) {
        let a = self.word();
        let width = 1 + self.below(a.width.into()) as u8;
        let from = match self.below(3) {
            0 => 0,
            1 => a.width - width,
            _ => self.below(u64::from(a.width - width) + 1) as u8,
        };
        self.sliced(&a, from, width);
    }

    fn extension(&mut self) {
        let a = self.word();
        let (to, is_signed) = (self.width().max(a.width), self.chance(2));
        let mut bits = self.bits(&a);
        let top = if is_signed { bits[bits.len() - 1] } else { 0 };
        bits.resize(to.into(), top);
        self.push_bits(&bits, |n| match is_signed {
            true => a.signed(n) as u64,
            false => a.values[n],
        });
    }

    fn shift(&mut self) {
        let a = self.word();
        let (width, kind) = (usize::from(a.width), self.below(4));
        let by = self.below(a.width.into()) as usize;
        let bits = self.bits(&a);
        let moved: Vec<Lit> = (0..width)
            .map(|at| match kind {
                0 => at.checked_sub(by).map_or(0, |at| bits[at]),
                1 => bits.get(at + by).copied().unwrap_or(0),
                2 => bits[(at + by).min(width - 1)],
                _ => bits[(at + by) % width],
            })
            .collect();
        self.push_bits(&moved, |n| {
            let doubled = u128::from(a.values[n]) << width | u128::from(a.values[n]);
            match kind {
                0 => a.values[n] << by,
                1 => a.values[n] >> by,
                2 => (a.signed(n) >> by) as u64,
                _ => (doubled >> by) as u64,
            }
        });
    }

    fn complement(&mut self) {
        let a = self.word();
        let bits: Vec<Lit> = self.bits(&a).iter().map(|bit| bit ^ 1).collect();
        self.push_bits(&bits, |n| !a.values[n]);
    }

    fn gates(&mut self) {
        let a = self.word();
        let (b, kind) = (self.other(a.width), self.below(3));
        let pairs: Vec<_> = self.bits(&a).into_iter().zip(self.bits(&b)).collect();
        let t = &mut self.terms;
        let gate = |(x, y)| match kind {
            0 => t.and(x, y),
            1 => t.or(x, y),
            _ => t.xor(x, y),
        };
        let bits: Vec<Lit> = pairs.into_iter().map(gate).collect();
        self.push_bits(&bits, |n| match kind {
            0 => a.values[n] & b.values[n],
            1 => a.values[n] | b.values[n],
            _ => a.values[n] ^ b.values[n],
        });
    }

    fn magnitude(&mut self) {
        let a = self.word();
        if a.width > 1 {
            let id = self.terms.abs(a.id);
            self.push(id, a.width, |n| a.signed(n).unsigned_abs() as u64);
        }
    }

    /// Of a word and another or the sum with a constant.
    fn extreme(&mut self) {
        let a = self.word();
        let b = self.other(a.width);
        let b = if self.chance(2) {
            self.added(&a, &b)
        } else {
            b
        };
        use Extreme::{MaxSigned, MaxUnsigned, MinSigned, MinUnsigned};
        let kinds = [MinUnsigned, MinUnsigned, MaxUnsigned, MinSigned, MaxSigned];
        let kind = kinds[self.below(5) as usize];
        let id = self.terms.extreme(kind, a.id, b.id);
        self.push(id, a.width, |n| {
            let (x, y) = (a.values[n], b.values[n]);
            match kind {
                MinUnsigned => x.min(y),
                MaxUnsigned => x.max(y),
                MinSigned => a.signed(n).min(b.signed(n)) as u64,
                MaxSigned => a.signed(n).max(b.signed(n)) as u64,
            }
        });
    }

    fn compared(&mut self, kind: Compare, a: &Known, b: &Known) -> (Lit, Vec<u64>) {
        let lit = self.terms.compare(kind, a.id, b.id);
        let holds = |n: usize| match kind {
            Compare::Equal => a.values[n] == b.values[n],
            Compare::GreaterSigned => a.signed(n) > b.signed(n),
            Compare::GreaterUnsigned => a.values[n] > b.values[n],
        };
        let values: Vec<u64> = (0..self.cases).map(|n| holds(n).into()).collect();
        self.bits.push((lit, values.clone()));
        (lit, values)
    }

    pub(super) fn comparison(&mut self) {
        let a = self.word();
        let b = if self.chance(2) {
            self.edge(a.width)
        } else {
            self.other(a.width)
        };
        use Compare::{Equal, GreaterSigned, GreaterUnsigned};
        let kind = [Equal, GreaterSigned, GreaterSigned, GreaterUnsigned][self.below(4) as usize];
        match self.chance(2) {
            true => self.compared(kind, &a, &b),
            false => self.compared(kind, &b, &a),
        };
    }

    fn one_bit(&mut self) {
        let a = self.word();
        let at = if self.chance(2) {
            a.width - 1
        } else {
            self.below(a.width.into()) as u8
        };
        let lit = self.bits(&a)[usize::from(at)];
        let values = a.values.iter().map(|v| v >> at & 1).collect();
        self.bits.push((lit, values));
    }

    /// One of two words by a literal: as an operation, by its bits, or a word and zero.
    fn choice(&mut self) {
        let a = self.word();
        let (b, (lit, values)) = (self.other(a.width), self.lit());
        if self.chance(3) {
            let id = self.terms.select(lit, a.id, b.id);
            let chosen = |n: usize| if values[n] == 1 { &a } else { &b }.values[n];
            self.push(id, a.width, chosen);
            return;
        }
        let (x, y) = (self.bits(&a), self.bits(&b));
        let keeps = self.chance(2);
        let t = &mut self.terms;
        let bit = |(x, y)| {
            if keeps {
                t.and(lit, x)
            } else {
                t.mux(lit, x, y)
            }
        };
        let bits: Vec<Lit> = x.into_iter().zip(y).map(bit).collect();
        self.push_bits(&bits, |n| match (values[n], keeps) {
            (1, _) => a.values[n],
            (_, true) => 0,
            (_, false) => b.values[n],
        });
    }

    /// The word with a literal at the places of a number.
    fn repeated(&mut self, width: u8, places: u64, (lit, values): &(Lit, Vec<u64>)) -> Known {
        let bits: Vec<Lit> = (0..width).map(|n| (places >> n & 1) as Lit * lit).collect();
        self.push_bits(&bits, |n| places * values[n])
    }

    /// A mask of a literal, which is added to a word or subtracted.
    fn repetition(&mut self) {
        let (a, lit) = (self.word(), self.lit());
        let places = if self.chance(2) {
            mask(a.width)
        } else {
            self.number(a.width)
        };
        let repeated = self.repeated(a.width, places, &lit);
        if self.chance(2) {
            self.added(&a, &repeated);
        } else {
            self.subtracted(&a, &repeated);
        }
    }

    fn saturation(&mut self) {
        let a = self.word();
        let to = [8, 16, 32][self.below(3) as usize];
        if to >= a.width {
            let id = self.terms.count_ones(a.id, 8);
            self.push(id, 8, |n| a.values[n].count_ones().into());
            return;
        }
        let (low, high) = match self.chance(2) {
            true => (0, mask(to) as i64),
            false => (-1 << (to - 1), mask(to - 1) as i64),
        };
        let id = self.terms.clamp(a.id, low, high, to);
        self.push(id, to, |n| {
            a.signed(n).clamp(low.into(), high.into()) as u64
        });
    }

    /// The low bits of one word below the high bits of another, or both words.
    fn mixture(&mut self) {
        let a = self.word();
        let b = self.other(a.width);
        let (x, y) = (self.bits(&a), self.bits(&b));
        if a.width <= 32 && self.chance(2) {
            self.push_bits(&[x, y].concat(), |n| a.values[n] | b.values[n] << a.width);
            return;
        }
        let cut = self.below(a.width.into()) as u8;
        let bits = [&x[..cut.into()], &y[cut.into()..]].concat();
        let low = mask(cut);
        self.push_bits(&bits, |n| a.values[n] & low | b.values[n] & !low);
    }

    /// Montgomery's reduction of a product.
    fn montgomery(&mut self) {
        let a = self.word();
        if a.width == 32 {
            let b = self.other(32);
            let (inverse, q) = (self.constant(32, 58_728_449), self.constant(32, Q.into()));
            let product = self.wide(&a, &b, true);
            let low = self.sliced(&product, 0, 32);
            let factor = self.multiplied(&low, &inverse);
            let multiple = self.wide(&factor, &q, true);
            let difference = self.subtracted(&product, &multiple);
            self.sliced(&difference, 32, 32);
        }
    }

    /// A word times a factor minus its quotient times q, as Barrett's and Shoup's reductions have it.
    fn quotient(&mut self) {
        let a = self.word();
        if a.width <= 32 {
            let (factor, reciprocal) = (self.edge(a.width), self.edge(a.width));
            let q = self.constant(a.width, Q.into());
            let is_signed = self.chance(2);
            let product = self.wide(&a, &reciprocal, is_signed);
            let quotient = self.sliced(&product, a.width, a.width);
            let (product, multiple) =
                (self.multiplied(&a, &factor), self.multiplied(&quotient, &q));
            self.subtracted(&product, &multiple);
        }
    }

    /// A word plus a number where its sign, that of its sum or a comparison says so.
    fn correction(&mut self) {
        let a = self.word();
        let constant = self.edge(a.width);
        let moved = match self.below(3) {
            0 => a.clone(),
            1 => self.added(&a, &constant),
            _ => self.subtracted(&constant, &a),
        };
        let condition = if self.chance(3) {
            self.compared(Compare::GreaterSigned, &a, &constant)
        } else {
            let top = self.bits(&moved)[usize::from(a.width) - 1];
            (
                top,
                moved.values.iter().map(|v| v >> (a.width - 1)).collect(),
            )
        };
        let places = self.number(a.width);
        let repeated = self.repeated(a.width, places, &condition);
        let base = if self.chance(2) { a } else { moved };
        match self.chance(2) {
            true => self.added(&base, &repeated),
            false => self.subtracted(&base, &repeated),
        };
    }

    /// The remainder of a division by a power of two.
    fn remainder(&mut self) {
        let a = self.word();
        if a.width < 2 {
            return;
        }
        let by = 1 + self.below(u64::from(a.width) - 1) as usize;
        let bits = self.bits(&a);
        let mut up = bits[by..].to_vec();
        up.resize(a.width.into(), bits[bits.len() - 1]);
        let floor = self.push_bits(&up, |n| (a.signed(n) >> by) as u64);
        let power = self.constant(a.width, 1 << by);
        let multiple = self.multiplied(&floor, &power);
        self.subtracted(&a, &multiple);
    }
}
