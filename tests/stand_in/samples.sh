# NVIDIA's CUDA samples, unmodified, built here by nvcc from the checkout that PTXGEN_CUDA_SAMPLES
# names: those of samples.txt, a line each with the program's arguments, end well on the emulator,
# in hardware's order and, in checking mode, in three seeds of the ISA's. PTXGEN_SAMPLES names some
# of them, PTXGEN_SAMPLE_SEEDS other seeds or "no", PTXGEN_SAMPLE_SECONDS the processor time of one
# run. None of their text is kept in this project.
command -v nvcc >/dev/null || { echo "no nvcc here: skipped"; exit 77; }
[ -d "${PTXGEN_CUDA_SAMPLES:-}/Common" ] ||
    { echo "PTXGEN_CUDA_SAMPLES names no checkout: skipped"; exit 77; }
. "$PTXGEN_SOURCE/tests/support/cli.sh"
seeds=${PTXGEN_SAMPLE_SEEDS:-1..3}
seconds=${PTXGEN_SAMPLE_SECONDS:-3600}

# build NAME: into ./program; `where` is the folder that it runs in.
build() {
    folder=$(find "$PTXGEN_CUDA_SAMPLES/Samples" -mindepth 2 -maxdepth 2 -type d -name "$1" |
        head -1)
    [ -n "$folder" ] || return 1
    where=$folder
    case $1 in
    *_nvrtc) sources=$(ls "$folder"/*.cpp) ;; # its kernel is compiled when it runs
    *Drv | *DrvRuntime) # its kernel is a fat binary in the working directory
        where=$work sources=$(ls "$folder"/*.cpp "$folder"/*.cu 2>/dev/null |
            grep -v _kernel.cu || true)
        for kernel in "$folder"/*_kernel.cu; do
            [ ! -e "$kernel" ] || nvcc -fatbin -gencode arch=compute_90,code=compute_90 \
                -I"$folder" "$kernel" \
                -o "$work/$(basename "$kernel" .cu)64.fatbin" >build.log 2>&1 || return 1
        done
        ;;
    *) sources=$(ls "$folder"/*.cu "$folder"/*.cpp 2>/dev/null || true) ;;
    esac
    [ ! -d "$folder/data" ] || ln -sfn "$folder/data" "$work/data"
    # shellcheck disable=SC2086
    nvcc -std=c++17 -w -gencode arch=compute_90,code=compute_90 \
        -Xcompiler -fopenmp -I"$PTXGEN_CUDA_SAMPLES/Common" \
        -I"$folder" -o "$work/program" $sources -lcuda -lnvrtc >build.log 2>&1
}
# A failed assertion is a stop, for which checking mode ends with 1: two samples show just that.
asserts() { grep -q ': 1 stop, 0 defects,' .err && grep -q 'stopped with seed.*: assertion' .err; }
# runs "ARGUMENTS" OPTIONS...: the program there ends well, or `why` says what it did.
runs() {
    arguments=$1 code=0
    shift
    # shellcheck disable=SC2086
    (cd "$where" && ulimit -t "$seconds" && "$PTXGEN" emulate "$@" -- "$work/program" $arguments) \
        >.out 2>.err </dev/null || code=$?
    [ "$code" = 0 ] || asserts || why="exit code $code"
    ! grep -qE 'FAILED|Test failed|Result = FAIL' .out || why="it says that it failed"
    [ -z "$why" ] || { why="$* $why: $(tail -n 2 .err | head -c 300)" && return 1; }
}

right=0 wrong=0
if [ "${PTXGEN_SAMPLES:-}" ]; then
    for name in $PTXGEN_SAMPLES; do
        grep -E "^$name( |$)" "$PTXGEN_SOURCE/tests/stand_in/samples.txt" ||
            echo "$name"; done >list
else
    cp "$PTXGEN_SOURCE/tests/stand_in/samples.txt" list
fi
while read -r name arguments; do
    why=''
    start=$(date +%s)
    if ! build "$name"; then
        why="not built: $(tail -n 3 build.log)"
    else
        built=$(date +%s)
        ! runs "$arguments" || middle=$(date +%s)
        [ "$why" ] || [ "$seeds" = no ] || runs "$arguments" --check-races --seeds "$seeds" || true
    fi
    if [ "$why" ]; then
        wrong=$((wrong + 1))
        echo "WRONG: $name: $why"
    else
        right=$((right + 1))
        echo "right: $name (built in $((built - start)) s, hw $((middle - built)) s, seeds $(($(date +%s) - middle)) s)"
    fi
done <list
echo "$right samples right, $wrong not"
[ "$wrong" = 0 ]
