"""ptxgen's operations as a module of TVM's FFI.

    module = ptxgen.tvm_ffi.load()          # tvm_ffi.load_module(ptxgen.tvm_ffi.path())
    module.scatter_add(out, index, src)     # any tensors that tvm_ffi takes, in its current stream

Also gather_rows(src, index, out), matmul(a, b, c, out), matmul_scaled(a, b, a_scales, b_scales,
out), each with parameters as a text behind the tensors, and call(family, params, *tensors)."""

import os


def path():
    """The library, for hosts without Python too."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "libptxgen_tvm_ffi.so")


def load():
    import tvm_ffi

    return tvm_ffi.load_module(path())
