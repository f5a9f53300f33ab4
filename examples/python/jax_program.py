"""A jitted JAX program with ptxgen's kernels inside, and its gradient."""
# Needs: jax
import jax
import jax.numpy as jnp

import ptxgen.jax

index = jnp.array([1, 0, 1])


@jax.jit
def energy(src):
    return (ptxgen.jax.scatter_add(jnp.zeros((2, 4)), index, src) ** 2).sum()


src = jnp.array([[1.0] * 4, [2.0] * 4, [4.0] * 4])
print(energy(src))  # 116.0
print(jax.grad(energy)(src)[:, 0])  # [10.  4. 10.]
