"""Dropout over a split batch: each device drops the places of its own rows, as drawn for the whole batch.

The broken twin draws for its own rows with the same key on every device, so that all parts of the batch lose the same
places.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

BATCH, WIDTH, KEPT = 12, 6, 0.75
mesh = Mesh(jax.devices()[:4], ("data",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P(), P()), out_specs=P("data"))


def kept(key, rows):
    return jax.random.bernoulli(jax.random.wrap_key_data(key), KEPT, (rows, WIDTH))


def layer(x, weights, keep):
    return jnp.where(keep, jnp.tanh(x @ weights) / KEPT, 0)


def reference(x, weights, key):
    return layer(x, weights, kept(key, BATCH))


@jax.jit
@shard
def sharded(x, weights, key):
    start = jax.lax.axis_index("data") * len(x)
    own = jax.lax.dynamic_slice_in_dim(kept(key, BATCH), start, len(x))
    return layer(x, weights, own)


@jax.jit
@shard
def broken(x, weights, key):
    return layer(x, weights, kept(key, len(x)))


arguments = (
    jax.ShapeDtypeStruct((BATCH, WIDTH), "float32"),
    jax.ShapeDtypeStruct((WIDTH, WIDTH), "float32"),
    jax.ShapeDtypeStruct((2,), "uint32"),
)

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
