#!/bin/sh
# Makes Debian's packages of ptxgen: libptxgen0, libptxgen-dev, ptxgen and python3-ptxgen.
#
#   sh tools/deb.sh [FOLDER]     into FOLDER (default: build/deb)
#
# Needs dpkg-dev, file and python3-dev beside what a build needs.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/deb}
arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
cmake -G Ninja -S . -B "$out" \
    -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DPTXGEN_DEBIAN=ON -DPTXGEN_NVPTXCOMPILER=OFF \
    -DCMAKE_C_FLAGS="-ffile-prefix-map=$PWD/=" -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_INSTALL_LIBDIR="lib/$arch" -DPTXGEN_PYTHON_INSTALL_DIR=lib/python3/dist-packages \
    -DPTXGEN_ZSH_DIR=share/zsh/vendor-completions \
    ${CMAKE_C_COMPILER_LAUNCHER:+"-DCMAKE_C_COMPILER_LAUNCHER=$CMAKE_C_COMPILER_LAUNCHER"}
cmake --build "$out"
cd "$out"
rm -f ./*.deb
cpack -G DEB
ls ./*.deb
