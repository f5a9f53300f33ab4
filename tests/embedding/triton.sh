# ptxgen.triton of the build tree: python/tests/test_triton.py, with an interpreter that has triton,
# torch, numpy and pytest: the one that PTXGEN_TRITON_PYTHON names, or python3, or the one in
# $XDG_CACHE_HOME/ptxgen-tests/triton.
set -eu
[ -f "$PTXGEN_BUILD/python/ptxgen/_core.abi3.so" ] ||
    { echo "skipped: the Python package was not built"; exit 77; }
for python in "${PTXGEN_TRITON_PYTHON:-}" python3 \
    "${XDG_CACHE_HOME:-${HOME:-/}/.cache}/ptxgen-tests/triton/bin/python" ""; do
    [ -n "$python" ] || continue
    ! "$python" -c 'import triton, torch, numpy, pytest' 2>/dev/null || break
done
[ -n "$python" ] || { echo "skipped: no Python with triton, torch, numpy and pytest (PTXGEN_TRITON_PYTHON)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH=$PTXGEN_BUILD/python PTXGEN_CACHE=off PTXGEN_CONFIG='' PYTHONDONTWRITEBYTECODE=1 \
    TRITON_CACHE_DIR="$work"
"$python" -m pytest -q -rs -p no:cacheprovider "$PTXGEN_SOURCE/python/tests/test_triton.py"
