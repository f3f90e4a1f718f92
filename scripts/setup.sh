#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh [build|page|lint|test|torch|test-all|package|deb|package-test|fuzz|bench] - installs what is
# missing and says so.
#
#   build      what it takes to build the program (this is the default)
#   page       what the dashboard's page is built from, in web/node_modules
#   lint       what the checks of `make lint` need
#   test       what `make test` needs, except PyTorch
#   torch      PyTorch in .venv; apart, as `make test` installs it while the build runs
#   test-all   what `make test-all` needs: all of the above and all frameworks
#   package    what wheel, tarball and sdist need, with zig and others in build/package/venv
#   deb        what the Debian package needs
#   package-test   what only the tests of packages need
#   fuzz       what `make fuzz` needs
#   bench      what the build takes, and Python; the benchmarks install their peers themselves
#
# Nothing is asked of the network when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# package | how to see that it is there | why
# A probe is `command NAME`, `header NAME`, `file GLOB`, `python` (a Python.h) or `venv`.
build_needs='
gcc                | command gcc              | compiles the program
libc6-dev          | header stdio.h           | is the C library to compile against
cmake              | command cmake            | describes the build
ninja-build        | command ninja            | runs the build
libzstd-dev        | header zstd.h            | compresses what is recorded
libxxhash-dev      | header xxhash.h          | checksums what is recorded
libjansson-dev     | header jansson.h         | reads small JSON files
zlib1g-dev         | header zlib.h            | reads compressed traces
libisal-dev        | header isa-l.h           | reads compressed traces and compresses answers faster, where the machine can
libiberty-dev      | header libiberty/demangle.h | decodes the mangled names of kernels
python3-dev        | python                   | builds the hooks for Python (Python.h)
libyaml-dev        | header yaml.h            | reads footplate.yaml
nodejs             | command node             | builds the page of the dashboard
npm                | command npm              | gets what that page is built from
libmicrohttpd-dev  | header microhttpd.h      | speaks HTTP for the dashboard
'
python_needs='
python3            | command python3          | runs the checks and the command line tests
python3-venv       | venv                     | keeps the Python packages inside this folder, in .venv
'
check_needs='
clang-format-14    | command clang-format-14  | checks the format of the sources
shellcheck         | command shellcheck       | checks the shell scripts
'
tidy_needs='
clang-tidy-14      | command clang-tidy-14    | checks the C sources
'
sanitizer_needs='
clang-14           | command clang-14         | builds with sanitizers
lld-14             | file /usr/lib/llvm-14/bin/ld.lld | links the unit tests three times as fast
libclang-rt-14-dev | file /usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.asan-*.a | holds the sanitizers and libFuzzer
llvm-14            | command llvm-symbolizer-14 | gives names to the addresses in sanitizer reports
'
test_needs='
git                | command git              | makes the checkouts that some tests record in
man-db             | command man              | formats the manual page
mandoc             | command mandoc           | checks the manual page
zsh                | command zsh              | tries the completion for zsh
fish               | command fish             | tries the completion for fish
chromium           | command chromium         | opens the page of the dashboard in the tests
fonts-dejavu-core  | file /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf | has the letters for it
'
deb_needs='
dpkg-dev           | command dpkg-buildpackage | builds the Debian package
debhelper          | command dh               | does most of that
dh-python          | command dh_python3       | adds what Python needs to it
fakeroot           | command fakeroot         | lets files in it belong to root
'
package_test_needs='
lintian            | command lintian          | checks the Debian packages
mmdebstrap         | command mmdebstrap       | makes the bare Debian that the wheel is tried in
'
fuzz_needs='
g++                | command g++              | brings the C++ library that libFuzzer is linked with
'
all_needs='
gcc-aarch64-linux-gnu | command aarch64-linux-gnu-gcc | compiles for aarch64
swift-proxy        | command swift-proxy-server     | is a server for object storage in the tests
swift-account      | command swift-account-server   | is a part of it
swift-container    | command swift-container-server | is a part of it
swift-object       | command swift-object-server    | is a part of it
libc6-dev-arm64-cross | file /usr/aarch64-linux-gnu/include/stdio.h | is the C library to compile against for aarch64
'

die() {
    echo "setup: $*" >&2
    exit 1
}

# The first Python that can make a virtual environment; the one in PATH may be a stripped one.
find_python() {
    local p
    for p in python3 /usr/bin/python3; do
        if "$p" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$p"
            return
        fi
    done
    return 1
}

# Python.h of the Python in PATH, or of any that the system has: the hooks do not care which.
has_python_headers() {
    local folder
    folder=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null) || true
    [ -e "$folder/Python.h" ] || compgen -G '/usr/include/python3.*/Python.h' >/dev/null
}

is_there() { # KIND WHAT
    case $1 in
    command) command -v "$2" >/dev/null ;;
    header) echo "#include <$2>" | gcc -E - >/dev/null 2>&1 ;;
    file) compgen -G "$2" >/dev/null ;;
    python) has_python_headers ;;
    venv) find_python >/dev/null ;;
    *) die "unknown probe '$1'" ;;
    esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "installing packages needs root. Ask an administrator of this machine to run:
    apt-get install --no-install-recommends ${wanted[*]}
Footplate also installs without root and without a build, from a wheel:
    python3 -m venv v && v/bin/pip install footplate-*.whl    (docs/install.md)"
    fi
}

install_packages() { # PACKAGE...
    local wanted=("$@")
    command -v apt-get >/dev/null ||
        die "there is no apt-get on this machine; install by hand what these Debian packages have: $*
(docs/install.md has the commands for Fedora, RHEL and conda, and how to install without a build)"
    echo "setup: installing with apt-get: $*"
    deny_starts
    as_root apt-get update -qq || die "apt-get update failed; is the network there?"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        die "apt-get could not install: $*"
}

# The servers among the packages are started by tests, never by their installation.
deny_starts() {
    [ -e /usr/sbin/policy-rc.d ] || [ "$(id -u)" != 0 ] || {
        printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    }
}

install_missing() { # TABLE
    local package probe why missing=()
    while IFS='|' read -r package probe why; do
        read -r package <<<"$package"
        # shellcheck disable=SC2086  # the probe is two words
        if [ -n "$package" ] && ! is_there $probe; then
            echo "setup: $package is missing: it ${why# }"
            missing+=("$package")
        fi
    done <<<"$1"
    [ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"
}

# Puts the packages of scripts/requirements-NAME.txt into .venv, unless they are there already.
install_python_packages() { # NAME needed|optional [VENV]
    local venv=${3:-.venv} python
    local list=scripts/requirements-$1.txt stamp=$venv/installed-$1.txt
    if "$venv"/bin/python -c '' 2>/dev/null && cmp -s "$list" "$stamp"; then
        return
    fi
    python=$(find_python) || die "no Python here can make a virtual environment"
    echo "setup: installing into $venv: $(grep -o '^[a-z][^ ]*' "$list" | paste -sd' ')"
    "$venv"/bin/python -c '' 2>/dev/null || "$python" -m venv --clear "$venv"
    if "$venv"/bin/python -m pip install --quiet --disable-pip-version-check -r "$list"; then
        cp "$list" "$stamp"
    elif [ "$2" = needed ]; then
        die "pip could not install $list"
    else
        echo "setup: pip could not install $list; tests that need it are skipped"
    fi
}

# Puts the packages of web/package-lock.json into web/node_modules, unless they are there already.
install_page_packages() { # build|all
    local stamp=web/node_modules/installed-$1.json
    if cmp -s web/package-lock.json "$stamp"; then
        return
    fi
    echo "setup: installing into web/node_modules what the page is built from"
    local some=()
    [ "$1" = all ] || some=(--omit=dev)
    (cd web && npm ci --no-audit --no-fund --loglevel=error "${some[@]}") >/dev/null ||
        die "npm could not install web/package-lock.json"
    cp web/package-lock.json "$stamp"
    [ "$1" = build ] || cp web/package-lock.json web/node_modules/installed-build.json
}

case ${1:-build} in
build)
    install_missing "$build_needs"
    install_page_packages build
    ;;
lint)
    install_missing "$build_needs$python_needs$check_needs$tidy_needs"
    install_page_packages all
    install_python_packages test needed
    ;;
test)
    install_missing "$build_needs$python_needs$check_needs$sanitizer_needs$test_needs"
    install_page_packages all
    install_python_packages test needed
    ;;
torch)
    install_python_packages torch optional
    ;;
test-all)
    install_missing "$build_needs$python_needs$check_needs$tidy_needs$sanitizer_needs$test_needs$all_needs"
    install_page_packages all
    install_python_packages test needed
    install_python_packages torch optional
    install_python_packages frameworks optional
    install_python_packages remote optional
    ;;
page)
    install_page_packages build
    ;;
package)
    install_missing "$build_needs$python_needs"
    install_page_packages build
    install_python_packages package needed build/package/venv
    ;;
deb)
    install_missing "$build_needs$python_needs$deb_needs"
    install_page_packages build
    ;;
package-test)
    install_missing "$package_test_needs"
    ;;
fuzz)
    install_missing "$build_needs$python_needs$sanitizer_needs$fuzz_needs"
    install_page_packages build
    ;;
bench)
    install_missing "$build_needs$python_needs"
    install_page_packages build
    ;;
*)
    echo "usage: setup.sh [build|page|lint|test|torch|test-all|package|deb|package-test|fuzz|bench]" >&2
    exit 2
    ;;
esac
