//! What whole operations assume: functions that are not executed, and reasons for which the library
//! declassifies.

use std::collections::BTreeMap;

use crate::image::Image;
use crate::machine::Machine;
use crate::memory::{Step, Value, as_number, constant_bits, leak, unknown};
use crate::places::slot;
use crate::terms::secret::{ALL, K, OTHER, S, T0};
use crate::terms::{ANY, Lit, PUBLIC, any_of, inputs_of, is_any};

/// Bytes of memory: the argument with the place, and the length.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    place: usize,
    len: Length,
}

#[derive(Clone, Copy)]
enum Length {
    Fixed(usize),
    /// Another argument, times a unit.
    Argument(usize, usize),
}

const fn fixed(place: usize, len: usize) -> Bytes {
    let len = Length::Fixed(len);
    Bytes { place, len }
}

const fn slice(place: usize, unit: usize) -> Bytes {
    let len = Length::Argument(place + 1, unit);
    Bytes { place, len }
}

/// Where a function is found.
#[derive(Clone, Copy)]
enum Found {
    /// In every kernel table.
    Entry,
    /// By its path; the number of functions in the program that have it.
    Path(usize),
}

/// A function that is not executed: it writes unknown bits to its output, which depend on its
/// input, and on nothing if all of that has to be public.
pub(super) struct Skipped {
    pub(super) name: &'static str,
    found: Found,
    input: Bytes,
    /// Arguments that are numbers, which have to be public.
    numbers: &'static [usize],
    output: Output,
    is_public: bool,
    pub(super) reason: &'static str,
}

enum Output {
    At(Bytes),
    /// A large result, for which the caller has memory.
    Result(usize),
}

pub(super) const SKIPPED: [Skipped; 5] = [
    Skipped {
        name: "expand_a",
        found: Found::Entry,
        input: fixed(0, 32),
        numbers: &[1, 2],
        output: Output::At(slice(3, 1024)),
        is_public: true,
        reason: "A and rho are public",
    },
    Skipped {
        name: "expand_s",
        found: Found::Entry,
        input: fixed(0, 64),
        numbers: &[1, 2],
        output: Output::At(slice(3, 1024)),
        is_public: false,
        reason: "which half-bytes ExpandS rejects is public; the rows of it say that nothing else is",
    },
    Skipped {
        name: "mldsa_core::sample::Challenge::sample_in_ball_vartime",
        found: Found::Path(1),
        input: slice(2, 1),
        numbers: &[0, 1],
        output: Output::Result(256),
        is_public: true,
        reason: "the challenge of an attempt",
    },
    Skipped {
        name: "mldsa_core::sample::Challenge::from_block",
        found: Found::Path(1),
        input: fixed(1, 136),
        numbers: &[0],
        output: Output::Result(257),
        is_public: true,
        reason: "the challenge of an attempt in a batch",
    },
    Skipped {
        name: "mldsa_core::coding::hint::hint_bit_pack_vartime",
        found: Found::Path(1),
        input: slice(0, 1),
        numbers: &[2],
        output: Output::At(slice(3, 1)),
        is_public: true,
        reason: "the hints of a finished signature",
    },
];

/// Answers with the backend of the operation.
pub(super) const CHOICE: [&str; 2] = [
    "mldsa_core::backend::Backend::detect",
    "<mldsa_core::backend::Backend as core::default::Default>::default",
];

/// The entry that the tables are taken not to have: A and the public key are public, and `tr` is
/// hashed after A.
pub(super) const ABSENT: &str = "expand_a_interleaved";

/// Makes what its arguments name public: address, length, and the reason as a string.
pub(super) const DECLASSIFY: &str = "mldsa_core::memory::secret::ct_check::declassify";

/// Every reason for which the library declassifies, and the inputs that the value may depend on.
#[rustfmt::skip] // One line for each entry.
pub(super) const REASONS: [(&str, u8); 9] = [
    ("rho is public", OTHER),
    ("t1 is the public key", OTHER | S),
    ("verdict of a key import", S | T0),
    ("c_tilde of an attempt", OTHER | K),
    ("r0 verdict of a row", OTHER | K | S),
    ("z verdict of a row", OTHER | K | S),
    ("ct0 verdict of a row", T0),
    ("hint weight verdict", ALL),
    ("the finished signature", ALL),
];

/// The functions that are not executed, by address: the index of each.
pub(super) fn skipped(
    image: &Image,
    tables: &BTreeMap<&str, u64>,
) -> Result<BTreeMap<u64, usize>, String> {
    let mut all = BTreeMap::new();
    for (n, skipped) in SKIPPED.iter().enumerate() {
        let found = match skipped.found {
            Found::Entry => {
                let slots = tables
                    .values()
                    .filter_map(|&table| slot(table, skipped.name));
                let functions = slots.map(|slot| image.pointers.get(&slot).copied());
                functions
                    .collect::<Option<Vec<_>>>()
                    .ok_or("a table without an entry")?
            }
            Found::Path(count) => {
                let found = image.at_path(skipped.name);
                if found.len() != count {
                    let text = format!("{}: {} functions, not {count}", skipped.name, found.len());
                    return Err(text);
                }
                found
            }
        };
        all.extend(found.into_iter().map(|at| (at, n)));
    }
    Ok(all)
}

/// Registers of the arguments of a function, after the place of a large result.
fn arguments(machine: &Machine<'_>, output: &Output) -> (Option<Value>, Vec<Value>) {
    let registers = machine.arguments();
    let of = |registers: &[usize]| {
        registers
            .iter()
            .map(|&n| machine.general[n].clone())
            .collect()
    };
    match output {
        Output::At(_) => (None, of(registers)),
        Output::Result(_) if machine.is_aarch64() => {
            (Some(machine.general[8].clone()), of(registers))
        }
        Output::Result(_) => (
            Some(machine.general[registers[0]].clone()),
            of(&registers[1..]),
        ),
    }
}

fn number(value: &Value) -> Step<usize> {
    match value {
        Value::Bits(bits) => match as_number(bits) {
            Some(n) => Ok(n as usize),
            None => leak("a length that is not known"),
        },
        Value::Pointer(..) => unknown("a pointer for a number"),
    }
}

/// The place and the length of bytes.
fn range(machine: &Machine<'_>, of: &Bytes, arguments: &[Value]) -> Step<((u32, i64), usize)> {
    let len = match of.len {
        Length::Fixed(len) => len,
        Length::Argument(n, unit) => unit * number(&arguments[n])?,
    };
    Ok((place(machine, &arguments[of.place])?, len))
}

fn place(machine: &Machine<'_>, value: &Value) -> Step<(u32, i64)> {
    match machine.memory.pointer(value.clone()) {
        Value::Pointer(region, offset) => Ok((region, offset)),
        Value::Bits(_) => leak("a place that depends on data"),
    }
}

/// The address after a function that is not executed: what it need not restore holds anything.
fn left(machine: &mut Machine<'_>, result: Value) -> Step<u64> {
    let next = machine.return_address();
    machine.forget_of_callee();
    machine.general[0] = result;
    next
}

/// The state after a function that answers with the backend.
pub(super) fn choose(machine: &mut Machine<'_>, table: u64) -> Step<u64> {
    left(machine, Value::Bits(constant_bits(table, 64)))
}

impl Skipped {
    /// The state after the function.
    pub(super) fn returned(&self, machine: &mut Machine<'_>) -> Step<u64> {
        let (result, arguments) = arguments(machine, &self.output);
        for &n in self.numbers {
            let is_public = match &arguments[n] {
                Value::Bits(bits) => any_of(bits) == PUBLIC,
                Value::Pointer(..) => true,
            };
            if !is_public {
                return leak("an argument of a function that is not executed is not public");
            }
        }
        let (at, len) = range(machine, &self.input, &arguments)?;
        let input = any_of(&machine.memory.read(at, len)?);
        if self.is_public && input != PUBLIC {
            return leak("the input of a function that is not executed is not public");
        }
        let (at, len) = match (&self.output, result.as_ref()) {
            (Output::Result(len), Some(result)) => (place(machine, result)?, *len),
            (Output::At(bytes), _) => range(machine, bytes, &arguments)?,
            (Output::Result(_), None) => return unknown("no place of a result"),
        };
        machine.memory.write(at, &vec![input; 8 * len])?;
        // On x86-64 the address of a large result is also the first result.
        let first = result.filter(|_| !machine.is_aarch64());
        left(machine, first.unwrap_or_else(|| Value::Bits(vec![ANY; 64])))
    }
}

/// The state after a call that declassifies; the index of its reason.
pub(super) fn declassify(machine: &mut Machine<'_>) -> Step<(usize, u64)> {
    let registers = machine.arguments();
    let [at, len, why, why_len] = core::array::from_fn(|n| machine.general[registers[n]].clone());
    let (at, len) = (place(machine, &at)?, number(&len)?);
    let (why, why_len) = (place(machine, &why)?, number(&why_len)?);
    let bytes = machine.memory.read(why, why_len)?;
    let text: Option<Vec<u8>> = bytes
        .chunks(8)
        .map(|bits| as_number(bits).map(|byte| byte as u8))
        .collect();
    let text = text.map_or_else(
        || "?".into(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    );
    let Some(n) = REASONS.iter().position(|(reason, _)| *reason == text) else {
        return leak(format!(
            "declassified for a reason that is not listed, `{text}`"
        ));
    };
    let mut bits = machine.memory.read(at, len)?;
    let depends = bits.iter().fold(0, |all, &bit| all | inputs_of(bit));
    if depends & !REASONS[n].1 != 0 {
        return leak(format!(
            "`{text}`: the value depends on more inputs, {depends:#b}"
        ));
    }
    let unknown = bits.iter_mut().filter(|bit| is_any(**bit));
    unknown.for_each(|bit: &mut Lit| *bit = PUBLIC);
    machine.memory.write(at, &bits)?;
    Ok((n, left(machine, Value::Bits(vec![ANY; 64]))?))
}
