//! Faults: bits of instructions and of tables that are flipped, which a row has to refuse.

use crate::image::Image;
use crate::prove::prove;
use crate::row::{Report, Verdict};
use crate::rows::Row;

/// Outcomes of the faults of one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) refused: usize,
    /// Faults after which every statement of the row still holds.
    pub(crate) harmless: Vec<String>,
}

/// Flips `code` bits of instructions and `data` bits of constants that the row read.
pub(crate) fn inject(
    image: &mut Image,
    (backend, entry, row): (&'static str, u64, &Row),
    report: &Report,
    [code, data]: [usize; 2],
    seed: u64,
) -> Tally {
    let mut state = seed | 1;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    let mut tally = Tally::default();
    for (places, count, what) in [(&report.code, code, "code"), (&report.data, data, "table")] {
        if places.is_empty() {
            continue;
        }
        let mut places = places.clone();
        places.sort_unstable();
        for _ in 0..count {
            let (at, len) = places[random(places.len())];
            let (address, bit) = (at + random(len) as u64, random(8) as u8);
            image.flip(address, bit);
            let after = prove(image, backend, entry, row, 0..1);
            image.flip(address, bit);
            if after.verdicts.iter().any(|v| matches!(v, Verdict::Open(_))) {
                tally.refused += 1;
            } else {
                tally
                    .harmless
                    .push(format!("{what} bit {bit} at {}", image.name(address)));
            }
        }
    }
    tally
}
