//! Terms over few words of few values, compared with their definition for all values.
//!
//! A cut is a word that a statement already describes: a coefficient, canonical or centred.
//! An output that depends on one cut is computed for every value of it. One that depends on
//! several is computed for every combination of classes: two values of a cut are in one class
//! if all items that depend on that cut alone, and that the rest of the term reads, agree.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::evaluate::{Item, Operand, Values, arguments, assembled, evaluate, operands, order};
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
    pub(crate) fn shape(&self, bits: &[Lit]) -> (Vec<u64>, Vec<WordId>) {
        let (mut key, cuts, numbers) = self.shape_of(&nodes(bits));
        key.push(23);
        key.extend(bits.iter().map(|&bit| numbered(&numbers, bit)));
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
            // A tag and the numbers in the item tell how many operands follow.
            key.extend(match item {
                Item::Node(node) => match self.terms.nodes[node as usize] {
                    Node::False => [0; 4],
                    Node::Bit(_, bit) => [1, bit.into(), 0, 0],
                    Node::Xor(..) => [2, 0, 0, 0],
                    Node::And(..) => [3, 0, 0, 0],
                },
                Item::Word(id) if self.cuts.contains_key(&id) => {
                    cuts.push(id);
                    key.extend([4, cuts.len() as u64]);
                    continue;
                }
                Item::Word(id) => {
                    let w = &self.terms.words[id as usize];
                    let [tag, a, b] = match w.op {
                        Op::Const(value) => [6, value, 0],
                        Op::Input(n) => [7, n.into(), 0],
                        Op::Add(..) => [8, 0, 0],
                        Op::Sub(..) => [9, 0, 0],
                        Op::Mul(..) => [10, 0, 0],
                        Op::Wide(.., signed) => [11, signed.into(), 0],
                        Op::Slice(_, from) => [12, from.into(), 0],
                        Op::Extend(_, up, fill) => [13, up.into(), fill as u64],
                        Op::Not(_) => [14, 0, 0],
                        Op::Abs(_) => [15, 0, 0],
                        Op::Extreme(kind, ..) => [16, kind as u64, 0],
                        Op::Compare(kind, ..) => [17, kind as u64, 0],
                        Op::Select(..) => [18, 0, 0],
                        Op::Repeat(_, places) => [19, places, 0],
                        Op::Field(ref bits) => [20, bits.len() as u64, 0],
                        Op::Count(_) => [21, 0, 0],
                        Op::Clamp(_, low, high) => [22, low as u64, high as u64],
                    };
                    [tag, w.width.into(), a, b]
                }
            });
            operands(self.terms, item, &mut |operand| {
                key.push(match operand {
                    Operand::Word(word) => numbers[&Item::Word(word)],
                    Operand::Lit(bit) => numbered(&numbers, bit),
                });
            });
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
            let role = target.features.iter().position(|(of, _)| of == cut);
            roles.push(role.map_or(0, |n| n + 1));
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
        let others = target.features.iter().map(|f| f.0);
        involved.extend(others.filter(|cut| !met.contains(cut)));
        if let ([cut], [(owner, features)]) = (&involved[..], &target.features[..])
            && cut == owner
        {
            return self.check_one(target, *cut, features);
        }
        // Classes of every cut.
        let mut all = Vec::new();
        for &cut in &involved {
            let features = target.features.iter().find(|f| f.0 == cut);
            all.push(self.classes(&items, cut, features.map(|f| &*f.1))?);
        }
        let combinations: usize = all.iter().map(|c| c.classes.len()).product();
        if combinations > MOST_COMBINATIONS {
            return Err(format!("{combinations} combinations of classes"));
        }
        self.exhausted += combinations;
        let is_frontier = |item| all.iter().any(|c| c.frontier.contains(&item));
        let plan = order(self.terms, &items, &is_frontier);
        for from in (0..combinations).step_by(CHUNK) {
            let count = CHUNK.min(combinations - from);
            let mut values = Values::default();
            let mut wanted: Vec<Vec<u64>> = vec![Vec::new(); target.features.len()];
            for combination in from..from + count {
                let mut index = combination;
                for (c, cut) in all.iter().zip(&involved) {
                    let (frontier, feature) = &c.classes[index % c.classes.len()];
                    index /= c.classes.len();
                    for (item, value) in c.frontier.iter().zip(frontier) {
                        values.entry(*item).or_default().push(*value);
                    }
                    if let Some(at) = target.features.iter().position(|f| f.0 == *cut) {
                        wanted[at].push(*feature);
                    }
                }
            }
            evaluate(self.terms, &plan, &mut values, count);
            let all = assembled(&values, &target.bits, count);
            for (n, got) in all.into_iter().enumerate() {
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
        let mut seen = FxHashSet::default();
        while let Some(item) = stack.pop() {
            if !seen.insert(item) {
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

/// A literal by the number of its item.
pub(crate) fn numbered(numbers: &FxHashMap<Item, u64>, lit: Lit) -> u64 {
    match lit {
        0 | 1 => lit.into(),
        _ => 2 + 2 * numbers[&Item::Node(lit >> 1)] + u64::from(lit & 1),
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
