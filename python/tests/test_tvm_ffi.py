"""The module for TVM's FFI: both forms of tensors, three of texts, errors as Python's
exceptions."""

import numpy as np
import pytest

tvm_ffi = pytest.importorskip("tvm_ffi")

import ptxgen.tvm_ffi

RANDOM = np.random.default_rng(20260717)


@pytest.fixture(scope="module")
def module():
    return ptxgen.tvm_ffi.load()


def numbers(dtype, *shape):
    return RANDOM.integers(-4, 5, shape).astype(dtype)


def wrapped(array):
    return tvm_ffi.from_dlpack(array)


def test_scatter_add(module):
    out, src, index = numbers("f4", 9, 16), numbers("f4", 40, 16), RANDOM.integers(0, 9, 40)
    want = out.copy()
    np.add.at(want, index, src)
    # short, longer than seven bytes, and none
    for params in ((), ("",), ("n=16",), ("schedule=owner oob=record",), (None,)):
        result = out.copy()
        module.scatter_add(wrapped(result), wrapped(index), wrapped(src), *params)
        np.testing.assert_array_equal(result, want)


def test_others(module):
    src, index = numbers("f4", 9, 16), RANDOM.integers(0, 9, 20)
    rows = np.zeros((20, 16), "f4")
    module.gather_rows(wrapped(src), wrapped(index), wrapped(rows))
    np.testing.assert_array_equal(rows, src[index])
    a, b, d = numbers("f2", 16, 32), numbers("f2", 32, 24), np.zeros((16, 24), "f4")
    module.matmul(wrapped(a), wrapped(b), None, wrapped(d))
    np.testing.assert_array_equal(d, a.astype("f4") @ b.astype("f4"))
    rows[:] = 0
    module.call("gather_rows", "vector=4", wrapped(rows), wrapped(src), wrapped(index))
    np.testing.assert_array_equal(rows, src[index])


def test_torch_tensors_as_they_are(module):
    torch = pytest.importorskip("torch")
    out, src, index = torch.zeros(9, 16), torch.ones(40, 16), torch.randint(0, 9, (40,))
    module.scatter_add(out, index, src)
    assert torch.equal(out[:, 0], torch.bincount(index, minlength=9).float())


def test_errors(module):
    out, src, index = numbers("f4", 9, 16), numbers("f4", 40, 16), RANDOM.integers(0, 9, 40)
    before = out.copy()
    with pytest.raises(ValueError, match="index has rows=39"):
        module.scatter_add(wrapped(out), wrapped(index[:39]), wrapped(src))
    with pytest.raises(RuntimeError, match="src holds s16"):
        module.call("scatter_add", "", wrapped(out), wrapped(numbers("i2", 40, 16)), wrapped(index))
    with pytest.raises(ValueError, match="is no tensor"):
        module.scatter_add(wrapped(out), 3, wrapped(src))
    with pytest.raises(ValueError, match="number of arguments"):
        module.scatter_add(wrapped(out))
    with pytest.raises(ValueError, match="text of parameters"):
        module.scatter_add(wrapped(out), wrapped(index), wrapped(src), 1.5)
    np.testing.assert_array_equal(out, before)
    index[3] = 9
    with pytest.raises(IndexError, match=r"index\[3\] = 9"):
        module.scatter_add(wrapped(out), wrapped(index), wrapped(src))
