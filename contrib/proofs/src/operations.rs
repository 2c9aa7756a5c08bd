//! Constant time of whole operations: key generation, import, signing.
//!
//! The executor runs an operation with all inputs unknown. A bit is 0, 1 or unknown, and an unknown
//! bit depends on some kinds of inputs, or on none: then it is public. Regions have addresses. A
//! branch on a public bit is taken both ways; one on another unknown bit stops the run, as does an
//! address, a mask of a memory access, a length, a shift or a division. The program is built so that
//! `declassify` of the library is a call, and what that call names is all that becomes public.
//!
//! Attempts of signing: states at certain places that agree in what is public (`paths::Place`) are
//! joined, and the joined ones run again, until no state grows.

mod harness;
mod leaks;
mod paths;
mod trusted;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::builds::Build;
use crate::image::Image;
use crate::places::{AARCH64_BACKENDS, BACKENDS, Program};
use crate::{aarch64, parallel};
use harness::Operation;
use paths::Run;
use trusted::{REASONS, SKIPPED};

pub(crate) use harness::print;

const PLANTED: &str = "portable: planted";
/// How the texts about leaks begin.
const BRANCH: &str = "a branch depends on data";
const LEAK: &str = "Leak(";

/// The command that prints the operations.
pub(crate) const LIST: &str = "list-operations";

/// The function that begins an attempt of a single signature.
const ATTEMPT: &str = "mldsa_core::scheme::sign::next_masks";
/// The function that begins the response of an attempt.
const RESPONSE: &str = "mldsa_core::scheme::sign::respond_low_bits";
/// The responses to all attempts of a batch that run at once.
const ROUND: &str = "mldsa_core::scheme::sign_many::Batch<P,T>::respond";
/// States are joined only if they took the same ways at its branches, which have to be public: on
/// the number of attempts.
const DECISIONS: &str = "mldsa_core::scheme::sign_many::sign_many";

/// What a run made use of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Used {
    /// A function that is not executed, at these addresses.
    Skipped(usize),
    /// A reason, at calls that return to these addresses.
    Reason(usize),
}

/// Results of a run.
#[derive(Default)]
struct Found {
    executed: usize,
    /// Joined states, and how often one was executed.
    states: usize,
    runs: usize,
    used: BTreeMap<Used, BTreeSet<u64>>,
    met: BTreeMap<Vec<u8>, u64>,
}

/// The operations of a program, each with the address of its function.
fn of_program(Program { path, image, .. }: &Program) -> Result<Vec<Operation>, String> {
    let [anchor] = image.functions("operations_anchor")[..] else {
        return Err("the operations have no place in this program".into());
    };
    let mut command = if image.is_aarch64() {
        aarch64::emulator(path)
    } else {
        Command::new(path)
    };
    let output = command.arg(LIST).output().map_err(|e| e.to_string())?;
    let all: Vec<Operation> = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let placed = all.into_iter().map(|(name, distance, arguments, l)| {
        let address = distance.wrapping_add(anchor as usize);
        let is_function = image.names.contains_key(&(address as u64));
        let placed = is_function.then_some((name, address, arguments, l));
        placed.ok_or_else(|| format!("no function begins at {address:#x}"))
    });
    placed.collect()
}

/// Names and addresses of functions that are not constant time, except for the batch.
pub(crate) fn planted(program: &Program) -> Result<Vec<(String, u64)>, String> {
    let all = of_program(program)?.into_iter();
    let leaks = all.filter(|(name, ..)| name.starts_with("planted") && !name.contains("batch"));
    Ok(leaks.map(|(name, at, ..)| (name, at as u64)).collect())
}

/// Backends of the tables in a program.
fn backends(image: &Image) -> Vec<&'static str> {
    if image.is_aarch64() {
        [&["portable"][..], &AARCH64_BACKENDS].concat()
    } else {
        BACKENDS.to_vec()
    }
}

/// A backend, and the program with what is assumed about the core.
struct Case {
    name: String,
    backend: &'static str,
    image: Image,
}

fn cases(image: &Image) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for backend in backends(image) {
        let is_portable = backend == "portable";
        let answers = if image.is_aarch64() && !is_portable {
            aarch64::answers(image)?
        } else {
            vec![("", image.clone())]
        };
        cases.extend(answers.into_iter().map(|(answer, image)| {
            let name = if answer.is_empty() {
                backend.to_owned()
            } else {
                format!("{backend}, {answer}")
            };
            Case {
                name,
                backend,
                image,
            }
        }));
    }
    Ok(cases)
}

/// Runs the operations of the marked build whose names contain a text; the forms of instructions that they meet.
pub(crate) fn run(program: &Program, text: &str) -> Result<(bool, BTreeMap<Vec<u8>, u64>), String> {
    let aarch64 = program.image.is_aarch64();
    let program = Program::load(&Build::Marked { aarch64 }.program()?)?;
    let (operations, cases) = (of_program(&program)?, cases(&program.image)?);
    let all: Vec<_> = operations
        .iter()
        .flat_map(|o| {
            cases
                .iter()
                .map(move |case| (format!("{}: {}", case.name, o.0), case, o))
        })
        .filter(|(name, ..)| name.contains(PLANTED) || !name.contains("planted"))
        .filter(|(name, ..)| name.contains(text) || name.contains(PLANTED))
        .collect();
    let results = parallel::map(all.len(), |n| {
        let (name, case, (_, entry, arguments, l)) = &all[n];
        let attempt = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            Run::new(case, *l)?.operation(*entry as u64, arguments)
        }));
        let result = attempt.unwrap_or_else(|_| Err("the domain gave up".into()));
        match &result {
            Err(text) if name.contains(PLANTED) => println!("{name}: refused, {text}"),
            Ok(found) => println!(
                "{name}: proved, {} instructions, {} runs of {} states",
                found.executed, found.runs, found.states
            ),
            Err(text) => println!("{name}: open, {text}"),
        }
        result
    })?;
    let mut used: BTreeMap<Used, BTreeSet<u64>> = BTreeMap::new();
    let mut met = BTreeMap::new();
    let (mut proved, mut refused, mut leaks) = (0, 0, 0);
    for ((name, ..), found) in all.iter().zip(results) {
        let is_planted = name.contains(PLANTED);
        leaks += usize::from(is_planted);
        let found = match found {
            Ok(found) => found,
            Err(text) => {
                let is_leak = [LEAK, BRANCH].iter().any(|start| text.starts_with(start));
                refused += usize::from(is_planted && is_leak);
                continue;
            }
        };
        proved += usize::from(!is_planted);
        for (n, places) in found.used {
            used.entry(n).or_default().extend(places);
        }
        met.extend(found.met);
    }
    let count = all.len() - leaks;
    println!(
        "operations proved to be constant time: {proved} of {count}; {refused} of {leaks} leaks refused"
    );
    let mut is_good = proved == count && refused == leaks;
    let places = |of: Used| used.get(&of).map_or(0, BTreeSet::len);
    let mut unused = 0;
    for (n, skipped) in SKIPPED.iter().enumerate() {
        let functions = places(Used::Skipped(n));
        println!(
            "not executed, {}: {}; {functions} functions",
            skipped.name, skipped.reason
        );
        unused += usize::from(functions == 0);
    }
    for (n, (reason, _)) in REASONS.iter().enumerate() {
        let calls = places(Used::Reason(n));
        println!("declassified, {reason}: {calls} calls");
        unused += usize::from(calls == 0);
    }
    // Only a complete run can tell that an entry is of no use.
    is_good &= unused == 0 || !text.is_empty();
    Ok((is_good, met))
}
