//! Places of an exploration: comparison with the output, joined states, and the stream.

use std::collections::BTreeMap;

use super::{Explorer, N, Place};
use crate::machine::{Flags, Machine};
use crate::memory::{
    Bits, END, Memory, PROGRAM, STACK, Step, UNWRITTEN, Value, as_number, constant_bits,
};
use crate::terms::WordId;

/// Registers and memory at a place.
#[derive(Clone)]
pub(crate) struct State<'a> {
    general: Vec<Value>,
    /// Those with a value.
    vectors: BTreeMap<usize, Bits>,
    masks: Vec<Bits>,
    flags: Flags,
    memory: Memory<'a>,
}

impl<'a> Explorer<'a> {
    /// The state at a place: compared with the output, and joined with the others there.
    pub(super) fn arrive(&mut self, place: Place) -> Result<(), String> {
        self.compare_output(place.3)?;
        if place.4 == END as u64 && place.3 < N {
            return Err(format!("a return with {} coefficients", place.3));
        }
        let mut state = State::of(&mut self.machine);
        if let Some(mut known) = self.pending.remove(&place) {
            known.join(&state);
            state = known;
        } else if let Some(known) = self.done.get(&place) {
            let mut known = known.clone();
            if !known.join(&state) {
                return Ok(());
            }
            state = known;
        }
        self.pending.insert(place, state);
        Ok(())
    }

    /// Whether the accepted coefficients are in the output after those of before.
    fn compare_output(&mut self, filled: usize) -> Result<(), String> {
        let bits = self.machine.memory.region_bits(self.out).to_vec();
        let before = filled - self.accepted.len();
        let tokens = self.outputs[N].clone();
        if bits[..32 * before] != tokens[..32 * before] {
            return Err("an accepted coefficient is overwritten".into());
        }
        for (n, candidate) in (before..).zip(core::mem::take(&mut self.accepted)) {
            let place = 32 * n..32 * n + 32;
            let is_right = match candidate {
                Some(candidate) => self.is_coefficient(&bits[place], candidate)?,
                None => bits[place.clone()] == tokens[place],
            };
            if !is_right {
                return Err(format!("coefficient {n} is not the accepted candidate"));
            }
        }
        let output = self.outputs[filled].clone();
        self.machine.memory.share(self.out, output);
        Ok(())
    }

    /// A function begins: whether it starts again with the same stream. It may also be the one that
    /// writes the stream.
    pub(super) fn called(&mut self, place: Place) -> Result<bool, String> {
        let (part, next, squeezed, filled, at) = place;
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
                self.advance((part, next, squeezed, N, to))?;
            }
            return Ok(self.falls_back);
        }
        if self.eta.is_some() && squeezed == 0 && !self.squeezes.contains_key(&at) {
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
        let (to, stack) = (m.pop().and_then(|to| m.code_at(to))?, m.general[4].clone());
        m.general[4].clone_from(&general[4]);
        for _ in 0..super::LIMIT {
            if at == to && m.general[4] == stack {
                break;
            }
            let i = m.instruction(at)?;
            let next = m.step(&i);
            at = next.map_err(|stop| stop.at(&m.memory.image.name(at)))?;
        }
        let saved = |m: &Machine<'_>| super::SAVED.map(|n| m.general[n].clone());
        let is_return = at == to && m.general[4] == stack && saved(&m) == saved(&self.machine);
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
        let (permutation, [eta, seed, nonce, out]) = match general[7] {
            Value::Pointer(PROGRAM, at) if self.squeezes.contains_key(&(at as u64)) => {
                (Some(at), [6, 2, 1, 8])
            }
            _ => (None, [7, 6, 2, 1]),
        };
        let is_right = is_number(eta, self.eta.unwrap_or(0), 32)
            && general[seed] == Value::Pointer(super::rows::SEED, 0)
            && is_number(nonce, super::rows::FIRST, 16)
            && general[out] == Value::Pointer(self.out, 0);
        is_right.then_some(permutation)
    }

    /// The next bytes of the stream: unknown ones.
    pub(super) fn squeeze(&mut self, place: Place, lanes: usize) -> Result<(), String> {
        let (mut part, mut next, mut squeezed, filled, at) = place;
        if next == squeezed && squeezed > 0 {
            // The candidates get the names of those before. Each part has its own places but for
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
            _ => (7, rate),
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
            // The other lanes, the capacity and registers hold anything.
            let word = |n: usize| match bits.get(64 * (n / lanes)..64 * (n / lanes) + 64) {
                Some(word) if n.is_multiple_of(lanes) => word.to_vec(),
                _ => self.other[64 * n..64 * n + 64].to_vec(),
            };
            bits = (0..25 * lanes).flat_map(word).collect();
        }
        let written = self.machine.memory.write((region, offset), &bits);
        match written.and_then(|()| self.after_call()) {
            Ok(to) => self.advance((part, next, end, filled, to)),
            Err(stop) => Err(self.text(stop, at)),
        }
    }

    /// The return of a function that is not executed: what it need not restore holds anything.
    fn after_call(&mut self) -> Step<u64> {
        let to = self.machine.return_address()?;
        self.machine.forget_of_callee();
        // Compilers write a part of a register and read the whole of it.
        for n in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
            self.machine.general[n] = Value::Bits(self.other[64 * n..64 * n + 64].to_vec());
        }
        Ok(to)
    }
}

impl<'a> State<'a> {
    pub(crate) fn of(m: &mut Machine<'a>) -> Self {
        let data_read = core::mem::take(&mut m.memory.data_read);
        let memory = m.memory.clone();
        m.memory.data_read = data_read;
        let has_value = |(_, bits): &(usize, &Bits)| !bits.contains(&UNWRITTEN);
        let vectors = m.vectors.iter().enumerate().filter(has_value);
        Self {
            general: m.general[..16].to_vec(),
            vectors: vectors.map(|(n, bits)| (n, bits.clone())).collect(),
            masks: m.masks.clone(),
            flags: m.flags.clone(),
            memory,
        }
    }

    pub(crate) fn restore(&self, m: &mut Machine<'a>) {
        m.general[..16].clone_from_slice(&self.general);
        for (n, vector) in m.vectors.iter_mut().enumerate() {
            match self.vectors.get(&n) {
                Some(bits) => vector.copy_from_slice(bits),
                None => vector.fill(UNWRITTEN),
            }
        }
        m.masks.clone_from(&self.masks);
        m.flags = self.flags.clone();
        let data_read = core::mem::take(&mut m.memory.data_read);
        m.memory = self.memory.clone();
        m.memory.data_read = data_read;
    }

    /// Takes the values from what differs; whether there was anything.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let before = self.vectors.len();
        self.vectors
            .retain(|n, bits| other.vectors.get(n) == Some(bits));
        let mut changed = before != self.vectors.len();
        let mut forget = |bits: &mut Bits| {
            changed |= bits.iter().any(|&bit| bit != UNWRITTEN);
            bits.fill(UNWRITTEN);
        };
        for (a, b) in self.general.iter_mut().zip(&other.general) {
            if a != b {
                let mut bits = match a {
                    Value::Bits(bits) => core::mem::take(bits),
                    Value::Pointer(..) => vec![0; 64],
                };
                forget(&mut bits);
                *a = Value::Bits(bits);
            }
        }
        let masks = self.masks.iter_mut().zip(&other.masks);
        masks.filter(|(a, b)| a != b).for_each(|(a, _)| forget(a));
        if self.flags != other.flags {
            changed |= self.flags != Flags::default();
            self.flags = Flags::default();
        }
        changed | self.memory.forget_differences(&other.memory, STACK)
    }
}
