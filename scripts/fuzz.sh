#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh [NAME...] - fuzzes each parser (or the named ones) for FUZZ_SECONDS seconds. Each starts
# from a scratch copy of its corpus under build/fuzz-work, so the committed corpus never changes. An
# input that breaks a parser is left there too: fix the parser, then move it into the corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}

scripts/setup.sh fuzz
ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-14)
export ASAN_SYMBOLIZER_PATH
cmake --preset fuzz >/dev/null
cmake --build build/fuzz --target fuzzers

fuzz_one() { # PROGRAM
    local name=${1##*/fuzz_} work
    work=build/fuzz-work/$name
    rm -rf "$work/corpus"
    mkdir -p "$work/corpus"
    [ ! -d "tests/fuzz/corpus/$name" ] || cp -r "tests/fuzz/corpus/$name/." "$work/corpus"
    echo "fuzz: $name for $seconds s"
    "$1" -max_total_time="$seconds" -artifact_prefix="$work/" -print_final_stats=1 \
        "$work/corpus" >"$work/log" 2>&1 && return
    tail -n 30 "$work/log"
    echo "fuzz: $name FAILED; the input is in $work" >&2
    return 1
}

failed=0 ran=0
for program in build/fuzz/tests/fuzz/fuzz_*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    [ $# = 0 ] || [[ " $* " == *" ${program##*/fuzz_} "* ]] || continue
    ran=$((ran + 1))
    fuzz_one "$program" || failed=$((failed + 1))
done
echo "fuzz: $ran parsers, $failed failed"
[ $ran -gt 0 ] && [ $failed = 0 ]
