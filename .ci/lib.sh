# Functions of the steps of CI. Sourced by .ci/steps.sh and contrib/*/ci.sh, which run at the root of
# the repository.
set -euo pipefail
export LC_ALL=C

not_run() { echo "not run: $*"; exit 77; }

# Prints a command and runs it, without standard input.
run() { echo "+ $*"; "$@" </dev/null; }

# Runs a gate, whose status 77 means that a tool is missing: the step goes on, and `finish` reports it.
lacking=
gate() {
    local status=0
    run "$@" || status=$?
    case $status in
    0) ;;
    77) lacking=$* ;;
    *) exit "$status" ;;
    esac
}
finish() { [ -z "$lacking" ] || not_run "a tool is missing for \`$lacking\`"; }

# A value of Cargo.toml: the first line `KEY = "VALUE"`.
setting() { sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" Cargo.toml | head -1; }

# Whether a program is in PATH or, with a slash, a file exists.
has() { case $1 in */*) [ -e "$1" ] ;; *) command -v "$1" >/dev/null ;; esac; }

# Installs the Debian packages of PROGRAM=PACKAGE that are missing. Fails if one is still missing.
install() {
    local sudo='' pair missing=''
    [ "$(id -u)" = 0 ] || sudo='sudo --non-interactive'
    for pair; do has "${pair%%=*}" || missing+=" ${pair#*=}"; done
    if [ -n "$missing" ] && has apt-get; then
        echo "installing$missing"
        $sudo apt-get -qq update || true
        # Some of several packages are better than none.
        for pair in $missing; do
            $sudo apt-get -qq install -y --no-install-recommends "$pair" >/dev/null || true
        done
    fi
    for pair; do has "${pair%%=*}" || return 1; done
}
need() { install "$@" || not_run "one of $* cannot be installed"; }

# Makes targets usable with the compiler in use.
targets() { tools/install-targets.sh "$@" || not_run "one of $* cannot be installed"; }

# toolchain NAME [COMPONENT]...
toolchain() {
    local name=$1 component list=()
    shift
    for component; do list+=(--component "$component"); done
    rustup toolchain install "$name" --profile minimal --no-self-update "${list[@]}" >/dev/null 2>&1 ||
        cargo "+$name" --version >/dev/null || not_run "rustup cannot install $name"
}

arm_tools=(aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu qemu-aarch64=qemu-user
    /usr/aarch64-linux-gnu/include/stdio.h=libc6-dev-arm64-cross)
board_tools=(qemu-system-arm=qemu-system-arm qemu-system-riscv32=qemu-system-misc)
boards="thumbv7em-none-eabi thumbv6m-none-eabi riscv32imac-unknown-none-elf"

# Settings for building for AArch64 Linux and running there.
arm() {
    need "${arm_tools[@]}"
    targets aarch64-unknown-linux-gnu
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
}
