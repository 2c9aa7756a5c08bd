//! Changes of the kernels by hand, each of which a row has to refuse.

use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic as M, OpKind};

use crate::faults::refusal;
use crate::image::Image;
use crate::parallel;
use crate::places::{Place, places};
use crate::prove::prove;
use crate::reference::{Q, ZETA, power, round_constant};
use crate::row::{Argument, Report};
use crate::rows::{POLY, row};

type Polynomial = [i32; 256];

/// Kernels that are wrong on purpose, in the form of a kernel table.
#[repr(C)]
struct Planted {
    name: &'static str,
    entries: [fn(&Polynomial, &mut Polynomial); 3],
}

static PLANTED: Planted = Planted {
    name: "planted",
    entries: [early_exit, branch, look_up],
};

#[inline(never)]
fn early_exit(a: &Polynomial, out: &mut Polynomial) {
    for (a, out) in a.iter().zip(out) {
        *out = *a;
        if *a > 1_000 {
            return;
        }
    }
}

#[inline(never)]
fn branch(a: &Polynomial, out: &mut Polynomial) {
    for (a, out) in a.iter().zip(out) {
        if core::hint::black_box(*a) & 1 == 1 {
            core::hint::black_box(&mut *out);
        }
        *out = *a;
    }
}

#[inline(never)]
fn look_up(a: &Polynomial, out: &mut Polynomial) {
    static TABLE: Polynomial = [7; 256];
    for (a, out) in a.iter().zip(out) {
        *out = core::hint::black_box(&TABLE)[(*a & 255) as usize];
    }
}

/// Bytes that are changed: address, and the bits of the byte.
type Change = Vec<(u64, u8)>;

/// The change of a row.
enum Mutant {
    /// The first place that fits.
    Code(fn(&Instruction, &[u8], u64) -> Option<Change>),
    /// The same, from the last instruction on.
    LastCode(fn(&Instruction, &[u8], u64) -> Option<Change>),
    /// Constants that were read.
    Table(fn(&Image, &Report) -> Option<Change>),
    /// An argument is smaller by one.
    Argument(usize),
}

/// Name, backend, kernel, start of the parameter, change.
#[rustfmt::skip] // One line for each entry.
const MUTANTS: [(&str, &str, &str, &str, Mutant); 16] = [
    ("twiddle + 1, quotient unchanged", "avx2", "ntt", "", Mutant::Table(twiddle)),
    ("twiddle + 1, quotient unchanged", "avx512", "ntt", "", Mutant::Table(twiddle)),
    ("twiddle + 1 with its quotient", "avx2", "ntt", "", Mutant::Table(twiddle_and_quotient)),
    ("swapped lanes", "avx2", "ntt", "", Mutant::Code(lanes)),
    ("swapped lanes", "avx512", "inv_ntt", "", Mutant::Code(lanes)),
    ("dropped reduction", "avx512", "inv_ntt", "", Mutant::Code(reduction)),
    ("11,275 to 11,274", "portable", "low_bits_row", "gamma2 = 95232", Mutant::Table(reciprocal)),
    ("bound - 1", "avx2", "respond_row", "gamma1 = 2^17", Mutant::Argument(1)),
    ("bound - 1", "avx512", "respond_row", "gamma1 = 2^19, beta = 196", Mutant::Argument(1)),
    ("bound - 1", "avx2", "low_bits_row", "gamma2 = 95232", Mutant::Argument(1)),
    ("bound - 1", "avx512", "low_bits_row", "gamma2 = 261888, beta = 120", Mutant::Argument(1)),
    ("bound - 1", "avx2", "unpack_z_ntt", "gamma1 = 2^17", Mutant::Argument(1)),
    ("round constant", "avx2", "keccak_f1600", "", Mutant::Table(constant)),
    ("rotation", "portable", "keccak_f1600", "", Mutant::Code(rotation)),
    ("store at the next byte", "avx2", "ntt", "", Mutant::Code(store)),
    ("store at the next byte", "avx512", "ntt", "", Mutant::LastCode(store)),
];

/// Bytes of a number that becomes another one.
fn exchange(at: u64, old: u64, new: u64, len: usize) -> Change {
    let difference = (old ^ new).to_le_bytes();
    (0..len).map(|n| (at + n as u64, difference[n])).collect()
}

/// The address of a constant that was read, in steps of four bytes.
fn find(image: &Image, report: &Report, value: u64, len: usize) -> Option<u64> {
    let mut places = report.data.clone();
    places.sort_unstable();
    places
        .iter()
        .flat_map(|&(at, size)| {
            (0..size.saturating_sub(len - 1))
                .step_by(4)
                .map(move |n| at + n as u64)
        })
        .find(|&at| {
            image
                .constant_bytes(at, len)
                .is_some_and(|b| *b == value.to_le_bytes()[..len])
        })
}

/// The powers of zeta and their negatives, in Montgomery form and plain, centred, as words.
fn twiddles() -> impl Iterator<Item = u32> {
    let powers = (1..256u32).flat_map(|n| {
        let zeta = u64::from(power(ZETA, u32::from((n as u8).reverse_bits())));
        let forms = [power(2, 32), 1].map(|r| (zeta * u64::from(r) % u64::from(Q)) as u32);
        forms.into_iter().flat_map(|zeta| [zeta, Q - zeta])
    });
    powers.map(|zeta| match zeta > Q / 2 {
        true => zeta.wrapping_sub(Q),
        false => zeta,
    })
}

fn twiddle(image: &Image, report: &Report) -> Option<Change> {
    twiddles().find_map(|zeta| {
        let at = find(image, report, zeta.into(), 4)?;
        Some(exchange(at, zeta.into(), zeta.wrapping_add(1).into(), 4))
    })
}

/// A factor and its quotient, `w 2^32 / q` rounded, become those of the next factor.
fn twiddle_and_quotient(image: &Image, report: &Report) -> Option<Change> {
    let quotient = |w: i32| {
        let (w, q) = (i64::from(w), i64::from(Q));
        (((w << 32) + w.signum() * (q / 2)) / q) as u32
    };
    twiddles().find_map(|zeta| {
        let (old, new) = (zeta as i32, zeta.wrapping_add(1) as i32);
        let at = find(image, report, zeta.into(), 4)?;
        let of = find(image, report, quotient(old).into(), 4)?;
        let mut change = exchange(at, zeta.into(), (new as u32).into(), 4);
        change.extend(exchange(of, quotient(old).into(), quotient(new).into(), 4));
        Some(change)
    })
}

fn constant(image: &Image, report: &Report) -> Option<Change> {
    let value = round_constant(3);
    Some(exchange(
        find(image, report, value, 8)?,
        value,
        value ^ 1,
        8,
    ))
}

fn reciprocal(image: &Image, report: &Report) -> Option<Change> {
    let at = find(image, report, 11_275, 4)?;
    Some(exchange(at, 11_275, 11_274, 4))
}

/// The immediate of an instruction that rearranges lanes.
fn lanes(i: &Instruction, bytes: &[u8], at: u64) -> Option<Change> {
    let shuffles = [
        M::Vperm2i128,
        M::Vpshufd,
        M::Vshufps,
        M::Vpermq,
        M::Vshufi64x2,
        M::Vpblendd,
    ];
    let is_shuffle = shuffles.contains(&i.mnemonic());
    (is_shuffle && i.op_kind(i.op_count() - 1) == OpKind::Immediate8)
        .then(|| vec![(at + bytes.len() as u64 - 1, 1)])
}

/// An instruction becomes one-byte instructions without effect.
fn reduction(i: &Instruction, bytes: &[u8], at: u64) -> Option<Change> {
    (i.mnemonic() == M::Vpminud).then(|| {
        let nops = bytes.iter().enumerate();
        nops.map(|(n, byte)| (at + n as u64, byte ^ 0x90)).collect()
    })
}

fn rotation(i: &Instruction, bytes: &[u8], at: u64) -> Option<Change> {
    let rotates = matches!(i.mnemonic(), M::Rol | M::Ror | M::Rorx);
    (rotates && i.op_kind(i.op_count() - 1) == OpKind::Immediate8)
        .then(|| vec![(at + bytes.len() as u64 - 1, 1)])
}

/// A store of a vector one byte further on.
fn store(i: &Instruction, bytes: &[u8], at: u64) -> Option<Change> {
    let is_store = i.op_kind(0) == OpKind::Memory && i.op_register(1).is_vector_register();
    let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
    let decoded = decoder.decode();
    let offsets = decoder.get_constant_offsets(&decoded);
    (is_store && offsets.has_displacement())
        .then(|| vec![(at + offsets.displacement_offset() as u64, 1)])
}

fn changes(image: &Image, report: &Report, mutant: &Mutant) -> Option<Change> {
    let mut code = report.code.clone();
    code.sort_unstable();
    let apply = |f: fn(&Instruction, &[u8], u64) -> Option<Change>, (at, len): (u64, usize)| {
        let bytes = &image.code(at)?[..len];
        f(
            &Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode(),
            bytes,
            at,
        )
    };
    match mutant {
        Mutant::Code(f) => code.iter().find_map(|&place| apply(*f, place)),
        Mutant::LastCode(f) => code.iter().rev().find_map(|&place| apply(*f, place)),
        Mutant::Table(f) => f(image, report),
        Mutant::Argument(_) => Some(Vec::new()),
    }
}

/// Runs all mutants; whether each of them was made and refused.
pub(crate) fn run(program: &Path) -> Result<bool, String> {
    let image = Image::load(program)?;
    core::hint::black_box(&PLANTED);
    let planted = image.table("planted");
    let mut refused = 0;
    let any = Argument::Polynomials {
        count: 1,
        low: 0,
        high: i128::from(Q) - 1,
        slice: false,
    };
    let &[table] = &planted[..] else {
        return Err("the planted kernels are not found".into());
    };
    for (n, name) in ["early exit", "branch on data", "table look-up by data"]
        .iter()
        .enumerate()
    {
        let entry = *image
            .pointers
            .get(&(table + 16 + 8 * n as u64))
            .ok_or("no entry")?;
        let row = row("planted", *name, vec![any, POLY], |_| {
            (Ok(String::new()), Ok(String::new()), 0)
        });
        let kind = refusal(&prove(&image, "planted", entry, &row, 0..1));
        let wanted = kind == Some("a branch or an address depends on data");
        println!("{name}: {}", kind.unwrap_or("NOT REFUSED"));
        refused += usize::from(wanted);
    }
    let all = places(&image, &|_, _| true)?;
    let results = parallel::map(MUTANTS.len(), |n| {
        let (name, backend, kernel, parameter, mutant) = &MUTANTS[n];
        let found = all.iter().find(|(b, _, row)| {
            b == backend && row.kernel == *kernel && row.parameter.starts_with(parameter)
        });
        let result = found.map_or(Err("no such row"), |place| one(&image, place, mutant));
        println!(
            "{name}, {backend}::{kernel} {parameter}: {}",
            result.unwrap_or_else(|e| e)
        );
        result.is_ok()
    })?;
    refused += results.iter().filter(|refused| **refused).count();
    println!("mutants: {refused} of {} refused", MUTANTS.len() + 3);
    Ok(refused == MUTANTS.len() + 3)
}

/// Why a mutant is refused.
fn one(
    image: &Image,
    (backend, entry, statement): &Place,
    mutant: &Mutant,
) -> Result<&'static str, &'static str> {
    let before = prove(image, backend, *entry, statement, 0..1);
    if !before.is_proved() {
        return Err("NOT PROVED before the change");
    }
    let change = changes(image, &before, mutant).ok_or("NO PLACE for the change")?;
    let mut image = image.clone();
    change.iter().for_each(|&(at, bits)| image.change(at, bits));
    let after = match mutant {
        Mutant::Argument(n) => {
            let mut arguments = statement.arguments.clone();
            if let Argument::Number(bound) = &mut arguments[*n] {
                *bound -= 1;
            }
            let rows = crate::rows::rows();
            let changed = rows
                .into_iter()
                .find(|row| row.kernel == statement.kernel && row.parameter == statement.parameter);
            let mut changed = changed.ok_or("no such row")?;
            changed.arguments = arguments;
            prove(&image, backend, *entry, &changed, 0..1)
        }
        _ => prove(&image, backend, *entry, statement, 0..1),
    };
    refusal(&after).ok_or("NOT REFUSED")
}
