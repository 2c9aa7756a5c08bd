//! Signed and unsigned readings of words, Booleans, products and extremes as forms.

use std::rc::Rc;

use crate::forms::{AtomId, Definition, Form, TOO_LARGE, UNKNOWN, Vector};
use crate::reference::Q;
use crate::terms::{Extreme, Lit, Node, Op, Terms, WordId};

impl Terms {
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
                let signed = self.residue(&form, width.into(), true);
                let sign = self.sign(word);
                signed.plus(&sign.scaled(1i128 << width))
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
        let (lit, residue) = self.first_sign(lit);
        let atom = match self.bools.get(&lit) {
            Some(&atom) => atom,
            None => {
                let atom = self.new_atom(0, 1, None, Definition::Bool(lit));
                self.bools.insert(lit, atom);
                atom
            }
        };
        if self.atoms[atom as usize].order.is_none() {
            let order = match residue {
                Some(residue) => Some((residue, -1, false)),
                None => self.top_bit(lit).map(|top| self.order_of(top)),
            };
            self.atoms[atom as usize].order = order;
        }
        Form::atom(atom)
    }

    /// The word of which a literal is the highest bit that is used: whether its signed reading
    /// is above that number, or is not.
    fn top_bit(&self, lit: Lit) -> Option<(WordId, i128, bool)> {
        let Node::Bit(word, bit) = self.nodes[lit as usize >> 1] else {
            return None;
        };
        let w = &self.words[word as usize];
        if w.width == 1 || !self.fits(word).0 {
            None
        } else if bit + 1 == w.width {
            Some((word, -1, false))
        } else {
            let is_top = w.low >= 0 && w.high < 2 << bit;
            is_top.then_some((word, (1 << bit) - 1, true))
        }
    }

    /// Sign bits of words with one residue are one: the first of them, and the residue.
    fn first_sign(&mut self, lit: Lit) -> (Lit, Option<AtomId>) {
        let Node::Bit(word, bit) = self.nodes[lit as usize >> 1] else {
            return (lit, None);
        };
        let w = &self.words[word as usize];
        if bit + 1 != w.width || w.width == 1 || self.fits(word).0 || w.form.terms.is_empty() {
            return (lit, None);
        }
        let (form, width) = (w.form.clone(), w.width);
        match self.residue(&form, width.into(), true).as_atom() {
            Some(atom) => (*self.signs.entry(atom).or_insert(lit), Some(atom)),
            None => (lit, None),
        }
    }

    /// A comparison of a word, in terms of it or of the one that it is the sum of with a
    /// constant.
    fn order_of(&mut self, (word, k, greater): (WordId, i128, bool)) -> (AtomId, i128, bool) {
        let w = self.words[word as usize].clone();
        let (sign, of) = match w.op {
            Op::Add(a, b) if self.as_constant(b).is_some() => (1, a),
            Op::Add(a, b) if self.as_constant(a).is_some() => (1, b),
            Op::Sub(a, b) if self.as_constant(b).is_some() => (1, a),
            Op::Sub(a, b) if self.as_constant(a).is_some() => (-1, b),
            _ => return (self.seal(word), k, greater),
        };
        let inner = self.words[of as usize].form.clone();
        let difference = w.form.minus(&inner.scaled(sign));
        if !difference.terms.is_empty() || difference.shift > 0 || !self.fits(of).0 {
            return (self.seal(word), k, greater);
        }
        let c = difference.constant;
        let atom = self.seal(of);
        // One atom in both: ranges are split by what is known about it.
        self.words[word as usize].form = Form::atom(atom).scaled(sign).plus(&Form::constant(c));
        if sign > 0 {
            // a + c > k
            (atom, k - c, greater)
        } else {
            // c - a > k
            (atom, c - k - 1, !greater)
        }
    }

    /// The value of a word if a condition holds, and else 0.
    pub(crate) fn conditional(&mut self, condition: Lit, word: WordId) -> Form {
        let value = self.seal(word);
        let sum = self.bool_form(condition);
        let mut out = Form::atom(value).scaled(sum.constant);
        for (atom, k) in sum.terms {
            let product = self.product_atom(atom, value);
            out = out.plus(&Form::atom(product).scaled(k));
        }
        out
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
