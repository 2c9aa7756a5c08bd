//! Two traces side by side: nothing is stored, and the first difference of each
//! function is known exactly.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;

use super::program::Program;
use super::record::Record;

/// Most places where traces differ that a report distinguishes.
const REPORTED: usize = 20;

/// One trace as it comes, without what is left out.
pub(super) struct Trace<'a> {
    program: &'a Program,
    source: Receiver<Vec<Record>>,
    chunk: std::vec::IntoIter<Record>,
    /// Return addresses of the calls in progress.
    calls: Vec<u64>,
    /// The call that the last instruction was.
    calling: Option<u64>,
    /// The call whose end is waited for.
    skipped: Option<u64>,
    /// Whether the last instruction was left out.
    cut: bool,
    /// The last instruction that was not.
    last: u64,
    instructions: u64,
}

impl<'a> Trace<'a> {
    pub(super) fn new(program: &'a Program, source: Receiver<Vec<Record>>) -> Self {
        Self {
            program,
            source,
            chunk: Vec::new().into_iter(),
            calls: Vec::new(),
            calling: None,
            skipped: None,
            cut: false,
            last: 0,
            instructions: 0,
        }
    }

    fn raw(&mut self) -> Option<Record> {
        loop {
            match self.chunk.next() {
                Some(record) => return Some(record),
                None => self.chunk = self.source.recv().ok()?.into_iter(),
            }
        }
    }

    /// Passes over the rest of the call that is number `depth` on the stack.
    fn leave(&mut self, depth: usize) {
        self.calls.truncate(depth);
        self.skipped = self.calls.last().copied();
        self.calling = None;
    }
}

impl Iterator for Trace<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            let record = self.raw()?;
            if !record.is_instruction() {
                if self.cut || self.skipped.is_some() {
                    continue;
                }
                return Some(record);
            }
            self.instructions += 1;
            let address = record.address();
            match self.skipped {
                Some(end) if end != address => continue,
                _ => self.skipped = None,
            }
            if self.calls.last() == Some(&address) {
                self.calls.pop();
            }
            let call = self.calling.take().filter(|&end| end != address);
            self.calls.extend(call);
            // Functions that cut code calls, or ends with, are cut.
            if self.cut && !self.program.is_cut(address) {
                let tail = self.program.is_entry(address);
                if call.is_some() || tail && !self.calls.is_empty() {
                    self.skipped = self.calls.last().copied();
                    continue;
                }
            }
            self.calling = record.returns_to();
            self.cut = self.program.is_cut(address);
            if self.cut {
                continue;
            }
            self.last = address;
            return Some(record);
        }
    }
}

/// The result of a comparison.
#[derive(Default)]
pub(super) struct Comparison {
    /// Instructions of the first trace, those left out included.
    pub(super) instructions: u64,
    /// The places at which traces differ, with the number of times.
    pub(super) differences: BTreeMap<String, u64>,
}

/// Compares to the end. After a difference both go on where the function that
/// differed has returned.
pub(super) fn compare(mut a: Trace<'_>, mut b: Trace<'_>) -> Comparison {
    let mut found = Comparison::default();
    loop {
        let before = a.last;
        let (x, y) = (a.next(), b.next());
        if x == y {
            if x.is_none() {
                break;
            }
            continue;
        }
        let what = match (x, y) {
            (None, _) | (_, None) => "one ends",
            (Some(x), Some(y)) if x.is_instruction() && y.is_instruction() => "branch",
            (Some(x), Some(y)) if x.is_instruction() == y.is_instruction() => "address",
            _ => "access",
        };
        let place = format!("{what} at {}", a.program.describe(before));
        if found.differences.len() < REPORTED || found.differences.contains_key(&place) {
            *found.differences.entry(place).or_default() += 1;
        }
        let depth = a
            .calls
            .iter()
            .zip(&b.calls)
            .take_while(|(a, b)| a == b)
            .count();
        if depth == 0 || x.is_none() || y.is_none() {
            // Reads to the end, so that the sources can finish.
            a.by_ref().for_each(drop);
            b.by_ref().for_each(drop);
            break;
        }
        a.leave(depth);
        b.leave(depth);
    }
    found.instructions = a.instructions;
    found
}
