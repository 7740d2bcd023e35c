"""A mixture of experts with top-2 routing: tokens and experts are split, all-to-alls carry tokens there and back.

The broken twin brings the results back without undoing the order in which they were sent.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof

EXPERTS, TOKENS, WIDTH, HIDDEN, DEVICES = 8, 12, 6, 10, 4
mesh = Mesh(jax.devices()[:DEVICES], ("expert",))
shard = partial(jax.shard_map, mesh=mesh, in_specs=(P("expert"), P(), P("expert"), P("expert")), out_specs=P("expert"))


def gates(x, router):
    """The weight of each token at each expert, zero but for its best two."""
    scores = x @ router
    values, chosen = jax.lax.top_k(scores, 2)
    weights = jax.nn.softmax(values)
    return jnp.einsum("tk,tke->te", weights, jax.nn.one_hot(chosen, EXPERTS))


def experts(tokens, w_in, w_out):
    """Each expert on its own tokens [expert, token, width]."""
    return jnp.einsum("eth,ehd->etd", jnp.tanh(jnp.einsum("etd,edh->eth", tokens, w_in)), w_out)


def reference(x, router, w_in, w_out):
    out = experts(jnp.broadcast_to(x, (EXPERTS, *x.shape)), w_in, w_out)
    return jnp.einsum("te,etd->td", gates(x, router), out)


def routed(x, router, w_in, w_out, back):
    sent = jax.lax.all_to_all(
        jnp.broadcast_to(x, (EXPERTS, *x.shape)), "expert", split_axis=0, concat_axis=1, tiled=True
    )
    out = back(experts(sent, w_in, w_out))
    return jnp.einsum("te,etd->td", gates(x, router), out)


@jax.jit
@shard
def sharded(x, router, w_in, w_out):
    def back(out):
        return jax.lax.all_to_all(out, "expert", split_axis=1, concat_axis=0, tiled=True)

    return routed(x, router, w_in, w_out, back)


@jax.jit
@shard
def broken(x, router, w_in, w_out):
    def back(out):
        moved = jax.lax.all_to_all(out, "expert", split_axis=1, concat_axis=1, tiled=True)
        return moved.reshape(EXPERTS, -1, WIDTH)

    return routed(x, router, w_in, w_out, back)


arguments = tuple(
    jax.ShapeDtypeStruct(shape, "float32")
    for shape in ((TOKENS, WIDTH), (WIDTH, EXPERTS), (EXPERTS, WIDTH, HIDDEN), (EXPERTS, HIDDEN, WIDTH))
)

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
