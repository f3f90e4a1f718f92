#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh [test|all|lint|STEP...] - runs the steps of `make test` (the default), of `make test-all`, of
# `make lint`, or the named ones. Each step is a function below, writes build/test-logs/STEP.log, and
# passes, fails, or is skipped (status 77; the last line of the log is the reason). A failed step does
# not stop the others. Tests that fail run once more, alone; the summary names those that pass the
# second time, with the reason of the first failure.
#
# `make test` must stay below ten minutes on a new machine with two cores, installation included. It
# tests one build, with the address and undefined behaviour sanitizers. tests/heavy.txt lists the tests
# that only `make test-all` runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

# name | the set it belongs to: lint (also part of test), test, or all | what it does
steps=(
    "layers        | lint | which folder of src/ may include which (src/LAYERS)"
    "storage       | lint | only src/run and src/store reach into a run folder"
    "sizes         | lint | functions and files of a readable size"
    "spdx          | lint | a licence line in every source file"
    "links         | lint | paths and links in the documentation exist"
    "words         | lint | text that users meet is in plain words"
    "format        | lint | C sources are formatted by clang-format"
    "ruff          | lint | Python sources are clean and formatted"
    "mypy          | lint | types of the Python package"
    "shellcheck    | lint | shell scripts"
    "codespell     | lint | spelling of sources and documentation"
    "biome         | lint | the sources of the page and its tests"
    "tools         | test | the checks above refuse what they should"
    "dev           | test | unit tests and fuzz corpora: clang, address and undefined behaviour sanitizers"
    "cli           | test | the command line, with sanitizers"
    "fault         | test | full disks, kills, broken files, with sanitizers"
    "serve         | test | the server: API, rights, hostile clients, with sanitizers"
    "remote        | test | runs on object storage and on a hub, against servers of the tests, with sanitizers"
    "py            | test | the Python package: hooks for PyTorch, explicit API, analysis"
    "web           | test | the page: types, and what needs no browser"
    "smoke         | test | every view of the page in a browser"
    "tidy          | all  | C sources by clang-tidy (.clang-tidy); also part of make lint"
    "build         | all  | the program as users get it, at build/footplate"
    "gcc           | all  | unit tests and fuzz corpora, gcc -O2"
    "arm64         | all  | everything that needs no library compiles for aarch64"
    "tsan          | all  | the tests with threads, thread sanitizer"
    "cli-release   | all  | the command line, as users get it"
    "fault-release | all  | soak tests and kill loops, as users get it"
    "serve-release | all  | the server, as users get it"
    "remote-swift  | all  | runs on object storage, against OpenStack Swift, as users get it"
    "trial         | all  | the short form of \`make trial\`: programs with a planted problem"
    "py-heavy      | all  | TensorFlow, Keras, JAX, Lightning, Transformers; torch.compile; installation by pip"
    "browser       | all  | the page in a browser: all views, sizes and schemes"
    "package       | all  | wheel, tarball, sdist and Debian packages, as an ordinary user gets them"
)
logs=$PWD/build/test-logs
jobs=$(nproc)
waiting=$((2 * jobs)) # processes for tests that wait most of the time
skipped=77

# ---- checks without a build

step_layers() { python3 tools/check_layers.py; }
step_storage() { python3 tools/check_storage.py; }
step_sizes() { python3 tools/check_sizes.py; }
step_spdx() { python3 tools/check_spdx.py; }
step_links() { python3 tools/check_links.py; }
step_words() { python3 tools/check_words.py; }
step_format() { python3 tools/sources.py .c .h | xargs clang-format-14 --dry-run -Werror; }
step_ruff() { .venv/bin/ruff check . && .venv/bin/ruff format --check .; }
step_mypy() { .venv/bin/mypy; }
step_shellcheck() { python3 tools/sources.py --shell | xargs shellcheck; }
step_codespell() { .venv/bin/codespell; }
step_biome() { node web/rows.mjs && web/node_modules/.bin/biome lint --error-on-warnings web tests/browser; }
step_tools() { run_pytest tools; }

# With the commands of the release build, less an option that only gcc knows.
step_tidy() {
    cmake --preset release >/dev/null && mkdir -p build/tidy || return
    sed 's/ -fno-ipa-ra//' build/release/compile_commands.json >build/tidy/compile_commands.json
    python3 tools/sources.py .c | grep -E '^(src|examples|python)/' |
        xargs --max-procs="$jobs" --max-args=20 clang-tidy-14 --quiet -p build/tidy
}

# ---- make test: one build with sanitizers

step_dev() { build_dev && run_ctest dev --parallel $((jobs + 1)); }
step_cli() { build_dev && use dev && run_pytest cli --weight light --numprocesses "$jobs" --dist loadfile; }
step_fault() { build_dev && use dev && run_pytest fault --weight light --numprocesses "$waiting" --dist loadfile; }
step_serve() { build_dev && use dev && run_pytest serve --weight light --numprocesses "$jobs" --dist loadfile; }
step_remote() { build_dev && use dev && run_pytest remote --weight light --numprocesses "$jobs" --dist loadfile; }
step_py() { build_dev && torch_installed && use dev && run_pytest py --weight light --numprocesses "$jobs" --dist loadfile; }
step_web() { (cd web && node rows.mjs && node_modules/.bin/tsc --noEmit && node tests/run.mjs); }
step_smoke() { build_dev && use dev && run_browser smoke; }

# ---- make test-all: the rest, with the program as users get it

step_build() { scripts/build.sh; }
step_package() {
    scripts/setup.sh package-test && FP_ARCHES=$(uname -m) scripts/package.sh sdist wheel tarball deb &&
        run_pytest package
}

step_gcc() { build_preset gcc && run_ctest gcc --parallel "$jobs"; }
step_cli-release() { scripts/build.sh && use release && run_pytest cli --numprocesses "$jobs" --dist loadfile; }
step_fault-release() { scripts/build.sh && use release && run_pytest fault --weight heavy --numprocesses "$jobs" --dist loadfile; }
step_serve-release() { scripts/build.sh && use release && run_pytest serve --numprocesses "$jobs" --dist loadfile; }
step_remote-swift() { scripts/build.sh && use release && run_pytest remote --weight heavy --numprocesses "$waiting" --dist loadfile; }
step_py-heavy() { scripts/build.sh && use release && run_pytest py --weight heavy --numprocesses "$jobs" --dist loadfile; }
step_trial() { scripts/build.sh && use release && run_pytest trial; }
step_browser() { scripts/build.sh && use release && run_browser; }

step_arm64() {
    local libraries
    cmake --preset arm64 || return
    mapfile -t libraries < <(ninja -C build/arm64 -t targets all | sed -n 's|^\(src/.*\.a\): .*|\1|p')
    cmake --build build/arm64 --parallel "$jobs" --target "${libraries[@]}" fp_emit_shared train
}

step_tsan() {
    build_preset tsan || return
    if steady build/tsan/examples/c/train --help 2>&1 | grep 'unexpected memory mapping'; then
        echo "clang 14's thread sanitizer cannot run with this kernel's address randomisation"
        return $skipped
    fi
    run_ctest tsan --parallel "$jobs" --label-regex threads
}

# ---- helpers

# Clang 14's sanitizers stumble over the wide address randomisation of newer kernels: switch it off
# where that is allowed. Programs started by this one inherit it.
steady() {
    if setarch -R true 2>/dev/null; then
        setarch -R "$@"
    else
        "$@"
    fi
}

build_preset() { # PRESET
    cmake --preset "$1" && cmake --build "build/$1" --parallel "$jobs"
}

# The program, the page and all unit tests with sanitizers. The hooks are loaded into a Python that
# has no sanitizers, so they come from the release build; the program finds them beside itself. The
# example, which most tests only record, comes from there too: sanitizers make it ten times slower.
# Why no whole release build in `make test`: it would cost 40 s more CPU time, the sanitizers cost
# about as much in the tests of processes (0.08 s of CPU time per test instead of 0.035 s) and find more.
build_dev() {
    scripts/page.sh && build_preset dev && cmake --preset release &&
        cmake --build build/release --target footplate_python train --parallel "$jobs" &&
        ln -sfn ../../release/python/footplate build/dev/python/footplate
}

# Which build the tests of processes use. ring_dump reads what hooks emit without a recorder,
# nvml_standin plays GPUs: both belong to the tests, so the release build has none.
use() { # dev|release
    local tests=build/dev program=build/dev
    if [ "$1" = release ]; then
        tests=build/gcc program=build/release
        cmake --preset gcc && cmake --build build/gcc --target ring_dump nvml_standin || return
    fi
    export FOOTPLATE_BIN=$PWD/$program/src/cmd/footplate
    export FOOTPLATE_TRAIN=$PWD/build/release/examples/c/train
    export FOOTPLATE_PYTHON=$PWD/build/release/python
    export FOOTPLATE_RING_DUMP=$PWD/$tests/tests/unit/ring/ring_dump
    export FOOTPLATE_STANDIN=$PWD/$tests/tests/standin/libnvidia-ml-standin.so
}

# PyTorch is installed while the build runs.
torch_installed() {
    [ -z "$torch_setup" ] || { wait "$torch_setup" && cat "$logs/setup-torch.log"; }
}

run_ctest() { # PRESET CTEST OPTION...
    local preset=$1
    shift
    set -- --test-dir "build/$preset" --output-on-failure --no-tests=error \
        --test-output-size-passed 1000000 "$@"
    steady ctest --output-junit "$logs/$preset.xml" "$@" ||
        steady ctest --rerun-failed --output-junit "$logs/$preset.again.xml" "$@"
}

run_pytest() { # FOLDER OF tests/ [PYTEST OPTION...]
    local folder=$1 weight=all
    shift
    [ "${1:-}" != --weight ] || weight=$2
    steady .venv/bin/python -m pytest --junitxml="$logs/$step.xml" "$@" "tests/$folder" ||
        steady .venv/bin/python -m pytest --junitxml="$logs/$step.again.xml" --weight "$weight" \
            --last-failed "tests/$folder"
}

run_browser() { # [NAME...]
    local status=0 failed
    JUNIT_XML=$logs/$step.xml steady node tests/browser/run.mjs "$@" || status=$?
    [ $status != 0 ] && [ $status != $skipped ] || return $status
    mapfile -t failed < <(sed -n 's/.* file="\([a-z_]*\)\.test\.mjs"><failure.*/\1/p' "$logs/$step.xml" | sort -u)
    [ ${#failed[@]} = 0 ] || set -- "${failed[@]}" # only these files
    JUNIT_XML=$logs/$step.again.xml steady node tests/browser/run.mjs "$@"
}

run_step() { # NAME
    step=$1
    local began=$SECONDS status result
    rm -f "$logs/$step".*
    printf '%-14s' "$step"
    "step_$step" >"$logs/$step.log" 2>&1
    status=$?
    case $status in
    0) result=ok ;;
    "$skipped") result=SKIPPED ;;
    *) result=FAILED ;;
    esac
    printf '%s\t%s\t%s\n' "$step" $result $((SECONDS - began)) >>"$logs/steps.tsv"
    echo "$result ($((SECONDS - began)) s)"
    [ $result != FAILED ] || tail -n 40 "$logs/$step.log" | sed 's/^/    | /'
}

steps_of() { # SET...
    local row name set
    for row in "${steps[@]}"; do
        IFS='| ' read -r name set _ <<<"$row"
        [[ " $* " != *" $set "* ]] || echo "$name"
    done
}

is_in() { # STEP SET...
    local name=$1
    shift
    [[ " $(steps_of "$@" | tr '\n' ' ') " == *" $name "* ]]
}

usage() {
    echo "usage: scripts/test.sh [test|all|lint|STEP...]; the steps are:"
    printf '  %s\n' "${steps[@]}"
}

case ${1:-test} in
test) chosen=$(steps_of lint test) ;;
all) chosen=$(steps_of lint test all) ;;
lint) chosen="$(steps_of lint) tidy" ;;
--help)
    usage
    exit 0
    ;;
*)
    chosen=$*
    for name in $chosen; do
        if ! is_in "$name" lint test all; then
            echo "test: there is no step '$name'" >&2
            usage >&2
            exit 2
        fi
    done
    ;;
esac

# Installs what the chosen steps need. `make test` works with few packages; one step of `make test-all`
# needs all of them.
level=lint
for name in $chosen; do
    if [ "$name" != tidy ] && is_in "$name" all; then
        level=test-all
    elif [ $level = lint ] && is_in "$name" test; then
        level="test"
    fi
done
mkdir -p "$logs"
rm -f "$logs/steps.tsv"
scripts/setup.sh $level || exit 1
printf 'setup\tdone\t%s\n' "$SECONDS" >>"$logs/steps.tsv"
torch_setup=
if [ $level = test ]; then
    scripts/setup.sh torch >"$logs/setup-torch.log" 2>&1 &
    torch_setup=$!
fi

symbolizer=$(command -v llvm-symbolizer-14)
export ASAN_SYMBOLIZER_PATH=$symbolizer
export TSAN_OPTIONS="external_symbolizer_path=$symbolizer halt_on_error=1"
export UBSAN_OPTIONS=print_stacktrace=1

for name in $chosen; do
    run_step "$name"
done
python3 scripts/test_summary.py "$logs"
