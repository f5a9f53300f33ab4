"""ptxgen's operations inside of jax.jit: scatter_add, gather_rows, matmul.

    out = ptxgen.jax.scatter_add(out, index, src)          # jit, grad and vmap as with any other
    function

Kernels are compiled in the background while XLA compiles a program, loaded before its first run on
a device, and launched in XLA's own stream. An argument that is donated (jax.jit(...,
donate_argnums=0)) is added to in place, without a copy. vmap folds the batch into the rows: one
launch. On the CPU the emulator runs the kernels. A bad index fails the program on the CPU; on CUDA
it is skipped, and ptxgen.check_indices() tells.
"""

import jax
import jax.numpy as jnp

from . import _core

for _name in ("scatter_add", "gather_rows", "matmul"):
    for _platform in ("cpu", "CUDA"):
        _handler = _core.xla_handler(_name, _platform == "CUDA")
        _stages = {stage: _handler for stage in ("instantiate", "initialize", "execute")}
        jax.ffi.register_ffi_target(f"ptxgen_{_name}", _stages, platform=_platform)


def _call(name, result, args, order, **options):
    """The operation's custom call. `order`: its family's operands, among (result, *args); while a
    program is compiled there are no arguments yet, so it says in words what they will be."""
    every = (result, *args)
    operands = ", ".join(" ".join([every[i].dtype.name, *map(str, every[i].shape)]) for i in order)
    return jax.ffi.ffi_call(f"ptxgen_{name}", result, **options)(*args, operands=operands)


# ---- out[index[i], :] += src[i, :] ----


@jax.custom_batching.custom_vmap
def _scatter_add(out, index, src):
    result = jax.ShapeDtypeStruct(out.shape, out.dtype)
    return _call("scatter_add", result, (out, index, src), (0, 3, 2), input_output_aliases={0: 0})


def _spread(batch, batched, args):
    """Every argument with the batch in front."""
    return [a if b else jnp.broadcast_to(a, (batch,) + a.shape) for a, b in zip(args, batched)]


def _fold(index, rows):
    """Indices of a batch of arrays that lie behind each other."""
    return (index + jnp.arange(index.shape[0], dtype=index.dtype)[:, None] * rows).reshape(-1)


@_scatter_add.def_vmap
def _(batch, batched, out, index, src):
    out, index, src = _spread(batch, batched, (out, index, src))
    flat = _scatter_add(out.reshape(-1, out.shape[-1]), _fold(index, out.shape[1]),
                        src.reshape(-1, src.shape[-1]))
    return flat.reshape(out.shape), True


# ---- out[i, :] = src[index[i], :] ----


@jax.custom_batching.custom_vmap
def _gather_rows(src, index):
    result = jax.ShapeDtypeStruct((index.shape[0], src.shape[1]), src.dtype)
    return _call("gather_rows", result, (src, index), (0, 1, 2))


@_gather_rows.def_vmap
def _(batch, batched, src, index):
    src, index = _spread(batch, batched, (src, index))
    flat = _gather_rows(src.reshape(-1, src.shape[-1]), _fold(index, src.shape[1]))
    return flat.reshape(batch, index.shape[1], src.shape[-1]), True


# ---- a @ b + c ----


@jax.custom_batching.custom_vmap
def _matmul(a, b, c):
    result = jax.ShapeDtypeStruct((a.shape[0], b.shape[1]), jnp.dtype("float32"))
    return _call("matmul", result, (a, b, c), (1, 2, 3, 0))


@_matmul.def_vmap
def _(batch, batched, a, b, c):
    if batched[1]:  # a product for each
        return jax.lax.map(lambda abc: _matmul(*abc),
                           tuple(_spread(batch, batched, (a, b, c)))), True
    a, _, c = _spread(batch, batched, (a, b, c))
    flat = _matmul(a.reshape(-1, a.shape[-1]), b, c.reshape(-1, c.shape[-1]))
    return flat.reshape(c.shape), True


# ---- with gradients ----


@jax.custom_vjp
def scatter_add(out, index, src):
    """out with src[i, :] added to row index[i]."""
    return _scatter_add(out, index, src)


scatter_add.defvjp(lambda out, index, src: (_scatter_add(out, index, src), index),
                   lambda index, grad: (grad, None, _gather_rows(grad, index)))


@jax.custom_vjp
def gather_rows(src, index):
    """Rows index[i] of src."""
    return _gather_rows(src, index)


gather_rows.defvjp(
    lambda src, index: (_gather_rows(src, index), (src, index)),
    lambda saved, grad: (_scatter_add(jnp.zeros_like(saved[0]), saved[1], grad), None),
)


@jax.custom_vjp
def matmul(a, b, c):
    """a @ b + c in f32, of f16 or bf16 a and b. vmap is one launch when b is shared, else a loop
    over the batch."""
    return _matmul(a, b, c)


def _matmul_backward(saved, grad):
    a, b = saved
    narrow, nothing = grad.astype(a.dtype), jnp.zeros
    grad_a = matmul(narrow, b.T, nothing(a.shape, jnp.float32)).astype(a.dtype)
    grad_b = matmul(a.T, narrow, nothing(b.shape, jnp.float32)).astype(b.dtype)
    return grad_a, grad_b, grad


matmul.defvjp(lambda a, b, c: (matmul(a, b, c), (a, b)), _matmul_backward)
