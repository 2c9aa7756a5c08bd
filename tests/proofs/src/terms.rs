//! Terms over the inputs of a kernel: bits, and words of bits.
//!
//! A bit is a literal: twice the number of a node, plus one if negated. A word is a
//! hash-consed operation on words or bits. Registers and memory hold literals only;
//! [`Terms::gather`] finds the word that a row of literals is.
//!
//! Each word also has a form, see `forms.rs`.

use rustc_hash::FxHashMap;

use crate::forms::{Atom, AtomId, Form, Residue};

/// A literal; 0 is false, 1 is true.
pub(crate) type Lit = u32;
pub(crate) type WordId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    False,
    /// Bit of a word.
    Bit(WordId, u8),
    Xor(Lit, Lit),
    And(Lit, Lit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Compare {
    Equal,
    GreaterSigned,
    GreaterUnsigned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Extreme {
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
}

/// Bits above those of an extended word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fill {
    Zero,
    Sign,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Const(u64),
    Input(u32),
    Add(WordId, WordId),
    Sub(WordId, WordId),
    /// Low bits of a product.
    Mul(WordId, WordId),
    /// Product of twice the width, signed or not.
    Wide(WordId, WordId, bool),
    /// Bits from that one on.
    Slice(WordId, u8),
    /// A word moved up by that many bits, and extended if it does not reach the top.
    Extend(WordId, u8, Fill),
    Not(WordId),
    Abs(WordId),
    Extreme(Extreme, WordId, WordId),
    Compare(Compare, WordId, WordId),
    Select(Lit, WordId, WordId),
    /// A literal at the places of the mask.
    Repeat(Lit, u64),
    Field(Box<[Lit]>),
    /// Number of bits that are set.
    Count(WordId),
    /// Signed 16-bit saturation of a sum, and the like: the value clamped to a range.
    Clamp(WordId, i64, i64),
}

#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) width: u8,
    pub(crate) op: Op,
    /// Node of bit 0, if any bit was asked for.
    base: u32,
    /// The value, modulo two to the width.
    pub(crate) form: Form,
    /// Range of the form.
    pub(crate) low: i128,
    pub(crate) high: i128,
}

/// All terms of one execution.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) nodes: Vec<Node>,
    gates: FxHashMap<(bool, Lit, Lit), Lit>,
    pub(crate) words: Vec<Word>,
    by_op: FxHashMap<(u8, Op), WordId>,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) residues: FxHashMap<Residue, AtomId>,
    pub(crate) products: FxHashMap<(AtomId, AtomId), AtomId>,
    pub(crate) bools: FxHashMap<Lit, AtomId>,
    /// Variables over Z_q: 0 is the constant 1.
    pub(crate) variables: u32,
    pub(crate) product_variables: FxHashMap<(u32, u32), u32>,
    pub(crate) inputs: Vec<WordId>,
}

impl Terms {
    pub(crate) fn new() -> Self {
        Self {
            nodes: vec![Node::False],
            gates: FxHashMap::default(),
            words: Vec::new(),
            by_op: FxHashMap::default(),
            atoms: Vec::new(),
            residues: FxHashMap::default(),
            products: FxHashMap::default(),
            bools: FxHashMap::default(),
            variables: 1,
            product_variables: FxHashMap::default(),
            inputs: Vec::new(),
        }
    }

    // Bits.

    fn gate(&mut self, is_and: bool, a: Lit, b: Lit) -> Lit {
        let (a, b) = (a.min(b), a.max(b));
        let nodes = &mut self.nodes;
        *self.gates.entry((is_and, a, b)).or_insert_with(|| {
            nodes.push(if is_and {
                Node::And(a, b)
            } else {
                Node::Xor(a, b)
            });
            2 * (nodes.len() as u32 - 1)
        })
    }

    pub(crate) fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        let negated = (a ^ b) & 1;
        let (a, b) = (a & !1, b & !1);
        negated
            ^ if a == b {
                0
            } else if a == 0 {
                b
            } else if b == 0 {
                a
            } else {
                self.gate(false, a, b)
            }
    }

    pub(crate) fn and(&mut self, a: Lit, b: Lit) -> Lit {
        if a == 0 || b == 0 || a == b ^ 1 {
            0
        } else if a == 1 || a == b {
            b
        } else if b == 1 {
            a
        } else {
            self.gate(true, a, b)
        }
    }

    pub(crate) fn or(&mut self, a: Lit, b: Lit) -> Lit {
        self.and(a ^ 1, b ^ 1) ^ 1
    }

    pub(crate) fn mux(&mut self, condition: Lit, yes: Lit, no: Lit) -> Lit {
        if yes == no {
            return yes;
        }
        let (a, b) = (self.and(condition, yes), self.and(condition ^ 1, no));
        self.or(a, b)
    }

    pub(crate) fn all(&mut self, bits: &[Lit]) -> Lit {
        bits.iter().fold(1, |all, &bit| self.and(all, bit))
    }

    // Words.

    /// A word of that operation, with that form.
    pub(crate) fn word(
        &mut self,
        width: u8,
        op: Op,
        form: impl FnOnce(&mut Self) -> (Form, Option<(i128, i128)>),
    ) -> WordId {
        if let Some(&word) = self.by_op.get(&(width, op.clone())) {
            return word;
        }
        let (mut form, hint) = form(self);
        let (mut low, mut high) = self.range(&form);
        if let Some((l, h)) = hint {
            (low, high) = (low.max(l), high.min(h));
        }
        let id = self.words.len() as WordId;
        if form.terms.len() > 12 {
            form = self.seal_form(form, (low, high));
        }
        self.words.push(Word {
            width,
            op: op.clone(),
            base: 0,
            form,
            low,
            high,
        });
        self.by_op.insert((width, op), id);
        id
    }

    pub(crate) fn constant(&mut self, width: u8, value: u64) -> WordId {
        let value = value & mask(width);
        let signed = sign_extended(value, width);
        self.word(width, Op::Const(value), |_| {
            (Form::constant(signed.into()), None)
        })
    }

    /// A fresh input in that range, and its variable over Z_q if it has one.
    pub(crate) fn input(&mut self, width: u8, low: i128, high: i128, has_variable: bool) -> WordId {
        let number = self.inputs.len() as u32;
        let atom = self.input_atom(number, low, high, has_variable);
        let word = self.word(width, Op::Input(number), |_| (Form::atom(atom), None));
        self.inputs.push(word);
        word
    }

    pub(crate) fn as_constant(&self, word: WordId) -> Option<u64> {
        match self.words[word as usize].op {
            Op::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The literals of a word; bits that its range excludes are false.
    pub(crate) fn bits(&mut self, word: WordId) -> Vec<Lit> {
        let w = &mut self.words[word as usize];
        let width = usize::from(w.width);
        match &w.op {
            Op::Const(value) => return (0..width).map(|i| (value >> i & 1) as Lit).collect(),
            Op::Field(bits) => return bits.to_vec(),
            &Op::Repeat(lit, places) => {
                return (0..width)
                    .map(|i| if places >> i & 1 == 1 { lit } else { 0 })
                    .collect();
            }
            _ => {}
        }
        if w.base == 0 {
            w.base = self.nodes.len() as u32;
            self.nodes
                .extend((0..width).map(|i| Node::Bit(word, i as u8)));
        }
        let (base, low, high) = (w.base, w.low, w.high);
        let used = if low >= 0 && high < 1i128 << width {
            (128 - high.leading_zeros()) as usize
        } else {
            width
        };
        (0..width)
            .map(|i| if i < used { 2 * (base + i as u32) } else { 0 })
            .collect()
    }

    /// The word that the literals are.
    pub(crate) fn gather(&mut self, bits: &[Lit]) -> WordId {
        let width = bits.len() as u8;
        if bits.iter().all(|&bit| bit < 2) {
            let value = bits
                .iter()
                .enumerate()
                .fold(0, |v, (i, &bit)| v | u64::from(bit) << i);
            return self.constant(width, value);
        }
        let first = bits.iter().position(|&bit| bit != 0).unwrap_or(0);
        // A whole word, whose upper bits are known to be zero.
        if let Some((word, 0)) = self.bit_of(bits[0])
            && self.words[word as usize].width == width
            && self.bits(word) == bits
        {
            return word;
        }
        // A literal at some places.
        if bits[first] > 1 && bits.iter().all(|&bit| bit == 0 || bit == bits[first]) && width > 1 {
            let places = bits
                .iter()
                .enumerate()
                .fold(0, |v, (i, &bit)| v | u64::from(bit != 0) << i);
            return self.repeat(width, bits[first], places);
        }
        // A negated word.
        if bits.iter().all(|&bit| bit & 1 == 1) {
            let inverted: Vec<_> = bits.iter().map(|bit| bit ^ 1).collect();
            let inner = self.gather(&inverted);
            return self.word(width, Op::Not(inner), |t| {
                let form = t.words[inner as usize]
                    .form
                    .scaled(-1)
                    .plus(&Form::constant(-1));
                (form, None)
            });
        }
        let Some((word, from)) = self.bit_of(bits[first]) else {
            return self.field(bits);
        };
        // The row of bits of one word that begins here.
        let mut run = 1;
        while first + run < bits.len()
            && self.bit_of(bits[first + run]) == Some((word, from + run as u8))
        {
            run += 1;
        }
        let core = self.slice(word, from, run as u8);
        let end = first + run;
        if end == bits.len() {
            if first == 0 {
                return core;
            }
            return self.extend(core, first as u8, Fill::Zero, width);
        }
        let rest = &bits[end..];
        if rest.iter().all(|&bit| bit == 0) {
            return self.extend(core, first as u8, Fill::Zero, width);
        }
        if rest.iter().all(|&bit| bit == bits[end - 1]) {
            return self.extend(core, first as u8, Fill::Sign, width);
        }
        self.field(bits)
    }

    fn bit_of(&self, lit: Lit) -> Option<(WordId, u8)> {
        match self.nodes[lit as usize >> 1] {
            Node::Bit(word, bit) if lit & 1 == 0 => Some((word, bit)),
            _ => None,
        }
    }

    pub(crate) fn slice(&mut self, word: WordId, from: u8, width: u8) -> WordId {
        let w = &self.words[word as usize];
        if from == 0 && width == w.width {
            return word;
        }
        match w.op {
            Op::Const(value) => return self.constant(width, value >> from),
            Op::Slice(inner, more) => return self.slice(inner, more + from, width),
            _ => {}
        }
        self.word(width, Op::Slice(word, from), |t| {
            let w = &t.words[word as usize];
            let (form, hint) = (w.form.clone(), (w.low >> from, w.high >> from));
            (t.floor(&form, from), Some(hint))
        })
    }

    pub(crate) fn repeat(&mut self, width: u8, lit: Lit, places: u64) -> WordId {
        let signed = sign_extended(places, width);
        self.word(width, Op::Repeat(lit, places), |t| {
            (t.bool_form(lit).scaled(signed.into()), None)
        })
    }

    fn extend(&mut self, core: WordId, up: u8, fill: Fill, width: u8) -> WordId {
        if let Some(value) = self.as_constant(core) {
            let inner = self.words[core as usize].width;
            let value = if fill == Fill::Sign {
                sign_extended(value, inner) as u64
            } else {
                value
            };
            return self.constant(width, value << up);
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

    fn field(&mut self, bits: &[Lit]) -> WordId {
        let top = bits.iter().rposition(|&bit| bit != 0).map_or(0, |n| n + 1);
        let ones = bits
            .iter()
            .enumerate()
            .fold(0u64, |v, (i, &bit)| v | u64::from(bit == 1) << i);
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
        // Words without a common bit.
        let (x, y) = (self.bits(a), self.bits(b));
        if x.iter().zip(&y).all(|(&x, &y)| x == 0 || y == 0) {
            let joined: Vec<_> = x.iter().zip(&y).map(|(x, y)| x | y).collect();
            return self.gather(&joined);
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
        let hint = (a.low.saturating_add(low), a.high.saturating_add(high));
        (a.form.plus(&b.form.scaled(sign)), Some(hint))
    }

    /// The low bits of a product.
    pub(crate) fn mul(&mut self, a: WordId, b: WordId) -> WordId {
        let width = self.words[a as usize].width;
        let (a, b) = match (self.as_constant(a), self.as_constant(b)) {
            (Some(a), Some(b)) => return self.constant(width, a.wrapping_mul(b)),
            (Some(_), _) => (b, a),
            (None, None) => (a.min(b), a.max(b)),
            _ => (a, b),
        };
        if let Some(b) = self
            .as_constant(b)
            .filter(|b| b.is_power_of_two() || *b == 0)
        {
            return self.shifted_up(a, b, width);
        }
        self.word(width, Op::Mul(a, b), |t| {
            (
                t.product(a, b, |t, word| t.words[word as usize].form.clone()),
                None,
            )
        })
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
        let extended = |value: u64| {
            if signed {
                sign_extended(value, narrow) as u64
            } else {
                value
            }
        };
        let (a, b) = match (self.as_constant(a), self.as_constant(b)) {
            (Some(a), Some(b)) => {
                return self.constant(width, extended(a).wrapping_mul(extended(b)));
            }
            (Some(_), _) => (b, a),
            (None, None) => (a.min(b), a.max(b)),
            _ => (a, b),
        };
        if let Some(factor) = self
            .as_constant(b)
            .map(extended)
            .filter(|b| b.is_power_of_two() || *b == 0)
        {
            let mut bits = self.bits(a);
            let top = if signed { bits[bits.len() - 1] } else { 0 };
            bits.resize(width.into(), top);
            let a = self.gather(&bits);
            return self.shifted_up(a, factor, width);
        }
        self.word(width, Op::Wide(a, b, signed), |t| {
            (
                t.product(a, b, |t, word| {
                    if signed {
                        t.signed(word)
                    } else {
                        t.unsigned(word)
                    }
                }),
                None,
            )
        })
    }

    pub(crate) fn extreme(&mut self, kind: Extreme, a: WordId, b: WordId) -> WordId {
        let width = self.words[a as usize].width;
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
        if a == b {
            return Lit::from(kind == Compare::Equal);
        }
        let width = self.words[a as usize].width;
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            return Lit::from(kind.of(x, y, width));
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
        if condition < 2 || yes == no {
            return if condition == 0 { no } else { yes };
        }
        let width = self.words[yes as usize].width;
        self.word(width, Op::Select(condition, yes, no), |t| {
            let (a, b) = (&t.words[yes as usize], &t.words[no as usize]);
            let (low, high) = (a.low.min(b.low), a.high.max(b.high));
            let (a, b) = (a.form.clone(), b.form.clone());
            let q = t.mod_q(&a).filter(|q| t.mod_q(&b).as_ref() == Some(q));
            (Form::atom(t.opaque_with(low, high, q)), None)
        })
    }

    pub(crate) fn count_ones(&mut self, a: WordId, width: u8) -> WordId {
        let most = self.words[a as usize].width;
        self.word(width, Op::Count(a), |t| {
            (Form::atom(t.opaque(0, most.into())), None)
        })
    }

    /// A signed word in the range, at its ends if it was beyond them; of another width.
    pub(crate) fn clamp(&mut self, a: WordId, low: i64, high: i64, width: u8) -> WordId {
        let form = self.signed(a);
        let (l, h) = self.range(&form);
        if l >= low.into() && h <= high.into() {
            let bits = self.bits(a);
            return self.gather(&bits[..width.into()]);
        }
        self.word(width, Op::Clamp(a, low, high), |t| {
            (
                Form::atom(t.opaque(l.max(low.into()), h.min(high.into()).max(low.into()))),
                None,
            )
        })
    }
}

pub(crate) fn mask(width: u8) -> u64 {
    if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }
}

pub(crate) fn sign_extended(value: u64, width: u8) -> i64 {
    let up = 64 - u32::from(width);
    ((value << up) as i64) >> up
}

impl Compare {
    pub(crate) fn of(self, a: u64, b: u64, width: u8) -> bool {
        match self {
            Self::Equal => a == b,
            Self::GreaterUnsigned => a > b,
            Self::GreaterSigned => sign_extended(a, width) > sign_extended(b, width),
        }
    }
}

impl Extreme {
    pub(crate) fn of(self, a: u64, b: u64, width: u8) -> u64 {
        let signed = |f: fn(i64, i64) -> i64| {
            f(sign_extended(a, width), sign_extended(b, width)) as u64 & mask(width)
        };
        match self {
            Self::MinUnsigned => a.min(b),
            Self::MaxUnsigned => a.max(b),
            Self::MinSigned => signed(i64::min),
            Self::MaxSigned => signed(i64::max),
        }
    }
}
