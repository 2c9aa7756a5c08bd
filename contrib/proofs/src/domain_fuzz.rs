//! Random programs over all operations of the domain, on inputs of which every combination is
//! computed. Plain arithmetic on integers says what each word is; the terms, their bits, forms,
//! ranges, orders and vectors modulo q have to agree with it.

mod steps;

use crate::audit::{audit_cases, values};
use crate::evaluate::{Item, Values, assembled, literal};
use crate::forms::{Definition, EMPTY, TOO_LARGE};
use crate::reference::Q;
use crate::semantics::Random;
use crate::terms::{Lit, Terms, WordId, fits};
use steps::STEPS;

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
