"""Operations on NumPy arrays: answers against NumPy's, refusals that name the argument and touch
nothing."""

import sys
import threading

import numpy as np
import pytest

import ptxgen

RANDOM = np.random.default_rng(20260717)


def numbers(dtype, *shape):
    """Small whole numbers, so that sums are exact in every type."""
    return RANDOM.integers(-4, 5, shape).astype(dtype)


def expected(out, index, src, weight=None):
    want = out.astype(np.float64)
    np.add.at(want, index,
        src.astype(np.float64) * (1 if weight is None else weight.astype(np.float64)[:, None]))
    return want.astype(out.dtype)


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i4", "i8"])
@pytest.mark.parametrize("index_type", ["i8", "i4"])
@pytest.mark.parametrize("n", [1, 4, 13, 64])
def test_scatter_add(dtype, index_type, n):
    out, src = numbers(dtype, 7, n), numbers(dtype, 23, n)
    index = RANDOM.integers(0, 7, 23).astype(index_type)
    want = expected(out, index, src)
    assert ptxgen.scatter_add_(out, index, src) is out
    np.testing.assert_array_equal(out, want)


def test_views_are_taken_as_they_are():
    wide, tall = numbers("f4", 9, 20), numbers("f4", 60, 20)
    out, src = wide[2:8, 4:12], tall[::3, 8:16]
    index = RANDOM.integers(0, 6, 20)
    before, want = wide.copy(), expected(out, index, src)
    ptxgen.scatter_add_(out, index, src)
    np.testing.assert_array_equal(out, want)
    before[2:8, 4:12] = want
    np.testing.assert_array_equal(wide, before)


def test_options():
    out, src, weight = numbers("f4", 5, 8), numbers("f4", 6, 8), numbers("f4", 11)
    index, src_index = RANDOM.integers(0, 5, 11), RANDOM.integers(0, 6, 11)
    want = expected(out, index, 3 * src[src_index], weight)
    ptxgen.scatter_add_(out, index, src, weight=weight, src_index=src_index, alpha=3)
    np.testing.assert_array_equal(out, want)
    ptxgen.scatter_add_(out, index[:6], src, alpha=0)
    np.testing.assert_array_equal(out, want)
    np.maximum.at(want, index[:6], src)
    ptxgen.scatter_add_(out, index[:6], src, reduce="max", deterministic=True)
    np.testing.assert_array_equal(out, want)
    padded = np.array([1, -100, 1])
    want[1] += src[0] + src[2]
    ptxgen.scatter_add_(out, padded, src[:3], padding_index=-100)
    np.testing.assert_array_equal(out, want)


def test_a_plan_serves_other_data():
    index = RANDOM.integers(0, 5, 40)
    plan = ptxgen.plan(index, 5)
    assert (plan.rows, plan.out_rows) == (40, 5)
    for dtype, n in (("f4", 8), ("f8", 3)):
        out, src = numbers(dtype, 5, n), numbers(dtype, 40, n)
        want = expected(out, index, src)
        ptxgen.scatter_add_(out, src=src, plan=plan)
        np.testing.assert_array_equal(out, want)
    with pytest.raises(TypeError, match="plan must come from ptxgen.plan"):
        ptxgen.scatter_add_(out, src=src, plan=3)
    with pytest.raises(TypeError):
        type(plan)()


def test_bad_indices():
    out, src = np.zeros((3, 4), "f4"), np.ones((4, 4), "f4")
    with pytest.raises(ptxgen.IndexOutOfRange, match=r"index\[2\] = 9") as caught:
        ptxgen.scatter_add_(out, np.array([0, 2, 9, 0]), src)
    assert isinstance(caught.value, IndexError) and caught.value.status == "EINDEX"
    np.testing.assert_array_equal(out[:, 0], [2, 0, 1])  # all others were done
    with pytest.raises(IndexError, match=r"index\[0\] = -1"):
        ptxgen.gather_rows(src, np.array([-1, 2]))
    with pytest.raises(IndexError):
        ptxgen.plan(np.array([0, 3]), 3)
    ptxgen.scatter_add_(out, np.array([0]), src[:1])  # no memory of it


def test_a_watch_tells_later():
    out, src, watch = np.zeros((3, 4), "f4"), np.ones((4, 4), "f4"), ptxgen.index_watch(cuda=False)
    with pytest.raises(ptxgen.InvalidArgument, match="start one first"):
        watch.poll()
    # does not raise
    assert ptxgen.scatter_add_(out, np.array([0, 2, 9, 0]), src, watch=watch) is out
    np.testing.assert_array_equal(out[:, 0], [2, 0, 1])
    watch.start()
    with pytest.raises(ptxgen.InvalidArgument, match="a look is under way"):
        watch.start()
    with pytest.raises(ptxgen.IndexOutOfRange, match=r"index\[2\] = 9"):
        watch.poll()
    ptxgen.scatter_add_(out, np.array([1]), src[:1], watch=watch)
    watch.start()
    assert watch.poll() is True
    with pytest.raises(TypeError, match="watch must come from ptxgen.index_watch"):
        ptxgen.scatter_add_(out, np.array([1]), src[:1], watch=3)
    with pytest.raises(TypeError):
        type(watch)()


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "u1", "i2", "f8", "c8", "c16"])
def test_gather_rows(dtype):
    src, index = numbers(dtype, 6, 5), RANDOM.integers(0, 6, 9)
    np.testing.assert_array_equal(ptxgen.gather_rows(src, index), src[index])
    out = np.zeros((9, 5), dtype)
    assert ptxgen.gather_rows(src, index, out=out) is out
    np.testing.assert_array_equal(out, src[index])


def test_matmul():
    a, b, c = numbers("f2", 33, 48), numbers("f2", 48, 24), numbers("f4", 33, 24)
    product = a.astype("f4") @ b.astype("f4")
    np.testing.assert_array_equal(ptxgen.matmul(a, b), product)
    np.testing.assert_array_equal(ptxgen.matmul(a, b, c), product + c)
    transposed = np.ascontiguousarray(b.T).T
    want = product + c
    assert ptxgen.matmul(a, transposed, c, out=c) is c
    np.testing.assert_array_equal(c, want)


def test_matmul_of_batches():
    a, b, c = numbers("f2", 3, 5, 16), numbers("f2", 3, 16, 8), numbers("f4", 3, 5, 8)
    for x, y, z in ((a, b, None), (a, b[1], None), (a[2], b, c), (a[0], b[0], c), (a, b, c[1])):
        want = x.astype("f4") @ y.astype("f4") + (0 if z is None else z)
        got = ptxgen.matmul(x, y, z)
        assert got.shape == (3, 5, 8)
        np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match="b has batch=3, but a has batch=2"):
        ptxgen.matmul(a[:2], b)
    for wrong in (a[None], a[0, 0]):
        with pytest.raises(ValueError, match=r"a has [41] dimensions?, it must have 2 or 3"):
            ptxgen.matmul(wrong, b)
    for missing in ((None, b), (a, None), (None, None)):
        with pytest.raises(ValueError):
            ptxgen.matmul(*missing)


def test_matmul_epilogue():
    a, b = numbers("f2", 16, 32), numbers("f2", 32, 16)
    want = np.maximum(a.astype("f4") @ b.astype("f4"), 0)
    np.testing.assert_array_equal(
        ptxgen.matmul(a, b, np.zeros((16, 16), "f4"), epilogue="relu", params="arch=sm_100a"), want
    )
    with pytest.raises(ValueError,
            match="epilogue='rely': it must be one of none, relu, squared_relu, .*sigmoid, tanh$"):
        ptxgen.matmul(a, b, epilogue="rely")


def test_factors_of_a_product():
    a, b, c = numbers("f2", 17, 32), numbers("f2", 32, 24), numbers("f4", 17, 24)
    product = a.astype("f4") @ b.astype("f4")
    np.testing.assert_array_equal(ptxgen.matmul(a, b, c, alpha=2, beta=0.5), 2 * product + c / 2)
    np.testing.assert_array_equal(ptxgen.matmul(a, b, np.full_like(c, np.nan), beta=0), product)
    np.testing.assert_array_equal(ptxgen.matmul(a, b, c, alpha=0), c)
    with pytest.raises(TypeError):
        ptxgen.matmul(a, b, c, alpha="2")


def test_matmul_scaled_of_bytes():
    """e4m3 1.0 is 0x38, ue8m0 2^e is 127 + e; e2m1 1.0 is 2, 2.0 is 4, two to a byte, the even one
    low."""
    m, n, k = 9, 16, 64
    a, b = np.full((m, k), 0x38, "u1"), np.full((n, k), 0x38, "u1")
    a_scales = np.tile(np.array([127, 128], "u1"), (m, 1))
    b_scales = np.full((n, 2), 127, "u1")
    got = ptxgen.matmul_scaled(a, b, ptxgen.pack_scales(a_scales), ptxgen.pack_scales(b_scales))
    np.testing.assert_array_equal(got, np.full((m, n), 32 + 64, "f4"))
    four = np.full((m, k // 2), 0x42, "u1")
    got = ptxgen.matmul_scaled(four, np.full((n, k // 2), 0x22, "u1"), ptxgen.pack_scales(a_scales),
                               ptxgen.pack_scales(b_scales), a_format="mxfp4", b_format="mxfp4",
                               out_dtype="float16")
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, np.full((m, n), 48 + 96, "f2"))


def test_any_family():
    out, src = np.zeros((4, 6), "f4"), numbers("f4", 3, 6)
    ptxgen.call("gather_rows", out, src, np.array([2, 1, 0, 2]))
    np.testing.assert_array_equal(out, src[[2, 1, 0, 2]])
    assert "gather_rows" in ptxgen.families()
    with pytest.raises(ptxgen.InvalidArgument, match="gathr_rows"):
        ptxgen.call("gathr_rows", out)
    with pytest.raises(ptxgen.InvalidArgument, match="src is missing"):
        ptxgen.call("gather_rows", out, None, np.array([0]))


class Refusal:
    def __init__(self, error, words, **change):
        self.error, self.words, self.change = error, words, change


class Lazy(np.ndarray):
    """What PyTorch's tensors say of a view whose memory holds other values."""

    negated = conjugated = False

    def is_neg(self):
        return self.negated

    def is_conj(self):
        return self.conjugated


def test_lazy_views_are_refused():
    for dtype, said in (("f4", "negated"), ("c8", "negated"), ("c8", "conjugated")):
        src, index = numbers(dtype, 6, 5).view(Lazy), np.array([3, 1])
        np.testing.assert_array_equal(ptxgen.gather_rows(src, index, out=np.zeros((2, 5), dtype)),
                                      src[[3, 1]])
        setattr(src, said, True)
        with pytest.raises(ValueError, match=r"src is a lazy view.*src.resolve_" + said[:3]):
            ptxgen.gather_rows(src, index, out=np.zeros((2, 5), dtype))


REFUSALS = [
    Refusal(ptxgen.Unsupported, "out has inner stride", out=np.zeros((8, 4), "f4").T),
    Refusal(
        ptxgen.Unsupported,
        "out has stride 0",
        out=np.lib.stride_tricks.as_strided(np.zeros(8, "f4"), (4, 8), (0, 4)),
    ),
    Refusal(
        ptxgen.Unsupported,
        "src goes backwards|src has row stride -8",
        src=np.ones((5, 8), "f4")[::-1],
    ),
    Refusal(ptxgen.InvalidArgument, "src holds f64 and out f32", src=np.ones((5, 8))),
    Refusal(
        ptxgen.InvalidArgument, "index has rows=4, but src has rows=5", index=np.zeros(4, "i8")
    ),
    Refusal(ptxgen.InvalidArgument, "index has 2 dimensions", index=np.zeros((5, 1), "i8")),
    Refusal(ptxgen.Unsupported, "index holds f64", index=np.zeros(5)),
    Refusal(ptxgen.Unsupported, "out holds c64", out=np.zeros((4, 8), "c8")),
    Refusal(TypeError, "index is a <class 'list'>", index=[0, 1, 2, 3, 0]),
    Refusal(ValueError, "schedule", schedule="fastest"),
    Refusal(TypeError, "no argument named 'alhpa'", alhpa=1),
    Refusal(TypeError, "alpha|number|float", alpha="two"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=[r.words for r in REFUSALS])
def test_refusals(refusal):
    arguments = {"out": np.zeros((4, 8), "f4"), "index": np.zeros(5, "i8"),
                 "src": np.ones((5, 8), "f4")}
    arguments.update(refusal.change)
    before = arguments["out"].copy()
    with pytest.raises(refusal.error, match=refusal.words):
        ptxgen.scatter_add_(**arguments)
    np.testing.assert_array_equal(arguments["out"], before)


def test_a_read_only_result_is_refused():
    out = np.zeros((2, 4), "f4")
    out.flags.writeable = False
    with pytest.raises((ptxgen.InvalidArgument, BufferError), match="(?i)read-?only"):
        ptxgen.scatter_add_(out, np.array([0]), np.ones((1, 4), "f4"))
    ptxgen.gather_rows(out, np.array([0]))  # as a source it is welcome


def test_errors_have_their_status():
    with pytest.raises(ptxgen.Error) as caught:
        ptxgen.emit("scatter_add", "n=0x")
    assert caught.value.status == "EINVAL" and caught.value.driver_error == 0
    assert issubclass(ptxgen.Unsupported, NotImplementedError) and issubclass(ptxgen.ParseError,
        ValueError)


def test_nothing_to_do():
    out = np.ones((3, 4), "f4")
    ptxgen.scatter_add_(out, np.zeros(0, "i8"), np.zeros((0, 4), "f4"))
    np.testing.assert_array_equal(out, np.ones((3, 4), "f4"))
    assert ptxgen.gather_rows(out, np.zeros(0, "i8")).shape == (0, 4)


def test_kernels_before_the_call():
    out, src, index = np.zeros((4, 28), "f4"), np.ones((5, 28), "f4"), np.zeros(5, "i8")
    params = ptxgen.prefetch("scatter_add", out, src, index)
    assert "n=28" in params and ptxgen.ready("scatter_add", out, src, index)
    before = ptxgen.cache.info(cuda=False)["memory_hits"]
    ptxgen.scatter_add_(out, index, src)
    assert ptxgen.cache.info(cuda=False)["memory_hits"] == before + 1
    ptxgen.cache.clear(cuda=False)
    assert ptxgen.cache.info(cuda=False)["entries"] == 0


def test_other_threads_run_meanwhile():
    """The emulator works without the interpreter's lock."""
    out, src = np.zeros((64, 512), "f4"), np.ones((20000, 512), "f4")
    index = RANDOM.integers(0, 64, 20000)
    running, seen = threading.Event(), []

    def count():
        while running.is_set():
            seen.append(None)
            threading.Event().wait(0.0005)

    running.set()
    other = threading.Thread(target=count)
    other.start()
    before = len(seen)
    ptxgen.scatter_add_(out, index, src)
    during = len(seen) - before
    running.clear()
    other.join()
    assert during > 3


def resident_bytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def test_many_calls_do_not_grow():
    """Calls with nothing to launch and refusals leave the process as large as it was."""
    out, src, index = np.zeros((3, 4), "f4"), np.zeros((0, 4), "f4"), np.zeros(0, "i8")
    calls = 200_000

    def run(count):
        for _ in range(count):
            ptxgen.scatter_add_(out, index, src, alpha=2)

    run(2000)
    before, references = resident_bytes(), sys.getrefcount(out)
    run(calls)
    assert sys.getrefcount(out) == references
    assert resident_bytes() - before < 2 << 20
    for _ in range(20000):
        with pytest.raises(ptxgen.InvalidArgument):
            ptxgen.scatter_add_(out, index, out)
    assert sys.getrefcount(out) == references
    assert resident_bytes() - before < 8 << 20
