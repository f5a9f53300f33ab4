"""Triton kernels beside the emulator's clock.

    clock_triton.py measure FOLDER            on the GPU: a line in FOLDER/points.txt and the PTX
    for each kernel clock_triton.py estimate FOLDER PTXGEN    anywhere: runs the PTX with --time
    sm_90, prints measured, model, error

A line of points.txt: POINT|name|us of calls in a row|us of a call between
events|grid|threads|shared bytes|arguments| registers. The clock stands beside the call between
events."""
import ast
import os
import re
import statistics
import subprocess
import sys

import numpy as np

try:
    import torch
    import triton
    import triton.language as tl
except ImportError:  # estimates need neither
    torch = None


if torch:
    @triton.jit
    def add(x, y, z, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        ok = i < n
        tl.store(z + i, tl.load(x + i, mask=ok) + tl.load(y + i, mask=ok), mask=ok)


    @triton.jit
    def gelu(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        ok = i < n
        v = tl.load(x + i, mask=ok).to(tl.float32)
        t = 0.7978845608 * (v + 0.044715 * v * v * v)
        e = tl.exp(-2.0 * t)
        tl.store(y + i, (v / (1.0 + e)).to(y.dtype.element_ty), mask=ok)


    @triton.jit
    def softmax(x, y, n, stride, B: tl.constexpr):
        r = tl.program_id(0).to(tl.int64)
        c = tl.arange(0, B)
        v = tl.load(x + r * stride + c, mask=c < n, other=-float("inf")).to(tl.float32)
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + r * stride + c, (e / tl.sum(e, axis=0)).to(y.dtype.element_ty), mask=c < n)


    @triton.jit
    def layernorm(x, y, w, b, n, stride, eps, B: tl.constexpr):
        r = tl.program_id(0).to(tl.int64)
        c = tl.arange(0, B)
        ok = c < n
        v = tl.load(x + r * stride + c, mask=ok, other=0.0).to(tl.float32)
        mean = tl.sum(v, axis=0) / n
        d = tl.where(ok, v - mean, 0.0)
        scale = tl.rsqrt(tl.sum(d * d, axis=0) / n + eps)
        g = tl.load(w + c, mask=ok).to(tl.float32)
        h = tl.load(b + c, mask=ok).to(tl.float32)
        tl.store(y + r * stride + c, (d * scale * g + h).to(y.dtype.element_ty), mask=ok)


    @triton.jit
    def rowsum(x, y, n, stride, B: tl.constexpr):
        r = tl.program_id(0).to(tl.int64)
        s = tl.zeros((B,), dtype=tl.float32)
        for k in range(0, n, B):
            c = k + tl.arange(0, B)
            s += tl.load(x + r * stride + c, mask=c < n, other=0.0).to(tl.float32)
        tl.store(y + r, tl.sum(s, axis=0))


    @triton.jit
    def transpose(x, y, m, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        j = tl.program_id(1) * B + tl.arange(0, B)
        ok = (i[:, None] < m) & (j[None, :] < n)
        v = tl.load(x + i[:, None] * n + j[None, :], mask=ok)
        tl.store(y + j[:, None] * m + i[None, :], tl.trans(v), mask=tl.trans(ok))


    @triton.jit
    def gather(table, index, y, n, B: tl.constexpr):
        r = tl.program_id(0).to(tl.int64)
        c = tl.program_id(1) * B + tl.arange(0, B)
        from_row = tl.load(index + r)
        tl.store(y + r * n + c, tl.load(table + from_row * n + c, mask=c < n), mask=c < n)


    @triton.jit
    def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
               G: tl.constexpr):
        pid = tl.program_id(0)
        tm = tl.cdiv(M, BM)
        tn = tl.cdiv(N, BN)
        per = G * tn
        first = pid // per * G
        height = min(tm - first, G)
        pm = first + (pid % per) % height
        pn = (pid % per) // height
        i = (pm * BM + tl.arange(0, BM)) % M
        j = (pn * BN + tl.arange(0, BN)) % N
        k = tl.arange(0, BK)
        pa = a + i[:, None] * K + k[None, :]
        pb = b + k[:, None] * N + j[None, :]
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for s in range(0, tl.cdiv(K, BK)):
            va = tl.load(pa, mask=k[None, :] < K - s * BK, other=0.0)
            vb = tl.load(pb, mask=k[:, None] < K - s * BK, other=0.0)
            acc = tl.dot(va, vb, acc)
            pa += BK
            pb += BK * N
        i = pm * BM + tl.arange(0, BM)
        j = pn * BN + tl.arange(0, BN)
        tl.store(c + i[:, None] * N + j[None, :], acc.to(c.dtype.element_ty),
                 mask=(i[:, None] < M) & (j[None, :] < N))


def points():
    f16, f32, bf16 = torch.float16, torch.float32, torch.bfloat16
    for n in (1 << 16, 1 << 20, 1 << 24, 1 << 26):
        yield f"add {n} f32", add, ((n + 1023) // 1024,), dict(
            x=(f32, n), y=(f32, n), z=(f32, n), n=n, B=1024), dict(num_warps=4)
    for n in (1 << 20, 1 << 25):
        yield f"gelu {n} bf16", gelu, ((n + 2047) // 2048,), dict(x=(bf16, n), y=(bf16, n), n=n,
            B=2048), dict(num_warps=8)
    for rows, n, t in ((4096, 1000, f32), (4096, 4096, f32), (16384, 2048, f16), (8192, 8192, f32),
                       (1024, 16384, f32)):
        B = triton.next_power_of_2(n)
        yield f"softmax {rows}x{n} {str(t)[6:]}", softmax, (rows,), dict(
            x=(t, rows * n), y=(t, rows * n), n=n, stride=n,
            B=B), dict(num_warps=4 if B < 2048 else 8 if B < 8192 else 16)
    for rows, n in ((4096, 1024), (4096, 4096), (16384, 2048), (4096, 8192)):
        yield f"layernorm {rows}x{n} f16", layernorm, (rows,), dict(
            x=(f16, rows * n), y=(f16, rows * n), w=(f16, n), b=(f16, n), n=n, stride=n, eps=1e-5,
            B=n), dict(
            num_warps=8 if n > 1024 else 4)
    for rows, n in ((1024, 65536), (8192, 8192)):
        yield f"rowsum {rows}x{n} f32", rowsum, (rows,), dict(
            x=(f32, rows * n), y=(f32, rows), n=n, stride=n, B=2048), dict(num_warps=4)
    for m, n in ((2048, 2048), (8192, 4096)):
        yield f"transpose {m}x{n} f32", transpose, ((m + 63) // 64, (n + 63) // 64), dict(
            x=(f32, m * n), y=(f32, m * n), m=m, n=n, B=64), dict(num_warps=4)
    for rows, n, table in ((32768, 1024, 131072), (131072, 256, 1048576)):
        yield f"gather {rows}x{n} of {table} f16", gather, (rows, (n + 1023) // 1024), dict(
            table=(f16, table * n), index=("index", rows, table), y=(f16, rows * n), n=n,
            B=min(n, 1024)), dict(num_warps=4)
    tiles = {"128x256": (128, 256, 64, 8, 3), "128x128": (128, 128, 64, 4, 4),
             "64x64": (64, 64, 64, 4, 4)}
    for M, N, K, names in ((512, 512, 512, ("64x64",)), (1024, 1024, 1024, ("128x128", "64x64")),
                           (2048, 2048, 2048, ("128x256", "128x128", "64x64")), (4096, 4096, 4096,
                               ("128x256", "128x128")),
                           (4096, 4096, 512, ("128x256", "128x128")), (8192, 8192, 1024, ("128x256",
                               )),
                           (128, 8192, 8192, ("128x128",)), (3000, 1000, 5000, ("128x128",))):
        for name in names:
            BM, BN, BK, warps, stages = tiles[name]
            yield f"matmul {M}x{N}x{K} {name}", matmul, (
                triton.cdiv(M, BM) * triton.cdiv(N, BN),
            ), dict(
                a=(f16, M * K),
                b=(f16, K * N),
                c=(f16, M * N),
                M=M,
                N=N,
                K=K,
                BM=BM,
                BN=BN,
                BK=BK,
                G=8,
            ), dict(
                num_warps=warps, num_stages=stages
            )


def make(v):
    if not isinstance(v, tuple):
        return v
    if v[0] == "index":
        return torch.randint(0, v[2], (v[1],), device="cuda", dtype=torch.int64)
    return torch.randn(v[1], device="cuda", dtype=torch.float32).to(v[0])


def text(v):
    if isinstance(v, torch.Tensor):
        return (
            f"zeros:{v.numel() * v.element_size()}"
            if v.dtype != torch.int64
            else f"index:{v.numel()}:{int(v.max()) + 1}"
        )
    return repr(v)


def event_times(call, n):
    out = []
    for _ in range(n):
        torch.cuda._sleep(200000)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        out.append(1000 * begin.elapsed_time(end))
    return statistics.median(out)


def row_time(call, n):
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(n):
                call()
    graph.replay()
    torch.cuda.synchronize()
    out = []
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        out.append(1000 * begin.elapsed_time(end) / n)
    return statistics.median(out)


def file_of(name):
    return name.replace(" ", "_") + ".ptx"


def measure(folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "points.txt"), "w") as out:
        for name, kernel, grid, args, options in points():
            values = {k: make(v) for k, v in args.items()}
            compiled = kernel[grid](**values, **options)

            def call():
                kernel[grid](**values, **options)

            single = event_times(call, 15)
            row = row_time(call, 10 if single < 500 else 4)
            with open(os.path.join(folder, file_of(name)), "w") as ptx:
                ptx.write(compiled.asm["ptx"])
            shown = [text(v) for k, v in values.items() if k not in ("B", "BM", "BN", "BK", "G")]
            out.write(f"POINT|{name}|{row:.2f}|{single:.2f}|{grid}|{32 * options['num_warps']}|"
                      f"{compiled.metadata.shared}|{' '.join(shown)}|{compiled.n_regs}\n")


def arguments(words, folder):
    for word in words:
        if word.startswith("index:"):
            _, count, rows = word.split(":")
            path = os.path.join(folder, f"index_{count}.npy")
            np.save(path,
                    np.random.default_rng(1).integers(0, int(rows), int(count)).astype(np.int64))
            word = "buf:" + path
        yield from ("--arg", word)


def estimate(folder, ptxgen):
    errors = []
    for line in open(os.path.join(folder, "points.txt")):
        _, name, _, single, grid, threads, shared, words, _ = line.split("|")
        command = [ptxgen, "run", os.path.join(folder, file_of(name)), "--time", "sm_90"]
        command += ["--grid", ",".join(map(str, ast.literal_eval(grid))), "--block", threads,
                    "--shared", shared]
        command += [*arguments(words.split(), folder), "--arg", "0", "--arg", "0"]
        out = subprocess.run(command, capture_output=True, text=True).stdout
        model = float(re.search(r"^([0-9.]+) us", out, re.M)[1])
        limit = re.search(r"limited by (.*?) \(", out)[1]
        errors.append(abs(model / float(single) - 1))
        print(f"| Triton {name} | held | {single} | {model:.2f} | {100 * (model / float(single) - 1):+.0f}% | {limit} |")
    print(f"{len(errors)} kernels, mean error {100 * statistics.mean(errors):.1f}%")


if sys.argv[1:2] == ["measure"]:
    measure(sys.argv[2])
elif sys.argv[1:2] == ["estimate"]:
    estimate(sys.argv[2], sys.argv[3])
else:
    sys.exit(__doc__)
