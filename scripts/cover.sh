#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# cover.sh - which lines of src/ the tests run: unit tests, fuzz corpora, and the quick tests of command
# line, server and faults, with a build that counts. The table by folder is printed and kept in
# build/cover/summary.txt; build/cover/lines.json has every file.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test
scripts/page.sh
jobs=$(nproc)
logs=build/test-logs
mkdir -p "$logs"
{
    cmake --preset cover
    cmake --build build/cover --parallel "$jobs"
    cmake --preset release
    cmake --build build/release --target footplate_python train --parallel "$jobs"
} >"$logs/cover.log"
ln -sfn ../../release/python/footplate build/cover/python/footplate
find build/cover -name '*.gcda' -delete

export FOOTPLATE_BIN=$PWD/build/cover/src/cmd/footplate
export FOOTPLATE_TRAIN=$PWD/build/release/examples/c/train
export FOOTPLATE_PYTHON=$PWD/build/release/python
echo "cover: unit tests and fuzz corpora"
# emit/symbols is about what the library for jobs may call, which the counters add to.
ctest --test-dir build/cover --parallel "$jobs" --exclude-regex emit/symbols >>"$logs/cover.log" || echo "cover: some unit tests failed, see $logs/cover.log"
for folder in cli serve fault; do
    echo "cover: tests/$folder"
    .venv/bin/python -m pytest -q --weight light --numprocesses "$((jobs + 1))" --dist loadfile \
        "tests/$folder" >>"$logs/cover.log" || echo "cover: some tests of $folder failed, see $logs/cover.log"
done
python3 tools/coverage.py build/cover | tee build/cover/summary.txt
