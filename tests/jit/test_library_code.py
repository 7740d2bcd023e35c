"""Optimizers and losses as libraries write them: sums that start with 0, coefficients out of an array, masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof import Verdict

MESH = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
SPECS = {"w": P("data", "model"), "v": P("model", "data"), "b": P("model"), "g": P()}
SHAPES = {"w": (16, 32), "v": (32, 16), "b": (32,), "g": (16,)}
PARAMETERS = {k: jax.ShapeDtypeStruct(SHAPES[k], jnp.float32, sharding=NamedSharding(MESH, SPECS[k])) for k in SHAPES}
BATCH = jax.ShapeDtypeStruct((32, 16), jnp.float32, sharding=NamedSharding(MESH, P("data")))
MUON = (3.4445, -4.775, 2.0315)


def loss(parameters: Any, x: Any) -> Any:
    hidden = jax.nn.gelu(x @ parameters["w"] + parameters["b"])
    return jnp.mean(((hidden @ parameters["v"]) * parameters["g"] - x) ** 2)


def squared(x: Any) -> Any:
    """|x|², of complex numbers too."""
    imaginary = jnp.imag(x)
    return jnp.real(x) ** 2 + imaginary**2


def global_norm(tree: Any) -> Any:
    return jnp.sqrt(sum(jnp.sum(squared(leaf)) for leaf in jax.tree.leaves(tree)))


def clipped(parameters: Any, x: Any) -> Any:
    value, gradients = jax.value_and_grad(loss)(parameters, x)
    norm = global_norm(gradients)
    return value, jax.tree.map(lambda g: jnp.where(norm < 1.0, g, g / norm), gradients)


def added_up(parameters: Any, x: Any) -> Any:
    """Gradients of two halves of a batch, added to zeros."""
    total = jax.tree.map(jnp.zeros_like, parameters)
    for half in jnp.split(x, 2):
        total = jax.tree.map(jnp.add, total, jax.grad(loss)(parameters, half))
    return total


def frozen(parameters: Any, x: Any) -> Any:
    return jax.tree.map(lambda p: p + jnp.zeros_like(p), parameters), loss(parameters, x)


def orthogonal(parameters: Any, x: Any) -> Any:
    """Newton and Schulz's iteration, with its coefficients in an array."""
    first, second, third = (jnp.asarray(MUON)[k] for k in range(3))
    y = jax.grad(loss)(parameters, x)["w"]
    y = y / (jnp.linalg.norm(y) + 1e-7)
    for _ in range(2):
        a = y @ y.T
        y = first * y + (second * a + third * a @ a) @ y
    return y * jnp.sqrt(jnp.float32(y.shape[0] / y.shape[1] / 2))


def contrastive(parameters: Any, x: Any) -> Any:
    """Mean similarity of pairs of one label; the mask is used element by element before it is counted as a whole."""
    del parameters
    labels = jnp.floor(x[:, 0]).astype(jnp.int32)
    pairs = jnp.bool_((labels[:, None] == labels[None, :]) - jnp.eye(len(x)))
    return jnp.where(pairs == 1, x @ x.T, 0.0).sum() / pairs.sum()


STEPS: dict[str, Callable[..., Any]] = {
    "clipped": clipped,
    "added_up": added_up,
    "frozen": frozen,
    "orthogonal": orthogonal,
    "contrastive": contrastive,
}


@pytest.mark.parametrize("name", STEPS)
def test_what_xla_makes_of_library_code(name: str) -> None:
    report = shardproof.validate(jax.jit(STEPS[name]), PARAMETERS, BATCH)
    assert report.verdict is Verdict.PROVED, str(report)


@pytest.mark.parametrize(("axes", "verdict"), [(("data", "model"), Verdict.PROVED), (("data",), Verdict.REFUTED)])
def test_a_norm_of_shards(axes: tuple[str, ...], verdict: Verdict) -> None:
    def sharded(w: Any) -> Any:
        def local(w: Any) -> Any:
            return w / jnp.sqrt(lax.psum(jnp.sum(squared(w)), axes))

        return jax.shard_map(local, mesh=MESH, in_specs=SPECS["w"], out_specs=SPECS["w"])(w)

    report = shardproof.compare(lambda w: w / global_norm([w]), jax.jit(sharded), PARAMETERS["w"])
    assert report.verdict is verdict, str(report)
