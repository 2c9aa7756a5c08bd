#!/bin/sh
# Builds the wheel, not optimised, installs it into an environment of its own, compares it with the stubs
# and runs the tests. Status 77: Python or a package of the tests is missing.
set -eu
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-$PWD/target}
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "no Python 3.10"; exit 77; }
environment=$target/python
[ -x "$environment/bin/python" ] || "$python" -m venv "$environment" || { echo "no venv"; exit 77; }
"$environment/bin/pip" install --quiet 'maturin>=1.9,<2' pytest pyarrow 'cryptography>=48' pandas polars mypy ||
    { echo "the packages of the tests cannot be installed"; exit 77; }
"$environment/bin/maturin" build --quiet --locked --interpreter "$environment/bin/python" \
    --target-dir "$target/wheel" --out "$target/wheels"
"$environment/bin/pip" install --quiet --force-reinstall --no-deps "$target"/wheels/mldsa_batch-*.whl
"$environment/bin/python" -m mypy.stubtest mldsa_batch
"$environment/bin/python" -m pytest -q "$@" tests
