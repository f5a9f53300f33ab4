# ptxgen.torch of the build tree on CPU tensors: python/tests/test_torch.py. PyTorch is too large to
# fetch for a test: an interpreter that has it (with NumPy, pytest and expecttest) is named by
# PTXGEN_TORCH_PYTHON, or is python3, or lies in $XDG_CACHE_HOME/ptxgen-tests/torch (python3 -m venv
# there, pip install torch numpy pytest expecttest).
set -eu
[ -f "$PTXGEN_BUILD/python/ptxgen/_core.abi3.so" ] ||
    { echo "skipped: the Python package was not built"; exit 77; }
for python in "${PTXGEN_TORCH_PYTHON:-}" python3 \
    "${XDG_CACHE_HOME:-${HOME:-/}/.cache}/ptxgen-tests/torch/bin/python" ""; do
    [ -n "$python" ] || continue
    ! "$python" -c 'import torch, pytest' 2>/dev/null || break
done
[ -n "$python" ] || { echo "skipped: no Python with torch and pytest (PTXGEN_TORCH_PYTHON)"
exit 77; }
export PYTHONPATH=$PTXGEN_BUILD/python PTXGEN_CACHE=off PTXGEN_CONFIG='' PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -rs -p no:cacheprovider "$PTXGEN_SOURCE/python/tests/test_torch.py"
