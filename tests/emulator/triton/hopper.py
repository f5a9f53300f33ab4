"""Triton and Gluon kernels for sm_90a."""

import sys

import numpy as np
import triton
import triton.language as tl

from harness import Descriptor, main

rng = np.random.default_rng(3)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


def vector_add():
    n = 2500
    x, y = (rng.standard_normal(n, dtype=np.float32) for _ in range(2))
    values = {"x": x, "y": y, "out": np.zeros(n, np.float32), "n": n, "BLOCK": 1024,
              "constants": ("BLOCK",)}
    return add_kernel, values, (3,), {"num_warps": 4}, {"out": (x + y, 0)}


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + at, e / tl.sum(e, axis=0), mask=at < columns)


def softmax():
    x = rng.standard_normal((5, 700), dtype=np.float32) * 4
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    values = {"x": x, "out": np.zeros_like(x), "columns": 700, "BLOCK": 1024, "constants": ("BLOCK",
              )}
    return (
        softmax_kernel,
        values,
        (5,),
        {"num_warps": 4},
        {"out": (e / e.sum(axis=1, keepdims=True), 1e-6)},
    )


@triton.jit
def norm_kernel(x, weight, out, columns, epsilon: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    v = tl.load(x + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / columns
    d = tl.where(mask, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, axis=0) / columns + epsilon)
    w = tl.load(weight + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row * columns + at, (d * scale * w).to(tl.float16), mask=mask)


def layer_norm():
    x, w = rng.standard_normal((4, 300)).astype(np.float16), rng.standard_normal(300).astype(
        np.float16
    )
    v = x.astype(np.float64)
    d = v - v.mean(axis=1, keepdims=True)
    wanted = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w
    values = {"x": x, "weight": w, "out": np.zeros_like(x), "columns": 300, "epsilon": 1e-5,
              "BLOCK": 512}
    values["constants"] = ("BLOCK",)
    return norm_kernel, values, (4,), {"num_warps": 2}, {"out": (wanted, 1e-3)}


@triton.jit
def histogram_kernel(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + v, 1, mask=at < n)


def histogram():
    x = rng.integers(0, 37, 1900, dtype=np.int32)
    values = {"x": x, "bins": np.zeros(37, np.int32), "n": 1900, "BLOCK": 512,
              "constants": ("BLOCK",)}
    return (
        histogram_kernel,
        values,
        (4,),
        {"num_warps": 4},
        {"bins": (np.bincount(x, minlength=37).astype(np.int32), 0)},
    )


@triton.jit
def order_kernel(x, sums, sorted_, best, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(v, axis=0))
    tl.store(sorted_ + at, tl.sort(v))
    tl.store(best, tl.argmax(v, axis=0))


def scan_and_sort():
    x = rng.integers(-1000, 1000, 256, dtype=np.int32)
    values = {
        "x": x,
        "sums": np.zeros_like(x),
        "sorted_": np.zeros_like(x),
        "best": np.zeros(1, np.int32),
        "BLOCK": 256,
    }
    values["constants"] = ("BLOCK",)
    wanted = {"sums": (np.cumsum(x, dtype=np.int32), 0), "sorted_": (np.sort(x), 0)}
    wanted["best"] = (np.array([np.argmax(x)], np.int32), 0)
    return order_kernel, values, (1,), {"num_warps": 4}, wanted


@triton.jit
def matmul_kernel(a, b, c, a_tiles, b_tiles, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sum = tl.dot(a_tiles.load([pm * BM, k]), b_tiles.load([k, pn * BN]), sum)
    rows, columns = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], sum, mask=mask)


def matmul_descriptors():
    """TMA loads, wgmma from shared memory, three stages."""
    m, n, k = 192, 128, 200
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(
        np.float16
    )
    values = {
        "a": a,
        "b": b,
        "c": np.zeros((m, n), np.float32),
        "M": m,
        "N": n,
        "K": k,
        "BM": 128,
        "BN": 128,
        "BK": 64,
    }
    values |= {
        "a_tiles": Descriptor("a", (128, 64)),
        "b_tiles": Descriptor("b", (64, 128)),
        "constants": ("BM", "BN", "BK"),
    }
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return matmul_kernel, values, (2, 1), {"num_warps": 8, "num_stages": 3}, {"c": (wanted, 1e-3)}


@triton.jit
def made_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The tensor maps are made by the kernel: tensormap.replace, tensormap.cp_fenceproxy."""
    a_tiles = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    c_tiles = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sum = tl.dot(a_tiles.load([0, k]), b_tiles.load([k, 0]), sum)
    c_tiles.store([0, 0], sum.to(tl.float16))


def matmul_made_descriptors():
    m, n, k = 50, 64, 160
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, n)).astype(np.float16)
    values = {"a": a, "b": b, "c": np.zeros((m, n), np.float16), "M": m, "N": n, "K": k}
    values |= {"BM": 64, "BN": 64, "BK": 32, "constants": ("BM", "BN", "BK")}
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return made_kernel, values, (1,), {"num_warps": 4, "num_stages": 2}, {"c": (wanted, 3e-3)}


@triton.jit
def pointer_matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(
            a + rows[:, None] * K + (k + ks)[None, :],
            mask=(rows[:, None] < M) & ((k + ks)[None, :] < K),
            other=0.0,
        )
        y = tl.load(
            b + (k + ks)[:, None] * N + columns[None, :],
            mask=((k + ks)[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        sum = tl.dot(x, y, sum)
    tl.store(
        c + rows[:, None] * N + columns[None, :],
        sum.to(tl.float16),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


def matmul_pointers():
    """cp.async stages, wgmma."""
    m, n, k = 100, 72, 160
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, n)).astype(np.float16)
    values = {
        "a": a,
        "b": b,
        "c": np.zeros((m, n), np.float16),
        "M": m,
        "N": n,
        "K": k,
        "BM": 64,
        "BN": 64,
        "BK": 32,
    }
    values["constants"] = ("BM", "BN", "BK")
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return pointer_matmul_kernel, values, (2, 2), {"num_warps": 4,
                                                   "num_stages": 3}, {"c": (wanted, 3e-3)}


def matmul_tf32():
    m, n, k = 64, 64, 96
    a, b = rng.standard_normal((m, k), dtype=np.float32), rng.standard_normal((k, n),
        dtype=np.float32)
    values = {
        "a": a,
        "b": b,
        "c": np.zeros((m, n), np.float16),
        "M": m,
        "N": n,
        "K": k,
        "BM": 64,
        "BN": 64,
        "BK": 32,
    }
    values["constants"] = ("BM", "BN", "BK")
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return pointer_matmul_kernel, values, (1, 1), {"num_warps": 4,
                                                   "num_stages": 2}, {"c": (wanted, 1e-2)}


@triton.jit
def attention_kernel(q, k, v, out, length, scale, D: tl.constexpr, BM: tl.constexpr,
                     BN: tl.constexpr):
    rows, depth = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + depth[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sum = tl.zeros((BM, D), tl.float32)
    for n in range(0, length, BN):
        columns = n + tl.arange(0, BN)
        key = tl.load(k + columns[None, :] * D + depth[:, None])
        score = tl.dot(query, key) * (scale / 1000.0)
        higher = tl.maximum(top, tl.max(score, axis=1))
        p = tl.exp(score - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(p, axis=1)
        value = tl.load(v + columns[:, None] * D + depth[None, :])
        sum = tl.dot(p.to(tl.float16), value, sum * shrink[:, None])
        top = higher
    tl.store(out + rows[:, None] * D + depth[None, :], sum / total[:, None])


def attention():
    n, d = 128, 64
    q, k, v = (rng.standard_normal((n, d)).astype(np.float16) for _ in range(3))
    s = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    p = np.exp(s - s.max(axis=1, keepdims=True))
    wanted = p / p.sum(axis=1, keepdims=True) @ v.astype(np.float64)
    values = {
        "q": q,
        "k": k,
        "v": v,
        "out": np.zeros((n, d), np.float32),
        "length": n,
        "scale": 125,
        "D": d,
        "BM": 64,
        "BN": 64,
    }
    values["constants"] = ("D", "BM", "BN")
    return attention_kernel, values, (2,), {"num_warps": 4,
                                            "num_stages": 2}, {"out": (wanted, 3e-3)}


CASES = [
    vector_add,
    softmax,
    layer_norm,
    histogram,
    scan_and_sort,
    matmul_descriptors,
    matmul_made_descriptors,
    matmul_pointers,
    matmul_tf32,
    attention,
]

if __name__ == "__main__":
    sys.exit(main(CASES, 90))
