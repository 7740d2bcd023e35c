"""Attention of one query over a split sequence whose length does not divide evenly: the last shard ends in padding.

What the padding gives has to be left out of the maximum, of the sum and of the result. The broken twin lets it into the
sum, where each of its scores, which is 0, counts as if it were a key.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

LENGTH, WIDTH, DEVICES = 10, 4, 4
PADDED = -(-LENGTH // DEVICES) * DEVICES
mesh = Mesh(jax.devices()[:DEVICES], ("seq",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("seq"), P("seq")), out_specs=P())


def reference(query, keys, values):
    scores = keys @ query
    weights = jnp.exp(scores - jax.lax.stop_gradient(scores.max()))
    return weights @ values / weights.sum()


def is_there(rows):
    return jax.lax.axis_index("seq") * rows + jnp.arange(rows) < LENGTH


@shard
def attend(query, keys, values):
    there = is_there(len(keys))
    scores = keys @ query
    top = jax.lax.pmax(jnp.where(there, jax.lax.stop_gradient(scores), -jnp.inf).max(), "seq")
    weights = jnp.where(there, jnp.exp(scores - top), 0)
    total = jax.lax.psum(weights.sum(), "seq")
    return jax.lax.psum(weights @ values, "seq") / total


@shard
def attend_to_padding(query, keys, values):
    there = is_there(len(keys))
    scores = keys @ query
    top = jax.lax.pmax(jnp.where(there, jax.lax.stop_gradient(scores), -jnp.inf).max(), "seq")
    weights = jnp.exp(scores - top)
    total = jax.lax.psum(weights.sum(), "seq")
    return jax.lax.psum(weights @ values, "seq") / total


def padded(rows):
    return jnp.pad(rows, ((0, PADDED - LENGTH), (0, 0)))


@jax.jit
def sharded(query, keys, values):
    return attend(query, padded(keys), padded(values))


@jax.jit
def broken(query, keys, values):
    return attend_to_padding(query, padded(keys), padded(values))


arguments = tuple(jax.ShapeDtypeStruct(shape, "float32") for shape in ((WIDTH,), (LENGTH, WIDTH), (LENGTH, WIDTH)))

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
