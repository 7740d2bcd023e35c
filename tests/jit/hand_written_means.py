"""Steps of training on parts of a batch, whose means and gradients devices average."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .hand_written import DEVICES, ROWS, WHOLE, Program, floats


def _averaged(function: Callable[..., Any]) -> Callable[..., Any]:
    """The mean over devices of what a function computes; the broken twin adds up instead."""

    def of_parts(*arguments: Any, broken: bool = False) -> Any:
        combined = partial(lax.psum if broken else lax.pmean, axis_name="d")
        return jax.tree.map(combined, function(*arguments))

    return of_parts


def _loss(params: Any, x: Any, y: Any) -> Any:
    hidden = jax.nn.relu(x @ params["into"])
    return jnp.mean((hidden @ params["out"] - y) ** 2)


def _step(params: Any, x: Any, y: Any, combined: Callable[[Any], Any] = lambda g: g) -> Any:
    gradients = combined(jax.grad(_loss)(params, x, y))
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)


def _step_on_parts(params: Any, x: Any, y: Any, *, broken: bool = False) -> Any:
    """Gradients are averaged by a sum that is divided; the broken twin divides by too few devices."""
    count = DEVICES // 2 if broken else DEVICES
    return _step(params, x, y, lambda gradients: jax.tree.map(lambda g: lax.psum(g, "d") / count, gradients))


def _momentum(params: Any, moments: Any, x: Any, y: Any, combined: Callable[[Any], Any] = lambda g: g) -> Any:
    gradients = combined(jax.grad(_loss)(params, x, y))
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
    return jax.tree.map(lambda p, m: p - 0.01 * m, params, moments), moments


def _momentum_on_parts(params: Any, moments: Any, x: Any, y: Any, *, broken: bool = False) -> Any:
    """Each device scales its gradient before they are added up; the broken twin forgets to."""
    scaled = (lambda g: g) if broken else (lambda g: g / DEVICES)
    return _momentum(params, moments, x, y, lambda gradients: lax.psum(jax.tree.map(scaled, gradients), "d"))


def _normalised(x: Any, mean: Callable[[Any], Any] = lambda m: m) -> Any:
    centred = x - mean(x.mean(0))
    return centred * lax.rsqrt(mean((centred**2).mean(0)) + 1e-5)


def _normalised_rows(x: Any, *, broken: bool = False) -> Any:
    return _normalised(x, (lambda m: lax.psum(m, "d")) if broken else (lambda m: lax.pmean(m, "d")))


def _attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T / 4.0) @ v


def _attention_of_rows(q: Any, k: Any, v: Any, *, broken: bool = False) -> Any:
    """Queries are scaled before they meet the keys, as fused kernels do."""
    return jax.nn.softmax((q * (0.5 if broken else 0.25)) @ k.T) @ v


_PARAMS = {"into": floats(3, 8), "out": floats(8, 2)}
_BATCH = floats(16, 3), floats(16, 2)
_INTO = WHOLE, ROWS, ROWS

PROGRAMS = {
    "mean": Program(jnp.mean, _averaged(jnp.mean), ROWS, WHOLE, (floats(16, 4),)),
    "loss": Program(_loss, _averaged(_loss), _INTO, WHOLE, (_PARAMS, *_BATCH)),
    "gradients": Program(jax.grad(_loss), _averaged(jax.grad(_loss)), _INTO, WHOLE, (_PARAMS, *_BATCH)),
    "step": Program(_step, _step_on_parts, _INTO, WHOLE, (_PARAMS, *_BATCH)),
    "momentum": Program(_momentum, _momentum_on_parts, (WHOLE, *_INTO), (WHOLE, WHOLE), (_PARAMS, _PARAMS, *_BATCH)),
    "batch norm": Program(_normalised, _normalised_rows, ROWS, ROWS, (floats(16, 3),)),
    "scaled queries": Program(
        _attention, _attention_of_rows, (ROWS, WHOLE, WHOLE), ROWS, (floats(8, 16), floats(8, 16), floats(8, 5))
    ),
    "mean of a batch that is no power of two": Program(jnp.mean, _averaged(jnp.mean), ROWS, WHOLE, (floats(12, 3),)),
}
