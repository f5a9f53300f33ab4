"""What the benchmarks of scatter_add share: the library by ctypes, problems by the name of their
index, times."""
import ctypes
import sys

import torch

DTYPES = {"f32": (1, torch.float32, 4), "f16": (2, torch.float16, 2),
          "bf16": (3, torch.bfloat16, 2), "f64": (8, torch.float64, 8)}
SEED, VECTOR, AUTO = 1, 3, 0


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("line", ctypes.c_int), ("driver_error", ctypes.c_int),
                ("file", ctypes.c_char * 128), ("message", ctypes.c_char * 768)]


class Args(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("index_type", ctypes.c_int),
                ("rows", ctypes.c_int64), ("out_rows", ctypes.c_int64), ("n", ctypes.c_int64),
                ("out", ctypes.c_void_p), ("src", ctypes.c_void_p), ("index", ctypes.c_void_p),
                ("out_stride", ctypes.c_int64), ("src_stride", ctypes.c_int64),
                ("out_inner", ctypes.c_int64), ("src_inner", ctypes.c_int64), ("index_stride",
                    ctypes.c_int64),
                ("schedule", ctypes.c_int), ("oob", ctypes.c_int), ("dynamic_n", ctypes.c_bool),
                ("function", ctypes.c_int64),
                ("plan", ctypes.c_void_p), ("workspace", ctypes.c_void_p), ("workspace_bytes",
                    ctypes.c_size_t),
                ("reduce", ctypes.c_int), ("deterministic", ctypes.c_bool), ("accumulate_f32",
                    ctypes.c_bool),
                ("alpha", ctypes.c_double), ("weight", ctypes.c_void_p), ("weight_dtype",
                    ctypes.c_int),
                ("src_index", ctypes.c_void_p), ("src_rows", ctypes.c_int64), ("device_rows",
                    ctypes.c_void_p),
                ("has_padding_index", ctypes.c_bool), ("padding_index", ctypes.c_int64),
                ("record", ctypes.c_void_p), ("counts", ctypes.c_void_p)]


class Library:
    """The few calls of libptxgen that a benchmark needs."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.ptxgen_kernel_unref.argtypes = [ctypes.c_void_p]
        self.lib.ptxgen_scatter_plan_destroy.argtypes = [ctypes.c_void_p]
        self.ctx = ctypes.c_void_p()
        self.error = Error()
        self.check(self.lib.ptxgen_create(None, ctypes.byref(self.ctx), ctypes.byref(self.error)))

    def check(self, status, error=None):
        if status:
            sys.exit("ptxgen: " + (error or self.error).message.decode())

    def get(self, params):
        """A kernel, loaded; None when the combination is refused."""
        k = ctypes.c_void_p()
        status = self.lib.ptxgen_get(self.ctx, b"scatter_add", params.encode(), None,
                                     ctypes.byref(k),
                                     ctypes.byref(self.error))
        return k if status == 0 else None

    def launch(self, kernel, args, stream):
        self.check(
            self.lib.ptxgen_scatter_add_launch(
                kernel, ctypes.byref(args), ctypes.c_void_p(stream), ctypes.byref(self.error)
            )
        )

    def scatter_add(self, args, stream):
        self.check(
            self.lib.ptxgen_scatter_add(
                self.ctx, ctypes.byref(args), ctypes.c_void_p(stream), ctypes.byref(self.error)
            )
        )

    def plan(self, args, stream):
        plan = ctypes.c_void_p()
        self.check(
            self.lib.ptxgen_scatter_plan_create(
                self.ctx,
                ctypes.byref(args),
                ctypes.c_void_p(stream),
                ctypes.byref(plan),
                ctypes.byref(self.error),
            )
        )
        return plan


def milliseconds(call, budget_ms=30.0, most=30):
    """Median GPU time of one call; of one over 50 ms its first."""
    def pairs(count):
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
                  for _ in range(count)]
        torch.cuda._sleep(1_000_000)
        for start, stop in events:
            start.record()
            call()
            stop.record()
        torch.cuda.synchronize()
        return sorted(start.elapsed_time(stop) for start, stop in events)

    once = pairs(1)[0]
    if once > 50:
        return once
    once = pairs(1)[0]
    times = pairs(max(3, min(most, int(budget_ms / max(once, 1e-3)))))
    return times[len(times) // 2]


def zipf(m, k, s, g):
    """Row r (in an order drawn at random) with probability in proportion to (r + 1) ** -s."""
    weight = torch.arange(1, k + 1, device="cuda", dtype=torch.float64) ** -s
    bounds = weight.cumsum(0) / weight.sum()
    rank = torch.searchsorted(bounds,
                              torch.rand(m, device="cuda", dtype=torch.float64, generator=g))
    return torch.randperm(k, device="cuda", generator=g)[rank.clamp_(max=k - 1)]


def make_index(kind, m, k):
    g = torch.Generator(device="cuda").manual_seed(1)
    if kind == "permutation":
        return torch.randperm(k, device="cuda", generator=g)[:m].contiguous()
    if kind.startswith("zipf"):
        return zipf(m, k, float(kind.split()[1]), g).contiguous()
    # each row of out is hit exactly top-k times, in the order of experts
    if kind.startswith("moe"):
        top = int(kind.split()[1])
        return torch.randperm(k * top, device="cuda", generator=g)[:m] % k
    index = torch.randint(0, k, (m,), device="cuda", generator=g)
    if kind == "half on row 0":
        index[torch.rand(m, device="cuda", generator=g) < 0.5] = 0
    if kind == "sorted":
        index = index.sort().values
    if kind == "runs":  # 64 adjacent entries go to one row
        index = index[torch.arange(m, device="cuda") // 64].contiguous()
    if kind == "graph":  # edges by source, degrees of a power law
        index = zipf(m, k, 0.7, g).contiguous()
    return index


class Problem:
    def __init__(self, lib, kind, m, k, n, dtype):
        self.lib, self.kind, self.m, self.k, self.n, self.dtype = lib, kind, m, k, n, dtype
        number, self.torch_dtype, self.bytes = DTYPES[dtype]
        self.index = make_index(kind, m, k)
        self.src = torch.randn(m, n, device="cuda").to(self.torch_dtype)
        self.out = torch.zeros(k, n, device="cuda", dtype=self.torch_dtype)
        self.stream = torch.cuda.current_stream().cuda_stream
        self.args = Args(size=ctypes.sizeof(Args), dtype=number, rows=m, out_rows=k, n=n,
                         out=self.out.data_ptr(), src=self.src.data_ptr(),
                         index=self.index.data_ptr())

    def floor_ms(self, bandwidth):
        touched = self.index.unique().numel()
        return ((self.m + 2 * touched) * self.n * self.bytes + self.m * 8) / bandwidth * 1e3

    def text(self):
        return f"{self.kind:13} {self.m:8} {self.k:8} {self.n:7} {self.dtype:4}"

    def call(self, **settings):
        args = Args.from_buffer_copy(self.args)
        for name, value in settings.items():
            setattr(args, name, value)
        return lambda: self.lib.scatter_add(args, self.stream)

    def reference(self):
        """The first columns in double, and how far an element may be off for each unit of
        roundoff."""
        columns = min(self.n, 64)
        want = torch.zeros(self.k, columns, device="cuda", dtype=torch.float64)
        size = torch.zeros_like(want)
        part = self.src[:, :columns].double()
        want.index_add_(0, self.index, part)
        size.index_add_(0, self.index, part.abs())
        return want, size, self.index.bincount().max().item()

    def agrees(self, call, reference):
        want, size, most = reference
        self.out.zero_()
        call()
        torch.cuda.synchronize()
        epsilon = {"f64": 2.0**-51, "f32": 2.0**-22, "f16": 2.0**-10, "bf16": 2.0**-7}[self.dtype]
        bound = size * epsilon * max(2.0, most**0.5) + 1e-30
        return bool(((self.out[:, :want.shape[1]].double() - want).abs() <= bound).all())

    def torch_calls(self):
        """PyTorch's ways of doing the same."""
        expanded = self.index.unsqueeze(-1).expand(-1, self.n)
        return {"index_add": lambda: self.out.index_add_(0, self.index, self.src),
                "scatter_add": lambda: self.out.scatter_add_(0, expanded, self.src),
                "embedding": lambda: torch.ops.aten.embedding_dense_backward(
                    self.src, self.index, self.k, -1, False)}


def copy_bandwidth():
    a = torch.randn(1 << 28, device="cuda")
    b = torch.empty_like(a)
    return 2 * a.numel() * 4 / milliseconds(lambda: b.copy_(a)) * 1e3


def machine(bandwidth):
    return (f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, copy {bandwidth / 1e12:.2f} TB/s, "
            f"SM clock {torch.cuda.clock_rate()} MHz")
