//! Statements about the entries of a kernel table.

use std::rc::Rc;

use crate::audit::audit;
use crate::exhaust::{Checker, Cuts, Target};
use crate::forms::Vector;
use crate::image::Image;
use crate::keccak;
use crate::reference::{
    D, Module, Q, centred, decompose, inverse, inverse_ntt, make_hint, ntt, power, power_2_round,
};
use crate::row::{
    Argument, Execution, Report, Verdict, check_fields, domains, execute, feature, stopped,
};
use crate::terms::WordId;

type Checked = Result<String, String>;

/// Value, range, number of cases tried.
type Check = Box<dyn Fn(&mut Execution<'_>) -> (Checked, Checked, usize)>;

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
    check: Check,
}

const QI: i128 = Q as i128;
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

pub(crate) fn row(
    kernel: &'static str,
    parameter: impl Into<String>,
    arguments: Vec<Argument>,
    check: impl Fn(&mut Execution<'_>) -> (Checked, Checked, usize) + 'static,
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
            (permutation(e, 0, 1), Ok("all bits".into()), 0)
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

/// Runs a row on an entry. Panics of the domain count as open.
pub(crate) fn prove(
    image: &Image,
    backend: &'static str,
    entry: u64,
    row: &Row,
    stacks: core::ops::Range<i64>,
) -> Report {
    let mut report = Report {
        kernel: row.kernel.to_owned(),
        backend,
        parameter: row.parameter.clone(),
        verdicts: core::array::from_fn(|_| Verdict::Open("the domain gave up".into())),
        executed: 0,
        exhausted: 0,
        code: Vec::new(),
        data: Vec::new(),
    };
    let attempt = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        let mut copy = report.clone();
        for step in stacks.clone() {
            let (machine, result) = execute(image, entry, &row.arguments, step);
            copy.executed = machine.executed;
            copy.code = machine.code_executed();
            copy.data = machine
                .data_read
                .iter()
                .map(|(&at, &len)| (at, len))
                .collect();
            match result {
                Err(stop) => {
                    copy.verdicts = stopped(&stop);
                    return copy;
                }
                Ok(regions) if step == stacks.start => {
                    let mut execution = Execution::new(machine, regions);
                    let (value, range, exhausted) = (row.check)(&mut execution);
                    let audited = audit(&execution.machine.terms, 0x2545_f491_4f6c_dd1d).map(drop);
                    let (value, range) = match audited {
                        Ok(()) => (value, range),
                        Err(text) => (Err(text.clone()), Err(text)),
                    };
                    let of = |checked: Checked| checked.map_or_else(Verdict::Open, Verdict::Proved);
                    copy.verdicts = [
                        of(value),
                        of(range),
                        Verdict::Proved(String::new()),
                        Verdict::Proved(String::new()),
                    ];
                    copy.exhausted = exhausted;
                }
                Ok(_) => {}
            }
        }
        copy
    }));
    match attempt {
        Ok(done) => report = done,
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            let text = text.unwrap_or_else(|| "a panic".into());
            report.verdicts =
                core::array::from_fn(|_| Verdict::Open(format!("the domain gave up: {text}")));
        }
    }
    report
}

fn both(a: Checked, b: Checked) -> Checked {
    let (a, b) = (a?, b?);
    Ok(format!("{a}; {b}"))
}

fn linear(
    e: &mut Execution<'_>,
    output: usize,
    wanted: &[Vector],
    (low, high): (i128, i128),
) -> (Checked, Checked, usize) {
    match e.polynomial(output) {
        Ok(words) => (e.equal(&words, wanted), e.within(&words, low, high), 0),
        Err(text) => (Err(text.clone()), Err(text), 0),
    }
}

/// Algorithm 42 times 2^32.
fn inverse_times_r(values: &[Vector]) -> Vec<Vector> {
    inverse_ntt(values)
        .iter()
        .map(|v| v.scaled(power(2, 32)))
        .collect()
}

/// Sums of products of the polynomials of two arguments, times 2^-32.
fn product(e: &mut Execution<'_>, a: usize, b: usize) -> Vec<Vector> {
    let (x, y) = (e.variables(a), e.variables(b));
    let scale = inverse(power(2, 32));
    let mut out: Vec<Vector> = (0..256).map(|_| Rc::default()).collect();
    for (n, (x, y)) in x.iter().zip(&y).enumerate() {
        let variable = e.machine.terms.product_variable(x[0].0, y[0].0);
        out[n % 256] = out[n % 256].add_scaled(&Rc::new(vec![(variable, 1)]), scale);
    }
    out
}

/// `top` minus the fields of an argument.
fn offset(e: &Execution<'_>, argument: usize, top: u32) -> Vec<Vector> {
    let constant: Vector = Rc::new(vec![(0, top)]);
    e.variables(argument)
        .iter()
        .map(|v| constant.add_scaled(v, Q - 1))
        .collect()
}

/// Whether the result says that all fields are good.
fn field_verdict(
    e: &Execution<'_>,
    argument: usize,
    width: u8,
    good: &dyn Fn(u64) -> bool,
) -> Checked {
    let domain: Rc<Vec<u64>> = Rc::new((0..1 << width).collect());
    let features = Rc::new(
        (0..1u64 << width)
            .map(|field| good(field).into())
            .collect::<Vec<_>>(),
    );
    let cuts: Cuts = e
        .inputs(argument)
        .iter()
        .map(|&word| (word, domain.clone()))
        .collect();
    let wanted: Vec<_> = e
        .inputs(argument)
        .iter()
        .map(|&word| (word, features.clone()))
        .collect();
    Checker::new(&e.machine.terms, &cuts).verdict(e.verdict()?, &wanted)?;
    Ok("verdict".into())
}

fn pack_eta(e: &mut Execution<'_>, eta: u64, width: u8) -> (Checked, Checked, usize) {
    let eta = eta as i64;
    let domain: Rc<Vec<u64>> = Rc::new((-eta..=eta).map(|s| u64::from(s as u32)).collect());
    let features = Rc::new((-eta..=eta).map(|s| (eta - s) as u64).collect::<Vec<_>>());
    let inputs = e.inputs(1).to_vec();
    let cuts: Cuts = inputs.iter().map(|&word| (word, domain.clone())).collect();
    let checked = e.output(2).and_then(|bits| {
        let mut checker = Checker::new(&e.machine.terms, &cuts);
        check_fields(&mut checker, &bits, width.into(), &inputs, &features)
            .map(|text| (text, checker.exhausted))
    });
    match checked {
        Ok((text, n)) => (Ok(text), Ok("all bits".into()), n),
        Err(text) => (Err(text.clone()), Err(text), 0),
    }
}

/// A check that needs cuts, and counts the cases that it tried.
fn with_cuts(
    e: &Execution<'_>,
    cuts: &[(WordId, bool)],
    check: impl Fn(&mut Checker<'_>) -> Checked,
) -> (Checked, usize) {
    let domains = domains(cuts);
    let mut checker = Checker::new(&e.machine.terms, &domains);
    let result = check(&mut checker);
    (result, checker.exhausted)
}

fn words(cuts: &[(WordId, bool)]) -> Vec<WordId> {
    cuts.iter().map(|cut| cut.0).collect()
}

fn failed(text: String) -> (Checked, Checked, usize) {
    (Err(text.clone()), Err(text), 0)
}

fn commit_row(e: &mut Execution<'_>, gamma2: u64, width: usize) -> (Checked, Checked, usize) {
    let wanted = inverse_times_r(&product(e, 1, 2));
    let (value, range, _) = linear(e, 3, &wanted, (0, QI - 1));
    let (cuts, bits) = match (e.cuts(&wanted), e.output(4)) {
        (Ok(cuts), Ok(bits)) => (cuts, bits),
        (Err(text), _) | (_, Err(text)) => return (both(value, Err(text)), range, 0),
    };
    let high = feature(|r| decompose(r, gamma2 as i64).0 as u64);
    let (packed, n) = with_cuts(e, &cuts, |checker| {
        check_fields(checker, &bits, width, &words(&cuts), &high)
    });
    (both(value, packed), range, n)
}

fn low_bits(e: &mut Execution<'_>, gamma2: u64, bound: u64) -> (Checked, Checked, usize) {
    let w = e.variables(4);
    let product = inverse_times_r(&product(e, 2, 3));
    let wanted: Vec<Vector> = w
        .iter()
        .zip(&product)
        .map(|(w, p)| w.add_scaled(p, Q - 1))
        .collect();
    let (value, range, _) = linear(e, 4, &wanted, (0, QI - 1));
    let (cuts, lit) = match (e.cuts(&wanted), e.verdict()) {
        (Ok(cuts), Ok(lit)) => (cuts, lit),
        (Err(text), _) | (_, Err(text)) => return (both(value, Err(text)), range, 0),
    };
    let good = feature(|r| (decompose(r, gamma2 as i64).1.unsigned_abs() < bound).into());
    let features: Vec<_> = cuts.iter().map(|cut| (cut.0, good.clone())).collect();
    let (verdict, n) = with_cuts(e, &cuts, |checker| {
        checker.verdict(lit, &features).map(|()| "verdict".into())
    });
    (both(value, verdict), range, n)
}

fn respond(e: &mut Execution<'_>, bits: u8, bound: u64) -> (Checked, Checked, usize) {
    // (c s1 2^-32 + y 2^-32) 2^32 in coefficients.
    let scale = inverse(power(2, 32));
    let y = e.variables(4);
    let sums: Vec<Vector> = product(e, 2, 3)
        .iter()
        .zip(&y)
        .map(|(p, y)| p.add_scaled(y, scale))
        .collect();
    let wanted = inverse_times_r(&sums);
    let (cuts, out, lit) = match (e.cuts(&wanted), e.output(5), e.verdict()) {
        (Ok(cuts), Ok(out), Ok(lit)) => (cuts, out, lit),
        (Err(text), ..) | (_, Err(text), _) | (.., Err(text)) => return failed(text),
    };
    let good = feature(|r| (centred(r).unsigned_abs() < bound).into());
    let features: Vec<_> = cuts.iter().map(|cut| (cut.0, good.clone())).collect();
    let (verdict, n) = with_cuts(e, &cuts, |checker| {
        checker.verdict(lit, &features).map(|()| "verdict".into())
    });
    // The bytes mean something for small coefficients only.
    let small: Vec<u32> = (0..Q)
        .filter(|&r| centred(r).unsigned_abs() < bound)
        .collect();
    let fields = Rc::new(
        small
            .iter()
            .map(|&r| ((1i64 << bits) - centred(r)) as u64)
            .collect::<Vec<_>>(),
    );
    let all = domains(&cuts);
    let restrict = |domain: &Rc<Vec<u64>>| {
        Rc::new(
            small
                .iter()
                .map(|&r| domain[r as usize])
                .collect::<Vec<_>>(),
        )
    };
    let mut known: Vec<[Rc<Vec<u64>>; 2]> = Vec::new();
    let mut restricted = Cuts::default();
    for (&word, domain) in &all {
        let short = match known.iter().find(|[long, _]| Rc::ptr_eq(long, domain)) {
            Some([_, short]) => short.clone(),
            None => {
                known.push([domain.clone(), restrict(domain)]);
                known[known.len() - 1][1].clone()
            }
        };
        restricted.insert(word, short);
    }
    let mut checker = Checker::new(&e.machine.terms, &restricted);
    let packed = check_fields(
        &mut checker,
        &out,
        usize::from(bits) + 1,
        &words(&cuts),
        &fields,
    );
    let n = n + checker.exhausted;
    (both(packed, verdict), Ok("all bits".into()), n)
}

fn public_row(e: &mut Execution<'_>, eta: u64) -> (Checked, Checked, usize) {
    let s2 = offset(e, 3, eta as u32);
    let product = inverse_times_r(&product(e, 1, 2));
    let wanted: Vec<Vector> = product
        .iter()
        .zip(&s2)
        .map(|(p, s)| p.add_scaled(s, 1))
        .collect();
    let (cuts, t1, t0) = match (e.cuts(&wanted), e.output(4), e.output(5)) {
        (Ok(cuts), Ok(t1), Ok(t0)) => (cuts, t1, t0),
        (Err(text), ..) | (_, Err(text), _) | (.., Err(text)) => return failed(text),
    };
    let high = feature(|r| power_2_round(r).0 as u64);
    let low = feature(|r| ((1 << (D - 1)) - power_2_round(r).1) as u64);
    let (packed, n) = with_cuts(e, &cuts, |checker| {
        both(
            check_fields(checker, &t1, 10, &words(&cuts), &high),
            check_fields(checker, &t0, 13, &words(&cuts), &low),
        )
    });
    (packed, Ok("all bits".into()), n)
}

fn hint_row(e: &mut Execution<'_>, gamma2: u64) -> (Checked, Checked, usize) {
    let gamma = gamma2 as i64;
    let w = e.variables(3);
    let ct0 = inverse_times_r(&product(e, 1, 2));
    let sums: Vec<Vector> = w
        .iter()
        .zip(&ct0)
        .map(|(w, p)| w.add_scaled(p, 1))
        .collect();
    let found = (e.cuts(&ct0), e.cuts(&sums), e.output(4), e.verdict());
    let (Ok(ct0), Ok(sums), Ok(bits), Ok(lit)) = found else {
        let errors = [found.0.err(), found.1.err(), found.2.err(), found.3.err()];
        return failed(errors.into_iter().flatten().collect::<Vec<_>>().join("; "));
    };
    let before: Vec<_> = e.inputs(3).iter().map(|&word| (word, true)).collect();
    let good = feature(|r| (centred(r).unsigned_abs() < gamma2).into());
    let features: Vec<_> = ct0.iter().map(|cut| (cut.0, good.clone())).collect();
    let (verdict, n) = with_cuts(e, &ct0, |checker| {
        checker.verdict(lit, &features).map(|()| "verdict".into())
    });
    let high = feature(|r| decompose(r, gamma).0 as u64);
    // Algorithm 39 compares the high bits of r = sum and r + z = w.
    debug_assert!(make_hint(0, 0, gamma) == (decompose(0, gamma).0 != decompose(0, gamma).0));
    let all: Vec<_> = before.iter().chain(&sums).copied().collect();
    let (hints, m) = with_cuts(e, &all, |checker| {
        for n in 0..256 {
            let target = Target {
                bits: vec![bits[n]],
                features: vec![(before[n].0, high.clone()), (sums[n].0, high.clone())],
                combine: &|features| (features[0] != features[1]).into(),
            };
            checker
                .check(&target, 1)
                .map_err(|text| format!("hint {n}: {text}"))?;
        }
        Ok("256 hints".into())
    });
    (both(hints, verdict), Ok("all bits".into()), n + m)
}

/// Whether an argument of interleaved states is permuted.
pub(crate) fn permutation(e: &mut Execution<'_>, argument: usize, lanes: usize) -> Checked {
    let out = e.output(argument)?;
    let inputs = e.inputs(argument).to_vec();
    for lane in 0..lanes {
        let input: Vec<_> = (0..25)
            .flat_map(|n| e.machine.terms.bits(inputs[n * lanes + lane]))
            .collect();
        let output: Vec<_> = (0..25)
            .flat_map(|n| out[64 * (n * lanes + lane)..64 * (n * lanes + lane + 1)].to_vec())
            .collect();
        keccak::check(&e.machine.terms, &input, &output)?;
    }
    Ok(format!("{lanes} of 1600 bits, 24 rounds"))
}
