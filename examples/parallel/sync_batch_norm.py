"""Batch normalisation over a split batch: mean and variance are those of all devices' rows.

The broken twin takes the variance of its own rows.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

BATCH, WIDTH = 20, 6
mesh = Mesh(jax.devices()[:4], ("data",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P(), P()), out_specs=P("data"))


def normalised(x, scale, shift, mean, variance):
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift


def reference(x, scale, shift):
    mean = x.sum(axis=0) / BATCH
    variance = ((x - mean) ** 2).sum(axis=0) / BATCH
    return normalised(x, scale, shift, mean, variance)


@jax.jit
@shard
def sharded(x, scale, shift):
    mean = jax.lax.psum(x.sum(axis=0), "data") / BATCH
    variance = jax.lax.psum(((x - mean) ** 2).sum(axis=0), "data") / BATCH
    return normalised(x, scale, shift, mean, variance)


@jax.jit
@shard
def broken(x, scale, shift):
    mean = jax.lax.psum(x.sum(axis=0), "data") / BATCH
    variance = ((x - mean) ** 2).sum(axis=0) / x.shape[0]
    return normalised(x, scale, shift, mean, variance)


arguments = tuple(jax.ShapeDtypeStruct(shape, "float32") for shape in ((BATCH, WIDTH), (WIDTH,), (WIDTH,)))

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
