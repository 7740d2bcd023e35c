"""Updates of a replicated table by rows that are split over devices: each device scatters its own, then they are added.

The broken twin scatters into the table itself on each device, so that its old rows are counted once a device.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

ROWS, WIDTH, TOKENS = 10, 6, 12
mesh = Mesh(jax.devices()[:4], ("data",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data", None)), out_specs=P())


def reference(table, rows, updates):
    return table + jnp.zeros_like(table).at[rows].add(updates)


@jax.jit
@shard
def sharded(table, rows, updates):
    return table + jax.lax.psum(jnp.zeros_like(table).at[rows].add(updates), "data")


@jax.jit
@shard
def broken(table, rows, updates):
    return jax.lax.psum(table.at[rows].add(updates), "data")


arguments = (
    jax.ShapeDtypeStruct((ROWS, WIDTH), "float32"),
    jax.ShapeDtypeStruct((TOKENS,), "int32"),
    jax.ShapeDtypeStruct((TOKENS, WIDTH), "float32"),
)

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
