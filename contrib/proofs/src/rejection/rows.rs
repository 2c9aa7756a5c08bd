//! Rows of rejection sampling.

use std::collections::BTreeMap;

use super::{Eta, Explorer};
use crate::features::Features;
use crate::image::Image;
use crate::memory::{Memory, PROGRAM, Value, constant_bits};
use crate::row::{ALIGN, Report};
use crate::{aarch64, parallel, places};

/// The regions of the seed and of the output, and the index of the polynomial that is sampled.
pub(super) const SEED: u32 = 3;
const OUT: u32 = 4;
pub(super) const FIRST: u64 = 5;

/// Functions in the place of which bytes of a stream are unknown: end of the name, lanes.
const SQUEEZES: [(&str, usize); 6] = [
    ("4hash6keccak8portable", 1),
    ("4avx26keccak10permute_x4", 4),
    ("6avx5124word10permute_x8", 8),
    ("10permute_x2", 2),
    ("15permute_x2_sha3", 2),
    ("27permute_x2_on_one_unit_sha3", 2),
];

/// Entries of the kernel tables that have a row here.
pub(crate) const KERNELS: [&str; 2] = ["expand_a", "expand_s"];

/// Backend, what is sampled, which of two entries it is.
#[rustfmt::skip] // One line for each entry.
const ROWS: [(&str, Eta, Option<usize>); 19] = [
    ("avx2", Some(2), None),
    ("avx2", Some(4), None),
    ("avx2", None, None),
    ("portable", None, None),
    ("avx512", None, None),
    ("portable", Some(2), None),
    ("portable", Some(4), None),
    ("avx512", Some(2), None),
    ("avx512", Some(4), None),
    ("neon", Some(2), None),
    ("neon", Some(4), None),
    ("neon-sha3", Some(2), None),
    ("neon-sha3", Some(4), None),
    ("neon", None, None),
    ("neon", None, Some(0)),
    ("neon", None, Some(1)),
    ("neon-sha3", None, None),
    ("neon-sha3", None, Some(0)),
    ("neon-sha3", None, Some(1)),
];

/// The kind of coefficients, and which of two entries is sampled.
pub(crate) type Of = (Eta, Option<usize>);

/// Runs the rows that are wanted by backend, kernel and parameter, and gives each to `print`.
pub(crate) fn reports(
    image: &Image,
    wanted: &dyn Fn(&str, &str, &str) -> bool,
    print: fn(&Report),
) -> Result<Vec<Report>, String> {
    let is_here = |(backend, eta, lane): &(&'static str, Eta, Option<usize>)| {
        let row = open(backend, (*eta, *lane));
        wanted(backend, &row.kernel, &row.parameter) && places::backends(image).contains(backend)
    };
    let all: Vec<_> = ROWS.into_iter().filter(is_here).collect();
    let found = parallel::map(all.len(), |n| {
        let (backend, eta, lane) = all[n];
        let report = prove(image, backend, (eta, lane), usize::MAX)?;
        print(&report);
        Some(report)
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// The names of all rows about the backends of a program: kernel, parameter, backend.
pub(crate) fn names(image: &Image) -> impl Iterator<Item = (String, String, &'static str)> {
    let backends = places::backends(image);
    let here = ROWS
        .into_iter()
        .filter(|(backend, ..)| backends.contains(backend));
    here.map(|(backend, eta, lane)| {
        let row = open(backend, (eta, lane));
        (row.kernel, row.parameter, backend)
    })
}

fn open(backend: &'static str, of: Of) -> Report {
    match of {
        (None, lane) => {
            let names = [
                "one entry",
                "first of two entries, the other zeros",
                "second of two entries, the other zeros",
            ];
            Report::open(KERNELS[0], backend, names[lane.map_or(0, |n| n + 1)].into())
        }
        (Some(eta), _) => Report::open(KERNELS[1], backend, format!("eta = {eta}, one polynomial")),
    }
}

/// Explores an entry, as far as `most` places; nothing if the program has none. A function that
/// starts with the same stream is explored by itself, except for those that the row of the portable
/// entry explores.
fn explored<'a>(
    image: &'a Image,
    backend: &'static str,
    of: Of,
    most: usize,
) -> Option<(Explorer<'a>, Result<bool, String>)> {
    let table = *places::tables(image).ok()?.get(backend)?;
    let entry = places::entry(image, table, &open(backend, of).kernel)?;
    let number = |n: u64| Value::Bits(constant_bits(n, 64));
    let (eta, lane) = of;
    let entries = 1 + u64::from(lane.is_some());
    let [first, count] = [FIRST, entries].map(number);
    let (seed, out) = (Value::Pointer(SEED, 0), Value::Pointer(OUT, 0));
    let is_portable = backend == "portable";
    let mut explorer = new_explorer(image, backend, of, is_portable);
    // The second argument of `expand_a` is the number of columns, of 64 bits.
    let eta_value = eta.map_or(number(4), |eta| explorer.narrow(eta));
    explorer.falls_back = eta.is_some();
    let arguments = [&seed, &eta_value, &first, &out, &count].map(Value::clone);
    let mut result = explorer.explore(entry, &arguments, most);
    if result != Ok(true) || !explorer.falls_back {
        return Some((explorer, result));
    }
    // No row is about the portable backend for AArch64.
    let known = match is_portable || image.is_aarch64() {
        true => None,
        false => explored(image, "portable", of, 0).map(|of| of.0.samplers),
    };
    let samplers = explorer.samplers.clone();
    for &(entry, keccak) in samplers.difference(&known.unwrap_or_default()) {
        if result != Ok(true) {
            break;
        }
        let mut of_function = new_explorer(image, backend, of, true);
        of_function.machine.take_code(explorer.machine.clone());
        let permutation = keccak.map(|at| Value::Pointer(PROGRAM, at));
        let [eta, nonce] = [eta.unwrap_or(4), FIRST].map(|n| of_function.narrow(n));
        let others = [eta, seed.clone(), nonce, out.clone()];
        let arguments: Vec<_> = permutation.into_iter().chain(others).collect();
        result = of_function.explore(entry, &arguments, most);
        explorer.outcomes += of_function.outcomes;
        explorer.machine.take_code(of_function.machine);
    }
    Some((explorer, result))
}

fn new_explorer<'a>(image: &'a Image, backend: &str, of: Of, is_portable: bool) -> Explorer<'a> {
    let mut squeezes = BTreeMap::new();
    for (name, lanes) in SQUEEZES {
        let ends = |at: &&u64| image.name(**at).contains(&format!("{name}17h"));
        let found = image.functions(name);
        squeezes.extend(found.iter().filter(ends).map(|&at| (at, lanes)));
    }
    // A state costs as much as its stack.
    let kib = if is_portable { 3 } else { 16 };
    let mut memory = Memory::new(image, kib << 10, false);
    let core = image.variable(&aarch64::VARIABLE);
    memory.variable = core.ok().map(|at| (at, None));
    memory.region("a seed", 64, false, 1);
    let len = 1024 * (1 + usize::from(of.1.is_some()));
    memory.region("an output", len, true, ALIGN);
    let mut explorer = Explorer::new(memory, of, OUT, squeezes);
    explorer.machine.features = Features::of(backend);
    let bits = explorer.machine.fresh(512);
    explorer.machine.memory.set_bits(SEED, 0, &bits);
    explorer
}

/// Runs a row, as far as `most` places; nothing if the program does not have its functions.
pub(crate) fn prove(image: &Image, backend: &'static str, of: Of, most: usize) -> Option<Report> {
    let mut report = open(backend, of);
    let run = core::panic::AssertUnwindSafe(|| explored(image, backend, of, most));
    let Ok(attempt) = std::panic::catch_unwind(run) else {
        return Some(report);
    };
    let (explorer, result) = attempt?;
    (report.executed, report.exhausted) = (explorer.outcomes, explorer.places);
    report.code = explorer.machine.code_executed();
    let read = &explorer.machine.memory.data_read;
    report.data = read.iter().map(|(&at, &len)| (at, len)).collect();
    report.verdicts = match (result, of.0) {
        (Err(text), _) => core::array::from_fn(|_| Err(text.clone())),
        (Ok(false), _) => return Some(report),
        (Ok(true), eta) => [
            "every stream".into(),
            eta.map_or("[0, q - 1]".into(), |eta| format!("[-{eta}, {eta}]")),
            "but for what is accepted".into(),
            String::new(),
        ]
        .map(Ok),
    };
    Some(report)
}
