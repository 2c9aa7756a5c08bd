//! Rows that exist for AArch64 only: forms of Keccak.

use crate::image::Image;
use crate::row::Argument;
use crate::rows::{Row, row};
use crate::statements::permutation;

/// Which form of Keccak a backend takes is the answer of a function about the core, which a
/// variable keeps. Rows exist for both answers.
const ANSWERS: [(u8, &str); 2] = [(0, "other cores"), (1, "cores with more scalar units")];

/// An image for each answer.
pub(crate) fn answers(image: &Image) -> Result<Vec<Image>, String> {
    let parts = ["scalar_interleaved", "ANSWER"];
    ANSWERS
        .iter()
        .map(|(answer, _)| image.assuming(&parts, *answer))
        .collect()
}

/// Rows of entries whose form the answer chooses, and of functions that no table has.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for backend in ["neon", "neon-sha3"] {
        for (answer, name) in ANSWERS {
            let mut row = of_states("keccak_f1600", name, &[1]);
            row.backend = Some(backend);
            row.answer = Some(answer.into());
            rows.push(row);
        }
    }
    // States of each argument, and the end of the name of the function.
    let functions: [(_, _, _, &'static [usize]); 5] = [
        ("neon", "permute_x2", "10permute_x2", &[2]),
        (
            "neon",
            "permute_x2_and_one",
            "18permute_x2_and_one",
            &[2, 1],
        ),
        ("neon-sha3", "permute_x2_sha3", "15permute_x2_sha3", &[2]),
        (
            "neon-sha3",
            "permute_x2_on_one_unit_sha3",
            "27permute_x2_on_one_unit_sha3",
            &[2],
        ),
        (
            "neon-sha3",
            "permute_x2_and_one_sha3",
            "23permute_x2_and_one_sha3",
            &[2, 1],
        ),
    ];
    for (backend, kernel, name, states) in functions {
        let mut row = of_states(kernel, "", states);
        row.backend = Some(backend);
        row.function = Some(name);
        rows.push(row);
    }
    rows
}

/// A row of the permutation of interleaved states.
fn of_states(kernel: &'static str, parameter: &str, states: &'static [usize]) -> Row {
    let arguments = states.iter().map(|&n| Argument::States(n)).collect();
    row(kernel, parameter, arguments, move |e| {
        let all: Result<Vec<_>, _> = (0..)
            .zip(states)
            .map(|(n, &count)| permutation(e, n, count))
            .collect();
        (all.map(|all| all.join("; ")), Ok("all bits".into()), 0)
    })
}
