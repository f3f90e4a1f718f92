#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh [STEP...] - runs every test, or only the named steps. Each step is a function below, writes
# build/test-logs/STEP.log, and passes, fails, or is skipped (status 77, last line of the log says
# why). A failed step does not keep the others from running. Tests with real processes, sockets and
# browsers that fail are tried once more, alone; what passes then is named in the summary with the
# reason of the first time, and so is not forgotten.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

steps=(
    "layers   who may include whom (src/LAYERS)"
    "sizes    functions and files of a readable size"
    "spdx     a licence line in every source file"
    "links    paths and links in the documentation exist"
    "words    text that users meet is in plain words"
    "format   C sources are as clang-format leaves them"
    "ruff     Python sources are clean and formatted"
    "tools    the checks above refuse what they should"
    "build    the program as users get it, at build/footplate"
    "gcc      unit tests and fuzz corpora, gcc -O2"
    "dev      the same with clang, address and undefined behaviour sanitizers"
    "tsan     the tests with threads, thread sanitizer"
    "cli      the program and the example, from the command line"
    "py       the Python package: hooks, explicit API, installation"
    "fault    full disks, kills, broken files"
    "serve    the dashboard's server: API, rights, hostile clients"
    "web      the dashboard's page: types, and what needs no browser"
    "browser  the dashboard in a real browser"
    "package  wheel, tarball, sdist and Debian packages, as an ordinary user gets them"
)
logs=$PWD/build/test-logs
jobs=2
skipped=77

step_layers() { python3 tools/check_layers.py; }
step_sizes() { python3 tools/check_sizes.py; }
step_spdx() { python3 tools/check_spdx.py; }
step_links() { python3 tools/check_links.py; }
step_words() { python3 tools/check_words.py; }
step_format() { python3 tools/sources.py .c .h | xargs clang-format-14 --dry-run -Werror; }
step_ruff() { .venv/bin/ruff check . && .venv/bin/ruff format --check .; }
step_tools() { run_pytest tools; }
step_build() { scripts/build.sh; }
step_gcc() { build_preset gcc && run_ctest gcc; }
step_dev() { build_preset dev && run_ctest dev; }
step_cli() { scripts/build.sh && run_pytest cli --numprocesses $jobs --dist loadfile; }
step_py() { scripts/build.sh && build_part ring_dump && run_pytest py --numprocesses $jobs --dist loadfile; }
step_fault() { scripts/build.sh && run_pytest fault --numprocesses $jobs --dist loadfile; }
step_serve() { scripts/build.sh && run_pytest serve; }
step_web() { scripts/build.sh && (cd web && node_modules/.bin/tsc --noEmit && node tests/run.mjs); }
step_browser() { scripts/build.sh && build_part nvml_standin && run_browser; }
step_package() {
    scripts/setup.sh package-test && FP_ARCHES=$(uname -m) scripts/package.sh sdist wheel tarball deb &&
        run_pytest package
}

step_tsan() {
    build_preset tsan || return
    if steady build/tsan/examples/c/train --help 2>&1 | grep 'unexpected memory mapping'; then
        echo "clang 14's thread sanitizer cannot run with this kernel's address randomisation"
        return $skipped
    fi
    run_ctest tsan --label-regex threads
}

# Clang 14's sanitizers stumble over the wide address randomisation of newer kernels: switch it off
# where that is allowed.
steady() {
    if setarch -R true 2>/dev/null; then
        setarch -R "$@"
    else
        "$@"
    fi
}

build_preset() { # PRESET
    cmake --preset "$1" && cmake --build "build/$1" --parallel $jobs
}

# What belongs to the tests, which build.sh leaves out: ring_dump reads what hooks say without a
# recorder, nvml_standin plays GPUs.
build_part() { # TARGET
    cmake --preset gcc && cmake --build build/gcc --target "$1"
}

run_ctest() { # PRESET [CTEST OPTION...]
    local preset=$1
    shift
    set -- --test-dir "build/$preset" --output-on-failure --no-tests=error \
        --test-output-size-passed 1000000 "$@"
    steady ctest --parallel $jobs --output-junit "$logs/$preset.xml" "$@" ||
        steady ctest --rerun-failed --output-junit "$logs/$preset.again.xml" "$@"
}

run_pytest() { # FOLDER OF tests/ [PYTEST OPTION...]
    local folder=$1
    shift
    if ! compgen -G "tests/$folder/test_*.py" >/dev/null; then
        echo "there is no test in tests/$folder yet"
        return $skipped
    fi
    .venv/bin/python -m pytest --junitxml="$logs/$folder.xml" "$@" "tests/$folder" ||
        .venv/bin/python -m pytest --junitxml="$logs/$folder.again.xml" --last-failed "tests/$folder"
}

run_browser() {
    local status=0
    node tests/browser/run.mjs || status=$?
    [ $status = 0 ] || [ $status = $skipped ] || JUNIT_XML=$logs/browser.again.xml node tests/browser/run.mjs
}

run_step() { # NAME
    local name=$1 began=$SECONDS status result
    rm -f "$logs/$name".*
    printf '%-8s' "$name"
    "step_$name" >"$logs/$name.log" 2>&1
    status=$?
    case $status in
    0) result=ok ;;
    "$skipped") result=SKIPPED ;;
    *) result=FAILED ;;
    esac
    printf '%s\t%s\t%s\n' "$name" $result $((SECONDS - began)) >>"$logs/steps.tsv"
    echo "$result ($((SECONDS - began)) s)"
    [ $result != FAILED ] || tail -n 40 "$logs/$name.log" | sed 's/^/    | /'
}

usage() {
    echo "usage: scripts/test.sh [STEP...]; without one, all of:"
    printf '  %s\n' "${steps[@]}"
}

for name in "$@"; do
    if [ "$name" = --help ]; then
        usage
        exit 0
    fi
    if ! printf '%s\n' "${steps[@]}" | grep -q "^$name "; then
        echo "test: there is no step '$name'" >&2
        usage >&2
        exit 2
    fi
done

scripts/setup.sh test || exit 1
mkdir -p "$logs"
rm -f "$logs/steps.tsv"

symbolizer=$(command -v llvm-symbolizer-14)
export ASAN_SYMBOLIZER_PATH=$symbolizer
export TSAN_OPTIONS="external_symbolizer_path=$symbolizer halt_on_error=1"
export UBSAN_OPTIONS=print_stacktrace=1
export FOOTPLATE_BIN=$PWD/build/footplate
export FOOTPLATE_PYTHON=$PWD/build/release/python
export FOOTPLATE_RING_DUMP=$PWD/build/gcc/tests/unit/ring/ring_dump

if [ $# = 0 ]; then
    set -- "${steps[@]%% *}"
fi
for name in "$@"; do
    run_step "$name"
done
python3 scripts/test_summary.py "$logs"
