//! Changes of the kernels by hand, each of which a row has to refuse.

use iced_x86::{Decoder, DecoderOptions, Encoder, Instruction, Mnemonic as M, OpKind};
use mldsa_core::internals::kernels::ENTRIES;

use crate::faults::{LEAK, refusal};
use crate::image::Image;
use crate::places::{Place, Program, entry, places, slot, tables};
use crate::prove::prove;
use crate::reference::{Q, ZETA, power, round_constant};
use crate::rejection::{self, Of};
use crate::row::{ALIGN, Argument, Report};
use crate::rows::row;
use crate::{operations, parallel, permutations};

/// Bytes that are changed: address, and the bits of the byte.
type Change = Vec<(u64, u8)>;

/// The change of a row.
enum Mutant {
    /// The first place that fits.
    Code(fn(&Instruction, &[u8], u64) -> Option<Change>),
    /// The same, from the last instruction on.
    LastCode(fn(&Instruction, &[u8], u64) -> Option<Change>),
    /// The first word for AArch64 that is one of these except for its register, which is the lowest bits.
    Word(u32, u32),
    /// Constants that were read.
    Table(fn(&Image, &Report) -> Option<Change>),
    /// An argument is smaller by one.
    Argument(usize),
}

/// Name, backend, kernel, start of the parameter, change.
#[rustfmt::skip] // One line for each entry.
const MUTANTS: [(&str, &str, &str, &str, Mutant); 19] = [
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
    ("return that takes more", "avx512", "unpack_t0_ntt", "", Mutant::LastCode(|i, b, at| opcode(M::Ret, 0xc2, i, b, at))),
    ("return to a segment", "avx2", "unpack_t0_ntt", "", Mutant::LastCode(|i, b, at| opcode(M::Ret, 0xcb, i, b, at))),
    ("branch that counts", "portable", "unpack_t0_ntt", "", Mutant::Code(|i, b, at| opcode(M::Jne, 0xe0, i, b, at))),
];

/// The same for rejection sampling: name, backend, what is sampled, change.
#[rustfmt::skip] // One line for each entry.
const OF_REJECTION: [(&str, &str, Of, Mutant); 15] = [
    ("bound q + 1", "portable", (None, None), Mutant::Code(|i, b, at| compare(Q - 1, i, b, at))),
    ("bound q + 1 of eight", "portable", (None, None), Mutant::Code(sum)),
    ("room for eight", "portable", (None, None), Mutant::Code(|i, b, at| compare(248, i, b, at))),
    ("bound q + 1", "avx2", (None, None), Mutant::Table(modulus)),
    ("bound q + 1", "avx512", (None, None), Mutant::Table(modulus)),
    ("entry of the shuffles", "avx2", (None, None), Mutant::Table(shuffle)),
    ("entry of the shuffles", "avx2", (Some(2), None), Mutant::Table(shuffle)),
    ("order of half-bytes", "avx2", (Some(4), None), Mutant::Code(halves)),
    ("bound of half-bytes", "portable", (Some(2), None), Mutant::Code(|i, b, at| compare(15, i, b, at))),
    // Comparisons before it are of what is absorbed.
    ("bound of half-bytes", "portable", (Some(4), None), Mutant::LastCode(|i, b, at| compare(9, i, b, at))),
    ("store beyond the end", "portable", (Some(4), None), Mutant::Code(|i, b, at| compare(255, i, b, at))),
    ("store beyond the end", "avx512", (Some(4), None), Mutant::Code(|i, b, at| compare(240, i, b, at))),
    ("entry of the shuffles", "neon", (Some(2), None), Mutant::Table(shuffle)),
    // MOVZ with the lower half of q.
    ("bound q + 1", "neon", (None, Some(0)), Mutant::Word(0x529c_0020, 0x529c_0040)),
    ("bound q + 1", "neon-sha3", (None, Some(1)), Mutant::Word(0x529c_0020, 0x529c_0040)),
];

/// A comparison with a number becomes one with the next.
fn compare(number: u32, i: &Instruction, bytes: &[u8], at: u64) -> Option<Change> {
    let last = i.op_count().wrapping_sub(1);
    let is_number = i.mnemonic() == M::Cmp
        && !matches!(i.op_kind(last), OpKind::Register | OpKind::Memory)
        && i.immediate(last) == u64::from(number);
    let len = if number < 128 { 1 } else { 4 };
    let from = at + (bytes.len() - len) as u64;
    is_number.then(|| exchange(from, number.into(), u64::from(number) + 1, len))
}

/// Changes the difference to q to the difference to the next number.
fn sum(i: &Instruction, bytes: &[u8], at: u64) -> Option<Change> {
    let number = 0u32.wrapping_sub(Q);
    let is_it = i.mnemonic() == M::Lea && i.memory_displacement32() == number;
    let from = at + bytes.len() as u64 - 4;
    is_it.then(|| exchange(from, number.into(), u64::from(number) - 1, 4))
}

/// Of q, or of the largest number below it.
fn modulus(image: &Image, report: &Report) -> Option<Change> {
    [Q, Q - 1].into_iter().find_map(|most| {
        let at = find(image, report, most.into(), 4)?;
        Some(exchange(at, most.into(), u64::from(most) + 1, 4))
    })
}

/// Another opcode of one byte, where there is one.
fn opcode(of: M, to: u8, i: &Instruction, bytes: &[u8], at: u64) -> Option<Change> {
    (i.mnemonic() == of && bytes.len() <= 2).then(|| vec![(at, bytes[0] ^ to)])
}

/// The second and the third of eight lanes to the front.
fn shuffle(image: &Image, report: &Report) -> Option<Change> {
    Some(exchange(find(image, report, 0x201, 8)?, 0x201, 0x102, 8))
}

/// The sources in the other order.
fn halves(i: &Instruction, bytes: &[u8], at: u64) -> Option<Change> {
    let mut other = *i;
    other.set_op_register(1, i.op_register(2));
    other.set_op_register(2, i.op_register(1));
    let mut encoder = Encoder::new(64);
    let is_it = i.mnemonic() == M::Vpunpcklbw && encoder.encode(&other, at).is_ok();
    let all = bytes.iter().zip(encoder.take_buffer()).zip(at..);
    is_it.then(|| all.map(|((old, new), at)| (at, old ^ new)).collect())
}

/// Bytes of a number that becomes another one.
fn exchange(at: u64, old: u64, new: u64, len: usize) -> Change {
    let difference = (old ^ new).to_le_bytes();
    (0..len).map(|n| (at + n as u64, difference[n])).collect()
}

/// The address of a constant that was read, in steps of four bytes.
fn find(image: &Image, report: &Report, value: u64, len: usize) -> Option<u64> {
    let mut places = report.data.clone();
    places.sort_unstable();
    let parts = |&(at, size): &(u64, usize)| {
        let parts = (0..size.saturating_sub(len - 1)).step_by(4);
        parts.map(move |n| at + n as u64)
    };
    let wanted = &value.to_le_bytes()[..len];
    let mut all = places.iter().flat_map(parts);
    all.find(|&at| image.constant_bytes(at, len) == Some(wanted))
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
    let rotates = matches!(i.mnemonic(), M::Rol | M::Ror | M::Rorx | M::Vprolq);
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
        Mutant::Word(old, new) => code.iter().find_map(|&(at, _)| {
            let word = u32::from_le_bytes(*image.code(at)?.first_chunk()?);
            let is_it = word & !31 == *old;
            is_it.then(|| exchange(at, u64::from(*old), u64::from(*new), 4))
        }),
        Mutant::Table(f) => f(image, report),
        Mutant::Argument(_) => Some(Vec::new()),
    }
}

/// Runs all mutants; whether each of them was made and refused.
pub(crate) fn run(program: &Program, aarch64: &Program) -> Result<bool, String> {
    let image = &program.image;
    let planted = operations::planted(program)?;
    let count = planted.len();
    let mut refused = 0;
    for (name, entry) in planted {
        let (len, slice) = (32, false);
        let arguments = vec![
            Argument::Number(0),
            Argument::Fields { width: 1, slice },
            Argument::Output {
                len,
                slice,
                align: 1,
            },
        ];
        let row = row("planted", &*name, arguments, |_| {
            Ok((Ok(String::new()), Ok(String::new()), 0))
        });
        let kind = refusal(&prove(image, "planted", entry, &row, 0..1));
        println!("{name}: {}", kind.unwrap_or("NOT REFUSED"));
        refused += usize::from(kind == Some(LEAK));
    }
    let all = places(image, &|_, _| true)?;
    let results = parallel::map(MUTANTS.len(), |n| {
        let (name, backend, kernel, parameter, mutant) = &MUTANTS[n];
        let found = all.iter().find(|(b, _, row)| {
            b == backend && row.kernel == *kernel && row.parameter.starts_with(parameter)
        });
        let result = found.map_or(Err("no such row"), |place| one(image, place, mutant));
        println!(
            "{name}, {backend}::{kernel} {parameter}: {}",
            result.unwrap_or_else(|e| e)
        );
        result.is_ok()
    })?;
    refused += results.iter().filter(|refused| **refused).count();
    let results = parallel::map(OF_REJECTION.len(), |n| {
        let (name, backend, of, mutant) = &OF_REJECTION[n];
        let image = if backend.starts_with("neon") {
            &aarch64.image
        } else {
            image
        };
        // A part of the places has the code and the tables.
        let after = rejection::prove(image, backend, *of, 300).and_then(|before| {
            let mut image = image.clone();
            let change = changes(&image, &before, mutant)?;
            change.iter().for_each(|&(at, bits)| image.change(at, bits));
            rejection::prove(&image, backend, *of, usize::MAX)
        });
        let result = after.as_ref().map(refusal);
        println!("{name}, {backend} eta {:?}: {result:?}", of.0);
        matches!(result, Some(Some(_)))
    })?;
    refused += results.iter().filter(|refused| **refused).count();
    let permutation = all.iter().find(|(_, _, row)| row.kernel == "permute_x8");
    refused += usize::from(without_names(image, permutation.ok_or("no permutation")?)?);
    for is_refused in [
        unaligned(image, &all)?,
        kernel_of_another(image)?,
        unknown_table(image)?,
    ] {
        refused += usize::from(is_refused);
    }
    let all = MUTANTS.len() + OF_REJECTION.len() + count + 4;
    println!("mutants: {refused} of {all} refused");
    Ok(refused == all)
}

/// Whether the aligned stores of a kernel are refused where the type of polynomials is aligned to
/// four bytes, and only there.
fn unaligned(image: &Image, all: &[Place]) -> Result<bool, String> {
    let is_it = |(backend, _, row): &&Place| *backend == "avx512" && row.kernel == "inv_ntt";
    let (backend, at, _) = all.iter().find(is_it).ok_or("no row")?;
    let with = |alignment: i64| {
        let mut rows = crate::rows::rows().into_iter();
        let mut row = rows.find(|row| row.kernel == "inv_ntt")?;
        for argument in &mut row.arguments {
            if let Argument::Polynomials { align, .. } | Argument::Output { align, .. } = argument {
                *align = alignment;
            }
        }
        Some(refusal(&prove(image, backend, *at, &row, 0..1)))
    };
    let found = with(ALIGN).zip(with(4)).ok_or("no row")?;
    println!("polynomials aligned to {ALIGN} and to 4, {backend}::inv_ntt: {found:?}");
    Ok(found.0.is_none() && found.1.is_some())
}

/// Whether a kernel of AVX2 in the table of the portable backend is refused.
fn kernel_of_another(image: &Image) -> Result<bool, String> {
    let tables = tables(image)?;
    let [portable, avx2] = ["portable", "avx2"].map(|name| tables.get(name).copied());
    let (portable, avx2) = portable.zip(avx2).ok_or("no tables")?;
    let kernel = "unpack_t0_ntt";
    let place = slot(portable, kernel).ok_or("no such entry")?;
    let mut image = image.clone();
    image.set_pointer(place, entry(&image, avx2, kernel).ok_or("no such entry")?);
    let all = places(&image, &|backend, row| {
        backend == "portable" && row.kernel == kernel
    })?;
    let [(backend, at, row)] = &all[..] else {
        return Err("not one row".into());
    };
    let result = refusal(&prove(&image, backend, *at, row, 0..1));
    println!("kernel of AVX2 in the portable table: {result:?}");
    Ok(result.is_some())
}

/// Whether a program with one more table, of an unknown name, is refused.
fn unknown_table(image: &Image) -> Result<bool, String> {
    let table = *tables(image)?.get("avx2").ok_or("no table")?;
    let len = 16 + 8 * ENTRIES.len();
    let name = b"avx2 tuned";
    let (start, text) = (1 << 40, (1 << 40) + len as u64);
    let mut bytes = image
        .constant_bytes(table, len)
        .ok_or("no constant")?
        .to_vec();
    bytes[8] = name.len() as u8;
    bytes.extend(name);
    let pointers = (0..len as u64).step_by(8);
    let pointers = pointers.filter_map(|n| Some((start + n, *image.pointers.get(&(table + n))?)));
    let mut pointers: Vec<_> = pointers.collect();
    pointers[0].1 = text;
    let mut image = image.clone();
    image.add_constant(start, bytes, &pointers);
    let result = places(&image, &|_, _| true).map(|all| all.len());
    println!("table of an unknown name: {result:?}");
    Ok(result.is_err())
}

/// Whether a permutation is found in the program without names, and is not with another rotation.
fn without_names(image: &Image, permutation: &Place) -> Result<bool, String> {
    let (backend, at, row) = permutation;
    let report = prove(image, backend, *at, row, 0..1);
    let change = changes(image, &report, &Mutant::Code(rotation)).ok_or("no rotation")?;
    let found = [Vec::new(), change].map(|change| {
        let mut image = image.clone();
        image.names.clear();
        change.iter().for_each(|&(at, bits)| image.change(at, bits));
        permutations::find(&mut image)?;
        Ok::<_, String>(image.functions(row.function.unwrap_or_default()) == [*at])
    });
    println!(
        "rotation, {backend}::{} without names: found {found:?}",
        row.kernel
    );
    Ok(found == [Ok(true), Ok(false)])
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
