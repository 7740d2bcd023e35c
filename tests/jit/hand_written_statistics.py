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


def _picked_loss(logits: Any, labels: Any) -> Any:
    total = jax.nn.logsumexp(logits, -1)
    picked = jnp.take_along_axis(logits, jnp.clip(labels, 0, 11)[:, None], 1)[:, 0]
    return (total - picked + 1e-4 * total**2).mean()


def _picked_loss_of_columns(logits: Any, labels: Any, *, broken: bool = False) -> Any:
    """The label's logit from the device that has it; the gradient adds zeros where others have it."""
    count = logits.shape[-1]
    top = lax.pmax(lax.stop_gradient(logits).max(-1), "d")
    total = jnp.log(lax.psum(jnp.exp(logits - top[:, None]).sum(-1), "d")) + top
    mine = jnp.clip(labels, 0, DEVICES * count - 1) - lax.axis_index("d") * count
    there = (mine >= 0) & ((mine <= count) if broken else (mine < count))
    picked = jnp.take_along_axis(logits, jnp.clip(mine, 0, count - 1)[:, None], 1)[:, 0]
    return (total - lax.psum(jnp.where(there, picked, 0), "d") + 1e-4 * total**2).mean()


def _routed(x: Any, w: Any) -> Any:
    return jax.nn.softmax(x @ w)


def _balance(x: Any, w: Any, mean: Any = lambda x: x) -> Any:
    """How evenly a router of a mixture of experts sends its tokens."""
    routed = _routed(x, w)
    sent = jax.nn.one_hot(routed.argmax(-1), w.shape[-1])
    return w.shape[-1] * (mean(sent.mean(0)) * mean(routed.mean(0))).sum()


def _balance_of_rows(x: Any, w: Any, *, broken: bool = False) -> Any:
    return lax.pmean(_balance(x, w), "d") if broken else _balance(x, w, lambda x: lax.pmean(x, "d"))


def _entropy(x: Any, w: Any) -> Any:
    routed = _routed(x, w)
    return (-(routed * jnp.log(routed)).sum(-1)).mean()


def _entropy_of_experts(x: Any, w: Any, *, broken: bool = False) -> Any:
    """The entropy of a softmax as its logarithm's normaliser less the mean of its logits."""
    logits = x @ w
    top = lax.pmax(logits.max(-1), "d")
    parts = jnp.exp(logits - top[:, None])
    total, weighted = (lax.psum(each.sum(-1), "d") for each in (parts, parts * logits))
    return (top + jnp.log(total) - weighted / (parts.sum(-1) if broken else total)).mean()


def _prefix_sums_by_doubling(x: Any, *, broken: bool = False) -> Any:
    """Each device adds what lies 1, then 2 devices before it (Hillis and Steele), and takes its own part away again."""
    own = before = x.sum(0)
    for distance in (1, 2):
        before = before + lax.ppermute(before, "d", [(d, d + distance) for d in range(DEVICES - distance)])
    return jnp.cumsum(x, 0) + (before if broken else before - own)


_NORMALISED = (floats(12, 3), floats(3), floats(3))
_BATCH = Program(_batch_loss, _batch_loss_of_rows, (ROWS, ROWS), WHOLE, (floats(12, 5), integers(12)), "real")

_PICKED = Program(_picked_loss, _picked_loss_of_columns, (COLUMNS, WHOLE), WHOLE, (floats(6, 12), integers(6)), "real")
_ROUTER = (floats(8, 5), floats(5, 4))

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
    "loss of the logits of labels": _PICKED,
    "loss of the logits of labels, gradients": replace(_PICKED, gradients=(0,)),
    "balance of experts": Program(_balance, _balance_of_rows, (ROWS, WHOLE), WHOLE, _ROUTER, "real"),
    "entropy of a router": Program(_entropy, _entropy_of_experts, (WHOLE, COLUMNS), WHOLE, _ROUTER, "real"),
}
