//! One kernel with its arguments: execution for all inputs, and what statements read of it.

use mldsa_core::internals::{NttPoly, Poly};
use rustc_hash::FxHashMap;

use crate::exhaust::{Checker, Cuts, Target};
use crate::features::Features;
use crate::forms::{Vector, combination};
use crate::image::Image;
use crate::machine::Machine;
use crate::memory::{Bits, Step, Value, constant_bits};
use crate::reference::{Module, Q};
use crate::terms::{Lit, WordId};
use std::rc::Rc;

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    /// A number of 32 bits.
    Number(u64),
    /// Polynomials with coefficients in a range; as a slice with a length, or a reference. The
    /// address is a multiple of the alignment.
    Polynomials {
        count: usize,
        low: i128,
        high: i128,
        slice: bool,
        align: i64,
    },
    /// A polynomial that is read and overwritten.
    InOut { low: i128, high: i128, align: i64 },
    /// Any byte string, as 256 fields of that many bits.
    Fields { width: u8, slice: bool },
    /// Known bytes, as a slice.
    Bytes(&'static [u8]),
    /// Bytes to be written.
    Output { len: usize, slice: bool, align: i64 },
    /// A Keccak state with lanes as bits, read and overwritten: number of interleaved states.
    States(usize),
}

/// The alignment that the types of the library give to polynomials: the smaller one of both forms.
pub(crate) const ALIGN: i64 = {
    let (plain, transformed) = (align_of::<Poly>(), align_of::<NttPoly>());
    (if plain < transformed {
        plain
    } else {
        transformed
    }) as i64
};

/// Result of one statement about one row: proved, or why it is open.
pub(crate) type Checked = Result<String, String>;

#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) kernel: String,
    pub(crate) backend: &'static str,
    pub(crate) parameter: String,
    /// Value, range, constant time, memory.
    pub(crate) verdicts: [Checked; 4],
    pub(crate) executed: usize,
    pub(crate) exhausted: usize,
    /// Instructions that were executed, by address and length.
    pub(crate) code: Vec<(u64, usize)>,
    pub(crate) data: Vec<(u64, usize)>,
}

impl Report {
    /// A report on nothing yet.
    pub(crate) fn open(kernel: &str, backend: &'static str, parameter: String) -> Self {
        Self {
            kernel: kernel.to_owned(),
            backend,
            parameter,
            verdicts: core::array::from_fn(|_| Err("the domain gave up".into())),
            executed: 0,
            exhausted: 0,
            code: Vec::new(),
            data: Vec::new(),
        }
    }

    pub(crate) fn is_proved(&self) -> bool {
        self.verdicts.iter().all(Result::is_ok)
    }
}

/// A finished execution.
pub(crate) struct Execution<'a> {
    pub(crate) machine: Machine<'a>,
    /// Region and input words of each argument.
    regions: Regions,
}

/// Region and input words of each argument.
pub(crate) type Regions = Vec<(u32, Vec<WordId>)>;

/// Runs a kernel on a CPU of a backend; `step` places its stack.
pub(crate) fn execute<'a>(
    image: &'a Image,
    backend: &str,
    entry: u64,
    arguments: &[Argument],
    step: i64,
) -> (Machine<'a>, Step<Regions>) {
    let mut machine = Machine::new(image);
    machine.features = Features::of(backend);
    let result = set_up(&mut machine, arguments, step)
        .and_then(|regions| machine.call(entry).map(|()| regions));
    (machine, result)
}

fn set_up(machine: &mut Machine<'_>, arguments: &[Argument], step: i64) -> Step<Regions> {
    let mut values = Vec::new();
    let mut regions = Vec::new();
    let number = |value: u64| Value::Bits(constant_bits(value, 64));
    for &argument in arguments {
        let mut words = Vec::new();
        // Of a slice its length follows.
        let (region, len) = match argument {
            Argument::Number(value) => {
                // The upper half of the register holds anything.
                let upper = &machine.fresh(64)[32..];
                values.push(Value::Bits([&constant_bits(value, 32), upper].concat()));
                regions.push((0, words));
                continue;
            }
            Argument::Polynomials {
                count,
                low,
                high,
                slice,
                align,
            } => {
                let region = machine
                    .memory
                    .region("an input", 1024 * count, false, align);
                words = inputs(machine, region, 256 * count, 32, Some((low, high)));
                (region, slice.then_some(count))
            }
            Argument::InOut { low, high, align } => {
                let region = machine.memory.region("a polynomial", 1024, true, align);
                words = inputs(machine, region, 256, 32, Some((low, high)));
                (region, None)
            }
            Argument::Fields { width, slice } => {
                let len = 32 * usize::from(width);
                let region = machine.memory.region("a byte string", len, false, 1);
                words = inputs(machine, region, 256, width, Some((0, (1 << width) - 1)));
                (region, slice.then_some(len))
            }
            Argument::Bytes(bytes) => {
                let region = machine.memory.region("known bytes", bytes.len(), false, 1);
                for (n, &byte) in bytes.iter().enumerate() {
                    let bits = constant_bits(byte.into(), 8);
                    machine.memory.set_bits(region, 8 * n, &bits);
                }
                (region, Some(bytes.len()))
            }
            Argument::Output { len, slice, align } => {
                let region = machine.memory.region("an output", len, true, align);
                // Anything at all before.
                let bits = machine.fresh(8 * len);
                machine.memory.set_bits(region, 0, &bits);
                (region, slice.then_some(len))
            }
            Argument::States(lanes) => {
                // A vector of lanes has the alignment of its register.
                let align = 8 * lanes as i64;
                let region = machine.memory.region("states", 200 * lanes, true, align);
                words = inputs(machine, region, 25 * lanes, 64, None);
                (region, None)
            }
        };
        values.push(Value::Pointer(region, 0));
        values.extend(len.map(|len| number(len as u64)));
        regions.push((region, words));
    }
    let registers = machine.arguments();
    let in_registers = values.len().min(registers.len());
    for (&register, value) in registers.iter().zip(&values) {
        machine.general[register] = value.clone();
    }
    machine.set_stack(step, &values[in_registers..])?;
    Ok(regions)
}

/// Unknown fields of a region; those in a range have variables over Z_q.
pub(crate) fn inputs(
    machine: &mut Machine<'_>,
    region: u32,
    count: usize,
    width: u8,
    range: Option<(i128, i128)>,
) -> Vec<WordId> {
    let (low, high) = range.unwrap_or((0, u64::MAX.into()));
    let one = |n: usize| {
        let word = machine.terms.input(width, low, high, range.is_some());
        let bits = machine.terms.bits(word);
        machine
            .memory
            .set_bits(region, n * usize::from(width), &bits);
        word
    };
    (0..count).map(one).collect()
}

impl Module for Vector {
    fn add_scaled(&self, other: &Self, factor: u32) -> Self {
        combination(self, other, factor)
    }

    fn scaled(&self, factor: u32) -> Self {
        combination(&Self::new(Vec::new()), self, factor)
    }
}

impl<'a> Execution<'a> {
    pub(crate) fn new(machine: Machine<'a>, regions: Regions) -> Self {
        Self { machine, regions }
    }

    /// The input words of an argument.
    pub(crate) fn inputs(&self, argument: usize) -> &[WordId] {
        &self.regions[argument].1
    }

    /// Each input word as a variable over Z_q.
    pub(crate) fn variables(&self, argument: usize) -> Vec<Vector> {
        let form = |&word: &WordId| {
            self.machine
                .terms
                .mod_q(&self.machine.terms.words[word as usize].form)
        };
        self.inputs(argument).iter().filter_map(form).collect()
    }

    /// The bits of a region, all of which have to be written.
    pub(crate) fn output(&self, argument: usize) -> Result<Bits, String> {
        let bits = self
            .machine
            .memory
            .region_bits(self.regions[argument].0)
            .to_vec();
        if bits.contains(&Lit::MAX) {
            Err("a part of an output is not written".into())
        } else {
            Ok(bits)
        }
    }

    /// The output as coefficients.
    pub(crate) fn polynomial(&mut self, argument: usize) -> Result<Vec<WordId>, String> {
        let bits = self.output(argument)?;
        Ok(bits
            .chunks(32)
            .map(|bits| self.machine.terms.gather(bits))
            .collect())
    }

    /// The result, in AL or the lowest byte of X0, which has to be 0 or 1.
    pub(crate) fn verdict(&self) -> Result<Lit, String> {
        match self.machine.part(&self.machine.general[0], 0, 8) {
            Ok(Value::Bits(bits)) if bits[1..].iter().all(|&bit| bit == 0) => Ok(bits[0]),
            _ => Err("the result is not known to be 0 or 1".into()),
        }
    }

    /// Whether words are equal to vectors over Z_q, for all inputs.
    pub(crate) fn equal(&self, words: &[WordId], wanted: &[Vector]) -> Result<String, String> {
        let terms = &self.machine.terms;
        for (n, (&word, wanted)) in words.iter().zip(wanted).enumerate() {
            let what = match terms.mod_q(&terms.words[word as usize].form) {
                None => "not a known combination",
                Some(got) if got != *wanted => "another combination",
                Some(_) => continue,
            };
            return Err(format!("coefficient {n} is {what} of the inputs"));
        }
        if words.len() == wanted.len() && !words.is_empty() {
            Ok(format!("{} coefficients", words.len()))
        } else {
            Err("coefficients are missing".into())
        }
    }

    /// Whether words, read as signed, are in a range.
    pub(crate) fn within(&self, words: &[WordId], low: i128, high: i128) -> Result<String, String> {
        let terms = &self.machine.terms;
        let mut found = (i128::MAX, i128::MIN);
        for &word in words {
            let w = &terms.words[word as usize];
            let half = 1i128 << (w.width - 1);
            if w.low < -half || w.high >= half {
                return Err("a coefficient may overflow its word".into());
            }
            found = (found.0.min(w.low), found.1.max(w.high));
        }
        let text = format!("[{}, {}]", of_q(found.0), of_q(found.1));
        if found.0 >= low && found.1 <= high {
            Ok(text)
        } else {
            Err(format!("only {text} follows"))
        }
    }

    /// For each vector a word of as many values as there are residues that is equal to it, or to
    /// its sum with a constant: canonical or centred if there is one, else the first.
    pub(crate) fn cuts(&self, wanted: &[Vector]) -> Result<Vec<Cut>, String> {
        let terms = &self.machine.terms;
        let (q, half) = (i128::from(Q), i128::from(Q - 1) / 2);
        let parts = |v: &Vector| match v.split_first() {
            Some((&(0, constant), rest)) => (constant, rest.to_vec()),
            _ => (0, v.to_vec()),
        };
        let constants: Vec<u32> = wanted.iter().map(|v| parts(v).0).collect();
        let index: FxHashMap<Vec<(u32, u32)>, usize> = wanted
            .iter()
            .enumerate()
            .map(|(n, v)| (parts(v).1, n))
            .collect();
        let mut found: Vec<[Option<Cut>; 2]> = vec![[None; 2]; wanted.len()];
        for (id, w) in terms.words.iter().enumerate() {
            let is_signed = w.low >= -(1 << 31) && w.high < 1 << 31;
            if w.width != 32 || !is_signed || w.high - w.low >= q || w.form.terms.is_empty() {
                continue;
            }
            let Some(vector) = terms.mod_q(&w.form) else {
                continue;
            };
            let (constant, rest) = parts(&vector);
            if let Some(&n) = index.get(&rest) {
                let offset = (constant + Q - constants[n]) % Q;
                let (rank, low) = if offset == 0 && w.low >= 0 && w.high < q {
                    (0, 0)
                } else if offset == 0 && w.low >= -half && w.high <= half {
                    (0, -half)
                } else {
                    (1, w.low)
                };
                found[n][rank].get_or_insert(Cut {
                    word: id as WordId,
                    low: low as i64,
                    offset,
                });
            }
        }
        found
            .into_iter()
            .enumerate()
            .map(|(n, [best, other])| {
                best.or(other)
                    .ok_or_else(|| format!("no reduced word of coefficient {n}"))
            })
            .collect()
    }
}

/// A word that a residue determines: the number from `low` on that is congruent to the residue
/// plus the offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) word: WordId,
    low: i64,
    offset: u32,
}

impl Cut {
    pub(crate) const fn canonical(word: WordId) -> Self {
        Self {
            word,
            low: 0,
            offset: 0,
        }
    }

    fn value(&self, residue: u32) -> u64 {
        let above = (i64::from(residue) + i64::from(self.offset) - self.low).rem_euclid(Q.into());
        u64::from((self.low + above) as u32)
    }
}

/// Domains of the cuts, by residue.
pub(crate) fn domains(cuts: &[Cut]) -> Cuts {
    let mut known: FxHashMap<(i64, u32), Rc<Vec<u64>>> = FxHashMap::default();
    cuts.iter()
        .map(|cut| {
            let domain = known
                .entry((cut.low, cut.offset))
                .or_insert_with(|| Rc::new((0..Q).map(|r| cut.value(r)).collect()));
            (cut.word, domain.clone())
        })
        .collect()
}

/// A feature of every residue.
pub(crate) fn feature(f: impl Fn(u32) -> u64) -> Rc<Vec<u64>> {
    Rc::new((0..Q).map(f).collect())
}

/// Packed fields of `width` bits, field n a function of the feature of cut n.
pub(crate) fn check_fields(
    checker: &mut Checker<'_>,
    bits: &[Lit],
    width: usize,
    cuts: &[WordId],
    features: &Rc<Vec<u64>>,
) -> Result<String, String> {
    for (n, &cut) in cuts.iter().enumerate() {
        let target = Target {
            bits: bits[n * width..(n + 1) * width].to_vec(),
            features: vec![(cut, features.clone())],
            combine: &|features| features[0],
        };
        let result = checker.check(&target, width);
        result.map_err(|e| format!("field {n}: {e}"))?;
    }
    Ok(format!("{} fields of {width} bits", cuts.len()))
}

/// Reads a number as a multiple of q if it is large.
pub(crate) fn of_q(value: i128) -> String {
    if value.abs() < 1 << 20 {
        value.to_string()
    } else {
        format!("{:.3} q", value as f64 / f64::from(Q))
    }
}
