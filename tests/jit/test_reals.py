"""Theory real speaks of real numbers: what is none in the sharded program alone is never multiplied away."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof import Verdict

from .test_examples import pullback

where = jnp.where


@pytest.fixture(autouse=True)
def _freed() -> Iterator[None]:
    """An e-graph of a pipeline takes half a gigabyte, which only the collector gives back."""
    yield
    gc.collect()


def on_shards(reference: Callable[..., Any], function: Callable[..., Any], count: int) -> shardproof.Report:
    mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
    sharded = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False))
    return shardproof.compare(reference, sharded, *[jax.ShapeDtypeStruct((8,), "float32")] * count, theory="real")


RIGHT: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "a common divisor": (lambda x, y: x / y + x, lambda x, y: (x + x * y) / y),
    "a factor on what is chosen": (lambda x, y: where(x > 0, x, y) * 3, lambda x, y: where(x > 0, 3 * x, 3 * y)),
    "a logarithm of exponentials": (lambda x, y: jnp.log(jnp.exp(x) * jnp.exp(y)), lambda x, y: x + y),
    "the size of what is positive": (
        lambda x, y: jnp.log(jnp.abs(jnp.exp(x) + 1)) + y,
        lambda x, y: jnp.log(jnp.exp(x) + 1) + y,
    ),
    "a test of a real number": (lambda x, y: where(jnp.isfinite(x * y), x, y) * 2, lambda x, y: x * 2),
    "a test of what is positive": (
        lambda x, y: x * 2 + 0 * y,
        lambda x, y: where(jnp.exp(y) > 0, x, y) + where(jnp.exp(x) + jnp.exp(y) <= -3, y, x),
    ),
    "a positive divisor": (lambda x, y: x + 0 * y, lambda x, y: x * jnp.exp(y) / jnp.exp(y)),
}

WRONG: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "a divisor of its own": (lambda x, y: x * 2 + 0 * y, lambda x, y: x / y * y * 2),
    "a logarithm beside a choice": (
        lambda x, y: where(x > 0, jnp.log(x), 0.0) * y,
        lambda x, y: (where(x > 0, jnp.log(x), 0.0) + 0 * jnp.log(x)) * y,
    ),
    "a mask as a factor": (
        lambda x, y: where(x > 0, jnp.log(x), 0.0) * y,
        lambda x, y: (x > 0).astype("float32") * jnp.log(x) * y,
    ),
    "a divisor beside a choice": (
        lambda x, y: where(y != 0, x / y, x) * 2,
        lambda x, y: where(y != 0, x / y, x) * y / y * 2,
    ),
    "the size of what may be negative": (lambda x, y: jnp.abs(x) * 2 + y, lambda x, y: x * 2 + y),
    "a test of what may be zero": (lambda x, y: x * 2 + 0 * y, lambda x, y: where(y * y > 0, x, 0) * 2),
    "a test of what may be less": (lambda x, y: x * 2 + 0 * y, lambda x, y: where(jnp.exp(y) > 0.5, x, y) * 2),
    "a test of what may be no number": (lambda x, y: x * 2 + 0 * y, lambda x, y: where(jnp.exp(x / y) > 0, x, 0) * 2),
    "a test of what may be none": (lambda x, y: x * 2 + 0 * y, lambda x, y: where(jnp.isfinite(x / y), x, 0.0) * 2),
    "zero by zero": (lambda x, y: x * 2 + 0 * y, lambda x, y: x * 2 + 0 * (0 / (y * 0))),
    "an infinite constant": (lambda x, y: x * 2 + 0 * y, lambda x, y: x * 2 + 0 * (jnp.float32(jnp.inf) + y)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_proved(name: str) -> None:
    report = on_shards(*RIGHT[name], count=2)
    assert report.verdict is Verdict.PROVED, str(report)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_are_refuted(name: str) -> None:
    report = on_shards(*WRONG[name], count=2)
    assert report.verdict is Verdict.REFUTED, str(report)


@pytest.mark.parametrize("of", [jnp.abs, lambda x: 1 / x, lambda x: x * x], ids=["size", "inverse", "square"])
def test_logarithms_of_what_may_be_negative_stay(of: Callable[[Any], Any]) -> None:
    """The original has the logarithm of a number of any sign, a device that of the number itself."""
    sign = jnp.log(of(jnp.float32(4))) / jnp.log(jnp.float32(4))
    report = on_shards(lambda x, y: jnp.log(of(x) ** 2) + y, lambda x, y: 2 * sign * jnp.log(x) + y, count=2)
    assert report.verdict is not Verdict.PROVED


STAGES, MICRO_BATCHES = 4, 3


def pipelines(layer: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Stages one after the other, and a pipeline whose bubbles are gone through with zeros."""
    mesh = Mesh(np.array(jax.devices()[:STAGES]), ("stage",))

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())
    def pipelined(weights: Any, x: Any) -> Any:
        stage, received, finished = lax.axis_index("stage"), jnp.zeros_like(x[0]), []
        for tick in range(MICRO_BATCHES + STAGES - 1):
            sent = layer(weights[0], jnp.where(stage == 0, x[min(tick, MICRO_BATCHES - 1)], received))
            finished.append(jnp.where(stage == STAGES - 1, sent, 0))
            received = lax.ppermute(sent, "stage", [(d, d + 1) for d in range(STAGES - 1)])
        return lax.psum(jnp.stack(finished[STAGES - 1 :]), "stage")

    def reference(weights: Any, x: Any) -> Any:
        for stage in range(STAGES):
            x = layer(weights[stage], x)
        return x

    return reference, pipelined


def gradient_of(layer: Callable[[Any, Any], Any]) -> shardproof.Report:
    arguments = jax.ShapeDtypeStruct((STAGES, 5, 5), "float32"), jax.ShapeDtypeStruct((MICRO_BATCHES, 2, 5), "float32")
    reference, pipelined = (pullback(function, arguments) for function in pipelines(layer))
    return shardproof.compare(reference, jax.jit(pipelined), arguments, arguments[1], theory="real")


@pytest.mark.parametrize("activation", [jnp.tanh, jax.nn.relu])
def test_gradients_of_pipelines_are_proved(activation: Callable[[Any], Any]) -> None:
    report = gradient_of(lambda weights, x: activation(x @ weights))
    assert report.verdict is Verdict.PROVED, str(report)


def test_bubbles_that_are_no_numbers_spoil_the_gradient() -> None:
    report = gradient_of(lambda weights, x: jnp.log((x @ weights) ** 2))
    assert report.verdict is Verdict.REFUTED, str(report)
