# Convenience only: the commands are those of CONTRIBUTING.md and integrations/README.md.

# Lists the recipes.
default:
    @just --list

# All steps of CI, or the named ones.
ci *STEPS:
    bash .ci/run {{STEPS}}

# Formatting, lints and tests of the crates that users see.
quick:
    bash .ci/run quick

fmt:
    cargo fmt

lint:
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test

# Conformance at full length; set MLDSA_VECTORS for the large published files.
kat:
    cargo test --release -p mldsa-kat

structure:
    cargo test -p mldsa-core --test structure

no-std:
    bash .ci/run no_std

metal:
    bash .ci/run metal

target NAME:
    tools/install-targets.sh {{NAME}}

doc:
    cargo doc --workspace --exclude benches --no-deps --all-features --open

bench *ARGS:
    cargo bench --manifest-path contrib/peers/Cargo.toml {{ARGS}}

scorecard *ARGS:
    cargo run --release --manifest-path contrib/peers/Cargo.toml --bin scorecard -- {{ARGS}}

deny:
    cargo deny --workspace check licenses bans sources

# Lines of code, public items, language findings, tests on a loaded core.
x *ARGS:
    cargo xtask {{ARGS}}

gate NAME='all' *ARGS:
    cargo run -p mldsa-gates -- {{NAME}} {{ARGS}}

# Every engine, small: builds for some minutes, with a C compiler.
integrations:
    cargo test --release --manifest-path contrib/engines/Cargo.toml --workspace
    cargo run --release --manifest-path contrib/engines/Cargo.toml --bin bft-simplex -- --net sim --validators 4 --views 20 --set 65
    cargo run --release --manifest-path contrib/engines/Cargo.toml --bin bft-malachite -- --validators 4 --heights 10 --set 65
    cargo run --release --manifest-path contrib/engines/Cargo.toml --bin bft-alephbft -- --validators 4
