"""A convolution over a split sequence: each device asks its neighbours for the edges that its window reaches into.

The broken twin closes the ring, so that the ends of the sequence see each other instead of zeros.
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
mesh = Mesh(jax.devices()[:DEVICES], ("space",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P(None, "space"), P()), out_specs=P(None, "space"))


def convolution(x, kernel, padding):
    return jax.lax.conv_general_dilated(x, kernel, (1,), padding, dimension_numbers=("NWC", "WIO", "NWC"))


def reference(x, kernel):
    return convolution(x, kernel, "SAME")


def with_halo(x, ring):
    right = [(d, (d + 1) % DEVICES) for d in range(DEVICES if ring else DEVICES - 1)]
    from_left = jax.lax.ppermute(x[:, -1:], "space", right)
    from_right = jax.lax.ppermute(x[:, :1], "space", [(b, a) for a, b in right])
    return jnp.concatenate([from_left, x, from_right], axis=1)


@jax.jit
@shard
def sharded(x, kernel):
    return convolution(with_halo(x, ring=False), kernel, "VALID")


@jax.jit
@shard
def broken(x, kernel):
    return convolution(with_halo(x, ring=True), kernel, "VALID")


arguments = (jax.ShapeDtypeStruct((2, 20, 3), "float32"), jax.ShapeDtypeStruct((3, 3, 5), "float32"))

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
