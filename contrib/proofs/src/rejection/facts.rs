//! Facts that literals and words give about candidates, for all values of the candidates.

use super::{Explorer, N, Place, coefficient};
use crate::exhaust::{Checker, nodes};
use crate::memory::UNWRITTEN;
use crate::terms::{Compare, Extreme, Lit, Node, Op};

impl Explorer<'_> {
    /// The comparisons with the terms of a maximum, if the literal says that a number is greater
    /// than the maximum, or that it is not.
    pub(super) fn terms_of_maximum(&mut self, lit: Lit) -> Option<Vec<Lit>> {
        let terms = &mut self.machine.terms;
        let Node::Bit(word, _) = terms.nodes[lit as usize >> 1] else {
            return None;
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
