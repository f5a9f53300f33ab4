"""What producers may give: old and new capsules, streams, objects that are no arrays."""

import subprocess
import sys

import numpy as np
import pytest

import ptxgen
from ptxgen import _interop


class Producer:
    """An array whose __dlpack__ is seen and can be bent."""

    def __init__(self, array, device=None, old=False):
        self.array, self.device, self.old, self.asked = array, device, old, []

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()

    def __dlpack__(self, **words):
        self.asked.append(dict(words))
        if self.old and "max_version" in words:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**words)


def test_versions():
    for old in (False, True):
        out = np.zeros((2, 4), "f4")
        source = Producer(np.ones((1, 4), "f4"), old=old)
        ptxgen.scatter_add_(Producer(out, old=old), Producer(np.array([1]), old=old), source)
        np.testing.assert_array_equal(out[:, 0], [0, 1])
        assert source.asked[0] == {"max_version": (1, 1)}
        assert len(source.asked) == (2 if old else 1)


def test_no_capsule():
    class Strange(Producer):
        def __dlpack__(self, **words):
            return 7

    class Broken(Producer):
        def __dlpack__(self, **words):
            raise RuntimeError("the array is gone")

    out, index = np.zeros((2, 4), "f4"), np.array([1])
    with pytest.raises(TypeError, match="src gives 7, no DLPack capsule"):
        ptxgen.scatter_add_(out, index, Strange(np.ones((1, 4), "f4")))
    with pytest.raises(RuntimeError, match="the array is gone"):
        ptxgen.scatter_add_(out, index, Broken(np.ones((1, 4), "f4")))
    with pytest.raises(TypeError, match="src is a <class 'object'>"):
        ptxgen.scatter_add_(out, index, object())
    np.testing.assert_array_equal(out, 0)


def test_an_attribute_that_is_no_api():
    class Early(Producer):
        __dlpack_c_exchange_api__ = 12345  # an early form

    out = np.zeros((2, 4), "f4")
    ptxgen.scatter_add_(Early(out), np.array([1]), Early(np.ones((1, 4), "f4")))
    assert out[1, 0] == 1


def test_streams():
    class Torch:
        cuda_stream = 4096

    class Cupy:
        ptr = 8192

    class Core:
        def __cuda_stream__(self):
            return (0, 12288)

    assert [_interop.stream_handle(s) for s in (7, Torch(), Cupy(), Core())] == [7, 4096, 8192,
        12288]
    with pytest.raises(TypeError, match="__cuda_stream__"):
        _interop.stream_handle("fast")
    # arrays on the CPU have none
    source = Producer(np.ones((1, 4), "f4"))
    ptxgen.scatter_add_(np.zeros((2, 4), "f4"), np.array([1]), source, stream=Torch())
    assert "stream" not in source.asked[0]


def test_import_alone():
    """Neither NumPy nor a framework is imported by the package."""
    code = "import sys, ptxgen; print([m for m in ('numpy', 'torch', 'jax') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True).stdout.strip() == "[]"


def test_arrays_with_cudas_interface_alone_are_told_what_to_do():
    """numba's arrays on a GPU: other libraries make arrays of them that share the memory."""
    class OfNumba:
        __cuda_array_interface__ = {"shape": (2, 4), "typestr": "<f4", "data": (16, False),
                                    "strides": None, "version": 3}

    with pytest.raises(TypeError,
            match=r"src is a .*OfNumba.*cupy.asarray\(it\) or torch.as_tensor\(it, device='cuda'\)"):
        ptxgen.scatter_add_(np.zeros((2, 4), np.float32), np.array([0, 1]), OfNumba())
