"""GPU kernels specialized for one problem, on the arrays of any library.

    import numpy as np, ptxgen
    out = np.zeros((2, 4), np.float32)
    ptxgen.scatter_add_(out, np.array([1, 0, 1]), np.ones((3, 4), np.float32))

Arrays come by DLPack: PyTorch, CuPy, JAX, NumPy and others, in place and without a copy. Arrays on
CUDA are worked on in the producer's current stream; arrays on the CPU by the emulator, which runs
the same kernels, slowly. A kernel is written and assembled by the first call of its kind and found
in the cache by all later ones. Functions here know no gradients and refuse PyTorch's lazily negated
and conjugated views; ptxgen.torch's know both.

ptxgen.torch has operations for autograd and torch.compile, ptxgen.jax for jit; ptxgen.emulator runs
any PTX.
"""

from ._core import (
    AssembleError,
    BudgetError,
    CaptureError,
    DriverError,
    EmulatorError,
    Error,
    FileError,
    IndexOutOfRange,
    IndexWatch,
    InvalidArgument,
    Missing,
    OutOfMemory,
    ParseError,
    Pending,
    Plan,
    Unsupported,
    __version__,
    call,
    check_indices,
    compile,
    emit,
    families,
    gather_rows,
    index_watch,
    matmul,
    matmul_scaled,
    plan,
    prefetch,
    ready,
    scatter_add_,
)
from . import cache, emulator
from ._interop import pack_scales

__all__ = [
    "AssembleError", "BudgetError", "CaptureError", "DriverError", "EmulatorError", "Error",
    "FileError",
    "IndexOutOfRange", "IndexWatch", "InvalidArgument", "Missing", "OutOfMemory", "ParseError",
    "Pending", "Plan", "Unsupported",
    "cache", "call", "check_indices", "compile", "emit", "emulator", "families", "gather_rows",
    "get_include",
    "get_library", "index_watch", "matmul", "matmul_scaled", "pack_scales", "plan", "prefetch",
    "ready", "scatter_add_",
]


def get_include():
    """The folder of the C headers: cc -I$(python -c 'import ptxgen;
    print(ptxgen.get_include())')."""
    from ._place import include_dir

    return include_dir()


def get_library():
    """The path of the shared library that this package uses."""
    from ._place import library

    return library()
