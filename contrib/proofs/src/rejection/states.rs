//! Places of an exploration: comparison with the output, joined states, and the stream.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Explorer, N, Place};
use crate::machine::{Flags, Machine};
use crate::memory::{
    Bits, END, Memory, PROGRAM, STACK, Step, UNWRITTEN, Value, as_number, constant_bits,
};
use crate::terms::{ANY, WordId};

/// Registers and memory at a place.
#[derive(Clone)]
pub(crate) struct State<'a> {
    /// Those with a value.
    general: BTreeMap<usize, Value>,
    /// The lowest bits, as far as they have values.
    vectors: BTreeMap<usize, Bits>,
    masks: BTreeMap<usize, Bits>,
    flags: Flags,
    memory: Memory<'a>,
}

impl<'a> Explorer<'a> {
    /// The state at a place: compared with the output, and joined with the others there.
    pub(super) fn arrive(&mut self, place: Place) -> Result<(), String> {
        self.compare_output(place)?;
        if place.4 == END as u64 && place.0 < N {
            return Err(format!("a return with {} coefficients", place.0));
        }
        let mut state = State::of(&mut self.machine);
        if let Some(mut known) = self.pending.remove(&place) {
            known.join(&state);
            known.join_region(&state, self.out);
            state = known;
        } else if let Some(known) = self.done.get(&place) {
            let mut known = known.clone();
            let changed = known.join(&state);
            if !known.join_region(&state, self.out) && !changed {
                return Ok(());
            }
            state = known;
        }
        self.pending.insert(place, state);
        Ok(())
    }

    /// Whether the accepted coefficients are in the output after those of before.
    fn compare_output(&mut self, place: Place) -> Result<(), String> {
        let (filled, _, next, squeezed, _) = place;
        let here = 32 * N * self.lane.unwrap_or(0)..;
        let bits = &self.machine.memory.region_bits(self.out)[here.clone()];
        let before = filled - self.accepted.len();
        let tokens = &self.outputs[N][here];
        if bits[..32 * before] != tokens[..32 * before] {
            return Err("an accepted coefficient is overwritten".into());
        }
        let new = bits[32 * before..32 * filled].to_vec();
        let known = tokens[32 * before..32 * filled].to_vec();
        let accepted = core::mem::take(&mut self.accepted);
        let places = new.chunks(32).zip(known.chunks(32)).zip(accepted);
        for (n, ((bits, token), candidate)) in (before..).zip(places) {
            let is_right = match candidate {
                Some(candidate) => self.is_coefficient(bits, candidate)?,
                None => bits == token,
            };
            if !is_right {
                return Err(format!("coefficient {n} is not the accepted candidate"));
            }
        }
        let mut output = self.outputs[filled].clone();
        // A coefficient of s may stand there before it is decided whether it is accepted.
        if self.eta.is_some() && filled < N && next < squeezed {
            let after = 32 * filled..32 * filled + 32;
            let early = self.machine.memory.region_bits(self.out)[after.clone()].to_vec();
            if self.is_coefficient(&early, next)? {
                Rc::make_mut(&mut output)[after].copy_from_slice(&early);
            }
        }
        self.machine.memory.share(self.out, output);
        Ok(())
    }

    /// A function begins: whether it starts again with the same stream. It may also be the one that
    /// writes the stream.
    pub(super) fn called(&mut self, place: Place) -> Result<bool, String> {
        let (filled, part, next, squeezed, at) = place;
        if let Some(keccak) = self.starts_stream() {
            self.samplers.insert((at, keccak));
            if self.falls_back && (next != squeezed || filled == N) {
                return Err("a stream starts again in another way".into());
            }
            if self.falls_back {
                // It leaves the whole polynomial.
                (self.accepted, self.counted) = (Vec::new(), None);
                let output = self.outputs[N].clone();
                self.machine.memory.share(self.out, output);
                let to = self.after_call().map_err(|stop| self.text(stop, at))?;
                self.advance((N, part, next, squeezed, to))?;
            }
            return Ok(self.falls_back);
        }
        let may_write = self.eta.is_some() && squeezed == 0 && !self.machine.is_aarch64();
        if may_write && !self.squeezes.contains_key(&at) {
            let is_stream = self.writes_stream(at);
            if is_stream.map_err(|stop| stop.reason())? {
                self.squeezes.insert(at, 0);
            }
        }
        Ok(false)
    }

    /// Runs a function that is given the place of whole blocks: whether it returns and changes
    /// nothing else.
    fn writes_stream(&mut self, entry: u64) -> Step<bool> {
        let general = &self.machine.general;
        let (Value::Pointer(STACK, from), Value::Bits(len)) = (&general[1], &general[8]) else {
            return Ok(false);
        };
        let end = match as_number(len) {
            Some(len @ (136 | 272)) => from + len as i64,
            _ => return Ok(false),
        };
        let (from, mut at, mut m) = (*from, entry, self.machine.clone());
        // Bytes without a value may hold anything.
        m.memory.fill_unwritten(STACK);
        let before = m.memory.clone();
        let (to, saved) = (m.return_address()?, m.saved());
        let stack = core::mem::replace(&mut m.general[4], general[4].clone());
        for _ in 0..super::LIMIT {
            if at == to && m.general[4] == stack {
                break;
            }
            let i = m.instruction(at)?;
            let next = m.step(&i);
            at = next.map_err(|stop| stop.at(&m.memory.image.name(at)))?;
        }
        let is_return = at == to && m.saved() == saved;
        let Value::Pointer(STACK, above) = stack else {
            return Ok(false);
        };
        let may_change = |at: i64| (from..end).contains(&at) || at < above;
        let is_stream = is_return && before.differs_only(&m.memory, may_change);
        self.machine.take_code(m);
        Ok(is_stream)
    }

    /// The permutation, if the arguments are those of a function that samples this polynomial. A
    /// linker may have made it a constant: then it is no argument.
    fn starts_stream(&self) -> Option<Option<i64>> {
        let general = &self.machine.general;
        let is_number = |n: usize, value: u64, width: usize| matches!(&general[n], Value::Bits(bits) if bits[..width] == constant_bits(value, width));
        let arguments = self.machine.arguments();
        let (permutation, registers) = match general[arguments[0]] {
            Value::Pointer(PROGRAM, at) if self.squeezes.contains_key(&(at as u64)) => {
                (Some(at), &arguments[1..])
            }
            _ => (None, arguments),
        };
        let [eta, seed, nonce, out] = core::array::from_fn(|n| registers[n]);
        let is_right = is_number(eta, self.eta.unwrap_or(0), 32)
            && general[seed] == Value::Pointer(super::rows::SEED, 0)
            && is_number(nonce, super::rows::FIRST, 16)
            && general[out] == Value::Pointer(self.out, 0);
        is_right.then_some(permutation)
    }

    /// The next bytes of the stream: unknown ones.
    pub(super) fn squeeze(&mut self, place: Place, lanes: usize) -> Result<(), String> {
        let (filled, mut part, mut next, mut squeezed, at) = place;
        // Halves that still are those of the caller.
        let m = &self.machine;
        let halves = m.restored_vectors().zip(self.halves.clone());
        let is_kept = |(n, half): &(usize, Bits)| m.vectors[*n][..64] == half[..];
        let kept: Vec<_> = halves.filter(is_kept).collect();
        if next == squeezed && squeezed > 0 {
            // The candidates get the names of those before. Each part has its own places except for
            // the last: after three blocks and two with AVX-512, after one or two elsewhere.
            let last = if self.eta.is_none() { 2 } else { 1 };
            (part, next, squeezed) = ((part + 1).min(last), 0, 0);
            self.machine.forget_unknown();
        }
        let (rate, width) = if self.eta.is_some() {
            (136, 4)
        } else {
            (168, 24)
        };
        let general = &self.machine.general;
        let (register, len) = match &general[8] {
            Value::Bits(bits) if lanes == 0 => (1, as_number(bits).unwrap_or(0) as usize),
            _ => (self.machine.arguments()[0], rate),
        };
        let Value::Pointer(region, offset) = general[register] else {
            return Err("a state at no address".into());
        };
        let end = squeezed + 8 * len / width;
        let candidates: Vec<WordId> = match self.candidates.get(squeezed..end) {
            Some(candidates) => candidates.to_vec(),
            None => return Err("too many blocks before a decision".into()),
        };
        let terms = &mut self.machine.terms;
        let mut bits: Bits = candidates
            .iter()
            .flat_map(|&word| terms.bits(word))
            .collect();
        if lanes > 0 {
            // The other lanes, the capacity and registers hold anything; the stream of an entry
            // that is sampled too is zeros, which are accepted.
            let lane = self.lane.unwrap_or(0);
            let word = |n: usize| match bits.get(64 * (n / lanes)..64 * (n / lanes) + 64) {
                Some(word) if n % lanes == lane => word.to_vec(),
                Some(_) if self.lane.is_some() => vec![0; 64],
                _ => self.other[64 * n..64 * n + 64].to_vec(),
            };
            bits = (0..25 * lanes).flat_map(word).collect();
        }
        let written = self.machine.memory.write((region, offset), &bits);
        let to = written.and_then(|()| self.after_call());
        for (n, half) in kept {
            self.machine.vectors[n][..64].copy_from_slice(&half);
        }
        match to {
            Ok(to) => self.advance((filled, part, next, end, to)),
            Err(stop) => Err(self.text(stop, at)),
        }
    }

    /// The return of a function that is not executed: what it need not restore holds anything.
    fn after_call(&mut self) -> Step<u64> {
        let to = self.machine.return_address()?;
        self.machine.forget_of_callee();
        // The result holds anything.
        self.machine.general[0] = Value::Bits(vec![ANY; 64]);
        Ok(to)
    }
}

/// The lowest bits of registers, as far as they have values.
fn known(all: &[Bits]) -> BTreeMap<usize, Bits> {
    let len = |bits: &Bits| {
        let end = bits.iter().position(|&bit| bit == UNWRITTEN);
        end.unwrap_or(bits.len())
    };
    let all = all.iter().map(|bits| &bits[..len(bits)]).enumerate();
    let with_value = all.filter(|(_, bits)| !bits.is_empty());
    with_value.map(|(n, bits)| (n, bits.to_vec())).collect()
}

impl<'a> State<'a> {
    pub(crate) fn of(m: &mut Machine<'a>) -> Self {
        let data_read = core::mem::take(&mut m.memory.data_read);
        let memory = m.memory.clone();
        m.memory.data_read = data_read;
        let has_value = |(_, value): &(usize, &Value)| !matches!(value, Value::Bits(bits) if bits[0] == UNWRITTEN);
        let general = m.general.iter().take(m.count_general()).enumerate();
        let general = general.filter(has_value);
        Self {
            general: general.map(|(n, value)| (n, value.clone())).collect(),
            vectors: known(&m.vectors),
            masks: known(&m.masks),
            flags: m.flags.clone(),
            memory,
        }
    }

    pub(crate) fn restore(&self, m: &mut Machine<'a>) {
        let none = || Value::Bits(vec![UNWRITTEN; 64]);
        for (n, value) in m.general.iter_mut().enumerate() {
            *value = self.general.get(&n).cloned().unwrap_or_else(none);
        }
        for (all, known) in [(&mut m.vectors, &self.vectors), (&mut m.masks, &self.masks)] {
            for (n, register) in all.iter_mut().enumerate() {
                register.fill(UNWRITTEN);
                if let Some(bits) = known.get(&n) {
                    register[..bits.len()].copy_from_slice(bits);
                }
            }
        }
        m.flags = self.flags.clone();
        let data_read = core::mem::take(&mut m.memory.data_read);
        m.memory = self.memory.clone();
        m.memory.data_read = data_read;
    }

    /// Takes the values from what differs; whether there was anything.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let len = |of: &Self| of.general.len() + of.vectors.len() + of.masks.len();
        let before = len(self);
        fn keep<T: PartialEq>(mine: &mut BTreeMap<usize, T>, others: &BTreeMap<usize, T>) {
            mine.retain(|n, value| others.get(n) == Some(value));
        }
        keep(&mut self.general, &other.general);
        keep(&mut self.vectors, &other.vectors);
        keep(&mut self.masks, &other.masks);
        let mut changed = before != len(self);
        if self.flags != other.flags {
            changed |= self.flags != Flags::default();
            self.flags = Flags::default();
        }
        changed | self.join_region(other, STACK)
    }

    /// Joins the bytes of a region; returns whether they changed.
    fn join_region(&mut self, other: &Self, region: u32) -> bool {
        self.memory.forget_differences(&other.memory, region)
    }
}
