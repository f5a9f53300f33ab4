# The Python package of the build tree: python/tests under pytest, on NumPy arrays and the emulator.
set -eu
if [ ! -f "$PTXGEN_BUILD/python/ptxgen/_core.abi3.so" ]; then
    echo "skipped: the Python package was not built (no Python headers, or a sanitizer build)"
    exit 77
fi
. "$PTXGEN_SOURCE/tests/support/venv.sh"
python_with arrays numpy pytest
export PYTHONPATH=$PTXGEN_BUILD/python PTXGEN_CACHE=off PTXGEN_CONFIG='' PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -p no:cacheprovider "$PTXGEN_SOURCE/python/tests" \
    --ignore-glob='*test_torch*' --ignore-glob='*test_jax*' --ignore-glob='*test_triton*' \
    --ignore-glob='*test_tvm*'
