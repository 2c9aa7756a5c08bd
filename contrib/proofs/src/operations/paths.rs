//! The paths of an operation, and the fixed point of its attempts.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::harness::Place as Argument;
use super::trusted::{ABSENT, CHOICE, DECLASSIFY, SKIPPED, choose, declassify, skipped};
use super::{ATTEMPT, BRANCH, Case, DECISIONS, Found, RESPONSE, ROUND, Used};
use crate::features::Features;
use crate::image::Image;
use crate::machine::{Flags, Machine};
use crate::memory::{END, Memory, PROGRAM, Stop, Value, as_number, constant_bits, join_bits};
use crate::places::{slot, tables};
use crate::terms::{ANY, Lit, PUBLIC, Terms, unknown_of};

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
    features: Option<Features>,
    /// Functions that are not executed, those that answer with the backend, and the one that
    /// declassifies.
    skipped: BTreeMap<u64, usize>,
    choices: BTreeSet<u64>,
    declassify: u64,
    decisions: BTreeSet<u64>,
    period: usize,
    /// The region of the last argument.
    last: u32,
    found: Found,
}

impl Run {
    pub(super) fn new(case: &Case, l: usize) -> Result<Self, String> {
        let mut image = case.image.clone();
        let tables = tables(&image)?;
        let table = *tables.get(case.backend).ok_or("no kernel table")?;
        let skipped = skipped(&image, &tables)?;
        let lanes = slot(table, "mask_lanes").and_then(|slot| image.constant_bytes(slot, 8));
        let lanes = usize::from(lanes.ok_or("no number of lanes")?[0]);
        for slot in tables.values().filter_map(|&table| slot(table, ABSENT)) {
            image = image.without_pointer(slot);
        }
        let [declassify] = image.at_path(DECLASSIFY)[..] else {
            return Err("the program is not built with `--cfg mldsa_ct_check`".into());
        };
        let choices: BTreeSet<u64> = CHOICE.iter().flat_map(|path| image.at_path(path)).collect();
        // Masks of an attempt begin at any place of a group that is a multiple of this.
        let rows = (l & l.wrapping_neg()).min(lanes);
        let addresses = |path| image.at_path(path).into_iter().collect();
        Ok(Self {
            table,
            places: [addresses(ATTEMPT), addresses(RESPONSE), BTreeSet::new()],
            rounds: addresses(ROUND),
            features: Features::of(case.backend),
            skipped,
            choices,
            declassify,
            decisions: addresses(DECISIONS),
            period: lanes / rows,
            last: 0,
            found: Found::default(),
            image,
        })
    }

    pub(super) fn operation(mut self, entry: u64, arguments: &[Argument]) -> Result<Found, String> {
        let image = self.image.clone();
        let mut machine = Machine::without_vectors(Memory::new(&image, STACK, true));
        machine.limit = LIMIT;
        machine.features = self.features.clone();
        machine.vectors = vec![vec![ANY; 512]; 32];
        machine.masks = vec![vec![ANY; 64]; 8];
        machine.general = vec![Value::Bits(vec![ANY; 64]); 32];
        let registers = machine.arguments();
        machine.general[registers[0]] = Value::Bits(constant_bits(self.table, 64));
        for ((align, parts), &register) in arguments.iter().zip(&registers[1..]) {
            let bits = parts
                .iter()
                .flat_map(|&(len, inputs)| core::iter::repeat_n(unknown_of(inputs), 8 * len));
            let bits: Vec<Lit> = bits.collect();
            let align = *align as i64;
            let region = machine
                .memory
                .region("an argument", bits.len() / 8, true, align);
            machine.memory.set_bits(region, 0, &bits);
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
        let mut paths = vec![(from.at, machine, Vec::new())];
        while let Some((mut at, mut machine, mut decisions)) = paths.pop() {
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
                let place = |stop: Stop| stopped(stop.at(&self.image.name(at)));
                if at == self.declassify {
                    let to = machine.clone().return_address().map_err(place)?;
                    let (reason, next) = declassify(&mut machine).map_err(place)?;
                    self.found
                        .used
                        .entry(Used::Reason(reason))
                        .or_default()
                        .insert(to);
                    at = next;
                    continue;
                }
                if let Some(&n) = self.skipped.get(&at) {
                    self.found
                        .used
                        .entry(Used::Skipped(n))
                        .or_default()
                        .insert(at);
                    at = SKIPPED[n].returned(&mut machine).map_err(place)?;
                    continue;
                }
                if self.choices.contains(&at) {
                    at = choose(&mut machine, self.table).map_err(place)?;
                    continue;
                }
                let next = machine.execute(at).map_err(stopped)?;
                if let Some((other, bit)) = machine.other.take() {
                    let mut others = decisions.clone();
                    if self.branch(at, bit)? {
                        others.push((at, true));
                        decisions.push((at, false));
                    }
                    machine.terms = Terms::new();
                    paths.push((other, machine.clone(), others));
                }
                at = next;
            }
            self.found.executed += machine.executed;
            self.found.met.extend(machine.met);
        }
        Ok(())
    }

    /// Allows a branch on an unknown bit, which has to be public; whether states are told apart by
    /// it.
    fn branch(&self, at: u64, bit: Lit) -> Result<bool, String> {
        if bit != PUBLIC {
            return Err(format!("{BRANCH}, {}", self.image.name(at)));
        }
        let function = self.image.names.range(..=at).next_back();
        Ok(function.is_some_and(|(start, _)| self.decisions.contains(start)))
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
