# Triton's and Gluon's own tutorials, from a checkout that PTXGEN_TRITON_TUTORIALS names (its
# python/tutorials, of the version that PTXGEN_TRITON_PYTHON has), on the emulator, sm_90 and
# sm_100: none of their text is kept here. What a version of Triton has removed or has not yet is
# the checkout's matter. PTXGEN_TUTORIALS names some of them; PTXGEN_TUTORIAL_CASES chooses cases as
# pytest's -k does (left alone: the products of 2000x1000x2000 are left out, which take hours).
[ -d "${PTXGEN_TRITON_TUTORIALS:-}/gluon" ] ||
    { echo "PTXGEN_TRITON_TUTORIALS names no checkout: skipped"; exit 77; }
python=${PTXGEN_TRITON_PYTHON:-python3}
"$python" -c 'import triton, torch, numpy, pytest, matplotlib, tabulate' 2>/dev/null ||
    { echo "no Python with triton, torch, numpy, pytest, matplotlib and tabulate (PTXGEN_TRITON_PYTHON): skipped"; exit 77; }
[ -f "$PTXGEN_BUILD/python/ptxgen/_core.abi3.so" ] ||
    { echo "skipped: the Python package was not built"; exit 77; }
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH=$PTXGEN_BUILD/python PTXGEN_CACHE=off PTXGEN_CONFIG='' PYTHONDONTWRITEBYTECODE=1
export TRITON_CACHE_DIR="$work/cache" MPLBACKEND=Agg TRITON_DEFAULT_FP_FUSION=1
cd "$PTXGEN_TRITON_TUTORIALS" || exit 1
names=${PTXGEN_TUTORIALS:-01-vector-add 02-fused-softmax 03-matrix-multiplication
    04-low-memory-dropout 05-layer-norm 06-fused-attention gluon/01-intro gluon/02-layouts
    gluon/03-async-copy gluon/04-tma gluon/05-wgmma gluon/06-tcgen05 gluon/07-persistence
    gluon/08-warp-specialization}
status=0
for arch in sm_90 sm_100; do
    for name in $names; do
        case $name in
        # one batch, two heads, a context of 128
        06-*) what="-m pytest -q -p no:cacheprovider $name.py -k 128-2-1" ;;
        gluon/*) what="-m pytest -q -p no:cacheprovider $name.py -k ${PTXGEN_TUTORIAL_CASES:-not(2000)}" ;;
        *) what=$name.py ;;
        esac
        # shellcheck disable=SC2086
        if "$python" -m ptxgen.triton --arch $arch $what >"$work/out" 2>&1; then
            echo "right: $arch $name $(tail -1 "$work/out")"
        else
            echo "WRONG: $arch $name: $(tail -5 "$work/out")"
            status=1
        fi
    done
done
exit $status
