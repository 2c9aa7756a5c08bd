//! Atoms, ranges, residues and floors of forms: the lemmas of `forms.rs`.

use std::rc::Rc;

use crate::forms::{
    Atom, AtomId, Definition, EMPTY, Form, TOO_LARGE, UNKNOWN, Vector, bounded, combined,
};
use crate::reference::{Q, inverse};
use crate::terms::{Terms, WordId, fits};

impl Terms {
    pub(crate) fn new_atom(
        &mut self,
        low: i128,
        high: i128,
        q: Option<Vector>,
        definition: Definition,
    ) -> AtomId {
        assert!(low <= high, "{EMPTY}");
        let (low, high) = bounded((low, high));
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
            if l <= -UNKNOWN || h >= UNKNOWN {
                return (-UNKNOWN, UNKNOWN);
            }
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
        bounded((low, high))
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
            // A residue differs from its form by a multiple of `2^b`, which its coefficient makes one
            // of the modulus.
            let expandable = form
                .terms
                .iter()
                .enumerate()
                .rev()
                .find_map(
                    |(n, &(atom, k))| match &self.atoms[atom as usize].definition {
                        Definition::Residue(inner, b, _)
                            if b + k.trailing_zeros() >= modulus
                                && inner.shift <= k.trailing_zeros() =>
                        {
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
            let k = form.terms.remove(n).1 >> inner.shift;
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
    pub(crate) fn residue(&mut self, form: &Form, bits: u32, signed: bool) -> Form {
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
        let key = (n, bits, signed);
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

    /// The form with coefficients modulo two to the width, of the smallest magnitude: a form of
    /// the same word.
    fn wrapped(&self, form: &Form, width: u8) -> Option<Form> {
        let bits = u32::from(width) + form.shift;
        if bits >= 120 {
            return None;
        }
        let wrap = |k: i128| {
            let rest = k & ((1i128 << bits) - 1);
            if rest >> (bits - 1) == 1 {
                rest - (1i128 << bits)
            } else {
                rest
            }
        };
        let mut form = form.clone();
        form.terms.iter_mut().for_each(|(_, k)| *k = wrap(*k));
        form.terms.retain(|&(_, k)| k != 0);
        form.constant = wrap(form.constant);
        Some(form.reduced())
    }

    /// The form with an atom in the place of the terms that it is the sum of, if a Boolean of the
    /// form says something about that atom.
    pub(crate) fn folded(&self, form: &Form) -> Option<Form> {
        let coefficient = |atom: AtomId| {
            let found = form.terms.iter().find(|t| t.0 == atom);
            found.map_or(0, |t| t.1)
        };
        form.terms.iter().find_map(|&(atom, _)| {
            let (of, ..) = self.atoms[atom as usize].order?;
            let Definition::Form(inner) = &self.atoms[of as usize].definition else {
                return None;
            };
            let &(first, k) = inner.terms.first()?;
            let factor = coefficient(first) / k;
            let fits = factor != 0
                && factor.abs() < 1 << 40
                && inner.shift == 0
                && coefficient(of) == 0
                && inner
                    .terms
                    .iter()
                    .all(|&(atom, k)| k.checked_mul(factor) == Some(coefficient(atom)));
            if !fits {
                return None;
            }
            let mut change = Form::atom(of).minus(inner).scaled(factor);
            change.shift = form.shift;
            Some(form.plus(&change))
        })
    }

    /// The form with short definitions in the place of atoms that are forms.
    pub(crate) fn expanded(&self, form: &Form) -> Form {
        let bits = |value: i128| 128 - value.unsigned_abs().leading_zeros();
        let most = |form: &Form| {
            let terms = form.terms.iter().map(|&(_, k)| bits(k));
            terms.max().unwrap_or(0).max(bits(form.constant))
        };
        let mut form = form.clone();
        for _ in 0..8 {
            // The fraction of the coefficient in lowest terms: its denominator adds to that of
            // the definition.
            let lowest = |k: i128, shift: u32| {
                let twos = k.trailing_zeros().min(shift);
                (k >> twos, shift - twos)
            };
            let found = form.terms.iter().rev().find_map(|&(atom, k)| {
                let Definition::Form(inner) = &self.atoms[atom as usize].definition else {
                    return None;
                };
                let (factor, rest) = lowest(k, form.shift);
                let shift = inner.shift + rest;
                let fits = inner.terms.len() + form.terms.len() <= 16
                    && shift < 60
                    && most(inner) + bits(factor) <= 100
                    && most(&form) + shift.saturating_sub(form.shift) <= 100;
                fits.then_some((atom, k, inner))
            });
            let Some((atom, k, inner)) = found else { break };
            let factor = Form {
                terms: vec![(atom, k)],
                constant: 0,
                shift: form.shift,
            };
            let (lowest, rest) = lowest(k, form.shift);
            let mut scaled = inner.scaled(lowest);
            scaled.shift += rest;
            form = form.minus(&factor).plus(&scaled.reduced());
        }
        form
    }

    /// A form of a word of that width whose range fits one of its readings, if one is found.
    pub(crate) fn refitted(&self, form: &Form, width: u8) -> Option<(Form, (i128, i128))> {
        let wrapped = self.wrapped(form, width);
        for form in core::iter::once(form.clone()).chain(wrapped) {
            let (a, b) = (self.range(&form), self.range(&self.expanded(&form)));
            let range = (a.0.max(b.0), a.1.min(b.1));
            if fits(width, range.0, range.1) {
                return Some((form, range));
            }
        }
        None
    }
}
