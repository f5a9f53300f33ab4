"""Names that Triton 3.6 has not yet, made from what it has, so that one text of a kernel serves it
and later releases."""

from triton.experimental.gluon.language._core import builtin
from triton.experimental.gluon.language.nvidia import blackwell
from triton.experimental.gluon.language.nvidia.hopper import tma

WARPS = 4  # of every kernel here


@builtin
def get_reg_layout(self, _semantic=None):
    """Of a tensor-memory descriptor: in which registers a value of it fits."""
    return blackwell.get_tmem_reg_layout(self.dtype, self.shape, self.layout, WARPS)


def add_later_names():
    descriptor = blackwell.tensor_memory_descriptor
    if not hasattr(descriptor, "get_reg_layout"):
        descriptor.get_reg_layout = get_reg_layout
    if not hasattr(tma, "async_load"):
        tma.async_load = tma.async_copy_global_to_shared
