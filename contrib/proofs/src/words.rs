//! Operations on words, with what they are for constants and the form of their result.

use crate::forms::{Form, UNKNOWN};
use crate::memory::constant_bits;
use crate::terms::{
    Compare, Extreme, Fill, Lit, Op, Terms, WordId, any_of, extended, is_any, mask, number,
    sign_extended,
};

impl Terms {
    /// Whether a word has bits about which nothing is known.
    pub(crate) fn is_any(&self, words: &[WordId]) -> bool {
        words.iter().any(|&word| self.words[word as usize].is_any)
    }

    /// A word that depends on others, of which only so many bits may be set.
    fn any(&mut self, of: &[WordId], width: u8, used: u8) -> WordId {
        let all: Vec<_> = of.iter().flat_map(|&word| self.bits(word)).collect();
        let any = any_of(&all);
        let bits: Vec<_> = (0..width).map(|n| if n < used { any } else { 0 }).collect();
        self.gather(&bits)
    }

    /// A sum or the like of two words of which not all bits are known: each of its bits follows from
    /// those of both words that are not above it. A program may load a number with the padding after it.
    fn low_bits(&mut self, a: WordId, b: WordId, f: fn(u64, u64) -> u64) -> WordId {
        let (x, y) = (self.bits(a), self.bits(b));
        let known = x
            .iter()
            .zip(&y)
            .take_while(|(x, y)| **x < 2 && **y < 2)
            .count();
        let value = |bits: &[Lit]| number(&bits[..known], |bit| bit == 1);
        let mut bits = constant_bits(f(value(&x), value(&y)), known);
        let mut any = any_of(&[]);
        bits.extend(x.iter().zip(&y).skip(known).map(|(&x, &y)| {
            any = any_of(&[any, x, y]);
            any
        }));
        self.gather(&bits)
    }

    /// A comparison of such words, where the bits that are known decide it.
    fn compare_any(&mut self, kind: Compare, a: WordId, b: WordId) -> Lit {
        let bits = [self.bits(a), self.bits(b)];
        let any = any_of(bits.iter().flatten());
        let [(low_a, high_a), (low_b, high_b)] =
            bits.map(|bits| (number(&bits, |bit| bit == 1), number(&bits, |bit| bit > 0)));
        match kind {
            Compare::Equal if low_a > high_b || low_b > high_a => 0,
            Compare::GreaterUnsigned if low_a > high_b => 1,
            Compare::GreaterUnsigned if high_a <= low_b => 0,
            _ => any,
        }
    }

    pub(crate) fn slice(&mut self, word: WordId, from: u8, width: u8) -> WordId {
        let w = &self.words[word as usize];
        if from == 0 && width == w.width {
            return word;
        }
        if w.is_any {
            let bits = self.bits(word);
            return self.gather(&bits[from.into()..usize::from(from + width)]);
        }
        match w.op {
            Op::Const(value) => return self.constant(width, value >> from),
            Op::Slice(inner, more) => return self.slice(inner, more + from, width),
            // The low half of a product does not depend on how its factors are extended.
            Op::Wide(a, b, _)
                if from == 0 && 2 * width == w.width && self.as_constant(b).is_some() =>
            {
                return self.mul(a, b);
            }
            _ => {}
        }
        self.word(width, Op::Slice(word, from), |t| {
            let w = &t.words[word as usize];
            let hint = (w.high < UNKNOWN).then_some((w.low >> from, w.high >> from));
            let form = w.form.clone();
            (t.floor(&form, from), hint)
        })
    }

    pub(crate) fn repeat(&mut self, width: u8, lit: Lit, places: u64) -> WordId {
        let signed = sign_extended(places, width);
        self.word(width, Op::Repeat(lit, places), |t| {
            (t.bool_form(lit).scaled(signed.into()), None)
        })
    }

    pub(crate) fn extend(&mut self, core: WordId, up: u8, fill: Fill, width: u8) -> WordId {
        if let Some(value) = self.as_constant(core) {
            let inner = self.words[core as usize].width;
            return self.constant(width, extended(value, inner, fill == Fill::Sign) << up);
        }
        if self.is_any(&[core]) {
            let mut bits = vec![0; up.into()];
            bits.extend(self.bits(core));
            let top = bits[bits.len() - 1];
            bits.resize(width.into(), if fill == Fill::Sign { top } else { 0 });
            return self.gather(&bits);
        }
        self.word(width, Op::Extend(core, up, fill), |t| {
            let reaches = up + t.words[core as usize].width == width;
            let form = match fill {
                _ if reaches => t.words[core as usize].form.clone(),
                Fill::Zero => t.unsigned(core),
                Fill::Sign => t.signed(core),
            };
            (form.scaled(1 << up), None)
        })
    }

    pub(crate) fn field(&mut self, bits: &[Lit]) -> WordId {
        let top = bits.iter().rposition(|&bit| bit != 0).map_or(0, |n| n + 1);
        let ones = number(bits, |bit| bit == 1);
        self.word(bits.len() as u8, Op::Field(bits.into()), |t| {
            let high = (1i128 << top) - 1;
            (Form::atom(t.opaque(ones.into(), high)), None)
        })
    }

    pub(crate) fn add(&mut self, a: WordId, b: WordId) -> WordId {
        let width = self.words[a as usize].width;
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(a), Some(b)) => return self.constant(width, a.wrapping_add(b)),
            (_, Some(0)) => return a,
            (Some(0), _) => return b,
            _ => {}
        }
        // c + !x = (c - 1) - x.
        for (constant, word) in [(a, b), (b, a)] {
            if let (Some(value), &Op::Not(inner)) =
                (self.as_constant(constant), &self.words[word as usize].op)
            {
                let less = self.constant(width, value.wrapping_sub(1));
                return self.sub(less, inner);
            }
        }
        // Words without a common bit.
        let (x, y) = (self.bits(a), self.bits(b));
        if x.iter().zip(&y).all(|(&x, &y)| x == 0 || y == 0) {
            let joined: Vec<_> = x.iter().zip(&y).map(|(x, y)| x | y).collect();
            return self.gather(&joined);
        }
        if self.is_any(&[a, b]) {
            return self.low_bits(a, b, u64::wrapping_add);
        }
        if a == b {
            let doubled: Vec<_> = core::iter::once(0).chain(x).take(width.into()).collect();
            return self.gather(&doubled);
        }
        let (a, b) = (a.min(b), a.max(b));
        self.word(width, Op::Add(a, b), |t| t.sum(a, b, 1))
    }

    pub(crate) fn sub(&mut self, a: WordId, b: WordId) -> WordId {
        let width = self.words[a as usize].width;
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(a), Some(b)) => return self.constant(width, a.wrapping_sub(b)),
            (_, Some(0)) => return a,
            _ if self.is_any(&[a, b]) => return self.low_bits(a, b, u64::wrapping_sub),
            _ if a == b => return self.constant(width, 0),
            _ => {}
        }
        self.word(width, Op::Sub(a, b), |t| t.sum(a, b, -1))
    }

    fn sum(&mut self, a: WordId, b: WordId, sign: i128) -> (Form, Option<(i128, i128)>) {
        let (a, b) = (&self.words[a as usize], &self.words[b as usize]);
        let (low, high) = if sign > 0 {
            (b.low, b.high)
        } else {
            (-b.high, -b.low)
        };
        let is_known = a.high < UNKNOWN && b.high < UNKNOWN;
        let hint = is_known.then_some((a.low + low, a.high + high));
        (a.form.plus(&b.form.scaled(sign)), hint)
    }

    /// The low bits of a product.
    pub(crate) fn mul(&mut self, a: WordId, b: WordId) -> WordId {
        let width = self.words[a as usize].width;
        let (a, b, factor) = match self.factors(a, b) {
            Err((a, b)) => return self.constant(width, a.wrapping_mul(b)),
            Ok(factors) => factors,
        };
        if let Some(factor) = factor.filter(is_shift) {
            return self.shifted_up(a, factor, width);
        }
        if self.is_any(&[a, b]) {
            return self.low_bits(a, b, u64::wrapping_mul);
        }
        self.word(width, Op::Mul(a, b), |t| {
            let form = t.product(a, b, |t, word| t.words[word as usize].form.clone());
            (form, None)
        })
    }

    /// The factors of a product, a constant one last with its value; both values if they are
    /// constants.
    fn factors(&self, a: WordId, b: WordId) -> Result<(WordId, WordId, Option<u64>), (u64, u64)> {
        match (self.as_constant(a), self.as_constant(b)) {
            (Some(a), Some(b)) => Err((a, b)),
            (Some(value), None) => Ok((b, a, Some(value))),
            (None, Some(value)) => Ok((a, b, Some(value))),
            (None, None) => Ok((a.min(b), a.max(b), None)),
        }
    }

    fn shifted_up(&mut self, a: WordId, factor: u64, width: u8) -> WordId {
        if factor == 0 {
            return self.constant(width, 0);
        }
        let bits = self.bits(a);
        let up = factor.trailing_zeros() as usize;
        let moved: Vec<_> = core::iter::repeat_n(0, up)
            .chain(bits)
            .take(width.into())
            .collect();
        self.gather(&moved)
    }

    /// A product of twice the width, up to 64 bits.
    pub(crate) fn wide(&mut self, a: WordId, b: WordId, signed: bool) -> WordId {
        let narrow = self.words[a as usize].width;
        let width = 2 * narrow;
        let extended = |value| extended(value, narrow, signed);
        let (a, b, factor) = match self.factors(a, b) {
            Err((a, b)) => return self.constant(width, extended(a).wrapping_mul(extended(b))),
            Ok(factors) => factors,
        };
        if let Some(factor) = factor.map(extended).filter(is_shift) {
            let mut bits = self.bits(a);
            let top = if signed { bits[bits.len() - 1] } else { 0 };
            bits.resize(width.into(), top);
            let a = self.gather(&bits);
            return self.shifted_up(a, factor, width);
        }
        if self.is_any(&[a, b]) {
            return self.any(&[a, b], width, width);
        }
        self.word(width, Op::Wide(a, b, signed), |t| {
            let read = if signed { Self::signed } else { Self::unsigned };
            (t.product(a, b, read), None)
        })
    }

    pub(crate) fn extreme(&mut self, kind: Extreme, a: WordId, b: WordId) -> WordId {
        let width = self.words[a as usize].width;
        if self.is_any(&[a, b]) {
            return self.any(&[a, b], width, width);
        }
        if a == b {
            return a;
        }
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            return self.constant(width, kind.of(x, y, width));
        }
        let (a, b) = (a.min(b), a.max(b));
        self.word(width, Op::Extreme(kind, a, b), |t| {
            let (low, high, q) = t.extreme_range(kind, a, b);
            (Form::atom(t.opaque_with(low, high, q)), None)
        })
    }

    pub(crate) fn abs(&mut self, a: WordId) -> WordId {
        let width = self.words[a as usize].width;
        if self.is_any(&[a]) {
            return self.any(&[a], width, width);
        }
        if let Some(value) = self.as_constant(a) {
            return self.constant(width, sign_extended(value, width).unsigned_abs());
        }
        self.word(width, Op::Abs(a), |t| {
            let form = t.signed(a);
            let (low, high) = t.range(&form);
            (Form::atom(t.opaque(0, high.max(-low))), None)
        })
    }

    /// A literal: the comparison holds.
    pub(crate) fn compare(&mut self, kind: Compare, a: WordId, b: WordId) -> Lit {
        if self.is_any(&[a, b]) {
            return self.compare_any(kind, a, b);
        }
        if a == b {
            return Lit::from(kind == Compare::Equal);
        }
        let width = self.words[a as usize].width;
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            return Lit::from(kind.of(x, y, width));
        }
        // A comparison with zero is a sign bit.
        if kind == Compare::GreaterSigned && width > 1 {
            if self.as_constant(a) == Some(0) {
                return self.bits(b)[usize::from(width) - 1];
            }
            if self.as_constant(b) == Some(mask(width)) {
                return self.bits(a)[usize::from(width) - 1] ^ 1;
            }
        }
        let (a, b) = if kind == Compare::Equal {
            (a.min(b), a.max(b))
        } else {
            (a, b)
        };
        let word = self.word(1, Op::Compare(kind, a, b), |t| {
            (Form::atom(t.opaque(0, 1)), None)
        });
        let lit = self.bits(word)[0];
        if kind == Compare::GreaterSigned {
            self.note_comparison(lit, a, b);
        }
        lit
    }

    pub(crate) fn select(&mut self, condition: Lit, yes: WordId, no: WordId) -> WordId {
        if condition < 2 || yes == no && !self.is_any(&[yes]) {
            return if condition == 0 { no } else { yes };
        }
        if is_any(condition) || self.is_any(&[yes, no]) {
            let (yes, no) = (self.bits(yes), self.bits(no));
            let pairs = yes.into_iter().zip(no);
            let bits: Vec<_> = pairs.map(|(y, n)| self.mux(condition, y, n)).collect();
            return self.gather(&bits);
        }
        let width = self.words[yes as usize].width;
        if self.as_constant(no) == Some(0) {
            return self.word(width, Op::Select(condition, yes, no), |t| {
                (t.conditional(condition, yes), None)
            });
        }
        self.word(width, Op::Select(condition, yes, no), |t| {
            let (a, b) = (&t.words[yes as usize], &t.words[no as usize]);
            let (low, high) = (a.low.min(b.low), a.high.max(b.high));
            let (a, b) = (a.form.clone(), b.form.clone());
            let q = t.mod_q(&a).filter(|q| t.mod_q(&b).as_ref() == Some(q));
            (Form::atom(t.opaque_with(low, high, q)), None)
        })
    }

    pub(crate) fn count_ones(&mut self, a: WordId, width: u8) -> WordId {
        if let Some(value) = self.as_constant(a) {
            return self.constant(width, value.count_ones().into());
        }
        let most = self.words[a as usize].width;
        if self.is_any(&[a]) {
            let bits = self.bits(a).iter().filter(|&&bit| bit > 0).count() as u8;
            return self.any(&[a], width, 8 - bits.leading_zeros() as u8);
        }
        self.word(width, Op::Count(a), |t| {
            (Form::atom(t.opaque(0, most.into())), None)
        })
    }

    /// A signed word in the range, at its ends if it was beyond them; of another width.
    pub(crate) fn clamp(&mut self, a: WordId, low: i64, high: i64, width: u8) -> WordId {
        if self.is_any(&[a]) {
            return self.any(&[a], width, width);
        }
        let inner = self.words[a as usize].width;
        if let Some(value) = self.as_constant(a) {
            let value = sign_extended(value, inner).clamp(low, high);
            return self.constant(width, value as u64);
        }
        let form = self.signed(a);
        let (l, h) = self.range(&form);
        if l >= low.into() && h <= high.into() {
            let bits = self.bits(a);
            return self.gather(&bits[..width.into()]);
        }
        self.word(width, Op::Clamp(a, low, high), |t| {
            let (low, high) = (i128::from(low), i128::from(high));
            let atom = t.opaque(l.clamp(low, high), h.clamp(low, high));
            (Form::atom(atom), None)
        })
    }
}

/// Whether a product with a factor is a shift or zero.
fn is_shift(factor: &u64) -> bool {
    factor.is_power_of_two() || *factor == 0
}
