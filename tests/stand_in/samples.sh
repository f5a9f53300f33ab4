# NVIDIA's CUDA samples, unmodified, built here by nvcc from the checkout that PTXGEN_CUDA_SAMPLES names: those below end well
# on the emulator, in hardware's order and, in checking mode, in three seeds of the ISA's (PTXGEN_SAMPLE_SEEDS=no leaves those
# out, which take hours). None of their text is kept in this project.
command -v nvcc >/dev/null || { echo "no nvcc here: skipped"; exit 77; }
[ -d "${PTXGEN_CUDA_SAMPLES:-}/Common" ] || { echo "PTXGEN_CUDA_SAMPLES names no checkout: skipped"; exit 77; }
. "$PTXGEN_SOURCE/tests/support/cli.sh"
names=${PTXGEN_SAMPLES:-$(cat "$PTXGEN_SOURCE/tests/stand_in/samples.txt")}
# runs FOLDER NAME OPTIONS...: the program there ends well.
runs() {
    cd "$1"
    name=$2
    shift 2
    code=0
    "$PTXGEN" emulate "$@" -- "$work/program" >"$work/.out" 2>"$work/.err" </dev/null || code=$?
    cd "$work"
    last="ptxgen emulate $* -- $name"
    expect_code 0
    ! grep -qE 'FAILED|Test failed|Result = FAIL' .out || die "$name says that it failed"
}

right=0
for name in $names; do
    folder=$(find "$PTXGEN_CUDA_SAMPLES/Samples" -mindepth 2 -maxdepth 2 -type d -name "$name" | head -1)
    [ -n "$folder" ] || die "no sample $name"
    where=$folder
    case $name in
    *_nvrtc) sources=$(ls "$folder"/*.cpp) ;; # its kernel is compiled when it runs
    *Drv | *DrvRuntime) # its kernel is a fat binary in the working directory
        where=$work sources=$(ls "$folder"/*.cpp "$folder"/*.cu 2>/dev/null | grep -v _kernel.cu || true)
        for kernel in "$folder"/*_kernel.cu; do
            [ ! -e "$kernel" ] || nvcc -fatbin -gencode arch=compute_90,code=compute_90 -I"$folder" "$kernel" \
                -o "$work/$(basename "$kernel" .cu)64.fatbin" >build.log 2>&1 || die "$name: nvcc: $(tail -3 build.log)"
        done
        ;;
    *) sources=$(ls "$folder"/*.cu "$folder"/*.cpp 2>/dev/null || true) ;;
    esac
    # shellcheck disable=SC2086
    nvcc -std=c++17 -gencode arch=compute_90,code=compute_90 -Xcompiler -fopenmp -I"$PTXGEN_CUDA_SAMPLES/Common" -I"$folder" \
        -o "$work/program" $sources -lcuda -lnvrtc >build.log 2>&1 || die "$name: nvcc: $(tail -3 build.log)"
    [ ! -d "$folder/data" ] || ln -sfn "$folder/data" "$work/data"
    runs "$where" "$name"
    case ${PTXGEN_SAMPLE_SEEDS:-1..3} in no) ;; *) runs "$where" "$name" --check-races --seeds "${PTXGEN_SAMPLE_SEEDS:-1..3}" ;; esac
    right=$((right + 1))
    echo "right: $name"
done
echo "$right samples"
