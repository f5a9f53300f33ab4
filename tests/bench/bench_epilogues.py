#!/usr/bin/env python3
"""Epilogues of matmul_accumulate on a GPU (bf16), against the bare kernel, and against cuBLASLt
followed by the best separate kernel, in one run.

    python3 tests/bench/bench_epilogues.py LIBPTXGEN.so [--seconds N] [--csv FILE]

First table: microseconds of each epilogue beside the bare kernel of the same shape and result type.
Second: one kernel of ours against PyTorch's matrix product (cuBLASLt) and then the faster of an
eager and a compiled (fused) pointwise kernel, both written into given memory. Sides take turns;
medians of CUDA event pairs on random data. Results are compared on a sample of rows with a product
in double. Needs PyTorch; the library does not."""
import argparse
import csv
import ctypes
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F

SHAPES = [(8192, 8192, 1024), (4096, 14336, 4096)]
STARTED = time.monotonic()


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("line", ctypes.c_int), ("driver_error", ctypes.c_int),
                ("file", ctypes.c_char * 128), ("message", ctypes.c_char * 768)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides",
                    ctypes.POINTER(ctypes.c_int64))]


class OperandInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("rest", ctypes.c_char * 1024)]


DTYPES = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}
if hasattr(torch, "float8_e4m3fn"):
    DTYPES[torch.float8_e4m3fn] = None  # its number is asked for below


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.ctx = ctypes.c_void_p()
        self.error = Error()
        self.check(self.lib.ptxgen_create(None, ctypes.byref(self.ctx), ctypes.byref(self.error)))
        self.lib.ptxgen_dtype_name.restype = ctypes.c_char_p
        self.lib.ptxgen_family_name.restype = ctypes.c_char_p
        names = {self.lib.ptxgen_dtype_name(i): i for i in range(1, 20)}
        if torch.float8_e4m3fn in DTYPES:
            DTYPES[torch.float8_e4m3fn] = names[b"e4m3"]
        family = next(
            i for i in range(20) if self.lib.ptxgen_family_name(i) == b"matmul_accumulate"
        )
        self.places = {}
        info = OperandInfo(size=ctypes.sizeof(OperandInfo))
        while self.lib.ptxgen_family_operand(family, ctypes.c_size_t(len(self.places)),
                                             ctypes.byref(info)):
            self.places[info.name.decode()] = len(self.places)

    def check(self, status, error=None):
        if status:
            sys.exit("ptxgen: " + (error or self.error).message.decode())

    def tensors(self, operands):
        out = (Tensor * len(self.places))()
        for name, t in operands.items():
            shape = (ctypes.c_int64 * max(t.dim(), 1))(*t.shape)
            strides = (ctypes.c_int64 * max(t.dim(), 1))(*t.stride())
            out[self.places[name]] = Tensor(t.data_ptr(), DTYPES[t.dtype], t.dim(), shape, strides)
        return out

    def kernel(self, params, tensors):
        text, kernel, error = ctypes.create_string_buffer(2048), ctypes.c_void_p(), Error()
        self.check(
            self.lib.ptxgen_call_params(
                self.ctx,
                b"matmul_accumulate",
                params.encode(),
                tensors,
                ctypes.c_size_t(len(tensors)),
                text,
                ctypes.c_size_t(2048),
                ctypes.byref(error),
            ),
            error,
        )
        self.check(
            self.lib.ptxgen_get(
                self.ctx,
                b"matmul_accumulate",
                text,
                None,
                ctypes.byref(kernel),
                ctypes.byref(error),
            ),
            error,
        )
        return kernel, text.value.decode()

    def run(self, kernel, tensors, stream):
        self.check(self.lib.ptxgen_call_kernel(kernel, tensors, ctypes.c_size_t(len(tensors)),
                                               ctypes.c_void_p(stream), ctypes.byref(self.error)))


class Data:
    """Operands of one shape: A [m, k], W [n, k] as a linear layer keeps it."""

    def __init__(self, m, n, k):
        def random(*shape, dtype=torch.bfloat16):
            return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)
        self.shape = m, n, k
        self.a, self.w = random(m, k), random(n, k) / k ** 0.5
        self.b = self.w.t()
        self.residual, self.bias = random(m, n), random(n, dtype=torch.float32)
        self.row, self.col = random(m, dtype=torch.float32), random(n, dtype=torch.float32)
        self.d, self.half = random(m, n), random(m, n // 2)
        self.f32, self.byte = random(m, n, dtype=torch.float32), random(m,
            n).to(torch.float8_e4m3fn)
        self.amax = torch.zeros((), device="cuda")
        self.product, self.out, self.out_half = random(m, n), random(m, n), random(m, n // 2)

    def variants(self):
        """name: parameters, operands beside a and b, the bare kernel to compare with."""
        d = {"d": self.d}
        out = {"bare": ("", d, None), "bare f32": ("", {"d": self.f32}, None),
               "bias": ("", {**d, "bias": self.bias}, "bare"),
               "residual": ("", {**d, "residual": self.residual}, "bare"),
               "residual as C": ("", {**d, "c": self.residual}, "bare"),
               "row, col scale": ("", {**d, "row_scale": self.row, "col_scale": self.col}, "bare"),
               "silu gate": ("epilogue=silu gate=yes", {"d": self.half}, "bare"),
               "bias, silu": ("epilogue=silu", {**d, "bias": self.bias}, "bare"),
               "silu, amax": ("epilogue=silu", {**d, "amax": self.amax}, "bare"),
               "silu, f32": ("epilogue=silu", {"d": self.f32}, "bare f32"),
               "silu, e4m3": ("epilogue=silu", {"d": self.byte}, "bare")}
        for name in ("relu", "squared_relu", "gelu_tanh", "gelu_erf", "silu", "sigmoid", "tanh"):
            out[name] = (f"epilogue={name}", d, "bare")
        return out


def interleaved(calls, budget_ms):
    """Median milliseconds of each call; they take turns."""
    for call in calls.values():
        call()
    torch.cuda.synchronize()
    start = time.monotonic()
    for call in calls.values():
        call()
    torch.cuda.synchronize()
    rounds = max(9, min(80, int(budget_ms / max(1e-3, (time.monotonic() - start) * 1e3))))
    times = {name: [] for name in calls}
    for _ in range(rounds):
        torch.cuda._sleep(1_000_000)
        events = {}
        order = list(calls.items())
        random.shuffle(order)
        order[0][1]()  # the first after a pause is not timed
        for name, call in order:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            call()
            end.record()
            events[name] = begin, end
        torch.cuda.synchronize()
        for name, (begin, end) in events.items():
            times[name].append(begin.elapsed_time(end))
    return {name: sorted(t)[len(t) // 2] for name, t in times.items()}


def eager_silu(data):
    F.silu(data.product, inplace=True)


def eager_residual(data):
    data.product.add_(data.residual)


def eager_gate(data):
    half = data.product.shape[1] // 2
    torch.mul(F.silu(data.product[:, :half]), data.product[:, half:], out=data.out_half)


def fused_kernels():
    """The same, each one generated kernel that writes into given memory."""
    def silu_to(x, out):
        out.copy_(F.silu(x))

    def residual_to(x, residual, out):
        out.copy_(x + residual)

    def gate_to(x, out):
        half = x.shape[1] // 2
        out.copy_(F.silu(x[:, :half]) * x[:, half:])

    return [torch.compile(f, dynamic=True) for f in (silu_to, residual_to, gate_to)]


def reference(data, name, rows):
    """In double, of some rows."""
    z = data.a[rows].double() @ data.b.double()
    silu64 = lambda x: x * torch.sigmoid(x)
    if name == "silu gate":
        return silu64(z[:, 0::2]) * z[:, 1::2]
    if name == "residual":
        return z + data.residual[rows].double()
    if name == "silu":
        return silu64(z)
    return None


def right(data, name, operands):
    rows = torch.linspace(0, data.shape[0] - 1, 30, device="cuda").long()
    want = reference(data, name, rows)
    if want is None:
        return True
    got = operands["d"][rows].double()
    return bool(((got - want).abs() <= 2e-2 + 1e-2 * want.abs()).all())


def prepare(lib, data):
    """All kernels of a shape, assembled side by side."""
    ready = {}
    def one(item):
        name, (params, operands, bare) = item
        tensors = lib.tensors({"a": data.a, "b": data.b, **operands})
        return name, (*lib.kernel(params, tensors), tensors, operands, bare)
    with ThreadPoolExecutor(16) as pool:
        for name, entry in pool.map(one, data.variants().items()):
            ready[name] = entry
    return ready


def first_table(lib, data, stream, options, writer):
    ready = prepare(lib, data)
    calls = {name: (lambda e=entry: lib.run(e[0], e[2], stream)) for name, entry in ready.items()}
    times = interleaved(calls, options.budget)
    m, n, k = data.shape
    for name, entry in ready.items():
        bare = times[entry[4]] if entry[4] else times[name]
        calls[name]()
        ok = right(data, name, entry[3])
        print(f"{m:>6} {n:>6} {k:>6}  {name:<16} {times[name] * 1e3:9.1f} us {times[name] / bare:7.3f} of bare"
              f"{'' if ok else '  WRONG'}  {entry[1][:200] if name in ('bare', 'silu') else ''}",
              flush=True)
        if writer:
            writer.writerow(["cost", m, n, k, name, times[name] * 1e3, times[name] / bare, ok])
    return ready


def second_table(lib, data, ready, fused, stream, options, writer):
    m, n, k = data.shape
    mm = lambda: torch.mm(data.a, data.b, out=data.product)
    run = lambda name: lib.run(ready[name][0], ready[name][2], stream)
    def after(kernel):
        mm()
        kernel()
    for name, eager, compiled in (
            ("silu", lambda: eager_silu(data), lambda: fused[0](data.product, data.out)),
            ("residual", lambda: eager_residual(data),
             lambda: fused[1](data.product, data.residual, data.out)),
            ("silu gate", lambda: eager_gate(data), lambda: fused[2](data.product, data.out_half))):
        calls = {"ours": lambda: run(name), "mm": mm, "eager": lambda: after(eager),
                 "fused": lambda: after(compiled)}
        if name == "residual":
            calls["addmm"] = lambda: torch.addmm(data.residual, data.a, data.b, out=data.out)
        t = interleaved(calls, options.budget)
        best = min(t["eager"], t["fused"])
        print(f"{m:>6} {n:>6} {k:>6}  {name:<10} ours {t['ours'] * 1e3:8.1f} us, mm {t['mm'] * 1e3:8.1f}, mm and eager "
              f"{t['eager'] * 1e3:8.1f}, mm and fused {t['fused'] * 1e3:8.1f}"
              f"{', addmm %8.1f' % (t['addmm'] * 1e3) if 'addmm' in t else ''}: {best / t['ours']:.2f}x", flush=True)
        if writer:
            writer.writerow(["against", m, n, k, name] + [t.get(c, 0) * 1e3 for c in
                                                        ("ours", "mm", "eager", "fused", "addmm")])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--seconds", type=float, default=1000, help="begin nothing new after that")
    parser.add_argument("--budget", type=float, default=900, help="milliseconds of a comparison")
    parser.add_argument("--csv")
    parser.add_argument("--cost", action="store_true", help="the first table alone")
    options = parser.parse_args()
    lib = Library(options.library)
    stream = torch.cuda.current_stream().cuda_stream
    writer = csv.writer(open(options.csv, "w", newline="", buffering=1)) if options.csv else None
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; {time.monotonic() - STARTED:.1f} s", flush=True)
    shapes, ready = {s: Data(*s) for s in SHAPES}, {}
    for shape, data in shapes.items():
        ready[shape] = first_table(lib, data, stream, options, writer)
    print(f"{time.monotonic() - STARTED:.1f} s", flush=True)
    if options.cost:
        return
    fused = fused_kernels()
    for shape, data in shapes.items():
        if time.monotonic() - STARTED < options.seconds:
            second_table(lib, data, ready[shape], fused, stream, options, writer)
    print(f"{time.monotonic() - STARTED:.1f} s", flush=True)


if __name__ == "__main__":
    main()
