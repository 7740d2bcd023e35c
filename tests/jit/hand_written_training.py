"""Steps of training: gradients of means over parts of a batch, sharded parameters and optimisers, adapters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from .hand_written import DEVICES, ROWS, WHOLE, Program, floats

COLUMNS = P(None, "d")


def _mean_loss(w: Any, v: Any, x: Any, y: Any) -> Any:
    return ((jax.nn.gelu(x @ w) @ v - y) ** 2).mean()


def _gradients(w: Any, v: Any, x: Any, y: Any) -> Any:
    return jax.grad(_mean_loss, (0, 1))(w, v, x, y)


def _gradients_of_parameters_in_parts(w: Any, v: Any, x: Any, y: Any, *, broken: bool = False) -> Any:
    """Parameters are put together, gradients of the mean over the device's part of the batch are summed and cut."""
    whole = lax.all_gather(w, "d", axis=1, tiled=True), lax.all_gather(v, "d", axis=0, tiled=True)
    first, second = _gradients(*whole, x, y)
    parts = (
        lax.psum_scatter(first, "d", scatter_dimension=1, tiled=True),
        lax.psum_scatter(second, "d", scatter_dimension=0, tiled=True),
    )
    return tuple(part / (1 if broken else DEVICES) for part in parts)


def _stepped(p: Any, moment: Any, g: Any) -> Any:
    moment = 0.95 * moment + 0.05 * g * g
    return p - 1e-3 * g / (jnp.sqrt(moment) + 1e-8), moment


def _step(w: Any, b: Any, moment: Any, gw: Any, gb: Any) -> Any:
    flat, g = jnp.concatenate([w.ravel(), b]), jnp.concatenate([gw.sum(0).ravel(), gb.sum(0)]) / DEVICES
    flat, moment = _stepped(flat, moment, g)
    return flat[:15].reshape(5, 3), flat[15:], moment


def _step_of_flat_parts(w: Any, b: Any, moment: Any, gw: Any, gb: Any, *, broken: bool = False) -> Any:
    """The moments of an optimiser are cut across all parameters, whatever tensor they belong to."""
    flat, g = jnp.concatenate([w.ravel(), b]), jnp.concatenate([gw[0].ravel(), gb[0]])
    mine = len(moment)
    g = lax.psum_scatter(g, "d", tiled=True) / DEVICES
    own = lax.dynamic_slice_in_dim(flat, lax.axis_index("d") * (mine - 1 if broken else mine), mine)
    own, moment = _stepped(own, moment, g)
    flat = lax.all_gather(own, "d", tiled=True)
    return flat[:15].reshape(5, 3), flat[15:], moment


def _adapted(x: Any, w: Any, a: Any, b: Any) -> Any:
    return x @ w + 2.0 * ((x @ a) @ b)


def _adapted_rows(x: Any, w: Any, a: Any, b: Any, *, broken: bool = False) -> Any:
    """One sum for the product and its adapter of low rank."""
    return lax.psum(x @ w + (0.5 if broken else 2.0) * ((x @ a) @ b), "d")


def _mean_by_halves(x: Any, *, broken: bool = False) -> Any:
    """The mean over all devices, of two at a time."""
    for distance in (1, 1 if broken else 2):
        x = (x + lax.ppermute(x, "d", [(d, d ^ distance) for d in range(DEVICES)])) * 0.5
    return x


PROGRAMS = {
    "gradients of a mean, parameters in parts": Program(
        _gradients,
        _gradients_of_parameters_in_parts,
        (COLUMNS, ROWS, ROWS, ROWS),
        (COLUMNS, ROWS),
        (floats(3, 4), floats(4, 2), floats(8, 3), floats(8, 2)),
        "real",
    ),
    "an optimiser on flat parts": Program(
        _step,
        _step_of_flat_parts,
        (WHOLE, WHOLE, ROWS, ROWS, ROWS),
        (WHOLE, WHOLE, ROWS),
        (floats(5, 3), floats(5), floats(20), floats(DEVICES, 5, 3), floats(DEVICES, 5)),
    ),
    "an adapter within one sum": Program(
        _adapted,
        _adapted_rows,
        (COLUMNS, ROWS, ROWS, WHOLE),
        WHOLE,
        (floats(4, 8), floats(8, 6), floats(8, 2), floats(2, 6)),
        "real",
    ),
    "a mean by halves": Program(
        lambda x: jnp.broadcast_to(x.mean(0), x.shape), _mean_by_halves, ROWS, ROWS, (floats(DEVICES, 5),), "real"
    ),
}
