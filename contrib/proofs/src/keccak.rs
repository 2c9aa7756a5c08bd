//! Keccak-f\[1600\] on gates. Every bit of every round is found by simulation. Then it is shown to
//! be the one that FIPS 202 defines, by its algebraic normal form of degree two over the bits of
//! the round before.

use rustc_hash::FxHashMap;

use crate::reference::{Algebra, linear_steps, other_steps};
use crate::semantics::Random;
use crate::terms::{Lit, Node, Terms};

/// 64 random cases of each bit.
struct Simulation;

impl Algebra for Simulation {
    type Bit = u64;
    fn xor(&mut self, a: u64, b: u64) -> u64 {
        a ^ b
    }
    fn and_not(&mut self, not: u64, b: u64) -> u64 {
        !not & b
    }
    fn not(&mut self, a: u64) -> u64 {
        !a
    }
}

type Mask = [u64; 25];

/// A polynomial of degree two over the bits of a round: a sum of bits, a constant, and a sum of
/// products of sums of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Normal {
    linear: Mask,
    constant: bool,
    products: Vec<(Mask, Mask)>,
}

impl Normal {
    fn bit(n: usize, negated: bool) -> Self {
        let mut linear = [0; 25];
        linear[n / 64] = 1 << (n % 64);
        Self {
            linear,
            constant: negated,
            ..Self::default()
        }
    }

    fn plus(&self, other: &Self) -> Self {
        let linear = core::array::from_fn(|n| self.linear[n] ^ other.linear[n]);
        let mut products = self.products.clone();
        for &product in &other.products {
            match products.iter().position(|&p| p == product) {
                Some(at) => drop(products.remove(at)),
                None => products.push(product),
            }
        }
        products.sort_unstable();
        Self {
            linear,
            constant: self.constant ^ other.constant,
            products,
        }
    }

    /// The product of two sums of bits.
    fn times(&self, other: &Self) -> Option<Self> {
        if !self.products.is_empty() || !other.products.is_empty() {
            return None;
        }
        let zero = [0; 25];
        let mut out = Self {
            constant: self.constant & other.constant,
            ..Self::default()
        };
        let mut add = |mask: &Mask| out.linear.iter_mut().zip(mask).for_each(|(a, b)| *a ^= b);
        if other.constant {
            add(&self.linear);
        }
        if self.constant {
            add(&other.linear);
        }
        if self.linear == other.linear {
            add(&self.linear);
        } else if self.linear != zero && other.linear != zero {
            let (a, b) = (self.linear.min(other.linear), self.linear.max(other.linear));
            out.products.push((a, b));
        }
        Some(out)
    }
}

/// Sums of bits as masks: the linear steps on them.
struct Masks(Vec<Mask>);

impl Algebra for Masks {
    type Bit = usize;
    fn xor(&mut self, a: usize, b: usize) -> usize {
        let sum = core::array::from_fn(|n| self.0[a][n] ^ self.0[b][n]);
        self.0.push(sum);
        self.0.len() - 1
    }
    fn and_not(&mut self, _: usize, _: usize) -> usize {
        unreachable!("the linear steps have no product")
    }
    fn not(&mut self, a: usize) -> usize {
        a
    }
}

/// The definition of every bit after one round, without its constant.
fn definitions() -> Vec<Normal> {
    let mut masks = Masks((0..1600).map(|n| Normal::bit(n, false).linear).collect());
    let bits: Vec<usize> = (0..1600).collect();
    let b = linear_steps(&mut masks, &bits);
    let normal = |n: usize| Normal {
        linear: masks.0[b[n]],
        ..Normal::default()
    };
    (0..1600)
        .map(|n| {
            let (x, y, z) = (n / 64 % 5, n / 320, n % 64);
            let at = |x: usize| 64 * (x % 5 + 5 * y) + z;
            let not = Normal {
                constant: true,
                ..normal(at(x + 1))
            };
            let product = not.times(&normal(at(x + 2)));
            product.map_or_else(
                || unreachable!("sums of bits"),
                |product| normal(n).plus(&product),
            )
        })
        .collect()
}

fn normal_form(
    terms: &Terms,
    node: u32,
    known: &mut FxHashMap<u32, Option<Normal>>,
) -> Option<Normal> {
    if node == 0 {
        return Some(Normal::default());
    }
    if let Some(known) = known.get(&node) {
        return known.clone();
    }
    let of = |lit: Lit, known: &mut FxHashMap<u32, Option<Normal>>| {
        let mut form = normal_form(terms, lit >> 1, known)?;
        form.constant ^= lit & 1 == 1;
        Some(form)
    };
    let form = match terms.nodes[node as usize] {
        Node::False | Node::Bit(..) => None,
        Node::Xor(a, b) => of(a, known).zip(of(b, known)).map(|(a, b)| a.plus(&b)),
        Node::And(a, b) => of(a, known)
            .zip(of(b, known))
            .and_then(|(a, b)| a.times(&b)),
    };
    known.insert(node, form.clone());
    form
}

fn value(values: &[u64], lit: Lit) -> u64 {
    values[lit as usize >> 1] ^ u64::from(lit & 1).wrapping_neg()
}

/// Whether `output` is the permutation of `input`, for all values of its 1600 bits.
pub(crate) fn check(terms: &Terms, input: &[Lit], output: &[Lit]) -> Result<(), String> {
    // Inputs at random, then every gate; nodes are in the order of their arguments.
    let mut values = vec![0u64; terms.nodes.len()];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (n, node) in terms.nodes.iter().enumerate() {
        let of = |lit: Lit| value(&values, lit);
        values[n] = match *node {
            Node::False => 0,
            Node::Xor(a, b) => of(a) ^ of(b),
            Node::And(a, b) => of(a) & of(b),
            Node::Bit(..) => random.next(),
        };
    }
    let mut by_value: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    for (node, &value) in values.iter().enumerate() {
        by_value
            .entry(value.min(!value))
            .or_default()
            .push(node as u32);
    }
    let definitions = definitions();
    let mut bits: Vec<u64> = input.iter().map(|&lit| value(&values, lit)).collect();
    let mut known: FxHashMap<u32, Option<Normal>> = FxHashMap::default();
    for (n, &lit) in input.iter().enumerate() {
        known.insert(lit >> 1, Some(Normal::bit(n, lit & 1 == 1)));
    }
    for round in 0..24 {
        let after = linear_steps(&mut Simulation, &bits);
        let after = other_steps(&mut Simulation, &after, round);
        let constant = crate::reference::round_constant(round);
        let mut next: FxHashMap<u32, Option<Normal>> = FxHashMap::default();
        for n in 0..1600 {
            let wanted_constant = n < 64 && constant >> n & 1 == 1;
            let candidates = if round == 23 {
                vec![output[n] >> 1]
            } else {
                by_value
                    .get(&after[n].min(!after[n]))
                    .cloned()
                    .unwrap_or_default()
            };
            let fits = |node: &u32, known: &mut FxHashMap<u32, Option<Normal>>| {
                let form = normal_form(terms, *node, known)?;
                let negated = if round == 23 {
                    output[n] & 1 == 1
                } else {
                    values[*node as usize] != after[n]
                };
                let mut wanted = definitions[n].clone();
                wanted.constant ^= wanted_constant ^ negated;
                (form == wanted).then_some(negated)
            };
            let found = candidates
                .iter()
                .find_map(|node| fits(node, &mut known).map(|negated| (*node, negated)));
            let Some((node, negated)) = found else {
                return Err(format!(
                    "bit {n} after round {round} is not that of FIPS 202"
                ));
            };
            next.insert(node, Some(Normal::bit(n, negated)));
        }
        known = next;
        bits = after;
    }
    Ok(())
}
