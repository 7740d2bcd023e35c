"""A matrix product that gathers its left operand along a ring while it multiplies.

The broken twin writes each block where it would belong if the ring ran the other way.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

DEVICES = 4
mesh = Mesh(jax.devices()[:DEVICES], ("ring",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P("ring", None), P(None, "ring")), out_specs=P(None, "ring"))


def reference(x, w):
    return x @ w


def gathered_product(x, w, direction):
    me = jax.lax.axis_index("ring")
    out = jnp.zeros((DEVICES, x.shape[0], w.shape[1]), x.dtype)
    for step in range(DEVICES):
        out = jax.lax.dynamic_update_index_in_dim(out, x @ w, (me + direction * step) % DEVICES, axis=0)
        x = jax.lax.ppermute(x, "ring", [(d, (d + 1) % DEVICES) for d in range(DEVICES)])
    return out.reshape(-1, w.shape[1])


@jax.jit
@shard
def sharded(x, w):
    return gathered_product(x, w, -1)


@jax.jit
@shard
def broken(x, w):
    return gathered_product(x, w, 1)


arguments = (jax.ShapeDtypeStruct((12, 6), "float32"), jax.ShapeDtypeStruct((6, 8), "float32"))

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
