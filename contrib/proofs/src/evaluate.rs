//! Concrete values of terms, for many assignments of the inputs at a time.

use rustc_hash::FxHashMap;

use crate::terms::{Fill, Lit, Node, Op, Terms, WordId, extended, mask, sign_extended};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    Word(WordId),
    Node(u32),
}

/// Terms that the targets depend on, in an order in which they can be computed. Cuts are
/// not looked into.
pub(crate) fn order(terms: &Terms, targets: &[Item], is_cut: &dyn Fn(Item) -> bool) -> Vec<Item> {
    let mut done: FxHashMap<Item, bool> = FxHashMap::default();
    let mut out = Vec::new();
    let mut stack: Vec<Item> = targets.iter().rev().copied().collect();
    while let Some(&item) = stack.last() {
        match done.get(&item) {
            Some(true) => {
                stack.pop();
            }
            Some(false) => {
                stack.pop();
                done.insert(item, true);
                out.push(item);
            }
            None => {
                done.insert(item, false);
                let mut push = |other: Item| {
                    if !done.contains_key(&other) {
                        stack.push(other);
                    }
                };
                if !is_cut(item) {
                    arguments(terms, item, &mut push);
                }
            }
        }
    }
    out
}

/// The items that an item depends on, without constants.
pub(crate) fn arguments(terms: &Terms, item: Item, push: &mut dyn FnMut(Item)) {
    operands(terms, item, &mut |operand| match operand {
        Operand::Word(word) => push(Item::Word(word)),
        Operand::Lit(lit) if lit > 1 => push(Item::Node(lit >> 1)),
        Operand::Lit(_) => {}
    });
}

pub(crate) enum Operand {
    Word(WordId),
    Lit(Lit),
}

/// The operands of an item, in order.
pub(crate) fn operands(terms: &Terms, item: Item, push: &mut dyn FnMut(Operand)) {
    use Operand::{Lit, Word};
    match item {
        Item::Node(node) => match terms.nodes[node as usize] {
            Node::False => {}
            Node::Bit(word, _) => push(Word(word)),
            Node::Xor(a, b) | Node::And(a, b) => {
                push(Lit(a));
                push(Lit(b));
            }
        },
        Item::Word(word) => match &terms.words[word as usize].op {
            Op::Const(_) | Op::Input(_) => {}
            &(Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Wide(a, b, _)
            | Op::Extreme(_, a, b)
            | Op::Compare(_, a, b)) => {
                push(Word(a));
                push(Word(b));
            }
            &(Op::Slice(a, _)
            | Op::Extend(a, ..)
            | Op::Not(a)
            | Op::Abs(a)
            | Op::Count(a)
            | Op::Clamp(a, ..)) => push(Word(a)),
            &Op::Select(condition, yes, no) => {
                push(Lit(condition));
                push(Word(yes));
                push(Word(no));
            }
            &Op::Repeat(of, _) => push(Lit(of)),
            Op::Field(bits) => bits.iter().for_each(|&bit| push(Lit(bit))),
        },
    }
}

/// Values by item.
pub(crate) type Values = FxHashMap<Item, Vec<u64>>;

/// Computes every item of the order; cuts and inputs are in `values`. Arrays have `count`
/// elements.
pub(crate) fn evaluate(terms: &Terms, order: &[Item], values: &mut Values, count: usize) {
    for &item in order {
        if values.contains_key(&item) {
            continue;
        }
        let result = compute(terms, item, values, count);
        values.insert(item, result);
    }
}

/// The values of a literal.
pub(crate) fn literal(values: &Values, lit: Lit, count: usize) -> Vec<u64> {
    if lit < 2 {
        return vec![lit.into(); count];
    }
    let node = &values[&Item::Node(lit >> 1)];
    if lit & 1 == 1 {
        node.iter().map(|v| v ^ 1).collect()
    } else {
        node.clone()
    }
}

fn compute(terms: &Terms, item: Item, values: &Values, count: usize) -> Vec<u64> {
    let word = match item {
        Item::Node(node) => {
            let gate = |a, b, f: fn((u64, u64)) -> u64| {
                let pairs = literal(values, a, count).into_iter();
                pairs.zip(literal(values, b, count)).map(f).collect()
            };
            return match terms.nodes[node as usize] {
                Node::False => vec![0; count],
                Node::Bit(word, bit) => {
                    let word = values[&Item::Word(word)].iter();
                    word.map(|v| v >> bit & 1).collect()
                }
                Node::Xor(a, b) => gate(a, b, |(a, b)| a ^ b),
                Node::And(a, b) => gate(a, b, |(a, b)| a & b),
            };
        }
        Item::Word(word) => word,
    };
    let w = &terms.words[word as usize];
    let m = mask(w.width);
    let of = |word: WordId| &values[&Item::Word(word)];
    let width = |word: WordId| terms.words[word as usize].width;
    let one = |a: WordId, f: &dyn Fn(u64) -> u64| of(a).iter().map(|&v| f(v) & m).collect();
    let two = |a: WordId, b: WordId, f: &dyn Fn(u64, u64) -> u64| {
        of(a)
            .iter()
            .zip(of(b))
            .map(|(&a, &b)| f(a, b) & m)
            .collect()
    };
    match &w.op {
        Op::Const(value) => vec![*value; count],
        Op::Input(number) => panic!("input {number} has no value"),
        &Op::Add(a, b) => two(a, b, &u64::wrapping_add),
        &Op::Sub(a, b) => two(a, b, &u64::wrapping_sub),
        &Op::Mul(a, b) => two(a, b, &u64::wrapping_mul),
        &Op::Wide(a, b, signed) => {
            let narrow = width(a);
            let read = |v: u64| extended(v, narrow, signed);
            two(a, b, &|a, b| read(a).wrapping_mul(read(b)))
        }
        &Op::Slice(a, from) => one(a, &|v| v >> from),
        &Op::Extend(a, up, fill) => {
            let (narrow, signed) = (width(a), fill == Fill::Sign);
            one(a, &|v| extended(v, narrow, signed) << up)
        }
        &Op::Not(a) => one(a, &|v| !v),
        &Op::Abs(a) => one(a, &|v| sign_extended(v, w.width).unsigned_abs()),
        &Op::Extreme(kind, a, b) => two(a, b, &|a, b| kind.of(a, b, w.width)),
        &Op::Compare(kind, a, b) => {
            let width = width(a);
            two(a, b, &|a, b| kind.of(a, b, width).into())
        }
        &Op::Select(condition, yes, no) => {
            let condition = literal(values, condition, count);
            condition
                .iter()
                .zip(of(yes).iter().zip(of(no)))
                .map(|(&c, (&yes, &no))| if c == 1 { yes } else { no })
                .collect()
        }
        &Op::Repeat(lit, places) => literal(values, lit, count)
            .iter()
            .map(|&v| if v == 1 { places } else { 0 })
            .collect(),
        Op::Field(bits) => assembled(values, bits, count),
        &Op::Count(a) => one(a, &|v| v.count_ones().into()),
        &Op::Clamp(a, low, high) => {
            let width = width(a);
            one(a, &|v| sign_extended(v, width).clamp(low, high) as u64)
        }
    }
}

/// The bits as numbers.
pub(crate) fn assembled(values: &Values, bits: &[Lit], count: usize) -> Vec<u64> {
    let mut out = vec![0; count];
    for (n, &bit) in bits.iter().enumerate() {
        match bit {
            0 => {}
            1 => out.iter_mut().for_each(|v| *v |= 1 << n),
            _ => {
                let node = &values[&Item::Node(bit >> 1)];
                out.iter_mut()
                    .zip(node)
                    .for_each(|(v, b)| *v |= (b ^ u64::from(bit & 1)) << n);
            }
        }
    }
    out
}
