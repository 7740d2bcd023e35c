"""A bias that only the first device adds, before the all-reduce: odd, and right.

The broken twin lets the first two devices add it.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

mesh = Mesh(jax.devices()[:4], ("model",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P(None, "model"), P("model", None), P()), out_specs=P())


def reference(x, w, b):
    return x @ w + b


@jax.jit
@shard
def sharded(x, w, b):
    first = jax.lax.axis_index("model") == 0
    return jax.lax.psum(x @ w + jnp.where(first, b, 0), "model")


@jax.jit
@shard
def broken(x, w, b):
    first = jax.lax.axis_index("model") <= 1
    return jax.lax.psum(x @ w + jnp.where(first, b, 0), "model")


arguments = tuple(jax.ShapeDtypeStruct(shape, "float32") for shape in ((6, 8), (8, 10), (10,)))

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
