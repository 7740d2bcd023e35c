"""Ulysses: attention over a split sequence. An all-to-all trades the split of the sequence for one of the heads.

The broken twin trades back by a reshape that takes devices for heads in the wrong order.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

mesh = Mesh(jax.devices()[:4], ("seq",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=P("seq"), out_specs=P("seq"))


def attention(q, k, v):
    """Over [sequence, heads, width]."""
    scores = jnp.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v)


reference = attention


def to_heads(x):
    return jax.lax.all_to_all(x, "seq", split_axis=1, concat_axis=0, tiled=True)


@jax.jit
@shard
def sharded(q, k, v):
    out = attention(to_heads(q), to_heads(k), to_heads(v))
    return jax.lax.all_to_all(out, "seq", split_axis=0, concat_axis=1, tiled=True)


@jax.jit
@shard
def broken(q, k, v):
    out = attention(to_heads(q), to_heads(k), to_heads(v))
    return jax.lax.all_to_all(out, "seq", split_axis=0, concat_axis=0, tiled=True).reshape(q.shape)


arguments = (jax.ShapeDtypeStruct((12, 8, 6), "float32"),) * 3

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
