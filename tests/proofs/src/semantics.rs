//! Every form of instruction that the proofs met, against this CPU.
//!
//! The terms of one instruction on unknown registers are evaluated on the same values that the
//! CPU gets. The CPU runs in a process of its own: a program that is written here, which reads
//! registers and memory, executes the instruction, and writes them back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic as M,
    OpKind, Register,
};

use crate::evaluate::{Item, Values, assembled, evaluate, literal, order};
use crate::image::Image;
use crate::machine::Machine;
use crate::memory::{Value, constant_bits};
use crate::one_instruction::{
    BATCH, CASE, FLAGS, GENERAL, MASKS, MEMORY, SHORT_CASE, VECTORS, canonical, program,
};
use crate::terms::{Lit, Op, WordId};

/// Operands of each form, counted in elements of 64 bits.
const OPERANDS: usize = 100_000;
const FLAG_BITS: [u32; 4] = [6, 0, 7, 11];

/// A form: instruction without its registers and addresses.
type Form = (Code, Vec<u64>, bool, bool, bool);

fn form(i: &Instruction) -> Form {
    // The immediate of a sum and the like is an operand; that of a shift or a shuffle is not.
    use {M::Add, M::And, M::Cmp, M::Imul, M::Mov, M::Or, M::Sub, M::Test, M::Xor};
    let sums = [Add, Sub, Cmp, And, Or, Xor, Test, Mov, Imul];
    let is_sum = sums.contains(&i.mnemonic());
    let immediates = (0..i.op_count())
        .filter(|&n| is_immediate(i, n) && !is_sum)
        .map(|n| i.immediate(n))
        .collect();
    (
        i.code(),
        immediates,
        i.op_mask() != Register::None,
        i.zeroing_masking(),
        i.is_broadcast(),
    )
}

fn is_immediate(i: &Instruction, n: u32) -> bool {
    !matches!(
        i.op_kind(n),
        OpKind::Register | OpKind::Memory | OpKind::NearBranch64
    )
}

/// Instructions that no register state shows: control flow, and what works on pointers.
fn is_control(i: &Instruction) -> bool {
    use {M::Div, M::Endbr64, M::Nop, M::Pop, M::Push, M::Vzeroall, M::Vzeroupper};
    let others = [Push, Pop, Nop, Endbr64, Div, Vzeroall, Vzeroupper];
    i.flow_control() != FlowControl::Next || others.contains(&i.mnemonic())
}

/// Compares all forms; their number, and those that differ or could not be compared.
pub(crate) fn compare(
    image: &Image,
    met: &BTreeMap<Vec<u8>, u64>,
) -> Result<(usize, Vec<String>), String> {
    let mut forms: BTreeMap<String, Instruction> = BTreeMap::new();
    let mut control = BTreeSet::new();
    for (bytes, &at) in met {
        let i = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
        if is_control(&i) {
            control.insert(format!("{:?}", i.mnemonic()));
            continue;
        }
        forms.entry(format!("{:?}", form(&i))).or_insert(i);
    }
    let (mut compared, mut bad) = (0, Vec::new());
    in_scratch_folder(|folder| {
        for (name, i) in &forms {
            match one(image, i, folder) {
                Ok(()) => compared += 1,
                Err(text) => bad.push(format!("{name} ({i:?}): {text}", i = i.mnemonic())),
            }
        }
        Ok(())
    })?;
    print_control(control);
    Ok((compared, bad))
}

/// Runs `work` with a folder that is removed afterwards.
pub(crate) fn in_scratch_folder<T>(
    work: impl FnOnce(&Path) -> Result<T, String>,
) -> Result<T, String> {
    let folder = std::env::temp_dir().join(format!("mldsa-proofs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let result = work(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

/// Names the instructions that are not compared.
pub(crate) fn print_control(names: BTreeSet<String>) {
    let names = names.into_iter().collect::<Vec<_>>().join(" ");
    println!("not compared, because registers do not show what they do: {names}");
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number at random, or with lanes at their edges.
    pub(crate) fn number(&mut self) -> u64 {
        let lane = [8, 16, 32, 64][(self.next() >> 20) as usize % 4];
        let edge = |r: u64| match r >> 20 & 7 {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << (lane - 1),
            3 => (1 << (lane - 1)) - 1,
            4 => r >> 40 & 15,
            5 => (r >> 40 & 15).wrapping_neg(),
            _ => r.rotate_left(17),
        };
        match self.next() >> 30 & 3 {
            0 | 1 => self.next(),
            _ => (0..64 / lane).fold(0, |n, at| {
                n | (edge(self.next()) & crate::terms::mask(lane)) << (lane * at % 64)
            }),
        }
    }
}

/// A source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    General(usize),
    Mask(usize),
    Vector(usize),
    Memory,
}

fn one(image: &Image, i: &Instruction, folder: &Path) -> Result<(), String> {
    let (i, base) = canonical(i)?;
    let path = folder.join("case");
    // Registers and memory that the instruction uses.
    let mut factory = InstructionInfoFactory::new();
    let mut sources = Vec::new();
    for used in factory.info(&i).used_registers() {
        let register = used.register();
        let source = if register.is_k() {
            Source::Mask(register.number())
        } else if register.is_vector_register() {
            Source::Vector(register.number())
        } else if register.is_gpr()
            && Some(register.full_register()) != base
            && register.full_register() != Register::RSP
        {
            Source::General(register.full_register().number())
        } else {
            continue;
        };
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    if base.is_some() {
        sources.push(Source::Memory);
    }
    let has_vectors = sources
        .iter()
        .any(|s| matches!(s, Source::Vector(_) | Source::Mask(_)));
    let len = if has_vectors { CASE } else { SHORT_CASE };
    let elf = program(&i, base, len)?;
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700)
        .open(&path)
        .and_then(|mut f| f.write_all(&elf))
        .map_err(|e| e.to_string())?;
    let width = (0..i.op_count())
        .filter(|&n| i.op_kind(n) == OpKind::Register && i.op_register(n).is_vector_register())
        .map(|n| i.op_register(n).size() / 8)
        .max();
    let narrow = format!("{:?}", i.mnemonic()).starts_with("Vpmadd52");
    let mut random = Random(0x1234_5678_9abc_def1);
    let fresh = || -> Vec<u8> {
        let mut case = vec![0; len];
        for &source in &sources {
            let (from, len) = place(source);
            for at in (from..from + len).step_by(8) {
                let n = random.number();
                let n = if narrow { n & 0xffff_ffff } else { n };
                case[at..at + 8].copy_from_slice(&n.to_le_bytes());
            }
        }
        // The four flags that are compared, and the one that is always set.
        let flags = (random.next() & 0x8c1) | 2;
        case[FLAGS..FLAGS + 8].copy_from_slice(&flags.to_le_bytes());
        case
    };
    let places: Vec<_> = sources
        .iter()
        .map(|&s| (s, place(s).0, place(s).1))
        .collect();
    on_cases(
        &places,
        width.unwrap_or(1),
        fresh,
        |set, case| Terms::of(image, &i, base, &sources, set, case, narrow),
        |input| on_cpu(&mut Command::new(&path), len, input),
        (FLAGS, FLAG_BITS),
    )
}

/// Compares an instruction on random cases. Of its sources, each with its first byte in a case and
/// the number of its bytes, as few as possible are constants: none, one, two, all.
pub(crate) fn on_cases<'a, S: Copy + PartialEq>(
    sources: &[(S, usize, usize)],
    elements: usize,
    mut fresh: impl FnMut() -> Vec<u8>,
    terms: impl Fn(&[S], &[u8]) -> Result<Terms<'a>, String>,
    run: impl FnOnce(&[Vec<u8>]) -> Result<Vec<Vec<u8>>, String>,
    (flags, places): (usize, [u32; 4]),
) -> Result<(), String> {
    let all: Vec<S> = sources.iter().map(|source| source.0).collect();
    let mut sets: Vec<Vec<S>> = vec![vec![]];
    sets.extend(all.iter().map(|&source| vec![source]));
    for (n, &a) in all.iter().enumerate() {
        sets.extend(all[n + 1..].iter().map(|&b| vec![a, b]));
    }
    sets.push(all);
    let (first, mut last) = (fresh(), String::new());
    let constants = sets.into_iter().find(|set| {
        let result = terms(set, &first);
        result.map_err(|text| last = text).is_ok()
    });
    let constants = constants.ok_or(last)?;
    let cases = OPERANDS.div_ceil(elements).div_ceil(BATCH) * BATCH;
    let mut input: Vec<Vec<u8>> = Vec::with_capacity(cases);
    for n in 0..cases {
        let mut case = fresh();
        // With constants one batch shares them.
        for &(source, from, len) in sources.iter().filter(|_| n % BATCH > 0) {
            if constants.contains(&source) {
                let shared = input[n - n % BATCH][from..from + len].to_vec();
                case[from..from + len].copy_from_slice(&shared);
            }
        }
        input.push(case);
    }
    let output = run(&input)?;
    let group = if constants.is_empty() { cases } else { BATCH };
    for (input, output) in input.chunks(group).zip(output.chunks(group)) {
        terms(&constants, &input[0])?.compare(input, output, flags, places)?;
    }
    Ok(())
}

/// Results of a program on the cases.
pub(crate) fn on_cpu(
    program: &mut Command,
    case: usize,
    input: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, String> {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let (Some(mut stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("no pipe".into());
    };
    let mut output = vec![0; input.len() * case];
    let read = std::thread::scope(|scope| {
        scope.spawn(move || {
            for batch in input.chunks(BATCH) {
                let _ = stdin.write_all(&batch.concat());
            }
        });
        stdout
            .read_exact(&mut output)
            .map_err(|e| format!("the CPU stopped: {e}"))
    });
    let _ = child.wait();
    read?;
    Ok(output.chunks(case).map(<[u8]>::to_vec).collect())
}

/// Place of a source in a case: first byte, bytes.
fn place(source: Source) -> (usize, usize) {
    match source {
        Source::General(n) => (GENERAL + 8 * n, 8),
        Source::Mask(n) => (MASKS + 8 * n, 8),
        Source::Vector(n) => (VECTORS + 64 * n, 64),
        Source::Memory => (MEMORY, 64),
    }
}

/// The terms of an instruction on unknown sources.
pub(crate) struct Terms<'a> {
    pub(crate) machine: Machine<'a>,
    /// Place and input words of each unknown source.
    pub(crate) inputs: Vec<(usize, WordId)>,
    /// Flags before: zero, carry, sign, overflow.
    pub(crate) flags: WordId,
    pub(crate) outputs: Vec<(usize, Vec<Lit>)>,
}

impl<'a> Terms<'a> {
    fn of(
        image: &'a Image,
        i: &Instruction,
        base: Option<Register>,
        sources: &[Source],
        constants: &[Source],
        case: &[u8],
        narrow: bool,
    ) -> Result<Self, String> {
        let mut machine = Machine::new(image);
        let mut inputs = Vec::new();
        let region = machine.memory.region("memory", 64, true, 64);
        for &source in sources {
            let (from, len) = place(source);
            let mut bits = Vec::new();
            for at in (from..from + len).step_by(8) {
                if constants.contains(&source) {
                    let value = u64::from_le_bytes(core::array::from_fn(|n| case[at + n]));
                    bits.extend(constant_bits(value, 64));
                } else {
                    let high = u64::MAX >> if narrow { 32 } else { 0 };
                    let word = machine.terms.input(64, 0, high.into(), false);
                    bits.extend(machine.terms.bits(word));
                    inputs.push((at, word));
                }
            }
            match source {
                Source::General(n) => machine.general[n] = Value::Bits(bits),
                Source::Mask(n) => machine.masks[n] = bits,
                Source::Vector(n) => machine.vectors[n] = bits,
                Source::Memory => machine.memory.set_bits(region, 0, &bits),
            }
        }
        let flags = machine.any_flags();
        if let Some(base) = base {
            machine.general[base.number()] = Value::Pointer(region, 0);
        }
        machine.step(i).map_err(|stop| format!("{stop:?}"))?;
        let mut outputs = Vec::new();
        for &source in sources {
            let (from, _) = place(source);
            let bits = match source {
                Source::General(n) => match &machine.general[n] {
                    Value::Bits(bits) => bits.clone(),
                    Value::Pointer(..) => return Err("a pointer".into()),
                },
                Source::Mask(n) => machine.masks[n].clone(),
                Source::Vector(n) => machine.vectors[n].clone(),
                Source::Memory => machine.memory.region_bits(region).to_vec(),
            };
            outputs.extend(
                bits.chunks(64)
                    .enumerate()
                    .map(|(n, bits)| (from + 8 * n, bits.to_vec())),
            );
        }
        Ok(Self {
            machine,
            inputs,
            flags,
            outputs,
        })
    }

    /// Compares outputs and flags, which are those bits of the word at `flags_at`.
    fn compare(
        &self,
        input: &[Vec<u8>],
        output: &[Vec<u8>],
        flags_at: usize,
        places: [u32; 4],
    ) -> Result<(), String> {
        let terms = &self.machine.terms;
        let number =
            |case: &[u8], at: usize| u64::from_le_bytes(core::array::from_fn(|n| case[at + n]));
        let after = [
            &self.machine.flags.zero,
            &self.machine.flags.carry,
            &self.machine.flags.sign,
            &self.machine.flags.overflow,
        ]
        .map(|f| *f);
        let bits = self
            .outputs
            .iter()
            .flat_map(|(_, bits)| bits.iter().copied())
            .chain(after.into_iter().flatten());
        let mut targets: Vec<Item> = bits
            .filter(|&bit| bit > 1)
            .map(|bit| Item::Node(bit >> 1))
            .collect();
        targets.dedup();
        let plan = order(
            terms,
            &targets,
            &|item| matches!(item, Item::Word(word) if matches!(terms.words[word as usize].op, Op::Input(_))),
        );
        for (input, output) in input.chunks(1 << 10).zip(output.chunks(1 << 10)) {
            let count = input.len();
            let mut values = Values::default();
            for &(at, word) in &self.inputs {
                values.insert(
                    Item::Word(word),
                    input.iter().map(|case| number(case, at)).collect(),
                );
            }
            let flag_bits = |case: &[u8]| {
                places.iter().enumerate().fold(0, |all, (n, &bit)| {
                    all | (number(case, flags_at) >> bit & 1) << n
                })
            };
            values.insert(
                Item::Word(self.flags),
                input.iter().map(|case| flag_bits(case)).collect(),
            );
            // Registers that are not read have no value in a case.
            for &item in &plan {
                if let Item::Word(word) = item
                    && matches!(terms.words[word as usize].op, Op::Input(_))
                    && !values.contains_key(&item)
                {
                    return Err(
                        "a result depends on a register that the instruction does not name".into(),
                    );
                }
            }
            evaluate(terms, &plan, &mut values, count);
            for (at, bits) in &self.outputs {
                let got = assembled(&values, bits, count);
                for (n, got) in got.into_iter().enumerate() {
                    let cpu = number(&output[n], *at);
                    if cpu != got {
                        return Err(format!(
                            "{got:#x} and not {cpu:#x}, as the CPU says, at {at}"
                        ));
                    }
                }
            }
            for (flag, bit) in after.iter().zip(places) {
                let Some(flag) = flag else { continue };
                for (n, got) in literal(&values, *flag, count).into_iter().enumerate() {
                    if got != number(&output[n], flags_at) >> bit & 1 {
                        return Err(format!("flag {bit}"));
                    }
                }
            }
        }
        Ok(())
    }
}
