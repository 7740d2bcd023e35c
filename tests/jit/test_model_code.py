"""Model code that was not proved once, compiled: each is, and its certificate is accepted."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shardproof
from shardproof import Verdict
from shardproof.validator.check.check import check
from shardproof.validator.options import Options
from shardproof.validator.validate import validate_programs

from .conftest import Capture


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    length = q.shape[1]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def mean_pool(x: Any) -> Any:
    """The mean of each window, of what lies inside the array alone."""
    window: Any = ((1, 3, 3, 1), (1, 1, 1, 1), "SAME")
    return lax.reduce_window(x, 0.0, lax.add, *window) / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, *window)


def masked_cross_entropy(logits: Any, labels: Any) -> Any:
    """Labels below zero do not count."""
    valid = labels >= 0
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.where(valid, labels, 0)[:, None], 1)[:, 0]
    return jnp.where(valid, -chosen, 0).sum() / jnp.maximum(valid.sum(), 1)


def contrastive(a: Any, b: Any) -> Any:
    """Each text has to be like its image; JAX takes a diagonal in a branch that the platform chooses."""
    scores = a @ b.T / 0.07
    both = jnp.diag(jax.nn.log_softmax(scores, 0)) + jnp.diag(jax.nn.log_softmax(scores, 1))
    return -both.mean()


_QKV = [((4, 8, 4, 8), P("y", None, None, "x")), ((4, 8, 4, 8), P("y", "x")), ((4, 8, 4, 8), P("x"))]
PROGRAMS = {
    "causal attention, keys on several devices": (causal_attention, _QKV),
    "its gradients": (jax.grad(lambda *a: (causal_attention(*a) ** 2).sum(), (0, 1, 2)), _QKV),
    "mean of windows, cut across": (mean_pool, [((2, 12, 12, 8), P(None, None, "y"))]),
    "mean of windows, features cut": (mean_pool, [((2, 12, 12, 8), P(None, None, None, "x"))]),
    "contrastive loss": (contrastive, [((16, 8), P("y")), ((16, 8), P("x"))]),
    "masked loss, vocabulary cut": (masked_cross_entropy, [((16, 24), P(None, "y")), ((16,), P(), "int32")]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_proved_with_a_certificate(name: str, mesh: Mesh, captured: Capture):
    function, arguments = PROGRAMS[name]
    shardings = tuple(NamedSharding(mesh, spec) for _, spec, *_ in arguments)
    shapes = [jax.ShapeDtypeStruct(shape, *(dtype or ["float32"])) for shape, _, *dtype in arguments]
    lowered = jax.jit(function, in_shardings=shardings).lower(*shapes)
    before, after = captured(lambda: shardproof.validate(lowered))
    report = validate_programs(before, after, Options(certificate=True))
    assert report.verdict is Verdict.PROVED, str(report)
    assert report.certificate is not None, [note.text for note in report.notes]
    assert check(report.certificate.encode(), "c", before, after).theory is report.theory
