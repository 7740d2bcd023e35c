"""Reductions, scans and norms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from ..entry import M3, M8, M23, M24, M24_PERMUTED, M42, M222, Entry, MeshPlan, entry

_X, _Y, _XY, _YX = P("x"), P("y"), P("x", "y"), P(("y", "x"))

_PLAIN = {
    "sum": jnp.sum,
    "mean": jnp.mean,
    "max": jnp.max,
    "min": jnp.min,
    "prod": jnp.prod,
    "var": jnp.var,
    "logsumexp": jax.nn.logsumexp,
}
_LAYOUTS: tuple[tuple[str, MeshPlan, P, P, int | None], ...] = (
    ("rows", M24, _XY, _Y, 0),
    ("columns", M24, _XY, _X, 1),
    ("everything", M24, _XY, P(), None),
    ("joint", M24, _YX, P(), 0),
    ("unused_axis", M222, P("y", "x"), P("x"), 0),
    ("permuted", M24_PERMUTED, P("y", "x"), P("y"), 1),
)


def _along(function, axis):
    return lambda value: function(value, axis=axis)


def _softmax(x):
    return jax.nn.softmax(x, axis=-1)


def _layer_norm(x, scale, offset):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * scale + offset


def _rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def _batch_norm(x):
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)


ENTRIES: tuple[Entry, ...] = (
    *(
        entry(f"{name}_{layout}", _along(function, axis), [((16, 24), spec)], result, mesh)
        for name, function in _PLAIN.items()
        for layout, mesh, spec, result, axis in _LAYOUTS
        if name in {"sum", "max"} or layout in {"rows", "everything"}
    ),
    entry("sum_int", _along(jnp.sum, 0), [((16, 24), _XY, "int32")], P()),
    entry("sum_bf16", _along(jnp.sum, 0), [((16, 24), _XY, "bfloat16")], P()),
    entry("sum_scattered", _along(jnp.sum, 0), [((16, 24), P("x"))], P("x")),
    entry("sum_of_products", lambda a, b: jnp.sum(a * b), [((16, 24), _XY), ((16, 24), _XY)], P()),
    entry("sum_broadcast", lambda a: jnp.sum(jnp.broadcast_to(a, (16, 24)), 0), [((24,), P("y"))], P()),
    entry("sum_three_unequal", _along(jnp.sum, 0), [((9, 4), P("x"))], P(), M3),
    entry("mean_two_by_three", _along(jnp.mean, None), [((4, 9), _XY)], P(), M23),
    entry("max_three", _along(jnp.max, 0), [((6, 4), P("x"))], P(), M3),
    entry("all_and_any", lambda a: (jnp.all(a > 0, 0), jnp.any(a > 0, 1)), [((16, 24), _XY)]),
    entry("argmax_columns", _along(jnp.argmax, 1), [((16, 24), _XY)], P()),
    entry("argmin_rows", _along(jnp.argmin, 0), [((16, 24), _XY)], P("y")),
    entry("argmax_all", jnp.argmax, [((16, 24), _XY)], P()),
    entry("cumsum_sharded", _along(jnp.cumsum, 0), [((16, 6), P("y"))], P("y")),
    entry("cumsum_other", _along(jnp.cumsum, 1), [((16, 6), P("y"))], P("y")),
    entry("cummax", lambda a: jax.lax.cummax(a, axis=0), [((16, 6), P("x"))], P("x")),
    entry("cumprod", _along(jnp.cumprod, 0), [((8, 6), P("x"))], P("x")),
    entry("cumlogsumexp", lambda a: jax.lax.cumlogsumexp(a, axis=0), [((8, 4), P("x"))], P("x")),
    entry("softmax_sharded", _softmax, [((8, 24), _XY)], _XY),
    entry("softmax_gradient", jax.grad(lambda x: jnp.sum(_softmax(x) ** 2)), [((8, 24), _XY)], _XY),
    entry("log_softmax", lambda x: jax.nn.log_softmax(x, axis=0), [((8, 24), _YX)], P("y")),
    entry("layer_norm", _layer_norm, [((8, 24), _XY), ((24,), _Y), ((24,), P())], _XY),
    entry(
        "layer_norm_gradient",
        jax.grad(lambda s, x, o: jnp.sum(_layer_norm(x, s, o) ** 2)),
        [((24,), _Y), ((8, 24), _XY), ((24,), P())],
        _Y,
    ),
    entry("rms_norm", _rms_norm, [((8, 24), _XY), ((24,), _Y)], _XY),
    entry("rms_norm_three", _rms_norm, [((6, 12), P(None, "x")), ((12,), P("x"))], P(None, "x"), M3),
    entry("batch_norm", _batch_norm, [((16, 8), _YX)], _YX),
    entry("norm_l2", jnp.linalg.norm, [((16, 8), P("y", "x"))], P(), M42),
    entry("std_line", _along(jnp.std, 0), [((16, 4), P("x"))], P(), M8),
    entry(
        "maxpool",
        lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (3, 1), (1, 1), "SAME"),
        [((16, 4), P("y"))],
        P("y"),
    ),
    entry(
        "sum_window", lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (4, 1), (2, 1), "VALID"), [((16, 4), P("y"))]
    ),
    entry("median", lambda x: jnp.median(x, axis=0), [((9, 8), P(None, "y"))], P("y")),
)
