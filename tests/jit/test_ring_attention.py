"""Ring attention in the forms it is written in, and the same with one thing wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from shardproof import Theory, Verdict

INFINITY = jnp.inf


@dataclass(frozen=True)
class Ring:
    """One way to write it; `wrong` names what is wrong with it."""

    devices: int = 4
    shape: tuple[int, ...] = (8, 6)
    causal: bool = False
    loop: str = "unrolled"
    start: str = "own block"
    scale: float = 1.0
    statistics: str = "float32"
    stopped: bool = False
    logarithm: bool = False
    gradient: bool = False
    checkpointed: bool = False
    wrong: str = ""


def attention(ring: Ring, q: Any, k: Any, v: Any) -> Any:
    scores = (jnp.einsum("...ih,...jh->...ij", q, k) * ring.scale).astype(ring.statistics)
    if ring.causal:
        scores = jnp.where(jnp.tri(scores.shape[-1], dtype=bool), scores, -INFINITY)
    return jnp.einsum("...ij,...jh->...ih", jax.nn.softmax(scores, axis=-1), v).astype(q.dtype)


def ring_attention(ring: Ring, q: Any, k: Any, v: Any) -> Any:
    me, count, rows = lax.axis_index("seq"), ring.devices, q.shape[-2]
    hop = {"two hops": 2}.get(ring.wrong, 1)
    pairs = [(d, (d + hop) % count) for d in range(count)]
    if ring.wrong == "a broken ring":
        pairs.pop()

    def turned(k: Any, v: Any) -> Any:
        return lax.ppermute((k, v), "seq", pairs)

    def scores_of(k: Any, step: Any) -> Any:
        scores = (jnp.einsum("...ih,...jh->...ij", q, k) * ring.scale).astype(ring.statistics)
        if ring.causal:
            source = (me + step if ring.wrong == "mask of the other direction" else me - step) % count
            i, j = me * rows + jnp.arange(rows), source * rows + jnp.arange(rows)
            scores = jnp.where(j[None, :] <= i[:, None], scores, -INFINITY)
        return scores

    def add(step: Any, top: Any, total: Any, out: Any, k: Any, v: Any) -> Any:
        scores = scores_of(k, step)
        highest = scores.max(-1, keepdims=True)
        new = jnp.maximum(top, lax.stop_gradient(highest) if ring.stopped else highest)
        weights, old = jnp.exp(scores - new), jnp.exp(top - new)
        total = (total if ring.wrong == "sum not rescaled" else total * old) + weights.sum(-1, keepdims=True)
        out = (out if ring.wrong == "output not rescaled" else out * old) + weights @ v
        return new, total, out

    column = (*q.shape[:-1], 1)
    dtype = ring.statistics
    state = (jnp.full(column, -INFINITY, dtype), jnp.zeros(column, dtype), jnp.zeros(q.shape, dtype))
    first = 0
    if ring.start == "own block":
        scores = scores_of(k, 0)
        top = scores.max(-1, keepdims=True)
        top = lax.stop_gradient(top) if ring.stopped else top
        weights = jnp.exp(scores - top)
        state, first = (top, weights.sum(-1, keepdims=True), weights @ v), 1

    def body(carry: Any, step: Any) -> Any:
        top, total, out, k, v = carry
        if first:
            k, v = turned(k, v)
        top, total, out = add(step, top, total, out, k, v)
        return (top, total, out, *((k, v) if first else turned(k, v))), None

    carry = (*state, k, v)
    if ring.loop == "scan":
        carry, _ = lax.scan(body, carry, jnp.arange(first, count))
    elif ring.loop == "fori":
        carry = lax.fori_loop(first, count, lambda step, carry: body(carry, step)[0], carry)
    else:
        for step in range(first, count):
            carry, _ = body(carry, step)
    top, total, out = carry[:3]
    if ring.wrong == "not normalised":
        return out.astype(q.dtype)
    if ring.logarithm:
        return (out * jnp.exp(top - (top + jnp.log(total)))).astype(q.dtype)
    return (out / total).astype(q.dtype)


def compared(ring: Ring, theory: str = "real") -> shardproof.Report:
    mesh = Mesh(np.array(jax.devices()[: ring.devices]), ("seq",))
    spec = P(*[None] * (len(ring.shape) - 2), "seq")
    function = jax.shard_map(partial(ring_attention, ring), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    reference = partial(attention, ring)
    arguments = [jax.ShapeDtypeStruct(ring.shape, "float32")] * 3
    if not ring.gradient:
        return shardproof.compare(reference, jax.jit(function), *arguments, theory=theory)
    if ring.checkpointed:
        function = jax.checkpoint(function)

    def pullback(of: Any) -> Any:
        return lambda q, k, v, gradient: jax.vjp(of, q, k, v)[1](gradient)

    return shardproof.compare(pullback(reference), jax.jit(pullback(function)), *arguments, arguments[0], theory=theory)


RIGHT = {
    "unrolled": Ring(),
    "three devices": Ring(devices=3, shape=(6, 5)),
    "eight devices, heads": Ring(devices=8, shape=(2, 16, 4), scale=0.5),
    "scan": Ring(loop="scan"),
    "fori": Ring(loop="fori", start="minus infinity"),
    "starts at minus infinity": Ring(loop="scan", start="minus infinity"),
    "scale that is no binary fraction": Ring(scale=6**-0.5),
    "causal": Ring(causal=True),
    "causal scan": Ring(causal=True, loop="scan", start="minus infinity"),
    "log of the sum": Ring(logarithm=True),
    "bfloat16 statistics": Ring(statistics="bfloat16"),
    "gradient through the maxima": Ring(gradient=True, loop="scan"),
    "gradient": Ring(gradient=True, stopped=True),
    "gradient from minus infinity": Ring(gradient=True, loop="scan", start="minus infinity"),
    "gradient on eight devices": Ring(gradient=True, devices=8, shape=(2, 16, 4), scale=0.5, stopped=True),
    "gradient of a checkpoint": Ring(gradient=True, stopped=True, loop="scan", checkpointed=True),
    "gradient of the log of the sum": Ring(gradient=True, stopped=True, logarithm=True),
}

WRONG = {
    "output not rescaled": Ring(),
    "sum not rescaled": Ring(devices=3, shape=(6, 4), loop="scan"),
    "two hops": Ring(),
    "a broken ring": Ring(devices=3, shape=(6, 4)),
    "not normalised": Ring(loop="fori"),
    "mask of the other direction": Ring(causal=True, devices=3, shape=(6, 4)),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if RIGHT[name].gradient else ()) for name in RIGHT]
)
def test_right_rings_are_proved_over_the_reals(name: str) -> None:
    report = compared(RIGHT[name])
    assert report.verdict is Verdict.PROVED, str(report)
    assert report.theory is Theory.REAL


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("gradient", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["value", "gradient"])
def test_wrong_rings_are_refuted(name: str, gradient: bool) -> None:
    report = compared(replace(WRONG[name], wrong=name, gradient=gradient))
    assert report.verdict is Verdict.REFUTED, str(report)


def test_a_softmax_needs_the_reals() -> None:
    assert compared(Ring(), theory="reassociated").verdict is Verdict.NOT_PROVED
