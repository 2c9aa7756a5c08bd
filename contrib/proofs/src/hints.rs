//! The decoder of hints on the linked program, for all byte strings: it accepts exactly what
//! algorithm 21 accepts.
//!
//! Counts of rows are tried one by one, indices stay unknown: a branch on them is taken both
//! ways. Between two rows the decoder has a state that depends on the number of the row and on
//! the count so far. States with the same two numbers are joined: what differs between them
//! becomes unknown, so one run covers all of them. The literals that a path assumes are compared
//! with those of the algorithm for all values of their bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use iced_x86::{FlowControl, OpKind};
use mldsa_kat::set::{SETS, Set};

use crate::evaluate::Item;
use crate::exhaust::{Checker, Cuts};
use crate::image::Image;
use crate::machine::Machine;
use crate::memory::{END, Memory, UNWRITTEN, Value, constant_bits};
use crate::rejection::State;
use crate::row::inputs;
use crate::terms::{Lit, WordId};

/// A condition of algorithm 21 on indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    /// This index is below the next.
    Rises(usize),
    Zero(usize),
}

/// Number of the next row, count so far.
type Place = (u64, usize, usize);

#[derive(Clone)]
struct Path<'a> {
    machine: Machine<'a>,
    at: u64,
    row: usize,
    first: usize,
    /// Conditions of the row, or of the indices after the last.
    wanted: BTreeSet<Fact>,
    assumed: BTreeSet<Fact>,
}

struct Decoder<'a> {
    omega: usize,
    rows: usize,
    hint: u32,
    result: u32,
    bytes: Vec<WordId>,
    states: BTreeMap<Place, State<'a>>,
    stack: Vec<Path<'a>>,
    cuts: Cuts,
    /// By the shape of the term and the bytes in it.
    facts: BTreeMap<(Vec<u64>, Vec<WordId>), (Fact, bool)>,
    runs: usize,
}

/// Checks the decoder for the three sets.
pub(crate) fn check(image: &Image) -> Result<bool, String> {
    let [entry] = image.functions("hint_bit_unpack_vartime")[..] else {
        println!("hint decoder: open, it is not a function of its own in this program");
        return Ok(false);
    };
    let mut all = true;
    for Set { name, omega, k, .. } in SETS {
        match set(image, entry, *omega, *k) {
            Ok((states, runs)) => println!(
                "hint decoder, {name}: accepts exactly the encodings of algorithm 21, for all byte \
                 strings ({states} states, {runs} paths)"
            ),
            Err(text) => {
                println!("hint decoder, {name}: open, {text}");
                all = false;
            }
        }
    }
    Ok(all)
}

fn set(image: &Image, entry: u64, omega: usize, rows: usize) -> Result<(usize, usize), String> {
    let mut machine = Machine::without_vectors(Memory::new(image, 2048, false));
    let hint = machine.memory.region("the hint", omega + rows, false, 1);
    let bytes = inputs(&mut machine, hint, omega + rows, 8, Some((0, 255)));
    let domain = Rc::new((0..256).collect::<Vec<u64>>());
    let cuts = bytes.iter().map(|&word| (word, domain.clone())).collect();
    let result = machine.memory.region("the result", 64, true, 8);
    let number = |n: usize| Value::Bits(constant_bits(n as u64, 64));
    // The result by reference, then slice and omega.
    machine.general[7] = Value::Pointer(result, 0);
    machine.general[6] = Value::Pointer(hint, 0);
    machine.general[2] = number(omega + rows);
    machine.general[1] = number(omega);
    let text = |stop| format!("{stop:?}");
    machine.enter().map_err(text)?;
    let mut decoder = Decoder {
        omega,
        rows,
        hint,
        result,
        bytes,
        states: BTreeMap::new(),
        stack: vec![Path {
            machine,
            at: entry,
            row: 0,
            first: 0,
            wanted: BTreeSet::new(),
            assumed: BTreeSet::new(),
        }],
        cuts,
        facts: BTreeMap::new(),
        runs: 0,
    };
    while let Some(path) = decoder.stack.pop() {
        decoder.run(path)?;
    }
    Ok((decoder.states.len(), decoder.runs))
}

impl<'a> Decoder<'a> {
    fn run(&mut self, mut path: Path<'a>) -> Result<(), String> {
        self.runs += 1;
        for _ in 0..4096 {
            if path.at == END as u64 {
                return self.finished(&path);
            }
            let at = path.at;
            let stopped = |stop| format!("{stop:?} at {at:#x}");
            let i = path.machine.instruction(at).map_err(stopped)?;
            if let Some(row) = self.reads_count(&path, &i)? {
                return self.next_row(path, row);
            }
            if i.flow_control() == FlowControl::ConditionalBranch {
                let lit = path
                    .machine
                    .condition(i.condition_code())
                    .map_err(stopped)?;
                let (target, next) = (i.near_branch_target(), i.next_ip());
                if lit < 2 {
                    path.at = if lit == 1 { target } else { next };
                    continue;
                }
                // The fact, and whether the literal says it or its opposite.
                let (fact, says) = self.fact(&path.machine, lit)?;
                let (holds, fails) = if says { (target, next) } else { (next, target) };
                if !path.wanted.contains(&fact) {
                    return Err(format!("a branch on {fact:?}, which does not count"));
                }
                let mut other = path.clone();
                other.at = fails;
                self.refuses(other)?;
                path.assumed.insert(fact);
                path.at = holds;
                continue;
            }
            path.at = path.machine.step(&i).map_err(stopped)?;
        }
        Err("a path of more than 4,096 instructions".into())
    }

    /// A path on which a condition of the algorithm fails: it has to refuse.
    fn refuses(&mut self, mut path: Path<'a>) -> Result<(), String> {
        self.runs += 1;
        for _ in 0..256 {
            if path.at == END as u64 {
                return match self.accepts(&path)? {
                    false => Ok(()),
                    true => Err("a string that algorithm 21 refuses is accepted".into()),
                };
            }
            let at = path.at;
            let stopped = |stop| format!("{stop:?} at {at:#x}");
            let i = path.machine.instruction(at).map_err(stopped)?;
            path.at = path.machine.step(&i).map_err(stopped)?;
        }
        Err("a long way to a refusal".into())
    }

    /// The row whose count the instruction reads.
    fn reads_count(
        &self,
        path: &Path<'a>,
        i: &iced_x86::Instruction,
    ) -> Result<Option<usize>, String> {
        let has_memory = (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory);
        if !has_memory || i.mnemonic() == iced_x86::Mnemonic::Lea {
            return Ok(None);
        }
        let Ok((region, offset)) = path.machine.address(i) else {
            return Ok(None);
        };
        let len = i.memory_size().size() as i64;
        if region != self.hint || offset + len <= self.omega as i64 {
            return Ok(None);
        }
        let row = offset - self.omega as i64;
        let known = path.machine.memory.region_bits(self.hint);
        let at = 8 * offset as usize;
        if len == 1 && row + 1 == path.row as i64 && known.get(at).is_some_and(|&bit| bit < 2) {
            return Ok(None);
        }
        if len != 1 || row != path.row as i64 || row >= self.rows as i64 {
            return Err("counts are not read one after the other".into());
        }
        Ok(Some(row as usize))
    }

    /// Joins the state with those of the same place, and tries all values of the count.
    fn next_row(&mut self, mut path: Path<'a>, row: usize) -> Result<(), String> {
        if path.wanted != path.assumed {
            return Err("a row is not checked as algorithm 21 says".into());
        }
        (path.wanted, path.assumed) = (BTreeSet::new(), BTreeSet::new());
        // Earlier counts are not read again.
        for n in 0..row {
            let unwritten = [UNWRITTEN; 8];
            let at = 8 * (self.omega + n);
            path.machine.memory.set_bits(self.hint, at, &unwritten);
        }
        let place = (path.at, row, path.first);
        // Paths have terms of their own.
        path.machine.forget_unknown();
        let state = State::of(&mut path.machine);
        if let Some(known) = self.states.get_mut(&place) {
            if !known.join(&state) {
                return Ok(());
            }
            known.restore(&mut path.machine);
        } else {
            self.states.insert(place, state);
        }
        for count in 0..256usize {
            let mut next = path.clone();
            let at = 8 * (self.omega + row);
            let bits = constant_bits(count as u64, 8);
            next.machine.memory.set_bits(self.hint, at, &bits);
            next.row = row + 1;
            if count < path.first || count > self.omega {
                self.refuses(next)?;
                continue;
            }
            next.wanted = (path.first..count.saturating_sub(1))
                .map(Fact::Rises)
                .collect();
            next.first = count;
            if row + 1 == self.rows {
                next.wanted.extend((count..self.omega).map(Fact::Zero));
            }
            self.stack.push(next);
        }
        Ok(())
    }

    fn finished(&self, path: &Path<'a>) -> Result<(), String> {
        let complete = path.row == self.rows && path.wanted == path.assumed;
        match self.accepts(path)? {
            true if complete => Ok(()),
            true => Err("a string is accepted of which not all is checked".into()),
            false => Err("a string that algorithm 21 accepts is refused".into()),
        }
    }

    /// Whether the result is that of success: a pointer to the indices comes first in it.
    fn accepts(&self, path: &Path<'a>) -> Result<bool, String> {
        let mut memory = path.machine.memory.clone();
        match memory.read_value((self.result, 0), 8) {
            Ok(Value::Pointer(region, 0)) if region == self.hint => Ok(true),
            Ok(Value::Bits(bits)) if bits == constant_bits(0, 64) => Ok(false),
            other => Err(format!("the result is not known: {other:?}")),
        }
    }

    /// The condition that a literal is, by its values for all values of its bytes.
    fn fact(&mut self, machine: &Machine<'a>, lit: Lit) -> Result<(Fact, bool), String> {
        let terms = &machine.terms;
        let checker = Checker::new(terms, &self.cuts);
        let (mut shape, met, _) = checker.shape_of(&[Item::Node(lit >> 1)]);
        shape.push(u64::from(lit & 1));
        if let Some(&known) = self.facts.get(&(shape.clone(), met.clone())) {
            return Ok(known);
        }
        let mut support = met.clone();
        support.sort_unstable();
        let place = |word: WordId| self.bytes.iter().position(|&of| of == word);
        let fact = match support[..] {
            [a] => place(a).filter(|&a| a < self.omega).map(Fact::Zero),
            [a, b] if place(b).is_some_and(|b| b < self.omega) => place(a)
                .filter(|&a| place(b) == Some(a + 1))
                .map(Fact::Rises),
            _ => None,
        };
        let fact = fact.ok_or("a branch on several indices")?;
        let mut holds = [true; 2];
        checker.for_all(&[lit], &support, &mut |values, got| {
            let wanted = match fact {
                Fact::Zero(_) => values[0] == 0,
                Fact::Rises(_) => values[0] < values[1],
            };
            holds[usize::from(wanted == (got == 1))] = false;
            holds != [false; 2]
        })?;
        let says = match holds {
            [true, false] => true,
            [false, true] => false,
            _ => return Err("a branch on another condition".into()),
        };
        self.facts.insert((shape, met), (fact, says));
        Ok((fact, says))
    }
}
