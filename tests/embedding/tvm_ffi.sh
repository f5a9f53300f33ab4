# ptxgen.tvm_ffi of the build tree: python/tests/test_tvm_ffi.py, where an interpreter with tvm_ffi
# and pytest is found (as torch.sh looks).
set -eu
[ -f "$PTXGEN_BUILD/python/ptxgen/_core.abi3.so" ] ||
    { echo "skipped: the Python package was not built"; exit 77; }
for python in "${PTXGEN_TVM_PYTHON:-}" "${PTXGEN_TORCH_PYTHON:-}" python3 \
    "${XDG_CACHE_HOME:-${HOME:-/}/.cache}/ptxgen-tests/tvm/bin/python" ""; do
    [ -n "$python" ] || continue
    ! "$python" -c 'import tvm_ffi, pytest' 2>/dev/null || break
done
[ -n "$python" ] || { echo "skipped: no Python with tvm_ffi and pytest (PTXGEN_TVM_PYTHON)"
exit 77; }
export PYTHONPATH=$PTXGEN_BUILD/python PTXGEN_CACHE=off PTXGEN_CONFIG='' PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -rs -p no:cacheprovider "$PTXGEN_SOURCE/python/tests/test_tvm_ffi.py"
