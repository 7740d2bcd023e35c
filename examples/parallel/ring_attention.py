"""Ring attention: keys and values travel around a ring, a running maximum and a running sum make one softmax of it.

That this is a softmax is a law of exp over the reals, so a proof needs theory *real*. The broken twin does not rescale
what it has summed up when the maximum grows.
"""

import os
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

DEVICES = 4
mesh = Mesh(jax.devices()[:DEVICES], ("seq",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=P("seq"), out_specs=P("seq"))
settings: dict[str, Any] = {"theory": "real"}


def reference(q, k, v):
    return jax.nn.softmax(q @ k.T) @ v


def ring_attention(q, k, v, rescaled):
    scores = q @ k.T
    top = scores.max(axis=1, keepdims=True)
    weights = jnp.exp(scores - top)
    total, out = weights.sum(axis=1, keepdims=True), weights @ v
    for _ in range(DEVICES - 1):
        k, v = jax.lax.ppermute((k, v), "seq", [(d, (d + 1) % DEVICES) for d in range(DEVICES)])
        scores = q @ k.T
        new_top = jnp.maximum(top, scores.max(axis=1, keepdims=True))
        weights = jnp.exp(scores - new_top)
        old = jnp.exp(top - new_top)
        total = total * old + weights.sum(axis=1, keepdims=True)
        out = out * (old if rescaled else 1) + weights @ v
        top = new_top
    return out / total


@jax.jit
@shard
def sharded(q, k, v):
    return ring_attention(q, k, v, rescaled=True)


@jax.jit
@shard
def broken(q, k, v):
    return ring_attention(q, k, v, rescaled=False)


arguments = (jax.ShapeDtypeStruct((8, 6), "float32"),) * 3

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments, **settings))
    print(shardproof.compare(reference, broken, *arguments, **settings))
