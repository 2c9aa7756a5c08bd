//! Terms over the inputs of a kernel: bits, and words of bits.
//!
//! A bit is a literal: twice the number of a node, plus one if negated. A word is a
//! hash-consed operation on words or bits. Registers and memory hold literals only;
//! [`Terms::gather`] finds the word that a row of literals is.
//!
//! Each word also has a form, see `forms.rs`.

mod unknown;

use rustc_hash::FxHashMap;

use crate::forms::{Atom, AtomId, Definition, EMPTY, Form, Residue, bounded};
pub(crate) use unknown::{ANY, PUBLIC, any_of, inputs_of, is_any, secret, unknown_of};

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
    /// Whether a bit is unknown.
    pub(crate) is_any: bool,
    /// The value, modulo two to the width.
    pub(crate) form: Form,
    /// Range of the form.
    pub(crate) low: i128,
    pub(crate) high: i128,
}

/// All terms of one execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) nodes: Vec<Node>,
    gates: FxHashMap<(bool, Lit, Lit), Lit>,
    pub(crate) words: Vec<Word>,
    by_op: FxHashMap<(u8, Op), WordId>,
    pub(crate) atoms: Vec<Atom>,
    pub(crate) residues: FxHashMap<Residue, AtomId>,
    pub(crate) products: FxHashMap<(AtomId, AtomId), AtomId>,
    pub(crate) bools: FxHashMap<Lit, AtomId>,
    /// The first sign bit of a word whose signed reading is that residue.
    pub(crate) signs: FxHashMap<AtomId, Lit>,
    /// Variables over Z_q: 0 is the constant 1.
    pub(crate) variables: u32,
    pub(crate) product_variables: FxHashMap<(u32, u32), u32>,
    pub(crate) inputs: Vec<WordId>,
}

impl Terms {
    pub(crate) fn new() -> Self {
        Self {
            // Nothing reads those of unknown bits.
            nodes: core::iter::once(Node::False)
                .chain((0..=secret::ALL).map(|inputs| Node::Bit(WordId::MAX, inputs)))
                .collect(),
            variables: 1,
            ..Self::default()
        }
    }

    // Bits.

    fn gate(&mut self, is_and: bool, a: Lit, b: Lit) -> Lit {
        let (a, b) = (a.min(b), a.max(b));
        let nodes = &mut self.nodes;
        *self.gates.entry((is_and, a, b)).or_insert_with(|| {
            nodes.push(if is_and { Node::And } else { Node::Xor }(a, b));
            2 * (nodes.len() as u32 - 1)
        })
    }

    pub(crate) fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        if is_any(a) || is_any(b) {
            return any_of(&[a, b]);
        }
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
        if a == 0 || b == 0 {
            0
        } else if is_any(a) || is_any(b) {
            any_of(&[a, b])
        } else if a == b ^ 1 {
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
        if yes == no && !is_any(yes) {
            return yes;
        }
        let (a, b) = (self.and(condition, yes), self.and(condition ^ 1, no));
        self.or(a, b)
    }

    pub(crate) fn all(&mut self, bits: &[Lit]) -> Lit {
        bits.iter().fold(1, |all, &bit| self.and(all, bit))
    }

    /// Whether no bit is set.
    pub(crate) fn none(&mut self, bits: &[Lit]) -> Lit {
        bits.iter().fold(1, |all, &bit| self.and(all, bit ^ 1))
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
        if let Some(folded) = self.folded(&form) {
            form = folded;
        }
        let (mut low, mut high) = self.range(&form);
        if let Some((l, h)) = hint {
            (low, high) = (low.max(l), high.min(h));
        }
        // A floor cancels the most of what it is the floor of.
        let is_floor = |&(atom, _): &(_, _)| {
            let atom: &Atom = &self.atoms[atom as usize];
            matches!(&atom.definition, Definition::Form(inner) if inner.shift > 0)
        };
        if form.terms.iter().any(is_floor) {
            let (l, h) = self.range(&self.expanded(&form));
            (low, high) = (low.max(l), high.min(h));
        }
        if !fits(width, low, high)
            && let Some((refitted, range)) = self.refitted(&form, width)
        {
            (form, (low, high)) = (refitted, range);
        }
        assert!(low <= high, "{EMPTY}");
        (low, high) = bounded((low, high));
        let id = self.words.len() as WordId;
        if form.terms.len() > 12 {
            form = self.seal_form(form, (low, high));
        }
        let is_any = matches!(&op, Op::Field(bits) if bits.iter().any(|&bit| is_any(bit)));
        self.words.push(Word {
            width,
            op: op.clone(),
            base: 0,
            is_any,
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
        if let Op::Not(inner) = self.words[word as usize].op
            && let Op::Field(bits) = &self.words[inner as usize].op
        {
            return bits.iter().map(|bit| bit ^ 1).collect();
        }
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
            return self.constant(width, number(bits, |bit| bit == 1));
        }
        if bits.iter().any(|&bit| is_any(bit)) {
            let known = |&bit: &Lit| if is_any(bit) { bit & !1 } else { bit };
            return self.field(&bits.iter().map(known).collect::<Vec<_>>());
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
            return self.repeat(width, bits[first], number(bits, |bit| bit != 0));
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
        if let Some((condition, rest)) = self.common_condition(bits) {
            let (yes, no) = (self.gather(&rest), self.constant(width, 0));
            return self.select(condition, yes, no);
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
        let (before, rest) = bits.split_at(first + run);
        let fill = if rest.iter().all(|&bit| bit == 0) {
            Fill::Zero
        } else if rest.iter().all(|bit| before.ends_with(&[*bit])) {
            Fill::Sign
        } else {
            return self.field(bits);
        };
        if run == bits.len() {
            return core;
        }
        self.extend(core, first as u8, fill, width)
    }

    /// The condition that all bits have in common, `condition and rest`, if `rest` is one word.
    fn common_condition(&self, bits: &[Lit]) -> Option<(Lit, Vec<Lit>)> {
        let and = |lit: Lit| match self.nodes[lit as usize >> 1] {
            Node::And(a, b) if lit & 1 == 0 => Some((a, b)),
            _ => None,
        };
        let mut pairs = bits.iter().filter(|&&bit| bit != 0).map(|&bit| and(bit));
        let (a, b) = pairs.next()??;
        let (c, d) = pairs.next()??;
        let condition = if a == c || a == d {
            a
        } else if b == c || b == d {
            b
        } else {
            return None;
        };
        let rest: Option<Vec<Lit>> = bits
            .iter()
            .map(|&bit| match bit {
                0 => Some(0),
                _ => match and(bit)? {
                    (a, b) if a == condition => Some(b),
                    (a, b) if b == condition => Some(a),
                    _ => None,
                },
            })
            .collect();
        let rest = rest?;
        let (word, _) = self.bit_of(*rest.iter().find(|&&bit| bit != 0)?)?;
        rest.iter()
            .all(|&bit| bit == 0 || self.bit_of(bit).is_some_and(|(of, _)| of == word))
            .then_some((condition, rest))
    }

    fn bit_of(&self, lit: Lit) -> Option<(WordId, u8)> {
        match self.nodes[lit as usize >> 1] {
            Node::Bit(word, bit) if lit & 1 == 0 => Some((word, bit)),
            _ => None,
        }
    }
}

/// Whether a range fits the signed or the unsigned reading.
pub(crate) fn fits(width: u8, low: i128, high: i128) -> bool {
    let half = 1i128 << (width - 1);
    low >= -half && high < half || low >= 0 && high < 2 * half
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

/// A value of that width in 64 bits.
pub(crate) fn extended(value: u64, width: u8, signed: bool) -> u64 {
    if signed {
        sign_extended(value, width) as u64
    } else {
        value
    }
}

/// The number with the bits that are set.
pub(crate) fn number(bits: &[Lit], is_set: impl Fn(Lit) -> bool) -> u64 {
    let all = bits.iter().enumerate();
    all.fold(0, |v, (n, &bit)| v | u64::from(is_set(bit)) << n)
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
