//! The abstract domain: the value of a word as an affine form over atoms.
//!
//! A form is `(sum of coefficient times atom + constant) / 2^shift`, an integer for all
//! inputs. Lemmas that the rules below use:
//!
//! 1. A word of n bits is congruent to its form modulo 2^n. It equals the form, read as
//!    signed or unsigned, if the range of the form fits that reading.
//! 2. `floor(F / 2^k) = (F - r) / 2^k` with `r = F mod 2^k`. Two forms that are congruent
//!    modulo 2^k have the same r, hence the same atom: their floors differ by `(F - G) / 2^k`
//!    exactly. No pattern of a reduction is matched.
//! 3. Bits `k..` of a word of n bits are `floor(F / 2^k)` modulo 2^(n-k), for every form F of
//!    the word.
//! 4. `2^s F = N` implies `F = N 2^-s` modulo q, since q is odd. An atom whose coefficient is
//!    a multiple of q does not count.
//! 5. If bit n-1 of a word that fits the signed reading is B, its unsigned reading is
//!    `F + 2^n B`, and F < 0 exactly if B = 1.

use std::rc::Rc;

use crate::reference::{Q, inverse};
use crate::terms::{Extreme, Lit, Node, Op, Terms, WordId};

pub(crate) type AtomId = u32;

/// A linear combination of variables over Z_q, sorted; variable 0 is the constant.
pub(crate) type Vector = Rc<Vec<(u32, u32)>>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Form {
    pub(crate) terms: Vec<(AtomId, i128)>,
    pub(crate) constant: i128,
    pub(crate) shift: u32,
}

/// The key of a residue: numerators modulo `2^(bits + shift)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Residue {
    terms: Vec<(AtomId, i128)>,
    constant: i128,
    shift: u32,
    bits: u32,
    signed: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Definition {
    Input(u32),
    /// The value of a form.
    Form(Form),
    /// A form modulo `2^bits`, from 0 or from `-2^(bits-1)` on.
    Residue(Form, u32, bool),
    Product(AtomId, AtomId),
    Bool(Lit),
    /// The value of a word that has it as its form.
    Opaque,
}

#[derive(Clone, Debug)]
pub(crate) struct Atom {
    pub(crate) low: i128,
    pub(crate) high: i128,
    /// Value modulo q.
    pub(crate) q: Option<Vector>,
    pub(crate) definition: Definition,
    /// Of a Boolean: whether another atom is greater than a constant, or is not.
    order: Option<(AtomId, i128, bool)>,
}

/// Bound of what is computed with: coefficients beyond it stop the execution.
const TOO_LARGE: &str = "a coefficient is too large for the domain";
const UNKNOWN: i128 = i128::MAX / 8;

impl Form {
    pub(crate) fn constant(value: i128) -> Self {
        Self {
            constant: value,
            ..Self::default()
        }
    }

    pub(crate) fn atom(atom: AtomId) -> Self {
        Self {
            terms: vec![(atom, 1)],
            ..Self::default()
        }
    }

    /// The atom that the form is.
    pub(crate) fn as_atom(&self) -> Option<AtomId> {
        match self.terms[..] {
            [(atom, 1)] if self.constant == 0 && self.shift == 0 => Some(atom),
            _ => None,
        }
    }

    pub(crate) fn scaled(&self, factor: i128) -> Self {
        let times = |value: i128| value.checked_mul(factor).expect(TOO_LARGE);
        let terms = self.terms.iter().map(|&(atom, k)| (atom, times(k)));
        let terms = terms.filter(|&(_, k)| k != 0).collect();
        Self {
            terms,
            constant: times(self.constant),
            shift: self.shift,
        }
        .reduced()
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let shift = self.shift.max(other.shift);
        let (a, b) = (
            1i128 << (shift - self.shift),
            1i128 << (shift - other.shift),
        );
        let times = |k: i128, f: i128| k.checked_mul(f).expect(TOO_LARGE);
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut x, mut y) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let (i, j) = (x.peek().map(|t| t.0), y.peek().map(|t| t.0));
            let term = match (i, j) {
                (None, None) => break,
                (Some(i), Some(j)) if i == j => {
                    let (p, r) = (x.next().map_or(0, |t| t.1), y.next().map_or(0, |t| t.1));
                    (i, times(p, a).checked_add(times(r, b)).expect(TOO_LARGE))
                }
                (Some(i), j) if j.is_none_or(|j| i < j) => {
                    (i, times(x.next().map_or(0, |t| t.1), a))
                }
                (_, Some(j)) => (j, times(y.next().map_or(0, |t| t.1), b)),
                (Some(_), None) => unreachable!(),
            };
            if term.1 != 0 {
                terms.push(term);
            }
        }
        let constant = times(self.constant, a).checked_add(times(other.constant, b));
        Self {
            terms,
            constant: constant.expect(TOO_LARGE),
            shift,
        }
        .reduced()
    }

    fn minus(&self, other: &Self) -> Self {
        self.plus(&other.scaled(-1))
    }

    fn reduced(mut self) -> Self {
        let all = self
            .terms
            .iter()
            .fold(self.constant, |all, &(_, k)| all | k);
        let down = if all == 0 {
            self.shift
        } else {
            all.trailing_zeros().min(self.shift)
        };
        if down > 0 {
            self.terms.iter_mut().for_each(|(_, k)| *k >>= down);
            self.constant >>= down;
            self.shift -= down;
        }
        self
    }
}

impl Terms {
    fn new_atom(
        &mut self,
        low: i128,
        high: i128,
        q: Option<Vector>,
        definition: Definition,
    ) -> AtomId {
        self.atoms.push(Atom {
            low,
            high,
            q,
            definition,
            order: None,
        });
        self.atoms.len() as AtomId - 1
    }

    pub(crate) fn input_atom(
        &mut self,
        number: u32,
        low: i128,
        high: i128,
        has_variable: bool,
    ) -> AtomId {
        let q = has_variable.then(|| {
            let variable = self.variables;
            self.variables += 1;
            Rc::new(vec![(variable, 1)])
        });
        self.new_atom(low, high, q, Definition::Input(number))
    }

    pub(crate) fn opaque(&mut self, low: i128, high: i128) -> AtomId {
        self.new_atom(low, high, None, Definition::Opaque)
    }

    pub(crate) fn opaque_with(&mut self, low: i128, high: i128, q: Option<Vector>) -> AtomId {
        self.new_atom(low, high, q, Definition::Opaque)
    }

    /// An atom in the place of a form.
    pub(crate) fn seal_form(&mut self, form: Form, (low, high): (i128, i128)) -> Form {
        let q = self.mod_q(&form);
        Form::atom(self.new_atom(low, high, q, Definition::Form(form)))
    }

    /// The atom that a word is from now on.
    pub(crate) fn seal(&mut self, word: WordId) -> AtomId {
        let w = &self.words[word as usize];
        if let Some(atom) = w.form.as_atom() {
            return atom;
        }
        let (form, range) = (w.form.clone(), (w.low, w.high));
        let sealed = self.seal_form(form, range);
        self.words[word as usize].form = sealed.clone();
        sealed.terms[0].0
    }

    /// The smallest interval that interval arithmetic gives, with case splits on Booleans that
    /// say something about another atom of the form.
    pub(crate) fn range(&self, form: &Form) -> (i128, i128) {
        self.range_within(form, &mut Vec::new(), 3)
    }

    fn range_within(
        &self,
        form: &Form,
        known: &mut Vec<(AtomId, i128, i128)>,
        splits: u32,
    ) -> (i128, i128) {
        let limits = |atom: AtomId, known: &[(AtomId, i128, i128)]| {
            let a = &self.atoms[atom as usize];
            known
                .iter()
                .filter(|k| k.0 == atom)
                .fold((a.low, a.high), |(low, high), k| {
                    (low.max(k.1), high.min(k.2))
                })
        };
        let split = form.terms.iter().find_map(|&(atom, _)| {
            let (of, k, greater) = self.atoms[atom as usize].order?;
            let open = !known.iter().any(|known| known.0 == atom);
            (open && splits > 0 && form.terms.iter().any(|t| t.0 == of))
                .then_some((atom, of, k, greater))
        });
        if let Some((atom, of, k, greater)) = split {
            let mut all: Option<(i128, i128)> = None;
            for value in [0, 1] {
                let (low, high) = limits(of, known);
                let (low, high) = if (value == 1) == greater {
                    (low.max(k + 1), high)
                } else {
                    (low, high.min(k))
                };
                if low > high {
                    continue;
                }
                known.push((of, low, high));
                known.push((atom, value, value));
                let (l, h) = self.range_within(form, known, splits - 1);
                known.truncate(known.len() - 2);
                all = Some(all.map_or((l, h), |(low, high)| (low.min(l), high.max(h))));
            }
            if let Some(all) = all {
                return all;
            }
        }
        let (mut low, mut high) = (Some(form.constant), Some(form.constant));
        for &(atom, k) in &form.terms {
            let (l, h) = limits(atom, known);
            let (l, h) = if k >= 0 { (l, h) } else { (h, l) };
            low = low
                .zip(l.checked_mul(k))
                .and_then(|(a, b)| a.checked_add(b));
            high = high
                .zip(h.checked_mul(k))
                .and_then(|(a, b)| a.checked_add(b));
        }
        // The value is an integer.
        let up = (1i128 << form.shift) - 1;
        let low = low
            .and_then(|low| low.checked_add(up))
            .map_or(-UNKNOWN, |low| low >> form.shift);
        let high = high.map_or(UNKNOWN, |high| high >> form.shift);
        (low.max(-UNKNOWN), high.min(UNKNOWN))
    }

    /// The form modulo q as a combination of variables.
    pub(crate) fn mod_q(&self, form: &Form) -> Option<Vector> {
        let unit = inverse((1i128 << form.shift).rem_euclid(Q.into()) as u32);
        let modulo =
            |k: i128| (k.rem_euclid(Q.into()) as u64 * u64::from(unit) % u64::from(Q)) as u32;
        let mut sum: Vec<(u32, u32)> = Vec::new();
        if modulo(form.constant) != 0 {
            sum.push((0, modulo(form.constant)));
        }
        for &(atom, k) in &form.terms {
            let k = modulo(k);
            if k != 0 {
                sum = combined(&sum, self.atoms[atom as usize].q.as_ref()?, k);
            }
        }
        Some(Rc::new(sum))
    }

    /// The numerators modulo `2^(bits + shift)`, with residues of as many bits and short
    /// integer forms in the place of their atoms.
    fn normalised(&self, form: &Form, bits: u32) -> Form {
        let modulus = bits + form.shift;
        assert!(modulus < 120, "{TOO_LARGE}");
        let wrap = |k: i128| k & ((1i128 << modulus) - 1);
        let mut form = form.clone();
        loop {
            form.terms.iter_mut().for_each(|(_, k)| *k = wrap(*k));
            form.terms.retain(|&(_, k)| k != 0);
            form.constant = wrap(form.constant);
            let expandable = form
                .terms
                .iter()
                .enumerate()
                .rev()
                .find_map(
                    |(n, &(atom, _))| match &self.atoms[atom as usize].definition {
                        Definition::Residue(inner, b, _) if *b >= modulus && inner.shift == 0 => {
                            Some((n, inner))
                        }
                        Definition::Form(inner) if inner.shift == 0 && inner.terms.len() <= 16 => {
                            Some((n, inner))
                        }
                        _ => None,
                    },
                );
            let Some((n, inner)) = expandable else {
                return form;
            };
            let (_, k) = form.terms.remove(n);
            // Coefficients are below 2^120: products are taken modulo 2^128, a multiple of the modulus.
            let inner = Form {
                terms: inner
                    .terms
                    .iter()
                    .map(|&(atom, x)| (atom, wrap(x.wrapping_mul(k))))
                    .collect(),
                constant: wrap(inner.constant.wrapping_mul(k)),
                shift: form.shift,
            };
            let shift = core::mem::take(&mut form.shift);
            form = form.plus(&Form { shift: 0, ..inner });
            form.shift = shift;
        }
    }

    /// The form modulo `2^bits`.
    fn residue(&mut self, form: &Form, bits: u32, signed: bool) -> Form {
        let n = self.normalised(form, bits);
        let (low, high) = if signed {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else {
            (0, (1i128 << bits) - 1)
        };
        if n.terms.is_empty() {
            let value = n.constant >> n.shift;
            return Form::constant(if value > high {
                value - (1 << bits)
            } else {
                value
            });
        }
        let key = Residue {
            terms: n.terms,
            constant: n.constant,
            shift: n.shift,
            bits,
            signed,
        };
        if let Some(&atom) = self.residues.get(&key) {
            return Form::atom(atom);
        }
        let atom = self.new_atom(
            low,
            high,
            None,
            Definition::Residue(form.clone(), bits, signed),
        );
        self.residues.insert(key, atom);
        Form::atom(atom)
    }

    /// Lemma 2.
    pub(crate) fn floor(&mut self, form: &Form, bits: u8) -> Form {
        if bits == 0 {
            return form.clone();
        }
        let bits = u32::from(bits);
        let residue = self.residue(form, bits, false);
        let mut floor = form.minus(&residue);
        floor.shift += bits;
        floor.reduced()
    }

    fn fits(&self, word: WordId) -> (bool, bool) {
        let w = &self.words[word as usize];
        let half = 1i128 << (w.width - 1);
        (
            w.low >= -half && w.high < half,
            w.low >= 0 && w.high < 2 * half,
        )
    }

    /// The unsigned reading.
    pub(crate) fn unsigned(&mut self, word: WordId) -> Form {
        let width = self.words[word as usize].width;
        if let Some(value) = self.as_constant(word) {
            return Form::constant(value.into());
        }
        match self.fits(word) {
            (_, true) => self.words[word as usize].form.clone(),
            (true, false) => {
                let sign = self.sign(word);
                let form = &self.words[word as usize].form;
                form.plus(&sign.scaled(1i128 << width))
            }
            (false, false) => {
                let form = self.words[word as usize].form.clone();
                self.residue(&form, width.into(), false)
            }
        }
    }

    /// The signed reading.
    pub(crate) fn signed(&mut self, word: WordId) -> Form {
        let width = self.words[word as usize].width;
        match self.fits(word) {
            (true, _) => self.words[word as usize].form.clone(),
            (false, true) => {
                let sign = self.sign(word);
                let form = &self.words[word as usize].form;
                form.minus(&sign.scaled(1i128 << width))
            }
            (false, false) => {
                let form = self.words[word as usize].form.clone();
                self.residue(&form, width.into(), true)
            }
        }
    }

    fn sign(&mut self, word: WordId) -> Form {
        let bits = self.bits(word);
        self.bool_form(bits[bits.len() - 1])
    }

    /// 0 or 1.
    pub(crate) fn bool_form(&mut self, lit: Lit) -> Form {
        if lit < 2 {
            return Form::constant(lit.into());
        }
        if lit & 1 == 1 {
            return Form::constant(1).minus(&self.bool_form(lit ^ 1));
        }
        let atom = match self.bools.get(&lit) {
            Some(&atom) => atom,
            None => {
                let atom = self.new_atom(0, 1, None, Definition::Bool(lit));
                self.bools.insert(lit, atom);
                atom
            }
        };
        if let Node::Bit(word, bit) = self.nodes[lit as usize >> 1] {
            let w = &self.words[word as usize];
            let is_sign = bit + 1 == w.width && w.width > 1;
            if is_sign && self.fits(word).0 && self.atoms[atom as usize].order.is_none() {
                let of = self.seal(word);
                self.atoms[atom as usize].order = Some((of, -1, false));
            }
        }
        Form::atom(atom)
    }

    /// Notes that a literal is `a > b` where one of them is a constant.
    pub(crate) fn note_comparison(&mut self, lit: Lit, a: WordId, b: WordId) {
        let order = |t: &mut Self, word: WordId, constant: WordId, greater: bool| {
            let k = match t.words[constant as usize].op {
                Op::Const(_) if t.fits(word).0 => t.words[constant as usize].low,
                _ => return None,
            };
            Some((t.seal(word), if greater { k } else { k - 1 }, greater))
        };
        let found = order(self, a, b, true).or_else(|| order(self, b, a, false));
        let form = self.bool_form(lit);
        if let (Some(order), Some(atom)) = (found, form.as_atom()) {
            self.atoms[atom as usize].order = Some(order);
        }
    }

    /// The product of two forms, by pairs of atoms if they are short.
    pub(crate) fn product(
        &mut self,
        a: WordId,
        b: WordId,
        read: impl Fn(&mut Self, WordId) -> Form,
    ) -> Form {
        for (word, other) in [(a, b), (b, a)] {
            // A floor keeps its form under a constant: the difference of two is what matters.
            let w = &self.words[word as usize];
            let is_floor =
                matches!(w.op, Op::Slice(..) | Op::Extend(..)) && self.as_constant(other).is_some();
            if w.form.terms.len() > if is_floor { 3 } else { 2 } || !is_floor && w.form.shift > 0 {
                self.seal(word);
            }
        }
        let (mut x, mut y) = (read(self, a), read(self, b));
        let shift = x.shift + y.shift;
        (x.shift, y.shift) = (0, 0);
        let mut sum = Form::constant(x.constant.checked_mul(y.constant).expect(TOO_LARGE));
        let atoms = |form: &Form| Form {
            constant: 0,
            ..form.clone()
        };
        sum = sum
            .plus(&atoms(&x).scaled(y.constant))
            .plus(&atoms(&y).scaled(x.constant));
        for &(i, k) in &x.terms {
            for &(j, l) in &y.terms {
                let atom = self.product_atom(i, j);
                sum = sum.plus(&Form::atom(atom).scaled(k.checked_mul(l).expect(TOO_LARGE)));
            }
        }
        sum.shift = shift;
        sum.reduced()
    }

    fn product_atom(&mut self, i: AtomId, j: AtomId) -> AtomId {
        let (i, j) = (i.min(j), i.max(j));
        if let Some(&atom) = self.products.get(&(i, j)) {
            return atom;
        }
        let (a, b) = (
            self.atoms[i as usize].clone(),
            self.atoms[j as usize].clone(),
        );
        let ends = [a.low, a.high].map(|x| [b.low, b.high].map(|y| x.checked_mul(y)));
        let ends: Option<Vec<i128>> = ends.into_iter().flatten().collect();
        let (low, high) = ends.map_or((-UNKNOWN, UNKNOWN), |ends| {
            ends.iter().fold((i128::MAX, i128::MIN), |(low, high), &e| {
                (low.min(e), high.max(e))
            })
        });
        let single = |q: &Option<Vector>| match q.as_ref().map(|q| &q[..]) {
            Some(&[(variable, 1)]) if variable > 0 => Some(variable),
            _ => None,
        };
        let q = single(&a.q)
            .zip(single(&b.q))
            .map(|(x, y)| Rc::new(vec![(self.product_variable(x, y), 1)]));
        let atom = self.new_atom(low, high, q, Definition::Product(i, j));
        self.products.insert((i, j), atom);
        atom
    }

    /// The variable of the product of two variables.
    pub(crate) fn product_variable(&mut self, x: u32, y: u32) -> u32 {
        let variables = &mut self.variables;
        *self
            .product_variables
            .entry((x.min(y), x.max(y)))
            .or_insert_with(|| {
                *variables += 1;
                *variables - 1
            })
    }

    /// Range and value modulo q of an extreme; values are those of the unsigned reading for
    /// unsigned ones.
    pub(crate) fn extreme_range(
        &mut self,
        kind: Extreme,
        a: WordId,
        b: WordId,
    ) -> (i128, i128, Option<Vector>) {
        let (x, y) = (
            self.words[a as usize].clone(),
            self.words[b as usize].clone(),
        );
        let width = x.width;
        let full = 1i128 << width;
        let difference = y.form.minus(&x.form);
        if kind == Extreme::MinUnsigned && difference.terms.is_empty() && difference.shift == 0 {
            // b = a + c: cases by the signs of both.
            let c = difference.constant;
            let (low, high) = (x.low.max(y.low - c), x.high.min(y.high - c));
            let inside = |v: i128| v >= -full / 2 && v < full / 2;
            if [low, high, low + c, high + c].into_iter().all(inside) {
                let mut cuts = vec![low, high + 1];
                cuts.extend([0, -c].into_iter().filter(|&cut| cut > low && cut <= high));
                cuts.sort_unstable();
                let mut range = (i128::MAX, i128::MIN);
                for part in cuts.windows(2) {
                    let (from, to) = (part[0], part[1] - 1);
                    let (a_negative, b_negative) = (from < 0, from + c < 0);
                    let takes_a = if a_negative == b_negative {
                        c >= 0
                    } else {
                        b_negative
                    };
                    let up = if takes_a { 0 } else { c };
                    range = (range.0.min(from + up), range.1.max(to + up));
                }
                let q = (c.rem_euclid(Q.into()) == 0)
                    .then(|| self.mod_q(&x.form))
                    .flatten();
                return (range.0, range.1, q);
            }
        }
        let signed = matches!(kind, Extreme::MinSigned | Extreme::MaxSigned);
        let fits = |t: &Self, w| if signed { t.fits(w).0 } else { t.fits(w).1 };
        let (least, most) = if signed {
            (-full / 2, full / 2 - 1)
        } else {
            (0, full - 1)
        };
        let of = |t: &Self, id, w: &crate::terms::Word| {
            if fits(t, id) {
                (w.low, w.high)
            } else {
                (least, most)
            }
        };
        let (p, r) = (of(self, a, &x), of(self, b, &y));
        match kind {
            Extreme::MinUnsigned | Extreme::MinSigned => (p.0.min(r.0), p.1.min(r.1), None),
            Extreme::MaxUnsigned | Extreme::MaxSigned => (p.0.max(r.0), p.1.max(r.1), None),
        }
    }
}

/// `a + k b`.
fn combined(a: &[(u32, u32)], b: &[(u32, u32)], k: u32) -> Vec<(u32, u32)> {
    let q = u64::from(Q);
    let mut sum = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let (x, y) = (
            a.get(i).map_or(u32::MAX, |t| t.0),
            b.get(j).map_or(u32::MAX, |t| t.0),
        );
        let mut value = 0;
        if x <= y {
            value += u64::from(a[i].1);
            i += 1;
        }
        if y <= x {
            value += u64::from(b[j].1) * u64::from(k);
            j += 1;
        }
        if value % q != 0 {
            sum.push((x.min(y), (value % q) as u32));
        }
    }
    sum
}

/// The sum of multiples of vectors.
pub(crate) fn combination(a: &Vector, b: &Vector, k: u32) -> Vector {
    Rc::new(combined(a, b, k))
}
