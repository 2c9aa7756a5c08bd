//! The paths of an operation, and the fixed point of its attempts.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Found, HEAD, LISTED, Length, What};
use crate::image::Image;
use crate::machine::{Flags, Machine};
use crate::memory::{END, Memory, Step, Stop, Value, as_number, constant_bits, join_bits, unknown};
use crate::places::entries;
use crate::terms::{ANY, Terms};

const STACK: i64 = 1 << 19;
/// Instructions of one path.
const LIMIT: usize = 100_000_000;
const MOST_ATTEMPTS: usize = 64;

pub(super) struct Run {
    image: Image,
    table: u64,
    head: BTreeSet<u64>,
    /// Functions that are not executed.
    public: BTreeMap<u64, usize>,
    period: usize,
    found: Found,
}

impl Run {
    pub(super) fn new(case: &Case, l: usize) -> Result<Self, String> {
        let names = entries()?;
        let mut image = case.image.clone();
        let (mut public, mut used) = (BTreeMap::new(), BTreeMap::<_, BTreeSet<u64>>::new());
        let mut table = 0;
        let mut lanes = 1;
        // Keys are made on another backend than that of the operation.
        for of in super::backends(&image) {
            let [at] = image.table(of)[..] else {
                return Err(format!("{of}: not one kernel table"));
            };
            let slot = |name: &str| {
                let n = names.iter().position(|entry| entry == name);
                n.map(|n| at + 16 + 8 * n as u64)
            };
            if of == case.backend {
                table = at;
                let slot = slot("mask_lanes").ok_or("no number of lanes")?;
                let bytes = image.constant_bytes(slot, 8).ok_or("no number of lanes")?;
                lanes = usize::from(bytes[0]);
            }
            for (n, (part, what, _)) in LISTED.iter().enumerate() {
                let Some(slot) = slot(part) else {
                    continue;
                };
                match (what, image.pointers.get(&slot)) {
                    (What::Public(..), Some(&function)) => {
                        public.insert(function, n);
                    }
                    (What::Absent, Some(_)) => {
                        image = image.without_pointer(slot);
                        used.entry(n).or_default().insert(slot);
                    }
                    _ => {}
                }
            }
        }
        for (n, (part, what, _)) in LISTED.iter().enumerate() {
            if matches!(what, What::Public(..) | What::Choice) && !names.iter().any(|x| x == part) {
                public.extend(image.functions(part).into_iter().map(|at| (at, n)));
            }
        }
        // Masks of an attempt begin at any place of a group that is a multiple of this.
        let rows = (l & l.wrapping_neg()).min(lanes);
        Ok(Self {
            table,
            head: image.functions(HEAD).into_iter().collect(),
            public,
            period: lanes / rows,
            found: Found {
                executed: 0,
                attempts: 0,
                used,
                met: BTreeMap::new(),
            },
            image,
        })
    }

    pub(super) fn operation(mut self, entry: u64, arguments: &[usize]) -> Result<Found, String> {
        let image = self.image.clone();
        let mut machine = Machine::without_vectors(Memory::new(&image, STACK, true));
        machine.limit = LIMIT;
        machine.vectors = vec![vec![ANY; 512]; 32];
        machine.masks = vec![vec![ANY; 64]; 8];
        machine.general = vec![Value::Bits(vec![ANY; 64]); 32];
        let registers = machine.arguments();
        machine.general[registers[0]] = Value::Bits(constant_bits(self.table, 64));
        for (&len, &register) in arguments.iter().zip(&registers[1..]) {
            let region = machine.memory.region("an argument", len, true, 64);
            machine.general[register] = machine.memory.number(Value::Pointer(region, 0));
        }
        let text = |stop| format!("{stop:?}");
        machine.set_stack(0, &[]).map_err(text)?;
        machine.return_to(END as u64).map_err(text)?;
        // States at the begin of each attempt.
        let mut heads: Vec<Machine<'_>> = Vec::new();
        let (mut stable, mut arrivals) = (0, self.paths(machine, entry)?);
        while let Some((at, mut state)) = arrivals.pop() {
            for (other_at, other) in arrivals {
                if at != other_at {
                    return Err("attempts of several operations".into());
                }
                join(&mut state, &other);
            }
            if let Some(n) = heads.len().checked_sub(self.period) {
                let mut joined = heads[n].clone();
                stable = if join(&mut joined, &state) {
                    0
                } else {
                    stable + 1
                };
                state = joined;
                if stable == self.period {
                    break;
                }
            }
            if heads.len() == MOST_ATTEMPTS {
                return Err(format!("no fixed point after {MOST_ATTEMPTS} attempts"));
            }
            heads.push(state.clone());
            arrivals = self.paths(state, at)?;
        }
        self.found.attempts = heads.len();
        Ok(self.found)
    }

    /// Runs all paths until the next attempt begins or the operation returns; the states there.
    fn paths<'a>(
        &mut self,
        machine: Machine<'a>,
        entry: u64,
    ) -> Result<Vec<(u64, Machine<'a>)>, String> {
        let (mut arrivals, mut paths) = (Vec::new(), vec![(entry, machine, true)]);
        while let Some((mut at, mut machine, mut is_first)) = paths.pop() {
            machine.executed = 0;
            while at != END as u64 {
                if self.head.contains(&at) && !is_first {
                    arrivals.push((at, machine.clone()));
                    break;
                }
                is_first = false;
                let stopped = |stop: Stop| format!("{stop:?}");
                if machine.terms.words.len() > 1 << 17 {
                    machine.terms = Terms::new();
                }
                if let Some(&n) = self.public.get(&at) {
                    self.found.used.entry(n).or_default().insert(at);
                    let next = returned(&mut machine, &LISTED[n].1, self.table);
                    let stopped = |stop: Stop| stopped(stop.at(&self.image.name(at)));
                    at = next.map_err(stopped)?;
                    continue;
                }
                let next = machine.execute(at).map_err(stopped)?;
                if let Some(other) = machine.other.take() {
                    self.branch(at)?;
                    machine.terms = Terms::new();
                    paths.push((other, machine.clone(), false));
                }
                at = next;
            }
            self.found.executed += machine.executed;
            self.found.met.extend(machine.met);
        }
        Ok(arrivals)
    }

    /// Allows a branch on data, or not.
    fn branch(&mut self, at: u64) -> Result<(), String> {
        let name = self.image.name(at);
        for (n, (part, what, _)) in LISTED.iter().enumerate() {
            if let &What::Branches(most) = what
                && part.split('|').any(|part| name.contains(part))
            {
                let places = self.found.used.entry(n).or_default();
                places.insert(at);
                return if places.len() > most {
                    Err(format!("one more branch depends on data, {name}"))
                } else {
                    Ok(())
                };
            }
        }
        Err(format!("a branch depends on data, {name}"))
    }
}

/// The state after a function on public data: anything at all in its output and in the
/// registers that it need not restore.
fn returned(machine: &mut Machine<'_>, what: &What, table: u64) -> Step<u64> {
    // On x86-64 the address of a large result is the first argument and the first result.
    let is_x86 = !machine.is_aarch64();
    let place = machine.general[if is_x86 { 7 } else { 8 }].clone();
    let arguments = machine.arguments();
    let mut first = Value::Bits(vec![ANY; 64]);
    match what {
        What::Choice => first = Value::Bits(constant_bits(table, 64)),
        What::Public(output, length) => {
            let len = match *length {
                Length::Fixed(len) => Some(len),
                Length::Argument(n, unit) => match &machine.general[arguments[n]] {
                    Value::Bits(bits) => as_number(bits).map(|n| n as usize * unit),
                    Value::Pointer(..) => None,
                },
            };
            if output.is_none() && is_x86 {
                first = place.clone();
            }
            let output = output.map_or(place, |n| machine.general[arguments[n]].clone());
            let (Value::Pointer(region, offset), Some(len)) = (machine.memory.pointer(output), len)
            else {
                return Err(Stop::Leak(
                    "an output at a place that depends on data".into(),
                ));
            };
            machine
                .memory
                .write((region, offset), &vec![ANY; 8 * len])?;
        }
        _ => return unknown("not a function"),
    }
    let next = machine.return_address();
    let restored = machine.restored();
    for n in (0..32).filter(|n| !restored.contains(n)) {
        machine.general[n] = Value::Bits(vec![ANY; 64]);
    }
    machine.general[0] = first;
    machine.vectors = vec![vec![ANY; 512]; 32];
    machine.masks = vec![vec![ANY; 64]; 8];
    machine.flags = Flags::default();
    next
}

/// Makes unknown what differs between two states; whether there was any.
fn join<'a>(state: &mut Machine<'a>, other: &Machine<'a>) -> bool {
    let mut changed = false;
    for (a, b) in state.general.iter_mut().zip(&other.general) {
        if let (Value::Bits(a), Value::Bits(b)) = (a, b) {
            changed |= join_bits(a, b);
        }
    }
    let (a, b) = (&mut state.vectors, &other.vectors);
    let (c, d) = (&mut state.masks, &other.masks);
    for (a, b) in a.iter_mut().zip(b).chain(c.iter_mut().zip(d)) {
        changed |= join_bits(a, b);
    }
    (state.flags, state.terms) = (Flags::default(), Terms::new());
    changed | state.memory.join(&other.memory)
}
