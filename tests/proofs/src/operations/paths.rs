//! The paths of an operation, and the fixed point of its attempts.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::FlowControl;

use super::{Found, HEAD, LISTED, Length, RDI, What};
use crate::image::Image;
use crate::machine::{Flags, Machine};
use crate::memory::{
    END, Memory, PROGRAM, Step, Stop, Value, as_number, constant_bits, join_bits, unknown,
};
use crate::places::{BACKENDS, entries};
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
    pub(super) fn new(image: &Image, backend: &str, l: usize) -> Result<Self, String> {
        let names = entries()?;
        let mut image = image.clone();
        let (mut public, mut used) = (BTreeMap::new(), BTreeMap::<_, BTreeSet<u64>>::new());
        let mut table = 0;
        let mut lanes = 1;
        // Keys are made on another backend than that of the operation.
        for of in BACKENDS {
            let [at] = image.table(of)[..] else {
                return Err(format!("{of}: not one kernel table"));
            };
            let slot = |name: &str| {
                let n = names.iter().position(|entry| entry == name);
                n.map(|n| at + 16 + 8 * n as u64)
            };
            if of == backend {
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
        machine.general[RDI] = Value::Bits(constant_bits(self.table, 64));
        for (&len, register) in arguments.iter().zip([6, 2, 1, 8, 9]) {
            let region = machine.memory.region("an argument", len, true, 64);
            machine.general[register] = machine.memory.number(Value::Pointer(region, 0));
        }
        let text = |stop| format!("{stop:?}");
        machine.set_stack(0, &[]).map_err(text)?;
        machine.push(&Value::Pointer(PROGRAM, END)).map_err(text)?;
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
                let stopped = |stop: Stop| format!("{:?}", stop.at(&self.image.name(at)));
                machine.executed += 1;
                if machine.executed > LIMIT {
                    return Err("too many instructions".into());
                }
                if machine.terms.words.len() > 1 << 17 {
                    machine.terms = Terms::new();
                }
                if let Some(&n) = self.public.get(&at) {
                    self.found.used.entry(n).or_default().insert(at);
                    at = returned(&mut machine, &LISTED[n].1, self.table).map_err(stopped)?;
                    continue;
                }
                let i = machine.instruction(at).map_err(stopped)?;
                if i.flow_control() == FlowControl::ConditionalBranch {
                    let lit = machine.condition(i.condition_code()).map_err(stopped)?;
                    let (target, next) = (i.near_branch_target(), i.next_ip());
                    if lit > 1 {
                        self.branch(at)?;
                        machine.terms = Terms::new();
                        paths.push((target, machine.clone(), false));
                    }
                    at = if lit == 1 { target } else { next };
                    continue;
                }
                at = machine.step(&i).map_err(stopped)?;
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
    let result = match what {
        What::Choice => Value::Bits(constant_bits(table, 64)),
        What::Public(address, length) => {
            let len = match *length {
                Length::Fixed(len) => Some(len),
                Length::Register(n, unit) => match &machine.general[n] {
                    Value::Bits(bits) => as_number(bits).map(|n| n as usize * unit),
                    Value::Pointer(..) => None,
                },
            };
            let output = machine.general[*address].clone();
            let (Value::Pointer(region, offset), Some(len)) = (machine.memory.pointer(output), len)
            else {
                return Err(Stop::Leak(
                    "an output at a place that depends on data".into(),
                ));
            };
            machine
                .memory
                .write((region, offset), &vec![ANY; 8 * len])?;
            machine.general[RDI].clone()
        }
        _ => return unknown("not a function"),
    };
    for n in [1, 2, 6, 7, 8, 9, 10, 11] {
        machine.general[n] = Value::Bits(vec![ANY; 64]);
    }
    // The address of an output that the caller passes first is the result.
    machine.general[0] = result;
    machine.vectors = vec![vec![ANY; 512]; 32];
    machine.masks = vec![vec![ANY; 64]; 8];
    machine.flags = Flags::default();
    match machine.pop().map(|to| machine.memory.pointer(to))? {
        Value::Pointer(PROGRAM, target) => Ok(target as u64),
        _ => unknown("a return to no code"),
    }
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
