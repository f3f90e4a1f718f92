#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# package.sh sdist|wheel|tarball|deb... - makes packages in dist/.
#
# The wheel and the tarball run on any Linux with glibc 2.28 or newer: zig compiles against that
# glibc, and the other libraries are this system's static ones. FP_ARCHES names the machines that
# wheels are made for: without it this one, and on x86_64 also aarch64, by a cross build with Debian's
# libraries for arm64; where that fails, the wheel for this machine is made all the same.
# The Debian package is built by dpkg-buildpackage against this system's shared libraries.
set -euo pipefail
cd "$(dirname "$0")/.."

glibc=2.28
top=$PWD
work=$top/build/package
python=$work/venv/bin/python
version=$(sed -n 's/^project(footplate VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
arches=${FP_ARCHES:-}
# Debian packages of what is linked, with the headers that the sources include.
linked=(libzstd-dev libxxhash-dev libjansson-dev zlib1g-dev libisal-dev libyaml-dev
    libmicrohttpd-dev libgnutls28-dev libiberty-dev)
page_parts=(preact @preact/signals @preact/signals-core uplot)
# The same sources give the same bytes, as far as the tools can.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)}
export SOURCE_DATE_EPOCH

die() {
    echo "package: $*" >&2
    exit 1
}

# Runs a command; its output is shown when it fails.
quietly() { # LOG COMMAND...
    local log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 && return
    tail -n 60 "$log" >&2
    die "failed: $*; all of its output is in $log"
}

done_with() { # FILE
    echo "package: $1 ($(($(stat -c %s "$1") / 1024)) KiB)"
}

# ---- headers and libraries of one machine ----

# The files of our libraries below a root folder, as they are there.
copy_libraries() { # FROM TO MULTIARCH, with the names on stdin
    local name
    while read -r name; do
        case $name in
        /usr/include/*) install -D -m 644 "$1$name" "$2/include/${name#/usr/include/}" ;;
        /usr/lib/"$3"/*.a) install -D -m 644 "$1$name" "$2/lib/$(basename "$name")" ;;
        esac
    done
}

python_headers() { # the package that has Python.h
    dpkg -S '/usr/include/python3.*/Python.h' | sed -n '1s/:.*//p'
}

# The machine's own: what is installed.
sysroot_native() { # TO MULTIARCH
    local name
    dpkg -L "${linked[@]}" "$(python_headers)" | while read -r name; do
        [ ! -f "$name" ] || echo "$name"
    done | copy_libraries "" "$1" "$2"
}

# Another machine's: fetched by apt with lists of its own and unpacked; nothing is installed.
sysroot_foreign() { # TO MULTIARCH DEBIAN_ARCH
    local apt=$work/apt-$3 options
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs" "$apt/root"
    : >"$apt/status"
    options=(-q -o APT::Architecture="$3" -o APT::Architectures="$3" -o Dir::State="$apt"
        -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
    quietly "apt-$3" apt-get "${options[@]}" update
    (cd "$apt/debs" && quietly "apt-$3" apt-get "${options[@]}" download "${linked[@]}" "$(python_headers)")
    for deb in "$apt"/debs/*.deb; do
        dpkg -x "$deb" "$apt/root"
    done
    (cd "$apt/root" && find usr -type f | sed 's|^|/|') | copy_libraries "$apt/root" "$1" "$2"
}

make_sysroot() { # ARCH
    local to=$work/$1/sysroot
    [ ! -e "$to/made" ] || return 0
    rm -rf "$to"
    mkdir -p "$to"
    if [ "$1" = "$(uname -m)" ]; then
        sysroot_native "$to" "$1-linux-gnu"
    elif [ "$1" = aarch64 ]; then
        sysroot_foreign "$to" aarch64-linux-gnu arm64
    else
        die "no cross build for $1"
    fi
    touch "$to/made"
}

make_compiler() { # ARCH
    local zig
    zig=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
    printf '#!/bin/sh\nexec "%s" cc -target %s-linux-gnu.%s "$@"\n' "$zig" "$1" $glibc >"$work/$1/cc.new"
    chmod +x "$work/$1/cc.new"
    cmp -s "$work/$1/cc.new" "$work/$1/cc" || mv "$work/$1/cc.new" "$work/$1/cc"
}

# The licences of all libraries that are linked into the program, as these licences require.
make_licenses() {
    local name file
    {
        echo "The program contains, besides its own code, the libraries below."
        for name in "${linked[@]}"; do
            case $name in libisal-dev | libgnutls28-dev) continue ;; esac # loaded, not contained
            printf '\n==== %s\n\n' "${name%-dev}"
            cat "/usr/share/doc/$name/copyright"
        done
        for name in "${page_parts[@]}"; do
            file=$(compgen -G "web/node_modules/$name/LICENSE*")
            printf '\n==== %s (in the page)\n\n' "$name"
            cat "$file"
        done
    } >"$work/THIRD-PARTY-LICENSES.txt"
}

# ---- packages ----

make_sdist() {
    scripts/page.sh
    rm -f dist/footplate-*.tar.gz.new
    quietly sdist "$python" -m build --no-isolation --sdist --outdir dist .
    done_with "dist/footplate-$version.tar.gz"
}

make_wheel() { # ARCH
    local arch=$1 out=$work/$1/out tag=manylinux_${glibc/./_}_$1 made
    scripts/page.sh
    mkdir -p "$out"
    rm -f "$out"/*.whl "$work/$arch/build/CMakeCache.txt" # which would keep the flags of before
    make_sysroot "$arch"
    make_compiler "$arch"
    make_licenses
    _PYTHON_HOST_PLATFORM=linux-$arch quietly "wheel-$arch" "$python" -m build --no-isolation --wheel \
        --outdir "$out" -C build-dir="$work/$arch/build" \
        -C cmake.toolchain-file="$top/cmake/portable.cmake" \
        -C cmake.define.FP_ARCH="$arch" -C cmake.define.FP_COMPILER="$work/$arch/cc" \
        -C cmake.define.FP_SYSROOT="$work/$arch/sysroot" \
        -C cmake.define.FP_LICENSES="$work/THIRD-PARTY-LICENSES.txt" .
    made=$("$python" -m wheel tags --remove --platform-tag "$tag" "$out"/*.whl)
    mv "$out/$(basename "$made")" dist/
    done_with "dist/$(basename "$made")"
}

make_wheels() {
    local arch
    for arch in ${arches:-$(uname -m)}; do
        make_wheel "$arch"
    done
    if [ -z "$arches" ] && [ "$(uname -m)" = x86_64 ]; then
        FP_ARCHES=aarch64 scripts/package.sh wheel || echo "package: no wheel for aarch64: see above" >&2
    fi
}

# From the same build: the program, its package, the manual, completions, libfootplate.
make_tarball() { # ARCH
    local name=footplate-$version-linux-$1
    scripts/page.sh
    [ -e "$work/$1/build/build.ninja" ] || make_wheel "$1"
    quietly tarball cmake --build "$work/$1/build"
    rm -rf "${work:?}/$name"
    quietly tarball cmake --install "$work/$1/build" --prefix "$work/$name" --component Unspecified
    install -m 644 LICENSE NOTICE README.md "$work/THIRD-PARTY-LICENSES.txt" "$work/$name/"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -czf "dist/$name.tar.gz" "$name"
    done_with "dist/$name.tar.gz"
}

# In a copy of the sources, as dpkg-buildpackage writes beside and into its folder.
make_deb() {
    local source=$work/deb/footplate-$version part
    scripts/page.sh
    rm -rf "$work/deb"
    mkdir -p "$source"
    for part in CMakeLists.txt cmake src include share python tools examples/c \
        web/dist LICENSE NOTICE README.md docs; do
        mkdir -p "$source/$(dirname "$part")"
        cp -a "$part" "$source/$(dirname "$part")/"
    done
    cp -a packaging/debian "$source/debian"
    sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(date -u -R -d "@$SOURCE_DATE_EPOCH")/" \
        packaging/debian/changelog.in >"$source/debian/changelog"
    rm "$source/debian/changelog.in"
    (
        cd "$source"
        export DEB_BUILD_OPTIONS=noautodbgsym
        quietly deb dpkg-buildpackage --jobs=auto --build=binary --unsigned-changes --unsigned-buildinfo
    )
    for part in "$work"/deb/*.deb; do
        cp "$part" dist/
        done_with "dist/$(basename "$part")"
    done
}

[ $# -gt 0 ] || die "say what: sdist, wheel, tarball, deb"
mkdir -p dist "$work"
for what in "$@"; do
    if [ "$what" = deb ]; then setup=deb; else setup=package; fi
    scripts/setup.sh $setup
    case $what in
    sdist) make_sdist ;;
    wheel) make_wheels ;;
    tarball) make_tarball "$(uname -m)" ;;
    deb) make_deb ;;
    *) die "'$what' is not a package: sdist, wheel, tarball, deb" ;;
    esac
done
