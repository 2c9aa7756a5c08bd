//! Every form of instruction that the proofs met, against a CPU or its emulator.
//!
//! The terms of one instruction on unknown registers are evaluated on the same values that the
//! CPU gets. The CPU runs in a process of its own: a program with a block for each form, which
//! loads the registers that the instruction names, executes it and stores them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::evaluate::{Item, Values, assembled, evaluate, literal, order};
use crate::exhaust::nodes;
use crate::image::Image;
use crate::machine::Machine;
use crate::memory::{Step, Value, constant_bits};
use crate::terms::{Lit, Op, WordId};

/// Operands of each form, counted in elements of 64 bits.
const OPERANDS: usize = 100_000;
const BATCH: usize = 64;
/// Bytes of a case: memory, flags, number of the block, registers. The last 16 are a stack of the
/// next case.
const MEMORY: usize = 64;
const FLAGS: usize = MEMORY;
const BLOCK: usize = FLAGS + 8;
const REGISTERS: usize = 128;
const CASE: usize = 512;

/// A source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    General(usize),
    Mask(usize),
    Vector(usize),
    Memory,
}

/// The register with the address of a memory operand.
#[derive(Clone, Copy, Default)]
pub(crate) struct Base {
    pub(crate) register: usize,
    /// Its offset, with which the access is at the begin of the memory.
    pub(crate) offset: i64,
    /// Whether the instruction adds to it, and whether it loads another value.
    pub(crate) is_updated: bool,
    pub(crate) is_overwritten: bool,
}

/// The sources and results of an instruction.
#[derive(Clone, Default)]
pub(crate) struct Named {
    pub(crate) sources: Vec<Source>,
    pub(crate) base: Option<Base>,
    /// A register that is added to the address, and its value.
    pub(crate) index: Option<(usize, u64)>,
    /// Whether words are below 2^32.
    pub(crate) is_narrow: bool,
    /// Elements of 64 bits in a vector.
    pub(crate) elements: usize,
}

impl Named {
    /// The largest word.
    const fn most(&self) -> u64 {
        u64::MAX >> if self.is_narrow { 32 } else { 0 }
    }
}

/// A CPU or its emulator.
pub(crate) struct Cpu {
    pub(crate) compiler: &'static str,
    /// A command that runs a program.
    pub(crate) emulator: &'static [&'static str],
    /// Reads a batch, executes each case by its block, writes the batch.
    pub(crate) frame: &'static str,
    /// Bytes of a vector register that a case has.
    pub(crate) vector: fn() -> usize,
    /// Zero, carry, sign, overflow.
    pub(crate) flags: [u32; 4],
    /// A flag that is always set.
    pub(crate) always: u64,
}

/// An instruction of an architecture.
pub(crate) trait Tested: Sized {
    const CPU: Cpu;

    fn decoded(code: &[u8], at: u64) -> Option<Self>;
    /// The name, and whether registers do not show what it does.
    fn name(&self) -> (String, bool);
    /// The instruction without its registers and addresses, as a text.
    fn form(&self) -> String;
    /// The instruction with other registers and addresses, where the program needs it.
    fn canonical(self) -> Result<Self, String>;
    fn named(&self) -> Named;
    /// The block of the program: source lines.
    fn block(form: &Form<Self>) -> Result<String, String>;
    fn execute(&self, machine: &mut Machine<'_>) -> Step<u64>;
    /// Whether the CPU or its emulator has the instruction.
    fn is_here(&self) -> bool;
}

/// An instruction with its registers and their places in a case.
pub(crate) struct Form<T> {
    name: String,
    pub(crate) block: usize,
    pub(crate) instruction: T,
    pub(crate) named: Named,
    pub(crate) sources: Vec<(Source, usize)>,
}

/// Compares all forms; their number, and those that differ or could not be compared.
pub(crate) fn compare<T: Tested>(
    image: &Image,
    met: &BTreeMap<Vec<u8>, u64>,
) -> Result<(usize, Vec<String>), String> {
    let (mut all, mut control) = (BTreeMap::new(), BTreeSet::new());
    for (code, &at) in met {
        let i = T::decoded(code, at).ok_or("an invalid instruction")?;
        match i.name() {
            (name, true) => drop(control.insert(name)),
            (name, false) => drop(all.entry(format!("{name} {}", i.form())).or_insert((i, at))),
        }
    }
    let (mut forms, mut compared, mut bad) = (Vec::new(), 0, Vec::new());
    let count = all.len();
    all.retain(|_, (i, _)| i.is_here());
    if all.len() < count {
        println!(
            "not compared, because this CPU does not have them: {} of {count} forms",
            count - all.len()
        );
    }
    for (name, (i, at)) in all {
        match i.canonical().and_then(|i| Form::new(&name, forms.len(), i)) {
            Ok(form) => forms.push(form),
            Err(text) => bad.push(format!("{name} at {}: {text}", image.name(at))),
        }
    }
    let folder = std::env::temp_dir().join(format!("mldsa-proofs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let program = assemble(&forms, &folder);
    for form in &forms {
        let program = program.as_deref().map_err(Clone::clone);
        let one = core::panic::AssertUnwindSafe(|| form.one(image, program?));
        let result = std::panic::catch_unwind(one);
        match result.unwrap_or_else(|_| Err("the domain gave up".into())) {
            Ok(()) => compared += 1,
            Err(text) => bad.push(format!("{}: {text}", form.name)),
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    let names = control.into_iter().collect::<Vec<_>>().join(" ");
    println!("not compared, because registers do not show what they do: {names}");
    Ok((compared, bad))
}

fn assemble<T: Tested>(forms: &[Form<T>], folder: &Path) -> Result<PathBuf, String> {
    let len = BATCH * CASE;
    let mut text = format!(
        ".set CASE, {CASE}\n.set LEN, {len}\n.set FLAGS, {FLAGS}\n.set BLOCK, {BLOCK}\n{}",
        T::CPU.frame
    );
    for form in forms {
        text += &format!("block{}:\n{}", form.block, T::block(form)?);
    }
    text += ".data\n.balign 8\nblocks:\n";
    for form in forms {
        text += &format!(".quad block{}\n", form.block);
    }
    text += &format!(".bss\n.balign 64\n.skip 64\nbuffer: .skip {len}\n");
    let (source, program) = (folder.join("forms.s"), folder.join("forms"));
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    let compiler = T::CPU.compiler;
    let mut command = Command::new(compiler);
    command.args(["-nostdlib", "-static", "-o"]);
    let status = command.args([&program, &source]).status();
    if status.map_err(|e| format!("{compiler}: {e}"))?.success() {
        Ok(program)
    } else {
        Err("the program of forms does not assemble".into())
    }
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
    fn number(&mut self) -> u64 {
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

/// The word at a place of a case.
fn number(case: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(core::array::from_fn(|n| case[at + n]))
}

impl<T: Tested> Form<T> {
    fn new(name: &str, block: usize, instruction: T) -> Result<Self, String> {
        let named = instruction.named();
        let (mut at, mut sources) = (REGISTERS, Vec::<(Source, usize)>::new());
        for &source in &named.sources {
            if sources.iter().any(|(known, _)| *known == source) {
                continue;
            }
            if source == Source::Memory {
                sources.push((source, 0));
                continue;
            }
            sources.push((source, at));
            at += Self::len(source).max(16);
        }
        if at > CASE - 16 {
            return Err("too many registers".into());
        }
        Ok(Self {
            name: name.to_owned(),
            block,
            instruction,
            named,
            sources,
        })
    }

    /// Bytes of a source.
    fn len(source: Source) -> usize {
        match source {
            Source::General(_) | Source::Mask(_) => 8,
            Source::Vector(_) => (T::CPU.vector)(),
            Source::Memory => MEMORY,
        }
    }

    /// The base, if a source is it.
    pub(crate) fn base(&self, source: Source) -> Option<Base> {
        let base = self.named.base?;
        (source == Source::General(base.register)).then_some(base)
    }

    /// A case at random.
    fn case(&self, random: &mut Random) -> Vec<u8> {
        let mut case = vec![0; CASE];
        let mut put = |at: usize, n: u64| case[at..at + 8].copy_from_slice(&n.to_le_bytes());
        for &(source, from) in &self.sources {
            let fixed = match self.named.index {
                Some((n, value)) if source == Source::General(n) => Some(value),
                _ => self.base(source).map(|base| base.offset as u64),
            };
            let most = self.named.most();
            for at in (from..from + Self::len(source)).step_by(8) {
                put(at, fixed.unwrap_or_else(|| random.number() & most));
            }
        }
        let flags = T::CPU.flags.iter().fold(0, |all, bit| all | 1 << bit);
        put(FLAGS, random.next() & flags | T::CPU.always);
        put(BLOCK, self.block as u64);
        case
    }

    /// Compares the instruction on random cases. Of its sources as few as possible are constants:
    /// none, one, two, all.
    fn one(&self, image: &Image, program: &Path) -> Result<(), String> {
        let all: Vec<Source> = self.sources.iter().map(|source| source.0).collect();
        let mut sets: Vec<Vec<Source>> = vec![vec![]];
        sets.extend(all.iter().map(|&source| vec![source]));
        for (n, &a) in all.iter().enumerate() {
            sets.extend(all[n + 1..].iter().map(|&b| vec![a, b]));
        }
        sets.push(all);
        let mut random = Random(0x1234_5678_9abc_def1);
        let (first, mut last) = (self.case(&mut random), String::new());
        let constants = sets.into_iter().find(|set| {
            let result = self.terms(image, set, &first);
            result.map_err(|text| last = text).is_ok()
        });
        let constants = constants.ok_or(last)?;
        let cases = OPERANDS.div_ceil(self.named.elements).div_ceil(BATCH) * BATCH;
        let mut input: Vec<Vec<u8>> = Vec::with_capacity(cases);
        for n in 0..cases {
            let mut case = self.case(&mut random);
            // With constants one batch shares them.
            for &(source, from) in self.sources.iter().filter(|_| n % BATCH > 0) {
                if constants.contains(&source) {
                    let place = from..from + Self::len(source);
                    case[place.clone()].copy_from_slice(&input[n - n % BATCH][place]);
                }
            }
            input.push(case);
        }
        let output = self.on_cpu(program, &input)?;
        let group = if constants.is_empty() { cases } else { BATCH };
        for (input, output) in input.chunks(group).zip(output.chunks(group)) {
            let terms = self.terms(image, &constants, &input[0])?;
            terms.compare(T::CPU.flags, input, output)?;
        }
        Ok(())
    }

    /// Results of the program on the cases.
    fn on_cpu(&self, program: &Path, input: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        let mut words = T::CPU.emulator.iter().map(Path::new).chain([program]);
        let mut command = Command::new(words.next().unwrap_or(program));
        command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| e.to_string())?;
        let (Some(mut stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipe".into());
        };
        let mut output = vec![0; input.len() * CASE];
        let read = std::thread::scope(|scope| {
            scope.spawn(move || {
                for batch in input.chunks(BATCH) {
                    let _ = stdin.write_all(&batch.concat());
                }
            });
            stdout.read_exact(&mut output)
        });
        let _ = child.wait();
        read.map_err(|e| format!("the CPU stopped: {e}"))?;
        Ok(output.chunks(CASE).map(<[u8]>::to_vec).collect())
    }

    /// The terms of the instruction on unknown sources.
    fn terms<'a>(
        &self,
        image: &'a Image,
        constants: &[Source],
        case: &[u8],
    ) -> Result<Terms<'a>, String> {
        let mut machine = Machine::new(image);
        let mut inputs = Vec::new();
        let region = machine.memory.region("memory", MEMORY, true, 64);
        for &(source, from) in &self.sources {
            let is_index = self.named.index.map(|(n, _)| Source::General(n)) == Some(source);
            let is_constant = constants.contains(&source) || is_index;
            let mut bits = Vec::new();
            for at in (from..from + Self::len(source)).step_by(8) {
                if is_constant || self.base(source).is_some() {
                    bits.extend(constant_bits(number(case, at), 64));
                } else {
                    let word = machine.terms.input(64, 0, self.named.most().into(), false);
                    bits.extend(machine.terms.bits(word));
                    inputs.push((at, word));
                }
            }
            match source {
                Source::General(n) => {
                    let base = self.base(source);
                    let pointer = base.map(|base| Value::Pointer(region, base.offset));
                    machine.general[n] = pointer.unwrap_or(Value::Bits(bits));
                }
                Source::Mask(n) => machine.masks[n] = bits,
                Source::Vector(n) => {
                    bits.resize(512, 0);
                    machine.vectors[n] = bits;
                }
                Source::Memory => machine.memory.set_bits(region, 0, &bits),
            }
        }
        let flags = machine.any_flags();
        let result = self.instruction.execute(&mut machine);
        result.map_err(|stop| format!("{stop:?}"))?;
        let mut outputs = Vec::new();
        for &(source, from) in &self.sources {
            let bits = match source {
                Source::General(n) => match (&machine.general[n], self.base(source)) {
                    (Value::Bits(bits), _) => bits.clone(),
                    (Value::Pointer(_, offset), Some(base)) if base.is_updated => {
                        constant_bits(*offset as u64, 64)
                    }
                    // As it was, unless it is what a load writes.
                    (Value::Pointer(..), Some(base)) if !base.is_overwritten => continue,
                    (Value::Pointer(..), _) => return Err("a pointer".into()),
                },
                Source::Mask(n) => machine.masks[n].clone(),
                Source::Vector(n) => machine.vectors[n][..8 * (T::CPU.vector)()].to_vec(),
                Source::Memory => machine.memory.region_bits(region).to_vec(),
            };
            let words = bits.chunks(64).enumerate();
            outputs.extend(words.map(|(n, bits)| (from + 8 * n, bits.to_vec())));
        }
        Ok(Terms {
            machine,
            inputs,
            flags,
            outputs,
        })
    }
}

/// The terms of an instruction on unknown sources.
struct Terms<'a> {
    machine: Machine<'a>,
    /// Place and input words of each unknown source.
    inputs: Vec<(usize, WordId)>,
    /// Flags before: zero, carry, sign, overflow.
    flags: WordId,
    outputs: Vec<(usize, Vec<Lit>)>,
}

impl Terms<'_> {
    /// Compares outputs and flags, which are those bits of their word.
    fn compare(
        &self,
        places: [u32; 4],
        input: &[Vec<u8>],
        output: &[Vec<u8>],
    ) -> Result<(), String> {
        let (terms, flags) = (&self.machine.terms, &self.machine.flags);
        let after = [flags.zero, flags.carry, flags.sign, flags.overflow];
        let bits = self.outputs.iter().flat_map(|(_, bits)| bits);
        let bits: Vec<Lit> = bits.copied().chain(after.into_iter().flatten()).collect();
        let is_input = |item| matches!(item, Item::Word(word) if matches!(terms.words[word as usize].op, Op::Input(_)));
        let plan = order(terms, &nodes(&bits), &is_input);
        for (input, output) in input.chunks(1 << 10).zip(output.chunks(1 << 10)) {
            let count = input.len();
            let mut values = Values::default();
            for &(at, word) in &self.inputs {
                let words = input.iter().map(|case| number(case, at));
                values.insert(Item::Word(word), words.collect());
            }
            let flag_bits = |case: &Vec<u8>| {
                let bits = places.iter().enumerate();
                bits.fold(0, |all, (n, bit)| {
                    all | (number(case, FLAGS) >> bit & 1) << n
                })
            };
            values.insert(
                Item::Word(self.flags),
                input.iter().map(flag_bits).collect(),
            );
            // Registers that are not read have no value in a case.
            if plan
                .iter()
                .any(|item| is_input(*item) && !values.contains_key(item))
            {
                let text = "a result depends on a register that the instruction does not name";
                return Err(text.into());
            }
            evaluate(terms, &plan, &mut values, count);
            for (at, bits) in &self.outputs {
                for (got, output) in assembled(&values, bits, count).into_iter().zip(output) {
                    let cpu = number(output, *at);
                    if cpu != got {
                        let text = "as the CPU says, at";
                        return Err(format!("{got:#x} and not {cpu:#x}, {text} {at}"));
                    }
                }
            }
            for (flag, bit) in after.iter().zip(places) {
                let Some(flag) = flag else { continue };
                for (got, output) in literal(&values, *flag, count).into_iter().zip(output) {
                    if got != number(output, FLAGS) >> bit & 1 {
                        return Err(format!("flag {bit}"));
                    }
                }
            }
        }
        Ok(())
    }
}
