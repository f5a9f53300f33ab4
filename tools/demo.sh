#!/bin/sh
# The main job, from nothing: sets a fresh machine up, builds ptxgen, makes three .npy files, runs a
# scatter-add on them with a kernel written for exactly their shapes, and checks the answer. No
# Python takes part in it.
#
#   sh tools/demo.sh [FOLDER]   FOLDER (default build/demo) holds the files
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh
setup "$PWD"
keep_toolkit
build release
ptxgen=$PWD/build/release/tools/ptxgen
folder=${1:-build/demo}
mkdir -p "$folder"
cd "$folder"

# step TEXT COMMAND...: says what is done and how, then does it.
step() {
    [ -z "$1" ] || printf '\n# %s\n' "$1"
    shift
    printf '$ ptxgen %s\n' "$*"
    "$ptxgen" "$@"
}

step "What is on this machine, and what runs kernels here." doctor
step "Three arrays: out is 100 rows of 64 numbers, 400 more rows are to be added to rows of it." \
    array random:100x64 --seed 1 -o out.npy
step "" array random:400x64 --seed 2 -o src.npy
step "" array index:400/100 --seed 3 -o index.npy
step "The kernel for these shapes: PTX, written in microseconds." \
    emit scatter_add dtype=f32 n=64 -o kernel.ptx
grep -n -m 3 -E '^\.(version|target)|\.entry' kernel.ptx
step "out[index[i], :] += src[i, :], and a check of every element against a sum in double." \
    run scatter_add out=out.npy index=index.npy src=src.npy -o result.npy --check
printf '\nThe result is %s/result.npy. Next: README.md, or `%s --help`.\n' "$PWD" "$ptxgen"
