# Kernels that Triton compiles here and now, without a GPU, run right on the emulator.
# PTXGEN_TRITON_PYTHON names a Python that has triton and numpy (default: python3); skipped where it
# has not. Nothing of what Triton writes is kept.
set -eu
python=${PTXGEN_TRITON_PYTHON:-python3}
if ! "$python" -c 'import triton, numpy' 2>/dev/null; then
    echo "no Python with triton and numpy here (PTXGEN_TRITON_PYTHON names one): skipped"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TRITON_CACHE_DIR=$work TRITON_DEFAULT_FP_FUSION=1 PYTHONDONTWRITEBYTECODE=1
cd "$PTXGEN_SOURCE/tests/emulator/triton"
status=0
for file in hopper blackwell; do
    "$python" $file.py || status=1
done
exit $status
