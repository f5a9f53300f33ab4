# The exact tensor-core arithmetic against the public model of the MMA-Sim project, which is not
# part of this one: PTXGEN_MMA_SIM names a checkout of it, PTXGEN_MMA_SIM_PYTHON a Python with torch
# and numpy. Skipped without them.
set -eu
python=${PTXGEN_MMA_SIM_PYTHON:-python3}
if [ ! -f "${PTXGEN_MMA_SIM:-/nowhere}/mmasim/simulator/arithmetic.py" ] ||
    ! "$python" -c 'import torch, numpy' 2>/dev/null; then
    echo "no checkout of MMA-Sim (PTXGEN_MMA_SIM) or no Python with torch and numpy: skipped"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$PTXGEN_SOURCE/tests/emulator/mma_sim.py" "$@"
