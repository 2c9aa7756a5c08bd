//! Terms over few words of few values, compared with their definition for all values.
//!
//! A cut is a word that a statement already describes: a coefficient, canonical or centred.
//! An output that depends on one cut is computed for every value of it. One that depends on
//! several is computed for every combination of classes: two values of a cut are in one class
//! if all items that depend on that cut alone, and that the rest of the term reads, agree.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::evaluate::{Item, Values, arguments, assembled, evaluate, order};
use crate::terms::{Lit, Node, Op, Terms, WordId};

pub(crate) const CHUNK: usize = 1 << 12;
const MOST_COMBINATIONS: usize = 4_000_000;

/// A cut: all values that it can have.
pub(crate) type Cuts = FxHashMap<WordId, Rc<Vec<u64>>>;

/// An output and its definition: a function of features of cuts.
pub(crate) struct Target<'a> {
    pub(crate) bits: Vec<Lit>,
    /// Cut, and its feature for each of its values.
    pub(crate) features: Vec<(WordId, Rc<Vec<u64>>)>,
    pub(crate) combine: &'a dyn Fn(&[u64]) -> u64,
}

pub(crate) struct Checker<'a> {
    pub(crate) terms: &'a Terms,
    pub(crate) cuts: &'a Cuts,
    supports: FxHashMap<Item, Rc<Vec<WordId>>>,
    /// Terms that were checked, with cuts by the order in which they are met.
    seen: FxHashMap<(Vec<u64>, Vec<usize>), Result<(), String>>,
    /// Classes by the shape of their frontier and the feature.
    known_classes: FxHashMap<(Vec<u64>, usize), Rc<ClassList>>,
    /// Keeps alive what the keys above are addresses of.
    held: Vec<Rc<Vec<u64>>>,
    pub(crate) exhausted: usize,
}

/// Values of a frontier, and the feature that they have in common.
type ClassList = Vec<(Vec<u64>, u64)>;

/// In a support: something that is no cut.
pub(crate) const OTHER: WordId = WordId::MAX;

impl<'a> Checker<'a> {
    pub(crate) fn new(terms: &'a Terms, cuts: &'a Cuts) -> Self {
        Self {
            terms,
            cuts,
            supports: FxHashMap::default(),
            seen: FxHashMap::default(),
            known_classes: FxHashMap::default(),
            held: Vec::new(),
            exhausted: 0,
        }
    }

    pub(crate) fn is_cut(&self, item: Item) -> bool {
        matches!(item, Item::Word(word) if self.cuts.contains_key(&word))
    }

    pub(crate) fn order(&self, targets: &[Item]) -> Vec<Item> {
        order(self.terms, targets, &|item| self.is_cut(item))
    }

    pub(crate) fn support(&mut self, item: Item) -> Rc<Vec<WordId>> {
        for item in order(self.terms, &[item], &|item| {
            self.is_cut(item) || self.supports.contains_key(&item)
        }) {
            if self.supports.contains_key(&item) {
                continue;
            }
            let mut all = Vec::new();
            match item {
                Item::Word(word) if self.cuts.contains_key(&word) => all.push(word),
                Item::Word(word) if matches!(self.terms.words[word as usize].op, Op::Input(_)) => {
                    all.push(OTHER)
                }
                _ => arguments(self.terms, item, &mut |argument| {
                    all.extend(self.supports[&argument].iter())
                }),
            }
            all.sort_unstable();
            all.dedup();
            self.supports.insert(item, Rc::new(all));
        }
        self.supports[&item].clone()
    }

    /// The term with its cuts numbered in the order in which they are met; equal for terms that
    /// compute the same.
    fn shape(&self, bits: &[Lit]) -> (Vec<u64>, Vec<WordId>) {
        let (mut key, cuts, numbers) = self.shape_of(&nodes(bits));
        let lit = |bit: Lit| {
            if bit < 2 {
                bit.into()
            } else {
                2 + 2 * numbers[&Item::Node(bit >> 1)] + u64::from(bit & 1)
            }
        };
        key.push(23);
        key.extend(bits.iter().map(|&bit| lit(bit)));
        (key, cuts)
    }

    pub(crate) fn shape_of(
        &self,
        targets: &[Item],
    ) -> (Vec<u64>, Vec<WordId>, FxHashMap<Item, u64>) {
        let (mut key, mut cuts) = (Vec::new(), Vec::new());
        let mut numbers: FxHashMap<Item, u64> = FxHashMap::default();
        for (n, item) in self.order(targets).into_iter().enumerate() {
            numbers.insert(item, n as u64);
            let lit = |lit: Lit| {
                if lit < 2 {
                    lit.into()
                } else {
                    2 + 2 * numbers[&Item::Node(lit >> 1)] + u64::from(lit & 1)
                }
            };
            let word = |word: WordId| numbers[&Item::Word(word)];
            match item {
                Item::Node(node) => match self.terms.nodes[node as usize] {
                    Node::False => key.push(0),
                    Node::Bit(of, bit) => key.extend([1, word(of), bit.into()]),
                    Node::Xor(a, b) => key.extend([2, lit(a), lit(b)]),
                    Node::And(a, b) => key.extend([3, lit(a), lit(b)]),
                },
                Item::Word(id) if self.cuts.contains_key(&id) => {
                    key.extend([4, cuts.len() as u64]);
                    cuts.push(id);
                }
                Item::Word(id) => {
                    let w = &self.terms.words[id as usize];
                    key.extend([5, w.width.into()]);
                    match &w.op {
                        &Op::Const(value) => key.extend([6, value]),
                        &Op::Input(n) => key.extend([7, n.into()]),
                        &Op::Add(a, b) => key.extend([8, word(a), word(b)]),
                        &Op::Sub(a, b) => key.extend([9, word(a), word(b)]),
                        &Op::Mul(a, b) => key.extend([10, word(a), word(b)]),
                        &Op::Wide(a, b, signed) => {
                            key.extend([11, word(a), word(b), signed.into()])
                        }
                        &Op::Slice(a, from) => key.extend([12, word(a), from.into()]),
                        &Op::Extend(a, up, fill) => {
                            key.extend([13, word(a), up.into(), fill as u64])
                        }
                        &Op::Not(a) => key.extend([14, word(a)]),
                        &Op::Abs(a) => key.extend([15, word(a)]),
                        &Op::Extreme(kind, a, b) => key.extend([16, kind as u64, word(a), word(b)]),
                        &Op::Compare(kind, a, b) => key.extend([17, kind as u64, word(a), word(b)]),
                        &Op::Select(condition, a, b) => {
                            key.extend([18, lit(condition), word(a), word(b)])
                        }
                        &Op::Repeat(of, places) => key.extend([19, lit(of), places]),
                        Op::Field(bits) => {
                            key.extend([20, bits.len() as u64]);
                            key.extend(bits.iter().map(|&bit| lit(bit)));
                        }
                        &Op::Count(a) => key.extend([21, word(a)]),
                        &Op::Clamp(a, low, high) => {
                            key.extend([22, word(a), low as u64, high as u64])
                        }
                    }
                }
            }
        }
        (key, cuts, numbers)
    }

    /// Whether a condition holds for all values of words, of 24 bits together: their values, and
    /// that of the bits.
    pub(crate) fn for_all(
        &self,
        bits: &[Lit],
        words: &[WordId],
        holds: &mut dyn FnMut(&[u64], u64) -> bool,
    ) -> Result<bool, String> {
        let plan = self.order(&nodes(bits));
        let width = |&word: &WordId| self.terms.words[word as usize].width;
        let total: u8 = words.iter().map(width).sum();
        if total > 24 || words.is_empty() {
            return Err("a decision on several words".into());
        }
        for start in (0..1usize << total).step_by(CHUNK) {
            let count = CHUNK.min(1 << total);
            let mut values = Values::default();
            let mut columns = vec![Vec::with_capacity(words.len()); count];
            for (n, columns) in columns.iter_mut().enumerate() {
                let mut rest = (start + n) as u64;
                for word in words {
                    columns.push(rest & crate::terms::mask(width(word)));
                    rest >>= width(word);
                }
            }
            for (n, &word) in words.iter().enumerate() {
                values.insert(Item::Word(word), columns.iter().map(|c| c[n]).collect());
            }
            evaluate(self.terms, &plan, &mut values, count);
            for (columns, got) in columns.iter().zip(assembled(&values, bits, count)) {
                if !holds(columns, got) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether the target is as defined for all values of all cuts. `kind` tells definitions
    /// apart: targets of one kind have the same definition.
    pub(crate) fn check(&mut self, target: &Target<'_>, kind: usize) -> Result<(), String> {
        let (shape, met) = self.shape(&target.bits);
        let mut roles = vec![kind];
        for cut in &met {
            roles.push(Rc::as_ptr(&self.cuts[cut]).addr());
            roles.push(
                target
                    .features
                    .iter()
                    .position(|(of, _)| of == cut)
                    .map_or(0, |n| n + 1),
            );
        }
        if let Some(known) = self.seen.get(&(shape.clone(), roles.clone())) {
            return known.clone();
        }
        for (cut, features) in &target.features {
            if self.cuts[cut].len() != features.len() {
                return Err("a feature is not one of all values".into());
            }
            self.held.push(features.clone());
        }
        let result = self.check_new(target, &met);
        self.seen.insert((shape, roles), result.clone());
        result
    }

    fn check_new(&mut self, target: &Target<'_>, met: &[WordId]) -> Result<(), String> {
        let items = nodes(&target.bits);
        for &item in &items {
            if self.support(item).contains(&OTHER) {
                return Err("an output depends on something that is not described".into());
            }
        }
        let mut involved: Vec<WordId> = met.to_vec();
        involved.extend(
            target
                .features
                .iter()
                .map(|f| f.0)
                .filter(|cut| !met.contains(cut)),
        );
        if let ([cut], [(owner, features)]) = (&involved[..], &target.features[..])
            && cut == owner
        {
            return self.check_one(target, *cut, features);
        }
        // Classes of every cut.
        let mut all = Vec::new();
        for &cut in &involved {
            let features = target
                .features
                .iter()
                .find(|f| f.0 == cut)
                .map(|f| f.1.clone());
            all.push(self.classes(&items, cut, features.as_deref())?);
        }
        let combinations: usize = all.iter().map(|c| c.classes.len()).product();
        if combinations > MOST_COMBINATIONS {
            return Err(format!("{combinations} combinations of classes"));
        }
        self.exhausted += combinations;
        let frontier: Vec<Item> = all
            .iter()
            .flat_map(|c| c.frontier.iter().copied())
            .collect();
        let plan = order(self.terms, &items, &|item| frontier.contains(&item));
        for from in (0..combinations).step_by(CHUNK) {
            let count = CHUNK.min(combinations - from);
            let mut values = Values::default();
            let mut wanted: Vec<Vec<u64>> = vec![Vec::new(); target.features.len()];
            for c in &all {
                c.frontier.iter().for_each(|&item| {
                    values.insert(item, Vec::with_capacity(count));
                });
            }
            for combination in from..from + count {
                let mut index = combination;
                for (c, cut) in all.iter().zip(&involved) {
                    let (frontier, feature) = &c.classes[index % c.classes.len()];
                    index /= c.classes.len();
                    for (item, value) in c.frontier.iter().zip(frontier) {
                        values
                            .get_mut(item)
                            .into_iter()
                            .for_each(|v| v.push(*value));
                    }
                    if let Some(at) = target.features.iter().position(|f| f.0 == *cut) {
                        wanted[at].push(*feature);
                    }
                }
            }
            evaluate(self.terms, &plan, &mut values, count);
            for (n, got) in assembled(&values, &target.bits, count)
                .into_iter()
                .enumerate()
            {
                let features: Vec<u64> = wanted.iter().map(|w| w[n]).collect();
                if got != (target.combine)(&features) {
                    return Err(format!("{got} for features {features:?}"));
                }
            }
        }
        Ok(())
    }

    fn check_one(
        &mut self,
        target: &Target<'_>,
        cut: WordId,
        features: &[u64],
    ) -> Result<(), String> {
        self.over_domain(cut, &nodes(&target.bits), |from, part, values| {
            let got = assembled(values, &target.bits, part.len());
            for ((got, &feature), &value) in got.iter().zip(&features[from..]).zip(part) {
                if *got != (target.combine)(&[feature]) {
                    return Err(format!("{got} for the coefficient {}", value as i32));
                }
            }
            Ok(())
        })
    }

    /// Items for all values of a cut, in parts: number of the first value, values, items.
    pub(crate) fn over_domain(
        &mut self,
        cut: WordId,
        items: &[Item],
        mut check: impl FnMut(usize, &[u64], &Values) -> Result<(), String>,
    ) -> Result<(), String> {
        let domain = self.cuts[&cut].clone();
        let plan = self.order(items);
        self.exhausted += domain.len();
        for (n, part) in domain.chunks(CHUNK).enumerate() {
            let mut values = Values::from_iter([(Item::Word(cut), part.to_vec())]);
            evaluate(self.terms, &plan, &mut values, part.len());
            check(n * CHUNK, part, &values)?;
        }
        Ok(())
    }

    fn classes(
        &mut self,
        items: &[Item],
        cut: WordId,
        features: Option<&Vec<u64>>,
    ) -> Result<Classes, String> {
        // Items over this cut alone that the rest of the term reads.
        let mut frontier = Vec::new();
        let mut stack = items.to_vec();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(item) = stack.pop() {
            let key = match item {
                Item::Word(word) => (0, word),
                Item::Node(node) => (1, node),
            };
            if !seen.insert(key) {
                continue;
            }
            let support = self.support(item);
            if support[..] == [cut] {
                frontier.push(item);
            } else if support.contains(&cut) {
                arguments(self.terms, item, &mut |argument| stack.push(argument));
            }
        }
        let (mut shape, _, numbers) = self.shape_of(&frontier);
        shape.push(24);
        shape.extend(frontier.iter().map(|item| numbers[item]));
        let domain = self.cuts[&cut].clone();
        shape.push(Rc::as_ptr(&domain).addr() as u64);
        let key = (shape, features.map_or(0, |f| core::ptr::from_ref(f).addr()));
        if let Some(classes) = self.known_classes.get(&key) {
            return Ok(Classes {
                frontier,
                classes: classes.clone(),
            });
        }
        let mut classes: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        self.over_domain(cut, &frontier, |from, part, values| {
            let columns: Vec<_> = frontier.iter().map(|item| &values[item]).collect();
            for i in 0..part.len() {
                let key: Vec<u64> = columns.iter().map(|column| column[i]).collect();
                let feature = features.map_or(0, |features| features[from + i]);
                if *classes.entry(key).or_insert(feature) != feature {
                    return Err("an output is no function of what it has to depend on".into());
                }
            }
            if classes.len() > 1 << 20 {
                return Err("too many classes of a coefficient".into());
            }
            Ok(())
        })?;
        let classes: Rc<Vec<_>> = Rc::new(classes.into_iter().collect());
        self.known_classes.insert(key, classes.clone());
        Ok(Classes { frontier, classes })
    }
}

struct Classes {
    frontier: Vec<Item>,
    /// Values of the frontier, and the feature that they have in common.
    classes: Rc<ClassList>,
}

pub(crate) fn nodes(bits: &[Lit]) -> Vec<Item> {
    bits.iter()
        .filter(|&&bit| bit > 1)
        .map(|&bit| Item::Node(bit >> 1))
        .collect()
}
