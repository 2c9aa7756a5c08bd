//! A linked program: which function an instruction belongs to, inlined ones
//! included, and whether that function is left out.

use core::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use object::{Object, ObjectSymbol, SymbolKind};

/// A function that works on declassified values, by its path without generics,
/// and why it may. What it calls is left out too.
pub(super) type Cut = (&'static str, &'static str);

pub(super) struct Program {
    lines: addr2line::Loader,
    functions: BTreeMap<u64, String>,
    start: u64,
    cuts: Vec<Cut>,
    /// Whether an instruction is left out, from the first function on; filled as
    /// they are met.
    known: RefCell<Vec<Option<bool>>>,
    /// The cuts that some instruction fell under.
    met: RefCell<BTreeSet<&'static str>>,
}

impl Program {
    pub(super) fn load(path: &Path, cuts: &[Cut]) -> Result<Self, String> {
        let text = |error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
        let bytes = std::fs::read(path).map_err(|e| text(&e))?;
        let file = object::File::parse(&bytes[..]).map_err(|e| text(&e))?;
        let functions: BTreeMap<_, _> = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .map(|symbol| {
                // The lowest bit of a Thumb function is not part of its address.
                let thumb = u64::from(file.architecture() == object::Architecture::Arm);
                (
                    symbol.address() & !thumb,
                    plain(symbol.name().unwrap_or("?")),
                )
            })
            .collect();
        // The last function ends somewhere after its start.
        let mut keys = functions.keys();
        let start = keys.next().copied().unwrap_or(0);
        let end = keys.next_back().map_or(start, |last| last + (1 << 16));
        Ok(Self {
            start,
            known: RefCell::new(vec![None; (end - start) as usize]),
            lines: addr2line::Loader::new(path).map_err(|e| text(&e))?,
            functions,
            cuts: cuts.to_vec(),
            met: RefCell::default(),
        })
    }

    /// The address of the function of that path.
    pub(super) fn entry(&self, path: &str) -> Option<u64> {
        let mut found = self.functions.iter().filter(|(_, name)| *name == path);
        found.next().map(|(&address, _)| address)
    }

    pub(super) fn is_entry(&self, address: u64) -> bool {
        self.functions.contains_key(&address)
    }

    /// The addresses of functions that are left out.
    pub(super) fn cut_entries(&self) -> BTreeSet<u64> {
        let entries = self.functions.keys().copied();
        entries.filter(|&entry| self.is_cut(entry)).collect()
    }

    /// Whether the instruction is in a function that is left out.
    pub(super) fn is_cut(&self, address: u64) -> bool {
        let offset = address.wrapping_sub(self.start) as usize;
        // Outside the program: the C library.
        let Some(known) = self.known.borrow().get(offset).copied() else {
            return false;
        };
        known.unwrap_or_else(|| {
            let cut = self.find_cut(address);
            self.known.borrow_mut()[offset] = Some(cut.is_some());
            self.met.borrow_mut().extend(cut);
            cut.is_some()
        })
    }

    fn find_cut(&self, address: u64) -> Option<&'static str> {
        self.frames(address).iter().find_map(|(frame, _)| {
            let mut cuts = self.cuts.iter().map(|(name, _)| *name);
            cuts.find(|name| is_within(frame, name))
        })
    }

    pub(super) fn met(&self) -> BTreeSet<&'static str> {
        self.met.borrow().clone()
    }

    /// The function at `address` and its line, and those it was inlined into.
    pub(super) fn frames(&self, address: u64) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if let Ok(mut frames) = self.lines.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame
                    .function
                    .as_ref()
                    .and_then(|name| name.raw_name().ok());
                let line = frame.location.and_then(|l| {
                    let file = Path::new(l.file?).file_name()?.to_str()?.to_owned();
                    Some(format!("{file}:{}", l.line?))
                });
                found.extend(name.map(|name| (plain(&name), line.unwrap_or_default())));
            }
        }
        // Functions without line tables: those of the compiler and the C library.
        if found.is_empty() {
            let function = self.functions.range(..=address).next_back();
            found.extend(function.map(|(_, name)| (name.clone(), String::new())));
        }
        found
    }

    /// For reports.
    pub(super) fn describe(&self, address: u64) -> String {
        let frames: Vec<_> = self
            .frames(address)
            .into_iter()
            .map(|(name, line)| {
                if line.is_empty() {
                    name
                } else {
                    format!("{name} ({line})")
                }
            })
            .collect();
        format!("{address:#x} {}", frames.join(" in "))
    }
}

/// A demangled path without hash and generic arguments.
fn plain(symbol: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let mut depth = 0;
    let mut out = String::new();
    // `<T as Trait>::f` keeps its first part.
    let name = name
        .strip_prefix('<')
        .map_or(name.clone(), |rest| rest.replacen('>', "", 1));
    for (i, c) in name.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !name[..i].ends_with('-') => depth -= 1,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.trim_end_matches("::").to_owned()
}

/// Whether `function` is `path` or a closure of it.
fn is_within(function: &str, path: &str) -> bool {
    function
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
