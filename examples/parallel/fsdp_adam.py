"""A train step with Adam where parameters, moments and batch are split over all devices (FSDP).

`sharded` leaves the work to XLA; `by_hand` gathers the parameters and scatters the gradients itself. In the broken twin
of the latter each device divides by its own part of the batch, as if it were the whole one.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shardproof

BATCH, WIDTH, HIDDEN = 16, 8, 24
mesh = Mesh(jax.devices()[:4], ("data",))


def squared_error(params, x, y):
    return jnp.sum((jnp.tanh(x @ params["in"]) @ params["out"] - y) ** 2)


def adam(param, grad, first, second, step):
    first = 0.9 * first + 0.1 * grad
    second = 0.999 * second + 0.001 * grad * grad
    scale = jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return param - 0.001 * scale * first / (jnp.sqrt(second) + 1e-8), first, second


def updated(params, grads, first, second, step):
    new = {name: adam(params[name], grads[name], first[name], second[name], step) for name in params}
    return tuple({name: new[name][k] for name in params} for k in range(3))


def reference(params, first, second, step, x, y):
    loss, grads = jax.value_and_grad(lambda p: squared_error(p, x, y) / BATCH)(params)
    return loss, *updated(params, grads, first, second, step)


SPLIT = {"in": P("data", None), "out": P("data", None)}
IN_SPECS = (SPLIT, SPLIT, SPLIT, P(), P("data", None), P("data", None))
OUT_SPECS = (P(), SPLIT, SPLIT, SPLIT)


def on_mesh(specs):
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda leaf: isinstance(leaf, P))


sharded = jax.jit(reference, in_shardings=on_mesh(IN_SPECS), out_shardings=on_mesh(OUT_SPECS), donate_argnums=(0, 1, 2))
shard = partial(jax.shard_map, mesh=mesh, in_specs=IN_SPECS, out_specs=OUT_SPECS, check_vma=False)


def own_step(params, first, second, step, x, y, batch):
    whole = {name: jax.lax.all_gather(param, "data", tiled=True) for name, param in params.items()}
    error, backward = jax.vjp(lambda p: squared_error(p, x, y), whole)
    (grads,) = backward(1 / jnp.float32(batch))
    own = {name: jax.lax.psum_scatter(grad, "data", tiled=True) for name, grad in grads.items()}
    return jax.lax.psum(error, "data") / BATCH, *updated(params, own, first, second, step)


@jax.jit
@shard
def by_hand(params, first, second, step, x, y):
    return own_step(params, first, second, step, x, y, BATCH)


@jax.jit
@shard
def broken(params, first, second, step, x, y):
    return own_step(params, first, second, step, x, y, x.shape[0])


def _weights():
    return {
        "in": jax.ShapeDtypeStruct((WIDTH, HIDDEN), "float32"),
        "out": jax.ShapeDtypeStruct((HIDDEN, WIDTH), "float32"),
    }


_data = jax.ShapeDtypeStruct((BATCH, WIDTH), "float32")
arguments = (_weights(), _weights(), _weights(), jax.ShapeDtypeStruct((), "float32"), _data, _data)

if __name__ == "__main__":
    print(shardproof.compare(reference, sharded, *arguments))
    print(shardproof.compare(reference, by_hand, *arguments))
    print(shardproof.compare(reference, broken, *arguments))
