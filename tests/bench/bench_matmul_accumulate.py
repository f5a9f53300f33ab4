#!/usr/bin/env python3
"""D = A @ B + C on a GPU (f16 operands, f32 C and D), against PyTorch (cuBLASLt), in one run.

    python3 tests/bench/bench_matmul_accumulate.py LIBPTXGEN.so [--csv FILE] [--sweep]

Prints one line per problem: TFLOP/s of PyTorch's addmm with an f32 result, of the library's automatic tiling,
and of its best tiling of a small sweep (--sweep: all of them, to the CSV file). Times are medians of CUDA event
pairs on random data; both sides run in turn on the same buffers. Results are compared on a sample of rows with
a product in double. Needs PyTorch 2.8 or later; the library itself does not."""
import argparse
import csv
import ctypes
import itertools
import sys

import torch

SIZES = [(1024, 1024, 2048), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 1024),
         (8192, 8192, 512), (16384, 4096, 4096)]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("line", ctypes.c_int), ("driver_error", ctypes.c_int),
                ("file", ctypes.c_char * 128), ("message", ctypes.c_char * 768)]


class Tiling(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("block_n", "block_k", "stages", "group_m", "swizzle", "ctas")]


class Args(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("b_transposed", ctypes.c_bool),
                ("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("a", ctypes.c_void_p), ("b", ctypes.c_void_p), ("c", ctypes.c_void_p), ("d", ctypes.c_void_p),
                ("a_stride", ctypes.c_int64), ("b_stride", ctypes.c_int64), ("c_stride", ctypes.c_int64),
                ("d_stride", ctypes.c_int64), ("tiling", Tiling)]


F16 = 2


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.ctx = ctypes.c_void_p()
        self.error = Error()
        if self.lib.ptxgen_create(None, ctypes.byref(self.ctx), ctypes.byref(self.error)):
            sys.exit("ptxgen: " + self.error.message.decode())

    def run(self, args, stream):
        return self.lib.ptxgen_matmul_accumulate(self.ctx, ctypes.byref(args), ctypes.c_void_p(stream),
                                                 ctypes.byref(self.error))


def milliseconds(call, budget_ms=80.0, most=30):
    """Median GPU time of one call."""
    def pairs(count):
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
                  for _ in range(count)]
        torch.cuda._sleep(2_000_000)
        for start, stop in events:
            start.record()
            call()
            stop.record()
        torch.cuda.synchronize()
        return sorted(start.elapsed_time(stop) for start, stop in events)

    call()
    once = pairs(1)[0]
    times = pairs(max(3, min(most, int(budget_ms / max(once, 1e-3)))))
    return times[len(times) // 2]


class Problem:
    def __init__(self, m, n, k, transposed):
        self.m, self.n, self.k, self.transposed = m, n, k, transposed
        self.a = torch.randn(m, k, device="cuda", dtype=torch.float16)
        stored = torch.randn(*((n, k) if transposed else (k, n)), device="cuda", dtype=torch.float16)
        self.stored = stored
        self.b = stored.t() if transposed else stored
        self.c = torch.randn(m, n, device="cuda")
        self.d = torch.empty_like(self.c)
        self.args = Args(size=ctypes.sizeof(Args), dtype=F16, b_transposed=transposed, m=m, n=n, k=k,
                         a=self.a.data_ptr(), b=stored.data_ptr(), c=self.c.data_ptr(), d=self.d.data_ptr())

    def tflops(self, ms):
        return 2e-9 * self.m * self.n * self.k / ms

    def torch_call(self):
        return torch.addmm(self.c, self.a, self.b, out_dtype=torch.float32)

    def is_right(self):
        rows = torch.linspace(0, self.m - 1, 40, device="cuda").long()
        want = self.a[rows].double() @ self.b.double() + self.c[rows].double()
        return bool(((self.d[rows].double() - want).abs() <= 5e-3 + 1e-2 * want.abs()).all())


def tilings():
    for block_n, block_k, ctas, group_m in itertools.product((64, 128, 256), (64, 128), (1, 2), (2, 4, 8, 16)):
        yield Tiling(block_n=block_n, block_k=block_k, ctas=ctas, group_m=group_m)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--csv")
    parser.add_argument("--sweep", action="store_true")
    options = parser.parse_args()
    lib = Library(options.library)
    stream = torch.cuda.current_stream().cuda_stream
    writer = csv.writer(open(options.csv, "w", newline="")) if options.csv else None
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; TFLOP/s")
    print(f"{'m':>6} {'n':>6} {'k':>6} B           addmm     auto     best  best/addmm  tiling")
    for (m, n, k), transposed in itertools.product(SIZES, (False, True)):
        p = Problem(m, n, k, transposed)
        reference = p.tflops(milliseconds(p.torch_call))
        results = []
        for tiling in [Tiling()] + list(tilings()):
            p.args.tiling = tiling
            p.d.fill_(float("nan"))
            if lib.run(p.args, stream):
                if not results:
                    sys.exit("ptxgen: " + lib.error.message.decode())
                continue
            torch.cuda.synchronize()
            right = p.is_right()
            speed = p.tflops(milliseconds(lambda: lib.run(p.args, stream), budget_ms=20.0))
            words = " ".join(f"{f}={getattr(tiling, f)}" for f, _ in Tiling._fields_ if getattr(tiling, f))
            results.append((speed if right else -speed, words or "auto"))
            if writer and (options.sweep or not words):
                writer.writerow([m, n, k, transposed, words, f"{speed:.1f}", right, f"{reference:.1f}"])
        best = max(results)
        wrong = sum(r[0] < 0 for r in results)
        print(f"{m:6} {n:6} {k:6} {'transposed' if transposed else 'row-major ':10} {reference:7.1f} "
              f"{results[0][0]:8.1f} {best[0]:8.1f} {best[0] / reference:11.3f}  {best[1]}" +
              (f"  {wrong} WRONG" if wrong else ""), flush=True)


if __name__ == "__main__":
    main()
