//! Constant time of linked code, compiler helpers and the C library included: the instructions that run and
//! the addresses that they load and store are the same for two secrets, which run in lockstep.
//!
//! Devices run `mldsa-lowmem` in QEMU with `trace/plugin.c`: key generation, checked import, signing, and the
//! steps after the challenge alone. AArch64 and i686 run `mldsa-core` in QEMU's user mode with the same plugin. On
//! x86-64 `ptrace` goes step by step; a gather fails the gate, because its address is not visible.
//!
//! The two secrets agree in everything that `declassify` makes known; a search finds them. Signatures have
//! one attempt rejected for z, one for r0 and one accepted. The result of every run must be the one that the
//! host computes. The functions of `trace/cuts.rs` are left out with all that they call, one reason each,
//! and so is self-verification, whose input is public. An entry that no run meets fails the gate.
//!
//! A failure such as `3 x branch at 0xb314 keep_if (ct.rs:17) in decompose (rounding.rs:26)` names an address
//! of the program in `target/gates/trace`, after which the two runs continued differently (`branch`), used
//! two addresses (`address`), or only one of them did (`access`).
//!
//! By default the runs have ML-DSA-44, on devices tier `Minimal` at opt-levels `s`, `z` and 3, elsewhere the
//! best backend at opt-level 3. `--all` adds the other sets, backends, operations and tiers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use crate::{Verdict, build, unknown};

mod compare;
mod cuts;
mod device;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) mod host;
mod program;
mod record;
mod user;

use compare::{Trace, compare};
use cuts::{Cuts, DEVICE, MASK, SEED};
use device::{DEVICES, Device, folder};
use program::Program;
use record::Record;
use user::{BOUNDARY, USERS, User};

const HOST: &str = "x86_64";

/// No operation is shorter, planted ones included.
const LEAST_INSTRUCTIONS: u64 = 100;

/// Leaks as they are written by mistake; on every target all have to be found.
const PLANTED: [&str; 6] = [
    "planted-sign",
    "planted-norm",
    "planted-zero",
    "planted-range",
    "planted-equal",
    "planted-index",
];

/// A run on a device: the operation, what the secrets differ in (`s1`, `s2` and
/// `t0` with the same masks, the masks alone, or all), and what is left out.
const ON_DEVICE: [(&str, &str, Cuts); 6] = [
    ("import", "both", &[]),
    ("import-refused", "both", &[]),
    ("keygen", "both", SEED),
    ("rows", "both", &[]),
    ("sign", "secrets", &[]),
    ("sign", "mask", MASK),
];

/// The extent of the runs.
struct Extent {
    /// Of the backends that this CPU has, the last ones; all others are also under
    /// Valgrind (`ct`).
    backends: usize,
    on_host: &'static [&'static str],
    sets: &'static [&'static str],
    tiers: &'static [&'static str],
    levels: &'static [&'static str],
}

const SHORT: Extent = Extent {
    backends: 1,
    on_host: &["keygen", "import-refused", "sign", "sign-batch"],
    sets: &["ml-dsa-44"],
    tiers: &["minimal"],
    levels: &["s", "z", "3"],
};

const ALL: Extent = Extent {
    backends: 3,
    on_host: &[
        "keygen",
        "keygen-batch",
        "import",
        "import-refused",
        "sign",
        "sign-prepared",
        "sign-batch",
    ],
    sets: &["ml-dsa-44", "ml-dsa-65", "ml-dsa-87"],
    tiers: &["minimal", "cache-w0", "balanced", "cache-matrix"],
    levels: &["s", "z", "3"],
};

/// `[--all] [TARGET]`, of which a part of the name is enough.
pub(crate) fn run(arguments: &[String]) -> Verdict {
    let target = |part: &str| {
        let devices = DEVICES.iter().map(|device| device.triple);
        let users = USERS.iter().map(|user| user.triple);
        let mut triples = devices.chain(users).chain([HOST]);
        triples.any(|triple| triple.contains(part))
    };
    if let Some(argument) = unknown(arguments, &["--all"], target) {
        return Verdict::Failed(format!("no option or target `{argument}`"));
    }
    let (options, names): (Vec<_>, Vec<_>) = arguments.iter().partition(|a| a.starts_with("--"));
    let extent = if options.iter().any(|option| *option == "--all") {
        &ALL
    } else {
        &SHORT
    };
    let wanted = |name: &str| names.iter().all(|part| name.contains(part.as_str()));
    match Gate::new().and_then(|mut gate| gate.run(extent, wanted).map(|()| gate)) {
        Ok(gate) => gate.verdict(),
        Err(reason) => Verdict::Failed(reason),
    }
}

/// The trace of a run as it comes, and its end.
type Started<T> = (Receiver<Vec<Record>>, JoinHandle<Result<T, String>>);

struct Gate {
    /// The program that finds inputs.
    search: PathBuf,
    failures: Vec<String>,
    not_run: Vec<String>,
}

/// Two inputs whose public events agree, in files, and what must come out.
struct Pair {
    files: [PathBuf; 2],
    digests: [String; 2],
}

impl Gate {
    fn new() -> Result<Self, String> {
        let built = build(
            "traced",
            "release",
            &[("RUSTFLAGS", "--cfg mldsa_ct_check")],
        )?;
        fs::create_dir_all(folder()).map_err(|e| e.to_string())?;
        // A copy: the same program is built again without that setting.
        let search = folder().join("search");
        fs::copy(built, &search).map_err(|e| e.to_string())?;
        Ok(Self {
            search,
            failures: Vec::new(),
            not_run: Vec::new(),
        })
    }

    fn run(&mut self, extent: &Extent, wanted: impl Fn(&str) -> bool) -> Result<(), String> {
        println!("| target | operation | instructions | places that differ |\n|---|---|--:|--:|");
        if wanted(HOST) {
            self.host(extent)?;
        }
        for user in USERS.iter().filter(|user| wanted(user.triple)) {
            match user.missing() {
                Some(reason) => self.not_run.push(format!("{}: {reason}", user.triple)),
                None => self.user(user, extent)?,
            }
        }
        let mut met = BTreeSet::new();
        for device in DEVICES.iter().filter(|device| wanted(device.triple)) {
            match device.missing() {
                Some(reason) => self.not_run.push(format!("{}: {reason}", device.triple)),
                None => self.device(device, extent, &mut met)?,
            }
        }
        if !met.is_empty() {
            self.all_met(&[DEVICE, MASK, SEED], &met);
        }
        Ok(())
    }

    fn verdict(self) -> Verdict {
        Verdict::of(&self.failures, "", &self.not_run)
    }

    /// An entry that no run needs would hide a leak one day.
    fn all_met(&mut self, lists: &[Cuts], met: &BTreeSet<&str>) {
        for (function, _) in lists.iter().copied().flatten() {
            if !met.contains(function) {
                self.failures
                    .push(format!("{function} is left out but never runs"));
            }
        }
    }

    /// `place` is `SET/TIER` or `SET/BACKEND`.
    fn pair(&self, change: &str, operation: &str, place: &str) -> Result<Pair, String> {
        let files = ["first", "other"].map(|name| folder().join(name));
        for file in &files {
            // An older one is no result.
            let _ = fs::remove_file(file.with_extension("digest"));
        }
        let output = Command::new(&self.search)
            .args(["search", change, operation, place])
            .args(&files)
            .output()
            .map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut digests = text.lines().map(str::to_owned);
        match (digests.next(), digests.next()) {
            (Some(first), Some(other)) if output.status.success() => Ok(Pair {
                files,
                digests: [first, other],
            }),
            _ => Err(format!("no inputs for {operation}, {place}")),
        }
    }

    /// Compares, prints a row and the places that differ.
    fn compare(
        &mut self,
        target: &str,
        operation: &str,
        program: &Program,
        traces: [Receiver<Vec<Record>>; 2],
    ) {
        let [a, b] = traces.map(|source| Trace::new(program, source));
        let found = compare(a, b);
        let planted = operation.starts_with("planted");
        println!(
            "| {target} | {operation} | {} | {} |",
            found.instructions,
            found.differences.len()
        );
        if found.instructions < LEAST_INSTRUCTIONS {
            self.failures
                .push(format!("{target}, {operation}: hardly anything ran"));
        }
        if planted == found.differences.is_empty() {
            let what = if planted { "not detected" } else { "differs" };
            self.failures.push(format!("{target}, {operation}: {what}"));
        }
        if !planted {
            for (place, times) in &found.differences {
                println!("    {times} x {place}");
            }
        }
    }

    /// Waits for both runs of a pair and checks the digests that they wrote.
    fn results<T>(
        &mut self,
        target: &str,
        name: &str,
        runs: [JoinHandle<Result<T, String>>; 2],
        pair: Pair,
    ) -> Result<(), String> {
        for (run, (file, digest)) in runs.into_iter().zip(pair.files.iter().zip(pair.digests)) {
            run.join().map_err(|_| "a thread died")??;
            let result = fs::read_to_string(file.with_extension("digest"));
            if result.map_err(|e| e.to_string())? != digest {
                self.failures
                    .push(format!("{target}, {name}: another result"));
            }
        }
        Ok(())
    }

    fn device(
        &mut self,
        device: &Device,
        extent: &Extent,
        met: &mut BTreeSet<&'static str>,
    ) -> Result<(), String> {
        let plugin = device::plugin()?;
        for level in extent.levels {
            let path = device.build(level, extent.sets)?;
            for set in extent.sets {
                let planted = PLANTED.map(|operation| (operation, "both", &[][..]));
                for (operation, change, cuts) in ON_DEVICE.into_iter().chain(planted) {
                    // Only signing differs by tier.
                    let tiers = if operation == "sign" {
                        extent.tiers
                    } else {
                        &["minimal"]
                    };
                    let program = Program::load(&path, &[DEVICE, cuts].concat())?;
                    for tier in tiers {
                        let place = format!("{set}/{tier}");
                        let pair = self.pair(change, operation, &place)?;
                        let [a, b] = pair
                            .files
                            .each_ref()
                            .map(|f| device.start(&plugin, &path, f));
                        let ((a, first), (b, other)) = (a?, b?);
                        let name = format!("{operation} {place}, {change}, opt-level {level}");
                        self.compare(device.triple, &name, &program, [a, b]);
                        for (printed, digest) in [first, other].into_iter().zip(pair.digests) {
                            let printed = printed.join().map_err(|_| "a thread died")??;
                            if printed != digest {
                                self.failures
                                    .push(format!("{}, {name}: another result", device.triple));
                            }
                        }
                    }
                    met.extend(program.met());
                }
            }
        }
        Ok(())
    }

    /// The operations of the program for hosts, with each of the backends.
    fn hosts<T>(
        &mut self,
        target: &str,
        extent: &Extent,
        backends: &[&str],
        program: &Program,
        start: impl Fn([&str; 2], &Path) -> Result<Started<T>, String>,
    ) -> Result<(), String> {
        for set in extent.sets {
            for backend in backends.iter().rev().take(extent.backends) {
                for operation in extent.on_host.iter().chain(&PLANTED) {
                    // What becomes public does not depend on the backend, which this CPU may lack.
                    let pair = self.pair("both", operation, &format!("{set}/portable"))?;
                    let place = format!("{set}/{backend}");
                    let runs = pair.files.each_ref();
                    let [a, b] = runs.map(|file| start([operation, &place], file));
                    let ((a, first), (b, other)) = (a?, b?);
                    let name = format!("{operation} {place}");
                    self.compare(target, &name, program, [a, b]);
                    self.results(target, &name, [first, other], pair)?;
                }
            }
        }
        Ok(())
    }

    fn user(&mut self, user: &User, extent: &Extent) -> Result<(), String> {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        host::fix_addresses()?;
        let plugin = device::plugin()?;
        let path = user.build()?;
        let program = Program::load(&path, &user.cuts.concat())?;
        let boundary = program.entry(BOUNDARY).ok_or("no boundary")?;
        let start = |run: [&str; 2], file: &Path| user.start(&plugin, &path, boundary, run, file);
        self.hosts(user.triple, extent, user.backends, &program, start)?;
        if extent.backends >= user.backends.len() {
            self.all_met(user.cuts, &program.met());
        }
        Ok(())
    }

    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    fn host(&mut self, _: &Extent) -> Result<(), String> {
        let reason = "x86_64: stepping is for x86-64 Linux";
        self.not_run.push(reason.to_owned());
        Ok(())
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn host(&mut self, extent: &Extent) -> Result<(), String> {
        if let Err(reason) = host::fix_addresses() {
            self.not_run.push(format!("x86_64: {reason}"));
            return Ok(());
        }
        let path = build("traced", "release", &[])?;
        // As the kernel calls it.
        let path = fs::canonicalize(path).map_err(|e| e.to_string())?;
        let cuts = [cuts::HOSTS, cuts::X86_64];
        let program = Program::load(&path, &cuts.concat())?;
        let skipped = program.cut_entries();
        let backends = mldsa_core::Backend::available().map(mldsa_core::Backend::name);
        let backends: Vec<_> = backends.collect();
        let start = |[operation, place]: [&str; 2], file: &Path| {
            let file = file.display().to_string();
            Ok(host::start(
                &path,
                &["run", operation, place, &file],
                &skipped,
            ))
        };
        self.hosts(HOST, extent, &backends, &program, start)?;
        if extent.backends == 3 && backends.len() == 3 {
            self.all_met(&cuts, &program.met());
        }
        Ok(())
    }
}
