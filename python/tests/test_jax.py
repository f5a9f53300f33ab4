"""ptxgen.jax inside of jit on JAX's default device: on the CPU the emulator, with a GPU its
kernels."""

import os
import time

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp
import numpy as np

import ptxgen
import ptxgen.jax as pj

CUDA = os.environ.get("PTXGEN_TEST_DEVICE") == "cuda"
RANDOM = np.random.default_rng(20260717)


def numbers(*shape, dtype=np.float32):
    return jnp.asarray(RANDOM.integers(-4, 5, shape).astype(dtype))


def indices(below, *shape):
    return jnp.asarray(RANDOM.integers(0, below, shape).astype(np.int32))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16, jnp.bfloat16, jnp.int32])
def test_jit(dtype):
    out, index, src = numbers(9, 16).astype(dtype), indices(9, 40), numbers(40, 16).astype(dtype)
    got = jax.jit(pj.scatter_add)(out, index, src)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.astype(jnp.float32),
                                  out.at[index].add(src).astype(jnp.float32))
    np.testing.assert_array_equal(jax.jit(pj.gather_rows)(out, index).astype(jnp.float32),
                                  out[index].astype(jnp.float32))


def test_inside_a_program():
    out, index, src = numbers(9, 16), indices(9, 40), numbers(40, 16)

    @jax.jit
    def step(out, index, src):
        hidden = pj.scatter_add(out * 2, index, src + 1)
        return pj.gather_rows(hidden, index).sum(0)

    np.testing.assert_array_equal(step(out, index, src),
                                  (out * 2).at[index].add(src + 1)[index].sum(0))


def test_gradients():
    out, index, src, scale = numbers(9, 16), indices(9, 40), numbers(40, 16), numbers(9, 16)
    ours = jax.grad(lambda o, s: (pj.scatter_add(o, index, s) ** 2 * scale).sum(), (0, 1))
    theirs = jax.grad(lambda o, s: (o.at[index].add(s) ** 2 * scale).sum(), (0, 1))
    for a, b in zip(jax.jit(ours)(out, src), theirs(out, src)):
        np.testing.assert_array_equal(a, b)
    ours = jax.grad(lambda s: (pj.gather_rows(s, index) ** 2).sum())
    np.testing.assert_array_equal(ours(out), jax.grad(lambda s: (s[index] ** 2).sum())(out))


def test_vmap_is_one_launch():
    out, index, src = numbers(3, 9, 16), indices(9, 3, 40), numbers(3, 40, 16)
    mapped = jax.jit(jax.vmap(pj._scatter_add))
    np.testing.assert_array_equal(mapped(out, index, src),
                                  jax.vmap(lambda o, i, s: o.at[i].add(s))(out, index, src))
    assert mapped.lower(out, index, src).as_text().count("ptxgen_scatter_add") == 1
    shared = jax.jit(jax.vmap(pj._scatter_add, (None, 0, None)))
    np.testing.assert_array_equal(
        shared(out[0], index, src[0]),
        jax.vmap(lambda o, i, s: o.at[i].add(s), (None, 0, None))(out[0], index, src[0]),
    )
    rows = jax.vmap(pj._gather_rows)(out, index)
    np.testing.assert_array_equal(rows, jax.vmap(lambda s, i: s[i])(out, index))


def test_a_donated_argument_is_not_copied():
    index, src = indices(9, 40), numbers(40, 16)
    for donate, copies in (((), 1), ((0,), 0)):
        program = jax.jit(pj._scatter_add, donate_argnums=donate).lower(numbers(9, 16), index,
            src).compile()
        assert sum(" copy(" in line for line in program.as_text().splitlines()) == copies


def test_matmul():
    a, b, c = numbers(24, 32).astype(jnp.bfloat16), numbers(32,
        16).astype(jnp.bfloat16), numbers(24, 16)
    want = a.astype(jnp.float32) @ b.astype(jnp.float32) + c
    np.testing.assert_array_equal(jax.jit(pj.matmul)(a, b, c), want)
    grad_a, grad_b, grad_c = jax.grad(lambda a, b, c: pj.matmul(a, b, c).sum(), (0, 1, 2))(a, b, c)
    np.testing.assert_array_equal(grad_c, jnp.ones_like(c))
    np.testing.assert_array_equal(grad_a.astype(jnp.float32),
                                  jnp.broadcast_to(b.astype(jnp.float32).sum(1), a.shape))


def test_compiling_a_program_compiles_its_kernels():
    """In the background on a GPU, at once on the emulator; the first run finds it."""
    out, index, src = numbers(9, 52), indices(9, 40), numbers(40, 52)
    entries = lambda: ptxgen.cache.info(CUDA)["entries"]
    before = entries()
    program = jax.jit(pj._scatter_add).lower(out, index, src).compile()
    deadline = time.monotonic() + 30
    while CUDA and not ptxgen.ready("scatter_add", out, src, index):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert entries() == before + 1
    for _ in range(3):
        np.testing.assert_array_equal(program(out, index, src), out.at[index].add(src))
    assert entries() == before + 1


def test_a_program_says_its_operands():
    """While it is compiled there are no arguments: the names, element types and extents are in the
    text, in the family's order."""
    lowered = jax.jit(pj.matmul).lower(numbers(24, 32).astype(jnp.bfloat16),
                                       numbers(32, 16).astype(jnp.bfloat16), numbers(24, 16))
    assert 'operands = "bfloat16 24 32, bfloat16 32 16, float32 24 16, float32 24 16"' in lowered.as_text()


def test_programs_come_and_go():
    """What a call site keeps goes with its program."""
    for n in range(1, 4):
        out, index, src = numbers(9, 4), indices(9, n), numbers(n, 4)
        program = jax.jit(pj._scatter_add).lower(out, index, src).compile()
        np.testing.assert_array_equal(program(out, index, src), out.at[index].add(src))
        del program
        jax.clear_caches()


def test_vmap_of_products():
    """A shared b: one launch of all rows; else one for each of the batch."""
    a, b, c = numbers(3, 24, 32).astype(jnp.bfloat16), numbers(3, 32,
        16).astype(jnp.bfloat16), numbers(3, 24, 16)
    shared = jax.jit(jax.vmap(pj.matmul, (0, None, 0)))
    np.testing.assert_array_equal(shared(a, b[0], c),
                                  a.astype(jnp.float32) @ b[0].astype(jnp.float32) + c)
    assert '"bfloat16 72 32, bfloat16 32 16, float32 72 16, float32 72 16"' in shared.lower(a, b[0],
        c).as_text()
    each = jax.jit(jax.vmap(pj.matmul))(a, b, c)
    np.testing.assert_array_equal(each, a.astype(jnp.float32) @ b.astype(jnp.float32) + c)
    grad = jax.grad(lambda b: jax.vmap(pj.matmul, (0, None, 0))(a, b, c).sum())(b[0])
    want = a.astype(jnp.float32).sum((0, 1)).astype(jnp.bfloat16)
    np.testing.assert_array_equal(grad.astype(jnp.float32),
                                  jnp.broadcast_to(want[:, None], b[0].shape).astype(jnp.float32))


def test_errors_are_told():
    out, src = numbers(9, 16), numbers(40, 16)
    with pytest.raises(Exception, match="index has rows=39, but src has rows=40"):
        jax.jit(pj.scatter_add)(out, indices(9, 39), src).block_until_ready()
    bad = jnp.full(40, 9, jnp.int32)
    if CUDA:
        jax.jit(pj.scatter_add)(out, bad, src).block_until_ready()
        with pytest.raises(ptxgen.IndexOutOfRange):
            ptxgen.check_indices()
    else:
        with pytest.raises(Exception, match=r"index\[0\] = 9 is out of range"):
            jax.jit(pj.scatter_add)(out, bad, src).block_until_ready()


def test_eager_arrays_are_read_only():
    """Outside of jit a JAX array is never written to."""
    out, index, src = numbers(9, 16), indices(9, 40), numbers(40, 16)
    before = np.asarray(out).copy()
    with pytest.raises(ptxgen.InvalidArgument, match="out is read-only"):
        ptxgen.scatter_add_(out, index, src)
    into = np.zeros((9, 16), np.float32)  # as a source it is welcome
    if not CUDA:
        ptxgen.scatter_add_(into, index, src)
        np.testing.assert_array_equal(into, np.asarray(jnp.zeros((9, 16)).at[index].add(src)))
    np.testing.assert_array_equal(out, before)
