#!/usr/bin/env python3
"""scatter_add on a GPU, against PyTorch, in one run.

    python3 tests/bench/bench_scatter_add.py LIBPTXGEN.so [--sweep] [--csv FILE] [--rows 3,7]

Prints one line per problem: milliseconds of PyTorch's index_add_ and scatter_add_ and of each schedule, and
the memory floor (src and touched rows of out moved once at the copy bandwidth measured in this run). Times
are medians of CUDA event pairs that wait behind a sleeping kernel, so that the host's speed does not count.
--sweep tries tile settings of schedule=bulk and schedule=vector and writes every time to the CSV file.
Needs PyTorch; the library itself does not."""
import argparse
import concurrent.futures
import csv
import ctypes
import itertools
import sys

import torch

DTYPES = {"f32": (1, torch.float32, 4), "f16": (2, torch.float16, 2), "bf16": (3, torch.bfloat16, 2)}

# (index, rows of src, rows of out, n, dtype)
PROBLEMS = [
    (kind, m, k, n, dtype)
    for kind, m, k, n in [
        ("uniform", 1 << 20, 1 << 18, 128),
        ("uniform", 1 << 20, 1 << 18, 512),
        ("permutation", 1 << 20, 1 << 20, 256),
        ("half on row 0", 1 << 20, 1 << 18, 128),
        ("uniform", 1 << 20, 100, 256),
        ("uniform", 1 << 22, 1 << 20, 32),
        ("uniform", 1 << 22, 1 << 20, 8),
        ("uniform", 1 << 16, 1 << 14, 4096),
        ("uniform", 100, 200, 640000),
        ("uniform", 4096, 4096, 1024),
    ]
    for dtype in ("f32", "bf16")
]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("line", ctypes.c_int), ("driver_error", ctypes.c_int),
                ("file", ctypes.c_char * 128), ("message", ctypes.c_char * 768)]


class Args(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("index_type", ctypes.c_int),
                ("rows", ctypes.c_int64), ("out_rows", ctypes.c_int64), ("n", ctypes.c_int64),
                ("out", ctypes.c_void_p), ("src", ctypes.c_void_p), ("index", ctypes.c_void_p),
                ("out_stride", ctypes.c_int64), ("src_stride", ctypes.c_int64),
                ("out_inner", ctypes.c_int64), ("src_inner", ctypes.c_int64), ("index_stride", ctypes.c_int64),
                ("schedule", ctypes.c_int), ("oob", ctypes.c_int), ("dynamic_n", ctypes.c_bool)]


class Library:
    """The few calls of libptxgen that a benchmark needs."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.ptxgen_kernel_unref.argtypes = [ctypes.c_void_p]
        self.ctx = ctypes.c_void_p()
        self.error = Error()
        self.check(self.lib.ptxgen_create(None, ctypes.byref(self.ctx), ctypes.byref(self.error)))

    def check(self, status, error=None):
        if status:
            sys.exit("ptxgen: " + (error or self.error).message.decode())

    def kernel(self, params):
        """Compiled, not loaded; None when the combination is refused. Any thread."""
        k, error = ctypes.c_void_p(), Error()
        status = self.lib.ptxgen_compile(self.ctx, b"scatter_add", params.encode(), ctypes.byref(k),
                                         ctypes.byref(error))
        return k if status == 0 else None

    def launch(self, kernel, args, stream):
        self.check(self.lib.ptxgen_scatter_add_launch(kernel, ctypes.byref(args), ctypes.c_void_p(stream),
                                                      ctypes.byref(self.error)))

    def scatter_add(self, args, stream):
        self.check(self.lib.ptxgen_scatter_add(self.ctx, ctypes.byref(args), ctypes.c_void_p(stream),
                                               ctypes.byref(self.error)))


def milliseconds(call, budget_ms=60.0, most=40):
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


def make_index(kind, m, k):
    g = torch.Generator(device="cuda").manual_seed(1)
    if kind == "permutation":
        return torch.randperm(k, device="cuda", generator=g)[:m].contiguous()
    index = torch.randint(0, k, (m,), device="cuda", generator=g)
    if kind == "half on row 0":
        index[torch.rand(m, device="cuda", generator=g) < 0.5] = 0
    return index


class Problem:
    def __init__(self, kind, m, k, n, dtype):
        self.kind, self.m, self.k, self.n, self.dtype = kind, m, k, n, dtype
        number, torch_dtype, self.bytes = DTYPES[dtype]
        self.index = make_index(kind, m, k)
        self.src = torch.randn(m, n, device="cuda").to(torch_dtype)
        self.out = torch.zeros(k, n, device="cuda", dtype=torch_dtype)
        self.args = Args(size=ctypes.sizeof(Args), dtype=number, rows=m, out_rows=k, n=n,
                         out=self.out.data_ptr(), src=self.src.data_ptr(), index=self.index.data_ptr())

    def floor_ms(self, bandwidth):
        touched = self.index.unique().numel()
        return (self.m + 2 * touched) * self.n * self.bytes / bandwidth * 1e3

    def text(self):
        return f"{self.kind:13} {self.m:8} {self.k:8} {self.n:7} {self.dtype:4}"

    def params(self, **settings):
        words = {"arch": "sm_90", "dtype": self.dtype, "n": self.n, **settings}
        return " ".join(f"{k}={v}" for k, v in words.items())

    def agrees(self, lib, stream, schedule):
        """One call against PyTorch in double, on fresh data."""
        sample = min(self.n, 256)
        self.out.zero_()
        self.args.schedule = schedule
        lib.scatter_add(self.args, stream)
        torch.cuda.synchronize()
        want = torch.zeros(self.k, sample, device="cuda", dtype=torch.float64)
        size = torch.zeros_like(want)
        part = self.src[:, :sample].double()
        want.index_add_(0, self.index, part)
        size.index_add_(0, self.index, part.abs())
        epsilon = {"f32": 2.0**-22, "f16": 2.0**-10, "bf16": 2.0**-7}[self.dtype]
        most = self.index.bincount().max().item()
        bound = size * epsilon * max(2.0, most**0.5) + 1e-30
        return bool(((self.out[:, :sample].double() - want).abs() <= bound).all())


def copy_bandwidth():
    a = torch.randn(1 << 29, device="cuda")
    b = torch.empty_like(a)
    return 2 * a.numel() * 4 / milliseconds(lambda: b.copy_(a)) * 1e3


def sweep_settings(p):
    for tile, stages, warps, ctas in itertools.product((1024, 2048, 4096, 8192), (2, 4, 8), (1, 4), (4, 8, 16)):
        shared = warps * stages * tile
        if shared <= 47 << 10 and 32 << 10 <= shared * ctas <= 220 << 10 and warps * ctas <= 64:
            yield dict(schedule="bulk", tile=tile, stages=stages, warps=warps, ctas=ctas)
    row = p.n * p.bytes
    panels = [w for w in (32, 64, 128, 256, 1024, 4096, 65536) if w < row] + [row]
    for panel, pieces, (warps, ctas) in itertools.product(panels, (2, 4, 8), ((8, 8), (8, 4))):
        yield dict(schedule="vector", panel=panel, pieces=pieces, warps=warps, ctas=ctas)


def sweep(lib, p, stream, writer):
    settings = list(sweep_settings(p))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        kernels = list(pool.map(lambda s: lib.kernel(p.params(**s)), settings))
    results = []
    for s, k in zip(settings, kernels):
        if k is None:
            continue
        ms = milliseconds(lambda: lib.launch(k, p.args, stream), budget_ms=3.0, most=9)
        results.append((ms, s))
        lib.lib.ptxgen_kernel_unref(k)
        if writer:
            writer.writerow([p.kind, p.m, p.k, p.n, p.dtype, f"{ms:.5f}", s])
    results.sort(key=lambda r: r[0])
    for ms, s in results[:4] + [r for r in results if r[1]["schedule"] == "vector"][:1]:
        print(f"    {ms:8.4f}  {s}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--csv")
    parser.add_argument("--rows", help="comma-separated problem numbers")
    options = parser.parse_args()
    lib = Library(options.library)
    stream = torch.cuda.current_stream().cuda_stream
    writer = None
    if options.csv:
        writer = csv.writer(open(options.csv, "w", newline=""))
    bandwidth = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, copy {bandwidth / 1e12:.2f} TB/s; ms")
    names = ["index_add", "scatter_add", "seed", "bulk", "vector", "auto", "dynamic", "unchecked", "floor"]
    print(f"{'index':13} {'rows':>8} {'out':>8} {'n':>7} type " + " ".join(f"{n:>11}" for n in names) +
          "  auto/seed auto/torch")
    chosen = range(len(PROBLEMS)) if not options.rows else [int(r) for r in options.rows.split(",")]
    for i in chosen:
        p = Problem(*PROBLEMS[i])
        good = all(p.agrees(lib, stream, s) for s in range(4))
        expanded = p.index.unsqueeze(-1).expand(-1, p.n)
        times = [milliseconds(lambda: p.out.index_add_(0, p.index, p.src)),
                 milliseconds(lambda: p.out.scatter_add_(0, expanded, p.src))]
        for schedule, dynamic, oob in ((1, 0, 0), (2, 0, 0), (3, 0, 0), (0, 0, 0), (0, 1, 0), (0, 0, 2)):
            p.args.schedule, p.args.dynamic_n, p.args.oob = schedule, bool(dynamic), oob
            times.append(milliseconds(lambda: lib.scatter_add(p.args, stream)))
        p.args.schedule = p.args.oob = 0
        p.args.dynamic_n = False
        times.append(p.floor_ms(bandwidth))
        print(f"{p.text()} " + " ".join(f"{t:11.4f}" for t in times) +
              f"  {times[5] / times[2]:9.3f} {times[5] / min(times[0], times[1]):10.3f}" +
              ("" if good else "  WRONG"), flush=True)
        if options.sweep:
            sweep(lib, p, stream, writer)
        elif writer:
            writer.writerow([p.kind, p.m, p.k, p.n, p.dtype] + [f"{t:.5f}" for t in times])
        del p, expanded
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
