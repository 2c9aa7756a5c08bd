//! Rows of the Keccak permutations that no kernel table has.

use crate::row::Argument;
use crate::rows::{Row, row};
use crate::statements::permutation;

/// Backend, end of the mangled name of the function, states of each argument.
const FUNCTIONS: [(&str, &str, &[usize]); 10] = [
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
    let here = FUNCTIONS.iter().filter(|f| backends.contains(&f.0));
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
        let all: Result<Vec<_>, _> = (0..)
            .zip(states)
            .map(|(n, &count)| permutation(e, n, count))
            .collect();
        (all.map(|all| all.join("; ")), Ok("all bits".into()), 0)
    })
}
