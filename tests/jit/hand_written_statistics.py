"""Means and variances over what is cut, and losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from .hand_written import DEVICES, ROWS, WHOLE, Program, floats, integers

COLUMNS = P(None, "d")


def _variance(x: Any) -> Any:
    return x.var(0)


def _variance_of_parts(x: Any, *, broken: bool = False) -> Any:
    """Chan's formula: squares within each part, and how far the parts' means are from the whole mean."""
    count, mean = len(x), x.mean(0)
    within = ((x - mean) ** 2).sum(0)
    between = 0 if broken else count * (mean - lax.pmean(mean, "d")) ** 2
    return lax.psum(within + between, "d") / (count * DEVICES)


def _normalised(x: Any, scale: Any, shift: Any) -> Any:
    return (x - x.mean(0)) * lax.rsqrt(x.var(0) + 1e-5) * scale + shift


def _normalised_by_moments(x: Any, scale: Any, shift: Any, *, broken: bool = False) -> Any:
    """A variance as the mean of squares less the square of the mean."""
    mean, squares = lax.pmean(x.mean(0), "d"), lax.pmean((x * x).mean(0), "d")
    variance = squares - (x.mean(0) if broken else mean) ** 2
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


def _factored(p: Any, rows: Any, columns: Any, g: Any, mean: Any = lambda x: x) -> Any:
    """A step of Adafactor, whose second moments are products of means over rows and columns."""
    squares = g * g + 1e-30
    rows = 0.9 * rows + 0.1 * squares.mean(1)
    columns = 0.9 * columns + 0.1 * mean(squares.mean(0))
    moments = rows[:, None] * columns[None] / mean(rows.mean())
    return p - 0.01 * g / jnp.sqrt(moments), rows, columns


def _factored_rows(p: Any, rows: Any, columns: Any, g: Any, *, broken: bool = False) -> Any:
    return _factored(p, rows, columns, g, lambda x: x if broken and not x.ndim else lax.pmean(x, "d"))


def _batch_loss(logits: Any, labels: Any) -> Any:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), jnp.clip(labels, 0, 4)[:, None], 1)
    return -chosen.mean()


def _batch_loss_of_rows(logits: Any, labels: Any, *, broken: bool = False) -> Any:
    loss = _batch_loss(logits, labels)
    return lax.psum(loss, "d") if broken else lax.pmean(loss, "d")


def _z_loss(logits: Any, labels: Any) -> Any:
    total = jax.nn.logsumexp(logits, -1)
    return (total - (jax.nn.one_hot(labels, 12) * logits).sum(-1) + 1e-4 * total**2).mean()


def _z_loss_of_columns(logits: Any, labels: Any, *, broken: bool = False) -> Any:
    count = logits.shape[-1]
    top = lax.pmax(lax.stop_gradient(logits).max(-1), "d")
    total = jnp.log(lax.psum(jnp.exp(logits - top[:, None]).sum(-1), "d")) + (0 if broken else top)
    chosen = jax.nn.one_hot(labels - lax.axis_index("d") * count, count) * logits
    return (total - lax.psum(chosen.sum(-1), "d") + 1e-4 * total**2).mean()


def _prefix_sums_by_doubling(x: Any, *, broken: bool = False) -> Any:
    """Each device adds what lies 1, then 2 devices before it (Hillis and Steele), and takes its own part away again."""
    own = before = x.sum(0)
    for distance in (1, 2):
        before = before + lax.ppermute(before, "d", [(d, d + distance) for d in range(DEVICES - distance)])
    return jnp.cumsum(x, 0) + (before if broken else before - own)


_NORMALISED = (floats(12, 3), floats(3), floats(3))
_BATCH = Program(_batch_loss, _batch_loss_of_rows, (ROWS, ROWS), WHOLE, (floats(12, 5), integers(12)), "real")

PROGRAMS = {
    "variance": Program(_variance, _variance_of_parts, ROWS, WHOLE, (floats(12, 3),), "real"),
    "batch norm by moments": Program(
        _normalised, _normalised_by_moments, (ROWS, WHOLE, WHOLE), ROWS, _NORMALISED, "real"
    ),
    "prefix sums by doubling": Program(
        lambda x: jnp.cumsum(x, 0), _prefix_sums_by_doubling, ROWS, ROWS, (floats(12, 3),), "real"
    ),
    "factored moments": Program(
        _factored,
        _factored_rows,
        (ROWS, ROWS, WHOLE, ROWS),
        (ROWS, ROWS, WHOLE),
        (floats(8, 3), floats(8), floats(3), floats(8, 3)),
        "real",
    ),
    "loss of a batch": _BATCH,
    "loss of a batch, gradients": replace(_BATCH, gradients=(0,)),
    "loss with the square of the normaliser": Program(
        _z_loss, _z_loss_of_columns, (COLUMNS, WHOLE), WHOLE, (floats(6, 12), integers(6)), "real"
    ),
}
