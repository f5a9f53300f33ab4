#!/usr/bin/env python3
"""Kernels in Triton and Gluon, compiled for sm_100a: PTX of another compiler for the emulator's
tests. Needs the triton package, no GPU. kernels.py NAME writes the PTX, after a line with the bytes
of shared memory it needs; exit code 77: this release of Triton is too old for the kernel.
"""

import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental import gluon
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    fence_async_shared,
    tcgen05_commit,
    tcgen05_copy,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from older import add_later_names

add_later_names()


@triton.jit
def matmul(a, b, c, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """f16 through pointers: cp.async into shared memory, one accumulator in tensor memory."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * lda + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * ldb + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * ldc + rn[None, :], acc)


@triton.jit
def chain(a, b, w, c, lda, ldb, ldw, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """(A @ B) in f16, @ W: the second multiplication takes its A from tensor memory."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn, rk = tl.arange(0, BN), tl.arange(0, BK)
    x = tl.load(a + rm[:, None] * lda + rk[None, :])
    y = tl.load(b + rk[:, None] * ldb + rn[None, :])
    z = tl.load(w + rn[:, None] * ldw + rn[None, :])
    half = tl.dot(x, y).to(tl.float16)
    tl.store(c + rm[:, None] * ldc + rn[None, :], tl.dot(half, z))


@triton.jit
def scaled(
    a, b, sa, sb, c, K, lda, ldb, ldc, lds,
    KIND: tl.constexpr, PACK: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """Block-scaled, [M, K] and [N, K]: scales go to tensor memory from registers."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk, rs = tl.arange(0, BK // PACK), tl.arange(0, BK // GROUP)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * lda + (k // PACK + rk)[None, :])
        y = tl.load(b + rn[None, :] * ldb + (k // PACK + rk)[:, None])
        u = tl.load(sa + rm[:, None] * lds + (k // GROUP + rs)[None, :])
        v = tl.load(sb + rn[:, None] * lds + (k // GROUP + rs)[None, :])
        acc = tl.dot_scaled(x, u, KIND, y, v, KIND, acc)
    tl.store(c + rm[:, None] * ldc + rn[None, :], acc)


@gluon.jit
def accumulate(
    a_desc, b_desc, c_desc, d, K, ldd, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr
):
    """D = A @ B + C: tensor-map loads, C copied into the accumulator by tcgen05.cp."""
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    a = gl.allocate_shared_memory(gl.float16, [BM, BK], a_desc.layout)
    b = gl.allocate_shared_memory(gl.float16, [BK, BN], b_desc.layout)
    c = gl.allocate_shared_memory(gl.float32, [BM, BN], c_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    mbarrier.init(done, count=1)
    fence_async_shared()  # the copies use them
    accumulator: gl.constexpr = TensorMemoryLayout([BM, BN], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], accumulator)
    mbarrier.expect(ready, c_desc.nbytes_per_cta)
    tma.async_load(c_desc, [row, column], ready, c)
    mbarrier.wait(ready, 0)
    tcgen05_copy(c, acc)
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(ready, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [row, k], ready, a)
        tma.async_load(b_desc, [k, column], ready, b)
        mbarrier.wait(ready, phase ^ 1)
        tcgen05_mma(a, b, acc)
        tcgen05_commit(done)
        mbarrier.wait(done, phase)
        phase ^= 1
    mbarrier.invalidate(ready)
    mbarrier.invalidate(done)
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0])
    x = gl.convert_layout(acc.load(), layout)
    rm = row + gl.arange(0, BM, gl.SliceLayout(1, layout))
    rn = column + gl.arange(0, BN, gl.SliceLayout(0, layout))
    gl.store(d + rm[:, None] * ldd + rn[None, :], x)


@gluon.jit
def pair(a_desc, b_desc, c_desc, d, K, ldd, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    """The same by a pair of CTAs (cta_group::2): each loads half of A's rows and half of B's
    columns."""
    row, column = gl.program_id(0) * BM, gl.program_id(1) * BN
    a = gl.allocate_shared_memory(gl.float16, [BM, BK], a_desc.layout)
    b = gl.allocate_shared_memory(gl.float16, [BK, BN], b_desc.layout)
    c = gl.allocate_shared_memory(gl.float32, [BM, BN], c_desc.layout)
    # Only the first CTA waits for loads, so the second may be a phase ahead: C has a barrier of its
    # own.
    c_ready = mbarrier.allocate_mbarrier(two_ctas=True)
    ready = mbarrier.allocate_mbarrier(two_ctas=True)
    done = mbarrier.allocate_mbarrier()
    mbarrier.init(c_ready, count=1)
    mbarrier.init(ready, count=1)
    mbarrier.init(done, count=1)
    fence_async_shared()  # the copies use them
    accumulator: gl.constexpr = TensorMemoryLayout(
        [BM // 2, BN], col_stride=1, cga_layout=[[1, 0]], two_ctas=True
    )
    acc = allocate_tensor_memory(gl.float32, [BM, BN], accumulator)
    mbarrier.expect(c_ready, c_desc.nbytes_per_cta)
    tma.async_load(c_desc, [row, column], c_ready, c)
    mbarrier.wait(c_ready, 0, deps=[c])
    tcgen05_copy(c, acc)
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(ready, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [row, k], ready, a)
        tma.async_load(b_desc, [k, column], ready, b)
        mbarrier.wait(ready, phase, deps=[a, b])
        tcgen05_mma(a, b, acc, mbarriers=[done])
        mbarrier.wait(done, phase, deps=[a, b])
        phase ^= 1
    mbarrier.invalidate(c_ready)
    mbarrier.invalidate(ready)
    mbarrier.invalidate(done)
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, 4], [1, 0], cga_layout=[[1, 0]])
    x = gl.convert_layout(acc.load(), layout)
    rm = row + gl.arange(0, BM, gl.SliceLayout(1, layout))
    rn = column + gl.arange(0, BN, gl.SliceLayout(0, layout))
    gl.store(d + rm[:, None] * ldd + rn[None, :], x)


def descriptor(name, dtype, shape, cga=None):
    layout = gl.NVMMASharedLayout.get_default_for(shape, dtype, cga_layout=cga)
    return f"tensordesc<{name}{shape},{layout!r}>"


BLOCK = {"BM": 128, "BN": 128}
POINTERS = {"a": "*fp16", "b": "*fp16", "c": "*fp32"}
MAPS = {
    "a_desc": descriptor("fp16", gl.float16, [128, 64]),
    "b_desc": descriptor("fp16", gl.float16, [64, 128]),
    "c_desc": descriptor("fp32", gl.float32, [128, 128]),
}

PAIR_MAPS = {
    "a_desc": descriptor("fp16", gl.float16, [256, 64], [[1, 0]]),
    "b_desc": descriptor("fp16", gl.float16, [64, 128], [[0, 1]]),
    "c_desc": descriptor("fp32", gl.float32, [256, 128], [[1, 0]]),
}


def block_scaled(element, scale, kind, pack, group, depth):
    types = {"a": element, "b": element, "sa": scale, "sb": scale, "c": "*fp32"}
    return (
        ASTSource,
        scaled,
        types,
        {**BLOCK, "BK": depth, "KIND": kind, "PACK": pack, "GROUP": group},
        2,
    )


KERNELS = {
    # source, function, types of the parameters that are no integers, constants, stages
    "matmul": (ASTSource, matmul, POINTERS, {**BLOCK, "BK": 64}, 3),
    "matmul64": (ASTSource, matmul, POINTERS, {"BM": 64, "BN": 128, "BK": 64}, 3),
    "chain": (ASTSource, chain, {**POINTERS, "w": "*fp16"}, {**BLOCK, "BK": 64}, 1),
    "mxfp8": block_scaled("*fp8e4nv", "*u8", "e4m3", 1, 32, 128),
    "mxfp4": block_scaled("*u8", "*u8", "e2m1", 2, 32, 128),
    "nvfp4": block_scaled("*u8", "*fp8e4nv", "e2m1", 2, 16, 128),
    "pair": (
        GluonASTSource,
        pair,
        {**PAIR_MAPS, "d": "*fp32"},
        {"BM": 256, "BN": 128, "BK": 64},
        3,
    ),
    "accumulate": (GluonASTSource, accumulate, {**MAPS, "d": "*fp32"}, {**BLOCK, "BK": 64}, 3),
}


def main():
    source, function, types, constants, stages = KERNELS[sys.argv[1]]
    signature = {
        name: "constexpr" if name in constants else types.get(name, "i32")
        for name in function.arg_names
    }
    aligned = {
        (i,): [["tt.divisibility", 16]]
        for i, kind in enumerate(signature.values())
        if kind == "i32" or kind.startswith("*")
    }
    try:
        kernel = triton.compile(
            source(fn=function, signature=signature, constexprs=constants, attrs=aligned),
            target=GPUTarget("cuda", 100, 32),
            options={
                "num_warps": 4,
                "num_stages": stages,
                "num_ctas": 2 if sys.argv[1] == "pair" else 1,
            },
        )
    except (AttributeError, TypeError, triton.CompilationError) as e:
        if source is GluonASTSource and triton.__version__ < "3.7":  # the interface came later
            print(f"Triton {triton.__version__} does not compile '{sys.argv[1]}': {e}",
                  file=sys.stderr)
            sys.exit(77)
        raise
    print(kernel.metadata.shared)
    print(kernel.asm["ptx"])


if __name__ == "__main__":
    main()
