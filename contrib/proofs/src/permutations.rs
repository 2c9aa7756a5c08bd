//! Rows of the Keccak permutations that no kernel table has.

use std::collections::BTreeSet;

use iced_x86::{Decoder, DecoderOptions, EncodingKind, FlowControl as F, Instruction, Register};

use crate::image::Image;
use crate::parallel;
use crate::places::{entry, tables};
use crate::prove::prove;
use crate::row::Argument;
use crate::rows::{Row, row};
use crate::statements::{all_bits, permutation};

/// The kernel `keccak_f1600` of the portable table has a row: this one finds its other copies.
const PORTABLE: (&str, &str, &[usize]) = ("portable", "4hash6keccak8portable", &[1]);

/// Entries from which the permutations are called.
const HASHING: [&str; 5] = [
    "expand_a",
    "expand_a_interleaved",
    "expand_masks",
    "expand_s",
    "shake256",
];

/// Backend, end of the mangled name of the function, states of each argument.
const FUNCTIONS: [(&str, &str, &[usize]); 11] = [
    PORTABLE,
    ("avx2", "4avx26keccak10permute_x4", &[4]),
    ("avx2", "4avx26keccak18permute_x4_and_one", &[4, 1]),
    ("avx512", "6avx5124word10permute_x4", &[4]),
    ("avx512", "6avx5124word10permute_x8", &[8]),
    ("avx512", "6avx5124word18permute_x8_and_one", &[8, 1]),
    ("neon", "10permute_x2", &[2]),
    ("neon", "18permute_x2_and_two", &[2, 1, 1]),
    ("neon-sha3", "15permute_x2_sha3", &[2]),
    ("neon-sha3", "27permute_x2_on_one_unit_sha3", &[2]),
    ("neon-sha3", "23permute_x2_and_two_sha3", &[2, 1, 1]),
];

pub(crate) fn rows(backends: &[&str]) -> Vec<Row> {
    let here = FUNCTIONS
        .iter()
        .filter(|f| **f != PORTABLE && backends.contains(&f.0));
    here.map(|&(backend, function, states)| {
        let (_, kernel) = function.split_at(function.find("permute").unwrap_or(0));
        let mut row = of_states(kernel, "", states);
        row.backend = Some(backend);
        row.function = Some(function);
        row
    })
    .collect()
}

/// A row of the permutation of interleaved states.
pub(crate) fn of_states(kernel: &'static str, parameter: &str, states: &'static [usize]) -> Row {
    let arguments = states.iter().map(|&n| Argument::States(n)).collect();
    row(kernel, parameter, arguments, move |e| {
        let all = (0..)
            .zip(states)
            .map(|(n, &count)| permutation(e, n, count));
        let all: Vec<_> = all.collect::<Result<_, _>>()?;
        all_bits(Ok(all.join("; ")), 0)
    })
}

/// Names the permutations that kernels call in a program without names: a function is one if that
/// is proved.
pub(crate) fn find(image: &mut Image) -> Result<(), String> {
    let mut all = Vec::new();
    let tables = tables(image)?;
    for (backend, name, states) in FUNCTIONS {
        if let Some(&table) = tables.get(backend) {
            let here = called(image, table).into_iter();
            all.extend(here.map(|at| (at, backend, name, states)));
        }
    }
    let proved = parallel::map(all.len(), |n| {
        let (at, backend, _, states) = all[n];
        let row = of_states("permutation", "", states);
        let report = prove(image, backend, at, &row, 0..1);
        // Kernels of one table reach functions of another: one of AVX-512 has its encoding.
        let is_evex = |&(at, _): &(u64, usize)| {
            let code = image.code(at).unwrap_or_default();
            let i = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
            i.code().encoding() == EncodingKind::EVEX
        };
        report.is_proved() && report.code.iter().any(is_evex) == (backend == "avx512")
    })?;
    for ((at, _, name, _), _) in all.into_iter().zip(proved).filter(|(_, proved)| *proved) {
        println!("{at:#x}: proved to be {name}");
        image.names.insert(at, format!("{name}17h"));
    }
    Ok(())
}

/// Functions that the hashing kernels of a table call, and those that these call.
fn called(image: &Image, table: u64) -> BTreeSet<u64> {
    let (mut functions, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let entries = HASHING.iter().filter_map(|name| entry(image, table, name));
    let mut stack: Vec<u64> = entries.collect();
    while let Some(at) = stack.pop() {
        let Some(code) = image.code(at).filter(|_| seen.insert(at)) else {
            continue;
        };
        let i = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
        let target = target(image, &i);
        let flow = i.flow_control();
        let ends = matches!(flow, F::UnconditionalBranch | F::IndirectBranch | F::Return);
        stack.extend((!ends && !i.is_invalid()).then_some(i.next_ip()));
        stack.extend(target);
        // Functions begin at multiples of 16, also those that a jump calls last.
        let begins = flow != F::ConditionalBranch;
        functions.extend(target.filter(|target| begins && target % 16 == 0));
    }
    functions
}

/// The code address that an instruction names: a branch, a call, or an address that is taken.
fn target(image: &Image, i: &Instruction) -> Option<u64> {
    match i.flow_control() {
        F::Call | F::UnconditionalBranch | F::ConditionalBranch => Some(i.near_branch_target()),
        _ if i.memory_base() != Register::RIP => None,
        F::IndirectCall | F::IndirectBranch => {
            image.pointers.get(&i.memory_displacement64()).copied()
        }
        _ => {
            let at = i.memory_displacement64();
            Some(at).filter(|&at| image.code(at).is_some())
        }
    }
}
