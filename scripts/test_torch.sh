#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test_torch.sh VERSION... - runs the tests of the PyTorch hooks with other versions of torch, each in
# a virtual environment of its own that is removed again. PYTHON names the interpreter (python3): a
# version of torch knows some of them only. A version takes some GB of downloads and of build/, so
# `make test` leaves this out. What a version lacks is SKIPPED, with the reason.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

tests=(tests/py/test_torch_{loops,ends,detail,run,cuda,gate}.py)

install() { # ENVIRONMENT VERSION
    "${PYTHON:-python3}" -m venv "$1" || return
    "$1/bin/pip" install --quiet --no-cache-dir "torch==$2" "numpy<2" pytest setuptools
}

test_with() { # VERSION
    local env=build/torch-$1 status
    echo "== torch $1"
    install "$env" "$1" && "$env/bin/python" -m pytest -q "${tests[@]}"
    status=$?
    rm -rf "$env"
    return $status
}

if [ $# = 0 ]; then
    echo "usage: [PYTHON=python3.10] scripts/test_torch.sh VERSION..." >&2
    exit 2
fi
scripts/build.sh && cmake --preset gcc && cmake --build build/gcc --target ring_dump || exit
status=0
for version in "$@"; do
    test_with "$version" || status=1
done
exit $status
