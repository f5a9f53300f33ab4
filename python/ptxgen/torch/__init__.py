"""ptxgen's operations as PyTorch's: torch.ops.ptxgen.*, with autograd, torch.compile and CUDA
graphs.

    import ptxgen.torch
    out = torch.ops.ptxgen.scatter_add(out, index, src)      # ptxgen.torch.scatter_add is the same
    with ptxgen.torch.enabled():                             # or ptxgen.torch.enable(), for good
        model(x).sum().backward()                            # index_add_, embedding's backward, ...
        by ptxgen where it is faster

On CUDA kernels run in the current stream of the tensor's device; on the CPU on the emulator. A
graph may be captured once each call of it has run before (its kernels are then loaded). With
torch.use_deterministic_algorithms(True) sums have the same bits in every run. All but scatter_add_
and matmul_scaled have gradients: scatter_add_ is refused where one would be needed. Forward-mode AD
is refused.
"""

import torch
from torch.autograd import forward_ad

from .. import _core
from ._drop_in import Served, disable, enable, enabled, measurements, reset_stats, stats

__all__ = [
    "Served", "disable", "enable", "enabled", "gather_rows", "matmul", "matmul_scaled",
    "measurements", "reset_stats", "scatter_add",
    "scatter_add_", "stats",
]

_library = torch.library.Library("ptxgen", "DEF")
_tags = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)
_OPTIONS = "Tensor? weight=None, Tensor? src_index=None, float alpha=1, bool deterministic=False"

_library.define(f"scatter_add_(Tensor(a!) out, Tensor index, Tensor src, {_OPTIONS}) -> ()",
                tags=_tags)
_library.define(f"scatter_add(Tensor out, Tensor index, Tensor src, {_OPTIONS}) -> Tensor",
                tags=_tags)
_library.define("gather_rows(Tensor src, Tensor index) -> Tensor", tags=_tags)
_library.define("matmul(Tensor a, Tensor b, Tensor? c=None) -> Tensor", tags=_tags)
_library.define(
    "matmul_scaled(Tensor a, Tensor b, Tensor a_scales, Tensor b_scales, *, Tensor? row_scale=None, "
    "Tensor? col_scale=None, Tensor? bias=None, str a_format='mxfp8', str b_format='mxfp8', "
    "ScalarType out_dtype=float) -> Tensor", tags=_tags)

# ---- what runs ----

_new_version = getattr(torch._C, "_increment_version", torch.autograd.graph.increment_version)
_one_device = torch.cuda.device_count() <= 1


def _on_device(function):
    """Calls with the first tensor's device current, as aten does."""
    def call(first, *args, **words):
        if _one_device or not first.is_cuda or first.device.index == torch.cuda.current_device():
            return function(first, *args, **words)
        with torch.cuda.device(first.device):
            return function(first, *args, **words)

    return call


def _refuse_forward_ad(name):
    raise RuntimeError(f"ptxgen::{name} has no forward-mode derivative: call it outside torch.func.jvp and dual levels, or use "
                       "backward()")


def _add_into(out, index, src, weight=None, src_index=None, alpha=1, deterministic=False):
    deterministic = deterministic or torch.are_deterministic_algorithms_enabled()
    if weight is None and src_index is None and alpha == 1 and not deterministic:
        _core.scatter_add_(out, index, src)
    else:
        _core.scatter_add_(out, index, src, alpha=alpha, weight=weight, src_index=src_index,
                           deterministic=deterministic)


def _refuse_gradients(out, src, weight):
    if torch.is_grad_enabled() and (
        out.requires_grad or src.requires_grad or (weight is not None and weight.requires_grad)
    ):
        raise RuntimeError("ptxgen::scatter_add_ has no gradient, and one of out, src and weight requires it: use "
                           "torch.ops.ptxgen.scatter_add, which has gradients, or torch.no_grad()")


def _scatter_add_(out, index, src, weight=None, src_index=None, alpha=1, deterministic=False):
    if forward_ad._current_level >= 0:
        _refuse_forward_ad("scatter_add_")
    _refuse_gradients(out, src, weight)
    _add_into(out, index, src, weight, src_index, alpha, deterministic)
    _new_version((out,))


def _scatter_add(out, index, src, *options, **named):
    if forward_ad._current_level >= 0:
        _refuse_forward_ad("scatter_add")
    result = out.clone(memory_format=torch.contiguous_format)
    _add_into(result, index, src, *options, **named)
    return result


def _gather_rows(src, index):
    if forward_ad._current_level >= 0:
        _refuse_forward_ad("gather_rows")
    return _core.gather_rows(src, index, src.new_empty((index.shape[0], src.shape[1])))


def _matmul(a, b, c=None):
    if forward_ad._current_level >= 0:
        _refuse_forward_ad("matmul")
    if a.dim() != 2 or b.dim() != 2:
        raise ValueError(f"torch.ops.ptxgen.matmul takes two matrices, not {a.dim()} and {b.dim()} "
                         "dimensions; ptxgen.matmul takes batches, without gradients")
    return _core.matmul(a, b, c, out=a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float32))


_DTYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


def _matmul_scaled(a, b, a_scales, b_scales, *, row_scale=None, col_scale=None, bias=None,
                   a_format="mxfp8",
                   b_format="mxfp8", out_dtype=torch.float32):
    if forward_ad._current_level >= 0:
        _refuse_forward_ad("matmul_scaled")
    return _core.matmul_scaled(a, b, a_scales, b_scales, row_scale=row_scale, col_scale=col_scale,
                               bias=bias,
                               a_format=a_format, b_format=b_format, out_dtype=_DTYPES[out_dtype])


for _name, _function in (("scatter_add_", _scatter_add_), ("scatter_add", _scatter_add),
                         ("gather_rows", _gather_rows),
                         ("matmul", _matmul), ("matmul_scaled", _matmul_scaled)):
    for _key in ("CPU", "CUDA"):
        _library.impl(_name,
            _on_device(_function) if _key == "CUDA" and not _one_device else _function, _key)

# ---- shapes only, for tracing ----


@torch.library.register_fake("ptxgen::scatter_add_", lib=_library)
def _(out, index, src, weight=None, src_index=None, alpha=1, deterministic=False):
    _refuse_gradients(out, src, weight)
    return None


@torch.library.register_fake("ptxgen::scatter_add", lib=_library)
def _(out, index, src, weight=None, src_index=None, alpha=1, deterministic=False):
    return torch.empty_like(out, memory_format=torch.contiguous_format)


@torch.library.register_fake("ptxgen::gather_rows", lib=_library)
def _(src, index):
    return src.new_empty((index.shape[0], src.shape[1]))


@torch.library.register_fake("ptxgen::matmul", lib=_library)
def _(a, b, c=None):
    return a.new_empty((a.shape[0], b.shape[1]), dtype=torch.float32)


@torch.library.register_fake("ptxgen::matmul_scaled", lib=_library)
def _(a, b, a_scales, b_scales, *, row_scale=None, col_scale=None, bias=None, a_format="mxfp8",
      b_format="mxfp8",
      out_dtype=torch.float32):
    return a.new_empty((a.shape[0], b.shape[0]), dtype=out_dtype)


# ---- gradients ----


def _save_scatter(ctx, inputs, output):
    _, index, src, weight, src_index, ctx.alpha, ctx.deterministic = inputs
    ctx.src_rows = src.shape[0]
    needs_src = weight is not None and weight.requires_grad
    ctx.save_for_backward(index, weight, src_index, src if needs_src else None)


def _scatter_backward(ctx, grad):
    index, weight, src_index, src = ctx.saved_tensors
    grad_src = grad_weight = None
    if ctx.needs_input_grad[2] or src is not None:
        rows = gather_rows(grad.contiguous(), index)
        if ctx.alpha != 1:
            rows = rows * ctx.alpha
        if src is not None:
            taken = src if src_index is None else gather_rows(src, src_index)
            grad_weight = (rows * taken).sum(1).to(weight.dtype)
        if weight is not None:
            rows = rows * weight.to(rows.dtype)[:, None]
        if src_index is not None:
            rows = scatter_add(rows.new_zeros((ctx.src_rows, rows.shape[1])), src_index, rows,
                               deterministic=ctx.deterministic)
        grad_src = rows
    return grad, None, grad_src, grad_weight, None, None, None


def _save_gather(ctx, inputs, output):
    src, index = inputs
    ctx.rows = src.shape[0]
    ctx.save_for_backward(index)


def _gather_backward(ctx, grad):
    (index,) = ctx.saved_tensors
    return scatter_add(grad.new_zeros((ctx.rows, grad.shape[1])), index, grad.contiguous()), None


def _save_matmul(ctx, inputs, output):
    a, b, c = inputs
    ctx.has_c = c is not None
    ctx.save_for_backward(a, b)


def _matmul_backward(ctx, grad):
    a, b = ctx.saved_tensors
    narrow = grad.to(a.dtype).contiguous()
    grad_a = matmul(narrow, b.t()).to(a.dtype) if ctx.needs_input_grad[0] else None
    grad_b = matmul(a.t(), narrow).to(b.dtype) if ctx.needs_input_grad[1] else None
    return grad_a, grad_b, grad if ctx.has_c else None


torch.library.register_autograd("ptxgen::scatter_add", _scatter_backward,
                                setup_context=_save_scatter, lib=_library)
torch.library.register_autograd("ptxgen::gather_rows", _gather_backward, setup_context=_save_gather,
                                lib=_library)
torch.library.register_autograd("ptxgen::matmul", _matmul_backward, setup_context=_save_matmul,
                                lib=_library)

# ---- by name ----

scatter_add_ = torch.ops.ptxgen.scatter_add_.default
scatter_add = torch.ops.ptxgen.scatter_add.default
gather_rows = torch.ops.ptxgen.gather_rows.default
matmul = torch.ops.ptxgen.matmul.default
matmul_scaled = torch.ops.ptxgen.matmul_scaled.default
