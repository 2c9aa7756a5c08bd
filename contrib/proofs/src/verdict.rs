//! Verdicts over all coefficients: a conjunction of predicates of one coefficient each.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::evaluate::{Item, Values, arguments, evaluate, literal, order};
use crate::exhaust::{CHUNK, Checker, OTHER, nodes, numbered};
use crate::terms::{Lit, Node, Op, WordId};

impl Checker<'_> {
    /// Whether a verdict is 1 exactly if, for every cut with features, the feature is 1.
    ///
    /// The verdict has to be the NOR of comparisons of maxima with a limit. A maximum exceeds a
    /// limit exactly if one of its terms does, so each term is compared alone.
    pub(crate) fn verdict(
        &mut self,
        lit: Lit,
        features: &[(WordId, Rc<Vec<u64>>)],
    ) -> Result<(), String> {
        if let Some(leaves) = self.conjunction(lit) {
            return self.predicates(&leaves, features);
        }
        let mut comparisons = Vec::new();
        let mut roots: Vec<Item> = Vec::new();
        let mut stack = nodes(&[lit]);
        let mut seen = FxHashSet::default();
        while let Some(item) = stack.pop() {
            if !seen.insert(item) {
                continue;
            }
            if let Some(found) = self.threshold(item) {
                roots.push(item);
                comparisons.push(found);
                continue;
            }
            if self.is_cut(item)
                || matches!(item, Item::Word(w) if matches!(self.terms.words[w as usize].op, Op::Input(_)))
            {
                return Err("a verdict that is no function of comparisons of maxima".into());
            }
            arguments(self.terms, item, &mut |argument| stack.push(argument));
        }
        if roots.is_empty() || roots.len() > 20 {
            return Err(format!("a verdict of {} comparisons", roots.len()));
        }
        let plan = order(self.terms, &nodes(&[lit]), &|item| roots.contains(&item));
        for from in (0..1usize << roots.len()).step_by(CHUNK) {
            let count = CHUNK.min((1 << roots.len()) - from);
            let mut values = Values::default();
            for (n, &root) in roots.iter().enumerate() {
                values.insert(
                    root,
                    (0..count).map(|i| ((from + i) >> n & 1) as u64).collect(),
                );
            }
            evaluate(self.terms, &plan, &mut values, count);
            let got = literal(&values, lit, count);
            if (0..count).any(|i| (got[i] == 1) != (from + i == 0)) {
                return Err("a verdict that is not the NOR of its comparisons".into());
            }
        }
        // Terms of maxima by cut.
        let mut by_cut: FxHashMap<WordId, Vec<(WordId, u64)>> = FxHashMap::default();
        for (maximum, limit) in comparisons {
            let mut stack = vec![maximum];
            while let Some(word) = stack.pop() {
                let w = &self.terms.words[word as usize];
                match w.op {
                    Op::Extreme(crate::terms::Extreme::MaxUnsigned, a, b) => stack.extend([a, b]),
                    Op::Extreme(crate::terms::Extreme::MaxSigned, a, b)
                        if self.is_positive(a) && self.is_positive(b) =>
                    {
                        stack.extend([a, b])
                    }
                    Op::Const(value) if value <= limit => {}
                    _ => match self.support(Item::Word(word))[..] {
                        [cut] if cut != OTHER => by_cut.entry(cut).or_default().push((word, limit)),
                        _ => {
                            return Err(
                                "a term of a maximum that depends on several coefficients".into()
                            );
                        }
                    },
                }
            }
        }
        let mut known: FxHashSet<Vec<u64>> = FxHashSet::default();
        for (cut, features) in features {
            let Some(terms) = by_cut.remove(cut) else {
                return Err("a coefficient that the verdict ignores".into());
            };
            let mut key = vec![Rc::as_ptr(&self.cuts[cut]).addr() as u64];
            for &(word, limit) in &terms {
                key.extend(self.shape_of(&[Item::Word(word)]).0);
                key.push(limit);
            }
            if !known.insert(key) {
                continue;
            }
            let items: Vec<Item> = terms.iter().map(|t| Item::Word(t.0)).collect();
            self.over_domain(*cut, &items, |from, part, values| {
                for (i, (&value, &feature)) in part.iter().zip(&features[from..]).enumerate() {
                    let within =
                        |&(word, limit): &(WordId, u64)| values[&Item::Word(word)][i] <= limit;
                    if terms.iter().all(within) != (feature == 1) {
                        return Err(format!("the verdict for the coefficient {}", value as i32));
                    }
                }
                Ok(())
            })?;
        }
        if by_cut.is_empty() {
            Ok(())
        } else {
            Err("the verdict depends on something else".into())
        }
    }

    /// The literals whose conjunction a literal is, by the cut that each depends on; `None` if
    /// one depends on several.
    fn conjunction(&mut self, lit: Lit) -> Option<FxHashMap<WordId, Vec<Lit>>> {
        let mut leaves: FxHashMap<WordId, Vec<Lit>> = FxHashMap::default();
        let mut stack = vec![lit];
        while let Some(lit) = stack.pop() {
            if lit == 1 {
                continue;
            }
            match self.support(Item::Node(lit >> 1))[..] {
                [cut] if cut != OTHER => leaves.entry(cut).or_default().push(lit),
                _ => match self.terms.nodes[lit as usize >> 1] {
                    Node::And(a, b) if lit & 1 == 0 => stack.extend([a, b]),
                    _ => return None,
                },
            }
        }
        Some(leaves)
    }

    /// Whether, for each cut and each of its values, its literals are all 1 exactly if its
    /// feature is.
    fn predicates(
        &mut self,
        leaves: &FxHashMap<WordId, Vec<Lit>>,
        features: &[(WordId, Rc<Vec<u64>>)],
    ) -> Result<(), String> {
        let owned = features.iter().filter(|f| leaves.contains_key(&f.0));
        if leaves.len() != features.len() || owned.count() != features.len() {
            return Err("the verdict depends on other coefficients".into());
        }
        let mut known: FxHashSet<Vec<u64>> = FxHashSet::default();
        for (cut, features) in features {
            let leaves = &leaves[cut];
            let domain = self.cuts[cut].clone();
            let items = nodes(leaves);
            let (mut key, _, numbers) = self.shape_of(&items);
            key.extend(leaves.iter().map(|&lit| numbered(&numbers, lit)));
            key.push(Rc::as_ptr(&domain).addr() as u64);
            key.push(Rc::as_ptr(features).addr() as u64);
            if !known.insert(key) {
                continue;
            }
            self.over_domain(*cut, &items, |from, part, values| {
                let columns = leaves.iter().map(|&leaf| literal(values, leaf, part.len()));
                let columns: Vec<_> = columns.collect();
                for (i, (&value, &feature)) in part.iter().zip(&features[from..]).enumerate() {
                    if columns.iter().all(|column| column[i] == 1) != (feature == 1) {
                        return Err(format!("the verdict for the coefficient {}", value as i32));
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Whether signed and unsigned readings agree.
    fn is_positive(&self, word: WordId) -> bool {
        let w = &self.terms.words[word as usize];
        w.low >= 0 && w.high < 1 << (w.width - 1)
    }

    /// A literal that is `maximum > limit`, both of them read as unsigned.
    fn threshold(&self, item: Item) -> Option<(WordId, u64)> {
        let Item::Node(node) = item else { return None };
        let Node::Bit(word, bit) = self.terms.nodes[node as usize] else {
            return None;
        };
        let w = &self.terms.words[word as usize];
        let limit = |word: WordId| self.terms.as_constant(word);
        let is_maximum =
            |word: WordId| matches!(self.terms.words[word as usize].op, Op::Extreme(..));
        match w.op {
            Op::Compare(crate::terms::Compare::GreaterUnsigned, a, b) if is_maximum(a) => {
                limit(b).map(|limit| (a, limit))
            }
            Op::Compare(crate::terms::Compare::GreaterSigned, a, b)
                if is_maximum(a) && self.is_positive(a) =>
            {
                limit(b)
                    .filter(|&l| l < 1 << (self.terms.words[b as usize].width - 1))
                    .map(|limit| (a, limit))
            }
            // The sign of a difference that does not overflow.
            Op::Sub(a, b)
                if is_maximum(b)
                    && bit + 1 == w.width
                    && self.is_positive(b)
                    && w.low >= -(1 << (w.width - 1))
                    && w.high < 1 << (w.width - 1) =>
            {
                limit(a)
                    .filter(|&l| l < 1 << (w.width - 1))
                    .map(|limit| (b, limit))
            }
            _ => None,
        }
    }
}
