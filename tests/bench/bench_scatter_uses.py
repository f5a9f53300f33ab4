#!/usr/bin/env python3
"""What scatter_add is used for, beside PyTorch's way, on a GPU and in one run.

    python3 tests/bench/bench_scatter_uses.py LIBPTXGEN.so [--set fused,odd,deterministic]

fused: out[index] += weight * x[src_index] in one call, beside index_select, multiply, index_add_:
MoE combine and message passing over a graph; as it comes and with a prepared index. odd: rows of
any alignment beside rows of as many bytes that are aligned. deterministic: 100 runs, alone and
beside a kernel that takes multiprocessors away; the time beside the fast mode and beside PyTorch's
use_deterministic_algorithms. Results are compared with PyTorch in double; times as in
bench_scatter_add.py."""
import argparse

import torch

from scatter_bench import DTYPES, Library, Problem, copy_bandwidth, machine, milliseconds, zipf


class Fused(Problem):
    """Entries take rows of x by src_index, times a weight each."""

    def __init__(self, lib, kind, entries, k, x_rows, n, dtype):
        super().__init__(lib, "uniform", entries, k, 8, dtype)
        g = torch.Generator(device="cuda").manual_seed(2)
        self.n, self.kind = n, kind
        if kind == "moe":  # every token has as many entries, which lie in the order of the experts
            self.index = (torch.randperm(entries, device="cuda", generator=g) % k).contiguous()
            self.src_index = torch.randperm(entries, device="cuda", generator=g)[:entries] % x_rows
        else:
            self.index = zipf(entries, k, 0.7, g).contiguous()
            self.src_index = torch.randint(0, x_rows, (entries,), device="cuda", generator=g)
        self.x = torch.randn(x_rows, n, device="cuda").to(self.torch_dtype)
        self.weight = torch.rand(entries, device="cuda").to(self.torch_dtype)
        self.out = torch.zeros(k, n, device="cuda", dtype=self.torch_dtype)
        a = self.args
        a.n, a.out, a.src, a.index = (
            n,
            self.out.data_ptr(),
            self.x.data_ptr(),
            self.index.data_ptr(),
        )
        a.src_index, a.src_rows, a.weight = (
            self.src_index.data_ptr(),
            x_rows,
            self.weight.data_ptr(),
        )
        self.src = None

    def two_steps(self):
        self.out.index_add_(0, self.index,
                            self.x.index_select(0, self.src_index) * self.weight.unsqueeze(1))

    def reference(self):
        columns = min(self.n, 32)
        part = self.x[:, :columns].double()[self.src_index] * self.weight.double().unsqueeze(1)
        want = torch.zeros(self.k, columns, device="cuda", dtype=torch.float64)
        size = torch.zeros_like(want)
        want.index_add_(0, self.index, part)
        size.index_add_(0, self.index, part.abs())
        return want, size, self.index.bincount().max().item()


def fused(lib):
    print("fused: entries, rows of out, n, type; ms: one call, prepared, two steps; times as fast")
    for case in (("graph", 1200000, 170000, 170000, 128, "f32"),
                 ("graph", 1200000, 170000, 170000, 128, "bf16"),
                 ("moe", 32768, 4096, 32768, 7168, "f32"), ("moe", 32768, 4096, 32768, 7168,
                     "bf16"),
                 ("moe", 131072, 16384, 131072, 2048, "bf16")):
        p = Fused(lib, *case)
        plan = lib.plan(p.args, p.stream)
        reference = p.reference()
        calls = [p.call(), p.call(plan=plan)]
        good = all(p.agrees(call, reference) for call in calls)
        one, prepared, two = (milliseconds(call) for call in calls + [p.two_steps])
        print(f"{p.kind:6} {p.m:8} {p.k:7} {p.n:6} {p.dtype:5} {one:.4f} {prepared:.4f} {two:.4f}  {two / one:.2f} "
              f"{two / prepared:.2f}{'' if good else '  WRONG'}", flush=True)
        torch.cuda.synchronize()
        lib.lib.ptxgen_scatter_plan_destroy(plan)
        del p
        torch.cuda.empty_cache()


class Odd(Problem):
    """Rows of n elements, `stride` elements apart, `offset` elements from an aligned address."""

    def __init__(self, lib, m, k, n, dtype, stride, offset):
        super().__init__(lib, "uniform", m, k, 8, dtype)
        self.n = n
        store = [
            torch.randn(rows * stride + 64, device="cuda").to(self.torch_dtype) for rows in (m, k)
        ]
        self.src, self.out = (s[offset:offset + rows * stride].view(rows, stride)[:, :n]
                              for s, rows in zip(store, (m, k)))
        self.args.n, self.args.out, self.args.src = n, self.out.data_ptr(), self.src.data_ptr()
        self.args.out_stride = self.args.src_stride = stride


def odd(lib):
    print("odd: type, n, stride, offset; ms, of aligned rows, times as long; the same with deterministic")
    m, k = 1 << 19, 1 << 17
    for dtype, n, stride, offset in (("f32", 256, 517, 1), ("f32", 257, 257, 0), ("f32", 65, 65, 0),
                                     ("f32", 3, 3, 0),
                                     ("f32", 1, 1, 0), ("bf16", 300, 300, 0), ("bf16", 300, 517, 2),
                                     ("bf16", 299, 299, 1), ("bf16", 129, 129, 1), ("bf16", 1025,
                                             1025, 0)):
        size = DTYPES[dtype][2]
        even = (n * size + 15) // 16 * 16 // size
        times, good = [], True
        for shape in ((n, dtype, stride, offset), (even, dtype, even, 0)):
            p = Odd(lib, m, k, *shape)
            reference = p.reference()
            for deterministic in (False, True):
                call = p.call(deterministic=deterministic)
                good = good and p.agrees(call, reference)
                times.append(milliseconds(call))
            del p
            torch.cuda.empty_cache()
        print(f"{dtype:5} {n:5} {stride:5} {offset:2}  {times[0]:.4f} {times[2]:.4f} {times[0] / times[2]:.2f}   "
              f"{times[1]:.4f} {times[3]:.4f} {times[1] / times[3]:.2f}{'' if good else '  WRONG'}",
              flush=True)


def equal_runs(p, call, start, runs, beside):
    """How many different results the runs have."""
    other, results = torch.cuda.Stream(), set()
    work = torch.randn(2048, 2048, device="cuda")
    for i in range(runs):
        p.out.copy_(start)
        torch.cuda.synchronize()
        if beside:
            with torch.cuda.stream(other):
                for _ in range(1 + i % 3):
                    work @ work
        call()
        torch.cuda.synchronize()
        bits = p.out.view(torch.int32 if p.bytes == 4 else torch.int16).long()
        results.add(
            (bits * (torch.arange(bits.numel(), device="cuda").view_as(bits) % 8191 + 1))
            .sum()
            .item()
        )
    return len(results)


def deterministic(lib):
    print("deterministic: results of 100 runs alone, 100 beside another kernel, 100 prepared; ms: exact, fast, "
          "PyTorch's")
    for kind, m, k, n, dtype in (("zipf 1.0", 1 << 20, 1 << 18, 128, "f32"),
                                 ("zipf 1.0", 1 << 20, 1 << 18, 128, "bf16"),
                                 ("half on row 0", 1 << 20, 1 << 18, 128, "f32"), ("moe 8", 32768,
                                         4096, 7168, "bf16")):
        p = Problem(lib, kind, m, k, n, dtype)
        plan = lib.plan(p.args, p.stream)
        start = torch.randn_like(p.out.float()).to(p.torch_dtype)
        call = p.call(deterministic=True)
        counts = [equal_runs(p, call, start, 100, False), equal_runs(p, call, start, 100, True),
                  equal_runs(p, p.call(deterministic=True, plan=plan), start, 100, True)]
        exact, fast = milliseconds(call), milliseconds(p.call())
        torch.use_deterministic_algorithms(True)
        theirs = milliseconds(lambda: p.out.index_add_(0, p.index, p.src))
        torch.use_deterministic_algorithms(False)
        print(f"{p.text()}  {counts}  {exact:.4f} {fast:.4f} {theirs:.3f}  {exact / fast:.2f} of the fast mode, "
              f"{theirs / exact:.0f} times as fast as PyTorch's", flush=True)
        torch.cuda.synchronize()
        lib.lib.ptxgen_scatter_plan_destroy(plan)
        del p
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--set", default="fused,odd,deterministic")
    options = parser.parse_args()
    lib = Library(options.library)
    print(machine(copy_bandwidth()), flush=True)
    for name in options.set.split(","):
        {"fused": fused, "odd": odd, "deterministic": deterministic}[name](lib)


if __name__ == "__main__":
    main()
