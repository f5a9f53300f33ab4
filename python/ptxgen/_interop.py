"""What the C module is better told in Python: streams of other libraries, new arrays of their
kinds."""

import sys

from . import _core


def stream_handle(stream):
    """The CUstream of whatever stands for a stream: a number, torch's, CuPy's and cuda.core's
    objects."""
    if isinstance(stream, int):
        # DLPack's numbers of the default streams: legacy 1, per thread 2; the driver takes both as
        # they are.
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return (protocol() if callable(protocol) else protocol)[1]
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            return int(value)
    raise TypeError(f"stream={stream!r}: give a number, or an object with __cuda_stream__, cuda_stream or ptr")


def current_stream(array):
    """The stream that the producer of an array works in, if it has such a thing; None: the legacy
    default one."""
    module = type(array).__module__.partition(".")[0]
    if module == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr or None
    return None


def empty(reference, shape, dtype):
    """A new array of the reference's kind and place; dtype None: of its element type."""
    module = type(reference).__module__.partition(".")[0]
    if module == "torch" or hasattr(reference, "new_empty"):
        torch = sys.modules["torch"]
        return reference.new_empty(shape, dtype=getattr(torch, dtype) if dtype else reference.dtype)
    if module in ("numpy", "cupy"):
        library = sys.modules[module]
        if dtype == "bfloat16":
            raise TypeError("out: NumPy has no bfloat16, give an array of 16-bit words as out")
        return library.empty(shape, dtype or reference.dtype)
    raise TypeError(f"out: no result can be made for a {type(reference)!r}: give one")


def pack_scales(scales):
    """Scales [rows, groups] of matmul_scaled, one byte each, in the order that tensor cores take:
    uint8 [bytes].

    NumPy arrays; for tensors on CUDA do it once on the CPU."""
    import numpy

    scales = numpy.ascontiguousarray(scales)
    if scales.ndim != 2 or scales.dtype.itemsize != 1:
        raise ValueError(f"scales must be [rows, groups] of bytes, not {scales.dtype} {scales.shape}")
    return numpy.frombuffer(bytearray(_core.pack_scales(scales.tobytes(), *scales.shape)),
                            numpy.uint8)
