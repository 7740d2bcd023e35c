"""A pipeline: each device is one stage, micro-batches travel along them by collective permutes.

The broken twin collects its results one tick too early.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

STAGES, MICRO_BATCHES, ROWS, WIDTH = 4, 3, 2, 6
mesh = Mesh(jax.devices()[:STAGES], ("stage",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())


def layer(weights, x):
    return jnp.tanh(x @ weights)


def reference(weights, x):
    for stage in range(STAGES):
        x = layer(weights[stage], x)
    return x


def pipelined(weights, x, delay):
    stage = jax.lax.axis_index("stage")
    received = jnp.zeros_like(x[0])
    finished = []
    for tick in range(MICRO_BATCHES + STAGES - 1):
        entering = x[min(tick, MICRO_BATCHES - 1)]
        sent = layer(weights[0], jnp.where(stage == 0, entering, received))
        finished.append(jnp.where(stage == STAGES - 1, sent, 0))
        received = jax.lax.ppermute(sent, "stage", [(d, d + 1) for d in range(STAGES - 1)])
    return jax.lax.psum(jnp.stack(finished[delay : delay + MICRO_BATCHES]), "stage")


@jax.jit
@shard
def sharded(weights, x):
    return pipelined(weights, x, STAGES - 1)


@jax.jit
@shard
def broken(weights, x):
    return pipelined(weights, x, STAGES - 2)


arguments = (
    jax.ShapeDtypeStruct((STAGES, WIDTH, WIDTH), "float32"),
    jax.ShapeDtypeStruct((MICRO_BATCHES, ROWS, WIDTH), "float32"),
)

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
