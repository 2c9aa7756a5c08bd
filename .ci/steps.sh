#!/usr/bin/env bash
# The steps of CI on the main workspace: bash .ci/run NAME. Each step is a function; a command that
# fails ends it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Compilers for C and C++, CMake for other implementations, rustfmt and clippy.
step_tools() {
    install cc=gcc c++=g++ make=make cmake=cmake git=git /usr/include/stdio.h=libc6-dev || true
    cargo fmt --version || run rustup component add rustfmt
    cargo clippy --version || run rustup component add clippy
    rustc --version --verbose
    sed -n '/^model name/{p;q}' /proc/cpuinfo
    echo "MLDSA_VECTORS=${MLDSA_VECTORS:-unset: the large published suites say so and are not run}"
}

# The folders of the other workspaces.
others() { git ls-files '*Cargo.lock' | xargs -n 1 dirname | grep -v '^\.$'; }

# Formatting of every package, in every workspace.
step_fmt() {
    run cargo fmt --check
    for folder in $(others); do run cargo fmt --all --check --manifest-path "$folder/Cargo.toml"; done
}

# Limits of size, unsafe code by part, links, and a reason for each dependency.
step_tree() {
    run cargo xtask tree
    run cargo xtask dependencies
}

# Every lock file fits its manifests.
step_locks() {
    for folder in . $(others); do
        run cargo metadata --locked --format-version 1 --manifest-path "$folder/Cargo.toml" >/dev/null
    done
}

# The core and its tests with one parameter set.
one_set() {
    for features in "std,$1" "std,simd,unstable-internals,$1"; do
        run cargo clippy --locked -p mldsa-core --all-targets --no-default-features \
            --features "$features" -- -D warnings
    done
}

step_clippy() {
    run cargo clippy --locked --workspace --all-targets --all-features -- -D warnings
    # The core's tests with one parameter set, without the others. `features` has the other sets.
    one_set ml-dsa-65
    # The commands over lines alone, as the README builds them.
    run cargo clippy --locked -p mldsa-cli --no-default-features --lib --bins -- -D warnings
    # Tests may unwrap, published code may not.
    run cargo clippy --locked --workspace --lib --bins --all-features -- -D warnings -D clippy::unwrap_used
}

# The command of the README, and what it leaves out because it takes long.
step_tests() {
    run cargo test --locked
    run cargo test --locked -p batch-verify --test forbidden
}

# Features that the command of the README and the step `clippy` leave out.
step_features() {
    run cargo clippy --locked --workspace --all-targets -- -D warnings
    run cargo test --locked -p mldsa-cli --no-default-features --features calibrate calibrate
    for set in ml-dsa-44 ml-dsa-87; do one_set "$set"; done
    run cargo test --locked -p mladsa-aggregate --features insecure-open-commitments \
        --lib --example published_digests
}

# Published vectors and, on a part of the inputs, every other suite, with checks of overflows.
step_kat() { run cargo test --locked -p mldsa-kat -- --nocapture; }

# All inputs, as users build.
step_kat_long() { run cargo test --locked --release -p mldsa-kat -- --nocapture; }

# Keys and signatures of other implementations, and the corpora of the fuzz targets.
step_interop() { run cargo test --locked -p mldsa-interop -- --nocapture; }

no_std_crates="mldsa-core mldsa-lowmem mladsa-aggregate mldsa-evm-precompile"

# features_of CRATE [metal]: the features of a crate, for devices without those that need an
# operating system.
features_of() {
    awk '/^\[/ { on = $0 == "[features]"; next } on && /^[a-z0-9_-]+ *=/ { print $1 }' "crates/$1/Cargo.toml" |
        grep -vx default | { [ "${2:-}" = metal ] && grep -vxE 'std|getrandom|backend-env' || cat; }
}
joined() { paste -sd,; }

# Combinations of features: none, each parameter set with everything else, all.
few() {
    local all set
    all=$(features_of "$@")
    echo
    for set in $(grep '^ml-dsa-' <<<"$all" || true); do
        { echo "$set"; grep -v '^ml-dsa-' <<<"$all" || true; } | joined
    done
    joined <<<"$all"
}

# The others: each alone, each feature that is no parameter set with all parameter sets.
many() {
    local all other
    all=$(features_of "$@")
    echo "$all"
    for other in $(grep -v '^ml-dsa-' <<<"$all" || true); do
        { echo "$other"; grep '^ml-dsa-' <<<"$all" || true; } | joined
    done
}

lint() { # CRATE FEATURES [--target TARGET]
    run cargo clippy --locked --quiet -p "$1" --no-default-features --features "$2" "${@:3}" -- -D warnings
}

# As `no_std` libraries on the host, in few combinations of features.
step_no_std() {
    for name in $no_std_crates; do
        few "$name" | while read -r features; do lint "$name" "$features"; done
    done
}

# Many combinations there, and all for a Cortex-M4.
step_combinations() {
    targets thumbv7em-none-eabi
    for name in $no_std_crates; do
        many "$name" | while read -r features; do lint "$name" "$features"; done
        { few "$name" metal; many "$name" metal; } | while read -r features; do
            lint "$name" "$features" --target thumbv7em-none-eabi
        done
    done
}

# A build of all features for each board.
step_metal() {
    targets $boards x86_64-unknown-none x86_64-unknown-uefi
    for name in $no_std_crates; do
        for target in $boards; do
            # The aggregate shares by Arc, which a CPU without atomics lacks.
            [ "$name $target" != "mladsa-aggregate thumbv6m-none-eabi" ] || continue
            run cargo build --locked --quiet --release -p "$name" --no-default-features \
                --features "$(features_of "$name" metal | joined)" --target "$target"
        done
    done
    # Kernels and firmware: only code generation fails where SIMD is compiled for them.
    for target in x86_64-unknown-none x86_64-unknown-uefi; do
        run cargo build --locked --quiet -p mldsa-core --no-default-features \
            --features "$(features_of mldsa-core metal | joined)" --target "$target"
    done
}

# Emulated CPUs: with the instructions for SHA-3, and without. On the last one the library permutes
# three states of Keccak at a time.
arm_cpus="max cortex-a72 neoverse-n1"

# Tests of the core on an emulated CPU, which have to have the backends of that CPU.
arm_core() { # CPU ARGUMENT...
    local cpu=$1 log
    log=$(mktemp)
    echo "emulated CPU: $cpu"
    QEMU_CPU=$cpu run cargo test --locked --quiet --target aarch64-unknown-linux-gnu -p mldsa-core "${@:2}" 2>&1 | tee "$log"
    if grep -q "has no neon-sha3" "$log"; then [ "$cpu" != max ]; else [ "$cpu" = max ]; fi ||
        { echo "on $cpu the wrong backends ran"; exit 1; }
}

# The NEON backends on emulated CPUs: every kernel against the portable one.
step_neon_smoke() {
    arm
    for cpu in max neoverse-n1; do
        arm_core "$cpu" --features unstable-internals --lib -- --nocapture backend::
    done
}

# All suites on each of the emulated CPUs.
step_neon() {
    arm
    export CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu
    for cpu in $arm_cpus; do
        arm_core "$cpu" --all-features --lib --test api --test formats --test lanes -- --nocapture
        export QEMU_CPU=$cpu
        run cargo test --locked --quiet -p mldsa-lowmem -p batch-verify -p mladsa-aggregate --lib
        # Portable code, code of devices and decoders of damaged bytes have no kernels of this CPU and
        # pass elsewhere. Here they take hours.
        MLDSA_WITHOUT=portable,lowmem run cargo test --locked --quiet --release -p mldsa-kat -- \
            --nocapture --skip damage::
        run cargo run --locked --quiet --release --bin mldsa -- backends
        if [ "$cpu" != max ] &&
            run cargo run --locked --quiet --release --bin mldsa -- --backend neon-sha3 backends; then
            echo "neon-sha3 runs on $cpu"
            exit 1
        fi
        unset QEMU_CPU
    done
}

# The compilers and runners of 32 bits and WebAssembly.
ports() {
    targets i686-unknown-linux-gnu wasm32-wasip1
    need node=nodejs
    mkdir -p target
    echo 'int main(void) { return 0; }' >target/main.c
    m32() { cc -m32 -o target/main32 target/main.c 2>/dev/null; }
    m32 || install cc-m32=gcc-multilib || m32 || not_run "gcc-multilib cannot be installed"
    node --no-warnings -e 'process.exit(Number(!require("node:wasi").WASI.prototype.getImportObject))' ||
        not_run "this Node is too old for tools/wasi.mjs"
    export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/tools/wasi.mjs"
}

# 32 bits and WebAssembly: the libraries compile, and the core passes its own tests.
step_ports_smoke() {
    targets wasm32-unknown-unknown
    for name in $no_std_crates; do
        run cargo check --locked --quiet -p "$name" --no-default-features \
            --features "$(features_of "$name" metal | joined)" --target wasm32-unknown-unknown
    done
    run cargo check --locked --quiet -p batch-verify --target wasm32-unknown-unknown
    ports
    for target in i686-unknown-linux-gnu wasm32-wasip1; do
        # A panic ends a WebAssembly program: its message has to be out before.
        run cargo test --locked --quiet --target $target -p mldsa-core --features unstable-internals --lib -- --nocapture
    done
}

# All suites there except the decoders of damaged bytes and the code of devices, which have no
# backend; a committee's votes in batches.
step_ports() {
    ports
    for target in i686-unknown-linux-gnu wasm32-wasip1; do
        MLDSA_WITHOUT=lowmem run cargo test --locked --quiet --release --target $target -p mldsa-kat -- \
            --nocapture --skip damage::
        run cargo run --locked --quiet --release --target $target -p batch-verify --example bft_round
    done
}

# Systems that this machine does not have: everything compiles that compiles without their C library.
step_cross() {
    for target in x86_64-pc-windows-gnu aarch64-apple-darwin; do
        targets $target
        run cargo check --locked --quiet --target $target --all-targets -p mldsa-core -p mldsa-lowmem \
            -p batch-verify -p mladsa-aggregate -p mldsa-cli -p mldsa-gpu
    done
    for target in aarch64-linux-android aarch64-pc-windows-msvc; do
        targets $target
        run cargo check --locked --quiet --target $target -p mldsa-core
    done
    for target in aarch64-unknown-none aarch64-unknown-none-softfloat; do
        targets $target
        run cargo check --locked --quiet --target $target -p mldsa-core --no-default-features \
            --features "$(features_of mldsa-core metal | joined)"
    done
}

step_doc() {
    RUSTDOCFLAGS="-D warnings" run cargo doc --locked --quiet --workspace --all-features --no-deps
}

# The public items of the library crates are the listed ones.
step_api() {
    toolchain "$(setting nightly)"
    run cargo xtask api
}

cargo_deny() {
    cargo deny --version >/dev/null 2>&1 ||
        timeout 900 cargo install --quiet --locked --debug cargo-deny --version 0.20.2 ||
        not_run "cargo-deny cannot be installed"
}

# Licences, sources and duplicates of the dependencies.
step_deny() {
    cargo_deny
    run cargo deny --workspace check licenses bans sources
}

# Known vulnerabilities of the dependencies. The verdict on a commit changes with the database.
step_advisories() {
    cargo_deny
    # A copy of the database on this machine serves as long as deny.toml does not call it stale.
    timeout 300 cargo deny --workspace fetch db || true
    [ -n "$(find "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs" -name .git 2>/dev/null)" ] ||
        not_run "the advisory database cannot be fetched"
    run cargo deny --workspace --offline check advisories
}

step_fuzz() { run cargo check --locked --manifest-path fuzz/Cargo.toml; }

# Programs and targets that gates need.
gate_tools() {
    # `gcc-multilib` itself conflicts with the compiler for AArch64.
    install valgrind=valgrind "${board_tools[@]}" "${arm_tools[@]}" "/usr/lib32/libc.a=gcc-$(cc -dumpversion)-multilib" || true
    tools/install-targets.sh $boards aarch64-unknown-linux-gnu i686-unknown-linux-gnu || true
}

gates() { gate cargo run --locked --quiet -p mldsa-gates -- "$@"; }

# Constant time, wiping in the release profile, instruction counts.
step_gates() {
    gate_tools
    gates ct
    gates wiping 3
    gates counts
    finish
}

# Stack and heap in four profiles, wiping at the other levels of optimisation, traces.
step_gates_long() {
    gate_tools
    gates stack
    gates wiping 0 1 s z
    gates trace
    finish
}

# Uses the oldest supported compiler.
oldest() {
    RUSTUP_TOOLCHAIN=$(setting rust-version).0
    toolchain "$RUSTUP_TOOLCHAIN"
    export RUSTUP_TOOLCHAIN
}

# The oldest supported compiler: the default members and their tests compile.
step_msrv() {
    oldest
    run cargo check --locked --quiet --all-targets
    run cargo check --locked --quiet --all-targets -p mldsa-c
}

# A copy of the tracked files in a folder.
copied() { # FOLDER
    rm -rf "$1" && mkdir -p "$1"
    git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$1"
}

# The lowest versions of direct dependencies that the manifests admit compile.
step_minimal() {
    local nightly
    nightly=$(setting nightly)
    toolchain "$nightly"
    copied target/minimal
    for folder in target/minimal target/minimal/python; do
        (cd $folder && run cargo "+$nightly" update --quiet -Z direct-minimal-versions &&
            run cargo check --locked --workspace)
    done
}

# The program of a release is the same from two folders, and names neither.
step_reproducible() {
    local program=target/release/mldsa
    for folder in target/first target/second; do
        copied $folder
        run env -u CARGO_TARGET_DIR $folder/tools/build-release.sh --bin mldsa
    done
    run cmp target/first/$program target/second/$program
    ! grep -c -F -e "$PWD" -e "$HOME/" target/first/$program || { echo "the program has paths of its builder"; exit 1; }
    sha256sum target/first/$program
}

# The gates on constant time with that compiler.
step_msrv_gates() {
    oldest
    targets thumbv6m-none-eabi
    install valgrind=valgrind "${board_tools[@]}" || true
    gates trace thumbv6m
    gates ct
    finish
}

# A program of contrib/boards: board COMMAND NAME [ARGUMENT]...
board() { QEMU_TIMEOUT=600 run cargo "$1" --locked --quiet --release --bin "${@:2}"; }

# Assembly as generated; an emulated Cortex-M4: kernels, stack, instructions and faults; the same program is built for Cortex-M0+.
step_device() {
    need "${board_tools[@]}" objcopy=binutils
    targets $boards
    run cargo xtask armv7m
    cd contrib/boards
    for program in differential cortex-m tlog; do board run $program; done
    run ./boot.sh
    board run embassy --features embassy
    CARGO_TARGET_THUMBV7EM_NONE_EABI_RUSTFLAGS="-Ctarget-cpu=cortex-m4 --cfg mldsa_hardware_keccak" board run keccak
    board build cortex-m --target thumbv6m-none-eabi
}

# The C interface for firmware: its header, its archives, and programs by gcc and clang on three emulated boards.
step_firmware() {
    need "${board_tools[@]}" arm-none-eabi-gcc=gcc-arm-none-eabi riscv64-unknown-elf-gcc=gcc-riscv64-unknown-elf \
        clang=clang cc=gcc
    targets thumbv6m-none-eabi thumbv7em-none-eabi thumbv8m.main-none-eabi riscv32imc-unknown-none-elf
    run cargo test --locked -p mldsa-lowmem-c
    run crates/mldsa-lowmem-c/examples/run.sh
}

# The same as `device` at the other levels of optimisation, then beside other implementations; code sizes.
step_levels() {
    need "${board_tools[@]}" readelf=binutils
    targets $boards
    cd contrib/boards
    for level in 2 s z; do CARGO_PROFILE_RELEASE_OPT_LEVEL=$level board run cortex-m; done
    board run cortex-m --features peers
    run ./sizes.sh $boards
}

# GPU kernels: the embedded PTX is what the compiler makes, PoCL runs the kernels on this CPU and
# verdicts are the core's, and NVIDIA's assembler finds no more registers or spills than recorded.
step_gpu() {
    need clang-19=clang-19 /etc/OpenCL/vendors/pocl.icd=pocl-opencl-icd \
        /usr/share/doc/ocl-icd-libopencl1=ocl-icd-libopencl1
    gate crates/mldsa-gpu/ptx.sh check
    MLDSA_GPU=opencl run cargo test --locked -p mldsa-gpu --lib -- --nocapture
    MLDSA_GPU=opencl run cargo test --locked -p mldsa-cli --features gpu --test suite -- gpu::
    MLDSA_GPU=opencl run cargo test --locked -p mldsa-archive --features gpu --test archive -- gpu::
    gate crates/mldsa-gpu/registers.sh
    finish
}

# Columns of Apache Arrow: every encoding against the verdicts of its rows; the program for archives.
step_arrow() {
    run cargo test --locked -p mldsa-arrow -p mldsa-archive
}

# Certificates for rustls and transparency logs; both without `std`.
step_tls() {
    targets thumbv7em-none-eabi
    run cargo test --locked -p mldsa-rustls --features experimental
    run cargo test --locked -p mldsa-tlog
    run cargo test --locked -p mldsa-tlog --features batch
    lint mldsa-rustls ""
    lint mldsa-tlog ""
    lint mldsa-rustls "" --target thumbv7em-none-eabi
    lint mldsa-tlog alloc --target thumbv7em-none-eabi
}

# The Python wheel.
step_python() {
    gate python/test.sh
    finish
}

# Tools of the C suite.
c_tools() {
    need cc=gcc c++=g++
    install valgrind=valgrind mcs=mono-mcs mono=mono-runtime || true
}

# The C interface: header, examples, misuse under sanitizers and Valgrind, known answers, wiping.
step_c() {
    c_tools
    run cargo test --locked -p mldsa-c -- --nocapture
    # A library that ends the process after a panic passes the programs that provoke errors.
    local folder=${CARGO_TARGET_DIR:-$PWD/target}/c-abort
    CARGO_PROFILE_DEV_PANIC=abort run cargo build --locked --quiet -p mldsa-c --target-dir "$folder"
    MLDSA_C_ARCHIVE=$folder/debug/libmldsa_c.a run cargo test --locked -p mldsa-c --test suite -- \
        --nocapture misuse_is random_programs
}

# The C library as it is installed: stack and other Rust archives with glibc, small threads with musl.
step_c_installed() {
    c_tools
    local folder=${CARGO_TARGET_DIR:-$PWD/target}/c-installed
    run crates/mldsa-c/install.sh "$folder"
    MLDSA_C_ARCHIVE=$folder/lib/libmldsa_c.a run cargo test --locked -p mldsa-c --test suite -- \
        --nocapture stack:: link:: misuse_is_rejected wiped generator
    need musl-gcc=musl-tools
    targets x86_64-unknown-linux-musl
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        run crates/mldsa-c/install.sh "$folder-musl" x86_64-unknown-linux-musl
    MLDSA_C_COMPILER="musl-gcc -static -std=c99" MLDSA_C_ARCHIVE=$folder-musl/lib/libmldsa_c.a \
        run cargo test --locked -p mldsa-c --test suite -- --nocapture stack:: misuse_is_rejected
}

# Builds the C library for the Go module. Tests need verdicts and not speed.
go_native() {
    has go || not_run "no Go"
    need cc=gcc
    (cd go && go list -deps -test ./... >/dev/null 2>&1) || not_run "the modules cannot be downloaded"
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 run go/build-native.sh "$@"
}

# The Go module in its three forms.
step_go() {
    go_native
    cd go
    for tags in "" mldsa_cgo mldsa_purego; do run go vet -tags="$tags" ./...; done
    run go test ./...
    # Indices of 32 bits in ints of 32 bits.
    [ "$(go env GOARCH)" != amd64 ] || CGO_ENABLED=0 GOARCH=386 run go test -run "Zero|Members|Committee|Quorum|Batch|Full|Changed" ./...
    run go test -race -run "Concurrent|Release" ./...
    run go test -tags=mldsa_cgo ./...
    CGO_ENABLED=0 MLDSA_LIBRARY=$PWD/native/linux_$(go env GOARCH)/libmldsa_c.so.2 \
        run go test -tags=mldsa_purego ./...
    run go test -tags=mldsa_cgo -race -run "Concurrent|Committee|Fuzz" ./...
    GOEXPERIMENT=cgocheck2 run go test -tags=mldsa_cgo ./...
}

# The Go module for arm64 under an emulator.
step_go_arm64() {
    arm
    go_native aarch64-unknown-linux-gnu
    cd go
    export GOARCH=arm64 MLDSA_LIBRARY=$PWD/native/linux_arm64/libmldsa_c.so.2
    export CC=aarch64-linux-gnu-gcc QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
    CGO_ENABLED=1 run go test -exec=qemu-aarch64 -tags=mldsa_cgo ./...
    CGO_ENABLED=0 run go test -exec=qemu-aarch64 -tags=mldsa_purego ./...
}

# The JavaScript package, and the verifier for hosts of WebAssembly, with vectors.
step_js() {
    need node=nodejs npm=npm
    targets wasm32-unknown-unknown wasm32-wasip1
    for features in "" full files; do
        (cd js/wasm && run cargo clippy --locked --quiet --release --target wasm32-unknown-unknown --features "$features" -- -D warnings)
    done
    (cd js && run npm install --silent --no-audit --no-fund) || not_run "noble-post-quantum cannot be installed"
    # A fifth of the cases that `npm test` compares with noble-post-quantum.
    (cd js && run node build.mjs && MLDSA_NOBLE_CASES=200 run node --test test/)
    # The oldest Node that package.json names.
    local oldest=target/node-20.0.0 package
    package=$(node -p '`node-${process.platform}-${process.arch}`')
    run npm install --silent --no-audit --no-fund --prefix "$oldest" "$package@20.0.0" || not_run "Node 20.0.0 cannot be installed"
    (cd js && run "../$oldest/node_modules/$package/bin/node" --test test/{misuse,prehash,faults,keys}.test.mjs)
    export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/tools/wasi.mjs" RUSTFLAGS=-Ctarget-feature=+simd128
    run cargo test --locked --quiet --target wasm32-wasip1 -p mldsa-core --features unstable-internals --lib -- --nocapture backend::
    run cargo run --locked --quiet --release --target wasm32-wasip1 -p batch-verify --example bft_round
}

# The first command of the README ends with status 0 and accepts every vote; the second example
# rejects the forged ones.
step_readme() {
    local command
    for status in 0 1; do
        command=$(grep -o 'cargo run --release -p mldsa-cli --no-default-features -- batch-verify [^ `]*' README.md | sed -n "$((status + 1))p")
        [ -n "$command" ] || { echo "README.md lacks a command"; exit 1; }
        local found=0
        run $command >target/readme.txt || found=$?
        tail -3 target/readme.txt | cut -c1-200
        [ "$found" = "$status" ] && [ -s target/readme.txt ] || { echo "status $found, expected $status"; exit 1; }
    done
}

# Miri over the portable paths of the core and of `mldsa-lowmem`, with few random cases. Tests over
# all of Z_q and over all lengths take hours there.
step_miri() {
    toolchain "$(setting nightly)" rust-src miri
    export MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 CARGO_TARGET_DIR=target/miri
    miri() {
        run cargo "+$(setting nightly)" miri test --locked --no-default-features --features ml-dsa-44 "$@" | tee target/miri.txt
        grep -qE 'test result: ok\. [1-9]' target/miri.txt || { echo "no test ran"; exit 1; }
    }
    mkdir -p target
    miri -p mldsa-core --lib -- hash::keccak hash::prehash coding::hint coding::encode ring::poly ring::ntt::tests::products
    miri -p mldsa-lowmem --test faults -- first_attempt
}

# The tests of the crates with threads on one core, beside four busy processes: a test that fails
# here depends on scheduling. Once more with one thread in rayon's pool.
step_loaded() {
    local packages="-p batch-verify -p mladsa-aggregate -p mldsa-cli" busy=() core
    core=$(($(nproc) - 1))
    run cargo test --locked $packages --no-run
    for _ in 1 2 3 4; do
        taskset --cpu-list $core sh -c 'while :; do :; done' &
        busy+=($!)
    done
    trap 'kill "${busy[@]}"' EXIT
    run taskset --cpu-list $core cargo test --locked $packages
    RAYON_NUM_THREADS=1 run cargo test --locked $packages
}

# The loop of a contributor.
step_quick() {
    run cargo fmt --check
    run cargo clippy --locked --all-targets -- -D warnings
    run cargo test --locked
}

declare -F "step_$1" >/dev/null || { echo "no step $1; there are: $(declare -F | sed -n 's/^declare -f step_//p' | paste -sd' ')"; exit 2; }
mkdir -p target
"step_$1"
finish
