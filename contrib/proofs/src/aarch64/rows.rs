//! Rows that exist for AArch64 only: forms of Keccak that a function about the core chooses.

use crate::image::Image;
use crate::permutations::of_states;
use crate::rows::Row;

/// Which form of Keccak a backend takes is the answer of a function about the core, which a
/// variable keeps. Rows exist for both answers.
const ANSWERS: [(u8, &str); 2] = [(0, "other cores"), (1, "cores with more scalar units")];

/// Parts of the name of that variable.
pub(crate) const VARIABLE: [&str; 2] = ["scalar_interleaved", "ANSWER"];

/// An image for each answer, with its name.
pub(crate) fn answers(image: &Image) -> Result<Vec<(&'static str, Image)>, String> {
    let one = |(answer, name)| Ok((name, image.assuming(&VARIABLE, &[answer])?));
    ANSWERS.into_iter().map(one).collect()
}

/// Rows of entries whose form the answer chooses.
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
    rows
}
