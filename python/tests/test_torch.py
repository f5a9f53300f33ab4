"""ptxgen.torch on CPU tensors (the emulator): operators against PyTorch's own rules for them,
gradients, compile, and the drop-in on PyTorch's samples of the operations that it replaces."""

import contextlib
import os
import subprocess
import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch")

import ptxgen
import ptxgen.torch as pt

DEVICE = os.environ.get("PTXGEN_TEST_DEVICE", "cpu")
CUDA = DEVICE == "cuda"
gpu_only = pytest.mark.skipif(not CUDA, reason="needs a GPU (PTXGEN_TEST_DEVICE=cuda)")
ops = torch.ops.ptxgen


def numbers(*shape, dtype=torch.float32, low=-4, high=5):
    """Small whole numbers: sums are exact in every type and order."""
    return torch.randint(low, high, shape, device=DEVICE).to(dtype)


def indices(rows, below, dtype=torch.int64):
    return torch.randint(0, below, (rows,), device=DEVICE, dtype=dtype)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(20260717)


# ---- operators ----


@pytest.mark.parametrize("dtype",
    [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64])
def test_scatter_add(dtype):
    out, src = numbers(9, 13, dtype=dtype), numbers(40, 13, dtype=dtype)
    for index_type in (torch.int64, torch.int32):
        index = indices(40, 9, index_type)
        want = out.index_add(0, index.long(), src)
        assert torch.equal(ops.scatter_add(out, index, src), want)
        into = out.clone()
        ops.scatter_add_(into, index, src)
        assert torch.equal(into, want)


def test_options():
    out, src, weight = numbers(9, 8), numbers(12, 8), numbers(30)
    index, src_index = indices(30, 9), indices(30, 12)
    want = out.index_add(0, index, src[src_index] * weight[:, None], alpha=2)
    assert torch.equal(ops.scatter_add(out, index, src, weight, src_index, alpha=2.0), want)


def test_gather_and_matmul():
    src, index = numbers(9, 8), indices(20, 9)
    assert torch.equal(ops.gather_rows(src, index), src[index])
    a, b, c = numbers(33, 64, dtype=torch.bfloat16), numbers(64, 24,
        dtype=torch.bfloat16), numbers(33, 24)
    want = a.float() @ b.float()
    assert torch.equal(ops.matmul(a, b), want)
    assert torch.equal(ops.matmul(a, b, c), want + c)
    assert torch.equal(ops.matmul(a, b.t().contiguous().t()), want)


def test_in_place_is_refused_where_a_gradient_is_needed():
    index, needs = indices(6, 5), lambda *shape: torch.randn(*shape, device=DEVICE,
        requires_grad=True)
    plain = lambda *shape: torch.randn(*shape, device=DEVICE)
    for args in ((needs(5, 8), index, plain(6, 8)), (plain(5, 8), index, needs(6, 8)),
                 (needs(5, 8) * 1, index, plain(6, 8)),
                 (plain(5, 8), index, plain(6, 8), needs(6))):
        before = args[0].detach().clone()
        with pytest.raises(RuntimeError, match="torch.ops.ptxgen.scatter_add,"):
            ops.scatter_add_(*args)
        assert torch.equal(args[0], before)
        with torch.no_grad():
            ops.scatter_add_(*args)
        assert not torch.equal(args[0], before)


def test_in_place_is_a_new_version():
    weight, out = torch.randn(5, 8, device=DEVICE, requires_grad=True), torch.randn(5, 8,
        device=DEVICE)
    product = weight * out
    ops.scatter_add_(out, indices(6, 5), torch.randn(6, 8, device=DEVICE))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    with torch.inference_mode():
        ops.scatter_add_(torch.zeros(5, 8, device=DEVICE), indices(6, 5),
                         torch.ones(6, 8, device=DEVICE))


def test_forward_mode_is_refused():
    x, index = torch.randn(5, 8, device=DEVICE), indices(6, 5)
    half = x.half()
    for function, at in ((lambda t: ops.gather_rows(t, index), x),
                         (lambda t: ops.scatter_add(t, index, t[:1].expand(6, 8)), x),
                         (lambda t: ops.matmul(t, half.t()), half)):
        with pytest.raises(RuntimeError, match="forward-mode"):
            torch.func.jvp(function, (at,), (at,))
        with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError,
                match="forward-mode"):
            function(torch.autograd.forward_ad.make_dual(at, at))


def test_lazily_negated_views():
    x, index = numbers(5, 8), indices(6, 5)
    assert torch.equal(ops.gather_rows(torch._neg_view(x), index), -x[index])
    with pytest.raises(ValueError, match="src is a lazy view"):
        ptxgen.gather_rows(torch._neg_view(x), index)
    z = torch.complex(numbers(5, 8), numbers(5, 8))
    assert torch.equal(ops.gather_rows(z.conj(), index), z.conj()[index])
    for view in (z.conj(), z.conj().imag):
        with pytest.raises(ValueError, match="src is a lazy view"):
            ptxgen.gather_rows(view, index)


def samples():
    index, src_index = indices(12, 5), indices(12, 7)
    grads = lambda *shape, dtype=torch.float32: torch.randn(*shape,
        device=DEVICE).to(dtype).requires_grad_()
    return {
        "scatter_add_": (ops.scatter_add_.default, (torch.randn(5, 8, device=DEVICE), index,
                                                    torch.randn(12, 8, device=DEVICE))),
        "scatter_add": (ops.scatter_add.default, (grads(5, 8), index, grads(12, 8))),
        "weights": (ops.scatter_add.default,
                    (grads(5, 8), index, grads(7, 8), grads(12), src_index, 2.0)),
        "gather_rows": (ops.gather_rows.default, (grads(7, 8), src_index)),
        "matmul": (ops.matmul.default,
                   (grads(16, 32, dtype=torch.float16), grads(32, 16, dtype=torch.float16))),
        "matmul with c": (ops.matmul.default,
                          (grads(16, 32, dtype=torch.bfloat16), grads(32, 16, dtype=torch.bfloat16),
                           grads(16, 16))),
    }


@pytest.mark.parametrize("name",
    ["scatter_add_", "scatter_add", "weights", "gather_rows", "matmul", "matmul with c"])
def test_opcheck(name):
    operator, args = samples()[name]
    result = torch.library.opcheck(operator, args)
    assert len(result) == 4 and set(result.values()) == {"SUCCESS"}


def scaled_operands(m=9, n=16, k=64):
    """Of matmul_scaled, on the CPU (the emulator): e4m3 elements, packed scales, and the product in
    f32."""
    values = [torch.randint(-4, 5, (rows, k)).float() for rows in (m, n)]
    exponents = [torch.randint(126, 130, (rows, k // 32), dtype=torch.uint8) for rows in (m, n)]
    scaled = [
        v * torch.exp2(e.float() - 127).repeat_interleave(32, 1) for v, e in zip(values, exponents)
    ]
    packed = [torch.from_numpy(ptxgen.pack_scales(e.numpy())) for e in exponents]
    return [v.to(torch.float8_e4m3fn) for v in values], packed, scaled[0] @ scaled[1].t()


def test_matmul_scaled():
    (a, b), (a_scales, b_scales), want = scaled_operands()
    assert torch.equal(ops.matmul_scaled(a, b, a_scales, b_scales), want)
    a, b = a.view(torch.uint8), b.view(torch.uint8)  # bytes, with a_format and b_format
    assert torch.equal(ops.matmul_scaled(a, b, a_scales, b_scales), want)
    row_scale, bias = torch.exp2(torch.randint(-2, 3, (9,)).float()), torch.randint(-4, 5, (16,
        )).float()
    got = ops.matmul_scaled(a, b, a_scales, b_scales, row_scale=row_scale, bias=bias,
                            out_dtype=torch.bfloat16)
    assert torch.equal(got, (want * row_scale[:, None] + bias).bfloat16())
    result = torch.library.opcheck(ops.matmul_scaled.default, (a, b, a_scales, b_scales))
    assert len(result) == 4 and set(result.values()) == {"SUCCESS"}
    compiled = torch.compile(lambda *t: ops.matmul_scaled(*t) + 1, fullgraph=True,
                             backend="aot_eager")
    assert torch.equal(compiled(a, b, a_scales, b_scales), want + 1)


def test_gradcheck():
    index, src_index = indices(6, 5), indices(6, 4)
    make = lambda *shape: torch.randn(*shape, device=DEVICE, dtype=torch.float64,
                                      requires_grad=True)
    out, src, few, weight = make(5, 6), make(6, 6), make(4, 6), make(6)
    check = torch.autograd.gradcheck
    assert check(lambda o, s: ops.scatter_add(o, index, s), (out, src))
    assert check(lambda o, s, w: ops.scatter_add(o, index, s, w, src_index, 3.0),
                 (out, few, weight))
    assert check(lambda s: ops.gather_rows(s, index), (out,))
    assert torch.autograd.gradgradcheck(lambda o, s: ops.scatter_add(o, index, s), (out, src))


def test_gradients_of_matmul():
    """Against f32 matmul of the same values; the gradient of the result passes through the
    operands' type."""
    a, b = numbers(16, 32, dtype=torch.bfloat16).requires_grad_(), numbers(32, 24,
        dtype=torch.bfloat16).requires_grad_()
    c, grad = numbers(16, 24).requires_grad_(), numbers(16, 24)
    ops.matmul(a, b, c).backward(grad)
    assert torch.equal(a.grad, (grad @ b.float().t()).bfloat16())
    assert torch.equal(b.grad, (a.float().t() @ grad).bfloat16())
    assert torch.equal(c.grad, grad)


def test_compile():
    def step(out, index, src):
        hidden = ops.scatter_add(out, index, src * 2)
        return ops.gather_rows(hidden, index) + 1

    def step_in_place(out, index, src):
        hidden = ops.scatter_add(out, index, src * 2)
        ops.scatter_add_(hidden, index, src)
        return ops.gather_rows(hidden, index) + 1

    def compiled_of(function):
        return torch.compile(function, fullgraph=True,
                             backend=os.environ.get("PTXGEN_TEST_BACKEND", "aot_eager"))

    out, index, src = numbers(9, 8), indices(20, 9), numbers(20, 8)
    compiled, compiled_in_place = compiled_of(step), compiled_of(step_in_place)
    assert torch.equal(compiled_in_place(out, index, src), step_in_place(out, index, src))
    assert torch.equal(compiled(out, index, src), step(out, index, src))
    other = numbers(31, 8)  # another size: dynamic from here on
    more = indices(31, 9)
    assert torch.equal(compiled(out, more, other), step(out, more, other))
    src.requires_grad_()
    compiled(out, index, src).sum().backward()
    got, src.grad = src.grad.clone(), None
    step(out, index, src).sum().backward()
    assert torch.equal(got, src.grad)
    with pytest.raises(RuntimeError, match="torch.ops.ptxgen.scatter_add,"):
        compiled_in_place(out, index, src)


def test_deterministic_flag():
    out, index, src = torch.zeros(3, 8, device=DEVICE), indices(500, 3), torch.randn(500, 8,
        device=DEVICE)
    torch.use_deterministic_algorithms(True)
    try:
        first = ops.scatter_add(out, index, src)
        assert all(torch.equal(first, ops.scatter_add(out, index, src)) for _ in range(20))
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(first, ops.scatter_add(out, index, src, deterministic=True))


def test_bad_index():
    if CUDA:
        out = torch.zeros(3, 8, device=DEVICE)
        ops.scatter_add_(out, torch.tensor([0, 7], device=DEVICE), torch.ones(2, 8, device=DEVICE))
        with pytest.raises(ptxgen.IndexOutOfRange, match=r"index\[1\] = 7"):
            ptxgen.check_indices(torch.cuda.current_stream())
    else:
        with pytest.raises(IndexError, match=r"index\[1\] = 7"):
            ops.scatter_add(torch.zeros(3, 8), torch.tensor([0, 7]), torch.ones(2, 8))


def test_a_watch_waits_for_nothing():
    watch, src = ptxgen.index_watch(cuda=CUDA), torch.ones(2, 8, device=DEVICE)
    out, good, bad = torch.zeros(3, 8,
        device=DEVICE), *(torch.tensor([0, i], device=DEVICE) for i in (2, 7))
    ptxgen.scatter_add_(out, good, src, watch=watch)  # the kernel is there
    stream = torch.cuda.Stream() if CUDA else contextlib.nullcontext()
    with torch.cuda.stream(stream) if CUDA else stream:
        if CUDA:
            torch.cuda.synchronize()
            torch.cuda._sleep(1 << 28)
        ptxgen.scatter_add_(out, bad, src, watch=watch)
        watch.start()
    if CUDA:
        assert watch.poll() is False  # the stream sleeps still
        ptxgen.check_indices()  # not the device's record
    with pytest.raises(ptxgen.IndexOutOfRange, match=r"index\[1\] = 7"):
        while not watch.poll():
            time.sleep(0.001)
    watch.start()
    while not watch.poll():
        time.sleep(0.001)
    if CUDA:
        with pytest.raises(ValueError, match="cuda=False"):
            ptxgen.scatter_add_(out.cpu(), good.cpu(), src.cpu(), watch=watch)


def test_refusals_have_the_name():
    with pytest.raises(ptxgen.Unsupported, match="src has inner stride"):
        ops.scatter_add(torch.zeros(4, 8, device=DEVICE), indices(8, 4),
                        torch.ones(8, 8, device=DEVICE).t())


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def on_device():
    return torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0] if CUDA else 0


def test_a_million_calls():
    """No growth, by the operator and directly; on a GPU each call launches (another process's
    memory counts there, so alone)."""
    rows = 32 if CUDA else 0
    out, index, src = torch.zeros(3, 8, device=DEVICE), indices(rows, 3), torch.zeros(rows, 8,
        device=DEVICE)
    for call in (ptxgen.scatter_add_, ops.scatter_add_.default):
        for _ in range(2000):
            call(out, index, src)
        before, before_on_device = resident(), on_device()
        for _ in range(1_000_000):
            call(out, index, src)
        grown, grown_on_device = resident() - before, on_device() - before_on_device
        print(f"1,000,000 calls: {grown / 1e6:+.2f} MB on the host, {grown_on_device / 1e6:+.2f} MB on the device")
        assert grown < 4 << 20 and grown_on_device <= 0


# ---- the drop-in ----

OPERATIONS = ["index_add", "scatter_add", "index_select", "nn.functional.embedding", "addmm"]


def opinfo_samples(name, dtype):
    from torch.testing._internal.common_methods_invocations import op_db

    (info,) = [i for i in op_db if i.name == name and i.variant_test_name == ""]
    return info, [
        s for s in info.sample_inputs(DEVICE, dtype, requires_grad=dtype.is_floating_point)
    ]


def run_sample(info, sample):
    """Results and gradients of a sample on fresh copies; in place too, where the operation has
    that."""
    def fresh(t):
        return (
            t.detach().clone(memory_format=torch.preserve_format).requires_grad_(t.requires_grad)
            if isinstance(t, torch.Tensor)
            else t
        )

    found = []
    for function in filter(None, (info.op, info.get_inplace())):
        first = fresh(sample.input)
        args = [fresh(a) for a in sample.args]
        target = first if function is info.op else first.clone()
        try:
            result = function(target, *args, **sample.kwargs)
            found.append(result.detach())
            if result.requires_grad:
                leaves = [
                    t for t in (first, *args) if isinstance(t, torch.Tensor) and t.requires_grad
                ]
                found += [
                    g
                    for g in torch.autograd.grad(
                        result, leaves, torch.ones_like(result).contiguous(), allow_unused=True
                    )
                    if g is not None
                ]
        except (RuntimeError, IndexError) as error:
            found.append(type(error))
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("name", OPERATIONS)
def test_pytorchs_own_samples(name, dtype):
    try:
        info, found = opinfo_samples(name, dtype)
    except (ImportError, ModuleNotFoundError) as error:
        pytest.skip(f"PyTorch's test helpers need {error}")
    if not found:
        pytest.skip("no samples of this type")
    pt.reset_stats()
    compared = 0
    for sample in found:
        want = run_sample(info, sample)
        with pt.enabled(DEVICE, measure=False, least_bytes=0):
            got = run_sample(info, sample)
        assert len(got) == len(want)
        for a, b in zip(got, want):
            compared += 1
            if isinstance(b, type):
                assert a is b
            else:
                torch.testing.assert_close(a, b)
    print(f"\n{name} {dtype}: {len(found)} samples, {compared} results equal\n{pt.stats()}")
    if name in ("index_add", "index_select") and dtype in (torch.float32, torch.float64):
        assert sum(row["served"] for row in pt.stats().values()) > 0


def test_whole_rows_are_served_and_the_rest_is_not():
    out, index, src = numbers(9, 16), indices(40, 9), numbers(40, 16)
    want = out.index_add(0, index, src)
    wide = index.view(-1, 1).expand(40, 16)
    pt.reset_stats()
    with pt.enabled(DEVICE, measure=False, least_bytes=0):
        assert torch.equal(out.index_add(0, index, src), want)
        assert torch.equal(out.clone().index_add_(0, index, src), want)
        assert torch.equal(out.scatter_add(0, wide, src), want)
        assert torch.equal(out.clone().scatter_add_(0, wide, src), want)
        assert torch.equal(torch.index_select(src, 0, index), src[index])
        assert all(pt.stats()[n] == {"served": 1, "declined": {}} for n in
                   ("index_add", "index_add_", "scatter_add", "scatter_add_", "index_select"))
        assert torch.equal(out.scatter_add(0, wide.contiguous(), src), want)
        assert pt.stats()["scatter_add"]["declined"] == {"index differs along a row": 1}
        assert torch.equal(out.t().index_add(1, index, src.t()), want.t())
        assert pt.stats()["index_add"]["declined"] == {"dim is not 0": 1}
        with pytest.raises((RuntimeError, IndexError)):
            out.index_add(2, index, src)
    served = pt.stats()
    assert torch.equal(out.index_add(0, index, src), want) and pt.stats() == served  # aten again


def test_embedding_backward():
    table = torch.nn.Embedding(20, 16, padding_idx=3, device=DEVICE)
    tokens, grad = torch.randint(0, 20, (4, 30), device=DEVICE), numbers(4, 30, 16)

    def gradient():
        table.weight.grad = None
        table(tokens).backward(grad)
        return table.weight.grad.clone()

    want = gradient()
    pt.reset_stats()
    with pt.enabled(DEVICE, measure=False, least_bytes=0):
        assert torch.equal(gradient(), want)
    assert pt.stats()["embedding_dense_backward"]["served"] == 1
    table.scale_grad_by_freq = True
    with pt.enabled(DEVICE, measure=False, least_bytes=0):
        gradient()
    assert pt.stats()["embedding_dense_backward"]["declined"] == {"scale_grad_by_freq": 1}


def test_small_calls_stay():
    out, index, src = numbers(9, 16), indices(40, 9), numbers(40, 16)
    pt.reset_stats()
    with pt.enabled(DEVICE, measure=CUDA):
        out.index_add(0, index, src)
    assert pt.stats()["index_add"] == {"served": 0, "declined": {"too small to gain": 1}}
    assert "1 to aten: too small to gain" in str(pt.stats())


def test_a_mistake_is_atens():
    """Errors are those that aten raises."""
    out, src = numbers(9, 16), numbers(40, 16)
    for bad in (indices(39, 9), indices(40, 9).float(), indices(40, 9).view(40, 1)):
        with pytest.raises((RuntimeError, IndexError)) as plain:
            out.index_add(0, bad, src)
        with pt.enabled(DEVICE, measure=False,
                        least_bytes=0), pytest.raises(type(plain.value)) as served:
            out.index_add(0, bad, src)
        assert str(served.value) == str(plain.value)


def test_import_of_ptxgen_alone_imports_no_torch():
    code = "import sys, ptxgen; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ---- on a GPU ----


@gpu_only
def test_capture_replays_what_eager_does():
    out, index, src = torch.zeros(300, 128, device=DEVICE), indices(5000, 300), numbers(5000, 128)
    a, b = numbers(256, 128, dtype=torch.bfloat16), numbers(128, 256, dtype=torch.bfloat16)

    def step():
        ops.scatter_add_(out, index, src)
        return ops.gather_rows(out, index), ops.matmul(a, b)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
    torch.cuda.synchronize()
    out.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        rows, product = step()
    assert torch.count_nonzero(out) == 0  # capturing does nothing
    for repeat in (1, 2, 3):
        src.copy_(numbers(5000, 128))
        before = out.clone()
        graph.replay()
        want = before.index_add(0, index, src)
        assert torch.equal(out, want) and torch.equal(rows, want[index])
        assert torch.equal(product, a.float() @ b.float())


@gpu_only
def test_products_with_an_f32_result():
    a, b, c = numbers(256, 128, dtype=torch.bfloat16), numbers(128, 512,
        dtype=torch.bfloat16), numbers(256, 512)
    want = torch.addmm(c, a, b, out_dtype=torch.float32), torch.mm(a, b, out_dtype=torch.float32)
    pt.reset_stats()
    with pt.enabled(DEVICE, measure=False, least_bytes=0):
        got = torch.addmm(c, a, b, out_dtype=torch.float32), torch.mm(a, b, out_dtype=torch.float32)
        factors = torch.addmm(c, a, b, beta=2, alpha=0.5, out_dtype=torch.float32)
        unread = torch.addmm(c.fill_(float("nan")), a, b, beta=0, out_dtype=torch.float32)
        torch.addmm(c[:1], a, b, out_dtype=torch.float32)
    assert torch.equal(got[0], want[0]) and torch.equal(got[1], want[1])
    assert torch.equal(factors, 2 * (want[0] - want[1]) + 0.5 * want[1]) and torch.equal(unread,
        want[1])
    assert pt.stats()["addmm.dtype"] == {"served": 3,
                                         "declined": {"c is not f32 of the result's shape": 1}}
    assert pt.stats()["mm.dtype"]["served"] == 1


@gpu_only
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_addmms_samples_with_an_f32_result(dtype):
    """The samples have no out_dtype: the same ones with it."""
    _, found = opinfo_samples("addmm", dtype)
    pt.reset_stats()
    for sample in found:
        a, b = (t.detach() for t in sample.args)
        c, words = sample.input.detach().float(), dict(sample.kwargs, out_dtype=torch.float32)
        try:
            want = torch.addmm(c, a, b, **words)
        except RuntimeError as error:
            with pt.enabled(DEVICE, measure=False, least_bytes=0), pytest.raises(type(error)):
                torch.addmm(c, a, b, **words)
            continue
        with pt.enabled(DEVICE, measure=False, least_bytes=0):
            torch.testing.assert_close(torch.addmm(c, a, b, **words), want)
    print(f"\naddmm with an f32 result, {dtype}: {len(found)} samples\n{pt.stats()}")


@gpu_only
def test_measured_before_served():
    """The first call of a kind is measured; a captured one that was not goes to aten."""
    out, index, src = torch.zeros(4000, 128, device=DEVICE), indices(50000, 4000), numbers(50000,
        128)
    pt.reset_stats()
    with pt.enabled(DEVICE):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out.index_add_(0, index, src)
        assert pt.stats()["index_add_"]["declined"] == {"not measured before the capture": 1}
        out.zero_()
        out.index_add_(0, index, src)
    assert torch.equal(out, torch.zeros_like(out).index_add(0, index, src))
    assert any(kind[0] == "index_add_" for kind in pt.measurements())


@gpu_only
def test_first_call_in_a_capture_says_what_to_do():
    out, index, src = torch.zeros(30, 44, device=DEVICE), indices(50, 30), numbers(50, 44)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(ptxgen.CaptureError, match="scatter_add"):
            ops.scatter_add_(out, index, src)
        torch.add(out, 1)


@gpu_only
def test_side_streams():
    """The operation waits for what its own stream does, and for nothing else."""
    out, index = torch.zeros(64, 256, device=DEVICE), indices(4096, 64)
    src = torch.zeros(4096, 256, device=DEVICE)
    ops.scatter_add_(out, index, src)
    for _ in range(10):
        out.zero_()
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            src.fill_(1)
            ops.scatter_add_(out, index, src)
            ours = out.clone()
        stream.synchronize()
        assert torch.equal(ours, torch.zeros_like(out).index_add(0, index, torch.ones_like(src)))
        src.zero_()


@gpu_only
def test_two_devices():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    for device in ("cuda:1", "cuda:0"):
        out, src = torch.zeros(9, 16, device=device), torch.ones(40, 16, device=device)
        ops.scatter_add_(out, torch.randint(0, 9, (40,), device=device), src)
        assert out.sum() == 640


@gpu_only
def test_cupy():
    cupy = pytest.importorskip("cupy")
    out, src = cupy.zeros((9, 16), "f4"), cupy.ones((40, 16), "f4")
    index = cupy.random.randint(0, 9, 40)
    with cupy.cuda.Stream():
        ptxgen.scatter_add_(out, index, src)
        assert cupy.array_equal(out[:, 0], cupy.bincount(index, minlength=9))
    assert type(ptxgen.gather_rows(out, index)) is cupy.ndarray


@gpu_only
def test_numba():
    """Its arrays offer CUDA's array interface alone; CuPy's and PyTorch's views of them are what is
    given. Without numba on the machine an object with that interface stands for its array."""
    cupy = pytest.importorskip("cupy")
    memory = cupy.zeros((9, 16), "f4")
    try:
        from numba import cuda
        array = cuda.to_device(memory.get())
    except Exception:
        array = type("Array", (), {"__cuda_array_interface__": memory.__cuda_array_interface__})()
    src, index = cupy.ones((40, 16), "f4"), cupy.random.randint(0, 9, 40)
    cupy.cuda.Device().synchronize()
    ptxgen.scatter_add_(cupy.asarray(array), index, src)
    ptxgen.scatter_add_(torch.as_tensor(array, device=DEVICE),
                        torch.as_tensor(index, device=DEVICE), torch.as_tensor(src, device=DEVICE))
    torch.cuda.synchronize()
    assert cupy.array_equal(cupy.asarray(array)[:, 0], 2 * cupy.bincount(index, minlength=9))


@gpu_only
def test_fork_after_cuda():
    """A child process cannot use the parent's CUDA; it gets an error and does not hang."""
    ops.scatter_add_(torch.zeros(3, 8, device=DEVICE), indices(4, 3),
                     torch.ones(4, 8, device=DEVICE))
    torch.cuda.synchronize()
    child = os.fork()
    if child == 0:
        try:
            ptxgen.check_indices()
        except ptxgen.Error:
            os._exit(3)
        os._exit(0)
    done = threading.Event()
    status = []
    threading.Thread(target=lambda: (status.append(os.waitpid(child, 0)[1]), done.set()),
                     daemon=True).start()
    assert done.wait(20)
    assert os.WIFEXITED(status[0]) and os.WEXITSTATUS(status[0]) == 3
