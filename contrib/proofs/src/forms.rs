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

use crate::reference::Module as _;
use crate::terms::Lit;

pub(crate) type AtomId = u32;

/// A linear combination of variables over Z_q, sorted; variable 0 is the constant.
pub(crate) type Vector = Rc<Vec<(u32, u32)>>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Form {
    pub(crate) terms: Vec<(AtomId, i128)>,
    pub(crate) constant: i128,
    pub(crate) shift: u32,
}

/// The key of a residue: a form with numerators modulo `2^(bits + shift)`, the bits, and whether it
/// is signed.
pub(crate) type Residue = (Form, u32, bool);

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
    pub(crate) order: Option<(AtomId, i128, bool)>,
}

/// The reason why an execution stops at a coefficient that 128 bits do not hold.
pub(crate) const TOO_LARGE: &str = "a coefficient is too large for the domain";
/// The reason why an execution stops at a range without values, which would satisfy every check.
pub(crate) const EMPTY: &str = "a range has no values";
/// The bound of ranges. One that reaches it says nothing, and nothing follows from it.
pub(crate) const UNKNOWN: i128 = i128::MAX / 8;

/// The range, or the one that says nothing if it reaches the bound.
pub(crate) fn bounded((low, high): (i128, i128)) -> (i128, i128) {
    if low <= -UNKNOWN || high >= UNKNOWN {
        (-UNKNOWN, UNKNOWN)
    } else {
        (low, high)
    }
}

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
        let sum = |x, y| times(x, a).checked_add(times(y, b)).expect(TOO_LARGE);
        Self {
            terms: merged(&self.terms, &other.terms, sum),
            constant: sum(self.constant, other.constant),
            shift,
        }
        .reduced()
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.plus(&other.scaled(-1))
    }

    pub(crate) fn reduced(mut self) -> Self {
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

/// Coefficients of both sorted lists, each of them `of` those with one key; without zeros.
fn merged<T: Copy + Default + PartialEq>(
    a: &[(u32, T)],
    b: &[(u32, T)],
    of: impl Fn(T, T) -> T,
) -> Vec<(u32, T)> {
    let mut sum = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let (x, y) = (a.get(i).copied(), b.get(j).copied());
        let key = x.map_or(u32::MAX, |t| t.0).min(y.map_or(u32::MAX, |t| t.0));
        let [x, y] = [x, y].map(|term| term.filter(|t| t.0 == key));
        (i, j) = (i + usize::from(x.is_some()), j + usize::from(y.is_some()));
        let [x, y] = [x, y].map(|term| term.map_or(T::default(), |t| t.1));
        let value = of(x, y);
        if value != T::default() {
            sum.push((key, value));
        }
    }
    sum
}

/// `a + k b`.
pub(crate) fn combined(a: &[(u32, u32)], b: &[(u32, u32)], k: u32) -> Vec<(u32, u32)> {
    merged(a, b, |x, y| x.add_scaled(&y, k))
}

/// The sum of multiples of vectors.
pub(crate) fn combination(a: &Vector, b: &Vector, k: u32) -> Vector {
    Rc::new(combined(a, b, k))
}
