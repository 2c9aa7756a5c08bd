//! Steps for other targets: bare metal, AArch64, 32 bits, WebAssembly.

use std::fs;

use super::host::combinations;
use super::shell::{
    ARM_TOOLS, Outcome, Stop, apt, failed, install, install_targets, line, not_run, run,
};
use crate::root;

const ARM_LINUX: &str = "aarch64-unknown-linux-gnu";
/// They have to compile, and nothing runs them here. The last two are without `std`.
const ARM_HOSTED: [&str; 3] = [
    "aarch64-apple-darwin",
    "aarch64-linux-android",
    "aarch64-pc-windows-msvc",
];
const ARM_BARE: [&str; 2] = ["aarch64-unknown-none", "aarch64-unknown-none-softfloat"];
/// CPUs of the emulator: with the instructions for SHA-3, and without. On the last one the
/// library permutes three states of Keccak at a time.
const ARM_CPUS: [&str; 3] = ["max", "cortex-a72", "neoverse-n1"];
/// Cortex-M4 in every combination of features; the others once.
pub(super) const METAL: [&str; 3] = [
    "thumbv7em-none-eabi",
    "thumbv6m-none-eabi",
    "riscv32imac-unknown-none-elf",
];
/// x86-64 without vector registers: kernels and firmware. Only code generation fails where SIMD
/// is compiled for them.
const X86_BARE: [&str; 2] = ["x86_64-unknown-none", "x86_64-unknown-uefi"];
const X86: &str = "i686-unknown-linux-gnu";
const WASI: &str = "wasm32-wasip1";
const WEB: &str = "wasm32-unknown-unknown";
const NO_STD: [&str; 4] = [
    "mldsa-core",
    "mldsa-lowmem",
    "mladsa-aggregate",
    "mldsa-evm-precompile",
];
/// Features that need an operating system.
const HOSTED: [&str; 3] = ["std", "getrandom", "backend-env"];

/// The kind of target of a build without `std`.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Host,
    Metal,
}

/// As `no_std` libraries on the host.
pub(super) fn no_std() -> Outcome {
    for name in NO_STD {
        for features in combinations(&features_of(name, Kind::Host)) {
            println!("{name}, host: {}", shown(&features));
            lint(name, &features, "")?;
        }
    }
    Ok(())
}

pub(super) fn metal() -> Outcome {
    if !install_targets(&METAL) {
        return not_run("bare-metal targets cannot be installed");
    }
    for name in NO_STD {
        let all = features_of(name, Kind::Metal);
        for features in combinations(&all) {
            println!("{name}, {}: {}", METAL[0], shown(&features));
            lint(name, &features, &format!("--target {}", METAL[0]))?;
        }
        for target in METAL {
            if (name, target) == ("mladsa-aggregate", "thumbv6m-none-eabi") {
                println!("{name} shares by Arc, which a CPU without atomics lacks: no {target}");
                continue;
            }
            println!("{name}, {target}: release build of all features");
            run(format!(
                "cargo build --locked --quiet --release -p {name} --no-default-features \
                 --features {} --target {target}",
                all.join(",")
            ))?;
        }
    }
    for target in X86_BARE {
        if !install_targets(&[target]) {
            println!("{target} cannot be installed: not checked");
            continue;
        }
        run(format!(
            "cargo build --locked --quiet -p mldsa-core --no-default-features --features {} --target {target}",
            features_of("mldsa-core", Kind::Metal).join(",")
        ))?;
    }
    Ok(())
}

/// The NEON backends on emulated CPUs: every kernel against the portable one.
pub(super) fn neon_smoke() -> Outcome {
    let settings = arm()?;
    for cpu in ARM_CPUS {
        println!("emulated CPU: {cpu}");
        let (status, output) = line(format!(
            "cargo test --locked --quiet --target {ARM_LINUX} -p mldsa-core --features unstable-internals \
             --lib -- --nocapture backend::"
        ))
        .envs(&settings)
        .env("QEMU_CPU", cpu)
        .output()?;
        ran_what_it_has(cpu, status, &output)?;
    }
    Ok(())
}

/// All suites on each of the emulated CPUs; the other AArch64 targets compile.
pub(super) fn neon() -> Outcome {
    let settings = arm()?;
    for target in ARM_HOSTED.iter().chain(&ARM_BARE) {
        if !install_targets(&[target]) {
            println!("{target} cannot be installed: not checked");
            continue;
        }
        let features = if ARM_BARE.contains(target) {
            let all = features_of("mldsa-core", Kind::Metal).join(",");
            format!("--no-default-features --features {all}")
        } else {
            String::new()
        };
        run(format!(
            "cargo check --locked --quiet -p mldsa-core {features} --target {target}"
        ))?;
        println!("{target}: compiles");
    }
    for cpu in ARM_CPUS {
        println!("emulated CPU: {cpu}");
        let arm = |text: String| line(text).envs(&settings).env("QEMU_CPU", cpu);
        let (status, output) = arm(format!(
            "cargo test --locked --quiet --target {ARM_LINUX} -p mldsa-core --all-features \
             --lib --test api --test formats --test lanes --test scheme -- --nocapture"
        ))
        .output()?;
        ran_what_it_has(cpu, status, &output)?;
        arm(format!(
            "cargo test --locked --quiet --target {ARM_LINUX} -p mldsa-lowmem -p batch-verify \
             -p mladsa-aggregate --lib"
        ))
        .run()?;
        // Portable code, code of devices and decoders of damaged bytes have no kernels of this
        // CPU and pass elsewhere. Here they take hours.
        arm(format!(
            "cargo test --locked --quiet --target {ARM_LINUX} --release -p mldsa-kat -- \
             --nocapture --skip damage::"
        ))
        .env("MLDSA_WITHOUT", "portable,lowmem")
        .run()?;
        let mldsa =
            format!("cargo run --locked --quiet --target {ARM_LINUX} --release --bin mldsa --");
        arm(format!("{mldsa} backends")).run()?;
        // A backend that the CPU lacks is rejected.
        if cpu != "max" && arm(format!("{mldsa} --backend neon-sha3 backends")).status()? == 0 {
            return failed(format!("neon-sha3 runs on {cpu}"));
        }
    }
    println!("all suites passed on {} emulated CPUs", ARM_CPUS.len());
    // For the choice between the forms of Keccak; libclang is for one of the peers.
    install(&[("llvm-mca-19", "llvm-19")]);
    apt("install -y --no-install-recommends libclang-dev");
    for table in [
        "contrib/peers/arm-cycles.py",
        "contrib/peers/arm-instructions.py",
    ] {
        let status = line(table).status()?;
        if status != 0 && status != super::gates::NOT_RUN {
            return failed(format!("status {status} of {table}"));
        }
    }
    Ok(())
}

/// 32 bits and WebAssembly: the libraries compile, and the core passes its own tests.
pub(super) fn ports_smoke() -> Outcome {
    if !install_targets(&[WEB]) {
        return not_run(format!("{WEB} cannot be installed"));
    }
    for name in NO_STD {
        run(format!(
            "cargo check --locked --quiet -p {name} --no-default-features --features {} --target {WEB}",
            features_of(name, Kind::Metal).join(",")
        ))?;
    }
    run(format!(
        "cargo check --locked --quiet -p batch-verify --target {WEB}"
    ))?;
    let settings = ports_ready()?;
    for target in [X86, WASI] {
        // A panic ends a WebAssembly program: its message has to be out before.
        line(format!(
            "cargo test --locked --quiet --target {target} -p mldsa-core --features unstable-internals \
             --lib -- --nocapture"
        ))
        .envs(&settings)
        .run()?;
    }
    Ok(())
}

/// All suites there but the decoders of damaged bytes and the code of devices, which have no
/// backend; a committee's votes in batches.
pub(super) fn ports() -> Outcome {
    let settings = ports_ready()?;
    for target in [X86, WASI] {
        line(format!(
            "cargo test --locked --quiet --release --target {target} -p mldsa-kat -- --nocapture \
             --skip damage::"
        ))
        .envs(&settings)
        .env("MLDSA_WITHOUT", "lowmem")
        .run()?;
        line(format!(
            "cargo run --locked --quiet --release --target {target} -p batch-verify --example bft_round"
        ))
        .envs(&settings)
        .run()?;
    }
    Ok(())
}

fn lint(name: &str, features: &str, target: &str) -> Outcome {
    let features = if features.is_empty() {
        String::new()
    } else {
        format!("--features {features}")
    };
    run(format!(
        "cargo clippy --locked --quiet -p {name} --no-default-features {features} {target} -- -D warnings"
    ))
}

fn shown(features: &str) -> &str {
    if features.is_empty() {
        "no features"
    } else {
        features
    }
}

/// The features of a crate, without `default` and, for devices, those that need an
/// operating system.
fn features_of(name: &str, kind: Kind) -> Vec<String> {
    let manifest = root().join("crates").join(name).join("Cargo.toml");
    let text = fs::read_to_string(manifest).expect("a manifest");
    let section = text.split("[features]\n").nth(1).unwrap_or_default();
    let names = section
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| {
            let name = line.split_once('=')?.0.trim();
            let plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
            (!name.is_empty() && name.chars().all(plain)).then_some(name)
        });
    names
        .filter(|name| *name != "default" && !(kind == Kind::Metal && HOSTED.contains(name)))
        .map(str::to_owned)
        .collect()
}

/// Settings for building for AArch64 Linux and running there.
fn arm() -> Result<Vec<(String, String)>, Stop> {
    if !install(&ARM_TOOLS) {
        return not_run("a cross compiler or emulator for AArch64 cannot be installed");
    }
    if !install_targets(&[ARM_LINUX]) {
        return not_run(format!("{ARM_LINUX} cannot be installed"));
    }
    let setting = |name: &str, value: &str| {
        (
            format!("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_{name}"),
            value.to_owned(),
        )
    };
    Ok(vec![
        setting("LINKER", "aarch64-linux-gnu-gcc"),
        setting("RUNNER", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
    ])
}

/// Whether the tests passed and had the backends that `cpu` has.
fn ran_what_it_has(cpu: &str, status: i32, output: &str) -> Outcome {
    if status != 0 {
        return failed(format!("tests on {cpu}: status {status}"));
    }
    let has_sha3 = !output.contains("has no neon-sha3");
    if has_sha3 == (cpu == "max") {
        Ok(())
    } else {
        failed(format!("on {cpu} the wrong backends ran"))
    }
}

/// Settings for building for 32 bits and running WebAssembly.
fn ports_ready() -> Result<Vec<(String, String)>, Stop> {
    if !install_targets(&[X86, WASI]) {
        return not_run(format!("{X86} or {WASI} cannot be installed"));
    }
    let source = root().join("target/main.c");
    fs::write(&source, "int main(void) { return 0; }\n")
        .map_err(|e| Stop::Failed(e.to_string()))?;
    let builds = || {
        let (source, program) = (source.display(), root().join("target/main32"));
        line(format!("cc -m32 -o {} {source}", program.display())).succeeds()
    };
    if !builds() {
        apt("update");
        apt("install -y --no-install-recommends gcc-multilib");
        if !builds() {
            return not_run("gcc-multilib cannot be installed");
        }
    }
    if !install(&[("node", "nodejs")]) {
        return not_run("Node cannot be installed");
    }
    let preview = "process.exit(Number(!require(\"node:wasi\").WASI.prototype.getImportObject))";
    let preview = preview.replace(' ', "");
    if !line(format!("node --no-warnings -e {preview}")).succeeds() {
        return not_run("this Node is too old for tools/wasi.mjs");
    }
    let runner = format!(
        "node --no-warnings {}",
        root().join("tools/wasi.mjs").display()
    );
    Ok(vec![("CARGO_TARGET_WASM32_WASIP1_RUNNER".into(), runner)])
}
