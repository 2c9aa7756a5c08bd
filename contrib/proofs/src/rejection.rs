//! Rejection sampling on the linked program, for all streams: algorithms 14, 15, 30 and 31.
//!
//! The executor runs an entry; in the place of a permutation its stream is unknown bytes. It
//! stops where an address, a branch or the number of elements of a compression depends on
//! whether candidates are accepted, and every outcome is followed. The candidates have to be
//! the next ones of the stream, and what was accepted has to stand in the output, in order.
//! States with the same place, number of decided candidates and number of accepted ones are
//! joined: what differs has no value, an accepted coefficient becomes any coefficient.

mod facts;
mod rows;
mod states;

pub(crate) use rows::{KERNELS, Of, names, prove, reports};
pub(crate) use states::State;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::exhaust::Cuts;
use crate::machine::Machine;
use crate::memory::{Bits, END, Memory, Stop, UNWRITTEN, Value, constant_bits};
use crate::reference::Q;
use crate::terms::{Lit, WordId};

/// Coefficients of a polynomial.
const N: usize = 256;
const LIMIT: usize = 100_000;
/// Words of the states of eight sponges.
const WORDS: usize = 8 * 25;

/// The eta of a polynomial of s1 or s2, or none for an entry of A.
type Eta = Option<u64>;

/// Algorithms 14 and 15.
fn coefficient(eta: Eta, z: u64) -> Option<u32> {
    let z = z as u32;
    match eta {
        None => Some(z & 0x7f_ffff).filter(|&z| z < Q),
        Some(2) => (z < 15).then(|| 2u32.wrapping_sub(z % 5)),
        Some(_) => (z < 9).then(|| 4u32.wrapping_sub(z)),
    }
}

/// Coefficients accepted, parts of the stream with other names, candidates decided, candidates
/// squeezed, address.
type Place = (usize, usize, usize, usize, u64);

/// Dependence of an instruction on candidates, or on the core.
#[derive(Default)]
struct Decision {
    lits: Vec<Lit>,
    /// Whether they are a mask of which only the number of bits matters.
    counts: bool,
    /// Whether it is the variable about the core.
    is_core: bool,
    /// The addresses after a branch, not taken and taken.
    ways: Option<[u64; 2]>,
}

struct Explorer<'a> {
    eta: Eta,
    machine: Machine<'a>,
    /// Functions that give the next bytes of the stream: lanes of the states that they permute, 0
    /// for a function that writes whole blocks.
    squeezes: BTreeMap<u64, usize>,
    /// Functions that are called to sample the polynomial, each with its permutation.
    samplers: BTreeSet<(u64, Option<i64>)>,
    /// Whether a call of such a function ends a path.
    falls_back: bool,
    out: u32,
    /// Lanes of a state: which one is that of the polynomial, if another entry is sampled with it.
    lane: Option<usize>,
    /// Vectors that the entry restores, as far as it does.
    halves: Vec<Bits>,
    candidates: Vec<WordId>,
    cuts: Cuts,
    /// Anything at all.
    other: Bits,
    /// The output by the number of accepted coefficients: so many tokens, and anything.
    outputs: Vec<Rc<Bits>>,
    /// Coefficients accepted since the last place; `None` for one that a compression moved.
    accepted: Vec<Option<usize>>,
    /// A mask whose number of bits is assumed: that number, the candidate of the first lane, and
    /// the number of coefficients before it.
    counted: Option<(Bits, usize, usize, usize)>,
    pending: BTreeMap<Place, State<'a>>,
    /// States with as many accepted coefficients as the current one. Later states never have
    /// fewer, so older entries are dropped.
    done: BTreeMap<Place, State<'a>>,
    /// Number of places that were ever in `done`.
    places: usize,
    facts: FxHashMap<Lit, (usize, bool)>,
    /// What terms are by the acceptance of the candidates in them.
    functions: FxHashMap<Vec<u64>, facts::Function>,
    shapes: FxHashMap<Vec<u64>, (usize, bool)>,
    values: FxHashSet<(usize, Bits)>,
    /// Outcomes that were followed.
    outcomes: usize,
}

impl<'a> Explorer<'a> {
    fn new(memory: Memory<'a>, (eta, lane): Of, out: u32, squeezes: BTreeMap<u64, usize>) -> Self {
        let mut machine = Machine::without_vectors(memory);
        let (count, width) = if eta.is_some() { (544, 4) } else { (280, 24) };
        let one = |_| machine.terms.input(width, 0, (1 << width) - 1, false);
        let candidates: Vec<WordId> = (0..count).map(one).collect();
        let none = Rc::new(Vec::new());
        let [tokens, any] = [(); 2].map(|()| machine.fresh(32 * N));
        let other = machine.fresh(64 * (WORDS + 1));
        let [before, after] = lane.map_or([0, 0], |lane| [lane, 1 - lane]);
        let output = |n: usize| {
            let one = [&tokens[..32 * n], &any[32 * n..]].concat();
            Rc::new([any.repeat(before), one, any.repeat(after)].concat())
        };
        Self {
            eta,
            machine,
            squeezes,
            samplers: BTreeSet::new(),
            falls_back: false,
            out,
            lane,
            halves: Vec::new(),
            cuts: candidates.iter().map(|&w| (w, none.clone())).collect(),
            candidates,
            outputs: (0..=N).map(output).collect(),
            other,
            accepted: Vec::new(),
            counted: None,
            pending: BTreeMap::new(),
            done: BTreeMap::new(),
            places: 0,
            facts: FxHashMap::default(),
            functions: FxHashMap::default(),
            shapes: FxHashMap::default(),
            values: FxHashSet::default(),
            outcomes: 0,
        }
    }

    /// Runs an entry with these arguments as far as `most` places; whether these are all.
    fn explore(&mut self, entry: u64, arguments: &[Value], most: usize) -> Result<bool, String> {
        for (&register, value) in self.machine.arguments().iter().zip(arguments) {
            self.machine.general[register] = value.clone();
        }
        let before = self.machine.enter().map_err(|stop| stop.reason())?;
        let halves = self.machine.restored_vectors();
        self.halves = halves
            .map(|n| self.machine.vectors[n][..64].to_vec())
            .collect();
        self.advance((0, 0, 0, 0, entry))?;
        for _ in 0..most {
            let Some((place, state)) = self.pending.pop_first() else {
                return Ok(true);
            };
            let first = self.done.first_key_value();
            if first.is_some_and(|(done, _)| done.0 < place.0) {
                self.done.clear();
            }
            self.restore(&state);
            if place.4 != END as u64 {
                self.decide(place, &state)?;
                self.places += usize::from(self.done.insert(place, state).is_none());
            } else if self.machine.saved() != before {
                return Err("memory: a register of the caller is not restored".into());
            }
        }
        Ok(false)
    }

    /// A number of 32 bits as an argument: the upper half of the register holds anything.
    fn narrow(&self, number: u64) -> Value {
        Value::Bits([&constant_bits(number, 32), &self.other[64 * WORDS + 32..]].concat())
    }

    fn restore(&mut self, state: &State<'a>) {
        self.counted = None;
        state.restore(&mut self.machine);
    }

    fn text(&self, stop: Stop, at: u64) -> String {
        stop.at(&self.machine.memory.image.name(at)).reason()
    }

    /// Runs until something depends on whether candidates are accepted.
    fn advance(&mut self, mut place: Place) -> Result<(), String> {
        self.outcomes += 1;
        for _ in 0..LIMIT {
            let at = place.4;
            if at == END as u64 || self.squeezes.contains_key(&at) {
                return self.arrive(place);
            }
            let Ok((next, is_call)) = self.step(at)? else {
                return self.arrive(place);
            };
            place.4 = next;
            if is_call && self.called(place)? {
                return Ok(());
            }
        }
        Err("too many instructions".into())
    }

    /// One instruction: the address of the next, and whether it is called; or what it depends on.
    fn step(&mut self, at: u64) -> Result<Result<(u64, bool), Decision>, String> {
        if self.machine.is_aarch64() {
            let i = self.machine.fetch(at);
            let i = i.map_err(|stop| self.text(stop, at))?;
            self.machine.other = None;
            return match self.machine.step_aarch64(&i) {
                Err(Stop::Leak(_, lits)) if !lits.is_empty() => Ok(Err(Decision {
                    lits,
                    ways: self.machine.other.map(|(taken, _)| [at + 4, taken]),
                    ..Decision::default()
                })),
                Err(Stop::Variable) => Ok(Err(Decision {
                    is_core: true,
                    ..Decision::default()
                })),
                next => {
                    let next = next.map_err(|stop| self.text(stop, at))?;
                    Ok(Ok((next, matches!(&i.mnemonic[..], "bl" | "blr"))))
                }
            };
        }
        let i = self.machine.instruction(at);
        let i = i.map_err(|stop| self.text(stop, at))?;
        if let Some(decision) = self.decision(&i)? {
            return Ok(Err(decision));
        }
        if self.of_counted(&i)? {
            return Ok(Ok((i.next_ip(), false)));
        }
        let next = self.machine.step(&i);
        let next = next.map_err(|stop| self.text(stop, at))?;
        use FlowControl::{Call, IndirectCall};
        Ok(Ok((next, matches!(i.flow_control(), Call | IndirectCall))))
    }

    /// The literals of candidates that an instruction for x86-64 depends on.
    fn decision(&mut self, i: &Instruction) -> Result<Option<Decision>, String> {
        let of = |lits: Vec<Lit>, counts: bool, ways| Decision {
            lits,
            counts,
            ways,
            is_core: false,
        };
        if i.flow_control() == FlowControl::ConditionalBranch {
            let lit = self.machine.condition(i.condition_code());
            let lit = lit.map_err(|stop| self.text(stop, i.ip()))?;
            let ways = Some([i.next_ip(), i.near_branch_target()]);
            return Ok((lit > 1).then(|| of(vec![lit], false, ways)));
        }
        let is_memory = (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory);
        if is_memory && i.mnemonic() != Mnemonic::Nop {
            let registers = [i.memory_base(), i.memory_index()];
            let named = registers.into_iter().filter(|r| r.is_gpr());
            let (mut lits, mut pointers) = (Vec::new(), 0);
            for register in named {
                match &self.machine.general[register.full_register().number()] {
                    Value::Pointer(..) => pointers += 1,
                    Value::Bits(bits) => {
                        lits.extend(bits.iter().filter(|&&bit| bit > 1 && bit != UNWRITTEN));
                    }
                }
            }
            let is_address = pointers > 0 || i.mnemonic() != Mnemonic::Lea;
            return Ok((is_address && !lits.is_empty()).then(|| of(lits, false, None)));
        }
        let mask = self.mask_of(i);
        let is_known = self.counted.as_ref().is_some_and(|c| c.0 == mask);
        let is_data = mask.iter().any(|&bit| bit > 1);
        Ok((is_data && !is_known).then(|| of(mask, true, None)))
    }

    /// The mask of a compression or of a count of bits, as far as it has ones.
    fn mask_of(&self, i: &Instruction) -> Bits {
        let bits = match i.mnemonic() {
            Mnemonic::Popcnt => match self.machine.general_value(i.op_register(1)) {
                Ok(Value::Bits(bits)) => bits,
                _ => Vec::new(),
            },
            Mnemonic::Vpcompressd if i.zeroing_masking() => {
                self.machine.masks[i.op_mask().number()][..16].to_vec()
            }
            _ => Vec::new(),
        };
        let lanes = bits.iter().rposition(|&bit| bit != 0).map_or(0, |n| n + 1);
        bits[..lanes].to_vec()
    }

    /// A compression by the mask whose number of bits is assumed, or that number.
    fn of_counted(&mut self, i: &Instruction) -> Result<bool, String> {
        let Some((mask, count, first, filled)) = &self.counted else {
            return Ok(false);
        };
        if *mask != self.mask_of(i) {
            return Ok(false);
        }
        let (count, first, filled) = (*count, *first, *filled);
        let number = i.op_register(0).full_register().number();
        if i.mnemonic() == Mnemonic::Popcnt {
            self.machine.general[number] = Value::Bits(constant_bits(count as u64, 64));
            self.machine.flags = Default::default();
            return Ok(true);
        }
        let lanes = self.machine.vectors[i.op_register(1).number()].clone();
        for (n, lane) in lanes.chunks(32).take(mask.len()).enumerate() {
            if !self.is_coefficient(lane, first + n)? {
                return Err(format!("lane {n} is not the next candidate"));
            }
        }
        // The accepted candidates in order, then zeros.
        let end = (filled + count).min(N);
        let mut out = self.outputs[N][32 * filled..32 * end].to_vec();
        out.extend(self.other.iter().cycle().take(32 * (filled + count - end)));
        out.resize(512, 0);
        self.machine.vectors[number] = out;
        Ok(true)
    }

    /// Follows every outcome of a decision.
    fn decide(&mut self, place: Place, state: &State<'a>) -> Result<(), String> {
        let (filled, part, next, squeezed, at) = place;
        if let Some(&lanes) = self.squeezes.get(&at) {
            return self.squeeze(place, lanes);
        }
        let decision = self.step(at)?.err().ok_or("nothing to decide")?;
        let (lits, counts) = (decision.lits, decision.counts);
        if decision.is_core {
            // Both forms of Keccak, at each read anew.
            for value in [0, 1] {
                self.restore(state);
                let variable = self.machine.memory.variable;
                self.machine.memory.variable = variable.map(|(at, _)| (at, Some(value)));
                let after = self.step(at)?.map_err(|_| "a variable in an address")?;
                self.machine.memory.variable = variable;
                self.advance((filled, part, next, squeezed, after.0))?;
            }
            return Ok(());
        }
        if let ([lit], Some(ways)) = (&lits[..], decision.ways)
            && let Some(all) = self.terms_of_all(*lit)
        {
            let mut of = Vec::new();
            for lit in all {
                match self.fact(lit)? {
                    (candidate, true) => of.push(candidate),
                    _ => return Err("a comparison of all with some that are not accepted".into()),
                }
            }
            of.sort_unstable();
            let end = next + of.len();
            if !of.iter().copied().eq(next..end.min(squeezed)) {
                return Err("a comparison of all of other candidates than the next".into());
            }
            // All are accepted, or nothing is known about them.
            for says in [false, true] {
                self.restore(state);
                let accepted = of.iter().filter(|_| says);
                self.accepted = accepted.map(|&n| Some(n)).take(N - filled).collect();
                let now = filled + self.accepted.len();
                let to = ways[usize::from(says == (lit & 1 == 0))];
                let after = [next, end][usize::from(says)];
                self.advance((now, part, after, squeezed, to))?;
            }
            return Ok(());
        }
        if !counts && let Some((of, bits)) = self.of_next(&lits, place)? {
            for (set, &[value, _]) in bits.iter().enumerate() {
                self.restore(state);
                let accepts = |candidate| {
                    let n = of.iter().position(|&of| of == candidate)?;
                    Some(set >> n & 1 == 1)
                };
                let after = next + of.len();
                let all = (next..after).filter(|&n| accepts(n) == Some(true));
                self.accepted = all.map(Some).take(N - filled).collect();
                let now = filled + self.accepted.len();
                self.learn(&accepts)?;
                let to = decision.ways.map_or(at, |ways| ways[value as usize]);
                self.advance((now, part, after, squeezed, to))?;
            }
            return Ok(());
        }
        let says = self.facts_of(&lits, place)?;
        let after = next + lits.len();
        if counts {
            if says.contains(&false) {
                return Err("a mask of what is not accepted".into());
            }
            for count in 0..=lits.len() {
                self.restore(state);
                let now = (filled + count).min(N);
                self.accepted = vec![None; now - filled];
                self.counted = Some((lits.clone(), count, next, filled));
                self.advance((now, part, after, squeezed, at))?;
            }
            return Ok(());
        }
        for set in 0..1usize << lits.len() {
            self.restore(state);
            let accepts = |n: usize| set >> n & 1 == 1;
            let all = (0..lits.len()).filter(|&n| accepts(n));
            self.accepted = all.map(|n| Some(next + n)).take(N - filled).collect();
            let now = filled + self.accepted.len();
            let mut to = at;
            if let Some(ways) = decision.ways {
                to = ways[usize::from(accepts(0) == says[0])];
            } else {
                let value = |n: usize| Lit::from(accepts(n) == says[n]);
                let known = (0..lits.len()).map(|n| (lits[n] >> 1, value(n) ^ (lits[n] & 1)));
                self.assume(&known.collect());
            }
            self.advance((now, part, after, squeezed, to))?;
        }
        Ok(())
    }

    /// Takes bits as known in the general registers.
    fn assume(&mut self, known: &FxHashMap<Lit, Lit>) {
        for value in &mut self.machine.general {
            let Value::Bits(bits) = value else { continue };
            for bit in bits {
                if let Some(value) = known.get(&(*bit >> 1)) {
                    *bit = value ^ (*bit & 1);
                }
            }
        }
    }
}
