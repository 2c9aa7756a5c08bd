//! The paths of an operation, and the fixed point of its attempts.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::{ATTEMPT, Case, Found, LISTED, Length, RESPONSE, ROUND, What};
use crate::image::Image;
use crate::machine::{Flags, Machine};
use crate::memory::{
    END, Memory, PROGRAM, Step, Stop, Value, as_number, constant_bits, join_bits, leak, unknown,
};
use crate::places::entries;
use crate::terms::{ANY, Lit, PUBLIC, Terms, is_any};

const STACK: i64 = 1 << 17;
/// Instructions of one path.
const LIMIT: usize = 100_000_000;
const MOST_RUNS: usize = 10_000;

/// Common part of states that are joined. The progress comes first: it only grows, so that the
/// states before are done with before those after.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The begin of the last argument, if it is known.
    progress: Option<u64>,
    /// After a round: executed when all rounds that are known have ended.
    is_end: bool,
    at: u64,
    /// Number of attempts of a single signature, modulo the period of the mask groups.
    phase: usize,
    /// The arguments that are pointers.
    pointers: Vec<Option<(u32, i64)>>,
    decisions: Decisions,
}

/// Addresses of branches and whether they were taken, since the end of the last responses.
type Decisions = Vec<(u64, bool)>;

struct State<'a> {
    machine: Machine<'a>,
    is_pending: bool,
}

type States<'a> = BTreeMap<Place, State<'a>>;

pub(super) struct Run {
    image: Image,
    table: u64,
    /// Begins of attempts, begins of responses, ends of rounds that were met.
    places: [BTreeSet<u64>; 3],
    rounds: BTreeSet<u64>,
    /// Functions that are not executed.
    public: BTreeMap<u64, usize>,
    period: usize,
    /// The region of the last argument.
    last: u32,
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
                    (What::Unknown(..) | What::Verdict, Some(&function)) => {
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
            if matches!(what, What::Unknown(..) | What::Verdict | What::Choice)
                && !names.iter().any(|x| x == part)
            {
                let named = part.split('|').flat_map(|part| image.functions(part));
                public.extend(named.map(|at| (at, n)));
            }
        }
        // Masks of an attempt begin at any place of a group that is a multiple of this.
        let rows = (l & l.wrapping_neg()).min(lanes);
        let addresses = |part| image.functions(part).into_iter().collect();
        Ok(Self {
            table,
            places: [addresses(ATTEMPT), addresses(RESPONSE), BTreeSet::new()],
            rounds: addresses(ROUND),
            public,
            period: lanes / rows,
            last: 0,
            found: Found {
                executed: 0,
                states: 0,
                runs: 0,
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
            self.last = region;
            machine.general[register] = machine.memory.number(Value::Pointer(region, 0));
        }
        let text = |stop| format!("{stop:?}");
        machine.set_stack(0, &[]).map_err(text)?;
        machine.return_to(END as u64).map_err(text)?;
        let begin = Place {
            at: entry,
            ..Place::default()
        };
        let mut states = States::new();
        self.paths(machine, &begin, &mut states)?;
        while let Some((place, state)) = states.iter_mut().find(|(_, state)| state.is_pending) {
            state.is_pending = false;
            let (place, machine) = (place.clone(), state.machine.clone());
            self.found.runs += 1;
            if self.found.runs > MOST_RUNS {
                return Err(format!("no fixed point after {MOST_RUNS} runs"));
            }
            self.paths(machine, &place, &mut states)?;
        }
        self.found.states = states.len();
        Ok(self.found)
    }

    /// The place of a state that came from another and took these ways.
    fn place(&self, at: u64, machine: &Machine<'_>, from: &Place, decisions: Decisions) -> Place {
        let progress = machine.memory.region_bits(self.last).get(..64);
        let mut place = Place {
            progress: progress.and_then(as_number),
            is_end: self.places[2].contains(&at),
            at,
            ..Place::default()
        };
        if !place.is_end {
            let is_attempt = self.places[0].contains(&at);
            place.phase = (from.phase + usize::from(is_attempt)) % self.period;
            let pointer = |&n: &usize| match machine.memory.pointer(machine.general[n].clone()) {
                Value::Pointer(region, offset) if region != PROGRAM => Some((region, offset)),
                _ => None,
            };
            place.pointers = machine.arguments().iter().map(pointer).collect();
            place.decisions = if decisions.is_empty() {
                from.decisions.clone()
            } else {
                decisions
            };
        }
        place
    }

    /// Runs all paths from a place until the next ones, and joins the states there.
    fn paths<'a>(
        &mut self,
        machine: Machine<'a>,
        from: &Place,
        states: &mut States<'a>,
    ) -> Result<(), String> {
        // With the places where a result is declassified: return address and stack pointer.
        let mut paths = vec![(from.at, machine, Vec::new(), Vec::new())];
        while let Some((mut at, mut machine, mut decisions, mut verdicts)) = paths.pop() {
            machine.executed = 0;
            while at != END as u64 {
                if machine.executed > 0 && self.places.iter().any(|all| all.contains(&at)) {
                    let place = self.place(at, &machine, from, decisions);
                    arrive(states, place, machine.clone());
                    break;
                }
                let stopped = |stop: Stop| format!("{stop:?}");
                if self.rounds.contains(&at) {
                    let to = machine.clone().return_address().map_err(stopped)?;
                    self.places[2].insert(to);
                }
                if machine.terms.words.len() > 1 << 17 {
                    machine.terms = Terms::new();
                }
                let stack = |m: &Machine<'_>| m.general[m.stack_register()].clone();
                if verdicts
                    .pop_if(|place| *place == (at, stack(&machine)))
                    .is_some()
                {
                    declassify(&mut machine.general[0]);
                }
                if let Some(&n) = self.public.get(&at) {
                    self.found.used.entry(n).or_default().insert(at);
                    let what = &LISTED[n].1;
                    if let What::Verdict = what {
                        let mut called = machine.clone();
                        let to = called.return_address().map_err(stopped)?;
                        verdicts.push((to, stack(&called)));
                    } else {
                        let next = returned(&mut machine, what, self.table);
                        at = next.map_err(|stop| stopped(stop.at(&self.image.name(at))))?;
                        continue;
                    }
                }
                let next = machine.execute(at).map_err(stopped)?;
                if let Some((other, bit)) = machine.other.take() {
                    let mut others = decisions.clone();
                    if self.branch(at, bit)? {
                        others.push((at, true));
                        decisions.push((at, false));
                    }
                    machine.terms = Terms::new();
                    paths.push((other, machine.clone(), others, verdicts.clone()));
                }
                at = next;
            }
            self.found.executed += machine.executed;
            self.found.met.extend(machine.met);
        }
        Ok(())
    }

    /// Allows a branch on an unknown bit, or not; whether states are told apart by it.
    fn branch(&mut self, at: u64, bit: Lit) -> Result<bool, String> {
        let name = self.image.name(at);
        for (n, (part, what, _)) in LISTED.iter().enumerate() {
            let most = match what {
                What::Branch => 1,
                What::Decisions => 0,
                _ => continue,
            };
            if !part.split('|').any(|part| name.contains(part)) {
                continue;
            }
            let places = self.found.used.entry(n).or_default();
            if bit != PUBLIC || most == 0 {
                places.insert(at);
            }
            if bit != PUBLIC && places.len() > most {
                return Err(format!("one more branch depends on data, {name}"));
            }
            return Ok(most == 0);
        }
        match bit {
            PUBLIC => Ok(false),
            _ => Err(format!("a branch depends on data, {name}")),
        }
    }
}

/// The result of a verdict, one byte, becomes public.
fn declassify(result: &mut Value) {
    if let Value::Bits(bits) = result {
        let result = bits[..8].iter_mut().filter(|bit| is_any(**bit));
        result.for_each(|bit| *bit = PUBLIC);
    }
}

/// Joins a state with the one at its place.
fn arrive<'a>(states: &mut States<'a>, place: Place, mut machine: Machine<'a>) {
    (machine.flags, machine.terms) = (Flags::default(), Terms::new());
    match states.entry(place) {
        Entry::Vacant(new) => {
            new.insert(State {
                machine,
                is_pending: true,
            });
        }
        Entry::Occupied(known) => {
            let state = known.into_mut();
            state.is_pending |= join(&mut state.machine, &machine);
        }
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
        What::Unknown(any, output, length) => {
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
                return leak("an output at a place that depends on data");
            };
            machine
                .memory
                .write((region, offset), &vec![*any; 8 * len])?;
        }
        _ => return unknown("not a function"),
    }
    let next = machine.return_address();
    machine.forget_of_callee();
    machine.general[0] = first;
    next
}

/// Makes unknown what differs between two states; whether there was any.
fn join<'a>(state: &mut Machine<'a>, other: &Machine<'a>) -> bool {
    let mut changed = false;
    for (a, b) in state.general.iter_mut().zip(&other.general) {
        let (Value::Bits(a), Value::Bits(b)) = (a, b) else {
            unreachable!("regions have addresses");
        };
        changed |= join_bits(a, b);
    }
    let (a, b) = (&mut state.vectors, &other.vectors);
    let (c, d) = (&mut state.masks, &other.masks);
    for (a, b) in a.iter_mut().zip(b).chain(c.iter_mut().zip(d)) {
        changed |= join_bits(a, b);
    }
    changed | state.memory.join(&other.memory)
}
