//! Rows: entries of a kernel table with their parameters, arguments and checks.

use crate::reference::{D, centred, ntt};
use crate::row::{Argument, Execution, check_fields, feature};
use crate::statements::{
    Checked, QI, both, commit_row, field_verdict, hint_row, inverse_times_r, linear, low_bits,
    offset, pack_eta, permutation, product, public_row, respond, with_cuts, words,
};

/// Value, range, number of cases tried.
type Check = Box<dyn Fn(&mut Execution<'_>) -> (Checked, Checked, usize)>;

/// A row: entry of the table, parameter, arguments, and the check of value and range.
pub(crate) struct Row {
    pub(crate) kernel: &'static str,
    pub(crate) parameter: String,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) check: Check,
}

const POLY: Argument = Argument::Output {
    len: 1024,
    slice: false,
};
/// Forms of transforms: |x| < 11 q.
const HAT: Argument = Argument::Polynomials {
    count: 1,
    low: 1 - 11 * QI,
    high: 11 * QI - 1,
    slice: false,
};
const CANONICAL: Argument = Argument::Polynomials {
    count: 1,
    low: 0,
    high: QI - 1,
    slice: false,
};
const GAMMA2: [(u64, u64); 2] = [(95_232, 78), (261_888, 196)];

fn row(
    kernel: &'static str,
    parameter: impl Into<String>,
    arguments: Vec<Argument>,
    check: impl Fn(&mut Execution<'_>) -> (Checked, Checked, usize) + 'static,
) -> Row {
    Row {
        kernel,
        parameter: parameter.into(),
        arguments,
        check: Box::new(check),
    }
}

fn hats(count: usize) -> Argument {
    Argument::Polynomials {
        count,
        low: 1 - 11 * QI,
        high: 11 * QI - 1,
        slice: true,
    }
}

fn matrix(count: usize) -> Argument {
    Argument::Polynomials {
        count,
        low: 0,
        high: QI - 1,
        slice: true,
    }
}

/// The rows of every backend.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("keccak_f1600", "", vec![Argument::States(1)], |e| {
            (permutation(e, 1), Ok("all bits".into()), 0)
        }),
        row(
            "ntt",
            "",
            vec![
                Argument::Polynomials {
                    count: 1,
                    low: 1 + 10 * QI - (1 << 31),
                    high: (1 << 31) - 10 * QI - 1,
                    slice: false,
                },
                POLY,
            ],
            |e| {
                let wanted = ntt(&e.variables(0));
                linear(e, 1, &wanted, (1 - (1 << 31), (1 << 31) - 1))
            },
        ),
        row(
            "inv_ntt",
            "",
            vec![
                Argument::Polynomials {
                    count: 1,
                    low: 1 - QI,
                    high: QI - 1,
                    slice: false,
                },
                POLY,
            ],
            |e| {
                let wanted = inverse_times_r(&e.variables(0));
                linear(e, 1, &wanted, (1 - QI, QI - 1))
            },
        ),
        row("product_inv_ntt", "", vec![HAT, HAT, POLY], |e| {
            let wanted = inverse_times_r(&product(e, 0, 1));
            let (value, range, n) = linear(e, 2, &wanted, (-(QI - 1) / 2, (QI - 1) / 2));
            if range.is_ok() {
                return (value, range, n);
            }
            // A function of a canonical word, for all residues.
            let checked = e.cuts(&wanted).and_then(|cuts| {
                let bits = e.output(2)?;
                let all = feature(|r| u64::from(centred(r) as u32));
                let (checked, n) = with_cuts(e, &cuts, |checker| {
                    check_fields(checker, &bits, 32, &words(&cuts), &all)
                });
                checked.map(|_| n)
            });
            match checked {
                Ok(n) => (value, Ok("centred".into()), n),
                Err(text) => (value, Err(text), n),
            }
        }),
        row(
            "unpack_t0_ntt",
            "",
            vec![
                Argument::Fields {
                    width: 13,
                    slice: true,
                },
                POLY,
            ],
            |e| {
                let wanted = ntt(&offset(e, 0, 1 << (D - 1)));
                linear(e, 1, &wanted, (1 - 11 * QI, 11 * QI - 1))
            },
        ),
    ];
    for terms in [4, 5, 7] {
        rows.push(row(
            "row_product",
            format!("{terms} terms"),
            vec![matrix(terms), hats(terms), POLY],
            |e| {
                let wanted = product(e, 0, 1);
                linear(e, 2, &wanted, (1 - QI, QI - 1))
            },
        ));
    }
    for bits in [17u8, 19] {
        let arguments = vec![
            Argument::Number(bits.into()),
            Argument::Fields {
                width: bits + 1,
                slice: true,
            },
            POLY,
        ];
        rows.push(row(
            "unpack_mask_ntt",
            format!("gamma1 = 2^{bits}"),
            arguments,
            move |e| {
                let wanted = ntt(&offset(e, 1, 1 << bits));
                linear(e, 2, &wanted, (1 - 11 * QI, 11 * QI - 1))
            },
        ));
        for beta in if bits == 17 {
            &[78][..]
        } else {
            &[196, 120][..]
        } {
            let bound = (1u64 << bits) - beta;
            let arguments = vec![
                Argument::Number(bits.into()),
                Argument::Number(bound),
                HAT,
                HAT,
                HAT,
                Argument::Output {
                    len: 32 * (usize::from(bits) + 1),
                    slice: true,
                },
            ];
            rows.push(row(
                "respond_row",
                format!("gamma1 = 2^{bits}, beta = {beta}"),
                arguments,
                move |e| respond(e, bits, bound),
            ));
            let arguments = vec![
                Argument::Number(bits.into()),
                Argument::Number(bound),
                Argument::Fields {
                    width: bits + 1,
                    slice: true,
                },
                POLY,
            ];
            rows.push(row(
                "unpack_z_ntt",
                format!("gamma1 = 2^{bits}, beta = {beta}"),
                arguments,
                move |e| {
                    let wanted = ntt(&offset(e, 2, 1 << bits));
                    let (value, range, n) = linear(e, 3, &wanted, (1 - 11 * QI, 11 * QI - 1));
                    let gamma1 = 1i64 << bits;
                    let verdict = field_verdict(e, 2, bits + 1, &|field| {
                        (gamma1 - field as i64).unsigned_abs() < bound
                    });
                    (both(value, verdict), range, n)
                },
            ));
        }
    }
    for (eta, width) in [(2u64, 3u8), (4, 4)] {
        let (low, high) = (-i128::from(eta), i128::from(eta));
        let len = 32 * usize::from(width);
        let arguments = vec![
            Argument::Number(eta),
            Argument::Polynomials {
                count: 1,
                low,
                high,
                slice: false,
            },
            Argument::Output { len, slice: true },
        ];
        rows.push(row(
            "pack_eta",
            format!("eta = {eta}"),
            arguments,
            move |e| pack_eta(e, eta, width),
        ));
        let arguments = vec![
            Argument::Number(eta),
            Argument::Fields { width, slice: true },
            POLY,
        ];
        rows.push(row(
            "unpack_eta_ntt",
            format!("eta = {eta}"),
            arguments,
            move |e| {
                let wanted = ntt(&offset(e, 1, eta as u32));
                let (value, range, n) = linear(e, 2, &wanted, (1 - 11 * QI, 11 * QI - 1));
                let verdict = field_verdict(e, 1, width, &|field| field <= 2 * eta);
                (both(value, verdict), range, n)
            },
        ));
        for terms in if eta == 2 { &[4usize, 7][..] } else { &[5][..] } {
            let arguments = vec![
                Argument::Number(eta),
                matrix(*terms),
                hats(*terms),
                Argument::Fields { width, slice: true },
                Argument::Output {
                    len: 320,
                    slice: false,
                },
                Argument::Output {
                    len: 416,
                    slice: false,
                },
            ];
            rows.push(row(
                "public_row",
                format!("eta = {eta}, {terms} terms"),
                arguments,
                move |e| public_row(e, eta),
            ));
        }
    }
    for (gamma2, beta) in [(95_232u64, 78u64), (261_888, 196), (261_888, 120)] {
        let arguments = vec![
            Argument::Number(gamma2),
            Argument::Number(gamma2 - beta),
            HAT,
            HAT,
            Argument::InOut {
                low: 0,
                high: QI - 1,
            },
        ];
        rows.push(row(
            "low_bits_row",
            format!("gamma2 = {gamma2}, beta = {beta}"),
            arguments,
            move |e| low_bits(e, gamma2, gamma2 - beta),
        ));
    }
    for (gamma2, _) in GAMMA2 {
        let arguments = vec![
            Argument::Number(gamma2),
            HAT,
            HAT,
            CANONICAL,
            Argument::Output {
                len: 32,
                slice: false,
            },
        ];
        rows.push(row(
            "hint_row",
            format!("gamma2 = {gamma2}"),
            arguments,
            move |e| hint_row(e, gamma2),
        ));
        let (width, sizes) = if gamma2 == 95_232 {
            (6, &[4usize][..])
        } else {
            (4, &[5, 7][..])
        };
        for &terms in sizes {
            let arguments = vec![
                Argument::Number(gamma2),
                matrix(terms),
                hats(terms),
                POLY,
                Argument::Output {
                    len: 32 * width,
                    slice: true,
                },
            ];
            rows.push(row(
                "commit_row",
                format!("gamma2 = {gamma2}, {terms} terms"),
                arguments,
                move |e| commit_row(e, gamma2, width),
            ));
        }
    }
    rows
}

/// Entries of the table that no row is about, and why.
pub(crate) const WITHOUT_ROWS: [(&str, &str); 9] = [
    ("expand_a", "rejection sampling: branches on public data"),
    (
        "expand_a_interleaved",
        "rejection sampling: branches on public data",
    ),
    (
        "expand_s",
        "rejection sampling: the positions of rejected half-bytes are declassified",
    ),
    (
        "expand_masks",
        "calls the sponge of the backend with lengths; no statement yet",
    ),
    (
        "inv_ntt_use_hint",
        "the positions of the hint, which are public, are indices",
    ),
    ("clear_registers", "has no result"),
    ("prepare", "a whole operation"),
    ("shake256", "a whole operation"),
    ("verify", "a whole operation"),
];
