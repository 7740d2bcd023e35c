"""Embedding and cross-entropy with the vocabulary split: every device looks up and scores the words it holds.

The broken twin forgets where its part of the vocabulary starts when it picks the score of the target.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

VOCABULARY, WIDTH, TOKENS = 24, 6, 5
mesh = Mesh(jax.devices()[:4], ("vocab",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P("vocab", None), P(), P()), out_specs=P())


def rows(table, words):
    """The rows of words, zero for a word that the table does not have."""
    return table.at[words].get(mode="fill", fill_value=0, wrap_negative_indices=False)


def picked(scores, words):
    """The score of one word in each row, zero for a word that is not there."""
    at = (jnp.arange(scores.shape[0]), words)
    return scores.at[at].get(mode="fill", fill_value=0, wrap_negative_indices=False)


def reference(table, words, targets):
    scores = rows(table, words) @ table.T
    top = jax.lax.stop_gradient(scores.max(axis=1))
    total = jnp.exp(scores - top[:, None]).sum(axis=1)
    return jnp.log(total) + top - picked(scores, targets)


def parallel_loss(table, words, targets, target_start):
    start = jax.lax.axis_index("vocab") * table.shape[0]
    hidden = jax.lax.psum(rows(table, words - start), "vocab")
    scores = hidden @ table.T
    top = jax.lax.pmax(jax.lax.stop_gradient(scores.max(axis=1)), "vocab")
    total = jax.lax.psum(jnp.exp(scores - top[:, None]).sum(axis=1), "vocab")
    return jnp.log(total) + top - jax.lax.psum(picked(scores, targets - target_start * start), "vocab")


@jax.jit
@shard
def sharded(table, words, targets):
    return parallel_loss(table, words, targets, 1)


@jax.jit
@shard
def broken(table, words, targets):
    return parallel_loss(table, words, targets, 0)


arguments = (
    jax.ShapeDtypeStruct((VOCABULARY, WIDTH), "float32"),
    jax.ShapeDtypeStruct((TOKENS,), "int32"),
    jax.ShapeDtypeStruct((TOKENS,), "int32"),
)

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
