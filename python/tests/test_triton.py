"""ptxgen.triton: Triton's kernels on tensors of the CPU. Skipped without triton and torch."""

import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402

import ptxgen  # noqa: E402
import ptxgen.triton  # noqa: E402
from ptxgen.triton import _driver  # noqa: E402


@pytest.fixture(autouse=True)
def emulator():
    ptxgen.triton.enable("sm_90")
    torch.manual_seed(3)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + first + k[None, :], mask=first + k[None, :] < K,
                       other=0.0)
        right = tl.load(b + (first + k[:, None]) * N + n[None, :], mask=first + k[:, None] < K,
                        other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def matmul_described(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        acc = tl.dot(a.load([m, first]), b.load([first, n]), acc)
    c.store([m, n], acc.to(tl.float16))


@triton.jit
def columns(x, out, locks, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Column sums by partial sums under a lock."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    part = tl.sum(tl.load(x + m[:, None] * N + n[None, :]), axis=0)
    while tl.atomic_cas(locks, 0, 1) == 1:
        pass
    tl.store(out + n, tl.load(out + n) + part)
    tl.debug_barrier()
    tl.atomic_xchg(locks, 0)


@triton.jit
def scalars(out, a, b, c, d, flag):
    tl.store(out, a.to(tl.float32))
    tl.store(out + 1, b.to(tl.float32))
    tl.store(out + 2, c)
    tl.store(out + 3, d.to(tl.float32))
    tl.store(out + 4, flag.to(tl.float32))


@triton.jit
def gather(table, out, n, BLOCK: tl.constexpr):
    """Sums the arrays that a table of addresses names."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for t in range(n):
        total += tl.load(tl.load(table + t).to(tl.pointer_type(tl.float32)) + i)
    tl.store(out + i, total)


def test_add():
    x, y = torch.randn(1000), torch.randn(1000)
    out = torch.empty(1000)
    add[(4,)](x, y, out, 1000, BLOCK=256)
    assert torch.equal(out, x + y)
    # another specialisation: addresses off 16 bytes
    add[(4,)](x[1:], y[1:], out, 999, BLOCK=256)
    assert torch.equal(out[:999], x[1:] + y[1:])


def test_softmax():
    x = torch.randn(7, 300)
    out = torch.empty_like(x)
    softmax[(7,)](x, out, x.stride(0), 300, BLOCK=512)
    assert torch.allclose(out, torch.softmax(x, 1), atol=1e-6)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_matmul(arch):
    ptxgen.triton.enable(arch)
    a, b = torch.randn(128, 80, dtype=torch.float16), torch.randn(80, 128, dtype=torch.float16)
    c = torch.empty(128, 128)
    matmul[(2, 1)](a, b, c, 128, 128, 80, BM=64, BN=128, BK=32)
    assert torch.allclose(c, a.float() @ b.float(), atol=1e-3)


@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
@pytest.mark.parametrize("warps", [4, 8])
def test_descriptors(arch, warps):
    descriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor
    ptxgen.triton.enable(arch)
    a, b = torch.randn(256, 128, dtype=torch.float16), torch.randn(128, 128, dtype=torch.float16)
    c = torch.empty(256, 128, dtype=torch.float16)
    of = descriptor.from_tensor
    matmul_described[(2, 1)](of(a, [128, 64]), of(b, [64, 128]), of(c, [128, 128]), 128, BM=128,
                             BN=128, BK=64,
                             num_warps=warps)
    assert torch.allclose(c.float(), a.float() @ b.float(), atol=0.05)


def test_locks():
    x = torch.randint(-8, 8, (256, 64)).float()
    out, locks = torch.zeros(64), torch.zeros(1, dtype=torch.int32)
    columns[(16,)](x, out, locks, 256, 64, BM=16, BN=64)
    assert torch.equal(out, x.sum(0))


def test_scalars():
    out = torch.empty(5)
    scalars[(1,)](out, -7, 1 << 40, 0.375, 3000000000, True)
    assert out.tolist() == [-7, float(1 << 40), 0.375, 3000000000, 1]


def test_autotune():
    """Nothing is measured: the first configuration that fits is taken, the others are not
    compiled."""
    tuned = triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 1 << 40})],
                            key=["n"])(add)
    x = torch.randn(500)
    out = torch.empty(500)
    tuned[lambda meta: (triton.cdiv(500, meta["BLOCK"]),)](x, x, out, 500)
    assert torch.equal(out, x + x)
    assert tuned.best_config.kwargs["BLOCK"] == 64


def test_table_of_addresses():
    """Addresses that are data: their storages are known once data_ptr() was called in the mode of
    -m ptxgen.triton."""
    arrays = [torch.randn(64) for _ in range(3)]
    table = torch.tensor([a.data_ptr() for a in arrays])
    out = torch.empty(64)
    with pytest.raises(ptxgen.EmulatorError, match="out of bounds|outside"):
        gather[(1,)](table, out, 3, BLOCK=64)
    for a in arrays:
        _driver.Memory.take(a)
    gather[(1,)](table, out, 3, BLOCK=64)
    assert torch.allclose(out, sum(arrays))


def test_out_of_bounds():
    x = torch.randn(100)
    with pytest.raises(ptxgen.EmulatorError, match="add"):
        add[(1,)](x, x, torch.empty(10), 100, BLOCK=128)


def test_trusted_pointers():
    ptxgen.triton.enable("sm_90", trust_pointers=True)
    arrays = [torch.randn(64) for _ in range(2)]
    out = torch.empty(64)
    gather[(1,)](torch.tensor([a.data_ptr() for a in arrays]), out, 2, BLOCK=64)
    assert torch.allclose(out, sum(arrays))


def test_races():
    ptxgen.triton.enable("sm_90", check=True)
    x, out = torch.ones(256), torch.zeros(256)
    add[(2,)](x, x, out, 256, BLOCK=128)
    assert not [r for _, r in ptxgen.triton.reports() if r.severity == "undefined"]
    add[(2,)](x, out[:128], out[64:], 128, BLOCK=64)  # the second CTA reads what the first writes
    found = [(name, r.kind) for name, r in ptxgen.triton.reports()]
    assert ("add", "RACE_GLOBAL") in found


def test_refusals():
    with pytest.raises(ValueError, match="sm_80"):
        ptxgen.triton.enable("sm_75")
    with pytest.raises(ValueError, match="'hw' or 'isa'"):
        ptxgen.triton.enable(order="random")


def test_program(tmp_path):
    """A program for a GPU, unchanged."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import sys
        import torch, triton, triton.language as tl
        @triton.jit
        def twice(x, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            v = tl.load(x + i)
            tl.device_print("value", v)
            tl.store(x + i, 2 * v)
        assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (10, 0)
        x = torch.arange(4, device="cuda", dtype=torch.float32)
        y = torch.ones(4).cuda()
        twice[(1,)](x, BLOCK=4, num_warps=1)
        torch.cuda.synchronize()
        assert x.is_cuda
        print((x + y).tolist(), sys.argv[1:])
        sys.exit(5)
        """))
    ran = subprocess.run(
        [sys.executable, "-m", "ptxgen.triton", "--arch", "sm_100", str(program), "a", "-b"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 5, ran.stderr
    assert "[1.0, 3.0, 5.0, 7.0] ['a', '-b']" in ran.stdout
    assert "value: 3.0" in ran.stdout


@pytest.mark.parametrize("end, code",
    [("", 0), ("import sys; sys.exit(4)", 4), ("raise ValueError('at the end')", 1)])
def test_what_a_program_holds_is_not_torn_down(tmp_path, end, code):
    """A GPU library's handle in a global crashes in its destructor where there is no GPU."""
    (tmp_path / "library.py").write_text("import os\nclass Handle:\n    def __del__(self, leave=os._exit):\n        leave(66)\n")
    program = tmp_path / "program.py"
    program.write_text("import library\nhandle = library.Handle()\n" + end + "\n")
    ran = subprocess.run([sys.executable, "-m", "ptxgen.triton", str(program)], capture_output=True,
                         text=True)
    assert ran.returncode == code, ran.stderr
