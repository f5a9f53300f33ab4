# CUTLASS's examples and tutorials for Hopper and Blackwell, unmodified, from the checkout that
# PTXGEN_CUTLASS names: each checks its own result, in hardware's order and in three seeds of the
# ISA's (PTXGEN_CUTLASS_SEEDS: others, or "no"). Checking mode has nothing against them but what
# docs/emulate.md explains. PTXGEN_CUTLASS_EXAMPLES names some of them. None of their text is kept
# in this project. A minute each to compile.
command -v nvcc >/dev/null || { echo "no nvcc here: skipped"; exit 77; }
[ -f "${PTXGEN_CUTLASS:-}/include/cutlass/cutlass.h" ] ||
    { echo "PTXGEN_CUTLASS names no checkout: skipped"; exit 77; }
. "$PTXGEN_SOURCE/tests/support/cli.sh"
seeds=${PTXGEN_CUTLASS_SEEDS:-1..3}
# name, architecture, source, arguments
hopper=48_hopper_warp_specialized_gemm
nvfp4=72_blackwell_narrow_precision_gemm/72a_blackwell_nvfp4_bf16_gemm.cu
all="48 90 $hopper/$hopper.cu --m=128 --n=128 --k=128 --iterations=0
wgmma 90 cute/tutorial/hopper/wgmma_sm90.cu 128 128 192
wgmma_tma 90 cute/tutorial/hopper/wgmma_tma_sm90.cu 256 256 192
01 100 cute/tutorial/blackwell/01_mma_sm100.cu 256 256 128
02 100 cute/tutorial/blackwell/02_mma_tma_sm100.cu 256 256 128
03 100 cute/tutorial/blackwell/03_mma_tma_multicast_sm100.cu 512 1024 64
04 100 cute/tutorial/blackwell/04_mma_tma_2sm_sm100.cu 512 1024 64
05 100 cute/tutorial/blackwell/05_mma_tma_epi_sm100.cu 256 256 128
70 100 70_blackwell_gemm/70_blackwell_fp16_gemm.cu --m=128 --n=128 --k=128 --iterations=0
72 100 $nvfp4 --m=256 --n=256 --k=256 --iterations=0"
echo "$all" | while read -r name sm source arguments; do
    case " ${PTXGEN_CUTLASS_EXAMPLES:-$name} " in *" $name "*) ;; *) continue ;; esac
    nvcc -std=c++17 -w --expt-relaxed-constexpr -gencode "arch=compute_${sm}a,code=compute_${sm}a" \
        -I"$PTXGEN_CUTLASS/include" \
        -I"$PTXGEN_CUTLASS/tools/util/include" -I"$PTXGEN_CUTLASS/examples/common" \
        -I"$(dirname "$PTXGEN_CUTLASS/examples/$source")" "$PTXGEN_CUTLASS/examples/$source" \
        -o example -lcuda \
        >build.log 2>&1 </dev/null || die "$name: nvcc: $(tail -3 build.log)"
    # shellcheck disable=SC2086
    t emulate --arch "sm_$sm" -- ./example $arguments
    expect_code 0
    ! grep -qiE 'Failed|not correct|does not match' .out || die "$name says that it is wrong"
    case $name in
    wgmma) left_out='read before the copy has arrived: .*\[wgmma.mma_async' ;;
    01) left_out='missing proxy fence|nothing says that this ld is over' ;;
    0?) left_out='nothing says that this ld is over' ;;
    7?) left_out='nothing says that this ld is over|used before its initialisation|without waiting for its bulk stores' ;;
    *) left_out=none ;;
    esac
    if [ "$seeds" != no ]; then
        # shellcheck disable=SC2086
        t emulate --arch "sm_$sm" --check-races --seeds "$seeds" -- ./example $arguments
        ! grep -qiE 'Failed|not correct|does not match' .out ||
            die "$name says in seeds that it is wrong"
        defects_are "$left_out"
    fi
    echo "right: $name"
done
