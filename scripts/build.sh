#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh - builds what users get and leaves the program at build/footplate.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build
scripts/page.sh
if ! { cmake --preset release && cmake --build build/release; } >build/build.log 2>&1; then
    cat build/build.log >&2
    echo "build: failed; the output above is also in build/build.log" >&2
    exit 1
fi
ln -sfn release/src/cmd/footplate build/footplate
echo "build: build/footplate is ready"
