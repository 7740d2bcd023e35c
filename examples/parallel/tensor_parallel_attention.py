"""Tensor-parallel attention: each device has some heads, and their part of the weight that is fused of three.

The broken twin takes the keys where the values stand in the fused weight.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

ROWS, WIDTH, HEADS, HEAD = 6, 10, 8, 4
mesh = Mesh(jax.devices()[:4], ("model",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P(), P(None, "model", None), P("model", None, None)), out_specs=P())


def heads(x, fused):
    """Queries, keys and values of the heads in the fused weight [width, heads, 3 * head]."""
    product = jnp.einsum("sd,dhk->hsk", x, fused)
    return product[..., :HEAD], product[..., HEAD : 2 * HEAD], product[..., 2 * HEAD :]


def attended(q, k, v):
    scores = jnp.einsum("hqd,hkd->hqk", q, k)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores), v)


def reference(x, fused, w_out):
    return jnp.einsum("hsd,hdw->sw", attended(*heads(x, fused)), w_out)


@jax.jit
@shard
def sharded(x, fused, w_out):
    q, k, v = heads(x, fused)
    return jax.lax.psum(jnp.einsum("hsd,hdw->sw", attended(q, k, v), w_out), "model")


@jax.jit
@shard
def broken(x, fused, w_out):
    q, k, _ = heads(x, fused)
    return jax.lax.psum(jnp.einsum("hsd,hdw->sw", attended(q, k, k), w_out), "model")


arguments = tuple(
    jax.ShapeDtypeStruct(shape, "float32") for shape in ((ROWS, WIDTH), (WIDTH, HEADS, 3 * HEAD), (HEADS, HEAD, WIDTH))
)

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
