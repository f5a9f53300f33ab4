#!/bin/sh
# Sets a fresh machine up, builds ptxgen and runs its tests; some 13 minutes on two cores. CI runs
# this.
#
#   sh tools/test.sh           the quick tests under ASan and UBSan, then all but the slow ones in
#                              the release build
#   sh tools/test.sh --quick   the quick tests of the release build only
#   sh tools/test.sh --slow    everything, for as long as it takes
#
# Benchmarks do not run here (ctest -L bench); GPU tests skip themselves without a device.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh

mode=${1:-all}
case $mode in
all | --quick | --slow) ;;
*)
    echo "usage: sh tools/test.sh [--quick | --slow]" >&2
    exit 2
    ;;
esac

BUILD_PACKAGES="g++ pkg-config binutils clang-format libdlpack-dev python3-dev python3-venv groff"
setup "$PWD"
# Before the build, which looks for the header; the tests of the remote store skip themselves
# without.
install_packages libhiredis-dev redis-server ||
    say "no hiredis or redis-server: the remote store is not tested"

# Tests that count instructions in SASS use it; they skip themselves without.
if ! have nvdisasm && [ ! -x "${PTXGEN_TOOLKIT:-/usr/local/cuda}/bin/nvdisasm" ]; then
    disassembler=$PWD/build/nvdisasm/nvidia/cu13/bin
    [ -x "$disassembler/nvdisasm" ] ||
        fetch_wheels "$PWD/build/nvdisasm" nvidia-cuda-nvdisasm==13.2.78 ||
        say "nvdisasm could not be fetched: nothing is counted in SASS"
    PATH=$PATH:$disassembler
fi

# The tests bring their own settings; a user's must not change what they see.
unset PTXGEN_CACHE_DIR PTXGEN_CACHE PTXGEN_ASSEMBLER PTXGEN_DEVICE PTXGEN_LOG || true
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

build release
if [ "$mode" = --quick ]; then
    exec ctest --preset release -LE 'slow|bench|assemble' -j "$jobs"
fi
build dev
# What counts SASS or only tries words of the command is left to the release build.
say "quick tests under ASan and UBSan"
ctest --preset dev -LE 'slow|gpu|bench|package|assemble|differential' \
    -E '^(cache|engine)/|sass_barriers|foreign_options' -j "$jobs"
say "tests of the release build"
if [ "$mode" = --slow ]; then
    exec ctest --preset release -LE bench -j "$jobs"
fi
exec ctest --preset release -LE 'slow|bench' -j "$jobs"
