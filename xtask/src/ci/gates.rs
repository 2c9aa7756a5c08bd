//! Gates, emulated devices, and the checks with other compilers.

use super::host::have_all;
use super::shell::{
    ARM_TOOLS, Outcome, failed, install, install_targets, install_toolchain, line, not_run, run,
    setting,
};
use super::targets::METAL;

/// The exit status of a gate or a table that lacks a tool.
pub(super) const NOT_RUN: i32 = 77;

/// Targets of the gate `branches` besides the host.
const BRANCHES: [&str; 5] = [
    "thumbv6m-none-eabi",
    "thumbv7em-none-eabi",
    "riscv32imc-unknown-none-elf",
    "aarch64-unknown-linux-gnu",
    "i686-unknown-linux-gnu",
];

const QEMU: [(&str, &str); 2] = [
    ("qemu-system-arm", "qemu-system-arm"),
    ("qemu-system-riscv32", "qemu-system-misc"),
];

/// A limit for emulated programs that hang, in seconds.
const QEMU_TIMEOUT: &str = "600";

/// Constant time, jumps, division, wiping, stack, heap, instruction counts, traces.
pub(super) fn gates() -> Outcome {
    install(&[("valgrind", "valgrind")]);
    install(&QEMU);
    install(&ARM_TOOLS);
    let targets: Vec<&str> = BRANCHES.iter().chain(&METAL).copied().collect();
    if !install_targets(&targets) {
        println!("not every target of the gates can be installed");
    }
    gate("cargo run --locked --quiet -p mldsa-gates -- all")
}

fn gate(text: &str) -> Outcome {
    match line(text).status()? {
        0 => Ok(()),
        NOT_RUN => not_run("a gate lacks a tool or a target and says so; the others passed"),
        status => failed(format!("status {status} of `{text}`")),
    }
}

/// Machine code of the kernels for all inputs: the rows that take seconds, against the ledger
/// `contrib/proofs/LEDGER.md`. The others are those of `-- all`.
pub(super) fn proofs() -> Outcome {
    if std::env::consts::ARCH != "x86_64" {
        return not_run("the kernels of this architecture have no rows");
    }
    run("cargo run --locked --quiet --release --manifest-path contrib/proofs/Cargo.toml -- quick")?;
    install(&ARM_TOOLS);
    install_targets(&["aarch64-unknown-linux-gnu"]);
    gate(
        "cargo run --locked --quiet --release --manifest-path contrib/proofs/Cargo.toml -- aarch64 quick",
    )
}

/// The oldest supported compiler: the default members and their tests compile, and the gates
/// `branches` for Cortex-M0 and `ct` pass.
pub(super) fn msrv() -> Outcome {
    let version = format!("{}.0", setting("rust-version"));
    install_toolchain(&version, &[])?;
    let target = "thumbv6m-none-eabi";
    if !line(format!("rustup target add --toolchain {version} {target}")).succeeds() {
        return not_run(format!("{target} cannot be installed for {version}"));
    }
    install(&[("valgrind", "valgrind")]);
    let cargo = format!("cargo +{version}");
    run(format!("{cargo} check --locked --quiet --all-targets"))?;
    gate(&format!(
        "{cargo} run --locked --quiet -p mldsa-gates -- branches {target}"
    ))?;
    gate(&format!(
        "{cargo} run --locked --quiet -p mldsa-gates -- ct"
    ))
}

/// Emulated devices: stack, instructions and faults on a Cortex-M4 (the same program is built
/// for Cortex-M0+); a whole program on a micro:bit and on a RISC-V FE310 with 16 kB of RAM
/// each; code sizes.
pub(super) fn device() -> Outcome {
    have_all(&["readelf"])?;
    install(&QEMU);
    have_all(&QEMU.map(|(program, _)| program))?;
    if !install_targets(&METAL) {
        return not_run("bare-metal targets cannot be installed");
    }
    for example in ["contrib/boards/microbit", "contrib/boards/sifive-e"] {
        // As a user builds it, then with every parameter set.
        for features in ["", "--all-features"] {
            line(format!("cargo run --locked --quiet --release {features}"))
                .dir(example)
                .env("QEMU_TIMEOUT", QEMU_TIMEOUT)
                .run()?;
        }
    }
    let board = |text: &str| {
        line(text)
            .dir("examples/cortex-m")
            .env("QEMU_TIMEOUT", QEMU_TIMEOUT)
    };
    board("cargo run --locked --quiet --release").run()?;
    board("cargo build --locked --quiet --release --target thumbv6m-none-eabi").run()?;
    board(&format!("./sizes.sh {}", METAL.join(" "))).run()
}

/// The gates of the Cortex-M4 at the other levels of optimisation: two more builds and as
/// many emulations.
pub(super) fn levels() -> Outcome {
    install(&QEMU);
    have_all(&["qemu-system-arm"])?;
    if !install_targets(&METAL[..1]) {
        return not_run("the target cannot be installed");
    }
    for level in ["2", "s", "z"] {
        println!("opt-level {level}");
        line(
            "cargo run --locked --quiet --release --no-default-features \
              --features ml-dsa-44,ml-dsa-65,ml-dsa-87",
        )
        .dir("examples/cortex-m")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level)
        .env("QEMU_TIMEOUT", QEMU_TIMEOUT)
        .run()?;
    }
    Ok(())
}

/// Miri over the portable paths of the core and of `mldsa-lowmem`, with few random cases.
pub(super) fn miri() -> Outcome {
    let nightly = setting("nightly");
    install_toolchain(&nightly, &["rust-src", "miri"])?;
    for (package, filters) in MIRI {
        let (status, output) = line(format!(
            "cargo +{nightly} miri test --locked -p {package} --no-default-features \
             --features ml-dsa-44 {filters}"
        ))
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("PROPTEST_CASES", "2")
        .env("CARGO_TARGET_DIR", "target/miri")
        .output()?;
        if status != 0 || crate::loaded::tests_in(&output) == 0 {
            return failed(format!(
                "Miri over {package}: status {status}, or no test ran"
            ));
        }
    }
    Ok(())
}

/// Packages and tests of [`miri`], which takes minutes for each attempt of signing. Tests over all
/// of Z_q and over all lengths take hours there.
const MIRI: [(&str, &str); 2] = [
    (
        "mldsa-core",
        "--lib -- hash::keccak hash::prehash coding::hint coding::encode ring::poly \
         ring::ntt::tests::products",
    ),
    ("mldsa-lowmem", "--test faults -- first_attempt"),
];

/// The tests on one loaded core.
pub(super) fn loaded() -> Outcome {
    run("cargo xtask loaded")
}
