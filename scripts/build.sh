#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh [page] - builds what users get and leaves the program at build/footplate; with `page`, builds
# only the page.
set -euo pipefail
cd "$(dirname "$0")/.."

# The dashboard's page, which the program carries: made again when one of its sources is newer.
build_page() {
    local page=web/dist/index.html
    if [ -e $page ] && [ -z "$(find web/src web/build.mjs web/package-lock.json -newer $page -print -quit)" ]; then
        return
    fi
    [ -d web/node_modules/esbuild ] || scripts/setup.sh build
    node web/build.mjs
}

mkdir -p build
build_page
[ "${1:-}" != page ] || exit 0
if ! { cmake --preset release && cmake --build build/release; } >build/build.log 2>&1; then
    cat build/build.log >&2
    echo "build: failed; the output above is also in build/build.log" >&2
    exit 1
fi
ln -sfn release/src/cmd/footplate build/footplate
echo "build: build/footplate is ready"
