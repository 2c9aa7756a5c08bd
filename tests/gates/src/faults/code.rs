//! The instructions of a program.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, Register, UsedMemory,
};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

/// An instruction of the program that signing executes.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub(super) len: u64,
    /// A general register that it writes.
    pub(super) result: Option<Register>,
    pub(super) memory: Option<UsedMemory>,
}

/// The breakpoint of x86.
pub(super) const TRAP: u8 = 0xcc;

/// The instructions of a program.
pub(super) struct Code {
    pub(super) sites: BTreeMap<u64, Site>,
    /// Parts of its memory, with their addresses.
    pub(super) parts: Vec<(u64, Vec<u8>)>,
}

impl Code {
    /// Reads the functions of a program that is mapped at `base`.
    pub(super) fn read(program: &Path, base: u64) -> io::Result<Self> {
        let bytes = fs::read(program)?;
        let file = object::File::parse(&*bytes).map_err(io::Error::other)?;
        let (mut sites, mut parts) = (BTreeMap::new(), Vec::new());
        let mut info = InstructionInfoFactory::new();
        let is_code = |section: &object::Section<'_, '_>| section.kind() == SectionKind::Text;
        for section in file.sections().filter(is_code) {
            let data = section.data().map_err(io::Error::other)?;
            for symbol in file.symbols() {
                let is_here = symbol.section_index() == Some(section.index());
                if symbol.kind() != SymbolKind::Text || !is_here {
                    continue;
                }
                let from = (symbol.address() - section.address()) as usize;
                let code = data.get(from..from + symbol.size() as usize);
                let (code, at) = (code.unwrap_or_default(), base + symbol.address());
                for instruction in &mut Decoder::with_ip(64, code, at, DecoderOptions::NONE) {
                    sites.insert(instruction.ip(), site(&instruction, &mut info));
                }
            }
            parts.push((base + section.address(), data.to_vec()));
        }
        Ok(Self { sites, parts })
    }

    /// Returns an instruction and its first byte.
    pub(super) fn at(&self, address: u64) -> Option<(Site, u8)> {
        let byte = self.parts.iter().find_map(|(start, bytes)| {
            let offset = address.checked_sub(*start)?;
            bytes.get(usize::try_from(offset).ok()?)
        });
        Some((*self.sites.get(&address)?, *byte?))
    }
}

fn site(instruction: &Instruction, info: &mut InstructionInfoFactory) -> Site {
    let used = info.info(instruction);
    let is_result = |access| {
        matches!(
            access,
            OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite
        )
    };
    let results = used
        .used_registers()
        .iter()
        .filter(|used| is_result(used.access()));
    let mut results = results.map(|used| used.register().full_register());
    let mut memory = used.used_memory().iter().copied();
    Site {
        len: instruction.len() as u64,
        result: results.find(|register| register.is_gpr64() && *register != Register::RSP),
        memory: memory.find(|used| used.access() != OpAccess::NoMemAccess),
    }
}
