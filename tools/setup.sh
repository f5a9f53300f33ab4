# Sourced by demo.sh and test.sh: what a fresh Debian 12 or Ubuntu 24.04 machine lacks to build
# ptxgen. Packages come by apt, and only those that are missing; the CUDA parts that ptxgen uses
# come as pip wheels into build/cuda, and only when no CUDA toolkit of release 12.9 or later is
# found. With everything in place nothing is fetched. POSIX sh.
#
# In:  BUILD_PACKAGES  packages to add to the list (space-separated)
#      PTXGEN_TOOLKIT, CUDA_HOME  where to look for a toolkit before PATH and /usr/local/cuda
#      PTXGEN_NO_SYSTEM_CUDA=1  behave as if no toolkit were installed
# Out: PTXGEN_TOOLKIT (exported) when a toolkit is there, else unset;
#      ptx_compiler, the path of libnvptxcompiler_static.a or nothing

say() {
    printf -- '-- %s\n' "$*" >&2
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# Is the header there for the C compiler?
have_header() {
    have cc && printf '#include <stddef.h>\n#include <stdio.h>\n#include <%s>\n' "$1" |
        cc -E -x c - >/dev/null 2>&1
}

# Prints the name of the package if the machine lacks what it brings.
missing_package() {
    case $1 in
    gcc) have cc || echo "$1" ;;
    libc6-dev) have_header stdlib.h || echo "$1" ;;
    clang-format) have clang-format || echo "$1" ;;
    g++) have c++ || echo "$1" ;;
    cmake) have cmake || echo "$1" ;;
    ninja-build) have ninja || echo "$1" ;;
    pkg-config) have pkg-config || echo "$1" ;;
    binutils) have nm || echo "$1" ;;
    bash) have bash || echo "$1" ;;
    git) have git || echo "$1" ;;
    libcmocka-dev)
        printf '#include <setjmp.h>\n#include <stdarg.h>\n#include <stdint.h>\n#include <cmocka.h>\n' |
            cc -E -x c - >/dev/null 2>&1 || echo "$1"
        ;;
    libxxhash-dev) have_header xxhash.h || echo "$1" ;;
    liblz4-dev) have_header lz4.h || echo "$1" ;;
    libzstd-dev) have_header zstd.h || echo "$1" ;;
    libcjson-dev) have_header cjson/cJSON.h || echo "$1" ;;
    libdlpack-dev) have_header dlpack/dlpack.h || echo "$1" ;;
    libsodium23) ldconfig -p 2>/dev/null | grep -q 'libsodium\.so\.2' || echo "$1" ;;
    libhiredis-dev) have_header hiredis/hiredis.h || echo "$1" ;;
    redis-server) have redis-server || echo "$1" ;;
    libjsmn-dev) have_header jsmn.h || echo "$1" ;;
    groff) have groff || echo "$1" ;;
    python3-dev)
        { have python3 && python3 -c 'import os, sysconfig, sys
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; } || echo "$1"
        ;;
    python3-venv) { have python3 && python3 -c 'import ensurepip' 2>/dev/null; } || echo "$1" ;;
    python3-pip) { have python3 && python3 -m pip --version >/dev/null 2>&1; } || echo "$1" ;;
    *) echo "$1" ;;
    esac
}

# install_packages NAME...: installs those that are missing, or says what to do and fails.
install_packages() {
    lacking=
    for package in "$@"; do
        lacking="$lacking $(missing_package "$package")"
    done
    lacking=$(echo $lacking) # single spaces
    [ -n "$lacking" ] || return 0
    if ! have apt-get; then
        say "missing: $lacking (Debian's names). This machine has no apt-get: install them and run again."
        return 1
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then
        if ! have sudo; then
            say "missing: $lacking. Run as root: apt-get install -y $lacking"
            return 1
        fi
        as_root=sudo
    fi
    say "installing: $lacking"
    quietly $as_root apt-get update -q ||
        say "apt-get update failed; trying with the lists that are there"
    # shellcheck disable=SC2086
    quietly $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
        --no-install-recommends $lacking || {
        say "apt-get could not install: $lacking. Its last words are above."
        return 1
    }
}

# Runs a command without its output, unless it fails.
quietly() {
    quiet_log=$(mktemp) || return 1
    quiet_status=0
    "$@" >"$quiet_log" 2>&1 || quiet_status=$?
    [ "$quiet_status" = 0 ] || tail -n 30 "$quiet_log" >&2
    rm -f "$quiet_log"
    return "$quiet_status"
}

# The release of the ptxas in folder $1/bin as a number (12.9: 1209), or nothing.
toolkit_release() {
    [ -x "$1/bin/ptxas" ] || return 0
    "$1/bin/ptxas" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' |
        awk '{ print $1 * 100 + $2 }'
}

# Prints the folder of a toolkit that assembles every family (12.9 or later), or nothing.
find_toolkit() {
    [ "${PTXGEN_NO_SYSTEM_CUDA:-0}" = 1 ] && return 0
    on_path=
    if have ptxas; then
        on_path=$(dirname "$(dirname "$(command -v ptxas)")")
    fi
    for folder in "${PTXGEN_TOOLKIT:-}" "${CUDA_HOME:-}" "$on_path" /usr/local/cuda; do
        [ -n "$folder" ] || continue
        release=$(toolkit_release "$folder")
        if [ "${release:-0}" -ge 1209 ]; then
            echo "$folder"
            return 0
        fi
    done
}

# fetch_wheels FOLDER WHEEL...: pip packages into FOLDER, of CUDA 13.0 where no version is named.
fetch_wheels() {
    into=$1
    shift
    install_packages python3-pip || return 1
    for wheel in "$@"; do
        case $wheel in
        *==*) set -- "$@" "$wheel" ;;
        *) set -- "$@" "$wheel==13.0.*" ;;
        esac
        shift
    done
    quietly env PIP_ROOT_USER_ACTION=ignore python3 -m pip install --no-deps --target "$into" "$@"
}

# fetch_toolkit FOLDER: the CUDA 13.0 parts as pip wheels, laid out like a toolkit. All or nothing.
fetch_toolkit() {
    say "fetching the CUDA 13.0 parts (ptxas, nvJitLink, NVRTC; 230 MB) into $1"
    rm -rf "$1.partial"
    fetch_wheels "$1.partial/wheels" nvidia-cuda-nvcc nvidia-nvjitlink nvidia-cuda-nvrtc ||
        return 1
    from=$1.partial/wheels/nvidia/cu13
    mkdir -p "$1.partial/bin" "$1.partial/lib64" || return 1
    mv "$from/bin/ptxas" "$1.partial/bin/" || return 1
    for pattern in libnvJitLink.so.13 libnvrtc.so.13 'libnvrtc-builtins.so.13.*'; do
        # shellcheck disable=SC2086
        mv "$from"/lib/$pattern "$1.partial/lib64/" || return 1
    done
    mv "$from/include" "$1.partial/include" || return 1
    rm -rf "$1.partial/wheels" "$1"
    mv "$1.partial" "$1"
}

# find_ptx_compiler TOOLKIT: prints the path of the toolkit's static PTX compiler library, if it has
# one. It is not fetched: it would add 40 MB to every program that is linked here, and its assembler
# is an option.
find_ptx_compiler() {
    host=x86_64
    [ "$(uname -m)" != aarch64 ] || host=sbsa
    for folder in "$1/targets/$host-linux/lib" "$1/lib64"; do
        if [ -f "$folder/libnvptxcompiler_static.a" ]; then
            echo "$folder/libnvptxcompiler_static.a"
            return 0
        fi
    done
}

# setup SOURCE_FOLDER: everything above. Fails only if the build itself is impossible.
setup() {
    # shellcheck disable=SC2086
    install_packages gcc libc6-dev cmake ninja-build libsodium23 libxxhash-dev libcjson-dev \
        libjsmn-dev libcmocka-dev \
        liblz4-dev libzstd-dev bash ${BUILD_PACKAGES:-} || return 1
    cmake_version=$(cmake --version | sed -n '1s/cmake version //p')
    case $cmake_version in
    [0-2].* | 3.[0-9].* | 3.1[0-9].* | 3.2[0-4].*)
        say "cmake is $cmake_version; 3.25 or later is needed (Debian 12 and Ubuntu 24.04 have it)"
        return 1
        ;;
    esac
    ptx_compiler=
    toolkit=$(find_toolkit)
    if [ -z "$toolkit" ]; then
        toolkit=${XDG_DATA_HOME:-$HOME/.local/share}/ptxgen/cuda # where ptxgen looks by itself
        [ -n "$(toolkit_release "$toolkit")" ] || toolkit=$1/build/cuda
        if [ -z "$(toolkit_release "$toolkit")" ] && ! fetch_toolkit "$toolkit"; then
            rm -rf "$toolkit.partial"
            say "no CUDA toolkit and none could be fetched: kernels are written and emulated, not assembled"
            unset PTXGEN_TOOLKIT
            return 0
        fi
    fi
    say "CUDA toolkit: $toolkit"
    ptx_compiler=$(find_ptx_compiler "$toolkit")
    PTXGEN_TOOLKIT=$toolkit
    export PTXGEN_TOOLKIT
}

# Moves a toolkit that setup fetched into the build folder to where ptxgen finds it by itself, for
# every later command of this user. Nothing happens when it is there, or when another one is used.
keep_toolkit() {
    data=${XDG_DATA_HOME:-${HOME:-}/.local/share}
    [ "${PTXGEN_TOOLKIT:-}" = "$PWD/build/cuda" ] || return 0
    case $data in /?*) ;; *) return 0 ;; esac
    mkdir -p "$data/ptxgen" || return 0
    rm -rf "$data/ptxgen/cuda"
    if mv "$PTXGEN_TOOLKIT" "$data/ptxgen/cuda"; then
        PTXGEN_TOOLKIT=$data/ptxgen/cuda
        ptx_compiler=$(find_ptx_compiler "$PTXGEN_TOOLKIT")
        say "kept for later commands: $PTXGEN_TOOLKIT"
    fi
}

# build PRESET: configures and builds it. The log is shown only when it fails.
build() {
    say "building preset $1"
    mkdir -p build
    if ! {
        cmake --preset "$1" ${ptx_compiler:+"-DNVPTXCOMPILER_STATIC=$ptx_compiler"} &&
            cmake --build --preset "$1"
    } >"build/$1.log" 2>&1; then
        tail -n 60 "build/$1.log" >&2
        say "the build of preset $1 failed; its whole log is build/$1.log"
        exit 1
    fi
}
