# DeepGEMM's fp8 kernels for Hopper and Blackwell, alone and in clusters of two, of the checkouts
# that PTXGEN_DEEP_GEMM and PTXGEN_CUTLASS name, with deep_gemm.cu as their caller: right in
# hardware's order, also where tiles are not full, and in three seeds of the ISA's; what checking
# mode says of them is in docs/emulate.md. None of their text is kept in this project.
command -v nvcc >/dev/null || { echo "no nvcc here: skipped"; exit 77; }
[ -d "${PTXGEN_DEEP_GEMM:-}/deep_gemm/include" ] ||
    { echo "PTXGEN_DEEP_GEMM names no checkout: skipped"; exit 77; }
[ -f "${PTXGEN_CUTLASS:-}/include/cutlass/cutlass.h" ] ||
    { echo "PTXGEN_CUTLASS names no checkout: skipped"; exit 77; }
. "$PTXGEN_SOURCE/tests/support/cli.sh"
for sm in 90 100; do
    for ctas in 1 2; do
        [ "$sm" = 90 ] || define=-DBLACKWELL
        nvcc -std=c++20 -w --expt-relaxed-constexpr -gencode \
            "arch=compute_${sm}a,code=compute_${sm}a" -DCTAS=$ctas ${define:-} \
            -I"$PTXGEN_DEEP_GEMM/deep_gemm/include" -I"$PTXGEN_CUTLASS/include" \
            "$PTXGEN_SOURCE/tests/stand_in/deep_gemm.cu" \
            -o deep_gemm -lcuda >build.log 2>&1 || die "nvcc: $(tail -n 3 build.log)"
        for problem in "256 256 512" "200 328 640"; do
            # shellcheck disable=SC2086
            t emulate --arch "sm_$sm" -- ./deep_gemm $problem
            expect_code 0
            expect_out '^all right$'
        done
        t emulate --arch "sm_$sm" --check-races --seeds 1..3 -- ./deep_gemm
        ! grep -q WRONG .out || die "wrong in seeds"
        defects_are 'exit with work in flight: (the thread exits without waiting for its bulk stores|this completed on an mbarrier)|race on shared memory.*tcgen05.alloc'
        echo "right: sm_$sm, $ctas in a cluster"
    done
done
