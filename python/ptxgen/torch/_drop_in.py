"""aten's own operations by ptxgen's kernels, where they can be and where that was measured to be
faster.

enable() puts a function in front of aten's kernels of one dispatch key (below autograd, so backward
passes are served too). It serves a call or hands it on untouched, and counts both, with the reason.
What is faster is measured, once for each kind of call (operation, element type, row length, and the
powers of two of its sizes), by running both on the caller's own data in a copy; while a graph is
captured nothing is measured and what was not measured goes to aten.
"""

import contextlib
import functools
import warnings

import torch

from .. import _core

# Below so many bytes a call is over before Python has made it: aten keeps it.
_LEAST_BYTES = 1 << 20
_SCATTER_TYPES = frozenset(
    {torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64}
)
_GATHER_TYPES = _SCATTER_TYPES | {torch.int16, torch.int8, torch.uint8}
_HALVES = frozenset({torch.float16, torch.bfloat16})


class Declined(Exception):
    """Why a call goes to aten."""


class Served(dict):
    """{operation: {"served": count, "declined": {reason: count}}}"""

    def __str__(self):
        lines = []
        for name, row in sorted(self.items()):
            lines.append(f"{name}: {row['served']} served")
            lines += [
                f"    {count} to aten: {reason}"
                for reason, count in sorted(row["declined"].items())
            ]
        return "\n".join(lines)


class _State:
    def __init__(self):
        self.library = None
        self.measure = True
        self.least_bytes = _LEAST_BYTES
        self.faster = {}  # kind of call -> whether ours was
        self.times = {}  # kind of call -> (aten's ms, ours)
        self.counts = Served()


_state = _State()


def _count(name, reason=None):
    row = _state.counts.get(name)
    if row is None:
        row = _state.counts.setdefault(name, {"served": 0, "declined": {}})
    if reason is None:
        row["served"] += 1
    else:
        declined = row["declined"]
        declined[reason] = declined.get(reason, 0) + 1


# ---- which is faster ----


def _log2(n):
    return int(n).bit_length()


_BUSY_CYCLES = 400_000
_keep_busy = getattr(torch.cuda, "_sleep", lambda cycles: None)


def _milliseconds(run, repeats=3):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    run()
    times = []
    for _ in range(repeats):
        # until the host has made the call: its time is not what is compared
        _keep_busy(_BUSY_CYCLES)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[repeats // 2]


def _require_faster(kind, aten, ours):
    """Declined unless ours is the faster one of this kind of calls. Both must leave the caller's
    tensors alone."""
    if not _state.measure:
        return
    known = _state.faster.get(kind)
    if known is None:
        if torch.cuda.is_current_stream_capturing():
            raise Declined("not measured before the capture")
        theirs, mine = _milliseconds(aten), _milliseconds(ours)
        _state.times[kind] = (theirs, mine)
        known = _state.faster[kind] = mine < theirs
    if not known:
        raise Declined("aten is faster")


def _require(condition, reason):
    if not condition:
        raise Declined(reason)


# ---- tensors as rows ----


def _rows(t, what):
    """A view [t.shape[0], elements of a row]."""
    if t.dim() == 1:
        return t.unsqueeze(1)
    if t.dim() == 2:
        _require(t.stride(1) == 1 or t.shape[1] == 1, f"rows of {what} are not contiguous")
        return t
    try:
        return t.view(t.shape[0], -1)
    except RuntimeError:
        raise Declined(f"rows of {what} are not contiguous") from None


def _check_index(index):
    _require(index.dim() == 1 and index.dtype in (torch.int64, torch.int32),
             "index is no vector of integers")
    _require(index.is_contiguous() or index.numel() == 1, "index is not contiguous")


def _check_common(out, src, types):
    _require(out.dtype in types, "element type")
    _require(out.dtype == src.dtype, "element types differ")
    _require(out.dim() >= 1 and src.dim() >= 1, "no rows")
    _require(out.layout == torch.strided and src.layout == torch.strided, "layout")
    _require(out.device == src.device, "devices differ")
    _require(not out.is_neg() and not src.is_neg(), "a lazy negation")


def _add_rows(out, index, src, **options):
    """out[index] += src, with the same bits every time where PyTorch is told so."""
    if out.is_cuda:
        options["oob"] = "trap"  # as aten's kernels do
    if torch.are_deterministic_algorithms_enabled():
        options["deterministic"] = True
    _core.scatter_add_(out, index, src, **options)


def _kind(name, out, rows, n):
    return (name, out.dtype, out.device, n, _log2(rows), _log2(out.shape[0]),
            torch.are_deterministic_algorithms_enabled())


def _add(name, aten, self, index, src, alpha=1):
    """self[index] += src, or a new tensor, where the name has no underscore; `aten` does the same
    to its argument."""
    _check_common(self, src, _SCATTER_TYPES)
    _require(alpha == 1 or self.dtype.is_floating_point, "alpha of integers")
    rows = _rows(src, "src")
    _require(rows.shape[1] == _rows(self, "self").shape[1], "rows of different lengths")
    words = {} if alpha == 1 else {"alpha": float(alpha)}

    def ours(out):
        result = out if name.endswith("_") else out.clone(memory_format=torch.contiguous_format)
        _add_rows(_rows(result, "self"), index, rows, **words)
        return result

    if _state.measure:
        kind = _kind(name, self, rows.shape[0], rows.shape[1]) + (alpha != 1,)
        scratch = self
        if (name.endswith("_") and kind not in _state.faster
                and not torch.cuda.is_current_stream_capturing()):
            scratch = self.clone()
        _require_faster(kind, lambda: aten(scratch), lambda: ours(scratch))
    return ours(self)


# ---- the operations ----


def _dimension(dim, tensor):
    _require(tensor.dim() > 0 and dim in (0, -tensor.dim()), "dim is not 0")


def _index_add(name, aten, self, dim, index, source, *, alpha=1):
    _dimension(dim, self)
    _check_index(index)
    _require(source.dim() == self.dim() and source.shape[1:] == self.shape[1:], "shapes differ")
    _require(index.shape[0] == source.shape[0], "shapes differ")
    return _add(name, lambda t: aten(t, 0, index, source, alpha=alpha), self, index, source, alpha)


def _row_index(self, dim, index, src):
    """The one index of each row, when scatter_add's is the same all along it (index.view(-1,
    1).expand_as(src))."""
    _dimension(dim, self)
    _require(self.dim() == index.dim() == src.dim(), "shapes differ")
    _require(index.shape[1:] == src.shape[1:] == self.shape[1:], "index does not cover whole rows")
    _require(index.shape[0] == src.shape[0], "index does not cover whole rows")
    _require(all(index.stride(d) == 0 or index.shape[d] == 1 for d in range(1, index.dim())),
             "index differs along a row")
    first = (slice(None),) + (0,) * (index.dim() - 1)
    column = index[first] if index.numel() else index.new_empty(0)
    _require(column.is_contiguous() or column.numel() <= 1, "index is not contiguous")
    return column


def _scatter_add(name, aten, self, dim, index, src):
    return _add(name, lambda t: aten(t, 0, index, src), self, _row_index(self, dim, index, src),
                src)


def _index_select(name, aten, self, dim, index):
    _dimension(dim, self)
    _check_index(index)
    _check_common(self, self, _GATHER_TYPES)
    rows = _rows(self, "self")
    words = {"oob": "trap"} if self.is_cuda else {}

    def ours():
        result = self.new_empty((index.shape[0],) + tuple(self.shape[1:]))
        _core.gather_rows(rows, index, _rows(result, "result"), **words)
        return result

    if _state.measure:
        _require_faster(
            _kind(name, self, index.shape[0], rows.shape[1]), lambda: aten(self, 0, index), ours
        )
    return ours()


def _embedding_dense_backward(name, aten, grad_output, indices, num_weights, padding_idx,
                              scale_grad_by_freq):
    _require(not scale_grad_by_freq, "scale_grad_by_freq")
    _require(indices.dtype in (torch.int64, torch.int32), "index is no vector of integers")
    _require(grad_output.dtype in _SCATTER_TYPES and grad_output.dtype.is_floating_point,
             "element type")
    index = indices.reshape(-1)
    _require(index.is_contiguous(), "index is not contiguous")
    grad = grad_output.reshape(index.shape[0], -1)
    _rows(grad, "grad")
    words = {"accumulate_f32": True} if grad.dtype in _HALVES else {}
    if padding_idx >= 0:
        words["padding_index"] = padding_idx

    def ours():
        result = grad.new_zeros((num_weights, grad.shape[1]))
        _add_rows(result, index, grad, **words)
        return result

    if _state.measure:
        kind = (name, grad.dtype, grad.device, grad.shape[1], _log2(index.shape[0]),
                _log2(num_weights), padding_idx >= 0, torch.are_deterministic_algorithms_enabled())
        _require_faster(
            kind,
            lambda: aten(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq),
            ours,
        )
    return ours()


def _multiply(name, aten, a, b, out_dtype, c=None, **factors):
    _require(out_dtype == torch.float32, "the result is not f32")
    _require(a.dtype in _HALVES and a.dtype == b.dtype, "element type")
    _require(a.dim() == 2 and b.dim() == 2 and a.shape[1] == b.shape[0], "shapes differ")
    _require(
        c is None
        or (c.dtype == torch.float32 and c.shape == (a.shape[0], b.shape[1]) and c.is_contiguous()),
        "c is not f32 of the result's shape",
    )

    def ours():
        return _core.matmul(a, b, c, out=a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float32),
                            **factors)

    if _state.measure:
        kind = (name, a.dtype, a.device, tuple(a.shape), b.shape[1], a.stride(), b.stride(),
                c is None, *factors)
        _require_faster(kind, aten, ours)
    return ours()


def _addmm(name, aten, self, mat1, mat2, out_dtype, *, beta=1, alpha=1):
    factors = {
        word: float(value) for word, value in (("alpha", alpha), ("beta", beta)) if value != 1
    }
    return _multiply(name, lambda: aten(self, mat1, mat2, out_dtype, beta=beta, alpha=alpha), mat1,
                     mat2, out_dtype, self, **factors)


def _mm(name, aten, self, mat2, out_dtype):
    return _multiply(name, lambda: aten(self, mat2, out_dtype), self, mat2, out_dtype)


# What serves an operation, and how many bytes a call moves: what is asked first, since most calls
# of a model are small.
_OPERATIONS = {
    "index_add_": (_index_add, lambda self, dim, index, source: source.nbytes),
    "index_add": (_index_add, lambda self, dim, index, source: source.nbytes),
    "scatter_add_": (_scatter_add, lambda self, dim, index, src: src.nbytes),
    "scatter_add": (_scatter_add, lambda self, dim, index, src: src.nbytes),
    "index_select": (
        _index_select,
        lambda self, dim, index: (
            self.nbytes // (len(self) or 1) * index.numel() if self.dim() else 0
        ),
    ),
    "embedding_dense_backward": (_embedding_dense_backward, lambda grad, *rest: grad.nbytes),
    "addmm.dtype": (_addmm, lambda self, mat1, mat2, *rest: 4 * len(mat1) * mat2.shape[-1]),
    "mm.dtype": (_mm, lambda self, mat2, *rest: 4 * len(self) * mat2.shape[-1]),
}
_SMALL = "too small to gain"

# ---- in front of aten ----


def _wrap(name, function, size_of, original):
    least = _state.least_bytes
    hand_on = original.call_boxed

    def call(keys, *args, **words):
        if size_of(*args) < least:
            _count(name, _SMALL)
            return hand_on(keys, *args, **words)
        try:
            result = function(name, functools.partial(hand_on, keys), *args, **words)
        except Declined as declined:
            _count(name, str(declined))
        except _core.Error as error:  # refused, and nothing was touched
            if error.status not in ("EINVAL", "EUNSUPPORTED", "ECAPTURE", "EMISSING"):
                raise
            _count(name, f"{error.status}: {error}")
        else:
            _count(name)
            return result
        return hand_on(keys, *args, **words)

    return call


def enable(device="cuda", *, measure=True, least_bytes=_LEAST_BYTES):
    """Serves index_add(_), scatter_add(_) of whole rows, index_select, embedding's backward, and
    addmm and mm with out_dtype=torch.float32, of tensors on the device (CUDA's when none is named),
    until disable().

    measure: only where ours was measured to be faster; False: whatever a kernel serves.
    least_bytes: calls that move less stay aten's. With device="cpu" (measure must be False) the
    emulator serves, for tests.
    """
    if device not in ("cuda", "cpu"):
        raise ValueError(f"device={device!r}: it is 'cuda' or 'cpu'")
    if device == "cpu" and measure:
        raise ValueError("measure: the emulator is never faster, so it must be False with device='cpu'")
    if not hasattr(torch.library, "get_kernel"):
        raise _core.Unsupported("enable() needs torch.library.get_kernel, which this PyTorch lacks: use 2.9 or later")
    disable()
    key = device.upper()
    library = torch.library.Library("aten", "IMPL")
    _state.library, _state.measure, _state.least_bytes = library, measure, least_bytes
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="[^$]*[Oo]verrid")  # that is what is meant
        for name, (function, size_of) in _OPERATIONS.items():
            try:
                original = torch.library.get_kernel(f"aten::{name}", key)
            except RuntimeError:  # this PyTorch has it on CUDA only
                continue
            library.impl(name, _wrap(name, function, size_of, original), key, with_keyset=True,
                         allow_override=True)


def disable():
    """aten's own kernels again. What was measured is kept."""
    if _state.library is not None:
        _state.library._destroy()
        _state.library = None


@contextlib.contextmanager
def enabled(device="cuda", **options):
    """enable() for a block of code; all threads are served."""
    enable(device, **options)
    try:
        yield
    finally:
        disable()


def stats():
    """What was served and what went to aten, and why, since the last reset. Threads may lose a
    count to each other."""
    return Served({name: {"served": row["served"], "declined": dict(row["declined"])}
                   for name, row in list(_state.counts.items())})


def measurements():
    """{kind of call: (aten's milliseconds, ours)}"""
    return dict(_state.times)


def reset_stats():
    _state.counts.clear()
