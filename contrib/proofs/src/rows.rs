//! Rows: entries of a kernel table with their parameters, arguments and checks.

use crate::bounds;
use crate::reference::{D, centred, ntt};
use crate::row::{ALIGN, Argument, Execution};
use crate::statements::{
    Outcome, QI, all_bits, commit_row, hint_row, inverse_times_r, linear, low_bits, offset,
    pack_eta, packed, permutation, product, public_row, respond, unpacked, use_hints,
};

type Check = Box<dyn Fn(&mut Execution<'_>) -> Outcome + Send + Sync>;

/// A row: entry of the table, parameter, arguments, and the check of value and range.
pub(crate) struct Row {
    pub(crate) kernel: &'static str,
    pub(crate) parameter: String,
    pub(crate) arguments: Vec<Argument>,
    /// The only backend that it is about, if it is not about all of them.
    pub(crate) backend: Option<&'static str>,
    /// A part of the name of a function that no table has.
    pub(crate) function: Option<&'static str>,
    /// Index of the image with the answer that the row assumes.
    pub(crate) answer: Option<usize>,
    pub(crate) check: Check,
}

pub(crate) const POLY: Argument = Argument::Output {
    len: 1024,
    slice: false,
    align: ALIGN,
};

const fn output(len: usize, slice: bool) -> Argument {
    let align = 1;
    Argument::Output { len, slice, align }
}

/// Any byte string, as a slice.
const fn fields(width: u8) -> Argument {
    let slice = true;
    Argument::Fields { width, slice }
}

pub(crate) fn row(
    kernel: &'static str,
    parameter: impl Into<String>,
    arguments: Vec<Argument>,
    check: impl Fn(&mut Execution<'_>) -> Outcome + Send + Sync + 'static,
) -> Row {
    Row {
        kernel,
        parameter: parameter.into(),
        arguments,
        backend: None,
        function: None,
        answer: None,
        check: Box::new(check),
    }
}

/// Every place of a hint.
static PLACES: [u8; 256] = {
    let mut places = [0; 256];
    let mut n = 0;
    while n < 256 {
        places[n] = n as u8;
        n += 1;
    }
    places
};

/// A polynomial in the range that the library states.
fn input(kernel: &str, name: &str) -> Argument {
    polynomials(kernel, name, 1, false)
}

fn inputs(kernel: &str, name: &str, count: usize) -> Argument {
    polynomials(kernel, name, count, true)
}

fn polynomials(kernel: &str, name: &str, count: usize, slice: bool) -> Argument {
    let (low, high) = bounds::of(kernel, name);
    Argument::Polynomials {
        count,
        low,
        high,
        slice,
        align: ALIGN,
    }
}

/// The rows of every backend.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("keccak_f1600", "", vec![Argument::States(1)], |e| {
            all_bits(permutation(e, 0, 1), 0)
        }),
        row("ntt", "", vec![input("ntt", "in"), POLY], |e| {
            let wanted = ntt(&e.variables(0));
            linear(e, 1, &wanted, bounds::of("ntt", "out"))
        }),
        row("ntt", "a challenge", vec![input("ntt", "c"), POLY], |e| {
            let wanted = ntt(&e.variables(0));
            linear(e, 1, &wanted, bounds::of("ntt", "c_hat"))
        }),
        row("inv_ntt", "", vec![input("inv_ntt", "in"), POLY], |e| {
            let wanted = inverse_times_r(&e.variables(0));
            linear(e, 1, &wanted, bounds::of("inv_ntt", "out"))
        }),
        row(
            "product_inv_ntt",
            "",
            vec![
                input("product_inv_ntt", "a"),
                input("product_inv_ntt", "b"),
                POLY,
            ],
            |e| {
                let wanted = inverse_times_r(&product(e, 0, 1));
                let (value, range, _) = linear(e, 2, &wanted, (-(QI - 1) / 2, (QI - 1) / 2))?;
                if range.is_ok() {
                    return Ok((value, range, 0));
                }
                // A function of a canonical word, for all residues.
                let (cuts, bits) = (e.cuts(&wanted)?, e.output(2)?);
                let centred = |r| (centred(r) as u32).into();
                let (checked, n) = packed(e, &cuts, &bits, 32, centred);
                Ok((value, checked.map(|_| "centred".into()), n))
            },
        ),
        row("unpack_t0_ntt", "", vec![fields(13), POLY], |e| {
            let wanted = ntt(&offset(e, 0, 1 << (D - 1)));
            linear(e, 1, &wanted, bounds::of("unpack_t0_ntt", "out"))
        }),
    ];
    for terms in [4, 5, 6, 7, 8] {
        rows.push(row(
            "row_product",
            format!("{terms} terms"),
            vec![
                inputs("expand_a", "out", terms),
                inputs("row_product", "b", terms),
                POLY,
            ],
            |e| {
                let wanted = product(e, 0, 1);
                linear(e, 2, &wanted, bounds::of("row_product", "out"))
            },
        ));
    }
    for bits in [17u8, 19] {
        let arguments = vec![Argument::Number(bits.into()), fields(bits + 1), POLY];
        rows.push(row(
            "unpack_mask_ntt",
            format!("gamma1 = 2^{bits}"),
            arguments,
            move |e| {
                let wanted = ntt(&offset(e, 1, 1 << bits));
                linear(e, 2, &wanted, bounds::of("unpack_mask_ntt", "out"))
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
                input("respond_row", "c_hat"),
                input("respond_row", "s1_hat"),
                input("respond_row", "y_hat"),
                output(32 * (usize::from(bits) + 1), true),
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
                fields(bits + 1),
                POLY,
            ];
            rows.push(row(
                "unpack_z_ntt",
                format!("gamma1 = 2^{bits}, beta = {beta}"),
                arguments,
                move |e| {
                    let gamma1 = 1u32 << bits;
                    unpacked(e, "unpack_z_ntt", (2, bits + 1), gamma1, &|field| {
                        u64::from(gamma1).abs_diff(field) < bound
                    })
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
                align: ALIGN,
            },
            output(len, true),
        ];
        rows.push(row(
            "pack_eta",
            format!("eta = {eta}"),
            arguments,
            move |e| pack_eta(e, eta, width),
        ));
        let arguments = vec![Argument::Number(eta), fields(width), POLY];
        rows.push(row(
            "unpack_eta_ntt",
            format!("eta = {eta}"),
            arguments,
            move |e| {
                unpacked(e, "unpack_eta_ntt", (1, width), eta as u32, &|field| {
                    field <= 2 * eta
                })
            },
        ));
        for terms in if eta == 2 { &[4usize, 7][..] } else { &[5][..] } {
            let arguments = vec![
                Argument::Number(eta),
                inputs("public_row", "a", *terms),
                inputs("public_row", "s1_hat", *terms),
                fields(width),
                output(320, false),
                output(416, false),
            ];
            rows.push(row(
                "public_row",
                format!("eta = {eta}, {terms} terms"),
                arguments,
                move |e| public_row(e, eta),
            ));
        }
    }
    let (low, high) = bounds::of("low_bits_row", "w");
    for (gamma2, beta) in [(95_232u64, 78u64), (261_888, 196), (261_888, 120)] {
        let arguments = vec![
            Argument::Number(gamma2),
            Argument::Number(gamma2 - beta),
            input("low_bits_row", "c_hat"),
            input("low_bits_row", "s2_hat"),
            Argument::InOut {
                low,
                high,
                align: ALIGN,
            },
        ];
        rows.push(row(
            "low_bits_row",
            format!("gamma2 = {gamma2}, beta = {beta}"),
            arguments,
            move |e| low_bits(e, gamma2, gamma2 - beta),
        ));
    }
    for gamma2 in [95_232u64, 261_888] {
        let arguments = vec![
            Argument::Number(gamma2),
            input("hint_row", "c_hat"),
            input("hint_row", "t0_hat"),
            input("hint_row", "w - c s2"),
            output(32, false),
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
        for (name, hints, hint) in [
            ("no hint", &[][..], false),
            ("all hints", &PLACES[..], true),
        ] {
            let arguments = vec![
                Argument::Number(gamma2),
                input("inv_ntt_use_hint", "w_hat"),
                Argument::Bytes(hints),
                output(32 * width, true),
            ];
            rows.push(row(
                "inv_ntt_use_hint",
                format!("gamma2 = {gamma2}, {name}"),
                arguments,
                move |e| use_hints(e, gamma2, hint, width),
            ));
        }
        for &terms in sizes {
            let arguments = vec![
                Argument::Number(gamma2),
                inputs("commit_row", "a", terms),
                inputs("commit_row", "y_hat", terms),
                POLY,
                output(32 * width, true),
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
#[rustfmt::skip] // One line for each entry.
pub(crate) const WITHOUT_ROWS: [(&str, &str); 6] = [
    ("expand_a_interleaved", "`expand_a` calls it or the function under it, without a hash in the other lanes"),
    ("expand_masks", "value open; its constant time is part of the whole operations"),
    ("clear_registers", "has no result"),
    ("prepare", "a whole operation on public data"),
    ("shake256", "value open; used by batches only"),
    ("verify", "a whole operation on public data"),
];
