"""Triton and Gluon kernels for sm_100a: tensor memory, tcgen05. In checking mode too: Triton leaves
out the tcgen05.fence's that the ISA asks for, which counts as relying on ptxas or the hardware."""

import sys

import numpy as np
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    mbarrier,
    tcgen05_commit,
    tcgen05_copy,
    tcgen05_mma,
    tcgen05_mma_scaled,
    fence_async_shared,
)
from triton.experimental.gluon.language.nvidia.hopper import tma

from harness import Descriptor, main
from older import add_later_names
from hopper import attention, matmul_descriptors, rng, softmax

add_later_names()


@gluon.jit
def copy_kernel(x, out, M: gl.constexpr, N: gl.constexpr, BN: gl.constexpr):
    """Global -> shared -> tensor memory by tcgen05.cp -> registers -> global."""
    wide: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0])
    rows = gl.arange(0, M, gl.SliceLayout(1, wide))
    columns = gl.arange(0, N, gl.SliceLayout(0, wide))
    at = rows[:, None] * N + columns[None, :]
    layout: gl.constexpr = gl.NVMMASharedLayout.get_default_for([M, N], gl.float32)
    shared = gl.allocate_shared_memory(gl.float32, [M, N], layout)
    tensor: gl.constexpr = TensorMemoryLayout(block=(128, BN), col_stride=1)
    memory = allocate_tensor_memory(gl.float32, [M, N], tensor)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    shared.store(gl.load(x + at))
    fence_async_shared()
    tcgen05_copy(shared, memory)
    tcgen05_commit(bar)
    mbarrier.wait(bar, phase=0)
    mbarrier.invalidate(bar)
    values = memory.load(memory.get_reg_layout())
    gl.store(out + at, gl.convert_layout(values, wide))


def tensor_memory_copy():
    m, n = 128, 64
    x = rng.standard_normal((m, n), dtype=np.float32)
    values = {"x": x, "out": np.zeros_like(x), "M": m, "N": n, "BN": 64,
              "constants": ("M", "N", "BN")}
    return copy_kernel, values, (1,), {"num_warps": 4}, {"out": (x, 0)}


@gluon.jit
def mma_kernel(a, b, c, d, a_tiles, b_tiles, K, BM: gl.constexpr, BN: gl.constexpr,
               BK: gl.constexpr):
    """d = a @ b + c for one tile: TMA loads, tcgen05.mma into tensor memory that begins as c."""
    dtype: gl.constexpr = a_tiles.dtype
    x = gl.allocate_shared_memory(dtype, a_tiles.block_type.shape, a_tiles.layout)
    y = gl.allocate_shared_memory(dtype, b_tiles.block_type.shape, b_tiles.layout)
    loaded = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0])
    rows = gl.arange(0, BM, gl.SliceLayout(1, layout))
    columns = gl.arange(0, BN, gl.SliceLayout(0, layout))
    at = rows[:, None] * BN + columns[None, :]
    tensor: gl.constexpr = TensorMemoryLayout(block=(BM, BN), col_stride=1)
    sum = allocate_tensor_memory(gl.float32, [BM, BN], tensor)
    sum.store(gl.convert_layout(gl.load(c + at), sum.get_reg_layout()))
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(loaded, a_tiles.block_type.nbytes + b_tiles.block_type.nbytes)
        tma.async_load(a_tiles, [0, k], loaded, x)
        tma.async_load(b_tiles, [k, 0], loaded, y)
        mbarrier.wait(loaded, phase=phase)
        tcgen05_mma(x, y, sum, use_acc=True)
        tcgen05_commit(done)
        mbarrier.wait(done, phase=phase)
        phase ^= 1
    mbarrier.invalidate(loaded)
    mbarrier.invalidate(done)
    gl.store(d + at, gl.convert_layout(sum.load(sum.get_reg_layout()), layout))


def tensor_memory_matmul():
    m, n, k = 128, 64, 192
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(
        np.float16
    )
    c = rng.standard_normal((m, n), dtype=np.float32)
    layouts = [gl.NVMMASharedLayout.get_default_for(s, gl.float16) for s in ([128, 64], [64, 64])]
    values = {"a": a, "b": b, "c": c, "d": np.zeros((m, n), np.float32), "K": k, "BM": m, "BN": n,
              "BK": 64}
    values |= {
        "a_tiles": Descriptor("a", (128, 64), layouts[0]),
        "b_tiles": Descriptor("b", (64, 64), layouts[1]),
    }
    values["constants"] = ("BM", "BN", "BK")
    wanted = a.astype(np.float64) @ b.astype(np.float64) + c
    return mma_kernel, values, (1,), {"num_warps": 4}, {"d": (wanted, 1e-4)}


@triton.jit
def scaled_kernel(a, b, a_scales, b_scales, c, N, K, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
    """mxfp8: e4m3 values, a power of two for every 32 of them."""
    rows, columns, ks = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    groups = tl.arange(0, BK // 32)
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + k + ks[None, :])
        y = tl.load(b + columns[None, :] * K + k + ks[:, None])
        xs = tl.load(a_scales + rows[:, None] * (K // 32) + k // 32 + groups[None, :])
        ys = tl.load(b_scales + columns[:, None] * (K // 32) + k // 32 + groups[None, :])
        sum = tl.dot_scaled(x, xs, "e4m3", y, ys, "e4m3", sum)
    tl.store(c + rows[:, None] * N + columns[None, :], sum)


def e4m3(codes):
    exponent, mantissa = codes >> 3 & 15, codes & 7
    value = np.where(
        exponent == 0, mantissa / 8 * 2.0**-6,
        (1 + mantissa / 8) * 2.0 ** (exponent.astype(np.float64) - 7)
    )
    return np.where(codes & 128, -value, value)


def block_scaled_matmul():
    m, n, k = 128, 128, 256
    a, b = (rng.integers(0, 256, (r, k), dtype=np.uint8) & 0xBF | 0x20 for r in (m, n))
    a_scales, b_scales = (rng.integers(122, 132, (r, k // 32), dtype=np.uint8) for r in (m, n))
    scale = lambda s: np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, axis=1)
    wanted = (e4m3(a) * scale(a_scales)) @ (e4m3(b) * scale(b_scales)).T
    values = {"a": a, "b": b, "a_scales": a_scales, "b_scales": b_scales,
              "c": np.zeros((m, n), np.float32)}
    values |= {"N": n, "K": k, "BM": m, "BN": n, "BK": 128, "constants": ("BM", "BN", "BK")}
    return scaled_kernel, values, (1,), {"num_warps": 4, "num_stages": 2}, {"c": (wanted, 1e-4)}


@gluon.jit
def scaled_copy_kernel(a, b, a_scales, b_scales, d, BM: gl.constexpr, BN: gl.constexpr,
                       BK: gl.constexpr):
    """One mxfp8 tile whose scales reach tensor memory by tcgen05.cp, in the packed order that it
    wants."""
    wide: gl.constexpr = gl.BlockedLayout([1, 16], [8, 4], [4, 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BM, BK], gl.float8e4nv)
    x = gl.allocate_shared_memory(gl.float8e4nv, [BM, BK], shared)
    y = gl.allocate_shared_memory(gl.float8e4nv, [BN, BK], shared)
    rows, ks = gl.arange(0, BM, gl.SliceLayout(1, wide)), gl.arange(0, BK, gl.SliceLayout(0, wide))
    at = rows[:, None] * BK + ks[None, :]
    x.store(gl.load(a + at).to(gl.float8e4nv, bitcast=True))
    y.store(gl.load(b + at).to(gl.float8e4nv, bitcast=True))
    flat: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=8, rank=5)
    line: gl.constexpr = gl.BlockedLayout([1, 1, 1, 1, 4], [1, 1, 32, 1, 1], [1, 1, 1, 4, 1],
                                          [4, 3, 2, 1, 0])
    s0: gl.constexpr = gl.SliceLayout(0,
                                      gl.SliceLayout(1, gl.SliceLayout(3, gl.SliceLayout(4, line))))
    s1: gl.constexpr = gl.SliceLayout(0,
                                      gl.SliceLayout(1, gl.SliceLayout(2, gl.SliceLayout(4, line))))
    s2: gl.constexpr = gl.SliceLayout(0,
                                      gl.SliceLayout(1, gl.SliceLayout(2, gl.SliceLayout(3, line))))
    i, j, k = gl.arange(0, 32, s0), gl.arange(0, 4, s1), gl.arange(0, 4, s2)
    place = (
        i[None, None, :, None, None] * 16
        + j[None, None, None, :, None] * 4
        + k[None, None, None, None, :]
    )
    xs = gl.allocate_shared_memory(gl.uint8, [1, 1, 32, 4, 4], flat)
    ys = gl.allocate_shared_memory(gl.uint8, [1, 1, 32, 4, 4], flat)
    xs.store(gl.load(a_scales + place))
    ys.store(gl.load(b_scales + place))
    fence_async_shared()
    scales: gl.constexpr = TensorMemoryScalesLayout()
    x_scales = allocate_tensor_memory(gl.uint8, [BM, BK // 32], scales)
    y_scales = allocate_tensor_memory(gl.uint8, [BN, BK // 32], scales)
    sum = allocate_tensor_memory(gl.float32, [BM, BN],
                                 TensorMemoryLayout(block=(BM, BN), col_stride=1))
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    tcgen05_copy(xs.reshape([32, 4, 4]).permute([1, 0, 2]).reshape([BM, BK // 32]), x_scales)
    tcgen05_copy(ys.reshape([32, 4, 4]).permute([1, 0, 2]).reshape([BN, BK // 32]), y_scales)
    tcgen05_mma_scaled(x, y.permute((1, 0)), sum, x_scales, y_scales, "e4m3", "e4m3", use_acc=False)
    tcgen05_commit(bar)
    mbarrier.wait(bar, phase=0)
    mbarrier.invalidate(bar)
    blocked: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0])
    columns = gl.arange(0, BN, gl.SliceLayout(0, blocked))
    out = gl.arange(0, BM, gl.SliceLayout(1, blocked))[:, None] * BN + columns[None, :]
    gl.store(d + out, gl.convert_layout(sum.load(sum.get_reg_layout()), blocked))


def scales_by_copy():
    m = n = k = 128
    a, b = (rng.integers(0, 256, (r, k), dtype=np.uint8) & 0xBF | 0x20 for r in (m, n))
    a_scales, b_scales = (rng.integers(122, 132, (r, k // 32), dtype=np.uint8) for r in (m, n))
    scale = lambda s: np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, axis=1)
    wanted = (e4m3(a) * scale(a_scales)) @ (e4m3(b) * scale(b_scales)).T
    packed = lambda s: np.ascontiguousarray(s.reshape(4, 32, 4).transpose(1, 0, 2))
    values = {"a": a, "b": b, "a_scales": packed(a_scales), "b_scales": packed(b_scales)}
    values |= {"d": np.zeros((m, n), np.float32), "BM": m, "BN": n, "BK": k,
               "constants": ("BM", "BN", "BK")}
    return scaled_copy_kernel, values, (1,), {"num_warps": 4}, {"d": (wanted, 1e-5)}


@triton.jit
def specialized_kernel(a, b, c, a_tiles, b_tiles, N, K, BM: tl.constexpr, BN: tl.constexpr,
                       BK: tl.constexpr):
    """Loads, products and the rest in warps of their own."""
    sum = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        sum = tl.dot(a_tiles.load([0, k]), b_tiles.load([k, 0]), sum)
    rows, columns = tl.arange(0, BM), tl.arange(0, BN)
    tl.store(c + rows[:, None] * N + columns[None, :], sum)


def warp_specialized_matmul():
    m, n, k = 128, 128, 320
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, n)).astype(np.float16)
    values = {"a": a, "b": b, "c": np.zeros((m, n), np.float32), "N": n, "K": k, "BM": m, "BN": n,
              "BK": 64}
    values |= {
        "a_tiles": Descriptor("a", (m, 64)),
        "b_tiles": Descriptor("b", (64, n)),
        "constants": ("BM", "BN", "BK"),
    }
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return specialized_kernel, values, (1,), {"num_warps": 4,
                                              "num_stages": 3}, {"c": (wanted, 1e-3)}


# Triton invalidates mbarriers at the end while the last tcgen05.commit may still be on its way to
# one of them.
warp_specialized_matmul.defects = ("has invalidated the mbarrier",
                                   "mbarrier.inval while an operation")

CASES = [
    softmax,
    tensor_memory_copy,
    tensor_memory_matmul,
    matmul_descriptors,
    block_scaled_matmul,
    scales_by_copy,
    attention,
    warp_specialized_matmul,
]

if __name__ == "__main__":
    sys.exit(main(CASES, 100))
