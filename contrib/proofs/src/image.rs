//! A linked program: its segments after relocation, and the kernel tables in it.

use std::collections::BTreeMap;
use std::path::Path;

use mldsa_core::internals::kernels::ENTRIES;
use object::read::elf::ProgramHeader;
use object::{Object, ObjectSymbol, RelocationFlags, RelocationTarget, elf};
use rustc_demangle::demangle;

/// Entries that a table may lack.
const OPTIONAL: [&str; 4] = ["expand_a_interleaved", "prepare", "shake256", "verify"];

/// One loaded segment.
#[derive(Clone, Debug)]
struct Segment {
    start: u64,
    bytes: Vec<u8>,
    writable: bool,
    executable: bool,
}

impl Segment {
    const fn constant(start: u64, bytes: Vec<u8>) -> Self {
        Self {
            start,
            bytes,
            writable: false,
            executable: false,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Image {
    architecture: object::Architecture,
    segments: Vec<Segment>,
    /// Addresses that relocation filled in, and what they hold.
    pub(crate) pointers: BTreeMap<u64, u64>,
    /// Functions by address, for messages.
    pub(crate) names: BTreeMap<u64, String>,
    /// Variables of the program by name.
    statics: BTreeMap<String, u64>,
    /// Functions of other libraries, by the address of the slot with their address.
    pub(crate) imports: BTreeMap<u64, String>,
}

impl Image {
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let text = |error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
        let bytes = std::fs::read(path).map_err(|e| text(&e))?;
        let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&bytes[..])
            .map_err(|e| text(&e))?;
        let architecture = file.architecture();
        if !matches!(
            architecture,
            object::Architecture::X86_64 | object::Architecture::Aarch64
        ) {
            return Err(text(&"not a program for x86-64 or AArch64"));
        }
        let endian = file.endian();
        let mut segments = Vec::new();
        for header in file.elf_program_headers() {
            if header.p_type(endian) == elf::PT_LOAD {
                let mut content = header
                    .data(endian, &bytes[..])
                    .map_err(|()| text(&"segment"))?
                    .to_vec();
                content.resize(header.p_memsz(endian) as usize, 0);
                segments.push(Segment {
                    start: header.p_vaddr(endian),
                    bytes: content,
                    writable: header.p_flags(endian).0 & elf::PF_W.0 != 0,
                    executable: header.p_flags(endian).0 & elf::PF_X.0 != 0,
                });
            }
            // After relocation the program may not write these.
            if header.p_type(endian) == elf::PT_GNU_RELRO {
                let (start, len) = (header.p_vaddr(endian), header.p_memsz(endian));
                let owner = segments.iter().position(|s| {
                    s.start <= start && start + len <= s.start + s.bytes.len() as u64
                });
                if let Some(owner) = owner {
                    let from = (start - segments[owner].start) as usize;
                    let content = segments[owner].bytes[from..from + len as usize].to_vec();
                    segments.insert(0, Segment::constant(start, content));
                }
            }
        }
        let mut image = Self {
            architecture,
            segments,
            pointers: BTreeMap::new(),
            names: BTreeMap::new(),
            statics: BTreeMap::new(),
            imports: BTreeMap::new(),
        };
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let name = symbol.name().unwrap_or("?").to_owned();
            if symbol.is_definition() && symbol.kind() == object::SymbolKind::Text {
                image.names.insert(symbol.address(), name);
            } else if symbol.is_definition() && symbol.kind() == object::SymbolKind::Data {
                image.statics.insert(name, symbol.address());
            }
        }
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
            match relocation.flags() {
                RelocationFlags::Elf {
                    r_type: elf::R_X86_64_RELATIVE | elf::R_AARCH64_RELATIVE,
                } => {
                    let value = relocation.addend() as u64;
                    image.pointers.insert(address, value);
                    image.put(address, value);
                }
                RelocationFlags::Elf {
                    r_type:
                        elf::R_X86_64_GLOB_DAT
                        | elf::R_X86_64_JUMP_SLOT
                        | elf::R_AARCH64_GLOB_DAT
                        | elf::R_AARCH64_JUMP_SLOT,
                } => {
                    let symbol = match relocation.target() {
                        RelocationTarget::Symbol(index) => file
                            .dynamic_symbols()
                            .find(|symbol| symbol.index() == index),
                        _ => None,
                    };
                    let name = symbol.and_then(|symbol| symbol.name().ok());
                    image
                        .imports
                        .insert(address, name.unwrap_or("?").to_owned());
                }
                // The value of another relocation is not known.
                _ => drop(image.imports.insert(address, "?".to_owned())),
            }
        }
        Ok(image)
    }

    fn put(&mut self, address: u64, value: u64) {
        for segment in &mut self.segments {
            let at = address.wrapping_sub(segment.start) as usize;
            if let Some(place) = segment.bytes.get_mut(at..at.wrapping_add(8)) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
    }

    pub(crate) fn is_aarch64(&self) -> bool {
        self.architecture == object::Architecture::Aarch64
    }

    /// The image in which the variable whose name contains all parts is a constant.
    pub(crate) fn assuming(&self, parts: &[&str], value: &[u8]) -> Result<Self, String> {
        let start = self.variable(parts)?;
        let mut image = self.clone();
        let assumed = Segment::constant(start, value.to_vec());
        image.segments.insert(0, assumed);
        Ok(image)
    }

    /// The address of the variable whose name has these parts.
    pub(crate) fn variable(&self, parts: &[&str]) -> Result<u64, String> {
        let fits = |name: &str| parts.iter().all(|part| name.contains(part));
        let mut named = self.statics.iter().filter(|(name, _)| fits(name));
        match (named.next(), named.next()) {
            (Some((_, &start)), None) => Ok(start),
            _ => Err(format!("no variable {}", parts.join(" "))),
        }
    }

    /// The image in which a pointer of the program is null.
    pub(crate) fn without_pointer(&self, address: u64) -> Self {
        let mut image = self.clone();
        image.pointers.remove(&address);
        image.put(address, 0);
        image
    }

    /// Changes bits of a byte, for the fault tests.
    pub(crate) fn change(&mut self, address: u64, bits: u8) {
        for segment in &mut self.segments {
            if let Some(byte) = segment
                .bytes
                .get_mut(address.wrapping_sub(segment.start) as usize)
            {
                *byte ^= bits;
            }
        }
    }

    /// Bytes that never change while the program runs.
    pub(crate) fn constant_bytes(&self, address: u64, len: usize) -> Option<&[u8]> {
        let places = address.saturating_sub(7)..address.checked_add(len as u64)?;
        if self.imports.range(places).next().is_some() {
            return None;
        }
        self.segments
            .iter()
            .filter(|s| !s.writable)
            .find_map(|segment| {
                let at = usize::try_from(address.checked_sub(segment.start)?).ok()?;
                segment.bytes.get(at..at.checked_add(len)?)
            })
    }

    /// Up to 15 bytes of code.
    pub(crate) fn code(&self, address: u64) -> Option<&[u8]> {
        let segment = self
            .segments
            .iter()
            .find(|s| s.executable && !s.writable && address >= s.start)?;
        let at = usize::try_from(address - segment.start).ok()?;
        segment
            .bytes
            .get(at..segment.bytes.len().min(at + 15))
            .filter(|code| !code.is_empty())
    }

    /// The function at an address, with its mangled name.
    pub(crate) fn name(&self, address: u64) -> String {
        match self.names.range(..=address).next_back() {
            Some((start, name)) => format!("{:#x} in {name}+{:#x}", address, address - start),
            None => format!("{address:#x}"),
        }
    }

    /// Addresses of the functions whose mangled names contain a text, or one of several.
    pub(crate) fn functions(&self, texts: &str) -> Vec<u64> {
        let fits = |name: &str| texts.split('|').any(|text| name.contains(text));
        let named = self.names.iter().filter(|(_, name)| fits(name));
        named.map(|(&at, _)| at).collect()
    }

    /// The functions of this path.
    pub(crate) fn at_path(&self, path: &str) -> Vec<u64> {
        let is_it = |name: &str| format!("{:#}", demangle(name)) == path;
        let named = self.names.iter().filter(|(_, name)| is_it(name));
        named.map(|(&at, _)| at).collect()
    }

    /// The kernel tables: address and name of all that have the form of one. It begins with a
    /// pointer to the name and its length; its entries are functions, or null if they may be, except for
    /// the number of lanes.
    pub(crate) fn tables(&self) -> Vec<(u64, String)> {
        let is_code = |at: u64| {
            self.pointers
                .get(&at)
                .is_some_and(|&to| self.code(to).is_some())
        };
        let number = |at: u64| {
            let bytes = self.constant_bytes(at, 8)?;
            let is_number = !self.pointers.contains_key(&at);
            is_number.then(|| {
                bytes
                    .iter()
                    .rev()
                    .fold(0, |n, &byte| n << 8 | u64::from(byte))
            })
        };
        let named = |(&at, &text): (&u64, &u64)| {
            let is_entry = |&(entry, offset): &(&str, usize)| {
                let slot = at + offset as u64;
                match entry {
                    "mask_lanes" => number(slot).is_some_and(|n| n.is_power_of_two() && n <= 64),
                    _ if OPTIONAL.contains(&entry) => is_code(slot) || number(slot) == Some(0),
                    _ => is_code(slot),
                }
            };
            let len = number(at + 8).filter(|&len| len <= 64)?;
            let name = str::from_utf8(self.constant_bytes(text, len as usize)?).ok()?;
            ENTRIES.iter().all(is_entry).then(|| (at, name.to_owned()))
        };
        self.pointers.iter().filter_map(named).collect()
    }

    /// Adds a constant with pointers in it, at an address where nothing is.
    pub(crate) fn add_constant(&mut self, start: u64, bytes: Vec<u8>, pointers: &[(u64, u64)]) {
        self.segments.push(Segment::constant(start, bytes));
        self.pointers.extend(pointers.iter().copied());
    }

    /// Makes a pointer of the program another one.
    pub(crate) fn set_pointer(&mut self, address: u64, to: u64) {
        self.pointers.insert(address, to);
        self.put(address, to);
    }
}
