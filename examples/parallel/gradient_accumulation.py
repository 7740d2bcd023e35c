"""A data-parallel step: gradients are added up over micro-batches, and over devices once; new weights are narrowed.

The broken twin keeps the gradients of the last micro-batch only.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

BATCH, MICRO, WIDTH, HIDDEN = 24, 2, 6, 5
mesh = Mesh(jax.devices()[:4], ("data",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(), check_vma=False)


def squared_error(weights, x, y):
    return jnp.sum((jnp.tanh(x @ weights) - y) ** 2)


def updated(weights, gradients):
    return (weights - 0.1 * gradients).astype(jnp.bfloat16)


def reference(weights, x, y):
    return updated(weights, jax.grad(squared_error)(weights, x, y))


def micro_batches(rows):
    return rows.reshape(-1, MICRO, rows.shape[-1])


@jax.jit
@shard
def sharded(weights, x, y):
    def add(total, batch):
        return total + jax.grad(squared_error)(weights, *batch), None

    total, _ = jax.lax.scan(add, jnp.zeros_like(weights), (micro_batches(x), micro_batches(y)))
    return updated(weights, jax.lax.psum(total, "data"))


@jax.jit
@shard
def broken(weights, x, y):
    def keep(total, batch):
        return jax.grad(squared_error)(weights, *batch), None

    last, _ = jax.lax.scan(keep, jnp.zeros_like(weights), (micro_batches(x), micro_batches(y)))
    return updated(weights, jax.lax.psum(last, "data"))


arguments = tuple(
    jax.ShapeDtypeStruct(shape, "float32") for shape in ((WIDTH, HIDDEN), (BATCH, WIDTH), (BATCH, HIDDEN))
)

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
