# Triton's and Gluon's own tutorials, from the checkout of the installed version whose
# python/tutorials PTXGEN_TRITON_TUTORIALS names, on the emulator, sm_90 and sm_100: none of their
# text is kept here. PTXGEN_TUTORIALS names some of them, PTXGEN_TUTORIAL_ARCHS one architecture.
# Left out are cases that take hours. Most of the time is Triton's own compiler's: with
# TRITON_CACHE_DIR a folder keeps what it wrote for the next run.
[ -d "${PTXGEN_TRITON_TUTORIALS:-}/gluon" ] ||
    { echo "PTXGEN_TRITON_TUTORIALS names no checkout: skipped"; exit 77; }
python=${PTXGEN_TRITON_PYTHON:-python3}
"$python" -c 'import triton, torch, numpy, pandas, pytest, matplotlib, tabulate' 2>/dev/null ||
    { echo "no Python with triton, torch, numpy, pandas, pytest, matplotlib and tabulate (PTXGEN_TRITON_PYTHON): skipped"; exit 77; }
[ -f "$PTXGEN_BUILD/python/ptxgen/_core.abi3.so" ] ||
    { echo "skipped: the Python package was not built"; exit 77; }
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH=$PTXGEN_BUILD/python:$PTXGEN_SOURCE/tests/embedding PYTHONDONTWRITEBYTECODE=1
export PTXGEN_CACHE=off PTXGEN_CONFIG='' PTXGEN_DEVICE=emulator
export TRITON_CACHE_DIR="${TRITON_CACHE_DIR:-$work/cache}" MPLBACKEND=Agg TRITON_DEFAULT_FP_FUSION=1
cd "$PTXGEN_TRITON_TUTORIALS" || exit 1
"$python" -c 'import triton, torch; print("Triton", triton.__version__, "PyTorch", torch.__version__)'

# name, then how: a program, `part` (tutorial_part.py), or what pytest's -k chooses of its cases;
# before that `trusting`: a kernel reads past the end of an array (docs/emulate.md), and
# `same-unit`: what it is compared with is of the tensor core too (tensor_core_products.py).
all="01-vector-add program
02-fused-softmax program
03-matrix-multiplication program
04-low-memory-dropout program
05-layer-norm program
06-fused-attention 128-2-1
07-extern-functions program
08-grouped-gemm program
09-persistent-matmul part
10-block-scaled-matmul part
11-programmatic-dependent-launch program
gluon/01-intro not 2000
gluon/02-layouts not 2000
gluon/03-async-copy not 2000
gluon/04-tma not 2000
gluon/05-wgmma not 2000
gluon/06-tcgen05 not 2000
gluon/07-persistence not 2000
gluon/08-warp-specialization not 2000
gluon/09-tma-gather-scatter async
gluon/09-tma-gather-scatter trusting same-unit fused and not 4096
gluon/10-tcgen05-copy copy_nvmma or 128-128-1024
gluon/11-tcgen05-mma-scaled pipelined and 128-128 and not 4096
gluon/12-cluster-launch-control same-unit not 8192
gluon/13-conv-im2col not 2000
gluon/14-multicta not 2000"

# runs NAME HOW: its exit code, and its output in $work/out.
runs() {
    how=$2 trust='' products=''
    case $how in trusting\ *) how=${how#* } trust=--trust-pointers ;; esac
    case $how in same-unit\ *) how=${how#* } products='-p tensor_core_products' ;; esac
    case $how in
    program) set -- "$1.py" ;;
    part) set -- "$PTXGEN_SOURCE/tests/embedding/tutorial_part.py" "$1.py" ;;
    *) set -- -m pytest -q -p no:cacheprovider $products "$1.py" -k "$how" ;;
    esac
    "$python" -m ptxgen.triton --arch "$arch" $trust "$@" >"$work/out" 2>&1 &&
        ! grep -q '❌' "$work/out"
}

echo "$all" >"$work/all"
status=0
for arch in ${PTXGEN_TUTORIAL_ARCHS:-sm_90 sm_100}; do
    while read -r name how; do
        case " ${PTXGEN_TUTORIALS:-$name} " in *" $name "*) ;; *) continue ;; esac
        if ! [ -f "$name.py" ]; then
            echo "not in this version: $name"
        elif runs "$name" "$how"; then
            echo "right: $arch $name ($how) $(grep -E 'passed|skipped' "$work/out" | tail -1)"
        else
            echo "WRONG: $arch $name: $(tail -5 "$work/out")"
            status=1
        fi
    done <"$work/all"
done
exit $status
