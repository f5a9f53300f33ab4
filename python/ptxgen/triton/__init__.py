"""Triton and Gluon on the emulator: kernels run on CPU tensors, no GPU and no driver needed.

    import ptxgen.triton
    ptxgen.triton.enable()                    # before the first kernel; then launch kernels on
    tensors of the CPU

or, for a program that asks for device="cuda" throughout,

    python -m ptxgen.triton PROGRAM.py        # --help says what can be chosen

Kernels are compiled by Triton to PTX for the architecture that enable() names; ptxas is not run. A
kernel may touch the storages of its tensors and those whose data_ptr() was taken; an access
elsewhere raises EmulatorError with the PTX line. With check=True races and misuse are found: see
reports(). Times mean nothing here, so autotuning takes the first configuration that fits. Tested
with Triton 3.6 and 3.9.
"""

from ._driver import reports, settings
from ._enable import enable

__all__ = ["enable", "reports", "settings"]
