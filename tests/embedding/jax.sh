# ptxgen.jax of the build tree: python/tests/test_jax.py, where an interpreter with JAX and pytest
# is found (as torch.sh looks).
set -eu
[ -f "$PTXGEN_BUILD/python/ptxgen/_core.abi3.so" ] ||
    { echo "skipped: the Python package was not built"; exit 77; }
for python in "${PTXGEN_JAX_PYTHON:-}" "${PTXGEN_TORCH_PYTHON:-}" python3 \
    "${XDG_CACHE_HOME:-${HOME:-/}/.cache}/ptxgen-tests/jax/bin/python" ""; do
    [ -n "$python" ] || continue
    ! "$python" -c 'import jax, pytest' 2>/dev/null || break
done
[ -n "$python" ] || { echo "skipped: no Python with jax and pytest (PTXGEN_JAX_PYTHON)"; exit 77; }
export PYTHONPATH=$PTXGEN_BUILD/python PTXGEN_CACHE=off PTXGEN_CONFIG='' JAX_PLATFORMS=cpu \
    PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -rs -p no:cacheprovider "$PTXGEN_SOURCE/python/tests/test_jax.py"
