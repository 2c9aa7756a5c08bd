//! Facts that literals and words give about candidates, for all values of the candidates.

use std::rc::Rc;

use super::{Explorer, N, Place, coefficient};
use crate::evaluate::Item;
use crate::exhaust::{Checker, nodes};
use crate::memory::{UNWRITTEN, Value};
use crate::terms::{Compare, Extreme, Lit, Node, Op, WordId, is_any};

/// Bits by the set of accepted candidates: those set for all their values, and those set for one.
pub(super) type Function = Rc<[[u64; 2]]>;

/// Returns whether a bit is neither a constant nor without a term.
fn is_data(bit: Lit) -> bool {
    bit > 1 && bit != UNWRITTEN && !is_any(bit)
}

/// Returns the number of a set.
fn set_of(members: impl Iterator<Item = bool>) -> usize {
    let bits = members.enumerate().map(|(n, is)| usize::from(is) << n);
    bits.sum()
}

/// Reduces a function of candidates to those that are kept, if it does not depend on the others.
fn only(
    (mut of, function): (Vec<usize>, Function),
    is_kept: impl Fn(usize) -> bool,
) -> Option<(Vec<usize>, Function)> {
    let mut values = function.to_vec();
    while let Some(n) = of.iter().position(|&candidate| !is_kept(candidate)) {
        let half = |is: usize| {
            let sets = (0..values.len()).filter(move |set| set >> n & 1 == is);
            sets.map(|set| values[set]).collect::<Vec<_>>()
        };
        let [rejected, accepted] = [0, 1].map(half);
        if rejected != accepted {
            return None;
        }
        (_, values) = (of.remove(n), rejected);
    }
    Some((of, values.into()))
}

impl Explorer<'_> {
    /// The comparisons of which a literal says that all hold, or that not all do: those with the
    /// terms of a maximum, or those of a conjunction of more than two. A comparison by itself may
    /// be a conjunction of two.
    pub(super) fn terms_of_all(&mut self, lit: Lit) -> Option<Vec<Lit>> {
        let terms = &mut self.machine.terms;
        let Node::Bit(word, _) = terms.nodes[lit as usize >> 1] else {
            let (mut stack, mut all) = (vec![lit & !1], Vec::new());
            while let Some(lit) = stack.pop() {
                match terms.nodes[lit as usize >> 1] {
                    Node::And(a, b) if lit & 1 == 0 => stack.extend([a, b]),
                    _ => all.push(lit),
                }
            }
            return (all.len() > 2).then_some(all);
        };
        let Op::Compare(Compare::GreaterUnsigned, limit, most) = terms.words[word as usize].op
        else {
            return None;
        };
        let (mut stack, mut all) = (vec![most], Vec::new());
        while let Some(word) = stack.pop() {
            match terms.words[word as usize].op {
                Op::Extreme(Extreme::MaxUnsigned, a, b) => stack.extend([a, b]),
                _ => all.push(terms.compare(Compare::GreaterUnsigned, limit, word)),
            }
        }
        (all.len() > 1).then_some(all)
    }

    /// Returns the candidates in literals of a decision and its value for each set of them that is
    /// accepted, if they are the next half-bytes and if nothing else has an influence.
    pub(super) fn of_next(
        &mut self,
        lits: &[Lit],
        place: Place,
    ) -> Result<Option<(Vec<usize>, Function)>, String> {
        let (_, _, next, squeezed, _) = place;
        let found = self.by_acceptance(lits)?;
        let found = found.and_then(|found| only(found, |candidate| candidate >= next));
        Ok(found.filter(|(of, values)| {
            let mut sorted = of.clone();
            sorted.sort_unstable();
            let is_next = sorted.into_iter().eq(next..squeezed.min(next + of.len()));
            is_next && values.iter().all(|[all, any]| all == any)
        }))
    }

    /// Returns the half-bytes that bits depend on, and for each set of those that are accepted the bits
    /// that are set for all their values and those that are set for one. Nothing if there are none
    /// or more than two of them, or if the bits depend on something else.
    fn by_acceptance(&mut self, bits: &[Lit]) -> Result<Option<(Vec<usize>, Function)>, String> {
        if self.eta.is_none() || bits.len() > 64 || !bits.iter().all(|&bit| is_data(bit)) {
            return Ok(None);
        }
        let terms = &self.machine.terms;
        let checker = Checker::new(terms, &self.cuts);
        let items = checker.order(&nodes(bits));
        let is_other = |item: &Item| {
            let is_input = |word: WordId| matches!(terms.words[word as usize].op, Op::Input(_));
            matches!(item, Item::Word(word) if is_input(*word)) && !checker.is_cut(*item)
        };
        if items.iter().any(is_other) {
            return Ok(None);
        }
        let (shape, met) = checker.shape(bits);
        let place = |word| self.candidates.iter().position(|&of| of == word);
        let of: Option<Vec<usize>> = met.iter().map(|&word| place(word)).collect();
        let Some(of) = of.filter(|of| (1..=2).contains(&of.len())) else {
            return Ok(None);
        };
        if let Some(known) = self.functions.get(&shape) {
            return Ok(Some((of, known.clone())));
        }
        let mut function = vec![[u64::MAX, 0]; 1 << of.len()];
        checker.for_all(bits, &met, &mut |values, got| {
            let accepted = values.iter().map(|&z| coefficient(self.eta, z).is_some());
            let [all, any] = &mut function[set_of(accepted)];
            (*all, *any) = (*all & got, *any | got);
            true
        })?;
        let function: Function = function.into();
        self.functions.insert(shape, function.clone());
        Ok(Some((of, function)))
    }

    /// Takes the bits of general registers as known that follow from which candidates are accepted,
    /// as far as that is decided.
    pub(super) fn learn(&mut self, accepts: &dyn Fn(usize) -> Option<bool>) -> Result<(), String> {
        for register in 0..self.machine.general.len() {
            let Value::Bits(bits) = &self.machine.general[register] else {
                continue;
            };
            let unknown = (0..bits.len()).filter(|&at| is_data(bits[at]));
            let (places, lits): (Vec<_>, Vec<_>) = unknown.map(|at| (at, bits[at])).unzip();
            let Some((of, function)) = self.by_acceptance(&lits)? else {
                continue;
            };
            let Some((of, function)) = only((of, function), |of| accepts(of).is_some()) else {
                continue;
            };
            let is_accepted = of.iter().map(|&candidate| accepts(candidate) == Some(true));
            let [all, any] = function[set_of(is_accepted)];
            if let Value::Bits(bits) = &mut self.machine.general[register] {
                for (n, at) in places.into_iter().enumerate() {
                    if (all ^ any) >> n & 1 == 0 {
                        bits[at] = Lit::from(all >> n & 1 == 1);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether each literal says that its candidate is accepted or that it is not; they are those
    /// of the next candidates, in order.
    pub(super) fn facts_of(&mut self, lits: &[Lit], place: Place) -> Result<Vec<bool>, String> {
        let (filled, _, next, squeezed, _) = place;
        let mut all = Vec::new();
        for (wanted, &lit) in (next..squeezed).zip(lits) {
            let (candidate, says) = self.fact(lit)?;
            // After the last coefficient a candidate need not be looked at.
            if candidate != wanted && (filled < N || candidate < wanted) {
                return Err(format!("candidate {candidate} and not {wanted} is decided"));
            }
            all.push(says);
        }
        let is_all = all.len() == lits.len();
        is_all
            .then_some(all)
            .ok_or("a decision on bytes after the stream".into())
    }

    /// The candidate that a literal is about, and whether it says that it is accepted, by its
    /// values for all values of the candidates in it.
    pub(super) fn fact(&mut self, lit: Lit) -> Result<(usize, bool), String> {
        if let Some(&known) = self.facts.get(&lit) {
            return Ok(known);
        }
        let checker = Checker::new(&self.machine.terms, &self.cuts);
        let (mut shape, met, _) = checker.shape_of(&nodes(&[lit]));
        shape.push((lit & 1).into());
        let (n, says) = match self.shapes.get(&shape) {
            Some(&known) => known,
            None => {
                let mut holds = vec![[true; 2]; met.len()];
                checker.for_all(&[lit], &met, &mut |values, got| {
                    for (holds, &z) in holds.iter_mut().zip(values) {
                        let is_same = coefficient(self.eta, z).is_some() == (got == 1);
                        holds[usize::from(is_same)] = false;
                    }
                    holds.iter().any(|holds| *holds != [false; 2])
                })?;
                let n = holds.iter().position(|holds| *holds != [false; 2]);
                let n = n.ok_or("a decision on something else than acceptance")?;
                (n, holds[n][0])
            }
        };
        self.shapes.insert(shape, (n, says));
        let candidate = self.candidates.iter().position(|&word| word == met[n]);
        let known = (candidate.ok_or("no candidate")?, says);
        self.facts.insert(lit, known);
        Ok(known)
    }

    /// Whether bits are the coefficient of a candidate, for all its values that are accepted.
    pub(super) fn is_coefficient(
        &mut self,
        bits: &[Lit],
        candidate: usize,
    ) -> Result<bool, String> {
        let word = self.candidates[candidate];
        if self.eta.is_none() {
            let wanted = &self.machine.terms.bits(word)[..23];
            return Ok(bits[..23] == *wanted && bits[23..] == [0; 9]);
        }
        let key = (candidate, bits.to_vec());
        if self.values.contains(&key) {
            return Ok(true);
        }
        if bits.contains(&UNWRITTEN) {
            return Ok(false);
        }
        let checker = Checker::new(&self.machine.terms, &self.cuts);
        let (_, met, _) = checker.shape_of(&nodes(bits));
        let Some(n) = met.iter().position(|&of| of == word) else {
            return Ok(false);
        };
        let is_it = checker.for_all(bits, &met, &mut |values, got| {
            coefficient(self.eta, values[n]).is_none_or(|wanted| u64::from(wanted) == got)
        })?;
        if is_it {
            self.values.insert(key);
        }
        Ok(is_it)
    }
}
