"""Megatron's MLP: the first matrix split by columns, the second by rows, one all-reduce.

The broken twin adds the output bias before the all-reduce, so that it counts once for each device.
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
shard = partial(
    jax.shard_map, mesh=mesh, in_specs=(P(), P(None, "model"), P("model"), P("model", None), P()), out_specs=P()
)


def reference(x, w_in, b_in, w_out, b_out):
    return jnp.maximum(x @ w_in + b_in, 0) @ w_out + b_out


@jax.jit
@shard
def sharded(x, w_in, b_in, w_out, b_out):
    hidden = jnp.maximum(x @ w_in + b_in, 0)
    return jax.lax.psum(hidden @ w_out, "model") + b_out


@jax.jit
@shard
def broken(x, w_in, b_in, w_out, b_out):
    hidden = jnp.maximum(x @ w_in + b_in, 0)
    return jax.lax.psum(hidden @ w_out + b_out, "model")


arguments = tuple(jax.ShapeDtypeStruct(shape, "float32") for shape in ((6, 10), (10, 16), (16,), (16, 10), (10,)))

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
