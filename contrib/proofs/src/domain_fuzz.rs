//! Random programs over all operations of the domain, on inputs of which every combination is
//! computed. Plain arithmetic on integers says what each word is; the terms, their bits, forms,
//! ranges, orders and vectors modulo q have to agree with it.

use crate::audit::{audit_cases, values};
use crate::evaluate::{Item, Values, assembled, literal};
use crate::forms::{Definition, EMPTY, TOO_LARGE};
use crate::reference::Q;
use crate::semantics::Random;
use crate::terms::{Compare, Extreme, Lit, Terms, WordId, fits};

/// Programs of the test, and the most that may stop because a number is too large.
const PROGRAMS: u64 = 2_500;
const MOST_STOPPED: usize = 30;

/// A word with its value in each case.
#[derive(Clone)]
struct Known {
    id: WordId,
    width: u8,
    values: Vec<u64>,
}

impl Known {
    fn signed(&self, n: usize) -> i128 {
        signed(self.values[n], self.width)
    }
}

fn mask(width: u8) -> u64 {
    ((1u128 << width) - 1) as u64
}

fn signed(value: u64, width: u8) -> i128 {
    let value = i128::from(value);
    if value >> (width - 1) == 1 {
        value - (1 << width)
    } else {
        value
    }
}

struct Program {
    random: Random,
    terms: Terms,
    inputs: Values,
    cases: usize,
    words: Vec<Known>,
    bits: Vec<(Lit, Vec<u64>)>,
}

type Step = fn(&mut Program);

const STEPS: [Step; 22] = [
    Program::constant_step,
    Program::sum,
    Program::sum,
    Program::low_product,
    Program::whole_product,
    Program::part,
    Program::extension,
    Program::shift,
    Program::complement,
    Program::gates,
    Program::magnitude,
    Program::extreme,
    Program::comparison,
    Program::one_bit,
    Program::choice,
    Program::repetition,
    Program::saturation,
    Program::mixture,
    Program::montgomery,
    Program::quotient,
    Program::correction,
    Program::remainder,
];

impl Program {
    /// Inputs in ranges that fit a reading, all combinations of their values.
    fn new(seed: u64) -> Self {
        let mut program = Self {
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            terms: Terms::new(),
            inputs: Values::default(),
            cases: 1,
            words: Vec::new(),
            bits: Vec::new(),
        };
        (0..4).for_each(|_| _ = program.random.next());
        let counts: &[usize] =
            [&[1_024][..], &[40, 25], &[12, 9, 9], &[200, 5]][program.below(4) as usize];
        program.cases = counts.iter().product();
        let usual = program.width();
        let mut stride = 1;
        for &count in counts {
            let width = if program.chance(4) {
                program.width()
            } else {
                usual
            };
            let (half, count) = (1i128 << (width - 1), (count as i128).min(1 << width));
            let low = match program.below(8) {
                0 => 0,
                1 => -count / 2,
                2 => -half,
                3 => half - count,
                4 => 2 * half - count,
                5 => i128::from(Q) - count,
                6 => -i128::from(Q),
                _ => signed(program.random.next() & mask(width), width),
            };
            let low = if fits(width, low, low + count - 1) {
                low
            } else {
                0
            };
            let has_variable = !program.chance(4);
            let id = program
                .terms
                .input(width, low, low + count - 1, has_variable);
            let value = |n: usize| (low + (n / stride) as i128 % count) as u64 & mask(width);
            let values: Vec<u64> = (0..program.cases).map(value).collect();
            program.inputs.insert(Item::Word(id), values.clone());
            program.words.push(Known { id, width, values });
            stride *= count as usize;
        }
        program
    }

    fn below(&mut self, count: u64) -> u64 {
        (self.random.next() >> 11) % count
    }

    fn chance(&mut self, one_of: u64) -> bool {
        self.below(one_of) == 0
    }

    fn width(&mut self) -> u8 {
        [8, 16, 32, 32, 32, 64][self.below(6) as usize]
    }

    /// A number at which rules have their edges.
    fn number(&mut self, width: u8) -> u64 {
        let power = 1u64 << self.below(width.into());
        let q = u64::from(Q);
        let number = match self.below(11) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => power,
            4 => power - 1,
            5 => power.wrapping_neg(),
            6 => q.wrapping_mul(self.below(64).wrapping_sub(32)),
            7 => (q - 1) / 2,
            8 => q.wrapping_add(self.below(3)).wrapping_sub(1),
            9 => self.below(256).wrapping_sub(128),
            _ => self.random.next(),
        };
        number & mask(width)
    }

    fn constant(&mut self, width: u8, value: u64) -> Known {
        Known {
            id: self.terms.constant(width, value),
            width,
            values: vec![value & mask(width); self.cases],
        }
    }

    fn edge(&mut self, width: u8) -> Known {
        let value = self.number(width);
        self.constant(width, value)
    }

    /// A word, more often a late one.
    fn word(&mut self) -> Known {
        let count = self.words.len() as u64;
        let n = self.below(count).max(self.below(count));
        self.words[n as usize].clone()
    }

    /// A word of that width, or a constant.
    fn other(&mut self, width: u8) -> Known {
        let same: Vec<&Known> = self.words.iter().filter(|w| w.width == width).collect();
        let n = (self.random.0 >> 13) as usize % same.len().max(1);
        match same.get(n).map(|known| (*known).clone()) {
            Some(known) if !self.chance(4) => known,
            _ => self.edge(width),
        }
    }

    fn push(&mut self, id: WordId, width: u8, value: impl Fn(usize) -> u64) -> Known {
        let values = (0..self.cases).map(|n| value(n) & mask(width)).collect();
        let known = Known { id, width, values };
        self.words.push(known.clone());
        known
    }

    /// The word of these bits.
    fn push_bits(&mut self, bits: &[Lit], value: impl Fn(usize) -> u64) -> Known {
        let id = self.terms.gather(bits);
        self.push(id, bits.len() as u8, value)
    }

    fn bits(&mut self, of: &Known) -> Vec<Lit> {
        self.terms.bits(of.id)
    }

    /// A literal with its values.
    fn lit(&mut self) -> (Lit, Vec<u64>) {
        if self.bits.is_empty() {
            self.comparison();
        }
        let n = self.below(self.bits.len() as u64) as usize;
        let (lit, mut values) = self.bits[n].clone();
        let negated = self.below(2) as Lit;
        values.iter_mut().for_each(|v| *v ^= u64::from(negated));
        (lit ^ negated, values)
    }

    fn constant_step(&mut self) {
        let width = self.width();
        let known = self.edge(width);
        self.words.push(known);
    }

    fn added(&mut self, a: &Known, b: &Known) -> Known {
        let id = self.terms.add(a.id, b.id);
        self.push(id, a.width, |n| a.values[n].wrapping_add(b.values[n]))
    }

    fn subtracted(&mut self, a: &Known, b: &Known) -> Known {
        let id = self.terms.sub(a.id, b.id);
        self.push(id, a.width, |n| a.values[n].wrapping_sub(b.values[n]))
    }

    fn multiplied(&mut self, a: &Known, b: &Known) -> Known {
        let id = self.terms.mul(a.id, b.id);
        self.push(id, a.width, |n| a.values[n].wrapping_mul(b.values[n]))
    }

    fn wide(&mut self, a: &Known, b: &Known, is_signed: bool) -> Known {
        let id = self.terms.wide(a.id, b.id, is_signed);
        let read = |known: &Known, n: usize| match is_signed {
            true => known.signed(n),
            false => known.values[n].into(),
        };
        self.push(id, 2 * a.width, |n| (read(a, n) * read(b, n)) as u64)
    }

    fn sliced(&mut self, a: &Known, from: u8, width: u8) -> Known {
        let id = self.terms.slice(a.id, from, width);
        self.push(id, width, |n| a.values[n] >> from)
    }

    fn sum(&mut self) {
        let a = self.word();
        let b = self.other(a.width);
        match self.below(3) {
            0 => self.added(&a, &b),
            1 => self.subtracted(&a, &b),
            _ => self.subtracted(&b, &a),
        };
    }

    fn low_product(&mut self) {
        let a = self.word();
        let b = self.other(a.width);
        self.multiplied(&a, &b);
    }

    fn whole_product(&mut self) {
        let a = self.word();
        if a.width <= 32 {
            let (b, is_signed) = (self.other(a.width), self.chance(2));
            self.wide(&a, &b, is_signed);
        }
    }

    fn part(&mut self) {
        let a = self.word();
        let width = 1 + self.below(a.width.into()) as u8;
        let from = match self.below(3) {
            0 => 0,
            1 => a.width - width,
            _ => self.below(u64::from(a.width - width) + 1) as u8,
        };
        self.sliced(&a, from, width);
    }

    fn extension(&mut self) {
        let a = self.word();
        let (to, is_signed) = (self.width().max(a.width), self.chance(2));
        let mut bits = self.bits(&a);
        let top = if is_signed { bits[bits.len() - 1] } else { 0 };
        bits.resize(to.into(), top);
        self.push_bits(&bits, |n| match is_signed {
            true => a.signed(n) as u64,
            false => a.values[n],
        });
    }

    fn shift(&mut self) {
        let a = self.word();
        let (width, kind) = (usize::from(a.width), self.below(4));
        let by = self.below(a.width.into()) as usize;
        let bits = self.bits(&a);
        let moved: Vec<Lit> = (0..width)
            .map(|at| match kind {
                0 => at.checked_sub(by).map_or(0, |at| bits[at]),
                1 => bits.get(at + by).copied().unwrap_or(0),
                2 => bits[(at + by).min(width - 1)],
                _ => bits[(at + by) % width],
            })
            .collect();
        self.push_bits(&moved, |n| {
            let doubled = u128::from(a.values[n]) << width | u128::from(a.values[n]);
            match kind {
                0 => a.values[n] << by,
                1 => a.values[n] >> by,
                2 => (a.signed(n) >> by) as u64,
                _ => (doubled >> by) as u64,
            }
        });
    }

    fn complement(&mut self) {
        let a = self.word();
        let bits: Vec<Lit> = self.bits(&a).iter().map(|bit| bit ^ 1).collect();
        self.push_bits(&bits, |n| !a.values[n]);
    }

    fn gates(&mut self) {
        let a = self.word();
        let (b, kind) = (self.other(a.width), self.below(3));
        let pairs: Vec<_> = self.bits(&a).into_iter().zip(self.bits(&b)).collect();
        let t = &mut self.terms;
        let gate = |(x, y)| match kind {
            0 => t.and(x, y),
            1 => t.or(x, y),
            _ => t.xor(x, y),
        };
        let bits: Vec<Lit> = pairs.into_iter().map(gate).collect();
        self.push_bits(&bits, |n| match kind {
            0 => a.values[n] & b.values[n],
            1 => a.values[n] | b.values[n],
            _ => a.values[n] ^ b.values[n],
        });
    }

    fn magnitude(&mut self) {
        let a = self.word();
        if a.width > 1 {
            let id = self.terms.abs(a.id);
            self.push(id, a.width, |n| a.signed(n).unsigned_abs() as u64);
        }
    }

    /// Of a word and another or the sum with a constant.
    fn extreme(&mut self) {
        let a = self.word();
        let b = self.other(a.width);
        let b = if self.chance(2) {
            self.added(&a, &b)
        } else {
            b
        };
        use Extreme::{MaxSigned, MaxUnsigned, MinSigned, MinUnsigned};
        let kinds = [MinUnsigned, MinUnsigned, MaxUnsigned, MinSigned, MaxSigned];
        let kind = kinds[self.below(5) as usize];
        let id = self.terms.extreme(kind, a.id, b.id);
        self.push(id, a.width, |n| {
            let (x, y) = (a.values[n], b.values[n]);
            match kind {
                MinUnsigned => x.min(y),
                MaxUnsigned => x.max(y),
                MinSigned => a.signed(n).min(b.signed(n)) as u64,
                MaxSigned => a.signed(n).max(b.signed(n)) as u64,
            }
        });
    }

    fn compared(&mut self, kind: Compare, a: &Known, b: &Known) -> (Lit, Vec<u64>) {
        let lit = self.terms.compare(kind, a.id, b.id);
        let holds = |n: usize| match kind {
            Compare::Equal => a.values[n] == b.values[n],
            Compare::GreaterSigned => a.signed(n) > b.signed(n),
            Compare::GreaterUnsigned => a.values[n] > b.values[n],
        };
        let values: Vec<u64> = (0..self.cases).map(|n| holds(n).into()).collect();
        self.bits.push((lit, values.clone()));
        (lit, values)
    }

    fn comparison(&mut self) {
        let a = self.word();
        let b = if self.chance(2) {
            self.edge(a.width)
        } else {
            self.other(a.width)
        };
        use Compare::{Equal, GreaterSigned, GreaterUnsigned};
        let kind = [Equal, GreaterSigned, GreaterSigned, GreaterUnsigned][self.below(4) as usize];
        match self.chance(2) {
            true => self.compared(kind, &a, &b),
            false => self.compared(kind, &b, &a),
        };
    }

    fn one_bit(&mut self) {
        let a = self.word();
        let at = if self.chance(2) {
            a.width - 1
        } else {
            self.below(a.width.into()) as u8
        };
        let lit = self.bits(&a)[usize::from(at)];
        let values = a.values.iter().map(|v| v >> at & 1).collect();
        self.bits.push((lit, values));
    }

    /// One of two words by a literal: as an operation, by its bits, or a word and zero.
    fn choice(&mut self) {
        let a = self.word();
        let (b, (lit, values)) = (self.other(a.width), self.lit());
        if self.chance(3) {
            let id = self.terms.select(lit, a.id, b.id);
            let chosen = |n: usize| if values[n] == 1 { &a } else { &b }.values[n];
            self.push(id, a.width, chosen);
            return;
        }
        let (x, y) = (self.bits(&a), self.bits(&b));
        let keeps = self.chance(2);
        let t = &mut self.terms;
        let bit = |(x, y)| {
            if keeps {
                t.and(lit, x)
            } else {
                t.mux(lit, x, y)
            }
        };
        let bits: Vec<Lit> = x.into_iter().zip(y).map(bit).collect();
        self.push_bits(&bits, |n| match (values[n], keeps) {
            (1, _) => a.values[n],
            (_, true) => 0,
            (_, false) => b.values[n],
        });
    }

    /// The word with a literal at the places of a number.
    fn repeated(&mut self, width: u8, places: u64, (lit, values): &(Lit, Vec<u64>)) -> Known {
        let bits: Vec<Lit> = (0..width).map(|n| (places >> n & 1) as Lit * lit).collect();
        self.push_bits(&bits, |n| places * values[n])
    }

    /// A mask of a literal, which is added to a word or subtracted.
    fn repetition(&mut self) {
        let (a, lit) = (self.word(), self.lit());
        let places = if self.chance(2) {
            mask(a.width)
        } else {
            self.number(a.width)
        };
        let repeated = self.repeated(a.width, places, &lit);
        if self.chance(2) {
            self.added(&a, &repeated);
        } else {
            self.subtracted(&a, &repeated);
        }
    }

    fn saturation(&mut self) {
        let a = self.word();
        let to = [8, 16, 32][self.below(3) as usize];
        if to >= a.width {
            let id = self.terms.count_ones(a.id, 8);
            self.push(id, 8, |n| a.values[n].count_ones().into());
            return;
        }
        let (low, high) = match self.chance(2) {
            true => (0, mask(to) as i64),
            false => (-1 << (to - 1), mask(to - 1) as i64),
        };
        let id = self.terms.clamp(a.id, low, high, to);
        self.push(id, to, |n| {
            a.signed(n).clamp(low.into(), high.into()) as u64
        });
    }

    /// The low bits of one word below the high bits of another, or both words.
    fn mixture(&mut self) {
        let a = self.word();
        let b = self.other(a.width);
        let (x, y) = (self.bits(&a), self.bits(&b));
        if a.width <= 32 && self.chance(2) {
            self.push_bits(&[x, y].concat(), |n| a.values[n] | b.values[n] << a.width);
            return;
        }
        let cut = self.below(a.width.into()) as u8;
        let bits = [&x[..cut.into()], &y[cut.into()..]].concat();
        let low = mask(cut);
        self.push_bits(&bits, |n| a.values[n] & low | b.values[n] & !low);
    }

    /// Montgomery's reduction of a product.
    fn montgomery(&mut self) {
        let a = self.word();
        if a.width == 32 {
            let b = self.other(32);
            let (inverse, q) = (self.constant(32, 58_728_449), self.constant(32, Q.into()));
            let product = self.wide(&a, &b, true);
            let low = self.sliced(&product, 0, 32);
            let factor = self.multiplied(&low, &inverse);
            let multiple = self.wide(&factor, &q, true);
            let difference = self.subtracted(&product, &multiple);
            self.sliced(&difference, 32, 32);
        }
    }

    /// A word times a factor minus its quotient times q, as Barrett's and Shoup's reductions have it.
    fn quotient(&mut self) {
        let a = self.word();
        if a.width <= 32 {
            let (factor, reciprocal) = (self.edge(a.width), self.edge(a.width));
            let q = self.constant(a.width, Q.into());
            let is_signed = self.chance(2);
            let product = self.wide(&a, &reciprocal, is_signed);
            let quotient = self.sliced(&product, a.width, a.width);
            let (product, multiple) =
                (self.multiplied(&a, &factor), self.multiplied(&quotient, &q));
            self.subtracted(&product, &multiple);
        }
    }

    /// A word plus a number where its sign, that of its sum or a comparison says so.
    fn correction(&mut self) {
        let a = self.word();
        let constant = self.edge(a.width);
        let moved = match self.below(3) {
            0 => a.clone(),
            1 => self.added(&a, &constant),
            _ => self.subtracted(&constant, &a),
        };
        let condition = if self.chance(3) {
            self.compared(Compare::GreaterSigned, &a, &constant)
        } else {
            let top = self.bits(&moved)[usize::from(a.width) - 1];
            (
                top,
                moved.values.iter().map(|v| v >> (a.width - 1)).collect(),
            )
        };
        let places = self.number(a.width);
        let repeated = self.repeated(a.width, places, &condition);
        let base = if self.chance(2) { a } else { moved };
        match self.chance(2) {
            true => self.added(&base, &repeated),
            false => self.subtracted(&base, &repeated),
        };
    }

    /// The remainder of a division by a power of two.
    fn remainder(&mut self) {
        let a = self.word();
        if a.width < 2 {
            return;
        }
        let by = 1 + self.below(u64::from(a.width) - 1) as usize;
        let bits = self.bits(&a);
        let mut up = bits[by..].to_vec();
        up.resize(a.width.into(), bits[bits.len() - 1]);
        let floor = self.push_bits(&up, |n| (a.signed(n) >> by) as u64);
        let power = self.constant(a.width, 1 << by);
        let multiple = self.multiplied(&floor, &power);
        self.subtracted(&a, &multiple);
    }

    /// Compares all words, bits and atoms; the number of comparisons.
    fn check(mut self) -> Result<usize, String> {
        let known: Vec<_> = self.words.clone();
        let bits: Vec<Vec<Lit>> = known.iter().map(|known| self.bits(known)).collect();
        let terms = &self.terms;
        let of_atoms = terms.atoms.iter().filter_map(|atom| match atom.definition {
            Definition::Bool(lit) => Some(lit),
            _ => None,
        });
        let lits = self.bits.iter().map(|(lit, _)| *lit).chain(of_atoms);
        let all = lits.chain(bits.iter().flatten().copied());
        let values = values(terms, self.inputs, all, self.cases);
        for (known, bits) in known.iter().zip(&bits) {
            let word = &terms.words[known.id as usize];
            if word.width != known.width {
                return Err(format!("width {}: {:?}", word.width, word.op));
            }
            if values[&Item::Word(known.id)] != known.values {
                return Err(format!("value of word {}: {:?}", known.id, word.op));
            }
            if assembled(&values, bits, self.cases) != known.values {
                return Err(format!("bits of word {}: {:?}", known.id, word.op));
            }
        }
        for (lit, known) in &self.bits {
            if literal(&values, *lit, self.cases) != *known {
                return Err(format!("literal {lit}"));
            }
        }
        audit_cases(terms, &values, self.cases)
    }
}

/// Runs a program; nothing if the domain stopped because a number is too large for it.
fn run(seed: u64) -> Result<Option<usize>, String> {
    let attempt = std::panic::catch_unwind(|| {
        let mut program = Program::new(seed);
        for _ in 0..4 + program.below(24) {
            let step = STEPS[program.below(STEPS.len() as u64) as usize];
            step(&mut program);
        }
        program.check()
    });
    attempt.map_or_else(
        |panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.into()));
            let text = text.unwrap_or_default();
            let is_known = [EMPTY, TOO_LARGE].iter().any(|known| text.contains(known));
            is_known.then_some(None).ok_or(text)
        },
        |checked| checked.map(Some),
    )
}

#[test]
fn random_programs_agree_with_arithmetic_on_integers() {
    let (mut stopped, mut checked) = (0, 0);
    for seed in 0..PROGRAMS {
        match run(seed) {
            Ok(Some(count)) => checked += count,
            Ok(None) => stopped += 1,
            Err(text) => panic!("seed {seed}: {text}"),
        }
    }
    assert!(stopped <= MOST_STOPPED, "{stopped} programs stopped");
    assert!(checked > 90_000_000, "{checked} comparisons");
}

#[test]
fn a_word_beyond_a_limit_is_clamped_to_it() {
    let mut terms = Terms::new();
    let word = terms.input(32, 1 << 20, (1 << 20) + 5, true);
    for (limits, value) in [((0, 255), 255), ((-128, 127), 127)] {
        let clamped = terms.clamp(word, limits.0, limits.1, 8);
        let clamped = &terms.words[clamped as usize];
        assert_eq!((clamped.low, clamped.high), (value, value));
    }
}

#[test]
fn a_range_beyond_the_bound_says_nothing() {
    let mut terms = Terms::new();
    let top = i128::from(u64::MAX);
    let a = terms.input(64, top - 5, top, true);
    let b = terms.input(64, top - 7, top, true);
    let product = terms.mul(a, b);
    let five = terms.constant(64, 5);
    let more = terms.add(product, five);
    let difference = terms.sub(product, more);
    for word in [product, more, difference] {
        let word = &terms.words[word as usize];
        assert!(word.low <= word.high, "{:?}", word.op);
        assert!(word.low <= -5 && word.high >= -5 || word.width == 64);
    }
    let difference = &terms.words[difference as usize];
    assert_eq!((difference.low, difference.high), (-5, -5));
}
